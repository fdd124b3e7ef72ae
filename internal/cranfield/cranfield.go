// Package cranfield reads the Cranfield collection, 1,400 abstracts on aerodynamics with 225 questions and judgments
// of which answer them, and grades rankings by it.
package cranfield

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Document is one abstract. Two of them are empty.
type Document struct {
	Number      int // from 1
	Title, Text string
}

// A Question has the documents that answer it.
type Question struct {
	Number int // from 1: its place in the file, which is what the judgments call it
	Text   string
	Grades map[int]int // of the documents that answer it, by number: 1 and more
}

// A Collection is all of it.
type Collection struct {
	Documents []Document
	Questions []Question
}

// Read reads the collection from a folder: cran.all.1400.xml, cran.qry.xml and cranqrel.trec.txt. The error is
// fs.ErrNotExist when it is not there.
func Read(dir string) (Collection, error) {
	var c Collection
	err := elements(filepath.Join(dir, "cran.all.1400.xml"), "doc", func(d *xml.Decoder, e xml.StartElement) error {
		var doc struct {
			Number int    `xml:"docno"`
			Title  string `xml:"title"`
			Text   string `xml:"text"`
		}
		err := d.DecodeElement(&doc, &e)
		c.Documents = append(c.Documents, Document{doc.Number, strings.TrimSpace(doc.Title), strings.TrimSpace(doc.Text)})
		return err
	})
	if err != nil {
		return c, err
	}
	err = elements(filepath.Join(dir, "cran.qry.xml"), "top", func(d *xml.Decoder, e xml.StartElement) error {
		var top struct {
			Title string `xml:"title"`
		}
		err := d.DecodeElement(&top, &e)
		c.Questions = append(c.Questions, Question{len(c.Questions) + 1, strings.TrimSpace(top.Title), map[int]int{}})
		return err
	})
	if err != nil {
		return c, err
	}
	f, err := os.Open(filepath.Join(dir, "cranqrel.trec.txt"))
	if err != nil {
		return c, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var question, run, doc, grade int
		if _, err := fmt.Sscan(lines.Text(), &question, &run, &doc, &grade); err != nil {
			return c, fmt.Errorf("read judgment %q: %w", lines.Text(), err)
		}
		if question < 1 || question > len(c.Questions) {
			return c, fmt.Errorf("read judgment %q: there is no such question", lines.Text())
		}
		if grade > 0 {
			c.Questions[question-1].Grades[doc] = grade
		}
	}
	return c, lines.Err()
}

// elements calls f for each element of a name.
func elements(file, name string, f func(*xml.Decoder, xml.StartElement) error) error {
	r, err := os.Open(file)
	if err != nil {
		return err
	}
	defer r.Close()
	d := xml.NewDecoder(bufio.NewReader(r))
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			if e, ok := t.(xml.StartElement); ok && e.Name.Local == name {
				err = f(d, e)
			}
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", filepath.Base(file), err)
		}
	}
}

// NDCG is the normalized discounted cumulative gain of the first ten documents of a ranking, from 0 to 1: a document
// gains 2^grade − 1, over the logarithm of its place.
func (q Question) NDCG(ranking []int) float64 {
	gain := func(grade, place int) float64 { return (math.Exp2(float64(grade)) - 1) / math.Log2(float64(place+2)) }
	var sum, ideal float64
	for place, doc := range ranking[:min(len(ranking), 10)] {
		sum += gain(q.Grades[doc], place)
	}
	grades := make([]int, 0, len(q.Grades))
	for _, g := range q.Grades {
		grades = append(grades, g)
	}
	slices.SortFunc(grades, func(a, b int) int { return b - a })
	for place, grade := range grades[:min(len(grades), 10)] {
		ideal += gain(grade, place)
	}
	if ideal == 0 {
		return 0
	}
	return sum / ideal
}

// AveragePrecision is the mean, over the documents that answer, of the precision where each stands in the ranking,
// from 0 to 1.
func (q Question) AveragePrecision(ranking []int) float64 {
	if len(q.Grades) == 0 {
		return 0
	}
	var sum float64
	found := 0
	for place, doc := range ranking {
		if q.Grades[doc] > 0 {
			found++
			sum += float64(found) / float64(place+1)
		}
	}
	return sum / float64(len(q.Grades))
}

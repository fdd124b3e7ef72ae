package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/cranfield"
)

// relevance grades the ranking of the search, with and without what it learns from its best answers.
func relevance(ctx context.Context, report *Report) error {
	shared := cmp.Or(os.Getenv("CONVEYOR_SHARED"), filepath.Join("..", "shared"))
	dir := filepath.Join(shared, "data", "search", "cranfield")
	c, err := cranfield.Read(dir)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "bench: %s is missing: the relevance of answers is not measured "+
			"(CONVEYOR_SHARED may name another folder)\n", dir)
		return nil
	}
	if err != nil {
		return err
	}
	x, err := newGraded(c)
	if err != nil {
		return err
	}
	list := []named{
		{"ranking of Conveyor", func(_ context.Context, text string) ([]int, error) { return x.answer(text, true) }},
		{"… without feedback", func(_ context.Context, text string) ([]int, error) { return x.answer(text, false) }},
	}
	for _, f := range []func(context.Context, cranfield.Collection) ([]named, func(), error){tsRankings, bleveRankings} {
		more, done, err := f(ctx, c)
		if err != nil {
			return err
		}
		defer done()
		list = append(list, more...)
	}
	for _, v := range list {
		r, err := grade(ctx, v.name, c, v.rank)
		if err != nil {
			return fmt.Errorf("%s: %w", v.name, err)
		}
		report.Relevance = append(report.Relevance, r)
	}
	return nil
}

// A named ranking is a row of the table.
type named struct {
	name string
	rank ranking
}

// graded is the collection as an index of one segment, in memory: what the index in Postgres reads of its tables.
type graded struct {
	snapshot *search.Snapshot
	terms    []search.TermPostings
	docs     map[int64]search.Document
}

func newGraded(c cranfield.Collection) (graded, error) {
	x := graded{docs: map[int64]search.Document{}}
	b := search.NewBuilder()
	for i, d := range c.Documents {
		doc := search.Document{Title: d.Title, Text: d.Text, Language: search.Detect(d.Title + "\n" + d.Text)}
		x.docs[int64(d.Number)] = doc
		b.Add(int64(i+1), search.Page{ID: int64(d.Number), Document: doc})
	}
	s := b.Segment()
	columns, err := search.DecodeColumns(s.Columns)
	x.snapshot, x.terms = search.NewSnapshot([]search.Part{{ID: 1, Columns: columns}}), s.Terms
	return x, err
}

// rows are those of terms.
func (x graded) rows(terms []string) (rows []search.Posted) {
	for _, term := range terms {
		at, has := slices.BinarySearchFunc(x.terms, term, func(t search.TermPostings, term string) int {
			return strings.Compare(t.Term, term)
		})
		if has {
			t := x.terms[at]
			rows = append(rows, search.Posted{Term: term, Segment: 1, Postings: t.Postings, Positions: t.Positions})
		}
	}
	return rows
}

// answer is what a query finds, up to 1,000 documents.
func (x graded) answer(text string, feedback bool) ([]int, error) {
	a, err := search.Parse(text)
	if err != nil {
		return nil, err
	}
	p := search.NewPlan(a, search.Query{})
	rows := x.rows(p.Terms())
	r, err := search.Rank(x.snapshot, p, rows)
	if err != nil {
		return nil, err
	}
	if ids := r.Samples(); feedback && len(ids) > 0 {
		var samples []search.Sample
		for _, id := range ids {
			d := x.docs[id]
			samples = append(samples, search.Sample{Page: id, Title: d.Title, Text: d.Text, Language: d.Language})
		}
		more := r.Learn(samples)
		for terms := more.Terms(); len(terms) > 0; terms = more.Terms() {
			if err := r.Expand(more, x.rows(terms)); err != nil {
				return nil, err
			}
		}
	}
	if err := r.Refine(rows); err != nil {
		return nil, err
	}
	hits, _ := r.Hits(nil, 1000)
	docs := make([]int, len(hits))
	for i, h := range hits {
		docs[i] = int(h.ID)
	}
	return docs, nil
}

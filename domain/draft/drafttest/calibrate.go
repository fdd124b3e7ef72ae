package drafttest

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/draft"
)

// A Reading is a value that was read off a sample, and whether it is right.
type Reading struct {
	Shop   string
	Ground draft.Ground
	Right  bool
}

// Readings reads the samples twice: as they are, for what stands in their data, and without their data, for what stands
// in the text. What is assumed is counted in both: it is said of pages that show nothing, and most of those have no
// data. Numbers that the truth does not have count for nothing, for it leaves out those that a page does not show.
func Readings(all []Sample) ([]Reading, error) {
	var out []Reading
	for _, s := range all {
		bare, err := WithoutData(s.HTML)
		if err != nil {
			return nil, err
		}
		for i, page := range [][]byte{s.HTML, bare} {
			d, err := draft.Extract(page, s.URL)
			if err != nil {
				return nil, fmt.Errorf("extract %s: %w", s.URL, err)
			}
			for _, field := range Graded {
				g, ok := d.Ground(field)
				counts := g.Kind == "assumed" || (g.Kind == "page") == (i == 1)
				unknown := (field == "gtin" || field == "mpn") && len(s.Truth[field]) == 0
				if value, _ := Value(d, field); ok && value != "" && !unknown && counts {
					out = append(out, Reading{s.Shop(), g, Score(d, s.Truth, field).Right == 1})
				}
			}
		}
	}
	return out, nil
}

// Tally counts the right and all readings of each ground.
func Tally(all []Reading) map[draft.Ground][2]int {
	out := map[draft.Ground][2]int{}
	for _, r := range all {
		n := out[r.Ground]
		if n[1]++; r.Right {
			n[0]++
		}
		out[r.Ground] = n
	}
	return out
}

// A Decile is a tenth of all confidences and what became of the values that were given one of them.
type Decile struct {
	From    float64 // 0.9: to below 1.0, for the last one to 1.0
	Count   int
	Claimed float64 // mean confidence, by the other shops
	Right   float64 // share
}

// EnoughReadings is how many readings a decile needs for its share to say something: with as many, one reading more or
// less is a fortieth.
const EnoughReadings = 40

// Off is by how much a decile claims too much or too little.
func (d Decile) Off() float64 { return math.Abs(d.Claimed - d.Right) }

// LeaveOneShopOut sums up the readings by the decile of their confidence, deciles without one left out. Claimed is
// what they would be given if their own shops had not been counted. That does not choose the decile: leaving out a shop
// whose values were wrong raises the confidence in just these, so a ground near the edge of a decile would have its
// right values below it and its wrong ones above.
func LeaveOneShopOut(all []Reading) []Decile {
	total := Tally(all)
	byShop := map[string][]Reading{}
	for _, r := range all {
		byShop[r.Shop] = append(byShop[r.Shop], r)
	}
	var deciles [10]Decile
	for _, own := range byShop {
		mine := Tally(own)
		for _, r := range own {
			n, less := total[r.Ground], mine[r.Ground]
			d := &deciles[min(int(r.Ground.Confidence(n[0], n[1])*10+1e-9), 9)]
			d.Count++
			d.Claimed += r.Ground.Confidence(n[0]-less[0], n[1]-less[1])
			if r.Right {
				d.Right++
			}
		}
	}
	var out []Decile
	for i, d := range deciles {
		if d.Count > 0 {
			n := float64(d.Count)
			out = append(out, Decile{float64(i) / 10, d.Count, d.Claimed / n, d.Right / n})
		}
	}
	return out
}

// WithoutData takes JSON-LD, microdata, RDFa and <meta> off a page.
func WithoutData(page []byte) ([]byte, error) {
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		return nil, err
	}
	var gone []*html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Meta || n.DataAtom == atom.Script && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool {
			return a.Key == "type" && strings.Contains(a.Val, "ld+json")
		}) {
			gone = append(gone, n)
		}
		n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
			return strings.HasPrefix(a.Key, "item") || a.Key == "typeof" || a.Key == "property"
		})
	}
	for _, n := range gone {
		n.Parent.RemoveChild(n)
	}
	var b bytes.Buffer
	if err := html.Render(&b, doc); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Package drafttest grades drafts against the values that people have read on the same pages. It serves the tests of
// domain/draft and the bench.
package drafttest

import (
	"math/big"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/draft"
)

// A Truth holds the values that people have read on a page: a field's name → those that are right. A field that is not
// there is not on the page.
type Truth map[string][]string

// Graded are the fields that Score compares.
var Graded = []string{"price", "availability", "sku", "brand", "gtin", "mpn"}

// A Grade counts how often a field was read right. A value where there should be another counts as wrong and as
// missed.
type Grade struct{ Right, Wrong, Missed int }

// Add sums two grades.
func (g Grade) Add(h Grade) Grade {
	return Grade{g.Right + h.Right, g.Wrong + h.Wrong, g.Missed + h.Missed}
}

// Precision is the share of the values found that are right, 0..1; 1 where there was nothing to find and to be found.
func (g Grade) Precision() float64 { return share(g.Right, g.Right+g.Wrong, g.Missed) }

// Recall is the share of the right values that were found, 0..1.
func (g Grade) Recall() float64 { return share(g.Right, g.Right+g.Missed, g.Wrong) }

// F1 is the harmonic mean of precision and recall, 0..1.
func (g Grade) F1() float64 {
	p, r := g.Precision(), g.Recall()
	if p+r == 0 {
		return 0
	}
	return 2 * p * r / (p + r)
}

func share(right, of, other int) float64 {
	if of == 0 {
		if other == 0 {
			return 1
		}
		return 0
	}
	return float64(right) / float64(of)
}

// Value returns a draft's value of one of the Graded fields, and its source; "" = none.
func Value(d draft.Draft, field string) (value string, from draft.Source) {
	text := func(f *draft.Found[string]) (string, draft.Source) {
		if f == nil {
			return "", ""
		}
		return f.Value, f.Source
	}
	switch field {
	case "price":
		return text(d.Price)
	case "availability":
		if d.Availability != nil {
			return string(d.Availability.Value), d.Availability.Source
		}
	case "sku":
		return text(d.SKU)
	case "brand":
		return text(d.Brand)
	case "gtin":
		return text(d.GTIN)
	case "mpn":
		return text(d.MPN)
	}
	return "", ""
}

// Confidence is that of one of the Graded fields, 0 for one that was not found.
func Confidence(d draft.Draft, field string) float64 {
	if field == "availability" && d.Availability != nil {
		return d.Availability.Confidence
	}
	f := map[string]*draft.Found[string]{
		"price": d.Price, "sku": d.SKU, "brand": d.Brand, "gtin": d.GTIN, "mpn": d.MPN,
	}[field]
	if f == nil {
		return 0
	}
	return f.Confidence
}

// Score compares one field with the truth: prices as numbers, all else to the letter, as the product extraction
// benchmark does; only white space around a value counts for nothing.
func Score(d draft.Draft, truth Truth, field string) Grade {
	got, _ := Value(d, field)
	want := truth[field]
	same := func(w string) bool { return strings.TrimSpace(w) == got }
	if field == "price" {
		same = func(w string) bool {
			a, ok := new(big.Rat).SetString(strings.TrimSpace(w))
			b, fine := new(big.Rat).SetString(got)
			return ok && fine && a.Cmp(b) == 0
		}
	}
	switch {
	case got == "" && len(want) == 0:
		return Grade{}
	case got == "":
		return Grade{Missed: 1}
	case len(want) == 0:
		return Grade{Wrong: 1}
	case slices.ContainsFunc(want, same):
		return Grade{Right: 1}
	}
	return Grade{Wrong: 1, Missed: 1}
}

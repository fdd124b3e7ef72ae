package draft

import "math"

// A Ground is what the confidence in a value of a graded field rests on. Values of one ground are equally likely to be
// right, as far as was counted.
type Ground struct {
	Field string // price, availability, sku, brand, gtin, mpn
	Kind  string // data, page or assumed
	Band  int    // of the evidence, 0 = the least; see strengths
}

// kindOf is the kind of ground that a source gives: the syntaxes of data are counted together, for there are too few
// pages to tell them apart.
func kindOf(s Source) string {
	switch s {
	case Page:
		return "page"
	case Assumed:
		return "assumed"
	}
	return "data"
}

// strengths are where the bands of a field and kind begin, in points: for a price how many more than its runner-up it
// has, for the others how many it has. A field that is not there has one band.
var strengths = map[string][]float64{
	"price data": {4}, "price page": {2},
	"sku page":   {3},
	"brand data": {6}, "brand page": {4.5},
	"availability assumed": {1}, // 0: something on the page is said to be sold out, or no price is to be seen
}

// measured counts, for each ground, the values that were right and those that were found on the 74 pages of the
// product extraction benchmark that we have; for the kind page, on the same pages without their data, and for the kind
// assumed on both. Two of these pages are sold out, so that share says little of shops that leave sold-out pages
// online. The rules were made with 56 of these pages at hand, and do worse on others. The truth has numbers only where
// a page shows them, so GTIN and MPN are counted where it has one. TestConfidence counts again, and prints the counts
// as they stand here.
var measured = map[Ground][2]int{
	{"availability", "assumed", 0}: {7, 8},
	{"availability", "assumed", 1}: {17, 17},
	{"availability", "data", 0}:    {47, 48},
	{"availability", "page", 0}:    {57, 58},
	{"brand", "data", 0}:           {6, 10},
	{"brand", "data", 1}:           {21, 21},
	{"brand", "page", 0}:           {24, 31},
	{"brand", "page", 1}:           {15, 15},
	{"gtin", "data", 0}:            {4, 4},
	{"gtin", "page", 0}:            {7, 7},
	{"mpn", "data", 0}:             {1, 1},
	{"mpn", "page", 0}:             {7, 7},
	{"price", "data", 0}:           {3, 5},
	{"price", "data", 1}:           {52, 53},
	{"price", "page", 0}:           {16, 20},
	{"price", "page", 1}:           {48, 49},
	{"sku", "data", 0}:             {34, 37},
	{"sku", "page", 0}:             {13, 18},
	{"sku", "page", 1}:             {53, 54},
}

// priors are the shares of right values that are expected before any was counted, and how many finds that is worth.
// What is assumed is in stock, and of all 140 pages of the benchmark nine are sold out, where of ours two are: what was
// counted says the less.
var priors = map[string]struct{ share, finds float64 }{"data": {0.9, 2}, "page": {0.8, 2}, "assumed": {0.5, 6}}

// Confidence is the share of right values of a ground of which so many were right and so many found, smoothed by a few
// more finds as good as is expected of its kind, so that few finds give no certainty. It is rounded: more digits would
// say more than is known.
func (g Ground) Confidence(right, found int) float64 {
	prior := priors[g.Kind]
	return math.Round(100*(float64(right)+prior.finds*prior.share)/(float64(found)+prior.finds)) / 100
}

// Counted is how many values of a ground were right and found when the confidences were made.
func (g Ground) Counted() (right, found int) {
	n := measured[g]
	return n[0], n[1]
}

// Ground is what the confidence in one of the graded fields rests on. Only a draft that Extract returned knows; ok is
// false for one that was read from JSON, and for a field that is not on the page.
func (d Draft) Ground(field string) (g Ground, ok bool) {
	g, ok = d.grounds[field]
	return g, ok
}

// judge is the confidence in a value of a graded field that has so many points.
func (d *Draft) judge(field string, s Source, points float64) float64 {
	g := Ground{Field: field, Kind: kindOf(s)}
	for _, from := range strengths[g.Field+" "+g.Kind] {
		if points >= from {
			g.Band++
		}
	}
	if d.grounds == nil {
		d.grounds = map[string]Ground{}
	}
	d.grounds[field] = g
	return g.Confidence(g.Counted())
}

// judged is a claim that was taken.
func (d *Draft) judged(field string, c claim) *Found[string] {
	return &Found[string]{Value: c.value, Source: c.source, Confidence: d.judge(field, c.source, c.total())}
}

// guessed is for values that the benchmark does not have: names, images, currencies …
var guessed = map[Source]float64{JSONLD: 0.9, Microdata: 0.9, RDFa: 0.85, OpenGraph: 0.8, Page: 0.6, Assumed: 0.5}

// found is a text from a source, of a field that is not graded.
func found(value string, s Source) *Found[string] { return foundAs(value, s) }

// foundAs is a value of any type from a source.
func foundAs[T any](value T, s Source) *Found[T] {
	return &Found[T]{Value: value, Source: s, Confidence: guessed[s]}
}

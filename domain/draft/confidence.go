package draft

import "math"

// measured counts, for a field and a source, the values that were right and those that were found on the 74 pages of
// the product extraction benchmark that we have; for Page, on the same pages without their data. The counts are in
// part in-sample: the rules were made with 40 of these pages at hand, and do worse on others. The truth has numbers
// only where a page shows them, so GTIN and MPN are counted where it has one. TestConfidence counts again.
var measured = map[string]map[Source][2]int{
	"price":        {JSONLD: {33, 35}, Microdata: {21, 22}, OpenGraph: {1, 1}, Page: {59, 66}},
	"availability": {JSONLD: {31, 32}, Microdata: {16, 16}, Page: {49, 49}},
	"sku":          {JSONLD: {20, 23}, Microdata: {12, 13}, Page: {58, 70}},
	"brand":        {JSONLD: {24, 28}, Microdata: {3, 4}, Page: {33, 40}},
	"gtin":         {JSONLD: {2, 2}, Microdata: {2, 2}, Page: {7, 7}},
	"mpn":          {Microdata: {1, 1}, Page: {6, 6}},
}

// guessed is for values that the benchmark does not have: names, images …
var guessed = map[Source]float64{JSONLD: 0.9, Microdata: 0.9, RDFa: 0.85, OpenGraph: 0.8, Page: 0.6, Assumed: 0.5}

// confidence is the share of a field's values from a source that were right, smoothed by four more finds as good as was
// guessed, so that few finds give no certainty.
//
// A value that is assumed is never more likely than not.
func confidence(field string, s Source) float64 {
	if s == Assumed {
		return guessed[Assumed]
	}
	if field == "currency" {
		field = "price"
	}
	n := measured[field][s]
	return (float64(n[0]) + 4*guessed[s]) / float64(n[1]+4)
}

// surely is how many points the first of several candidates must have more than the second to be trusted as the first
// ones were in general.
const surely = 2

// doubted is a confidence, reduced where the runner-up is close, down to the guess.
func doubted(confidence, guess, margin float64) float64 {
	return math.Round(100*(guess+(confidence-guess)*min(max(margin/surely, 0), 1))) / 100
}

// found is a text from a source.
func found(value, field string, s Source) *Found[string] { return foundAs(value, field, s) }

// foundAs is a value of any type from a source. Its confidence is rounded: more digits would say more than is known.
func foundAs[T any](value T, field string, s Source) *Found[T] {
	return &Found[T]{Value: value, Source: s, Confidence: math.Round(100*confidence(field, s)) / 100}
}

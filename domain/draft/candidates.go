package draft

import (
	"cmp"
	"slices"
)

// A Candidate is a value that was read for a field and is not in the draft.
type Candidate struct {
	Field  string `json:"field"` // as in a draft: name, brand, price, availability, sku, gtin, mpn
	Value  string `json:"value"` // plain text, at most 200 characters; a price with its currency
	Source Source `json:"source"`
	Why    Why    `json:"why"`
}

// A Why is the reason for which a candidate was not taken.
type Why string

// The reasons.
const (
	Weaker       Why = "weaker"       // more speaks for the value that was
	TooLittle    Why = "too_little"   // less speaks for it than a value of the field needs
	OfAnother    Why = "of_another"   // it stands beside another product
	Free         Why = "free"         // it is zero, and nothing else says that the product is free
	ShopsOwn     Why = "shops_own"    // it is the SKU again, or a key of the shop's own
	Contradicted Why = "contradicted" // what the page shows says otherwise
	NoProduct    Why = "no_product"   // the page is of none
)

// What is kept of candidates.
const (
	mostCandidates   = 8   // of a field
	longestCandidate = 200 // characters
)

// lose notes a candidate, and says whether its field has room for another. What is noted first is kept, a value once.
func (p *page) lose(field, value string, s Source, why Why) (more bool) {
	c := Candidate{Field: field, Value: cleanText(value, longestCandidate), Source: s, Why: why}
	same := 0
	for _, x := range p.lost {
		if x.Field != field {
			continue
		}
		if same++; x.Value == c.Value {
			return true
		}
	}
	if c.Value != "" && same < mostCandidates {
		p.lost = append(p.lost, c)
		same++
	}
	return same < mostCandidates
}

// loseClaims notes the claims of a field, the strongest first, except for the value that was taken, nil where none was.
// Those that are the same as own are the shop's, and so are its keys, which come last.
func (p *page) loseClaims(field string, c claims, least float64, taken, own *Found[string]) {
	list := slices.Clone(c.list)
	slices.SortStableFunc(list, func(a, b claim) int { return cmp.Compare(b.total(), a.total()) })
	for _, x := range list {
		why := Weaker
		switch {
		case taken != nil && sameCode(x.value, taken.Value):
			continue
		case own != nil && sameCode(x.value, own.Value):
			why = ShopsOwn
		case x.total() < least:
			why = TooLittle
		}
		if !p.lose(field, x.value, x.source, why) {
			return
		}
	}
	for _, x := range c.keys {
		if taken != nil && sameCode(x.value, taken.Value) {
			continue
		}
		if !p.lose(field, x.value, x.source, ShopsOwn) {
			return
		}
	}
}

// loseQuotes notes the amounts that are not in the draft, the likeliest first: of a page of no product the price, too,
// nil where none was chosen. An amount of its own that is the price again is none.
func (p *page) loseQuotes(price *quote, product bool) {
	if price != nil && !product {
		p.loseQuote(price, NoProduct)
	}
	all := slices.Clone(p.quotes)
	slices.SortStableFunc(all, func(a, b *quote) int { return cmp.Compare(b.total(), a.total()) })
	for _, q := range all {
		if price != nil && canonical(q.amount) == canonical(price.amount) {
			continue
		}
		why := cmp.Or(p.unfit(q), Weaker)
		if why == Weaker && q.total() < leastTotal {
			why = TooLittle
		}
		if !p.loseQuote(q, why) {
			break
		}
	}
}

func (p *page) loseQuote(q *quote, why Why) (more bool) {
	source, value := Page, q.amount
	if len(q.sources) > 0 {
		source = q.sources[0]
	}
	if q.currency != "" {
		value += " " + q.currency
	}
	return p.lose("price", value, source, why)
}

package draft

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/price"
)

// A quote is an amount that a page names, and how much speaks for its being the price.
type quote struct {
	amount, currency string
	told             float64 // points from outside the visible text
	shown            float64 // points for where it shows, at its best
	sources          []Source
	seen, again      int    // how often it shows, and how often in a place of any weight
	at               int    // the element it shows in, at its best; -1 = none
	start, end       int    // where in the text it does
	to               string // the upper end of the range that it is the lower end of, "" = none
	toSource         Source
	margin           float64 // how many points it has more than the runner-up
}

func (q *quote) total() float64 { return q.told + q.shown }

// sourceWeights are the weights of structured data.
var sourceWeights = map[Source]weight{JSONLD: priceJSONLD, Microdata: priceMicrodata, RDFa: priceRDFa,
	OpenGraph: priceOpenGraph}

// priceOf chooses the price among the amounts of the data and those of the visible text. Whether it is the lower end of
// a range, the page says, else the data.
func (p *page) priceOf(offers []offer, meta map[string][]string, state state) *quote {
	q := p.likeliestQuote(offers, meta, state)
	for _, o := range offers {
		if q != nil && q.to == "" && o.to != "" && canonical(o.amount) == canonical(q.amount) {
			q.to, q.toSource = o.to, o.source
		}
	}
	return q
}

// likeliestQuote is the amount that most speaks for, nil where too little does. It fills p.quotes.
func (p *page) likeliestQuote(offers []offer, meta map[string][]string, state state) *quote {
	quotes := map[string]*quote{}
	var order []*quote
	get := func(amount string) *quote {
		key := canonical(amount)
		q := quotes[key]
		if q == nil {
			q = &quote{amount: amount, at: -1}
			quotes[key] = q
			order = append(order, q)
		}
		return q
	}
	told := map[Source]map[*quote]bool{}
	tell := func(amount, currency string, s Source, second bool) {
		q := get(amount)
		if q.currency == "" {
			q.currency = currency
		}
		if told[s] == nil {
			told[s] = map[*quote]bool{}
		}
		if told[s][q] {
			return
		}
		told[s][q] = true
		worth := p.w[sourceWeights[s]]
		if second {
			worth *= p.w[priceSecond]
		}
		if isZero(amount) {
			worth = p.w[priceZero]
		}
		if len(q.sources) > 0 {
			worth /= p.w[priceFurther]
		}
		q.told += worth
		q.sources = append(q.sources, s)
	}
	for _, o := range offers {
		if o.amount != "" {
			tell(o.amount, o.currency, o.source, o.second)
		}
	}
	for _, key := range []string{"product:sale_price:amount", "product:price:amount", "og:price:amount"} {
		for n, v := range meta[key] {
			if a := p.amount(v); a != "" {
				currency := ""
				if c := meta[strings.TrimSuffix(key, "amount")+"currency"]; n < len(c) {
					currency = currencyCode(c[n])
				}
				tell(a, currency, OpenGraph, n > 0)
			}
		}
	}
	for _, key := range []string{"twitter:data1", "twitter:data2"} {
		for _, v := range meta[key] {
			if all := price.All(v, p.hint); len(all) == 1 {
				tell(all[0].Amount, all[0].Currency, OpenGraph, true)
			}
		}
	}
	for _, s := range p.amounts {
		s.points += p.weigh(s)
		q := get(s.amount)
		if len(s.amount) > len(q.amount) && len(s.amount)-len(canonical(s.amount)) < 4 {
			q.amount = s.amount // 99.90 on the page, 99.9 in its data
		}
		if s.points > -1 {
			q.again++
		}
		if q.seen++; q.seen == 1 || s.points > q.shown {
			q.shown, q.at, q.start, q.end, q.to = s.points, s.el, s.start, s.end, s.to
			q.toSource = Page
			if s.currency != "" {
				q.currency = s.currency
			}
		}
		if q.currency == "" {
			q.currency = s.currency
		}
	}
	for _, q := range order {
		if q.seen == 0 {
			q.shown = p.w[priceUnseen] // the price is somewhere to be seen
		}
		q.told += p.w[priceAgain]*float64(min(max(q.again-1, 0), maxAgain)) + state.price(q.amount)
	}
	var best *quote
	second := math.Inf(-1)
	for _, q := range order {
		switch {
		case p.unfit(q) != "":
		case best == nil:
			best = q
		case q.total() > best.total():
			best, second = q, best.total()
		default:
			second = max(second, q.total())
		}
	}
	if best != nil {
		best.margin = best.total() - second
	}
	if best != nil && best.total() < leastTotal {
		best = nil
	}
	p.quotes = order
	if best != nil {
		return best
	}
	if amount := state.likeliest(); amount != "" { // a page that shows its price later, or in a picture
		return &quote{amount: amount, at: -1}
	}
	return nil
}

// unfit says why an amount cannot be the price, whatever speaks for it; "" = it can be.
func (p *page) unfit(q *quote) Why {
	switch {
	case isZero(q.amount) && (len(q.sources) == 0 || q.seen == 0): // what is free says so
		return Free
	case len(q.sources) == 0 && q.at >= 0 && p.button < 0 && p.beside(q.at):
		return OfAnother
	}
	return ""
}

// canonical is an amount without insignificant zeros, so that 12, 12.0 and 12.00 are one.
func canonical(amount string) string {
	if strings.Contains(amount, ".") {
		amount = strings.TrimRight(strings.TrimRight(amount, "0"), ".")
	}
	return amount
}

func isZero(amount string) bool { return strings.Trim(amount, "0.") == "" }

// farWeights are the weights of marks on the elements around an amount, however far.
var farWeights = []struct {
	mark   mark
	weight weight
}{{struck, priceStruck}, {aside, priceAside}, {chrome, priceChrome}, {veiled, priceVeiled}, {option, priceOption},
	{main, priceMain}, {buys, priceBuys}}

// weigh says how much speaks for an amount's being the price, by where it stands.
func (p *page) weigh(a amountShown) float64 {
	points := 0.0
	var near, far mark
	level, bold := 0, 0
	inTitle, fee := false, false
	for i := a.el; i >= 0; i = p.els[i].parent {
		e := &p.els[i]
		if p.title >= 0 && e.inside(i, p.title) {
			if i != p.title {
				break
			}
			inTitle = true
		}
		if e.end-e.start < 400 {
			switch {
			case level < 3:
				near |= e.own
			case level < 4:
				near |= e.own & (costs | was | struck | extra)
			case level < 6:
				near |= e.own & extra
			}
		}
		if e.own&costs != 0 && far&costs == 0 {
			fee = e.own&extra != 0 // shipping-price
		}
		far |= e.own
		switch e.tag {
		case atom.H1, atom.H2, atom.H3, atom.Strong, atom.B, atom.Ins:
			if level < 3 && bold < 3 {
				bold++
				points += p.w[priceHeading]
				level-- // such an element is no box
			}
		case atom.A:
			if leads(attr(e.node, "href")) {
				points += p.w[priceLink]
			}
		}
		if p.card(i) {
			points += p.w[priceCard]
			far |= list
		}
		level++
	}
	if inTitle {
		points += p.w[priceInTitle]
	}
	switch size := p.lineAt(a.start); {
	case size > 120:
		points += p.w[priceProse]
	case size > 60 || p.spoken(a.start):
		points += p.w[priceSentence]
	}
	if near&costs != 0 && !fee {
		points += p.w[priceNamed]
	}
	switch {
	case near&now != 0 && near&was == 0 && near&costs != 0:
		points += p.w[priceNow]
	case near&now != 0 && near&was == 0:
		points += p.w[priceNowAlone]
	case near&was != 0 && near&now == 0:
		points += p.w[priceWas]
	case near&was != 0:
		points += p.w[priceWasAndNow]
	}
	if near&extra != 0 {
		points += p.w[priceExtra]
	}
	for _, x := range farWeights {
		if far&x.mark != 0 {
			points += p.w[x.weight]
		}
	}
	before, after := p.around(a)
	points += p.cued(before, after)
	if !a.grossBeside && isNet(before, after) {
		points += p.w[priceNet]
	}
	if p.signed(a.start) {
		points += p.w[priceSigned]
	}
	if p.title >= 0 {
		d := float64(a.start - p.els[p.title].end)
		if d < 0 {
			points += p.w[priceAbove]
			d = -d
		}
		points += p.w[priceByTitle] - p.w[priceFromTitle]*math.Log2(1+d/priceReach)
	} else {
		points -= p.w[priceDown] * math.Log2(1+float64(a.start)/topReach)
	}
	if p.button >= 0 {
		d := math.Abs(float64(a.start - p.els[p.button].start))
		points += p.w[priceByButton] - p.w[priceFromButton]*math.Log2(1+d/priceReach)
	}
	return points
}

// signed says that a plus or minus sign stands before an amount and after no other: "(-40.00 €)", "+ 5 €". A dash and a
// space begin an item of a list.
func (p *page) signed(at int) bool {
	before := strings.TrimRight(p.text[max(at-12, 0):at], " ")
	spaced := len(before) < at-max(at-12, 0)
	sign, size := utf8.DecodeLastRuneInString(before)
	switch sign {
	case '+', '＋':
	case '-', '−', '–':
		if spaced {
			return false
		}
	default:
		return false
	}
	rest := strings.TrimRight(before[:len(before)-size], " ")
	last, _ := utf8.DecodeLastRuneInString(rest)
	return rest == "" || last == '\n' || last == '(' || last == '[' || !unicode.IsDigit(last) && !unicode.Is(unicode.Sc, last) &&
		!unicode.IsLetter(last) || unicode.IsLetter(last) && rest != before[:len(before)-size]
}

// spoken says that words which are no label lead to an amount on its line: "refer a friend, get $10".
func (p *page) spoken(at int) bool {
	before := strings.TrimSpace(p.text[strings.LastIndexByte(p.text[:at], '\n')+1 : at])
	before = before[strings.LastIndexAny(before, "!?;|")+1:]
	words := 0
	for w := range strings.FieldsSeq(before) {
		if letters(w) > 0 {
			words++
		}
	}
	return words > 2 && !strings.HasSuffix(before, ":")
}

// lineAt is how long the line is that holds a position, in bytes.
func (p *page) lineAt(at int) int {
	end := strings.IndexByte(p.text[at:], '\n')
	if end < 0 {
		end = len(p.text) - at
	}
	return at + end - strings.LastIndexByte(p.text[:at], '\n') - 1
}

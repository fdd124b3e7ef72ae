package draft

import (
	"cmp"
	"math"
	"slices"
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
	signed           bool   // a sign or name of a currency stands beside it there
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
	c := quotes{p: p, of: map[string]*quote{}}
	c.offered(offers)
	c.inMeta(meta)
	c.onCards(meta)
	for _, a := range p.amounts {
		c.shown(a)
	}
	c.settle(state)
	p.quotes = c.list
	if best := c.best(); best != nil && best.total() >= leastTotal {
		return best
	}
	if amount := state.likeliest(); amount != "" { // a page that shows its price later, or in a picture
		return &quote{amount: amount, at: -1}
	}
	return nil
}

// The quotes collect what speaks for each amount. 12.0 of the data and 12 of the text are one.
type quotes struct {
	p    *page
	list []*quote          // as they were met: those of the data come first
	of   map[string]*quote // canonical amount → its quote
}

// quote is that of an amount, made where it is the first of it.
func (c *quotes) quote(amount string) *quote {
	key := canonical(amount)
	q := c.of[key]
	if q == nil {
		q = &quote{amount: amount, at: -1}
		c.of[key] = q
		c.list = append(c.list, q)
	}
	return q
}

// tell notes that data names an amount: "price": "49.90". A source is heard once for an amount, at its first mention.
// A second is of a variant, or the upper end of a range.
func (c *quotes) tell(amount, currency string, s Source, second bool) {
	q := c.quote(amount)
	q.currency = cmp.Or(q.currency, currency)
	if slices.Contains(q.sources, s) {
		return
	}
	worth := c.p.w[sourceWeights[s]]
	if second {
		worth *= c.p.w[priceSecond]
	}
	if isZero(amount) {
		worth = c.p.w[priceZero]
	}
	if len(q.sources) > 0 {
		worth /= c.p.w[priceFurther]
	}
	q.told += worth
	q.sources = append(q.sources, s)
}

// offered hears the offers of the data: {"@type": "Offer", "price": "49.90"}.
func (c *quotes) offered(offers []offer) {
	for _, o := range offers {
		if o.amount != "" {
			c.tell(o.amount, o.currency, o.source, o.second)
		}
	}
}

// inMeta hears the meta elements of prices: <meta property="product:price:amount" content="49.90">. The currency is in
// a list of its own, in the same order; all amounts but the first are of variants. One above the price of a sale is the
// price before it.
func (c *quotes) inMeta(meta map[string][]string) {
	sale := ""
	for _, v := range meta["product:sale_price:amount"] {
		if a := c.p.amount(v); a != "" && !isZero(a) { // plugins say 0 where there is no sale
			sale = cmp.Or(sale, a)
		}
	}
	for _, key := range []string{"product:sale_price:", "product:price:", "og:price:"} {
		currencies := meta[key+"currency"]
		for n, v := range meta[key+"amount"] {
			if a := c.p.amount(v); a != "" && (sale == "" || !price.Less(sale, a)) {
				currency := ""
				if n < len(currencies) {
					currency = currencyCode(currencies[n])
				}
				c.tell(a, currency, OpenGraph, n > 0)
			}
		}
	}
}

// onCards hears the lines below a link that is shared, free text of which only a single amount is a price:
// <meta name="twitter:data1" content="$49.90">.
func (c *quotes) onCards(meta map[string][]string) {
	for _, key := range []string{"twitter:data1", "twitter:data2"} {
		for _, v := range meta[key] {
			if all := price.All(v, c.p.hint); len(all) == 1 {
				c.tell(all[0].Amount, all[0].Currency, OpenGraph, true)
			}
		}
	}
}

// shown notes that the visible text has an amount. Of "was $49.90" and "$49.90" the better place counts, and its
// currency is taken before that of the data.
func (c *quotes) shown(a amountShown) {
	a.points += c.p.weigh(a)
	q := c.quote(a.amount)
	if len(a.amount) > len(q.amount) && len(a.amount)-len(canonical(a.amount)) < 4 {
		q.amount = a.amount // 99.90 on the page, 99.9 in its data
	}
	if a.points > -1 {
		q.again++
	}
	if q.seen++; q.seen == 1 || a.points > q.shown {
		q.shown, q.at, q.start, q.end, q.to, q.toSource = a.points, a.el, a.start, a.end, a.to, Page
		q.signed = a.signed
		q.currency = cmp.Or(a.currency, q.currency)
	}
	q.currency = cmp.Or(q.currency, a.currency)
}

// settle adds what is known when all amounts are: that the text has it nowhere, or often, or that scripts have it.
func (c *quotes) settle(state state) {
	w := c.p.w
	for _, q := range c.list {
		if q.seen == 0 {
			q.shown = w[priceUnseen] // the price is somewhere to be seen
		}
		q.told += w[priceAgain]*float64(min(max(q.again-1, 0), maxAgain)) + state.price(q.amount)
	}
}

// best is the quote with the most points of those that can be the price, the first of equals, with its margin. nil =
// none can.
func (c *quotes) best() *quote {
	var best *quote
	second := math.Inf(-1)
	for _, q := range c.list {
		switch {
		case c.p.unfit(q) != "":
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
	return best
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

// weigh says how much speaks for an amount's being the price, by where it stands. The rules add their points in this
// order, so that the same page gives the same sum.
func (p *page) weigh(a amountShown) float64 {
	s := standing{p: p, a: a}
	s.within()
	s.onLine()
	s.named()
	s.around()
	s.byTitle()
	s.byButton()
	return s.points
}

// A standing is where an amount stands, and what that is worth.
type standing struct {
	p      *page
	a      amountShown
	points float64
	near   mark // of the elements close around it, see nearMarks
	far    mark // of all elements around it, up to the one that holds the product's name, too
	fee    bool // the innermost element named price is named for something else, too: shipping-price
}

func (s *standing) add(w weight) { s.points += s.p.w[w] }

// nearMarks are the marks that count as close, by how many boxes lie between their element and the amount.
var nearMarks = [...]mark{^mark(0), ^mark(0), ^mark(0), costs | was | extra, extra, extra}

// within goes up the elements around the amount, for their marks, and for emphasis, links and cards:
// <div class="price"><b>$49.90</b></div>.
func (s *standing) within() {
	p := s.p
	boxes, bold := 0, 0
	for i := s.a.el; i >= 0 && (i == p.title || !p.holdsTitle(i)); i = p.els[i].parent {
		e := &p.els[i]
		s.mark(e, boxes)
		switch e.tag {
		case atom.H1, atom.H2, atom.H3, atom.Strong, atom.B, atom.Ins:
			if boxes < 3 && bold < 3 {
				bold++
				s.add(priceHeading)
				boxes-- // such an element is no box
			}
		case atom.A:
			if leads(attr(e.node, "href")) {
				s.add(priceLink)
			}
		}
		if p.card(i) {
			s.add(priceCard)
		}
		boxes++
	}
	if p.title >= 0 && p.els[p.title].inside(p.title, s.a.el) { // <h1>Widget, $49.90</h1>
		s.add(priceInTitle)
	}
}

// mark notes the marks of an element around the amount: class="price sale". One of much text is not close to anything.
func (s *standing) mark(e *element, boxes int) {
	if boxes < len(nearMarks) && e.end-e.start < 400 {
		s.near |= e.own & nearMarks[boxes]
	}
	if e.own&costs != 0 && s.far&costs == 0 {
		s.fee = e.own&extra != 0
	}
	s.far |= e.own
}

// onLine weighs the line that has the amount: "Refer a friend, get $10".
func (s *standing) onLine() {
	switch size := s.p.lineAt(s.a.start); {
	case size > 120:
		s.add(priceProse)
	case size > 60 || s.p.spoken(s.a.start):
		s.add(priceSentence)
	}
}

// named weighs the names of the elements: <span class="price-old">$79.90</span>.
func (s *standing) named() {
	if s.near&costs != 0 && !s.fee {
		s.add(priceNamed)
	}
	switch s.near & (costs | now | was) {
	case costs | now:
		s.add(priceNow)
	case now:
		s.add(priceNowAlone)
	case was, costs | was:
		s.add(priceWas)
	case now | was, costs | now | was:
		s.add(priceWasAndNow)
	}
	if s.near&extra != 0 {
		s.add(priceExtra)
	}
	for _, x := range farWeights {
		if s.far&x.mark != 0 {
			s.add(x.weight)
		}
	}
}

// around weighs the words and the sign beside the amount: "RRP $79.90", "$49.90 excl. VAT", "+ $5".
func (s *standing) around() {
	before, after := s.p.around(s.a)
	s.points += s.p.cued(before, after)
	if !s.a.grossBeside && isNet(before, after) {
		s.add(priceNet)
	}
	if s.p.signed(s.a.start) {
		s.add(priceSigned)
	}
}

// byTitle weighs the way from the end of the product's name. Without a name, the price is near the top.
func (s *standing) byTitle() {
	if s.p.title < 0 {
		s.points -= s.p.w[priceDown] * math.Log2(1+float64(s.a.start)/topReach)
		return
	}
	way := s.a.start - s.p.els[s.p.title].end
	if way < 0 {
		s.add(priceAbove)
	}
	s.away(way, priceByTitle, priceFromTitle)
}

// byButton weighs the way to the button that buys, up or down: "$49.90 [Add to cart]".
func (s *standing) byButton() {
	if s.p.button >= 0 {
		s.away(s.a.start-s.p.els[s.p.button].start, priceByButton, priceFromButton)
	}
}

// away adds what it is worth to be at a place, less for each doubling of the way from it, in bytes.
func (s *standing) away(way int, at, less weight) {
	s.points += s.p.w[at] - s.p.w[less]*math.Log2(1+float64(abs(way))/priceReach)
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
	return rest == "" || last == '\n' || last == '(' || last == '[' ||
		!unicode.IsDigit(last) && !unicode.Is(unicode.Sc, last) && !unicode.IsLetter(last) ||
		unicode.IsLetter(last) && rest != before[:len(before)-size]
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

// longLine is how long a line is, in bytes, that is surely one: no more of it is looked at to each side of a position.
const longLine = 200

// lineAt is how long the line is that holds a position, in bytes, or more than longLine.
func (p *page) lineAt(at int) int {
	from, to := max(at-longLine, 0), min(at+longLine+1, len(p.text))
	if n := strings.LastIndexByte(p.text[from:at], '\n'); n >= 0 {
		from += n + 1
	}
	if n := strings.IndexByte(p.text[at:to], '\n'); n >= 0 {
		to = at + n
	}
	return to - from
}

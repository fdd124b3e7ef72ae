package draft

import (
	"math"
	"regexp"
	"slices"
	"strconv"
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

// maxShown bounds how many amounts of a page are looked at.
const maxShown = 3000

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

// An amountShown is an amount in the visible text.
type amountShown struct {
	amount, currency string
	to               string // the upper end of a range, of which amount is the lower; "" = none
	grossBeside      bool   // it is net, and the gross amount stands beside it
	el               int
	start, end       int
	points           float64
}

// findAmounts finds the amounts of the visible text, and where they stand.
func (p *page) findAmounts() {
	p.amounts = p.amountsInLines()
	p.markSpans(p.amounts)
	p.pairs(p.amounts)
	named := p.amountsNamed(p.amounts)
	p.markSpans(named)
	p.amounts = append(p.amounts, named...)
}

// markSpans adds the places of amounts to p.spans.
func (p *page) markSpans(amounts []amountShown) {
	for _, a := range amounts {
		p.spans = append(p.spans, span{a.start, a.end})
	}
	slices.SortFunc(p.spans, func(a, b span) int { return a.start - b.start })
}

// amountsInLines are the amounts that carry a currency, in the text's order.
func (p *page) amountsInLines() []amountShown {
	var out []amountShown
	cover := p.coverer()
	for start, line := range p.lines() {
		if !strings.ContainsAny(line, "0123456789٠١٢٣٤٥٦٧٨٩۰۱۲۳۴۵۶۷۸۹") || len(line) > 2000 {
			continue
		}
		for _, m := range price.All(line, p.hint) {
			if len(out) >= maxShown {
				break
			}
			a := amountShown{amount: m.Amount, to: m.To, currency: m.Currency, start: start + m.Start, end: start + m.End}
			a.el = cover(a.start, a.end)
			out = append(out, a)
		}
	}
	return p.amountsApart(out)
}

// amountsNamed are those of elements that are named price, or end in a dash, and hold a number without its currency or
// spread over lines, none of those read before.
func (p *page) amountsNamed(read []amountShown) []amountShown {
	var out []amountShown
	var taken []int // elements, in order
	for _, a := range read {
		taken = append(taken, a.el)
	}
	slices.Sort(taken)
	for i := range p.els {
		e := &p.els[i]
		if e.end-e.start > 40 || e.end == e.start || len(read)+len(out) >= maxShown ||
			e.own&costs == 0 && !dashed.MatchString(p.of(i)) {
			continue
		}
		next, _ := slices.BinarySearchFunc(read, e.start, func(a amountShown, at int) int { return a.end - at })
		if next < len(read) && read[next].start < e.end {
			continue // the cents of another
		}
		if n := e.start; n > 1 && p.text[n-1] == '.' && isDigit(p.text[n-2]) {
			continue // so are these
		}
		text := fold(p.of(i))
		if text == "" || strings.Contains(text, "%") || letters(text) > 6 || anyFrom(taken, i, e.last) {
			continue
		}
		m, ok := price.Parse(text, p.hint)
		if !ok || !strings.ContainsAny(text, "0123456789") {
			continue
		}
		a := amountShown{amount: m.Amount, to: m.To, currency: m.Currency, start: e.start, end: e.end, el: i}
		if m.Symbol == "" && !dashed.MatchString(text) {
			a.points = p.w[priceBare]
		}
		out = append(out, a)
	}
	return out
}

// dashed is an amount with a dash for its cents, which needs no currency to be one: "1 299,-".
var dashed = regexp.MustCompile(`^\d{1,3}(?:[ .\x{a0}\x{202f}]?\d{3})*[,.:][-–—]$`)

// maxApart is how long the element is, in bytes of text, that holds a currency and its amount on lines of their own.
const maxApart = 30

// amountsApart adds the amounts whose currency stands on the line above or below them, with nothing else beside either,
// to those found in lines; by their position.
func (p *page) amountsApart(found []amountShown) []amountShown {
	type part struct {
		line       string
		start, end int
	}
	var above part
	cover := p.coverer()
	n := len(found)
	for start, line := range p.lines() {
		below := part{strings.TrimSpace(line), start, start + len(line)}
		sign, number, in := above.line, below.line, below
		if !p.isSign(sign) {
			sign, number, in = number, sign, above
		}
		if len(found) < maxShown && len(number) < 16 && strings.ContainsAny(number, "0123456789") && p.isSign(sign) {
			m, ok := price.Parse(number, p.hint)
			at := cover(above.start, below.end)
			if ok && m.Symbol == "" && letters(number) == 0 && at >= 0 && p.els[at].end-p.els[at].start <= maxApart {
				currency := price.CurrencyOf(sign, p.hint)
				at = cover(in.start, in.end)
				found = append(found, amountShown{amount: m.Amount, to: m.To, currency: currency, start: above.start,
					end: below.end, el: at})
			}
		}
		above = below
	}
	if len(found) > n {
		slices.SortStableFunc(found, func(a, b amountShown) int { return a.start - b.start })
	}
	return found
}

// isSign says that a line is nothing but the sign or name of a currency.
func (p *page) isSign(line string) bool {
	if line == "" || len(line) > 8 || digits(line) > 0 {
		return false
	}
	m, ok := price.Parse(line+" 1.00", p.hint)
	if !ok || m.Symbol != line {
		m, ok = price.Parse("1.00 "+line, p.hint)
	}
	return ok && m.Symbol == line
}

// letters counts the letters of a text.
func letters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// anyFrom says that a sorted list holds a number from first to last.
func anyFrom(list []int, first, last int) bool {
	n, _ := slices.BinarySearch(list, first)
	return n < len(list) && list[n] <= last
}

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

// pairs tells the price from the earlier one where two amounts stand side by side, as a sale is written in all the
// world: the lower one counts.
func (p *page) pairs(amounts []amountShown) {
	for i := 1; i < len(amounts); i++ {
		a, b := &amounts[i-1], &amounts[i]
		if b.start < a.end || b.start-a.end > pairReach {
			continue
		}
		between := strings.Trim(p.text[a.end:b.start], " \n")
		x, _ := strconv.ParseFloat(a.amount, 64)
		y, _ := strconv.ParseFloat(b.amount, 64)
		if x > y {
			a, b, x, y = b, a, y, x
		}
		if x <= 0 || y <= pairLeast*x || y >= pairMost*x {
			continue
		}
		switch before, after := p.around(*a); {
		case isNet(before, after) && y < mostTax*x: // the one that the shop names first, unless it stresses the other
			amounts[i-1].points += p.w[pricePairFirst]
			a.grossBeside = true
		case between == "" && p.cued(before, after) >= 0 && !p.named(a.el, extra):
			a.points += p.w[pricePairLower]
			b.points += p.w[pricePairHigher]
		}
	}
}

// ranges are the signs between the two ends of a range.
var ranges = map[string]bool{"-": true, "–": true, "—": true, "~": true, "to": true, "bis": true, "à": true, "a": true}

// lists are the signs between amounts that are listed.
var lists = map[string]bool{",": true, "and": true, "or": true, "und": true, "oder": true, "et": true, "ou": true}

// around is the text before and after an amount on its line, up to the amounts beside it; lower case. The text between
// two amounts belongs to the one that it is about, as a rule to the second.
func (p *page) around(a amountShown) (before, after string) {
	from, until := max(a.start-70, 0), min(a.end+50, len(p.text))
	n, _ := slices.BinarySearchFunc(p.spans, a.start, func(s span, at int) int { return s.start - at })
	for k := n - 1; k >= 0 && k > n-8; k-- {
		if end := p.spans[k].end; end <= a.start {
			if end > from && !strings.Contains(p.text[end:a.start], "\n") {
				switch between := strings.ToLower(strings.Trim(p.text[end:a.start], " ;(")); {
				case ranges[between]: // "RRP $79 - $89"
					before, _ = p.around(amountShown{start: p.spans[k].start, end: end})
					from = a.start
				case lists[between]: // "priced $1, $2 and $4", but "was $79, $49"
					if before, _ = p.around(amountShown{start: p.spans[k].start, end: end}); containsAny(before, cuesWas) {
						before = ""
					}
					from = a.start
				case beginsWithAny(between, cuesUnit) && !strings.HasSuffix(between, ":"): // "$4.16/mo $49.90"
					from = a.start
				default:
					from = end
				}
			}
			break
		}
	}
	if from < a.start {
		before = p.label(from, a.start)
	}
	for k := n; k < len(p.spans) && k < n+8; k++ {
		if start := p.spans[k].start; start >= a.end {
			if between := p.text[a.end:max(min(start, until), a.end)]; start < until && !strings.Contains(between, "\n") {
				until = start
				if beginsWithAny(strings.ToLower(strings.TrimLeft(between, " (*")), cuesNext) ||
					strings.HasSuffix(strings.TrimSpace(between), ":") {
					until = a.end
				}
			}
			break
		}
	}
	after, _, _ = strings.Cut(p.text[a.end:until], "\n")
	return before, strings.ToLower(after)
}

// label is the text of the line from a position up to an amount, or, where the amount begins its line, the line above
// if that may be a label: short, and without a number of its own. The product's name is none; lower case.
func (p *page) label(from, at int) string {
	to := at
	if n := strings.LastIndexByte(p.text[from:at], '\n'); n >= 0 {
		line := from + n + 1
		above := from + strings.LastIndexByte(p.text[from:line-1], '\n') + 1
		if text := p.text[above : line-1]; strings.TrimSpace(p.text[line:at]) == "" && len(text) < 45 && digits(text) == 0 {
			from, to = above, line-1
		} else {
			from = line
		}
	}
	if p.title >= 0 {
		if e := &p.els[p.title]; e.start < to && from < e.end {
			from = min(max(from, e.end), to)
		}
	}
	text := strings.ToLower(fold(p.text[from:to]))
	same := func(name string) bool { return strings.EqualFold(name, text) }
	if same(p.name) || slices.ContainsFunc(p.called, same) {
		return ""
	}
	return text
}

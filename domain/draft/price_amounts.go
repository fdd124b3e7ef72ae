package draft

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"github.com/mtlrent/conveyor/domain/price"
)

// maxAmounts bounds how many amounts of a page are looked at.
const maxAmounts = 3000

// An amountShown is an amount in the visible text.
type amountShown struct {
	amount, currency string
	to               string // the upper end of a range, of which amount is the lower; "" = none
	signed           bool   // a sign or name of a currency stands beside it, known or not
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
		if len(line) > 2000 || !hasDigit(line) {
			continue
		}
		for _, m := range price.All(line, p.hint) {
			if len(out) >= maxAmounts {
				break
			}
			a := amountShown{amount: m.Amount, to: m.To, currency: m.Currency, signed: m.Symbol != "",
				start: start + m.Start, end: start + m.End}
			a.el = cover(a.start, a.end)
			out = append(out, a)
		}
	}
	return p.amountsApart(out)
}

// amountsNamed are those of elements that are named price, or end in a dash, and hold a number without its currency or
// spread over lines, or say that the product is free, none of those read before.
func (p *page) amountsNamed(read []amountShown) []amountShown {
	var out []amountShown
	var taken []int // elements, in order
	for _, a := range read {
		taken = append(taken, a.el)
	}
	slices.Sort(taken)
	for i := range p.els {
		e := &p.els[i]
		if e.end-e.start > 40 || e.end == e.start || len(read)+len(out) >= maxAmounts ||
			e.own&costs == 0 && !isDashed(p.of(i)) {
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
		if text == "" || strings.Contains(text, "%") || anyFrom(taken, i, e.last) {
			continue
		}
		m, ok := price.Parse(text, p.hint)
		free := !strings.ContainsAny(text, "0123456789")
		if !ok || free && (p.named(i, extra) || p.beside(i) || !p.freeAlone(i)) || !free && letters(text) > 6 {
			continue
		}
		a := amountShown{amount: m.Amount, to: m.To, currency: m.Currency, signed: m.Symbol != "",
			start: e.start, end: e.end, el: i}
		if m.Symbol == "" && !isDashed(text) {
			a.points = p.w[priceBare]
		}
		out = append(out, a)
	}
	return out
}

// maxAlone is how long the line or row is, in bytes, of a word for free that is the product's.
const maxAlone = 100

// lineFrom is where the line of a position begins, or a place before it that is too far for freeAlone.
func (p *page) lineFrom(at int) int {
	from := max(at-maxAlone-1, 0)
	return from + strings.LastIndexByte(p.text[from:at], '\n') + 1
}

// freeAlone says that the word for free in an element is the product's: its line, or row, says nothing else but,
// perhaps, "price", and no label above it speaks of something else.
func (p *page) freeAlone(i int) bool {
	start := p.els[i].end - len(strings.TrimLeft(p.text[p.els[i].start:p.els[i].end], " \n"))
	end := start + len(p.of(i))
	from, to := p.lineFrom(start), min(end+maxAlone+1, len(p.text)) // one that is longer is too long in any case
	if n := strings.IndexByte(p.text[end:to], '\n'); n >= 0 {
		to = end + n
	}
	for at, level := i, 0; at >= 0 && level < 4; at, level = p.els[at].parent, level+1 {
		if e := &p.els[at]; e.tag == atom.Tr {
			from, to = min(from, e.start), max(to, e.end)
		} else if e.tag == atom.Dd { // its label is the line above
			from = p.lineFrom(max(from-1, 0))
		}
	}
	if to-from > maxAlone {
		return false
	}
	m, ok := price.Parse(fold(strings.ReplaceAll(p.text[from:to], "\n", " ")), p.hint)
	before, after := p.around(amountShown{start: start, end: end})
	return ok && isZero(m.Amount) && p.cued(before, after) >= 0
}

// dashed is an amount with a dash for its cents, which needs no currency to be one: "1 299,-", "1'249.–".
var dashed = regexp.MustCompile(`^\d{1,3}(?:[ .'’\x{a0}\x{2009}\x{202f}]?\d{3})*[,.:][-–—]$`)

func isDashed(s string) bool { return s != "" && isDigit(s[0]) && dashed.MatchString(s) }

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
		if len(above.line) > maxApart || len(below.line) > maxApart {
			above = below
			continue
		}
		sign, number, in := above.line, below.line, below
		if digits(sign) > 0 {
			sign, number, in = number, sign, above
		}
		if len(found) < maxAmounts && len(number) < 16 && digits(number) > 0 && p.isSign(sign) {
			m, ok := price.Parse(number, p.hint)
			at := cover(above.start, below.end)
			if ok && m.Symbol == "" && letters(number) == 0 && at >= 0 && p.els[at].end-p.els[at].start <= maxApart {
				currency := price.CurrencyOf(sign, p.hint)
				at = cover(in.start, in.end)
				found = append(found, amountShown{amount: m.Amount, to: m.To, currency: currency, signed: true,
					start: above.start, end: below.end, el: at})
			}
		}
		above = below
	}
	if len(found) > n {
		slices.SortStableFunc(found, func(a, b amountShown) int { return a.start - b.start })
	}
	return found
}

// hasDigit says that a text has a digit of the Latin or the Arabic script.
func hasDigit(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			return true
		case c == 0xd9 || c == 0xdb: // of two bytes: ٠ to ٩ and ۰ to ۹
			if r, _ := utf8.DecodeRuneInString(s[i:]); r >= '٠' && r <= '٩' || r >= '۰' && r <= '۹' {
				return true
			}
		}
	}
	return false
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
func (p *page) around(a amountShown) (before, after string) { return p.aroundOf(a, mostListed) }

// mostListed is how many amounts of a list share the text before the first.
const mostListed = 20

// aroundOf is around for an amount that so many of a list may stand before.
func (p *page) aroundOf(a amountShown, listed int) (before, after string) {
	from, until := max(a.start-70, 0), min(a.end+50, len(p.text))
	n, _ := slices.BinarySearchFunc(p.spans, a.start, func(s span, at int) int { return s.start - at })
	for k := n - 1; k >= 0 && k > n-8; k-- {
		if end := p.spans[k].end; end <= a.start {
			if end > from && !strings.Contains(p.text[end:a.start], "\n") {
				switch between := strings.ToLower(strings.Trim(p.text[end:a.start], " ;(")); {
				case listed == 0:
					from = end
				case ranges[between]: // "RRP $79 - $89"
					before, _ = p.aroundOf(amountShown{start: p.spans[k].start, end: end}, listed-1)
					from = a.start
				case lists[between]: // "priced $1, $2 and $4", but "was $79, $49"
					if before, _ = p.aroundOf(amountShown{start: p.spans[k].start, end: end}, listed-1); cuesWas.in(before) {
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

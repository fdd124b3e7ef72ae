// Package price reads money as the world's shops write it: "1.299,- €", "Rs. 12,34,567.00", "1 299 руб. 50 коп.".
package price

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Price is a sum of money. Its sign is not kept: "-10 €" is 10.
type Price struct {
	Amount   string // decimal: digits, at most one point, no leading zeros, the fraction as written: "1299.99", "450"
	Currency string // ISO 4217; "" = the text does not say, or could mean several
	Symbol   string // the currency as the text writes it: "£", "USD", "kr."; "" = none
	To       string // the upper end of a range, of which Amount is the lower: 20 in "$10 - 20"; "" = no range
}

// A Hint is context that a text itself does not give.
type Hint struct {
	Currency string // ISO 4217: the meaning of an ambiguous symbol, or of none; "" = not known
	Home     string // ISO 4217: the meaning of an ambiguous symbol, and of no other; "" = not known
	Decimal  byte   // the separator before a fraction: '.' or ','; 0 = guess
}

// A Match is a price and where it stands.
type Match struct {
	Price
	Start, End int // bytes of the text, its currency included
}

// Parse reads the first price of a text; where no number carries a currency, its first number, in the hint's currency,
// unless that is a share, a date, a rating, a measure or a part of a word. "Free" and its like in other languages are
// 0. Of a range it returns the lower end, with the upper one in To.
func Parse(text string, h Hint) (Price, bool) {
	var bare Match // the first number
	s := scanner{text: text, hint: h}
	var before Match
	for m, ok := s.next(); ok; m, ok = s.next() {
		if s.lends(m, &before) {
			before.To = s.until(before, m)
			return before.Price, true
		}
		if m.Symbol != "" {
			if next, ok := s.next(); ok {
				m.To = s.until(m, next)
			}
			return m.Price, true
		}
		if before = m; bare.Amount == "" {
			bare = m
		}
	}
	switch {
	case bare.Amount != "" && s.plain(bare):
		return Price{Amount: bare.Amount, Currency: h.Currency, To: s.upper(bare)}, true
	case free(text):
		return Price{Amount: "0", Currency: h.Currency}, true
	}
	return Price{}, false
}

// All finds every amount that carries a currency, in the text's order. "$10 - $20" and "10.00 - 20.00 €" are two, the
// first of which has the second in To. "Size 10 - 20 €" is one, for the number before the dash may be anything, unless it
// begins the text.
func All(text string, h Hint) []Match {
	var found []Match
	s := scanner{text: text, hint: h}
	var before Match
	for m, ok := s.next(); ok; m, ok = s.next() {
		if s.lends(m, &before) {
			found = append(found, before)
		}
		if n := len(found) - 1; n >= 0 && found[n].Start == before.Start {
			found[n].To = s.until(found[n], m)
		}
		if m.Symbol != "" {
			found = append(found, m)
		}
		before = m
	}
	return found
}

// lends gives the currency behind an amount to the number before it too, where the two are the ends of a range and are
// both written with cents, "12.99 - 15.99 €", or the first one begins the text.
func (s *scanner) lends(m Match, before *Match) bool {
	if m.Symbol == "" || before.Amount == "" || before.Symbol != "" || !strings.HasSuffix(s.text[:m.End], m.Symbol) ||
		cents(before.Amount) != cents(m.Amount) ||
		!cents(m.Amount) && (!s.begins(before.Start) || !Less(before.Amount, m.Amount)) {
		return false
	}
	between, _, ok := strings.Cut(s.text[before.End:m.End], m.Symbol)
	if !ok {
		return false
	}
	if between, _, ok = cutDigit(between); !ok || !dash(between) {
		return false
	}
	before.Symbol, before.Currency = m.Symbol, m.Currency
	return true
}

// begins tells whether nothing but a little white space stands before a position.
func (s *scanner) begins(at int) bool { return at <= 64 && strings.TrimSpace(s.text[:at]) == "" }

// until is the upper end of the range that two neighbours are the ends of, "" where they are none. The second may lack
// the currency: "US $10.49 - 15.20".
func (s *scanner) until(lower, upper Match) string {
	if lower.Amount == "" || upper.Start < lower.End || !dash(s.text[lower.End:upper.Start]) ||
		!Less(lower.Amount, upper.Amount) || upper.Symbol == "" && !s.plain(upper) ||
		upper.Symbol != "" && upper.Currency != lower.Currency {
		return ""
	}
	return upper.Amount
}

// upper is the upper end of a range without a currency: "10.49 - 15.20", both with cents.
func (s *scanner) upper(lower Match) string {
	rest := scanner{text: s.text, hint: s.hint, at: lower.End, used: lower.End}
	m, ok := rest.next()
	if !ok || !cents(lower.Amount) || !cents(m.Amount) {
		return ""
	}
	return s.until(lower, m)
}

// rangeWords stand between the two ends of a range where no dash does.
var rangeWords = map[string]bool{"to": true, "bis": true, "à": true, "a": true, "do": true, "až": true, "до": true,
	"tot": true, "til": true, "till": true}

// dash tells whether the text between two numbers makes them the ends of a range.
func dash(between string) bool {
	between = strings.Trim(between, " \u00a0\u202f")
	return rangeWords[strings.ToLower(between)] || between == "-" || between == "–" || between == "—" || between == "~" ||
		between == "～" || between == "−"
}

// cutDigit cuts a text before its first digit; ok says that there is one.
func cutDigit(s string) (before, after string, ok bool) {
	n := strings.IndexFunc(s, func(r rune) bool { _, is := digit(r); return is })
	if n < 0 {
		return s, "", false
	}
	return s[:n], s[n:], true
}

// Less says that an Amount is below another one. An empty one is below all.
func Less(a, b string) bool {
	wholeA, fractionA, _ := strings.Cut(a, ".")
	wholeB, fractionB, _ := strings.Cut(b, ".")
	fractionA, fractionB = strings.TrimRight(fractionA, "0"), strings.TrimRight(fractionB, "0")
	if len(wholeA) != len(wholeB) {
		return len(wholeA) < len(wholeB)
	}
	return wholeA+"."+fractionA < wholeB+"."+fractionB
}

// cents tells whether an amount has a fraction of two digits.
func cents(amount string) bool { return len(amount) > 3 && amount[len(amount)-3] == '.' }

// A scanner goes over a text from number to number, with a bounded look to either side of each.
type scanner struct {
	text string
	hint Hint
	at   int // where to look for the next number
	used int // the text before belongs to an earlier price
}

// next returns the next number that can be an amount, with its currency where it has one.
func (s *scanner) next() (Match, bool) {
	for s.at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		if _, ok := digit(r); !ok {
			s.at += size
			continue
		}
		n := readChain(s.text, s.at)
		if m, ok := s.price(&n); ok {
			s.at, s.used = max(m.End, n.end), m.End
			return m, true
		}
		s.at = n.end
	}
	return Match{}, false
}

// price makes an amount of a chain of digits and the text around it.
func (s *scanner) price(n *chain) (Match, bool) {
	before, hasBefore := symbolBefore(s.text, s.used, n.start)
	if !hasBefore && n.start > s.used && n.point(s.text) { // ".99", "$.99", "-,99"
		at := s.used + len(strings.TrimRight(s.text[s.used:n.start-1], "-–—"))
		dashed := at < n.start-1 && !wordBefore(s.text, at)
		if before, hasBefore = symbolBefore(s.text, s.used, at); hasBefore || at == 0 || dashed {
			n.start = at
			n.groups = []group{{digits: "0"}, {sep: '.', digits: n.groups[0].digits}}
		}
	}
	if !hasBefore && letterBefore(s.text, n.start) && !n.cents() {
		return Match{}, false
	}
	if hasBefore { // "CAD $12", not "EUR 9 $12"
		if code, ok := symbolBefore(s.text, s.used, before.start); ok && code.refines(before) {
			code.end = before.end
			before = code
		}
	}
	n.tail(s.text, hasBefore)
	after, hasAfter := symbolAfter(s.text, n.end)
	hasAfter = hasAfter && after.name != "¢"
	if hasAfter && after.spaced && gluedToNumber(s.text, after.end) {
		hasAfter = false // "40 €12"
	}
	if hasBefore && hasAfter && s.outweighs(after, before) {
		hasBefore = false // "L 29,90 €"
	}
	if !hasBefore && hasAfter && after.spaced && !n.money() && s.moneyAt(after.end) {
		hasAfter = false // "42 CHF 159.90"
	}
	cur, sym := s.hint.Currency, before
	m := Match{Start: n.start, End: n.end}
	switch {
	case hasBefore && hasAfter && after.refines(before):
		sym, m.Start, m.End = after, before.start, after.end
	case hasBefore:
		hasAfter, m.Start = false, before.start
	case hasAfter:
		sym, m.End = after, after.end
	}
	if hasBefore || hasAfter {
		cur = sym.in(s.hint)
	}
	amount, ok := n.amount(Hint{Currency: cur, Decimal: s.hint.Decimal})
	if !ok || percent(s.text, n.end) {
		return Match{}, false
	}
	m.Amount = amount
	if !hasBefore && !hasAfter {
		return s.subunits(n, m), true
	}
	if sym.faint(hasBefore) && (cur != s.hint.Currency || cur == "") && !n.money() {
		return Match{Price: Price{Amount: amount}, Start: n.start, End: n.end}, true
	}
	if end := lakhs(s.text, n.end, &amount); end > 0 && hasBefore { // "Rs 1.5 Lacs"
		m.Amount, m.End = amount, end
	}
	if hasBefore && scaled(s.text, n.end) { // "$10k"
		return Match{}, false
	}
	if !hasAfter && measure(s.text[m.End:]) {
		return Match{}, false
	}
	m.Currency, m.Symbol = cur, s.text[sym.start:sym.end]
	if hasAfter {
		s.fraction(&m)
	}
	return m, true
}

// outweighs tells whether the currency behind a number is meant, and not a name before it that may say something else.
func (s *scanner) outweighs(after, before symbol) bool {
	if !before.spaced || !before.faint(true) || after.faint(false) || after.refines(before) || before.refines(after) {
		return false
	}
	_, ahead := s.numberAt(after.end)
	return !ahead && (s.hint.Currency == "" || before.in(s.hint) != s.hint.Currency)
}

// numberAt reads the number that follows after spaces on the line.
func (s *scanner) numberAt(at int) (chain, bool) {
	start := at
	for range 5 {
		r, size := utf8.DecodeRuneInString(s.text[at:])
		if separator(r) != ' ' {
			break
		}
		at += size
	}
	if at == start || !gluedToNumber(s.text, at) {
		return chain{}, false
	}
	return readChain(s.text, at), true
}

// moneyAt tells whether a number follows that is written like money, with neither a currency nor a word behind it:
// the currency before it is its own, and not that of the number before both.
func (s *scanner) moneyAt(at int) bool {
	n, ok := s.numberAt(at)
	if !ok || !n.money() || !ends(s.text, n.end) {
		return false
	}
	amount, ok := n.amount(s.hint)
	return ok && s.plain(Match{Price: Price{Amount: amount}, Start: n.start, End: n.end})
}

// units are the units of weights and sizes: "Pesos: 61,8 kg" is no sum of pesos.
var units = set("kg g gr cm mm ml lb lbs oz w kw inch mah gb tb hz кг")

// measure tells whether a unit of measure stands next, or a percent sign.
func measure(after string) bool {
	after = strings.TrimLeft(after[:min(len(after), 32)], " ")
	if strings.HasPrefix(after, "%") {
		return true
	}
	end := strings.IndexFunc(after, func(r rune) bool { return !unicode.IsLetter(r) })
	if end < 0 {
		end = len(after)
	}
	word := strings.ToLower(after[:end])
	return units[word] && (word != "w" || !strings.HasPrefix(after[end:], "/")) // "$49.99 w/ coupon"
}

// lakhWords are the words for a hundred thousand and ten million, and their zeros.
var lakhWords = map[string]int{"lac": 5, "lacs": 5, "lakh": 5, "lakhs": 5, "crore": 7, "crores": 7}

// lakhs multiplies an amount by the word behind it, "1.5 Lacs", and returns that word's end; 0 = there is none.
func lakhs(text string, at int, amount *string) (end int) {
	rest := text[at:min(at+16, len(text))]
	word := strings.TrimLeft(rest, " \u00a0")
	n := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) })
	if n < 0 {
		n = len(word)
	}
	zeros, ok := lakhWords[strings.ToLower(word[:n])]
	whole, fraction, _ := strings.Cut(*amount, ".")
	if !ok || len(whole) > 5 || len(fraction) > zeros {
		return 0
	}
	*amount = strings.TrimLeft(whole+fraction+strings.Repeat("0", zeros-len(fraction)), "0")
	if *amount == "" {
		return 0
	}
	return at + len(rest) - len(word) + n
}

// fraction adds the digits that follow the currency: "12€90", "1 299 руб. 50 коп.".
func (s *scanner) fraction(m *Match) {
	if strings.Contains(m.Amount, ".") {
		return
	}
	if digits, end := twoDigits(s.text, m.End); end > 0 && (end == m.End+2 || ends(s.text, end)) {
		m.Amount, m.End = m.Amount+"."+digits, end
		return
	}
	if cents, end := readSubunits(s.text, m.End); end > 0 {
		m.Amount, m.End = m.Amount+"."+cents, end
	}
}

// subunits reads a sum below one: "99¢", and "99p" where that is known to be pence.
func (s *scanner) subunits(n *chain, m Match) Match {
	rest := s.text[n.end:]
	var sign string
	switch {
	case strings.HasPrefix(rest, "¢"):
		sign = "¢"
	case s.hint.Currency == "GBP" && strings.HasPrefix(rest, "p") && !letterAt(s.text, n.end+1):
		sign = "p"
	}
	if sign == "" || strings.Contains(m.Amount, ".") || len(m.Amount) > 2 {
		return m
	}
	m.Amount = "0." + strings.Repeat("0", 2-len(m.Amount)) + m.Amount
	m.Symbol, m.End = sign, n.end+len(sign)
	m.Currency = s.hint.Currency
	if sign == "¢" {
		m.Currency = CurrencyOf(sign, s.hint)
	}
	return m
}

// plain tells whether a number without a currency may be an amount.
func (s *scanner) plain(m Match) bool {
	if letterBefore(s.text, m.Start) || letterAt(s.text, m.End) {
		return false
	}
	if r, _ := utf8.DecodeLastRuneInString(s.text[:m.Start]); r == '#' || r == '+' || r == '/' || r == '№' {
		return false
	}
	rest := strings.ToLower(strings.TrimSpace(s.text[m.End:min(len(s.text), m.End+24)]))
	for _, word := range notAfter {
		if tail, ok := strings.CutPrefix(rest, word); ok && !letterAt(tail, 0) {
			return false
		}
	}
	if len(rest) > 1 && (rest[0] == '/' || rest[0] == ':' || rest[0] == 'x' || rest[0] == '-') {
		d, _ := utf8.DecodeRuneInString(rest[1:])
		if _, ok := digit(d); ok && (rest[0] != '-' || !strings.Contains(m.Amount, ".")) {
			return false
		}
	}
	return true
}

// notAfter are words that make the number before them something else than an amount.
var notAfter = []string{"out of", "of 5", "/ 5", "von 5", "sur 5", "de 5", "su 5", "stars", "star", "sterne", "reviews",
	"review", "ratings", "cm", "mm", "kg", "ml", "inch", "gb", "tb", "mah", "pcs", "pieces", "items", "days"}

// freeWords are the words that a shop writes instead of 0.
var freeWords = map[string]bool{"free": true, "gratis": true, "gratuit": true, "gratuite": true, "gratuito": true,
	"grátis": true, "kostenlos": true, "umsonst": true, "бесплатно": true, "за darmo": true, "za darmo": true,
	"zdarma": true, "zadarmo": true, "ilmainen": true, "ingyenes": true, "ücretsiz": true, "bedava": true,
	"無料": true, "免费": true, "免費": true, "무료": true, "مجاني": true, "مجانا": true, "δωρεάν": true,
	"безкоштовно": true, "безплатно": true, "tasuta": true, "miễn phí": true, "ฟรี": true, "חינם": true}

// free tells whether a text says nothing but that something costs nothing.
func free(text string) bool {
	if len(text) > 64 {
		return false
	}
	text = strings.ToLower(strings.TrimFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }))
	for _, lead := range []string{"price", "preis", "prix", "precio", "prezzo", "for"} {
		if rest, ok := strings.CutPrefix(text, lead); ok && !letterAt(rest, 0) {
			text = strings.TrimLeft(rest, " :")
		}
	}
	return freeWords[text]
}

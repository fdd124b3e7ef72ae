package price

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A chain is digits in groups, with one separator before each group but the first.
type chain struct {
	groups     []group
	start, end int     // bytes of the text
	extra      string  // a fraction written apart: "5 .99", "19⁹⁹"
	tens       bool    // in 万, ten thousands
	low        []group // the digits that follow 万
}

type group struct {
	sep    rune // '.', ',', ' ', '\'', '٫' (a decimal sign for certain), '٬' (a thousands sign for certain)
	digits string
}

// digit returns the value of a decimal digit of the scripts in which prices are written.
func digit(r rune) (byte, bool) {
	if r >= '0' && r <= '9' {
		return byte(r), true
	}
	if r < 0x660 {
		return 0, false
	}
	for _, zero := range [...]rune{'\u0660', '\u06f0', '\u0966', '\u09e6', '\u0e50', '\uff10'} {
		if r >= zero && r < zero+10 {
			return '0' + byte(r-zero), true
		}
	}
	return 0, false
}

// separator returns the kind of separator that a rune between two digits may be, and 0 where it ends a number.
func separator(r rune) rune {
	switch r {
	case '.', ',', '\'', '٫', '٬':
		return r
	case '，', '、', '،':
		return ','
	case '．', '·':
		return '.'
	case '’', 'ʼ', '´', '`', '‘':
		return '\''
	}
	if r != '\n' && r != '\r' && unicode.IsSpace(r) || r == '\u202f' || r == '\u2009' {
		return ' '
	}
	return 0
}

// readDigits reads a run of digits and returns it in ASCII, with its end.
func readDigits(text string, at int) (string, int) {
	end := at
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	if end == len(text) || text[end] < utf8.RuneSelf {
		return text[at:end], end
	}
	ascii := []byte(text[at:end])
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		d, ok := digit(r)
		if !ok {
			break
		}
		ascii = append(ascii, d)
		end += size
	}
	return string(ascii), end
}

// readChain reads the longest chain that begins at a digit.
func readChain(text string, at int) chain {
	n := chain{start: at}
	digits, end := readDigits(text, at)
	n.groups = append(n.groups, group{digits: digits})
	for {
		r, size := utf8.DecodeRuneInString(text[end:])
		sep := separator(r)
		if sep == 0 {
			break
		}
		digits, to := readDigits(text, end+size)
		if digits == "" || sep == ' ' && !n.takes(digits) {
			break
		}
		n.groups = append(n.groups, group{sep, digits})
		end = to
	}
	n.end = end
	return n
}

// takes tells whether three digits after a space are the next thousands: "1 299", and not "24 1299".
func (n *chain) takes(digits string) bool {
	if len(digits) != 3 || len(n.groups[0].digits) > 3 || n.groups[0].digits[0] == '0' {
		return false
	}
	for _, g := range n.groups[1:] {
		if g.sep != ' ' {
			return false
		}
	}
	return true
}

// point tells whether the chain is the fraction of an amount below one: ".99".
func (n *chain) point(text string) bool {
	return n.start > 0 && (text[n.start-1] == '.' || text[n.start-1] == ',') && len(n.groups) == 1 &&
		len(n.groups[0].digits) == 2
}

// cents tells whether the amount is written with a fraction of two digits, as few numbers but prices are.
func (n *chain) cents() bool {
	last := n.groups[len(n.groups)-1]
	return len(n.extra) == 2 || (last.sep == '.' || last.sep == ',' || last.sep == '٫') && len(last.digits) == 2
}

// money tells whether the number is written as money is: with cents, or its thousands parted.
func (n *chain) money() bool {
	return n.cents() || len(n.groups) > 1 && len(n.groups[1].digits) == 3
}

// whole tells whether no fraction has been read, nor can the last group be one.
func (n *chain) whole() bool {
	last := n.groups[len(n.groups)-1]
	return n.extra == "" && (last.sep == 0 || len(last.digits) == 3)
}

// tail reads a possible end of a number: "1299,-", "5 .99", "19⁹⁹", "10万", and "19 99" after a currency.
func (n *chain) tail(text string, priced bool) {
	rest := text[n.end:]
	if r, size := utf8.DecodeRuneInString(rest); r == '万' || r == '萬' || r == '만' {
		n.tens = true
		n.end += size
		if gluedToNumber(text, n.end) {
			low := readChain(text, n.end)
			n.low, n.end = low.groups, low.end
		}
		return
	}
	if !n.whole() {
		return
	}
	for _, mark := range []string{",", ".", ":"} {
		after, ok := strings.CutPrefix(rest, mark)
		if !ok {
			continue
		}
		dashes := strings.TrimLeft(after, "-–—−")
		if dashes != after {
			n.end += len(rest) - len(dashes)
			return
		}
	}
	if digits, end := superscript(text, n.end); len(digits) == 2 {
		n.extra, n.end = digits, end
		return
	}
	if digits, end := n.spaced(text, priced); end > 0 {
		n.extra, n.end = digits, end
		return
	}
	gap := len(rest) - len(strings.TrimLeft(rest, " \u00a0\n\t"))
	if gap > 8 || gap == 0 && !(priced && strings.HasPrefix(rest, ". ")) {
		return
	}
	at := n.end + gap
	if at < len(text) && (text[at] == '.' || text[at] == ',') { // "5 .99"
		at++
		for at < len(text) && text[at] == ' ' && at < n.end+gap+2 {
			at++
		}
		if digits, end := readDigits(text, at); len(digits) == 2 && (gap > 0 || ends(text, end)) {
			n.extra, n.end = digits, end
		}
		return
	}
	if digits, end := twoDigits(text, n.end); priced && end > 0 && ends(text, end) && n.groups[0].digits != "0" {
		n.extra, n.end = digits, end
	}
}

// spaced reads a fraction that a comma and a space stand before: "12, 50 zł". In a list, "sizes 10, 20 and 30", no
// currency stands beside the two digits. end is 0 where there is none.
func (n *chain) spaced(text string, priced bool) (digits string, end int) {
	rest, ok := strings.CutPrefix(text[n.end:], ",")
	if !ok {
		return "", 0
	}
	r, size := utf8.DecodeRuneInString(rest)
	if separator(r) != ' ' {
		return "", 0
	}
	digits, end = readDigits(text, n.end+1+size)
	if len(digits) != 2 || percent(text, end) {
		return "", 0
	}
	if r, _ := utf8.DecodeRuneInString(text[end:]); r == '.' || r == ',' || r == ':' || r == '/' || r == '-' {
		return "", 0
	}
	if _, after := symbolAfter(text, end); after && !priced {
		return digits, end
	}
	if priced && ends(text, end) {
		return digits, end
	}
	return "", 0
}

// amount writes the chain as a decimal, or says that it is no amount: a date, a version, the number of an article.
func (n *chain) amount(h Hint) (string, bool) {
	whole, frac, ok := n.split(h)
	if !ok {
		return "", false
	}
	if n.extra != "" {
		if frac != "" {
			return "", false
		}
		frac = n.extra
	}
	if n.tens {
		low := frac
		for _, g := range n.low {
			low += g.digits
		}
		if len(low) > 4 || frac != "" && n.low != nil || len(n.low) > 1 && (len(n.low) > 2 || !threes(n.low[1:])) {
			return "", false
		}
		if zeros := strings.Repeat("0", 4-len(low)); frac != "" {
			low += zeros
		} else {
			low = zeros + low
		}
		whole, frac = whole+low, ""
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	if len(whole) > 12 || len(frac) > 6 {
		return "", false
	}
	if frac != "" {
		whole += "." + frac
	}
	return whole, true
}

// split tells the digits before the decimal sign from those after it.
func (n *chain) split(h Hint) (whole, frac string, ok bool) {
	g := n.groups
	last := g[len(g)-1]
	if len(g) == 1 {
		return last.digits, "", true
	}
	var all strings.Builder
	for _, x := range g[:len(g)-1] {
		all.WriteString(x.digits)
	}
	whole = all.String()
	if len(g) == 2 {
		if last.thousands(g[0].digits, h) {
			return whole + last.digits, "", true
		}
		switch last.sep {
		case ' ', '٬':
			return "", "", false
		case '\'':
			return whole, last.digits, len(last.digits) == 2
		case ',':
			return whole, last.digits, len(last.digits) <= 3 || h.Decimal == ',' // "1,0001" has lost a footnote's sign
		}
		return whole, last.digits, true
	}
	inner := g[1].sep // the thousands sign
	if inner == '٫' {
		return "", "", false
	}
	for _, x := range g[1 : len(g)-1] {
		if x.sep != inner {
			return "", "", false
		}
	}
	lead := len(g[0].digits)
	if last.sep == inner {
		switch {
		case lead <= 3 && threes(g[1:]), inner == ',' && lead <= 2 && indian(g[1:]):
			return whole + last.digits, "", true
		case lead <= 3 && threes(g[1:len(g)-1]) && len(last.digits) <= 2 && inner != ' ' && inner != '\'':
			return whole, last.digits, true // "1.299.00"
		}
		return "", "", false
	}
	if lead <= 3 && threes(g[1:len(g)-1]) || inner == ',' && lead <= 2 && indian(g[1:len(g)-1]) {
		return whole, last.digits, last.sep == '.' || last.sep == ',' || last.sep == '٫'
	}
	return "", "", false
}

// thousands tells whether the only separator of a number parts thousands. Before three digits it does, unless the hint
// or the currency, one with three decimals, says otherwise.
func (g group) thousands(lead string, h Hint) bool {
	if len(g.digits) != 3 || g.sep == '٫' || len(lead) > 3 {
		return false
	}
	if g.sep == ' ' || g.sep == '\'' || g.sep == '٬' {
		return true
	}
	if lead[0] == '0' || h.Decimal == byte(g.sep) {
		return false
	}
	return h.Decimal != 0 || byte(g.sep) != thousandths[h.Currency]
}

// Decimals are those of a price in a currency that shops write: two, or the three of currencies with a thousand parts.
func Decimals(currency string) int {
	if thousandths[currency] != 0 {
		return 3
	}
	return 2
}

// thousandths are the currencies whose unit has a thousand parts, and the separator that is written before those.
var thousandths = map[string]byte{"BHD": '.', "IQD": '.', "JOD": '.', "KWD": '.', "LYD": '.', "OMR": '.', "TND": ','}

func threes(groups []group) bool {
	for _, g := range groups {
		if len(g.digits) != 3 {
			return false
		}
	}
	return true
}

// indian tells whether groups are those of "12,34,567".
func indian(groups []group) bool {
	for _, g := range groups[:len(groups)-1] {
		if len(g.digits) != 2 {
			return false
		}
	}
	return len(groups[len(groups)-1].digits) == 3
}

// twoDigits reads two digits, after one space at most; end is 0 where there are none.
func twoDigits(text string, at int) (digits string, end int) {
	if r, size := utf8.DecodeRuneInString(text[at:]); size > 0 && (separator(r) == ' ' || r == '\n') {
		at += size
	}
	digits, end = readDigits(text, at)
	r, size := utf8.DecodeRuneInString(text[end:])
	if len(digits) != 2 || letterAt(text, end) || percent(text, end) {
		return "", 0
	}
	if r == '.' || r == ',' || r == '-' || r == ':' || r == '/' || r == '\'' {
		if d, _ := utf8.DecodeRuneInString(text[end+size:]); unicode.IsDigit(d) {
			return "", 0
		}
	}
	return digits, end
}

// ends tells whether nothing after a number claims it: no word, no currency, no other number.
func ends(text string, at int) bool {
	rest := strings.TrimLeft(text[at:min(len(text), at+8)], " \u00a0\n\t")
	r, _ := utf8.DecodeRuneInString(rest)
	return rest == "" || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Sc, r) && r != '%' && r != '"'
}

const superscripts = "⁰¹²³⁴⁵⁶⁷⁸⁹"

// superscript reads digits written small and high.
func superscript(text string, at int) (string, int) {
	var digits []byte
	for at < len(text) && len(digits) < 4 {
		r, size := utf8.DecodeRuneInString(text[at:])
		i := strings.IndexRune(superscripts, r)
		if i < 0 || r == utf8.RuneError {
			break
		}
		digits = append(digits, '0'+byte(utf8.RuneCountInString(superscripts[:i])))
		at += size
	}
	return string(digits), at
}

// percent tells whether a number is a share.
func percent(text string, at int) bool {
	rest := strings.TrimLeft(text[at:min(len(text), at+8)], " \u00a0\u202f")
	r, _ := utf8.DecodeRuneInString(rest)
	return r == '%' || r == '٪' || r == '％' || r == '°'
}

// scaled tells whether a letter makes the number thousands or millions, as no price is.
func scaled(text string, at int) bool {
	return at < len(text) && strings.IndexByte("kKMB", text[at]) >= 0 && !letterAt(text, at+1)
}

func letterBefore(text string, at int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return unicode.IsLetter(r)
}

func letterAt(text string, at int) bool {
	if at >= len(text) {
		return false
	}
	r, _ := utf8.DecodeRuneInString(text[at:])
	return unicode.IsLetter(r)
}

package prose

import (
	"cmp"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/page"
)

var months = func() map[string]int {
	m := map[string]int{}
	for n, names := range []string{
		"janvier janv jan january", "fevrier fev fevr feb february", "mars mar march", "avril avr apr april", "mai may",
		"juin jun june",
		"juillet juil juill jul july", "aout aug august", "septembre sept sep september", "octobre oct october",
		"novembre nov november", "decembre dec december",
	} {
		for w := range strings.FieldsSeq(names) {
			m[w] = n + 1
		}
	}
	return m
}()

// A Date is a calendar date of which the year or the day may be unknown (0).
type Date struct{ Year, Month, Day int }

// ParseDate reads a printed date: "16-mars-17", "26-avr.-17", "1er juillet 2018", "July 1st, 2026",
// "2025-06-01T00:00:00Z", "01/07/2018" (day first). A two-digit year is of this century.
func ParseDate(s string) (Date, bool) {
	p := Read(page.Line(s))
	for i := range p.words {
		if d, _, _, ok := p.date(i); ok {
			return d, true
		}
	}
	return Date{}, false
}

func (d Date) String() string {
	switch {
	case d.Year > 0 && d.Day > 0:
		return itoa(d.Year) + "-" + two(d.Month) + "-" + two(d.Day)
	case d.Year > 0:
		return itoa(d.Year) + "-" + two(d.Month)
	case d.Day > 0:
		return two(d.Month) + "-" + two(d.Day)
	}
	return two(d.Month) + "-01"
}

// orEarlier spells a latest day.
func (d Date) orEarlier() string { return "<=" + Date{d.Year, d.Month, max(d.Day, 1)}.String() }

func two(n int) string {
	if n < 10 {
		return "0" + itoa(n)
	}
	return itoa(n)
}

// date reads a date that has token i in its middle (a month's name) or begins there (figures).
func (p *Prose) date(i int) (d Date, from, to int, ok bool) {
	t := &p.words[i]
	if t.kind == number {
		return p.figures(i)
	}
	if t.topic&aMonth == 0 || mayBeMonths[t.w] && !p.monthly(i) {
		return d, i, i, false
	}
	m := dateMention{p: p, Date: Date{Month: months[t.w]}, at: i, from: i, to: i}
	m.dayBefore()
	end := -1
	if m.Day == 0 {
		if end = p.endOf(i); end >= 0 {
			m.from = end
		}
	}
	k := i + 1
	if p.sym(k) == '.' {
		k++
	}
	if s := p.sym(k); s == '-' || s == ',' || s == '/' {
		k++
	}
	dated := m.yearAt(k)
	if end >= 0 { // its last day, of a year that is not known the last that each has
		m.Day = daysOf(m.Month, cmp.Or(m.Year, 2001))
	}
	if !dated && m.from == i {
		m.dayBehind(k)
	}
	return m.Date, m.from, m.to, true
}

// mayBeMonths are names of months that mean other things as well: "you may apply".
var mayBeMonths = set("mai may mars mar sept dec jan")

// A dateMention is the date that stands around the name of a month at one token, as far as it is read.
type dateMention struct {
	p *Prose
	Date
	at, from, to int
}

// dayBefore reads the day before the month: "1er juillet", "1 er mars", "16-mars", "mi-août".
func (m *dateMention) dayBefore() {
	p, k := m.p, m.at-1
	if s := p.sym(k); s == '-' || s == '.' || s == '/' {
		k--
	}
	switch p.word(k) {
	case "er", "ier", "re", "st", "nd", "rd", "th", "e", "ere", "iere":
		k--
	case "of", "de":
		if p.word(k-1) == "first" { // "the first of August"
			m.Day, m.from = 1, k-1
			return
		}
		if w := p.word(k - 1); w == "st" || w == "nd" || w == "rd" || w == "th" {
			k -= 2
		}
	}
	switch day := p.dayNumber(k); {
	case day > 0 && !p.words[m.at].line:
		m.Day, m.from = day, k
	case p.word(k) == "premier", p.sym(k) == '!' && p.word(k+1) == "er": // "!er", a slip of the shift key
		m.Day, m.from = 1, k
	case p.word(k) == "mi" || p.word(k) == "mid": // "mi-août"
		m.Day, m.from = 15, k
	}
}

// dayBehind reads the day at k in the English order, and the year behind it: "July 1st, 2026".
func (m *dateMention) dayBehind(k int) {
	p, after := m.p, k+1
	day := p.dayNumber(k)
	if day == 0 || p.words[k].line {
		return
	}
	switch p.word(after) {
	case "st", "nd", "rd", "th", "er":
		after++
	}
	if p.sym(after) == '$' || p.about(after, aBedroom|aPiece) || p.isMonthSpan(after) {
		return
	}
	m.Day, m.to = day, after-1
	if y := p.num(after + 1); p.sym(after) == '/' && y != nil && y.digits == 2 && y.dec == 0 && !p.words[after].space &&
		!y.space && y.cents >= 24_00 && y.cents <= 31_00 { // "April 1/26"; "Aug 1/15" is either day
		m.Year, m.to = 2000+int(y.cents/100), after+1
		return
	}
	if p.sym(after) == ',' || p.sym(after) == '.' {
		after++
	}
	m.yearAt(after)
}

// yearAt reads the year at k, "juillet 2018", or one of two digits where a dash joins it to a day: "16-mars-17".
func (m *dateMention) yearAt(k int) bool {
	n := m.p.num(k)
	if n == nil || n.dec > 0 || n.half || n.line {
		return false
	}
	y := int(n.cents / 100)
	switch {
	case n.digits == 4 && y >= 1990 && y <= 2099 && m.p.sym(k+1) != '$':
		m.Year = y
	case n.digits == 2 && y >= 10 && m.p.sym(k-1) == '-' && m.from < m.at,
		n.digits == 2 && y >= 15 && y <= 35 && m.from < m.at && k == m.at+1 && m.p.stop(k+1): // "4 ½ - 1 mai 18"
		m.Year = 2000 + y
	default:
		return false
	}
	m.to = k
	return true
}

// dayNumber returns the day of a month that is the number at i, or 0.
func (p *Prose) dayNumber(i int) int {
	n := p.num(i)
	if n == nil || n.dec > 0 || n.digits > 2 || n.cents < 100 || n.cents > 31_00 {
		return 0
	}
	return int(n.cents / 100)
}

// endOf returns where "fin", "fin du mois de" or "end of" begins before the month at i, or -1: a home that is free "fin
// juin" is not free on the first of June. "Toronto West End - July 1" has no end of July.
func (p *Prose) endOf(i int) int {
	if p.words[i].line {
		return -1
	}
	k := i - 1
	for n := 0; n < 3 && (p.word(k) == "de" || p.word(k) == "du" || p.word(k) == "mois" || p.word(k) == "of" ||
		p.word(k) == "d") && !p.words[k].line; n++ {
		k--
	}
	switch p.word(k) {
	case "fin", "late":
		return k
	case "end":
		if w := p.word(k - 1); p.word(k+1) == "of" && w != "west" && w != "east" && w != "north" && w != "south" ||
			w == "the" || w == "at" || w == "by" || w == "from" || w == "starting" || p.about(k-1, aFreedom) {
			return k
		}
	}
	return -1
}

func (p *Prose) isMonthSpan(i int) bool {
	return p.word(i) == "mois" || p.word(i) == "month" || p.word(i) == "months"
}

// mayVerbs follow "may" where it is no month.
var mayVerbs = set("be vary differ have change not apply require need include contain depend also still show offer")

// monthly tells whether a word that is a month's name among other things ("may", "mars") is one here.
func (p *Prose) monthly(i int) bool {
	if p.words[i].w == "may" && mayVerbs[p.word(i+1)] {
		return false
	}
	if p.endOf(i) >= 0 || p.word(i-1) == "mi" || p.sym(i-1) == '-' && p.word(i-2) == "mi" {
		return true
	}
	if w := p.words[i].w; (w == "mars" || w == "mai") && (p.seq(i-2, "a", "partir") || p.seq(i-3, "a", "partir", "de") ||
		p.seq(i-2, "mois", "de") ||
		p.word(i-1) == "en" || p.word(i-1) == "debut" || p.word(i-1) == "fin" || p.about(i-1, aSublet|aLease) ||
		p.words[i-min(i, 1)].half) {
		return true
	}
	for _, k := range [...]int{i - 1, i - 2, i - 3, i + 1, i + 2} {
		if k < 0 || k >= len(p.words) {
			continue
		}
		t := &p.words[k]
		if t.kind == number && t.dec == 0 && !t.half && (k >= i-2 || p.word(i-1) == "of") && p.sym(k+1) != '$' {
			return true
		}
		if t.topic&(aFreedom|aMonth) != 0 || t.w == "pour" || t.w == "des" || t.w == "from" || t.w == "premier" ||
			t.w == "first" ||
			t.w == "for" && k == i-1 {
			return true
		}
	}
	return len(p.words) <= 2
}

// figures reads "2026-07-01", "01/07/2018", "01/07" at i.
func (p *Prose) figures(i int) (d Date, from, to int, ok bool) {
	a, b, c := p.num(i), p.num(i+2), p.num(i+4)
	s := p.sym(i + 1)
	if a == nil || b == nil || s != '-' && s != '/' && s != '.' || a.dec > 0 || b.dec > 0 || a.half || b.half ||
		p.words[i+1].space || b.space {
		return d, i, i, false
	}
	x, y := int(a.cents/100), int(b.cents/100)
	switch {
	case a.digits == 4 && x >= 1990 && x <= 2099 && b.digits == 2 && y >= 1 && y <= 12:
		d.Year, d.Month, to = x, y, i+2
		if day := p.dayNumber(i + 4); day > 0 && c.digits == 2 && p.sym(i+3) == s {
			if d.Day, to = day, i+4; d.Day > daysOf(y, x) {
				return Date{}, i, i, false
			}
		}
		return d, i, to, true
	case a.digits <= 2 && b.digits <= 2 && c != nil && p.sym(i+3) == s && c.dec == 0 && (c.digits == 4 || c.digits == 2):
		z := int(c.cents / 100)
		if c.digits == 2 {
			z += 2000
		}
		if y > 12 && x <= 12 { // month first
			x, y = y, x
		}
		if y < 1 || y > 12 || x < 1 || x > daysOf(y, z) || z < 1990 || z > 2099 {
			return d, i, i, false
		}
		return Date{z, y, x}, i, i + 4, true
	case a.digits == 2 && b.digits == 2 && s == '/' && p.fold[a.start] <= '3' && (p.fold[a.start] == '0' ||
		p.fold[b.start] == '0') &&
		y >= 1 && y <= 12 && x >= 1 && x <= 31:
		return Date{0, y, x}, i, i + 2, true
	}
	return d, i, i, false
}

// daysOf is how many days a month has.
func daysOf(month, year int) int {
	return time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

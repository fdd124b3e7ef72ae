package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is written as one word here is written as several there: 16gb and "16 GB", 1,500 and "1 500", plugin and
// "plug in".

// units are written behind their number as one word or apart.
var units = set(`b kb mb gb tb go ko mo mbps gbps g kg mg lb lbs oz ml cl dl l mm cm dm m km ft yd sqft m2 pi2 px mp dpi
	v kv w kw kwh wh ah mah hz khz mhz ghz db lm rpm fps bar psi btu hp hr hrs min sec pcs`)

// measure parts a number and its unit: 16gb. Both are empty of any other word.
func measure(word string) (number, unit string) {
	n := 0
	for n < len(word) && class[word[n]] == digit {
		n++
	}
	if n == 0 || !units[word[n:]] {
		return "", ""
	}
	return word[:n], word[n:]
}

// Others are words that pages may have in place of the only word of a clause: that which it is a part of, a host
// without its "www.", as the addresses of pages have it, a version without its v, nodejs and node.js, and the plural of
// knife.
func (c Clause) Others() (others []string) {
	if c.Joined != "" {
		others = append(others, c.Joined)
	}
	if len(c.Words) == 1 && !c.Phrase && !c.Prefix {
		if host, ok := strings.CutPrefix(c.Words[0], "www."); ok && strings.Contains(host, ".") {
			others = append(others, host)
		}
		version, ok := strings.CutPrefix(c.Words[0], "v")
		if ok && strings.Contains(version, ".") && strings.Trim(version, "0123456789.") == "" {
			others = append(others, version)
		}
		if name, ok := strings.CutSuffix(c.Words[0], "js"); ok && len(name) > 1 {
			if before, dot := strings.CutSuffix(name, "."); dot {
				others = append(others, before+"js")
			} else {
				others = append(others, name+".js")
			}
		}
		if form := plurals[c.Words[0]]; form != "" {
			others = append(others, form)
		}
	}
	return others
}

// Apart are the words that stand for the only word of a clause where they are in a row; nil = there are none.
func (c Clause) Apart() []string {
	if len(c.Words) != 1 || c.Phrase || c.Prefix {
		return nil
	}
	if number, unit := measure(c.Words[0]); unit != "" {
		return []string{number, unit}
	}
	letters := strings.TrimRight(c.Words[0], "0123456789")
	if digits := c.Words[0][len(letters):]; len(letters) >= leastName && alphabetic(letters) && digits != "" &&
		ofCode(letters, digits) {
		return []string{letters, digits}
	}
	return nil
}

// leastName is how many letters the name of a code has at least that pages write apart from its number: PS 5.
const leastName = 2

// measures says of words that follow one another what they are as one, too: of a number and its unit, 16 GB, 16gb, of
// a number in groups, 1 500, 1500, and of the parts of a code, PS 5, H2Y 1A1.
func (a *Ask) measures() {
	plain := func(c Clause) bool {
		return len(c.Words) == 1 && !c.Phrase && !c.Not && !c.Title && !c.Prefix && c.Joined == ""
	}
	for _, together := range []func(first, last string) bool{ofUnit, ofGroups, ofCode} {
		for i := 1; i < len(a.Clauses); i++ {
			first, last := &a.Clauses[i-1], &a.Clauses[i]
			if !plain(*first) || !plain(*last) || !together(first.Words[0], last.Words[0]) {
				continue
			}
			whole := cut(first.Words[0] + last.Words[0])
			if !slices.ContainsFunc(a.Clauses, func(c Clause) bool { return c.Joined == whole }) { // 16 gb 16-gb
				first.Joined, last.Joined = whole, whole
			}
		}
	}
}

// ofUnit says that words are a number and its unit.
func ofUnit(first, last string) bool { return number(first) && units[last] && !Stop("", last) }

// ofGroups says that numbers are the groups of one from 1,000 to 999,999.
func ofGroups(first, last string) bool {
	return len(first) <= 3 && len(last) == 3 && number(first) && number(last) && first[0] != '0'
}

// maxCode is how many characters a code has, and maxSuffix how many letters stand behind a number in one: 8 pm.
const (
	maxCode   = 20
	maxSuffix = 3
)

// ofCode says that words are the parts of a code: letters and digits.
func ofCode(first, last string) bool {
	const letters, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	both := first + last
	_, unit := measure(last)
	return unit == "" && len(both) <= maxCode && strings.Trim(both, letters+digits) == "" &&
		strings.ContainsAny(both, digits) && strings.ContainsAny(both, letters) &&
		!(number(first) && len(last) > maxSuffix) && !Stop("", first) && !Stop("", last)
}

// particles end words that are as often written apart: back up, log in.
var particles = set("in on up")

// Together is the word that a clause and the next may be as one; "" = they are none.
func (a *Ask) Together(at int) string {
	if at+1 >= len(a.Clauses) {
		return ""
	}
	for _, c := range a.Clauses[at : at+2] {
		if len(c.Words) != 1 || c.Phrase || c.Not || c.Prefix || c.Joined != "" || !alphabetic(c.Words[0]) {
			return ""
		}
	}
	first, last := a.Clauses[at], a.Clauses[at+1]
	if first.Title != last.Title || Stop("", first.Words[0]) || Stop("", last.Words[0]) && !particles[last.Words[0]] {
		return ""
	}
	return first.Words[0] + last.Words[0]
}

// inARow is a group of words that stand in a row.
func inARow(g *group, words []string) *group {
	return &group{clause: g.clause, words: words, phrase: true, title: g.title}
}

// A spot is a word of a row, and how many positions it is behind the beginning.
type spot struct {
	group int // of the plan
	at    uint32
}

// rowSigns join words that stand in a row in what a query was copied from: @angular/core, a path, a call.
const rowSigns = `/\@:=<(?#$`

// maxRows is how many rows of a query count: each is looked for at all places of its first word.
const maxRows = 4

// inRows are the words of a query that signs join: pages with them in that row come first.
func (p *Plan) inRows(text string) (rows [][]spot) {
	if !strings.ContainsAny(text, rowSigns) || p.asked() < 2 {
		return nil
	}
	text, _ = plainText(text)
	for _, it := range split(text) {
		if it.quoted || it.field != "" || it.signs != "" || !strings.ContainsAny(it.text, rowSigns) {
			continue
		}
		var row []spot
		Tokenize(it.text, func(t Token) bool {
			at := slices.IndexFunc(p.groups, func(g group) bool {
				return len(g.words) == 1 && g.words[0] == t.Word && !g.not && !g.silent && !g.title && !g.prefix
			})
			if at >= 0 && !slices.ContainsFunc(row, func(s spot) bool { return s.group == at }) {
				row = append(row, spot{at, uint32(t.Position)})
			}
			return true
		})
		slices.SortStableFunc(row, func(a, b spot) int { return cmp.Compare(a.at, b.at) })
		same := func(o []spot) bool { return slices.Equal(o, row) }
		if len(row) > 1 && len(rows) < maxRows && !slices.ContainsFunc(rows, same) {
			rows = append(rows, row)
		}
	}
	return rows
}

// askers stand behind a verb, with a hyphen: of peut-on and dites-nous it is the verb that is looked for.
var askers = set("je tu il elle ils elles nous vous moi toi ce")

// asks says that a word of two parts is a verb and who does it. With on it is as often a noun: add-on.
func asks(first, last string) bool {
	return askers[last] || last == "on" && strings.HasSuffix(first, "t")
}

// rejoin has a word of two parts looked for as one, or as both in a row, where one part alone is not looked for, as it
// is a stop word: "plug" says nothing of a plug-in.
func (p *Plan) rejoin() {
	of := func(clause int) *group {
		at := slices.IndexFunc(p.groups, func(g group) bool { return g.clause == clause })
		if at < 0 || p.groups[at].not || p.groups[at].prefix {
			return nil
		}
		return &p.groups[at]
	}
	for i := 1; i < len(p.ask.Clauses); i++ {
		a, b := p.ask.Clauses[i-1], p.ask.Clauses[i]
		first, last := of(i-1), of(i)
		if !a.pairs(b) || first == nil || last == nil || first.silent == last.silent || len(a.Words)+len(b.Words) != 2 {
			continue
		}
		g := first
		if first.silent {
			g = last
		}
		if len(g.others) != 1 || asks(a.Words[0], b.Words[0]) { // the word itself is looked for, too
			continue
		}
		g.alone, g.terms, g.words = g.terms, p.forms(a.Joined), []string{a.Joined}
		g.apart = inARow(g, []string{a.Words[0], b.Words[0]})
	}
}

// Part has other words counted, at half their weight, where they stand in a row, as if they were the word of a clause:
// those that it is written as apart.
func (p *Plan) Part(clause int, words []string) {
	for i := range p.groups {
		if g := &p.groups[i]; g.clause == clause && !g.phrase && g.apart == nil {
			g.apart = inARow(g, words)
		}
	}
}

// leastPart is how many letters each part of a word has at least, and leastShort of a word of few letters: AC/DC.
const (
	leastPart  = 3
	leastShort = 2
)

// maxTurns is how many places a word has at most where letters turn into digits, or digits into letters.
const maxTurns = 8

// Parts are the ways in which a folded word may be written as several: redbull as red bull, backup as back up, ps5 as
// ps 5, h2y1a1 as h2y 1a1, 1500 as 1 500, os.path as the first two words of os.path.join, 4.5 as 4,5, python3.12 as
// python 3.12, 5145550199 as 514-555-0199.
// Of .push it is push alone. Those of a short word may have two letters each. There are none of a word of more than 40
// letters.
func Parts(word string, short bool) (parts [][]string) {
	if len(word) != utf8.RuneCountInString(word) || len(word) > 40 {
		return nil
	}
	if name, dot := strings.CutPrefix(word, "."); dot && Spellable(name) {
		return [][]string{{name}}
	}
	if strings.ContainsAny(word, "._:") {
		name := strings.TrimRight(word, "0123456789.")
		if version := word[len(name):]; Spellable(name) && version != "" && version[0] != '.' {
			return [][]string{{name, version}}
		}
		parts := strings.FieldsFunc(word, func(r rune) bool { return r == '.' || r == '_' || r == ':' })
		if len(parts) < 2 ||
			strings.Trim(word, "abcdefghijklmnopqrstuvwxyz._:") != "" && !number(strings.ReplaceAll(word, ".", "")) {
			return nil
		}
		return [][]string{parts}
	}
	letters := 0
	for i := range len(word) {
		switch class[word[i]] {
		case lower:
			letters++
		case digit:
		default:
			return nil
		}
		if i > 0 && class[word[i]] != class[word[i-1]] {
			parts = append(parts, []string{word[:i], word[i:]})
		}
	}
	switch {
	case len(parts) > maxTurns:
		return nil
	case len(parts) > 0:
		return parts
	case letters == 0:
		return thousands(word)
	}
	least := leastPart
	if short && len(word) < 2*leastPart {
		least = leastShort
	} else if n := len(word) - 2; n >= leastPart && particles[word[n:]] {
		parts = append(parts, []string{word[:n], word[n:]})
	}
	for i := least; i <= len(word)-least; i++ {
		parts = append(parts, []string{word[:i], word[i:]})
	}
	return parts
}

// Code says that a word may be a part of a code or a name that was typed half: 9fceb02, document.getel. Those of
// letters alone may be misspelt, and numbers are others with further digits.
func Code(word string) bool {
	return len(word) > leastPart && !Spellable(word) && !number(strings.ReplaceAll(word, ".", ""))
}

// thousands are the groups of three digits of a number from 1,000 to a billion, the words of 1 500, or those of a
// telephone number in North America.
func thousands(number string) [][]string {
	if len(number) == 10 {
		return [][]string{{number[:3], number[3:6], number[6:]}}
	}
	if len(number) < 4 || len(number) > 9 || number[0] == '0' {
		return nil
	}
	at := (len(number)-1)%3 + 1
	groups := []string{number[:at]}
	for ; at < len(number); at += 3 {
		groups = append(groups, number[at:at+3])
	}
	return [][]string{groups}
}

// withApart adds to the documents of a word those that have it apart, whose counts are halved.
func withApart(word, apart []entry) []entry {
	if len(apart) == 0 {
		return word
	}
	out := make([]entry, 0, len(word)+len(apart))
	for len(word) > 0 && len(apart) > 0 {
		switch c := cmp.Compare(word[0].ord&^exactBit, apart[0].ord); {
		case c <= 0:
			if out, word = append(out, word[0]), word[1:]; c == 0 {
				apart = apart[1:]
			}
		default:
			out, apart = append(out, entry{apart[0].ord, apart[0].tf * otherShare}), apart[1:]
		}
	}
	out = append(out, word...)
	for _, e := range apart {
		out = append(out, entry{e.ord, e.tf * otherShare})
	}
	return out
}

// acronyms are stop words that capitals make names of.
var acronyms = set("IT US WHO")

// name says which words are names: those that were typed as acronyms, where there are others in small letters.
func (a *Ask) name(typed []string) {
	small := func(c Clause) bool {
		return slices.ContainsFunc(c.Words, func(w string) bool {
			return !slices.Contains(typed, w) && strings.ContainsFunc(w, unicode.IsLower)
		})
	}
	if len(typed) == 0 || !slices.ContainsFunc(a.Clauses, small) {
		return
	}
	for i := range a.Clauses {
		if c := &a.Clauses[i]; len(c.Words) == 1 && slices.Contains(typed, c.Words[0]) {
			c.Name = !c.Not && !c.Title && !c.Prefix && c.Joined == ""
		}
	}
}

// plurals are English words whose plural has another stem, and these plurals, each with the other.
var plurals = func() map[string]string {
	m := map[string]string{}
	words := strings.Fields(`bus buses calf calves child children foot feet gas gases goose geese half halves index indices
		knife knives loaf loaves man men matrix matrices mouse mice scarf scarves shelf shelves thief thieves
		tooth teeth vertex vertices wife wives wolf wolves woman women`)
	for i := 0; i < len(words); i += 2 {
		m[words[i]], m[words[i+1]] = words[i+1], words[i]
	}
	return m
}()

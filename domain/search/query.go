package search

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// How much of a query is read. The rest is left out, and Ask.Cut says so.
const (
	MaxAsk     = 2000 // characters
	MaxClauses = 32
	maxPhrase  = 32 // words
	maxFilters = 32 // values of one kind
)

// An Ask is what a query means: the pages that Clauses say, of any of the Sites, of none of NotSites, in any of the
// Languages, of any of the Types. Nothing that is left empty says anything. Without a clause that is not Not, all pages
// are meant but those.
type Ask struct {
	Clauses   []Clause
	Sites     []string // hosts as Document.Site has them; a site has its subdomains
	NotSites  []string
	Languages []string // ISO 639-1
	Types     []string
	Words     int  // of the clauses that are not Not
	Cut       bool // there was more than is read
}

// A Clause is a word, or several that stand one after another.
type Clause struct {
	Words  []string // folded, in their order
	Phrase bool     // just these forms: of several words, or pairs of characters, in a row; of one that stood in quotes
	Not    bool     // a page that has it is no answer
	Title  bool     // in the title
	Prefix bool     // the only word is the beginning of one
	Joined string   // the only word is a part of one of two parts, "wi-fi": both as one word (Others)
	Name   bool     // the only word is no stop word, as it was typed in capitals: IT jobs
}

func (c Clause) same(o Clause) bool {
	return slices.Equal(c.Words, o.Words) && c.Phrase == o.Phrase && c.Not == o.Not && c.Title == o.Title &&
		c.Prefix == o.Prefix && c.Joined == o.Joined
}

// pairs says that two clauses that follow one another are the parts of a word.
func (c Clause) pairs(next Clause) bool {
	return c.Joined != "" && c.Joined == next.Joined && c.Title == next.Title
}

// Reword puts a word in place of the only one of a clause, also in the word that it is a part of.
func (a *Ask) Reword(clause int, word string) {
	a.Clauses[clause].Words = []string{word}
	for i := max(clause-1, 0); i <= clause && i+1 < len(a.Clauses); i++ {
		if first, last := &a.Clauses[i], &a.Clauses[i+1]; first.pairs(*last) {
			first.Joined = cut(first.Words[0] + last.Words[0])
			last.Joined = first.Joined
		}
	}
}

// Parse reads a query. Signs that mean nothing where they stand are left out.
//
//	apple pie       pages that have both words, in any of their forms, before those that have one
//	"apple pie"     the words in a row, in just these forms; one word in quotes in just its form, too
//	-pie -"a pie"   not this; NOT pie is the same. Two signs are none: --verbose
//	grep -r         grep and r: one letter alone is an option
//	+pie            pie; AND and OR between others are left out, too: pages that have all words come first anyway
//	app*            words that begin so
//	IT jobs         it and jobs; of "it jobs" the first says nothing, but pages with both come first
//	intitle:pie     in the title; also intitle:"apple pie" and -intitle:pie
//	site:a.com      of this site and its subdomains; also -site:a.com, site:a.com,b.com
//	lang:en         in this language; lang:en,fr in one of these
//	type:pdf        of this type
//	wi-fi -two-part wi and fi, or wifi; not two part in a row, and not twopart
//	16gb 16 gb      16gb, or 16 gb in a row; 16 and gb, or 16gb; so with codes, PS 5 and H2Y 1A1
//	foo_bar a.b c++ the identifier as a whole; other words with signs within are their parts
//	東京都 東京大学病院  up to four characters in a row; more are their pairs, as words
//	4½ 24/7 AT&T    the numbers, or the letters, in a row
//
// It is fault.Invalid when there is neither a word nor a filter, and when site:, lang: or type: have what is none.
func Parse(text string) (Ask, error) {
	p := parser{}
	text, p.ask.Cut = plainText(text)
	items := split(text)
	not := false
	for i, it := range items {
		if last := i == len(items)-1; !it.quoted {
			switch it.text {
			case "AND", "OR":
				if i > 0 && !last {
					continue
				}
			case "NOT":
				if !last && (items[i+1].quoted || !negated[items[i+1].text]) {
					not = true
					continue
				}
			}
		}
		if err := p.item(it, not); err != nil {
			return Ask{}, err
		}
		not = false
	}
	a := p.ask
	a.measures()
	if strings.ContainsFunc(text, unicode.IsLower) {
		a.name(p.acronyms)
	}
	if len(a.Clauses)+len(a.Sites)+len(a.NotSites)+len(a.Languages)+len(a.Types) == 0 {
		return Ask{}, fault.Newf(fault.Invalid, "no word to search for: give one or more words, or a filter such as site:example.com")
	}
	return a, nil
}

// negated are the words that make a term with a NOT before them, those of SQL and of 404 NOT FOUND: there it is a word.
// Capitals alone are no sign of that: STUDIO NOT BASEMENT.
var negated = set("BETWEEN EXISTS FOUND IN LIKE NULL")

// plainText is a text on one line, with quotes and other signs in ASCII, without what is not seen.
func plainText(text string) (plain string, cut bool) {
	var b strings.Builder
	n := 0
	for i, r := range text {
		if n++; n > MaxAsk {
			return b.String(), true
		}
		switch {
		case r == utf8.RuneError, unicode.IsControl(r), unicode.IsSpace(r):
			r = ' '
		case r >= 0xff01 && r <= 0xff5e: // full width
			r -= 0xff01 - '!'
		case unicode.Is(unicode.Cf, r):
			continue
		case strings.ContainsRune("“”„‟«»「」『』", r):
			r = '"'
		case (r == '−' || r == '–') && (i == 0 || strings.HasSuffix(b.String(), " ")):
			r = '-'
		}
		b.WriteRune(r)
	}
	return b.String(), false
}

// An item is a part of a query between spaces.
type item struct {
	signs  string // - and +
	field  string // intitle:, site:, lang: or type:, without the colon
	text   string
	quoted bool
}

// fields are the words that mean something before a colon.
var fields = []string{"intitle", "site", "lang", "type"}

// split reads the items of a query.
func split(text string) (items []item) {
	closing := strings.LastIndexByte(text, '"') // no quote after it can be closed
	for i := 0; i < len(text); {
		if text[i] == ' ' {
			i++
			continue
		}
		var it item
		n := i
		for n < len(text) && (text[n] == '-' || text[n] == '+') {
			n++
		}
		it.signs = text[i:n]
		for _, f := range fields {
			if len(text) > n+len(f) && strings.EqualFold(text[n:n+len(f)], f) && text[n+len(f)] == ':' &&
				!strings.HasPrefix(text[n+len(f)+1:], ":") {
				it.field = f
				n += len(f) + 1
				break
			}
		}
		i = n
		if i < closing && text[i] == '"' {
			it.quoted = true
			n = i + 1 + strings.IndexByte(text[i+1:], '"')
			it.text, i = text[i+1:n], n+1
		} else {
			if i < len(text) && text[i] == '"' { // it is never closed
				i++
			}
			n = i
			for n < len(text) && text[n] != ' ' && text[n] != '"' {
				n++
			}
			it.text, i = text[i:n], n
		}
		items = append(items, it)
	}
	return items
}

// A parser is the state of one call of Parse.
type parser struct {
	ask      Ask
	acronyms []string // that were typed, folded
}

// item takes the meaning of one item.
func (p *parser) item(it item, not bool) error {
	not = not || strings.TrimLeft(it.signs, "+") == "-" && !option(it)
	switch it.field {
	case "site", "lang", "type":
		return p.filter(it.field, it.text, not)
	}
	title := it.field == "intitle"
	if it.quoted {
		p.phrase(it.text, not, title)
		return nil
	}
	text := strings.TrimRight(it.text, "*")
	if name := strings.Trim(text, ".,;:!?()"); acronyms[name] && !not && !title && text == it.text {
		p.acronyms = append(p.acronyms, Fold(name))
	}
	clauses := clausesOf(text)
	if not && (len(clauses) > 1 || len(clauses) == 1 && clauses[0].Joined != "") {
		p.phrase(text, not, title)
		for _, c := range clauses {
			if c.Joined != "" {
				p.clause(Clause{Words: []string{c.Joined}, Not: not, Title: title})
			}
		}
		return nil
	}
	for i, c := range clauses {
		c.Not, c.Title = not, title
		if c.Phrase { // as one word it is only left out
			c.Joined = ""
		}
		if last := &clauses[len(clauses)-1]; text != it.text && last.ends == len(text) && len(last.Words) == 1 {
			c.Prefix = c.Prefix || i == len(clauses)-1
			if c.Joined == last.Joined { // a beginning is no part of a whole
				c.Joined = ""
			}
		}
		p.clause(c.Clause)
	}
	return nil
}

// option says that an item is one of a command: nobody leaves out a letter, as in "grep -r".
func option(it item) bool {
	return !it.quoted && it.field == "" && len(it.text) == 1 && class[it.text[0]] != separator
}

// phrase adds words that stand in a row.
func (p *parser) phrase(text string, not, title bool) {
	words := phraseOf(text)
	prefix := len(words) == 1 && single(words[0])
	p.clause(Clause{Words: words, Phrase: !prefix, Not: not, Title: title, Prefix: prefix})
}

// clause adds a clause that is not there yet.
func (p *parser) clause(c Clause) {
	if len(c.Words) > maxPhrase {
		c.Words, p.ask.Cut = c.Words[:maxPhrase], true
	}
	if len(c.Words) == 0 || slices.ContainsFunc(p.ask.Clauses, c.same) {
		return
	}
	if len(p.ask.Clauses) == MaxClauses {
		p.ask.Cut = true
		if last := p.ask.Clauses[MaxClauses-1]; last.pairs(c) { // a part alone means something else
			p.ask.Clauses = p.ask.Clauses[:MaxClauses-1]
			p.ask.Words--
		}
		return
	}
	p.ask.Clauses = append(p.ask.Clauses, c)
	if !c.Not {
		p.ask.Words += len(c.Words)
	}
}

// filter adds the values of site:, lang: or type:, which commas separate. One without a value says nothing.
func (p *parser) filter(field, text string, not bool) error {
	for value := range strings.SplitSeq(text, ",") {
		value = strings.TrimSpace(value)
		if value == "" {
			continue
		}
		var to *[]string
		switch field {
		case "site":
			to = &p.ask.Sites
			if not {
				to = &p.ask.NotSites
			}
			host, ok := Site(value)
			if !ok {
				return fault.Newf(fault.Invalid, "no site in site:%s: give a host such as example.com", value)
			}
			value = host
		case "lang":
			to = &p.ask.Languages
			code, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(value), "_", "-"), "-")
			if len(code) != 2 || !isLetter(code[0]) || !isLetter(code[1]) {
				return fault.Newf(fault.Invalid, "no language in lang:%s: give its code of two letters, such as en or fr", value)
			}
			value = code
		case "type":
			to = &p.ask.Types
			value = strings.ToLower(value)
			if len(value) > 32 || strings.Trim(value, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
				return fault.Newf(fault.Invalid, "no type in type:%s: give one such as html or pdf", value)
			}
		}
		if not && field != "site" {
			return fault.Newf(fault.Invalid, "%s: cannot be left out: give those that are to be found", field)
		}
		if !slices.Contains(*to, value) {
			if len(*to) == maxFilters {
				p.ask.Cut = true
				continue
			}
			*to = append(*to, value)
		}
	}
	return nil
}

// Site is the host of a site, as Document.Site has it, by what a person writes: example.com, *.example.com,
// https://example.com/path. ok is false where that names none.
func Site(value string) (host string, ok bool) {
	value = strings.TrimLeft(strings.TrimSpace(value), "*.")
	if !strings.Contains(value, "://") {
		value = "https://" + value
	}
	a, err := web.Canonical(value)
	host = strings.Trim(a.Host, ".")
	odd := strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_:[]")
	return host, err == nil && host != "" && len(host) <= 260 && odd == ""
}

// A placed clause ends at a byte of the text.
type placed struct {
	Clause
	ends int
}

// maxDense is how many pairs a run of characters without spaces has at most that is one word, or a name.
const maxDense = 3

// clausesOf are the words of a text: identifiers as a whole, other words with hyphens in parts, but for e-mail, which
// is email; vitamin-c is vitamin and c, vitamin-a a phrase, as its letter alone says nothing; figures such as 4½ are
// phrases of numbers. Runs of characters without spaces are phrases of pairs; longer ones are sentences, whose pairs
// are words like others.
func clausesOf(text string) (clauses []placed) {
	tokens := tokensOf(text)
	var whole Token // of two parts
	figures := strings.Trim(text, "0123456789/:") == ""
	short := lettersAnd(text, len(tokens))
	for i := 0; i < len(tokens); {
		t := tokens[i]
		n := i + 1
		first, _ := utf8.DecodeRuneInString(t.Word)
		dense := kindOf(first, 3) == isGram
		for n < len(tokens) && (dense && tokens[n].Start < tokens[n-1].End || short ||
			number(tokens[n-1].Word) && number(tokens[n].Word) && tokens[n].Position > tokens[n-1].Position &&
				(figures || tokens[n].Start <= tokens[n-1].End)) {
			n++
		}
		if dense && n-i > maxDense {
			for _, t := range tokens[i:n] {
				clauses = append(clauses, placed{Clause{Words: []string{t.Word}}, int(t.End)})
			}
			i = n
			continue
		}
		if dense || n > i+1 {
			c := Clause{Phrase: n > i+1, Prefix: n == i+1 && single(t.Word)}
			for _, t := range tokens[i:n] {
				c.Words = append(c.Words, t.Word)
			}
			clauses = append(clauses, placed{c, int(tokens[n-1].End)})
			i = n
			continue
		}
		several := n < len(tokens) && tokens[n].Position == t.Position
		if several {
			for n < len(tokens) && tokens[n].Start < t.End {
				n++
			}
			if hyphenated(text[t.Start:t.End]) && chained(text, t, tokens[i+1:]) { // a-louer-laval: pages have it apart
				i++
				continue
			}
			if hyphenated(text[t.Start:t.End]) && !initial(tokens[i+1]) {
				last := tokens[n-1].Word
				if len(last) > 1 || !Stop("", last) {
					whole = t
					i++ // its parts
					continue
				}
				words := phraseOf(text[t.Start:t.End])
				c := Clause{Words: words, Phrase: len(words) > 1, Joined: t.Word}
				clauses = append(clauses, placed{c, int(t.End)})
				i = n
				continue
			}
		}
		word := t.Word
		if next, _ := utf8.DecodeRuneInString(text[t.End:]); hyphenated(string(next)) { // the host goes on
			word = strings.TrimPrefix(word, "www.")
		}
		c := placed{Clause{Words: []string{word}}, int(t.End)}
		if t.End == whole.End {
			if first := &clauses[len(clauses)-1]; first.Words[0] != t.Word {
				c.Joined, first.Joined = whole.Word, whole.Word
			}
		}
		clauses = append(clauses, c)
		i = n
	}
	return clauses
}

// lettersAnd says that a text of so many words is letters with & between them, AT&T: one or two of them alone say
// nothing, but those of scripts without spaces are words.
func lettersAnd(text string, words int) bool {
	parts := strings.Split(strings.TrimFunc(text, notLetter), "&")
	return len(parts) > 1 && len(parts) == words && !slices.ContainsFunc(parts, func(part string) bool {
		n := utf8.RuneCountInString(part)
		return n < 1 || n > 2 || strings.ContainsFunc(part, notLetter)
	})
}

func notLetter(r rune) bool { return !unicode.IsLetter(r) || kindOf(r, 3) == isGram }

func number(word string) bool { return strings.Trim(word, "0123456789") == "" }

// single says that a word is one character of a script without spaces, which pages have in pairs that begin with it.
func single(word string) bool {
	r, _ := utf8.DecodeRuneInString(word)
	return kindOf(r, 3) == isGram && utf8.RuneCountInString(word) == 1
}

// chained says that a word of two parts is the beginning of more: E-Bike-Akku, t-mobile.com.
func chained(text string, t Token, after []Token) bool {
	for _, a := range after {
		if a.Start >= t.End {
			between := text[t.End:a.Start]
			return hyphenated(between) && utf8.RuneCountInString(between) == 1
		}
		if a.End > t.End {
			return true
		}
	}
	return false
}

func hyphenated(s string) bool { return strings.ContainsAny(s, "-\u2010\u2011") }

// initial says that the first part of a word is a single letter: e-mail. With one that is the last, a word is as often
// written without the hyphen, vitamin C.
func initial(part Token) bool {
	r, n := utf8.DecodeRuneInString(part.Word)
	return n == len(part.Word) && !unicode.IsNumber(r)
}

// phraseOf are the words of a text one after another: of each position the longest that does not reach into the next.
func phraseOf(text string) (words []string) {
	tokens := tokensOf(text)
	for i, t := range tokens {
		if i > 0 && tokens[i-1].Position == t.Position && len(words) > int(t.Position) {
			continue
		}
		next := i + 1
		for next < len(tokens) && tokens[next].Position == t.Position {
			next++
		}
		dense, _ := utf8.DecodeRuneInString(t.Word)
		if next == i+1 || next == len(tokens) || tokens[next].Start >= t.End || kindOf(dense, 3) == isGram {
			words = append(words, t.Word)
		}
	}
	return words
}

func tokensOf(text string) (tokens []Token) {
	Tokenize(text, func(t Token) bool {
		tokens = append(tokens, t)
		return true
	})
	return tokens
}

// String is a query that means the same: Parse returns it again, but for Cut, unless it is longer than MaxAsk.
func (a Ask) String() string {
	text := a.text(false)
	if slices.ContainsFunc(a.Clauses, func(c Clause) bool { return c.Joined != "" }) {
		if again, err := Parse(text); err != nil || !slices.EqualFunc(again.Clauses, a.Clauses, Clause.same) {
			return a.text(true)
		}
	}
	return text
}

// text is the query, with the hyphens of words whose parts measures would put together again, or without.
func (a *Ask) text(hyphens bool) string {
	var parts []string
	for at := 0; at < len(a.Clauses); at++ {
		c := a.Clauses[at]
		var b strings.Builder
		switch {
		case c.Not && !c.Phrase && !c.Title && !c.Prefix && len(c.Words[0]) == 1: // with a dash it would be an option
			b.WriteString("NOT ")
		case c.Not:
			b.WriteByte('-')
		}
		if c.Title {
			b.WriteString("intitle:")
		}
		if c.Phrase {
			b.WriteByte('"')
		}
		for i, w := range c.Words {
			if i > 0 {
				if r, n := utf8.DecodeRuneInString(w); kindOf(r, 3) == isGram && n < len(w) && overlap(c.Words[i-1], w) {
					w = w[len(firstOf(w)):]
				} else {
					b.WriteByte(' ')
				}
			}
			if c.Name {
				w = strings.ToUpper(w)
			}
			b.WriteString(w)
		}
		if c.Phrase {
			b.WriteByte('"')
		}
		if c.Prefix {
			b.WriteByte('*')
		}
		if at+1 < len(a.Clauses) && c.pairs(a.Clauses[at+1]) {
			first, last, sign := c.Words[0], a.Clauses[at+1].Words[0], "-"
			if code := ofCode(first, last); code && len(first) == 1 && class[first[0]] == lower || // b-12 is b12
				!hyphens && !c.Title && (code || ofUnit(first, last) || ofGroups(first, last)) {
				sign = " "
			}
			at++
			b.WriteString(sign + last)
		}
		parts = append(parts, b.String())
	}
	for _, f := range []struct {
		name   string
		values []string
	}{{"site:", a.Sites}, {"-site:", a.NotSites}, {"lang:", a.Languages}, {"type:", a.Types}} {
		if len(f.values) > 0 {
			parts = append(parts, f.name+strings.Join(f.values, ","))
		}
	}
	return strings.Join(parts, " ")
}

// firstOf is the first character of a pair, with its marks.
func firstOf(pair string) string {
	for i, r := range pair {
		if i > 0 && kindOf(r, 3) == isGram {
			return pair[:i]
		}
	}
	return pair
}

// overlap says that a pair of characters ends with the character that the next begins with.
func overlap(pair, next string) bool {
	return len(firstOf(pair)) < len(pair) && pair[len(firstOf(pair)):] == firstOf(next)
}

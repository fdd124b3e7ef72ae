package search

import (
	"encoding/binary"
	"net/url"
	"slices"
	"strings"
)

// A Segment is one batch of documents, indexed. It never changes.
type Segment struct {
	Docs    int
	Columns []byte // DecodeColumns
	Terms   []TermPostings
}

// TermPostings are the documents of a segment that have a term, and where. A term is a folded word, or a
// language, ":" and the stem of words that differ from it. Terms of a segment are sorted by bytes, each is there once.
type TermPostings struct {
	Term                string
	Postings, Positions []byte
}

// A Builder indexes a batch of documents. It is one goroutine's. It takes about 25 bytes a word until Segment returns.
type Builder struct {
	ids   map[string]uint32
	terms []term
	found []occurrence // by document and field
	rows  []column
}

// A term knows its stems.
type term struct {
	text  string
	stems [len(stemmers)]int32 // by stemLanguages: 0 = not looked at, −1 = none, else 1 + the term's place
	n     uint32               // occurrences
}

// An occurrence is one of a term in a document.
type occurrence struct {
	term, ord uint32
	at        uint32 // position<<2 | field
}

// NewBuilder begins a segment.
func NewBuilder() *Builder {
	return &Builder{ids: map[string]uint32{}}
}

// Add indexes one version of a page as the document of this number, which is greater than those before. The title's
// first 255 words count as such, the rest as body.
func (b *Builder) Add(doc int64, p Page) {
	row := column{doc: doc, page: p.ID, site: p.Site, lang: p.Language, kind: p.Type, crawled: seconds(p.CrawledAt)}
	language := slices.Index(stemLanguages, p.Language)
	base := uint32(0)
	field := func(text string, f int, each func(word string)) {
		end := uint32(0)
		Tokenize(text, func(t Token) bool {
			at, in := uint32(t.Position), f
			end = at + 1
			if f == fieldTitle && at >= mostTitle {
				in = fieldBody
			}
			b.word(t.Word, language, in, base+at)
			if each != nil {
				each(t.Word)
			}
			return true
		})
		if end == 0 {
			return
		}
		row.length[f] += end
		base += end + positionGap
	}
	var title, text fingerprint
	field(p.Title, fieldTitle, title.add)
	if most := uint32(mostTitle); row.length[fieldTitle] > most {
		row.length[fieldBody] += row.length[fieldTitle] - most
		row.length[fieldTitle] = most
	}
	for _, h := range p.Headings {
		field(h, fieldHeadings, nil)
	}
	field(p.Description, fieldBody, nil)
	field(p.Text, fieldBody, text.add)
	row.key = textKey(title, text)
	Tokenize(Address(p.URL), func(t Token) bool {
		row.length[fieldAddress] = uint32(t.Position) + 1
		b.word(t.Word, language, fieldAddress, 0)
		return true
	})
	b.rows = append(b.rows, row)
}

// Address is what of a URL is indexed: its host without "www.", and its path.
func Address(raw string) string {
	_, rest, has := strings.Cut(raw, "://")
	if !has {
		rest = raw
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, path, _ := strings.Cut(rest, "/")
	host = strings.TrimPrefix(host, "www.")
	if whole, err := url.PathUnescape(path); err == nil {
		path = whole
	}
	return host + " " + path
}

// word notes a word and its stem.
func (b *Builder) word(w string, language, f int, at uint32) {
	if w == "" {
		return
	}
	id := b.id(w)
	b.occur(id, f, at)
	if language < 0 {
		return
	}
	stem := b.terms[id].stems[language]
	if stem == 0 {
		stem = -1
		if s := StemTerm(stemLanguages[language], w); s != "" {
			stem = int32(b.id(s)) + 1
		}
		b.terms[id].stems[language] = stem
	}
	if stem > 0 {
		b.occur(uint32(stem-1), f, at)
	}
}

func (b *Builder) id(text string) uint32 {
	id, known := b.ids[text]
	if !known {
		text = strings.Clone(text) // not the page that it is a part of
		id = uint32(len(b.terms))
		b.ids[text] = id
		b.terms = append(b.terms, term{text: text})
	}
	return id
}

// occur notes an occurrence of a term in the current document.
func (b *Builder) occur(id uint32, f int, at uint32) {
	b.terms[id].n++
	b.found = append(b.found, occurrence{id, uint32(len(b.rows)), at<<2 | uint32(f)})
}

// Segment is what was added. The same documents in the same order give the same bytes. The builder is used up.
func (b *Builder) Segment() Segment {
	s := Segment{Docs: len(b.rows), Columns: encodeColumns(b.rows), Terms: make([]TermPostings, len(b.terms))}
	// Sorted by term, an occurrence in one step: the terms' numbers say where each goes.
	ends := make([]uint32, len(b.terms))
	sum := uint32(0)
	for i := range b.terms {
		ends[i] = sum
		sum += b.terms[i].n
	}
	byTerm := make([]occurrence, len(b.found))
	for _, o := range b.found {
		byTerm[ends[o.term]] = o
		ends[o.term]++
	}
	b.found = nil
	e := encoder{arena: make([]byte, 0, 4*len(byTerm)+4*len(b.terms))}
	from := uint32(0)
	for i := range b.terms {
		s.Terms[i] = e.term(b.terms[i].text, byTerm[from:ends[i]])
		from = ends[i]
	}
	slices.SortFunc(s.Terms, func(a, b TermPostings) int { return strings.Compare(a.Term, b.Term) })
	return s
}

// An encoder writes terms one after the other.
type encoder struct {
	arena                        []byte
	postings, positions, current []byte
}

// term encodes the occurrences of one term, in the order in which they were found.
func (e *encoder) term(text string, found []occurrence) TermPostings {
	e.postings, e.positions = e.postings[:0], e.positions[:0]
	n, last := uint64(0), -1
	for len(found) > 0 {
		p := posting{ord: found[0].ord}
		e.current = e.current[:0]
		at, many := uint32(0), 0
		for len(found) > 0 && found[0].ord == p.ord {
			f, here := found[0].at&3, found[0].at>>2
			found = found[1:]
			if f != fieldAddress && many > 0 && here == at {
				continue // a word whose part has the same stem, at one position
			}
			most := uint32(mostSmall)
			if f == fieldBody {
				most = mostBody
			}
			if p.counts.of(int(f)) < most {
				p.counts += one(int(f), 1)
			}
			if f != fieldAddress && many < mostPositions {
				e.current = binary.AppendUvarint(e.current, uint64(here-at))
				at = here
				many++
			}
		}
		e.postings = appendPosting(e.postings, last, p)
		e.positions = binary.AppendUvarint(e.positions, uint64(len(e.current)))
		e.positions = append(e.positions, e.current...)
		last = int(p.ord)
		n++
	}
	t := TermPostings{Term: text}
	t.Postings = e.keep(binary.AppendUvarint(e.current[:0], n), e.postings)
	t.Positions = e.keep(e.positions, nil)
	return t
}

// keep copies bytes that stay.
func (e *encoder) keep(a, b []byte) []byte {
	from := len(e.arena)
	e.arena = append(append(e.arena, a...), b...)
	return e.arena[from:len(e.arena):len(e.arena)]
}

// TextKey is equal for pages of the same text, apart from case, accents and punctuation: a hash of the folded words,
// and of those of the title where the text has fewer than 16. 0 = no text, which is nothing's duplicate.
func TextKey(title, text string) uint64 {
	var a, b fingerprint
	a.words(title)
	b.words(text)
	return textKey(a, b)
}

func textKey(title, text fingerprint) uint64 {
	const enough = 16
	if text.n == 0 {
		return 0
	}
	if text.n < enough {
		text.h = (text.h ^ title.h) * fnvPrime
	}
	return max(text.h, 1)
}

// A fingerprint is the FNV-1a hash of words.
type fingerprint struct {
	h uint64
	n int
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func (f *fingerprint) words(text string) {
	Tokenize(text, func(t Token) bool {
		f.add(t.Word)
		return true
	})
}

func (f *fingerprint) add(word string) {
	if f.n == 0 {
		f.h = fnvOffset
	}
	f.n++
	h := f.h
	for i := range len(word) {
		h = (h ^ uint64(word[i])) * fnvPrime
	}
	f.h = (h ^ ' ') * fnvPrime
}

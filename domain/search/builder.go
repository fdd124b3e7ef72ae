package search

import (
	"cmp"
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

// TermPostings are the documents of a segment that have a term, and where. A term is a folded word, or "en:" or "fr:" and
// the stem of words that differ from it. Terms of a segment are sorted by bytes, each is there once.
type TermPostings struct {
	Term                string
	Postings, Positions []byte
}

// stemLanguages are those that Stem knows.
var stemLanguages = []string{"en", "fr"}

// A Builder indexes a batch of documents. It is one goroutine's.
type Builder struct {
	ids     map[string]int32
	terms   []building
	touched []int32 // terms of the current document
	rows    []column
}

// building is a term, and its postings so far.
type building struct {
	term      string
	stems     [2]int32 // by stemLanguages: 0 = not looked at, −1 = none, else 1 + the term's place
	postings  []byte
	positions []byte
	last      int32 // ordinal of the last posting; −1 = none
	n         int32

	now     bool // it is in the current document, with:
	counts  [fields]uint8
	at      uint32 // the position before
	many    int32  // positions
	current []byte // positions
}

// NewBuilder begins a segment.
func NewBuilder() *Builder {
	return &Builder{ids: map[string]int32{}}
}

// Add indexes one version of a page as the document of this number, which is greater than those before. The title's first
// 255 words count as such, the rest as body.
func (b *Builder) Add(doc uint32, p Page) {
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
	host, path := address(p.URL)
	for _, s := range []string{host, path} {
		end := uint32(0)
		Tokenize(s, func(t Token) bool {
			end = uint32(t.Position) + 1
			b.word(t.Word, language, fieldAddress, 0)
			return true
		})
		row.length[fieldAddress] += end
	}
	b.flush(int32(len(b.rows)))
	b.rows = append(b.rows, row)
}

// address is what of a URL is indexed: its host and its path.
func address(raw string) (host, path string) {
	_, rest, has := strings.Cut(raw, "://")
	if !has {
		rest = raw
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host, path, _ = strings.Cut(rest, "/")
	host = strings.TrimPrefix(host, "www.")
	if whole, err := url.PathUnescape(path); err == nil {
		path = whole
	}
	return host, path
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
		if s := Stem(stemLanguages[language], w); s != "" && s != w {
			stem = b.id(stemLanguages[language]+":"+s) + 1
		}
		b.terms[id].stems[language] = stem
	}
	if stem > 0 {
		b.occur(stem-1, f, at)
	}
}

func (b *Builder) id(term string) int32 {
	id, known := b.ids[term]
	if !known {
		term = strings.Clone(term) // not the page that it is a part of
		id = int32(len(b.terms))
		b.ids[term] = id
		b.terms = append(b.terms, building{term: term, last: -1})
	}
	return id
}

// occur notes an occurrence of a term in the current document.
func (b *Builder) occur(id int32, f int, at uint32) {
	t := &b.terms[id]
	if !t.now {
		t.now = true
		b.touched = append(b.touched, id)
	} else if f != fieldAddress && t.many > 0 && t.at == at {
		return // a word whose part has the same stem, at one position
	}
	most := uint8(mostSmall)
	if f == fieldBody {
		most = mostBody
	}
	t.counts[f] = min(t.counts[f], most-1) + 1
	if f != fieldAddress && t.many < mostPositions {
		t.current = binary.AppendUvarint(t.current, uint64(at-t.at))
		t.at = at
		t.many++
	}
}

// flush writes the postings of the current document.
func (b *Builder) flush(ord int32) {
	for _, id := range b.touched {
		t := &b.terms[id]
		t.postings = appendPosting(t.postings, int(t.last), posting{uint32(ord), t.counts})
		t.positions = binary.AppendUvarint(t.positions, uint64(len(t.current)))
		t.positions = append(t.positions, t.current...)
		t.last, t.n = ord, t.n+1
		t.now, t.counts, t.at, t.many, t.current = false, [fields]uint8{}, 0, 0, t.current[:0]
	}
	b.touched = b.touched[:0]
}

// Segment is what was added. The same documents in the same order give the same bytes. The builder is used up.
func (b *Builder) Segment() Segment {
	s := Segment{Docs: len(b.rows), Columns: encodeColumns(b.rows), Terms: make([]TermPostings, 0, len(b.terms))}
	for i := range b.terms {
		t := &b.terms[i]
		s.Terms = append(s.Terms, TermPostings{t.term, append(binary.AppendUvarint(nil, uint64(t.n)), t.postings...),
			t.positions})
	}
	slices.SortFunc(s.Terms, func(a, b TermPostings) int { return cmp.Compare(a.Term, b.Term) })
	return s
}

// TextKey is equal for pages of the same text, apart from case, accents and punctuation: a hash of the folded words, and
// of those of the title where the text has fewer than 16. 0 = no text, which is nothing's duplicate.
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

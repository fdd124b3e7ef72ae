package search

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

// errBroken is the error of bytes that no builder wrote.
var errBroken = errors.New("the search index holds broken bytes")

// The fields of a document that are counted apart. A description counts with the body.
const (
	fieldTitle = iota
	fieldHeadings
	fieldAddress // words of host and path
	fieldBody
	fieldCount
)

// Columns are what is known of the documents of one segment, by ordinal: the place of a document in its segment, from
// 0, which is also what postings speak of. They never change, so they may be shared and kept.
type Columns struct {
	docs    []int64 // numbers, ascending
	pages   []int64
	sites   coded
	langs   coded
	kinds   coded
	crawled []int64 // seconds since 1970
	keys    []uint64
	lengths [fieldCount][]uint32 // in words
	total   [fieldCount]uint64   // sums of lengths
	gapless bool                 // numbers follow one another
}

// coded are strings of which few differ.
type coded struct {
	names []string
	codes []uint32 // by ordinal, into names
}

// Len is the number of documents.
func (c *Columns) Len() int { return len(c.docs) }

// Doc is a document's number.
func (c *Columns) Doc(ordinal int) int64 { return c.docs[ordinal] }

// Page is the ID of a document's page.
func (c *Columns) Page(ordinal int) int64 { return c.pages[ordinal] }

// TextKey is TextKey of a document's text.
func (c *Columns) TextKey(ordinal int) uint64 { return c.keys[ordinal] }

// Bytes is about how much memory the columns take.
func (c *Columns) Bytes() int {
	n := len(c.docs)*(8+8+3*4+8+8+fieldCount*4) + 512
	for _, d := range []coded{c.sites, c.langs, c.kinds} {
		for _, name := range d.names {
			n += len(name) + 16
		}
	}
	return n
}

// Ordinal finds a document by its number.
func (c *Columns) Ordinal(doc int64) (int, bool) {
	n := len(c.docs)
	if n == 0 || doc < c.docs[0] || doc > c.docs[n-1] {
		return 0, false
	}
	if c.gapless {
		return int(doc - c.docs[0]), true
	}
	return slices.BinarySearch(c.docs, doc)
}

const columnsVersion = 1

// A column is one document's row while columns are written.
type column struct {
	doc, page         int64
	site, lang, kind  string
	crawled           int64
	key               uint64
	length            [fieldCount]uint32
	siteC, langC, knd uint32
}

// row gives back what a document was written with.
func (c *Columns) row(ordinal int) column {
	r := column{doc: c.docs[ordinal], page: c.pages[ordinal], crawled: c.crawled[ordinal], key: c.keys[ordinal],
		site: c.sites.at(ordinal), lang: c.langs.at(ordinal), kind: c.kinds.at(ordinal)}
	for f := range r.length {
		r.length[f] = c.lengths[f][ordinal]
	}
	return r
}

func (d *coded) at(ordinal int) string { return d.names[d.codes[ordinal]] }

// encodeColumns writes rows, which are ascending by number.
func encodeColumns(rows []column) []byte {
	b := make([]byte, 0, 64+len(rows)*32)
	b = append(b, columnsVersion)
	b = binary.AppendUvarint(b, uint64(len(rows)))
	for _, dict := range []struct {
		name func(*column) string
		code func(*column) *uint32
	}{
		{func(r *column) string { return r.site }, func(r *column) *uint32 { return &r.siteC }},
		{func(r *column) string { return r.lang }, func(r *column) *uint32 { return &r.langC }},
		{func(r *column) string { return r.kind }, func(r *column) *uint32 { return &r.knd }},
	} {
		codes := map[string]uint32{}
		var names []string
		for i := range rows {
			name := dict.name(&rows[i])
			code, known := codes[name]
			if !known {
				code = uint32(len(names))
				codes[name] = code
				names = append(names, name)
			}
			*dict.code(&rows[i]) = code
		}
		b = binary.AppendUvarint(b, uint64(len(names)))
		for _, name := range names {
			b = binary.AppendUvarint(b, uint64(len(name)))
			b = append(b, name...)
		}
	}
	var doc, page, crawled int64
	for i := range rows {
		r := &rows[i]
		b = binary.AppendUvarint(b, uint64(r.doc-doc))
		b = binary.AppendVarint(b, r.page-page)
		b = binary.AppendUvarint(b, uint64(r.siteC))
		b = binary.AppendUvarint(b, uint64(r.langC))
		b = binary.AppendUvarint(b, uint64(r.knd))
		b = binary.AppendVarint(b, r.crawled-crawled)
		b = binary.LittleEndian.AppendUint64(b, r.key)
		for _, n := range r.length {
			b = binary.AppendUvarint(b, uint64(n))
		}
		doc, page, crawled = r.doc, r.page, r.crawled
	}
	return b
}

// DecodeColumns reads what a Builder or a Merger wrote.
func DecodeColumns(b []byte) (*Columns, error) {
	r := reader{b: b}
	if r.byte() != columnsVersion {
		return nil, errBroken
	}
	const least = 6 + 8 + fieldCount // bytes of a row
	n := r.count(least)
	c := &Columns{docs: make([]int64, n), pages: make([]int64, n), crawled: make([]int64, n), keys: make([]uint64, n)}
	for f := range c.lengths {
		c.lengths[f] = make([]uint32, n)
	}
	for _, d := range []*coded{&c.sites, &c.langs, &c.kinds} {
		d.codes = make([]uint32, n)
		d.names = make([]string, r.count(1))
		for i := range d.names {
			d.names[i] = string(r.bytes(r.count(1)))
		}
	}
	var doc, page, crawled int64
	for i := range n {
		if doc = r.number(doc, i == 0); r.bad {
			return nil, errBroken
		}
		page += r.varint()
		c.docs[i], c.pages[i] = doc, page
		for _, d := range []*coded{&c.sites, &c.langs, &c.kinds} {
			code := r.uvarint()
			if code >= uint64(len(d.names)) {
				return nil, errBroken
			}
			d.codes[i] = uint32(code)
		}
		crawled += r.varint()
		c.crawled[i] = crawled
		c.keys[i] = r.uint64()
		for f := range c.lengths {
			length := r.uvarint()
			if length > math.MaxUint32 {
				return nil, errBroken
			}
			c.lengths[f][i] = uint32(length)
			c.total[f] += length
		}
	}
	if r.bad || len(r.b) > 0 {
		return nil, errBroken
	}
	c.gapless = n > 0 && int(c.docs[n-1]-c.docs[0]) == n-1
	return c, nil
}

// EncodeKills writes numbers of documents that are no longer current: nil for none.
func EncodeKills(docs []int64) []byte {
	docs = slices.Compact(slices.Sorted(slices.Values(docs)))
	if len(docs) == 0 {
		return nil
	}
	b := binary.AppendUvarint(nil, uint64(len(docs)))
	var last int64
	for _, doc := range docs {
		b = binary.AppendUvarint(b, uint64(doc-last))
		last = doc
	}
	return b
}

// DecodeKills reads what EncodeKills wrote: ascending numbers.
func DecodeKills(b []byte) ([]int64, error) {
	if len(b) == 0 {
		return nil, nil
	}
	r := reader{b: b}
	docs := make([]int64, r.count(1))
	var doc int64
	for i := range docs {
		doc = r.number(doc, i == 0)
		docs[i] = doc
	}
	if r.bad || len(r.b) > 0 {
		return nil, errBroken
	}
	return docs, nil
}

// A reader takes bytes apart. After one that is missing or malformed all is zero, and bad is true.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	v := r.b[0]
	r.b = r.b[1:]
	return v
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *reader) uint64() uint64 {
	if len(r.b) < 8 {
		r.bad, r.b = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return v
}

// number is that of a document, by its distance from the one before: more, unless it is the first.
func (r *reader) number(before int64, first bool) int64 {
	more := r.uvarint()
	if more > uint64(math.MaxInt64-before) || more == 0 && !first {
		r.bad, r.b = true, nil
		return 0
	}
	return before + int64(more)
}

// count reads the number of things that follow, each of at least so many bytes: more than can follow is broken.
func (r *reader) count(least int) int {
	v := r.uvarint()
	if v > uint64(len(r.b)/least) {
		r.bad, r.b = true, nil
		return 0
	}
	return int(v)
}

// bytes are the next n.
func (r *reader) bytes(n int) []byte {
	if n > len(r.b) {
		r.bad, r.b = true, nil
		return nil
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

// A Part is one segment as a snapshot sees it.
type Part struct {
	ID      int64
	Columns *Columns
	Kills   []int64 // of any segment: DecodeKills
}

// A Snapshot is all segments of an index at one instant: which documents live, and their statistics. It never changes,
// so it may be shared, and kept as long as the list of segments is the same. Building one costs as much as there are
// segments and kills.
type Snapshot struct {
	parts []part
	byID  map[int64]int // into parts
	docs  int           // alive
	total [fieldCount]uint64
}

type part struct {
	Part
	dead   []uint64 // a bit an ordinal; nil = all live
	living int
}

// NewSnapshot looks at all segments, in any order.
func NewSnapshot(parts []Part) *Snapshot {
	s := &Snapshot{parts: make([]part, len(parts)), byID: make(map[int64]int, len(parts))}
	for i, p := range parts {
		s.parts[i] = part{Part: p, living: p.Columns.Len()}
	}
	slices.SortFunc(s.parts, func(a, b part) int { // the order of what has equal rank must not depend on the caller
		return cmp.Compare(a.ID, b.ID)
	})
	for i := range s.parts {
		s.byID[s.parts[i].ID] = i
		s.docs += s.parts[i].living
		for f := range s.total {
			s.total[f] += s.parts[i].Columns.total[f]
		}
	}
	for _, p := range parts {
		for _, doc := range p.Kills {
			s.kill(doc)
		}
	}
	return s
}

// kill marks a document in the segment that has it.
func (s *Snapshot) kill(doc int64) {
	for i := range s.parts {
		p := &s.parts[i]
		ord, has := p.Columns.Ordinal(doc)
		if !has {
			continue
		}
		if p.isDead(ord) {
			return
		}
		if p.dead == nil {
			p.dead = make([]uint64, (p.Columns.Len()+63)/64)
		}
		p.dead[ord/64] |= 1 << (ord % 64)
		p.living--
		s.docs--
		for f := range s.total {
			s.total[f] -= uint64(p.Columns.lengths[f][ord])
		}
		return
	}
}

func (p *part) isDead(ord int) bool {
	return p.dead != nil && p.dead[ord/64]&(1<<(ord%64)) != 0
}

// Docs is the number of living documents.
func (s *Snapshot) Docs() int { return s.docs }

// Languages are those of the documents, in no order.
func (s *Snapshot) Languages() (languages []string) {
	for i := range s.parts {
		for _, name := range s.parts[i].Columns.langs.names {
			if !slices.Contains(languages, name) {
				languages = append(languages, name)
			}
		}
	}
	return languages
}

// Living is the number of living documents of a segment.
func (s *Snapshot) Living(segment int64) int {
	if i, has := s.byID[segment]; has {
		return s.parts[i].living
	}
	return 0
}

// Largest are segments that have most documents, at least three of four together, largest first.
func (s *Snapshot) Largest() []int64 {
	parts := slices.Clone(s.parts)
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.living, a.living) })
	var ids []int64
	for i, sum := 0, 0; 4*sum < 3*s.docs; i++ {
		ids = append(ids, parts[i].ID)
		sum += parts[i].living
	}
	return ids
}

// Sites counts living documents by site, the commonest first, up to most.
func (s *Snapshot) Sites(most int) []Count {
	n := map[string]int{}
	for i := range s.parts {
		p := &s.parts[i]
		counts := make([]int, len(p.Columns.sites.names))
		for ord, code := range p.Columns.sites.codes {
			if !p.isDead(ord) {
				counts[code]++
			}
		}
		for code, count := range counts {
			n[p.Columns.sites.names[code]] += count
		}
	}
	return commonest(n, most)
}

// seconds is a time as columns have it.
func seconds(t time.Time) int64 { return t.Unix() }

// Lengths are the words of all living documents, by field: titles, headings, addresses, bodies.
func (s *Snapshot) Lengths() [4]uint64 { return s.total }

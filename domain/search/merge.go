package search

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
)

// A Posted is a term of one segment, as it is stored. Positions may be nil where nothing asks for them.
type Posted struct {
	Term                string
	Segment             int64
	Postings, Positions []byte
}

// A Merger makes one segment of several: their living documents, under the numbers that they have. Its memory is that
// of the columns and of one term at a time.
type Merger struct {
	// Dropped is called with each term that no living document has. It may be nil.
	Dropped func(term string) error

	columns []byte
	kills   []int64
	docs    int
	remap   map[int64][]int32 // ordinal in the segment → in the merged one, −1 = dead
	term    string
	open    bool
	list    []moved
	scratch []posting
}

type moved struct {
	posting
	positions []byte
}

// NewMerger merges these segments of all those that there are. Kills are kept while a segment that stays has their
// documents.
func NewMerger(all *Snapshot, segments []int64) (*Merger, error) {
	m := &Merger{remap: make(map[int64][]int32, len(segments))}
	type from struct {
		part int
		ord  int
		doc  int64
	}
	var living []from
	var kills []int64
	for _, id := range segments {
		i, has := all.byID[id]
		if !has || m.remap[id] != nil {
			return nil, fmt.Errorf("merge segment %d: it is not in the snapshot, or twice in the list", id)
		}
		p := &all.parts[i]
		kills = append(kills, p.Kills...)
		ords := make([]int32, p.Columns.Len())
		for ord := range ords {
			ords[ord] = -1
			if !p.isDead(ord) {
				living = append(living, from{i, ord, p.Columns.docs[ord]})
			}
		}
		m.remap[id] = ords
	}
	slices.SortFunc(living, func(a, b from) int { return cmp.Compare(a.doc, b.doc) })
	rows := make([]column, 0, len(living))
	for _, l := range living {
		if n := len(rows); n > 0 && rows[n-1].doc == l.doc {
			continue // in two segments: the first is as good
		}
		p := &all.parts[l.part]
		m.remap[p.ID][l.ord] = int32(len(rows))
		rows = append(rows, p.Columns.row(l.ord))
	}
	m.columns, m.docs = encodeColumns(rows), len(rows)
	for _, doc := range kills {
		for i := range all.parts {
			p := &all.parts[i]
			if _, merged := m.remap[p.ID]; merged {
				continue
			}
			if _, has := p.Columns.Ordinal(doc); has {
				m.kills = append(m.kills, doc)
				break
			}
		}
	}
	return m, nil
}

// Docs is the number of documents of the merged segment. Without any, and without kills, it need not be written.
func (m *Merger) Docs() int { return m.docs }

// Columns are those of the merged segment.
func (m *Merger) Columns() []byte { return m.columns }

// Kills are those of the merged segment: EncodeKills.
func (m *Merger) Kills() []byte { return EncodeKills(m.kills) }

// Add takes the rows of the merged segments, sorted by term (bytewise), all of one term one after the other, and hands
// each term of the merged segment to out once it is whole. The bytes of a row must stay as they are until then.
func (m *Merger) Add(row Posted, out func(TermPostings) error) error {
	if m.open && row.Term != m.term {
		if row.Term < m.term {
			return fmt.Errorf("merge segments: term %q after %q", row.Term, m.term)
		}
		if err := m.Flush(out); err != nil {
			return err
		}
	}
	ords, has := m.remap[row.Segment]
	if !has {
		return fmt.Errorf("merge segments: term %q is of segment %d, which is not merged", row.Term, row.Segment)
	}
	m.term, m.open = row.Term, true
	var err error
	if m.scratch, err = decodePostings(row.Postings, len(ords), m.scratch[:0]); err != nil {
		return fmt.Errorf("merge term %q of segment %d: %w", row.Term, row.Segment, err)
	}
	w := walk{b: row.Positions}
	for i, p := range m.scratch {
		positions, err := w.of(i)
		if err != nil {
			return fmt.Errorf("merge positions of term %q of segment %d: %w", row.Term, row.Segment, err)
		}
		if ord := ords[p.ord]; ord >= 0 {
			p.ord = uint32(ord)
			m.list = append(m.list, moved{p, positions})
		}
	}
	return nil
}

// Flush hands out the last term. It is called once, after the last Add.
func (m *Merger) Flush(out func(TermPostings) error) error {
	defer func() { clear(m.list); m.list, m.open = m.list[:0], false }()
	if len(m.list) == 0 {
		if !m.open || m.Dropped == nil {
			return nil
		}
		return m.Dropped(m.term)
	}
	ascending := func(a, b moved) int { return cmp.Compare(a.ord, b.ord) }
	if !slices.IsSortedFunc(m.list, ascending) {
		slices.SortFunc(m.list, ascending)
	}
	var size int
	for _, p := range m.list {
		size += len(p.positions) + 1
	}
	t := TermPostings{Term: m.term, Postings: make([]byte, 0, 8+2*len(m.list)), Positions: make([]byte, 0, size+size/8)}
	t.Postings = binary.AppendUvarint(t.Postings, uint64(len(m.list)))
	last := -1
	for _, p := range m.list {
		t.Postings = appendPosting(t.Postings, last, p.posting)
		last = int(p.ord)
		t.Positions = binary.AppendUvarint(t.Positions, uint64(len(p.positions)))
		t.Positions = append(t.Positions, p.positions...)
	}
	return out(t)
}

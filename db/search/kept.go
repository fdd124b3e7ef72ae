package search

import (
	"slices"

	"github.com/maypok86/otter/v2"

	"github.com/mtlrent/conveyor/domain/search"
)

// A sought is a term of a segment that may have it.
type sought struct {
	search.Need
	of    segmentKey
	start string      // the last known first term of a block before it
	size  search.Size // of the block that may have it, once it is known
}

// columnsOf are the terms, the segments and the starts for the arrays of a statement.
func columnsOf(all []sought) (terms []string, segments []int64, starts []string) {
	terms, segments, starts = make([]string, 0, len(all)), make([]int64, 0, len(all)), make([]string, 0, len(all))
	for _, t := range all {
		terms, segments, starts = append(terms, t.Term), append(segments, t.Segment), append(starts, t.start)
	}
	return terms, segments, starts
}

type keptKey struct {
	term string
	of   segmentKey
}

// A keptTerm is what a segment has of a term: true for as long as the segment is, for segments never change.
type keptTerm struct {
	postings  []byte // nil = it does not have the term
	positions []byte // nil = they were not read
	inBlock
	size search.Size // of the block that may have it
}

// keptPostings are what a process has read of terms, of those that a segment does not have as well: most words are
// asked for again, and a question of twenty words looks for a thousand terms of segments, and for the positions of
// some. What nobody asks for makes room.
type keptPostings = otter.Cache[keptKey, keptTerm]

const (
	maxKept    = 64 << 20 // bytes that a process keeps
	sizeOfKept = 200      // about what a term costs beside its bytes and its postings
)

func newKeptPostings() *keptPostings {
	return otter.Must(&otter.Options[keptKey, keptTerm]{
		MaximumWeight: maxKept,
		Weigher: func(key keptKey, k keptTerm) uint32 {
			n := sizeOfKept + len(key.term) + len(k.first) + len(k.postings) + len(k.positions)
			return uint32(n) //nolint:gosec // far below 4 GB
		},
		Executor: func(f func()) { f() }, // in the goroutine of the caller
	})
}

// takeKept adds the terms that are kept to what a query has read, with the sizes of their blocks, and returns those
// that must be read: of terms whose positions are wanted, those of which they are not kept.
func (s *searching) takeKept(
	all []sought, positions []string, rows []search.Posted, sizes map[string]search.Size,
) ([]sought, []search.Posted) {
	missing := all[:0]
	for _, t := range all {
		k, ok := s.kept.GetIfPresent(keptKey{t.Term, t.of})
		if !ok || k.postings != nil && k.positions == nil && slices.Contains(positions, t.Term) {
			missing = append(missing, t)
			continue
		}
		addSize(sizes, t.Term, k.size)
		if k.postings != nil {
			s.found[t.Need] = foundTerm{t.of, k}
			rows = append(rows, search.Posted{Term: t.Term, Segment: t.Segment, Postings: k.postings, Positions: k.positions})
		}
	}
	return missing, rows
}

func byNeed(all []sought) map[search.Need]sought {
	m := make(map[search.Need]sought, len(all))
	for _, t := range all {
		m[t.Need] = t
	}
	return m
}

// keep remembers what a segment has of a term.
func (s *searching) keep(term string, of segmentKey, k keptTerm) { s.kept.Set(keptKey{term, of}, k) }

func addSize(sizes map[string]search.Size, term string, n search.Size) {
	size := sizes[term]
	sizes[term] = search.Size{Postings: size.Postings + n.Postings, Positions: size.Positions + n.Positions}
}

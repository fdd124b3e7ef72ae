package search

import (
	"time"

	"github.com/mtlrent/conveyor/domain/search"
)

// At sets the clock of an index.
func (x *SearchIndex) At(now func() time.Time) { x.now = now }

// LookFirst makes an index look at the sizes of all postings before it reads any.
func (x *SearchIndex) LookFirst() { x.cheap, x.small = 0, -1 }

// InSteps makes merges write, and delete, a few blocks in a transaction.
func (x *SearchIndex) InSteps() { x.merged, x.swept = 1, 2 }

// Starts are those of the segments that an index has read, by the IDs of the segments.
func (x *SearchIndex) Starts() map[int64][]string {
	x.segments.mu.Lock()
	defer x.segments.mu.Unlock()
	list := map[int64][]string{}
	for key, p := range x.segments.parts {
		list[key.ID] = p.starts
	}
	return list
}

// StartsOf are the starts of a segment whose blocks are written in parts.
func StartsOf(parts ...[]search.Block) []string {
	var m marker
	for _, blocks := range parts {
		m.pass(blocks)
	}
	return m.starts
}

// Lookups is how many segments are asked for a term, of those that an index has read.
func (x *SearchIndex) Lookups(term string) int {
	return len(x.segments.lookups([]string{term}, x.segments.list))
}

package search

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/search"
)

// readOnly is a transaction that sees one state of the database from its first statement on.
var readOnly = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// A segmentCache keeps what a process has read of segments, which never change: some 65 bytes a document. Segments that
// the newest list does not have are forgotten.
type segmentCache struct {
	turn  chan struct{} // held by the one caller that reads
	mu    sync.Mutex
	parts map[int64]segment
	ids   []int64 // of snapshot, ascending
	last  *search.Snapshot

	seed  maphash.Seed
	words map[uint64]struct{} // hashes of words that were learnt since begun
	begun time.Time
}

// A segment is what is kept of one.
type segment struct {
	search.Part
	starts starts
}

// starts are the first terms of each blocksApart-th block of a segment, ascending, from that of the first one on; none
// are none that are known: who writes a segment stores them with it, but a process of a release before did not. The
// search for the last block up to a term is given the one before it: by itself an index scan of Postgres compares all
// terms that its page has before the block, which takes longer than to get there.
type starts []string

// before is the last start up to a term; there is none where no block can have the term.
func (s starts) before(term string) (start string, has bool) {
	at, found := slices.BinarySearch(s, term)
	switch {
	case found:
		return term, true
	case at == 0:
		return "", len(s) == 0
	}
	return s[at-1], true
}

func newSegmentCache() *segmentCache {
	return &segmentCache{turn: make(chan struct{}, 1), seed: maphash.MakeSeed()}
}

// maxKnownWords is how many words of the dictionary a process remembers, some 20 bytes each.
const maxKnownWords = 500_000

// unknown returns those of words that may not be in the dictionary.
func (c *segmentCache) unknown(words []string, now time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now.Sub(c.begun) > wordKnown {
		clear(c.words)
		c.begun = now
	}
	return slices.DeleteFunc(words, func(w string) bool {
		_, known := c.words[maphash.String(c.seed, w)]
		return known
	})
}

// know remembers words that were in the dictionary at a time. When too many are known, or after wordKnown, all are
// forgotten.
func (c *segmentCache) know(words []string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.Before(c.begun) {
		return
	}
	if c.words == nil || len(c.words) > maxKnownWords {
		c.words = map[uint64]struct{}{}
	}
	for _, w := range words {
		c.words[maphash.String(c.seed, w)] = struct{}{}
	}
}

const (
	sqlSearchSegmentIDs = `SELECT id FROM search_segments WHERE collection = $1 ORDER BY id`
	sqlSearchColumns    = `SELECT id, columns, kills, starts FROM search_segments WHERE id = ANY ($1)`
)

// snapshot is the state of the index that tx sees, and the IDs of its segments, ascending.
func (x *SearchIndex) snapshot(ctx context.Context, tx pgx.Tx) (*search.Snapshot, []int64, error) {
	rows, _ := tx.Query(ctx, sqlSearchSegmentIDs, x.collection)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, nil, err
	}
	s, err := x.segments.of(ctx, tx, ids)
	return s, ids, err
}

// of is the snapshot of these segments, which tx sees.
func (c *segmentCache) of(ctx context.Context, tx pgx.Tx, ids []int64) (*search.Snapshot, error) {
	if s := c.kept(ids); s != nil {
		return s, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := c.kept(ids); s != nil {
		return s, nil
	}
	c.mu.Lock()
	parts, missing := make([]segment, 0, len(ids)), []int64(nil)
	for _, id := range ids {
		if p, ok := c.parts[id]; ok {
			parts = append(parts, p)
		} else {
			missing = append(missing, id)
		}
	}
	c.mu.Unlock()
	if len(missing) > 0 {
		rows, _ := tx.Query(ctx, sqlSearchColumns, missing)
		read, err := pgx.CollectRows(rows, readSegment)
		if err != nil {
			return nil, err
		}
		parts = append(parts, read...)
	}
	whole := make([]search.Part, len(parts))
	for i, p := range parts {
		whole[i] = p.Part
	}
	s := search.NewSnapshot(whole)
	c.mu.Lock()
	defer c.mu.Unlock()
	// A caller whose transaction began earlier leaves the newer list alone.
	if len(c.ids) == 0 || len(ids) > 0 && ids[len(ids)-1] >= c.ids[len(c.ids)-1] {
		c.parts = make(map[int64]segment, len(parts))
		for _, p := range parts {
			c.parts[p.ID] = p
		}
		c.ids, c.last = ids, s
	}
	return s, nil
}

func (c *segmentCache) kept(ids []int64) *search.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && slices.Equal(ids, c.ids) {
		return c.last
	}
	return nil
}

// lookups are the pairs of a term and a segment that may have it, and the start before it, for the arrays of a
// statement. Starts of a segment that is not kept are not known.
func (c *segmentCache) lookups(of []string, ids []int64) (terms []string, segments []int64, from []string) {
	c.mu.Lock()
	kept := make([]starts, len(ids))
	for i, id := range ids {
		kept[i] = c.parts[id].starts
	}
	c.mu.Unlock()
	most := len(of) * len(ids)
	terms, segments, from = make([]string, 0, most), make([]int64, 0, most), make([]string, 0, most)
	for i, id := range ids {
		for _, term := range of {
			if start, has := kept[i].before(term); has {
				terms, segments, from = append(terms, term), append(segments, id), append(from, start)
			}
		}
	}
	return terms, segments, from
}

func readSegment(row pgx.CollectableRow) (p segment, err error) {
	var columns, kills []byte
	if err := row.Scan(&p.ID, &columns, &kills, (*[]string)(&p.starts)); err != nil {
		return p, err
	}
	if p.Columns, err = search.DecodeColumns(columns); err != nil {
		return p, err
	}
	p.Kills, err = search.DecodeKills(kills)
	return p, err
}

package search

import (
	"context"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// readOnly is a transaction that sees one state of the database from its first statement on.
var readOnly = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// A segmentCache keeps what a process has read of segments, which never change: some 65 bytes a document, and ten
// bits a term. Segments that the newest list does not have are forgotten.
type segmentCache struct {
	turn  chan struct{} // held by the one caller that reads
	mu    sync.Mutex
	parts map[segmentKey]segment
	list  []segmentKey // of last, by their IDs, ascending
	last  *search.Snapshot

	seed  maphash.Seed
	words map[uint64]struct{} // hashes of words that were learnt since begun
	begun time.Time
}

// A segmentKey is a segment. An ID alone may come again, with other documents, after a failover that took back the
// transaction which had used it.
type segmentKey struct {
	ID      int64
	Created int64 // microseconds since 1970
}

// A segment is what is kept of one.
type segment struct {
	search.Part
	starts starts
	filter search.Filter // empty: the segment was written by a process of a release before
}

// lookup is the last start up to a term of a hash; there is none where the segment does not have the term.
func (s *segment) lookup(term string, hash uint64) (start string, has bool) {
	if s.Columns != nil && s.Columns.Len() == 0 || !s.filter.May(hash) {
		return "", false
	}
	return s.starts.before(term)
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
	sqlSearchSegmentIDs = `/* sqlSearchSegmentIDs */
SELECT id, (extract(epoch FROM created_at) * 1000000)::bigint FROM search_segments WHERE collection = $1 ORDER BY id`
	sqlSearchColumns = `/* sqlSearchColumns */
SELECT id, columns, kills, starts, filter FROM search_segments WHERE id = ANY ($1) ORDER BY id`
)

// snapshot is the state of the index that tx sees, and its segments, by their IDs, ascending.
func (x *SearchIndex) snapshot(ctx context.Context, tx pgx.Tx) (*search.Snapshot, []segmentKey, error) {
	list, err := db.Rows(ctx, tx, pgx.RowToStructByPos[segmentKey], sqlSearchSegmentIDs, x.collection)
	if err != nil {
		return nil, nil, err
	}
	s, err := x.segments.of(ctx, tx, list)
	if err != nil && ctx.Err() != nil {
		x.readOn()
	}
	return s, list, err
}

// mostReadOn is how long the segments are read on for which the time of a caller was too short.
const mostReadOn = 10 * time.Minute

// readOn reads the segments for later callers: a large one may take longer than any of them has. One does so at a time.
func (x *SearchIndex) readOn() {
	if !x.readingOn.CompareAndSwap(false, true) {
		return
	}
	ctx, cancel := context.WithTimeout(x.background, mostReadOn)
	go func() { // ends with Close
		defer x.readingOn.Store(false)
		defer cancel()
		var err error
		defer fault.Survive(&err, "reading segments", nil)
		_, err = x.Docs(ctx) // what it reads is kept
	}()
}

// of is the snapshot of these segments, which tx sees.
func (c *segmentCache) of(ctx context.Context, tx pgx.Tx, list []segmentKey) (*search.Snapshot, error) {
	if s := c.kept(list); s != nil {
		return s, nil
	}
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s := c.kept(list); s != nil {
		return s, nil
	}
	c.mu.Lock()
	parts, missing := make(map[segmentKey]segment, len(list)), []int64(nil)
	for _, key := range list {
		if p, ok := c.parts[key]; ok {
			parts[key] = p
		} else {
			missing = append(missing, key.ID)
		}
	}
	c.mu.Unlock()
	if len(missing) > 0 {
		rows, _ := tx.Query(ctx, sqlSearchColumns, missing)
		defer rows.Close()
		for rows.Next() {
			p, err := readSegment(rows)
			if err != nil {
				return nil, err
			}
			at := slices.IndexFunc(list, func(key segmentKey) bool { return key.ID == p.ID })
			parts[list[at]] = p
			c.keep(list[at], p)
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
	}
	whole := make([]search.Part, 0, len(parts))
	for _, key := range list {
		whole = append(whole, parts[key].Part)
	}
	s := search.NewSnapshot(whole)
	c.mu.Lock()
	defer c.mu.Unlock()
	// A caller whose transaction began earlier leaves the newer list alone.
	if newest(list) >= newest(c.list) {
		c.parts, c.list, c.last = parts, list, s
	}
	return s, nil
}

// keep remembers a segment before its list is whole: a caller whose time ends has not read it in vain.
func (c *segmentCache) keep(key segmentKey, p segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil {
		c.parts = map[segmentKey]segment{}
	}
	c.parts[key] = p
}

// newest is when the last segment of a list was made, 0 of none.
func newest(list []segmentKey) (created int64) {
	for _, key := range list {
		created = max(created, key.Created)
	}
	return created
}

func (c *segmentCache) kept(list []segmentKey) *search.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && slices.Equal(list, c.list) {
		return c.last
	}
	return nil
}

// lookups are these terms of each segment that may have them. Of a segment that is not kept nothing is known.
func (c *segmentCache) lookups(terms []string, list []segmentKey) []sought {
	c.mu.Lock()
	kept := make([]segment, len(list))
	for i, key := range list {
		kept[i] = c.parts[key]
	}
	c.mu.Unlock()
	hashes := make([]uint64, len(terms))
	for i, term := range terms {
		hashes[i] = search.HashTerm(term)
	}
	var all []sought
	for i, key := range list {
		for k, term := range terms {
			if start, has := kept[i].lookup(term, hashes[k]); has {
				all = append(all, sought{Need: search.Need{Term: term, Segment: key.ID}, start: start, of: key})
			}
		}
	}
	return all
}

func readSegment(row pgx.CollectableRow) (p segment, err error) {
	var columns, kills []byte
	if err := row.Scan(&p.ID, &columns, &kills, (*[]string)(&p.starts), (*[]byte)(&p.filter)); err != nil {
		return p, err
	}
	if p.Columns, err = search.DecodeColumns(columns); err != nil {
		return p, err
	}
	p.Kills, err = search.DecodeKills(kills)
	return p, err
}

package search

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// fanout is how many segments of a level make it full; the segments of each level have as many times more documents
// than those of the one below.
const fanout = 8

// maxMerged is how many segments become one at a time, when merges have fallen behind.
const maxMerged = 64

// levelOf is the level of a segment of so many documents: 0 below 8, 1 below 64, ….
func levelOf(docs int) int {
	level := 0
	for ; docs >= fanout; docs /= fanout {
		level++
	}
	return level
}

const sqlSearchFull = `/* sqlSearchFull */
SELECT EXISTS (SELECT FROM search_segments WHERE collection = $1 GROUP BY level HAVING count(*) >= $2)`

// Full reports whether a level of the index has so many segments that Compact should merge them.
func (x *SearchIndex) Full(ctx context.Context) (full bool, err error) {
	err = x.pool.QueryRow(ctx, sqlSearchFull, x.collection, fanout).Scan(&full)
	return full, fault.Wrap(err, "count segments")
}

const sqlSearchSegmentCount = `/* sqlSearchSegmentCount */ SELECT count(*) FROM search_segments WHERE collection = $1`

// Segments returns how many there are.
func (x *SearchIndex) Segments(ctx context.Context) (n int64, err error) {
	err = x.pool.QueryRow(ctx, sqlSearchSegmentCount, x.collection).Scan(&n)
	return n, fault.Wrap(err, "count segments")
}

// The lock is held until the end of the transaction. Its first key is that of compaction, its second the collection.
//
// A segment whose collection is negative is of no list: one that a merge is writing, or one that was merged. So all but
// the moment in which one takes the place of the others is written by transactions that are short, as many as it takes:
// a transaction that writes keeps every row from the vacuum that any table has lost since it began.
const (
	sqlSearchCompactLock = `/* sqlSearchCompactLock */ SELECT pg_try_advisory_xact_lock(1936024430, $1)`
	sqlSearchLevels      = `/* sqlSearchLevels */
SELECT id, level, docs FROM search_segments WHERE collection = $1 ORDER BY level, id`
	sqlSearchUnlisted = `/* sqlSearchUnlisted */
SELECT id FROM search_segments WHERE collection = -$1::smallint ORDER BY id LIMIT 1 FOR UPDATE`
	sqlSearchHolds = `/* sqlSearchHolds */
SELECT FROM search_segments WHERE id = $1 AND collection = -$2::smallint AND level >= 0 FOR KEY SHARE`
	sqlSearchList = `/* sqlSearchList */
UPDATE search_segments SET collection = $2, starts = $3, filter = $4 WHERE id = $1 AND collection = -$2::smallint`
	sqlSearchUnlist = `/* sqlSearchUnlist */
UPDATE search_segments SET collection = -$2::smallint WHERE id = ANY ($1) AND collection = $2`
	sqlSearchForgetSome = `/* sqlSearchForgetSome */
DELETE FROM search_postings WHERE segment = $1 AND term = ANY (ARRAY(
    SELECT term FROM search_postings WHERE segment = $1 AND term > $2 ORDER BY term LIMIT $3))
RETURNING term`
	// Nothing is added to it any more.
	sqlSearchCondemn = `/* sqlSearchCondemn */ UPDATE search_segments SET level = -1 WHERE id = $1`
	sqlSearchForget  = `/* sqlSearchForget */ DELETE FROM search_segments WHERE id = $1`
)

// Compact merges the segments of the lowest level that is full into one of the next level, without the documents that
// are void; or, when none is full, writes a segment anew most of whose documents are void; or, when there is none,
// forgets words. It reports whether there is more to do. One process compacts at a time: a call while another one does
// returns at once. Searches and writers go on meanwhile, and what a call that failed or was killed leaves behind no
// search sees: the next one deletes it, before it writes. Memory is bounded by the columns, a few thousand terms, and
// eight bytes of each other.
func (x *SearchIndex) Compact(ctx context.Context) (more bool, err error) {
	if err := x.sweep(ctx); err != nil {
		return false, fault.Wrap(err, "compact the index")
	}
	err = x.alone(ctx, func(tx pgx.Tx) error {
		snapshot, segments, err := x.mergeable(ctx, tx)
		if err != nil {
			return err
		}
		if len(segments) == 0 {
			more, err = forgetWords(ctx, tx)
			return err
		}
		more = true
		return x.merge(ctx, tx, snapshot, segments)
	})
	if err == nil {
		err = x.sweep(ctx)
	}
	return more, fault.Wrap(err, "compact the index")
}

// alone runs a transaction in which no other one compacts; while one does, nothing.
func (x *SearchIndex) alone(ctx context.Context, run func(tx pgx.Tx) error) error {
	return db.Tx(ctx, x.pool, func(tx pgx.Tx) error {
		var alone bool
		if err := tx.QueryRow(ctx, sqlSearchCompactLock, x.collection).Scan(&alone); err != nil || !alone {
			return err
		}
		return run(tx)
	})
}

// sweepRows are the blocks that one transaction deletes: some 10 kB each.
const sweepRows = 500

// sweep deletes what is of no list.
func (x *SearchIndex) sweep(ctx context.Context) error {
	segment, after := int64(0), ""
	for more := true; more; {
		more = false // unless this one is alone, too
		err := x.alone(ctx, func(tx pgx.Tx) error {
			ids, err := db.Rows(ctx, tx, pgx.RowTo[int64], sqlSearchUnlisted, x.collection)
			if err != nil || len(ids) == 0 {
				return err
			}
			if ids[0] != segment {
				segment, after = ids[0], ""
				if _, err := tx.Exec(ctx, sqlSearchCondemn, segment); err != nil {
					return err
				}
			}
			more = true
			terms, err := db.Rows(ctx, tx, pgx.RowTo[string], sqlSearchForgetSome, segment, after, x.swept)
			if err != nil {
				return err
			}
			if len(terms) == x.swept {
				after = slices.Max(terms)
				return nil
			}
			_, err = tx.Exec(ctx, sqlSearchForget, segment)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// mergeable picks the segments that are to become one: none when there is nothing to do.
func (x *SearchIndex) mergeable(ctx context.Context, tx pgx.Tx) (*search.Snapshot, []int64, error) {
	type listed struct {
		ID          int64
		Level, Docs int
	}
	list, err := db.Rows(ctx, tx, pgx.RowToStructByPos[listed], sqlSearchLevels, x.collection)
	if err != nil {
		return nil, nil, err
	}
	snapshot, _, err := x.snapshot(ctx, tx) // at least those of the list
	if err != nil {
		return nil, nil, err
	}
	var picked []int64
	for i, s := range list {
		if i > 0 && s.Level != list[i-1].Level {
			picked = nil
		}
		picked = append(picked, s.ID)
		last := i+1 == len(list) || list[i+1].Level != s.Level
		if len(picked) == maxMerged || last && len(picked) >= fanout {
			return snapshot, picked, nil
		}
	}
	for _, s := range list {
		if s.Docs > 0 && snapshot.Living(s.ID)*2 < s.Docs {
			return snapshot, []int64{s.ID}, nil
		}
	}
	return snapshot, nil, nil
}

// merge writes one segment in place of several. tx has the lock, reads, and writes nothing before the end.
func (x *SearchIndex) merge(ctx context.Context, tx pgx.Tx, snapshot *search.Snapshot, segments []int64) error {
	merger, err := search.NewMerger(snapshot, segments)
	if err != nil {
		return err
	}
	into := int64(0)
	if kills := merger.Kills(); merger.Docs() > 0 || len(kills) > 0 {
		err := x.pool.QueryRow(ctx, sqlSearchSegmentAdd, -x.collection, levelOf(merger.Docs()), merger.Docs(),
			merger.Columns(), db.Some(kills), nil, nil).Scan(&into)
		if err != nil {
			return err
		}
	}
	starts, filter, err := x.mergePostings(ctx, tx, merger, segments, into)
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	if into > 0 {
		b.Queue(sqlSearchList, into, x.collection, starts, []byte(filter))
	}
	b.Queue(sqlSearchUnlist, segments, x.collection)
	return tx.SendBatch(ctx, b).Close()
}

// write adds blocks to the segment that a merge is writing. Where the lock was lost, and another process
// sweeps, it is pgx.ErrNoRows.
func (x *SearchIndex) write(ctx context.Context, into int64, blocks []search.Block) error {
	return db.Tx(ctx, x.pool, func(tx pgx.Tx) error {
		if err := tx.QueryRow(ctx, sqlSearchHolds, into, x.collection).Scan(); err != nil {
			return fault.Wrap(err, "write segment %d", into)
		}
		return copyBlocks(ctx, tx, into, blocks)
	})
}

// mergePostings goes through the terms of all segments in their order. Words that are in none of their documents any
// more are doubted. Starts and filter are those of the new segment, which are known when all of it is written.
func (x *SearchIndex) mergePostings(ctx context.Context, tx pgx.Tx, merger *search.Merger, segments []int64,
	into int64,
) (starts []string, filter search.Filter, err error) {
	doubts := wordDoubts{on: x.pool}
	merger.Dropped = func(term string) error { return doubts.add(ctx, term) }
	var heads postedHeap
	for _, id := range segments {
		r := &postedReader{tx: tx, segment: id}
		more, err := r.next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if more {
			heads = append(heads, r)
		}
	}
	heap.Init(&heads)
	var written []search.Block
	var marks marker
	size := 0
	flush := func() error {
		if len(written) == 0 {
			return nil
		}
		marks.pass(written)
		err := x.write(ctx, into, written)
		clear(written)
		written, size = written[:0], 0
		return err
	}
	packer := search.NewPacker(func(b search.Block) error {
		written = append(written, b)
		if size += len(b.Postings) + len(b.Positions); size < x.merged {
			return nil
		}
		return flush()
	})
	for len(heads) > 0 {
		r := heads[0]
		if err := merger.Add(r.terms[0], packer.Add); err != nil {
			return nil, nil, err
		}
		more, err := r.next(ctx)
		if err != nil {
			return nil, nil, err
		}
		if more {
			heap.Fix(&heads, 0)
		} else {
			heap.Pop(&heads)
		}
	}
	if err := merger.Flush(packer.Add); err != nil {
		return nil, nil, err
	}
	if err := packer.Flush(); err != nil {
		return nil, nil, err
	}
	if err := flush(); err != nil {
		return nil, nil, err
	}
	return marks.starts, packer.Filter(), doubts.flush(ctx)
}

// What a merge reads of a segment at a time, and writes in a transaction.
const (
	mergeRows  = 32
	mergeBytes = 4 << 20
)

const sqlSearchBlocksAfter = `/* sqlSearchBlocksAfter */
SELECT term, last, postings, positions FROM search_postings
WHERE segment = $1 AND term > $2 ORDER BY term LIMIT $3`

// A postedReader reads the terms of a segment in their order.
type postedReader struct {
	tx      pgx.Tx
	segment int64
	terms   []search.Posted // the first is the current one
	last    string          // the first of the last block that was read
	end     bool
}

// next goes to the next term, if there is one.
func (r *postedReader) next(ctx context.Context) (bool, error) {
	if len(r.terms) > 1 {
		r.terms = r.terms[1:]
		return true, nil
	}
	if r.end {
		return false, nil
	}
	blocks, err := db.Rows(ctx, r.tx, pgx.RowToStructByPos[search.Block],
		sqlSearchBlocksAfter, r.segment, r.last, mergeRows)
	if err != nil || len(blocks) == 0 {
		return false, err
	}
	r.terms = nil
	for _, b := range blocks {
		err := b.Terms(func(t search.TermPostings) bool {
			r.terms = append(r.terms, search.Posted{
				Term: t.Term, Segment: r.segment, Postings: t.Postings, Positions: t.Positions,
			})
			return true
		})
		if err != nil {
			return false, fmt.Errorf("read terms %q to %q of segment %d: %w", b.First, b.Last, r.segment, err)
		}
	}
	r.last, r.end = blocks[len(blocks)-1].First, len(blocks) < mergeRows
	return len(r.terms) > 0, nil
}

// postedHeap has the reader with the lowest term first.
type postedHeap []*postedReader

func (h postedHeap) Len() int { return len(h) }

func (h postedHeap) Less(i, j int) bool {
	c := strings.Compare(h[i].terms[0].Term, h[j].terms[0].Term)
	return c < 0 || c == 0 && h[i].segment < h[j].segment
}

func (h postedHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *postedHeap) Push(x any)   { *h = append(*h, x.(*postedReader)) }

func (h *postedHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

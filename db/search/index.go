package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// collectionPages is the collection of pages: what is indexed apart from others.
const collectionPages int16 = 1

// A SearchIndex is the search engine in Postgres: an inverted index of segments that never change. Several processes
// may write, merge and read it at once. A document of the index is one version of a page.
type SearchIndex struct {
	pool       *pgxpool.Pool
	collection int16
	segments   *segmentCache
	kept       *keptPostings
	background context.Context // of what is read on for later callers
	stop       context.CancelFunc
	readingOn  atomic.Bool
	cheap      int64 // bytes of postings that are read without a look at their sizes
	small      int   // bytes of a term's postings that are read with the look at their size
	merged     int   // bytes that a merge writes in a transaction
	swept      int   // blocks that are deleted in a transaction
	now        func() time.Time
}

var _ search.Engine = (*SearchIndex)(nil)

// NewSearchIndex returns the index of the pages in pool.
func NewSearchIndex(pool *pgxpool.Pool) *SearchIndex {
	x := &SearchIndex{pool: pool, collection: collectionPages, segments: newSegmentCache(),
		kept: newKeptPostings(), cheap: cheapSearch, small: smallPostings, merged: mergeBytes, swept: sweepRows,
		now: time.Now}
	x.background, x.stop = context.WithCancel(context.Background())
	return x
}

// Close ends what is read in the background, which holds a connection of the pool.
func (x *SearchIndex) Close() { x.stop() }

// Index makes these revisions of pages findable before it returns. A revision that is not the one that is kept, or that
// is in the index already, changes nothing.
func (x *SearchIndex) Index(ctx context.Context, pages []search.Page) error {
	return x.put(ctx, pages, false)
}

// Renew is Index, but a revision that is in the index already is indexed anew: for a re-index, while searches go on.
func (x *SearchIndex) Renew(ctx context.Context, pages []search.Page) error {
	return x.put(ctx, pages, true)
}

// A segment is built of at most so many pages and bytes of text, so that memory is bounded.
const (
	maxSegmentPages = 1000
	maxSegmentBytes = 32 << 20
)

func (x *SearchIndex) put(ctx context.Context, pages []search.Page, renew bool) error {
	for len(pages) > 0 {
		n, size := 0, 0
		for n < len(pages) && n < maxSegmentPages && (n == 0 || size+len(pages[n].Text) <= maxSegmentBytes) {
			size += len(pages[n].Text)
			n++
		}
		if err := x.putSegment(ctx, pages[:n], renew); err != nil {
			return fmt.Errorf("index %d pages: %w", n, db.Refused(err))
		}
		pages = pages[n:]
	}
	return nil
}

// The pages that are to be indexed, each with a number for its document.
const sqlSearchNumbers = `/* sqlSearchNumbers */
SELECT id, revision, nextval('search_documents') FROM pages
WHERE id = ANY ($1) AND ($2 OR doc IS NULL OR doc_revision <> revision)`

// The state of pages, which stays so until the end of the transaction.
const sqlSearchHold = `/* sqlSearchHold */
SELECT id, revision, coalesce(doc, 0), coalesce(doc_revision, 0) FROM pages
WHERE id = ANY ($1) ORDER BY url_key FOR UPDATE`

const sqlSearchNumbered = `/* sqlSearchNumbered */
UPDATE pages p SET doc = n.doc, doc_revision = p.revision
FROM unnest($1::bigint[], $2::bigint[]) AS n(id, doc) WHERE p.id = n.id AND p.id = ANY ($1)`

const sqlSearchSegmentAdd = `/* sqlSearchSegmentAdd */
INSERT INTO search_segments (collection, level, docs, columns, kills, starts, filter)
VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING id`

// A numbered page is to be the document of a number.
type numbered struct {
	search.Page
	doc int64
}

// putSegment writes one segment. All that costs time happens before the rows of the pages are locked; what changes
// until then is void in the new segment.
func (x *SearchIndex) putSegment(ctx context.Context, pages []search.Page, renew bool) error {
	fresh, err := x.number(ctx, pages, renew)
	if err != nil || len(fresh) == 0 {
		return err
	}
	builder := search.NewBuilder()
	for _, p := range fresh {
		builder.Add(p.doc, p.Page)
	}
	segment := builder.Segment()
	if err := x.learn(ctx, segment.Terms); err != nil {
		return err
	}
	blocks, filter := packed(segment.Terms)
	var marks marker
	marks.pass(blocks)
	return db.Tx(ctx, x.pool, func(tx pgx.Tx) error {
		ids, docs, kills, err := x.hold(ctx, tx, fresh, renew)
		if err != nil || len(ids) == 0 {
			return err
		}
		var id int64
		b := new(pgx.Batch)
		b.Queue(sqlSearchNumbered, ids, docs)
		b.Queue(sqlSearchSegmentAdd, x.collection, levelOf(len(fresh)), len(fresh), segment.Columns,
			db.Some(search.EncodeKills(kills)), marks.starts, []byte(filter)).
			QueryRow(func(row pgx.Row) error { return row.Scan(&id) })
		if err := tx.SendBatch(ctx, b).Close(); err != nil {
			return err
		}
		return copyBlocks(ctx, tx, id, blocks)
	})
}

// number reads which pages have to be indexed, and gives their documents numbers.
func (x *SearchIndex) number(ctx context.Context, pages []search.Page, renew bool) ([]numbered, error) {
	last := make(map[int64]search.Page, len(pages))
	for _, p := range pages {
		if before, ok := last[p.ID]; !ok || p.Revision > before.Revision {
			last[p.ID] = p
		}
	}
	ids := make([]int64, 0, len(last))
	for id := range last {
		ids = append(ids, id)
	}
	rows, err := x.pool.Query(ctx, sqlSearchNumbers, ids, renew)
	if err != nil {
		return nil, err
	}
	var fresh []numbered
	var id, revision, doc int64
	_, err = pgx.ForEachRow(rows, []any{&id, &revision, &doc}, func() error {
		if last[id].Revision == revision {
			fresh = append(fresh, numbered{storablePage(last[id]), doc})
		}
		return nil
	})
	slices.SortFunc(fresh, func(a, b numbered) int { return cmp.Compare(a.doc, b.doc) })
	return fresh, err
}

// storablePage is a page whose words are fit for Postgres.
func storablePage(p search.Page) search.Page {
	p.URL, p.Site, p.Title = db.Storable(p.URL), db.Storable(p.Site), db.Storable(p.Title)
	p.Description, p.Text = db.Storable(p.Description), db.Storable(p.Text)
	p.Headings = slices.Clone(p.Headings)
	for i, h := range p.Headings {
		p.Headings[i] = db.Storable(h)
	}
	return p
}

// hold locks pages and returns those whose new document counts, with its number, and the documents that are void then.
func (x *SearchIndex) hold(ctx context.Context, tx pgx.Tx, fresh []numbered, renew bool) (
	ids, docs, kills []int64, err error,
) {
	all := make([]int64, len(fresh))
	for i, p := range fresh {
		all[i] = p.ID
	}
	type state struct{ revision, doc, docRevision int64 }
	now := make(map[int64]state, len(fresh))
	rows, _ := tx.Query(ctx, sqlSearchHold, all)
	var id int64
	var s state
	_, err = pgx.ForEachRow(rows, []any{&id, &s.revision, &s.doc, &s.docRevision}, func() error {
		now[id] = s
		return nil
	})
	for _, p := range fresh {
		s, kept := now[p.ID]
		if !kept || s.revision != p.Revision || !renew && s.doc > 0 && s.docRevision == s.revision {
			kills = append(kills, p.doc) // deleted, overtaken, or indexed by another caller
			continue
		}
		ids, docs = append(ids, p.ID), append(docs, p.doc)
		if s.doc > 0 {
			kills = append(kills, s.doc)
		}
	}
	return ids, docs, kills, err
}

// packed are the blocks of the terms of a segment, and their filter.
func packed(terms []search.TermPostings) (blocks []search.Block, filter search.Filter) {
	p := search.NewPacker(func(b search.Block) error { blocks = append(blocks, b); return nil })
	for _, t := range terms {
		_ = p.Add(t) // it has no error but those of the function above
	}
	_ = p.Flush()
	return blocks, p.Filter()
}

// A marker picks the starts of a segment while its blocks pass in their order.
type marker struct {
	blocks int
	starts []string
}

const blocksApart = 16

func (m *marker) pass(blocks []search.Block) {
	for _, b := range blocks {
		if m.blocks%blocksApart == 0 {
			m.starts = append(m.starts, b.First)
		}
		m.blocks++
	}
}

func copyBlocks(ctx context.Context, tx pgx.Tx, segment int64, blocks []search.Block) error {
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"search_postings"},
		[]string{"segment", "term", "last", "postings", "positions"},
		pgx.CopyFromSlice(len(blocks), func(i int) ([]any, error) {
			b := blocks[i]
			return []any{segment, b.First, b.Last, b.Postings, b.Positions}, nil
		}))
	return err
}

// Remove makes pages unfindable before it returns: their documents are void in a segment without any of its own.
func (x *SearchIndex) Remove(ctx context.Context, ids []int64) error {
	err := db.Tx(ctx, x.pool, func(tx pgx.Tx) error {
		_, docs, err := holdPages(ctx, tx, ids)
		if err != nil || len(docs) == 0 {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSearchUnnumbered, ids); err != nil {
			return err
		}
		return addKills(ctx, tx, x.collection, docs)
	})
	return fault.Wrap(err, "remove %d pages from the index", len(ids))
}

const sqlSearchUnnumbered = `/* sqlSearchUnnumbered */
UPDATE pages SET doc = NULL, doc_revision = NULL WHERE id = ANY ($1) AND doc IS NOT NULL`

// addKills makes documents void.
func addKills(ctx context.Context, tx pgx.Tx, collection int16, docs []int64) error {
	if len(docs) == 0 {
		return nil
	}
	var id int64
	return tx.QueryRow(ctx, sqlSearchSegmentAdd, collection, 0, 0, search.NewBuilder().Segment().Columns,
		search.EncodeKills(docs), nil, nil).Scan(&id)
}

const sqlSearchBytes = `/* sqlSearchBytes */
SELECT (SELECT count(*) FROM search_terms), pg_total_relation_size('search_segments') +
    pg_total_relation_size('search_postings') + pg_total_relation_size('search_terms')`

// maxStatsSites is how many sites Stats names.
const maxStatsSites = 20

// Stats says how large the index is. Terms are the words of its dictionary.
func (x *SearchIndex) Stats(ctx context.Context) (s search.Stats, err error) {
	s.Engine = "postgres"
	err = db.TxWith(ctx, x.pool, readOnly, func(tx pgx.Tx) error {
		snapshot, ids, err := x.snapshot(ctx, tx)
		if err != nil {
			return err
		}
		s.Pages, s.Segments, s.Sites = snapshot.Docs(), len(ids), snapshot.Sites(maxStatsSites)
		return tx.QueryRow(ctx, sqlSearchBytes).Scan(&s.Terms, &s.Bytes)
	})
	return s, fault.Wrap(err, "read the size of the index")
}

// Docs is how many documents can be found.
func (x *SearchIndex) Docs(ctx context.Context) (n int64, err error) {
	err = db.TxWith(ctx, x.pool, readOnly, func(tx pgx.Tx) error {
		snapshot, _, err := x.snapshot(ctx, tx)
		if err == nil {
			n = int64(snapshot.Docs())
		}
		return err
	})
	return n, fault.Wrap(err, "count the documents of the index")
}

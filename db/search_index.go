package db

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/search"
)

// collectionPages is the collection of pages: what is indexed apart from others.
const collectionPages int16 = 1

// A SearchIndex is the search engine in Postgres: an inverted index of segments that never change. Several processes
// may write, merge and read it at once.
type SearchIndex struct {
	pool       *pgxpool.Pool
	collection int16
}

var _ search.Engine = (*SearchIndex)(nil)

// NewSearchIndex returns the index of the pages in pool.
func NewSearchIndex(pool *pgxpool.Pool) *SearchIndex {
	return &SearchIndex{pool: pool, collection: collectionPages}
}

// Index makes these revisions of pages findable before it returns. A revision that is not the one that is kept, or that
// is in the index already, changes nothing.
func (x *SearchIndex) Index(ctx context.Context, pages []search.Page) error { return nil }

// Renew is Index, but a revision that is in the index already is indexed anew: for a re-index, while searches go on.
func (x *SearchIndex) Renew(ctx context.Context, pages []search.Page) error { return nil }

// Remove makes pages unfindable before it returns.
func (x *SearchIndex) Remove(ctx context.Context, ids []int64) error { return nil }

// Full reports whether a level of the index has so many segments that Compact should merge them.
func (x *SearchIndex) Full(ctx context.Context) (bool, error) { return false, nil }

// Compact merges the segments of the lowest level that is full into one of the next level, and drops what is void.
// It reports whether another level is full after that. One process compacts at a time; a call while another one does
// returns at once. Searches and writers go on meanwhile, and a process that is killed leaves nothing behind.
func (x *SearchIndex) Compact(ctx context.Context) (more bool, err error) { return false, nil }

// Search answers a query.
func (x *SearchIndex) Search(ctx context.Context, q search.Query) (search.Results, error) {
	return search.Results{}, nil
}

// Suggest returns up to most ways in which the last word of a text may go on, the commonest first.
func (x *SearchIndex) Suggest(ctx context.Context, text string, most int) ([]string, error) {
	return nil, nil
}

// Stats says how large the index is.
func (x *SearchIndex) Stats(ctx context.Context) (search.Stats, error) { return search.Stats{}, nil }

func addKills(ctx context.Context, tx pgx.Tx, collection int16, docs []uint32) error { return nil }

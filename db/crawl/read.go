package crawl

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A CrawlURL is a row of the frontier. nil is a value that is not known, or not yet.
type CrawlURL struct {
	ID                  int64
	NormalizedURL       string
	RawURL              *string // as written on the page; nil = as NormalizedURL
	DiscoveredFromURLID *int64  // nil for the seed and what sitemaps list
	Depth               int     // links from the seed, by the shortest way known
	Status              string  // a crawl.State
	HTTPStatus          *int
	ContentType         *string
	RetryCount          int
	ClaimedAt           *time.Time
	ClaimedByWorker     *string
	VisitedAt           *time.Time
	CreatedAt           time.Time
	UpdatedAt           time.Time
	Error               *string
	ErrorClass          *string // a fault.Class
	Reason              *string // of SKIPPED
	Tries               int     // requests sent
	Title               *string
	TookMS              *int
	ContentLength       *int64     // bytes, decompressed
	Links               *int       // addresses in scope on the page
	DueAt               *time.Time // queued, and not to be tried before
	RedirectTo          *string
	Host                string
	DiscoveredFromURL   *string // the address of DiscoveredFromURLID; only Rows has it
}

const sqlCrawlURLColumns = `
    u.id, u.normalized_url, u.raw_url, u.discovered_from_url_id, u.depth, u.status, u.http_status, u.content_type,
    u.retry_count, u.claimed_at, u.claimed_by_worker, u.visited_at, u.created_at, u.updated_at, u.error, u.error_class,
    u.reason, u.tries, u.title, u.took_ms, u.content_length, u.links, u.due_at, u.redirect_to, u.host`

const sqlCrawlURLAlone = sqlCrawlURLColumns + `, NULL::text`

// crawlBatch is how many rows of the frontier are in memory at once where they are streamed.
const crawlBatch = 1000

// Of counts the URLs in any of the states; none are all states.
func (n CrawlCounts) Of(states ...crawl.State) (sum int64) {
	if len(states) == 0 {
		return n.Discovered
	}
	of := map[crawl.State]int64{
		crawl.Queued: n.Queued, crawl.InProgress: n.InProgress, crawl.Visited: n.Visited, crawl.Redirect301: n.Redirect301,
		crawl.Forbidden: n.Forbidden, crawl.NotFound: n.NotFound, crawl.HTTPTerminal: n.HTTPTerminal, crawl.Failed: n.Failed,
		crawl.Skipped: n.Skipped,
	}
	for _, s := range states {
		sum += of[s]
	}
	return sum
}

// A CrawlURLSort is an order of the URLs of a run: id, visited_at, updated_at or normalized_url. Ties are in the
// order of the IDs; what has no time is last.
type CrawlURLSort string

// A CrawlURLFilter says which URLs of a run to return. Zero values do not filter.
type CrawlURLFilter struct {
	States     []crawl.State // any of them
	Host       string        // with a port that is not the scheme's
	Path       string        // is contained in path and query, ignoring case
	Sort       CrawlURLSort  // "" = id
	Descending bool
	Offset     int
	Limit      int
}

// states are the names of states, nil for none.
func states(of []crawl.State) (names []string) {
	for _, s := range of {
		names = append(names, string(s))
	}
	return names
}

// Addresses are ASCII, so those of one case are compared in the collation C, which is many times faster. The whole
// address is searched first: to cut off its host is slow. The shortest scheme and host are 8 bytes.
const sqlCrawlURLFilter = `run_id = $1
    AND ($2::text[] IS NULL OR status = ANY ($2))
    AND ($3::text IS NULL OR host = $3)
    AND ($4::text IS NULL OR strpos(lower(normalized_url COLLATE "C"), lower($4 COLLATE "C")) > 0
        AND strpos(substr(lower(normalized_url COLLATE "C"), 8 + strpos(substr(normalized_url, 9), '/')),
            lower($4 COLLATE "C")) > 0)`

// The rows themselves are read afterwards: those that an offset passes over cost as little as possible.
const sqlCrawlURLOrder = ` FROM crawl_urls WHERE ` + sqlCrawlURLFilter + ` ORDER BY `

const sqlCrawlURLsByID = `/* sqlCrawlURLsByID */ SELECT id` + sqlCrawlURLOrder + `id LIMIT $5 OFFSET $6`

const sqlCrawlURLsByIDDown = `/* sqlCrawlURLsByIDDown */ SELECT id` + sqlCrawlURLOrder + `id DESC LIMIT $5 OFFSET $6`

const sqlCrawlURLsByVisit = `/* sqlCrawlURLsByVisit */
SELECT id` + sqlCrawlURLOrder + `visited_at, id LIMIT $5 OFFSET $6`

const sqlCrawlURLsByVisitDown = `/* sqlCrawlURLsByVisitDown */
SELECT id` + sqlCrawlURLOrder + `visited_at DESC NULLS LAST, id DESC LIMIT $5 OFFSET $6`

const sqlCrawlURLsByUpdate = `/* sqlCrawlURLsByUpdate */
SELECT id` + sqlCrawlURLOrder + `updated_at, id LIMIT $5 OFFSET $6`

const sqlCrawlURLsByUpdateDown = `/* sqlCrawlURLsByUpdateDown */
SELECT id` + sqlCrawlURLOrder + `updated_at DESC, id DESC LIMIT $5 OFFSET $6`

const sqlCrawlURLsByURL = `/* sqlCrawlURLsByURL */
SELECT id` + sqlCrawlURLOrder + `normalized_url COLLATE "C", id LIMIT $5 OFFSET $6`

const sqlCrawlURLsByURLDown = `/* sqlCrawlURLsByURLDown */
SELECT id` + sqlCrawlURLOrder + `normalized_url COLLATE "C" DESC, id DESC LIMIT $5 OFFSET $6`

var crawlURLOrders = map[CrawlURLSort][2]string{
	"":               {sqlCrawlURLsByID, sqlCrawlURLsByIDDown},
	"id":             {sqlCrawlURLsByID, sqlCrawlURLsByIDDown},
	"visited_at":     {sqlCrawlURLsByVisit, sqlCrawlURLsByVisitDown},
	"updated_at":     {sqlCrawlURLsByUpdate, sqlCrawlURLsByUpdateDown},
	"normalized_url": {sqlCrawlURLsByURL, sqlCrawlURLsByURLDown},
}

// crawlCountMost is how many rows are counted where no counter knows the number.
const crawlCountMost = 10_000

const sqlCrawlURLCount = `/* sqlCrawlURLCount */
SELECT count(*) FROM (SELECT FROM crawl_urls WHERE ` + sqlCrawlURLFilter + ` LIMIT $5) found`

// A CrawlURLPage says which URLs are on a page.
type CrawlURLPage struct {
	IDs   []int64 // in order
	Total int64   // URLs that match
	Exact bool    // false: there are more than Total
}

// URLs returns the page of a run's URLs that f means; Rows reads them. A text that Postgres cannot read, for a NUL in
// it, is fault.Invalid; a run that is not there fault.Gone.
func (s *Crawls) URLs(ctx context.Context, run int64, f CrawlURLFilter) (page CrawlURLPage, err error) {
	r, err := s.Counted(ctx, run)
	if err != nil {
		return page, err
	}
	args := []any{run, states(f.States), db.Stated(f.Host), db.Stated(f.Path)}
	page.Total, page.Exact = r.Counts.Of(f.States...), true
	if f.Host != "" || f.Path != "" {
		err := s.pool.QueryRow(ctx, sqlCrawlURLCount, append(args, crawlCountMost+1)...).Scan(&page.Total)
		if err != nil {
			return page, db.Refused(fmt.Errorf("count URLs of crawl run %d: %w", run, err))
		}
		if page.Exact = page.Total <= crawlCountMost; !page.Exact {
			page.Total = crawlCountMost
		}
	}
	sql := crawlURLOrders[f.Sort][0]
	if f.Descending {
		sql = crawlURLOrders[f.Sort][1]
	}
	if page.IDs, err = db.Rows(ctx, s.pool, pgx.RowTo[int64], sql, append(args, f.Limit, f.Offset)...); err != nil {
		return page, db.Refused(fmt.Errorf("list URLs of crawl run %d: %w", run, err))
	}
	if len(page.IDs) > 0 { // there may be more since they were counted
		page.Total = max(page.Total, int64(f.Offset+len(page.IDs)))
	}
	return page, nil
}

const sqlCrawlURLRows = `/* sqlCrawlURLRows */
SELECT ` + sqlCrawlURLColumns + `, p.normalized_url
FROM unnest($2::bigint[]) WITH ORDINALITY AS w(id, n) JOIN crawl_urls u ON u.run_id = $1 AND u.id = w.id
LEFT JOIN crawl_urls p ON p.run_id = $1 AND p.id = u.discovered_from_url_id
ORDER BY w.n`

// Rows reads URLs of a run by their IDs, in their order, so many at a time. An error is the last that it yields.
func (s *Crawls) Rows(ctx context.Context, run int64, ids []int64) iter.Seq2[CrawlURL, error] {
	return func(yield func(CrawlURL, error) bool) {
		for some := range slices.Chunk(ids, crawlBatch) {
			found, err := s.crawlURLs(ctx, sqlCrawlURLRows, run, some)
			if err != nil {
				yield(CrawlURL{}, err)
				return
			}
			for _, u := range found {
				if !yield(u, nil) {
					return
				}
			}
		}
	}
}

const sqlCrawlURLExport = `/* sqlCrawlURLExport */
SELECT ` + sqlCrawlURLAlone + `
FROM crawl_urls u
WHERE run_id = $1 AND id > $2 AND ($3::text[] IS NULL OR status = ANY ($3))
ORDER BY id LIMIT $4`

// Export reads up to limit URLs of a run (0 = all) in any of some states (none = any state), in the order of their IDs,
// each once. It reads by batches: no statement is open while a caller takes its time, and URLs that change meanwhile
// are as they were when their batch was read. An error is the last that it yields.
func (s *Crawls) Export(ctx context.Context, run int64, of []crawl.State, limit int) iter.Seq2[CrawlURL, error] {
	return batches(limit, func(after *CrawlURL, n int) ([]CrawlURL, error) {
		var id int64
		if after != nil {
			id = after.ID
		}
		return s.crawlURLs(ctx, sqlCrawlURLExport, run, id, states(of), n)
	})
}

// batches goes over up to limit rows (0 = all), which read reads in batches of n: those after the last row of the batch
// before, nil = from the beginning. A batch of fewer is the last. An error is the last that it yields.
func batches[T any](limit int, read func(after *T, n int) ([]T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var last *T
		for left, all := limit, limit == 0; all || left > 0; left -= crawlBatch {
			n := crawlBatch
			if !all {
				n = min(n, left)
			}
			batch, err := read(last, n)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, row := range batch {
				if !yield(row, nil) {
					return
				}
			}
			if len(batch) < n {
				return
			}
			last = &batch[n-1]
		}
	}
}

func (s *Crawls) crawlURLs(ctx context.Context, sql string, args ...any) ([]CrawlURL, error) {
	found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[CrawlURL], sql, args...)
	return found, fault.Wrap(err, "read URLs of crawl run %d", args[0])
}

// A CrawlBody is where the stored answer of a URL lies.
type CrawlBody struct {
	ID  int64
	Key string // of the blob: a WARC record
}

const sqlCrawlBodies = `/* sqlCrawlBodies */
SELECT id, body_key FROM crawl_urls
WHERE run_id = $1 AND id > $2 AND body_key IS NOT NULL AND ($3::text[] IS NULL OR status = ANY ($3))
ORDER BY id LIMIT $4`

// Bodies goes over the stored answers of a run as Export goes over its URLs.
func (s *Crawls) Bodies(ctx context.Context, run int64, of []crawl.State, limit int) iter.Seq2[CrawlBody, error] {
	return batches(limit, func(after *CrawlBody, n int) ([]CrawlBody, error) {
		var id int64
		if after != nil {
			id = after.ID
		}
		found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[CrawlBody], sqlCrawlBodies, run, id, states(of), n)
		return found, fault.Wrap(err, "read bodies of crawl run %d", run)
	})
}

package crawl

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// CrawlOpen is what keeps a run from completing.
type CrawlOpen struct {
	CrawlRun
	StableEmpty int   // consecutive looks at an empty frontier
	Unpublished int64 // pages of all runs that wait in the outbox, counted up to crawl.UnpublishedMost
	Spreading   int64 // URLs whose way from the seed became shorter, and whose links have not followed yet
	Queued      CrawlQueued
	Hosts       []CrawlOpenHost
	HostsOpen   int64 // hosts with open URLs, in Hosts or not
	Leases      []CrawlLeases
	Next        []CrawlWaiting // the URLs that are due next, of those that wait
	Skipped     map[string]int64
}

// CrawlQueued counts the queued URLs of a run.
type CrawlQueued struct {
	Ready   int64      // due
	Again   int64      // requested before, and not due yet
	Held    int64      // never requested, and not due yet: put back until the host may be asked again
	NextDue *time.Time // of Again and Held
	LastDue *time.Time
}

// CrawlOpenHost counts the open URLs of a host.
type CrawlOpenHost struct {
	Host       string
	Ready      int64
	Again      int64
	Held       int64
	InProgress int64      // leased
	NextDue    *time.Time // of Again and Held
	LastDue    *time.Time
}

// CrawlLeases are the URLs that a worker holds.
type CrawlLeases struct {
	Worker    string
	Count     int64
	Expired   int64      // of those: the lease has run out
	OldestAt  *time.Time // when the oldest was claimed
	NextUntil *time.Time // when the first runs out
	LastUntil *time.Time
}

// A CrawlWaiting is a queued URL that is not due yet.
type CrawlWaiting struct {
	ID            int64
	NormalizedURL string
	Host          string
	DueAt         time.Time
	Tries         int
	HTTPStatus    *int // of its last request
	Error         *string
	ErrorClass    *string // a fault.Class
}

const sqlCrawlStableEmpty = `/* sqlCrawlStableEmpty */
SELECT stable_empty, (SELECT count(*) FROM crawl_urls WHERE run_id = $1 AND spread) FROM crawl_runs WHERE id = $1`

// One scan a kind of open URL, each of its partial index.
const sqlCrawlOpenHosts = `/* sqlCrawlOpenHosts */
WITH open AS (
    SELECT host, count(*) AS ready, 0::bigint AS again, 0::bigint AS held, 0::bigint AS leased,
        NULL::timestamptz AS next_due, NULL::timestamptz AS last_due
    FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL GROUP BY host
    UNION ALL
    SELECT host, count(*) FILTER (WHERE due_at <= $2), count(*) FILTER (WHERE due_at > $2 AND tries > 0),
        count(*) FILTER (WHERE due_at > $2 AND tries = 0), 0, min(due_at) FILTER (WHERE due_at > $2),
        max(due_at) FILTER (WHERE due_at > $2)
    FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NOT NULL GROUP BY host
    UNION ALL
    SELECT host, 0, 0, 0, count(*), NULL, NULL
    FROM crawl_urls WHERE run_id = $1 AND status = 'IN_PROGRESS' GROUP BY host
)
SELECT host, sum(ready)::bigint, sum(again)::bigint, sum(held)::bigint, sum(leased)::bigint, min(next_due),
    max(last_due), count(*) OVER (), (sum(sum(ready)) OVER ())::bigint, (sum(sum(again)) OVER ())::bigint,
    (sum(sum(held)) OVER ())::bigint, min(min(next_due)) OVER (), max(max(last_due)) OVER ()
FROM open GROUP BY host ORDER BY sum(ready + again + held + leased) DESC, host LIMIT $3`

const sqlCrawlLeases = `/* sqlCrawlLeases */
SELECT coalesce(claimed_by_worker, ''), count(*), count(*) FILTER (WHERE lease_until <= $2), min(claimed_at),
    min(lease_until), max(lease_until)
FROM crawl_urls WHERE run_id = $1 AND status = 'IN_PROGRESS' GROUP BY 1 ORDER BY 2 DESC, 1`

const sqlCrawlWaiting = `/* sqlCrawlWaiting */
SELECT u.id, u.normalized_url, u.host, u.due_at, u.tries, coalesce(t.http_status, u.http_status),
    coalesce(t.error, u.error), coalesce(t.error_class, u.error_class)
FROM crawl_urls u
LEFT JOIN LATERAL (
    SELECT http_status, error, error_class FROM crawl_tries WHERE run_id = $1 AND url_id = u.id
    ORDER BY try DESC LIMIT 1
) t ON true
WHERE u.run_id = $1 AND u.status = 'QUEUED' AND u.due_at > $2
ORDER BY u.due_at LIMIT $3`

const sqlCrawlSkipped = `/* sqlCrawlSkipped */
SELECT coalesce(reason, ''), count(*) FROM crawl_urls WHERE run_id = $1 AND status = 'SKIPPED' GROUP BY 1`

// Open returns what keeps a run from completing: up to hosts of its hosts, those with the most open URLs first, and up
// to waiting of the URLs that wait. A run that is not there is fault.Gone.
func (s *Crawls) Open(ctx context.Context, run int64, hosts, waiting int, now time.Time) (o CrawlOpen, err error) {
	o.Skipped = map[string]int64{}
	b := new(pgx.Batch)
	b.Queue(sqlCrawlRunCounted, run).Query(func(rows pgx.Rows) (err error) {
		o.CrawlRun, err = pgx.CollectExactlyOneRow(rows, scanCrawlRun)
		return err
	})
	b.Queue(sqlCrawlStableEmpty, run).QueryRow(func(row pgx.Row) error { return row.Scan(&o.StableEmpty, &o.Spreading) })
	b.Queue(sqlCrawlUnpublished, crawl.UnpublishedMost).QueryRow(func(row pgx.Row) error {
		return row.Scan(&o.Unpublished)
	})
	b.Queue(sqlCrawlOpenHosts, run, now, hosts).Query(func(rows pgx.Rows) error {
		var h CrawlOpenHost
		_, err := pgx.ForEachRow(rows, []any{
			&h.Host, &h.Ready, &h.Again, &h.Held, &h.InProgress, &h.NextDue, &h.LastDue, &o.HostsOpen,
			&o.Queued.Ready, &o.Queued.Again, &o.Queued.Held, &o.Queued.NextDue, &o.Queued.LastDue,
		}, func() error {
			o.Hosts = append(o.Hosts, h)
			h = CrawlOpenHost{}
			return nil
		})
		return err
	})
	b.Queue(sqlCrawlLeases, run, now).Query(func(rows pgx.Rows) (err error) {
		o.Leases, err = pgx.CollectRows(rows, pgx.RowToStructByPos[CrawlLeases])
		return err
	})
	b.Queue(sqlCrawlWaiting, run, now, waiting).Query(func(rows pgx.Rows) (err error) {
		o.Next, err = pgx.CollectRows(rows, pgx.RowToStructByPos[CrawlWaiting])
		return err
	})
	b.Queue(sqlCrawlSkipped, run).Query(func(rows pgx.Rows) error {
		var reason string
		var n int64
		_, err := pgx.ForEachRow(rows, []any{&reason, &n}, func() error {
			o.Skipped[reason] = n
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return o, ofCrawl(run, err)
	}
	return o, nil
}

// A CrawlRate is what a run did in a slice of time.
type CrawlRate struct {
	At       time.Time // its beginning
	Fetches  int64     // requests
	Finished int64     // URLs that came to a final state
	Failed   int64     // of those: broken
	Bytes    int64
	TookMS   int64 // of all requests together
}

// CrawlSlice is the shortest slice of time that rates are known of.
const CrawlSlice = crawlSlice

const sqlCrawlRates = `/* sqlCrawlRates */
SELECT date_bin($4::interval, at, $2), sum(fetches)::bigint, sum(finished)::bigint, sum(failed)::bigint,
    sum(bytes)::bigint, sum(took_ms)::bigint
FROM crawl_rates WHERE run_id = $1 AND at >= $2 AND at < $3 GROUP BY 1 ORDER BY 1`

// Rates returns what a run did from a time until another one, in slices of step, a multiple of CrawlSlice; from and
// until are beginnings of slices. Slices in which nothing was done are there too.
func (s *Crawls) Rates(ctx context.Context, run int64, from, until time.Time, step time.Duration) ([]CrawlRate, error) {
	found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[CrawlRate], sqlCrawlRates, run, from, until, step)
	if err != nil {
		return nil, fmt.Errorf("read rates of crawl run %d: %w", run, err)
	}
	var out []CrawlRate
	for at := from; at.Before(until); at = at.Add(step) {
		r := CrawlRate{At: at}
		if len(found) > 0 && found[0].At.Equal(at) {
			r, found = found[0], found[1:]
			r.At = at
		}
		out = append(out, r)
	}
	return out, nil
}

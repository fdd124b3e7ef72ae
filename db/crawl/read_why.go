package crawl

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
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
	Again   int64      // not due yet
	Held    int64      // due, but their host is not to be asked yet
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
	HeldUntil  *time.Time // nil = it may be asked
	HeldBy     *string    // a crawl.Held
	HeldCause  *string    // in words; "" = not known
	PerSecond  float64    // URLs that a request brought to a final state, lately
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
    SELECT host, count(*) AS due, 0::bigint AS again, 0::bigint AS leased, NULL::timestamptz AS next_due,
        NULL::timestamptz AS last_due
    FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL GROUP BY host
    UNION ALL
    SELECT host, count(*) FILTER (WHERE due_at <= $2), count(*) FILTER (WHERE due_at > $2), 0,
        min(due_at) FILTER (WHERE due_at > $2), max(due_at) FILTER (WHERE due_at > $2)
    FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NOT NULL GROUP BY host
    UNION ALL
    SELECT host, 0, 0, count(*), NULL, NULL
    FROM crawl_urls WHERE run_id = $1 AND status = 'IN_PROGRESS' GROUP BY host
), hosts AS (
    SELECT host, sum(due)::bigint AS due, sum(again)::bigint AS again, sum(leased)::bigint AS leased,
        min(next_due) AS next_due, max(last_due) AS last_due
    FROM open GROUP BY host
), judged AS (
    SELECT o.host, CASE WHEN h.until IS NULL THEN o.due ELSE 0 END AS ready, o.again,
        CASE WHEN h.until IS NULL THEN 0 ELSE o.due END AS held, o.leased,
        least(o.next_due, CASE WHEN o.due > 0 THEN h.until END) AS next_due,
        greatest(o.last_due, CASE WHEN o.due > 0 THEN h.until END) AS last_due, h.until, h.by, h.cause
    FROM hosts o LEFT JOIN LATERAL (
        SELECT until, by, cause FROM crawl_holds WHERE run_id = $1 AND host = o.host AND until > $2 LIMIT 1
    ) h ON true
)
SELECT host, ready, again, held, leased, next_due, last_due, until, by, cause, count(*) OVER (),
    (sum(ready) OVER ())::bigint, (sum(again) OVER ())::bigint, (sum(held) OVER ())::bigint, min(next_due) OVER (),
    max(last_due) OVER ()
FROM judged ORDER BY ready + again + held + leased DESC, host LIMIT $3`

// What has changed last, up to $3 URLs, has the pace of hosts: so much is looked at, however many URLs the run has.
const sqlCrawlHostPaces = `/* sqlCrawlHostPaces */
WITH last AS (
    SELECT host, visited_at FROM crawl_urls WHERE run_id = $1 ORDER BY seq DESC, id DESC LIMIT $3
)
SELECT host, count(*), min(min(visited_at)) OVER (), (SELECT count(*) FROM last) = $3
FROM last WHERE visited_at > $2 GROUP BY host`

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
			&h.Host, &h.Ready, &h.Again, &h.Held, &h.InProgress, &h.NextDue, &h.LastDue, &h.HeldUntil, &h.HeldBy, &h.HeldCause,
			&o.HostsOpen, &o.Queued.Ready, &o.Queued.Again, &o.Queued.Held, &o.Queued.NextDue, &o.Queued.LastDue,
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
	paces := map[string]float64{}
	b.Queue(db.SQLCrawlPlan) // or all URLs would be sorted
	b.Queue(sqlCrawlHostPaces, run, now.Add(-paceOver), paceMost).Query(readPaces(paces, now))
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return o, ofCrawl(run, err)
	}
	for i, h := range o.Hosts {
		o.Hosts[i].PerSecond = paces[h.Host]
	}
	return o, nil
}

// A CrawlSeed is what became of the URL that a run began at.
type CrawlSeed struct {
	HTTPStatus *int
	Error      *string
	RedirectTo *string
}

const sqlCrawlSeedOf = `/* sqlCrawlSeedOf */
SELECT http_status, error, redirect_to FROM crawl_urls WHERE run_id = $1 AND url_key = $2`

// SeedOf returns what became of the seed of a run: nothing is known where its URLs are deleted already.
func (s *Crawls) SeedOf(ctx context.Context, run CrawlRun) (seed CrawlSeed, err error) {
	found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[CrawlSeed], sqlCrawlSeedOf, run.ID, db.URLKey(run.RootURL))
	if len(found) > 0 {
		seed = found[0]
	}
	return seed, fault.Wrap(err, "read the seed of crawl run %d", run.ID)
}

// The pace of a host is that of the last minute, or of as much of it as so many changes to URLs were in.
const (
	paceOver = time.Minute
	paceMost = 5_000
)

// readPaces reads URLs a second, by host.
func readPaces(paces map[string]float64, now time.Time) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var (
			host   string
			n      int64
			oldest time.Time
			more   bool // there may be older ones of the last minute
		)
		_, err := pgx.ForEachRow(rows, []any{&host, &n, &oldest, &more}, func() error {
			over := paceOver
			if more {
				over = max(now.Sub(oldest), time.Second)
			}
			paces[host] = float64(n) / over.Seconds()
			return nil
		})
		return err
	}
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

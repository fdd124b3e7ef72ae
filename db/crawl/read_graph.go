package crawl

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A CrawlEdge says which page of a run led to a URL.
type CrawlEdge struct{ From, To int64 }

const sqlCrawlDiscoveries = `/* sqlCrawlDiscoveries */
SELECT discovered_from_url_id, id FROM crawl_urls
WHERE run_id = $1 AND id > $2 AND discovered_from_url_id IS NOT NULL
ORDER BY id LIMIT $3`

// Discoveries goes over the first link to each URL of a run in the order of the URLs' IDs, after an ID, up to limit of
// them. An error is the last that it yields.
func (s *Crawls) Discoveries(ctx context.Context, run, after int64, limit int) iter.Seq2[CrawlEdge, error] {
	return batches(limit, func(last *CrawlEdge, n int) ([]CrawlEdge, error) {
		if last != nil {
			after = last.To
		}
		found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[CrawlEdge], sqlCrawlDiscoveries, run, after, n)
		return found, fault.Wrap(err, "read discoveries of crawl run %d", run)
	})
}

// CrawlLinks are the links of a page within its run, each target once, in the order of the page.
type CrawlLinks struct {
	From int64
	To   []int64
}

const sqlCrawlLinks = `/* sqlCrawlLinks */
SELECT from_id, to_ids FROM crawl_links WHERE run_id = $1 AND from_id > $2 ORDER BY from_id LIMIT $3`

// Links goes over the links of a run's pages in the order of the pages' IDs, after an ID. An error is the last that it
// yields.
func (s *Crawls) Links(ctx context.Context, run, after int64) iter.Seq2[CrawlLinks, error] {
	return batches(0, func(last *CrawlLinks, n int) ([]CrawlLinks, error) {
		if last != nil {
			after = last.From
		}
		found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[CrawlLinks], sqlCrawlLinks, run, after, n)
		return found, fault.Wrap(err, "read links of crawl run %d", run)
	})
}

// CrawlLineage is a part of a run's URLs by columns: each has a value for each URL.
type CrawlLineage struct {
	Seqs    []int64 // of its last change
	IDs     []int64
	Parents []int64 // 0: the seed, and what sitemaps list
	Depths  []int
	States  []string
	Hosts   []string
	Paths   []string // with the query
}

// cut leaves the first n URLs.
func (l *CrawlLineage) cut(n int) {
	l.Seqs, l.IDs, l.Parents, l.Depths = l.Seqs[:n], l.IDs[:n], l.Parents[:n], l.Depths[:n]
	l.States, l.Hosts, l.Paths = l.States[:n], l.Hosts[:n], l.Paths[:n]
}

// A CrawlPosition is a URL's place in the order in which the URLs of a run changed last.
type CrawlPosition struct{ Seq, ID int64 }

const sqlCrawlLineage = `/* sqlCrawlLineage */
SELECT seq, id, coalesce(discovered_from_url_id, 0), depth, status, host, normalized_url
FROM crawl_urls WHERE run_id = $1 AND (seq, id) > ($2, $3) ORDER BY seq, id LIMIT $4`

// lineageBytes is how much of addresses a part of a lineage has: a site may have any number of 4 KB each.
const lineageBytes = 16 << 20

// Lineage returns up to limit URLs of a run that are new or have changed since a position, in the order of their last
// change, and whether there are more; fewer where their addresses are long. Changes of one seq are kept together where
// that allows. As seq grows in the order of commits, no change is missed by going on from the last URL.
func (s *Crawls) Lineage(ctx context.Context, run int64, after CrawlPosition, limit int) (
	l CrawlLineage, more bool, err error,
) {
	rows, err := s.pool.Query(ctx, sqlCrawlLineage, run, after.Seq, after.ID, limit+1)
	if err == nil {
		l, more, err = readLineage(rows, limit, lineageBytes)
	}
	return l, more, fault.Wrap(err, "read lineage of crawl run %d", run)
}

// readLineage reads rows of sqlCrawlLineage until they are more than limit, or have enough bytes.
func readLineage(rows pgx.Rows, limit, enough int) (l CrawlLineage, more bool, err error) {
	defer rows.Close()
	var (
		seq, id, parent  int64
		depth            int
		state, host, url string
	)
	for had := 0; len(l.IDs) <= limit && rows.Next(); {
		if err := rows.Scan(&seq, &id, &parent, &depth, &state, &host, &url); err != nil {
			return l, false, err
		}
		l.Seqs, l.IDs, l.Parents = append(l.Seqs, seq), append(l.IDs, id), append(l.Parents, parent)
		l.Depths, l.States = append(l.Depths, depth), append(l.States, state)
		l.Hosts, l.Paths = append(l.Hosts, host), append(l.Paths, pathOf(url))
		if had += len(url); had >= enough && len(l.IDs) > 1 {
			limit = min(limit, len(l.IDs)-1)
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return l, false, err
	}
	if len(l.IDs) <= limit {
		return l, false, nil
	}
	keep, _ := slices.BinarySearch(l.Seqs, l.Seqs[limit]) // the first of the seq that does not fit
	if keep == 0 {
		keep = limit
	}
	l.cut(keep)
	return l, true, nil
}

// pathOf is the path and query of a canonical URL.
func pathOf(url string) string {
	const scheme = len("https://") // or one more than that of http, and a host is not empty
	if len(url) < scheme {
		return url
	}
	i := strings.IndexByte(url[scheme:], '/')
	if i < 0 {
		return ""
	}
	return url[scheme+i:]
}

// A CrawlPage is a URL of a run where another one refers to it.
type CrawlPage struct {
	ID            int64
	NormalizedURL string
	Title         *string
	Depth         int
	Status        string // a crawl.State
	HTTPStatus    *int
}

const sqlCrawlPageColumns = `u.id, u.normalized_url, u.title, u.depth, u.status, u.http_status`

// A CrawlTry is a request for a URL.
type CrawlTry struct {
	Try        int // from 1
	At         time.Time
	Worker     string
	HTTPStatus *int
	Error      *string
	ErrorClass *string // a fault.Class
	TookMS     *int
}

// A CrawlURLDetail is all there is of one URL of a run.
type CrawlURLDetail struct {
	CrawlURL
	Path     []CrawlPage // from the seed, or a sitemap's entry, to it
	LinksIn  []CrawlPage // pages that link to it: the first ones
	TotalIn  int64
	LinksOut []CrawlPage // in the order of the page: the first ones
	TotalOut int64
	TriesWas []CrawlTry // the requests that were tried again; the last one is in the row
}

const sqlCrawlURL = `/* sqlCrawlURL */ SELECT ` + sqlCrawlURLAlone + ` FROM crawl_urls u WHERE run_id = $1 AND id = $2`

// A page is discovered by one that was there before, but for what relaxing depths may have made of it.
const sqlCrawlURLPath = `/* sqlCrawlURLPath */
WITH RECURSIVE way AS (
    SELECT id, discovered_from_url_id, 0 AS steps FROM crawl_urls WHERE run_id = $1 AND id = $2
    UNION ALL
    SELECT u.id, u.discovered_from_url_id, w.steps + 1
    FROM way w JOIN crawl_urls u ON u.run_id = $1 AND u.id = w.discovered_from_url_id
    WHERE w.steps < $3
) CYCLE id SET again USING seen
SELECT ` + sqlCrawlPageColumns + ` FROM way w JOIN crawl_urls u ON u.run_id = $1 AND u.id = w.id
WHERE NOT w.again ORDER BY w.steps DESC`

// crawlPathMost is more than the greatest maxDepth.
const crawlPathMost = 2000

const sqlCrawlLinksIn = `/* sqlCrawlLinksIn */
SELECT from_id FROM crawl_links WHERE run_id = $1 AND $2::bigint = ANY (to_ids) ORDER BY from_id`

const sqlCrawlLinksOut = `/* sqlCrawlLinksOut */
SELECT ` + sqlCrawlPageColumns + `
FROM crawl_links l CROSS JOIN LATERAL unnest(l.to_ids[1:$3::int]) WITH ORDINALITY AS t(id, n)
JOIN crawl_urls u ON u.run_id = $1 AND u.id = t.id
WHERE l.run_id = $1 AND l.from_id = $2 ORDER BY t.n`

const sqlCrawlLinksOutCount = `/* sqlCrawlLinksOutCount */
SELECT coalesce(max(cardinality(to_ids)), 0) FROM crawl_links WHERE run_id = $1 AND from_id = $2`

const sqlCrawlTries = `/* sqlCrawlTries */
SELECT try, at, worker, http_status, error, error_class, took_ms FROM crawl_tries
WHERE run_id = $1 AND url_id = $2 ORDER BY try LIMIT $3`

// crawlTriesMost is more than the greatest maxRetries, with as many lost leases.
const crawlTriesMost = 100

const sqlCrawlPages = `/* sqlCrawlPages */
SELECT ` + sqlCrawlPageColumns + ` FROM crawl_urls u WHERE run_id = $1 AND id = ANY ($2) ORDER BY id`

// URL returns a URL of a run with up to most links in each direction. One that is not there is fault.Gone. Links to it
// are found by reading those of all pages.
func (s *Crawls) URL(ctx context.Context, run, id int64, most int) (d CrawlURLDetail, err error) {
	found, err := s.crawlURLs(ctx, sqlCrawlURL, run, id)
	if err != nil {
		return d, err
	}
	if len(found) == 0 {
		return d, fault.Newf(fault.Gone, "crawl run %d has no URL %d", run, id)
	}
	d.CrawlURL = found[0]
	b := new(pgx.Batch)
	pages := func(to *[]CrawlPage) func(pgx.Rows) error {
		return func(rows pgx.Rows) (err error) {
			*to, err = pgx.CollectRows(rows, pgx.RowToStructByPos[CrawlPage])
			return err
		}
	}
	b.Queue(sqlCrawlURLPath, run, id, crawlPathMost).Query(pages(&d.Path))
	b.Queue(sqlCrawlLinksOut, run, id, most).Query(pages(&d.LinksOut))
	b.Queue(sqlCrawlLinksOutCount, run, id).QueryRow(func(row pgx.Row) error { return row.Scan(&d.TotalOut) })
	b.Queue(sqlCrawlTries, run, id, crawlTriesMost).Query(func(rows pgx.Rows) (err error) {
		d.TriesWas, err = pgx.CollectRows(rows, pgx.RowToStructByPos[CrawlTry])
		return err
	})
	var in []int64
	b.Queue(sqlCrawlLinksIn, run, id).Query(func(rows pgx.Rows) error {
		var from int64
		_, err := pgx.ForEachRow(rows, []any{&from}, func() error {
			if d.TotalIn++; len(in) < most {
				in = append(in, from)
			}
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return d, fmt.Errorf("read URL %d of crawl run %d: %w", id, run, err)
	}
	d.LinksIn, err = s.crawlPages(ctx, run, in)
	return d, err
}

// crawlPages reads pages of a run in the order of their IDs.
func (s *Crawls) crawlPages(ctx context.Context, run int64, ids []int64) ([]CrawlPage, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := db.Rows(ctx, s.pool, pgx.RowToStructByPos[CrawlPage], sqlCrawlPages, run, ids)
	return found, fault.Wrap(err, "read pages of crawl run %d", run)
}

// A CrawlBrokenLink is a URL that leads nowhere, with the pages that link to it.
type CrawlBrokenLink struct {
	CrawlURL
	From  []CrawlPage // the first ones, by ID
	Total int64       // pages that link to it
}

// A redirect to another address leads somewhere: what became of that is in its own row, where it is in scope.
const sqlCrawlLeads = `coalesce(redirect_to LIKE 'http%' AND redirect_to <> normalized_url, false)`

const sqlCrawlBroken = `/* sqlCrawlBroken */
SELECT ` + sqlCrawlURLAlone + ` FROM crawl_urls u
WHERE run_id = $1 AND id > $2 AND status IN ('FORBIDDEN', 'NOT_FOUND', 'HTTP_TERMINAL', 'FAILED')
    AND NOT ` + sqlCrawlLeads + `
ORDER BY id LIMIT $3`

const sqlCrawlBrokenCount = `/* sqlCrawlBrokenCount */
SELECT count(*) FROM crawl_urls
WHERE run_id = $1 AND status IN ('FORBIDDEN', 'NOT_FOUND', 'HTTP_TERMINAL', 'FAILED') AND NOT ` + sqlCrawlLeads

// CountBroken returns how many URLs BrokenLinks goes over.
func (s *Crawls) CountBroken(ctx context.Context, run int64) (int64, error) {
	n, err := db.Row(ctx, s.pool, pgx.RowTo[int64], sqlCrawlBrokenCount, run)
	return n, fault.Wrap(err, "count broken URLs of crawl run %d", run)
}

// The links of all pages are read once, whatever the number of targets. unnest stands in the list of columns because in
// FROM it costs twice as much; it is a join because a list in a parameter is searched from its beginning for each link.
const sqlCrawlLinksTo = `/* sqlCrawlLinksTo */
SELECT l.from_id, l.id
FROM (SELECT from_id, unnest(to_ids) AS id FROM crawl_links WHERE run_id = $1) l
JOIN unnest($2::bigint[]) AS b(id) ON b.id = l.id`

// BrokenLinks returns up to limit URLs of a run in one of crawl.Broken, redirects to another URL left out, after an ID,
// each with up to most of the pages that link to it; next is the ID to go on from, nil when these were the last. A URL
// that no page links to, but a redirect leads to, has that one. Each call reads the links of all pages once.
func (s *Crawls) BrokenLinks(ctx context.Context, run, after int64, limit, most int) (
	out []CrawlBrokenLink, next *int64, err error,
) {
	urls, err := s.crawlURLs(ctx, sqlCrawlBroken, run, after, limit+1)
	if err != nil || len(urls) == 0 {
		return nil, nil, err
	}
	urls, next = db.CutPage(urls, limit, func(u CrawlURL) int64 { return u.ID })
	at := make(map[int64]int, len(urls)) // the place of each target
	targets := make([]int64, len(urls))
	for i, u := range urls {
		targets[i], at[u.ID] = u.ID, i
		out = append(out, CrawlBrokenLink{CrawlURL: u})
	}
	from := make([][]int64, len(urls))
	rows, _ := s.pool.Query(ctx, sqlCrawlLinksTo, run, targets)
	var by, to int64
	_, err = pgx.ForEachRow(rows, []any{&by, &to}, func() error {
		i := at[to]
		out[i].Total++
		from[i] = least(from[i], by, most)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read links to broken URLs of crawl run %d: %w", run, err)
	}
	for i := range out {
		if by := out[i].DiscoveredFromURLID; len(from[i]) == 0 && by != nil {
			from[i], out[i].Total = []int64{*by}, 1
		}
	}
	return out, next, s.nameBroken(ctx, run, out, from)
}

// least puts id into a sorted list of the n least.
func least(list []int64, id int64, n int) []int64 {
	if len(list) == n && id >= list[n-1] {
		return list
	}
	i, _ := slices.BinarySearch(list, id)
	list = slices.Insert(list, i, id)
	return list[:min(n, len(list))]
}

// nameBroken fills the pages of out by their IDs.
func (s *Crawls) nameBroken(ctx context.Context, run int64, out []CrawlBrokenLink, from [][]int64) error {
	ids := slices.Concat(from...)
	slices.Sort(ids)
	pages := map[int64]CrawlPage{}
	for some := range slices.Chunk(slices.Compact(ids), crawlBatch) {
		found, err := s.crawlPages(ctx, run, some)
		if err != nil {
			return err
		}
		for _, p := range found {
			pages[p.ID] = p
		}
	}
	for i := range out {
		for _, id := range from[i] {
			if p, ok := pages[id]; ok {
				out[i].From = append(out[i].From, p)
			}
		}
	}
	return nil
}

// A CrawlDifference is a URL that is not the same in two runs.
type CrawlDifference struct {
	NormalizedURL string
	A             *CrawlOutcome // nil: not in run A
	B             *CrawlOutcome
}

// A CrawlOutcome is what became of a URL in a run.
type CrawlOutcome struct {
	ID         int64
	Status     string // a crawl.State
	HTTPStatus *int
}

// A CrawlComparison is what is not the same in two runs. The lists are the first ones, by ID.
type CrawlComparison struct {
	A, B           CrawlRun
	OnlyA          []CrawlDifference
	OnlyB          []CrawlDifference
	Different      []CrawlDifference // in both, in different states
	TotalOnlyA     int64
	TotalOnlyB     int64
	TotalDifferent int64
}

const sqlCrawlCompare = `/* sqlCrawlCompare */
WITH diff AS MATERIALIZED (
    SELECT CASE WHEN b.id IS NULL THEN 1 WHEN a.id IS NULL THEN 2 ELSE 3 END AS kind, a.id AS a, b.id AS b
    FROM (SELECT id, url_key, status FROM crawl_urls WHERE run_id = $1) a
    FULL JOIN (SELECT id, url_key, status FROM crawl_urls WHERE run_id = $2) b USING (url_key)
    WHERE a.id IS NULL OR b.id IS NULL OR a.status <> b.status
)
SELECT k.kind, k.total, coalesce(a.normalized_url, b.normalized_url), a.id, a.status, a.http_status, b.id, b.status,
    b.http_status
FROM (SELECT kind, count(*) AS total FROM diff GROUP BY kind) k
CROSS JOIN LATERAL (SELECT d.a, d.b FROM diff d WHERE d.kind = k.kind ORDER BY coalesce(d.a, d.b) LIMIT $3) d
LEFT JOIN crawl_urls a ON a.run_id = $1 AND a.id = d.a
LEFT JOIN crawl_urls b ON b.run_id = $2 AND b.id = d.b
ORDER BY k.kind, coalesce(d.a, d.b)`

// Compare compares the URLs of two runs: which are in one only, and which are in both in different states; limit, at
// least 1, bounds each list. A run that is not there is fault.Gone.
func (s *Crawls) Compare(ctx context.Context, a, b int64, limit int) (c CrawlComparison, err error) {
	if c.A, err = s.Counted(ctx, a); err != nil {
		return c, err
	}
	if c.B, err = s.Counted(ctx, b); err != nil {
		return c, err
	}
	rows, _ := s.pool.Query(ctx, sqlCrawlCompare, a, b, limit)
	var (
		kind           int
		total          int64
		url            string
		idA, idB       *int64
		stateA, stateB *string
		httpA, httpB   *int
		lists          = []*[]CrawlDifference{&c.OnlyA, &c.OnlyB, &c.Different}
		totals         = []*int64{&c.TotalOnlyA, &c.TotalOnlyB, &c.TotalDifferent}
		outcome        = func(id *int64, state *string, status *int) *CrawlOutcome {
			if id == nil {
				return nil
			}
			return &CrawlOutcome{*id, *state, status}
		}
	)
	_, err = pgx.ForEachRow(rows, []any{&kind, &total, &url, &idA, &stateA, &httpA, &idB, &stateB, &httpB}, func() error {
		*totals[kind-1] = total
		list := lists[kind-1]
		*list = append(*list, CrawlDifference{url, outcome(idA, stateA, httpA), outcome(idB, stateB, httpB)})
		return nil
	})
	return c, fault.Wrap(err, "compare crawl runs %d and %d", a, b)
}

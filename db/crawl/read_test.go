package crawl_test

import (
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// all reads a sequence to its end.
func all[T any](t *testing.T, rows iter.Seq2[T, error]) (out []T) {
	t.Helper()
	for row, err := range rows {
		require.NoError(t, err)
		out = append(out, row)
	}
	return out
}

func TestCrawlURLs(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	run := dbtest.CrawlSite(t, pool)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	for _, tt := range []struct {
		name  string
		f     dbcrawl.CrawlURLFilter
		want  []int64
		total int64
	}{
		{"all", dbcrawl.CrawlURLFilter{Limit: 3}, []int64{100, 101, 102}, 14},
		{"an offset", dbcrawl.CrawlURLFilter{Limit: 3, Offset: 12}, []int64{112, 113}, 14},
		{"beyond the end", dbcrawl.CrawlURLFilter{Limit: 3, Offset: 20}, nil, 14},
		{"backwards", dbcrawl.CrawlURLFilter{Limit: 2, Descending: true}, []int64{113, 112}, 14},
		{"states", dbcrawl.CrawlURLFilter{Limit: 9, States: []crawl.State{crawl.NotFound, crawl.Failed}}, []int64{102, 104}, 2},
		{"queued", dbcrawl.CrawlURLFilter{Limit: 9, States: []crawl.State{crawl.Queued}}, []int64{106, 107, 108}, 3},
		{"leased", dbcrawl.CrawlURLFilter{Limit: 1, States: []crawl.State{crawl.InProgress}}, []int64{109}, 2},
		{"a host", dbcrawl.CrawlURLFilter{Limit: 9, Host: "www.example.org"}, []int64{105, 107}, 2},
		{"a path, in any case", dbcrawl.CrawlURLFilter{Limit: 9, Path: "/deep/P"}, []int64{105}, 1},
		{"a query", dbcrawl.CrawlURLFilter{Limit: 9, Path: "x=1&Y"}, []int64{102}, 1},
		{"the host is not of the path", dbcrawl.CrawlURLFilter{Limit: 9, Path: "example"}, nil, 0},
		{"together", dbcrawl.CrawlURLFilter{Limit: 9, Host: "example.org", Path: "e", States: []crawl.State{crawl.Queued}},
			[]int64{106, 108}, 2},
		{"by visit", dbcrawl.CrawlURLFilter{Limit: 2, Sort: "visited_at"}, []int64{100, 101}, 14},
		{"the last visit, none last", dbcrawl.CrawlURLFilter{Limit: 8, Sort: "visited_at", Descending: true},
			[]int64{113, 105, 104, 103, 102, 101, 100, 112}, 14},
		{"by update", dbcrawl.CrawlURLFilter{Limit: 2, Sort: "updated_at", Descending: true}, []int64{113, 112}, 14},
		{"by update, forwards", dbcrawl.CrawlURLFilter{Limit: 1, Sort: "updated_at"}, []int64{100}, 14},
		{"by URL", dbcrawl.CrawlURLFilter{Limit: 3, Sort: "normalized_url"}, []int64{105, 107, 100}, 14},
		{"by URL, backwards", dbcrawl.CrawlURLFilter{Limit: 1, Sort: "normalized_url", Descending: true}, []int64{108}, 14},
	} {
		got, err := s.URLs(ctx, run, tt.f)
		require.NoError(t, err, tt.name)
		require.Equal(t, append([]int64{}, tt.want...), got.IDs, tt.name)
		require.Equal(t, tt.total, got.Total, tt.name)
		require.True(t, got.Exact, tt.name)
		var ids []int64
		for _, u := range all(t, s.Rows(ctx, run, got.IDs)) {
			ids = append(ids, u.ID)
		}
		require.Equal(t, tt.want, ids, tt.name)
	}
	_, err := s.URLs(ctx, run+1, dbcrawl.CrawlURLFilter{Limit: 1})
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, err = s.URLs(ctx, run, dbcrawl.CrawlURLFilter{Limit: 1, Path: "\x00"})
	require.Equal(t, fault.Invalid, fault.ClassOf(err))

	u := all(t, s.Rows(ctx, run, []int64{102}))[0]
	require.Equal(t, "+missing", *u.RawURL)
	require.Equal(t, int64(100), *u.DiscoveredFromURLID)
	require.Equal(t, 404, *u.HTTPStatus)
	require.Equal(t, "w1", *u.ClaimedByWorker)
	require.Nil(t, u.Title)
}

// An export has each URL once, however many batches it takes.
func TestCrawlExport(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	other := dbtest.CrawlSite(t, pool)
	run, err := s.Create(ctx, newRun(), noon)
	require.NoError(t, err)
	addURLs(t, pool, run.ID, crawl.Visited, 2300)
	addURLs(t, pool, run.ID, crawl.NotFound, 5)
	for _, tt := range []struct {
		states []crawl.State
		limit  int
		want   int
	}{
		{nil, 0, 2306}, {nil, 1000, 1000}, {nil, 1001, 1001}, {nil, 9999, 2306}, {nil, 1, 1},
		{[]crawl.State{crawl.NotFound}, 0, 5}, {[]crawl.State{crawl.NotFound, crawl.Queued}, 2, 2},
	} {
		rows := all(t, s.Export(ctx, run.ID, tt.states, tt.limit))
		require.Len(t, rows, tt.want)
		require.True(t, slices.IsSortedFunc(rows, func(a, b dbcrawl.CrawlURL) int { return int(a.ID - b.ID) }))
		require.Len(t, slices.CompactFunc(rows, func(a, b dbcrawl.CrawlURL) bool { return a.ID == b.ID }), tt.want)
	}
	for range s.Export(ctx, run.ID, nil, 0) {
		break // a caller may stop at any time
	}
	require.Empty(t, all(t, s.Bodies(ctx, run.ID, nil, 0)))
	_, err = pool.Exec(ctx, "UPDATE crawl_urls SET body_key = 'k' || id WHERE run_id = $1 AND id IN (101, 105)", other)
	require.NoError(t, err)
	require.Equal(t, []dbcrawl.CrawlBody{{ID: 101, Key: "k101"}, {ID: 105, Key: "k105"}},
		all(t, s.Bodies(ctx, other, []crawl.State{crawl.Visited}, 0)))
}

func TestCrawlGraph(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	run := dbtest.CrawlSite(t, pool)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	require.Len(t, all(t, s.Discoveries(ctx, run, 0, 0)), 13)
	require.Equal(t, []dbcrawl.CrawlEdge{{From: 103, To: 113}}, all(t, s.Discoveries(ctx, run, 112, 5)))
	require.Equal(t, []dbcrawl.CrawlLinks{{From: 101, To: []int64{105, 102, 100}}, {From: 105, To: []int64{104, 102}}},
		all(t, s.Links(ctx, run, 100)))
}

// Following the lineage page by page gives each URL, and each change after it, once.
func TestCrawlLineage(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	run := dbtest.CrawlSite(t, pool)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	first, more, err := s.Lineage(ctx, run, dbcrawl.CrawlPosition{}, 50)
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, []int64{1, 2, 2, 2}, first.Seqs[:4])
	require.Equal(t, []int64{100, 101, 102, 103, 104, 105}, first.IDs[:6])
	require.Equal(t, []int64{0, 100, 100, 100, 105}, first.Parents[:5])
	require.Equal(t, []int{0, 1, 1, 1, 3}, first.Depths[:5])
	require.Equal(t, []string{"VISITED", "VISITED", "NOT_FOUND", "REDIRECT_301", "FAILED"}, first.States[:5])
	require.Equal(t, []string{"/", "/a/", "/missing?x=1&y=2", "/old", "/gone", "/Deep/Path"}, first.Paths[:6])
	require.Equal(t, "www.example.org", first.Hosts[5])
	require.Len(t, first.IDs, 14)

	for limit := 1; limit < 14; limit++ {
		var at dbcrawl.CrawlPosition
		var ids []int64
		for more := true; more; {
			var l dbcrawl.CrawlLineage
			l, more, err = s.Lineage(ctx, run, at, limit)
			require.NoError(t, err)
			require.NotEmpty(t, l.IDs)
			require.LessOrEqual(t, len(l.IDs), limit)
			ids = append(ids, l.IDs...)
			at = dbcrawl.CrawlPosition{Seq: l.Seqs[len(l.Seqs)-1], ID: l.IDs[len(l.IDs)-1]}
		}
		require.Equal(t, first.IDs, ids, limit)
	}
	// A seq that does not fit whole waits for the next page, where there is another one on this.
	l, more, err := s.Lineage(ctx, run, dbcrawl.CrawlPosition{}, 3)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, []int64{100}, l.IDs)

	_, err = pool.Exec(ctx, "UPDATE crawl_urls SET status = 'VISITED', seq = 4 WHERE run_id = $1 AND id = 106", run)
	require.NoError(t, err)
	l, more, err = s.Lineage(ctx, run, dbcrawl.CrawlPosition{Seq: 3, ID: 113}, 50)
	require.NoError(t, err)
	require.False(t, more)
	require.Equal(t, []int64{106}, l.IDs)
}

func TestCrawlURL(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	run := dbtest.CrawlSite(t, pool)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	ids := func(pages []dbcrawl.CrawlPage) (out []int64) {
		for _, p := range pages {
			out = append(out, p.ID)
		}
		return out
	}
	u, err := s.URL(ctx, run, 104, 10)
	require.NoError(t, err)
	require.Equal(t, "https://example.org/gone", u.NormalizedURL)
	require.Equal(t, []int64{100, 101, 105, 104}, ids(u.Path))
	require.Equal(t, []int64{105}, ids(u.LinksIn))
	require.Equal(t, "Deep", *u.LinksIn[0].Title)
	require.Empty(t, u.LinksOut)
	require.Len(t, u.TriesWas, 2)
	require.Equal(t, 502, *u.TriesWas[1].HTTPStatus)

	u, err = s.URL(ctx, run, 102, 2)
	require.NoError(t, err)
	require.Equal(t, []int64{100, 101}, ids(u.LinksIn), "the first ones")
	require.EqualValues(t, 3, u.TotalIn)
	u, err = s.URL(ctx, run, 100, 2)
	require.NoError(t, err)
	require.Equal(t, []int64{100}, ids(u.Path))
	require.Equal(t, []int64{101, 102}, ids(u.LinksOut))
	require.EqualValues(t, 4, u.TotalOut)
	_, err = s.URL(ctx, run, 999, 2)
	require.Equal(t, fault.Gone, fault.ClassOf(err))

	// A circle of discoveries, which there should not be, ends.
	_, err = pool.Exec(ctx, "UPDATE crawl_urls SET discovered_from_url_id = 104 WHERE run_id = $1 AND id = 100", run)
	require.NoError(t, err)
	u, err = s.URL(ctx, run, 104, 2)
	require.NoError(t, err)
	require.Equal(t, []int64{100, 101, 105, 104}, ids(u.Path))
}

func TestCrawlBrokenLinks(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	run := dbtest.CrawlSite(t, pool)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	show := func(links []dbcrawl.CrawlBrokenLink) (out []string) {
		for _, l := range links {
			from := []int64{}
			for _, p := range l.From {
				from = append(from, p.ID)
			}
			out = append(out, fmt.Sprint(l.ID, " ", l.Status, " from ", from, " of ", l.Total))
		}
		return out
	}
	got, next, err := s.BrokenLinks(ctx, run, 0, 2, 2)
	require.NoError(t, err)
	require.Equal(t, []string{"102 NOT_FOUND from [100 101] of 3", "104 FAILED from [105] of 1"}, show(got))
	require.EqualValues(t, 104, *next)
	got, next, err = s.BrokenLinks(ctx, run, *next, 2, 2)
	require.NoError(t, err)
	require.Nil(t, next)
	require.Equal(t, []string{"113 HTTP_TERMINAL from [103] of 1"}, show(got), "the redirect that led there")
	got, next, err = s.BrokenLinks(ctx, run, 113, 2, 2)
	require.NoError(t, err)
	require.Empty(t, got)
	require.Nil(t, next)

	for to, want := range map[string]int64{"https://example.org/a/": 2, "https://example.org/error": 3, "tel:1": 3} {
		_, err = pool.Exec(ctx, "UPDATE crawl_urls SET http_status = 302, redirect_to = $1 WHERE id = 113", to)
		require.NoError(t, err)
		got, _, err = s.BrokenLinks(ctx, run, 0, 9, 2)
		require.NoError(t, err)
		require.Len(t, got, int(want), "a redirect to %s", to)
		n, err := s.CountBroken(ctx, run)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
}

func TestCrawlCompare(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	a := dbtest.CrawlSite(t, pool)
	b := dbtest.CrawlSite(t, pool)
	c, err := s.Compare(ctx, a, b, 10)
	require.NoError(t, err)
	require.Zero(t, c.TotalOnlyA+c.TotalOnlyB+c.TotalDifferent)
	require.Equal(t, []int64{a, b}, []int64{c.A.ID, c.B.ID})
	_, err = pool.Exec(ctx, "DELETE FROM crawl_urls WHERE run_id = $1 AND id IN (104, 105, 106)", b)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "DELETE FROM crawl_urls WHERE run_id = $1 AND id = 113", a)
	require.NoError(t, err)
	_, err = pool.Exec(ctx, "UPDATE crawl_urls SET status = 'VISITED', http_status = 200 WHERE run_id = $1 AND id = 102", b)
	require.NoError(t, err)
	c, err = s.Compare(ctx, a, b, 2)
	require.NoError(t, err)
	require.Equal(t, []int64{3, 1, 1}, []int64{c.TotalOnlyA, c.TotalOnlyB, c.TotalDifferent})
	require.Len(t, c.OnlyA, 2, "the first ones")
	require.Equal(t, "https://example.org/gone", c.OnlyA[0].NormalizedURL)
	require.Nil(t, c.OnlyA[0].B)
	require.Nil(t, c.OnlyB[0].A)
	require.EqualValues(t, 113, c.OnlyB[0].B.ID)
	missing, found := 404, 200
	require.Equal(t, []dbcrawl.CrawlDifference{{
		NormalizedURL: "https://example.org/missing?x=1&y=2", A: &dbcrawl.CrawlOutcome{ID: 102, Status: "NOT_FOUND", HTTPStatus: &missing},
		B: &dbcrawl.CrawlOutcome{ID: 102, Status: "VISITED", HTTPStatus: &found},
	}}, c.Different)
	_, err = s.Compare(ctx, a, 999, 2)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

func TestCrawlOpen(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	run := dbtest.CrawlSite(t, pool)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	at := func(seconds int) *time.Time {
		return new(dbtest.CrawlNow.Add(time.Duration(seconds) * time.Second).Local())
	}
	o, err := s.Open(ctx, run, 10, 10, dbtest.CrawlNow)
	require.NoError(t, err)
	require.Equal(t, dbcrawl.CrawlQueued{Ready: 1, Again: 1, Held: 1, NextDue: at(30), LastDue: at(60)}, o.Queued)
	require.Equal(t, []dbcrawl.CrawlOpenHost{
		{Host: "example.org", Ready: 1, Again: 1, InProgress: 2, NextDue: at(60), LastDue: at(60)},
		{Host: "www.example.org", Held: 1, NextDue: at(30), LastDue: at(30), HeldUntil: at(30), HeldBy: new("crawl_delay"),
			HeldCause: new("30s")},
	}, o.Hosts)
	require.EqualValues(t, 2, o.HostsOpen)
	require.Equal(t, []dbcrawl.CrawlLeases{
		{Worker: "w1", Count: 1, OldestAt: at(-10), NextUntil: at(60), LastUntil: at(60)},
		{Worker: "w2", Count: 1, Expired: 1, OldestAt: at(-90), NextUntil: at(-1), LastUntil: at(-1)},
	}, o.Leases)
	require.Len(t, o.Next, 1)
	require.EqualValues(t, 106, o.Next[0].ID)
	require.Equal(t, 503, *o.Next[0].HTTPStatus, "of its last try")
	require.Equal(t, map[string]int64{"robots": 1, "max_depth": 1}, o.Skipped)
	require.EqualValues(t, 3, o.Counts.Of(crawl.Queued))

	o, err = s.Open(ctx, run, 1, 1, dbtest.CrawlNow.Add(45*time.Second))
	require.NoError(t, err)
	require.Equal(t, dbcrawl.CrawlQueued{Ready: 2, Again: 1, NextDue: at(60), LastDue: at(60)}, o.Queued, "also of other hosts")
	require.EqualValues(t, 2, o.HostsOpen)
	require.Len(t, o.Hosts, 1)
	require.Len(t, o.Next, 1)
	o, err = s.Open(ctx, run, 2, 1, dbtest.CrawlNow.Add(-40*time.Second))
	require.NoError(t, err)
	require.Equal(t, []float64{5. / 60, 1. / 60}, []float64{o.Hosts[0].PerSecond, o.Hosts[1].PerSecond}, "of a minute")
	_, err = s.Open(ctx, run+1, 1, 1, dbtest.CrawlNow)
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

// A host whose URLs are put back is held back until then, by what was said of it last: its URLs are not ready.
func TestCrawlHolds(t *testing.T) {
	t.Parallel()
	f := newFrontier(t, nil)
	s, ctx := f.Crawls, t.Context()
	putBack := func(pause time.Duration, by crawl.Held, cause string) dbcrawl.CrawlOpen {
		claims := f.claim(t, "w", 1)
		require.NoError(t, s.Record(ctx, f.run.ID, "w", []crawl.Result{{
			Claim: claims[0], State: crawl.Queued, Pause: pause, Held: by, Cause: cause,
		}}))
		o, err := s.Open(ctx, f.run.ID, 10, 10, time.Now())
		require.NoError(t, err)
		require.Len(t, o.Hosts, 1)
		return o
	}
	o := putBack(time.Second-1, crawl.HeldGap, "")
	require.Nil(t, o.Hosts[0].HeldUntil, "no pause to speak of")
	require.EqualValues(t, 1, o.Queued.Ready)
	for _, tt := range []struct {
		by          crawl.Held
		cause, want string
	}{
		{crawl.HeldCooldown, "HTTP 429", "HTTP 429"},
		{crawl.HeldCooldown, "", "HTTP 429"}, // said by a worker that does not know it
		{crawl.HeldRobots, "", ""},
		{crawl.HeldDelay, "1h0m0s", "1h0m0s"},
	} {
		o = putBack(time.Hour, tt.by, tt.cause)
		require.Equal(t, []string{string(tt.by), tt.want}, []string{*o.Hosts[0].HeldBy, *o.Hosts[0].HeldCause})
		require.Equal(t, []int64{0, 1}, []int64{o.Queued.Ready, o.Queued.Held})
		require.Equal(t, o.Hosts[0].HeldUntil, o.Queued.NextDue)
		require.WithinDuration(t, time.Now().Add(time.Hour), *o.Hosts[0].HeldUntil, servicetest.Patience())
	}
	o, err := s.Open(ctx, f.run.ID, 10, 10, time.Now().Add(2*time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 1, o.Queued.Ready)
}

func TestCrawlRates(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	run := dbtest.CrawlSite(t, pool)
	s, ctx := dbcrawl.NewCrawls(pool), t.Context()
	at := func(seconds int) time.Time { return dbtest.CrawlNow.Add(time.Duration(seconds) * time.Second) }
	got, err := s.Rates(ctx, run, at(-40), at(0), dbcrawl.CrawlSlice)
	require.NoError(t, err)
	require.Equal(t, []dbcrawl.CrawlRate{
		{At: at(-40)}, {At: at(-30), Fetches: 20, Finished: 10, Failed: 1, Bytes: 4000, TookMS: 800}, {At: at(-20)},
		{At: at(-10), Fetches: 4, Finished: 4, Bytes: 500, TookMS: 100},
	}, got)
	got, err = s.Rates(ctx, run, at(-60), at(0), 30*time.Second)
	require.NoError(t, err)
	require.Equal(t, []dbcrawl.CrawlRate{
		{At: at(-60)}, {At: at(-30), Fetches: 24, Finished: 14, Failed: 1, Bytes: 4500, TookMS: 900},
	}, got)
}

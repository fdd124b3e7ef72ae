package api_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// passed takes six adverts through the pipeline, in the last half hour, and a seventh two hours ago: two new ones, a
// change of one, a refusal, a twin, and one that is seen again unchanged.
func passed(t *testing.T, d *apitest.Door) {
	t.Helper()

	publish := func(id string, rent int64, at time.Time) {
		l := listing.Listing{Ref: apitest.Kijiji(id), Title: "4½ " + id, RentCents: rent, ScrapedAt: at}
		revision := d.Scrape(t, l.Ref, fmt.Sprint(l.Title, rent), at)
		require.NoError(t, d.Store.SaveNormalized(t.Context(), l, listing.Payload{Revision: revision}, at.Add(500*time.Millisecond)))
		v, err := d.Store.Load(t.Context(), l.ID())
		require.NoError(t, err)
		_, err = d.Store.Publish(t.Context(), listing.Publication{Version: v}, listing.Run{}, at.Add(time.Second))
		require.NoError(t, err)
	}
	publish("early", 100_000, apitest.Now.Add(-2*time.Hour))
	publish("1", 100_000, apitest.Now.Add(-30*time.Minute))
	publish("2", 110_000, apitest.Now.Add(-29*time.Minute))
	publish("1", 90_000, apitest.Now.Add(-20*time.Minute))
	d.Scrape(t, apitest.Kijiji("2"), fmt.Sprint("4½ 2", 110_000), apitest.Now.Add(-10*time.Minute))
	revision := d.Scrape(t, apitest.Kijiji("3"), "wanted", apitest.Now.Add(-5*time.Minute))
	refusal := &listing.Rejection{Reasons: []listing.Reason{{Field: "price", Code: "missing"}, {Field: "title", Code: "wanted"}}}
	for pass := range int64(2) { // a replay that refuses it once more
		require.NoError(t, d.Store.Reject(t.Context(), listing.Raw{Ref: apitest.Kijiji("3")},
			listing.Payload{Revision: revision, Pass: pass, Body: []byte(`{}`)}, refusal, listing.Run{}, apitest.Now.Add(-4*time.Minute)))
	}
	revision = d.Scrape(t, apitest.Kijiji("4"), "4½ 1", apitest.Now.Add(-3*time.Minute))
	require.NoError(t, d.Store.SaveDuplicate(t.Context(), apitest.Kijiji("4"), revision, apitest.Kijiji("1").ID(),
		[]listing.Reason{{Field: "home", Code: "duplicate"}}, listing.Run{}, apitest.Now.Add(-3*time.Minute)))
}

// What the flow says of an hour is what the tables say of it.
func TestFlow(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	passed(t, d)
	count := func(sql string) (n int64) {
		require.NoError(t, d.Pool.QueryRow(t.Context(), sql, apitest.Now.Add(-time.Hour), apitest.Now).Scan(&n), sql)
		return n
	}
	got := apitest.Read[api.FlowReport](t, d.Get(t, "/flow"), 200)
	sum := got.Listings
	require.Equal(t, count("SELECT count(*) FROM listing_events WHERE kind = 'created' AND at BETWEEN $1 AND $2"), sum.New)
	require.Equal(t, count("SELECT count(*) FROM listing_events WHERE kind = 'price' AND at BETWEEN $1 AND $2"), sum.Changed)
	require.Equal(t, count("SELECT count(*) FROM raw_listings WHERE refused_at BETWEEN $1 AND $2"), sum.Refused)
	require.Equal(t, count(`SELECT count(*) FROM raw_listings WHERE status = 'duplicate' AND revised_at BETWEEN $1 AND $2`), sum.Twins)
	require.Equal(t, count(`SELECT sum(scrapes) FROM raw_listings WHERE last_scraped_at BETWEEN $1 AND $2`), sum.In)
	require.Equal(t, api.FlowSum{In: 6, Unchanged: 1, New: 2, Changed: 1, Twins: 1, Refused: 1, P50MS: 1024, P95MS: 1024}, sum)
	require.Equal(t, []api.FlowSource{{Source: "kijiji", FlowSum: sum}}, got.Lines[0].Sources)
	require.Equal(t, api.FlowStation{
		Station: "normalize", P50MS: 512, P95MS: got.Lines[0].Stations[1].P95MS,
		Out: []api.FlowOutcome{{"again", 1}, {"normalized", 3}, {"refused", 1}},
	}, got.Lines[0].Stations[1])

	day := apitest.Read[api.FlowReport](t, d.Get(t, "/flow?window=24h"), 200).Listings
	require.Equal(t, []int64{7, 3}, []int64{day.In, day.New})
	require.NoError(t, d.Flow.Store.Tidy(t.Context(), apitest.Now.Add(-15*time.Minute), apitest.Now.Add(-time.Hour))) // the early one goes
	require.Equal(t, sum, apitest.Read[api.FlowReport](t, d.Get(t, "/flow?window=24h"), 200).Listings)
	apitest.Refused(t, d.Get(t, "/flow?window=1y"), 422)
}

// The feed has what came in, the newest first, and misses nothing that is stored late.
func TestRecentListings(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	passed(t, d)
	feed := func(query string) (kinds []string, rows []api.FeedRow) {
		rows = apitest.Read[api.Feed](t, d.Get(t, "/listings/recent"+query), 200).Items
		for _, r := range rows {
			kinds = append(kinds, r.Kind+" "+r.PlatformID)
		}
		return kinds, rows
	}
	kinds, rows := feed("")
	require.Equal(t, []string{"twin 4", "refused 3", "changed 1", "new 2", "new 1", "new early"}, kinds)
	require.Equal(t, apitest.Kijiji("1").ID(), *rows[0].TwinOf)
	require.Equal(t, []string{"missing", "wanted"}, rows[1].Codes)
	require.Equal(t, []int64{90_000, 100_000}, []int64{*rows[2].RentCents, *rows[2].OldRentCents})
	kinds, _ = feed("?limit=2")
	require.Equal(t, []string{"twin 4", "refused 3"}, kinds)

	late, err := d.Pool.Begin(t.Context()) // it has the next number, and is not over
	require.NoError(t, err)
	defer func() { _ = late.Rollback(t.Context()) }()
	_, err = late.Exec(t.Context(), `INSERT INTO listing_steps (listing_id, revision, pass, step, again, at)
		VALUES ($1, 1, 7, 'back', false, $2)`, apitest.Kijiji("2").ID(), apitest.Now)
	require.NoError(t, err)
	l := listing.Listing{Ref: apitest.Kijiji("5"), Title: "3½", RentCents: 80_000}
	d.Publish(t, l, "", apitest.Now)
	newer := fmt.Sprint("?after=", rows[0].Seq)
	kinds, _ = feed(newer)
	require.Empty(t, kinds)
	require.NoError(t, late.Commit(t.Context()))
	require.Eventually(t, func() bool { // other tests have transactions too
		kinds, _ = feed(newer)
		return slices.Equal([]string{"new 5", "back 2"}, kinds)
	}, servicetest.Patience(), 10*time.Millisecond)

	way := apitest.Read[apilistings.Advert](t, d.Get(t, "/listings/"+apitest.Kijiji("1").ID().String()), 200).Way
	var steps []string
	for _, s := range way {
		steps = append(steps, fmt.Sprint(s.Revision, " ", s.Step))
	}
	require.Equal(t, []string{"1 received", "1 normalized", "1 new", "2 received", "2 normalized", "2 changed"}, steps)
	require.Nil(t, way[3].TookMS)
	require.Equal(t, int64(500), *way[5].TookMS)
}

// What the flow says of crawls, drafts and outreach is what the tables say of the same time.
func TestFlowOfOtherLines(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t, func(p *apitest.Parts) {
		p.Flow.Queue, p.Flow.Tasks = apitest.Crawls, "drafts"
		p.Flow.Report = func(context.Context) backlog.Report {
			return backlog.Report{
				Queues:     []backlog.Queue{{Name: apitest.Crawls, Ready: 2}, {Name: contract.QueueCrawler, Ready: 4}},
				TaskQueues: []backlog.TaskQueue{{Name: "drafts", Type: "workflow", Backlog: 9}, {Name: "drafts", Type: "activity", Backlog: 1}},
			}
		}
		p.Flow.Drafting = func(context.Context) (int64, error) { return 4, nil }
		p.Flow.Searchable = func(context.Context) (int64, error) { return 0, errors.New("away") }
	})
	run := d.Crawl(t)
	d.Fail(t, run, crawl.NotFound, 2)
	d.Page(t, "https://example.org/a", "example.org", "A", "words")
	d.Page(t, "https://example.org/b", "example.org", "B", "words")
	d.RequestDraft(t, `{"url":"https://shop.example/a"}`)
	apitest.Tenant(t, d.Pool, "acme")
	apitest.Tenant(t, d.Pool, "rival")
	for i, created := range []time.Time{apitest.Now.Add(-time.Minute), apitest.Now.Add(-2 * time.Hour)} {
		d.System(t, `INSERT INTO uploads (id, tenant, file_name, blob, bytes, sha256, created_by, created_at, rows_read, valid, invalid,
			new) VALUES (gen_random_uuid(), CASE $1::int WHEN 0 THEN 'acme' ELSE 'rival' END, 'x', '', 1, '', '', $2, 10, 7, 3, 7)`, i, created)
	}
	d.System(t, `UPDATE tenants SET contacts = 7`)
	for i, finished := range []*time.Time{nil, new(apitest.Now.Add(-time.Minute)), new(apitest.Now.Add(-2 * time.Hour))} {
		d.System(t, `INSERT INTO campaigns (id, tenant, name, sender, template, audience, state, sent, delivered, read, failed,
				created_by, created_at, updated_at, started_at, finished_at)
			VALUES (gen_random_uuid(), 'acme', 'x', gen_random_uuid(), '{}', '{}', CASE WHEN $3::timestamptz IS NULL THEN 'running' ELSE 'done' END,
				1, 2, 3, 4 + $1::int, '', $2, $2, $2, $3)`, i, apitest.Now.Add(-3*time.Hour), finished)
	}
	figures := func(window string) map[string]string {
		got := apitest.Read[api.FlowReport](t, d.Get(t, "/flow?window="+window), 200)
		require.Len(t, got.Lines, 4)
		require.Equal(t, []int64{run}, got.Lines[1].Runs)
		require.EqualValues(t, 2, got.Lines[3].Tenants)
		out := map[string]string{}
		for _, l := range got.Lines[1:] {
			for _, s := range l.Stations {
				text := "unknown"
				if s.N != nil {
					text = fmt.Sprint(*s.N)
				}
				for _, o := range s.Out {
					text += fmt.Sprintf(" %d %s", o.N, o.Outcome)
				}
				out[l.Line+" "+s.Station] = text
			}
		}
		return out
	}
	hour := figures("1h")
	var open int64
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT count(*) FROM crawl_urls WHERE status = 'QUEUED'").Scan(&open))
	require.Equal(t, map[string]string{
		"crawl seed": "1", "crawl frontier": fmt.Sprint(open), "crawl fetching": "0", "crawl read": "0 2 broken", "crawl crawler_queue": "4",
		"crawl stored": "2", "crawl searchable": "unknown",
		"drafts requested": "1", "drafts waiting": "3", "drafts chromium": "3", "drafts page_read": "0", "drafts draft_stored": "0",
		"outreach uploaded": "10", "outreach valid": "7 3 invalid", "outreach contacts": "14", "outreach scheduled": "1",
		"outreach dispatched": "12 9 failed", "outreach delivered": "10", "outreach read": "6",
	}, hour)
	day := figures("24h")
	require.Equal(t, []string{"20", "18 15 failed"}, []string{day["outreach uploaded"], day["outreach dispatched"]})
}

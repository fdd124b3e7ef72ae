package drafts_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/find"
)

// One event is one draft, however often it is crawled, and the newest crawl stays.
func TestPersistDraft(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx, event := dbdrafts.NewDrafts(pool), t.Context(), uuid.New()
	require.NoError(t, s.PersistDraft(ctx, dbtest.Crawled(event, dbtest.Start), dbtest.Draft("Kettle", "25.00"), dbtest.Start))
	var same sync.WaitGroup
	for i := range 8 {
		same.Go(func() {
			at := dbtest.Start.Add(time.Duration(i) * time.Second)
			require.NoError(t, s.PersistDraft(ctx, dbtest.Crawled(event, at), dbtest.Draft("Pot", "1299.990"), at))
		})
	}
	same.Wait()
	failed := draft.Fail(dbtest.Crawled(event, dbtest.Start).Request, fault.Gone, "HTTP 404", dbtest.Start.Add(-time.Minute))
	require.NoError(t, s.PersistDraft(ctx, failed, nil, dbtest.Start.Add(time.Hour)))

	page, next, err := s.Search(ctx, dbdrafts.DraftFilter{Limit: 10, Host: []string{"shop.example"}})
	require.NoError(t, err)
	require.Nil(t, next)
	require.Len(t, page, 1)
	got := page[0]
	require.Equal(t, draft.ID(event), got.ID)
	require.Equal(t, "Pot", *got.Name)
	require.Equal(t, "1299.990", *got.Price, "as the page says it")
	require.Equal(t, draft.Succeeded, got.Outcome, "an older crawl that comes late changes nothing")
	require.Equal(t, dbtest.Start.Add(7*time.Second), got.CrawledAt.UTC())
	require.Equal(t, dbtest.Start, got.CreatedAt.UTC())
}

// Each result that becomes the stored one is told once; the ledger of events ends with what is stored.
func TestDraftCompleted(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx, event := dbdrafts.NewDrafts(pool), t.Context(), uuid.New()
	told := func() (all []contract.Event) {
		rows, err := pool.Query(ctx, `SELECT body FROM outbox WHERE routing_key = 'drafts.completed' AND
			exchange = 'listings.events' ORDER BY id`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var body []byte
			require.NoError(t, rows.Scan(&body))
			var e contract.Event
			require.NoError(t, json.Unmarshal(body, &e))
			all = append(all, e)
		}
		return all
	}
	failed := draft.Fail(dbtest.Crawled(event, dbtest.Start).Request, fault.Gone, "HTTP 404", dbtest.Start)
	failed.Status = 404
	var same sync.WaitGroup
	for range 4 {
		same.Go(func() { require.NoError(t, s.PersistDraft(ctx, failed, nil, dbtest.Start)) })
	}
	same.Wait()
	late := dbtest.Crawled(event, dbtest.Start.Add(-time.Second))
	require.NoError(t, s.PersistDraft(ctx, late, dbtest.Draft("Pan", "1"), dbtest.Start.Add(time.Second)), "it is older")
	require.Len(t, told(), 1, "a step may happen twice, and its event is one")
	again, kettle := dbtest.Crawled(event, dbtest.Start.Add(time.Minute)), dbtest.Draft("Kettle \x00", "25.00")
	kettle.Draft.PriceTo = &draft.Found[string]{Value: "29.00", Source: draft.Page}
	require.NoError(t, s.PersistDraft(ctx, again, kettle, dbtest.Start.Add(time.Hour)))
	events := told()
	require.Len(t, events, 2, "a draft that is made anew is told anew")
	var first, second contract.DraftData
	require.NoError(t, json.Unmarshal(events[0].Data, &first))
	require.NoError(t, json.Unmarshal(events[1].Data, &second))
	require.Equal(t, contract.DraftData{
		RequestID: event.String(), DraftID: draft.ID(event).String(), URL: "https://Shop.example/p", Outcome: draft.Failed,
		Class: "gone", Error: "HTTP 404", Status: 404, CrawledAt: dbtest.Start,
	}, first)
	require.Equal(t, []string{"Kettle \ufffd", "25.00", "29.00", draft.Succeeded, "https://shop.example/p"},
		[]string{second.Name, second.Price, second.PriceTo, second.Outcome, second.FinalURL})
}

// Any content of a page can be stored.
func TestPersistOddDraft(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx, event := dbdrafts.NewDrafts(pool), t.Context(), uuid.New()
	odd := dbtest.Draft("a\x00b \xff "+strings.Repeat("long ", 2000), "0."+strings.Repeat("1", 40))
	odd.Draft.SKU = &draft.Found[string]{Value: strings.Repeat("s", 9000)}
	odd.FinalURL = "https://shop.example/\x00"
	r := dbtest.Crawled(event, dbtest.Start)
	r.Error, r.Outcome = "read \x00", draft.Failed
	require.NoError(t, s.PersistDraft(ctx, r, odd, dbtest.Start))
	got, err := s.Draft(ctx, draft.ID(event))
	require.NoError(t, err)
	require.Contains(t, got.Draft.Name.Value, "a\ufffdb")
	_, err = s.Draft(ctx, uuid.New())
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

// A draft that is there answers its dead letters.
func TestPersistDraftResolves(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, letters, ctx, event, other := dbdrafts.NewDrafts(pool), db.NewDeadLetters(pool, nil), t.Context(), uuid.New(), uuid.New()
	for _, id := range []uuid.UUID{event, other} {
		require.NoError(t, letters.Archive(ctx, db.DeadLetter{
			Key: id.String(), Route: contract.Route{Queue: "q"}, Body: []byte("{}"), Class: "transient", WorkflowID: "draft/" + id.String(), At: dbtest.Start,
		}))
	}
	require.NoError(t, s.PersistDraft(ctx, dbtest.Crawled(event, dbtest.Start), nil, dbtest.Start))
	var open []string
	rows, err := pool.Query(ctx, `SELECT workflow_id FROM dead_letters WHERE state = 'open'`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var id string
		require.NoError(t, rows.Scan(&id))
		open = append(open, id)
	}
	require.Equal(t, []string{"draft/" + other.String()}, open)
}

// A request that is repeated many times at once is published once.
func TestRequestCrawl(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbdrafts.NewDrafts(pool), t.Context()
	r := draft.Request{EventID: uuid.New(), URL: "https://shop.example/p"}
	to := dbdrafts.Target{Exchange: "events", RoutingKey: "k"}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { require.NoError(t, s.RequestDraft(ctx, r, db.Sealed{}, "me", to, dbtest.Start)) })
	}
	all.Wait()
	var n int
	require.NoError(t, pool.QueryRow(ctx, `SELECT count(*) FROM outbox WHERE message_id = $1`, r.EventID).Scan(&n))
	require.Equal(t, 1, n)
	r.OutDir = "elsewhere"
	require.Equal(t, fault.Conflict, fault.ClassOf(s.RequestDraft(ctx, r, db.Sealed{}, "me", to, dbtest.Start)))
	r.EventID, r.URL = uuid.New(), "https://shop.example/\x00"
	require.Equal(t, fault.Invalid, fault.ClassOf(s.RequestDraft(ctx, r, db.Sealed{}, "me", to, dbtest.Start)))
}

// However many drafts there are, a look for one reads some 10,000 of them at most, and a number is found in all.
func TestDraftsAmongMany(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbdrafts.NewDrafts(pool), t.Context()
	dbtest.Exec(t, pool, `INSERT INTO product_drafts (id, event_id, url, host, outcome, out_dir, name, gtin, price, currency,
			crawled_at, took_ms, created_at, updated_at)
		SELECT gen_random_uuid(), gen_random_uuid(), 'https://shop.example/' || n, 'shop.example', 'succeeded', '',
			CASE n WHEN 5 THEN 'Rare kettle' ELSE 'Pot' END, CASE n WHEN 5 THEN '4006381333931' ELSE 'g' || n END,
			n, CASE n WHEN 5 THEN 'CHF' ELSE 'EUR' END, $1::timestamptz, 1, $1::timestamptz + n * interval '1 s', $1
		FROM generate_series(1, 20000) n`, dbtest.Start)
	dbtest.Exec(t, pool, "UPDATE product_drafts SET name = 'Case for 4006381333931' WHERE url = 'https://shop.example/20000'")
	dbtest.Alter(t, pool, "VACUUM ANALYZE product_drafts")
	texts := dbtest.Statements(t)
	most := func(name string, args ...any) int {
		var plans []struct{ Plan dbtest.Explained }
		require.NoError(t, pool.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+texts[name], args...).Scan(&plans))
		return plans[0].Plan.Most()
	}

	finder := db.NewFinder(pool, nil)
	found, err := finder.Drafts(ctx, find.Query{Text: "4006381333931", Words: true})
	require.NoError(t, err)
	require.Len(t, found, 2)
	require.Equal(t, "Rare kettle", found[0].Title, "the number itself is before a name that has it")
	require.Equal(t, "Case for 4006381333931", found[1].Title)
	for _, words := range []string{"4006381333931", "rue Saint-Denis"} {
		require.LessOrEqual(t, most("sqlFindDraftWords", words, 5), 10_001, words)
	}

	for _, f := range []dbdrafts.DraftFilter{{Name: "rare"}, {Currency: []string{"CHF"}}, {MaxPrice: "5", MinPrice: "5"}} {
		f.Limit = 10
		page, next, err := s.Search(ctx, f)
		require.NoError(t, err)
		require.Empty(t, page)
		require.NotNil(t, next)
		f.After = next
		page, _, err = s.Search(ctx, f)
		require.NoError(t, err)
		require.Len(t, page, 1)
		require.Equal(t, "https://shop.example/5", page[0].URL)
	}
	page, next, err := s.Search(ctx, dbdrafts.DraftFilter{Name: "rare", GTIN: []string{"4006381333931"}, Limit: 10})
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Nil(t, next)
	filters := []any{nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, 21}
	require.LessOrEqual(t, most("sqlDraftsSearch", filters...), 100)
	for _, of := range []string{"https://shop.example/7", "https://shop.example/none"} {
		filters[2] = of
		require.LessOrEqual(t, most("sqlDraftsSearch", filters...), 1, "all drafts are of one host")
		require.LessOrEqual(t, most("sqlFindDraftURL", of, 5), 1)
	}
	filters[2] = nil
	require.LessOrEqual(t, most("sqlDraftsSome", append(filters, "rare", nil, nil, nil, nil)...), 10_001)
}

package drafts_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A request has a draft or is canceled, whichever was first, and a cancel is told of once.
func TestCancelDraft(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbdrafts.NewDrafts(pool), t.Context()
	count := func(table string) (n int) {
		require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n))
		return n
	}
	is := func(err error, want fault.Class) {
		require.Equal(t, want, fault.ClassOf(err), "%v", err)
	}
	event := uuid.New()
	is(s.CancelDraft(ctx, event, false, "me", dbtest.Start), fault.Gone)
	require.NoError(t, s.RequestDraft(ctx, draft.Request{EventID: event, URL: "https://shop.example/p"}, db.Sealed{},
		"me", dbdrafts.Target{Exchange: "events", RoutingKey: "r"}, dbtest.Start))
	for range 2 {
		require.NoError(t, s.CancelDraft(ctx, event, false, "me", dbtest.Start))
	}
	require.Equal(t, 1, count("audit WHERE action = 'crawl_request.canceled'"))
	is(s.PersistDraft(ctx, dbtest.Crawled(event, dbtest.Start), dbtest.Draft("Kettle", "25.00"), dbtest.Start), fault.Conflict)
	require.Zero(t, count("product_drafts"))
	require.Zero(t, count("outbox WHERE routing_key = 'drafts.completed'"))
	got, err := s.Request(ctx, event, "q")
	require.NoError(t, err)
	require.True(t, got.Canceled)
	list, _, err := s.Requests(ctx, dbdrafts.DraftRequestFilter{State: []string{"canceled"}, Limit: 10}, "q")
	require.NoError(t, err)
	require.Len(t, list, 1)

	made := uuid.New()
	require.NoError(t, s.PersistDraft(ctx, dbtest.Crawled(made, dbtest.Start), dbtest.Draft("Pot", "1.00"), dbtest.Start))
	is(s.CancelDraft(ctx, made, true, "me", dbtest.Start), fault.Conflict)

	running := uuid.New()
	require.NoError(t, s.CancelDraft(ctx, running, true, "me", dbtest.Start))
	settled, err := s.DraftSettled(ctx, running)
	require.NoError(t, err)
	require.True(t, settled)
}

// A state that few requests have is looked for in the next 10,000: the list goes on after them.
func TestRequestsOfARareState(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbdrafts.NewDrafts(pool), t.Context()
	dbtest.Exec(t, pool, `WITH asked AS (
			INSERT INTO draft_requests (event_id, url, out_dir, requested_by, requested_at)
			SELECT gen_random_uuid(), 'https://shop.example/' || n, '', 'me', $1::timestamptz + n * interval '1 s'
			FROM generate_series(1, 20000) n RETURNING *
		)
		INSERT INTO product_drafts (id, event_id, url, host, outcome, out_dir, crawled_at, took_ms, created_at, updated_at)
		SELECT event_id, event_id, url, 'shop.example', 'succeeded', '', requested_at, 1, requested_at, requested_at FROM asked
		WHERE url <> 'https://shop.example/5'`, dbtest.Start)
	canceled := dbtest.Query[uuid.UUID](t, pool, "SELECT event_id FROM draft_requests WHERE url = 'https://shop.example/5'")[0]
	require.NoError(t, s.CancelDraft(ctx, canceled, false, "me", dbtest.Start))
	dbtest.Alter(t, pool, "ANALYZE draft_requests, product_drafts, draft_cancels, dead_letters")

	f := dbdrafts.DraftRequestFilter{State: []string{"canceled"}, Limit: 20}
	list, next, err := s.Requests(ctx, f, "q")
	require.NoError(t, err)
	require.Empty(t, list)
	require.NotNil(t, next)
	f.After = next
	list, next, err = s.Requests(ctx, f, "q")
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, canceled, list[0].EventID)
	if next != nil {
		f.After = next
		list, next, err = s.Requests(ctx, f, "q")
		require.NoError(t, err)
		require.Empty(t, list)
		require.Nil(t, next)
	}

	text := dbtest.Statements(t)["sqlDraftRequestsList"]
	for _, tt := range []struct {
		states any
		most   int
	}{{[]string{"canceled"}, 10_001}, {nil, 100}} {
		var plans []struct{ Plan dbtest.Explained }
		require.NoError(t, pool.QueryRow(ctx, "EXPLAIN (ANALYZE, FORMAT JSON) "+text, draft.WorkflowPrefix, "q", nil, nil, nil,
			tt.states, 21).Scan(&plans))
		require.LessOrEqual(t, plans[0].Plan.Most(), tt.most, "rows that one step looked at")
	}
}

// Of a cancel and a draft at the same instant one holds.
func TestCancelDraftAtOnce(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, ctx := dbdrafts.NewDrafts(pool), t.Context()
	for range 10 {
		event, done := uuid.New(), make(chan error)
		go func() { done <- s.CancelDraft(ctx, event, true, "me", dbtest.Start) }()
		stored := s.PersistDraft(ctx, dbtest.Crawled(event, dbtest.Start), dbtest.Draft("Kettle", "25.00"), dbtest.Start.Add(time.Second))
		canceled := <-done
		require.NotEqual(t, stored == nil, canceled == nil, "stored: %v, canceled: %v", stored, canceled)
		got, err := s.Request(ctx, event, "q")
		require.NoError(t, err)
		require.Equal(t, stored == nil, got.DraftID != nil)
		require.Equal(t, canceled == nil, got.Canceled)
	}
}

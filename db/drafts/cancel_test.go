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
		class, _ := fault.Of(err)
		require.Equal(t, want, class, "%v", err)
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
	canceled, err := s.DraftCanceled(ctx, running)
	require.NoError(t, err)
	require.True(t, canceled)
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

package drafts_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
)

// The secrets of a request go with its end, whichever it is, and do not come back with its message.
func TestDraftSecrets(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	s, letters, ctx := dbdrafts.NewDrafts(pool), db.NewDeadLetters(pool, nil), t.Context()
	sealed, newer := db.Sealed{Key: "k", Box: []byte("box")}, db.Sealed{Key: "k", Box: []byte("newer")}
	to := dbdrafts.Target{Exchange: "events", RoutingKey: "k"}
	requested := func() uuid.UUID {
		r := draft.Request{EventID: uuid.New(), URL: "https://shop.example/p", Sealed: true}
		require.NoError(t, s.RequestDraft(ctx, r, sealed, "me", to, dbtest.Start))
		require.NoError(t, s.RequestDraft(ctx, r, newer, "me", to, dbtest.Start), "it is the same request")
		got, err := s.SealedDraft(ctx, r.EventID)
		require.NoError(t, err)
		require.Equal(t, sealed, got)
		r.Sealed = false
		dbtest.RequireClass(t, fault.Conflict, s.RequestDraft(ctx, r, db.Sealed{}, "me", to, dbtest.Start))
		return r.EventID
	}
	gone := func(event uuid.UUID) {
		_, err := s.SealedDraft(ctx, event)
		dbtest.RequireClass(t, fault.Gone, err)
	}
	bury := func(event uuid.UUID, message, workflow string) (id int64) {
		require.NoError(t, letters.Archive(ctx, db.DeadLetter{Key: event.String(), Route: contract.Route{Queue: "q"},
			Body: []byte("{}"), Class: "transient", MessageID: message, WorkflowID: workflow, At: dbtest.Start}))
		require.NoError(t, pool.QueryRow(ctx, `SELECT max(id) FROM dead_letters`).Scan(&id))
		return id
	}

	made, canceled, other, third := requested(), requested(), requested(), requested()
	require.NoError(t, s.PersistDraft(ctx, dbtest.Crawled(made, dbtest.Start), dbtest.Draft("Kettle", "25.00"), dbtest.Start))
	require.NoError(t, s.CancelDraft(ctx, canceled, false, "me", dbtest.Start))
	for _, event := range []uuid.UUID{made, canceled} {
		gone(event)
		require.NoError(t, s.SealDraft(ctx, event, newer, dbtest.Start), "its message comes again")
		gone(event)
	}

	sent := uuid.New()
	require.NoError(t, s.SealDraft(ctx, sent, sealed, dbtest.Start))
	require.NoError(t, s.SealDraft(ctx, sent, newer, dbtest.Start))
	got, err := s.SealedDraft(ctx, sent)
	require.NoError(t, err)
	require.Equal(t, newer, got, "a message that is sent again may have others")

	letter := bury(sent, "", draft.WorkflowID(sent))
	_, err = letters.Replay(ctx, letter, false, "me", dbtest.Start)
	require.NoError(t, err)
	_, err = s.SealedDraft(ctx, sent)
	require.NoError(t, err, "a replay needs them")
	for range 2 {
		require.NoError(t, letters.Discard(ctx, letter, "me", dbtest.Start))
		gone(sent)
	}
	require.NoError(t, letters.Discard(ctx, bury(uuid.New(), "not a UUID", ""), "me", dbtest.Start))
	_, err = s.SealedDraft(ctx, other)
	require.NoError(t, err)
	require.NoError(t, letters.Discard(ctx, bury(other, other.String(), ""), "me", dbtest.Start))
	gone(other)
	fourth, kept := uuid.New(), requested()
	require.NoError(t, s.SealDraft(ctx, fourth, sealed, dbtest.Start))
	bury(uuid.New(), "not a UUID", "")
	bury(third, third.String(), "")
	bury(fourth, "", draft.WorkflowID(fourth))
	n, err := letters.DiscardAll(ctx, db.LetterFilter{}, 10, "me", dbtest.Start)
	require.NoError(t, err)
	require.Equal(t, 3, n)
	gone(third)
	gone(fourth)
	_, err = s.SealedDraft(ctx, kept)
	require.NoError(t, err)
	require.Zero(t, dbtest.Count(t, pool, "outbox WHERE convert_from(body, 'UTF8') LIKE '%box%'"))
}

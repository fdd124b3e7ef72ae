package listings_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// traces counts the rows of every table that mention an advert, by its number or its ID, in any column.
func traces(t testing.TB, pool *pgxpool.Pool, ref listing.Ref) map[string]int64 {
	t.Helper()

	out := map[string]int64{}
	for _, table := range dbtest.Query[string](t, pool, `SELECT relname::text FROM pg_class
		WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = 'public'::regnamespace`) {
		expr := "t::text"
		if table == "dead_letters" || table == "outbox" {
			expr = "t::text || convert_from(t.body, 'UTF8')"
		}
		n := dbtest.Count(t, pool, fmt.Sprintf("%s t WHERE strpos(%s, $1) > 0 OR strpos(%[2]s, $2) > 0", table, expr),
			ref.PlatformID, ref.ID().String())
		if n > 0 {
			out[table] = n
		}
	}
	return out
}

// crowd stores an advert in every way that there is, and another one that shares a picture with it.
func crowd(t testing.TB, pool *pgxpool.Pool) (ref, other listing.Ref) {
	t.Helper()

	ctx, s := t.Context(), dblistings.NewListings(pool)
	ref, other = refOf("forget-me-4711"), refOf("stay-4712")
	for _, id := range []string{ref.PlatformID, other.PlatformID} {
		l := publishNew(t, pool, id)
		require.NoError(t, s.AttachImage(ctx, l.Ref, stored("http://i.example/1.jpg", "a"), dbtest.Start))
	}
	require.NoError(t, s.AttachImage(ctx, ref, stored("http://i.example/2.jpg", "b"), dbtest.Start))
	receive(t, s, arrival(ref, "second", 1))
	dbtest.Exec(t, pool, `INSERT INTO platform_adverts (platform, platform_id, url, fingerprint, seen_at, seen_cycle)
		SELECT platform, platform_id, url, '', now(), 1 FROM raw_listings`)
	for _, r := range []listing.Ref{ref, other} {
		require.NoError(t, s.FailImage(ctx, r, listing.Image{URL: "http://i.example/3.jpg"}, fault.Gone, "404", listing.Run{}, dbtest.Start))
		poison := dbtest.Dead("poison "+r.PlatformID, 0)
		poison.Body = fmt.Appendf(nil, `{"platform": "kijiji", "platform_id": %q, "title": 7}`, r.PlatformID)
		rejected := dbtest.Dead("rejected "+r.PlatformID, 0)
		rejected.WorkflowID = r.WorkflowID()
		ids := dbtest.Archive(t, pool, poison, rejected)
		_, err := db.NewDeadLetters(pool, nil).Replay(ctx, ids[0], false, "Ginette", dbtest.Start)
		require.NoError(t, err)
	}
	mention := dbtest.Dead("mention", 0) // a letter of another advert, whose text has the number
	mention.Body = fmt.Appendf(nil, `{"platform": "kangalou", "platform_id": "9", "title": "like %s"}`, ref.PlatformID)
	dbtest.Archive(t, pool, mention)
	dbtest.Exec(t, pool, `UPDATE raw_listings SET status = 'duplicate', duplicate_of = $1, normalized = '{"title": "t", "rent_cents": 5}',
		normalized_revision = revision WHERE id = $2`, ref.ID(), other.ID())
	return ref, other
}

func forgetAll(t testing.TB, pool *pgxpool.Pool, ref listing.Ref, rest bool) (f retention.Forgotten) {
	t.Helper()

	ctx, r := t.Context(), dblistings.NewForgets(pool)
	f, err := r.ForgetAdvert(ctx, ref, rest, dbtest.Start)
	require.NoError(t, err)
	for next := int64(-1); next != 0; {
		var n int
		next, n, err = r.ForgetLetters(ctx, ref, max(next, 0), 2)
		require.NoError(t, err)
		f.DeadLetters += n
	}
	for next := int64(-1); next != 0; {
		var n int
		next, n, err = r.ForgetMessages(ctx, ref, max(next, 0), 2)
		require.NoError(t, err)
		f.Messages += n
	}
	return f
}

// Nothing of a forgotten advert is left in any table, but what other adverts say and the event that tells consumers.
func TestForgetAdvert(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	ctx, r := t.Context(), dblistings.NewForgets(pool)
	ref, other := crowd(t, pool)
	before := traces(t, pool, other)
	require.NoError(t, r.RequestForget(ctx, ref, false, "olga", dbtest.Start))
	require.NotContains(t, dbtest.Query[string](t, pool, "SELECT audit::text FROM audit")[0], ref.PlatformID)

	have, err := r.Holdings(ctx, ref)
	require.NoError(t, err)
	require.Equal(t, retention.Forgotten{Adverts: 1, Revisions: 2, Listings: 1, Images: 2, Events: 1}, have)
	f := forgetAll(t, pool, ref, false)
	require.Equal(t, retention.Forgotten{
		Adverts: 1, Revisions: 2, Listings: 1, Images: 2, Events: 1, DeadLetters: 3, Messages: 5, Files: 4,
	}, f)
	require.Equal(t, map[string]int64{
		"outbox": 1, "raw_listings": 1, "audit": 1, "dead_letters": 1,
	}, traces(t, pool, ref))
	require.Equal(t, before, traces(t, pool, other))

	// Consumers are told, in an event without what the advert said.
	body := dbtest.Query[[]byte](t, pool, "SELECT body FROM outbox WHERE strpos(convert_from(body, 'UTF8'), $1) > 0", ref.PlatformID)[0]
	var event contract.Event
	var data contract.ListingData
	require.NoError(t, json.Unmarshal(body, &event))
	require.NoError(t, json.Unmarshal(event.Data, &data))
	require.Equal(t, contract.ListingArchived, event.EventName)
	require.Equal(t, contract.ListingData{
		ListingID: ref.ID().String(), PlatformID: ref.PlatformID, Revision: 1, URL: "https://k.example/" + ref.PlatformID,
	}, data)

	// The picture that another advert shows stays; the other one is deleted when no one can be attaching it any more.
	gone := &files{names: map[string]bool{}}
	step, err := db.NewRetention(pool).DeleteUnused(ctx, dbtest.Start.Add(retention.ForgetWait-1), "", 10, gone.remove)
	require.NoError(t, err)
	require.Zero(t, step.Deleted)
	step, err = db.NewRetention(pool).DeleteUnused(ctx, dbtest.Start.Add(retention.ForgetWait), "", 10, gone.remove)
	require.NoError(t, err)
	require.Equal(t, 2, step.Deleted)
	b := stored("", "b")
	require.ElementsMatch(t, []string{b.Key, b.ThumbnailKey}, gone.removed)

	// What was held back as its duplicate is found, also after it is gone.
	list, err := r.DuplicatesOf(ctx, ref.ID(), uuid.Nil, 10)
	require.NoError(t, err)
	require.Equal(t, []listing.Restart{{Ref: other, Stage: listing.StageDedupe, Revision: 1, Title: "t", RentCents: ptr(int64(5))}}, list)

	require.Equal(t, retention.Forgotten{}, forgetAll(t, pool, ref, false), "twice is once")

	// It comes back when it is scraped again, and the second look leaves it alone.
	require.False(t, receive(t, dblistings.NewListings(pool), arrival(ref, "third", 3)).Settled)
	require.Equal(t, retention.Forgotten{}, forgetAll(t, pool, ref, true))
	require.EqualValues(t, 1, dbtest.Count(t, pool, "raw_listings WHERE id = $1", ref.ID()))
}

// A blocked advert is acknowledged by the door and stored nowhere, whichever way it comes.
func TestBlockedAdvert(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	ctx, r, s := t.Context(), dblistings.NewForgets(pool), dblistings.NewListings(pool)
	ref, other := crowd(t, pool)
	late := arrival(ref, "late", 5)
	require.NoError(t, r.RequestForget(ctx, ref, true, "olga", dbtest.Start))
	require.NoError(t, r.RequestForget(ctx, ref, true, "olga", dbtest.Start))
	f := forgetAll(t, pool, ref, false)
	require.True(t, f.Blocked)

	got, err := s.Receive(ctx, []dblistings.Arrival{late, arrival(other, "new", 5), late}, dbtest.After(6))
	require.NoError(t, err)
	require.Equal(t, dblistings.Receipt{ID: ref.ID(), Settled: true, Blocked: true}, got[0])
	require.Equal(t, got[0], got[2])
	require.Equal(t, dblistings.Receipt{ID: other.ID(), Revision: 2}, got[1])
	staged, err := s.ReceiveStaged(ctx, late, 0, normalized(ref), dbtest.After(6))
	require.NoError(t, err)
	require.True(t, staged.Settled)
	require.Zero(t, dbtest.Count(t, pool, "raw_listings WHERE id = $1", ref.ID()))

	// An arrival that was under way when it was blocked is found by the second look.
	dbtest.Exec(t, pool, "DELETE FROM blocked_adverts")
	receive(t, s, late)
	require.NoError(t, r.RequestForget(ctx, ref, true, "olga", dbtest.Start))
	require.Equal(t, 1, forgetAll(t, pool, ref, true).Adverts)
	require.Zero(t, dbtest.Count(t, pool, "raw_listings WHERE id = $1", ref.ID()))
}

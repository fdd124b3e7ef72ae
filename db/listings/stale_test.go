package listings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

// tenOfAll is a window that looks at everything there is.
var tenOfAll = listing.Window{Look: 1000, Take: 10}

// archive archives the listings that were last seen up to an hour after the start, and checks their number.
func archive(t testing.TB, s *dblistings.Listings, want int) {
	t.Helper()

	_, n, err := s.ArchiveStale(t.Context(), dbtest.After(60), listing.Cursor{}, tenOfAll, dbtest.After(60*48))
	require.NoError(t, err)
	require.Equal(t, want, n)
}

// A listing that was not seen for long is archived with its history and its event; one seen since, or claimed, stays.
func TestArchiveStale(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "stale")
	imported(t, s, "claimed")
	imported(t, s, "fresh")
	_, err := pool.Exec(t.Context(), "UPDATE listings SET status = 'claimed' WHERE platform_id = 'claimed'")
	require.NoError(t, err)
	require.True(t, receive(t, s, arrival(refOf("fresh"), "4 ½ à louer", 90)).Settled)
	archive(t, s, 1)
	archive(t, s, 0)

	require.Equal(t, []string{"claimed claimed", "fresh active", "stale archived"},
		dbtest.Query[string](t, pool, "SELECT platform_id || ' ' || status FROM listings ORDER BY platform_id"))
	require.Equal(t, int64(1), dbtest.Count(t, pool, `listing_events WHERE kind = 'status' AND old_status = 'active'
		AND new_status = 'archived' AND at = $1`, dbtest.After(60*48)))
	bodies := dbtest.Query[[]byte](t, pool, "SELECT body FROM outbox WHERE routing_key = $1", contract.ListingArchived)
	require.Len(t, bodies, 1)
	var e contract.Event
	require.NoError(t, json.Unmarshal(bodies[0], &e))
	require.Equal(t, contract.ListingArchived, e.EventName)
	require.Equal(t, dbtest.After(60*48), e.TS)
	var data contract.ListingData
	require.NoError(t, json.Unmarshal(e.Data, &data))
	require.Equal(t, contract.ListingData{
		ListingID: l.ID().String(), PlatformID: "stale", Revision: 1, URL: l.URL, Title: l.Title, RentCents: l.RentCents,
		Bedrooms: &l.Bedrooms,
	}, data)
}

// Each archival of one listing is an event of its own, and none is published twice.
func TestArchiveStaleAgain(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	for n := range 3 {
		archive(t, s, 1)
		archive(t, s, 0)
		require.Equal(t, int64(n+1), dbtest.Count(t, pool, "outbox WHERE routing_key = $1", contract.ListingArchived))
		require.False(t, receive(t, s, arrival(l.Ref, l.Title, n)).Settled, "an advert that is back is not settled on arrival")
		v, err := s.Load(t.Context(), l.ID())
		require.NoError(t, err)
		_, err = s.Publish(t.Context(), listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(10+n))
		require.NoError(t, err)
		require.True(t, receive(t, s, arrival(l.Ref, l.Title, n)).Settled)
	}
	require.Len(t, changes(t, pool), 4, "created, and returned three times")
}

// Batches go on where the one before ended, and several checks at once archive everything once.
func TestArchiveStaleInBatches(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for n := range 25 {
		imported(t, s, fmt.Sprint(n))
	}
	last, n, err := s.ArchiveStale(t.Context(), dbtest.After(60), listing.Cursor{}, tenOfAll, dbtest.After(100))
	require.NoError(t, err)
	require.Equal(t, 10, n)
	require.Equal(t, int64(10), dbtest.Count(t, pool, "listings WHERE status = 'archived' AND (published_at, id) >= ($1, $2)",
		last.At, last.ID))
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			at, err := last, error(nil)
			for at != (listing.Cursor{}) && err == nil {
				at, _, err = s.ArchiveStale(t.Context(), dbtest.After(60), at, tenOfAll, dbtest.After(100))
			}
			assert.NoError(t, err)
		})
	}
	both.Wait()
	for n > 0 { // rows that one had locked, the other left for later
		_, n, err = s.ArchiveStale(t.Context(), dbtest.After(60), listing.Cursor{}, tenOfAll, dbtest.After(100))
		require.NoError(t, err)
	}
	require.Equal(t, int64(25), dbtest.Count(t, pool, "listings WHERE status = 'archived'"))
	require.Equal(t, int64(25), dbtest.Count(t, pool, "outbox WHERE routing_key = $1", contract.ListingArchived))
	require.Equal(t, int64(25), dbtest.Count(t, pool, "listing_events WHERE new_status = 'archived'"))
}

// A walk goes on from what was looked at, whether anything was archived or not, and locks nothing else.
func TestArchiveStaleLooksAtAWindow(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for n := range 25 {
		imported(t, s, fmt.Sprint(n))
	}
	_, err := pool.Exec(t.Context(), "UPDATE raw_listings SET last_scraped_at = $1 WHERE platform_id <> '7'", dbtest.After(90))
	require.NoError(t, err)
	archived, calls := 0, 0
	for at := (listing.Cursor{}); calls == 0 || at != (listing.Cursor{}); calls++ {
		var n int
		at, n, err = s.ArchiveStale(t.Context(), dbtest.After(60), at, listing.Window{Look: 4, Take: 2}, dbtest.After(100))
		require.NoError(t, err)
		archived += n
	}
	require.Equal(t, 1, archived)
	require.Equal(t, 8, calls, "seven windows and the end")
	require.Equal(t, []string{"7"}, dbtest.Query[string](t, pool, "SELECT platform_id FROM listings WHERE status = 'archived'"))
}

// A window ends with the last listing that may be archived at once: the others of it are the next one's.
func TestArchiveStaleTakesNoMoreThanItMay(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for n := range 10 {
		imported(t, s, fmt.Sprint(n))
	}
	var took []int
	for at := (listing.Cursor{}); len(took) == 0 || at != (listing.Cursor{}); {
		var n int
		var err error
		at, n, err = s.ArchiveStale(t.Context(), dbtest.After(60), at, listing.Window{Look: 7, Take: 3}, dbtest.After(100))
		require.NoError(t, err)
		took = append(took, n)
	}
	require.Equal(t, []int{3, 3, 3, 1, 0}, took)
}

// A scrape that comes while its listing is being archived is either seen by the check or brings the listing back.
func TestArchiveStaleWhileItIsScraped(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	// The row is held as ArchiveStale holds it; the scrape began before that and waits for it.
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM raw_listings FOR UPDATE")
	require.NoError(t, err)
	came := make(chan dblistings.Receipt, 1)
	go func() {
		got, err := s.Receive(t.Context(), []dblistings.Arrival{arrival(l.Ref, l.Title, 90)}, dbtest.After(90))
		if err == nil {
			came <- got[0]
		}
		close(came)
	}()
	locked(t, pool, 1)
	_, err = tx.Exec(t.Context(), "UPDATE listings SET status = 'archived'")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "UPDATE raw_listings SET archived_at = $1", dbtest.After(89))
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	receipt, ok := <-came
	require.True(t, ok)
	require.False(t, receipt.Settled, "it would stay archived although it was seen")
	require.True(t, receipt.Archived)
}

// A version that its advert replaced by one that cannot be published goes when that has been so for long, however
// often the advert is scraped; and the refused advert is not processed again for it.
func TestArchiveStaleOfARefusedEdit(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	r := receive(t, s, arrival(l.Ref, "an edit", 10))
	for range 2 {
		reject(t, s, l.Ref, r.Revision, 70)
	}
	require.True(t, receive(t, s, arrival(l.Ref, "an edit", 90)).Settled)
	archive(t, s, 0)
	r = receive(t, s, arrival(l.Ref, "another edit", 100))
	reject(t, s, l.Ref, r.Revision, 100)
	require.Equal(t, int64(1), dbtest.Count(t, pool, "raw_listings WHERE refused_at = $1", dbtest.After(70)), "since the first time")
	_, n, err := s.ArchiveStale(t.Context(), dbtest.After(71), listing.Cursor{}, tenOfAll, dbtest.After(200))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.True(t, receive(t, s, arrival(l.Ref, "another edit", 110)).Settled, "there is nothing to bring back")

	r = receive(t, s, arrival(l.Ref, "a good edit", 120))
	publish(t, s, l, r.Revision, 120)
	require.Equal(t, []string{"active"}, dbtest.Query[string](t, pool, "SELECT status FROM listings"))
	require.Equal(t, int64(1), dbtest.Count(t, pool, "raw_listings WHERE refused_at IS NULL AND archived_at IS NULL"))
}

// reject records that a revision cannot be published.
func reject(t testing.TB, s *dblistings.Listings, ref listing.Ref, revision int64, minutes int) {
	t.Helper()

	why := &listing.Rejection{Reasons: []listing.Reason{{Field: "price", Code: "missing", Message: "none is stated"}}}
	require.NoError(t, s.Reject(t.Context(), listing.Raw{Ref: ref}, listing.Payload{Revision: revision, Body: []byte("{}")}, why, runOf(ref), dbtest.After(minutes)))
}

// A version that was under way while its listing was archived does not lose the archival.
func TestALatePublishOfAnArchivedListing(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	v, err := s.Load(t.Context(), l.ID())
	require.NoError(t, err)
	archive(t, s, 1)
	_, err = s.Publish(t.Context(), listing.Publication{Version: v}, runOf(l.Ref), dbtest.After(99))
	require.NoError(t, err)
	require.Equal(t, []string{"archived"}, dbtest.Query[string](t, pool, "SELECT status FROM listings"))
	require.False(t, receive(t, s, arrival(l.Ref, l.Title, 100)).Settled)
}

// A duplicate is restarted when the listing that it repeats is archived and it is still seen itself.
func TestOrphanedDuplicates(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	original := imported(t, s, "original")
	duplicate := func(id string, minutes int) listing.Listing {
		l := normalized(listing.Ref{Platform: "kangalou", PlatformID: id})
		r := receive(t, s, arrival(l.Ref, l.Title, minutes))
		require.NoError(t, s.SaveNormalized(t.Context(), l, payload(r.Revision), dbtest.After(minutes)))
		require.NoError(t, s.SaveDuplicate(t.Context(), l.Ref, r.Revision, original.ID(), nil, runOf(l.Ref), dbtest.Start))
		return l
	}
	fresh := duplicate("fresh", 90)
	duplicate("stale", 0)
	orphans := func() []listing.Restart {
		got, next, err := s.OrphanedDuplicates(t.Context(), dbtest.After(60), uuid.Nil, tenOfAll)
		require.NoError(t, err)
		require.Equal(t, original.ID(), next)
		return got
	}
	require.Empty(t, orphans(), "the original is there")
	archive(t, s, 1)
	want := []listing.Restart{{
		Ref: fresh.Ref, Stage: listing.StageDedupe, Revision: 1, Title: fresh.Title, RentCents: &fresh.RentCents,
	}}
	require.Equal(t, want, orphans())
	require.Equal(t, want, orphans(), "until one has been restarted")
	publish(t, s, fresh, 1, 100)
	require.Empty(t, orphans())
}

// The duplicates of one listing are found together, however few are looked at or taken at once.
func TestOrphanedDuplicatesInWindows(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for n := range 4 {
		original := imported(t, s, fmt.Sprint("original", n))
		for d := range 3 {
			l := normalized(listing.Ref{Platform: "kangalou", PlatformID: fmt.Sprint(n, d)})
			r := receive(t, s, arrival(l.Ref, l.Title, 90))
			require.NoError(t, s.SaveNormalized(t.Context(), l, payload(r.Revision), dbtest.After(90)))
			require.NoError(t, s.SaveDuplicate(t.Context(), l.Ref, r.Revision, original.ID(), nil, runOf(l.Ref), dbtest.Start))
		}
	}
	_, err := pool.Exec(t.Context(), "UPDATE listings SET status = 'archived' WHERE platform_id <> 'original2'")
	require.NoError(t, err)
	for _, n := range []listing.Window{{Look: 1, Take: 1}, {Look: 5, Take: 100}, {Look: 100, Take: 4}, {Look: 100, Take: 100}} {
		seen := map[listing.Ref]int{}
		for last, first := uuid.Nil, true; first || last != uuid.Nil; first = false {
			found, next, err := s.OrphanedDuplicates(t.Context(), dbtest.After(60), last, n)
			require.NoError(t, err)
			for _, r := range found {
				seen[r.Ref]++
			}
			last = next
		}
		require.Len(t, seen, 9, "%+v", n)
		for ref, times := range seen {
			require.Equal(t, 1, times, "%s, %+v", ref, n)
		}
	}
}

func TestArchiveStaleWithPostgresAway(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	pool.Close()
	s := dblistings.NewListings(pool)
	_, _, err := s.ArchiveStale(t.Context(), dbtest.Start, listing.Cursor{}, tenOfAll, dbtest.Start)
	dbtest.RequireClass(t, "transient", err)
	_, _, err = s.OrphanedDuplicates(t.Context(), dbtest.Start, uuid.Nil, tenOfAll)
	dbtest.RequireClass(t, "transient", err)
	require.False(t, errors.Is(err, pgx.ErrNoRows))
}

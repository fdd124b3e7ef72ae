package listings_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

func (s *scraped) chores(t *testing.T, cycle int64) scrape.Chores {
	t.Helper()

	c, err := s.Chores(t.Context(), "kijiji", cycle, s.now)
	require.NoError(t, err)
	return c
}

// A look is due so long after the first page was asked for, within a cycle and between two.
func TestLooks(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	lanes := kijiji
	lanes.Look, lanes.Cycle, lanes.Cooldown = 5*time.Minute, 2*time.Hour, time.Hour
	require.NoError(t, s.Configure(t.Context(), "kijiji", lanes, s.now))
	s.begin(t)
	require.Zero(t, s.chores(t, 1).LookAt, "the first page is still to come")
	s.page(t, 1, 1, "1000000001", "1000000002")
	c := s.chores(t, 1)
	require.Equal(t, s.now.Add(5*time.Minute), c.LookAt.UTC())
	require.Equal(t, 2*time.Hour, c.Target)
	s.found(t, 1, "1000000001", scrape.New, 90_000)

	s.now = s.now.Add(6 * time.Minute)
	require.NoError(t, s.Looked(t.Context(), kijijiSearch, s.now))
	newest := scrape.Results{Total: -1, Cards: []scrape.Card{card("1000000001 b"), card("1000000003"), card("1000000002")}}
	visits, unknown, pages, err := s.Newest(t.Context(), kijijiSearch, 1, newest, s.now)
	require.NoError(t, err)
	require.Equal(t, []int{1, 1}, []int{unknown, pages}, "one of them nobody had seen")
	var why []string
	for _, v := range visits {
		why = append(why, v.PlatformID+" "+v.Why)
	}
	require.Equal(t, []string{"1000000003 new", "1000000002 new", "1000000001 changed"}, why)
	require.Equal(t, 1, s.get(t).Current.Pages, "a look is no page of the cycle")
	require.Equal(t, 3, s.get(t).Current.Seen)
	require.Equal(t, s.now.Add(5*time.Minute), s.chores(t, 1).LookAt.UTC())

	require.NoError(t, s.End(t.Context(), "kijiji", 1, "", s.now))
	require.Equal(t, scrape.Plan{Wait: 5 * time.Minute}, s.begin(t), "the look comes before the next cycle")
	s.now = s.now.Add(5 * time.Minute)
	require.Equal(t, scrape.Plan{Look: true, Cycle: 1}, s.begin(t))
	_, err = s.Refused(t.Context(), "kijiji", 1, "429", 10*time.Minute, 0.5, s.now)
	require.NoError(t, err)
	require.Equal(t, scrape.Plan{Wait: 10 * time.Minute}, s.begin(t), "a site that refuses is not looked at")
}

// The page of an advert that the search does not show any more says whether it is gone, for a while.
func TestMissingAdvertsAreVerified(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	missing := func(verify bool) {
		t.Helper()
		plan := s.begin(t)
		s.page(t, plan.Cycle, 1, "1000000001")
		if m := s.chores(t, plan.Cycle).Missing; plan.Cycle > 2 {
			require.Equal(t, "1000000002", m.PlatformID)
		} else {
			require.Nil(t, m, "once is no reason for a visit")
		}
		if verify {
			s.found(t, plan.Cycle, "1000000002", scrape.Missing, 90_000)
			require.Nil(t, s.chores(t, plan.Cycle).Missing)
		}
		require.NoError(t, s.End(t.Context(), "kijiji", plan.Cycle, "", s.now))
		s.now = s.now.Add(time.Minute)
	}
	s.begin(t)
	s.page(t, 1, 1, "1000000001", "1000000002")
	s.found(t, 1, "1000000001", scrape.New, 90_000)
	s.found(t, 1, "1000000002", scrape.New, 90_000)
	require.NoError(t, s.End(t.Context(), "kijiji", 1, "", s.now))
	s.now = s.now.Add(time.Minute)
	missing(false)
	for range scrape.GoneForSure - 2 {
		missing(true)
		require.Zero(t, s.get(t).Adverts.Gone, "its page is there")
	}
	missing(true)
	require.EqualValues(t, 1, s.get(t).Adverts.Gone, "some sites keep the pages of removed adverts")
}

// What a scraper remembers and has not found to be gone is not archived because it was not visited for long.
func TestWhatAScraperCouldNotLookAtIsNotArchived(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	listings := dblistings.NewListings(s.pool)
	s.begin(t)
	s.page(t, 1, 1, "1000000001")
	s.found(t, 1, "1000000001", scrape.New, 90_000)
	publish(t, listings, normalized(listing.Ref{Platform: "kijiji", PlatformID: "1000000001"}), 1, 0)
	archive := func() (n int) {
		t.Helper()
		_, n, err := listings.ArchiveStale(t.Context(), s.now.Add(-48*time.Hour), listing.Cursor{}, tenOfAll, s.now)
		require.NoError(t, err)
		return n
	}
	s.now = s.now.Add(100 * time.Hour)
	require.Zero(t, archive(), "behind the last page that is read of a long search")
	require.NoError(t, s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Enabled: new(false)},
		db.AuditEntry{At: s.now, Actor: "ann", Action: "platform.set", Subject: "platform/kijiji"}))
	require.Equal(t, 1, archive(), "nobody will look")
}

// What a scraper remembers is taken for offered wherever that is asked, not only before its listing is archived.
func TestWhatAScraperCouldNotLookAtIsOffered(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	listings, replays := dblistings.NewListings(s.pool), dblistings.NewReplays(s.pool)
	ref := listing.Ref{Platform: "kijiji", PlatformID: "1000000001"}
	original := normalized(listing.Ref{Platform: "kangalou", PlatformID: "1"})
	receive(t, listings, arrival(original.Ref, original.Title, 0))
	publish(t, listings, original, 1, 0)
	s.begin(t)
	s.page(t, 1, 1, ref.PlatformID)
	s.found(t, 1, ref.PlatformID, scrape.New, 90_000)
	publish(t, listings, normalized(ref), 1, 0)
	s.now = s.now.Add(100 * time.Hour)
	r := openReplay(t, replays, request(func(r *listing.Replay) { r.Stage, r.At = listing.StageDedupe, s.now }))
	stale := s.now.Add(-48 * time.Hour)
	check := func(offered bool) {
		t.Helper()
		page, err := replays.NextOfReplay(t.Context(), r.ID, uuid.Nil, 10, stale)
		require.NoError(t, err)
		skipped := map[string]string{}
		for _, i := range page.Items {
			skipped[i.Ref.Platform] = i.Skip
		}
		want := map[string]string{"kangalou": listing.SkipGone, "kijiji": ""}
		if !offered {
			want["kijiji"] = listing.SkipGone
		}
		require.Equal(t, want, skipped)
		dbtest.Exec(t, s.pool, "UPDATE listings SET status = 'archived'")
		v, err := listings.Load(t.Context(), ref.ID())
		require.NoError(t, err)
		require.Equal(t, !offered, v.Withheld(stale))
		dbtest.Exec(t, s.pool, "UPDATE listings SET status = 'active'")

		dbtest.Exec(t, s.pool, "UPDATE raw_listings SET settled_revision = 0 WHERE platform = 'kijiji'")
		unfinished, err := listings.UnfinishedListings(t.Context(), s.now, stale, listing.Cursor{}, 10)
		require.NoError(t, err)
		require.Len(t, unfinished, 1)
		require.Equal(t, offered, unfinished[0].Offered)
		n, err := listings.CountUnfinished(t.Context(), s.now, stale, true, false)
		require.NoError(t, err)
		require.Equal(t, offered, n.Listings == 1)
		dbtest.Exec(t, s.pool, "UPDATE raw_listings SET settled_revision = revision")

		why := []listing.Reason{{Field: "home", Code: "duplicate", Message: "another advert is shown for this home"}}
		require.NoError(t, listings.SaveDuplicate(t.Context(), ref, 1, original.ID(), why, runOf(ref), s.now))
		dbtest.Exec(t, s.pool, "UPDATE listings SET status = 'archived'")
		orphans, _, err := listings.OrphanedDuplicates(t.Context(), stale, uuid.Nil, tenOfAll)
		require.NoError(t, err)
		require.Equal(t, offered, len(orphans) == 1)
		dbtest.Exec(t, s.pool, "UPDATE listings SET status = 'active'")
		dbtest.Exec(t, s.pool, "UPDATE raw_listings SET status = 'imported', duplicate_of = NULL")
	}
	check(true)
	require.NoError(t, s.Set(t.Context(), "kijiji", dblistings.PlatformChange{Enabled: new(false)},
		db.AuditEntry{At: s.now, Actor: "ann", Action: "platform.set", Subject: "platform/kijiji"}))
	check(false)
}

// The wait before the next cycle follows the cooldown also where that becomes shorter because one of an operator's is
// taken back, of the platform or of a search.
func TestACooldownTakenBack(t *testing.T) {
	t.Parallel()
	s := scraper(t)
	set := func(c dblistings.PlatformChange) {
		t.Helper()
		require.NoError(t, s.Set(t.Context(), "kijiji", c,
			db.AuditEntry{At: s.now, Actor: "ann", Action: "platform.set", Subject: "platform/kijiji"}))
	}
	week := 7 * 24 * time.Hour
	set(dblistings.PlatformChange{Cooldown: &week})
	s.put(t, dblistings.SearchPut{SearchSettings: dblistings.SearchSettings{Cooldown: &week}})
	for range 2 {
		plan := s.begin(t)
		s.end(t, plan.Cycle)
	}
	require.Equal(t, scrape.Plan{Wait: week}, s.begin(t))
	set(dblistings.PlatformChange{Reset: true})
	require.Equal(t, scrape.Plan{Wait: time.Minute}, s.begin(t))
	s.now = s.now.Add(time.Minute)
	require.Equal(t, scrape.Plan{Go: true, Cycle: 3, Page: 1}, s.begin(t))
	s.end(t, 3)
	set(dblistings.PlatformChange{Paused: new(true)})
	set(dblistings.PlatformChange{Paused: new(false)})
	s.put(t, dblistings.SearchPut{})
	require.Equal(t, s.now.Add(time.Minute), s.get(t).Searches[1].NextCycleAt.UTC())
}

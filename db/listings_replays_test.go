package db_test

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// request is a replay of everything from normalize on, created an hour after the start.
func request(change ...func(*listing.Replay)) listing.Replay {
	r := listing.Replay{ID: uuid.New(), Stage: listing.StageNormalize, Rate: 20, By: "olga", At: after(60)}
	for _, f := range change {
		f(&r)
	}
	return r
}

func openReplay(t testing.TB, s *db.Replays, r listing.Replay) listing.Replay {
	t.Helper()

	require.NoError(t, s.OpenReplay(t.Context(), r))
	return r
}

// zoo is one advert of every kind, by its number in the platform.
func zoo(t testing.TB, pool *pgxpool.Pool) *db.Listings {
	t.Helper()

	s := db.NewListings(pool)
	receive(t, s, arrival(refOf("scraped"), "a", 0))
	imported(t, s, "imported")
	reject(t, s, refOf("rejected"), receive(t, s, arrival(refOf("rejected"), "b", 5)).Revision, 5)
	l := normalized(listing.Ref{Platform: "kangalou", PlatformID: "duplicate"})
	r := receive(t, s, arrival(l.Ref, l.Title, 10))
	require.NoError(t, s.SaveNormalized(t.Context(), l, r.Revision, after(10)))
	require.NoError(t, s.SaveDuplicate(t.Context(), l.Ref, r.Revision, refOf("imported").ID(), nil, runOf(l.Ref)))
	return s
}

func TestReplayFilters(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	zoo(t, pool)
	s := db.NewReplays(pool)
	for _, tt := range []struct {
		name   string
		filter listing.ReplayFilter
		want   []string
	}{
		{"everything", listing.ReplayFilter{}, []string{"duplicate", "imported", "rejected", "scraped"}},
		{"a platform", listing.ReplayFilter{Platform: "kangalou"}, []string{"duplicate"}},
		{"states", listing.ReplayFilter{Status: []string{"rejected", "scraped"}}, []string{"rejected", "scraped"}},
		{"scraped since", listing.ReplayFilter{ScrapedSince: ptr(after(5))}, []string{"duplicate", "rejected"}},
		{"scraped until", listing.ReplayFilter{ScrapedUntil: ptr(after(5))}, []string{"imported", "scraped"}},
		{"between", listing.ReplayFilter{ScrapedSince: ptr(after(1)), ScrapedUntil: ptr(after(9))}, []string{"rejected"}},
		{"by ID", listing.ReplayFilter{IDs: []uuid.UUID{refOf("scraped").ID(), refOf("unknown").ID()}}, []string{"scraped"}},
		{"by a reason's code", listing.ReplayFilter{Reason: "missing"}, []string{"rejected"}},
		{"by a reason that no advert has", listing.ReplayFilter{Reason: "odd"}, []string{}},
		{"combined", listing.ReplayFilter{Platform: "kijiji", Status: []string{"duplicate"}}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, err := s.Count(t.Context(), tt.filter, after(60))
			require.NoError(t, err)
			require.Equal(t, int64(len(tt.want)), n)
			r := openReplay(t, s, request(func(r *listing.Replay) { r.Filter = tt.filter }))
			got := []string{}
			items, err := s.NextOfReplay(t.Context(), r.ID, uuid.Nil, 10)
			require.NoError(t, err)
			for _, i := range items {
				got = append(got, i.Ref.PlatformID)
			}
			slices.Sort(got)
			require.Equal(t, tt.want, got)
			stored, err := s.Get(t.Context(), r.ID)
			require.NoError(t, err)
			require.Equal(t, n, stored.Total)
		})
	}
	// Adverts that arrive after the replay was created are not part of it.
	n, err := s.Count(t.Context(), listing.ReplayFilter{}, after(7))
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
	_, err = s.Count(t.Context(), listing.ReplayFilter{Platform: "a\x00b"}, start)
	requireClass(t, fault.Invalid, err)
}

// A replay of everything, from its order to its end: pages, skips, outcomes, and no step counted twice.
func TestReplayToItsEnd(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	listings := zoo(t, pool)
	s := db.NewReplays(pool)
	r := openReplay(t, s, request())
	openReplay(t, s, r)
	require.Equal(t, []string{"olga replay.started replay/" + r.ID.String()},
		query[string](t, pool, "SELECT actor || ' ' || action || ' ' || subject FROM audit"))

	p, err := s.SettleReplay(ctx, r.ID, after(61), after(51))
	require.NoError(t, err)
	require.Equal(t, listing.ReplayPosition{State: "running", Rate: 20}, p)
	first, err := s.NextOfReplay(ctx, r.ID, p.Last, 3)
	require.NoError(t, err)
	require.Len(t, first, 3)
	require.True(t, slices.IsSortedFunc(first, func(a, b listing.ReplayItem) int {
		x, y := a.Ref.ID(), b.Ref.ID()
		return bytes.Compare(x[:], y[:])
	}))
	for range 2 { // the first answer was lost
		require.NoError(t, s.AdvanceReplay(ctx, r.ID, p.Last, first, false, after(62)))
	}
	p, err = s.SettleReplay(ctx, r.ID, after(63), after(53))
	require.NoError(t, err)
	require.Equal(t, listing.ReplayPosition{State: "running", Rate: 20, Last: first[2].Ref.ID(), UnderWay: 3}, p)
	rest, err := s.NextOfReplay(ctx, r.ID, p.Last, 3)
	require.NoError(t, err)
	require.Len(t, rest, 1)
	rest[0].Skip = listing.SkipStaged
	require.NoError(t, s.AdvanceReplay(ctx, r.ID, p.Last, rest, true, after(64)))

	// Two come to an end, and the third never does.
	for n, item := range first[:2] {
		if n == 0 {
			reject(t, listings, item.Ref, item.Revision, 70)
			continue
		}
		publish(t, listings, normalized(item.Ref), item.Revision, 70)
	}
	p, err = s.SettleReplay(ctx, r.ID, after(71), after(61))
	require.NoError(t, err)
	require.Equal(t, listing.ReplayPosition{
		State: "running", Rate: 20, Last: rest[0].Ref.ID(), Exhausted: true, UnderWay: 1}, p)
	got, err := s.Get(ctx, r.ID)
	require.NoError(t, err)
	require.Equal(t, int64(3), got.Done)
	require.Equal(t, after(71).Add(11*time.Minute/3), got.ETA.UTC(), "a quarter is left")
	p, err = s.SettleReplay(ctx, r.ID, after(73), after(63))
	require.NoError(t, err)
	require.Equal(t, "completed", p.State)
	p, err = s.SettleReplay(ctx, r.ID, after(74), after(64))
	require.NoError(t, err)
	require.Equal(t, "completed", p.State)

	got, err = s.Get(ctx, r.ID)
	require.NoError(t, err)
	require.Equal(t, db.Replay{
		ID: r.ID, State: "completed", Stage: "normalize", Rate: 20, Total: 4, Done: 4, Started: 3, Skipped: 1, Failed: 1,
		Outcomes: db.ReplayOutcomes{Imported: 1, Rejected: 1}, Skips: db.ReplaySkips{Staged: 1}, StartedBy: "olga",
		CreatedAt: after(60), UpdatedAt: after(73), EndedAt: ptr(after(73)),
	}, utc(got))
	require.Zero(t, count(t, pool, "replay_items"))
	require.NoError(t, s.EndReplay(ctx, r.ID, "failed", "too late", after(75)))
	_, err = s.Cancel(ctx, r.ID, "olga", after(75))
	requireClass(t, fault.Conflict, err)
	require.Equal(t, int64(1), count(t, pool, "audit"))
}

// utc is r with its times in UTC: those of Postgres are in the zone of the machine.
func utc(r db.Replay) db.Replay {
	r.CreatedAt, r.UpdatedAt = r.CreatedAt.UTC(), r.UpdatedAt.UTC()
	if r.EndedAt != nil {
		r.EndedAt = ptr(r.EndedAt.UTC())
	}
	return r
}

// Which adverts a replay skips, and why, depends on the stage that it enters at.
func TestReplaySkips(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	listings := db.NewListings(pool)
	imported(t, listings, "archived")
	refused := imported(t, listings, "refused")
	reject(t, listings, refused.Ref, receive(t, listings, arrival(refused.Ref, "an edit", 1)).Revision, 1)
	archive(t, listings, 2)
	imported(t, listings, "edited")
	receive(t, listings, arrival(refOf("edited"), "an edit", 30))
	staged := normalized(refOf("staged"))
	_, err := listings.ReceiveStaged(ctx, db.Arrival{
		Ref: staged.Ref, URL: staged.URL, Payload: []byte(`{"listing": {}, "title": "x"}`), ContentHash: []byte("x"), ScrapedAt: start,
	}, staged, start)
	require.NoError(t, err)
	for stage, want := range map[string]map[string]string{
		listing.StageNormalize: {"archived": "archived", "refused": "", "edited": "", "staged": "staged"},
		listing.StageDedupe:    {"archived": "archived", "refused": "not_normalized", "edited": "not_normalized", "staged": ""},
		listing.StageImport:    {"archived": "archived", "refused": "not_normalized", "edited": "not_normalized", "staged": ""},
	} {
		s := db.NewReplays(pool)
		r := openReplay(t, s, request(func(r *listing.Replay) { r.Stage = stage }))
		items, err := s.NextOfReplay(ctx, r.ID, uuid.Nil, 10)
		require.NoError(t, err)
		got := map[string]string{}
		for _, i := range items {
			require.Equal(t, stage, i.Stage)
			got[i.Ref.PlatformID] = i.Skip
		}
		require.Equal(t, want, got, stage)
	}
}

// A replay that was cancelled cannot be advanced.
func TestCancelReplay(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	zoo(t, pool)
	s := db.NewReplays(pool)
	r := openReplay(t, s, request())
	items, err := s.NextOfReplay(ctx, r.ID, uuid.Nil, 2)
	require.NoError(t, err)
	require.NoError(t, s.AdvanceReplay(ctx, r.ID, uuid.Nil, items, false, after(61)))
	for range 2 {
		got, err := s.Cancel(ctx, r.ID, "otto", after(62))
		require.NoError(t, err)
		require.Equal(t, "canceled", got.State)
		require.Equal(t, after(62), got.EndedAt.UTC())
		require.Nil(t, got.ETA)
	}
	require.Equal(t, []string{"olga replay.started", "otto replay.canceled"},
		query[string](t, pool, "SELECT actor || ' ' || action FROM audit ORDER BY id"))
	require.Zero(t, count(t, pool, "replay_items"))
	require.NoError(t, s.AdvanceReplay(ctx, r.ID, items[1].Ref.ID(), items, false, after(63)))
	require.Zero(t, count(t, pool, "replay_items"), "a batch that was under way adds nothing")
	p, err := s.SettleReplay(ctx, r.ID, after(64), after(54))
	require.NoError(t, err)
	require.Equal(t, "canceled", p.State)

	unknown := uuid.New()
	_, err = s.Cancel(ctx, unknown, "otto", after(62))
	requireClass(t, fault.Gone, err)
	_, err = s.Get(ctx, unknown)
	requireClass(t, fault.Gone, err)
	_, err = s.SettleReplay(ctx, unknown, after(62), start)
	requireClass(t, fault.Gone, err)
}

func TestListReplays(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := db.NewReplays(pool)
	var want []uuid.UUID
	for n := range 5 {
		r := openReplay(t, s, request(func(r *listing.Replay) { r.At = after(n / 2) })) // some at the same time
		want = append(want, r.ID)
	}
	require.NoError(t, s.EndReplay(ctx, want[0], "failed", "why\x00", after(9)))
	var got []uuid.UUID
	var at *db.Position
	for range 3 {
		page, next, err := s.List(ctx, "", at, 2)
		require.NoError(t, err)
		for _, r := range page {
			got = append(got, r.ID)
		}
		at = next
	}
	require.Nil(t, at)
	require.ElementsMatch(t, want, got)
	require.Equal(t, want[4], got[0], "the newest comes first")
	page, _, err := s.List(ctx, "failed", nil, 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, "why\ufffd", page[0].Reason)
}

// A workflow could not correct an unknown stage or rate, so they are invalid.
func TestOpenReplayRefuses(t *testing.T) {
	t.Parallel()

	s := db.NewReplays(dbtest.New(t))
	for _, change := range []func(*listing.Replay){
		func(r *listing.Replay) { r.Stage = "images" },
		func(r *listing.Replay) { r.Rate = 0 },
		func(r *listing.Replay) { r.Filter.Reason = "a\x00" },
	} {
		requireClass(t, fault.Invalid, s.OpenReplay(t.Context(), request(change)))
	}
}

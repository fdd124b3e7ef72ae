package listings_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// request is a replay of everything from normalize on, created an hour after the start.
func request(change ...func(*listing.Replay)) listing.Replay {
	r := listing.Replay{ID: uuid.New(), Stage: listing.StageNormalize, Rate: 20, By: "olga", At: dbtest.After(60)}
	for _, f := range change {
		f(&r)
	}
	return r
}

func openReplay(t testing.TB, s *dblistings.Replays, r listing.Replay) listing.Replay {
	t.Helper()

	require.NoError(t, s.OpenReplay(t.Context(), r))
	return r
}

// zoo is one advert of every kind, by its number in the platform.
func zoo(t testing.TB, pool *pgxpool.Pool) *dblistings.Listings {
	t.Helper()

	s := dblistings.NewListings(pool)
	receive(t, s, arrival(refOf("scraped"), "a", 0))
	imported(t, s, "imported")
	reject(t, s, refOf("rejected"), receive(t, s, arrival(refOf("rejected"), "b", 5)).Revision, 5)
	l := normalized(listing.Ref{Platform: "kangalou", PlatformID: "duplicate"})
	r := receive(t, s, arrival(l.Ref, l.Title, 10))
	require.NoError(t, s.SaveNormalized(t.Context(), l, payload(r.Revision), dbtest.After(10)))
	require.NoError(t, s.SaveDuplicate(t.Context(), l.Ref, r.Revision, refOf("imported").ID(), nil, runOf(l.Ref), dbtest.Start))
	return s
}

func TestReplayFilters(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	zoo(t, pool)
	s := dblistings.NewReplays(pool)
	for _, tt := range []struct {
		name   string
		filter listing.ReplayFilter
		want   []string
	}{
		{"everything", listing.ReplayFilter{}, []string{"duplicate", "imported", "rejected", "scraped"}},
		{"a platform", listing.ReplayFilter{Platform: "kangalou"}, []string{"duplicate"}},
		{"states", listing.ReplayFilter{Status: []string{"rejected", "scraped"}}, []string{"rejected", "scraped"}},
		{"scraped since", listing.ReplayFilter{ScrapedSince: ptr(dbtest.After(5))}, []string{"duplicate", "rejected"}},
		{"scraped until", listing.ReplayFilter{ScrapedUntil: ptr(dbtest.After(5))}, []string{"imported", "scraped"}},
		{"between", listing.ReplayFilter{ScrapedSince: ptr(dbtest.After(1)), ScrapedUntil: ptr(dbtest.After(9))}, []string{"rejected"}},
		{"by ID", listing.ReplayFilter{IDs: []uuid.UUID{refOf("scraped").ID(), refOf("unknown").ID()}}, []string{"scraped"}},
		{"by a reason's code", listing.ReplayFilter{Reason: "missing"}, []string{"rejected"}},
		{"by a reason that no advert has", listing.ReplayFilter{Reason: "odd"}, []string{}},
		{"combined", listing.ReplayFilter{Platform: "kijiji", Status: []string{"duplicate"}}, []string{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n, exact, err := s.Count(t.Context(), tt.filter, time.Minute, dbtest.After(60))
			require.True(t, exact)
			require.NoError(t, err)
			require.Equal(t, int64(len(tt.want)), n)
			r := openReplay(t, s, request(func(r *listing.Replay) { r.Filter = tt.filter }))
			got := []string{}
			page, err := s.NextOfReplay(t.Context(), r.ID, uuid.Nil, 10, dbtest.Start)
			require.NoError(t, err)
			for _, i := range page.Items {
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
	n, _, err := s.Count(t.Context(), listing.ReplayFilter{}, time.Minute, dbtest.After(7))
	require.NoError(t, err)
	require.Equal(t, int64(3), n)
	_, _, err = s.Count(t.Context(), listing.ReplayFilter{Platform: "a\x00b"}, time.Minute, dbtest.Start)
	dbtest.RequireClass(t, fault.Invalid, err)
}

// A replay of everything, from its order to its end: pages, skips, outcomes, and no step counted twice.
func TestReplayToItsEnd(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	listings := zoo(t, pool)
	s := dblistings.NewReplays(pool)
	r := openReplay(t, s, request())
	openReplay(t, s, r)
	require.Equal(t, []string{"olga replay.started replay/" + r.ID.String()},
		dbtest.Query[string](t, pool, "SELECT actor || ' ' || action || ' ' || subject FROM audit"))

	p, err := s.SettleReplay(ctx, r.ID, dbtest.After(61), dbtest.After(51))
	require.NoError(t, err)
	require.Equal(t, listing.ReplayPosition{State: "running", Rate: 20, Counted: true}, p)
	page, err := s.NextOfReplay(ctx, r.ID, p.Last, 3, dbtest.Start)
	first := page.Items
	require.NoError(t, err)
	require.Len(t, first, 3)
	require.True(t, slices.IsSortedFunc(first, func(a, b listing.ReplayItem) int {
		x, y := a.Ref.ID(), b.Ref.ID()
		return bytes.Compare(x[:], y[:])
	}))
	for range 2 { // the first answer was lost
		require.NoError(t, s.AdvanceReplay(ctx, r.ID, p.Last, page, dbtest.After(62)))
	}
	p, err = s.SettleReplay(ctx, r.ID, dbtest.After(63), dbtest.After(53))
	require.NoError(t, err)
	require.Equal(t, listing.ReplayPosition{State: "running", Rate: 20, Last: first[2].Ref.ID(), UnderWay: 3, Counted: true}, p)
	page, err = s.NextOfReplay(ctx, r.ID, p.Last, 3, dbtest.Start)
	rest := page.Items
	require.NoError(t, err)
	require.Len(t, rest, 1)
	rest[0].Skip = listing.SkipStaged
	require.NoError(t, s.AdvanceReplay(ctx, r.ID, p.Last, page, dbtest.After(64)))

	// Two come to an end, and the third never does.
	for n, item := range first[:2] {
		if n == 0 {
			reject(t, listings, item.Ref, item.Revision, 70)
			continue
		}
		publish(t, listings, normalized(item.Ref), item.Revision, 70)
	}
	p, err = s.SettleReplay(ctx, r.ID, dbtest.After(71), dbtest.After(61))
	require.NoError(t, err)
	require.Equal(t, listing.ReplayPosition{
		State: "running", Rate: 20, Last: rest[0].Ref.ID(), Exhausted: true, UnderWay: 1, Counted: true}, p)
	got, err := s.Get(ctx, r.ID)
	require.NoError(t, err)
	require.Equal(t, int64(3), got.Done)
	require.Equal(t, dbtest.After(71).Add(11*time.Minute/3), got.ETA.UTC(), "a quarter is left")
	p, err = s.SettleReplay(ctx, r.ID, dbtest.After(73), dbtest.After(63))
	require.NoError(t, err)
	require.Equal(t, "completed", p.State)
	p, err = s.SettleReplay(ctx, r.ID, dbtest.After(74), dbtest.After(64))
	require.NoError(t, err)
	require.Equal(t, "completed", p.State)

	got, err = s.Get(ctx, r.ID)
	require.NoError(t, err)
	require.Equal(t, dblistings.Replay{
		ID: r.ID, State: "completed", Stage: "normalize", Rate: 20, Total: 4, Counted: true, Done: 4, Started: 3, Skipped: 1, Failed: 1,
		Outcomes: dblistings.ReplayOutcomes{Imported: 1, Rejected: 1}, Skips: dblistings.ReplaySkips{Staged: 1}, StartedBy: "olga",
		CreatedAt: dbtest.After(60), UpdatedAt: dbtest.After(73), EndedAt: ptr(dbtest.After(73)),
	}, utc(got))
	require.Zero(t, dbtest.Count(t, pool, "replay_items"))
	require.NoError(t, s.EndReplay(ctx, r.ID, "failed", "too late", dbtest.After(75)))
	_, err = s.Cancel(ctx, r.ID, "olga", dbtest.After(75))
	dbtest.RequireClass(t, fault.Conflict, err)
	require.Equal(t, int64(1), dbtest.Count(t, pool, "audit"))
}

// utc is r with its times in UTC: those of Postgres are in the zone of the machine.
func utc(r dblistings.Replay) dblistings.Replay {
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
	listings := dblistings.NewListings(pool)
	imported(t, listings, "archived")
	refused := imported(t, listings, "refused")
	reject(t, listings, refused.Ref, receive(t, listings, arrival(refused.Ref, "an edit", 1)).Revision, 1)
	archive(t, listings, 2)
	imported(t, listings, "edited")
	receive(t, listings, arrival(refOf("edited"), "an edit", 30))
	staged := normalized(refOf("staged"))
	_, err := listings.ReceiveStaged(ctx, dblistings.Arrival{
		Ref: staged.Ref, URL: staged.URL, Payload: []byte(`{"listing": {}, "title": "x"}`), ContentHash: []byte("x"), ScrapedAt: dbtest.Start,
	}, 0, staged, dbtest.Start)
	require.NoError(t, err)
	for _, id := range []string{"removed", "removed-claimed", "removed-rejected"} {
		l := imported(t, listings, id)
		if id == "removed-rejected" {
			reject(t, listings, l.Ref, receive(t, listings, arrival(l.Ref, "an edit", 1)).Revision, 1)
		}
		require.NoError(t, dblistings.NewPlatforms(pool).Gone(ctx, l.Ref, 1, "removed", dbtest.After(3)))
	}
	_, err = pool.Exec(ctx, "UPDATE listings SET status = 'claimed' WHERE platform_id = 'removed-claimed'")
	require.NoError(t, err)
	receive(t, listings, arrival(refOf("unseen"), "x", -1))
	for stage, want := range map[string]map[string]string{
		listing.StageNormalize: {"archived": "archived", "refused": "", "edited": "", "staged": "staged", "removed-claimed": ""},
		listing.StageDedupe:    {"archived": "archived", "refused": "not_normalized", "edited": "not_normalized", "staged": "", "removed-claimed": ""},
		listing.StageImport:    {"archived": "archived", "refused": "not_normalized", "edited": "not_normalized", "staged": "", "removed-claimed": ""},
	} {
		for _, id := range []string{"removed", "removed-rejected", "unseen"} {
			want[id] = "gone"
		}
		s := dblistings.NewReplays(pool)
		r := openReplay(t, s, request(func(r *listing.Replay) { r.Stage = stage }))
		page, err := s.NextOfReplay(ctx, r.ID, uuid.Nil, 10, dbtest.Start)
		require.NoError(t, err)
		got := map[string]string{}
		for _, i := range page.Items {
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
	s := dblistings.NewReplays(pool)
	r := openReplay(t, s, request())
	page, err := s.NextOfReplay(ctx, r.ID, uuid.Nil, 2, dbtest.Start)
	require.NoError(t, err)
	require.NoError(t, s.AdvanceReplay(ctx, r.ID, uuid.Nil, page, dbtest.After(61)))
	for range 2 {
		got, err := s.Cancel(ctx, r.ID, "otto", dbtest.After(62))
		require.NoError(t, err)
		require.Equal(t, "canceled", got.State)
		require.Equal(t, dbtest.After(62), got.EndedAt.UTC())
		require.Nil(t, got.ETA)
	}
	require.Equal(t, []string{"olga replay.started", "otto replay.canceled"},
		dbtest.Query[string](t, pool, "SELECT actor || ' ' || action FROM audit ORDER BY id"))
	require.Zero(t, dbtest.Count(t, pool, "replay_items"))
	require.NoError(t, s.AdvanceReplay(ctx, r.ID, page.Items[1].Ref.ID(), page, dbtest.After(63)))
	require.Zero(t, dbtest.Count(t, pool, "replay_items"), "a batch that was under way adds nothing")
	p, err := s.SettleReplay(ctx, r.ID, dbtest.After(64), dbtest.After(54))
	require.NoError(t, err)
	require.Equal(t, "canceled", p.State)

	unknown := uuid.New()
	_, err = s.Cancel(ctx, unknown, "otto", dbtest.After(62))
	dbtest.RequireClass(t, fault.Gone, err)
	_, err = s.Get(ctx, unknown)
	dbtest.RequireClass(t, fault.Gone, err)
	_, err = s.SettleReplay(ctx, unknown, dbtest.After(62), dbtest.Start)
	dbtest.RequireClass(t, fault.Gone, err)
}

func TestListReplays(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewReplays(pool)
	var want []uuid.UUID
	for n := range 5 {
		r := openReplay(t, s, request(func(r *listing.Replay) { r.At = dbtest.After(n / 2) })) // some at the same time
		want = append(want, r.ID)
	}
	require.NoError(t, s.EndReplay(ctx, want[0], "failed", "why\x00", dbtest.After(9)))
	var got []uuid.UUID
	var at *db.Position
	for range 3 {
		page, next, err := s.List(ctx, nil, at, 2)
		require.NoError(t, err)
		for _, r := range page {
			got = append(got, r.ID)
		}
		at = next
	}
	require.Nil(t, at)
	require.ElementsMatch(t, want, got)
	require.Equal(t, want[4], got[0], "the newest comes first")
	page, _, err := s.List(ctx, []string{"failed"}, nil, 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, "why\ufffd", page[0].Reason)
}

// A workflow could not correct an unknown stage or rate, so they are invalid.
func TestOpenReplayRefuses(t *testing.T) {
	t.Parallel()

	s := dblistings.NewReplays(dbtest.New(t))
	for _, change := range []func(*listing.Replay){
		func(r *listing.Replay) { r.Stage = "images" },
		func(r *listing.Replay) { r.Rate = 0 },
		func(r *listing.Replay) { r.Filter.Reason = "a\x00" },
	} {
		dbtest.RequireClass(t, fault.Invalid, s.OpenReplay(t.Context(), request(change)))
	}
}

// A replay looks at a large table in stretches, and counts it in others: each is short, whatever matches.
func TestReplayOfALargeTable(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()

	const adverts, every = 25_000, 100
	pool, ctx := dbtest.New(t), t.Context()
	ids := make([]uuid.UUID, adverts)
	for n := range ids {
		ids[n] = refOf(fmt.Sprint(n + 1)).ID()
	}
	_, err := pool.Exec(ctx, `INSERT INTO raw_listings (id, platform, platform_id, url, payload, content_hash, status,
			first_scraped_at, last_scraped_at, payload_at, revised_at)
		SELECT id, 'kijiji', n::text, '', '{}', '', CASE WHEN n % $3::int = 0 THEN 'rejected' ELSE 'scraped' END,
			$1, $1, $1, $1 FROM unnest($2::uuid[]) WITH ORDINALITY u (id, n)`, dbtest.Start, ids, every)
	require.NoError(t, err)
	s := dblistings.NewReplays(pool)
	filter := listing.ReplayFilter{Status: []string{"rejected"}}
	r := openReplay(t, s, request(func(r *listing.Replay) { r.Filter = filter }))
	first, err := s.Get(ctx, r.ID)
	require.NoError(t, err)
	require.False(t, first.Counted)
	require.Less(t, first.Total, int64(adverts/every))
	require.Nil(t, first.ETA)

	// Counted to the end, whoever counts.
	for range 4 {
		for range 2 {
			require.NoError(t, s.CountReplay(ctx, r.ID))
		}
	}
	counted, err := s.Get(ctx, r.ID)
	require.NoError(t, err)
	require.True(t, counted.Counted)
	require.EqualValues(t, adverts/every, counted.Total)

	seen, last, stretches := 0, uuid.Nil, 0
	for more := true; more && stretches < 1000; stretches++ {
		page, err := s.NextOfReplay(ctx, r.ID, last, 7, dbtest.Start)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Items), 7)
		require.NoError(t, s.AdvanceReplay(ctx, r.ID, last, page, dbtest.After(61)))
		seen, last, more = seen+len(page.Items), page.Last, page.More
	}
	require.Equal(t, adverts/every, seen)
	require.Greater(t, stretches, 20)

	// One that comes to its end before it is counted knows its number.
	other := openReplay(t, s, request(func(r *listing.Replay) { r.Filter = filter }))
	require.NoError(t, s.AdvanceReplay(ctx, other.ID, uuid.Nil, listing.ReplayPage{
		Items: []listing.ReplayItem{{Skip: listing.SkipGone}, {Skip: listing.SkipStaged}}, Last: refOf("1").ID(),
	}, dbtest.After(61)))
	got, err := s.Get(ctx, other.ID)
	require.NoError(t, err)
	require.Equal(t, []any{true, int64(2)}, []any{got.Counted, got.Total})

	// Where there is no time to count, Postgres' estimate must do.
	dbtest.Alter(t, pool, "ANALYZE raw_listings")
	n, exact, err := s.Count(ctx, filter, time.Nanosecond, dbtest.After(60))
	require.NoError(t, err)
	require.False(t, exact)
	require.InDelta(t, adverts/every, n, adverts/every/2)
}

// A worker that was frozen stores, after another has settled the replay, that it has started the last adverts: the
// replay is not complete.
func TestSettleReplayBesideAnAdvance(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	zoo(t, pool)
	s := dblistings.NewReplays(pool)
	r := openReplay(t, s, request())
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	_, err = tx.Exec(ctx, "UPDATE replays SET exhausted = true, started = 1 WHERE id = $1", r.ID)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "INSERT INTO replay_items VALUES ($1, $2, 0, $3)", r.ID, refOf("scraped").ID(), dbtest.After(61))
	require.NoError(t, err)
	settled := make(chan listing.ReplayPosition, 1)
	var work errgroup.Group
	work.Go(func() error {
		p, err := s.SettleReplay(ctx, r.ID, dbtest.After(62), dbtest.After(52))
		settled <- p
		return err
	})
	require.Eventually(t, func() bool {
		return dbtest.Count(t, pool, `pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) > 0
	}, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, tx.Commit(ctx))
	require.NoError(t, work.Wait())
	p := <-settled
	require.Equal(t, "running", p.State)
	require.Equal(t, 1, p.UnderWay)
}

// One replay runs at a time for a platform; a request that is repeated is the same replay.
func TestStartReplay(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	zoo(t, pool)
	s := dblistings.NewReplays(pool)
	of := func(platform string) listing.Replay {
		return request(func(r *listing.Replay) { r.Filter.Platform = platform })
	}
	first, err := s.StartReplay(ctx, of("kijiji"))
	require.NoError(t, err)
	require.Equal(t, []any{"running", int64(3), true}, []any{first.State, first.Total, first.Counted})

	for _, platform := range []string{"kijiji", ""} {
		_, err = s.StartReplay(ctx, of(platform))
		dbtest.RequireClass(t, fault.Conflict, err)
		require.ErrorContains(t, err, first.ID.String(), "it names the one that runs")
	}
	other, err := s.StartReplay(ctx, of("kangalou"))
	require.NoError(t, err)

	// Repeated: by its ID, and without one.
	again := of("kijiji")
	again.ID = first.ID
	for _, id := range []uuid.UUID{first.ID, uuid.Nil} {
		again.ID = id
		got, err := s.StartReplay(ctx, again)
		require.NoError(t, err)
		require.Equal(t, first.ID, got.ID)
	}
	again.Rate++
	for _, id := range []uuid.UUID{first.ID, uuid.Nil} {
		again.ID = id
		_, err := s.StartReplay(ctx, again)
		dbtest.RequireClass(t, fault.Conflict, err)
	}

	// Those to which nothing happens are started again.
	lost, err := s.Unstarted(ctx, first.UpdatedAt.Add(time.Second), 10)
	require.NoError(t, err)
	require.ElementsMatch(t, []listing.Replay{first.Request(), other.Request()}, lost)
	lost, err = s.Unstarted(ctx, first.UpdatedAt, 10)
	require.NoError(t, err)
	require.Empty(t, lost)

	// Without an ID one is made, and what has ended is joined as it is.
	for _, id := range []uuid.UUID{first.ID, other.ID} {
		require.NoError(t, s.EndReplay(ctx, id, "failed", "why", dbtest.After(61)))
	}
	require.Equal(t, int64(2), dbtest.Count(t, pool, "replays"))
	require.Equal(t, int64(2), dbtest.Count(t, pool, "audit WHERE action = 'replay.started'"))
	again.Rate, again.ID = first.Rate, first.ID
	got, err := s.StartReplay(ctx, again)
	require.NoError(t, err)
	require.Equal(t, "failed", got.State)
	again.ID = uuid.Nil
	got, err = s.StartReplay(ctx, again)
	require.NoError(t, err)
	require.NotEqual(t, first.ID, got.ID)
}

// Of many requests at once one starts a replay, and the others are told which.
func TestStartReplaysAtOnce(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewReplays(pool)
	var work errgroup.Group
	var started atomic.Int32
	for range 8 {
		work.Go(func() error {
			_, err := s.StartReplay(ctx, request())
			if class, _ := fault.Of(err); class == fault.Conflict {
				return nil
			}
			started.Add(1)
			return err
		})
	}
	require.NoError(t, work.Wait())
	require.EqualValues(t, 1, started.Load())
	require.Equal(t, int64(1), dbtest.Count(t, pool, "replays"))
}

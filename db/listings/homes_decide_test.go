package listings_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// homesNow is everything that a decision may change and its undoing restores; that a listing has changed stays true.
func homesNow(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	return dbtest.Query[string](t, pool, `
		SELECT to_jsonb(m)::text FROM home_members m
		UNION ALL SELECT to_jsonb(h)::text FROM homes h
		UNION ALL SELECT to_jsonb(a)::text FROM home_apart a
		UNION ALL SELECT (to_jsonb(l) - 'details' - 'words' - 'search' - 'updated_at')::text FROM listings l
		UNION ALL SELECT (to_jsonb(r) - 'payload' - 'normalized')::text FROM raw_listings r
		ORDER BY 1`)
}

func decide(t testing.TB, s *dblistings.Listings, home uuid.UUID, say string, l listing.Listing, minutes int) dblistings.HomeDecided {
	t.Helper()

	got, err := s.DecideHome(t.Context(), dblistings.HomeDecision{
		Home: home, Verdict: say, Listing: l.ID(), By: "Ginette", At: dbtest.After(minutes)}, nil)
	require.NoError(t, err)
	return got
}

// Whatever a person says is followed at once, is not overruled by a rule, and can be undone without a trace.
func TestDecideHome(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name    string
		say     string
		who     listing.Listing // the advert that it is said of
		visible []string
		restart []string
		again   []string // visible after the restarts, and after all were judged again
		events  []string
	}{
		{"the twin is another home", listing.SayDifferent, flat("kangalou", 1), []string{"kijiji/1", "kijiji/9"},
			[]string{"kangalou/1"}, []string{"kangalou/1", "kijiji/1", "kijiji/9"}, []string{contract.ListingSplit}},
		{"the shown one is another home", listing.SayDifferent, flat("kijiji", 1), []string{"kijiji/1", "kijiji/9"},
			[]string{"kangalou/1"}, []string{"kangalou/1", "kijiji/1", "kijiji/9"}, []string{contract.ListingSplit}},
		{"two that no rule would join", listing.SaySame, flat("kijiji", 9), []string{"kijiji/1"}, nil, []string{"kijiji/1"},
			[]string{contract.ListingMerged}},
		{"the twin is to be shown", listing.SayShow, flat("kangalou", 1), []string{"kijiji/1", "kijiji/9"},
			[]string{"kangalou/1"}, []string{"kangalou/1", "kijiji/9"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			all := []listing.Listing{flat("kijiji", 1), flat("kangalou", 1), flat("kijiji", 9)}
			for n, l := range all {
				pass(t, s, l, n)
			}
			home := all[0].ID()
			require.Equal(t, []string{"kijiji/1", "kijiji/9"}, visible(t, pool))
			require.Len(t, homeEvents(t, pool), 1)
			before := homesNow(t, pool)

			first := decide(t, s, home, tt.say, tt.who, 10)
			archived := eventsOf(t, pool, contract.ListingArchived)
			require.Equal(t, tt.visible, visible(t, pool))
			require.Equal(t, tt.events, append([]string(nil), homeEvents(t, pool)[1:]...))
			require.NoError(t, s.UndoHomeVerdict(t.Context(), first.Verdict, "Ginette", dbtest.After(11)))
			require.Equal(t, before, homesNow(t, pool))
			require.Len(t, homeEvents(t, pool), 1+2*len(tt.events), "the way back is told as well")
			_, err := s.DecideHome(t.Context(), dblistings.HomeDecision{
				Home: home, Verdict: tt.say, Listing: uuid.New(), At: dbtest.Start}, nil)
			dbtest.RequireClass(t, fault.Gone, err)
			dbtest.RequireClass(t, fault.Conflict, s.UndoHomeVerdict(t.Context(), first.Verdict, "Ginette", dbtest.After(11)))
			dbtest.RequireClass(t, fault.Gone, s.UndoHomeVerdict(t.Context(), 99, "Ginette", dbtest.After(11)))

			moved := dbtest.Query[string](t, pool, "SELECT platform || '/' || platform_id FROM listings WHERE updated_at >= $1",
				dbtest.After(11))
			second := decide(t, s, home, tt.say, tt.who, 12)
			if tt.say == listing.SaySame {
				require.Equal(t, []string{"kijiji/9"}, moved, "readers of what has changed see that it is back")
				require.EqualValues(t, 1, archived)
				require.EqualValues(t, 2, eventsOf(t, pool, contract.ListingArchived), "each time is told")
			}
			var restart []string
			for _, r := range second.Restart {
				restart = append(restart, r.Ref.String())
				require.Equal(t, listing.StageDedupe, r.Stage)
			}
			require.Equal(t, tt.restart, restart)
			for _, l := range all { // of what was restarted, and then of all, which a replay does
				if fmt.Sprint(restart) == fmt.Sprint([]string{l.Ref.String()}) {
					again(t, s, l, 13)
				}
			}
			for round := range 2 {
				for _, l := range all {
					again(t, s, l, 14+round)
				}
				require.Equal(t, tt.again, visible(t, pool))
			}
			require.EqualValues(t, 3, dbtest.Count(t, pool, "audit WHERE actor = 'Ginette'"))

			// Undone after all that, it is as it was.
			require.NoError(t, s.UndoHomeVerdict(t.Context(), second.Verdict, "Ginette", dbtest.After(20)))
			require.Equal(t, []string{"kijiji/1", "kijiji/9"}, visible(t, pool))
			require.Equal(t, []string{"kangalou/1"}, dbtest.Query[string](t, pool,
				"SELECT platform || '/' || platform_id FROM raw_listings WHERE status = 'duplicate'"))
			require.EqualValues(t, 0, dbtest.Count(t, pool, "home_apart"))
			for _, l := range all {
				again(t, s, l, 21)
			}
			require.Equal(t, []string{"kijiji/1", "kijiji/9"}, visible(t, pool))
		})
	}
}

// Decisions about the same adverts are undone from the last to the first.
func TestUndoHomeVerdictsInOrder(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	a, b := flat("kijiji", 1), flat("kangalou", 2)
	pass(t, s, a, 0)
	pass(t, s, b, 1)
	before := homesNow(t, pool)
	first := decide(t, s, a.ID(), listing.SaySame, b, 2)
	require.Equal(t, []string{"kijiji/1"}, visible(t, pool))
	second := decide(t, s, first.Home, listing.SayShow, b, 3)
	require.Equal(t, []string{"kangalou/2"}, visible(t, pool), "it was published before, so it is at once")
	require.Equal(t, []listing.Restart{{Ref: b.Ref, Stage: listing.StageDedupe, Revision: 1, Title: b.Title, RentCents: &b.RentCents}},
		second.Restart)
	dbtest.RequireClass(t, fault.Conflict, s.UndoHomeVerdict(t.Context(), first.Verdict, "x", dbtest.After(4)))
	require.NoError(t, s.UndoHomeVerdict(t.Context(), second.Verdict, "x", dbtest.After(4)))
	require.Equal(t, []string{"kijiji/1"}, visible(t, pool))
	require.NoError(t, s.UndoHomeVerdict(t.Context(), first.Verdict, "x", dbtest.After(5)))
	require.Equal(t, before, homesNow(t, pool))
}

// What a decision shows again is published as its platform offers it now, not as it was when it was hidden, and its
// pictures, which retention may have deleted meanwhile, are wanted again.
func TestDecideHomeOfAnAdvertThatChanged(t *testing.T) {
	t.Parallel()

	for _, say := range []string{listing.SayShow, listing.SayDifferent} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			first, twin := flat("kijiji", 1), flat("kangalou", 1)
			first.ImageURLs = []string{"http://i.example/1.jpg"}
			pass(t, s, first, 0, "kangalou")
			require.False(t, pass(t, s, twin, 1, "kangalou").Hidden)
			first.RentCents -= 500
			require.True(t, pass(t, s, first, 2, "kangalou").Hidden)
			dbtest.Exec(t, pool, "DELETE FROM listing_images")

			decided := decide(t, s, first.ID(), say, first, 3)
			require.Contains(t, visible(t, pool), "kijiji/1")
			require.Len(t, decided.Restart, 1)
			require.Equal(t, first.Ref, decided.Restart[0].Ref)
			require.Equal(t, decided, decide(t, s, first.ID(), say, first, 3), "it is asked again while that is under way")
			require.False(t, again(t, s, first, 4, "kangalou").Hidden)
			require.Equal(t, []int64{first.RentCents}, dbtest.Query[int64](t, pool,
				"SELECT rent_cents FROM listings WHERE platform = 'kijiji' AND status = 'active'"))
			require.Equal(t, first.ImageURLs, dbtest.Query[string](t, pool, "SELECT url FROM listing_images WHERE state = 'pending'"))
			require.Zero(t, dbtest.Count(t, pool, "raw_listings WHERE platform = 'kijiji' AND settled_revision < revision"))
		})
	}
}

// An advert that its platform does not offer any more leaves its home without becoming visible, and cannot be shown in
// place of the others. Its next scrape publishes it.
func TestDecideHomeOfAnAdvertThatIsGone(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, prefer string
		hidden, who  listing.Listing // who is said to be another home
	}{
		{"it is another home", "kangalou", flat("kijiji", 1), flat("kijiji", 1)},
		{"the shown one is another home", "kangalou", flat("kijiji", 1), flat("kangalou", 1)},
		{"it was never published", "kijiji", flat("kangalou", 1), flat("kangalou", 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			pass(t, s, flat("kijiji", 1), 0, tt.prefer)
			pass(t, s, flat("kangalou", 1), 1, tt.prefer)
			shown := visible(t, pool)
			require.Equal(t, []string{tt.prefer + "/1"}, shown)
			dbtest.Exec(t, pool, "UPDATE raw_listings SET gone_at = $2 WHERE id = $1", tt.hidden.ID(), dbtest.After(2))
			d := dblistings.HomeDecision{
				Home: flat("kijiji", 1).ID(), Verdict: listing.SayShow, Listing: tt.hidden.ID(), At: dbtest.After(3),
			}
			_, err := s.DecideHome(t.Context(), d, nil)
			dbtest.RequireClass(t, fault.Conflict, err)
			before, events := homesNow(t, pool), dbtest.Count(t, pool, "listing_events")

			d.Verdict, d.Listing = listing.SayDifferent, tt.who.ID()
			decided, err := s.DecideHome(t.Context(), d, nil)
			require.NoError(t, err)
			require.Equal(t, shown, visible(t, pool))
			require.Equal(t, events, dbtest.Count(t, pool, "listing_events"))
			require.Len(t, decided.Restart, 1)
			require.Equal(t, tt.hidden.Ref, decided.Restart[0].Ref)
			v, err := s.Load(t.Context(), tt.hidden.ID())
			require.NoError(t, err)
			require.Zero(t, v.HiddenBy)
			require.True(t, v.Withheld(time.Time{}))
			require.NoError(t, s.UndoHomeVerdict(t.Context(), decided.Verdict, "Ginette", dbtest.After(4)))
			require.Equal(t, before, homesNow(t, pool))

			_, err = s.DecideHome(t.Context(), d, nil)
			require.NoError(t, err)
			require.NoError(t, s.Withhold(t.Context(), v, runOf(tt.hidden.Ref), dbtest.After(5)))
			r := receive(t, s, arrival(tt.hidden.Ref, fmt.Sprint(tt.hidden.Title, tt.hidden.RentCents), 6))
			require.False(t, r.Settled, "it is offered again")
			again(t, s, tt.hidden, 6)
			require.Equal(t, []string{"kangalou/1", "kijiji/1"}, visible(t, pool))
		})
	}
}

// A decision whose answer was lost is said again: it is one decision, and undone as one. Adverts that were to be
// published and are not yet are named again.
func TestDecideHomeAgain(t *testing.T) {
	t.Parallel()

	for _, say := range []string{listing.SaySame, listing.SayDifferent, listing.SayShow} {
		t.Run(say, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			s := dblistings.NewListings(pool)
			first, twin, other := flat("kijiji", 1), flat("kangalou", 1), flat("centris", 9)
			for n, l := range []listing.Listing{first, twin, other} {
				pass(t, s, l, n)
			}
			about := twin
			if say == listing.SaySame {
				about = other
			}
			before := homesNow(t, pool)
			said := decide(t, s, first.ID(), say, about, 3)
			after1 := homesNow(t, pool)
			require.Equal(t, said, decide(t, s, first.ID(), say, about, 4))
			require.Equal(t, after1, homesNow(t, pool))
			require.EqualValues(t, 1, dbtest.Count(t, pool, "home_verdicts"))
			_, err := s.DecideHome(t.Context(), dblistings.HomeDecision{
				Home: first.ID(), Verdict: say, Listing: about.ID(), By: "Réjean", At: dbtest.After(5)}, nil)
			if say == listing.SayDifferent {
				dbtest.RequireClass(t, fault.Conflict, err)
			} else {
				require.NoError(t, err, "another person's")
				require.NoError(t, s.UndoHomeVerdict(t.Context(), said.Verdict+1, "Réjean", dbtest.After(6)))
			}
			require.NoError(t, s.UndoHomeVerdict(t.Context(), said.Verdict, "Ginette", dbtest.After(7)))
			require.Equal(t, before, homesNow(t, pool))
			require.NotEqual(t, said.Verdict, decide(t, s, first.ID(), say, about, 8).Verdict, "that one was undone")
		})
	}
}

package listings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// An advert that drops images is published while those images are attached: both lock the listing, its images and their
// dead letters in one order.
func TestPublishBesideAttach(t *testing.T) {
	t.Parallel()

	const images, rounds = 20, 15
	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewListings(pool)
	l := imported(t, s, "1")
	l.ImageURLs = nil
	for n := range images {
		l.ImageURLs = append(l.ImageURLs, fmt.Sprintf("http://i.example/%d.jpg", n))
	}
	publish(t, s, l, 1, 1)
	image := func(n int) listing.StoredImage {
		return listing.StoredImage{
			Image: listing.Image{URL: l.ImageURLs[n], SortOrder: n}, SHA256: strings.Repeat(fmt.Sprintf("%02x", n), 32), Key: "k",
		}
	}
	for n := range images {
		require.NoError(t, s.FailImage(ctx, l.Ref, image(n).Image, "blocked", "why", runOf(l.Ref), dbtest.After(1)))
	}
	without := l
	without.ImageURLs = l.ImageURLs[:1]
	v, err := s.Load(ctx, l.ID())
	require.NoError(t, err)
	for range rounds {
		_, err := pool.Exec(ctx, "UPDATE listing_images SET state = 'failed'")
		require.NoError(t, err)
		_, err = pool.Exec(ctx, "UPDATE dead_letters SET state = 'open'")
		require.NoError(t, err)
		var work errgroup.Group
		work.Go(func() error {
			p := listing.Publication{Version: v}
			p.Listing, p.Same = without, true
			_, err := s.Publish(ctx, p, runOf(l.Ref), dbtest.After(2))
			return err
		})
		for n := range images {
			work.Go(func() error { return s.AttachImage(ctx, l.Ref, image(n), dbtest.After(2)) })
		}
		require.NoError(t, work.Wait())
	}
}

// An advert joins a home, or leaves it by a decision, while a bridge stores it with one of that home: both lock adverts
// in the order of their IDs.
func TestHomeBesideReceive(t *testing.T) {
	t.Parallel()

	less := func(a, b listing.Listing) bool { return a.ID().String() < b.ID().String() }
	var first, twin, late, between listing.Listing // late comes before between, and that before twin
	for n := 1; first.Platform == "" || between.Platform == ""; n++ {
		l := flat("kijiji", n)
		switch {
		case first.Platform == "":
			if twin, late = flat("kangalou", n), flat("centris", n); less(late, twin) {
				first = l
			}
		case less(late, l) && less(l, twin):
			between = l
		}
	}
	for name, change := range map[string]func(s *dblistings.Listings) error{
		"joins": func(s *dblistings.Listings) error {
			v, err := s.Load(context.Background(), late.ID())
			if err == nil {
				_, _, err = s.JoinHome(context.Background(), v, nil, runOf(late.Ref), dbtest.After(9))
			}
			return err
		},
		"is shown": func(s *dblistings.Listings) error {
			_, err := s.DecideHome(context.Background(), dblistings.HomeDecision{
				Home: first.ID(), Verdict: listing.SayShow, Listing: late.ID(), By: "zoe", At: dbtest.After(9),
			}, nil)
			return err
		},
		"is taken back": func(s *dblistings.Listings) error {
			return s.UndoHomeVerdict(context.Background(), 1, "zoe", dbtest.After(9))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			pool, ctx := dbtest.New(t), t.Context()
			s := dblistings.NewListings(pool)
			pass(t, s, first, 0)
			pass(t, s, twin, 1)
			pass(t, s, between, 2)
			if name == "joins" {
				r := receive(t, s, arrival(late.Ref, "x", 3))
				require.NoError(t, s.SaveNormalized(ctx, late, payload(r.Revision), dbtest.After(3)))
			} else {
				pass(t, s, late, 3)
			}
			if name == "is taken back" {
				_, err := s.DecideHome(ctx, dblistings.HomeDecision{
					Home: first.ID(), Verdict: listing.SayShow, Listing: late.ID(), By: "zoe", At: dbtest.After(8),
				}, nil)
				require.NoError(t, err)
			}
			tx, err := pool.Begin(ctx)
			require.NoError(t, err)
			defer func() { _ = tx.Rollback(ctx) }()
			_, err = tx.Exec(ctx, "SELECT FROM raw_listings WHERE id = $1 FOR UPDATE", between.ID())
			require.NoError(t, err)
			waiting := func(n int64) func() bool {
				return func() bool {
					return dbtest.Count(t, pool,
						`pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == n
				}
			}
			var work errgroup.Group
			work.Go(func() error {
				_, err := s.Receive(ctx, []dblistings.Arrival{
					arrival(twin.Ref, "y", 10), arrival(between.Ref, "y", 10), arrival(late.Ref, "y", 10),
				}, dbtest.After(10))
				return err
			})
			require.Eventually(t, waiting(1), servicetest.Patience(), 5*time.Millisecond, "it has the first of them")
			work.Go(func() error { return change(s) })
			require.Eventually(t, waiting(2), servicetest.Patience(), 5*time.Millisecond)
			require.NoError(t, tx.Rollback(ctx))
			require.NoError(t, work.Wait())
		})
	}
}

// A cycle ends while a worker that was frozen stores what it has found: both take turns.
func TestEndBesideFound(t *testing.T) {
	t.Parallel()

	const adverts, rounds = 40, 12
	pool, ctx := dbtest.New(t), t.Context()
	s := dblistings.NewPlatforms(pool)
	require.NoError(t, s.Configure(ctx, "kijiji", kijiji, dbtest.Start))
	var cards []scrape.Card
	for n := range adverts {
		cards = append(cards, scrape.Card{PlatformID: fmt.Sprint(n), URL: fmt.Sprintf("https://k.example/%d", n)})
	}
	for round := range rounds {
		at := dbtest.After(10 * round)
		plan, err := s.Begin(ctx, "kijiji", at)
		require.NoError(t, err)
		require.True(t, plan.Go)
		if round%2 == 0 {
			_, err = s.Seen(ctx, kijijiSearch, plan.Cycle, 1, scrape.Results{Cards: cards, Total: adverts}, at)
			require.NoError(t, err)
		} else { // all but a few are missing from this one
			_, err = s.Seen(ctx, kijijiSearch, plan.Cycle, 1, scrape.Results{Cards: cards[:adverts-8], Total: adverts - 8}, at)
			require.NoError(t, err)
		}
		var work errgroup.Group
		for n := range adverts {
			if n == adverts/2 {
				work.Go(func() error { return s.End(ctx, "kijiji", plan.Cycle, "", at) })
			}
			work.Go(func() error {
				ref := refOf(fmt.Sprint(adverts - 1 - n))
				raw := listing.Raw{Ref: ref, URL: cards[n].URL, ScrapedAt: at, Title: fmt.Sprint(round)}
				return s.Found(ctx, plan.Cycle, scrape.FoundAdvert{Raw: raw, Payload: []byte("{}"), Visit: scrape.Visit{Card: cards[n], Why: "new"}})
			})
		}
		require.NoError(t, work.Wait())
	}
}

// The partial indexes on dead letters serve plans that know no values: while the table is small such a plan is kept.
func TestDeadLetterIndexesUnderGenericPlans(t *testing.T) {
	t.Parallel()

	pool, ctx, texts := dbtest.New(t), t.Context(), dbtest.Statements(t)
	_, err := pool.Exec(ctx, `INSERT INTO dead_letters (fingerprint, queue, exchange, routing_key, body, reason, class,
			workflow_id, message_id, first_at, last_at)
		SELECT sha256(n::text::bytea), 'q', '', '', '', '', '', n::text, n::text, now(), now() FROM generate_series(1, 5000) n`)
	require.NoError(t, err)
	dbtest.Alter(t, pool, "ANALYZE dead_letters")
	conn, err := pool.Acquire(ctx)
	require.NoError(t, err)
	defer conn.Release()
	_, err = conn.Exec(ctx, "SET plan_cache_mode = force_generic_plan")
	require.NoError(t, err)
	for name, want := range map[string][]string{
		"sqlDeadLetterResolve": {"dead_letters_workflow"},
		"sqlRawImported":       {"dead_letters_workflow"},
		"sqlDraftResolve":      {"dead_letters_workflow", "dead_letters_message"},
		"sqlDraftRequestState": {"dead_letters_workflow", "dead_letters_message"},
	} {
		plan := dbtest.GenericPlan(ctx, t, conn.Conn(), name, texts[name])
		for _, index := range want {
			require.Contains(t, plan, index, name)
		}
	}
}

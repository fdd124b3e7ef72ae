package listings_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
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

package listings_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// What is of the very moment stays; what is a microsecond older goes. Each table has rows that must stay at any age.
func TestDeleteExpired(t *testing.T) {
	t.Parallel()

	limit := dbtest.Start
	old, edge := dbtest.Start.Add(-time.Microsecond), dbtest.Start
	year := time.Now().AddDate(-1, 0, 0).Truncate(time.Second) // of the audit nothing younger than 90 days is ever deleted
	cases := map[string]struct {
		fill    func(t *testing.T, pool *pgxpool.Pool)
		deleted int
		left    string // SELECT
		want    []string
	}{
		retention.Revisions: {func(t *testing.T, pool *pgxpool.Pool) {
			s := dblistings.NewListings(pool)
			for n, at := range []time.Time{old.Add(-time.Hour), old, edge} {
				for _, id := range []string{"1", "2", "3"} {
					_, err := s.Receive(t.Context(), []dblistings.Arrival{arrival(refOf(id), fmt.Sprint("v", n), n)}, at)
					require.NoError(t, err)
				}
			}
			_, err := s.Receive(t.Context(), []dblistings.Arrival{arrival(refOf("4"), "only", 1)}, old)
			require.NoError(t, err)
		}, 7, `SELECT v.revision || ' ' || platform_id FROM raw_listing_revisions v JOIN raw_listings r ON r.id = v.listing_id
			ORDER BY platform_id`, []string{"3 1", "3 2", "3 3"}},
		retention.Steps: {func(t *testing.T, pool *pgxpool.Pool) {
			for _, id := range []string{"1", "2"} {
				publishNew(t, pool, id)
			}
			dbtest.Exec(t, pool, "DELETE FROM listing_steps")
			dbtest.Exec(t, pool, "UPDATE raw_listings SET revision = 2")
			dbtest.Exec(t, pool, `INSERT INTO listing_steps (listing_id, revision, pass, step, again, at)
				SELECT $1::uuid, v[1], v[2], 'normalized', false, CASE v[3] WHEN 1 THEN $3::timestamptz ELSE $4 END FROM (VALUES
					(ARRAY[1, 0, 1]), (ARRAY[1, 1, 1]), (ARRAY[1, 2, 0]), (ARRAY[2, 0, 1]), (ARRAY[2, 1, 1]), (ARRAY[2, 3, 1])) x(v)
				UNION ALL SELECT $2::uuid, 2, 0, 'received', false, $3`, refOf("1").ID(), refOf("2").ID(), old, edge)
		}, 3, `SELECT platform_id || ' ' || s.revision || ' ' || pass FROM listing_steps s JOIN raw_listings r ON r.id = listing_id
			ORDER BY 1`, []string{"1 1 2", "1 2 0", "1 2 3", "2 2 0"}},
		retention.Events: {func(t *testing.T, pool *pgxpool.Pool) {
			publishNew(t, pool, "1")
			dbtest.Exec(t, pool, "DELETE FROM listing_events")
			for _, at := range []time.Time{old.Add(-time.Hour), old, old, edge, edge.Add(time.Hour)} {
				dbtest.Exec(t, pool, `INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
					VALUES ($1, 1, 'status', $2, 'active', 'archived')`, refOf("1").ID(), at)
			}
		}, 3, `SELECT count(*)::text FROM listing_events`, []string{"2"}},
		retention.DeadLetters: {func(t *testing.T, pool *pgxpool.Pool) {
			dbtest.Archive(t, pool, dbtest.Dead("open", 0), dbtest.Dead("resolved", 0), dbtest.Dead("edge", 0), dbtest.Dead("discarded", 0), dbtest.Dead("sent", 0),
				dbtest.Dead("unsent", 0), dbtest.Dead("replayed lately", 0))
			set := func(name, state string, last time.Time, replayed *time.Time) {
				dbtest.Exec(t, pool, `UPDATE dead_letters SET state = $2, last_at = $3, replayed_at = $4, replay_id = gen_random_uuid()
					WHERE message_id = 'm-' || $1::text`, name, state, last, replayed)
			}
			set("open", "open", old, nil)
			set("resolved", "resolved", old, nil)
			set("edge", "resolved", edge, nil)
			set("discarded", "discarded", old, nil)
			set("sent", "replayed", old, &old)
			set("unsent", "replayed", old, &old)
			set("replayed lately", "replayed", old, &edge)
			dbtest.Exec(t, pool, `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
				SELECT replay_id, 'dead-letters', '', queue, body, now() FROM dead_letters WHERE message_id = 'm-unsent'`)
		}, 3, `SELECT substr(message_id, 3) FROM dead_letters ORDER BY 1`,
			[]string{"edge", "open", "replayed lately", "unsent"}},
		retention.Drafts: {func(t *testing.T, pool *pgxpool.Pool) {
			for n, at := range []time.Time{old.Add(-time.Hour), old, old.Add(-time.Minute), edge} {
				event := uuid.NewSHA1(uuid.Nil, []byte{byte(n)})
				require.NoError(t, dbdrafts.NewDrafts(pool).PersistDraft(t.Context(), dbtest.Crawled(event, at), dbtest.Draft(fmt.Sprint(n), "1"), at))
			}
			event := uuid.NewSHA1(uuid.Nil, []byte{0}) // crawled again lately
			require.NoError(t, dbdrafts.NewDrafts(pool).PersistDraft(t.Context(), dbtest.Crawled(event, edge), dbtest.Draft("0", "1"), edge))
		}, 2, `SELECT name FROM product_drafts ORDER BY 1`, []string{"0", "3"}},
		retention.DraftRequests: {func(t *testing.T, pool *pgxpool.Pool) {
			for n, at := range []time.Time{old, old, edge} {
				r := dbtest.Crawled(uuid.NewSHA1(uuid.Nil, []byte{byte(n)}), at).Request
				r.OutDir = fmt.Sprint(n)
				require.NoError(t, dbdrafts.NewDrafts(pool).RequestDraft(t.Context(), r, db.Sealed{}, "olga",
					dbdrafts.Target{RoutingKey: "q"}, at))
			}
			dbtest.Exec(t, pool, `UPDATE outbox SET published_at = now() WHERE message_id = $1`, uuid.NewSHA1(uuid.Nil, []byte{0}))
		}, 1, `SELECT out_dir FROM draft_requests ORDER BY 1`, []string{"1", "2"}},
		retention.DraftSecrets: {func(t *testing.T, pool *pgxpool.Pool) {
			for n, at := range []time.Time{old, edge, old.Add(-time.Hour)} {
				sealed := db.Sealed{Key: fmt.Sprint(n), Box: []byte("box")}
				require.NoError(t, dbdrafts.NewDrafts(pool).SealDraft(t.Context(), uuid.New(), sealed, at))
			}
		}, 2, `SELECT box_key FROM draft_secrets`, []string{"1"}},
		retention.Replays: {func(t *testing.T, pool *pgxpool.Pool) {
			for n, ended := range []*time.Time{nil, &old, &edge} {
				id := uuid.NewSHA1(uuid.Nil, []byte{byte(n)})
				require.NoError(t, dblistings.NewReplays(pool).OpenReplay(t.Context(), listing.Replay{
					ID: id, Stage: "normalize", Rate: n + 1, By: "olga", At: old}))
				dbtest.Exec(t, pool, `UPDATE replays SET ended_at = $2, state = CASE WHEN $2::timestamptz IS NULL THEN state ELSE 'failed' END
					WHERE id = $1`, id, ended)
				dbtest.Exec(t, pool, `INSERT INTO replay_items VALUES ($1, gen_random_uuid(), 0, now())`, id)
			}
		}, 1, `SELECT rate::text FROM replays JOIN replay_items ON replay_id = id ORDER BY 1`, []string{"1", "3"}},
		retention.Cycles: {func(t *testing.T, pool *pgxpool.Pool) {
			platforms(t, pool, "kangalou", "kijiji")
			dbtest.Exec(t, pool, `INSERT INTO platform_cycles (platform, cycle, started_at, ended_at)
				SELECT p, n, now(), CASE WHEN n = 2 THEN NULL WHEN n = 3 THEN $2::timestamptz ELSE $1 END
				FROM generate_series(1, 15) n, unnest(ARRAY['kijiji', 'kangalou']) p`, old, edge)
		}, 6, `SELECT platform || ' ' || min(cycle) || ' ' || count(*) FROM platform_cycles GROUP BY platform ORDER BY 1`,
			[]string{"kangalou 2 12", "kijiji 2 12"}},
		retention.Removals: {func(t *testing.T, pool *pgxpool.Pool) {
			for n, at := range []time.Time{old.Add(-time.Hour), old, edge, old} {
				dbtest.Exec(t, pool, `INSERT INTO page_removals (url_key, removed_at, stored_at)
					VALUES (('00000000-0000-0000-0000-00000000000' || $1::int)::uuid, $2, $3)`, n+1, edge, at)
			}
		}, 3, `SELECT right(url_key::text, 1) FROM page_removals`, []string{"3"}},
		retention.Seen: {func(t *testing.T, pool *pgxpool.Pool) {
			dbtest.Exec(t, pool, `INSERT INTO platform_adverts (platform, platform_id, url, fingerprint, seen_at, seen_cycle, visited_at)
				VALUES ('kijiji', 'a', '', '', $1, 1, NULL), ('kijiji', 'b', '', '', $1, 1, $1), ('kijiji', 'c', '', '', $1, 1, $2),
					('kangalou', 'a', '', '', $1, 1, $1), ('kijiji', 'd', '', '', $2, 1, $1)`, old, edge)
		}, 3, `SELECT platform_id FROM platform_adverts ORDER BY 1`, []string{"c", "d"}},
		retention.Images: {func(t *testing.T, pool *pgxpool.Pool) {
			for _, id := range []string{"1", "2", "3", "4"} {
				publishNew(t, pool, id)
			}
			set := func(id, status string, at time.Time) {
				dbtest.Exec(t, pool, "UPDATE listings SET status = $2, updated_at = $3 WHERE platform_id = $1", id, status, at)
			}
			set("1", "archived", old)
			set("2", "archived", edge)
			set("3", "active", old)
			set("4", "claimed", old)
		}, 2, `SELECT DISTINCT platform_id FROM listing_images JOIN listings ON id = listing_id ORDER BY 1`,
			[]string{"2", "3", "4"}},
		retention.Adverts: {func(t *testing.T, pool *pgxpool.Pool) {
			for _, id := range []string{"gone", "seen", "active", "claimed", "working"} {
				publishNew(t, pool, id)
				dbtest.Exec(t, pool, "UPDATE listings SET status = $2 WHERE platform_id = $1", id,
					map[string]string{"active": "active", "claimed": "claimed"}[id]+strings.Repeat("archived",
						map[string]int{"gone": 1, "seen": 1, "working": 1}[id]))
			}
			receive(t, dblistings.NewListings(pool), arrival(refOf("rejected"), "a", 0))
			receive(t, dblistings.NewListings(pool), arrival(refOf("new"), "a", 0))
			dbtest.Exec(t, pool, "UPDATE raw_listings SET first_scraped_at = $1, last_scraped_at = $1", old)
			dbtest.Exec(t, pool, "UPDATE raw_listings SET last_scraped_at = $1 WHERE platform_id = 'seen'", edge)
			dbtest.Exec(t, pool, "UPDATE raw_listings SET settled_revision = 0 WHERE platform_id IN ('working', 'new')")
			dbtest.Exec(t, pool, "UPDATE raw_listings SET settled_revision = 1, status = 'rejected' WHERE platform_id = 'rejected'")
			dbtest.Exec(t, pool, `INSERT INTO replays (id, stage, filter, rate, total, started_by, created_at, updated_at)
				VALUES ($1, 'import', '{}', 1, 1, '', now(), now())`, uuid.Nil)
			dbtest.Exec(t, pool, "INSERT INTO replay_items SELECT $1, id, 0, now() FROM raw_listings WHERE platform_id = 'gone'", uuid.Nil)
		}, 2, `SELECT r.platform_id || ' ' || (SELECT count(*) FROM raw_listing_revisions WHERE listing_id = r.id) || ' ' ||
				(SELECT count(*) FROM replay_items) FROM raw_listings r ORDER BY 1`,
			[]string{"active 1 0", "claimed 1 0", "new 1 0", "seen 1 0", "working 1 0"}},
		retention.CrawlRuns: {func(t *testing.T, pool *pgxpool.Pool) {
			for _, r := range []struct {
				seed, status string
				finished     *time.Time
			}{
				{"old", "COMPLETED", new(old.Add(-time.Hour))}, {"base", "COMPLETED", &old}, {"running", "RUNNING", nil},
				{"cancelled", "CANCELLED", &old}, {"reopened", "PAUSED", &old}, {"edge", "COMPLETED", &edge},
			} {
				crawled := dbtest.CrawlRun(t, pool, r.seed, r.status, r.finished)
				dbtest.CrawlURLs(t, pool, crawled, 5)
			}
			dbtest.Exec(t, pool, `UPDATE crawl_runs SET base_run_id = (SELECT id FROM crawl_runs WHERE seed_url = 'base')
				WHERE seed_url = 'running'`)
		}, 2 * (5 + 1), `SELECT seed_url || ' ' || (SELECT count(*) FROM crawl_urls WHERE run_id = r.id) || ' ' ||
				(SELECT count(*) FROM crawl_links WHERE run_id = r.id) || ' ' ||
				(SELECT count(*) FROM crawl_tries WHERE run_id = r.id) || ' ' ||
				(SELECT count(*) FROM crawl_rates WHERE run_id = r.id) FROM crawl_runs r ORDER BY 1`,
			[]string{"base 5 5 10 5", "edge 5 5 10 5", "reopened 5 5 10 5", "running 5 5 10 5"}},
		retention.Audit: {func(t *testing.T, pool *pgxpool.Pool) {
			dbtest.Exec(t, pool, `INSERT INTO audit (at, actor, action, subject) VALUES ($1, 'old', '', ''), ($2, 'edge', '', '')`,
				year.Add(-time.Microsecond), year)
		}, 1, `SELECT actor FROM audit`, []string{"edge"}},
	}
	for kind, test := range cases {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()

			pool := dbtest.New(t)
			limit := limit
			if kind == retention.Audit {
				limit = year
			}
			require.Zero(t, dbtest.Expire(t, pool, kind, limit), "of an empty table")
			test.fill(t, pool)
			require.Equal(t, test.deleted, dbtest.Expire(t, pool, kind, limit))
			require.Equal(t, test.want, dbtest.Query[string](t, pool, test.left))
			require.Zero(t, dbtest.Expire(t, pool, kind, limit), "of what must stay")
			require.Equal(t, test.want, dbtest.Query[string](t, pool, test.left))
		})
	}
	for _, kind := range retention.Kinds {
		require.True(t, cases[kind].fill != nil || ofSearches[kind].fill != nil ||
			slices.Contains(dbtest.ExpiresOfOutreach, kind) || kind == retention.Unused ||
			kind == retention.Files || kind == retention.Partitions, kind)
	}
	_, err := db.NewRetention(dbtest.New(t)).DeleteExpired(t.Context(), "everything", limit, "", 1)
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
}

// A large run is deleted in small steps, none of which goes through what the others have deleted.
func TestLargeCrawlRunExpires(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	run := dbtest.CrawlRun(t, pool, "large", "COMPLETED", new(dbtest.Start.Add(-time.Hour)))
	dbtest.CrawlURLs(t, pool, run, 5000)
	dbtest.Exec(t, pool, "INSERT INTO crawl_holds SELECT $1, n, now(), 'cooldown', '' FROM generate_series(1, 5000) n", run)
	r, cursor, deleted, last, held := db.NewRetention(pool), "", 0, 5001, dbtest.Count(t, pool, "crawl_holds")
	for range 12 {
		step, err := r.DeleteExpired(t.Context(), retention.CrawlRuns, dbtest.Start, cursor, 500)
		require.NoError(t, err)
		require.LessOrEqual(t, step.Deleted, 501)
		deleted, cursor = deleted+step.Deleted, step.Cursor
		if !step.More {
			break
		}
		holds := dbtest.Count(t, pool, "crawl_holds")
		require.LessOrEqual(t, held-holds, int64(500))
		held = holds
		left := int(dbtest.Count(t, pool, "crawl_urls") + dbtest.Count(t, pool, "crawl_runs"))
		require.Less(t, left, last)
		last = left
	}
	require.Equal(t, 5001, deleted)
	for _, table := range []string{"urls", "links", "tries", "rates", "holds", "runs"} {
		table = "crawl_" + table
		require.Zero(t, dbtest.Count(t, pool, table), table)
	}
}

// A home goes with its last member.
func TestHomesGoWithTheirAdverts(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	home := uuid.New()
	dbtest.Exec(t, pool, "INSERT INTO homes (id, shown, created_at, updated_at) VALUES ($1, $1, now(), now())", home)
	for _, advert := range []string{"1", "2"} {
		publishNew(t, pool, advert)
		dbtest.Exec(t, pool, `INSERT INTO home_members (listing_id, home_id, keys, rent_cents, judged_at) VALUES ($1, $2, '{}', 0, now())
			ON CONFLICT (listing_id) DO UPDATE SET home_id = excluded.home_id`, refOf(advert).ID(), home)
	}
	for i, advert := range []string{"1", "2"} {
		dbtest.Exec(t, pool, "UPDATE listings SET status = 'archived' WHERE id = $1", refOf(advert).ID())
		dbtest.Exec(t, pool, "UPDATE raw_listings SET archived_at = now() WHERE id = $1", refOf(advert).ID())
		step, err := db.NewRetention(pool).DeleteExpired(t.Context(), retention.Adverts, dbtest.After(3600), "", 10)
		require.NoError(t, err)
		require.Equal(t, 1, step.Deleted)
		require.EqualValues(t, 1-i, dbtest.Count(t, pool, "homes"))
	}
}

// A scrape at the same moment as the deletion keeps its advert, or stores it anew: nothing of it is lost.
func TestExpiredAdvertIsScraped(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	for n := range 20 {
		ref := refOf(fmt.Sprint(n))
		publishNew(t, pool, ref.PlatformID)
		dbtest.Exec(t, pool, "UPDATE listings SET status = 'archived' WHERE id = $1", ref.ID())
		dbtest.Exec(t, pool, "UPDATE raw_listings SET archived_at = now() WHERE id = $1", ref.ID())
		var both sync.WaitGroup
		both.Go(func() {
			_, err := db.NewRetention(pool).DeleteExpired(t.Context(), retention.Adverts, dbtest.After(60), "", 10)
			require.NoError(t, err)
		})
		both.Go(func() {
			got, err := s.Receive(t.Context(), []dblistings.Arrival{arrival(ref, "again", 120)}, dbtest.After(120))
			require.NoError(t, err)
			require.False(t, got[0].Settled)
		})
		both.Wait()
		require.EqualValues(t, 1, dbtest.Count(t, pool, "raw_listings WHERE id = $1 AND payload->>'title' = 'again'", ref.ID()))
		require.EqualValues(t, 1, dbtest.Count(t, pool,
			"raw_listing_revisions v JOIN raw_listings r ON r.id = v.listing_id AND r.revision = v.revision WHERE r.id = $1", ref.ID()))
	}
}

// files is a blob store that is a set of names.
type files struct {
	sync.Mutex
	names   map[string]bool
	removed []string
	before  func(key string) // called before a file is removed
	err     error
}

func (f *files) remove(_ context.Context, key string) error {
	if f.before != nil {
		f.before(key)
	}
	f.Lock()
	defer f.Unlock()
	if f.err != nil {
		return f.err
	}
	delete(f.names, key)
	f.removed = append(f.removed, key)
	return nil
}

// stored is an image as the blob store names it.
func stored(url, digit string) listing.StoredImage {
	p := picture(url, digit)
	p.Key = fmt.Sprintf("images/%[1]s/%[1]s/%[2]s.png", p.SHA256[:2], p.SHA256)
	p.ThumbnailKey = fmt.Sprintf("thumbs/%[1]s/%[1]s/%[2]s.jpg", p.SHA256[:2], p.SHA256)
	return p
}

func TestAnyFile(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	r := db.NewRetention(pool)
	any := func() bool {
		t.Helper()
		stored, err := r.AnyFile(ctx)
		require.NoError(t, err)
		return stored
	}
	publishNew(t, pool, "1")
	require.NoError(t, dbdrafts.NewDrafts(pool).PersistDraft(ctx, dbtest.Crawled(uuid.New(), dbtest.Start), dbtest.Draft("a", "1"), dbtest.Start))
	dbtest.Exec(t, pool, "UPDATE product_drafts SET files = '[]'")
	dbtest.CrawlURLs(t, pool, dbtest.CrawlRun(t, pool, "stored", "COMPLETED", nil), 1)
	dbtest.Exec(t, pool, "UPDATE crawl_urls SET body_key = NULL")
	dbtest.NewTenant(t, pool, "acme")
	require.False(t, any())
	dbtest.Exec(t, pool, `UPDATE product_drafts SET files = '[{"name": "page.html", "key": "files/dd"}]'`)
	require.True(t, any(), "of a draft")
	dbtest.Exec(t, pool, "UPDATE product_drafts SET files = '[]'")
	dbtest.Exec(t, pool, "UPDATE crawl_urls SET body_key = 'warc/ff'")
	require.True(t, any(), "of a crawl")
	dbtest.Exec(t, pool, "UPDATE crawl_urls SET body_key = NULL")
	require.NoError(t, dblistings.NewListings(pool).AttachImage(ctx, refOf("1"), stored("http://i.example/1.jpg", "a"), dbtest.Start))
	require.True(t, any(), "of a listing")
	dbtest.Exec(t, pool, "UPDATE listing_images SET key = NULL")
	require.False(t, any())
	dbtest.ExecAll(t, pool, "INSERT INTO uploads "+dbtest.TenantRow["uploads"], "acme", "1")
	require.True(t, any(), "of an upload")
}

// Only files that nothing refers to are deleted, and only when they are still not used after the wait.
func TestDeleteUnused(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	ctx, s, r := t.Context(), dblistings.NewListings(pool), db.NewRetention(pool)
	publishNew(t, pool, "1")
	used, unused, later := stored("http://i.example/1.jpg", "a"), stored("", "b"), stored("http://i.example/2.jpg", "c")
	require.NoError(t, s.AttachImage(ctx, refOf("1"), used, dbtest.Start))
	drafted := "files/dd/dd/" + strings.Repeat("d", 64) + ".html"
	require.NoError(t, dbdrafts.NewDrafts(pool).PersistDraft(ctx, dbtest.Crawled(uuid.New(), dbtest.Start), dbtest.Draft("a", "1"), dbtest.Start))
	dbtest.Exec(t, pool, `UPDATE product_drafts SET files = jsonb_build_array(jsonb_build_object('name', 'page.html', 'key', $1::text))`,
		drafted)
	dbtest.CrawlURLs(t, pool, dbtest.CrawlRun(t, pool, "stored", "COMPLETED", nil), 1)
	kept := "warc/ff/ff/" + strings.Repeat("f", 64) + ".warc.gz"
	dbtest.Exec(t, pool, "UPDATE crawl_urls SET body_key = $1", kept)
	all := []string{
		kept, "warc/ff/ff/" + strings.Repeat("0", 64) + ".warc.gz", used.Key, used.ThumbnailKey, unused.Key, unused.ThumbnailKey, later.Key, later.ThumbnailKey, drafted,
		"files/ee/ee/" + strings.Repeat("e", 64) + ".json",
	}
	due := dbtest.After(60)
	for range 2 {
		n, err := r.MarkUnused(ctx, all, due)
		require.NoError(t, err)
		require.Equal(t, 6, n)
	}
	f := &files{names: map[string]bool{}}
	sweep := func(now time.Time) (deleted int) {
		for cursor := ""; ; {
			step, err := r.DeleteUnused(ctx, now, cursor, 2, f.remove)
			require.NoError(t, err)
			if deleted, cursor = deleted+step.Deleted, step.Cursor; !step.More {
				return deleted
			}
		}
	}
	require.Zero(t, sweep(due.Add(-time.Microsecond)))
	require.NoError(t, s.AttachImage(ctx, refOf("1"), later, dbtest.Start)) // after it was marked
	f.err = fault.Newf(fault.Transient, "the store is away")
	step, err := r.DeleteUnused(ctx, due, "", 10, f.remove)
	require.NoError(t, err)
	require.ErrorContains(t, step.Left, "the store is away")
	require.Zero(t, step.Deleted)
	f.err = nil
	stuck := func(ctx context.Context, key string) error { // the first of those that go
		if key == all[9] {
			return errors.New("the file is on hold")
		}
		return f.remove(ctx, key)
	}
	step, err = r.DeleteUnused(ctx, due, "", 10, stuck)
	require.NoError(t, err)
	require.ErrorContains(t, step.Left, "the file is on hold")
	require.Equal(t, 3, step.Deleted)
	require.Equal(t, []string{all[9]}, dbtest.Query[string](t, pool, "SELECT key FROM unused_blobs"))
	require.Equal(t, 1, sweep(due))
	require.ElementsMatch(t, []string{unused.Key, unused.ThumbnailKey, all[1], all[9]}, f.removed)
	require.Zero(t, dbtest.Count(t, pool, "unused_blobs"))
}

// A process that dies after it has deleted a file, and before the mark is gone, leaves a mark: the next one ends the work,
// and a file that was written again meanwhile is spared.
func TestDeleteUnusedIsInterrupted(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	r := db.NewRetention(pool)
	keys := []string{stored("", "a").Key, stored("", "b").Key}
	_, err := r.MarkUnused(t.Context(), keys, dbtest.Start)
	require.NoError(t, err)
	f := &files{names: map[string]bool{keys[0]: true, keys[1]: true}}
	dying, die := context.WithCancel(t.Context())
	step, err := r.DeleteUnused(dying, dbtest.Start, "", 10, func(ctx context.Context, key string) error {
		defer die()
		return f.remove(ctx, key)
	})
	require.Error(t, err)
	require.Zero(t, step.Deleted)
	require.Len(t, f.names, 1)
	require.EqualValues(t, 2, dbtest.Count(t, pool, "unused_blobs"))

	require.NoError(t, r.SpareBlob(t.Context(), keys[0])) // a store is about to write it again
	f.names[keys[0]] = true
	step, err = r.DeleteUnused(t.Context(), dbtest.Start, "", 10, f.remove)
	require.NoError(t, err)
	require.Equal(t, 1, step.Deleted)
	require.Equal(t, map[string]bool{keys[0]: true}, f.names)
	require.Zero(t, dbtest.Count(t, pool, "unused_blobs"))
}

// A picture that is being attached while its file, unused until now, is deleted: the file is there afterwards. The store
// spares the file before it looks for it, so it either finds no file and writes it, or finds one that stays.
func TestUnusedFileIsWrittenAgain(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	ctx, r := t.Context(), db.NewRetention(pool)
	key := stored("", "a").Key
	for n := range 50 {
		f := &files{names: map[string]bool{key: true}}
		_, err := r.MarkUnused(ctx, []string{key}, dbtest.Start)
		require.NoError(t, err)
		put := func() error {
			if err := r.SpareBlob(ctx, key); err != nil {
				return err
			}
			f.Lock()
			defer f.Unlock()
			f.names[key] = true // as Put does: whether it was there or not
			return nil
		}
		var both sync.WaitGroup
		if n%2 == 0 { // the worst moment: the deletion has looked, and has not deleted yet
			f.before = func(string) { both.Go(func() { require.NoError(t, put()) }) }
		} else {
			both.Go(func() { require.NoError(t, put()) })
		}
		_, err = r.DeleteUnused(ctx, dbtest.Start, "", 10, f.remove)
		require.NoError(t, err)
		both.Wait()
		require.True(t, f.names[key])
		step, err := r.DeleteUnused(ctx, dbtest.After(60), "", 10, f.remove) // it was spared: not until it is marked again
		require.NoError(t, err)
		require.Zero(t, step.Deleted)
	}
}

// platforms configures platforms.
func platforms(t testing.TB, pool *pgxpool.Pool, names ...string) {
	t.Helper()
	for _, name := range names {
		c := scrape.Settings{URL: "https://" + name + ".example", Pace: scrape.Pace{Transport: scrape.HTTP, MaxPages: 1}}
		require.NoError(t, dblistings.NewPlatforms(pool).Configure(t.Context(), name, c, dbtest.Start))
	}
}

// publishNew stores and publishes an advert with two pending images.
func publishNew(t testing.TB, pool *pgxpool.Pool, id string) listing.Listing {
	t.Helper()
	s, l := dblistings.NewListings(pool), normalized(refOf(id))
	receive(t, s, arrival(l.Ref, "first", 0))
	publish(t, s, l, 1, 0)
	return l
}

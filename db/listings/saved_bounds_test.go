package listings_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// system executes statements on the rows of all tenants.
func (w *telling) system(t *testing.T, texts ...string) {
	t.Helper()

	b := new(pgx.Batch)
	b.Queue("SELECT set_config('conveyor.tenant', '*', true)")
	for _, text := range texts {
		b.Queue(text)
	}
	require.NoError(t, w.pool.SendBatch(t.Context(), b).Close())
}

// What its workflow tries again later is not started meanwhile, and what was begun before holds up nothing that is due.
func TestSavedBegin(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	begin := func(n, before, now int) (ids []uuid.UUID) {
		due, err := w.Begin(t.Context(), n, n, dbtest.After(before), dbtest.After(now))
		require.NoError(t, err)
		for _, d := range due {
			ids = append(ids, d.ID)
		}
		return ids
	}
	w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 1, w.match(t, 1))
	first := begin(1, 0, 2)
	require.Len(t, first, 1)
	tries, err := w.PutOffNotice(t.Context(), "acme", first[0], missedUntil("HTTP 500", 30))
	require.NoError(t, err)
	require.Equal(t, 1, tries)
	tries, err = w.PutOffNotice(t.Context(), "acme", first[0], saved.Pause{Until: dbtest.After(60)})
	require.NoError(t, err)
	require.Equal(t, 1, tries, "it was no try")
	require.Empty(t, begin(10, 59, 61), "it is tried next at 60")
	age, _, err := w.Untried(t.Context(), dbtest.After(59))
	require.NoError(t, err)
	require.Zero(t, age)

	w.advert(t, "2", 1000, 62)
	require.Equal(t, 1, w.match(t, 62))
	second := begin(1, 60, 63)
	require.Len(t, second, 1)
	require.NotEqual(t, first, second, "what was never begun comes first")
	require.Equal(t, first, begin(10, 60, 63), "its process may have died")
	require.Empty(t, begin(10, 60, 63))
}

// However much is due of one tenant, the others are begun beside it, and so is what was begun before.
func TestSavedBeginTakesTurns(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	due := func(tenant string, n, minutes int) {
		for i := range n {
			w.search(t, tenant+fmt.Sprint(i), saved.Criteria{}, func(s *saved.Search) { s.Tenant = tenant })
		}
		w.system(t, fmt.Sprintf(`INSERT INTO saved_deliveries (id, tenant, target, due_at)
			SELECT gen_random_uuid(), tenant, id, '%s'::timestamptz + make_interval(secs => row_number() OVER ())
			FROM saved_targets WHERE tenant = '%s' AND kind = 'webhook'`,
			dbtest.After(minutes).Format(time.RFC3339), tenant))
	}
	begin := func(most, share, before, now int) map[string]int {
		begun, err := w.Begin(t.Context(), most, share, dbtest.After(before), dbtest.After(now))
		require.NoError(t, err)
		of := map[string]int{}
		for _, d := range begun {
			of[d.Tenant]++
		}
		return of
	}
	due("acme", 30, 0)
	due("other", 2, 1)
	late := func(minutes int) float64 {
		late, turn, err := w.Untried(t.Context(), dbtest.After(minutes))
		require.NoError(t, err)
		require.GreaterOrEqual(t, turn, late, "of what is due for so long")
		require.InDelta(t, (time.Duration(minutes) * time.Minute).Seconds(), turn, 30)
		return late
	}
	require.Positive(t, late(2))
	require.Equal(t, map[string]int{"acme": 2, "other": 1}, begin(3, 10, 0, 2))
	require.Zero(t, late(2), "the others wait for their turns")
	require.InDelta(t, 3600, late(62), 1, "nothing of them is begun any more")
	require.Equal(t, map[string]int{"acme": 6, "other": 1}, begin(100, 6, 0, 2), "its share, however much is due")
	require.Equal(t, map[string]int{"acme": 10}, begin(10, 10, 0, 2), "nobody else waits")
	require.Equal(t, map[string]int{"acme": 1}, begin(1, 1, 0, 60))
	w.system(t, "UPDATE saved_deliveries SET tries = 1 WHERE state = 'started'")
	require.InDelta(t, 60, late(61), 1, "however long they wait for their turns")
	of := begin(10, 10, 3, 61)
	require.Equal(t, 11, of["acme"]+of["other"], "one of them was begun before")
}

// A target that fails does not get one notice after the other, each of which would be tried for hours: what it is to be
// told within five minutes is told together.
func TestSavedFailingTarget(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	open := 0
	for i := range 15 {
		w.advert(t, fmt.Sprint(i), 1000, i+1)
		require.Equal(t, 1, w.match(t, i+1))
		begun, err := w.Begin(t.Context(), 100, 100, dbtest.Start.Add(-time.Hour), dbtest.After(i+1))
		require.NoError(t, err)
		open += len(begun)
		for _, d := range begun {
			_, err := w.PutOffNotice(t.Context(), "acme", d.ID, missedUntil("HTTP 500", 600))
			require.NoError(t, err)
		}
		age, _, err := w.Untried(t.Context(), dbtest.After(i+1))
		require.NoError(t, err)
		require.Zero(t, age, "it waits for its target")
	}
	require.Equal(t, 8, open, "three in five minutes")
	told := w.notices(t, 30)
	require.Len(t, told, 1, "nothing is lost")
	require.Equal(t, []int64{15}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_items"))
}

// A target that is being deleted is told nothing more, and keeps nobody else from the same news.
func TestSavedTargetDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	gone := w.search(t, "gone", saved.Criteria{})
	w.search(t, "stays", saved.Criteria{}, func(s *saved.Search) { s.Tenant = "other" })
	w.advert(t, "1", 1000, 1)
	tx, err := w.pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), "SELECT set_config('conveyor.tenant', '*', true)")
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "DELETE FROM saved_targets WHERE search = $1 AND kind = 'webhook'", gone)
	require.NoError(t, err)
	matched := make(chan error, 1)
	go func() {
		done, err := w.matcher.Next(t.Context(), 100, dbtest.After(2))
		if err == nil && done.Matches != 2 {
			err = fmt.Errorf("%d matches, expected 2", done.Matches)
		}
		matched <- err
	}()
	require.Eventually(t, func() bool {
		return dbtest.Count(t, w.pool, "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	}, servicetest.Patience(), 5*time.Millisecond)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-matched)
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_deliveries WHERE tenant = 'other'"))
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_deliveries"))
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))
}

// A failover may have taken back what a matcher has read: on another server it reads everything anew.
func TestSavedMatcherAfterAFailover(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	id := w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 1, w.match(t, 1))
	require.NoError(t, w.Change(t.Context(), "acme", id, "zoe", dbtest.After(2), func(s *saved.Search) { s.State = saved.Paused }))
	w.advert(t, "2", 1000, 3)
	require.Zero(t, w.match(t, 3))
	w.system(t, "UPDATE saved_searches SET state = 'active'") // as it was before
	w.matcher.FailOver()
	w.advert(t, "3", 1000, 4)
	require.Equal(t, 1, w.match(t, 4))
}

// Events that very many searches are met by are compared a few at a time, so that no transaction grows without end.
func TestSavedMatchesAreBounded(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.matcher.Bound(200, 20, 0)
	w.search(t, "all", saved.Criteria{})
	w.system(t, `INSERT INTO saved_searches (id, tenant, name, filter, kinds, schedule, state, since, created_at, updated_at)
		SELECT gen_random_uuid(), s.tenant, s.name || n, s.filter, s.kinds, s.schedule, s.state, s.since, s.since, s.since
		FROM saved_searches s, generate_series(1, 70) n`, `INSERT INTO saved_changes (search, version)
		SELECT id, nextval('saved_version') FROM saved_searches WHERE name <> 'all'`)
	for n, id := range []string{"1", "2", "3", "4"} {
		w.advert(t, id, 1000, n+1)
	}
	for _, want := range []struct {
		events int
		more   bool
	}{{3, true}, {1, false}} {
		done, err := w.matcher.Next(t.Context(), 100, dbtest.After(5))
		require.NoError(t, err)
		require.Equal(t, want.events, done.Events)
		require.Equal(t, want.events*71, done.Matches)
		require.Len(t, done.At, want.events)
		require.Equal(t, want.more, done.More)
	}
	require.Equal(t, []int64{4 * 71}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches"))
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))
	require.Len(t, w.notices(t, 6)[0], 4, "to the one target, in one delivery")
}

// What has piled up and fails as a whole is compared in halves, and a search that cannot be read keeps no other from its
// news.
func TestSavedMatcherGetsOn(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	bad := w.search(t, "unreadable", saved.Criteria{})
	w.system(t, `UPDATE saved_searches SET filter = '{"max_price": "x"}' WHERE name = 'unreadable'`)
	for n := range 4 {
		w.advert(t, fmt.Sprint(n), 1000, n+1)
	}
	dbtest.Alter(t, w.pool, `CREATE FUNCTION few() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF (SELECT count(*) FROM added) > 1 THEN RAISE 'too much'; END IF;
			RETURN NULL;
		END $$;
		CREATE TRIGGER few AFTER INSERT ON saved_matches REFERENCING NEW TABLE AS added
			FOR EACH STATEMENT EXECUTE FUNCTION few()`)
	var left []uuid.UUID
	matches, failed := 0, 0
	for range 20 {
		done, err := w.matcher.Next(t.Context(), 4, dbtest.After(5))
		left = append(left, done.Left...)
		if err != nil {
			failed++
			continue
		}
		matches += done.Matches
	}
	require.Equal(t, 4, matches)
	require.NotZero(t, failed)
	require.Equal(t, []uuid.UUID{bad}, left)
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))
}

// Without searches nothing is read of the listings whose events are taken: not even one that could not be compared.
func TestSavedWithoutSearches(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.advert(t, "1", 1000, 1)
	w.advert(t, "2", 1000, 2)
	w.system(t, fmt.Sprintf(`UPDATE saved_queue SET listing = '%s', at = '2026-01-01T00:00:00Z', before = '"none"'
		WHERE event = (SELECT min(event) FROM saved_queue)`, refOf("1").ID()))
	done, err := w.matcher.Next(t.Context(), 100, dbtest.After(3))
	require.NoError(t, err)
	require.Equal(t, 2, done.Events)
	require.Len(t, done.At, 3, "both, and the edit")
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))

	w.search(t, "all", saved.Criteria{})
	w.advert(t, "3", 1000, 4)
	require.Equal(t, 1, w.match(t, 5))
}

// An event that cannot be compared is set aside, as a dead letter, so that those after it are told; a replay has it
// compared again, with all that it was. So is one by which the process panics.
func TestSavedEventIsSetAside(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	for n := range 3 {
		w.advert(t, fmt.Sprint(n), 1000, n+1)
	}
	events := dbtest.Seen(t, w.pool, "SELECT event FROM saved_queue ORDER BY event")
	require.Len(t, events, 3)
	w.system(t, fmt.Sprintf(`UPDATE saved_queue SET listing = '%s', at = '2026-01-01T00:00:00Z', before = '{"title": "was"}'
		WHERE event = %d`, refOf("0").ID(), events[0]))
	dbtest.Alter(t, w.pool, fmt.Sprintf(`CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.event = %d THEN RAISE 'poison'; END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER poison BEFORE INSERT ON saved_matches FOR EACH ROW EXECUTE FUNCTION poison()`, events[0]))
	matches, failed := 0, 0
	var aside []int64
	for range 20 {
		done, err := w.matcher.Next(t.Context(), 4, dbtest.After(5))
		if err != nil {
			failed++
			continue
		}
		if matches += done.Matches; len(done.Aside) > 0 {
			aside = append(aside, done.Aside...)
			require.ErrorContains(t, done.Cause, "poison")
		}
	}
	require.Equal(t, events[:1], aside)
	require.Equal(t, 2, matches)
	require.Equal(t, 1, failed, "of four: of two, it fails by itself")
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))
	require.Equal(t, []string{"notify  open"}, dbtest.Query[string](t, w.pool,
		"SELECT queue || ' ' || tenant || ' ' || state FROM dead_letters"))

	letters := db.NewDeadLetters(w.pool, dblistings.Reopeners())
	id := dbtest.Query[int64](t, w.pool, "SELECT id FROM dead_letters")[0]
	_, err := letters.Replay(t.Context(), id, false, "test", dbtest.After(6))
	require.NoError(t, err)
	require.Zero(t, dbtest.Count(t, w.pool, "outbox WHERE lane = 'dead-letters'"), "RabbitMQ has no such queue")
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, fmt.Sprintf(`SELECT count(*) FROM saved_queue WHERE event = %d AND
		tenants = '{acme}' AND listing IS NOT NULL AND at = '2026-01-01T00:00:00Z' AND before = '{"title": "was"}'`, events[0])))
	for range 2 * saved.MaxCompares {
		_, _ = w.matcher.Next(t.Context(), 1, dbtest.After(7)) // fails again
	}
	require.Equal(t, []string{"open 2"}, dbtest.Query[string](t, w.pool, "SELECT state || ' ' || deaths FROM dead_letters"))

	w.advert(t, "9", 1000, 8)
	config := w.pool.Config()
	config.ConnConfig.Tracer = panics{}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	matcher := dblistings.NewSaved(pool).Matcher()
	for range saved.MaxCompares {
		require.Panics(t, func() { _, _ = matcher.Next(t.Context(), 1, dbtest.After(9)) })
	}
	done, err := matcher.Next(t.Context(), 1, dbtest.After(9))
	require.NoError(t, err)
	require.NotEmpty(t, done.Aside)
	require.Zero(t, dbtest.Count(t, w.pool, "saved_queue"))
}

// panics is a tracer by which telling news panics.
type panics struct{}

func (panics) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	if strings.Contains(q.SQL, "INTO saved_matches") {
		panic("poison")
	}
	return ctx
}

func (panics) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// A notice holds a bounded number of homes, the first with all of their news, and says how many there are besides.
func TestSavedNoticeIsBounded(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	dbtest.Alter(t, w.pool, "ALTER TABLE listings DROP CONSTRAINT listings_id_fkey") // of listings without adverts
	w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 1, w.match(t, 2))
	n := w.begun(t, 3)[0]
	more := func(homes int) saved.Notice {
		w.system(t, fmt.Sprintf(`INSERT INTO listings (id, platform, platform_id, revision, url, title, description, rent_cents,
				bedrooms, details, details_hash, published_at, updated_at)
			SELECT gen_random_uuid(), 'kijiji', gen_random_uuid(), 1, '', 'more', '', 1, 1, '{}', '', now(), now()
			FROM generate_series(1, %d)`, homes),
			`INSERT INTO saved_matches (tenant, search, event, listing, kind, rent_cents, at)
			SELECT s.tenant, s.id, 1000 + row_number() OVER () + (SELECT max(event) FROM saved_matches), l.id, 'new', 1, now()
			FROM saved_searches s, listings l WHERE NOT EXISTS (SELECT FROM saved_matches m WHERE m.listing = l.id)`,
			`INSERT INTO saved_items (tenant, target, event, search, delivery)
			SELECT d.tenant, d.target, m.event, m.search, d.id FROM saved_deliveries d, saved_matches m ON CONFLICT DO NOTHING`)
		got, err := w.Notice(t.Context(), "acme", n.ID)
		require.NoError(t, err)
		return got
	}
	got := more(saved.MaxItems - 1)
	require.Len(t, got.Items, saved.MaxItems)
	require.Zero(t, got.More)
	w.system(t, `INSERT INTO saved_matches (tenant, search, event, listing, kind, rent_cents, at)
		SELECT tenant, search, 1000000, listing, 'price_drop', 90000, at FROM saved_matches ORDER BY event LIMIT 1`)
	got = more(3)
	require.Len(t, got.Items, saved.MaxItems)
	require.Equal(t, 3, got.More)
	require.Len(t, got.Items[0].Events, 2)
	require.EqualValues(t, 90_000, got.Items[0].RentCents)
	require.Equal(t, "503 homes: all", got.Letter().Subject)
	require.Equal(t, "and 453 more", got.Letter().More)
}

// What an index may have of a filter is asked of Postgres: a trial finds what thousands of other adverts are newer than.
// It looks at a bounded number, and at what it has until its time is over.
func TestSavedTryIsBounded(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	dbtest.Alter(t, w.pool, "ALTER TABLE listings DROP CONSTRAINT listings_id_fkey") // of listings without adverts
	dbtest.Exec(t, w.pool, "INSERT INTO neighbourhoods VALUES ('here', '', '', ''), ('there', '', '', '') ON CONFLICT DO NOTHING")
	add := func(n int, platform string, rent, bedrooms int, hood string, lon, lat float64, at int) {
		dbtest.Exec(t, w.pool, `INSERT INTO listings (id, platform, platform_id, revision, url, title, description, rent_cents,
				bedrooms, neighbourhood, longitude, latitude, details, details_hash, published_at, updated_at)
			SELECT gen_random_uuid(), $2, gen_random_uuid(), 1, '', 'loft', '', $3, $4, $5, $6, $7, '{}', '', $8, $8
			FROM generate_series(1, $1)`, n, platform, rent*100, bedrooms, hood, lon, lat, dbtest.After(at))
	}
	add(1, "centris", 1000, 1, "here", -73.5, 45.5, 1)
	add(20_001, "kijiji", 2000, 2, "there", -73.7, 45.7, 2)
	add(1, "kijiji", 3000, 3, "there", -73.9, 45.9, 3)
	add(1, "kangalou", 500, 0, "there", -73.9, 45.9, 3)
	for name, c := range map[string]saved.Criteria{
		"platform":      {Platform: "centris"},
		"neighbourhood": {Neighbourhood: "here"},
		"rent":          {MinPrice: 1000, MaxPrice: 1000},
		"bedrooms":      {Bedrooms: []int{1, 7}},
		"box":           {Box: []float64{-73.6, 45.4, -73.4, 45.6}},
		"circle":        {Near: &saved.Near{Latitude: 45.5, Longitude: -73.5, Metres: 100}},
		"text":          {MaxPrice: 1000, MinBedrooms: 1, Text: "loft"},
	} {
		_, total, all, err := w.Try(t.Context(), c, dbtest.Start, 10)
		require.NoError(t, err, name)
		require.Equal(t, 1, total, name)
		require.True(t, all, name)
	}
	_, total, all, err := w.Try(t.Context(), saved.Criteria{Text: "loft"}, dbtest.Start, 10)
	require.NoError(t, err)
	require.False(t, all)
	require.Equal(t, 2000, total)
}

// An address that does not answer, or whose owner refuses, is asked no more, whichever search of whichever tenant names
// it; one that confirms may be asked about another.
func TestSavedAddresses(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	search := func(tenant, name string) uuid.UUID {
		s := saved.Search{
			ID: uuid.New(), Tenant: tenant, Name: name, Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start, CreatedAt: dbtest.Start,
		}
		require.NoError(t, w.Add(t.Context(), s, nil, "test"))
		return s.ID
	}
	ours, another, theirs := search("acme", "ours"), search("acme", "another"), search("other", "theirs")
	add := func(tenant string, search uuid.UUID, token, address string, minutes int) error {
		return w.AddTarget(t.Context(), tenant, search, dblistings.NewTarget{
			SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: saved.Email}, Token: sum(token), Sum: sum(address),
		}, "test", dbtest.After(minutes))
	}
	const day = 24 * 60
	require.NoError(t, add("acme", ours, "a", "jo", 1))
	for _, again := range []error{add("acme", another, "b", "jo", 2), add("other", theirs, "b", "jo", day)} {
		dbtest.RequireClass(t, fault.Conflict, again)
		require.ErrorContains(t, again, "email: ")
	}
	require.NoError(t, add("other", theirs, "b", "jo", day+1), "a day later")
	_, err := w.Confirm(t.Context(), sum("b"), "jo", dbtest.After(day+2))
	require.NoError(t, err)
	require.NoError(t, add("acme", another, "c", "jo", day+3), "it has answered")

	_, err = w.Unsubscribe(t.Context(), sum("c"), "jo", dbtest.After(day+4))
	require.NoError(t, err)
	states := func() []string {
		var out []string
		for _, token := range []string{"a", "b", "c"} {
			s, err := w.Subscription(t.Context(), sum(token))
			require.NoError(t, err)
			out = append(out, s.State)
		}
		return out
	}
	require.Equal(t, []string{saved.TargetStopped, saved.TargetActive, saved.TargetStopped}, states(),
		"nobody asks any more; what was confirmed goes on")
	dbtest.RequireClass(t, fault.Conflict, add("other", theirs, "d", "jo", 400*day))
	require.Equal(t, int64(2), dbtest.Count(t, w.pool, "audit WHERE action = 'search.target_stopped'"))

	require.NoError(t, add("acme", ours, "e", "al", 400*day))
	_, err = w.Confirm(t.Context(), sum("e"), "al", dbtest.After(400*day))
	require.NoError(t, err)
	_, err = w.Unsubscribe(t.Context(), sum("e"), "al", dbtest.After(400*day))
	require.NoError(t, err)
	require.NoError(t, add("acme", another, "f", "al", 400*day), "it was confirmed, and wanted no more of one search")

	// A question that reaches nobody is none: the address may be asked anew, unless its owner has refused before.
	w.system(t, "UPDATE saved_deliveries SET state = 'sent', finished_at = now()")
	const then = 500 * day
	ask := func(token, address string, class fault.Class) uuid.UUID {
		t.Helper()
		require.NoError(t, add("acme", ours, token, address, then))
		due := w.begun(t, then+1)
		require.Len(t, due, 1)
		require.True(t, due[0].Confirms)
		require.NoError(t, w.FailNotice(t.Context(), "acme", due[0].ID, class, "no such chat", dbtest.After(then+1)))
		return due[0].ID
	}
	ask("g", "flo", fault.Blocked)
	dbtest.RequireClass(t, fault.Conflict, add("acme", another, "h", "flo", then+2))
	id := ask("i", "eve", fault.Gone)
	require.NoError(t, add("acme", another, "j", "eve", then+2))
	require.NoError(t, w.FailNotice(t.Context(), "acme", id, fault.Gone, "no such chat", dbtest.After(then+3)), "repeated")
	dbtest.RequireClass(t, fault.Conflict, add("other", theirs, "k", "eve", then+3))
	require.Equal(t, []int64{3}, dbtest.Seen(t, w.pool, "SELECT asked::bigint FROM saved_asks WHERE tenant = 'acme'"),
		"it counts for the tenant")
	w.system(t, "UPDATE saved_addresses SET refused = true")
	for _, d := range w.begun(t, then+4) {
		require.NoError(t, w.FailNotice(t.Context(), "acme", d.ID, fault.Gone, "no such chat", dbtest.After(then+4)))
	}
	dbtest.RequireClass(t, fault.Conflict, add("acme", ours, "l", "eve", then+5*day))
}

// A tenant may have a bounded number of addresses asked that do not answer.
func TestSavedAsks(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	add := func(name string, minutes int) error {
		s := saved.Search{
			ID: uuid.New(), Tenant: "acme", Name: name, Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start,
			CreatedAt: dbtest.After(minutes),
		}
		var targets []dblistings.NewTarget
		for n := range saved.MaxTargets {
			one := name + string(rune('a'+n))
			targets = append(targets, dblistings.NewTarget{
				SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: saved.Email}, Token: sum(one), Sum: sum(one),
			})
		}
		return w.Add(t.Context(), s, targets, "test")
	}
	for n := range saved.MaxAsked / saved.MaxTargets {
		require.NoError(t, add(string(rune('A'+n)), 1))
	}
	for range 2 {
		err := add("Z", 2)
		dbtest.RequireClass(t, fault.Conflict, err)
		require.ErrorContains(t, err, "the tenant has had 100 e-mail addresses and Telegram chats asked")
	}
	for n := range saved.MaxTargets {
		_, err := w.Confirm(t.Context(), sum("A"+string(rune('a'+n))), "jo", dbtest.After(3))
		require.NoError(t, err)
	}
	require.NoError(t, add("Y", 4), "as many have confirmed")
	dbtest.RequireClass(t, fault.Conflict, add("Z", 5))
	require.NoError(t, add("Z", 24*60+1), "a day later")
}

// E-mail addresses and webhooks that are asked are counted each by itself, and which are too many is said.
func TestSavedAsksByKind(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	id := w.search(t, "all", saved.Criteria{})
	dbtest.Seen(t, w.pool, "DELETE FROM saved_asks RETURNING 1")
	add := func(kind saved.Channel, minutes int) error {
		target := uuid.New()
		return w.AddTarget(t.Context(), "acme", id, dblistings.NewTarget{
			SavedTarget: dblistings.SavedTarget{ID: target, Kind: kind}, Token: sum(target.String()), Sum: sum(target.String()),
		}, "test", dbtest.After(minutes))
	}
	require.NoError(t, add(saved.Email, 1))
	dbtest.Seen(t, w.pool, "UPDATE saved_asks SET asked = 100 RETURNING 1")
	require.ErrorContains(t, add(saved.Email, 2), "had 100 e-mail addresses and Telegram chats asked")
	require.ErrorContains(t, add(saved.Telegram, 3), "had 100 e-mail addresses and Telegram chats asked")
	require.NoError(t, add(saved.Webhook, 60), "the count of webhooks begins")
	require.NoError(t, add(saved.Webhook, 61))
	require.Equal(t, []int64{2}, dbtest.Seen(t, w.pool, "SELECT hooks::bigint FROM saved_asks"))
	dbtest.Seen(t, w.pool, "UPDATE saved_asks SET hooks = 2000 RETURNING 1")
	err := add(saved.Webhook, 24*60+1)
	dbtest.RequireClass(t, fault.Conflict, err)
	require.ErrorContains(t, err, "had 2000 webhooks asked")
	require.NoError(t, add(saved.Email, 24*60+1), "a day later")
	require.NoError(t, add(saved.Webhook, 25*60))
	require.Equal(t, []int64{1}, dbtest.Seen(t, w.pool, "SELECT hooks::bigint FROM saved_asks"))
}

// A search that is deleted is gone at once, with its addresses, whatever it was told; retention empties it a few rows at
// a time.
func TestSavedDeletedIsEmptied(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "kept", saved.Criteria{})
	id := w.search(t, "deleted", saved.Criteria{})
	s, err := w.Get(t.Context(), "acme", id)
	require.NoError(t, err)
	hook := s.Targets[0]
	for n := range 5 {
		w.advert(t, fmt.Sprint(n), 1000, n+1)
		require.Equal(t, 2, w.match(t, n+1))
		if n < 3 {
			require.Len(t, w.notices(t, n+1), 2)
		}
	}
	require.Len(t, w.begun(t, 6), 2)
	require.NoError(t, w.Delete(t.Context(), "acme", id, "test", dbtest.After(7)))
	dbtest.RequireClass(t, fault.Gone, w.Delete(t.Context(), "acme", id, "test", dbtest.After(7)))
	_, err = w.Get(t.Context(), "acme", id)
	dbtest.RequireClass(t, fault.Gone, err)
	dbtest.RequireClass(t, fault.Gone, w.Change(t.Context(), "acme", id, "test", dbtest.After(7), func(*saved.Search) {}))
	dbtest.RequireClass(t, fault.Gone, w.DeleteTarget(t.Context(), "acme", id, hook.ID, "test", dbtest.After(7)))
	_, err = w.Challenge(t.Context(), "acme", id, hook.ID, "test", dbtest.After(7))
	dbtest.RequireClass(t, fault.Gone, err)
	_, _, err = w.Matches(t.Context(), "acme", id, nil, 10)
	dbtest.RequireClass(t, fault.Gone, err)
	_, err = w.Feed(t.Context(), sum("deleted-feed"), 10)
	dbtest.RequireClass(t, fault.Gone, err)
	list, err := w.List(t.Context(), "acme", "", 10)
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Empty(t, dbtest.Seen(t, w.pool, "SELECT 1 FROM saved_targets WHERE state <> 'stopped' AND search IN ("+
		"SELECT id FROM saved_searches WHERE deleted_at IS NOT NULL)"))
	w.search(t, "deleted", saved.Criteria{}) // its name is free
	w.advert(t, "9", 1000, 8)
	require.Equal(t, 2, w.match(t, 8), "of the kept one and the new one")

	require.Equal(t, []int64{5}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_matches WHERE search = '"+id.String()+"'"))
	steps := db.NewRetention(w.pool)
	deleted := 0
	for more := true; more; {
		step, err := steps.DeleteExpired(t.Context(), retention.Searches, dbtest.After(9), "", 2)
		require.NoError(t, err)
		require.LessOrEqual(t, step.Deleted, 4, "two of a kind")
		more = step.More
		deleted += step.Deleted
	}
	require.Equal(t, 5+4+5+1, deleted, "items, deliveries, news, and the search")
	require.Equal(t, []int64{2}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_searches"))
	require.Equal(t, []int64{0}, dbtest.Seen(t, w.pool, "SELECT count(*) FROM saved_targets t WHERE search = '"+id.String()+"'"))
}

// That a search was deleted is forgotten; a matcher that has not read for so long reads all of them anew.
func TestSavedDeletedIsForgotten(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "kept", saved.Criteria{})
	id := w.search(t, "deleted", saved.Criteria{})
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 2, w.match(t, 1))
	require.NoError(t, w.Delete(t.Context(), "acme", id, "test", dbtest.After(2)))
	require.NotZero(t, dbtest.Expire(t, w.pool, retention.Searches, dbtest.After(3)))
	require.Zero(t, dbtest.Expire(t, w.pool, retention.Deleted, dbtest.After(2)))
	require.Equal(t, 1, dbtest.Expire(t, w.pool, retention.Deleted, dbtest.After(3)))
	w.advert(t, "2", 1000, 4)
	done, err := w.matcher.Next(t.Context(), 100, dbtest.After(24*60+2))
	require.NoError(t, err)
	require.Equal(t, 1, done.Searches)
	require.Equal(t, 1, done.Matches)
}

// missedUntil is a try that has failed, of which the next one is due in so many minutes.
func missedUntil(reason string, minutes int) saved.Pause {
	return saved.Pause{Until: dbtest.After(minutes), At: dbtest.After(minutes), Reason: reason, Counts: true}
}

// That a target is not reached is no try, and known since the first time, until it is reached or the delivery is begun
// anew. What has failed so is not late.
func TestSavedNoticeUnreached(t *testing.T) {
	t.Parallel()
	w := newTelling(t)
	w.search(t, "all", saved.Criteria{})
	w.advert(t, "1", 1000, 1)
	require.Equal(t, 1, w.match(t, 1))
	due, err := w.Begin(t.Context(), 10, 10, dbtest.After(0), dbtest.After(2))
	require.NoError(t, err)
	require.Len(t, due, 1)
	putOff := func(p saved.Pause) (tries int, since *time.Time) {
		t.Helper()
		tries, err := w.PutOffNotice(t.Context(), "acme", due[0].ID, p)
		require.NoError(t, err)
		n, err := w.Notice(t.Context(), "acme", due[0].ID)
		require.NoError(t, err)
		require.Equal(t, tries, n.Tries)
		return tries, n.Astray
	}
	unreached := func(minutes int) saved.Pause {
		p := missedUntil("the webhook could not be reached", minutes)
		p.Astray, p.Counts = true, false
		return p
	}
	tries, since := putOff(unreached(3))
	require.Zero(t, tries)
	require.WithinDuration(t, dbtest.After(3), *since, 0)
	_, since = putOff(unreached(4))
	require.WithinDuration(t, dbtest.After(3), *since, 0)
	_, since = putOff(saved.Pause{Until: dbtest.After(5)})
	require.WithinDuration(t, dbtest.After(3), *since, 0, "it was not tried")
	age, _, err := w.Untried(t.Context(), dbtest.After(10))
	require.NoError(t, err)
	require.Zero(t, age)
	tries, since = putOff(missedUntil("HTTP 500", 6))
	require.Equal(t, 1, tries)
	require.Nil(t, since)

	putOff(unreached(7))
	require.NoError(t, w.FailNotice(t.Context(), "acme", due[0].ID, fault.Transient, "it could not be reached", dbtest.After(8)))
	number := dbtest.Query[int64](t, w.pool, `SELECT id FROM dead_letters WHERE queue = 'notify' AND tenant = 'acme'`)
	_, err = db.NewDeadLetters(w.pool, dblistings.Reopeners()).Replay(t.Context(), number[0], false, "ops", dbtest.After(9))
	require.NoError(t, err)
	n, err := w.Notice(t.Context(), "acme", due[0].ID)
	require.NoError(t, err)
	require.Zero(t, n.Tries)
	require.Nil(t, n.Astray)
}

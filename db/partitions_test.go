package db_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// published stores a listing.
func published(t *testing.T, pool *pgxpool.Pool) listing.Listing {
	t.Helper()

	ctx, s := t.Context(), dblistings.NewListings(pool)
	l := listing.Listing{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1"}, URL: "https://k.example/1", ScrapedAt: dbtest.Start,
		Title: "4 ½ à louer", RentCents: 125_000, Bedrooms: 2, ImageURLs: []string{"http://i.example/1.jpg"},
	}
	_, err := s.Receive(ctx, []dblistings.Arrival{{
		Ref: l.Ref, URL: l.URL, Payload: []byte("{}"), ContentHash: make([]byte, 32), ScrapedAt: dbtest.Start,
	}}, dbtest.Start)
	require.NoError(t, err)
	require.NoError(t, s.SaveNormalized(ctx, l, listing.Payload{Revision: 1}, dbtest.Start))
	v, err := s.Load(ctx, l.ID())
	require.NoError(t, err)
	run := listing.Run{WorkflowID: "listing/" + l.Ref.String(), RunID: "run-1"}
	_, err = s.Publish(ctx, listing.Publication{Version: v}, run, dbtest.Start)
	require.NoError(t, err)
	return l
}

// Months that are over are dropped as a whole; what the table was before it had months is deleted row by row, and so
// are rows that belong to no month.
func TestPartitionsExpire(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	s := db.NewRetention(pool)
	l := published(t, pool)
	dbtest.Exec(t, pool, "DELETE FROM listing_events")
	month := time.Date(time.Now().Year(), time.Now().Month(), 1, 0, 0, 0, 0, time.UTC).AddDate(0, 6, 0)
	add := func(ats ...time.Time) {
		for _, at := range ats {
			dbtest.Exec(t, pool, `INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
				VALUES ($1, 1, 'status', $2, 'active', 'archived')`, l.ID(), at)
		}
	}
	state := func() (until time.Time, strays int64) {
		all, err := s.Partitions(ctx)
		require.NoError(t, err)
		require.Len(t, all, 6)
		require.Equal(t, "listing_events", all[1].Table)
		return all[1].Until, all[1].Strays
	}
	parts := func() []string {
		return dbtest.Query[string](t, pool, `SELECT DISTINCT tableoid::regclass::text FROM listing_events ORDER BY 1`)
	}

	until, strays := state()
	require.True(t, until.After(time.Now().AddDate(0, 3, -3)), until)
	require.Zero(t, strays)
	add(month.AddDate(0, 1, 5), month.AddDate(0, 1, 6)) // no row is refused
	require.Equal(t, []string{"listing_events_default"}, parts())
	_, strays = state()
	require.Equal(t, int64(2), strays)

	for range 2 { // the month whose rows are in the default partition is left out; the others are made
		require.NoError(t, s.MakePartitions(ctx, month))
	}
	add(month, month.AddDate(0, 0, 10), month.AddDate(0, 2, 0), month.AddDate(0, -7, 0))
	named := func(m time.Time) string { return "listing_events_" + m.Format("200601") }
	require.Equal(t, []string{
		named(month), named(month.AddDate(0, 2, 0)), "listing_events_before", "listing_events_default",
	}, parts())

	// All months that end until then go, and the rows that are older of the two others.
	require.Equal(t, 4, dbtest.Expire(t, pool, retention.Events, month.AddDate(0, 1, 6)))
	require.Equal(t, []string{named(month.AddDate(0, 2, 0)), "listing_events_default"}, parts())
	require.Zero(t, dbtest.Count(t, pool, "pg_class WHERE relname = $1", named(month)))
	require.Zero(t, dbtest.Expire(t, pool, retention.Events, month.AddDate(0, 1, 6)))
	require.Equal(t, 1, dbtest.Expire(t, pool, retention.Events, month.AddDate(0, 1, 7)))
	_, strays = state()
	require.Zero(t, strays)
	require.NoError(t, s.MakePartitions(ctx, month), "now the month that was left out")
	require.Equal(t, int64(1), dbtest.Count(t, pool, "pg_class WHERE relname = $1", named(month.AddDate(0, 1, 0))))

	require.Error(t, s.MakePartitions(ctx, month.AddDate(2, 0, 0)), "only about now")
	_, err := pool.Exec(ctx, "SELECT * FROM partitions_expire('listings', now(), '', 1)")
	require.Error(t, err)
	for _, at := range []time.Time{time.Now().AddDate(0, 0, -89), time.Now().AddDate(0, 0, -91), month} {
		require.NoError(t, db.NewAuditLog(pool).Record(ctx, db.AuditEntry{At: at, Actor: "jo", Action: "x", Subject: "x"}))
	}
	require.Equal(t, 1, dbtest.Expire(t, pool, retention.Audit, month.AddDate(1, 0, 0)), "nothing younger than 90 days")
}

// The first event of a listing is stored without a look into the months, whose locks would be taken first.
func TestAFirstEventLocksOnePartition(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	l := published(t, pool)
	locked := func(late time.Duration) (n int) {
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(ctx)) }()
		_, err = tx.Exec(ctx, "SET LOCAL plan_cache_mode = force_generic_plan") // as after a few events
		require.NoError(t, err)
		_, err = tx.Exec(ctx, `INSERT INTO listing_events (listing_id, revision, kind, at, new_rent_cents, new_status)
			SELECT id, 2, 'created', published_at + $2, 1, 'active' FROM listings WHERE id = $1`, l.ID(), late)
		require.NoError(t, err)
		require.NoError(t, tx.QueryRow(ctx, `SELECT count(DISTINCT l.relation) FROM pg_locks l
			JOIN pg_inherits p ON p.inhrelid = l.relation AND p.inhparent = 'listing_events'::regclass
			WHERE l.pid = pg_backend_pid()`).Scan(&n))
		return n
	}
	require.Equal(t, 1, locked(0), "its own")
	require.Greater(t, locked(time.Second), 1, "one that may be a repetition")
}

// The SQL of the runbook makes a partition of the rows of a month that are in the default one, while others write: none is
// lost or told again, those of other months stay, and the guards of the audit hold in all of them.
func TestStraysBecomeTheirMonth(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	migrating, working := roles(t)
	require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(working.Config().ConnConfig.User)))
	runbook, err := os.ReadFile("../docs/runbook.md")
	require.NoError(t, err)
	_, block, ok := strings.Cut(string(runbook), "```sql\nDO $$")
	require.True(t, ok)
	block, _, _ = strings.Cut(block, "```")
	next := time.Date(time.Now().Year(), time.Now().Month()+6, 1, 0, 0, 0, 0, time.UTC)
	move := func(table string, month time.Time) {
		t.Helper()
		sql := strings.NewReplacer("'listing_events'", "'"+table+"'",
			"2027-03-01 00:00Z", month.Format("2006-01-02 15:04Z")).Replace("DO $$" + block)
		require.Contains(t, sql, month.Format("'2006-01-02 "))
		var err error
		require.Eventually(t, func() bool { // a writer may hold its lock
			var pg *pgconn.PgError
			_, err = migrating.Exec(ctx, sql)
			return !errors.As(err, &pg) || pg.Code != "55P03"
		}, servicetest.Patience(), 10*time.Millisecond)
		require.NoError(t, err)
	}
	l := published(t, working)
	insert := map[string]string{
		"audit": "INSERT INTO audit (at, actor, action, subject) SELECT $1, 'jo', 'x', $2::uuid::text",
		"listing_events": `INSERT INTO listing_events (listing_id, revision, kind, at, old_rent_cents, new_rent_cents,
			new_status) SELECT id, 1, 'price', $1, 1, 2, 'active' FROM listings WHERE id = $2`,
		"raw_listing_revisions": `INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at,
			received_at) SELECT id, -1 - abs(random()*1e9)::int, '', '{}', $1, $1 FROM raw_listings WHERE id = $2`,
	}
	for table, sql := range insert {
		add := func(at time.Time) error {
			tag, err := working.Exec(ctx, sql, at, l.ID())
			if err == nil && tag.RowsAffected() != 1 {
				err = fmt.Errorf("%d rows stored", tag.RowsAffected())
			}
			return err
		}
		parts := func() map[string]int64 {
			out := map[string]int64{}
			rows, err := migrating.Query(ctx, "SELECT tableoid::regclass::text, count(*) FROM "+table+
				" WHERE tableoid <> $1::regclass GROUP BY 1", table+"_before")
			require.NoError(t, err)
			var (
				part string
				n    int64
			)
			_, err = pgx.ForEachRow(rows, []any{&part, &n}, func() error { out[part] = n; return nil })
			require.NoError(t, err)
			return out
		}
		for _, at := range []time.Time{
			next, next.Add(time.Second), next.AddDate(0, 1, 0), next.AddDate(0, 1, 3), next.AddDate(3, 0, 0),
		} {
			require.NoError(t, add(at), table)
		}
		queued := func() int64 { // beyond what is stored
			return dbtest.Count(t, migrating, "saved_queue") - dbtest.Count(t, migrating, "listing_events WHERE kind = 'price'")
		}
		told := queued()
		var stored atomic.Int64
		writing, stop := context.WithCancel(ctx)
		var writers errgroup.Group
		for range 2 {
			writers.Go(func() error {
				for writing.Err() == nil {
					if err := add(next.AddDate(0, 0, 7)); err != nil {
						return err
					}
					stored.Add(1)
				}
				return nil
			})
		}
		require.Eventually(t, func() bool { return stored.Load() > 3 }, servicetest.Patience(), time.Millisecond)
		move(table, next)
		before := stored.Load()
		require.Eventually(t, func() bool { return stored.Load() > before+3 }, servicetest.Patience(), time.Millisecond)
		stop()
		require.NoError(t, writers.Wait(), table)
		first, second := table+next.Format("_200601"), table+next.AddDate(0, 1, 0).Format("_200601")
		require.Equal(t, map[string]int64{first: stored.Load() + 2, table + "_default": 3}, parts())
		move(table, next.AddDate(0, 1, 0))
		require.Equal(t, map[string]int64{first: stored.Load() + 2, second: 2, table + "_default": 1}, parts())
		require.Equal(t, told, queued(), "nothing is told again")

		require.NoError(t, add(next.AddDate(0, 1, 9)), table)
		require.NoError(t, add(next.AddDate(2, 0, 0)), table)
		require.Equal(t, map[string]int64{first: stored.Load() + 2, second: 3, table + "_default": 2}, parts())
		for _, part := range []string{first, second, table + "_default"} {
			require.False(t, dbtest.Query[bool](t, working, "SELECT has_table_privilege($1, 'SELECT')", part)[0], part)
			if table == "audit" {
				for _, sql := range []string{"DELETE FROM ", "TRUNCATE "} {
					_, err := migrating.Exec(ctx, sql+part)
					require.ErrorContains(t, err, "the audit is append-only", part)
				}
			}
		}
	}
	require.NoError(t, db.NewRetention(working).MakePartitions(ctx, next), "the months between, which were kept from it")
}

// A table that somebody reads for long is not waited for: readers and writers would wait behind.
func TestPartitionIsNotDroppedUnderAReader(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	s := db.NewRetention(pool)
	reader, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = reader.Rollback(context.WithoutCancel(ctx)) }()
	_, err = reader.Exec(ctx, "SELECT count(*) FROM listing_events")
	require.NoError(t, err)
	_, err = s.DeleteExpired(ctx, retention.Events, time.Now().AddDate(1, 0, 0), "", 10)
	var pg *pgconn.PgError
	require.ErrorAs(t, err, &pg)
	require.Equal(t, "55P03", pg.Code)
	require.NoError(t, reader.Rollback(ctx))
	_, err = s.DeleteExpired(ctx, retention.Events, time.Now().AddDate(1, 0, 0), "", 10)
	require.NoError(t, err)
}

// Partitions are reached through their tables only. The audit keeps its guards in each of them.
func TestPartitionsOfRoles(t *testing.T) {
	t.Parallel()

	ctx := t.Context()
	migrating, working := roles(t)
	require.NoError(t, db.Migrate(ctx, migrating, db.GrantTo(working.Config().ConnConfig.User)))
	soon := time.Now().AddDate(0, 8, 0)
	require.NoError(t, db.NewRetention(working).MakePartitions(ctx, soon), "as the application")
	for _, at := range []time.Time{time.Now(), soon, time.Now().AddDate(3, 0, 0)} {
		require.NoError(t, db.NewAuditLog(working).Record(ctx, db.AuditEntry{At: at, Actor: "jo", Action: "x", Subject: "x"}))
	}
	parts := dbtest.Query[string](t, working, `SELECT c.relname FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid
		WHERE c.relkind = 'r' AND i.inhparent IN ('audit'::regclass, 'listing_events'::regclass)`)
	require.Greater(t, len(parts), 15)
	for _, part := range parts {
		for _, verb := range []string{"SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"} {
			require.False(t, dbtest.Query[bool](t, working, "SELECT has_table_privilege($1, $2)", part, verb)[0], part+verb)
		}
		_, err := working.Exec(ctx, "DROP TABLE "+part)
		require.Error(t, err)
		if !strings.HasPrefix(part, "audit") {
			continue
		}
		_, err = migrating.Exec(ctx, "TRUNCATE "+part)
		require.ErrorContains(t, err, "the audit is append-only")
	}
	for _, part := range dbtest.Query[string](t, migrating, "SELECT DISTINCT tableoid::regclass::text FROM audit") {
		for _, sql := range []string{"DELETE FROM ", "TRUNCATE "} {
			_, err := migrating.Exec(ctx, sql+part)
			require.ErrorContains(t, err, "the audit is append-only", part)
		}
	}
	require.Equal(t, int64(3), dbtest.Count(t, working, "audit"))
	for _, sql := range []string{
		"SELECT partition_add('audit', 'audit_x', now() + interval '9 years', now() + interval '10 years')",
		"DELETE FROM audit",
	} {
		_, err := working.Exec(ctx, sql)
		require.Error(t, err, sql)
	}
}

// The audit's filters look at the months that they mean, and what is read in an order comes from indexes.
func TestPartitionPlans(t *testing.T) {
	t.Parallel()

	ctx, pool, texts := t.Context(), dbtest.New(t), dbtest.Statements(t)
	l := published(t, pool)
	later := time.Now().AddDate(0, 5, 0)
	require.NoError(t, db.NewRetention(pool).MakePartitions(ctx, later))
	dbtest.Exec(t, pool, `INSERT INTO audit (at, actor, action, subject)
		SELECT now() + n * interval '1 h', 'a' || n % 50, 'x', 's/' || n FROM generate_series(1, 5000) n`)
	dbtest.Exec(t, pool, `INSERT INTO raw_listings (id, platform, platform_id, url, payload, content_hash, first_scraped_at,
			last_scraped_at, payload_at, revised_at)
		SELECT gen_random_uuid(), 'p', n::text, '', '{}', '', now(), now(), now(), now() FROM generate_series(1, 500) n`)
	dbtest.Exec(t, pool, `INSERT INTO listings (id, platform, platform_id, revision, url, title, description, rent_cents, bedrooms,
			details, details_hash, published_at, updated_at)
		SELECT id, platform, platform_id, 1, '', '', '', 1, 1, '{}', '', now(), now() FROM raw_listings WHERE platform = 'p'`)
	dbtest.Exec(t, pool, `INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
		SELECT id, 1, 'status', now() + n * interval '250 h', 'active', 'claimed' FROM listings, generate_series(1, 20) n`)
	dbtest.Exec(t, pool, `INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at, received_at)
		SELECT id, n + 1, '', '{}', now(), now() + n * interval '250 h' FROM raw_listings, generate_series(1, 20) n`)
	for _, table := range []string{"audit", "listing_events", "raw_listing_revisions", "listings"} {
		dbtest.Alter(t, pool, "ANALYZE "+table)
	}
	plan := func(sql string, args ...any) string {
		t.Helper()
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(ctx) }()
		_, err = tx.Exec(ctx, "SET LOCAL enable_seqscan = off") // what is this small is read faster without an index
		require.NoError(t, err)
		rows, _ := tx.Query(ctx, "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) "+sql, args...)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, sql)
		text := strings.Join(lines, "\n")
		require.NotContains(t, text, "Seq Scan on audit", text)
		require.NotContains(t, text, "Seq Scan on listing_events", text)
		require.NotContains(t, text, "Seq Scan on raw_listing_revisions", text)
		return text
	}
	none, nobody := (*string)(nil), (*int64)(nil)

	newest := plan(texts["sqlAuditList"], none, none, none, nil, nil, nobody, nil, 50)
	require.NotContains(t, newest, "Sort Method", newest)
	month := time.Date(later.Year(), later.Month(), 1, 0, 0, 0, 0, time.UTC)
	filtered := plan(texts["sqlAuditList"], none, []string{"a1"}, none, month, month.AddDate(0, 0, 20), nobody, nil, 50)
	require.Contains(t, filtered, "audit_"+month.Format("200601"))
	require.NotContains(t, filtered, "audit_before")
	require.NotContains(t, filtered, "audit_default")
	after := plan(texts["sqlAuditList"], none, none, none, nil, nil, int64(7), month, 50)
	require.NotContains(t, after, "Sort Method", after)
	require.NotContains(t, after, "audit_"+month.AddDate(0, 1, 0).Format("200601"), "those after the position")

	for _, sql := range []string{texts["sqlHistory"], texts["sqlRevisions"]} {
		require.Contains(t, plan(sql, l.ID()), "Index")
	}
	once := plan(`SELECT FROM listing_events e WHERE e.listing_id = $1 AND e.revision = 1 AND e.kind = 'created'
		AND e.at >= (SELECT l.published_at FROM listings l WHERE l.id = $1) AND e.at <= $2`, l.ID(), time.Now().AddDate(0, 0, 1))
	require.Contains(t, once, "listing_events_before")
	require.NotContains(t, once, "listing_events_2", "as the trigger does")
	require.NotContains(t, once, "listing_events_default")
	require.Contains(t, plan(texts["sqlSavedEvents"], []int64{1, 2, 3}, listing.ClaimFor), "listing_events_")
}

// A time of a machine whose clock is ahead counts as that of Postgres.
func TestEarlier(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewRetention(pool)
	past, err := s.Earlier(t.Context(), dbtest.Start)
	require.NoError(t, err)
	require.True(t, past.Equal(dbtest.Start))
	now, err := s.Earlier(t.Context(), time.Now().AddDate(1, 0, 0))
	require.NoError(t, err)
	require.WithinDuration(t, dbtest.Query[time.Time](t, pool, "SELECT now()")[0], now, time.Minute)
}

package db_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/domain/web"
)

// crawlStarted creates a run that has work without end.
func crawlStarted(ctx context.Context, s *dbcrawl.Crawls) (crawl.Run, error) {
	settings := crawl.Defaults
	settings.MaxPages, settings.MaxDepth = 1_000_000, 1000
	root := web.Address{URL: "https://a.example/1", Host: "a.example"}
	return s.Create(ctx, dbcrawl.NewRun{
		SeedURL: root.URL, Root: root, AllowedHosts: []string{root.Host}, Settings: settings,
	}, time.Now())
}

// crawlIDs makes the next run the one after last.
func crawlIDs(t *testing.T, pool *pgxpool.Pool, last int64) {
	t.Helper()
	dbtest.Exec(t, owned(t, pool), "SELECT setval(pg_get_serial_sequence('crawl_runs', 'id'), $1)", last)
}

func crawlParts(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	return dbtest.Query[string](t, pool, "SELECT part::text FROM crawl_partition_list() WHERE lower IS NOT NULL ORDER BY 1")
}

// Runs go with the partition of their range when all of them are old enough. Those that wait for one that goes on are
// deleted by themselves after a while, and an open run keeps what it is compared with.
func TestCrawlPartitionsExpire(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	s := db.NewRetention(pool)
	crawlIDs(t, pool, 100)
	for range 2 {
		require.NoError(t, s.MakePartitions(ctx, time.Now()))
	}
	require.Len(t, crawlParts(t, pool), 3*4)
	require.Contains(t, crawlParts(t, pool), "crawl_tries_126")

	old, older := dbtest.Start.Add(-time.Microsecond), dbtest.Start.Add(-retention.CrawlRunsWait-time.Microsecond)
	fill := func(seed, status string, finished *time.Time) int64 {
		run := dbtest.CrawlRun(t, pool, seed, status, finished)
		dbtest.CrawlURLs(t, pool, run, 5)
		return run
	}
	left := func() []string {
		return dbtest.Query[string](t, pool, `SELECT seed_url || ' ' || (SELECT count(*) FROM crawl_urls WHERE run_id = r.id)
			FROM crawl_runs r ORDER BY id`)
	}
	fill("old", "COMPLETED", &old)
	fill("older", "CANCELLED", &older)
	running := fill("running", "RUNNING", nil)
	crawlIDs(t, pool, 125)
	base := fill("base", "COMPLETED", &older)
	crawlIDs(t, pool, 150)
	compared := fill("compared", "RUNNING", nil)
	dbtest.Exec(t, pool, "UPDATE crawl_runs SET base_run_id = $1 WHERE id = $2", base, compared)

	require.Equal(t, 5+1, dbtest.Expire(t, pool, retention.CrawlRuns, dbtest.Start))
	require.Equal(t, []string{"old 5", "running 5", "base 5", "compared 5"}, left())
	dbtest.Exec(t, pool, "UPDATE crawl_runs SET status = 'COMPLETED', finished_at = $1 WHERE id = $2", old, running)
	require.Equal(t, 2*(5+1), dbtest.Expire(t, pool, retention.CrawlRuns, dbtest.Start))
	require.Equal(t, []string{"base 5", "compared 5"}, left())
	require.NotContains(t, strings.Join(crawlParts(t, pool), " "), "_101", "all three went")
	require.Zero(t, dbtest.Count(t, pool, "crawl_rates WHERE run_id <= $1", running))
	dbtest.Exec(t, pool, "UPDATE crawl_runs SET status = 'COMPLETED', finished_at = $1 WHERE id = $2", dbtest.Start, compared)
	require.Equal(t, 5+1, dbtest.Expire(t, pool, retention.CrawlRuns, dbtest.Start))
	require.Equal(t, []string{"compared 5"}, left())
	require.Len(t, crawlParts(t, pool), 3*2, "one with runs, one that is to come")
}

// More runs than there are partitions for are refused nothing, and have one afterwards without being moved.
func TestCrawlPartitionsOverflow(t *testing.T) {
	t.Parallel()

	ctx, pool := t.Context(), dbtest.New(t)
	s, store := db.NewRetention(pool), dbcrawl.NewCrawls(pool)
	state := func() (runs, strays int64) {
		all, err := s.Partitions(ctx)
		require.NoError(t, err)
		require.Equal(t, "crawl_urls", all[5].Table)
		return all[5].Runs, all[5].Strays
	}
	crawlIDs(t, pool, 300)
	files := dbtest.Query[uint32](t, pool, "SELECT 'crawl_urls_default'::regclass::oid")
	for more := 1; more > 0; { // a run between any two steps
		run, err := crawlStarted(ctx, store)
		require.NoError(t, err)
		claims, _, err := store.Claim(ctx, crawl.Take{Run: run.ID, Worker: "w", Max: 5, Fresh: 5, Lease: time.Minute})
		require.NoError(t, err)
		require.Len(t, claims, 1)
		require.NoError(t, store.Record(ctx, run.ID, "w", []crawl.Result{dbtest.Visited(claims[0], "/2", "/3")}))
		if run.ID == 301 {
			runs, strays := state()
			require.Zero(t, runs)
			require.Equal(t, int64(3), strays)
		}
		require.NoError(t, pool.QueryRow(ctx, "SELECT crawl_partitions_make(now())").Scan(&more))
	}
	runs, strays := state()
	require.GreaterOrEqual(t, runs, int64(90))
	require.Zero(t, strays)
	require.Equal(t, files, dbtest.Query[uint32](t, pool, "SELECT DISTINCT tableoid::oid FROM crawl_urls"), "no row was moved")
	require.Equal(t, []string{"crawl_links_101", "crawl_tries_101", "crawl_urls_101"},
		slices.DeleteFunc(crawlParts(t, pool), func(part string) bool { return !strings.HasSuffix(part, "_101") }))
	require.Error(t, s.MakePartitions(ctx, time.Now().AddDate(2, 0, 0)), "only about now")
}

// Statements of a run look at its partition only.
func TestCrawlPartitionPlans(t *testing.T) {
	t.Parallel()

	ctx, pool, texts := t.Context(), dbtest.New(t), dbtest.Statements(t)
	crawlIDs(t, pool, 100)
	require.NoError(t, db.NewRetention(pool).MakePartitions(ctx, time.Now()))
	run := dbtest.CrawlRun(t, pool, "run", "RUNNING", nil)
	require.Equal(t, int64(101), run)
	dbtest.CrawlURLs(t, pool, run, 2000)
	dbtest.Exec(t, owned(t, pool), "ANALYZE crawl_urls, crawl_links, crawl_tries")
	part := regexp.MustCompile(` on crawl_(urls|links|tries)_(before|default|\d+) `)
	// looked are the ends of the names of the partitions that a plan reads.
	looked := func(settings, explain, text string, args ...any) (parts []string, plan string) {
		t.Helper()
		tx, err := pool.Begin(ctx)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback(ctx) }()
		_, err = tx.Conn().PgConn().Exec(ctx, settings).ReadAll()
		require.NoError(t, err)
		rows, _ := tx.Query(ctx, explain+text, args...)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err, text)
		for _, line := range lines {
			if found := part.FindStringSubmatch(line); found != nil && !strings.Contains(line, "never executed") &&
				!strings.Contains(line, "Update on") { // a kept plan lists all that it might write to
				parts = append(parts, found[2])
			}
		}
		slices.Sort(parts)
		return slices.Compact(parts), strings.Join(lines, "\n")
	}
	some := map[uint32]any{
		pgtype.Int8OID: int64(1), pgtype.Int4OID: int32(1), pgtype.Int8ArrayOID: []int64{1}, pgtype.TextOID: "w",
		pgtype.TimestamptzOID: dbtest.Start, pgtype.IntervalOID: time.Minute,
	}
	for _, name := range []string{
		"sqlCrawlDue", "sqlCrawlClaim", "sqlCrawlClaimAgain", "sqlCrawlKeep", "sqlCrawlFinish", "sqlCrawlDiscover", "sqlCrawlConnect",
		"sqlCrawlExpire", "sqlCrawlSpread", "sqlCrawlLook", "sqlCrawlRetry", "sqlCrawlRunEmpty", "sqlCrawlURLsByID", "sqlCrawlURLExport",
		"sqlCrawlURLRows", "sqlCrawlLineage", "sqlCrawlLinks", "sqlCrawlOpenHosts", "sqlCrawlLeases", "sqlCrawlWaiting",
	} {
		conn, err := pool.Acquire(ctx)
		require.NoError(t, err)
		sd, err := conn.Conn().Prepare(ctx, "args of "+name, texts[name])
		conn.Release()
		require.NoError(t, err)
		args := make([]any, len(sd.ParamOIDs))
		for i, oid := range sd.ParamOIDs { // a comparison with NULL leaves nothing of a plan
			args[i] = some[oid]
		}
		if args[0] = run; name == "sqlCrawlClaimAgain" {
			args[9] = run // whose validators are returned
		}
		parts, plan := looked(texts["sqlCrawlPlan"], "EXPLAIN ", texts[name], args...)
		require.Equal(t, []string{"101"}, parts, name+plan)
		require.NotContains(t, plan, "Seq Scan on crawl_urls", name)
	}
	const claim = ", '', 10, '{}', '{}', 10, 'w', '1 min', 10"
	for name, index := range map[string]string{
		"sqlCrawlDue":        "crawl_urls_101_run_id_due_at_idx",
		"sqlCrawlClaim":      "crawl_urls_101_run_id_host_depth_id_idx",
		"sqlCrawlClaimAgain": "crawl_urls_101_run_id_host_depth_id_idx",
	} {
		args := map[string]string{"sqlCrawlClaim": claim, "sqlCrawlClaimAgain": claim + ", %[1]d"}[name]
		prepare := fmt.Sprintf("%s; PREPARE %s AS %s", texts["sqlCrawlClaimPlan"], name, texts[name])
		// A plan that is kept since its partition was empty.
		empty := strings.ReplaceAll(prepare, name, name+"Empty")
		parts, plan := looked(empty, "EXPLAIN ", fmt.Sprintf("EXECUTE "+name+"Empty (%[1]d"+args+")", run+25))
		require.Equal(t, []string{"126"}, parts, name+plan)
		require.Contains(t, plan, strings.Replace(index, "101", "126", 1), name)
		require.Contains(t, plan, "Tid Scan on crawl_urls_126", plan)
		require.NotContains(t, plan, "crawl_urls_126_pkey", plan)
		parts, plan = looked(prepare, "EXPLAIN ", fmt.Sprintf("EXECUTE "+name+" (%[1]d"+args+")", run))
		require.Equal(t, []string{"101"}, parts, name+plan)
		require.Contains(t, plan, index, name)
		require.NotContains(t, plan, "Seq Scan on crawl_urls", name)
		require.NotContains(t, plan, "Seq Scan on page_removals", name)
		require.NotContains(t, plan, "Sort  (", name)
	}
	dbtest.Exec(t, pool, "UPDATE crawl_runs SET base_run_id = id")
	keys := dbtest.Query[uuid.UUID](t, pool, "SELECT url_key FROM crawl_urls ORDER BY id LIMIT 3")
	// Where the run comes from a row, the other partitions are in the plan, and are not looked at.
	for name, args := range map[string][]any{
		"sqlCrawlStatus": {10, 10}, "sqlCrawlRunList": {nil, nil, 10}, "sqlCrawlRunCounted": {run},
		"sqlCrawlLinksOfBase": {run, []string{"1", "2", "3"}, keys},
	} {
		parts, plan := looked("SELECT 1", "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) ", texts[name], args...)
		require.Equal(t, []string{"101"}, parts, name+plan)
	}
}

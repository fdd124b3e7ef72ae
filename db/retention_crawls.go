package db

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/retention"
)

// The run that ended first, of those whose rows are not about to go with their partition. One whose neighbours have not
// ended so long ago waits for them, but no longer than $2 says: a run that goes on for weeks does not keep them all. A
// run that an open one is compared with (base_run_id) stays.
const sqlCrawlRunExpired = `/* sqlCrawlRunExpired */
WITH waiting AS MATERIALIZED (
    SELECT coalesce(range_agg(int8range(lower, upper)), '{}') AS runs FROM crawl_partition_list()
    WHERE parent = 'crawl_urls' AND lower IS NOT NULL
)
SELECT r.id FROM crawl_runs r CROSS JOIN waiting w
WHERE r.finished_at < $1 AND r.status IN ('COMPLETED', 'CANCELLED') AND (r.finished_at < $2 OR NOT r.id <@ w.runs)
    AND NOT EXISTS (SELECT FROM crawl_runs o WHERE o.base_run_id = r.id AND o.status IN ('RUNNING', 'PAUSED'))
ORDER BY r.finished_at, r.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED`

// A run loses up to $3 URLs after $2, with their links and tries, $3 slices of its pace and $3 hosts that were held
// back; its own row goes when nothing of it is left, so that no deletion is a large one.
const sqlCrawlRunEmpty = `/* sqlCrawlRunEmpty */
WITH looked AS (
    SELECT id FROM crawl_urls WHERE run_id = $1 AND id > $2 ORDER BY id LIMIT $3
), links AS (
    DELETE FROM crawl_links WHERE run_id = $1 AND from_id = ANY (ARRAY(SELECT id FROM looked))
), tries AS (
    DELETE FROM crawl_tries WHERE run_id = $1 AND url_id = ANY (ARRAY(SELECT id FROM looked))
), urls AS (
    DELETE FROM crawl_urls WHERE run_id = $1 AND id = ANY (ARRAY(SELECT id FROM looked)) RETURNING 1
), slices AS (
    DELETE FROM crawl_rates WHERE run_id = $1 AND at = ANY (ARRAY(
        SELECT at FROM crawl_rates WHERE run_id = $1 LIMIT $3)) RETURNING 1
), holds AS (
    DELETE FROM crawl_holds WHERE run_id = $1 AND host = ANY (ARRAY(
        SELECT host FROM crawl_holds WHERE run_id = $1 LIMIT $3)) RETURNING 1
), gone AS (
    DELETE FROM crawl_runs
    WHERE id = $1 AND (SELECT count(*) FROM looked) < $3 AND (SELECT count(*) FROM slices) < $3
        AND (SELECT count(*) FROM holds) < $3 RETURNING 1
)
SELECT coalesce((SELECT max(id) FROM looked), $2), (SELECT count(*) FROM urls) + (SELECT count(*) FROM gone)`

// expireCrawlRuns drops the partitions of the first runs that have all ended before a time. When there are none it
// deletes up to most URLs of a run that does not wait for that. The cursor is the run and its last URL that was
// deleted: without it, each step would look at all the rows that were deleted before.
func (s *Retention) expireCrawlRuns(ctx context.Context, before time.Time, cursor string, most int) (
	step retention.Step, err error,
) {
	if cursor == "" {
		err := s.pool.QueryRow(ctx, sqlCrawlPartitionsExpire, before).Scan(&step.More, &step.Deleted)
		if err != nil || step.More {
			return step, err
		}
	}
	err = Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var run, last int64
		err := tx.QueryRow(ctx, sqlCrawlRunExpired, before, before.Add(-retention.CrawlRunsWait)).Scan(&run)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if of, id, _ := strings.Cut(cursor, " "); of == strconv.FormatInt(run, 10) {
			if last, err = strconv.ParseInt(id, 10, 64); err != nil {
				return fmt.Errorf("read cursor %.40q: %w", cursor, err)
			}
		}
		if _, err := tx.Exec(ctx, SQLCrawlPlan); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlCrawlRunEmpty, run, last, most).Scan(&last, &step.Deleted); err != nil {
			return err
		}
		step.Cursor, step.More = fmt.Sprint(run, " ", last), true
		return nil
	})
	return step, err
}

// The statements below look up a few rows of a large table by its indexes. Each is planned anew, for the size that
// the table has now: a plan that was made when it was nearly empty reads all rows of the run for each that is looked
// up, and would be kept until the table is analyzed (for the same reason run_id has no statistics). A LATERAL with a
// LIMIT, or an ANY, leaves the planner no join that reads more. Compiling a plan would cost more than running it. The
// settings hold until the end of the transaction.
const SQLCrawlPlan = `/* sqlCrawlPlan */
SELECT set_config('plan_cache_mode', 'force_custom_plan', true), ` + SQLCrawlByIndex

// SQLCrawlByIndex are the settings that leave the planner with loops over scans of indexes.
const SQLCrawlByIndex = `set_config(name, 'off', true)
FROM unnest(ARRAY['jit', 'enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin',
    'enable_material', 'enable_sort']) AS s(name)`

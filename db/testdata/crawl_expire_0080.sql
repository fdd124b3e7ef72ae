WITH run AS (
    SELECT r.id, CASE WHEN split_part($2, ' ', 1) = r.id::text
        THEN coalesce(nullif(split_part($2, ' ', 2), ''), '0')::bigint ELSE 0 END AS after
    FROM crawl_runs r
    WHERE r.finished_at < $1 AND r.status IN ('COMPLETED', 'CANCELLED')
        AND NOT EXISTS (SELECT FROM crawl_runs o WHERE o.base_run_id = r.id AND o.status IN ('RUNNING', 'PAUSED'))
    ORDER BY r.finished_at, r.id LIMIT 1 FOR UPDATE OF r SKIP LOCKED
), looked AS (
    SELECT u.run_id, u.id FROM run, crawl_urls u WHERE u.run_id = run.id AND u.id > run.after
    ORDER BY u.run_id, u.id LIMIT $3
), links AS (
    DELETE FROM crawl_links l USING looked k WHERE l.run_id = k.run_id AND l.from_id = k.id
), tries AS (
    DELETE FROM crawl_tries t USING looked k WHERE t.run_id = k.run_id AND t.url_id = k.id
), urls AS (
    DELETE FROM crawl_urls u USING looked k WHERE u.run_id = k.run_id AND u.id = k.id RETURNING 1
), slices AS (
    DELETE FROM crawl_rates c USING (SELECT p.run_id, p.at FROM run, crawl_rates p WHERE p.run_id = run.id LIMIT $3) k
    WHERE c.run_id = k.run_id AND c.at = k.at RETURNING 1
), gone AS (
    DELETE FROM crawl_runs r USING run
    WHERE r.id = run.id AND (SELECT count(*) FROM looked) < $3 AND (SELECT count(*) FROM slices) < $3 RETURNING 1
)
SELECT coalesce((SELECT run.id || ' ' || coalesce((SELECT max(id) FROM looked), run.after) FROM run), ''),
    EXISTS (SELECT FROM run), (SELECT count(*) FROM urls) + (SELECT count(*) FROM gone)

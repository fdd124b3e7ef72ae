WITH RECURSIVE run AS (
    SELECT id, coalesce(base_run_id, 0) AS base FROM crawl_runs WHERE id = $1 AND status = 'RUNNING'
), later AS (
    (SELECT u.host, 1 AS turn FROM run CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host > $2
        ORDER BY host LIMIT 1) u)
    UNION ALL
    SELECT u.host, t.turn + 1 FROM later t CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host > t.host
        ORDER BY host LIMIT 1) u
), earlier AS (
    (SELECT u.host, 1000000000 AS turn FROM run CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host <= $2
        ORDER BY host LIMIT 1) u)
    UNION ALL
    SELECT u.host, t.turn + 1 FROM earlier t CROSS JOIN LATERAL (
        SELECT host FROM crawl_urls WHERE run_id = $1 AND status = 'QUEUED' AND due_at IS NULL AND host > t.host
            AND host <= $2 ORDER BY host LIMIT 1) u
), picked AS (
    SELECT u.id, u.updated_at, t.turn
    FROM (SELECT host, turn FROM later UNION ALL SELECT host, turn FROM earlier) t
    CROSS JOIN LATERAL (
        SELECT id, updated_at FROM crawl_urls
        WHERE run_id = $1 AND host = t.host AND status = 'QUEUED' AND due_at IS NULL
        ORDER BY depth, id
        LIMIT coalesce((SELECT k.room FROM unnest($4::text[], $5::int[]) AS k(host, room) WHERE k.host = t.host), $6)
        FOR UPDATE SKIP LOCKED
    ) u
    LIMIT $3
)
UPDATE crawl_urls u
SET status = 'IN_PROGRESS', lease = u.lease + 1, claimed_at = now(), claimed_by_worker = $7,
    lease_until = now() + $8::interval, updated_at = now()
FROM picked p, run
WHERE u.run_id = $1 AND u.id = ANY (ARRAY(SELECT id FROM picked)) AND u.id = p.id
RETURNING u.id, u.normalized_url, u.host, u.depth, u.tries, u.lease, p.updated_at,
    CASE WHEN run.base > 0 THEN
        (SELECT b.etag FROM crawl_urls b WHERE b.run_id = run.base AND b.url_key = u.url_key) END,
    CASE WHEN run.base > 0 THEN
        (SELECT b.last_modified FROM crawl_urls b WHERE b.run_id = run.base AND b.url_key = u.url_key) END,
    p.turn

package db

// A delivery whose dead letter is open may be made again, and stays.
const sqlNoticesExpire = `/* sqlNoticesExpire */
WITH looked AS (
    SELECT id, finished_at AS at FROM saved_deliveries
    WHERE finished_at < $1 AND (finished_at, id) > ` + sqlCursorAt + `
    ORDER BY finished_at, id LIMIT $3
), gone AS (
    DELETE FROM saved_deliveries d USING looked k
    WHERE d.id = k.id AND d.finished_at < $1 AND NOT EXISTS (
        SELECT FROM dead_letters x WHERE x.message_id = d.id::text AND x.queue = 'notify' AND x.state = 'open')
    RETURNING 1` + sqlStepAt

// What a search was told last of a listing decides what is news of its home, so that stays, and what is in a delivery.
const sqlNewsExpire = `/* sqlNewsExpire */
WITH looked AS (
    SELECT search, event, at FROM saved_matches
    WHERE (search, event) > (
        coalesce(nullif(split_part($2, ' ', 1), ''), '00000000-0000-0000-0000-000000000000')::uuid,
        coalesce(nullif(split_part($2, ' ', 2), ''), '0')::bigint)
    ORDER BY search, event LIMIT $3
), gone AS (
    DELETE FROM saved_matches m USING looked k
    WHERE m.search = k.search AND m.event = k.event AND k.at < $1
        AND EXISTS (
            SELECT FROM saved_matches n WHERE n.search = m.search AND n.listing = m.listing AND n.event > m.event)
        AND NOT EXISTS (SELECT FROM saved_items i WHERE i.search = m.search AND i.event = m.event)
    RETURNING 1
)
SELECT coalesce((SELECT search || ' ' || event FROM looked ORDER BY search DESC, event DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

// An address that nobody has confirmed is somebody's who may not want it here. When addresses were asked goes with
// them, by its own index; that one has refused stays.
const sqlUnconfirmedExpire = `/* sqlUnconfirmedExpire */
WITH looked AS (
    SELECT id, created_at AS at FROM saved_targets
    WHERE state = 'unconfirmed' AND kind IN ('email', 'telegram') AND created_at < $1
        AND (created_at, id) > ` + sqlCursorAt + `
    ORDER BY created_at, id LIMIT $3
), gone AS (
    DELETE FROM saved_targets t USING looked k WHERE t.id = k.id AND t.state = 'unconfirmed' RETURNING 1
), asked AS (
    DELETE FROM saved_addresses WHERE sum IN (
        SELECT sum FROM saved_addresses WHERE NOT refused AND asked_at < $1 ORDER BY asked_at LIMIT $3)
        AND NOT refused` + sqlStepAt

// A step empties one search: of the contents of its deliveries first, then of those and of its news, both without any
// by then, and at last it goes with its targets. $2 is not used: what is left is found again. The contents are found by
// the targets: those of a target that was deleted have the search that it was of.
const sqlSavedSearchesExpire = `/* sqlSavedSearchesExpire */
WITH looked AS (
    SELECT id FROM saved_searches WHERE deleted_at < $1 ORDER BY id LIMIT 1
), filled AS (
    SELECT id,
        EXISTS (SELECT FROM saved_targets t JOIN saved_items i ON i.target = t.id WHERE t.search = k.id) AS items,
        EXISTS (SELECT FROM saved_matches m WHERE m.search = k.id) AS news,
        EXISTS (SELECT FROM saved_targets t JOIN saved_deliveries d ON d.target = t.id WHERE t.search = k.id) AS sent
    FROM looked k
), items AS (
    DELETE FROM saved_items WHERE (target, event) IN (
        SELECT i.target, i.event FROM filled f JOIN saved_targets t ON t.search = f.id
        JOIN saved_items i ON i.target = t.id LIMIT $3)
    RETURNING 1
), sent AS (
    DELETE FROM saved_deliveries WHERE id IN (
        SELECT d.id FROM filled f JOIN saved_targets t ON t.search = f.id JOIN saved_deliveries d ON d.target = t.id
        WHERE NOT f.items LIMIT $3)
    RETURNING 1
), news AS (
    DELETE FROM saved_matches WHERE (search, event) IN (
        SELECT m.search, m.event FROM filled f JOIN saved_matches m ON m.search = f.id WHERE NOT f.items LIMIT $3)
    RETURNING 1
), gone AS (
    DELETE FROM saved_searches s USING filled f WHERE s.id = f.id AND NOT (f.items OR f.news OR f.sent) RETURNING 1
), n AS (
    SELECT (SELECT count(*) FROM items) + (SELECT count(*) FROM sent) + (SELECT count(*) FROM news) +
        (SELECT count(*) FROM gone) AS deleted
)
SELECT $2::text, deleted > 0, deleted FROM n`

// A matcher that has not read for so long reads all searches anew.
const sqlSavedDeletedExpire = `/* sqlSavedDeletedExpire */
WITH looked AS (
    SELECT search, version FROM saved_changes WHERE version > coalesce(nullif($2::text, ''), '0')::bigint
    ORDER BY version LIMIT $3
), gone AS (
    DELETE FROM saved_changes c USING looked k
    WHERE c.search = k.search AND c.version = k.version AND c.at < $1
        AND NOT EXISTS (SELECT FROM saved_searches s WHERE s.id = c.search)
    RETURNING 1
)
SELECT coalesce((SELECT max(version)::text FROM looked), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

// Rows that are being compared are deleted by that. Waiting for it, with the listing locked, could be a deadlock.
const sqlSavedForget = `/* sqlSavedForget */
DELETE FROM saved_queue WHERE event IN (
    SELECT event FROM saved_queue WHERE listing = ANY ($1) FOR UPDATE SKIP LOCKED)`

// SQLSavedTurn: writers of saved searches take turns, so that versions are committed in their order: a reader that has
// seen one has seen all before it.
const SQLSavedTurn = `/* sqlSavedTurn */ SELECT pg_advisory_xact_lock(1935763828, 1)`

package db

// The statements below are of the tables of tenants, and see the rows of all of them. They never wait for a lock, for
// they lock a campaign or an upload before its rows.

// What Meta may still report is left alone: the last request was made before $1, too. That a message is no longer
// waited for changes none of the counts: it is unknown, as before.
const sqlMessagesUnreported = `/* sqlMessagesUnreported */
WITH looked AS (
    SELECT id, due_at FROM messages
    WHERE state = 'unknown' AND class = 'unknown' AND due_at < $1 AND (due_at, id) > ` + sqlCursorAt + `
    ORDER BY due_at, id LIMIT $3
), held AS (
    SELECT id FROM messages m
    WHERE id = ANY (ARRAY(SELECT id FROM looked)) AND state = 'unknown' AND class = 'unknown'
        AND NOT EXISTS (SELECT FROM message_attempts a WHERE a.message = m.id AND a.at >= $1)
    ORDER BY id FOR UPDATE SKIP LOCKED
), closed AS (
    UPDATE messages SET class = 'unreported',
        error = 'no webhook has reported within seven days whether the message was accepted; it is not sent again'
    WHERE id = ANY (ARRAY(SELECT id FROM held)) RETURNING 1
)
SELECT coalesce((SELECT to_char(due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || ' ' || id
        FROM looked ORDER BY due_at DESC, id DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM closed)`

// Of $3 campaigns after the cursor, the first that has ended and has messages loses $3 of them.
const sqlMessagesExpire = `/* sqlMessagesExpire */
WITH looked AS (
    SELECT id FROM campaigns
    WHERE id > coalesce(nullif($2::text, ''), '00000000-0000-0000-0000-000000000000')::uuid ORDER BY id LIMIT $3
), due AS (
    SELECT id FROM campaigns c
    WHERE id = ANY (ARRAY(SELECT id FROM looked)) AND finished_at < $1 AND state IN ('done', 'canceled')
        AND EXISTS (SELECT FROM messages WHERE campaign = c.id)
    ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
), picked AS (
    SELECT id FROM messages WHERE campaign = (SELECT id FROM due) LIMIT $3 FOR UPDATE SKIP LOCKED
), tries AS (
    DELETE FROM message_attempts WHERE message = ANY (ARRAY(SELECT id FROM picked))
), gone AS (
    DELETE FROM messages WHERE id = ANY (ARRAY(SELECT id FROM picked)) RETURNING 1
)
SELECT CASE WHEN (SELECT count(*) FROM picked) = $3 THEN $2
        ELSE coalesce(coalesce((SELECT id FROM due), (SELECT id FROM looked ORDER BY id DESC LIMIT 1))::text, $2) END,
    EXISTS (SELECT FROM due) OR (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

// A message that waits stays, and one that was sent after $1.
const sqlTransactionalExpire = `/* sqlTransactionalExpire */
WITH looked AS (
    SELECT id, queued_at AS at FROM messages
    WHERE campaign IS NULL AND queued_at < $1 AND (queued_at, id) > ` + sqlCursorAt + `
    ORDER BY queued_at, id LIMIT $3
), picked AS (
    SELECT id FROM messages
    WHERE id = ANY (ARRAY(SELECT id FROM looked)) AND state NOT IN ('queued', 'sending')
        AND greatest(queued_at, due_at, sent_at, delivered_at, read_at, failed_at) < $1
    FOR UPDATE SKIP LOCKED
), tries AS (
    DELETE FROM message_attempts WHERE message = ANY (ARRAY(SELECT id FROM picked))
), gone AS (
    DELETE FROM messages WHERE id = ANY (ARRAY(SELECT id FROM picked)) RETURNING 1` + sqlStepAt

// IDs are about in the order of time, so the first full step without an old row ends it. What they told of user IDs is
// deleted by the first step, as much as a step may.
const sqlWebhooksExpire = `/* sqlWebhooksExpire */
WITH looked AS (
    SELECT id, received_at, applied_at FROM webhook_events
    WHERE id > coalesce(nullif($2::text, ''), '0')::bigint ORDER BY id LIMIT $3
), gone AS (
    DELETE FROM webhook_events
    WHERE id = ANY (ARRAY(SELECT id FROM looked WHERE received_at < $1 AND applied_at < $1)) RETURNING 1
), changes AS (
    DELETE FROM wa_user_changes WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM wa_user_changes WHERE at < $1 AND $2::text = '' LIMIT $3 FOR UPDATE SKIP LOCKED))
), wishes AS (
    DELETE FROM wa_user_wishes WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM wa_user_wishes WHERE told_at < $1 AND $2::text = '' LIMIT $3 FOR UPDATE SKIP LOCKED))
)
SELECT coalesce((SELECT max(id)::text FROM looked), $2),
    (SELECT count(*) FROM looked) = $3 AND EXISTS (SELECT FROM looked WHERE received_at < $1),
    (SELECT count(*) FROM gone)`

// Of $3 uploads after the cursor, the first that is over loses $3 of its refused rows; when none is left, its files are
// marked. One that was never started is over, too, and has nothing else to delete.
const sqlUploadFilesExpire = `/* sqlUploadFilesExpire */
WITH looked AS (
    SELECT id FROM uploads
    WHERE id > coalesce(nullif($2::text, ''), '00000000-0000-0000-0000-000000000000')::uuid ORDER BY id LIMIT $3
), due AS (
    SELECT id, blob FROM uploads u
    WHERE id = ANY (ARRAY(SELECT id FROM looked))
        AND (state IN ('done', 'failed', 'canceled') AND finished_at < $1 OR state = 'held' AND created_at < $1)
        AND (blob <> '' OR EXISTS (SELECT FROM upload_errors WHERE upload = u.id))
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
), picked AS (
    SELECT ctid FROM upload_errors WHERE upload = (SELECT id FROM due) LIMIT $3
), gone AS (
    DELETE FROM upload_errors WHERE ctid = ANY (ARRAY(SELECT ctid FROM picked)) RETURNING 1
), last AS (
    SELECT id, blob FROM due WHERE (SELECT count(*) FROM picked) < $3
), marked AS (
    INSERT INTO unused_blobs (key, due_at) SELECT blob, '-infinity' FROM last WHERE blob <> ''
    ON CONFLICT (key) DO UPDATE SET due_at = excluded.due_at
), closed AS (
    UPDATE uploads u SET blob = '', copy = '', copy_bytes = 0, finished_at = coalesce(u.finished_at, now()),
        state = CASE u.state WHEN 'held' THEN 'canceled' ELSE u.state END,
        error = CASE u.state WHEN 'held' THEN 'it was not started, and its file was deleted' ELSE u.error END,
        swept_at = CASE u.state WHEN 'held' THEN now() ELSE u.swept_at END
    FROM last l WHERE u.id = l.id RETURNING 1
)
SELECT CASE WHEN (SELECT count(*) FROM picked) = $3 THEN $2
        ELSE coalesce(coalesce((SELECT id FROM due), (SELECT id FROM looked ORDER BY id DESC LIMIT 1))::text, $2) END,
    EXISTS (SELECT FROM due) OR (SELECT count(*) FROM looked) = $3,
    (SELECT count(*) FROM gone) + (SELECT count(*) FROM closed)`

// As above, for chunks; the upload itself goes with the last of them.
const sqlUploadsExpire = `/* sqlUploadsExpire */
WITH looked AS (
    SELECT id FROM uploads
    WHERE id > coalesce(nullif($2::text, ''), '00000000-0000-0000-0000-000000000000')::uuid ORDER BY id LIMIT $3
), due AS (
    SELECT id FROM uploads
    WHERE id = ANY (ARRAY(SELECT id FROM looked)) AND state IN ('done', 'failed', 'canceled') AND finished_at < $1
        AND blob = ''
    ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
), chunks AS (
    SELECT ctid FROM upload_chunks WHERE upload = (SELECT id FROM due) LIMIT $3
), keys AS (
    SELECT ctid FROM upload_keys WHERE upload = (SELECT id FROM due) LIMIT $3
), cut AS (
    DELETE FROM upload_chunks WHERE ctid = ANY (ARRAY(SELECT ctid FROM chunks)) RETURNING 1
), swept AS (
    DELETE FROM upload_keys WHERE ctid = ANY (ARRAY(SELECT ctid FROM keys))
), gone AS (
    DELETE FROM uploads u USING due d
    WHERE u.id = d.id AND (SELECT count(*) FROM chunks) < $3 AND (SELECT count(*) FROM keys) < $3 RETURNING 1
)
SELECT CASE WHEN EXISTS (SELECT FROM due) THEN $2
        ELSE coalesce((SELECT id FROM looked ORDER BY id DESC LIMIT 1)::text, $2) END,
    EXISTS (SELECT FROM due) OR (SELECT count(*) FROM looked) = $3,
    (SELECT count(*) FROM cut) + (SELECT count(*) FROM gone)`

// Lists that are there for nobody, one after the other: $3 of its members, or the list where it has none.
const sqlListsExpire = `/* sqlListsExpire */
WITH due AS (
    SELECT id FROM contact_lists WHERE deleted_at < $1 AND $2::text = '' ORDER BY id LIMIT 1
), members AS (
    DELETE FROM contact_list_members WHERE list = (SELECT id FROM due) AND contact = ANY (ARRAY(
        SELECT contact FROM contact_list_members WHERE list = (SELECT id FROM due) ORDER BY contact LIMIT $3))
    RETURNING 1
), gone AS (
    DELETE FROM contact_lists l USING due d
    WHERE l.id = d.id AND NOT EXISTS (SELECT FROM contact_list_members WHERE list = d.id) RETURNING 1
)
SELECT '', EXISTS (SELECT FROM due), (SELECT count(*) FROM members) + (SELECT count(*) FROM gone)`

package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/retention"
)

// Retention deletes what is older than it is kept for, a few rows at a time, and knows which files of the blob store
// are used.
type Retention struct{ pool *pgxpool.Pool }

// NewRetention returns the retention of what is kept in pool.
func NewRetention(pool *pgxpool.Pool) *Retention { return &Retention{pool} }

const sqlEarlier = `/* sqlEarlier */ SELECT least($1::timestamptz, now())`

// Earlier is a time, or that of Postgres where it is earlier.
func (s *Retention) Earlier(ctx context.Context, at time.Time) (earlier time.Time, err error) {
	err = s.pool.QueryRow(ctx, sqlEarlier, at).Scan(&earlier)
	return earlier, fault.Wrap(err, "read the time of Postgres")
}

// Each statement below looks at $3 rows after the cursor $2, deletes those of them that are older than $1, and returns
// the next cursor, whether there may be more, and how many it deleted. So the cost of a step does not depend on how
// many rows are kept. A row that is written meanwhile is looked at again under its lock.
var expiries = map[string]string{
	retention.Images: sqlImagesExpire, retention.Steps: sqlStepsExpire,
	retention.DeadLetters: sqlDeadLettersExpire, retention.Drafts: sqlDraftsExpire,
	retention.DraftRequests: sqlDraftRequestsExpire, retention.DraftSecrets: sqlDraftSecretsExpire,
	retention.Replays: sqlReplaysExpire,
	retention.Cycles:  sqlCyclesExpire, retention.Seen: sqlSeenExpire,
	retention.Unreported: sqlMessagesUnreported, retention.Messages: sqlMessagesExpire,
	retention.Transactional: sqlTransactionalExpire, retention.Webhooks: sqlWebhooksExpire,
	retention.UploadFiles: sqlUploadFilesExpire, retention.Uploads: sqlUploadsExpire, retention.Lists: sqlListsExpire,
	retention.Notices: sqlNoticesExpire, retention.News: sqlNewsExpire, retention.Unconfirmed: sqlUnconfirmedExpire,
	retention.Searches: sqlSavedSearchesExpire, retention.Deleted: sqlSavedDeletedExpire,
	retention.Removals: sqlRemovalsExpire,
}

// Rows that are read in the order of a time and an ID: what the cursor says of both, and the end of a statement whose
// looked has them as at and id.
const (
	sqlCursorAt = `(coalesce(nullif(split_part($2, ' ', 1), ''), '-infinity')::timestamptz,
        coalesce(nullif(split_part($2, ' ', 2), ''), '00000000-0000-0000-0000-000000000000')::uuid)`
	sqlStepAt = `
)
SELECT coalesce((SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || ' ' || id
        FROM looked ORDER BY at DESC, id DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`
)

// The images of a listing that returns are requested again. The listing is locked before its images, as elsewhere.
const sqlImagesExpire = `/* sqlImagesExpire */
WITH looked AS (
    SELECT id, updated_at AS at FROM listings
    WHERE status = 'archived' AND updated_at < $1 AND (updated_at, id) > ` + sqlCursorAt + `
    ORDER BY updated_at, id LIMIT $3
), held AS (
    SELECT l.id FROM listings l JOIN looked k ON k.id = l.id
    WHERE l.status = 'archived' AND l.updated_at < $1 AND EXISTS (SELECT FROM listing_images WHERE listing_id = l.id)
    ORDER BY l.id FOR UPDATE OF l SKIP LOCKED
), gone AS (
    DELETE FROM listing_images i USING held h WHERE i.listing_id = h.id RETURNING 1` + sqlStepAt

// Of the newest revision only what stands between its first pass and its last goes.
const sqlStepsExpire = `/* sqlStepsExpire */
WITH looked AS (
    SELECT id, at FROM listing_steps
    WHERE at < $1 AND (at, id) > (coalesce(nullif(split_part($2, ' ', 1), ''), '-infinity')::timestamptz,
        coalesce(nullif(split_part($2, ' ', 2), ''), '0')::bigint)
    ORDER BY at, id LIMIT $3
), gone AS (
    DELETE FROM listing_steps s USING looked k, raw_listings r
    WHERE s.id = k.id AND r.id = s.listing_id AND (s.revision < r.revision OR s.pass > 0 AND s.pass < (
        SELECT max(pass) FROM listing_steps n WHERE n.listing_id = s.listing_id AND n.revision = s.revision))
    RETURNING 1` + sqlStepAt

// A letter whose replay has not been sent stays.
const sqlDeadLettersExpire = `/* sqlDeadLettersExpire */
WITH looked AS (
    SELECT id FROM dead_letters WHERE id > coalesce(nullif($2::text, ''), '0')::bigint ORDER BY id LIMIT $3
), gone AS (
    DELETE FROM dead_letters d USING looked k
    WHERE d.id = k.id AND d.state <> 'open' AND d.last_at < $1 AND (d.replayed_at IS NULL OR d.replayed_at < $1)
        AND NOT EXISTS (SELECT FROM outbox WHERE message_id = d.replay_id AND published_at IS NULL)
    RETURNING 1
)
SELECT coalesce((SELECT max(id)::text FROM looked), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

const sqlDraftsExpire = `/* sqlDraftsExpire */
WITH looked AS (
    SELECT id, created_at AS at FROM product_drafts
    WHERE created_at < $1 AND (created_at, id) > ` + sqlCursorAt + `
    ORDER BY created_at, id LIMIT $3
), gone AS (
    DELETE FROM product_drafts d USING looked k WHERE d.id = k.id AND d.updated_at < $1 RETURNING 1` + sqlStepAt

// A request whose message has not been sent stays. Cancels that are as old go with them, by their own index: those of
// requests that came through RabbitMQ have no other row.
const sqlDraftRequestsExpire = `/* sqlDraftRequestsExpire */
WITH looked AS (
    SELECT event_id FROM draft_requests
    WHERE event_id > coalesce(nullif($2::text, ''), '00000000-0000-0000-0000-000000000000')::uuid
    ORDER BY event_id LIMIT $3
), gone AS (
    DELETE FROM draft_requests d USING looked k
    WHERE d.event_id = k.event_id AND d.requested_at < $1
        AND NOT EXISTS (SELECT FROM outbox WHERE message_id = d.event_id AND published_at IS NULL)
    RETURNING 1
), canceled AS (
    DELETE FROM draft_cancels WHERE event_id IN (
        SELECT event_id FROM draft_cancels WHERE canceled_at < $1 ORDER BY canceled_at LIMIT $3)
)
SELECT coalesce((SELECT event_id::text FROM looked ORDER BY event_id DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

const sqlReplaysExpire = `/* sqlReplaysExpire */
WITH looked AS (
    SELECT id FROM replays WHERE id > coalesce(nullif($2::text, ''), '00000000-0000-0000-0000-000000000000')::uuid
    ORDER BY id LIMIT $3
), gone AS (
    DELETE FROM replays p USING looked k WHERE p.id = k.id AND p.state <> 'running' AND p.ended_at < $1 RETURNING 1
)
SELECT coalesce((SELECT id::text FROM looked ORDER BY id DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

// The last ten cycles of a search stay: the next one is numbered after them, and reports show two.
const sqlCyclesExpire = `/* sqlCyclesExpire */
WITH looked AS (
    SELECT platform, cycle FROM platform_cycles
    WHERE (platform, cycle) > (split_part($2, ' ', 1), coalesce(nullif(split_part($2, ' ', 2), ''), '0')::bigint)
    ORDER BY platform, cycle LIMIT $3
), gone AS (
    DELETE FROM platform_cycles c USING looked k
    WHERE c.platform = k.platform AND c.cycle = k.cycle AND c.ended_at < $1
        AND c.cycle < (SELECT cycle FROM platform_cycles n WHERE n.platform = c.platform AND n.search = c.search
            ORDER BY cycle DESC OFFSET 9 LIMIT 1)
    RETURNING 1
)
SELECT coalesce((SELECT platform || ' ' || cycle FROM looked ORDER BY platform DESC, cycle DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

const sqlSeenExpire = `/* sqlSeenExpire */
WITH looked AS (
    SELECT platform, platform_id FROM platform_adverts
    WHERE (platform, platform_id) > (split_part($2, ' ', 1), substr($2, strpos($2, ' ') + 1))
    ORDER BY platform, platform_id LIMIT $3
), gone AS (
    DELETE FROM platform_adverts a USING looked k
    WHERE a.platform = k.platform AND a.platform_id = k.platform_id AND a.seen_at < $1
        AND coalesce(a.visited_at, a.seen_at) < $1
    RETURNING 1
)
SELECT coalesce((SELECT platform || ' ' || platform_id FROM looked
        ORDER BY platform DESC, platform_id DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

// DeleteExpired makes a step of deleting what is of a kind and older than before: it looks at up to most rows after
// cursor. It may be repeated. The kinds Unused and Files are those of MarkUnused and DeleteUnused.
func (s *Retention) DeleteExpired(ctx context.Context, kind string, before time.Time, cursor string, most int) (
	step retention.Step, err error,
) {
	switch kind {
	case retention.Adverts:
		step, err = s.expireAdverts(ctx, before, cursor, most)
	case retention.Revisions, retention.Events, retention.Audit:
		step, err = s.expirePartitions(ctx, partitioned[kind], before, cursor, most)
	case retention.CrawlRuns:
		step, err = s.expireCrawlRuns(ctx, before, cursor, most)
	default:
		text, ok := expiries[kind]
		if !ok {
			return step, fault.Newf(fault.Invalid, "delete old %s: there is no such kind", kind)
		}
		step, err = One(SystemRows(ctx, s.pool, func(row pgx.CollectableRow) (step retention.Step, err error) {
			return step, row.Scan(&step.Cursor, &step.More, &step.Deleted)
		}, text, before, cursor, most))
	}
	if err != nil {
		return retention.Step{}, fmt.Errorf("delete old %s: %w", kind, err) // what was rolled back does not count
	}
	return step, nil
}

// Adverts that nobody has seen since $1, that have nothing left to be done, and that are not visible.
const sqlAdvertsExpired = `/* sqlAdvertsExpired */
SELECT id, first_scraped_at, last_scraped_at < $1 AND settled_revision >= revision
    AND NOT EXISTS (SELECT FROM listings l WHERE l.id = r.id AND l.status <> 'archived')
FROM raw_listings r
WHERE first_scraped_at < $1 AND (first_scraped_at, id) > ` + sqlCursorAt + `
ORDER BY first_scraped_at, id LIMIT $3`

// Listings are locked before their adverts, as when one is published.
const SQLListingsHold = `/* sqlListingsHold */ SELECT id FROM listings WHERE id = ANY ($1) ORDER BY id FOR UPDATE`

// The second look, under the lock of both rows: a scrape since the first one keeps the advert.
const sqlAdvertsHold = `/* sqlAdvertsHold */
SELECT r.id FROM raw_listings r LEFT JOIN listings l ON l.id = r.id
WHERE r.id = ANY ($1) AND r.last_scraped_at < $2 AND r.settled_revision >= r.revision
    AND coalesce(l.status, 'archived') = 'archived'
ORDER BY r.id FOR UPDATE OF r SKIP LOCKED`

func (s *Retention) expireAdverts(ctx context.Context, before time.Time, cursor string, most int) (
	step retention.Step, err error,
) {
	type looked struct {
		ID      uuid.UUID
		First   time.Time
		Expired bool
	}
	list, err := Rows(ctx, s.pool, pgx.RowToStructByPos[looked], sqlAdvertsExpired, before, cursor, most)
	if err != nil {
		return step, err
	}
	step.Cursor, step.More = cursor, len(list) == most
	var ids []uuid.UUID
	for _, a := range list {
		step.Cursor = a.First.UTC().Format(time.RFC3339Nano) + " " + a.ID.String()
		if a.Expired {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return step, nil
	}
	err = Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, SQLListingsHold, ids); err != nil {
			return err
		}
		held, err := Rows(ctx, tx, pgx.RowTo[uuid.UUID], sqlAdvertsHold, ids, before)
		if err != nil {
			return err
		}
		b := new(pgx.Batch)
		AdvertsDelete(b, held)
		step.Deleted = len(held)
		return tx.SendBatch(ctx, b).Close()
	})
	return step, err
}

// The history and images of a listing go with it, and revisions with their advert. A replay does not wait for an advert
// that is gone.
const (
	sqlAdvertsUnreplay = `/* sqlAdvertsUnreplay */ DELETE FROM replay_items WHERE listing_id = ANY ($1)`
	// A home that gets a member meanwhile is waited for: the deletion after it sees that one.
	sqlHomesHold = `/* sqlHomesHold */
SELECT FROM homes WHERE id IN (SELECT home_id FROM home_members WHERE listing_id = ANY ($1)) ORDER BY id FOR UPDATE`
	// Homes whose members all go.
	sqlHomesLeave = `/* sqlHomesLeave */
DELETE FROM homes h USING home_members m
WHERE m.listing_id = ANY ($1) AND h.id = m.home_id
    AND NOT EXISTS (SELECT FROM home_members o WHERE o.home_id = h.id AND o.listing_id <> ALL ($1))`
	sqlListingsDelete = `/* sqlListingsDelete */ DELETE FROM listings WHERE id = ANY ($1)`
	sqlAdvertsDelete  = `/* sqlAdvertsDelete */ DELETE FROM raw_listings WHERE id = ANY ($1)`
)

// AdvertsDelete queues the deletion of adverts, whose rows of raw_listings are locked.
func AdvertsDelete(b *pgx.Batch, ids []uuid.UUID) {
	for _, text := range []string{
		sqlSavedForget, sqlAdvertsUnreplay, sqlHomesHold, sqlHomesLeave, sqlListingsDelete, sqlAdvertsDelete,
	} {
		b.Queue(text, ids)
	}
}

// A thumbnail is named after its picture, which has one of four extensions.
const sqlBlobsUsed = `/* sqlBlobsUsed */
SELECT k.key FROM unnest($1::text[]) k (key)
WHERE EXISTS (SELECT FROM listing_images i WHERE i.key = k.key)
    OR k.key LIKE 'thumbs/%' AND EXISTS (SELECT FROM listing_images i WHERE i.key = ANY (ARRAY(
        SELECT 'images/' || substr(k.key, 8, length(k.key) - 10) || e
        FROM unnest(ARRAY['jpg', 'png', 'gif', 'webp']) e)))
    OR k.key LIKE 'files/%' AND EXISTS (
        SELECT FROM product_drafts d WHERE d.files @> jsonb_build_array(jsonb_build_object('key', k.key)))
    OR k.key LIKE 'warc/%' AND EXISTS (SELECT FROM crawl_urls u WHERE u.body_key = k.key)
    OR k.key LIKE 'uploads/%' AND EXISTS (SELECT FROM uploads u WHERE u.blob = k.key AND u.blob <> '')`

// sqlBlobsAny is a look into an index of each table, but for uploads and drafts, of which there are few.
const sqlBlobsAny = `/* sqlBlobsAny */
SELECT EXISTS (SELECT FROM listing_images WHERE key IS NOT NULL)
    OR EXISTS (SELECT FROM crawl_urls WHERE body_key IS NOT NULL)
    OR EXISTS (SELECT FROM uploads WHERE blob <> '')
    OR EXISTS (SELECT FROM product_drafts WHERE files <> '[]')`

// AnyFile says whether any file of the blob store is referred to.
func (s *Retention) AnyFile(ctx context.Context) (bool, error) {
	stored, err := One(SystemRows(ctx, s.pool, pgx.RowTo[bool], sqlBlobsAny))
	return stored, fault.Wrap(err, "look for files")
}

// SQLBlobsMark marks files $1 as unused, to be deleted at $2.
const SQLBlobsMark = `/* sqlBlobsMark */
INSERT INTO unused_blobs (key, due_at) SELECT k, $2 FROM unnest($1::text[]) k ON CONFLICT (key) DO NOTHING`

// MarkUnused marks those of the files that nothing refers to, so that DeleteUnused deletes them when due has passed. It
// returns their number, those included that were marked before.
func (s *Retention) MarkUnused(ctx context.Context, keys []string, due time.Time) (int, error) {
	used, err := SystemRows(ctx, s.pool, pgx.RowTo[string], sqlBlobsUsed, keys)
	if err != nil {
		return 0, fmt.Errorf("find unused files: %w", err)
	}
	known := make(map[string]bool, len(used))
	for _, key := range used {
		known[key] = true
	}
	unused := []string{}
	for _, key := range keys {
		if !known[key] {
			unused = append(unused, key)
		}
	}
	if len(unused) == 0 {
		return 0, nil
	}
	if _, err := s.pool.Exec(ctx, SQLBlobsMark, unused, due); err != nil {
		return 0, fmt.Errorf("mark %d unused files: %w", len(unused), err)
	}
	return len(unused), nil
}

const (
	sqlBlobSpare = `/* sqlBlobSpare */ DELETE FROM unused_blobs WHERE key = $1`
	sqlBlobsDue  = `/* sqlBlobsDue */ SELECT key FROM unused_blobs WHERE due_at <= $1 AND key > $2 ORDER BY key LIMIT $3`
	sqlBlobHold  = `/* sqlBlobHold */ SELECT key FROM unused_blobs WHERE key = $1 AND due_at <= $2 FOR UPDATE SKIP LOCKED`
)

// SpareBlob takes back that a file is unused, for a store that is about to write it. While DeleteUnused deletes the
// file, it waits until that is done: the store then finds no file and writes it. A file that is spared before it is
// looked for cannot be deleted until it is marked again and that mark is due.
func (s *Retention) SpareBlob(ctx context.Context, key string) error {
	if _, err := s.pool.Exec(ctx, sqlBlobSpare, key); err != nil {
		return fault.Newf(fault.Transient, "keep file: %w", err)
	}
	return nil
}

// DeleteUnused deletes up to most marked files after cursor whose marks are due and that nothing refers to, with
// remove, which is called again for a file when the process ends before the mark is gone. A file that remove fails at
// keeps its mark, and does not keep the others.
func (s *Retention) DeleteUnused(ctx context.Context, now time.Time, cursor string, most int,
	remove func(ctx context.Context, key string) error) (step retention.Step, err error) {
	due, err := Rows(ctx, s.pool, pgx.RowTo[string], sqlBlobsDue, now, cursor, most)
	if err != nil {
		return step, fmt.Errorf("read unused files: %w", err)
	}
	step.More, step.Cursor = len(due) == most, cursor
	for _, key := range due {
		deleted, kept := false, error(nil)
		err := SystemTx(ctx, s.pool, func(tx pgx.Tx) (err error) {
			deleted, err = blobDelete(ctx, tx, key, now, func(ctx context.Context, key string) error {
				kept = remove(ctx, key)
				return kept
			})
			return err
		})
		switch {
		case err != nil && (kept == nil || ctx.Err() != nil):
			return step, fmt.Errorf("delete unused file: %w", err)
		case kept != nil && step.Left == nil:
			step.Left = kept
		}
		if step.Cursor = key; deleted {
			step.Deleted++
		}
	}
	return step, nil
}

// blobDelete deletes one marked file unless something refers to it, under the lock of its mark.
func blobDelete(ctx context.Context, tx pgx.Tx, key string, now time.Time,
	remove func(ctx context.Context, key string) error) (deleted bool, err error) {
	err = tx.QueryRow(ctx, sqlBlobHold, key, now).Scan(&key)
	if errors.Is(err, pgx.ErrNoRows) { // it was spared, or another process deletes it
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var used string
	switch err := tx.QueryRow(ctx, sqlBlobsUsed, []string{key}).Scan(&used); {
	case errors.Is(err, pgx.ErrNoRows):
		if err := remove(ctx, key); err != nil {
			return false, err
		}
		deleted = true
	case err != nil:
		return false, err
	}
	_, err = tx.Exec(ctx, sqlBlobSpare, key)
	return deleted, err
}

const sqlDraftSecretsExpire = `/* sqlDraftSecretsExpire */
WITH gone AS (
    DELETE FROM draft_secrets WHERE $2::text = '' AND event_id IN (
        SELECT event_id FROM draft_secrets WHERE sealed_at < $1 ORDER BY sealed_at LIMIT $3)
    RETURNING 1
)
SELECT '', (SELECT count(*) FROM gone) = $3, (SELECT count(*) FROM gone)`

const sqlRemovalsExpire = `/* sqlRemovalsExpire */
WITH looked AS (
    SELECT url_key FROM page_removals
    WHERE url_key > coalesce(nullif($2::text, ''), '00000000-0000-0000-0000-000000000000')::uuid
    ORDER BY url_key LIMIT $3
), gone AS (
    DELETE FROM page_removals x USING looked k WHERE x.url_key = k.url_key AND x.stored_at < $1 RETURNING 1
)
SELECT coalesce((SELECT url_key::text FROM looked ORDER BY url_key DESC LIMIT 1), $2),
    (SELECT count(*) FROM looked) = $3, (SELECT count(*) FROM gone)`

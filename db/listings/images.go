package listings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

const sqlImageAdd = `/* sqlImageAdd */
INSERT INTO listing_images AS i (listing_id, url, sort_order, created_at)
SELECT id, $2, $3, $4 FROM listings WHERE id = $1
ON CONFLICT (listing_id, url) DO UPDATE SET
    sort_order = CASE WHEN $5 THEN i.sort_order ELSE excluded.sort_order END,
    state      = CASE WHEN i.state = 'failed' OR i.state = 'dropped' AND NOT $5 THEN 'pending' ELSE i.state END,
    attempts   = CASE WHEN i.state = 'failed' OR i.state = 'dropped' AND NOT $5 THEN 0 ELSE i.attempts END
RETURNING i.state = 'pending', coalesce(i.settled_at, '0001-01-01Z'), (SELECT platform FROM listings WHERE id = $1),
    (SELECT platform_id FROM listings WHERE id = $1)`

// A WantedImage is an image that a message asks for: its listing, and whether it is still to be fetched.
type WantedImage struct {
	Ref     listing.Ref
	Pending bool
	GivenUp time.Time // when it failed or was dropped last; zero = never
}

// WantImage stores that a message asks for an image; one that failed is fetched again. In a replayed message the place
// may be out of date: the image keeps the place that the advert has given it since, and one that the advert no longer
// shows is not fetched. An unknown listing is fault.Invalid.
func (s *Listings) WantImage(ctx context.Context, id uuid.UUID, img listing.Image, replay bool, now time.Time) (
	w WantedImage, err error) {
	err = s.pool.QueryRow(ctx, sqlImageAdd, id, img.URL, img.SortOrder, now, replay).
		Scan(&w.Pending, &w.GivenUp, &w.Ref.Platform, &w.Ref.PlatformID)
	if errors.Is(err, pgx.ErrNoRows) {
		return w, fault.Newf(fault.Invalid, "listing_id: there is no listing %s", id)
	}
	return w, fault.Wrap(err, "want image of %s", id)
}

const sqlImageBegin = `/* sqlImageBegin */
UPDATE listing_images SET begun = begun + 1 WHERE listing_id = $1 AND url = $2 AND state = 'pending' RETURNING begun`

// BeginImage counts a fetch that begins, and returns how many have begun in a row and not ended, this one included: 0
// for an image that is not pending, or unknown. EndImage, AttachImage, CountImageAttempt and FailImage end it.
func (s *Listings) BeginImage(ctx context.Context, id uuid.UUID, url string) (begun int, err error) {
	err = s.pool.QueryRow(ctx, sqlImageBegin, id, url).Scan(&begun)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("begin image of %s: %w", id, err)
	}
	return begun, nil
}

const sqlImageEnd = `/* sqlImageEnd */ UPDATE listing_images SET begun = 0 WHERE listing_id = $1 AND url = $2`

// EndImage ends a fetch that says nothing of its image. It may be repeated.
func (s *Listings) EndImage(ctx context.Context, id uuid.UUID, url string) error {
	_, err := s.pool.Exec(ctx, sqlImageEnd, id, url)
	return fault.Wrap(err, "end image of %s", id)
}

// A picture that the listing shows already, under another address, is repeated: stored, but not shown twice. The
// event goes out with the state, or not at all; sqlListingLock makes two downloads of one picture take turns.
const sqlImageAttach = `/* sqlImageAttach */
WITH done AS (
    UPDATE listing_images i SET
        state = CASE WHEN EXISTS (
            SELECT FROM listing_images o
            WHERE o.listing_id = $1 AND o.sha256 = decode($3, 'hex') AND o.state = 'attached' AND o.url <> $2
        ) THEN 'repeated' ELSE 'attached' END,
        sha256 = decode($3, 'hex'), key = $4, thumbnail_key = $5, content_type = $6, bytes = $7,
            width = $8, height = $9, begun = 0, perceptual = $16,
        settled_at = $10, reason = ''
    WHERE listing_id = $1 AND url = $2 AND state IN ('pending', 'failed')
    RETURNING state, sort_order, created_at
), counted AS (
    ` + db.SQLFlowInto + `)
    SELECT date_trunc('minute', $10::timestamptz), 'listings', 'images', state, $12,
        ` + db.SQLTook + `$10::timestamptz - created_at` + db.SQLTookEnd + `, pg_backend_pid(), 1
    FROM done` + db.SQLFlowAdd + `
)
INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
SELECT $11, $12, $13, $14,
    convert_to(jsonb_set($15::jsonb, '{data,sort_order}', to_jsonb(sort_order))::text, 'UTF8'), $10
FROM done WHERE state = 'attached'
ON CONFLICT (message_id) DO NOTHING`

// The files of a listing that was deleted while its picture was on the way.
const sqlImageOrphan = `/* sqlImageOrphan */
INSERT INTO unused_blobs (key, due_at) SELECT k, $3 FROM unnest($2::text[]) k
WHERE NOT EXISTS (SELECT FROM listings WHERE id = $1) ON CONFLICT (key) DO NOTHING`

// AttachImage shows a stored picture with its listing and publishes images.attached. An image that is attached already,
// or was dropped, is left as it is. Of a listing that is gone the files are marked as unused: nothing else names them.
func (s *Listings) AttachImage(ctx context.Context, ref listing.Ref, img listing.StoredImage, now time.Time) error {
	id := ref.ID()
	message := uuid.NewSHA1(id, append([]byte(contract.ImageAttached+"\x00"+img.URL+"\x00"), img.SHA256...))
	data, err := json.Marshal(contract.ImageData{
		ListingID: id.String(), URL: img.URL, Key: img.Key, SHA256: img.SHA256,
		Width: img.Width, Height: img.Height,
	})
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	event, err := json.Marshal(contract.Event{
		EventID: message.String(), EventName: contract.ImageAttached, TS: now.UTC(), Platform: ref.Platform, Data: data,
	})
	if err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	b := new(pgx.Batch)
	b.Queue(sqlListingLock, id)
	b.Queue(sqlSavedPictured, id, img.URL, now)
	b.Queue(sqlImageAttach, id, img.URL, img.SHA256, img.Key, img.ThumbnailKey, img.ContentType, img.Bytes, img.Width,
		img.Height, now, message, ref.Platform, contract.ExchangeListingEvents, contract.ImageAttached, event,
		db.Stated(int64(img.Perceptual))) //nolint:gosec // the same 64 bits
	b.Queue(sqlImageOrphan, id, []string{img.Key, img.ThumbnailKey}, now.Add(retention.ForgetWait))
	b.Queue(db.SQLDeadLetterResolveKey, db.LetterFingerprint(imageKey(ref, img.URL)))
	if err := db.Write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("attach image to %s: %w", ref, err)
	}
	s.added.Wake(ctx)
	return nil
}

// imageKey names an image among the dead letters.
func imageKey(ref listing.Ref, url string) string { return "image/" + ref.String() + "/" + url }

const sqlImageAttempt = `/* sqlImageAttempt */
UPDATE listing_images SET attempts = attempts + 1, reason = $3, begun = 0 WHERE listing_id = $1 AND url = $2
RETURNING attempts`

// CountImageAttempt counts a failed fetch and returns how many there were: 0 for an unknown image.
func (s *Listings) CountImageAttempt(ctx context.Context, id uuid.UUID, url, reason string) (attempts int, err error) {
	err = s.pool.QueryRow(ctx, sqlImageAttempt, id, url, db.Storable(reason)).Scan(&attempts)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("count attempt at image of %s: %w", id, err)
	}
	return attempts, nil
}

const sqlImageFail = `/* sqlImageFail */
WITH done AS (
    UPDATE listing_images SET state = 'failed', reason = $3, settled_at = $4, begun = 0
    WHERE listing_id = $1 AND url = $2 AND state = 'pending' RETURNING 1
)
` + db.SQLFlowInto + `)
SELECT date_trunc('minute', $4::timestamptz), 'listings', 'images', 'failed', $5, -1, pg_backend_pid(), 1 FROM done` +
	db.SQLFlowAdd

// FailImage gives an image up: its listing is shown without it, and a replay of its dead letter requests it again.
func (s *Listings) FailImage(ctx context.Context, ref listing.Ref, img listing.Image, class fault.Class,
	reason string, run listing.Run, now time.Time) error {
	body, err := json.Marshal(contract.PendingImage{
		ListingID: ref.ID().String(), Platform: ref.Platform, URL: img.URL, SortOrder: img.SortOrder,
	})
	if err != nil {
		return fmt.Errorf("write dead letter: %w", err)
	}
	b := new(pgx.Batch)
	b.Queue(sqlImageFail, ref.ID(), img.URL, db.Storable(reason), now, ref.Platform)
	db.DeadLetterAdd(b, db.DeadLetter{
		Key: imageKey(ref, img.URL), Route: contract.ListingsRoute(contract.QueueImages), Body: body, Reason: reason,
		Class: string(class), WorkflowID: run.WorkflowID, RunID: run.RunID, At: now,
	})
	return fault.Wrap(db.Write(ctx, s.pool, b), "give up image of %s", ref)
}

package listings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// Forgets takes adverts out, with all that was made of them, because somebody asked for it.
type Forgets struct{ pool *pgxpool.Pool }

// NewForgets returns what forgets adverts in pool.
func NewForgets(pool *pgxpool.Pool) *Forgets { return &Forgets{pool} }

const sqlAdvertCount = `/* sqlAdvertCount */
SELECT (SELECT count(*) FROM raw_listings WHERE id = $1),
    (SELECT count(*) FROM raw_listing_revisions WHERE listing_id = $1),
    (SELECT count(*) FROM listings WHERE id = $1), (SELECT count(*) FROM listing_images WHERE listing_id = $1),
    (SELECT count(*) FROM listing_events WHERE listing_id = $1),
    (SELECT blocked_at FROM blocked_adverts WHERE id = $1)`

// Holdings counts what is stored of an advert, but for its dead letters, waiting messages and files.
func (s *Forgets) Holdings(ctx context.Context, ref listing.Ref) (retention.Forgotten, error) {
	f, err := db.Row(ctx, s.pool, scanHoldings, sqlAdvertCount, ref.ID())
	return f, fault.Wrap(err, "count what is stored of an advert")
}

func scanHoldings(row pgx.CollectableRow) (f retention.Forgotten, err error) {
	err = row.Scan(&f.Adverts, &f.Revisions, &f.Listings, &f.Images, &f.Events, &f.BlockedAt)
	f.Blocked = f.BlockedAt != nil
	return f, err
}

const sqlAdvertBlock = `/* sqlAdvertBlock */
INSERT INTO blocked_adverts (id, blocked_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING`

// RequestForget stores the audit entry of an advert that is to be forgotten and, with block, that it may not come back:
// from then on its messages are acknowledged and not stored. The entry names the advert by its ID only.
func (s *Forgets) RequestForget(ctx context.Context, ref listing.Ref, block bool, actor string, now time.Time) error {
	b := new(pgx.Batch)
	if block {
		b.Queue(sqlAdvertBlock, ref.ID(), now)
	}
	db.AuditAdd(ctx, b, db.AuditEntry{
		At: now, Actor: actor, Action: "listing.forgotten", Subject: "listing/" + ref.ID().String(),
		Detail: map[string]any{"block": block},
	})
	return fault.Wrap(db.Write(ctx, s.pool, b), "request to forget an advert")
}

const (
	sqlAdvertHold = `/* sqlAdvertHold */ SELECT id FROM raw_listings WHERE id = $1 FOR UPDATE`
	sqlAdvertKeys = `/* sqlAdvertKeys */
SELECT DISTINCT k FROM listing_images, unnest(ARRAY[key, thumbnail_key]) k WHERE listing_id = $1 AND k IS NOT NULL`
	sqlAdvertURLs  = `/* sqlAdvertURLs */ SELECT url FROM listing_images WHERE listing_id = $1`
	sqlAdvertUnsee = `/* sqlAdvertUnsee */ DELETE FROM platform_adverts WHERE platform = $1 AND platform_id = $2`
	sqlUnitUnsee   = `/* sqlUnitUnsee */ DELETE FROM platform_units WHERE platform = $1 AND listing_id = $2`

	sqlLettersForget = `/* sqlLettersForget */
DELETE FROM dead_letters WHERE workflow_id = $1 AND workflow_id <> '' OR fingerprint = ANY ($2)`
)

// ForgetAdvert deletes an advert and all that was made of it, in one transaction: payloads, revisions, listing, images,
// history, dead letters of its workflow and images, and what a scraper remembers. A listing that was visible is
// announced as archived, so that consumers drop theirs. Its files are marked as unused, to be deleted after
// retention.ForgetWait unless another advert shows them. With onlyRest an advert that is stored and not blocked stays:
// it has come back. It may be repeated, and after any interruption.
func (s *Forgets) ForgetAdvert(ctx context.Context, ref listing.Ref, onlyRest bool, now time.Time) (
	f retention.Forgotten, err error,
) {
	id := ref.ID()
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLListingsHold, []uuid.UUID{id}); err != nil {
			return err
		}
		var have uuid.UUID
		err := tx.QueryRow(ctx, sqlAdvertHold, id).Scan(&have)
		stored := err == nil
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if f, err = db.Row(ctx, tx, scanHoldings, sqlAdvertCount, id); err != nil {
			return err
		}
		if stored && onlyRest && !f.Blocked {
			f = retention.Forgotten{}
			return nil
		}
		keys, err := db.Rows(ctx, tx, pgx.RowTo[string], sqlAdvertKeys, id)
		if err != nil {
			return err
		}
		f.Files = len(keys)
		urls, err := db.Rows(ctx, tx, pgx.RowTo[string], sqlAdvertURLs, id)
		if err != nil {
			return err
		}
		prints := [][]byte{}
		for _, u := range urls {
			prints = append(prints, db.LetterFingerprint(imageKey(ref, u)))
		}
		b := new(pgx.Batch)
		if err := listingTellForgotten(ctx, tx, b, ref, now); err != nil {
			return err
		}
		b.Queue(db.SQLBlobsMark, keys, now.Add(retention.ForgetWait))
		db.AdvertsDelete(b, []uuid.UUID{id})
		b.Queue(sqlAdvertUnsee, ref.Platform, ref.PlatformID)
		b.Queue(sqlUnitUnsee, ref.Platform, id)
		b.Queue(sqlLettersForget, ref.WorkflowID(), prints).Exec(func(tag pgconn.CommandTag) error {
			f.DeadLetters = int(tag.RowsAffected())
			return nil
		})
		db.RememberTrace(ctx, b)
		return tx.SendBatch(ctx, b).Close()
	})
	return f, fault.Wrap(err, "forget advert")
}

const sqlListingVisible = `/* sqlListingVisible */
SELECT revision, url, updated_at FROM listings WHERE id = $1 AND status <> 'archived' FOR UPDATE`

// listingTellForgotten queues the event that a visible listing is no longer offered.
func listingTellForgotten(ctx context.Context, tx pgx.Tx, b *pgx.Batch, ref listing.Ref, now time.Time) error {
	data := contract.ListingData{ListingID: ref.ID().String(), PlatformID: ref.PlatformID}
	var since time.Time
	err := tx.QueryRow(ctx, sqlListingVisible, ref.ID()).Scan(&data.Revision, &data.URL, &since)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return listingTell(b, contract.ListingArchived, ref, data, since.UTC().AppendFormat(nil, time.RFC3339Nano), now)
}

// Messages that may name the advert $3, $4: its number is somewhere in their body.
const sqlLettersNaming = `/* sqlLettersNaming */
WITH looked AS (SELECT id FROM dead_letters WHERE id > $1 ORDER BY id LIMIT $2)
SELECT (SELECT count(*) FROM looked)::int, coalesce((SELECT max(id) FROM looked), 0), d.id, d.body
FROM (SELECT 1) one LEFT JOIN (looked JOIN dead_letters d USING (id)) ON
    position(convert_to($3, 'UTF8') IN d.body) > 0 OR position(convert_to($4, 'UTF8') IN d.body) > 0`

const sqlOutboxNaming = `/* sqlOutboxNaming */
WITH looked AS (
    SELECT id FROM outbox
    WHERE lane IN ($5, ` + db.SQLLettersLane + `) AND published_at IS NULL AND id > $1 ORDER BY id LIMIT $2)
SELECT (SELECT count(*) FROM looked)::int, coalesce((SELECT max(id) FROM looked), 0), d.id, d.body
FROM (SELECT 1) one LEFT JOIN (looked JOIN outbox d USING (id)) ON d.routing_key <> $6
    AND (position(convert_to($3, 'UTF8') IN d.body) > 0 OR position(convert_to($4, 'UTF8') IN d.body) > 0)`

const (
	sqlLettersDelete = `/* sqlLettersDelete */ DELETE FROM dead_letters WHERE id = ANY ($1)`
	sqlOutboxDelete  = `/* sqlOutboxDelete */ DELETE FROM outbox WHERE id = ANY ($1) AND published_at IS NULL`
)

// ForgetLetters deletes those of up to most dead letters after the one with the number after whose bodies name an
// advert, and returns the number to go on from, 0 after the last, and how many it deleted. A body that is not JSON
// names nothing.
func (s *Forgets) ForgetLetters(ctx context.Context, ref listing.Ref, after int64, most int) (
	next int64, deleted int, err error,
) {
	return s.forgetMessages(ctx, ref, sqlLettersDelete, most, sqlLettersNaming, after, most, ref.PlatformID,
		ref.ID().String())
}

// ForgetMessages does the same with the messages that wait in the outbox, replays of dead letters among them, but for
// the events that tell consumers to drop the listing.
func (s *Forgets) ForgetMessages(ctx context.Context, ref listing.Ref, after int64, most int) (
	next int64, deleted int, err error,
) {
	return s.forgetMessages(ctx, ref, sqlOutboxDelete, most, sqlOutboxNaming, after, most, ref.PlatformID,
		ref.ID().String(), ref.Platform, contract.ListingArchived)
}

func (s *Forgets) forgetMessages(ctx context.Context, ref listing.Ref, remove string, most int, find string,
	args ...any) (next int64, deleted int, err error) {
	var (
		looked int
		id     *int64
		body   []byte
		ids    []int64
	)
	rows, _ := s.pool.Query(ctx, find, args...)
	_, err = pgx.ForEachRow(rows, []any{&looked, &next, &id, &body}, func() error {
		if id != nil && namesAdvert(body, ref) {
			ids = append(ids, *id)
		}
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("find messages of an advert: %w", err)
	}
	if len(ids) > 0 {
		tag, err := s.pool.Exec(ctx, remove, ids)
		if err != nil {
			return 0, 0, fmt.Errorf("delete messages of an advert: %w", err)
		}
		deleted = int(tag.RowsAffected())
	}
	if looked < most {
		next = 0
	}
	return next, deleted, nil
}

// namesAdvert reports whether a message, or an event, is about an advert. It is lenient: many dead letters are there
// because a field has the wrong type.
func namesAdvert(body []byte, ref listing.Ref) bool {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var m map[string]any
	if d.Decode(&m) != nil {
		return false
	}
	id := ref.ID().String()
	inner, _ := m["data"].(map[string]any)
	for _, of := range []map[string]any{m, inner} {
		if of["listing_id"] == id {
			return true
		}
		if fmt.Sprint(m["platform"]) == ref.Platform && fmt.Sprint(of["platform_id"]) == ref.PlatformID {
			return true
		}
	}
	return false
}

const sqlDuplicatesOf = `/* sqlDuplicatesOf */
SELECT ` + sqlRestart + `
WHERE duplicate_of = $1 AND status = 'duplicate' AND normalized_revision = revision AND id > $2
ORDER BY id LIMIT $3`

// DuplicatesOf returns up to n adverts with IDs after last that are held back as duplicates of a listing. Once that is
// forgotten, their home may be shown again.
func (s *Forgets) DuplicatesOf(ctx context.Context, id, last uuid.UUID, n int) ([]listing.Restart, error) {
	out, err := db.Rows(ctx, s.pool, scanRestart, sqlDuplicatesOf, id, last, n)
	return out, fault.Wrap(err, "read duplicates of a forgotten listing")
}

package listings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

func hash(b []byte) []byte {
	h := sha256.Sum256(b)
	return h[:]
}

const sqlRawLoad = `/* sqlRawLoad */
SELECT r.normalized, r.normalized_revision,
    CASE WHEN r.revision = r.normalized_revision AND r.settled_revision < r.revision THEN r.revised_at END,
    l.status, l.details_hash, l.details, r.gone_at IS NOT NULL, r.last_scraped_at,
    CASE WHEN r.settled_revision >= r.normalized_revision THEN r.settlements ELSE 0 END,
    (SELECT h.shown FROM home_members m JOIN homes h ON h.id = m.home_id WHERE m.listing_id = r.id AND m.hidden),
    l.id IS NULL AND r.staged AND r.payload @> '{"claimed": true}',
    ` + sqlEnrichmentColumns + `
FROM raw_listings r LEFT JOIN listings l ON l.id = r.id LEFT JOIN listing_enrichments e ON e.listing_id = r.id
WHERE r.id = $1`

// It is asked of archived listings only: as a part of sqlRawLoad, its five tables would be opened for every advert.
const sqlRawRemembered = `/* sqlRawRemembered */ SELECT ` + sqlScraperKnows + ` FROM raw_listings r WHERE id = $1`

// Load returns the normalized form that the last stage stored, with the revision it was made of. An advert without
// one is fault.Gone.
func (s *Listings) Load(ctx context.Context, id uuid.UUID) (listing.Version, error) {
	var (
		v        listing.Version
		doc      *listing.Listing
		received *time.Time
		status   *string
		hash     []byte
		before   *listing.Listing
		shown    *uuid.UUID
		enriched enrichmentRow
	)
	err := s.pool.QueryRow(ctx, sqlRawLoad, id).Scan(append([]any{&doc, &v.Revision, &received, &status, &hash, &before,
		&v.Gone, &v.ScrapedAt, &v.Pass, &shown, &v.Claimed}, enriched.columns()...)...)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && doc == nil {
		return v, fault.Newf(fault.Gone, "read normalized listing %s: there is none; start it at stage normalize", id)
	}
	if err != nil {
		return v, fmt.Errorf("read normalized listing %s: %w", id, err)
	}
	v.Listing, v.ScrapedAt = *doc, v.ScrapedAt.UTC()
	v.Enriched, v.EnrichedOf = enriched.stored(), enriched.of
	if received != nil {
		v.ReceivedAt = received.UTC()
	}
	if shown != nil {
		v.HiddenBy = *shown
	}
	if status != nil {
		_, sum, err := written(v.Listing)
		if err != nil {
			return v, err
		}
		v.Published, v.Same, v.Before = *status, bytes.Equal(hash, sum), *before
	}
	if v.Published != "archived" {
		return v, nil
	}
	err = s.pool.QueryRow(ctx, sqlRawRemembered, id).Scan(&v.Remembered)
	return v, fault.Wrap(err, "read whether a scraper remembers %s", v.Listing.Ref)
}

// Rows are locked in one order: the listing, its images, the raw advert, dead letters. NO KEY, or a transaction that
// stores an image of the listing would wait for it, and it for that image.
const sqlListingLock = `/* sqlListingLock */ SELECT 1 FROM listings WHERE id = $1 FOR NO KEY UPDATE`

// Fails, and the transaction with it, for an advert that was hidden since its version was read: the worker may have
// been frozen in between. Who hides a visible listing locks it first, so this is a statement after sqlListingLock. It
// fails, too, unless $2 is 0, for one whose row is gone or in another state than $2, or that is published: an older
// version, whose worker was frozen or killed meanwhile, leaves the row as it is.
const sqlRawUnmoved = `/* sqlRawUnmoved */
SELECT 1 / (($2 = '0'::xid OR EXISTS (SELECT FROM raw_listings WHERE id = $1 AND xmin = $2)
    AND NOT EXISTS (SELECT FROM listings WHERE id = $1)) AND NOT EXISTS (
    SELECT FROM home_members m JOIN homes h ON h.id = m.home_id WHERE m.listing_id = $1 AND m.hidden))::int`

const divisionByZero = "22012" // of sqlRawUnmoved

// Of an advert that was never published there is no listing to lock: who hides it, or undoes what showed it, is waited
// for at its member. Of others that wait could be a deadlock, for a decision locks members before listings.
const sqlHomeHold = `/* sqlHomeHold */
SELECT FROM home_members m WHERE listing_id = $1 AND NOT EXISTS (SELECT FROM listings WHERE id = $1) FOR SHARE OF m`

// Both compare with the listing as it stands, so they come after it is locked and before it is overwritten.
const sqlEventPrice = `/* sqlEventPrice */
INSERT INTO listing_events (listing_id, revision, kind, at, old_rent_cents, new_rent_cents)
SELECT id, $2, 'price', $3, rent_cents, $4 FROM listings WHERE id = $1 AND rent_cents <> $4 AND revision <= $2`

const sqlEventReturned = `/* sqlEventReturned */
INSERT INTO listing_events (listing_id, revision, kind, at, old_status, new_status)
SELECT id, $2, 'status', $3, status, 'active' FROM listings
WHERE id = $1 AND status = 'archived' AND revision <= $2`

// The numbers are cast to bigint, so that Postgres rejects those that are too large, and not the client, whose errors
// do not tell bad data from a bad connection. A claimed listing stays claimed: its owner has taken it over.
const sqlListingSave = `/* sqlListingSave */
INSERT INTO listings AS l (id, platform, platform_id, revision, url, title, description, rent_cents, bedrooms, rooms,
    bathrooms, area_sqft, property_type, address, postal_code, latitude, longitude, neighbourhood, details,
    details_hash, repost_of, posted_at, published_at, updated_at, words, status)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::bigint, $10, $11, $12::bigint, $13, $14,
    $15, $16, $17, $18, $19, $20, $21, $22, $23, $23, $24::text::tsvector, $25)
ON CONFLICT (id) DO UPDATE SET
    revision = excluded.revision, url = excluded.url, title = excluded.title, description = excluded.description,
    rent_cents = excluded.rent_cents, bedrooms = excluded.bedrooms, rooms = excluded.rooms,
    bathrooms = excluded.bathrooms, area_sqft = excluded.area_sqft, property_type = excluded.property_type,
    address = excluded.address, postal_code = excluded.postal_code, latitude = excluded.latitude,
    longitude = excluded.longitude, neighbourhood = excluded.neighbourhood, details = excluded.details,
    details_hash = excluded.details_hash, repost_of = excluded.repost_of, posted_at = excluded.posted_at,
    updated_at = excluded.updated_at, words = excluded.words,
    status = CASE WHEN l.status = 'archived' THEN 'active' ELSE l.status END
WHERE l.revision <= excluded.revision`

// A listing that was archived while its version was under way stays archived, and the next scrape brings it back.
const sqlRawSettle = `/* sqlRawSettle */
UPDATE raw_listings r SET settled_revision = $2, status = $3, reasons = '[]', duplicate_of = NULL,
    settlements = settlements + 1, refused_at = NULL, archived_at = CASE WHEN EXISTS (
        SELECT FROM listings l WHERE l.id = r.id AND l.status = 'archived') THEN archived_at END
WHERE id = $1 AND revision = $2`

// sqlRawImported is sqlRawSettle, and resolves the dead letters of the run as SQLDeadLetterResolve does.
const sqlRawImported = `/* sqlRawImported */
WITH settled AS (` + sqlRawSettle + ` RETURNING id)
UPDATE dead_letters SET state = 'resolved' WHERE ` + db.SQLLettersOver + `$4 AND queue <> $5
    AND EXISTS (SELECT FROM settled)`

// An older version changes nothing in the images of a newer one: a worker that was frozen may resume at any time.
const sqlImageWant = `/* sqlImageWant */
INSERT INTO listing_images AS i (listing_id, url, sort_order, created_at)
SELECT $1, u.url, u.ord - 1, $3 FROM unnest($2::text[]) WITH ORDINALITY u (url, ord)
WHERE NOT EXISTS (SELECT FROM listings WHERE id = $1 AND revision > $4)
ON CONFLICT (listing_id, url) DO UPDATE SET
    sort_order = excluded.sort_order,
    state      = CASE WHEN i.state = 'dropped' THEN 'pending' ELSE i.state END,
    attempts   = CASE WHEN i.state = 'dropped' THEN 0 ELSE i.attempts END
WHERE i.sort_order <> excluded.sort_order OR i.state = 'dropped'`

// The dead letter of an image that its advert no longer shows is resolved. $5 is the start of its key.
const sqlImageDrop = `/* sqlImageDrop */
WITH dropped AS (
    UPDATE listing_images SET state = 'dropped', settled_at = $3
    WHERE listing_id = $1 AND url <> ALL ($2::text[]) AND state <> 'dropped'
        AND NOT EXISTS (SELECT FROM listings WHERE id = $1 AND revision > $4)
    RETURNING url
)
UPDATE dead_letters SET state = 'resolved' FROM dropped
WHERE fingerprint = sha256(convert_to($5::text || url, 'UTF8')) AND state IN ('open', 'replayed')`

// A picture whose shown address was dropped is fetched again under the one that repeated it.
const sqlImageUnrepeat = `/* sqlImageUnrepeat */
UPDATE listing_images r SET state = 'pending', attempts = 0, settled_at = NULL
WHERE listing_id = $1 AND state = 'repeated' AND NOT EXISTS (
    SELECT FROM listing_images o WHERE o.listing_id = $1 AND o.sha256 = r.sha256 AND o.state = 'attached'
)`

const sqlImagePending = `/* sqlImagePending */
SELECT url, sort_order FROM listing_images WHERE listing_id = $1 AND state = 'pending' ORDER BY sort_order, url`

// Publish makes a version the visible listing: row, price and status history, wanted images, listings.published, the
// audit trail's status, and its enrichment as SaveEnrichment does, all or nothing. What is new of the enrichment is
// told by listings.published, and by listings.enriched where there is no such event. It returns the images that are
// still to be fetched, none where images are off. A version that equals the published one changes nothing and causes no
// event, and so does publishing one twice. One that was hidden since it was read, or is from Kept and has changed since
// then, is fault.Transient, by listing.ErrMoved: load it again.
func (s *Listings) Publish(ctx context.Context, p listing.Publication, run listing.Run,
	now time.Time) ([]listing.Image, error) {
	b := new(pgx.Batch)
	if p.Published != "" {
		b.Queue(sqlListingLock, p.Listing.ID())
	}
	b.Queue(sqlHomeHold, p.Listing.ID())
	b.Queue(sqlRawUnmoved, p.Listing.ID(), p.Row)
	tells := !p.Same || p.Published == "archived"
	if tells {
		if err := listingPublish(b, p, now); err != nil {
			return nil, err
		}
	}
	id, urls := p.Listing.ID(), p.Listing.ImageURLs
	if urls == nil {
		urls = []string{} // NULL would drop nothing
	}
	if len(urls) > 0 && !p.WithoutImages {
		b.Queue(sqlImageWant, id, urls, now, p.Revision)
	}
	if p.Published != "" {
		b.Queue(sqlImageDrop, id, urls, now, p.Revision, imageKey(p.Listing.Ref, ""))
		b.Queue(sqlImageUnrepeat, id)
	}
	stepAdd(b, listingStep{
		ID: id, Revision: p.Revision, Pass: &p.Pass, Step: publishedAs(p), Same: p.Same && p.Published != "archived", At: now,
	})
	b.Queue(sqlRawImported, id, p.Revision, "imported", run.WorkflowID, contract.QueueImages)
	if p.Enrichment != nil {
		enrichmentSave(b, p.Enriching(), *p.Enrichment, now)
		if !tells { // listings.published does not
			if err := enrichmentTell(b, p.Enriching(), *p.Enrichment, now); err != nil {
				return nil, err
			}
		}
	}
	var pending []listing.Image
	if !p.WithoutImages {
		b.Queue(sqlImagePending, id).Query(func(rows pgx.Rows) (err error) {
			pending, err = pgx.CollectRows(rows, pgx.RowToStructByPos[listing.Image])
			return err
		})
	}
	err := db.Write(ctx, s.pool, b)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == divisionByZero {
		return nil, fault.Newf(fault.Transient, "publish %s: %w", p.Listing.Ref, listing.ErrMoved)
	}
	if err != nil {
		return nil, fmt.Errorf("publish %s: %w", p.Listing.Ref, err)
	}
	if tells {
		s.added.Wake(ctx)
	}
	return pending, nil
}

// publishedAs is the step that publishing a version is.
func publishedAs(p listing.Publication) string {
	switch {
	case p.Published == "":
		return "new"
	case p.Published == "archived":
		return "back"
	case p.Same:
		return "unchanged"
	}
	return "changed"
}

// An advert that is not offered stays on record with what is needed to publish it when it is scraped again, changed or
// not: archived_at says so to the door.
const sqlRawWithhold = `/* sqlRawWithhold */
UPDATE raw_listings r SET settled_revision = $2, reasons = '[]', duplicate_of = NULL, settlements = settlements + 1,
    refused_at = NULL, archived_at = coalesce(archived_at, $3),
    status = CASE WHEN EXISTS (SELECT FROM listings l WHERE l.id = r.id) THEN 'imported' ELSE 'normalized' END
WHERE id = $1 AND revision = $2`

// Withhold settles a version that must not become visible, because its advert is not offered any more. Nothing is
// published; a newer scrape of the advert publishes it.
func (s *Listings) Withhold(ctx context.Context, v listing.Version, run listing.Run, now time.Time) error {
	b := new(pgx.Batch)
	stepAdd(b, listingStep{
		ID: v.Listing.ID(), Revision: v.Revision, Pass: &v.Pass, Step: "withheld", Same: true, At: now,
	})
	b.Queue(sqlRawWithhold, v.Listing.ID(), v.Revision, now)
	b.Queue(db.SQLDeadLetterResolve, run.WorkflowID, v.Listing.ID(), v.Revision, contract.QueueImages)
	return fault.Wrap(db.Write(ctx, s.pool, b), "withhold %s", v.Listing.Ref)
}

// listingPublish queues the row, its history and its event. The history depends on the state that was published before.
func listingPublish(b *pgx.Batch, p listing.Publication, now time.Time) error {
	l, id := p.Listing, p.Listing.ID()
	doc, sum, err := written(l)
	if err != nil {
		return err
	}
	data := publishedData(l, p.Revision, p.Neighbourhood)
	if p.Enrichment != nil {
		data.Enrichment = enrichmentNews(p.Enriching(), *p.Enrichment)
	}
	if p.Published != "" {
		for _, c := range listing.Changes(p.Before, l) {
			data.Changes = append(data.Changes, contract.Change(c))
		}
	}
	switch p.Published {
	case "":
		data.Change = "created"
	case "archived":
		data.Change = "returned"
		if err := listingTellReturned(b, l.Ref, data, now); err != nil {
			return err
		}
		b.Queue(sqlEventReturned, id, p.Revision, now)
	default:
		data.Change = "updated"
	}
	status := "active" // of a new listing
	if p.Claimed {
		status = "claimed"
	}
	if p.Published != "" {
		b.Queue(sqlSavedEdited, id, p.Revision, now, db.Stated(p.Neighbourhood), doc)
	}
	if p.Published != "" {
		b.Queue(sqlEventPrice, id, p.Revision, now, l.RentCents)
	}
	b.Queue(sqlListingSave, id, l.Platform, l.PlatformID, p.Revision, l.URL, l.Title, l.Description, l.RentCents,
		l.Bedrooms, db.Stated(l.Rooms), db.Stated(l.Bathrooms), db.Stated(l.AreaSqFt), l.PropertyType, l.Address.Text,
		l.Address.PostalCode, l.Latitude, l.Longitude, db.Stated(p.Neighbourhood), doc, sum, db.Stated(p.RepostOf),
		l.PostedAt, now, listingText{l.Title, l.Description, l.Address.Text, p.Neighbourhood}.words(), status)
	if data.Change == "returned" {
		return nil
	}
	tell := func(text, name string, data contract.ListingData, more ...any) error {
		m, err := listingEvent(name, l.Ref, data, sum, p.Pass, now)
		if err == nil {
			b.Queue(text, append([]any{m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Body, m.CreatedAt, id, p.Revision},
				more...)...)
		}
		return err
	}
	if data.Change == "created" {
		err = tell(sqlTellCreated, contract.ListingPublished, data, now, l.RentCents, status)
	} else {
		err = tell(sqlTellPublished, contract.ListingPublished, data)
	}
	if err != nil || !p.Claimed {
		return err
	}
	claimed := listingData(l, p.Revision)
	claimed.Neighbourhood = p.Neighbourhood
	return tell(sqlTellPublished, contract.ListingClaimed, claimed)
}

// publishedData is what listings.published says of any version.
func publishedData(l listing.Listing, revision int64, neighbourhood string) contract.ListingData {
	data := listingData(l, revision)
	data.Neighbourhood, data.Address = neighbourhood, l.Address.Text
	data.Latitude, data.Longitude = l.Latitude, l.Longitude
	if len(l.ImageURLs) > 0 {
		data.ImageURL = l.ImageURLs[0]
	}
	return data
}

// After the listing is saved: a version that is older than the published one says nothing.
const sqlTellPublished = `/* sqlTellPublished */
INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (SELECT FROM listings WHERE id = $7 AND revision > $8)
ON CONFLICT (message_id) DO NOTHING`

// sqlTellCreated is sqlTellPublished of a new listing, with the first event of its history.
const sqlTellCreated = `/* sqlTellCreated */
WITH event AS (
    INSERT INTO listing_events (listing_id, revision, kind, at, new_rent_cents, new_status)
    VALUES ($7, $8, 'created', $9, $10, $11) ON CONFLICT DO NOTHING
)
` + sqlTellPublished

const sqlOutboxReturned = `/* sqlOutboxReturned */
INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
SELECT $1, $2, $3, $4, $5, $6 FROM listings WHERE id = $7 AND status = 'archived' AND revision <= $8`

// listingTellReturned queues the event that an archived listing is published again. It may return any number of times
// with the same content, so the content cannot make the event's ID. Instead the event is written only while the listing
// is archived: it must be queued before the listing is saved.
func listingTellReturned(b *pgx.Batch, ref listing.Ref, data contract.ListingData, now time.Time) error {
	m, err := db.OutboxEvent(contract.ListingPublished, ref.Platform, uuid.New(), data, now)
	if err != nil {
		return err
	}
	b.Queue(sqlOutboxReturned, m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Body, m.CreatedAt, ref.ID(),
		data.Revision)
	return nil
}

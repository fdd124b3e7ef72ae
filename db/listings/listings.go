// Package listings keeps adverts from their arrival to the listing that is shown, homes and their images, what scrapers
// remember, and the searches that people saved with what they are told.
package listings

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Listings keeps adverts as they arrived (raw_listings and their revisions), the listings made of them, and their
// history. Every write is one transaction together with the events it causes, and may be repeated.
type Listings struct {
	pool  *pgxpool.Pool
	added db.Waker        // to the outbox
	rents chan placesRead // what was read last; whoever reads has it
	kept  *keeper
}

// NewListings returns the listings kept in pool.
func NewListings(pool *pgxpool.Pool) *Listings {
	s := &Listings{pool, db.NewWaker(pool), make(chan placesRead, 1), newKeeper()}
	s.rents <- placesRead{}
	return s
}

// An Arrival is one scraped message that passed its contract's check.
type Arrival struct {
	Ref         listing.Ref
	URL         string
	Payload     []byte // the whole message, JSON
	ContentHash []byte // of listing.ContentHash
	ScrapedAt   time.Time
	Stale       bool // scraped too long ago to show that an archived advert is offered again
}

// NewArrival is an advert with the message that it arrived in, or will be sent in.
func NewArrival(raw listing.Raw, payload []byte) (Arrival, error) {
	hash, err := hex.DecodeString(listing.ContentHash(raw))
	if err != nil {
		return Arrival{}, fmt.Errorf("hash %s: %w", raw.Ref, err)
	}
	return Arrival{Ref: raw.Ref, URL: raw.URL, Payload: payload, ContentHash: hash, ScrapedAt: raw.ScrapedAt}, nil
}

// A Receipt says how an advert stands after its arrival.
type Receipt struct {
	ID       uuid.UUID
	Revision int64 // the advert's current revision
	Settled  bool  // that revision went through the pipeline before: there is nothing to do
	Archived bool  // it was archived and is offered again: the revision must be published, though it was settled
	Blocked  bool  // it was forgotten and may not come back: it is not stored, and settled

	Overtaken bool `db:"-"` // by a newer scrape: nothing was stored (ReceiveStaged only; it is Settled too)
}

// Rows are locked in the order of the IDs, or two bridges that store the same adverts would deadlock. A message older
// than the newest scrape, even one that found nothing new, counts as a scrape and is kept among the revisions when its
// content is new; it changes nothing else. Such a late revision was never the current one: its number is negative,
// minus the time of its scrape in microseconds, so that it is the same however often it arrives.
const sqlRawReceive = `/* sqlRawReceive */
WITH incoming AS (
    SELECT * FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::jsonb[], $6::bytea[], $7::timestamptz[],
        $10::boolean[])
        AS t (id, platform, platform_id, url, payload, content_hash, scraped_at, stale)
    WHERE NOT EXISTS (SELECT FROM blocked_adverts b WHERE b.id = t.id)
    ORDER BY id
), stored AS (
    INSERT INTO raw_listings AS r (id, platform, platform_id, url, payload, content_hash, scrapes,
        first_scraped_at, last_scraped_at, payload_at, revised_at)
    SELECT id, platform, platform_id, url, payload, content_hash, $9, scraped_at, scraped_at, scraped_at, $8
    FROM incoming
    ON CONFLICT (id) DO UPDATE SET
        scrapes          = r.scrapes + excluded.scrapes,
        gone_at          = CASE WHEN excluded.payload_at <= r.gone_at THEN r.gone_at END,
        first_scraped_at = least(r.first_scraped_at, excluded.first_scraped_at),
        last_scraped_at  = greatest(r.last_scraped_at, excluded.last_scraped_at),
        (url, payload, staged, content_hash, payload_at, revised_at, revision, status, reasons, duplicate_of) = (
            SELECT n.* FROM (
                SELECT excluded.content_hash <> r.content_hash AND excluded.payload_at >= r.last_scraped_at) c (changed)
            CROSS JOIN LATERAL (SELECT
                CASE WHEN changed THEN excluded.url ELSE r.url END,
                CASE WHEN changed THEN excluded.payload ELSE r.payload END,
                CASE WHEN changed THEN excluded.staged ELSE r.staged END,
                CASE WHEN changed THEN excluded.content_hash ELSE r.content_hash END,
                CASE WHEN changed THEN excluded.payload_at ELSE r.payload_at END,
                CASE WHEN changed THEN excluded.revised_at ELSE r.revised_at END,
                CASE WHEN changed THEN r.revision + 1 ELSE r.revision END,
                CASE WHEN changed THEN 'scraped' ELSE r.status END,
                CASE WHEN changed THEN '[]'::jsonb ELSE r.reasons END,
                CASE WHEN changed THEN NULL ELSE r.duplicate_of END) n)
    RETURNING id, revision, content_hash, settled_revision, revised_at, archived_at, gone_at
), revised AS (
    INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at, received_at)
    SELECT s.id, s.revision, i.content_hash, i.payload, i.scraped_at, $8
    FROM stored s JOIN incoming i ON i.id = s.id AND i.content_hash = s.content_hash
    WHERE s.revised_at = $8
    ON CONFLICT DO NOTHING
    RETURNING listing_id, revision
), stepped AS (
    INSERT INTO listing_steps (listing_id, revision, pass, step, again, at)
    SELECT listing_id, revision, 0, 'received', false, $8 FROM revised
    ON CONFLICT DO NOTHING
), counted AS (
    ` + db.SQLFlowInto + `)
    SELECT date_trunc('minute', $8::timestamptz), 'listings', 'receive',
        CASE WHEN s.revision = s.settled_revision
            AND NOT (s.archived_at IS NOT NULL AND s.gone_at IS NULL AND NOT i.stale)
            THEN 'unchanged' ELSE 'fresh' END, i.platform, -1, pg_backend_pid(), count(*)
    FROM stored s JOIN incoming i ON i.id = s.id WHERE $9::bigint > 0 GROUP BY 4, 5` + db.SQLFlowAdd + `
), late AS (
    INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at, received_at)
    SELECT s.id, least(-1, -(extract(epoch FROM i.scraped_at) * 1000000)::bigint), i.content_hash, i.payload,
        i.scraped_at, $8
    FROM stored s JOIN incoming i ON i.id = s.id AND i.content_hash <> s.content_hash
    WHERE NOT EXISTS (
        SELECT FROM raw_listing_revisions v WHERE v.listing_id = s.id AND v.content_hash = i.content_hash)
    ON CONFLICT DO NOTHING
)
SELECT s.id, s.revision, s.revision = s.settled_revision AND NOT b.again, b.again
FROM stored s JOIN incoming i ON i.id = s.id
CROSS JOIN LATERAL (SELECT s.archived_at IS NOT NULL AND s.gone_at IS NULL AND NOT i.stale) b (again)`

// Receive stores scraped adverts, in one statement unless an advert is among them twice, and says for each arrival
// whether there is work to do. Of an advert that did not change since it last went through the pipeline only
// last_scraped_at moves: it is settled here, unless its listing is archived and so is offered again now: not by an
// arrival that is stale, or older than the advert's removal. An arrival that says it was scraped after now counts as
// scraped now, or a sender whose clock is ahead would make every honest scrape an old one. Receiving the same message
// again counts one more scrape and changes nothing else.
func (s *Listings) Receive(ctx context.Context, arrivals []Arrival, now time.Time) ([]Receipt, error) {
	receipts := make([]Receipt, len(arrivals))
	now = now.Truncate(time.Microsecond) // as Postgres keeps it: the statement compares it with the stored value
	for _, round := range arrivalRounds(arrivals) {
		if err := s.receiveRound(ctx, arrivals, round, receipts, now); err != nil {
			return nil, err
		}
		now = now.Add(time.Microsecond)
	}
	return receipts, nil
}

// arrivalRounds splits arrivals, as indices, so that no advert is twice in one statement, which Postgres rejects. The
// order of two scrapes of one advert is kept. There is nearly always one round.
func arrivalRounds(arrivals []Arrival) [][]int {
	var out [][]int
	seen := make(map[listing.Ref]int, len(arrivals))
	for i, a := range arrivals {
		n := seen[a.Ref]
		seen[a.Ref] = n + 1
		if n == len(out) {
			out = append(out, nil)
		}
		out[n] = append(out[n], i)
	}
	return out
}

func (s *Listings) receiveRound(ctx context.Context, all []Arrival, round []int, receipts []Receipt,
	now time.Time) error {
	list, at := make([]Arrival, len(round)), make(map[uuid.UUID]int, len(round))
	for i, k := range round {
		list[i] = all[k]
		at[list[i].Ref.ID()] = k
	}
	got, err := db.Rows(ctx, s.pool, receiptOf, sqlRawReceive, arrivalArgs(list, 1, now)...)
	if err != nil {
		return db.Refused(fmt.Errorf("store %d adverts: %w", len(list), err))
	}
	for id, k := range at {
		receipts[k] = Receipt{ID: id, Settled: true, Blocked: true} // unless it was stored
	}
	for _, r := range got {
		receipts[at[r.ID]] = r
	}
	return nil
}

// receiptOf reads a row of the statements that store adverts.
func receiptOf(row pgx.CollectableRow) (r Receipt, err error) {
	return r, row.Scan(&r.ID, &r.Revision, &r.Settled, &r.Archived)
}

// arrivalArgs are the arguments of sqlRawReceive. messages is how many messages each arrival counts as: 1, and 0 for a
// scraper that stores an advert before its message is sent.
func arrivalArgs(arrivals []Arrival, messages int, now time.Time) []any {
	n := len(arrivals)
	ids := make([]uuid.UUID, n)
	platforms, platformIDs, urls := make([]string, n), make([]string, n), make([]string, n)
	payloads, hashes, scraped := make([][]byte, n), make([][]byte, n), make([]time.Time, n)
	stale := make([]bool, n)
	for i, a := range arrivals {
		ids[i], platforms[i], platformIDs[i], urls[i] = a.Ref.ID(), a.Ref.Platform, a.Ref.PlatformID, a.URL
		payloads[i], hashes[i], scraped[i], stale[i] = a.Payload, a.ContentHash, earlier(a.ScrapedAt, now), a.Stale
	}
	return []any{ids, platforms, platformIDs, urls, payloads, hashes, scraped, now, messages, stale}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// A message is of the stored scrape when it names its revision, or when it has its time: whole, or with the fewer
// digits that another language keeps. Without either it is newer or older by its time. One that names an older revision
// is older, unless its time is newer.
const sqlRawReceiveStaged = `/* sqlRawReceiveStaged */
WITH stored AS (
    INSERT INTO raw_listings AS r (id, platform, platform_id, url, payload, staged, content_hash, status, normalized,
        normalized_revision, first_scraped_at, last_scraped_at, payload_at, revised_at)
    SELECT $1, $2, $3, $4, $5, true, $6, 'normalized', $7, 1, $8, $8, $8, $9
    WHERE NOT EXISTS (SELECT FROM blocked_adverts b WHERE b.id = $1)
    ON CONFLICT (id) DO UPDATE SET
        url             = excluded.url,
        last_scraped_at = greatest(r.last_scraped_at, excluded.last_scraped_at),
        gone_at         = CASE WHEN excluded.payload_at <= r.gone_at THEN r.gone_at END,
        normalized      = excluded.normalized,
        status          = 'normalized',
        (revision, normalized_revision, payload, staged, content_hash, revised_at, payload_at) = (
            SELECT n.* FROM (SELECT ` + sqlStagedSame + `) c (same)
            CROSS JOIN LATERAL (SELECT
                CASE WHEN same THEN r.revision ELSE r.revision + 1 END,
                CASE WHEN same THEN r.revision ELSE r.revision + 1 END,
                CASE WHEN same THEN r.payload ELSE excluded.payload END,
                CASE WHEN same THEN r.staged ELSE true END,
                CASE WHEN same THEN r.content_hash ELSE excluded.content_hash END,
                CASE WHEN same THEN r.revised_at ELSE excluded.revised_at END,
                CASE WHEN same THEN r.payload_at ELSE excluded.payload_at END) n)
    WHERE ` + sqlStagedSame + `
        OR excluded.payload_at > greatest(r.payload_at, r.payload_at::timestamptz(3))
    RETURNING id, revision, revised_at
), revised AS (
    INSERT INTO raw_listing_revisions (listing_id, revision, content_hash, payload, scraped_at, received_at)
    SELECT id, revision, $6, $5, $8, $9 FROM stored WHERE revised_at = $9
    ON CONFLICT DO NOTHING
    RETURNING listing_id, revision
), stepped AS (
    INSERT INTO listing_steps (listing_id, revision, pass, step, again, at)
    SELECT listing_id, revision, 0, 'received', false, $9 FROM revised
    ON CONFLICT DO NOTHING
), counted AS (
    ` + db.SQLFlowInto + `)
    SELECT date_trunc('minute', $9::timestamptz), 'listings', 'receive', 'fresh', $2, -1, pg_backend_pid(), count(*)
    FROM stored HAVING count(*) > 0` + db.SQLFlowAdd + `
)
SELECT id, revision, false, false FROM stored`

const sqlStagedSame = `CASE WHEN $10::bigint BETWEEN 1 AND r.revision THEN $10 = r.revision
    ELSE excluded.payload_at IN (r.payload_at, r.payload_at::timestamptz(3), date_trunc('milliseconds', r.payload_at),
        date_trunc('second', r.payload_at)) END`

// ReceiveStaged stores a listing that another team's stage has normalized or checked, of the revision that the message
// names (0 = none). One made of the stored scrape replaces the normalized form and keeps the raw payload; a newer
// one is a new revision whose payload is the message. An older one is overtaken: it changes nothing and is settled.
func (s *Listings) ReceiveStaged(ctx context.Context, a Arrival, revision int64, l listing.Listing, now time.Time) (
	Receipt, error,
) {
	now = now.Truncate(time.Microsecond) // as Postgres keeps it: the statement compares it with the stored value
	scraped := earlier(a.ScrapedAt, now) // as in Receive
	l.ScrapedAt = scraped
	got, err := db.Rows(ctx, s.pool, receiptOf,
		sqlRawReceiveStaged, a.Ref.ID(), a.Ref.Platform, a.Ref.PlatformID, a.URL, a.Payload, a.ContentHash, l, scraped,
		now, revision)
	if err != nil {
		return Receipt{}, db.Refused(fmt.Errorf("store staged advert %s: %w", a.Ref, err))
	}
	if len(got) == 0 {
		return Receipt{ID: a.Ref.ID(), Settled: true, Overtaken: true}, nil
	}
	return got[0], nil
}

// Work on a revision that was brought to its end before is another pass, and so is each after it.
const sqlRawPayload = `/* sqlRawPayload */
SELECT revision, payload, staged, payload_at, CASE WHEN settled_revision >= revision THEN settlements ELSE 0 END
FROM raw_listings WHERE id = $1`

// Raw returns the payload of the advert's current revision. An unknown ID is fault.Gone.
func (s *Listings) Raw(ctx context.Context, id uuid.UUID) (p listing.Payload, err error) {
	err = s.pool.QueryRow(ctx, sqlRawPayload, id).Scan(&p.Revision, &p.Body, &p.Staged, &p.ScrapedAt, &p.Pass)
	if err != nil {
		return p, db.Gone(fmt.Errorf("read raw listing %s: %w", id, err), "read raw listing %s: there is none", id)
	}
	p.ScrapedAt = p.ScrapedAt.UTC()
	return p, nil
}

// An event of a step is written when the step changes what is stored, by what was there before. A step that runs twice
// finds its own result. A revision that was brought to its end before keeps its outcome until the next: a replay counts
// it when it sees it.
const sqlRawNormalized = `/* sqlRawNormalized */
WITH told AS (
    INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
    SELECT $4, $5, $6, $7, $8, $9 WHERE NOT EXISTS (
        SELECT FROM raw_listings
        WHERE id = $1 AND (normalized_revision > $2 OR normalized_revision = $2 AND normalized = $3::jsonb))
    ON CONFLICT (message_id) DO NOTHING
)
UPDATE raw_listings r SET normalized = $3, normalized_revision = $2,
    status       = CASE WHEN revision = $2 AND settled_revision < $2 THEN 'normalized' ELSE status END,
    reasons      = CASE WHEN revision = $2 AND settled_revision < $2 THEN '[]' ELSE reasons END,
    duplicate_of = CASE WHEN revision = $2 AND settled_revision < $2 THEN NULL ELSE duplicate_of END
WHERE id = $1 AND normalized_revision <= $2
RETURNING ` + sqlKeptColumns

// SaveNormalized stores the listing made of a payload and publishes listings.normalized, unless it is stored already.
// When a newer revision has arrived meanwhile, this one is processed all the same: it does not settle the newer one,
// which has a run of its own.
func (s *Listings) SaveNormalized(ctx context.Context, l listing.Listing, p listing.Payload, now time.Time) error {
	doc, sum, err := written(l)
	if err != nil {
		return err
	}
	m, err := listingEvent(contract.ListingNormalized, l.Ref, listingData(l, p.Revision), sum, p.Pass, now)
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	stepAdd(b, listingStep{ID: l.ID(), Revision: p.Revision, Pass: &p.Pass, Step: "normalized", Same: true, At: now})
	v := listing.Version{Revision: p.Revision}
	b.Queue(sqlRawNormalized, l.ID(), p.Revision, doc, m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Body,
		m.CreatedAt).Query(keptOf(&v, doc))
	if err := db.Write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("save normalized %s: %w", l.Ref, err)
	}
	s.kept.put(v)
	return nil
}

const sqlTellRejected = `/* sqlTellRejected */
INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
SELECT $1, $2, $3, $4, $5, $6 WHERE NOT EXISTS (
    SELECT FROM raw_listings
    WHERE id = $7 AND revision = $8 AND settled_revision = $8 AND status = 'rejected' AND reasons = $9::jsonb)
ON CONFLICT (message_id) DO NOTHING`

const sqlRawReject = `/* sqlRawReject */
UPDATE raw_listings SET status = 'rejected', reasons = $3, settled_revision = $2, settlements = settlements + 1,
    duplicate_of = NULL, archived_at = NULL, refused_at = coalesce(refused_at, $4)
WHERE id = $1 AND revision = $2`

// Reject settles a revision that cannot become a listing: every reason goes to raw_listings, to listings.rejected
// (unless they are stored already) and, with the payload, to the dead letters, whose replay goes to the queue that such
// a payload arrives on.
func (s *Listings) Reject(ctx context.Context, raw listing.Raw, p listing.Payload, r *listing.Rejection,
	run listing.Run, now time.Time) error {
	reasons, err := db.JSON(r.Reasons)
	if err != nil {
		return fmt.Errorf("write reasons of %s: %w", raw.Ref, err)
	}
	data := contract.ListingData{
		ListingID: raw.ID().String(), PlatformID: raw.PlatformID, Revision: p.Revision, URL: raw.URL}
	for _, reason := range r.Reasons {
		data.Reasons = append(data.Reasons, contract.Reason(reason))
	}
	m, err := listingEvent(contract.ListingRejected, raw.Ref, data, reasons, p.Pass, now)
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	b.Queue(sqlTellRejected, m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Body, m.CreatedAt, raw.ID(), p.Revision,
		reasons)
	stepAdd(b, listingStep{
		ID: raw.ID(), Revision: p.Revision, Pass: &p.Pass, Step: "refused", Status: "rejected", At: now,
	})
	b.Queue(sqlRawReject, raw.ID(), p.Revision, reasons, now)
	stage := listing.StageNormalize
	if p.Staged {
		stage = listing.StageDedupe
	}
	letter := db.DeadLetter{
		Key: fmt.Sprintf("listing/%s/%d", raw.Ref, p.Revision), Route: listing.StageRoute(stage, raw.Platform),
		Body: p.Body, Reason: r.Error(), Class: string(fault.Invalid), WorkflowID: run.WorkflowID, RunID: run.RunID,
		At: now,
	}
	db.DeadLetterAdd(b, letter)
	return fault.Wrap(db.Write(ctx, s.pool, b), "reject %s", raw.Ref)
}

const sqlRawDuplicate = `/* sqlRawDuplicate */
UPDATE raw_listings SET status = 'duplicate', duplicate_of = $3, reasons = $4, settled_revision = $2,
    settlements = settlements + 1, archived_at = NULL, refused_at = NULL
WHERE id = $1 AND revision = $2`

// SaveDuplicate settles a revision as a duplicate of the listing of, for these reasons. JoinHome does so too.
func (s *Listings) SaveDuplicate(ctx context.Context, ref listing.Ref, revision int64, of uuid.UUID,
	reasons []listing.Reason, run listing.Run, now time.Time) error {
	doc, err := db.JSON(reasons)
	if err != nil {
		return fmt.Errorf("write reasons of %s: %w", ref, err)
	}
	b := new(pgx.Batch)
	stepAdd(b, listingStep{ID: ref.ID(), Revision: revision, Step: "twin", Status: "duplicate", At: now})
	b.Queue(sqlRawDuplicate, ref.ID(), revision, of, doc)
	b.Queue(db.SQLDeadLetterResolve, run.WorkflowID, ref.ID(), revision, contract.QueueImages)
	return fault.Wrap(db.Write(ctx, s.pool, b), "save duplicate %s", ref)
}

// written is a listing as it is stored, and the SHA-256 of everything in it but the time of its scrape: of the same
// document with the zero time. Equal hashes are equal listings. It is written once for both. Before that time there are
// only strings, whose quotes are escaped, so the first of these members is the listing's own.
func written(l listing.Listing) (doc, sum []byte, err error) {
	if doc, err = db.JSON(l); err != nil {
		return nil, nil, fmt.Errorf("write listing %s: %w", l.Ref, err)
	}
	before, after, _ := bytes.Cut(doc, []byte(`"scraped_at":"`))
	_, after, _ = bytes.Cut(after, []byte(`"`))
	h := sha256.New()
	h.Write(before)
	h.Write([]byte(`"scraped_at":"0001-01-01T00:00:00Z"`))
	h.Write(after)
	return doc, h.Sum(nil), nil
}

func listingData(l listing.Listing, revision int64) contract.ListingData {
	return contract.ListingData{
		ListingID: l.ID().String(), PlatformID: l.PlatformID, Revision: revision, URL: l.URL, Title: l.Title,
		RentCents: l.RentCents, Bedrooms: &l.Bedrooms,
	}
}

// listingEvent makes an event about a listing. Its ID is made of the listing, the event's name, the revision, found
// (the result of the step) and the pass: a step that runs twice publishes one event, another result is another event,
// and so is a result that returns in a later pass. The first pass is left out, which keeps the IDs of earlier releases.
func listingEvent(name string, ref listing.Ref, data contract.ListingData, found []byte, pass int64, now time.Time) (
	db.Message, error,
) {
	parts := [][]byte{[]byte(name), fmt.Appendf(nil, "%d", data.Revision), found}
	if pass > 0 {
		parts = append(parts, fmt.Appendf(nil, "pass %d", pass))
	}
	return db.OutboxEvent(name, ref.Platform, uuid.NewSHA1(ref.ID(), bytes.Join(parts, []byte{0})), data, now)
}

// listingTell queues an event about a listing, of the first pass.
func listingTell(b *pgx.Batch, name string, ref listing.Ref, data contract.ListingData, found []byte,
	now time.Time) error {
	m, err := listingEvent(name, ref, data, found, 0, now)
	if err != nil {
		return err
	}
	db.OutboxAdd(b, m)
	return nil
}

// An advert that others are to publish is not about to be visible, as sqlHomeLive takes it for, by $2.
const sqlHomeClaimEnd = `/* sqlHomeClaimEnd */
UPDATE home_members SET judged_at = $2 WHERE listing_id = $1 AND judged_at > $2`

// HandOver puts work into the queue of a stage that another team owns. With a status the revision is settled: the
// result will arrive as a message of its own, and the advert does not count as one that is about to be visible. One
// pass of a run hands the same work over once, however often this is repeated; a replay is another run, or another
// pass of one that is running.
func (s *Listings) HandOver(ctx context.Context, v listing.Handover, run listing.Run, now time.Time) error {
	b := new(pgx.Batch)
	if v.Status != "" {
		b.Queue(sqlHomeClaimEnd, v.Ref.ID(), now.Add(-listing.ClaimFor))
		b.Queue(sqlRawSettle, v.Ref.ID(), v.Revision, v.Status)
	}
	for _, body := range v.Bodies {
		pass := "" // of the first, as in earlier releases
		if v.Pass > 0 {
			pass = fmt.Sprintf("%d/", v.Pass)
		}
		seed := slices.Concat(fmt.Appendf(nil, "%s/%d/%s/%s", v.RoutingKey, v.Revision, run.RunID, pass), hash(body))
		db.OutboxAdd(b, db.Message{
			MessageID: uuid.NewSHA1(v.Ref.ID(), seed), Lane: v.Ref.Platform, Exchange: v.Exchange,
			RoutingKey: v.RoutingKey, Body: body, CreatedAt: now,
		})
	}
	if err := db.Write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("hand %s over to %s: %w", v.Ref, v.RoutingKey, err)
	}
	s.added.Wake(ctx)
	return nil
}

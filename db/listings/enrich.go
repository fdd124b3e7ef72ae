package listings

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// The columns of an enrichmentRow, of a listing that may have none.
const sqlEnrichmentColumns = `e.facts, e.places, e.attribution, e.text_hash, e.model_facts, coalesce(e.revision, 0)`

// An enrichmentRow scans sqlEnrichmentColumns.
type enrichmentRow struct {
	listing.Enrichment
	attribution *string // NULL = there is no row
	of          int64   // the revision that it was made of
}

func (e *enrichmentRow) columns() []any {
	return []any{&e.Facts, &e.Places, &e.attribution, &e.Question, &e.Model, &e.of}
}

// stored is the enrichment, nil where there is none.
func (e *enrichmentRow) stored() *listing.Enrichment {
	if e.attribution == nil {
		return nil
	}
	e.Attribution = *e.attribution
	return &e.Enrichment
}

const sqlEnrichmentLoad = `/* sqlEnrichmentLoad */
SELECT r.normalized, r.normalized_revision,
    CASE WHEN r.settled_revision >= r.normalized_revision THEN r.settlements ELSE 0 END,
    ` + sqlEnrichmentColumns + `
FROM raw_listings r LEFT JOIN listing_enrichments e ON e.listing_id = r.id
WHERE r.id = $1 AND r.normalized IS NOT NULL`

// Enriching returns the normalized form of an advert and its enrichment from before. An unknown one is fault.Gone.
func (s *Listings) Enriching(ctx context.Context, id uuid.UUID) (e listing.Enriching, err error) {
	var row enrichmentRow
	err = s.pool.QueryRow(ctx, sqlEnrichmentLoad, id).Scan(
		append([]any{&e.Listing, &e.Revision, &e.Pass}, row.columns()...)...)
	if err != nil {
		return e, db.Gone(fmt.Errorf("read listing %s to enrich it: %w", id, err),
			"read listing %s to enrich it: there is none", id)
	}
	e.Stored, e.Of = row.stored(), row.of
	return e, nil
}

const sqlEnrichmentAnswer = `/* sqlEnrichmentAnswer */
SELECT model_facts FROM listing_enrichments WHERE text_hash = $1 AND model_facts IS NOT NULL LIMIT 1`

// ModelAnswer returns what a language model answered to a question before, of this advert or of another with the same
// text. Nil means that it was not asked, or did not answer.
func (s *Listings) ModelAnswer(ctx context.Context, question []byte) (facts []listing.Fact, err error) {
	err = s.pool.QueryRow(ctx, sqlEnrichmentAnswer, question).Scan(&facts)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("read answer of the language model: %w", err)
	}
	return facts, nil
}

// The advert may have been deleted meanwhile: then nothing is stored.
const sqlEnrichmentSave = `/* sqlEnrichmentSave */
INSERT INTO listing_enrichments AS e (listing_id, revision, facts, places, attribution, text_hash, model_facts,
    updated_at)
SELECT id, $2, $3, $4, $5, $6, $7, $8 FROM raw_listings WHERE id = $1
ON CONFLICT (listing_id) DO UPDATE SET
    revision = excluded.revision, facts = excluded.facts, places = excluded.places, attribution = excluded.attribution,
    text_hash = excluded.text_hash, updated_at = excluded.updated_at,
    model_facts = coalesce(excluded.model_facts, CASE WHEN e.text_hash = excluded.text_hash THEN e.model_facts END)
WHERE e.revision <= excluded.revision`

// After the enrichment is saved: of one that is older than the stored one, nothing is told.
const sqlTellEnriched = `/* sqlTellEnriched */
INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
SELECT $1, $2, $3, $4, $5, $6 FROM listing_enrichments WHERE listing_id = $7 AND revision = $8
ON CONFLICT (message_id) DO NOTHING`

// SaveEnrichment stores the enrichment of a version that is published, with listings.enriched where it says something
// else than the one from before. One of a newer version stays. An answer of the model to the same question stays when e
// has none.
func (s *Listings) SaveEnrichment(ctx context.Context, of listing.Enriching, e listing.Enrichment,
	now time.Time) error {
	b := new(pgx.Batch)
	enrichmentSave(b, of, e, now)
	if err := enrichmentTell(b, of, e, now); err != nil {
		return err
	}
	return fault.Wrap(db.Write(ctx, s.pool, b), "save enrichment of %s", of.Listing.Ref)
}

func enrichmentSave(b *pgx.Batch, of listing.Enriching, e listing.Enrichment, now time.Time) {
	b.Queue(sqlEnrichmentSave, of.Listing.ID(), of.Revision, db.Some(e.Facts), db.Some(e.Places), e.Attribution,
		db.Some(e.Question), e.Model, now)
}

// enrichmentTell queues listings.enriched, after the enrichment is saved.
func enrichmentTell(b *pgx.Batch, of listing.Enriching, e listing.Enrichment, now time.Time) error {
	news, l := enrichmentNews(of, e), of.Listing
	if news == nil {
		return nil
	}
	data := contract.EnrichedData{
		ListingID: l.ID().String(), PlatformID: l.PlatformID, Revision: of.Revision, URL: l.URL, Enrichment: *news,
	}
	found, err := db.JSON(data)
	if err != nil {
		return fmt.Errorf("write enrichment of %s: %w", l.Ref, err)
	}
	seed := slices.Concat(fmt.Appendf(nil, "%s/%d/%d/", contract.ListingEnriched, of.Revision, of.Pass), hash(found))
	m, err := db.OutboxEvent(contract.ListingEnriched, l.Platform, uuid.NewSHA1(l.ID(), seed), data, now)
	if err != nil {
		return err
	}
	b.Queue(sqlTellEnriched, m.MessageID, m.Lane, m.Exchange, m.RoutingKey, m.Body, m.CreatedAt, l.ID(), of.Revision)
	return nil
}

// enrichmentNews is what events tell of an enrichment, nil where it says what was stored before.
func enrichmentNews(of listing.Enriching, e listing.Enrichment) *contract.Enrichment {
	var before listing.Enrichment
	if of.Stored != nil {
		before = *of.Stored
	}
	if e.Says(before) {
		return nil
	}
	out := &contract.Enrichment{Facts: []contract.Fact{}, Places: []contract.Nearby{}, Attribution: e.Attribution}
	for _, f := range e.All() {
		out.Facts = append(out.Facts, contract.Fact{Field: f.Field, Value: f.Value, From: f.From})
	}
	for _, n := range e.Places {
		out.Places = append(out.Places, contract.Nearby(n))
	}
	return out
}

const sqlQuestionTake = `/* sqlQuestionTake */
INSERT INTO enrichment_questions AS q (day, asked) SELECT $1, 1 WHERE $2::int > 0
ON CONFLICT (day) DO UPDATE SET asked = q.asked + 1 WHERE q.asked < $2`

const sqlQuestionsForget = `/* sqlQuestionsForget */ DELETE FROM enrichment_questions WHERE day < $1::date - 31`

// TakeQuestion counts one more question to the language model at now, and reports whether it may be asked: at most most
// in a day (UTC), by all processes together. One that was taken and not asked is not given back.
func (s *Listings) TakeQuestion(ctx context.Context, most int, now time.Time) (bool, error) {
	day := now.UTC().Truncate(24 * time.Hour)
	b := new(pgx.Batch)
	var taken bool
	b.Queue(sqlQuestionTake, day, most).Exec(func(tag pgconn.CommandTag) error {
		taken = tag.RowsAffected() == 1
		return nil
	})
	b.Queue(sqlQuestionsForget, day)
	err := db.Write(ctx, s.pool, b)
	return taken, fault.Wrap(err, "count question to the language model")
}

// The rents of other homes of the same size, in the neighbourhood and in the borough. The median is a rent that is
// asked, as in sqlRents.
const sqlRentCompared = `/* sqlRentCompared */
WITH one AS (
    SELECT l.id, l.rent_cents, l.bedrooms, l.property_type = 'room' AS room, l.neighbourhood, n.borough, m.home_id
    FROM listings l JOIN neighbourhoods n ON n.key = l.neighbourhood LEFT JOIN home_members m ON m.listing_id = l.id
    WHERE l.id = $1
), near AS (
    SELECT 'neighbourhood' AS scope, one.neighbourhood AS place, o.id, o.rent_cents, o.published_at
    FROM one JOIN listings o
        ON o.neighbourhood = one.neighbourhood AND o.bedrooms = one.bedrooms AND (o.property_type = 'room') = one.room
        AND o.status IN ('active', 'claimed') AND o.id <> one.id
    UNION ALL
    SELECT 'borough', one.borough, o.id, o.rent_cents, o.published_at
    FROM one JOIN neighbourhoods n ON n.borough = one.borough
        JOIN listings o ON o.neighbourhood = n.key AND o.bedrooms = one.bedrooms
        AND (o.property_type = 'room') = one.room AND o.status IN ('active', 'claimed') AND o.id <> one.id
), others AS (
    SELECT DISTINCT ON (l.scope, ` + sqlHomeKey + `) l.scope, l.place, l.rent_cents FROM near l ` + sqlHomeJoins + `
    WHERE m.home_id IS DISTINCT FROM (SELECT home_id FROM one) OR m.home_id IS NULL
    ORDER BY l.scope, ` + sqlHomeFirst + `
)
SELECT scope, place, count(*)::int, percentile_disc(0.5) WITHIN GROUP (ORDER BY rent_cents),
    (SELECT rent_cents FROM one)
FROM others GROUP BY scope, place HAVING count(*) >= $2 ORDER BY scope DESC LIMIT 1`

// readRentCompared reads the row of sqlRentCompared, if there is one.
func readRentCompared(out **listing.RentComparison) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var (
			c    listing.RentComparison
			rent int64
		)
		_, err := pgx.ForEachRow(rows, []any{&c.Scope, &c.Place, &c.Sample, &c.MedianCents, &rent}, func() error {
			c = c.CompareRent(rent)
			*out = &c
			return nil
		})
		return err
	}
}

const sqlEnrichment = `/* sqlEnrichment */
SELECT facts, places, attribution, model_facts, updated_at FROM listing_enrichments WHERE listing_id = $1`

// A ListingEnrichment is what is known of a listing beyond its advert's fields.
type ListingEnrichment struct {
	listing.Enrichment
	UpdatedAt time.Time
}

// readEnrichment reads the row of sqlEnrichment, if there is one.
func readEnrichment(out **ListingEnrichment) func(pgx.Rows) error {
	return func(rows pgx.Rows) error {
		var e ListingEnrichment
		_, err := pgx.ForEachRow(rows, []any{&e.Facts, &e.Places, &e.Attribution, &e.Model, &e.UpdatedAt}, func() error {
			*out = &e
			return nil
		})
		return err
	}
}

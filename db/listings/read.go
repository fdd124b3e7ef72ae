package listings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A Box is a part of the map, in degrees WGS 84.
type Box struct{ West, South, East, North float64 }

// ListingFilter says which listings to return. A nil pointer or slice and an empty string do not filter; of several
// values any will do.
type ListingFilter struct {
	Status        []string // of listing.Statuses
	Platform      []string
	Neighbourhood []string // keys
	MinRentCents  *int64
	MaxRentCents  *int64
	Bedrooms      []int // any of them
	MinBedrooms   *int
	Rooms         []float64 // any of these Quebec room counts: 4.5 is a 4½
	MinAreaSqFt   *int
	MaxAreaSqFt   *int
	AvailableBy   time.Time  // the home is free on this day, UTC, or before
	Traits        [][]string // of each group at least one, as listing_traits has them: pets_cats, parking_yes …
	Box           *Box
	HasImages     *bool     // at least one picture is stored
	UpdatedSince  time.Time // inclusive
	Text          string    // as typed by a person: words, "a phrase", -without, begin*, intitle:
	Sort          ListingSort
	After         *db.Position // the last listing of the page before
	Limit         int          // 1 to 100
}

// ListingSort is an order of listings.
type ListingSort string

// The orders. Each ends with the ID, so that pages neither repeat nor miss a listing.
const (
	Newest    ListingSort = "newest"
	Cheapest  ListingSort = "price"
	Dearest   ListingSort = "-price"
	Updated   ListingSort = "-updated"  // the last changed first
	Relevance ListingSort = "relevance" // of Text: the newest 1,000 listings that match, the best first
)

// A ListingSummary is a listing in a list.
type ListingSummary struct {
	ID                uuid.UUID
	Platform          string
	PlatformID        string
	Status            string // active archived claimed
	URL               string
	Title             string
	RentCents         int64    // CAD cents a month
	Bedrooms          int      // 0 is a studio
	Rooms             *float64 // Quebec room count: 4.5 is a 4½
	Bathrooms         *float64
	AreaSqFt          *int
	PropertyType      string
	Address           string
	Latitude          *float64
	Longitude         *float64
	Neighbourhood     *string // key of the neighbourhood
	NeighbourhoodName *string
	Borough           *string
	Thumbnail         *string // key for GET /images/{key}
	Images            int     // attached so far
	PublishedAt       time.Time
	UpdatedAt         time.Time
	PostedAt          *time.Time
}

const sqlSummary = `
SELECT l.id, l.platform, l.platform_id, l.status, l.url, l.title, l.rent_cents, l.bedrooms, l.rooms::float8,
    l.bathrooms::float8, l.area_sqft, l.property_type, l.address, l.latitude, l.longitude, l.neighbourhood, n.name,
    n.borough, i.thumbnail_key, coalesce(i.attached, 0)::int, l.published_at, l.updated_at, l.posted_at
FROM (`

// The images are looked up for the listings of the page only.
const sqlSummaryEnd = `
) l
LEFT JOIN neighbourhoods n ON n.key = l.neighbourhood
LEFT JOIN LATERAL (
    SELECT (array_agg(thumbnail_key ORDER BY sort_order))[1] AS thumbnail_key, count(*) AS attached
    FROM listing_images WHERE listing_id = l.id AND state = 'attached'
) i ON true`

const sqlListingFilter = `
    SELECT * FROM listings
    WHERE CASE WHEN $1::text[] IS NULL THEN true WHEN cardinality($1) = 1 THEN status = $1[1] ELSE status = ANY ($1) END
        AND CASE WHEN $2::text[] IS NULL THEN true WHEN cardinality($2) = 1 THEN platform = $2[1]
            ELSE platform = ANY ($2) END
        AND CASE WHEN $3::text[] IS NULL THEN true WHEN cardinality($3) = 1 THEN neighbourhood = $3[1]
            ELSE neighbourhood = ANY ($3) END
        AND ($4::bigint IS NULL OR rent_cents >= $4)
        AND ($5::bigint IS NULL OR rent_cents <= $5)
        AND ($6::int[] IS NULL OR bedrooms = ANY ($6))
        AND ($7::int IS NULL OR bedrooms >= $7)
        AND ($8::float8 IS NULL OR longitude BETWEEN $8 AND $10 AND latitude BETWEEN $9 AND $11)
        AND ($12::text IS NULL OR words @@ $12::text::tsquery OR words IS NULL AND search @@ $16::text::tsquery)
        AND ($17::text IS NULL OR CASE WHEN coalesce(words, search) @@ $17::text::tsquery THEN false ELSE true END)
        AND ($18::float8[] IS NULL OR rooms = ANY ($18))
        AND ($19::int IS NULL OR area_sqft >= $19)
        AND ($20::int IS NULL OR area_sqft <= $20)
        AND ($21::date IS NULL OR listing_available(details) <= $21)
        AND ($22::text IS NULL OR listing_traits(details) @@ $22::text::tsquery)
        AND ($23::boolean IS NULL OR $23 = EXISTS (
            SELECT FROM listing_images i WHERE i.listing_id = listings.id AND i.state = 'attached'))
        AND ($24::timestamptz IS NULL OR updated_at >= $24)
        AND ($13::uuid IS NULL OR `

const sqlListingsNewest = `/* sqlListingsNewest */` +
	sqlSummary + sqlListingFilter + `(published_at, id) < ($14::timestamptz, $13::uuid))
    ORDER BY published_at DESC, id DESC LIMIT $15` + sqlSummaryEnd + ` ORDER BY l.published_at DESC, l.id DESC`

const sqlListingsCheapest = `/* sqlListingsCheapest */` +
	sqlSummary + sqlListingFilter + `(rent_cents, id) > ($14::bigint, $13::uuid))
    ORDER BY rent_cents, id LIMIT $15` + sqlSummaryEnd + ` ORDER BY l.rent_cents, l.id`

const sqlListingsDearest = `/* sqlListingsDearest */` +
	sqlSummary + sqlListingFilter + `(rent_cents, id) < ($14::bigint, $13::uuid))
    ORDER BY rent_cents DESC, id DESC LIMIT $15` + sqlSummaryEnd + ` ORDER BY l.rent_cents DESC, l.id DESC`

const sqlListingsUpdated = `/* sqlListingsUpdated */` +
	sqlSummary + sqlListingFilter + `(updated_at, id) < ($14::timestamptz, $13::uuid))
    ORDER BY updated_at DESC, id DESC LIMIT $15` + sqlSummaryEnd + ` ORDER BY l.updated_at DESC, l.id DESC`

// args are $1 to $24 of sqlListingFilter. after is the sort key of the position id, nil without one.
func (f ListingFilter) args(q textQuery, id *uuid.UUID, after any, limit int) []any {
	var west, south, east, north *float64
	if b := f.Box; b != nil {
		west, south, east, north = &b.West, &b.South, &b.East, &b.North
	}
	return []any{db.Among(f.Status), db.Among(f.Platform), db.Among(f.Neighbourhood), f.MinRentCents, f.MaxRentCents,
		f.Bedrooms, f.MinBedrooms, west, south, east, north, db.Stated(q.words), id, after, limit, db.Stated(q.unfilled),
		db.Stated(q.without), f.Rooms, f.MinAreaSqFt, f.MaxAreaSqFt, db.Stated(f.AvailableBy),
		db.Stated(traitQuery(f.Traits)), f.HasImages, db.Stated(f.UpdatedSince)}
}

// Search returns the page of listings after f.After, and the position to go on from: nil when this was the last. A
// text without a word, and one with site:, lang: or type:, is fault.Invalid, and so is Relevance without a text.
func (s *Listings) Search(ctx context.Context, f ListingFilter) ([]ListingSummary, *db.Position, error) {
	var q textQuery
	if f.Text != "" {
		var err error
		if q, err = parseText(f.Text); err != nil {
			return nil, nil, err
		}
	}
	sql := sqlListingsNewest
	id, at := f.After.Keys()
	var after any = at
	switch f.Sort {
	case Newest:
	case Cheapest, Dearest:
		if sql = sqlListingsCheapest; f.Sort == Dearest {
			sql = sqlListingsDearest
		}
		if f.After != nil {
			after = f.After.RentCents
		}
	case Updated:
		sql = sqlListingsUpdated
	case Relevance:
		if f.Text == "" {
			return nil, nil, fault.Newf(fault.Invalid, "relevance is that of a text: give one, or another order")
		}
	}
	args := f.args(q, id, after, f.Limit+1)
	var found []ListingSummary
	var err error
	var rank *db.RankPosition
	switch {
	case f.Sort == Relevance:
		found, rank, err = s.searchBest(ctx, q, f, args)
	case f.Text != "":
		err = s.searchText(ctx, q, func(tx pgx.Tx) (err error) {
			found, err = collectListings(tx.Query(ctx, sql, args...))
			return err
		})
	default:
		found, err = collectListings(s.pool.Query(ctx, sql, args...))
	}
	found, next := db.CutPage(found, f.Limit, func(l ListingSummary) db.Position {
		p := db.Position{At: l.PublishedAt, RentCents: l.RentCents, ID: l.ID, Rank: rank}
		if f.Sort == Updated {
			p.At = l.UpdatedAt
		}
		return p
	})
	return found, next, db.Refused(fault.Wrap(err, "search listings"))
}

// traitQuery is a tsquery for listings with at least one trait of each group; "" for no group. Traits are made of words
// and hyphens.
func traitQuery(groups [][]string) string {
	var all []string
	for _, group := range groups {
		all = append(all, "('"+strings.Join(group, "'|'")+"')")
	}
	return strings.Join(all, "&")
}

// exportPage is how many listings an export reads at once.
const exportPage = 500

// Export returns all listings of a filter, the newest first; its Sort, After and Limit count for nothing. They are read
// in pages, as Search reads them: a listing that is published meanwhile may be missing, and none comes twice.
func (s *Listings) Export(ctx context.Context, f ListingFilter) iter.Seq2[ListingSummary, error] {
	f.Sort, f.After, f.Limit = Newest, nil, exportPage
	return func(yield func(ListingSummary, error) bool) {
		for more := true; more; more = f.After != nil {
			found, next, err := s.Search(ctx, f)
			if err != nil {
				yield(ListingSummary{}, err)
				return
			}
			for _, l := range found {
				if !yield(l, nil) {
					return
				}
			}
			f.After = next
		}
	}
}

func collectListings(rows pgx.Rows, _ error) ([]ListingSummary, error) { // CollectRows reports the error
	return pgx.CollectRows(rows, pgx.RowToStructByPos[ListingSummary])
}

// Settings of one transaction. A plan for any text cannot be a good one; compiling it takes longer than running it.
const sqlTextPlan = `set_config('plan_cache_mode', 'force_custom_plan', true), set_config('jit', 'off', true)`

const sqlTextPatience = `/* sqlTextPatience */ SELECT set_config('statement_timeout', '500ms', true), ` + sqlTextPlan

// These leave the planner with bitmaps: it finds the text first, and sorts.
const sqlTextFirst = `/* sqlTextFirst */
SELECT set_config('enable_indexscan', 'off', true), set_config('enable_seqscan', 'off', true), ` +
	sqlTextPlan

// queryCanceled is the SQLSTATE of a statement that took longer than statement_timeout.
const queryCanceled = "57014"

// searchText searches with a text. Where a word of it is not among the commonest, its listings are found first, by the
// index, and sorted: the planner takes such words for commoner than they mostly are, and reads all listings in the
// order of the answer. That is the best way to words that many have. As the planner does not know which of them stand
// together, it is given half a second; by then the words are rare together, and finding them first is fast.
func (s *Listings) searchText(ctx context.Context, q textQuery, search func(pgx.Tx) error) error {
	try := func(first bool) error {
		return db.TxWith(ctx, s.pool, oneSnapshot, func(tx pgx.Tx) error {
			if !first {
				common, _, err := wordShares(ctx, tx)
				if err != nil {
					return err
				}
				first = q.rare(common)
			}
			settings := sqlTextPatience
			if first {
				settings = sqlTextFirst
			}
			if _, err := tx.Exec(ctx, settings); err != nil {
				return err
			}
			return search(tx)
		})
	}
	err := try(false)
	if late(err) {
		err = try(true)
	}
	return err
}

var oneSnapshot = pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}

// late says that a statement took longer than statement_timeout.
func late(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == queryCanceled
}

// searchBest returns the page of the best listings, one more than fits, and the place of the last that fits.
func (s *Listings) searchBest(ctx context.Context, q textQuery, f ListingFilter, args []any) (
	found []ListingSummary, place *db.RankPosition, err error,
) {
	err = db.TxWith(ctx, s.pool, oneSnapshot, func(tx pgx.Tx) error {
		best, at, err := q.rank(ctx, tx, f, args)
		if err != nil || len(best) == 0 {
			return err
		}
		place = &at
		ids := make([]uuid.UUID, len(best))
		order := make(map[uuid.UUID]int, len(best))
		for i, b := range best {
			ids[i], order[b.id] = b.id, i
		}
		place.Score = best[min(f.Limit, len(best))-1].score
		if found, err = collectListings(tx.Query(ctx, sqlSummaries, ids)); err != nil {
			return err
		}
		slices.SortFunc(found, func(a, b ListingSummary) int { return order[a.ID] - order[b.ID] })
		return nil
	})
	return found, place, err
}

// A ListingDetail is everything we know of one advert, published or not.
type ListingDetail struct {
	Summary *ListingSummary  // as published; nil for an advert that is not
	Details *listing.Listing // the newest normalized form, with the source of every field and its warnings
	Images  []ImageDetail
	History []HistoryEvent // prices and states, oldest first; of the adverts that it reposts as well
	Audit   Audit

	FirstPublishedAt *time.Time // of it, or of the first advert that it reposts; nil = never

	Enrichment *ListingEnrichment      // nil = none yet
	Rent       *listing.RentComparison // with others of its size and place; nil = too few, or it is not published

	Way     []WayStep          // the last 100 steps, in the order of revisions and passes
	Letters []db.LetterSummary // of its workflow, the latest deaths first; at most 20
}

// An ImageDetail is one picture of a listing.
type ImageDetail struct {
	URL          string
	SortOrder    int
	State        string  // pending attached repeated failed dropped
	Key          *string // for GET /images/{key}
	ThumbnailKey *string
	SHA256       *string
	Width        *int   // pixels
	Height       *int   // pixels
	Attempts     int    // failed fetches
	Reason       string // why it failed
}

// A HistoryEvent is a change of price or state.
type HistoryEvent struct {
	Kind         string // created price status
	Revision     int64
	At           time.Time
	OldRentCents *int64
	NewRentCents *int64
	OldStatus    *string
	NewStatus    *string
	ListingID    uuid.UUID // whose it is: an advert's, or that of one that it reposts
}

// Audit is how an advert was processed: the payloads received, the outcome, and the reasons.
type Audit struct {
	Platform       string
	PlatformID     string
	URL            string
	Status         string           // scraped normalized imported duplicate rejected
	Reasons        []listing.Reason // why it was rejected or is a duplicate: every reason
	DuplicateOf    *uuid.UUID
	Revision       int64 // counts different payloads
	Settled        bool  // the newest revision has been processed to its end
	Scrapes        int64 // messages received
	FirstScrapedAt time.Time
	LastScrapedAt  time.Time
	Revisions      []RawRevision // newest first
}

// A RawRevision is one payload of an advert as received, without the member contact. Payload is nil for all but
// the newest five.
type RawRevision struct {
	Revision    int64
	ContentHash string
	ScrapedAt   time.Time
	ReceivedAt  time.Time
	Payload     json.RawMessage
}

// An Advert is the state of an advert that processing it again depends on.
type Advert struct {
	Revision           int64
	NormalizedRevision int64  // 0 = there is no normalized form
	Staged             bool   // it came normalized: there is no raw advert to normalize
	Title              string // as published; "" when it is not
	RentCents          *int64
}

const sqlAdvert = `/* sqlAdvert */
SELECT r.revision, r.normalized_revision, r.staged, coalesce(l.title, ''), l.rent_cents
FROM raw_listings r LEFT JOIN listings l ON l.id = r.id
WHERE r.id = $1`

// Advert returns how an advert stands. An unknown one is fault.Gone.
func (s *Listings) Advert(ctx context.Context, ref listing.Ref) (Advert, error) {
	a, err := db.Row(ctx, s.pool, pgx.RowToStructByPos[Advert], sqlAdvert, ref.ID())
	return a, db.Gone(fault.Wrap(err, "read advert %s", ref), "there is no advert %s", ref)
}

const sqlSummaryOne = `/* sqlSummaryOne */ ` + sqlSummary + `SELECT * FROM listings WHERE id = $1` + sqlSummaryEnd

const sqlImages = `/* sqlImages */
SELECT url, sort_order, state, key, thumbnail_key, encode(sha256, 'hex'), width, height, attempts, reason
FROM listing_images WHERE listing_id = $1 ORDER BY sort_order, url`

// The adverts that a listing reposts, it first. UNION ends a circle.
const sqlReposts = `RECURSIVE reposts AS (
    SELECT id, repost_of, published_at FROM listings WHERE id = $1
    UNION
    SELECT l.id, l.repost_of, l.published_at FROM reposts r JOIN listings l ON l.id = r.repost_of
)`

const sqlHistory = `/* sqlHistory */ WITH ` + sqlReposts + `
SELECT kind, revision, at, old_rent_cents, new_rent_cents, old_status, new_status, listing_id
FROM listing_events
WHERE listing_id = ANY (ARRAY(SELECT id FROM reposts))
    AND at >= (SELECT min(published_at) - interval '1 day' FROM reposts)
ORDER BY at, id`

const sqlFirstPublished = `/* sqlFirstPublished */ WITH ` + sqlReposts + ` SELECT min(published_at) FROM reposts`

const sqlAudit = `/* sqlAudit */
SELECT platform, platform_id, url, status, reasons, duplicate_of, revision, revision = settled_revision, scrapes,
    first_scraped_at, last_scraped_at, normalized
FROM raw_listings WHERE id = $1`

// The newest revision is what the advert has: it is there for as long as the advert, and its row may be gone.
const sqlRevisions = `/* sqlRevisions */
SELECT revision, encode(content_hash, 'hex'), scraped_at, received_at,
    CASE WHEN row_number() OVER (ORDER BY revision DESC) <= 5 THEN payload - 'contact' END
FROM (
    SELECT revision, content_hash, scraped_at, received_at, payload FROM raw_listing_revisions WHERE listing_id = $1
    UNION ALL
    SELECT revision, content_hash, payload_at, revised_at, payload FROM raw_listings r
    WHERE id = $1 AND NOT EXISTS (
        SELECT FROM raw_listing_revisions v WHERE v.listing_id = r.id AND v.revision = r.revision)
) v ORDER BY revision DESC LIMIT 50`

const sqlListingLetters = `/* sqlListingLetters */ SELECT ` + db.SQLLetterSummary + ` FROM dead_letters
WHERE workflow_id = $1 AND workflow_id <> '' ORDER BY last_at DESC, id DESC LIMIT 20`

// Detail returns everything known of an advert, by its listing's ID. An unknown one is fault.Gone.
func (s *Listings) Detail(ctx context.Context, id uuid.UUID) (ListingDetail, error) {
	var d ListingDetail
	err := s.pool.QueryRow(ctx, sqlAudit, id).Scan(&d.Audit.Platform, &d.Audit.PlatformID, &d.Audit.URL, &d.Audit.Status,
		&d.Audit.Reasons, &d.Audit.DuplicateOf, &d.Audit.Revision, &d.Audit.Settled, &d.Audit.Scrapes,
		&d.Audit.FirstScrapedAt, &d.Audit.LastScrapedAt, &d.Details)
	if err != nil {
		return d, db.Gone(fmt.Errorf("read listing %s: %w", id, err), "there is no listing %s", id)
	}
	workflow := listing.Ref{Platform: d.Audit.Platform, PlatformID: d.Audit.PlatformID}.WorkflowID()
	b := new(pgx.Batch)
	b.Queue(sqlSummaryOne, id).Query(func(rows pgx.Rows) error {
		found, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByPos[ListingSummary])
		if len(found) > 0 {
			d.Summary = found[0]
		}
		return err
	})
	b.Queue(sqlImages, id).Query(collect(&d.Images))
	b.Queue(sqlHistory, id).Query(collect(&d.History))
	b.Queue(sqlFirstPublished, id).QueryRow(func(row pgx.Row) error { return row.Scan(&d.FirstPublishedAt) })
	b.Queue(sqlRevisions, id).Query(collect(&d.Audit.Revisions))
	b.Queue(sqlEnrichment, id).Query(readEnrichment(&d.Enrichment))
	b.Queue(sqlListingWay, id).Query(collect(&d.Way))
	b.Queue(sqlListingLetters, workflow).Query(collect(&d.Letters))
	b.Queue(sqlRentCompared, id, listing.MinRentSample).Query(readRentCompared(&d.Rent))
	err = s.pool.SendBatch(ctx, b).Close()
	return d, fault.Wrap(err, "read listing %s", id)
}

// collect makes a batch callback that reads all rows into out.
func collect[T any](out *[]T) func(pgx.Rows) error {
	return func(rows pgx.Rows) (err error) {
		*out, err = pgx.CollectRows(rows, pgx.RowToStructByPos[T])
		return err
	}
}

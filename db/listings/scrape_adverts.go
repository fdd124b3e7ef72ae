package listings

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// $3 is the kind of page that was read, or "": a suspicion about pages of that kind ends, of the search $4 where that is
// not "".
const sqlPlatformSuccess = `/* sqlPlatformSuccess */
UPDATE platforms SET last_success_at = $2, refusals = 0, blocked_until = NULL, trouble_at = NULL,
    suspect_at = CASE WHEN suspect_of <> $3 OR $4 <> '' AND suspect_search <> $4 THEN suspect_at END
WHERE name = $1`

const sqlSearchSuccess = `/* sqlSearchSuccess */
UPDATE platform_searches SET retry_at = NULL, trouble_at = NULL
WHERE platform = $1 AND search = $2 AND trouble_at IS NOT NULL`

const sqlCyclePage = `/* sqlCyclePage */
UPDATE platform_cycles SET pages = greatest(pages, $3), total = coalesce($4, total) WHERE platform = $1 AND cycle = $2`

const sqlSearchResultsPages = `/* sqlSearchResultsPages */
UPDATE platform_searches SET results_pages = greatest(results_pages, $3) WHERE platform = $1 AND search = $2`

// The one query of a search page. It locks rows in the order of the IDs, or two of it would deadlock. An advert that
// arrived lately in another way, such as from a scraper of another team, counts as visited. What the open cycle sees
// for the first time is added to its counts, which are made exact when it ends. What to visit is for scrape.Memory. $8
// is the search of the page, and "" where it is none: adverts are then not sighted.
const sqlAdvertsSeen = `/* sqlAdvertsSeen */
WITH shown AS (
    SELECT t.* FROM unnest($2::text[], $3::text[], $4::text[]) AS t (platform_id, url, fingerprint) ORDER BY platform_id
), before AS (
    SELECT a.platform_id, $8 = '' OR g.seen_cycle >= $6 AS counted
    FROM shown s JOIN platform_adverts a ON a.platform = $1 AND a.platform_id = s.platform_id
    LEFT JOIN platform_sightings g ON g.platform = $1 AND g.platform_id = s.platform_id AND g.search = $8
), seen AS (
    INSERT INTO platform_adverts AS a (platform, platform_id, url, fingerprint, seen_at, seen_cycle,
        visited_at, visited_fingerprint)
    SELECT $1, s.platform_id, s.url, s.fingerprint, $5, $6, r.last_scraped_at,
        CASE WHEN r.last_scraped_at > $7 THEN s.fingerprint END
    FROM shown s LEFT JOIN raw_listings r ON r.platform = $1 AND r.platform_id = s.platform_id
    ORDER BY s.platform_id
    ON CONFLICT (platform, platform_id) DO UPDATE SET url = excluded.url, fingerprint = excluded.fingerprint,
        seen_at = excluded.seen_at, seen_cycle = greatest(a.seen_cycle, excluded.seen_cycle), missed = 0,
        retry_at = CASE WHEN a.gone_at IS NULL OR a.seen_cycle >= coalesce((SELECT max(cycle) FROM platform_cycles
            WHERE platform = $1 AND search = $8 AND cycle < $6), 0) THEN a.retry_at END
    RETURNING *
), sighted AS (
    INSERT INTO platform_sightings AS g (platform, platform_id, search, seen_cycle)
    SELECT $1, s.platform_id, w.search, $6
    FROM shown s JOIN platform_searches w ON w.platform = $1 AND w.search = $8
    ORDER BY s.platform_id
    ON CONFLICT (platform, platform_id, search) DO UPDATE SET seen_cycle = greatest(g.seen_cycle, excluded.seen_cycle),
        missed = 0
), counted AS (
    UPDATE platform_cycles c SET seen = c.seen + n.seen, skipped = c.skipped + n.skipped
    FROM (SELECT count(*) AS seen,
            count(*) FILTER (WHERE visited_fingerprint = fingerprint AND gone_at IS NULL) AS skipped
        FROM seen WHERE platform_id NOT IN (SELECT platform_id FROM before WHERE counted)) n
    WHERE c.platform = $1 AND c.cycle = $6 AND c.ended_at IS NULL AND n.seen > 0
)
SELECT platform_id, coalesce(visited_at, '-infinity'), coalesce(visited_fingerprint, ''), gone_at IS NOT NULL,
    coalesce(retry_at, '-infinity'), platform_id NOT IN (SELECT platform_id FROM before)
FROM seen`

// Seen stores which adverts a search page shows and returns those that must be visited, as scrape.Memory says: new ones
// first, otherwise in the order of the page. It may be repeated: adverts that were visited meanwhile are left out.
func (s *Platforms) Seen(ctx context.Context, of scrape.Search, cycle int64, page int, r scrape.Results,
	now time.Time) ([]scrape.Visit, error) {
	name := of.Platform
	var total *int
	if r.Total >= 0 {
		total = &r.Total
	}
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, name)
	due := advertsSeen(b, of, cycle, r.Cards, now)
	b.Queue(sqlCyclePage, name, cycle, page, total)
	if page == 1 { // as good as a look
		b.Queue(sqlSearchLooked, name, of.Name, now)
	}
	b.Queue(sqlPlatformSuccess, name, now, scrape.SearchPages, of.Name)
	b.Queue(sqlSearchSuccess, name, of.Name)
	if len(r.Cards) > 0 {
		b.Queue(sqlSearchResultsPages, name, of.Name, page)
	}
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, db.Refused(fmt.Errorf("store %d adverts seen on %s: %w", len(r.Cards), name, err))
	}
	visits, _ := due()
	return visits, nil
}

// Due returns those of the visits that are still to be made, for a worker that continues a page which another has read.
// No page was loaded, so it does not end a pause after a refusal.
func (s *Platforms) Due(ctx context.Context, name string, cycle int64, visits []scrape.Visit, now time.Time) (
	[]scrape.Visit, error,
) {
	cards := make([]scrape.Card, len(visits))
	for i, v := range visits {
		cards[i] = v.Card
	}
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, name)
	due := advertsSeen(b, scrape.Search{Platform: name}, cycle, cards, now)
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return nil, db.Refused(fmt.Errorf("find which of %d visits to %s are due: %w", len(visits), name, err))
	}
	found := map[string]string{} // by whose look, of those that another search's has found
	for _, v := range visits {
		found[v.PlatformID] = v.Search
	}
	visits, _ = due()
	for i := range visits {
		visits[i].Search = found[visits[i].PlatformID]
	}
	return visits, nil
}

// advertsSeen queues the query of a search page. due returns its result, once the batch is done: the visits to be made,
// and how many of the adverts nobody had seen before, or were gone.
func advertsSeen(b *pgx.Batch, of scrape.Search, cycle int64, cards []scrape.Card, now time.Time) (
	due func() (visits []scrape.Visit, unknown int),
) {
	count := len(cards)
	ids, urls, prints := make([]string, count), make([]string, count), make([]string, count)
	for i, c := range cards {
		ids[i], urls[i], prints[i] = c.PlatformID, c.URL, c.Fingerprint
	}
	known, fresh := make(map[string]scrape.Memory, count), make(map[string]bool, count)
	b.Queue(sqlAdvertsSeen, of.Platform, ids, urls, prints, now, cycle, now.Add(-scrape.StaleAfter), of.Name).Query(
		func(rows pgx.Rows) error {
			var id string
			var m scrape.Memory
			var isNew bool
			var visited, retry pgtype.Timestamptz // which may be -infinity
			into := []any{&id, &visited, &m.Fingerprint, &m.Gone, &retry, &isNew}
			_, err := pgx.ForEachRow(rows, into, func() error {
				m.VisitedAt, m.RetryAt = visited.Time, retry.Time
				known[id], fresh[id] = m, isNew
				return nil
			})
			return err
		})
	return func() (visits []scrape.Visit, unknown int) {
		for _, c := range cards {
			m, ok := known[c.PlatformID]
			if !ok {
				continue
			}
			if fresh[c.PlatformID] || m.Gone {
				unknown++
			}
			if why := m.Reason(c, now); why != "" {
				visits = append(visits, scrape.Visit{Card: c, Why: why})
			}
		}
		scrape.SortVisits(visits)
		return visits, unknown
	}
}

// The result of a visit is counted once, however often this is repeated.
const sqlAdvertVisited = `/* sqlAdvertVisited */
WITH visit AS (
    UPDATE platform_adverts SET visited_at = $4, visited_fingerprint = $5, failures = 0, failure = '', retry_at = NULL,
        gone_at = NULL, gone_reason = ''
    WHERE platform = $1 AND platform_id = $2 AND visited_at IS DISTINCT FROM $4
    RETURNING 1
)
UPDATE platform_cycles SET new = new + ($6 = 'new')::int, changed = changed + ($6 = 'changed')::int,
    stale = stale + ($6 IN ('stale', 'missing'))::int, returned = returned + ($6 = 'returned')::int
WHERE platform = $1 AND cycle = $3 AND EXISTS (SELECT FROM visit)`

const sqlUnitsShown = `/* sqlUnitsShown */
INSERT INTO platform_units (platform, platform_id, unit_id, listing_id)
SELECT $1, $2, u.unit_id, u.listing_id FROM unnest($3::text[], $4::uuid[]) AS u (unit_id, listing_id)
WHERE EXISTS (SELECT FROM platform_adverts WHERE platform = $1 AND platform_id = $2)
ON CONFLICT DO NOTHING`

// Of the buildings $2, the units that are not among $3 are no longer offered.
const sqlUnitsGone = `/* sqlUnitsGone */
WITH left_out AS (
    DELETE FROM platform_units WHERE platform = $1 AND platform_id = ANY ($2) AND unit_id <> ALL ($3::text[])
    RETURNING listing_id
)
UPDATE raw_listings SET gone_at = $4 WHERE id IN (
    SELECT id FROM raw_listings
    WHERE id IN (SELECT listing_id FROM left_out) AND gone_at IS NULL AND last_scraped_at <= $4
    ORDER BY id FOR UPDATE)`

// Found stores an advert as its detail page showed it and puts its message into the outbox, in one transaction: the
// message is published as soon as the broker takes it. Of a building that is done with each unit, and units that its
// page showed before and does not show now are gone. It may be repeated; Raw.ScrapedAt identifies the visit.
func (s *Platforms) Found(ctx context.Context, cycle int64, f scrape.FoundAdvert) error {
	ref, now := f.Raw.Ref, f.Raw.ScrapedAt.Truncate(time.Microsecond)
	var arrivals []Arrival
	for _, m := range f.Messages() {
		m.Raw.ScrapedAt = now
		arrival, err := NewArrival(m.Raw, m.Payload)
		if err != nil {
			return err
		}
		arrivals = append(arrivals, arrival)
	}
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, ref.Platform)
	b.Queue(sqlRawReceive, arrivalArgs(arrivals, 0, now)...)
	for _, a := range arrivals {
		db.OutboxAdd(b, db.Message{
			MessageID: uuid.NewSHA1(a.Ref.ID(), now.UTC().AppendFormat([]byte("scraped "), time.RFC3339Nano)),
			Lane:      ref.Platform, Exchange: contract.ExchangeScraped, RoutingKey: ref.Platform, Body: a.Payload,
			CreatedAt: now,
		})
	}
	if f.Units != nil {
		ids, listings := make([]string, len(arrivals)), make([]uuid.UUID, len(arrivals))
		for i, a := range arrivals {
			ids[i], listings[i] = a.Ref.PlatformID, a.Ref.ID()
		}
		b.Queue(sqlUnitsShown, ref.Platform, ref.PlatformID, ids, listings)
		b.Queue(sqlUnitsGone, ref.Platform, []string{ref.PlatformID}, ids, now)
	}
	b.Queue(sqlAdvertVisited, ref.Platform, ref.PlatformID, cycle, now, f.Fingerprint, f.Why)
	b.Queue(sqlPlatformSuccess, ref.Platform, now, scrape.DetailPages, "")
	if err := db.Write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("store %s: %w", ref, err)
	}
	s.added.Wake(ctx)
	return nil
}

const sqlRawGone = `/* sqlRawGone */
UPDATE raw_listings SET gone_at = $2 WHERE id IN (
    SELECT id FROM raw_listings WHERE id = ANY ($1) AND gone_at IS NULL AND last_scraped_at <= $2
    ORDER BY id FOR UPDATE)`

const sqlAdvertGone = `/* sqlAdvertGone */
WITH gone AS (
    UPDATE platform_adverts SET gone_at = $4, gone_reason = $5, failures = 0, failure = ''
    WHERE platform = $1 AND platform_id = $2 AND gone_at IS NULL
    RETURNING 1
)
UPDATE platform_cycles SET gone = gone + 1 WHERE platform = $1 AND cycle = $3 AND EXISTS (SELECT FROM gone)`

const sqlAdvertRetry = `/* sqlAdvertRetry */
UPDATE platform_adverts SET retry_at = $3
WHERE platform = $1 AND platform_id = $2 AND gone_at IS NOT NULL`

// Gone marks an advert whose detail page says that it was removed, with the units of a building. It is
// not visited again for scrape.GoneWait, or until a search page shows it after a cycle without it. The staleness
// check archives its listing.
func (s *Platforms) Gone(ctx context.Context, ref listing.Ref, cycle int64, reason string, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, ref.Platform)
	b.Queue(sqlRawGone, []uuid.UUID{ref.ID()}, now)
	b.Queue(sqlUnitsGone, ref.Platform, []string{ref.PlatformID}, []string{}, now)
	b.Queue(sqlAdvertGone, ref.Platform, ref.PlatformID, cycle, now, clipReason(reason))
	b.Queue(sqlAdvertRetry, ref.Platform, ref.PlatformID, now.Add(scrape.GoneWait))
	b.Queue(sqlPlatformSuccess, ref.Platform, now, "", "")
	return fault.Wrap(db.Write(ctx, s.pool, b), "mark %s as gone", ref)
}

const sqlAdvertFailed = `/* sqlAdvertFailed */
WITH visit AS (
    UPDATE platform_adverts SET failures = failures + 1, failure = $3,
        retry_at = $4::timestamptz + ($5::interval[])[least(failures + 1, cardinality($5))]
    WHERE platform = $1 AND platform_id = $2
    RETURNING 1
)
UPDATE platform_cycles SET failed = failed + 1 WHERE platform = $1 AND cycle = $6 AND EXISTS (SELECT FROM visit)`

// Failed stores that an advert's detail page could not be read, and why. It is visited again after the wait that
// scrape.RevisitWaits gives for its failures in a row.
func (s *Platforms) Failed(ctx context.Context, ref listing.Ref, cycle int64, reason string, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, ref.Platform)
	b.Queue(sqlAdvertFailed, ref.Platform, ref.PlatformID, clipReason(reason), now, scrape.RevisitWaits, cycle)
	return fault.Wrap(db.Write(ctx, s.pool, b), "store the failure of %s", ref)
}

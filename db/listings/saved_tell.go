package listings

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/saved"
)

const (
	// What searches were told last of homes, whichever advert it was told of, and for what that one is offered now.
	sqlSavedTold = `/* sqlSavedTold */
SELECT DISTINCT ON (c.search, c.home) c.search, c.home, m.rent_cents, m.listing,
    CASE WHEN l.status <> 'archived' THEN l.rent_cents END
FROM unnest($1::uuid[], $2::uuid[]) c(search, home)
JOIN LATERAL (SELECT listing_id FROM home_members WHERE home_id = c.home UNION SELECT c.home) h ON true
JOIN saved_matches m ON m.search = c.search AND m.listing = h.listing_id JOIN listings l ON l.id = m.listing
ORDER BY c.search, c.home, m.event DESC`

	sqlSavedMatch = `/* sqlSavedMatch */
INSERT INTO saved_matches (tenant, search, event, listing, kind, old_rent_cents, rent_cents, at)
SELECT s.tenant, s.id, m.event, m.listing, m.kind, m.old_rent_cents, m.rent_cents, m.at
FROM unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::text[], $5::bigint[], $6::bigint[], $7::timestamptz[])
    m(search, event, listing, kind, old_rent_cents, rent_cents, at)
JOIN saved_searches s ON s.id = m.search AND s.deleted_at IS NULL
ON CONFLICT DO NOTHING`

	// A target that is being deleted is waited for, and left out: what refers to it would fail, and with it the news of
	// all others. A delivery whose sending has begun takes nothing more; what came too late for it goes into one that
	// is due now. What is due by $5, or late for its digest ($4), joins the last delivery that waits for its turn by then,
	// unless that is full ($6), or was begun before: it may have arrived, and its receiver knows it by its ID. A late
	// digest that is not due yet is put off, so that all that is late is told together.
	sqlSavedDeliver = `/* sqlSavedDeliver */
WITH due AS (
    SELECT t.tenant, t.id AS target, m.search, m.event, m.due_at, m.late OR m.due_at <= $5 AS joins
    FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[], $4::boolean[]) m(search, event, due_at, late)
    JOIN saved_targets t ON t.search = m.search AND t.kind <> 'feed' AND t.state = 'active'
    JOIN saved_matches k ON k.search = m.search AND k.event = m.event
    WHERE NOT EXISTS (SELECT FROM saved_items i WHERE i.target = t.id AND i.event = m.event)
    FOR KEY SHARE OF t
), open AS (
    SELECT d.id, d.target, d.due_at, o.due_at AS until
    FROM (SELECT target, max(due_at) AS due_at FROM due WHERE joins GROUP BY target) o
    JOIN saved_deliveries d ON d.id = (
        SELECT id FROM saved_deliveries w
        WHERE w.target = o.target AND w.state = 'waiting' AND NOT w.confirms AND w.due_at <= o.due_at
            AND w.started_at IS NULL
        ORDER BY w.due_at DESC LIMIT 1)
    WHERE d.state = 'waiting' AND (SELECT count(*) FROM (SELECT FROM saved_items WHERE delivery = d.id LIMIT $6) i) < $6
    ORDER BY d.target FOR UPDATE OF d
), put_off AS (
    UPDATE saved_deliveries d SET due_at = o.until FROM open o
    WHERE d.id = o.id AND o.due_at > $5 AND o.due_at < o.until
        AND NOT EXISTS (SELECT FROM saved_deliveries w WHERE w.target = o.target AND w.due_at = o.until)
        AND NOT EXISTS (SELECT FROM due WHERE due.target = o.target AND due.due_at = o.until AND NOT joins)
), held AS (
    INSERT INTO saved_deliveries AS d (id, tenant, target, due_at)
    SELECT gen_random_uuid(), tenant, target, due_at FROM (
        SELECT DISTINCT tenant, target, due_at FROM due
        WHERE NOT joins OR NOT EXISTS (SELECT FROM open WHERE open.target = due.target)) o
    ORDER BY target, due_at
    ON CONFLICT (target, due_at) DO UPDATE SET tries = d.tries WHERE d.state = 'waiting' AND NOT d.confirms
    RETURNING id, target, due_at
), late AS (
    INSERT INTO saved_deliveries AS d (id, tenant, target, due_at)
    SELECT gen_random_uuid(), tenant, target, clock_timestamp() FROM (
        SELECT DISTINCT tenant, target FROM due
        WHERE NOT (joins AND EXISTS (SELECT FROM open WHERE open.target = due.target))
            AND NOT EXISTS (SELECT FROM held WHERE held.target = due.target AND held.due_at = due.due_at)) o
    RETURNING id, target
)
INSERT INTO saved_items (tenant, target, event, search, delivery)
SELECT due.tenant, due.target, due.event, due.search, coalesce(open.id, held.id, late.id)
FROM due LEFT JOIN open ON due.joins AND open.target = due.target
LEFT JOIN held ON held.target = due.target AND held.due_at = due.due_at
LEFT JOIN late ON late.target = due.target
ON CONFLICT DO NOTHING`
)

// tell writes those of the candidates that are news, and the deliveries that tell them. They come in the order of their
// events.
func (m *SavedMatcher) tell(ctx context.Context, tx pgx.Tx, candidates []savedCandidate, now time.Time) (
	matches int, err error,
) {
	for some := range slices.Chunk(candidates, m.told) {
		n, err := m.tellSome(ctx, tx, some, now)
		if err != nil {
			return 0, err
		}
		matches += n
	}
	return matches, nil
}

// A savedPair is a home as a search knows it.
type savedPair struct{ search, home uuid.UUID }

func (c savedCandidate) pair() savedPair { return savedPair{c.search.ID, c.event.Home} }

// tellSome is tell by few statements, after what the transaction has told before.
func (m *SavedMatcher) tellSome(ctx context.Context, tx pgx.Tx, candidates []savedCandidate, now time.Time) (
	matches int, err error,
) {
	told := map[savedPair]saved.Told{}
	var searches, homes []uuid.UUID
	for _, c := range candidates {
		if p := c.pair(); told[p] == (saved.Told{}) {
			searches, homes = append(searches, p.search), append(homes, p.home)
		}
	}
	if len(searches) == 0 {
		return 0, nil
	}
	rows, _ := tx.Query(ctx, sqlSavedTold, searches, homes) // ForEachRow reports its error
	var p savedPair
	last := saved.Told{Ever: true}
	row := []any{&p.search, &p.home, &last.RentCents, &last.Listing, &last.Offered}
	if _, err := pgx.ForEachRow(rows, row, func() error {
		told[p] = last
		return nil
	}); err != nil {
		return 0, err
	}
	if err := m.stillMet(ctx, tx, candidates, told); err != nil {
		return 0, err
	}
	var (
		of, listings []uuid.UUID
		events       []int64
		kinds        []string
		old          []*int64
		rents        []int64
		at, due      []time.Time
		late         []bool
	)
	for _, c := range candidates {
		p := c.pair()
		kind, ok := c.search.News(c.event, c.fitted, told[p])
		if !ok {
			continue
		}
		var before *int64
		if kind == saved.PriceDrop {
			switch {
			case c.event.Kind == saved.Price:
				before = &c.event.OldRentCents
			case told[p].Ever:
				before = new(told[p].RentCents)
			}
		}
		rent := c.event.Listing.RentCents
		told[p] = saved.Told{Ever: true, RentCents: rent, Listing: c.event.ListingID, Offered: &rent}
		of, listings = append(of, c.search.ID), append(listings, c.event.ListingID)
		events, kinds, old = append(events, c.event.ID), append(kinds, string(kind)), append(old, before)
		rents, at = append(rents, rent), append(at, c.event.At)
		told, missed := c.search.Schedule.DueOf(c.event.At, now)
		due, late = append(due, told), append(late, missed)
	}
	if len(of) == 0 {
		return 0, nil
	}
	if _, err := tx.Exec(ctx, sqlSavedMatch, of, events, listings, kinds, old, rents, at); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, sqlSavedDeliver, of, events, due, late, now, saved.MaxItems)
	return len(of), err
}

// stillMet makes told say of adverts that no longer meet the search that was told of them that they do not offer the
// home. Only those are looked at by which a rent that has fallen would be no news.
func (m *SavedMatcher) stillMet(ctx context.Context, tx pgx.Tx, candidates []savedCandidate,
	told map[savedPair]saved.Told) error {
	cheaper := map[savedPair]uuid.UUID{}
	var ids []uuid.UUID
	for _, c := range candidates {
		if t := told[c.pair()]; c.event.Kind == saved.Price && t.Still(c.event) {
			cheaper[c.pair()], ids = t.Listing, append(ids, t.Listing)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	listings := map[uuid.UUID]saved.Listing{}
	rows, _ := tx.Query(ctx, sqlSavedListings, ids) // ForEachRow reports its error
	var id uuid.UUID
	var l saved.Listing
	if _, err := pgx.ForEachRow(rows, append([]any{&id}, savedListing(&l)...), func() error {
		listings[id] = l
		l = saved.Listing{} // what it refers to is not scanned into again
		return nil
	}); err != nil {
		return err
	}
	for p, id := range cheaper {
		if l, ok := listings[id]; !ok || !m.index.Fits(p.search, &l) {
			t := told[p]
			t.Offered = nil
			told[p] = t
		}
	}
	return nil
}

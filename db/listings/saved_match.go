package listings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A SavedMatcher compares what happens to listings with the searches. It keeps all active searches in memory, and reads
// those that have changed before each comparison. It is not safe for concurrent use.
type SavedMatcher struct {
	store   *Saved
	index   *saved.Index
	version int64     // of saved_changes that the index has
	read    time.Time // when it was
	server  time.Time // when the server that it was read from was started
	most    int       // events that are compared at once after a failure: half as many; 0 = as many as are asked for

	trying int   // events that are being compared: after a panic they still are
	first  int64 // of them
	alone  int64 // the event that failed by itself last
	failed int   // how often it did
}

// Matcher returns a matcher that has read nothing yet.
func (s *Saved) Matcher() *SavedMatcher { return &SavedMatcher{store: s, index: saved.NewIndex()} }

// Matched is what a comparison did.
type Matched struct {
	Events   int         // that were compared, or are no news any more
	Looked   int         // searches that were looked at for them
	Matches  int         // that are told
	Searches int         // in memory
	More     bool        // more events may wait
	At       []time.Time // when each event happened
	Left     []uuid.UUID // searches that were changed and cannot be read: they are told nothing
	Aside    int64       // an event that is a dead letter now, for it cannot be compared; 0 = none
	Cause    error       // of that
}

// Only one process compares at a time: what a search was told last decides what it is told next.
const (
	sqlSavedMatchTurn = `/* sqlSavedMatchTurn */
SELECT pg_try_advisory_xact_lock(1935763828, 2), pg_postmaster_start_time()`

	sqlSavedChanged = `/* sqlSavedChanged */
SELECT c.version, c.search, s.id, s.tenant, s.name, s.filter, s.kinds, s.schedule, s.state, s.since, s.created_at,
    s.updated_at, s.language
FROM (SELECT * FROM saved_changes WHERE version > $1 ORDER BY version LIMIT $2) c
LEFT JOIN saved_searches s ON s.id = c.search AND s.deleted_at IS NULL ORDER BY c.version`

	sqlSavedTake = `/* sqlSavedTake */ SELECT event FROM saved_queue ORDER BY event LIMIT $1`

	sqlSavedTaken = `/* sqlSavedTaken */ DELETE FROM saved_queue WHERE event = ANY ($1)`

	// Edits are no rows of listing_events. An advert that a listing is shown in place of is archived when that is decided:
	// $2 is for how long before it is published, at most.
	sqlSavedEvents = `/* sqlSavedEvents */
SELECT e.id, e.kind, e.at, coalesce(e.old_rent_cents, 0), e.before, l.id, coalesce(h.home_id, l.id), l.published_at,
    EXISTS (
        SELECT FROM home_members m JOIN listings o ON o.id = m.listing_id
        WHERE m.home_id = h.home_id AND o.id <> l.id AND (o.status <> 'archived' OR EXISTS (
            SELECT FROM listing_events x WHERE x.listing_id = o.id AND x.new_status = 'archived'
                AND x.at >= CASE WHEN m.hidden THEN e.at - $2::interval ELSE e.at END))),
    l.status <> 'archived', l.platform, coalesce(l.neighbourhood, ''), l.rent_cents, l.bedrooms, l.latitude,
    l.longitude, l.title, l.description, l.address, l.rooms::float8, l.area_sqft,
    coalesce(listing_available(l.details)::text, ''), tsvector_to_array(listing_traits(l.details)),
    EXISTS (SELECT FROM listing_images i WHERE i.listing_id = l.id AND ` + sqlSavedHasImage + `)
FROM (
    SELECT id, kind, at, old_rent_cents, listing_id, NULL::jsonb AS before FROM listing_events WHERE id = ANY ($1)
    UNION ALL
    SELECT event, 'edited', at, NULL, listing, before FROM saved_queue WHERE event = ANY ($1) AND listing IS NOT NULL
) e JOIN listings l ON l.id = e.listing_id LEFT JOIN home_members h ON h.listing_id = l.id
ORDER BY e.id`

	// Where there are no searches, an event is compared with nothing: when it happened is all that is asked.
	sqlSavedTimes = `/* sqlSavedTimes */
SELECT at FROM listing_events WHERE id = ANY ($1)
UNION ALL SELECT at FROM saved_queue WHERE event = ANY ($1) AND listing IS NOT NULL`

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
	// is due now.
	sqlSavedDeliver = `/* sqlSavedDeliver */
WITH due AS (
    SELECT t.tenant, t.id AS target, m.search, m.event, m.due_at
    FROM unnest($1::uuid[], $2::bigint[], $3::timestamptz[]) m(search, event, due_at)
    JOIN saved_targets t ON t.search = m.search AND t.kind <> 'feed' AND t.state = 'active'
    JOIN saved_matches k ON k.search = m.search AND k.event = m.event
    WHERE NOT EXISTS (SELECT FROM saved_items i WHERE i.target = t.id AND i.event = m.event)
    FOR KEY SHARE OF t
), held AS (
    INSERT INTO saved_deliveries AS d (id, tenant, target, due_at)
    SELECT gen_random_uuid(), tenant, target, due_at FROM (SELECT DISTINCT tenant, target, due_at FROM due) o
    ORDER BY target, due_at
    ON CONFLICT (target, due_at) DO UPDATE SET tries = d.tries WHERE d.state = 'waiting' AND NOT d.confirms
    RETURNING id, target, due_at
), late AS (
    INSERT INTO saved_deliveries AS d (id, tenant, target, due_at)
    SELECT gen_random_uuid(), tenant, target, clock_timestamp() FROM (
        SELECT DISTINCT tenant, target FROM due
        WHERE NOT EXISTS (SELECT FROM held WHERE held.target = due.target AND held.due_at = due.due_at)) o
    RETURNING id, target
)
INSERT INTO saved_items (tenant, target, event, search, delivery)
SELECT due.tenant, due.target, due.event, due.search, coalesce(held.id, late.id)
FROM due LEFT JOIN held ON held.target = due.target AND held.due_at = due.due_at
LEFT JOIN late ON late.target = due.target
ON CONFLICT DO NOTHING`
)

const savedChangesAtOnce = 5000

// savedReload is how old an index may be that is brought up to date: an older one is read anew. That a search was
// deleted is known for longer than that: retention.Deleted is days.
const savedReload = 24 * time.Hour

// refresh reads the searches that have changed. One whose filter or schedule this release cannot read is left out, so
// that it does not keep all others from their news.
func (m *SavedMatcher) refresh(ctx context.Context, tx pgx.Tx, now time.Time) (left []uuid.UUID, err error) {
	if now.Sub(m.read) > savedReload {
		m.index, m.version = saved.NewIndex(), 0
	}
	m.read = now
	for {
		rows, err := tx.Query(ctx, sqlSavedChanged, m.version, savedChangesAtOnce)
		if err != nil {
			return nil, err
		}
		n := 0
		for rows.Next() {
			n++
			var version int64
			var changed uuid.UUID
			var id *uuid.UUID
			var s saved.Search
			var tenant, name, state *string
			var language *saved.Language
			var kinds []string
			var filter, schedule []byte
			var since, created, updated *time.Time
			if err := rows.Scan(&version, &changed, &id, &tenant, &name, &filter, &kinds, &schedule, &state, &since, &created,
				&updated, &language); err != nil {
				rows.Close()
				return nil, err
			}
			m.version = version
			if id == nil {
				m.index.Remove(changed)
				continue
			}
			if json.Unmarshal(filter, &s.Filter) != nil || json.Unmarshal(schedule, &s.Schedule) != nil {
				m.index.Remove(changed)
				left = append(left, changed)
				continue
			}
			s.ID, s.Tenant, s.Name, s.State = changed, *tenant, *name, *state
			s.Since, s.CreatedAt, s.UpdatedAt, s.Language = *since, *created, *updated, *language
			for _, k := range kinds {
				s.Kinds = append(s.Kinds, saved.Kind(k))
			}
			m.index.Put(s)
		}
		if err := rows.Err(); err != nil {
			return nil, err
		}
		if n < savedChangesAtOnce {
			return left, nil
		}
	}
}

// A savedCandidate is an event that a search is met by.
type savedCandidate struct {
	search *saved.Search
	event  *saved.Event
	fitted bool
}

// savedCandidates bounds what one transaction compares: once so many searches are met, the events after that one stay
// in the queue. savedTold is how many of them are written by one statement, which must end long before its timeout:
// each may be told to saved.MaxTargets.
const (
	savedCandidates = 20_000
	savedTold       = 2_000
)

// An event is set aside with all that its row says. listing_id is the name that ForgetLetters looks for.
const (
	sqlSavedAside = `/* sqlSavedAside */
DELETE FROM saved_queue WHERE event = $1
RETURNING jsonb_strip_nulls(
    jsonb_build_object('event', event, 'listing_id', listing, 'at', at, 'before', before))::text`

	sqlSavedBack = `/* sqlSavedBack */
INSERT INTO saved_queue (event, listing, at, before)
SELECT (e.doc ->> 'event')::bigint, (e.doc ->> 'listing_id')::uuid, (e.doc ->> 'at')::timestamptz, e.doc -> 'before'
FROM (SELECT convert_from(body, 'UTF8')::jsonb AS doc FROM dead_letters WHERE id = $1) e
ON CONFLICT DO NOTHING`
)

// setAside makes a dead letter of an event. It does nothing while another process compares.
func (m *SavedMatcher) setAside(ctx context.Context, event int64, cause error, now time.Time) (done bool, err error) {
	err = db.SystemTx(ctx, m.store.pool, func(tx pgx.Tx) error {
		done = false
		var turn bool
		if err := tx.QueryRow(ctx, sqlSavedMatchTurn).Scan(&turn, nil); err != nil || !turn {
			return err
		}
		var body string
		err := tx.QueryRow(ctx, sqlSavedAside, event).Scan(&body)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		class, _ := fault.Of(cause)
		b := new(pgx.Batch)
		db.DeadLetterAdd(b, db.DeadLetter{
			Key: fmt.Sprintf("saved-event/%d", event), Route: contract.Route{Queue: saved.Queue},
			MessageID: strconv.FormatInt(event, 10), Body: []byte(body), Reason: cause.Error(), Class: string(class), At: now,
		})
		done = true
		return tx.SendBatch(ctx, b).Close()
	})
	return done, fault.Wrap(err, "set event %d aside", event)
}

// missed has half as many events compared next. One that has failed alone for saved.MaxCompares times, each time for a
// cause that may be its own, is set aside.
func (m *SavedMatcher) missed(ctx context.Context, n int, cause error, now time.Time) (aside int64, err error) {
	m.most = max(n/2, 1)
	if n > 1 || m.first == 0 || ctx.Err() != nil || !ofEvent(cause) {
		return 0, nil
	}
	if m.alone != m.first {
		m.alone, m.failed = m.first, 0
	}
	if m.failed++; m.failed < saved.MaxCompares {
		return 0, nil
	}
	done, err := m.setAside(ctx, m.alone, cause, now)
	if err != nil || !done {
		return 0, err
	}
	m.failed = 0
	return m.alone, nil
}

// ofEvent reports whether an error may be due to what was compared. Any other would be that of all events: the schema,
// a connection, resources, other transactions, an operator.
func ofEvent(err error) bool {
	var scan pgx.ScanArgError // a value that this release cannot take
	if errors.Is(err, errComparePanic) || errors.As(err, &scan) {
		return true
	}
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	switch pg.Code[:2] {
	case "21", "22", "23", "54", "P0": // what its values are, or are too much for
		return true
	}
	return pg.Code == "57014" // its statement takes too long
}

var errComparePanic = errors.New("comparing it with saved searches panicked")

// Next compares up to n events of listings with the searches, the oldest first, and writes what is told and when, in
// one transaction: an event is compared once, or again when nothing of it was kept. It compares fewer where they meet
// many searches, and after a failure half as many each time, so that what has piled up does not fail as a whole for
// ever; one that fails by itself is set aside, as a dead letter. Nothing is compared while another process does it.
func (m *SavedMatcher) Next(ctx context.Context, n int, now time.Time) (done Matched, err error) {
	asked := n
	if m.trying > 0 { // the last time, it did not return
		tried := m.trying
		m.trying, m.read = 0, time.Time{} // the index may be half of what it was to be: it is made anew
		if aside, err := m.missed(ctx, tried, errComparePanic, now); err != nil || aside != 0 {
			return Matched{Aside: aside, Cause: errComparePanic, More: true}, err
		}
	}
	if m.most > 0 {
		n = min(n, m.most)
	}
	m.trying, m.first = n, 0
	var left []uuid.UUID // it is told once, also where the transaction fails: the index has the version after it
	err = db.SystemTx(ctx, m.store.pool, func(tx pgx.Tx) error {
		some, unread, err := m.compare(ctx, tx, n, now)
		done, left = some, append(left, unread...)
		return err
	})
	done.Left, m.trying = left, 0
	if err != nil {
		aside, asideErr := m.missed(ctx, n, err, now)
		if aside != 0 {
			return Matched{Left: left, Aside: aside, Cause: err, More: true}, nil
		}
		err = errors.Join(err, asideErr)
		return Matched{Left: left}, fmt.Errorf("compare up to %d events with saved searches: %w", n, err)
	}
	if m.most *= 2; m.most >= asked {
		m.most = 0
	}
	return done, nil
}

// compare is Next within a transaction. left are searches that the index is without, also where it fails.
func (m *SavedMatcher) compare(ctx context.Context, tx pgx.Tx, n int, now time.Time) (
	done Matched, left []uuid.UUID, err error,
) {
	var turn bool
	var server time.Time
	if err := tx.QueryRow(ctx, sqlSavedMatchTurn).Scan(&turn, &server); err != nil || !turn {
		return done, nil, err
	}
	if !server.Equal(m.server) { // a failover may have taken back what was read, and versions are given once more
		m.server, m.read = server, time.Time{}
	}
	ids, err := db.Rows(ctx, tx, pgx.RowTo[int64], sqlSavedTake, n)
	if err != nil || len(ids) == 0 {
		return done, nil, err
	}
	m.first = ids[0]
	if left, err = m.refresh(ctx, tx, now); err != nil {
		return done, left, err
	}
	done.More, done.Searches = len(ids) == n, m.index.Len()
	if done.Searches == 0 {
		if done.At, err = db.Rows(ctx, tx, pgx.RowTo[time.Time], sqlSavedTimes, ids); err != nil {
			return done, left, err
		}
		done.Events = len(ids)
		_, err = tx.Exec(ctx, sqlSavedTaken, ids)
		return done, left, err
	}
	events, err := db.Rows(ctx, tx, scanSavedEvent, sqlSavedEvents, ids, listing.ClaimFor)
	if err != nil {
		return done, left, err
	}
	var candidates []savedCandidate
	for i := range events {
		e := &events[i]
		done.At = append(done.At, e.At)
		if e.Visible {
			done.Looked += m.index.Meet(&e.Listing, e.Before, func(s *saved.Search, fitted bool) {
				candidates = append(candidates, savedCandidate{s, e, fitted})
			})
		}
		if len(candidates) >= savedCandidates && i < len(events)-1 {
			after, _ := slices.BinarySearch(ids, e.ID+1)
			ids, done.More = ids[:after], true
			break
		}
	}
	done.Events = len(ids)
	if _, err := tx.Exec(ctx, sqlSavedTaken, ids); err != nil {
		return done, left, err
	}
	for some := range slices.Chunk(candidates, savedTold) {
		matches, err := tell(ctx, tx, some, now)
		if err != nil {
			return done, left, err
		}
		done.Matches += matches
	}
	return done, left, nil
}

func scanSavedEvent(row pgx.CollectableRow) (e saved.Event, err error) {
	l := &e.Listing
	err = row.Scan(&e.ID, &e.Kind, &e.At, &e.OldRentCents, &e.Before, &e.ListingID, &e.Home, &e.Published, &e.Standing,
		&e.Visible,
		&l.Platform, &l.Neighbourhood, &l.RentCents, &l.Bedrooms, &l.Latitude, &l.Longitude, &l.Title, &l.Description,
		&l.Address, &l.Rooms, &l.AreaSqFt, &l.Available, &l.Traits, &l.HasImages)
	switch {
	case e.Before != nil: // a platform stays, and pictures are told of apart
		e.Before.Platform, e.Before.HasImages = l.Platform, l.HasImages
	case e.Kind == saved.Edited:
		e.Before = new(*l)
		e.Before.HasImages = false
	case e.Kind == saved.Price:
		e.Before = new(*l)
		e.Before.RentCents = e.OldRentCents
	}
	return e, err
}

// tell writes those of the candidates that are news, and the deliveries that tell them. They come in the order of their
// events, those of one transaction after what it has told before.
func tell(ctx context.Context, tx pgx.Tx, candidates []savedCandidate, now time.Time) (matches int, err error) {
	type pair struct{ search, home uuid.UUID }
	told := map[pair]saved.Told{}
	var searches, homes []uuid.UUID
	for _, c := range candidates {
		if p := (pair{c.search.ID, c.event.Home}); told[p] == (saved.Told{}) {
			searches, homes = append(searches, p.search), append(homes, p.home)
		}
	}
	if len(searches) == 0 {
		return 0, nil
	}
	rows, _ := tx.Query(ctx, sqlSavedTold, searches, homes) // ForEachRow reports its error
	var p pair
	last := saved.Told{Ever: true}
	row := []any{&p.search, &p.home, &last.RentCents, &last.Listing, &last.Offered}
	if _, err := pgx.ForEachRow(rows, row, func() error {
		told[p] = last
		return nil
	}); err != nil {
		return 0, err
	}
	var (
		of, listings []uuid.UUID
		events       []int64
		kinds        []string
		old          []*int64
		rents        []int64
		at, due      []time.Time
	)
	for _, c := range candidates {
		p := pair{c.search.ID, c.event.Home}
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
		due = append(due, c.search.Schedule.Due(now))
	}
	if len(of) == 0 {
		return 0, nil
	}
	if _, err := tx.Exec(ctx, sqlSavedMatch, of, events, listings, kinds, old, rents, at); err != nil {
		return 0, err
	}
	_, err = tx.Exec(ctx, sqlSavedDeliver, of, events, due)
	return len(of), err
}

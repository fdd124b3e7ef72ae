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

	"github.com/mtlrent/conveyor/db"
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

	apart bool // each tenant is told behind a savepoint

	// Bounds. Once candidates are met, the events after that one stay in the queue: so no transaction grows without end.
	// told is how many of them are written by one statement, which must end long before its timeout: each may be told to
	// saved.MaxTargets. A lock of others is waited for as long as wait.
	candidates, told int
	wait             time.Duration
}

// Matcher returns a matcher that has read nothing yet.
func (s *Saved) Matcher() *SavedMatcher {
	return &SavedMatcher{
		store: s, index: saved.NewIndex(), candidates: 20_000, told: 2_000, wait: 5 * time.Second,
	}
}

// Matched is what a comparison did.
type Matched struct {
	Events   int         // that were compared, or are no news any more
	Looked   int         // searches that were looked at for them
	Matches  int         // that are told
	Searches int         // in memory
	More     bool        // more events may wait
	At       []time.Time // when each event happened
	Left     []uuid.UUID // searches that were changed and cannot be read: they are told nothing
	Aside    []int64     // events that are dead letters now, for they cannot be compared
	Behind   []string    // tenants that cannot be told now: what they are to be told waits, and is tried again
	Cause    error       // of the last of these
}

// Only one process compares at a time: what a search was told last decides what it is told next.
const (
	sqlSavedMatchTurn = `/* sqlSavedMatchTurn */
SELECT pg_try_advisory_xact_lock(1935763828, 2), pg_postmaster_start_time(), set_config('lock_timeout', $1, true)`

	sqlSavedChanged = `/* sqlSavedChanged */
SELECT c.version, c.search, s.id, s.tenant, s.name, s.filter, s.kinds, s.schedule, s.state, s.since, s.created_at,
    s.updated_at, s.language
FROM (SELECT * FROM saved_changes WHERE version > $1 ORDER BY version LIMIT $2) c
LEFT JOIN saved_searches s ON s.id = c.search AND s.deleted_at IS NULL ORDER BY c.version`

	// The rows are locked: a letter that is replayed meanwhile adds its tenant to one, or makes a new one.
	sqlSavedTake = `/* sqlSavedTake */
SELECT event, tenants FROM saved_queue WHERE not_before IS NULL OR not_before <= $2 ORDER BY event LIMIT $1
FOR UPDATE SKIP LOCKED`

	// Tenants that cannot be told now, and until when they are not tried again: by no process, so that what comes
	// meanwhile is told after what waits.
	sqlSavedBehind = `/* sqlSavedBehind */
SELECT tenant, max(not_before) FROM saved_queue, unnest(tenants) tenant WHERE not_before > $1 GROUP BY tenant`

	sqlSavedTaken = `/* sqlSavedTaken */ DELETE FROM saved_queue WHERE event = ANY ($1)`

	// What saved.Listing has of a listing l.
	sqlSavedListing = `l.platform, coalesce(l.neighbourhood, ''), l.rent_cents, l.bedrooms, l.latitude,
    l.longitude, l.title, l.description, l.address, l.rooms::float8, l.area_sqft,
    coalesce(listing_available(l.details)::text, ''), tsvector_to_array(listing_traits(l.details)),
    EXISTS (SELECT FROM listing_images i WHERE i.listing_id = l.id AND ` + sqlSavedHasImage + `),
    l.status = 'claimed'`

	// Edits are no rows of listing_events. An advert that a listing is shown in place of is archived when that is decided:
	// $2 is for how long before it is published, at most.
	sqlSavedEvents = `/* sqlSavedEvents */
SELECT e.id, e.kind, e.at, coalesce(e.old_rent_cents, 0), e.before, l.id, coalesce(h.home_id, l.id), l.published_at,
    EXISTS (
        SELECT FROM home_members m JOIN listings o ON o.id = m.listing_id
        WHERE m.home_id = h.home_id AND o.id <> l.id AND (o.status <> 'archived' OR EXISTS (
            SELECT FROM listing_events x WHERE x.listing_id = o.id AND x.new_status = 'archived'
                AND x.at >= CASE WHEN m.hidden THEN e.at - $2::interval ELSE e.at END))),
    l.status <> 'archived', ` + sqlSavedListing + `
FROM (
    SELECT id, kind, at, old_rent_cents, listing_id, NULL::jsonb AS before FROM listing_events WHERE id = ANY ($1)
    UNION ALL
    SELECT event, 'edited', at, NULL, listing, before FROM saved_queue WHERE event = ANY ($1) AND listing IS NOT NULL
) e JOIN listings l ON l.id = e.listing_id LEFT JOIN home_members h ON h.listing_id = l.id
ORDER BY e.id`

	sqlSavedListings = `/* sqlSavedListings */ SELECT l.id, ` + sqlSavedListing + ` FROM listings l WHERE l.id = ANY ($1)`

	// Where there are no searches, an event is compared with nothing: when it happened is all that is asked.
	sqlSavedTimes = `/* sqlSavedTimes */
SELECT at FROM listing_events WHERE id = ANY ($1)
UNION ALL SELECT at FROM saved_queue WHERE event = ANY ($1) AND listing IS NOT NULL`
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

// A savedTurn is an event of the queue. tenants are those whose searches it is compared with; nil = all.
type savedTurn struct {
	Event   int64
	Tenants []string
}

// Next compares up to n events of listings with the searches, the oldest first, and writes what is told and when, in
// one transaction: an event is compared once, or again when nothing of it was kept. It compares fewer where they meet
// many searches, and after a failure half as many each time, so that what has piled up does not fail as a whole for
// ever, and tells each tenant behind a savepoint: what fails of one keeps no other from its news. One that fails by
// itself is set aside, as a dead letter. Nothing is compared while another process does it.
func (m *SavedMatcher) Next(ctx context.Context, n int, now time.Time) (done Matched, err error) {
	asked := n
	if m.trying > 0 { // the last time, it did not return
		tried := m.trying
		m.trying, m.read = 0, time.Time{} // the index may be half of what it was to be: it is made anew
		if aside, err := m.missed(ctx, tried, errComparePanic, now); err != nil || aside != nil {
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
		m.apart = ofEvent(err) || savedPause(err) > 0
		aside, asideErr := m.missed(ctx, n, err, now)
		if aside != nil {
			return Matched{Left: left, Aside: aside, Cause: err, More: true}, nil
		}
		err = errors.Join(err, asideErr)
		return Matched{Left: left}, fmt.Errorf("compare up to %d events with saved searches: %w", n, err)
	}
	if m.most *= 2; m.most >= asked {
		m.most = 0
	}
	m.apart = len(done.Aside) > 0 // it may go on
	return done, nil
}

// compare is Next within a transaction. left are searches that the index is without, also where it fails.
func (m *SavedMatcher) compare(ctx context.Context, tx pgx.Tx, n int, now time.Time) (
	done Matched, left []uuid.UUID, err error,
) {
	var turn bool
	var server time.Time
	wait := strconv.FormatInt(m.wait.Milliseconds(), 10)
	if err := tx.QueryRow(ctx, sqlSavedMatchTurn, wait).Scan(&turn, &server, nil); err != nil || !turn {
		return done, nil, err
	}
	if !server.Equal(m.server) { // a failover may have taken back what was read, and versions are given once more
		m.server, m.read = server, time.Time{}
	}
	turns, err := db.Rows(ctx, tx, pgx.RowToStructByPos[savedTurn], sqlSavedTake, n, now)
	if err != nil || len(turns) == 0 {
		return done, nil, err
	}
	ids, of := make([]int64, len(turns)), map[int64][]string{}
	for i, t := range turns {
		if ids[i] = t.Event; t.Tenants != nil {
			of[t.Event] = t.Tenants
		}
	}
	m.first = ids[0]
	behind := map[string]time.Time{}
	rows, _ := tx.Query(ctx, sqlSavedBehind, now) // ForEachRow reports its error
	var tenant string
	var until time.Time
	if _, err := pgx.ForEachRow(rows, []any{&tenant, &until}, func() error {
		behind[tenant] = until
		return nil
	}); err != nil {
		return done, nil, err
	}
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
		if tenants := of[e.ID]; e.Visible {
			done.Looked += m.index.Meet(&e.Listing, e.Before, func(s *saved.Search, fitted bool) {
				if tenants == nil || slices.Contains(tenants, s.Tenant) {
					candidates = append(candidates, savedCandidate{s, e, fitted})
				}
			})
		}
		if len(candidates) >= m.candidates && i < len(events)-1 {
			after, _ := slices.BinarySearch(ids, e.ID+1)
			ids, done.More = ids[:after], true
			break
		}
	}
	done.Events = len(ids)
	if m.apart || len(behind) > 0 || len(of) > 0 {
		if ids, err = m.tellApart(ctx, tx, ids, candidates, behind, now, &done); err == nil {
			_, err = tx.Exec(ctx, sqlSavedTaken, ids)
		}
		return done, left, err
	}
	if _, err := tx.Exec(ctx, sqlSavedTaken, ids); err != nil {
		return done, left, err
	}
	done.Matches, err = m.tell(ctx, tx, candidates, now)
	return done, left, err
}

// savedListing is where sqlSavedListing is scanned to.
func savedListing(l *saved.Listing) []any {
	return []any{
		&l.Platform, &l.Neighbourhood, &l.RentCents, &l.Bedrooms, &l.Latitude, &l.Longitude, &l.Title, &l.Description,
		&l.Address, &l.Rooms, &l.AreaSqFt, &l.Available, &l.Traits, &l.HasImages, &l.Claimed,
	}
}

func scanSavedEvent(row pgx.CollectableRow) (e saved.Event, err error) {
	l := &e.Listing
	err = row.Scan(append([]any{
		&e.ID, &e.Kind, &e.At, &e.OldRentCents, &e.Before, &e.ListingID, &e.Home, &e.Published, &e.Standing, &e.Visible,
	}, savedListing(l)...)...)
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

package listings

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// Saved are the saved searches of tenants, with what they are told. A search of another tenant is fault.Gone, as one
// that does not exist is.
type Saved struct{ pool *pgxpool.Pool }

// NewSaved returns the saved searches kept in pool.
func NewSaved(pool *pgxpool.Pool) *Saved { return &Saved{pool} }

// A SavedTarget is where a search tells its news, without its address.
type SavedTarget struct {
	ID     uuid.UUID
	Kind   saved.Channel
	Label  string // its address, without what is secret or personal
	State  string // saved.TargetActive …
	Reason string // why it is stopped, or why a webhook is not confirmed
}

// A NewTarget is a SavedTarget that is stored.
type NewTarget struct {
	SavedTarget // one that saved.Channel.Asks begins as saved.TargetUnconfirmed, any other as active

	Address db.Sealed // for saved.TargetPurpose; empty for a feed
	Sum     []byte    // of an owned one: HMAC of saved.Mailbox or saved.Chatroom by the key of Saved.AddressKey
	Token   []byte    // SHA-256 of a random token: that of its feed's address, or of the links in its messages
}

// A SavedSearch is a search with its targets.
type SavedSearch struct {
	saved.Search

	Targets []SavedTarget
}

// Each behind db.SQLSavedTurn, in a transaction.
const (
	sqlSavedTouch = `/* sqlSavedTouch */
INSERT INTO saved_changes (search, version, at) VALUES ($1, nextval('saved_version'), $2)
ON CONFLICT (search) DO UPDATE SET version = excluded.version, at = excluded.at`

	sqlSavedAdd = `/* sqlSavedAdd */
INSERT INTO saved_searches (id, tenant, name, filter, kinds, schedule, state, since, created_at, updated_at, language,
    slots)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11
WHERE ` + db.SQLTenantStands + ` AND NOT EXISTS (
    SELECT FROM tenants t WHERE t.id = $2
        AND t.max_searches <= (SELECT count(*) FROM saved_searches WHERE tenant = $2 AND deleted_at IS NULL))`

	sqlSavedSlots = `/* sqlSavedSlots */ SELECT coalesce(sum(slots), 0)::bigint FROM saved_searches WHERE id <> $1`
)

// taken counts the places that all searches but one take in the index of all tenants. It has a connection of its own:
// not for use within a transaction.
func (s *Saved) taken(ctx context.Context, but uuid.UUID) (int64, error) {
	return db.One(db.SystemRows(ctx, s.pool, pgx.RowTo[int64], sqlSavedSlots, but))
}

// room returns the places that a search takes in the index, of which others have taken some and it had so many before.
// It is fault.Conflict where there is no room for more.
func room(search *saved.Search, had int, taken int64) (slots int, err error) {
	if slots, err = search.Filter.Slots(); err != nil {
		return 0, err
	}
	if slots > had && taken+int64(slots) > saved.MaxSlots {
		err = fault.Newf(fault.Conflict, "filter: there is no room for a search so large; a smaller place, or fewer bedrooms, "+
			"need less")
	}
	return slots, err
}

// Add stores a search with its targets, and an audit record. What s.Check refuses is fault.Invalid; the name of another
// search of the tenant, one more than its quota of them, as many targets, and one too large for the index, are
// fault.Conflict.
func (s *Saved) Add(ctx context.Context, search saved.Search, targets []NewTarget, actor string) error {
	if err := search.Check(); err != nil {
		return err
	}
	taken, err := s.taken(ctx, search.ID)
	if err != nil {
		return savedFault(err, "save", search.ID)
	}
	slots, err := room(&search, 0, taken)
	if err != nil {
		return savedFault(err, "save", search.ID)
	}
	err = db.TenantTx(ctx, s.pool, search.Tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLQuotaTurn, search.Tenant); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, db.SQLSavedTurn); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, sqlSavedAdd, search.ID, search.Tenant, search.Name, search.Filter, search.Kinds,
			search.Schedule, search.State, search.Since, search.CreatedAt, cmp.Or(search.Language, saved.English), slots)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return cmp.Or(db.TenantStands(ctx, tx, search.Tenant), db.QuotaFull("max_searches", "saved searches"))
		}
		if err := targetsFit(ctx, tx, search.Tenant, len(targets)); err != nil {
			return err
		}
		for _, t := range targets {
			if err := targetAdd(ctx, tx, search.Tenant, search.ID, t, search.CreatedAt); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, sqlSavedTouch, search.ID, search.CreatedAt); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, savedDeed(search.Tenant, "search.saved", search.ID, actor, search.CreatedAt))
	})
	return savedFault(err, "save", search.ID)
}

// savedDeed is the audit record of a change of a search. It names neither what is searched for nor who is told.
func savedDeed(tenant, action string, id uuid.UUID, actor string, now time.Time) db.AuditEntry {
	return db.AuditEntry{
		At: now, Actor: actor, Action: action, Subject: "search/" + id.String(), Detail: map[string]any{"tenant": tenant},
	}
}

// savedFault makes an error of a method on a search: no row is fault.Gone.
func savedFault(err error, verb string, id uuid.UUID) error {
	if db.Violates(err, db.UniqueViolation, "saved_searches_tenant_name_key") {
		return fault.Newf(fault.Conflict, "name: there is another saved search of this name")
	}
	return db.Gone(fault.Wrap(err, "%s saved search %s", verb, id), "there is no saved search %s", id)
}

const sqlSavedColumns = `s.id, s.tenant, s.name, s.filter, s.kinds, s.schedule, s.language, s.state, s.since,
    s.created_at, s.updated_at`

func scanSaved(row pgx.CollectableRow) (s saved.Search, err error) {
	var kinds []string
	err = row.Scan(&s.ID, &s.Tenant, &s.Name, &s.Filter, &kinds, &s.Schedule, &s.Language, &s.State, &s.Since,
		&s.CreatedAt, &s.UpdatedAt)
	for _, k := range kinds {
		s.Kinds = append(s.Kinds, saved.Kind(k))
	}
	return s, err
}

const (
	sqlSavedRead = `/* sqlSavedRead */ SELECT ` + sqlSavedColumns + ` FROM saved_searches s
WHERE s.tenant = $1 AND s.id = $2 AND s.deleted_at IS NULL`

	// What is told of the search meanwhile refers to its row, which is not waited for.
	sqlSavedHold = `/* sqlSavedHold */ ` + sqlSavedRead + ` FOR NO KEY UPDATE`

	sqlSavedList = `/* sqlSavedList */
SELECT ` + sqlSavedColumns + ` FROM saved_searches s
WHERE s.tenant = $1 AND s.name > $2 AND s.deleted_at IS NULL ORDER BY s.name LIMIT $3`

	// While a webhook is asked to confirm, the reason is that of the last try.
	sqlSavedTargets = `/* sqlSavedTargets */
SELECT search, id, kind, label, state, CASE WHEN state = 'unconfirmed' AND reason = '' THEN coalesce((
    SELECT d.reason FROM saved_deliveries d WHERE d.target = t.id AND d.confirms ORDER BY d.due_at DESC LIMIT 1), '')
    ELSE reason END
FROM saved_targets t WHERE search = ANY ($1) ORDER BY created_at, id`
)

// Get returns a search.
func (s *Saved) Get(ctx context.Context, tenant string, id uuid.UUID) (found SavedSearch, err error) {
	search, err := db.One(db.TenantRows(ctx, s.pool, tenant, scanSaved, sqlSavedRead, tenant, id))
	if err != nil {
		return found, savedFault(err, "read", id)
	}
	list := []SavedSearch{{Search: search}}
	err = s.readTargets(ctx, tenant, list)
	return list[0], err
}

// List returns up to limit searches of a tenant whose names are after a name, in the order of their names.
func (s *Saved) List(ctx context.Context, tenant, after string, limit int) (list []SavedSearch, err error) {
	found, err := db.TenantRows(ctx, s.pool, tenant, scanSaved, sqlSavedList, tenant, after, limit)
	if err != nil {
		return nil, fmt.Errorf("list saved searches: %w", err)
	}
	for _, search := range found {
		list = append(list, SavedSearch{Search: search})
	}
	return list, s.readTargets(ctx, tenant, list)
}

// readTargets completes searches of a tenant.
func (s *Saved) readTargets(ctx context.Context, tenant string, list []SavedSearch) error {
	ids, places := make([]uuid.UUID, len(list)), map[uuid.UUID]int{}
	for i, search := range list {
		ids[i], places[search.ID] = search.ID, i
	}
	_, err := db.TenantRows(ctx, s.pool, tenant, func(row pgx.CollectableRow) (struct{}, error) {
		var search uuid.UUID
		var t SavedTarget
		err := row.Scan(&search, &t.ID, &t.Kind, &t.Label, &t.State, &t.Reason)
		if i, ok := places[search]; ok {
			list[i].Targets = append(list[i].Targets, t)
		}
		return struct{}{}, err
	}, sqlSavedTargets, ids)
	return fault.Wrap(err, "read targets of saved searches")
}

const sqlSavedChange = `/* sqlSavedChange */
UPDATE saved_searches SET name = $3, filter = $4, kinds = $5, schedule = $6, state = $7, since = $8, updated_at = $9,
    language = $10, slots = $11
WHERE tenant = $1 AND id = $2`

// Change changes what change changes of a search, with an audit record. What happened while it was paused is not told
// once it is active again. Errors are those of Add.
func (s *Saved) Change(ctx context.Context, tenant string, id uuid.UUID, actor string, now time.Time,
	change func(*saved.Search)) error {
	taken, err := s.taken(ctx, id)
	if err != nil {
		return savedFault(err, "change", id)
	}
	err = db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLSavedTurn); err != nil {
			return err
		}
		search, err := db.Row(ctx, tx, scanSaved, sqlSavedHold, tenant, id)
		if err != nil {
			return err
		}
		before := search
		slots, _ := search.Filter.Slots() // none, where it cannot be read
		change(&search)
		if err := search.CheckRest(); err != nil {
			return err
		}
		if !reflect.DeepEqual(search.Filter, before.Filter) { // one that stays was checked by the rules of its day
			if err := search.Filter.Check(); err != nil {
				return err
			}
			if slots, err = room(&search, slots, taken); err != nil {
				return err
			}
		}
		if before.State != saved.Active && search.State == saved.Active {
			search.Since = now
		}
		if _, err := tx.Exec(ctx, sqlSavedChange, tenant, id, search.Name, search.Filter, search.Kinds, search.Schedule,
			search.State, search.Since, now, cmp.Or(search.Language, saved.English), slots); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSavedTouch, id, now); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, savedDeed(tenant, "search.changed", id, actor, now))
	})
	return savedFault(err, "change", id)
}

// A deleted search has the name of none that can be saved, and takes no place in the index.
const (
	sqlSavedDelete = `/* sqlSavedDelete */
UPDATE saved_searches SET deleted_at = $3, updated_at = $3, state = 'paused', slots = 0,
    name = rpad('deleted ' || id, $4 + 1)
WHERE tenant = $1 AND id = $2 AND deleted_at IS NULL RETURNING id`

	sqlSavedDeleteTargets = `/* sqlSavedDeleteTargets */
UPDATE saved_targets SET reason = 'the search was deleted', updated_at = $3, ` + sqlSavedTargetBlank + `
WHERE tenant = $1 AND search = $2`

	// Nothing reaches a target that is deleted, and nothing tells what it was.
	sqlSavedTargetBlank = `state = 'stopped', label = '', box = '', box_key = '', address = NULL,
    token = sha256(gen_random_uuid()::text::bytea)`
)

// Delete deletes a search with its targets and their addresses, with an audit record. What waits is not sent. What it
// was told may be very much: retention.Searches deletes that.
func (s *Saved) Delete(ctx context.Context, tenant string, id uuid.UUID, actor string, now time.Time) error {
	err := db.TenantTx(ctx, s.pool, tenant, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, db.SQLSavedTurn); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, sqlSavedDelete, tenant, id, now, saved.MaxName).Scan(&id); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSavedDeleteTargets, tenant, id, now); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSavedTouch, id, now); err != nil {
			return err
		}
		return db.AuditTx(ctx, tx, savedDeed(tenant, "search.deleted", id, actor, now))
	})
	return savedFault(err, "delete", id)
}

const (
	sqlSavedFeed = `/* sqlSavedFeed */
SELECT s.id, s.tenant, s.name, s.created_at, s.language FROM saved_targets t JOIN saved_searches s ON s.id = t.search
JOIN tenants k ON k.id = s.tenant AND k.state = 'active'
WHERE t.token = $1 AND t.kind = 'feed'`

	sqlSavedFeedItems = `/* sqlSavedFeedItems */
SELECT ` + sqlSavedItemColumns + `
FROM (SELECT * FROM saved_matches WHERE search = $1 ORDER BY event DESC LIMIT $2) m ` + sqlSavedItemJoins + `
ORDER BY m.event DESC`

	sqlSavedItemColumns = `m.event, m.kind, m.listing, coalesce(h.home_id, m.listing), l.platform, l.url, l.title, l.address,
    coalesce(n.name, ''), l.bedrooms, m.rent_cents, m.old_rent_cents, l.latitude, l.longitude, l.status <> 'archived',
    m.at`

	sqlSavedItemJoins = `JOIN listings l ON l.id = m.listing LEFT JOIN home_members h ON h.listing_id = m.listing
LEFT JOIN neighbourhoods n ON n.key = l.neighbourhood`
)

func scanSavedItem(row pgx.CollectableRow) (i saved.Item, err error) {
	i.Events = make([]int64, 1)
	return i, row.Scan(&i.Events[0], &i.Kind, &i.Listing, &i.Home, &i.Platform, &i.URL, &i.Title, &i.Address, &i.District,
		&i.Bedrooms, &i.RentCents, &i.OldRentCents, &i.Latitude, &i.Longitude, &i.Offered, &i.At)
}

// A SavedFeed is what a search was told lately.
type SavedFeed struct {
	Search    uuid.UUID
	Tenant    string
	Name      string
	CreatedAt time.Time
	Language  saved.Language
	Items     []saved.Item // newest first, one an event
}

// Feed returns the newest items of the search whose feed has a token with the SHA-256 sum, at most limit. An unknown
// token, and one of a tenant that is stopped, is fault.Gone.
func (s *Saved) Feed(ctx context.Context, sum []byte, limit int) (f SavedFeed, err error) {
	f, err = db.One(db.SystemRows(ctx, s.pool, func(row pgx.CollectableRow) (f SavedFeed, err error) {
		return f, row.Scan(&f.Search, &f.Tenant, &f.Name, &f.CreatedAt, &f.Language)
	}, sqlSavedFeed, sum))
	if err == nil {
		f.Items, err = db.TenantRows(ctx, s.pool, f.Tenant, scanSavedItem, sqlSavedFeedItems, f.Search, limit)
	}
	return f, db.Gone(fault.Wrap(err, "read feed"), "there is no such feed")
}

// What an index may have of a filter is asked of Postgres; the rest is looked at here.
const sqlSavedTry = `/* sqlSavedTry */
SELECT 0, 'new', l.id, coalesce(h.home_id, l.id), l.platform, l.url, l.title, l.address, l.bedrooms, l.rent_cents,
    NULL::bigint, l.latitude, l.longitude, true, l.published_at, coalesce(l.neighbourhood, ''), l.description,
    l.rooms::float8, l.area_sqft, coalesce(CASE WHEN $3 THEN listing_available(l.details) END::text, ''),
    CASE WHEN $3 THEN tsvector_to_array(listing_traits(l.details)) END,
    $4 AND EXISTS (SELECT FROM listing_images i WHERE i.listing_id = l.id AND i.state = 'attached'),
    l.status = 'claimed'
FROM listings l LEFT JOIN home_members h ON h.listing_id = l.id
WHERE l.status <> 'archived' AND l.published_at >= $1
    AND ($5::text = '' OR l.platform = $5) AND ($6::text = '' OR l.neighbourhood = $6)
    AND l.rent_cents >= $7 AND ($8::bigint = 0 OR l.rent_cents <= $8)
    AND l.bedrooms >= $9 AND (coalesce(cardinality($10::int[]), 0) = 0 OR l.bedrooms = ANY ($10))
    AND ($11::float8 IS NULL OR l.longitude BETWEEN $11 AND $12 AND l.latitude BETWEEN $13 AND $14)
ORDER BY l.published_at DESC, l.id DESC LIMIT $2`

// Try returns the homes, newest first and at most limit, that a filter would have found as new since a time and that
// are offered still, and how many there are. all is false where there are more listings than it looks at, of those
// whose platform, neighbourhood, rent, bedrooms and place are right, or than it has looked at when ctx ends. It stores
// nothing.
func (s *Saved) Try(ctx context.Context, filter saved.Criteria, since time.Time, limit int) (
	found []saved.Item, total int, all bool, err error,
) {
	fits, err := filter.Fitter()
	if err != nil {
		return nil, 0, false, err
	}
	var west, east, south, north *float64
	if w, s, e, n, ok := filter.Bounds(); ok {
		west, south, east, north = &w, &s, &e, &n
	}
	rows, err := s.pool.Query(ctx, sqlSavedTry, since, saved.TryMost, filter.Detailed(), filter.HasImages, filter.Platform,
		filter.Neighbourhood, filter.MinPrice*100, filter.MaxPrice*100, filter.MinBedrooms, filter.Bedrooms, west, east,
		south, north)
	if err != nil {
		return nil, 0, false, fmt.Errorf("try search: %w", err)
	}
	defer rows.Close()
	homes, looked := map[uuid.UUID]bool{}, 0
	for (looked == 0 || ctx.Err() == nil) && rows.Next() {
		looked++
		i := saved.Item{Events: []int64{0}}
		var l saved.Listing
		if err := rows.Scan(&i.Events[0], &i.Kind, &i.Listing, &i.Home, &i.Platform, &i.URL, &i.Title, &i.Address,
			&i.Bedrooms, &i.RentCents, &i.OldRentCents, &i.Latitude, &i.Longitude, &i.Offered, &i.At, &l.Neighbourhood,
			&l.Description, &l.Rooms, &l.AreaSqFt, &l.Available, &l.Traits, &l.HasImages, &l.Claimed); err != nil {
			return nil, 0, false, fmt.Errorf("try search: %w", err)
		}
		l.Platform, l.RentCents, l.Bedrooms, l.Latitude, l.Longitude = i.Platform, i.RentCents, i.Bedrooms, i.Latitude,
			i.Longitude
		l.Title, l.Address = i.Title, i.Address
		if homes[i.Home] || !fits(&l) {
			continue
		}
		homes[i.Home] = true
		if total++; len(found) < limit {
			found = append(found, i)
		}
	}
	if looked > 0 && ctx.Err() != nil {
		return found, total, false, nil
	}
	if err := rows.Err(); err != nil {
		return nil, 0, false, fmt.Errorf("try search: %w", err)
	}
	return found, total, looked < saved.TryMost, nil
}

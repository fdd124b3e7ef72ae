package listings

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// A PlatformSearch is one of the searches of a platform, with its lanes.
type PlatformSearch struct {
	Name      string
	State     string // as of a platform
	URL       string // of the first search page
	Paused    bool   // itself: its platform may be paused as well
	Transport scrape.Transport
	Proxy     string           // without credentials; "" = none
	Settings  PlatformSettings // in force now
	Own       SearchSettings   // what of that is not as the platform has it
	Trouble   *PlatformTrouble // why its proxy gets no request now

	LookedAt    *time.Time // when the newest page was asked for
	NextCycleAt *time.Time // at the earliest

	Current *PlatformCycle // the one under way
	Last    *PlatformCycle // the last one that ended
}

// SearchSettings are the settings of a search; nil is as the platform has it.
type SearchSettings struct {
	Transport *scrape.Transport
	Delay     *time.Duration
	MaxPages  *int
	Cooldown  *time.Duration
	Look      *time.Duration
	Cycle     *time.Duration
}

const sqlPlatformSearches = `/* sqlPlatformSearches */
SELECT p.name, s.search, coalesce(s.url, p.url), s.paused, coalesce(s.transport, p.set_transport, p.transport),
    ` + sqlSearchProxy + `, coalesce(p.set_enabled, p.enabled),
    coalesce(s.delay_ms, p.set_delay_ms, p.delay_ms) / 1000.0::float8,
    coalesce(s.max_pages, p.set_max_pages, p.max_pages),
    coalesce(s.cooldown_ms, p.set_cooldown_ms, p.cooldown_ms) / 1000.0::float8,
    coalesce(s.look_ms, p.set_look_ms, p.look_ms) / 1000.0::float8,
    coalesce(s.cycle_ms, p.set_cycle_ms, p.cycle_ms) / 1000.0::float8,
    s.transport, s.delay_ms, s.max_pages, s.cooldown_ms, s.look_ms, s.cycle_ms, s.trouble_at, s.trouble, s.looked_at,
    s.next_cycle_at
FROM platforms p JOIN platform_searches s ON s.platform = p.name
WHERE $1::text IS NULL OR p.name = $1
ORDER BY p.name, s.search <> 'default', s.search`

// The last two cycles of each search. Which of a cycle's visits were rejected is known later than the visits.
const sqlPlatformCycles = `/* sqlPlatformCycles */
SELECT s.platform, s.search, c.cycle, c.started_at, c.ended_at, c.complete, c.note, c.pages, c.total, c.seen, c.skipped,
    c.new, c.changed, c.stale, c.returned, c.failed, c.gone, c.refusals,
    (SELECT count(*) FROM platform_adverts a JOIN raw_listings r USING (platform, platform_id)
        WHERE a.platform = s.platform AND a.visited_at BETWEEN c.started_at AND coalesce(c.ended_at, 'infinity')
            AND r.status = 'rejected')
        + (SELECT count(*) FROM platform_adverts a JOIN platform_units u USING (platform, platform_id)
            JOIN raw_listings r ON r.id = u.listing_id
        WHERE a.platform = s.platform AND a.visited_at BETWEEN c.started_at AND coalesce(c.ended_at, 'infinity')
            AND r.status = 'rejected')
FROM platform_searches s CROSS JOIN LATERAL (
    SELECT * FROM platform_cycles WHERE platform = s.platform AND search = s.search ORDER BY cycle DESC LIMIT 2) c
WHERE $1::text IS NULL OR s.platform = $1
ORDER BY s.platform, c.cycle`

// searches reads the searches of the platform of that name, or of all, by platform, the default one first.
func searches(ctx context.Context, tx pgx.Tx, name string) (map[string][]PlatformSearch, error) {
	rows, _ := tx.Query(ctx, sqlPlatformCycles, db.Stated(name))
	cycles := map[scrape.Search][]PlatformCycle{}
	var of scrape.Search
	var c PlatformCycle
	into := []any{&of.Platform, &of.Name, &c.Cycle, &c.StartedAt, &c.EndedAt, &c.Complete, &c.Note, &c.Pages, &c.Total,
		&c.Seen, &c.Skipped, &c.New, &c.Changed, &c.Stale, &c.Returned, &c.Failed, &c.Gone, &c.Refusals, &c.Rejected}
	_, err := pgx.ForEachRow(rows, into, func() error {
		cycles[of] = append(cycles[of], c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := map[string][]PlatformSearch{}
	_, err = db.Rows(ctx, tx, func(row pgx.CollectableRow) (s PlatformSearch, err error) {
		var platform, trouble string
		var troubleAt *time.Time
		var delay, cooldown, look, cycle *int64
		how := &s.Settings
		err = row.Scan(&platform, &s.Name, &s.URL, &s.Paused, &s.Transport, &s.Proxy, &how.Enabled, &how.DelaySeconds,
			&how.MaxPages, &how.CooldownSeconds, &how.LookSeconds, &how.CycleSeconds, &s.Own.Transport, &delay,
			&s.Own.MaxPages, &cooldown, &look, &cycle, &troubleAt, &trouble, &s.LookedAt, &s.NextCycleAt)
		s.Own.Delay, s.Own.Cooldown, s.Own.Look, s.Own.Cycle = ofMillis(delay), ofMillis(cooldown), ofMillis(look),
			ofMillis(cycle)
		if troubleAt != nil {
			s.Trouble = &PlatformTrouble{*troubleAt, trouble}
		}
		for _, c := range cycles[scrape.Search{Platform: platform, Name: s.Name}] {
			if c.EndedAt == nil {
				s.Current = &c
			} else {
				s.Last = &c
			}
		}
		out[platform] = append(out[platform], s)
		return s, err
	}, sqlPlatformSearches, db.Stated(name))
	return out, err
}

// condition is what of a search decides its state, and that of its platform.
func (s *PlatformSearch) condition(of scrape.Condition) scrape.Condition {
	of.Paused = of.Paused || s.Paused
	of.Cycling = s.Current != nil
	of.Cycles = s.lastCycle()
	return of
}

// lastCycle is the number of the newest cycle; 0 = there was none.
func (s *PlatformSearch) lastCycle() (n int64) {
	for _, c := range []*PlatformCycle{s.Last, s.Current} {
		if c != nil {
			n = c.Cycle
		}
	}
	return n
}

func ofMillis(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	d := time.Duration(*ms) * time.Millisecond
	return &d
}

// A SearchPut is a search as an operator wants it.
type SearchPut struct {
	URL    string // of the first search page; "" for scrape.DefaultSearch, whose address is a setting
	Paused bool
	SearchSettings
	Proxy *ProxyPut // nil = as it is; one without an address is that of the platform
	New   bool      // it is only added: where there is one of that name it is ErrSearchThere
}

// ErrSearchThere refuses to add a search that is there.
var ErrSearchThere = fault.Newf(fault.Conflict, "there is one of that name already")

// A ProxyPut is a proxy as an operator wants it.
type ProxyPut struct {
	Shown     string // the address without credentials, scrape.Direct for a search, or "" for none of its own
	db.Sealed        // its credentials, for scrape.ProxyPurpose; zero = there are none
}

// args are the arguments for its columns.
func (p *ProxyPut) args() []any {
	if p == nil {
		return []any{nil, "", nil}
	}
	return []any{p.Shown, p.Key, p.Box}
}

const sqlSearchBefore = `/* sqlSearchBefore */
SELECT p.url, s.url, s.search IS NOT NULL, (SELECT count(*) FROM platform_searches WHERE platform = p.name)
FROM platforms p LEFT JOIN platform_searches s ON s.platform = p.name AND s.search = $2
WHERE p.name = $1 FOR NO KEY UPDATE OF p`

const sqlSearchPut = `/* sqlSearchPut */
INSERT INTO platform_searches AS s (platform, search, url, paused, transport, delay_ms, max_pages, cooldown_ms, look_ms,
    cycle_ms, proxy_shown, proxy_key, proxy_sealed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, coalesce($12::text, ''), $13, $14)
ON CONFLICT (platform, search) DO UPDATE SET url = excluded.url, paused = excluded.paused,
    transport = excluded.transport, delay_ms = excluded.delay_ms, max_pages = excluded.max_pages,
    cooldown_ms = excluded.cooldown_ms,
    look_ms = excluded.look_ms, cycle_ms = excluded.cycle_ms, retry_at = NULL, trouble_at = NULL,
    proxy_shown = CASE WHEN $12::text IS NULL THEN s.proxy_shown ELSE excluded.proxy_shown END,
    proxy_key = CASE WHEN $12 IS NULL THEN s.proxy_key ELSE excluded.proxy_key END,
    proxy_sealed = CASE WHEN $12 IS NULL THEN s.proxy_sealed ELSE excluded.proxy_sealed END,
    next_cycle_at = CASE WHEN s.next_cycle_at IS NOT NULL THEN least(s.next_cycle_at, $11::timestamptz
        + coalesce(excluded.cooldown_ms, (SELECT coalesce(set_cooldown_ms, cooldown_ms) FROM platforms WHERE name = $1))
        * interval '1 ms') END`

// PutSearch adds a search to a platform, or changes it, together with the audit entry d. It holds from the next request
// on. A search whose address changes starts over with the adverts of the new one. The most searches that a platform may
// have are fault.Conflict, a platform that is not configured fault.Gone.
func (s *Platforms) PutSearch(ctx context.Context, of scrape.Search, put SearchPut, d db.AuditEntry) (created bool,
	err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var site string
		var before *string
		var there bool
		var n int
		err := tx.QueryRow(ctx, sqlSearchBefore, of.Platform, of.Name).Scan(&site, &before, &there, &n)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fault.Newf(fault.Gone, "platform %q: there is none of that name", of.Platform)
		case err != nil:
			return err
		case there && put.New:
			return ErrSearchThere
		case !there && n >= scrape.MaxSearches:
			return fault.Newf(fault.Conflict, "platform %s has %d searches, the most there may be", of.Platform, n)
		}
		created = !there
		b := new(pgx.Batch)
		if before != nil && *before != put.URL {
			searchForget(b, of, "another search", d.At)
		}
		b.Queue(sqlSearchPut, append([]any{of.Platform, of.Name, db.Stated(put.URL), put.Paused, put.Transport,
			millis(put.Delay), put.MaxPages, millis(put.Cooldown), millis(put.Look), millis(put.Cycle), d.At},
			put.Proxy.args()...)...)
		db.AuditAdd(ctx, b, d)
		return tx.SendBatch(ctx, b).Close()
	})
	return created, fault.Wrap(db.Refused(err), "put search %s of %s", of.Name, of.Platform)
}

const sqlSearchRemove = `/* sqlSearchRemove */ DELETE FROM platform_searches WHERE platform = $1 AND search = $2`

const sqlSuspectForget = `/* sqlSuspectForget */
UPDATE platforms SET suspect_at = NULL WHERE name = $1 AND suspect_search = $2 AND suspect_of <> 'detail'`

// RemoveSearch removes a search, together with the audit entry d. What no other search of the platform shows is
// forgotten: its listings are archived when they are stale. One that is not there is fault.Gone, and the default one
// stays: fault.Conflict.
func (s *Platforms) RemoveSearch(ctx context.Context, of scrape.Search, d db.AuditEntry) error {
	if of.Name == scrape.DefaultSearch {
		return fault.Newf(fault.Conflict, "the search %s is that of the platform's settings: pause it instead", of.Name)
	}
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPlatformLock, of.Platform); err != nil {
			return err
		}
		done, err := tx.Exec(ctx, sqlSearchRemove, of.Platform, of.Name)
		if err != nil {
			return err
		}
		if done.RowsAffected() == 0 {
			return fault.Newf(fault.Gone, "platform %q has no search %q", of.Platform, of.Name)
		}
		b := new(pgx.Batch)
		searchForget(b, of, "the search was removed", d.At)
		b.Queue(sqlSuspectForget, of.Platform, of.Name)
		db.AuditAdd(ctx, b, d)
		return tx.SendBatch(ctx, b).Close()
	})
	return fault.Wrap(err, "remove search %s of %s", of.Name, of.Platform)
}

const (
	sqlSightingsForget = `/* sqlSightingsForget */ DELETE FROM platform_sightings WHERE platform = $1 AND search = $2`

	// Adverts that another search shows stay.
	sqlAdvertsForget = `/* sqlAdvertsForget */
DELETE FROM platform_adverts a WHERE platform = $1
    AND NOT EXISTS (SELECT FROM platform_sightings WHERE platform = $1 AND platform_id = a.platform_id)`

	sqlCycleForget = `/* sqlCycleForget */
UPDATE platform_cycles SET ended_at = $3, note = $4 WHERE platform = $1 AND search = $2 AND ended_at IS NULL`

	sqlSearchAnew = `/* sqlSearchAnew */
UPDATE platform_searches SET results_pages = 0 WHERE platform = $1 AND search = $2`
)

// searchForget queues what makes a search start over: it shows other adverts from now on, and those of before are not
// missing from it. The caller holds the platform's row.
func searchForget(b *pgx.Batch, of scrape.Search, note string, now time.Time) {
	b.Queue(sqlSightingsForget, of.Platform, of.Name)
	b.Queue(sqlAdvertsForget, of.Platform)
	b.Queue(sqlCycleForget, of.Platform, of.Name, now, note)
	b.Queue(sqlSearchAnew, of.Platform, of.Name)
}

// Unreached stores that a search's proxy failed: it gets no request until then, while other searches go on.
func (s *Platforms) Unreached(ctx context.Context, of scrape.Search, reason string, until, now time.Time) error {
	_, err := s.pool.Exec(ctx, sqlSearchUnreached, of.Platform, of.Name, until, now, clipReason(reason))
	return fault.Wrap(err, "store the trouble of search %s of %s", of.Name, of.Platform)
}

const sqlSearchUnreached = `/* sqlSearchUnreached */
UPDATE platform_searches SET retry_at = $3, trouble_at = coalesce(trouble_at, $4), trouble = $5
WHERE platform = $1 AND search = $2`

package listings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// Platforms keeps the state of scrapers: how each site is scraped, how that goes, and which adverts were seen there.
// The workflow that runs a scraper keeps no state itself, so that any worker can continue it.
type Platforms struct {
	pool  *pgxpool.Pool
	added db.Waker // to the outbox
}

// NewPlatforms returns the platforms kept in pool.
func NewPlatforms(pool *pgxpool.Pool) *Platforms { return &Platforms{pool, db.NewWaker(pool)} }

// A transaction that writes more than the platform's own row locks that row first, so that all of one platform take
// turns: the end of a cycle and a visit of a worker that was frozen would otherwise wait for one another.
const sqlPlatformLock = `/* sqlPlatformLock */ SELECT 1 FROM platforms WHERE name = $1 FOR NO KEY UPDATE`

const sqlPlatformConfigure = `/* sqlPlatformConfigure */
INSERT INTO platforms (name, url, transport, enabled, delay_ms, max_pages, cooldown_ms, look_ms, cycle_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (name) DO UPDATE SET url = excluded.url, transport = excluded.transport, enabled = excluded.enabled,
    delay_ms = excluded.delay_ms, max_pages = excluded.max_pages, cooldown_ms = excluded.cooldown_ms,
    look_ms = excluded.look_ms, cycle_ms = excluded.cycle_ms`

const sqlPlatformURL = `/* sqlPlatformURL */ SELECT url FROM platforms WHERE name = $1 FOR NO KEY UPDATE`

const sqlSearchDefault = `/* sqlSearchDefault */
INSERT INTO platform_searches (platform, search) VALUES ($1, 'default') ON CONFLICT DO NOTHING`

// The adverts of a platform are counted by triggers. $2 leaves counts alone that were right to begin with: a platform
// from before there were triggers has none, and End corrects what two scrapers at once may have counted wrong.
const sqlPlatformCount = `/* sqlPlatformCount */
UPDATE platforms SET counted = true, (adverts_known, adverts_failed, adverts_gone) = (
    SELECT count(*) FILTER (WHERE gone_at IS NULL), count(*) FILTER (WHERE gone_at IS NULL AND failures > 0),
        count(*) FILTER (WHERE gone_at IS NOT NULL)
    FROM platform_adverts WHERE platform = $1)
WHERE name = $1 AND NOT (counted AND $2)`

// Configure stores the settings of a platform; those that an operator has set take precedence. It may be repeated. When
// the address of the search changes, the scraper starts over with the adverts of the new one.
func (s *Platforms) Configure(ctx context.Context, name string, c scrape.Settings, now time.Time) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		b := new(pgx.Batch)
		var before string
		switch err := tx.QueryRow(ctx, sqlPlatformURL, name).Scan(&before); {
		case err != nil && !errors.Is(err, pgx.ErrNoRows):
			return err
		case err == nil && before != c.URL:
			searchForget(b, scrape.Search{Platform: name, Name: scrape.DefaultSearch}, "another search", now)
		}
		b.Queue(sqlPlatformConfigure, name, c.URL, c.Transport, c.Enabled, c.Delay.Milliseconds(), c.MaxPages,
			c.Cooldown.Milliseconds(), c.Look.Milliseconds(), c.Cycle.Milliseconds())
		b.Queue(sqlSearchDefault, name)
		b.Queue(sqlPlatformCount, name, true)
		return tx.SendBatch(ctx, b).Close()
	})
	return fault.Wrap(db.Refused(err), "configure platform %s", name)
}

const sqlPlatformWanted = `/* sqlPlatformWanted */
SELECT coalesce(set_enabled, enabled) AND NOT paused, coalesce(blocked_until, '-infinity')
FROM platforms WHERE name = $1 FOR NO KEY UPDATE`

// An open cycle continues where it was.
const sqlCycleBegin = `/* sqlCycleBegin */
INSERT INTO platform_cycles (platform, search, cycle, started_at)
SELECT $1, $2, coalesce(max(cycle), 0) + 1, $3 FROM platform_cycles WHERE platform = $1
RETURNING cycle`

// Begin returns what a platform's scraper does now, as scrape.Decide says: go on with an open cycle, look at the newest
// pages of a search, wait until the next cycle or look is due, or wait for an operator. Cycles that are due begin
// first. It may be repeated, also by two at once: an open cycle is not begun again.
func (s *Platforms) Begin(ctx context.Context, name string, now time.Time) (plan scrape.Plan, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		plan = scrape.Plan{}
		var wanted bool
		var until pgtype.Timestamptz // which may be -infinity
		err := tx.QueryRow(ctx, sqlPlatformWanted, name).Scan(&wanted, &until)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil // not configured yet: bootstrap does that
		case err != nil || !wanted:
			return err
		}
		lanes, err := db.Rows(ctx, tx, scanLane, sqlPlatformLanes, name)
		if err != nil {
			return err
		}
		for i, l := range lanes {
			if !l.Due(now) || now.Before(until.Time) {
				continue
			}
			if err := tx.QueryRow(ctx, sqlCycleBegin, name, l.Search, now).Scan(&lanes[i].Cycle); err != nil {
				return err
			}
			lanes[i].Open, lanes[i].Started, lanes[i].Page = true, now, 0
		}
		plan = scrape.Decide(lanes, until.Time, now)
		return nil
	})
	return plan, fault.Wrap(err, "begin cycle of %s", name)
}

// A turn may lie in the future: the caller waits for it. So turns are a delay apart in all processes together.
const sqlPlatformTurn = `/* sqlPlatformTurn */
UPDATE platforms p SET next_request_at = greatest(p.next_request_at, p.blocked_until, $3)
    + greatest(coalesce(s.delay_ms, p.set_delay_ms, p.delay_ms), $4) * interval '1 ms'
FROM platform_searches s
WHERE p.name = $1 AND s.platform = $1 AND s.search = $2 AND coalesce(p.set_enabled, p.enabled) AND NOT p.paused
    AND NOT s.paused
RETURNING p.next_request_at - greatest(coalesce(s.delay_ms, p.set_delay_ms, p.delay_ms), $4) * interval '1 ms',
    true, false, ` + sqlSearchSettings

// What of a search's settings a request needs; those of the platform where it has none of its own.
const sqlSearchSettings = `coalesce(s.url, p.url), coalesce(s.transport, p.set_transport, p.transport),
    coalesce(s.delay_ms, p.set_delay_ms, p.delay_ms), coalesce(s.max_pages, p.set_max_pages, p.max_pages),
    coalesce(s.proxy_shown, '') <> '', ` + sqlSearchProxy + `,
    CASE WHEN s.proxy_shown <> '' THEN s.proxy_key ELSE p.proxy_key END,
    CASE WHEN s.proxy_shown <> '' THEN s.proxy_sealed ELSE p.proxy_sealed END`

// The proxy of a search, without credentials; ” = none.
const sqlSearchProxy = `CASE coalesce(s.proxy_shown, '') WHEN 'direct' THEN '' WHEN '' THEN p.proxy_shown
        ELSE s.proxy_shown END`

// A search that was removed meanwhile is not to be scraped.
const sqlPlatformSettings = `/* sqlPlatformSettings */
SELECT p.blocked_until, coalesce(p.set_enabled, p.enabled) AND s.search IS NOT NULL,
    p.paused OR coalesce(s.paused, false), ` + sqlSearchSettings + `
FROM platforms p LEFT JOIN platform_searches s ON s.platform = p.name AND s.search = $2
WHERE p.name = $1`

// Turn takes the next turn to request a page of a platform's site for a search. In all processes together turns are a
// delay apart, or atLeast where that is longer: after each request its search's. Unless the search is stopped, the
// caller waits until Turn.At. A turn that is not used costs a delay and nothing else.
func (s *Platforms) Turn(ctx context.Context, of scrape.Search, atLeast time.Duration, now time.Time) (
	scrape.Turn, error,
) {
	t, err := scanTurn(of, s.pool.QueryRow(ctx, sqlPlatformTurn, of.Platform, of.Name, now, atLeast.Milliseconds()))
	if errors.Is(err, pgx.ErrNoRows) {
		return s.Settings(ctx, of)
	}
	return t, fault.Wrap(err, "take a turn at %s", of.Platform)
}

// Settings returns how a search is scraped now, and whether it is, without taking a turn: Turn.At is when the pause
// after a refusal ends, and zero without one. A platform that is not configured is fault.Gone.
func (s *Platforms) Settings(ctx context.Context, of scrape.Search) (scrape.Turn, error) {
	t, err := scanTurn(of, s.pool.QueryRow(ctx, sqlPlatformSettings, of.Platform, of.Name))
	return t, db.Gone(fault.Wrap(err, "read settings of %s", of.Platform),
		"platform %q: there is none of that name", of.Platform)
}

func scanTurn(of scrape.Search, row pgx.Row) (t scrape.Turn, err error) {
	var (
		at      *time.Time
		paused  bool
		delayMS int64
		own     bool // the proxy is not that of the platform
		proxy   = &t.Settings.Proxy
	)
	err = row.Scan(&at, &t.Settings.Enabled, &paused, &t.Settings.URL, &t.Settings.Transport, &delayMS,
		&t.Settings.MaxPages, &own, &proxy.Shown, &proxy.Key, &proxy.Box)
	if !own {
		of.Name = ""
	}
	proxy.Purpose = scrape.ProxyPurpose(of.Platform, of.Name, proxy.Shown)
	switch {
	case !t.Settings.Enabled:
		t.Stopped = scrape.Disabled
	case paused:
		t.Stopped = scrape.Paused
	case at != nil:
		t.At = *at
	}
	t.Settings.Delay = time.Duration(delayMS) * time.Millisecond
	return t, err
}

// clipReason cuts a reason to a line of at most 300 characters.
func clipReason(reason string) string {
	return strings.ToValidUTF8(fmt.Sprintf("%.300s", db.Storable(reason)), "")
}

const sqlPlatformRefusals = `/* sqlPlatformRefusals */ SELECT refusals FROM platforms WHERE name = $1 FOR UPDATE`

const sqlPlatformRefused = `/* sqlPlatformRefused */
UPDATE platforms SET refusals = $2, refused_reason = $3, blocked_until = $4 WHERE name = $1`

const sqlCycleRefused = `/* sqlCycleRefused */
UPDATE platform_cycles SET refusals = refusals + 1 WHERE platform = $1 AND cycle = $2`

// Refused stores that the site refused a request, and returns until when it gets no more: longer with each refusal in a
// row, as scrape.Backoff says with asked and dice.
func (s *Platforms) Refused(ctx context.Context, name string, cycle int64, reason string, asked time.Duration,
	dice float64, now time.Time) (until time.Time, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var n int
		if err := tx.QueryRow(ctx, sqlPlatformRefusals, name).Scan(&n); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlCycleRefused, name, cycle); err != nil {
			return err
		}
		n++
		until = now.Add(scrape.Backoff(n, asked, dice))
		_, err := tx.Exec(ctx, sqlPlatformRefused, name, n, clipReason(reason), until)
		return err
	})
	return until, fault.Wrap(err, "store a refusal of %s", name)
}

const sqlPlatformSuspect = `/* sqlPlatformSuspect */
UPDATE platforms SET suspect_at = $2, suspect_of = $3, suspect_reason = $4, suspect_search = $5
WHERE name = $1 AND suspect_at IS NULL`

// Suspect stores that pages of a site no longer look as expected and publishes platform.suspect, once until the
// suspicion ends.
func (s *Platforms) Suspect(ctx context.Context, name string, v scrape.Suspicion, now time.Time) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error { return platformSuspect(ctx, tx, name, v, now) })
	return fault.Wrap(err, "mark platform %s as suspect", name)
}

func platformSuspect(ctx context.Context, tx pgx.Tx, name string, v scrape.Suspicion, now time.Time) error {
	if v.Search != "" && v.Search != scrape.DefaultSearch {
		v.Reason = "search " + v.Search + ": " + v.Reason
	}
	done, err := tx.Exec(ctx, sqlPlatformSuspect, name, now, v.Of, clipReason(v.Reason), v.Search)
	if err != nil || done.RowsAffected() == 0 {
		return err
	}
	seed := fmt.Appendf(nil, "platform/%s/%d/%s", name, v.Cycle, now.UTC().Format(time.RFC3339Nano))
	m, err := db.OutboxEvent(contract.PlatformSuspect, name, uuid.NewSHA1(uuid.NameSpaceURL, seed),
		contract.PlatformData{Cycle: v.Cycle, Page: v.Page, Reason: clipReason(v.Reason)}, now)
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	db.OutboxAdd(b, m)
	db.RememberTrace(ctx, b)
	return tx.SendBatch(ctx, b).Close()
}

const sqlPlatformTrouble = `/* sqlPlatformTrouble */
UPDATE platforms SET trouble_at = coalesce(trouble_at, $2), trouble = $3 WHERE name = $1`

// Trouble stores why a page could not be read although the site did not refuse it, until the next page is read. It
// began with the first page that could not be.
func (s *Platforms) Trouble(ctx context.Context, name, message string, now time.Time) error {
	_, err := s.pool.Exec(ctx, sqlPlatformTrouble, name, now, clipReason(message))
	return fault.Wrap(err, "store the trouble of %s", name)
}

const sqlCycleSeenCount = `/* sqlCycleSeenCount */
SELECT count(*) FROM platform_sightings WHERE platform = $1 AND search = $2 AND seen_cycle = $3`

const sqlSearchHadResults = `/* sqlSearchHadResults */
UPDATE platform_searches SET results_pages = least(results_pages, greatest($3 - 1, 1))
FROM (SELECT results_pages AS before FROM platform_searches WHERE platform = $1 AND search = $2 FOR UPDATE) b
WHERE platform = $1 AND search = $2
RETURNING b.before >= $3`

// NoResults stores that a search page had no adverts. The platform is suspect for the reason wrong, or else for that of
// scrape.EmptyPage. The reason is returned, and "" when there is none. A list that may have grown shorter is suspect
// once: afterwards the page counts as one that never had adverts, page 1 excepted.
func (s *Platforms) NoResults(ctx context.Context, of scrape.Search, cycle int64, page, total int, wrong string,
	now time.Time) (reason string, err error) {
	name := of.Platform
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPlatformLock, name); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(ctx, sqlCycleSeenCount, name, of.Name, cycle).Scan(&n); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlCyclePage, name, cycle, page-1, nil); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlPlatformSuccess, name, now, "", ""); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlSearchSuccess, name, of.Name); err != nil {
			return err
		}
		var had bool // not where the search was removed meanwhile
		err := tx.QueryRow(ctx, sqlSearchHadResults, name, of.Name, page).Scan(&had)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if reason = cmp.Or(wrong, scrape.EmptyPage(page, n, total, had)); reason == "" {
			return nil
		}
		v := scrape.Suspicion{Of: scrape.SearchPages, Reason: reason, Search: of.Name, Cycle: cycle, Page: page}
		return platformSuspect(ctx, tx, name, v, now)
	})
	return reason, fault.Wrap(err, "store an empty page of %s", name)
}

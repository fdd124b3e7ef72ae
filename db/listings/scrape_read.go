package listings

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// A Platform is how a site is scraped and how that goes.
type Platform struct {
	Name       string
	State      string           // disabled paused blocked suspect scraping cooling waiting
	Next       string           // the scraper's next action, in words
	URL        string           // of the first search page
	Transport  scrape.Transport // browser http; the client that loads its pages
	Proxy      string           // that requests go through, without credentials; "" = none
	Settings   PlatformSettings // in force now
	Configured PlatformSettings // in force where no operator has changed them
	Blocked    *PlatformBlock   // the current run of refusals
	Suspect    *PlatformTrouble // an unexpected change of its pages; an operator should look
	Trouble    *PlatformTrouble // why no page could be read since the last one, or the first trouble of a search

	NextRequestAt *time.Time // at the earliest
	NextCycleAt   *time.Time // of the default search, at the earliest
	LastSuccessAt *time.Time // when a page was last read
	OldestVisitAt *time.Time // of the adverts that are not gone; nil = none was visited

	Adverts PlatformAdverts
	Current *PlatformCycle // of the default search, the one under way
	Last    *PlatformCycle // of the default search, the last one that ended

	Searches []PlatformSearch // the default one first
}

// PlatformSettings are what operators may change while the scraper runs.
type PlatformSettings struct {
	Enabled         bool
	DelaySeconds    float64
	MaxPages        int
	CooldownSeconds float64
	LookSeconds     float64 // between two looks at the newest search pages; 0 = there are none
	CycleSeconds    float64 // that a cycle should take
}

// Outlook returns how long a cycle takes and how old visits get, if things go on as in the last cycles that ended, of
// all searches together. It is false before the default search has had one.
func (p *Platform) Outlook() (scrape.Outlook, bool) {
	if p.Last == nil {
		return scrape.Outlook{}, false
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	how := p.Settings
	l := scrape.Load{
		Pace: scrape.Pace{Delay: seconds(how.DelaySeconds), MaxPages: how.MaxPages, Cooldown: seconds(how.CooldownSeconds),
			Look: seconds(how.LookSeconds), Cycle: seconds(how.CycleSeconds)},
		Adverts: int(p.Adverts.Known), Pages: p.Last.Pages, Fresh: p.Last.fresh(),
	}
	looks := 0.0 // a second, of the other searches
	for _, s := range p.Searches {
		if s.Name == scrape.DefaultSearch || s.Paused || s.Last == nil {
			continue
		}
		l.Pages, l.MaxPages, l.Fresh = l.Pages+s.Last.Pages, l.MaxPages+s.Settings.MaxPages, l.Fresh+s.Last.fresh()
		if s.Settings.LookSeconds > 0 {
			looks += 1 / s.Settings.LookSeconds
		}
	}
	if how.LookSeconds > 0 {
		looks += 1 / how.LookSeconds
	}
	if looks > 0 {
		l.Look = seconds(1 / looks)
	}
	return scrape.Forecast(l), true
}

// fresh is how many visits of a cycle were to adverts that were new, changed, back or missing.
func (c *PlatformCycle) fresh() int { return c.New + c.Changed + c.Returned + c.Gone }

// PlatformBlock is a site that refuses.
type PlatformBlock struct {
	Refusals int        // in a row
	Reason   string     // of the last one
	Until    *time.Time // when the next request is sent
}

// PlatformTrouble is what is wrong with a site, or with reading it.
type PlatformTrouble struct {
	Since  time.Time
	Reason string
}

// PlatformAdverts counts what a scraper remembers.
type PlatformAdverts struct {
	Known  int64 // seen on a search page and not gone
	Failed int64 // known ones that could not be read on the last visit
	Gone   int64
}

// PlatformCycle is one time through the search pages.
type PlatformCycle struct {
	Cycle     int64
	StartedAt time.Time
	EndedAt   *time.Time
	Complete  bool   // it reached the last search page
	Note      string // why it is not complete
	Pages     int    // search pages read
	Total     *int   // adverts of the search, as stated by the site
	Seen      int    // adverts on these pages
	New       int    // visited for the first time
	Changed   int    // visited because their entry on the search page changed
	Stale     int    // visited again: the last visit was six hours ago or more, or the search did not show them
	Returned  int    // visited because they were gone
	Skipped   int    // seen and not visited: nothing new
	Failed    int    // visited and could not be read
	Rejected  int    // adverts of this cycle that cannot become listings
	Gone      int    // no longer offered
	Refusals  int    // requests that the site refused
}

const sqlPlatforms = `/* sqlPlatforms */
SELECT name, url, coalesce(set_transport, transport), proxy_shown, coalesce(set_enabled, enabled),
    coalesce(set_delay_ms, delay_ms) / 1000.0::float8,
    coalesce(set_max_pages, max_pages), coalesce(set_cooldown_ms, cooldown_ms) / 1000.0::float8,
    coalesce(set_look_ms, look_ms) / 1000.0::float8, coalesce(set_cycle_ms, cycle_ms) / 1000.0::float8,
    enabled, delay_ms / 1000.0::float8, max_pages, cooldown_ms / 1000.0::float8, look_ms / 1000.0::float8,
    cycle_ms / 1000.0::float8,
    paused, next_request_at, last_success_at, refusals, refused_reason, blocked_until, suspect_at,
    suspect_reason, trouble_at, trouble,
    adverts_known, adverts_failed, adverts_gone,
    (SELECT min(visited_at) FROM platform_adverts WHERE platform = platforms.name AND gone_at IS NULL)
FROM platforms
WHERE $1::text IS NULL OR name = $1
ORDER BY name`

// List returns every platform that is configured, by name.
func (s *Platforms) List(ctx context.Context, now time.Time) ([]Platform, error) {
	return s.read(ctx, "", now)
}

// Get returns one platform. One that is not configured is fault.Gone.
func (s *Platforms) Get(ctx context.Context, name string, now time.Time) (Platform, error) {
	list, err := s.read(ctx, name, now)
	if err == nil && len(list) == 0 {
		err = fault.Newf(fault.Gone, "platform %q: there is none of that name", name)
	}
	if err != nil {
		return Platform{}, err
	}
	return list[0], nil
}

func (s *Platforms) read(ctx context.Context, name string, now time.Time) (list []Platform, err error) {
	err = db.TxWith(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			list = nil
			of, err := searches(ctx, tx, name)
			if err != nil {
				return err
			}
			list, err = db.Rows(ctx, tx, func(row pgx.CollectableRow) (Platform, error) {
				return scanPlatform(row, of, now)
			}, sqlPlatforms, db.Stated(name))
			return err
		})
	return list, fault.Wrap(err, "read platforms")
}

func scanPlatform(row pgx.CollectableRow, searches map[string][]PlatformSearch, now time.Time) (p Platform, err error) {
	var (
		paused         bool
		b              PlatformBlock
		suspectAt      *time.Time
		suspectReason  string
		troubleAt      *time.Time
		trouble        string
		how, otherwise = &p.Settings, &p.Configured
	)
	err = row.Scan(&p.Name, &p.URL, &p.Transport, &p.Proxy, &how.Enabled, &how.DelaySeconds, &how.MaxPages,
		&how.CooldownSeconds, &how.LookSeconds, &how.CycleSeconds,
		&otherwise.Enabled, &otherwise.DelaySeconds, &otherwise.MaxPages, &otherwise.CooldownSeconds,
		&otherwise.LookSeconds, &otherwise.CycleSeconds,
		&paused, &p.NextRequestAt, &p.LastSuccessAt, &b.Refusals, &b.Reason, &b.Until, &suspectAt,
		&suspectReason, &troubleAt, &trouble, &p.Adverts.Known, &p.Adverts.Failed, &p.Adverts.Gone, &p.OldestVisitAt)
	if err != nil {
		return p, err
	}
	is := scrape.Condition{Enabled: how.Enabled, Paused: paused}
	if b.Refusals > 0 {
		p.Blocked = &b
		if b.Until != nil {
			is.BlockedUntil = *b.Until
		}
	}
	if suspectAt != nil {
		p.Suspect, is.SuspectAt = &PlatformTrouble{*suspectAt, suspectReason}, *suspectAt
	}
	if troubleAt != nil {
		p.Trouble = &PlatformTrouble{*troubleAt, trouble}
	}
	idle := true // all searches are paused
	p.Searches = searches[p.Name]
	for i := range p.Searches {
		s := &p.Searches[i]
		s.State = s.condition(is).State(now)
		if s.Name == scrape.DefaultSearch {
			p.Current, p.Last, p.NextCycleAt = s.Current, s.Last, s.NextCycleAt
		}
		if s.Trouble != nil && p.Trouble == nil {
			p.Trouble = s.Trouble
		}
		idle = idle && s.Paused
	}
	for _, s := range p.Searches {
		is.Cycling, is.Cycles = is.Cycling || s.Current != nil && !s.Paused, max(is.Cycles, s.lastCycle())
	}
	is.Paused = is.Paused || idle && len(p.Searches) > 0
	p.State = is.State(now)
	p.Next = p.next(now)
	return p, nil
}

// next says in words what the scraper does next.
func (p *Platform) next(now time.Time) string {
	at := func(t *time.Time) string {
		if t == nil || !t.After(now) {
			return "now"
		}
		return "in " + max(t.Sub(now), time.Second).Round(time.Second).String()
	}
	switch {
	case p.State == scrape.Disabled:
		return "nothing until it is enabled"
	case p.State == scrape.Paused:
		return "nothing until it is resumed"
	case p.State == scrape.Blocked:
		return fmt.Sprintf("asks again %s, after refusal %d in a row (%s)", at(p.Blocked.Until), p.Blocked.Refusals,
			p.Blocked.Reason)
	case p.Trouble != nil:
		return "tries again: " + p.Trouble.Reason
	}
	of := func(s PlatformSearch) string {
		if s.Name == scrape.DefaultSearch {
			return ""
		}
		return " of search " + s.Name
	}
	var first *PlatformSearch // to begin a cycle
	last := int64(0)
	for i, s := range p.Searches {
		last = max(last, s.lastCycle())
		switch {
		case s.Paused:
		case s.Current != nil:
			return fmt.Sprintf("goes on with cycle %d%s, page %d", s.Current.Cycle, of(s), max(1, s.Current.Pages))
		case first == nil || first.NextCycleAt != nil && (s.NextCycleAt == nil || s.NextCycleAt.Before(*first.NextCycleAt)):
			first = &p.Searches[i]
		}
	}
	if last > 0 && first != nil {
		return fmt.Sprintf("begins cycle %d%s %s", last+1, of(*first), at(first.NextCycleAt))
	}
	return "begins its first cycle now"
}

// A PlatformChange is what an operator changes; nil leaves a setting as it is.
type PlatformChange struct {
	Enabled  *bool
	Paused   *bool
	Delay    *time.Duration
	MaxPages *int
	Cooldown *time.Duration
	Look     *time.Duration
	Cycle    *time.Duration
	// Transport is the client that loads pages.
	Transport *scrape.Transport
	Proxy     *ProxyPut // that requests go through; one without an address is none
	Reset     bool      // first forget what operators have set before, and what the site did: refusals and suspicions
	Now       bool      // the next cycle is due now
}

const sqlPlatformSet = `/* sqlPlatformSet */
UPDATE platforms SET
    set_enabled     = coalesce($2, CASE WHEN $6 THEN NULL ELSE set_enabled END),
    set_delay_ms    = coalesce($3, CASE WHEN $6 THEN NULL ELSE set_delay_ms END),
    set_max_pages   = coalesce($4, CASE WHEN $6 THEN NULL ELSE set_max_pages END),
    set_cooldown_ms = coalesce($5, CASE WHEN $6 THEN NULL ELSE set_cooldown_ms END),
    set_look_ms     = coalesce($9, CASE WHEN $6 THEN NULL ELSE set_look_ms END),
    set_cycle_ms    = coalesce($10, CASE WHEN $6 THEN NULL ELSE set_cycle_ms END),
    paused          = coalesce($7, paused),
    refusals        = CASE WHEN $6 THEN 0 ELSE refusals END,
    blocked_until   = CASE WHEN $6 THEN NULL ELSE blocked_until END,
    suspect_at      = CASE WHEN $6 THEN NULL ELSE suspect_at END,
    next_request_at = CASE WHEN $3 IS NOT NULL AND next_request_at > $8::timestamptz + $3 * interval '1 ms'
        THEN $8::timestamptz + $3 * interval '1 ms' ELSE next_request_at END
WHERE name = $1
RETURNING coalesce(set_enabled, enabled), paused`

// What a change of the platform is to its searches, after sqlPlatformSet. A next cycle is not later than the cooldown
// of now asks for; what a cooldown of before that was longer has put off is brought forward.
const sqlSearchesSet = `/* sqlSearchesSet */
UPDATE platform_searches s SET
    next_cycle_at = CASE WHEN $3 THEN $4::timestamptz
        WHEN s.next_cycle_at IS NOT NULL THEN least(s.next_cycle_at, $4::timestamptz
            + coalesce(s.cooldown_ms, p.set_cooldown_ms, p.cooldown_ms) * interval '1 ms') END,
    results_pages = CASE WHEN $2 THEN 0 ELSE s.results_pages END,
    retry_at      = CASE WHEN $2 OR $5 THEN NULL ELSE s.retry_at END,
    trouble_at    = CASE WHEN $2 OR $5 THEN NULL ELSE s.trouble_at END
FROM platforms p WHERE p.name = $1 AND s.platform = $1`

// Which way requests go; $3 takes back what operators have set before.
const sqlPlatformRoute = `/* sqlPlatformRoute */
UPDATE platforms SET set_transport = coalesce($2, CASE WHEN $3 THEN NULL ELSE set_transport END),
    proxy_shown = coalesce($4::text, CASE WHEN $3 THEN '' ELSE proxy_shown END),
    proxy_key = CASE WHEN $4 IS NOT NULL THEN $5 WHEN $3 THEN '' ELSE proxy_key END,
    proxy_sealed = CASE WHEN $4 IS NOT NULL THEN $6 WHEN $3 THEN NULL ELSE proxy_sealed END
WHERE name = $1`

// Set changes how a platform is scraped, together with the audit entry d. It holds from the next request
// on, in every process. A cycle that is wanted now of a platform that is stopped is fault.Conflict; a platform that is
// not configured is fault.Gone.
func (s *Platforms) Set(ctx context.Context, name string, c PlatformChange, d db.AuditEntry) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var enabled, paused bool
		err := tx.QueryRow(ctx, sqlPlatformSet, name, c.Enabled, millis(c.Delay), c.MaxPages, millis(c.Cooldown), c.Reset,
			c.Paused, d.At, millis(c.Look), millis(c.Cycle)).Scan(&enabled, &paused)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fault.Newf(fault.Gone, "platform %q: there is none of that name", name)
		case err != nil:
			return err
		case c.Now && !enabled:
			return fault.Newf(fault.Conflict, "platform %s is not enabled: enable it first", name)
		case c.Now && paused:
			return fault.Newf(fault.Conflict, "platform %s is paused: resume it first", name)
		}
		b := new(pgx.Batch)
		b.Queue(sqlSearchesSet, name, c.Reset, c.Now, d.At, c.Proxy != nil)
		b.Queue(sqlPlatformRoute, append([]any{name, c.Transport, c.Reset}, c.Proxy.args()...)...)
		db.AuditAdd(ctx, b, d)
		return tx.SendBatch(ctx, b).Close()
	})
	return fault.Wrap(err, "set platform")
}

func millis(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

const sqlPlatformHistory = `/* sqlPlatformHistory */
SELECT cycle, started_at, ended_at, complete, note, pages, total, seen, new, changed, stale, returned, skipped, failed,
    0, gone, refusals
FROM platform_cycles WHERE platform = $1 AND ($2::bigint IS NULL OR cycle < $2) ORDER BY cycle DESC LIMIT $3`

// Cycles returns up to limit cycles of a platform before a number (0 = from the newest on), the newest first, and the
// number to go on from: 0 when these were the last. Rejected is not known of past cycles. An unknown platform is
// fault.Gone.
func (s *Platforms) Cycles(ctx context.Context, name string, before int64, limit int) (
	list []PlatformCycle, next int64, err error,
) {
	list, err = db.Rows(ctx, s.pool, pgx.RowToStructByPos[PlatformCycle],
		sqlPlatformHistory, name, db.Stated(before), limit+1)
	if err != nil {
		return nil, 0, fmt.Errorf("list cycles of %s: %w", name, err)
	}
	if len(list) == 0 {
		var known bool
		if err := s.pool.QueryRow(ctx, sqlPlatformKnown, name).Scan(&known); err != nil {
			return nil, 0, fmt.Errorf("list cycles of %s: %w", name, err)
		}
		if !known {
			return nil, 0, fault.Newf(fault.Gone, "there is no platform %q", name)
		}
	}
	if len(list) > limit {
		list = list[:limit]
		next = list[limit-1].Cycle
	}
	return list, next, nil
}

const sqlPlatformKnown = `/* sqlPlatformKnown */ SELECT exists(SELECT FROM platforms WHERE name = $1)`

package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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
	Settings   PlatformSettings // in force now
	Configured PlatformSettings // in force where no operator has changed them
	Blocked    *PlatformBlock   // the current run of refusals
	Suspect    *PlatformTrouble // an unexpected change of its pages; an operator should look
	Trouble    *PlatformTrouble // why no page could be read since the last one

	NextRequestAt *time.Time // at the earliest
	NextCycleAt   *time.Time // at the earliest
	LastSuccessAt *time.Time // when a page was last read
	OldestVisitAt *time.Time // of the adverts that are not gone; nil = none was visited

	Adverts PlatformAdverts
	Current *PlatformCycle // the one under way
	Last    *PlatformCycle // the last one that ended
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

// Outlook returns how long a cycle takes and how old visits get, if things go on as in the last cycle that ended. It is
// false before there is one.
func (p *Platform) Outlook() (scrape.Outlook, bool) {
	if p.Last == nil {
		return scrape.Outlook{}, false
	}
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	how, last := p.Settings, p.Last
	return scrape.Forecast(scrape.Load{
		Pace: scrape.Pace{Delay: seconds(how.DelaySeconds), MaxPages: how.MaxPages, Cooldown: seconds(how.CooldownSeconds),
			Look: seconds(how.LookSeconds), Cycle: seconds(how.CycleSeconds)},
		Adverts: int(p.Adverts.Known), Pages: last.Pages, Fresh: last.New + last.Changed + last.Returned + last.Gone,
	}), true
}

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

const sqlPlatforms = `
SELECT name, url, transport, coalesce(set_enabled, enabled), coalesce(set_delay_ms, delay_ms) / 1000.0::float8,
    coalesce(set_max_pages, max_pages), coalesce(set_cooldown_ms, cooldown_ms) / 1000.0::float8,
    coalesce(set_look_ms, look_ms) / 1000.0::float8, coalesce(set_cycle_ms, cycle_ms) / 1000.0::float8,
    enabled, delay_ms / 1000.0::float8, max_pages, cooldown_ms / 1000.0::float8, look_ms / 1000.0::float8,
    cycle_ms / 1000.0::float8,
    paused, next_cycle_at, next_request_at, last_success_at, refusals, refused_reason, blocked_until, suspect_at,
    suspect_reason, trouble_at, trouble,
    adverts_known, adverts_failed, adverts_gone,
    (SELECT min(visited_at) FROM platform_adverts WHERE platform = platforms.name AND gone_at IS NULL)
FROM platforms
WHERE $1::text IS NULL OR name = $1
ORDER BY name`

// The last two cycles of each platform. Which of a cycle's visits were rejected is known later than the visits.
const sqlPlatformCycles = `
SELECT p.name, c.cycle, c.started_at, c.ended_at, c.complete, c.note, c.pages, c.total, c.seen, c.skipped,
    c.new, c.changed, c.stale, c.returned, c.failed, c.gone, c.refusals,
    (SELECT count(*) FROM platform_adverts a JOIN raw_listings r USING (platform, platform_id)
        WHERE a.platform = p.name AND a.visited_at BETWEEN c.started_at AND coalesce(c.ended_at, 'infinity')
            AND r.status = 'rejected')
        + (SELECT count(*) FROM platform_adverts a JOIN platform_units u USING (platform, platform_id)
            JOIN raw_listings r ON r.id = u.listing_id
        WHERE a.platform = p.name AND a.visited_at BETWEEN c.started_at AND coalesce(c.ended_at, 'infinity')
            AND r.status = 'rejected')
FROM platforms p CROSS JOIN LATERAL (
    SELECT * FROM platform_cycles WHERE platform = p.name ORDER BY cycle DESC LIMIT 2) c
WHERE $1::text IS NULL OR p.name = $1
ORDER BY p.name, c.cycle`

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
	err = pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
		func(tx pgx.Tx) error {
			list = nil
			rows, _ := tx.Query(ctx, sqlPlatformCycles, stated(name))
			cycles := map[string][]PlatformCycle{}
			var of string
			var c PlatformCycle
			into := []any{&of, &c.Cycle, &c.StartedAt, &c.EndedAt, &c.Complete, &c.Note, &c.Pages, &c.Total, &c.Seen, &c.Skipped,
				&c.New, &c.Changed, &c.Stale, &c.Returned, &c.Failed, &c.Gone, &c.Refusals, &c.Rejected}
			_, err := pgx.ForEachRow(rows, into, func() error {
				cycles[of] = append(cycles[of], c)
				return nil
			})
			if err != nil {
				return err
			}
			rows, _ = tx.Query(ctx, sqlPlatforms, stated(name))
			list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Platform, error) {
				return scanPlatform(row, cycles, now)
			})
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("read platforms: %w", err)
	}
	return list, nil
}

func scanPlatform(row pgx.CollectableRow, cycles map[string][]PlatformCycle, now time.Time) (p Platform, err error) {
	var (
		paused         bool
		b              PlatformBlock
		suspectAt      *time.Time
		suspectReason  string
		troubleAt      *time.Time
		trouble        string
		how, otherwise = &p.Settings, &p.Configured
	)
	err = row.Scan(&p.Name, &p.URL, &p.Transport, &how.Enabled, &how.DelaySeconds, &how.MaxPages, &how.CooldownSeconds,
		&how.LookSeconds, &how.CycleSeconds,
		&otherwise.Enabled, &otherwise.DelaySeconds, &otherwise.MaxPages, &otherwise.CooldownSeconds,
		&otherwise.LookSeconds, &otherwise.CycleSeconds,
		&paused, &p.NextCycleAt, &p.NextRequestAt, &p.LastSuccessAt, &b.Refusals, &b.Reason, &b.Until, &suspectAt,
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
	for _, c := range cycles[p.Name] {
		is.Cycles, is.Cycling = c.Cycle, c.EndedAt == nil
		if is.Cycling {
			p.Current = &c
		} else {
			p.Last = &c
		}
	}
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
	case p.Current != nil:
		return fmt.Sprintf("goes on with cycle %d, page %d", p.Current.Cycle, max(1, p.Current.Pages))
	case p.Last != nil:
		return fmt.Sprintf("begins cycle %d %s", p.Last.Cycle+1, at(p.NextCycleAt))
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
	Reset    bool // first forget what operators have set before, and what the site did: refusals and suspicions
	Now      bool // the next cycle is due now
}

const sqlPlatformSet = `
UPDATE platforms SET
    set_enabled     = coalesce($2, CASE WHEN $6 THEN NULL ELSE set_enabled END),
    set_delay_ms    = coalesce($3, CASE WHEN $6 THEN NULL ELSE set_delay_ms END),
    set_max_pages   = coalesce($4, CASE WHEN $6 THEN NULL ELSE set_max_pages END),
    set_cooldown_ms = coalesce($5, CASE WHEN $6 THEN NULL ELSE set_cooldown_ms END),
    set_look_ms     = coalesce($10, CASE WHEN $6 THEN NULL ELSE set_look_ms END),
    set_cycle_ms    = coalesce($11, CASE WHEN $6 THEN NULL ELSE set_cycle_ms END),
    paused          = coalesce($7, paused),
    next_cycle_at   = CASE WHEN $8 OR $5 IS NOT NULL AND next_cycle_at > $9::timestamptz + $5 * interval '1 ms'
        THEN $9::timestamptz + CASE WHEN $8 THEN 0 ELSE $5 END * interval '1 ms' ELSE next_cycle_at END,
    refusals        = CASE WHEN $6 THEN 0 ELSE refusals END,
    blocked_until   = CASE WHEN $6 THEN NULL ELSE blocked_until END,
    suspect_at      = CASE WHEN $6 THEN NULL ELSE suspect_at END,
    results_pages   = CASE WHEN $6 THEN 0 ELSE results_pages END,
    next_request_at = CASE WHEN $3 IS NOT NULL AND next_request_at > $9::timestamptz + $3 * interval '1 ms'
        THEN $9::timestamptz + $3 * interval '1 ms' ELSE next_request_at END
WHERE name = $1
RETURNING coalesce(set_enabled, enabled), paused`

// Set changes how a platform is scraped, together with the audit entry d. It holds from the next request
// on, in every process. A cycle that is wanted now of a platform that is stopped is fault.Conflict; a platform that is
// not configured is fault.Gone.
func (s *Platforms) Set(ctx context.Context, name string, c PlatformChange, d AuditEntry) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var enabled, paused bool
		err := tx.QueryRow(ctx, sqlPlatformSet, name, c.Enabled, millis(c.Delay), c.MaxPages, millis(c.Cooldown), c.Reset,
			c.Paused, c.Now, d.At, millis(c.Look), millis(c.Cycle)).Scan(&enabled, &paused)
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
		if err := auditAdd(ctx, b, d); err != nil {
			return err
		}
		return tx.SendBatch(ctx, b).Close()
	})
	if err != nil {
		return fmt.Errorf("set platform: %w", err)
	}
	return nil
}

func millis(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

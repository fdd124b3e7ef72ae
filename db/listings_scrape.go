package db

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// Platforms keeps the state of scrapers: how each site is scraped, how that goes, and which adverts were seen there.
// The workflow that runs a scraper keeps no state itself, so that any worker can continue it.
type Platforms struct {
	pool  *pgxpool.Pool
	added waker // to the outbox
}

// NewPlatforms returns the platforms kept in pool.
func NewPlatforms(pool *pgxpool.Pool) *Platforms { return &Platforms{pool, newWaker(pool)} }

// A transaction that writes more than the platform's own row locks that row first, so that all of one platform take
// turns: the end of a cycle and a visit of a worker that was frozen would otherwise wait for one another.
const sqlPlatformLock = `SELECT 1 FROM platforms WHERE name = $1 FOR NO KEY UPDATE`

const sqlPlatformConfigure = `
INSERT INTO platforms (name, url, transport, enabled, delay_ms, max_pages, cooldown_ms, look_ms, cycle_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (name) DO UPDATE SET url = excluded.url, transport = excluded.transport, enabled = excluded.enabled,
    delay_ms = excluded.delay_ms, max_pages = excluded.max_pages, cooldown_ms = excluded.cooldown_ms,
    look_ms = excluded.look_ms, cycle_ms = excluded.cycle_ms,
    results_pages = CASE WHEN platforms.url = excluded.url THEN platforms.results_pages ELSE 0 END`

// A changed search shows other adverts: those of the old search are not missing from it.
const sqlAdvertsForget = `
DELETE FROM platform_adverts WHERE platform = $1 AND EXISTS (SELECT FROM platforms WHERE name = $1 AND url <> $2)`

const sqlCycleForget = `
UPDATE platform_cycles SET ended_at = $3, note = 'another search' WHERE platform = $1 AND ended_at IS NULL
    AND EXISTS (SELECT FROM platforms WHERE name = $1 AND url <> $2)`

// The adverts of a platform are counted by triggers. $2 leaves counts alone that were right to begin with: a platform
// from before there were triggers has none, and End corrects what two scrapers at once may have counted wrong.
const sqlPlatformCount = `
UPDATE platforms SET counted = true, (adverts_known, adverts_failed, adverts_gone) = (
    SELECT count(*) FILTER (WHERE gone_at IS NULL), count(*) FILTER (WHERE gone_at IS NULL AND failures > 0),
        count(*) FILTER (WHERE gone_at IS NOT NULL)
    FROM platform_adverts WHERE platform = $1)
WHERE name = $1 AND NOT (counted AND $2)`

// Configure stores the settings of a platform; those that an operator has set take precedence. It may be repeated. When
// the search changes, the scraper starts over with the adverts of the new one.
func (s *Platforms) Configure(ctx context.Context, name string, c scrape.Settings, now time.Time) error {
	b := new(pgx.Batch)
	b.Queue(sqlPlatformLock, name)
	b.Queue(sqlAdvertsForget, name, c.URL)
	b.Queue(sqlCycleForget, name, c.URL, now)
	b.Queue(sqlPlatformConfigure, name, c.URL, c.Transport, c.Enabled, c.Delay.Milliseconds(), c.MaxPages,
		c.Cooldown.Milliseconds(), c.Look.Milliseconds(), c.Cycle.Milliseconds())
	b.Queue(sqlPlatformCount, name, true)
	if err := write(ctx, s.pool, b); err != nil {
		return fmt.Errorf("configure platform %s: %w", name, err)
	}
	return nil
}

// One statement decides, so that two calls at once begin one cycle. An open cycle continues where it was.
const sqlCycleBegin = `
WITH p AS (
    SELECT name, coalesce(set_enabled, enabled) AND NOT paused AS wanted, greatest(next_cycle_at, blocked_until) AS due,
        greatest(looked_at + nullif(coalesce(set_look_ms, look_ms), 0) * interval '1 ms',
            CASE WHEN looked_at IS NOT NULL AND coalesce(set_look_ms, look_ms) > 0 THEN blocked_until END) AS look
    FROM platforms WHERE name = $1 FOR UPDATE
), last AS (
    SELECT cycle, ended_at, pages FROM platform_cycles WHERE platform = $1 ORDER BY cycle DESC LIMIT 1
), begun AS (
    INSERT INTO platform_cycles (platform, cycle, started_at)
    SELECT p.name, coalesce((SELECT cycle FROM last), 0) + 1, $2 FROM p
    WHERE p.wanted AND coalesce(p.due <= $2, true) AND NOT EXISTS (SELECT FROM last WHERE ended_at IS NULL)
    ON CONFLICT DO NOTHING
    RETURNING cycle
)
SELECT p.wanted, p.due, (SELECT cycle FROM begun), (SELECT cycle FROM last WHERE ended_at IS NULL),
    coalesce((SELECT pages FROM last), 0), p.look, coalesce((SELECT cycle FROM last), 0)
FROM p`

// Begin returns what a platform's scraper does now: begin a cycle, continue the open one, look at the newest search
// pages, wait until the next cycle or look is due, or wait for an operator. It may be repeated: an open cycle is not
// begun again.
func (s *Platforms) Begin(ctx context.Context, name string, now time.Time) (scrape.Plan, error) {
	var (
		wanted      bool
		due, look   *time.Time
		begun, open *int64
		pages       int
		last        int64
		plan        scrape.Plan
	)
	err := s.pool.QueryRow(ctx, sqlCycleBegin, name, now).Scan(&wanted, &due, &begun, &open, &pages, &look, &last)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return plan, nil // not configured yet: bootstrap does that
	case err != nil:
		return plan, fmt.Errorf("begin cycle of %s: %w", name, err)
	case !wanted:
		return plan, nil
	case begun != nil:
		plan.Go, plan.Cycle, plan.Page = true, *begun, 1
	case open != nil:
		plan.Go, plan.Cycle, plan.Page = true, *open, max(pages, 1)
	case due != nil && due.After(now) && look != nil && !look.After(now):
		plan.Look, plan.Cycle = true, last
	case due != nil && due.After(now):
		if look != nil && look.Before(*due) {
			due = look
		}
		plan.Wait = due.Sub(now)
	default: // another call has begun one at the same moment
		plan.Wait = time.Second
	}
	return plan, nil
}

// A turn may lie in the future: the caller waits for it. So turns are a delay apart in all processes together.
const sqlPlatformTurn = `
UPDATE platforms SET next_request_at = greatest(next_request_at, blocked_until, $2)
    + greatest(coalesce(set_delay_ms, delay_ms), $3) * interval '1 ms'
WHERE name = $1 AND coalesce(set_enabled, enabled) AND NOT paused
RETURNING next_request_at - greatest(coalesce(set_delay_ms, delay_ms), $3) * interval '1 ms', true, false,
    url, transport, coalesce(set_delay_ms, delay_ms), coalesce(set_max_pages, max_pages)`

const sqlPlatformSettings = `
SELECT blocked_until, coalesce(set_enabled, enabled), paused, url, transport, coalesce(set_delay_ms, delay_ms),
    coalesce(set_max_pages, max_pages)
FROM platforms WHERE name = $1`

// Turn takes the next turn to request a page of a platform's site. In all processes together turns are its delay apart,
// or atLeast where that is longer. Unless the scraper is stopped, the caller waits until Turn.At. A turn that is not
// used costs a delay and nothing else.
func (s *Platforms) Turn(ctx context.Context, name string, atLeast time.Duration, now time.Time) (scrape.Turn, error) {
	t, err := scanTurn(s.pool.QueryRow(ctx, sqlPlatformTurn, name, now, atLeast.Milliseconds()))
	if errors.Is(err, pgx.ErrNoRows) {
		return s.Settings(ctx, name)
	}
	if err != nil {
		return t, fmt.Errorf("take a turn at %s: %w", name, err)
	}
	return t, nil
}

// Settings returns how a platform is scraped now, and whether it is, without taking a turn: Turn.At is when the pause
// after a refusal ends, and zero without one. A platform that is not configured is fault.Gone.
func (s *Platforms) Settings(ctx context.Context, name string) (scrape.Turn, error) {
	t, err := scanTurn(s.pool.QueryRow(ctx, sqlPlatformSettings, name))
	if errors.Is(err, pgx.ErrNoRows) {
		return t, fault.Newf(fault.Gone, "platform %q: there is none of that name", name)
	}
	if err != nil {
		return t, fmt.Errorf("read settings of %s: %w", name, err)
	}
	return t, nil
}

func scanTurn(row pgx.Row) (t scrape.Turn, err error) {
	var (
		at      *time.Time
		paused  bool
		delayMS int64
	)
	err = row.Scan(&at, &t.Settings.Enabled, &paused, &t.Settings.URL, &t.Settings.Transport, &delayMS,
		&t.Settings.MaxPages)
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
	return strings.ToValidUTF8(fmt.Sprintf("%.300s", storable(reason)), "")
}

const sqlPlatformRefusals = `SELECT refusals FROM platforms WHERE name = $1 FOR UPDATE`

const sqlPlatformRefused = `
UPDATE platforms SET refusals = $2, refused_reason = $3, blocked_until = $4 WHERE name = $1`

const sqlCycleRefused = `UPDATE platform_cycles SET refusals = refusals + 1 WHERE platform = $1 AND cycle = $2`

// Refused stores that the site refused a request, and returns until when it gets no more: longer with each refusal in a
// row, as scrape.Backoff says with asked and dice.
func (s *Platforms) Refused(ctx context.Context, name string, cycle int64, reason string, asked time.Duration,
	dice float64, now time.Time) (until time.Time, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
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
	if err != nil {
		return until, fmt.Errorf("store a refusal of %s: %w", name, err)
	}
	return until, nil
}

const sqlPlatformSuspect = `
UPDATE platforms SET suspect_at = $2, suspect_of = $3, suspect_reason = $4 WHERE name = $1 AND suspect_at IS NULL`

// Suspect stores that pages of a site no longer look as expected and publishes platform.suspect, once until the
// suspicion ends.
func (s *Platforms) Suspect(ctx context.Context, name string, v scrape.Suspicion, now time.Time) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error { return platformSuspect(ctx, tx, name, v, now) })
	if err != nil {
		return fmt.Errorf("mark platform %s as suspect: %w", name, err)
	}
	return nil
}

func platformSuspect(ctx context.Context, tx pgx.Tx, name string, v scrape.Suspicion, now time.Time) error {
	done, err := tx.Exec(ctx, sqlPlatformSuspect, name, now, v.Of, clipReason(v.Reason))
	if err != nil || done.RowsAffected() == 0 {
		return err
	}
	seed := fmt.Appendf(nil, "platform/%s/%d/%s", name, v.Cycle, now.UTC().Format(time.RFC3339Nano))
	m, err := outboxEvent(contract.PlatformSuspect, name, uuid.NewSHA1(uuid.NameSpaceURL, seed),
		contract.PlatformData{Cycle: v.Cycle, Page: v.Page, Reason: clipReason(v.Reason)}, now)
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	outboxAdd(b, m)
	rememberTrace(ctx, b)
	return tx.SendBatch(ctx, b).Close()
}

const sqlPlatformTrouble = `UPDATE platforms SET trouble_at = $2, trouble = $3 WHERE name = $1`

// Trouble stores why a page could not be read although the site did not refuse it, until the next page is read.
func (s *Platforms) Trouble(ctx context.Context, name, message string, now time.Time) error {
	if _, err := s.pool.Exec(ctx, sqlPlatformTrouble, name, now, clipReason(message)); err != nil {
		return fmt.Errorf("store the trouble of %s: %w", name, err)
	}
	return nil
}

const sqlCycleSeenCount = `SELECT count(*) FROM platform_adverts WHERE platform = $1 AND seen_cycle = $2`

const sqlPlatformHadResults = `
UPDATE platforms SET last_success_at = $3, refusals = 0, blocked_until = NULL, trouble_at = NULL,
    results_pages = least(results_pages, greatest($2 - 1, 1))
FROM (SELECT results_pages AS before FROM platforms WHERE name = $1 FOR UPDATE) b
WHERE name = $1
RETURNING b.before >= $2`

// NoResults stores that a search page had no adverts. The platform is suspect for the reason wrong, or else for that of
// scrape.EmptyPage. The reason is returned, and "" when there is none. A list that may have grown shorter is suspect
// once: afterwards the page counts as one that never had adverts, page 1 excepted.
func (s *Platforms) NoResults(ctx context.Context, name string, cycle int64, page, total int, wrong string,
	now time.Time) (reason string, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPlatformLock, name); err != nil {
			return err
		}
		var n int
		if err := tx.QueryRow(ctx, sqlCycleSeenCount, name, cycle).Scan(&n); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlCyclePage, name, cycle, page-1, nil); err != nil {
			return err
		}
		var had bool
		if err := tx.QueryRow(ctx, sqlPlatformHadResults, name, page, now).Scan(&had); err != nil {
			return err
		}
		if reason = cmp.Or(wrong, scrape.EmptyPage(page, n, total, had)); reason == "" {
			return nil
		}
		v := scrape.Suspicion{Of: scrape.SearchPages, Reason: reason, Cycle: cycle, Page: page}
		return platformSuspect(ctx, tx, name, v, now)
	})
	if err != nil {
		return "", fmt.Errorf("store an empty page of %s: %w", name, err)
	}
	return reason, nil
}

// How many adverts a cycle c has seen, and how many of these had nothing new and were not visited.
const sqlCycleSeenAdverts = `
    (SELECT count(*), count(*) FILTER (WHERE a.visited_at < c.started_at AND a.visited_fingerprint = a.fingerprint
        AND a.gone_at IS NULL)
    FROM platform_adverts a WHERE a.platform = c.platform AND a.seen_cycle = c.cycle)`

const sqlCycleEnd = `
UPDATE platform_cycles c SET ended_at = $3, note = $4, (seen, skipped) = ` + sqlCycleSeenAdverts + `
WHERE platform = $1 AND cycle = $2 AND ended_at IS NULL
RETURNING seen, coalesce(total, -1), (SELECT count(*) FROM platform_adverts
    WHERE platform = $1 AND seen_cycle < $2 AND gone_at IS NULL AND missed = 0)`

const sqlCycleNote = `UPDATE platform_cycles SET note = $3 WHERE platform = $1 AND cycle = $2`

const sqlPlatformCooldown = `
UPDATE platforms SET next_cycle_at = $2::timestamptz + coalesce(set_cooldown_ms, cooldown_ms) * interval '1 ms'
WHERE name = $1`

const sqlCycleComplete = `UPDATE platform_cycles SET complete = true WHERE platform = $1 AND cycle = $2`

const sqlPlatformResultsPagesSet = `
UPDATE platforms SET results_pages = (SELECT pages FROM platform_cycles WHERE platform = $1 AND cycle = $2),
    suspect_at = CASE WHEN suspect_of <> 'cycle' THEN suspect_at END
WHERE name = $1`

// Which of them are gone, as scrape.IsGone says.
const sqlAdvertsMissing = `
WITH missing AS (
    SELECT a.platform_id,
        a.missed + 1 >= $6 OR a.missed + 1 >= $4 AND coalesce(a.visited_at < c.started_at, true) AS gone
    FROM platform_adverts a JOIN platform_cycles c ON c.platform = a.platform AND c.cycle = $2
    WHERE a.platform = $1 AND a.seen_cycle < $2 AND a.gone_at IS NULL
)
UPDATE platform_adverts a SET missed = missed + 1, gone_at = CASE WHEN m.gone THEN $3::timestamptz END,
    gone_reason = CASE WHEN m.gone THEN $5 ELSE '' END
FROM missing m
WHERE a.platform = $1 AND a.platform_id = m.platform_id
RETURNING a.platform_id, m.gone`

const sqlCycleGone = `UPDATE platform_cycles SET gone = gone + $3 WHERE platform = $1 AND cycle = $2`

// End ends a cycle; the next one is due after the platform's cooldown. note says why the cycle is not complete. ""
// means that it reached the last search page, and then scrape.Judge decides: adverts missing from scrape.GoneAfter
// complete cycles in a row are gone, and a suspicious cycle makes the platform suspect. A cycle that has ended is not
// ended again.
func (s *Platforms) End(ctx context.Context, name string, cycle int64, note string, now time.Time) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlPlatformLock, name); err != nil {
			return err
		}
		var seen, total, missing int
		err := tx.QueryRow(ctx, sqlCycleEnd, name, cycle, now, clipReason(note)).
			Scan(&seen, &total, &missing)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		if note == "" {
			if err := cycleJudge(ctx, tx, name, cycle, seen, total, missing, now); err != nil {
				return err
			}
		}
		if _, err = tx.Exec(ctx, sqlPlatformCooldown, name, now); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, sqlPlatformCount, name, false)
		return err
	})
	if err != nil {
		return fmt.Errorf("end cycle %d of %s: %w", cycle, name, err)
	}
	return nil
}

// cycleJudge stores what scrape.Judge says of a cycle that reached the last search page.
func cycleJudge(ctx context.Context, tx pgx.Tx, name string, cycle int64, seen, total, missing int,
	now time.Time) error {
	verdict, note := scrape.Judge(seen, total, missing)
	if verdict == scrape.Complete {
		return cycleMarkMissing(ctx, tx, name, cycle, now)
	}
	if verdict == scrape.Suspicious {
		v := scrape.Suspicion{Of: scrape.Cycles, Reason: note, Cycle: cycle}
		if err := platformSuspect(ctx, tx, name, v, now); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, sqlCycleNote, name, cycle, clipReason(note))
	return err
}

// cycleMarkMissing counts a complete cycle against the adverts that it did not see, and marks those that are gone.
func cycleMarkMissing(ctx context.Context, tx pgx.Tx, name string, cycle int64, now time.Time) error {
	rows, _ := tx.Query(ctx, sqlAdvertsMissing, name, cycle, now, scrape.GoneAfter, scrape.GoneReason,
		scrape.GoneForSure)
	var gone []uuid.UUID
	ids := []string{}
	var id string
	var isGone bool
	_, err := pgx.ForEachRow(rows, []any{&id, &isGone}, func() error {
		if isGone {
			ids = append(ids, id)
			gone = append(gone, listing.Ref{Platform: name, PlatformID: id}.ID())
		}
		return nil
	})
	if err != nil {
		return err
	}
	b := new(pgx.Batch)
	b.Queue(sqlCycleComplete, name, cycle)
	b.Queue(sqlPlatformResultsPagesSet, name, cycle)
	b.Queue(sqlCycleGone, name, cycle, len(gone))
	b.Queue(sqlRawGone, gone, now)
	b.Queue(sqlUnitsGone, name, ids, []string{}, now)
	return tx.SendBatch(ctx, b).Close()
}

package listings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Replays are requests to take stored adverts through the pipeline again, and the progress of each. All state of a
// replay's workflow is here, so that any worker can continue it.
type Replays struct{ pool *pgxpool.Pool }

// NewReplays returns the replays kept in pool.
func NewReplays(pool *pgxpool.Pool) *Replays { return &Replays{pool} }

// A Replay is one replay and its progress.
type Replay struct {
	ID        uuid.UUID
	State     string               // running completed canceled failed
	Stage     string               // normalize dedupe import
	Filter    listing.ReplayFilter // which raw listings it takes
	Rate      int                  // adverts a second, at most
	Total     int64                // adverts that matched when it was made, of those counted so far
	Counted   bool                 // all are counted
	Done      int64                // processed to their end, skipped or failed
	Started   int64                // workflows started, or joined where one was running; without those of Skips.Gone
	Skipped   int64                // not started; skips gives the reasons
	Failed    int64                // started, and not processed to their end within ten minutes
	Outcomes  ReplayOutcomes
	Skips     ReplaySkips
	Reason    string // why it failed
	StartedBy string
	CreatedAt time.Time
	UpdatedAt time.Time
	EndedAt   *time.Time
	ETA       *time.Time // when it ends at the pace so far; nil until all are counted
}

// ReplayOutcomes counts the adverts of a replay by how they ended.
type ReplayOutcomes struct {
	Imported  int64
	Duplicate int64
	Rejected  int64
	HandedOn  int64 // handed over to a stage that another team runs
}

// ReplaySkips counts the adverts that a replay did not start, by reason.
type ReplaySkips struct {
	Staged        int64 // came normalized by another team: enter at dedupe or import
	NotNormalized int64 // no normalized form of the newest revision: enter at normalize
	Archived      int64 // no longer offered; a new scrape brings it back
	Gone          int64 // the platform does not offer it, or no scrape has seen it for too long
}

// Adverts whose newest revision arrived after the replay was created ($7) go through the pipeline without it.
const sqlReplayMatch = `
    ($1::text IS NULL OR r.platform = $1)
    AND ($2::text[] IS NULL OR r.status = ANY ($2))
    AND ($3::timestamptz IS NULL OR r.last_scraped_at >= $3)
    AND ($4::timestamptz IS NULL OR r.last_scraped_at < $4)
    AND ($5::uuid[] IS NULL OR r.id = ANY ($5))
    AND ($6::text IS NULL OR r.reasons @> jsonb_build_array(jsonb_build_object('code', $6::text)))
    AND r.revised_at <= $7`

// replayMatchArgs are the arguments of sqlReplayMatch.
func replayMatchArgs(f listing.ReplayFilter, made time.Time) []any {
	return []any{db.Stated(f.Platform), f.Status, f.ScrapedSince, f.ScrapedUntil, f.IDs, db.Stated(f.Reason), made}
}

const sqlReplayCount = `/* sqlReplayCount */ SELECT count(*) FROM raw_listings r WHERE` + sqlReplayMatch

// Count returns how many adverts a replay created now would match. When they cannot be counted within a time, as in a
// table of millions, the number is Postgres' estimate, and not exact.
func (s *Replays) Count(ctx context.Context, f listing.ReplayFilter, within time.Duration, now time.Time) (
	n int64, exact bool, err error,
) {
	args := replayMatchArgs(f, now)
	counting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err = s.pool.QueryRow(counting, sqlReplayCount, args...).Scan(&n); err == nil {
		return n, true, nil
	}
	if counting.Err() == nil || ctx.Err() != nil {
		return 0, false, db.Refused(fmt.Errorf("count adverts to replay: %w", err))
	}
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	err = s.pool.QueryRow(ctx, explainReplayCount, args...).Scan(&plans)
	if err != nil || len(plans) == 0 {
		return 0, false, fmt.Errorf("estimate adverts to replay: %w", err)
	}
	return int64(plans[0].Plan.Rows), false, nil
}

const explainReplayCount = `EXPLAIN (FORMAT JSON) SELECT FROM raw_listings r WHERE` + sqlReplayMatch

// Where a stretch of n adverts after one ends: a replay looks at the whole table in such stretches, each in a moment.
const sqlReplayStretch = `/* sqlReplayStretch */
SELECT id, n FROM (
    SELECT id, row_number() OVER (ORDER BY id) AS n FROM raw_listings WHERE id > $1 ORDER BY id LIMIT $2) s
ORDER BY n DESC LIMIT 1`

const (
	replayStretch = 2_000  // adverts that one batch of a replay looks at, at most
	countStretch  = 10_000 // adverts that are counted at a time
)

// stretch returns the last of up to n adverts after one, and how many they are.
func stretch(ctx context.Context, q db.Querier, after uuid.UUID, n int) (last uuid.UUID, found int, err error) {
	type end struct {
		ID uuid.UUID
		N  int
	}
	e, err := db.Row(ctx, q, pgx.RowToStructByPos[end], sqlReplayStretch, after, n)
	if errors.Is(err, pgx.ErrNoRows) {
		return after, 0, nil
	}
	return e.ID, e.N, err
}

const sqlReplayCounting = `/* sqlReplayCounting */
SELECT filter, created_at, counted_id FROM replays WHERE id = $1 AND NOT counted`

const sqlReplayCounted = `/* sqlReplayCounted */
UPDATE replays SET total = total + (
    SELECT count(*) FROM raw_listings r WHERE` + sqlReplayMatch + ` AND r.id > $8 AND r.id <= $9),
    counted_id = $9, counted = $10
WHERE id = $11 AND counted_id = $8 AND NOT counted`

// CountReplay counts the next few thousand adverts of a replay, where they are not all counted. Of two calls at once
// one counts.
func (s *Replays) CountReplay(ctx context.Context, id uuid.UUID) error {
	return fault.Wrap(countReplay(ctx, s.pool, id), "count adverts of replay %s", id)
}

func countReplay(ctx context.Context, q db.Querier, id uuid.UUID) error {
	type state struct {
		Filter  listing.ReplayFilter
		Made    time.Time
		Counted uuid.UUID
	}
	r, err := db.Row(ctx, q, pgx.RowToStructByPos[state], sqlReplayCounting, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	last, n, err := stretch(ctx, q, r.Counted, countStretch)
	if err != nil {
		return err
	}
	args := append(replayMatchArgs(r.Filter, r.Made), r.Counted, last, n < countStretch, id)
	rows, _ := q.Query(ctx, sqlReplayCounted, args...)
	rows.Close()
	return rows.Err()
}

const sqlReplayOpen = `/* sqlReplayOpen */
INSERT INTO replays (id, stage, filter, rate, started_by, created_at, updated_at, total, counted)
VALUES ($1, $2, $3, $4, $5, $6, $6, 0, false)
ON CONFLICT (id) DO NOTHING`

// OpenReplay stores a replay, with the audit entry of the operator. One that is stored already stays as it is.
func (s *Replays) OpenReplay(ctx context.Context, r listing.Replay) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error { return openReplay(ctx, tx, r) })
	return db.Refused(fault.Wrap(err, "open replay %s", r.ID))
}

func openReplay(ctx context.Context, tx pgx.Tx, r listing.Replay) error {
	done, err := tx.Exec(ctx, sqlReplayOpen, r.ID, r.Stage, r.Filter, r.Rate, db.Storable(r.By), r.At)
	if err != nil || done.RowsAffected() == 0 {
		return err
	}
	err = db.AuditTx(ctx, tx, db.AuditEntry{
		At: r.At, Actor: r.By, Action: "replay.started", Subject: replaySubject(r.ID),
		Detail: map[string]any{"stage": r.Stage, "filter": r.Filter, "rate": r.Rate},
	})
	if err != nil {
		return err
	}
	return countReplay(ctx, tx, r.ID) // of a small table all
}

// Two requests at once would not see one another's replay.
const sqlReplayTurn = `/* sqlReplayTurn */ SELECT pg_advisory_xact_lock(hashtext('conveyor replays'))`

const sqlReplayRunning = `/* sqlReplayRunning */
SELECT id, stage, filter, rate, started_by, created_at, stage = $3 AND filter = $4::jsonb AND rate = $5
FROM replays
WHERE id = $1 OR state = 'running'
    AND ($2::text IS NULL OR filter ->> 'platform' IS NULL OR filter ->> 'platform' = $2)
ORDER BY id = $1 DESC, created_at, id LIMIT 1`

// StartReplay stores a replay, with the audit entry of the operator. Its caller starts the workflow, where the state is
// running: the request may be repeated because that one was lost. One replay runs at a time for a platform, and one of
// all platforms alone; while there is one, fault.Conflict names it.
//
// A request may be repeated. With the ID of a stored replay it joins that one, and is fault.Conflict when that was
// another request; without an ID it joins a running replay of the same stage, filter and rate.
func (s *Replays) StartReplay(ctx context.Context, r listing.Replay) (out Replay, err error) {
	err = db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, sqlReplayTurn); err != nil {
			return err
		}
		var (
			found listing.Replay
			same  bool
		)
		err := tx.QueryRow(ctx, sqlReplayRunning, r.ID, db.Stated(r.Filter.Platform), r.Stage, r.Filter, r.Rate).
			Scan(&found.ID, &found.Stage, &found.Filter, &found.Rate, &found.By, &found.At, &same)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			found = r
			if r.ID == uuid.Nil {
				found.ID = uuid.New()
			}
			if err := openReplay(ctx, tx, found); err != nil {
				return err
			}
		case err != nil:
			return err
		case found.ID == r.ID && !same:
			return fault.Newf(fault.Conflict, "id: replay %s was another request", r.ID)
		case found.ID != r.ID && (!same || r.ID != uuid.Nil):
			return fault.Newf(fault.Conflict, "replay %s is running for %s; cancel it, or wait until it ends", found.ID,
				cmp.Or(found.Filter.Platform, "all platforms"))
		}
		out, err = db.Row(ctx, tx, scanReplay, sqlReplayOne, found.ID)
		return err
	})
	return out, db.Refused(fault.Wrap(err, "start replay"))
}

// Request is what was asked for.
func (r Replay) Request() listing.Replay {
	return listing.Replay{ID: r.ID, Stage: r.Stage, Filter: r.Filter, Rate: r.Rate, By: r.StartedBy, At: r.CreatedAt}
}

const sqlReplaysUnstarted = `/* sqlReplaysUnstarted */` +
	sqlReplay + ` WHERE state = 'running' AND updated_at < $1 ORDER BY id LIMIT $2`

// Unstarted returns up to n running replays to which nothing has happened since a time: the start of their workflow may
// have failed, or it was ended by hand.
func (s *Replays) Unstarted(ctx context.Context, since time.Time, n int) ([]listing.Replay, error) {
	found, err := db.Rows(ctx, s.pool, func(row pgx.CollectableRow) (listing.Replay, error) {
		r, err := scanReplay(row)
		return r.Request(), err
	}, sqlReplaysUnstarted, since, n)
	return found, fault.Wrap(err, "list replays to start")
}

func replaySubject(id uuid.UUID) string { return "replay/" + id.String() }

// Adverts that have finished leave replay_items and are counted by outcome; those started before $3 leave it as failed.
// The statement sees replay_items as it was before, so the rest is the count before without the deleted ones. An advert
// that was withheld when it was started counts as skipped.
const sqlReplaySettle = `/* sqlReplaySettle */
WITH ended AS (
    DELETE FROM replay_items i USING raw_listings r
    WHERE i.replay_id = $1 AND r.id = i.listing_id AND (r.settlements > i.settlements OR i.started_at < $3)
    RETURNING CASE WHEN r.settlements <= i.settlements THEN 'lost'
        WHEN r.archived_at IS NOT NULL AND r.status <> 'rejected' THEN 'gone' ELSE r.status END AS how
), counted AS (
    SELECT count(*) AS ended, count(*) FILTER (WHERE how = 'imported') AS imported,
        count(*) FILTER (WHERE how = 'duplicate') AS duplicate, count(*) FILTER (WHERE how = 'rejected') AS rejected,
        count(*) FILTER (WHERE how IN ('scraped', 'normalized')) AS handed_on,
        count(*) FILTER (WHERE how = 'gone') AS gone, count(*) FILTER (WHERE how = 'lost') AS lost,
        (SELECT count(*) FROM replay_items WHERE replay_id = $1) AS before
    FROM ended
)
UPDATE replays p SET
    imported = p.imported + c.imported, duplicate = p.duplicate + c.duplicate, rejected = p.rejected + c.rejected,
    handed_on = p.handed_on + c.handed_on, skipped_gone = p.skipped_gone + c.gone,
    started = p.started - c.gone, failed = p.failed + c.lost, updated_at = $2,
    state    = CASE WHEN p.exhausted AND c.before = c.ended THEN 'completed' ELSE p.state END,
    ended_at = CASE WHEN p.exhausted AND c.before = c.ended THEN $2::timestamptz END
FROM counted c
WHERE p.id = $1 AND p.state = 'running'
RETURNING p.state, p.rate, p.last_id, p.exhausted, (c.before - c.ended)::int, p.counted`

// A worker that was frozen may be advancing the replay. sqlReplaySettle must begin after that is committed, or it
// counts the items of before.
const sqlReplayLock = `/* sqlReplayLock */ SELECT 1 FROM replays WHERE id = $1 FOR UPDATE`

const sqlReplayPosition = `/* sqlReplayPosition */
SELECT state, rate, last_id, exhausted, 0, counted FROM replays WHERE id = $1`

// SettleReplay counts the adverts that have finished, gives up those started before lost, completes the replay when
// none is left, and returns its position. An unknown replay is fault.Gone.
func (s *Replays) SettleReplay(ctx context.Context, id uuid.UUID, now, lost time.Time) (
	p listing.ReplayPosition, err error,
) {
	read := func(rows pgx.Rows) (err error) {
		p, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[listing.ReplayPosition])
		return err
	}
	b := new(pgx.Batch)
	b.Queue(sqlReplayLock, id)
	b.Queue(sqlReplaySettle, id, now, lost).Query(read)
	err = s.pool.SendBatch(ctx, b).Close()
	if errors.Is(err, pgx.ErrNoRows) { // it does not run any more
		p, err = db.Row(ctx, s.pool, pgx.RowToStructByPos[listing.ReplayPosition], sqlReplayPosition, id)
	}
	return p, db.Gone(fault.Wrap(err, "settle replay %s", id), "there is no replay %s", id)
}

const sqlReplayRequest = `/* sqlReplayRequest */ SELECT stage, filter, created_at FROM replays WHERE id = $1`

// What is claimed is not skipped as gone: its owner keeps it, offered or not.
const sqlReplayNext = `/* sqlReplayNext */
SELECT r.platform, r.platform_id, r.revision, coalesce(l.title, ''), l.rent_cents, r.settlements,
    CASE WHEN l.status = 'archived' AND r.status NOT IN ('rejected', 'duplicate') THEN 'archived'
        WHEN (r.gone_at IS NOT NULL OR r.last_scraped_at < $12 AND NOT ` + sqlScraperKnows + `)
            AND l.status IS DISTINCT FROM 'claimed' THEN 'gone'
        WHEN $9 = 'normalize' AND r.staged THEN 'staged'
        WHEN $9 <> 'normalize' AND r.normalized_revision < r.revision THEN 'not_normalized' ELSE '' END
FROM raw_listings r LEFT JOIN listings l ON l.id = r.id
WHERE` + sqlReplayMatch + ` AND r.id > $8 AND r.id <= $11
ORDER BY r.id LIMIT $10`

// NextOfReplay looks at the stored adverts after the one that is last, and returns those that match, in the order of
// their IDs: at most n of them, and of a few thousand adverts. Those that are gone, or that no scrape has seen since
// stale and no scraper remembers, are skipped.
func (s *Replays) NextOfReplay(ctx context.Context, id, last uuid.UUID, n int, stale time.Time) (
	p listing.ReplayPage, err error,
) {
	var (
		stage  string
		filter listing.ReplayFilter
		made   time.Time
	)
	if err := s.pool.QueryRow(ctx, sqlReplayRequest, id).Scan(&stage, &filter, &made); err != nil {
		return p, fmt.Errorf("read replay %s: %w", id, err)
	}
	looked := 0
	if p.Last, looked, err = stretch(ctx, s.pool, last, replayStretch); err != nil {
		return p, fmt.Errorf("read adverts of replay %s: %w", id, err)
	}
	p.More = looked == replayStretch
	p.Items, err = db.Rows(ctx, s.pool, func(row pgx.CollectableRow) (i listing.ReplayItem, err error) {
		i.Stage = stage
		return i, row.Scan(&i.Ref.Platform, &i.Ref.PlatformID, &i.Revision, &i.Title, &i.RentCents, &i.Settlements, &i.Skip)
	}, sqlReplayNext, append(replayMatchArgs(filter, made), last, stage, n, p.Last, stale)...)
	if err != nil {
		return p, fmt.Errorf("read adverts of replay %s: %w", id, err)
	}
	if len(p.Items) == n {
		p.Last, p.More = p.Items[n-1].Ref.ID(), true
	}
	return p, nil
}

// Of two calls that advance from the same place only the first does: the other worker was frozen, or repeats a call
// whose answer was lost. When all were looked at, their number is known.
const sqlReplayAdvance = `/* sqlReplayAdvance */
UPDATE replays SET last_id = $3, exhausted = $4, updated_at = $5, started = started + $6,
    skipped_staged = skipped_staged + $7, skipped_not_normalized = skipped_not_normalized + $8,
    skipped_archived = skipped_archived + $9, skipped_gone = skipped_gone + $10,
    total = CASE WHEN $4 AND NOT counted THEN started + $6 + skipped_staged + $7 + skipped_not_normalized + $8
        + skipped_archived + $9 + skipped_gone + $10 ELSE total END,
    counted = counted OR $4
WHERE id = $1 AND last_id = $2 AND state = 'running' AND NOT exhausted`

const sqlReplayItemsAdd = `/* sqlReplayItemsAdd */
INSERT INTO replay_items (replay_id, listing_id, settlements, started_at)
SELECT $1, u.id, u.settlements, $4 FROM unnest($2::uuid[], $3::bigint[]) u (id, settlements)
ON CONFLICT DO NOTHING`

// AdvanceReplay moves a replay from the advert last past a page whose items were started or skipped. When the replay is
// at another place it changes nothing.
func (s *Replays) AdvanceReplay(ctx context.Context, id, last uuid.UUID, p listing.ReplayPage, now time.Time) error {
	skips := map[string]int{}
	ids, settlements := []uuid.UUID{}, []int64{}
	for _, i := range p.Items {
		if i.Skip != "" {
			skips[i.Skip]++
			continue
		}
		ids, settlements = append(ids, i.Ref.ID()), append(settlements, i.Settlements)
	}
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sqlReplayAdvance, id, last, p.Last, !p.More, now, len(ids), skips[listing.SkipStaged],
			skips[listing.SkipNotNormalized], skips[listing.SkipArchived], skips[listing.SkipGone])
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, sqlReplayItemsAdd, id, ids, settlements, now)
		return err
	})
	return fault.Wrap(err, "advance replay %s", id)
}

const sqlReplayEnd = `/* sqlReplayEnd */
UPDATE replays SET state = $2, reason = $3, updated_at = $4, ended_at = $4 WHERE id = $1 AND state = 'running'`

const sqlReplayItemsForget = `/* sqlReplayItemsForget */ DELETE FROM replay_items WHERE replay_id = $1`

// EndReplay ends a replay that runs, as canceled or failed; any other stays as it is. Adverts that it
// started go on, and are not counted any more.
func (s *Replays) EndReplay(ctx context.Context, id uuid.UUID, state, reason string, now time.Time) error {
	return s.end(ctx, id, state, reason, now, nil)
}

// Cancel ends a replay as canceled, with the audit entry of by. One that is canceled already stays so; one that ended
// otherwise is fault.Conflict, an unknown one fault.Gone.
func (s *Replays) Cancel(ctx context.Context, id uuid.UUID, by string, now time.Time) (Replay, error) {
	err := s.end(ctx, id, listing.ReplayCanceled, "", now,
		&db.AuditEntry{At: now, Actor: by, Action: "replay.canceled", Subject: replaySubject(id)})
	if err != nil {
		return Replay{}, err
	}
	r, err := s.Get(ctx, id)
	if err == nil && r.State != listing.ReplayCanceled {
		return r, fault.Newf(fault.Conflict, "replay %s has %s: there is nothing left to cancel", id, r.State)
	}
	return r, err
}

func (s *Replays) end(
	ctx context.Context, id uuid.UUID, state, reason string, now time.Time, entry *db.AuditEntry,
) error {
	err := db.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		done, err := tx.Exec(ctx, sqlReplayEnd, id, state, db.Storable(reason), now)
		if err != nil || done.RowsAffected() == 0 {
			return err
		}
		b := new(pgx.Batch)
		b.Queue(sqlReplayItemsForget, id)
		if entry != nil {
			db.AuditAdd(ctx, b, *entry)
		}
		return tx.SendBatch(ctx, b).Close()
	})
	return fault.Wrap(err, "end replay %s", id)
}

const sqlReplay = `/* sqlReplay */
SELECT id, state, stage, filter, rate, total, counted, started, imported, duplicate, rejected, handed_on, failed,
    skipped_staged, skipped_not_normalized, skipped_archived, skipped_gone, reason, started_by, created_at,
    updated_at, ended_at
FROM replays`

const sqlReplayOne = `/* sqlReplayOne */ ` + sqlReplay + ` WHERE id = $1`

// Get returns a replay. An unknown one is fault.Gone.
func (s *Replays) Get(ctx context.Context, id uuid.UUID) (Replay, error) {
	r, err := db.Row(ctx, s.pool, scanReplay, sqlReplayOne, id)
	return r, db.Gone(fault.Wrap(err, "read replay %s", id), "there is no replay %s", id)
}

const sqlReplayList = `/* sqlReplayList */ ` + sqlReplay + `
WHERE ($1::text[] IS NULL OR state = ANY ($1))
    AND ($3::uuid IS NULL OR (created_at, id) < ($2::timestamptz, $3::uuid))
ORDER BY created_at DESC, id DESC LIMIT $4`

// List returns up to n replays after a position, the newest first, of one of the states, or of any
// for none, and the position to go on from: nil when these were the last.
func (s *Replays) List(ctx context.Context, states []string, after *db.Position, n int) (
	[]Replay, *db.Position, error,
) {
	id, at := after.Keys()
	found, err := db.Rows(ctx, s.pool, scanReplay, sqlReplayList, db.Among(states), at, id, n+1)
	found, next := db.CutPage(found, n, func(r Replay) db.Position { return db.Position{At: r.CreatedAt, ID: r.ID} })
	return found, next, fault.Wrap(err, "list replays")
}

// scanReplay reads a row of sqlReplay and derives the sums and the ETA.
func scanReplay(row pgx.CollectableRow) (r Replay, err error) {
	o, k := &r.Outcomes, &r.Skips
	err = row.Scan(&r.ID, &r.State, &r.Stage, &r.Filter, &r.Rate, &r.Total, &r.Counted, &r.Started, &o.Imported,
		&o.Duplicate, &o.Rejected, &o.HandedOn, &r.Failed, &k.Staged, &k.NotNormalized, &k.Archived, &k.Gone, &r.Reason,
		&r.StartedBy, &r.CreatedAt, &r.UpdatedAt, &r.EndedAt)
	r.Skipped = k.Staged + k.NotNormalized + k.Archived + k.Gone
	r.Done = o.Imported + o.Duplicate + o.Rejected + o.HandedOn + r.Failed + r.Skipped
	if r.State == listing.ReplayRunning && r.Counted && r.Done > 0 {
		left := time.Duration(float64(r.UpdatedAt.Sub(r.CreatedAt)) * float64(max(r.Total-r.Done, 0)) / float64(r.Done))
		eta := r.UpdatedAt.Add(left)
		r.ETA = &eta
	}
	return r, err
}

package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Each lane is visited once, by a loose index scan, for its oldest message and the oldest of the refused ones that are
// due next; the others are counted up to a limit.
const sqlOutboxWaiting = `/* sqlOutboxWaiting */
WITH RECURSIVE lanes AS (
    (SELECT lane FROM outbox WHERE published_at IS NULL ORDER BY lane LIMIT 1)
    UNION ALL
    SELECT o.lane FROM lanes t CROSS JOIN LATERAL (
        SELECT lane FROM outbox WHERE published_at IS NULL AND lane > t.lane ORDER BY lane LIMIT 1) o
), oldest AS (
    SELECT min(o.created_at) AS at FROM lanes t CROSS JOIN LATERAL (
        (SELECT created_at FROM outbox WHERE published_at IS NULL AND lane = t.lane AND due_at = '-infinity'
        ORDER BY id LIMIT 1)
        UNION ALL
        (SELECT created_at FROM outbox WHERE published_at IS NULL AND lane = t.lane AND due_at > '-infinity'
        ORDER BY due_at LIMIT 1000)) o
), counted AS (
    SELECT count(*) AS pending, count(*) FILTER (WHERE refusals > 0) AS refused
    FROM (SELECT refusals FROM outbox WHERE published_at IS NULL LIMIT $1) o
)
SELECT c.pending, c.refused, o.at FROM counted c, oldest o`

// Waiting counts the messages that wait to be published, up to backlog.MostPending, and says how long the oldest has
// waited.
func (o *Outbox) Waiting(ctx context.Context, now time.Time) (out backlog.Outbox, err error) {
	var oldest *time.Time
	err = o.pool.QueryRow(ctx, sqlOutboxWaiting, backlog.MostPending).Scan(&out.Pending, &out.Refused, &oldest)
	if err != nil {
		return out, fmt.Errorf("count outbox: %w", err)
	}
	if oldest != nil { // another machine's clock wrote it, and may be ahead
		out.OldestAgeSeconds = max(0, now.Sub(*oldest).Seconds())
	}
	return out, nil
}

const sqlDeadLettersOpen = `/* sqlDeadLettersOpen */
SELECT queue, class, count(*) FROM (
    SELECT queue, class FROM dead_letters WHERE state = 'open' ORDER BY last_at DESC, id DESC LIMIT $1) d
GROUP BY queue, class ORDER BY queue, class`

// OpenByQueue counts the dead letters that wait for an operator, the newest backlog.MostLetters of them.
func (s *DeadLetters) OpenByQueue(ctx context.Context) ([]backlog.DeadCount, error) {
	out, err := Rows(ctx, s.pool, pgx.RowToStructByPos[backlog.DeadCount], sqlDeadLettersOpen, backlog.MostLetters)
	return out, fault.Wrap(err, "count dead letters")
}

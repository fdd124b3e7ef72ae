package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/domain/backlog"
)

const sqlOutboxWaiting = `
SELECT count(*), count(*) FILTER (WHERE refusals > 0), min(created_at) FROM outbox WHERE published_at IS NULL`

// Waiting counts the messages that wait to be published, and says how long the oldest has waited.
func (o *Outbox) Waiting(ctx context.Context, now time.Time) (out backlog.Outbox, err error) {
	var oldest *time.Time
	err = o.pool.QueryRow(ctx, sqlOutboxWaiting).Scan(&out.Pending, &out.Refused, &oldest)
	if err != nil {
		return out, fmt.Errorf("count outbox: %w", err)
	}
	if oldest != nil { // another machine's clock wrote it, and may be ahead
		out.OldestAgeSeconds = max(0, now.Sub(*oldest).Seconds())
	}
	return out, nil
}

const sqlDeadLettersOpen = `
SELECT queue, class, count(*) FROM dead_letters WHERE state = 'open' GROUP BY queue, class ORDER BY queue, class`

// OpenByQueue counts the dead letters that wait for an operator.
func (s *DeadLetters) OpenByQueue(ctx context.Context) ([]backlog.DeadCount, error) {
	rows, _ := s.pool.Query(ctx, sqlDeadLettersOpen) // CollectRows reports its error
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[backlog.DeadCount])
	if err != nil {
		return nil, fmt.Errorf("count dead letters: %w", err)
	}
	return out, nil
}

package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Samples are the past of the queues.
type Samples struct{ pool *pgxpool.Pool }

// NewSamples returns the samples kept in pool.
func NewSamples(pool *pgxpool.Pool) *Samples { return &Samples{pool} }

const (
	samplesEvery = 30 * time.Second
	samplesKept  = 48 * time.Hour
)

// Of several processes that sample at one time, one takes the lock and the others do nothing.
const sqlSamplesAdd = `/* sqlSamplesAdd */
WITH turn AS MATERIALIZED (SELECT pg_try_advisory_xact_lock(hashtext('backlog_samples')) AS mine), gone AS (
    DELETE FROM backlog_samples WHERE at < $2 AND (SELECT mine FROM turn)
)
INSERT INTO backlog_samples (at, kind, queue, ready, in_rate, done_rate)
SELECT $1, s.* FROM unnest($4::text[], $5::text[], $6::bigint[], $7::float8[], $8::float8[]) s
WHERE (SELECT mine FROM turn) AND NOT EXISTS (SELECT FROM backlog_samples WHERE at > $3)
ON CONFLICT DO NOTHING`

// Add stores samples of one time, unless another process has done so for it, and deletes those of more than two days
// ago.
func (s *Samples) Add(ctx context.Context, samples []backlog.Sample, now time.Time) error {
	n := len(samples)
	kinds, queues, ready := make([]string, n), make([]string, n), make([]int64, n)
	in, done := make([]*float64, n), make([]*float64, n)
	for i, q := range samples {
		kinds[i], queues[i], ready[i], in[i], done[i] = q.Kind, q.Queue, q.Ready, q.In, q.Done
	}
	_, err := s.pool.Exec(ctx, sqlSamplesAdd, now, now.Add(-samplesKept), now.Add(-samplesEvery*2/3), kinds, queues,
		ready, in, done)
	return fault.Wrap(err, "store samples of %d queues", n)
}

// A SamplePoint is what waited in a queue at a time.
type SamplePoint struct {
	Kind  string // rabbitmq workflow activity postgres
	Queue string
	At    time.Time // start of the slot
	Ready int64     // the most in the slot
	In    *float64  // a second, on average; nil = not known
	Done  *float64
}

const sqlSamples = `/* sqlSamples */
SELECT kind, queue, date_bin($3::interval, at, '2026-01-01Z'), max(ready), avg(in_rate), avg(done_rate)
FROM backlog_samples WHERE at >= $1 AND ($2::text IS NULL OR queue = $2)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`

// Since returns the samples of all queues, or of one, since a time, in slots of a length: by kind, queue and time.
func (s *Samples) Since(ctx context.Context, since time.Time, queue string, slot time.Duration) ([]SamplePoint, error) {
	points, err := Rows(ctx, s.pool, pgx.RowToStructByPos[SamplePoint], sqlSamples, since, Stated(queue), slot)
	return points, Refused(fault.Wrap(err, "read samples"))
}

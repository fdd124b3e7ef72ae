package db

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/retention"
)

// Functions of the schema make, drop and look at the partitions, as the owner of the tables: the role of the
// application may do nothing but call them. A statement is a transaction of its own, so that its locks are short.
const (
	sqlPartitionsMake    = `/* sqlPartitionsMake */ SELECT partitions_make($1, $2)`
	sqlPartitionsAnalyze = `/* sqlPartitionsAnalyze */ SELECT partitions_analyze($1)`
	sqlPartitionsExpire  = `/* sqlPartitionsExpire */ SELECT cursor, more, deleted FROM partitions_expire($1, $2, $3, $4)`
	sqlPartitionsState   = `/* sqlPartitionsState */ SELECT parent, until, strays FROM partitions_state()`

	sqlCrawlPartitionsMake    = `/* sqlCrawlPartitionsMake */ SELECT crawl_partitions_make($1)`
	sqlCrawlPartitionsAnalyze = `/* sqlCrawlPartitionsAnalyze */ SELECT crawl_partitions_analyze()`
	sqlCrawlPartitionsExpire  = `/* sqlCrawlPartitionsExpire */ SELECT more, deleted FROM crawl_partitions_expire($1)`
	sqlCrawlPartitionsState   = `/* sqlCrawlPartitionsState */ SELECT parent, runs, strays FROM crawl_partitions_state()`
)

// partitioned are the tables of the kinds that are dropped by the month.
var partitioned = map[string]string{
	retention.Revisions: "raw_listing_revisions", retention.Events: "listing_events", retention.Audit: "audit",
}

// MakePartitions makes the partitions of the month of now and of the three that come next, where they are missing, and
// those of the crawl runs of the next weeks. It fails where a table stays locked for half a second. It may be
// repeated.
func (s *Retention) MakePartitions(ctx context.Context, now time.Time) error {
	if err := makePartitions(ctx, s.pool, now); err != nil {
		return err
	}
	return makeCrawlPartitions(ctx, s.pool, now)
}

func makePartitions(ctx context.Context, pool *pgxpool.Pool, now time.Time) error {
	for _, table := range slices.Sorted(maps.Values(partitioned)) {
		var made int
		if err := pool.QueryRow(ctx, sqlPartitionsMake, table, now).Scan(&made); err != nil {
			return fmt.Errorf("make partitions of %s: %w", table, err)
		}
		if made == 0 {
			continue
		}
		if _, err := pool.Exec(ctx, sqlPartitionsAnalyze, table); err != nil {
			return fmt.Errorf("analyze %s: %w", table, err)
		}
	}
	return nil
}

// crawlPartitionsMost is more than are made at once, with the steps that end an overflow of the last one.
const crawlPartitionsMost = 20

// makeCrawlPartitions makes the partitions of the runs that come, a range at a time.
func makeCrawlPartitions(ctx context.Context, pool *pgxpool.Pool, now time.Time) error {
	made := 0
	for range crawlPartitionsMost {
		var more int
		if err := pool.QueryRow(ctx, sqlCrawlPartitionsMake, now).Scan(&more); err != nil {
			return fmt.Errorf("make partitions of crawl runs: %w", err)
		}
		if more == 0 {
			break
		}
		made++
	}
	if made == 0 {
		return nil
	}
	_, err := pool.Exec(ctx, sqlCrawlPartitionsAnalyze)
	return fault.Wrap(err, "analyze partitions of crawl runs")
}

// expirePartitions drops the oldest month of a table, where all of it is older than before. When there is none it
// deletes such rows of what the table was before it was partitioned, and those that fit no month, about most a step.
func (s *Retention) expirePartitions(ctx context.Context, table string, before time.Time, cursor string, most int) (
	step retention.Step, err error,
) {
	err = s.pool.QueryRow(ctx, sqlPartitionsExpire, table, before, cursor, most).
		Scan(&step.Cursor, &step.More, &step.Deleted)
	return step, err
}

// Partitions says of each partitioned table until when it has partitions, and how many rows are in none of them, up to
// 1,000. Tables of crawls, which are last, have theirs for a number of runs.
func (s *Retention) Partitions(ctx context.Context) ([]backlog.Partitioned, error) {
	out, err := Rows(ctx, s.pool, func(row pgx.CollectableRow) (p backlog.Partitioned, err error) {
		return p, row.Scan(&p.Table, &p.Until, &p.Strays)
	}, sqlPartitionsState)
	if err != nil {
		return nil, fmt.Errorf("read partitions: %w", err)
	}
	crawls, err := Rows(ctx, s.pool, func(row pgx.CollectableRow) (p backlog.Partitioned, err error) {
		return p, row.Scan(&p.Table, &p.Runs, &p.Strays)
	}, sqlCrawlPartitionsState)
	return append(out, crawls...), fault.Wrap(err, "read partitions of crawl runs")
}

package db

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A commit waits for a standby as long as there is none, and only the sessions that wait say so: reads go on. The role
// of the application sees those of its own sessions, and how many standbys there are, but not which of them count.
const sqlCommits = `/* sqlCommits */
SELECT COALESCE(extract(epoch FROM max(clock_timestamp() - query_start)), 0)::float8,
	current_setting('synchronous_standby_names') <> '' AND current_setting('synchronous_commit') NOT IN ('off', 'local')
		AND NOT EXISTS (SELECT FROM pg_stat_replication)
FROM pg_stat_activity
WHERE usename = current_user AND wait_event = 'SyncRep'`

// Commits says whether commits wait for a synchronous standby. It writes nothing.
func Commits(ctx context.Context, pool *pgxpool.Pool) (backlog.Commits, error) {
	var c backlog.Commits
	err := pool.QueryRow(ctx, sqlCommits).Scan(&c.WaitSeconds, &c.NoStandby)
	return c, fault.Wrap(err, "look for commits that wait")
}

// Answers returns nil when the database of pool answers and can commit, and backlog.ErrStuck when commits wait.
func Answers(ctx context.Context, pool *pgxpool.Pool) error {
	c, err := Commits(ctx, pool)
	if err == nil && c.Stuck() {
		err = fmt.Errorf("%w: %s", backlog.ErrStuck, time.Duration(c.WaitSeconds*float64(time.Second)).Round(time.Second))
	}
	return err
}

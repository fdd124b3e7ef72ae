package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Behind is how far the replica of Postgres was behind the primary, as that said when it last answered with a replica.
// Unless commits wait for the replica, those that were acknowledged in the last For before At, or later, may be lost
// with the primary; none before.
type Behind struct {
	Primary string        // "" = nothing is known
	At      time.Time     // before it was asked
	Bytes   int64         // of the log
	For     time.Duration // at most; negative = not known, for it never had everything
}

// ago says it as of a later time.
func (b Behind) ago(now time.Time) string {
	if b.Primary == "" {
		return "how far the replica was behind is not known"
	}
	by := fmt.Sprintf("%d bytes", b.Bytes)
	if b.For >= 0 {
		by += fmt.Sprintf(" and at most %s", b.For.Round(10*time.Millisecond))
	}
	return fmt.Sprintf("the replica was %s behind %s, as that said %s before", by, b.Primary,
		max(now.Sub(b.At), 0).Round(10*time.Millisecond))
}

// lag is made of what the primary says, time and again.
type lag struct {
	mu     sync.Mutex
	behind Behind
	safe   time.Time // all that was acknowledged before has arrived at the replica
	ends   []logEnd  // later ones, of which that is not known
}

// logEnd is how far the log was written, at least, when the primary had been asked at a time.
type logEnd struct {
	at      time.Time
	written int64
}

// lagEnds bounds the memory of a replica that is behind for long: ten minutes. It seems later than it is then.
const lagEnds = 600

// saw adds what a primary says: how far its log is written, and how far the replica has it.
func (l *lag) saw(primary string, at time.Time, written, flushed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if primary != l.behind.Primary {
		l.ends, l.safe = nil, time.Time{}
	}
	if len(l.ends) < lagEnds {
		l.ends = append(l.ends, logEnd{at, written})
	}
	for len(l.ends) > 0 && l.ends[0].written <= flushed {
		l.safe, l.ends = l.ends[0].at, l.ends[1:]
	}
	l.behind = Behind{Primary: primary, At: at, Bytes: max(written-flushed, 0), For: -1}
	if !l.safe.IsZero() {
		l.behind.For = at.Sub(l.safe)
	}
}

func (l *lag) now() Behind {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.behind
}

// Behind is how far the replica is behind the primary; after a promotion how far it was, until there is another one.
func (c *Cluster) Behind() Behind { return c.lag.now() }

const sqlBehind = `
SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint, pg_wal_lsn_diff(flush_lsn, '0/0')::bigint
FROM pg_stat_replication WHERE flush_lsn IS NOT NULL AND NOT pg_is_in_recovery() ORDER BY flush_lsn DESC LIMIT 1`

// watchEvery is how often the primary is asked.
const watchEvery = time.Second

// watch asks the primary how far the replica is behind, until ctx ends.
func (c *Cluster) watch(ctx context.Context) {
	for ctx.Err() == nil {
		c.watchOne(ctx, c.Primary())
		select {
		case <-ctx.Done():
		case <-time.After(watchEvery):
		}
	}
}

// watchOne asks one primary by one connection, until that fails or another host is the primary.
func (c *Cluster) watchOne(ctx context.Context, primary string) {
	connecting, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	conn, err := pgx.Connect(connecting, c.stack(primary).SuperURL("postgres"))
	if err != nil {
		return
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for c.Primary() == primary {
		asking, cancel := context.WithTimeout(ctx, askWithin)
		at := time.Now()
		var written, flushed int64
		err := conn.QueryRow(asking, sqlBehind).Scan(&written, &flushed)
		cancel()
		switch {
		case err == nil:
			c.lag.saw(primary, at, written, flushed)
		case !errors.Is(err, pgx.ErrNoRows): // there is no replica
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(watchEvery):
		}
	}
}

package db

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// diskEvery is how often Postgres is asked how much it takes, which looks at each of its files, and diskWithin for how
// long.
const (
	diskEvery  = 30 * time.Second
	diskWithin = time.Second
)

// A Disk is that of Postgres, which cannot say how much of it is free, but what it takes.
type Disk struct {
	pool  *pgxpool.Pool
	bytes int64
	now   func() time.Time

	asking sync.Mutex
	mu     sync.Mutex
	asked  time.Time
	free   int64
}

// NewDisk returns the disk of so many bytes of the server of pool.
func NewDisk(pool *pgxpool.Pool, bytes int64, now func() time.Time) *Disk {
	return &Disk{pool: pool, bytes: bytes, now: now, free: math.MaxInt64}
}

// Without the right to look at the log that is written ahead, it is taken for as large as it becomes by itself.
const sqlDiskTaken = `/* sqlDiskTaken */
SELECT (
        SELECT coalesce(sum(pg_database_size(oid)), 0)::bigint FROM pg_database
        WHERE has_database_privilege(oid, 'CONNECT')),
    pg_size_bytes(current_setting('max_wal_size')), has_function_privilege('pg_ls_waldir()', 'EXECUTE')`

const sqlDiskLog = `/* sqlDiskLog */ SELECT coalesce(sum(size), 0)::bigint FROM pg_ls_waldir()`

// Free is how many bytes of the disk neither the databases of the server nor its log take, as of diskEvery ago at most;
// negative where they take more. While Postgres does not answer, which its own check tells, it is what it was: before
// the first answer, as many as there are.
func (d *Disk) Free(ctx context.Context) int64 {
	free := d.last()
	switch {
	case free == math.MaxInt64: // nothing is known: what is asked for at once waits for the first answer
		d.asking.Lock()
	case !d.asking.TryLock():
		return free
	}
	defer d.asking.Unlock()
	d.ask(ctx)
	return d.last()
}

func (d *Disk) last() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free
}

func (d *Disk) ask(ctx context.Context) {
	if age := d.now().Sub(d.asked); age >= 0 && age < diskEvery {
		return
	}
	d.asked = d.now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskWithin) // whose caller goes asks for others, too
	defer cancel()
	var databases, log int64
	var may bool
	err := d.pool.QueryRow(ctx, sqlDiskTaken).Scan(&databases, &log, &may)
	if err == nil && may {
		err = d.pool.QueryRow(ctx, sqlDiskLog).Scan(&log)
	}
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.free = d.bytes - databases - log
}

package db

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// diskEvery is how often Postgres is asked how much it takes, which looks at each of its files. diskWithin is how long
// a caller waits for that, and diskMost how long it may take.
const (
	diskEvery  = 30 * time.Second
	diskWithin = time.Second
	diskMost   = 10 * time.Second
)

// A Disk is that of Postgres, which cannot say how much of it is free, but what it takes.
type Disk struct {
	pool  *pgxpool.Pool
	bytes int64
	now   func() time.Time

	mu     sync.Mutex
	asking chan struct{} // closed with the answer; nil = Postgres is not being asked
	asked  time.Time     // when it was last
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

// Free is how many bytes of the disk neither the databases of the server nor its log take, as of diskEvery ago where it
// answers at once; negative where they take more. While Postgres does not answer, which its own check tells, it is what
// it was: before the first answer, as many as there are. One caller at a time waits for the answer, and all do for the
// first one, but not longer than diskWithin: a later one has it then.
func (d *Disk) Free(ctx context.Context) int64 {
	free, answer := d.begin(ctx)
	if answer == nil {
		return free
	}
	timer := time.NewTimer(diskWithin)
	defer timer.Stop()
	select {
	case <-answer:
	case <-timer.C:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.free
}

// begin asks Postgres where it is time to. The answer is one to wait for; nil = what is known counts.
func (d *Disk) begin(ctx context.Context) (free int64, answer <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch age := d.now().Sub(d.asked); {
	case d.asking != nil && d.free == math.MaxInt64:
		return d.free, d.asking
	case d.asking != nil, age >= 0 && age < diskEvery:
		return d.free, nil
	}
	d.asked, d.asking = d.now(), make(chan struct{})
	go func() { // ends after diskMost
		var taken int64
		err := fault.Try("asking Postgres what it takes", nil, func() (err error) {
			taken, err = d.ask(ctx)
			return err
		})
		d.answered(taken, err)
	}()
	return d.free, d.asking
}

// ask is how many bytes Postgres takes. Whose caller goes asks for others, too.
func (d *Disk) ask(ctx context.Context) (taken int64, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diskMost)
	defer cancel()
	var databases, log int64
	var may bool
	if err = d.pool.QueryRow(ctx, sqlDiskTaken).Scan(&databases, &log, &may); err == nil && may {
		err = d.pool.QueryRow(ctx, sqlDiskLog).Scan(&log)
	}
	return databases + log, err
}

func (d *Disk) answered(taken int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		d.free = d.bytes - taken
	}
	close(d.asking)
	d.asking = nil
}

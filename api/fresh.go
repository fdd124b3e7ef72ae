package api

import (
	"context"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// How what lets callers in, keys and sessions, is read.
const (
	keysFresh   = 5 * time.Second // how long a read is valid: what was revoked is refused after it
	keysGrace   = time.Minute     // how long it is valid while the database is unavailable
	keysPause   = 2 * time.Second // after a read that failed
	keysTimeout = time.Second     // for a read
	usedEvery   = time.Minute     // resolution of the last use
)

// A fresh caches rows by their key, keysFresh each. While the database is away, a row is good for keysGrace.
type fresh[K comparable, V any] struct {
	now func() time.Time

	mu   sync.Mutex
	rows map[K]freshRow[V] // at most mostFresh
}

type freshRow[V any] struct {
	value V
	read  time.Time
	err   error // fault.Gone: there is none
}

const mostFresh = 10_000 // rows that are remembered, also of keys that callers have made up

func newFresh[K comparable, V any](now func() time.Time) *fresh[K, V] {
	return &fresh[K, V]{now: now, rows: map[K]freshRow[V]{}}
}

// get returns a row that was read a moment ago, or reads it. read is given the row that is known, if there is one. That
// there is none is known as well.
func (f *fresh[K, V]) get(
	ctx context.Context, key K, read func(ctx context.Context, was V, known bool) (V, error),
) (V, error) {
	now := f.now()
	f.mu.Lock()
	row, known := f.rows[key]
	f.mu.Unlock()
	if known && now.Sub(row.read) < keysFresh {
		return row.value, row.err
	}
	reading, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	got, err := read(reading, row.value, known)
	if class, _ := fault.Of(err); err != nil && class != fault.Gone {
		if known && now.Sub(row.read) <= keysGrace {
			return row.value, row.err
		}
		var none V
		return none, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.rows[key]; !known && len(f.rows) >= mostFresh {
		clear(f.rows)
	}
	f.rows[key] = freshRow[V]{got, now, err}
	return got, err
}

// change changes a row that is known, where change says so, and says whether it did.
func (f *fresh[K, V]) change(key K, change func(*V) bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	row, known := f.rows[key]
	if !known || !change(&row.value) {
		return false
	}
	f.rows[key] = row
	return true
}

// forget makes the next get of a key read its row.
func (f *fresh[K, V]) forget(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.rows, key)
}

// forgetAll makes the next get of each key read its row.
func (f *fresh[K, V]) forgetAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.rows)
}

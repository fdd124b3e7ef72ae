package api

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

const keysAgain = 200 * time.Millisecond // least time between two reads for unknown keys

// keyring caches the table of keys. The table is small, so it is read as a whole: a made-up key costs the database
// nothing, and whether there is any key is known with it.
type keyring struct {
	store *db.Keys
	most  time.Duration // age of a key; 0 = any
	log   *slog.Logger
	now   func() time.Time

	taken map[string]bool // names of the keys of the settings
	live  atomic.Pointer[liveKeys]

	mu    sync.Mutex
	locks map[string]db.Lock
	read  time.Time // when the table last answered; zero = never
	next  time.Time // earliest time of the next read
	err   error     // of the last read
	any   bool      // there is or was a key; never false again
}

// liveKeys are the keys of the last read of the table, to be looked up without waiting for the next one.
type liveKeys struct {
	off  bool // there is and was none
	sums map[access.Sum]bool
}

// locked says whether there is or was any key. It is an error while the table was never read.
func (k *keyring) locked(ctx context.Context) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.refresh(ctx, keysFresh)
	if k.any || !k.read.IsZero() {
		return k.any, nil
	}
	return false, err
}

// caller finds the holder of a key by its ID and sum. fault.Invalid says why the key is refused; any other error is the
// database's. The holder of a key that is not valid any more has a name and no role.
func (k *keyring) caller(ctx context.Context, id string, sum access.Sum) (access.Caller, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.refresh(ctx, keysFresh)
	lock, ok := k.locks[id]
	if !ok && err == nil { // it may be new
		err = k.refresh(ctx, 0)
		lock, ok = k.locks[id]
	}
	now := k.now()
	switch {
	case err != nil && (!ok || now.Sub(k.read) > keysGrace):
		return access.Caller{}, err
	case !ok || subtle.ConstantTimeCompare(lock.Sum, sum[:]) != 1:
		return access.Caller{}, errUnknownKey
	}
	holder := access.Caller{Name: lock.Name, KeyID: lock.ID} // without a role: a refused one is named in the audit
	switch lock.State(now) {
	case db.KeyRevoked:
		return holder, errRevokedKey
	case db.KeyExpired:
		return holder, errExpiredKey
	case db.KeyLive:
	}
	if k.taken[lock.Name] {
		return holder, errTakenName
	}
	k.used(ctx, lock, now)
	holder.Role, holder.Tenant = lock.Role, lock.Tenant
	return holder, nil
}

// ended says whether a key is known not to be valid any more.
func (k *keyring) ended(ctx context.Context, id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.refresh(ctx, keysFresh) // what was read before holds while the database is away
	lock, ok := k.locks[id]
	return ok && lock.State(k.now()) != db.KeyLive
}

// refresh reads the table when the last read is older than age. The caller holds the lock, so one reads for all.
func (k *keyring) refresh(ctx context.Context, age time.Duration) error {
	now := k.now()
	if !k.read.IsZero() && now.Sub(k.read) < age {
		return nil
	}
	if now.Before(k.next) {
		return k.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout) // other requests wait for it too
	defer cancel()
	locks, err := k.store.Locks(ctx)
	k.err = err
	if err != nil {
		k.next = k.now().Add(keysPause)
		return err
	}
	for id, lock := range locks {
		lock.Key = lock.Within(k.most)
		locks[id] = lock
	}
	k.locks, k.read, k.next = locks, now, now.Add(keysAgain)
	if len(locks) > 0 && !k.any {
		k.any = true
		k.log.InfoContext(ctx, "authentication is on: there are API keys")
	}
	live := &liveKeys{off: !k.any, sums: map[access.Sum]bool{}}
	for _, lock := range locks {
		if lock.State(now) == db.KeyLive {
			live.sums[access.Sum(lock.Sum)] = true
		}
	}
	k.live.Store(live)
	return nil
}

// forget makes the next request read the table.
func (k *keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = time.Time{}
	if !k.read.IsZero() {
		k.read = k.read.Add(-keysFresh)
	}
}

// used stores the last use of a key, at most once in usedEvery, beside the request. The caller holds the lock.
func (k *keyring) used(ctx context.Context, lock db.Lock, now time.Time) {
	if lock.LastUsedAt != nil && now.Sub(*lock.LastUsedAt) < usedEvery {
		return
	}
	lock.LastUsedAt = &now
	k.locks[lock.ID] = lock
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysPause)
	go func() { // ends with ctx
		defer cancel()
		if err := k.store.Used(ctx, lock.ID, now); err != nil {
			k.log.DebugContext(ctx, "cannot store the last use of a key", "id", lock.ID, "err", err)
		}
	}()
}

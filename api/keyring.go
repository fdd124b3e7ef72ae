package api

import (
	"context"
	"crypto/subtle"
	"log/slog"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

const (
	keysFresh   = 5 * time.Second        // so long what was read of the table counts: a revoked key opens nothing after it
	keysGrace   = time.Minute            // and so long when the database is away
	keysAgain   = 200 * time.Millisecond // least time between two looks for a key that is not known
	keysPause   = 2 * time.Second        // after the database did not answer
	keysTimeout = time.Second            // for the database to answer
	usedEvery   = time.Minute            // how exact the last use is
)

// keyring is what a process knows of the table of keys. It is small, so it is read as a whole: a made-up key costs the
// database nothing, and the answer to whether there is any key comes with it.
type keyring struct {
	store *db.Keys
	log   *slog.Logger
	now   func() time.Time

	mu    sync.Mutex
	locks map[string]db.Lock
	read  time.Time // when the table last answered; zero = never
	next  time.Time // it is not asked again before
	err   error     // what it said to the last question
	any   bool      // there is or was a key; never false again
}

// locked says whether there is or was any key. It is an error while nobody knows: the table was never read.
func (k *keyring) locked(ctx context.Context) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.refresh(ctx, keysFresh)
	if k.any || !k.read.IsZero() {
		return k.any, nil
	}
	return false, err
}

// caller finds who holds a key. fault.Invalid says why it opens nothing; any other error is the database's.
func (k *keyring) caller(ctx context.Context, id, key string) (access.Caller, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.refresh(ctx, keysFresh)
	lock, ok := k.locks[id]
	if !ok && err == nil { // it may be new
		err = k.refresh(ctx, 0)
		lock, ok = k.locks[id]
	}
	now, sum := k.now(), access.SumOf(key)
	switch {
	case err != nil && (!ok || now.Sub(k.read) > keysGrace):
		return access.Caller{}, err
	case !ok || subtle.ConstantTimeCompare(lock.Sum, sum[:]) != 1:
		return access.Caller{}, errUnknownKey
	case lock.State(now) == db.KeyRevoked:
		return access.Caller{}, errRevokedKey
	case lock.State(now) == db.KeyExpired:
		return access.Caller{}, errExpiredKey
	}
	k.used(ctx, lock, now)
	return access.Caller{Name: lock.Name, Role: lock.Role}, nil
}

// refresh reads the table when what is known is older than age. The caller holds the lock, so one asks for all.
func (k *keyring) refresh(ctx context.Context, age time.Duration) error {
	now := k.now()
	if !k.read.IsZero() && now.Sub(k.read) < age {
		return nil
	}
	if now.Before(k.next) {
		return k.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysTimeout) // others need the answer too
	defer cancel()
	locks, err := k.store.Locks(ctx)
	k.err = err
	if err != nil {
		k.next = k.now().Add(keysPause)
		return err
	}
	k.locks, k.read, k.next = locks, now, now.Add(keysAgain)
	if len(locks) > 0 && !k.any {
		k.any = true
		k.log.InfoContext(ctx, "there are API keys: every operation but the open ones asks for one")
	}
	return nil
}

// forget makes the next question go to the table.
func (k *keyring) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = time.Time{}
	if !k.read.IsZero() {
		k.read = k.read.Add(-keysFresh)
	}
}

// used notes the use of a key, at most once in usedEvery, beside the request. The caller holds the lock.
func (k *keyring) used(ctx context.Context, lock db.Lock, now time.Time) {
	if lock.LastUsedAt != nil && now.Sub(*lock.LastUsedAt) < usedEvery {
		return
	}
	lock.LastUsedAt = &now
	k.locks[lock.ID] = lock
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysPause)
	go func() { // ends with its time
		defer cancel()
		if err := k.store.Used(ctx, lock.ID, now); err != nil {
			k.log.DebugContext(ctx, "the use of a key was not noted", "id", lock.ID, "err", err)
		}
	}()
}

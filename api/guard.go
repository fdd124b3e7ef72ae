package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/oidc"
)

// GuardOptions are the credentials that callers may send. Without Keys, Fixed and Tokens authentication is off.
type GuardOptions struct {
	Keys   *db.Keys       // the table
	MaxAge time.Duration  // of a key in it; 0 = any
	Fixed  []access.Grant // keys of the settings
	Tokens *oidc.Verifier // tokens of an issuer

	Sessions *db.Sessions // of browsers; nil = there are none
	Login    *oidc.Login  // of persons, at the issuer of Tokens; nil = they log in by key
	Tenants  *db.Tenants  // of OIDC callers; nil = those that are of one are refused
	TLS      bool         // callers reach the API by https: cookies are sent by it alone

	// Limits; nil = unlimited.
	Calls     *limit.Rate // of requests, by caller, or by address while authentication is off
	Writes    *limit.Rate // of requests that change something, in addition
	Refusals  *limit.Rate // of invalid credentials, by address
	Addresses *limit.Rate // of requests to open routes and of tokens to verify, by address

	Audit *db.AuditLog // takes refused credentials; nil = they are only logged
	Log   *slog.Logger
	Now   func() time.Time
}

// A Guard authenticates callers.
type Guard struct {
	o       GuardOptions
	ring    *keyring // nil = there is no table
	refused tally    // refused credentials, and callers without the role
	reads   tally    // reads that programs repeat

	sessions *sessions            // nil = there are none
	tenants  *fresh[string, bool] // which are erased; nil = it is not known
}

// NewGuard reads nothing: the first request does.
func NewGuard(o GuardOptions) *Guard {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	g := &Guard{o: o}
	if o.Keys != nil {
		g.ring = &keyring{store: o.Keys, most: o.MaxAge, log: o.Log, now: o.Now, taken: map[string]bool{}}
		for _, grant := range o.Fixed {
			g.ring.taken[grant.Name] = true
		}
	}
	if o.Sessions != nil {
		g.sessions = &sessions{o.Sessions, newFresh[access.Sum, db.Session](o.Now)}
	}
	if o.Tenants != nil {
		g.tenants = newFresh[string, bool](o.Now)
	}
	return g
}

// Check refuses, as fault.Conflict, a live key in the table that has the name of a key in the settings: the audit could
// not tell them apart. While the table cannot be read it refuses nothing; such a key is refused when it is used.
func (g *Guard) Check(ctx context.Context) error {
	if g.ring == nil {
		return nil
	}
	locks, err := g.o.Keys.Locks(ctx)
	if err != nil {
		return nil //nolint:nilerr // the API starts without its database
	}
	for _, lock := range locks {
		if g.ring.taken[lock.Name] && lock.State(g.o.Now()) == db.KeyLive {
			return fault.Newf(fault.Conflict, "CONVEYOR_API_KEYS has a key named %q, and so has the database: revoke that "+
				"one with conveyor keys revoke %s, or rename the other", lock.Name, lock.ID)
		}
	}
	return nil
}

// taken refuses, as fault.Conflict, a name for a new key that a key in the settings has.
func (g *Guard) taken(name string) error {
	if slices.ContainsFunc(g.o.Fixed, func(grant access.Grant) bool { return grant.Name == name }) {
		return fault.Newf(fault.Conflict,
			"name: CONVEYOR_API_KEYS has a key %q; a name is used once, so that it identifies one key in the audit", name)
	}
	return nil
}

// Locked says whether authentication is on: there is an issuer, a key in the settings, or was ever one in the table. It
// is an error while the table could not be read yet; once it is true it stays true.
func (g *Guard) Locked(ctx context.Context) (bool, error) {
	switch {
	case len(g.o.Fixed) > 0 || g.o.Tokens != nil:
		return true, nil
	case g.ring == nil:
		return false, nil
	}
	return g.ring.locked(ctx)
}

// bearer is the key or token in an Authorization header.
func bearer(header string) (string, error) {
	if header == "" {
		return "", errNoCredentials
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if secret = strings.TrimSpace(secret); !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return "", errBadHeader
	}
	return secret, nil
}

// verifies says whether the credentials are a token, whose signature costs more to check than a key.
func (g *Guard) verifies(secret string) bool {
	_, isKey := access.KeyID(secret)
	return !isKey && g.o.Tokens != nil
}

// caller is the sender of a key or token. fault.Invalid means invalid credentials, in words for the sender; any other
// error that they cannot be checked now. Text that has not the form of a key is none, whatever sums the settings have:
// a short one could be guessed.
func (g *Guard) caller(ctx context.Context, secret string) (access.Caller, error) {
	if g.verifies(secret) {
		return g.o.Tokens.Verify(ctx, secret)
	}
	id, isKey := access.KeyID(secret)
	if !isKey {
		return access.Caller{}, errUnknownKey
	}
	return g.holder(ctx, id, access.SumOf(secret))
}

// holder is the caller that a key is of, by its ID and its sum.
func (g *Guard) holder(ctx context.Context, id string, sum access.Sum) (access.Caller, error) {
	for _, grant := range g.o.Fixed {
		if subtle.ConstantTimeCompare(grant.Sum[:], sum[:]) == 1 {
			return access.Caller{Name: grant.Name, Role: grant.Role, KeyID: id}, nil
		}
	}
	if g.ring == nil {
		return access.Caller{}, errUnknownKey
	}
	return g.ring.caller(ctx, id, sum)
}

// ended says whether a key of the table was revoked or has expired, or a session has ended, since its caller was let
// in. While the tables cannot be read it is not known to be.
func (g *Guard) ended(ctx context.Context, caller access.Caller) bool {
	if g.ring != nil && caller.KeyID != "" && g.ring.ended(ctx, caller.KeyID) {
		return true
	}
	sum, ok := ctx.Value(sessionKey{}).(access.Sum)
	return ok && g.sessions.over(ctx, sum, g.o.Now())
}

// knows says whether an Authorization header has a key that was valid when the table was last read, or authentication
// was off then. It asks no service and verifies no token: it grants nothing.
func (g *Guard) knows(header string) bool {
	if len(g.o.Fixed) == 0 && g.o.Tokens == nil && g.ring == nil {
		return true
	}
	var live *liveKeys
	if g.ring != nil {
		live = g.ring.live.Load()
	}
	if live != nil && live.off && len(g.o.Fixed) == 0 && g.o.Tokens == nil {
		return true
	}
	secret, err := bearer(header)
	if err != nil {
		return false
	}
	sum := access.SumOf(secret)
	return live != nil && live.sums[sum] ||
		slices.ContainsFunc(g.o.Fixed, func(grant access.Grant) bool { return grant.Sum == sum })
}

// Why credentials are refused. That a key was revoked or has expired is told only to senders of the whole key.
var (
	errNoCredentials = fault.Newf(fault.Invalid,
		"no credentials: send the header Authorization: Bearer KEY, with an API key or a token")
	errBadHeader  = fault.Newf(fault.Invalid, "the header Authorization is not of the form Bearer KEY")
	errUnknownKey = fault.Newf(fault.Invalid, "unknown API key")
	errRevokedKey = fault.Newf(fault.Invalid, "the API key was revoked")
	errExpiredKey = fault.Newf(fault.Invalid, "the API key has expired")
	errKeyEnded   = fault.Newf(fault.Invalid, "the API key or the session has ended while the answer was read")
	errTakenName  = fault.Newf(fault.Invalid, "the API key has the name of a key in CONVEYOR_API_KEYS; rename that one")
)

// unauthorized is the 401 answer.
func unauthorized(err error) error {
	challenge := `Bearer realm="conveyor"`
	if !errors.Is(err, errNoCredentials) {
		challenge += `, error="invalid_token"`
	}
	return huma.ErrorWithHeaders(huma.Error401Unauthorized(err.Error()), http.Header{"Www-Authenticate": {challenge}})
}

// forget makes the guard read the table for the next request.
func (g *Guard) forget() {
	if g.ring != nil {
		g.ring.forget()
	}
}

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
		err := fault.Try("storing a use", k.log.Error, func() error { return k.store.Used(ctx, lock.ID, now) })
		if err != nil {
			k.log.DebugContext(ctx, "cannot store the last use of a key", "id", lock.ID, "err", err)
		}
	}()
}

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
	if err != nil && fault.ClassOf(err) != fault.Gone {
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

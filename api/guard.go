package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
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
	refused refusals

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

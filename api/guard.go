package api

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
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
	Keys     *db.Keys       // the table
	Fixed    []access.Grant // keys of the settings
	Tokens   *oidc.Verifier // tokens of an issuer
	Calls    *limit.Rate    // of requests, by caller; nil = unlimited
	Refusals *limit.Rate    // of invalid credentials, by address; nil = unlimited
	Log      *slog.Logger
	Now      func() time.Time
}

// A Guard authenticates callers.
type Guard struct {
	o    GuardOptions
	ring *keyring // nil = there is no table
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
		g.ring = &keyring{store: o.Keys, log: o.Log, now: o.Now}
	}
	return g
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

// caller is the sender of an Authorization header. fault.Invalid means invalid credentials, in words for the sender;
// any other error that they cannot be checked now.
func (g *Guard) caller(ctx context.Context, header string) (access.Caller, error) {
	if header == "" {
		return access.Caller{}, errNoCredentials
	}
	scheme, secret, _ := strings.Cut(header, " ")
	if secret = strings.TrimSpace(secret); !strings.EqualFold(scheme, "Bearer") || secret == "" {
		return access.Caller{}, errBadHeader
	}
	sum := access.SumOf(secret)
	for _, grant := range g.o.Fixed {
		if subtle.ConstantTimeCompare(grant.Sum[:], sum[:]) == 1 {
			return access.Caller{Name: grant.Name, Role: grant.Role}, nil
		}
	}
	id, isKey := access.KeyID(secret)
	switch {
	case !isKey && g.o.Tokens != nil:
		return g.o.Tokens.Verify(ctx, secret)
	case !isKey || g.ring == nil:
		return access.Caller{}, errUnknownKey
	}
	return g.ring.caller(ctx, id, secret)
}

// Why credentials are refused. That a key was revoked or has expired is told only to senders of the whole key.
var (
	errNoCredentials = fault.Newf(fault.Invalid,
		"no credentials: send the header Authorization: Bearer KEY, with an API key or a token")
	errBadHeader  = fault.Newf(fault.Invalid, "the header Authorization is not of the form Bearer KEY")
	errUnknownKey = fault.Newf(fault.Invalid, "unknown API key")
	errRevokedKey = fault.Newf(fault.Invalid, "the API key was revoked")
	errExpiredKey = fault.Newf(fault.Invalid, "the API key has expired")
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

package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

const sessionLong = 7 * 24 * time.Hour // no session lasts longer

// The cookies: of a session, and of a login that is under way.
const (
	sessionName = "conveyor_session"
	loginName   = "conveyor_login"
)

// cookieName is the whole name of a cookie. The prefix has browsers refuse one that another host of the domain sets, or
// that came without TLS.
func (g *Guard) cookieName(name string) string {
	if g.o.TLS {
		return "__Host-" + name
	}
	return name
}

// cookie is the header Set-Cookie that gives a browser a cookie; an empty value takes it away.
func (g *Guard) cookie(name, value string, age time.Duration, site http.SameSite) string {
	c := http.Cookie{
		Name: g.cookieName(name), Value: value, Path: "/", MaxAge: int(age.Seconds()), Secure: g.o.TLS, HttpOnly: true,
		SameSite: site,
	}
	if value == "" {
		c.MaxAge = -1
	}
	return c.String()
}

// sessionCookie gives a browser a session. Strict, so that no link or page of another site sends it: the pages of the
// console need no credentials to load.
func (g *Guard) sessionCookie(secret string, age time.Duration) string {
	return g.cookie(sessionName, secret, age, http.SameSiteStrictMode)
}

// sessionOf is the secret in the cookie of a request; "" without one.
func (g *Guard) sessionOf(r *http.Request) string {
	c, err := r.Cookie(g.cookieName(sessionName))
	if err != nil || g.sessions == nil {
		return ""
	}
	return c.Value
}

var (
	errSessionEnded = fault.Newf(fault.Invalid, "the session has ended; log in again")
	errNoOrigin     = fault.Newf(fault.Blocked, "a change with a session needs the header Sec-Fetch-Site or Origin, which "+
		"browsers send; without a browser, send an API key")
)

// bySession is the caller whose session a request has. fault.Invalid says why it is refused; any other error that it
// cannot be checked now. lookUp is asked before a cookie that this process does not know costs a query.
func (g *Guard) bySession(ctx context.Context, r *http.Request, lookUp func() error) (access.Caller, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead &&
		r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" { // their values were checked before
		return access.Caller{}, errNoOrigin
	}
	sum := access.SumOf(g.sessionOf(r))
	s, err := g.sessions.session(ctx, sum, lookUp)
	now := g.o.Now()
	if class := fault.ClassOf(err); class == fault.Gone ||
		err == nil && (!now.Before(s.EndsAt) || now.Sub(s.UsedAt) >= db.SessionIdle) {
		return access.Caller{}, errSessionEnded
	}
	if err != nil {
		return access.Caller{}, err
	}
	caller := access.Caller{Name: s.Caller, Role: s.Role, Tenant: s.Tenant}
	if s.KeyID != "" {
		caller, err = g.holder(ctx, s.KeyID, access.Sum(s.KeySum))
	} else if g.o.Tokens == nil { // the issuer that vouched for the person is not trusted any more
		err = errSessionEnded
	}
	if err == nil {
		g.sessions.used(ctx, sum, now)
	}
	return caller, err
}

// sessions are the rows of sessions, by the sums of their secrets.
type sessions struct {
	store *db.Sessions
	*fresh[access.Sum, db.Session]
}

// session reads a session, or returns one that was read a moment ago.
func (s *sessions) session(ctx context.Context, sum access.Sum, lookUp func() error) (db.Session, error) {
	return s.get(ctx, sum, func(ctx context.Context, was db.Session, known bool) (db.Session, error) {
		if !known {
			if err := lookUp(); err != nil {
				return was, err
			}
		}
		got, err := s.store.Get(ctx, sum)
		if was.UsedAt.After(got.UsedAt) { // the row is written beside the request
			got.UsedAt = was.UsedAt
		}
		return got, err
	})
}

// over says whether a session that let somebody in is known to be over. That it is not used meanwhile does not end it.
func (s *sessions) over(ctx context.Context, sum access.Sum, now time.Time) bool {
	row, err := s.session(ctx, sum, func() error { return nil })
	return fault.ClassOf(err) == fault.Gone || err == nil && !now.Before(row.EndsAt)
}

// used stores the last use of a session, at most once in usedEvery, beside the request.
func (s *sessions) used(ctx context.Context, sum access.Sum, now time.Time) {
	due := s.change(sum, func(row *db.Session) bool {
		if now.Sub(row.UsedAt) < usedEvery {
			return false
		}
		row.UsedAt = now
		return true
	})
	if !due {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keysPause)
	go func() { // ends with ctx; a use that is not stored is stored by the next one
		defer cancel()
		_ = fault.Try("storing the last use of a session", nil, func() error { return s.store.Used(ctx, sum, now) })
	}()
}

// known is the sender of a request while authentication is on. Its error is the answer. A key is always looked up, so
// that a valid one is accepted whatever else comes from its address; tokens are verified at a limited rate, and so are
// cookies that are not known. operation is for the audit of refusals.
func (g *Guard) known(c *gin.Context, operation string) (access.Caller, error) {
	ctx := c.Request.Context()
	secret, err := bearer(c.GetHeader("Authorization"))
	if errors.Is(err, errNoCredentials) {
		if g.sessionOf(c.Request) == "" {
			return access.Caller{}, unauthorized(err)
		}
		caller, err := g.bySession(ctx, c.Request, func() error {
			return take(ctx, g.o.Addresses, Network(c), "too many sessions from your address")
		})
		switch class := fault.ClassOf(err); {
		case class == fault.Invalid: // not counted: a tab that is left open asks again and again
			c.Header("Set-Cookie", g.sessionCookie("", 0))
			return caller, unauthorized(err)
		case err != nil:
			return caller, Problem(ctx, g.o.Log, err)
		}
		return caller, nil
	}
	if err == nil && g.verifies(secret) {
		err := take(ctx, g.o.Addresses, Network(c), "too many tokens from your address")
		if err != nil {
			g.refused.refusal(g.o.Now(), credentialsRefused, Network(c), "rate", operation, access.Caller{})
			return access.Caller{}, err
		}
	}
	var caller access.Caller
	if err == nil {
		caller, err = g.caller(ctx, secret)
	}
	if fault.ClassOf(err) == fault.Invalid {
		return caller, g.deny(c, operation, caller, err)
	}
	if err != nil {
		return caller, Problem(ctx, g.o.Log, err)
	}
	return caller, nil
}

// deny counts a refusal of credentials. Its error is the answer: 401, or 429 where there were too many.
func (g *Guard) deny(c *gin.Context, operation string, caller access.Caller, err error) error {
	g.refused.refusal(g.o.Now(), credentialsRefused, Network(c), reasonOf(err), operation, caller)
	return cmp.Or(
		take(c.Request.Context(), g.o.Refusals, Network(c), "too many invalid keys and tokens from your address"),
		unauthorized(err))
}

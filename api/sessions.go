package api

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Sessions serves /session: what a browser needs to know before anything else, and the exchange of an API key for a
// cookie. The Guard keeps the sessions.
type Sessions struct {
	Links    SessionLinks
	Map      *SessionMap // nil = the map has no streets
	TimeZone string      // of the times that are shown, as IANA names it

	door *Door
}

// Register implements Part.
func (h Sessions) Register(d *Door) {
	h.door = d
	tags := []string{"session"}
	Serve(d, huma.Operation{
		OperationID: "get-session", Method: http.MethodGet, Path: "/session", Tags: tags,
		Summary: "Get the caller, and what a console needs before login", Errors: []int{429, 503},
		Description: "Needs no credentials. caller is absent without valid ones.",
	}, h.get)
	Serve(d, huma.Operation{
		OperationID: "open-session", Method: http.MethodPost, Path: "/session", Tags: tags,
		Summary: "Exchange an API key for a session",
		Errors:  []int{401, 409, 422, 429, 503},
		Description: "The answer sets a cookie that later requests may send in place of the key, with its role. It is good " +
			"for 12 hours without a request, 7 days at most, and no longer than the key. Changes with the cookie need the " +
			"header Sec-Fetch-Site or Origin of the API's own pages. 409 while authentication is off.",
	}, h.open)
	Serve(d, huma.Operation{
		OperationID: "close-session", Method: http.MethodDelete, Path: "/session", Tags: tags,
		Summary: "End the session of the cookie", Errors: []int{429, 503},
		Description: "In every process within 5 seconds. Without a session nothing happens.",
	}, h.close)
	h.logins(d)
	h.others(d)
}

// byRequest is the part of an input that gives a handler the request itself.
type byRequest struct{ gin *gin.Context }

// Resolve implements huma.Resolver.
func (in *byRequest) Resolve(ctx huma.Context) []error {
	in.gin = humagin.Unwrap(ctx)
	return nil
}

// Session is the answer of GET /session.
type Session struct {
	Caller   *SessionCaller `json:"caller,omitempty" doc:"absent without valid credentials"`
	Locked   bool           `json:"locked" doc:"authentication is on; while it is off, every caller is an admin"`
	Login    []string       `json:"login" doc:"ways to log in: key, oidc; empty while authentication is off"`
	Version  string         `json:"version"`
	Links    SessionLinks   `json:"links"`
	Map      *SessionMap    `json:"map,omitempty" doc:"streets for the map; absent: there are none"`
	TimeZone string         `json:"time_zone" doc:"of the times that are shown" example:"America/Toronto"`
}

// SessionCaller is the sender of a request.
type SessionCaller struct {
	Name   string      `json:"name"`
	Role   access.Role `json:"role"`
	Tenant string      `json:"tenant,omitempty" doc:"that the key is of"`
}

// SessionLinks are pages of other programs; an empty one is not known, or not for the caller: without credentials, and
// for keys of a tenant, only that of the documentation is there.
type SessionLinks struct {
	Temporal string `json:"temporal" doc:"its Web UI"`
	RabbitMQ string `json:"rabbitmq" doc:"its management UI"`
	Grafana  string `json:"grafana"`
	Docs     string `json:"docs"`
}

// SessionMap is a source of map tiles.
type SessionMap struct {
	Tiles       string `json:"tiles" doc:"template with {x}, {y} and {z}"`
	Attribution string `json:"attribution"`
}

type getSessionInput struct{ byRequest }

func (h Sessions) get(ctx context.Context, in *getSessionInput) (*Body[Session], error) {
	guard := h.door.guard
	locked, err := guard.Locked(ctx)
	if err != nil {
		return nil, err
	}
	out := Session{
		Locked: locked, Login: []string{}, Version: h.door.Version, Links: h.Links, Map: h.Map, TimeZone: h.TimeZone,
	}
	caller := anonymous
	if locked {
		out.Login = []string{"key"}
		if guard.mayLogin() {
			out.Login = []string{"oidc", "key"}
		}
		caller = access.Caller{}
		if in.gin.GetHeader("Authorization") != "" || guard.sessionOf(in.gin.Request) != "" {
			if caller, err = guard.known(in.gin, "get-session"); err != nil {
				if status, ok := errors.AsType[huma.StatusError](err); !ok || status.GetStatus() != http.StatusUnauthorized {
					return nil, err
				}
				caller = access.Caller{}
			}
		}
	}
	if caller.Name == "" || caller.Tenant != "" { // they are for operators
		out.Links = SessionLinks{Docs: h.Links.Docs}
	}
	if caller.Name != "" {
		out.Caller = &SessionCaller{caller.Name, caller.Role, caller.Tenant}
	}
	return BodyOf(out), nil
}

// SessionStart is the body of POST /session.
type SessionStart struct {
	Key string `json:"key" minLength:"1" maxLength:"200" doc:"an API key"`
}

type openSessionInput struct {
	byRequest
	Body SessionStart
}

type sessionOutput struct {
	SetCookie string `header:"Set-Cookie"`
}

func (h Sessions) open(ctx context.Context, in *openSessionInput) (*sessionOutput, error) {
	guard := h.door.guard
	locked, err := guard.Locked(ctx)
	switch {
	case err != nil:
		return nil, err
	case !locked:
		return nil, fault.Newf(fault.Conflict, "authentication is off: there is nothing to log in to")
	case guard.sessions == nil:
		return nil, fault.Newf(fault.Conflict, "there are no sessions here: send the API key with each request")
	}
	id, isKey := access.KeyID(in.Body.Key)
	sum := access.SumOf(in.Body.Key)
	var caller access.Caller
	if err = errUnknownKey; isKey {
		caller, err = guard.holder(ctx, id, sum)
	}
	if class, _ := fault.Of(err); err != nil && class == fault.Invalid {
		return nil, guard.deny(in.gin, "open-session", caller, err)
	}
	if err != nil {
		return nil, err
	}
	cookie, err := h.start(ctx, in.gin, db.Session{Caller: caller.Name, KeyID: id, KeySum: sum[:]})
	if err != nil {
		return nil, err
	}
	return &sessionOutput{cookie}, nil
}

// start stores a session, and returns the header Set-Cookie that gives it to the browser.
func (h Sessions) start(ctx context.Context, c *gin.Context, s db.Session) (cookie string, err error) {
	guard := h.door.guard
	now := guard.o.Now().UTC()
	s.ID, s.CreatedAt, s.UsedAt, s.EndsAt = uuid.New(), now, now, now.Add(sessionLong)
	var b [32]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	secret := base64.RawURLEncoding.EncodeToString(b[:])
	if err := guard.o.Sessions.Open(origin(ctx, c, s.KeyID), s, access.SumOf(secret)); err != nil {
		return "", err
	}
	return guard.sessionCookie(secret, sessionLong), nil
}

// origin is a context whose audit entries name a request.
func origin(ctx context.Context, c *gin.Context, keyID string) context.Context {
	return db.WithOrigin(ctx, db.Origin{Remote: c.ClientIP(), RequestID: c.GetString(RequestID), KeyID: keyID})
}

type closeSessionInput struct{ byRequest }

func (h Sessions) close(ctx context.Context, in *closeSessionInput) (*sessionOutput, error) {
	guard := h.door.guard
	if secret := guard.sessionOf(in.gin.Request); secret != "" {
		sum := access.SumOf(secret)
		if err := guard.o.Sessions.Close(origin(ctx, in.gin, ""), sum, guard.o.Now().UTC()); err != nil {
			return nil, err
		}
		guard.sessions.forget(sum)
	}
	return &sessionOutput{guard.sessionCookie("", 0)}, nil
}

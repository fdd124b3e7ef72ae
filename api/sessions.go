package api

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/oidc"
	"github.com/mtlrent/conveyor/web"
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
	Serve(d, Op("session", "get-session", "GET /session", "Get the caller, and what a console needs before login",
		"Needs no credentials. caller is absent without valid ones.", 429, 503), h.get)
	Serve(d, Op("session", "open-session", "POST /session", "Exchange an API key for a session",
		"The answer sets a cookie that later requests may send in place of the key, with its role. It is good "+
			"for 12 hours without a request, 7 days at most, and no longer than the key. Changes with the cookie need the "+
			"header Sec-Fetch-Site or Origin of the API's own pages. 409 while authentication is off.",
		401, 409, 422, 429, 503), h.open)
	Serve(d, Op("session", "close-session", "DELETE /session", "End the session of the cookie",
		"In every process within 5 seconds. Without a session nothing happens.", 429, 503), h.close)
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
	Tenant string      `json:"tenant,omitempty" doc:"of the key"`
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
	if fault.ClassOf(err) == fault.Invalid {
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

// LoginCallback is the path that the issuer sends persons back to.
const LoginCallback = "/session/oidc/callback"

// logins registers the login by OIDC. A browser walks through it: failures are redirects to a page of the console that
// says what to do, and have no word of the issuer in them.
func (h Sessions) logins(d *Door) {
	tags := []string{"session"}
	leads := map[string]*huma.Response{"302": {Description: "Where the browser goes on"}}
	Serve(d, huma.Operation{
		OperationID: "begin-oidc-login", Method: http.MethodGet, Path: "/session/oidc", Tags: tags, Responses: leads,
		Summary: "Log in at the OIDC issuer", DefaultStatus: http.StatusFound, Errors: []int{404, 422, 429, 503},
		Description: "For browsers: leads to the issuer, which leads back to the API and that to a page of the console. A " +
			"login takes 10 minutes at most. 404 where no client of an issuer is configured.",
	}, h.begin)
	Serve(d, huma.Operation{
		OperationID: "finish-oidc-login", Method: http.MethodGet, Path: LoginCallback, Tags: tags, Responses: leads,
		Summary: "Come back from the OIDC issuer", DefaultStatus: http.StatusFound, Errors: []int{404, 422, 429, 503},
		Description: "For the issuer's redirect. The answer sets the cookie of a session with the role that the issuer gives " +
			"the person; it is good for 12 hours without a request, 7 days at most.",
	}, h.finish)
}

// mayLogin says whether persons can log in at an issuer.
func (g *Guard) mayLogin() bool { return g.o.Login != nil && g.sessions != nil }

// loginCookie has what a login keeps in the browser. Lax, for the issuer's redirect must send it.
func (g *Guard) loginCookie(sealed string) string {
	return g.cookie(loginName, sealed, oidc.LoginTime, http.SameSiteLaxMode)
}

var errNoLogin = fault.Newf(fault.Gone, "there is no login by OIDC here: exchange an API key with POST /session")

type beginLoginInput struct {
	byRequest
	To string `query:"to" doc:"page of the console to go to afterwards; others are ignored" example:"/ui/dead-letters"`
}

type loginOutput struct {
	Location  string   `header:"Location"`
	SetCookie []string `header:"Set-Cookie"`
}

func (h Sessions) begin(ctx context.Context, in *beginLoginInput) (*loginOutput, error) {
	guard := h.door.guard
	if !guard.mayLogin() {
		return nil, errNoLogin
	}
	address, sealed, err := guard.o.Login.Begin(pageOf(in.To))
	if err != nil {
		return h.failed(ctx, in.byRequest, in.To, err), nil
	}
	return &loginOutput{address, []string{guard.loginCookie(sealed)}}, nil
}

// maxPage is how long the address of a page may be to come back to: it lies in a cookie, of which browsers keep 4 KiB.
const maxPage = 2000

// pageOf is a page of the console; anything else is its first one. A browser reads \ as /, and two slashes or more in
// front as another host: the path must be a clean one as it stands.
func pageOf(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.Contains(to, "\\") {
		return web.Prefix
	}
	if clean := path.Clean(u.Path); !strings.HasPrefix(clean+"/", web.Prefix) || clean != strings.TrimSuffix(u.Path, "/") {
		return web.Prefix
	}
	u.RawQuery = u.Query().Encode()
	if to = u.String(); len(to) > maxPage {
		return web.Prefix
	}
	return to
}

type finishLoginInput struct {
	byRequest
	Code  string `query:"code"`
	State string `query:"state"`
	Error string `query:"error" doc:"of the issuer, instead of a code"`
	From  string `query:"iss" doc:"the issuer"`
}

func (h Sessions) finish(ctx context.Context, in *finishLoginInput) (*loginOutput, error) {
	guard := h.door.guard
	if !guard.mayLogin() {
		return nil, errNoLogin
	}
	sealed := ""
	if c, err := in.gin.Request.Cookie(guard.cookieName(loginName)); err == nil {
		sealed = c.Value
	}
	caller, to, err := guard.o.Login.Finish(ctx, sealed, in.gin.Request.URL.Query())
	if err == nil && caller.Role == "" {
		err = &oidc.Failure{Reason: withoutRole, Err: errors.New(caller.Name + " has no role")}
	}
	if err == nil {
		wrong := guard.standing(ctx, caller)
		if wrong != nil && fault.ClassOf(wrong) != fault.Blocked {
			return nil, wrong
		}
		if wrong != nil {
			guard.refused.refusal(guard.o.Now(), accessRefused, Network(in.gin), "erased_tenant", "finish-oidc-login", caller)
			err = &oidc.Failure{Reason: ofErased, Err: wrong}
		}
	}
	if err != nil {
		return h.failed(ctx, in.byRequest, to, err), nil
	}
	cookie, err := h.start(ctx, in.gin, db.Session{
		Caller: caller.Name, KeySum: []byte{}, Role: caller.Role, Tenant: caller.Tenant,
	})
	if err != nil {
		return nil, err
	}
	return &loginOutput{pageOf(to), []string{cookie, guard.loginCookie("")}}, nil
}

// Reasons beside those of the issuer.
const (
	withoutRole oidc.Reason = "role"   // the person is known, and has no role
	ofErased    oidc.Reason = "tenant" // the person's tenant is erased
	tooOften    oidc.Reason = "wait"
)

// failed leads to the page that says why a login failed. The log has the error, under the ID that the page shows.
func (h Sessions) failed(ctx context.Context, in byRequest, to string, err error) *loginOutput {
	guard, reason := h.door.guard, oidc.Invalid
	if f, ok := errors.AsType[*oidc.Failure](err); ok {
		reason = f.Reason
	}
	if reason == oidc.Invalid {
		guard.refused.refusal(guard.o.Now(), credentialsRefused, Network(in.gin), "invalid_token", "finish-oidc-login",
			anonymous)
	}
	if reason == oidc.Invalid || reason == oidc.Stale { // what a guess would be
		if take(ctx, guard.o.Refusals, Network(in.gin), "too many logins that failed") != nil {
			reason = tooOften
		}
	}
	id := in.gin.GetString(RequestID)
	h.door.Log.WarnContext(ctx, "login failed", "reason", reason, RequestID, id, "remote", in.gin.ClientIP(), "err", err)
	q := url.Values{"failed": {string(reason)}, "request": {id}, "to": {pageOf(to)}}
	return &loginOutput{web.Prefix + "login?" + q.Encode(), []string{guard.loginCookie("")}}
}

// others registers what an admin sees and does of the sessions of all callers.
func (h Sessions) others(d *Door) {
	Serve(d, Needs(access.Admin, Op("session", "list-sessions", "GET /sessions", "List the sessions of browsers",
		"Those that are open, the last used first, at most 1,000.")), h.list)
	Serve(d, Needs(access.Admin, Op("session", "end-sessions", "DELETE /sessions", "End all sessions of a caller",
		"In every process within 5 seconds. Who may still log in can open another: revoke the key, or take the person's "+
			"role away at the issuer, first. Without sessions of the caller nothing happens.")), h.end)
}

// An OpenSession is a session of a browser, without its secret.
type OpenSession struct {
	ID        uuid.UUID   `json:"id" doc:"its name in the audit: session/ID"`
	Caller    string      `json:"caller" doc:"name of an API key, or oidc:SUBJECT"`
	KeyID     string      `json:"key_id,omitempty" doc:"of the API key that opened it; absent: a person, by OIDC"`
	Role      access.Role `json:"role,omitempty" doc:"of a person; absent: that of the key"`
	CreatedAt time.Time   `json:"created_at"`
	UsedAt    time.Time   `json:"used_at" doc:"to about a minute"`
	EndsAt    time.Time   `json:"ends_at" doc:"at the latest; 12 hours after used_at otherwise"`
}

// OpenSessionList is the answer of GET /sessions.
type OpenSessionList struct {
	Items []OpenSession `json:"items"`
}

func (h Sessions) list(ctx context.Context, _ *struct{}) (*Body[OpenSessionList], error) {
	store, err := h.store()
	if err != nil {
		return nil, err
	}
	list, err := store.List(ctx, h.door.guard.o.Now())
	return BodyOf(OpenSessionList{Each(list, ShowSession)}), err
}

// ShowSession is a session without what its cookie is known by.
func ShowSession(s db.Session) OpenSession {
	return OpenSession{s.ID, s.Caller, s.KeyID, s.Role, s.CreatedAt, s.UsedAt, s.EndsAt}
}

type endSessionsInput struct {
	Caller string `query:"caller" required:"true" minLength:"1" maxLength:"400" doc:"as GET /sessions names it" example:"oidc:248289761001"`
}

// SessionsEnded is the answer of DELETE /sessions.
type SessionsEnded struct {
	Ended int64 `json:"ended"`
}

func (h Sessions) end(ctx context.Context, in *endSessionsInput) (*Body[SessionsEnded], error) {
	store, err := h.store()
	if err != nil {
		return nil, err
	}
	guard := h.door.guard
	n, err := store.End(ctx, in.Caller, CallerOf(ctx).Name, guard.o.Now().UTC())
	if err != nil {
		return nil, err
	}
	guard.sessions.forgetAll()
	return BodyOf(SessionsEnded{n}), nil
}

// store is where the sessions are kept; fault.Conflict where none are.
func (h Sessions) store() (*db.Sessions, error) {
	if h.door.guard.sessions == nil {
		return nil, fault.Newf(fault.Conflict, "there are no sessions here")
	}
	return h.door.guard.o.Sessions, nil
}

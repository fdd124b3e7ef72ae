package api

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/oidc"
	"github.com/mtlrent/conveyor/web"
)

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
		if class, _ := fault.Of(wrong); wrong != nil && class != fault.Blocked {
			return nil, wrong
		}
		if wrong != nil {
			guard.refused.count(guard.o.Now(), accessRefused, Network(in.gin), "erased_tenant", "finish-oidc-login", caller)
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
		guard.refused.count(guard.o.Now(), credentialsRefused, Network(in.gin), "invalid_token", "finish-oidc-login",
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

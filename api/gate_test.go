package api

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/access"
)

// A request ends at its timeout, also when its handler is still waiting.
func TestARequestEnds(t *testing.T) {
	t.Parallel()
	g := &gate{routes: map[string]route{"GET /slow": {name: "slow", timeout: 20 * time.Millisecond, body: 10}}}
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(g.bound)
	r.GET("/slow", func(c *gin.Context) {
		<-c.Request.Context().Done()
		c.String(http.StatusServiceUnavailable, c.Request.Context().Err().Error())
	})
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	answer, err := http.Get(server.URL + "/slow")
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
}

// A route that is neither an operation with a role nor an open one is for admins, also one added late.
func TestRoutesWithoutARoleNeedAdmin(t *testing.T) {
	t.Parallel()
	key := func(letter string) string { return "cvr_aaaaaaaa_" + strings.Repeat(letter, 43) }
	g := newGate(Options{Log: slog.New(slog.DiscardHandler), Guard: NewGuard(GuardOptions{Fixed: []access.Grant{
		{Name: "ops", Role: access.Operate, Sum: access.SumOf(key("O"))},
		{Name: "root", Role: access.Admin, Sum: access.SumOf(key("R"))},
	}})})
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(g.admit)
	there := func(c *gin.Context) { c.Status(http.StatusNoContent) }
	r.GET("/forgotten", there)
	a := humagin.New(r, huma.DefaultConfig("", ""))
	a.OpenAPI().AddOperation(&huma.Operation{OperationID: "roleless", Method: http.MethodGet, Path: "/roleless/{key}"})
	r.GET("/roleless/*key", there)
	g.learn(a, r.Routes())
	r.GET("/late", there)
	for _, path := range []string{"/forgotten", "/roleless/x", "/late"} {
		for sent, want := range map[string]int{key("O"): 403, key("R"): 204, key("X"): 401} {
			req := httptest.NewRequest(http.MethodGet, path, nil)
			req.Header.Set("Authorization", "Bearer "+sent)
			w := httptest.NewRecorder()
			r.ServeHTTP(w, req)
			require.Equal(t, want, w.Code, path)
		}
	}
}

// A request may take as long as its operation may: the gate ends it no earlier.
func TestALongReplayHasItsTime(t *testing.T) {
	t.Parallel()
	g := newGate(Options{Log: slog.New(slog.DiscardHandler)})
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	a := humagin.New(r, huma.DefaultConfig("", ""))
	DeadLetters{}.Register(&Door{API: a})
	g.learn(a, r.Routes())
	require.Equal(t, replayTimeout, g.routes["POST /dead-letters/replay"].timeout)
	require.Equal(t, wholeTimeout, g.routes["GET /dead-letters"].timeout)
}

// A guard that cannot tell whether the tenant of a person is erased lets the person in nowhere. Keys of a tenant are
// revoked with it.
func TestGuardWithoutTenants(t *testing.T) {
	t.Parallel()
	g := NewGuard(GuardOptions{})
	for caller, refused := range map[access.Caller]bool{
		{Name: "oidc:jo", Tenant: "acme"}:               true,
		{Name: "oidc:jo"}:                               false,
		{Name: "acme's", Tenant: "acme", KeyID: "aaaa"}: false,
	} {
		require.Equal(t, refused, g.standing(t.Context(), caller) != nil, caller)
	}
}

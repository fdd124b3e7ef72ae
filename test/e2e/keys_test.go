package e2e

import (
	"net"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/oidc/oidctest"
)

// captured returns a command's standard output, as $(…) does.
func (w *world) captured(args ...string) string {
	w.t.Helper()

	cmd := exec.CommandContext(w.t.Context(), binary, args...)
	cmd.Env = w.env
	out, err := cmd.Output()
	require.NoError(w.t, err, "conveyor %v", args)
	return strings.TrimSuffix(string(out), "\n")
}

// status asks an address of this machine for the listings; 0 is no answer.
func (w *world) status(host, key string) int {
	w.t.Helper()

	_, port, err := net.SplitHostPort(strings.TrimPrefix(w.api, "http://"))
	require.NoError(w.t, err)
	r, err := http.NewRequestWithContext(w.ctx(), http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/listings", nil)
	require.NoError(w.t, err)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	require.NoError(w.t, resp.Body.Close())
	return resp.StatusCode
}

// An API without keys serves this machine only, whatever its address is. The first key makes it listen on that address
// and turns authentication on, while it runs; a revoked key is refused seconds later.
func TestTheLifeOfAKey(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(w.api, "http://"))
	require.NoError(t, err)
	w.env = append(w.env, "CONVEYOR_API_ADDRESS=0.0.0.0:"+port)
	const outside = "127.0.0.2" // an address of this machine that only 0.0.0.0 listens on
	api := w.start("api")
	w.eventually("it answers on the loopback", func() bool { return w.status("127.0.0.1", "") == http.StatusOK })
	require.Zero(t, w.status(outside, ""))
	require.Contains(t, api.log.tail(5000), "listens on the loopback interface only")

	key := w.captured("keys", "create", "grafana", "--role", "read", "--expires", "90d")
	require.Regexp(t, `^cvr_[a-z2-7]{8}_[\w-]{43}$`, key, "nothing but the key")
	w.eventually("its address is open", func() bool { return w.status(outside, key) == http.StatusOK })
	require.Equal(t, http.StatusUnauthorized, w.status("127.0.0.1", ""))

	require.Contains(t, w.run("keys", "list"), "grafana")
	require.NotContains(t, w.run("keys", "list"), key[13:])
	w.run("keys", "revoke", "grafana")
	w.eventually("the key is refused", func() bool { return w.status(outside, key) == http.StatusUnauthorized })
	require.NotContains(t, api.log.tail(1<<20), key[13:])

	// A key of the settings is good in a process that has it.
	cmd := exec.CommandContext(w.ctx(), binary, "keys", "create", "ops", "--role", "operate", "--print-env")
	cmd.Env = w.env
	var line syncBuffer
	cmd.Stderr = &line
	fixed, err := cmd.Output()
	require.NoError(t, err)
	api.stop(t)
	w.env = append(w.env, strings.TrimSpace(line.tail(1000)))
	again := w.start("api")
	w.eventually("it opens", func() bool { return w.status(outside, strings.TrimSpace(string(fixed))) == http.StatusOK })
	require.NotContains(t, again.log.tail(1<<20), "loopback interface only")
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM audit WHERE actor LIKE 'cli:_%' AND subject LIKE 'api-key/%'"))

	// So is a token, where an issuer is set; keys go on being good beside it.
	again.stop(t)
	issuer := oidctest.New(t)
	w.env = append(w.env, "CONVEYOR_OIDC_ISSUER="+issuer.URL, "CONVEYOR_OIDC_AUDIENCE=conveyor",
		"CONVEYOR_OIDC_ROLES_CLAIM=realm_access.roles", "CONVEYOR_OIDC_ROLES=read=staff,admin=ops-admins")
	w.start("api")
	token := func(groups ...string) string {
		claim := map[string]any{"realm_access": map[string]any{"roles": groups}}
		return issuer.Token(t, issuer.Claims(time.Now(), claim))
	}
	w.eventually("a token opens", func() bool { return w.status(outside, token("staff")) == http.StatusOK })
	require.Equal(t, http.StatusForbidden, w.status(outside, token("admin")), "the mapping says which values count")
	require.Equal(t, http.StatusOK, w.status(outside, strings.TrimSpace(string(fixed))))
}

package cli

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

// Nothing is deleted before the ID of the tenant was typed, which is asked for only where the tenant can be deleted.
func TestTenantsErase(t *testing.T) {
	t.Parallel()

	const show, erase = "GET /tenants/acme", `POST /tenants/acme/erasure {"tenant":"acme"}`
	for name, test := range map[string]struct {
		cmd   tenantsEraseCmd
		input string
		state string
		asked []string
		err   string
	}{
		"the ID":    {tenantsEraseCmd{ID: "acme"}, "acme\n", "stopped", []string{show, erase}, ""},
		"yes":       {tenantsEraseCmd{ID: "acme"}, "y\n", "stopped", []string{show}, "nothing was deleted"},
		"no answer": {tenantsEraseCmd{ID: "acme"}, "", "stopped", []string{show}, "nothing was deleted"},
		"active":    {tenantsEraseCmd{ID: "acme"}, "acme\n", "active", []string{show}, "acme is active; conveyor tenants set acme --stop REASON stops it, which comes first"},
		"flag":      {tenantsEraseCmd{ID: "acme", Yes: true}, "", "stopped", []string{erase}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var asked []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					asked = append(asked, r.Method+" "+r.URL.String())
					_ = json.NewEncoder(w).Encode(apioutreach.Tenant{ID: "acme", Name: "Acme", State: test.state, Contacts: 7})
					return
				}
				var in apioutreach.TenantErase
				_ = json.NewDecoder(r.Body).Decode(&in)
				asked = append(asked, r.Method+" "+r.URL.String()+` {"tenant":"`+in.Tenant+`"}`)
				_ = json.NewEncoder(w).Encode(apioutreach.TenantErasure{Tenant: "acme", State: "running", Table: "contacts"})
			}))
			t.Cleanup(server.Close)
			var out strings.Builder
			err := test.cmd.run(t.Context(), Client{URL: server.URL}, strings.NewReader(test.input), &out)
			require.Equal(t, test.asked, asked)
			if test.err != "" {
				require.EqualError(t, err, test.err)
				require.Equal(t, test.state == "stopped", strings.Contains(out.String(), "acme (Acme) is stopped and has 7 contacts"))
				return
			}
			require.NoError(t, err)
			require.Contains(t, out.String(), "running")
		})
	}
}

func TestShowErasure(t *testing.T) {
	t.Parallel()

	var out strings.Builder
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	require.NoError(t, printErasure(&out, apioutreach.TenantErasure{
		Tenant: "acme", State: "done", RequestedAt: at, RequestedBy: "ops", RequestID: "r1", Remote: "10.0.0.1", Passes: 2,
		Rows: map[string]int64{"contacts": 7, "campaigns": 2}, Files: 3, Bytes: 2048, FinishedAt: new(at.Add(time.Hour)),
		Kept: []apioutreach.ErasureKept{{Table: "tenants", Why: "the ID"}}, Workflow: api.WorkflowLink{URL: "http://ui/erase"},
	}))
	require.Equal(t, `tenant             acme
state              done
requested          2026-11-26T12:00:00Z by ops
request            r1 from 10.0.0.1
finished           2026-11-26T13:00:00Z
files              3 of `+size(2048)+` with their copies
rows of campaigns  2
rows of contacts   7
kept: tenants      the ID
workflow           http://ui/erase
`, out.String())
}

package outreach_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// The contacts that are not written to are listed in pages, with why, and each page is in the audit, without names.
func TestListOptOuts(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	dbtest.NewTenant(t, d.Pool, "other")
	post := func(tenant, path, body string) apitest.Reply {
		return d.Ask(t, http.MethodPost, path+"?tenant="+tenant, body)
	}
	var ids []int64
	for i := range 6 {
		body := fmt.Sprintf(`{"phone":"514 555-010%d","name":"Zoé %d","email":"zoe%d@example.org"}`, i, i, i)
		ids = append(ids, apitest.Read[apioutreach.ContactStored](t, post("acme", "/contacts", body), 200).ID)
	}
	apitest.Read[apioutreach.ContactStored](t, post("other", "/contacts", `{"phone":"514 555-0100"}`), 200)
	for _, body := range []string{
		`{"phone":"514 555-0105"}`, `{"email":"zoe1@example.org"}`, `{"phone":"514 555-0103"}`, `{"phone":"514 555-0199"}`,
	} {
		require.Equal(t, 204, post("acme", "/opt-outs", body).Status)
	}
	list := func(query string) apioutreach.OptOutPage {
		return apitest.Read[apioutreach.OptOutPage](t, d.Get(t, "/opt-outs?tenant="+query), 200)
	}
	first := list("acme&limit=2")
	require.Len(t, first.Items, 2)
	require.Equal(t, apioutreach.ContactOptOut{
		Contact: ids[1], Phone: "+15145550101", Email: "zoe1@example.org", Name: "Zoé 1", Source: "api",
		At: first.Items[0].At,
	}, first.Items[0])
	require.Equal(t, ids[3], first.Items[1].Contact)
	rest := list("acme&limit=2&cursor=" + first.NextCursor)
	require.Len(t, rest.Items, 1)
	require.Equal(t, ids[5], rest.Items[0].Contact)
	require.Empty(t, rest.NextCursor)
	require.Empty(t, list("other").Items)
	apitest.Refused(t, d.Get(t, "/opt-outs?tenant=acme&cursor=x"), 422)
	apitest.Refused(t, d.Get(t, "/opt-outs?tenant=nobody"), 404)

	var n int
	var audit string
	require.NoError(t, d.Pool.QueryRow(t.Context(),
		"SELECT count(*), string_agg(a::text, ' ') FROM audit a WHERE action = 'opt_outs.shown'").Scan(&n, &audit))
	require.Equal(t, 3, n)
	require.False(t, strings.Contains(audit, "Zoé") || strings.Contains(audit, "5550"), audit)
}

// Two who change one segment keep each other's changes, and nobody brings back one that was deleted.
func TestChangeSegment(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	ask := func(method, path, body string) apitest.Reply { return d.Ask(t, method, path+"?tenant=acme", body) }
	made := apitest.Read[apioutreach.Segment](t, ask("POST", "/segments", `{"name":"VIPs","filter":{"tag":"vip"}}`), 201)
	apitest.Read[apioutreach.Segment](t, ask("POST", "/segments", `{"name":"Others","filter":{}}`), 201)
	at := "/segments/" + made.ID.String()
	s := apitest.Read[apioutreach.Segment](t, ask("PATCH", at, `{"filter":{"tag":"gold"}}`), 200)
	require.Equal(t, []string{"VIPs", "gold"}, []string{s.Name, s.Filter.Tag})
	s = apitest.Read[apioutreach.Segment](t, ask("PATCH", at, `{"name":"Gold"}`), 200)
	require.Equal(t, []string{"Gold", "gold"}, []string{s.Name, s.Filter.Tag})
	s = apitest.Read[apioutreach.Segment](t, ask("PATCH", at, `{"filter":{}}`), 200)
	require.True(t, s.Filter.Empty(), "{} is every contact")
	apitest.Refused(t, ask("PATCH", at, `{"name":"Others"}`), 409)
	apitest.Refused(t, ask("PATCH", at, `{"name":""}`), 422)
	apitest.Refused(t, ask("PATCH", at, `{"filter":{"field":"name"}}`), 422)
	apitest.Refused(t, ask("PATCH", at, `{"filter":{"list":"3f1c2a7e-5b1d-4a55-9d20-8d1f6f0c9a11"}}`), 422)
	require.Equal(t, 204, ask("DELETE", at, "").Status)
	for method, body := range map[string]string{"PATCH": `{"name":"x"}`, "PUT": `{"name":"x","filter":{}}`} {
		apitest.Refused(t, ask(method, at, body), 404)
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

func acme() apioutreach.Tenant {
	return apioutreach.Tenant{
		ID: "acme", Name: "Acme\x1b[2J", Tier: "standard", PerSecond: 10, Region: "CA",
		TenantQuotas: apioutreach.TenantQuotas{MaxContacts: new(int64(5))},
		State:        "stopped", StoppedReason: "unpaid", Contacts: 3, CreatedAt: noon,
		Workflow: api.WorkflowLink{URL: "http://ui/acme"},
	}
}

func TestPrintTenant(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printTenant(&b, acme(), []apioutreach.Sender{
		{ID: senderOne, Name: "Support", PhoneNumberID: "101", PerSecond: 80, State: "active", TokenKey: "k1"},
		{ID: senderOne, Name: "Sales", PhoneNumberID: "102", PerSecond: 20, State: "active", TokenKey: "k1",
			PausedUntil: new(noon.Add(time.Hour)), Reason: "limit"},
	}))
	require.Equal(t, `tenant    acme
name      Acme [2J
tier      standard, 10 messages a second
state     stopped: unpaid
contacts  3 of 5
region    CA
created   2026-11-21T12:00:00Z
workflow  http://ui/acme

SENDER                                NAME     PHONE NUMBER ID  RATE  STATE                              TOKEN KEY  REASON
018f1b1e-0000-7000-8000-000000000002  Support  101              80/s  active                             k1         
018f1b1e-0000-7000-8000-000000000002  Sales    102              20/s  paused until 2026-11-21T13:00:00Z  k1         limit
`, b.String())
}

func TestPrintQuotas(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	with := acme()
	with.MaxSearches, with.MaxBytes = new(int64(200)), new(int64(0))
	require.NoError(t, printTenant(&b, with, nil))
	require.Contains(t, b.String(), "saved searches  at most 200\nbytes of files  at most 0\n")
}

// Each command sends the one request that it stands for.
func TestTenantCommands(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("EAAsecret\n"), 0o600))
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		switch {
		case strings.Contains(ask, "/reseal"):
			return apioutreach.Resealed{Key: "k2", Resealed: 3}
		case strings.HasPrefix(ask, "GET") && strings.Contains(ask, "/senders"):
			return apioutreach.SenderList{}
		case strings.Contains(ask, "/senders"):
			return apioutreach.Sender{ID: senderOne}
		case strings.Contains(ask, "/tenants?"):
			return apioutreach.TenantPage{Items: []apioutreach.Tenant{acme()}}
		}
		return acme()
	})
	sender := "/tenants/acme/senders/" + senderOne.String()
	for _, tt := range []struct {
		args string
		want []string
		err  string
	}{
		{"create acme", []string{`POST /tenants {"id":"acme","name":"acme","tier":"standard"}`}, ""},
		{"create acme --name Acme --tier enterprise --region ca --max-contacts 5 --max-messages-day 0 --json", []string{
			`POST /tenants {"id":"acme","name":"Acme","tier":"enterprise","region":"CA","max_contacts":5,"max_messages_day":0}`,
		}, ""},
		{"list", []string{"GET /tenants?limit=50"}, ""},
		{"list --json --limit 3", []string{"GET /tenants?limit=3"}, ""},
		{"show acme", []string{"GET /tenants/acme", "GET /tenants/acme/senders"}, ""},
		{"set acme --tier enterprise --max-contacts none --max-messages-day 7", []string{
			`PATCH /tenants/acme {"tier":"enterprise","max_contacts":null,"max_messages_day":7}`,
		}, ""},
		{"create acme --max-searches 3 --max-bytes 9", []string{
			`POST /tenants {"id":"acme","name":"acme","tier":"standard","max_searches":3,"max_bytes":9}`,
		}, ""},
		{"set acme --max-notices-day none --max-lists 5 --max-segments 6", []string{
			`PATCH /tenants/acme {"max_notices_day":null,"max_lists":5,"max_segments":6}`,
		}, ""},
		{"create acme --max-targets 4 --max-conditions 8", []string{
			`POST /tenants {"id":"acme","name":"acme","tier":"standard","max_targets":4,"max_conditions":8}`,
		}, ""},
		{"set acme --max-targets none --max-conditions 8", []string{
			`PATCH /tenants/acme {"max_targets":null,"max_conditions":8}`,
		}, ""},
		{"set acme --stop unpaid", []string{`PATCH /tenants/acme {"state":"stopped","stopped_reason":"unpaid"}`}, ""},
		{"set acme --resume", []string{`PATCH /tenants/acme {"state":"active"}`}, ""},
		{"set acme --resume --stop x", nil, "--stop and --resume do not go together"},
		{"sender list acme", []string{"GET /tenants/acme/senders"}, ""},
		{"sender add acme --name Support --phone-number-id 101 --business-account-id 7 --token-file " + token, []string{
			`POST /tenants/acme/senders {"name":"Support","phone_number_id":"101","business_account_id":"7","token":"EAAsecret","per_second":80}`,
		}, ""},
		{"sender set acme " + senderOne.String() + " --per-second 20 --token-file " + token, []string{
			"PATCH " + sender + ` {"per_second":20,"token":"EAAsecret"}`,
		}, ""},
		{"sender set acme " + senderOne.String() + " --pause lunch", []string{
			"PATCH " + sender + ` {"state":"paused","reason":"lunch"}`,
		}, ""},
		{"sender set acme " + senderOne.String() + " --resume", []string{"PATCH " + sender + ` {"state":"active"}`}, ""},
		{"set acme", nil, "say what to change, such as --tier enterprise or --stop REASON"},
		{"sender set acme " + senderOne.String(), nil, "say what to change, such as --per-second 20 or --pause REASON"},
		{"rekey", []string{"POST /senders/reseal"}, ""},
	} {
		asked = nil
		err := run(t, url, append([]string{"tenants"}, strings.Fields(tt.args)...)...)
		if tt.err == "" {
			require.NoError(t, err, tt.args)
		} else {
			require.EqualError(t, err, tt.err, tt.args)
		}
		require.Equal(t, tt.want, asked, tt.args)
	}
	var q apioutreach.Quota
	require.EqualError(t, q.UnmarshalText([]byte("x")), `is "x", expected a number or none`)
	_, err := readSecret(t.Context(), os.DevNull)
	require.EqualError(t, err, "read token: there is none")
}

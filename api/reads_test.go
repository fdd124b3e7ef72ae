package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
)

// personalMembers are those that only a person has: whatever answers with one of them gives out a person.
var personalMembers = []string{
	"phone", "email", "given_name", "family_name", "wa_id", "wa_user", "wamid", "recipient", "record",
}

// impersonal are the files and streams that have no person in them, by operation.
var impersonal = map[string]string{
	"list-crawl-broken-links": "addresses of pages", "export-crawl-run": "pages of the web", "export-listings": "adverts",
	"get-draft-file": "product pages", "get-image": "pictures of adverts", "get-feed": "adverts",
	"watch-events": "what has changed, not how", "watch-upload": "counts", "metrics": "counts",
	"show-confirmation": "a form", "show-unsubscription": "a form", "confirm-subscription": "a form", "unsubscribe": "a form",
	"verify-whatsapp-webhook": "what Meta has sent",
}

// Every operation that gives out persons is in the audit, without them, and in the metrics: an operation whose answer has a
// member of a person, or is a file, fails here until it is in reads.
func TestEveryReadOfPersonsIsAudited(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	var guard *api.Guard
	d := apitest.Open(t, func(p *apitest.Parts) {
		guard = api.NewGuard(api.GuardOptions{Audit: p.Audit.Store, Log: apitest.Quiet, Now: p.Now})
		p.Registerer, p.Guard = registry, guard
	})
	apitest.Tenant(t, d.Pool, "acme")
	c := contact.Contact{Phone: "+15145550199", Name: "Josephine"}
	c.Key = contact.Key(c.Phone, "")
	person, _, err := d.Contacts.Store.Put(t.Context(), "acme", c, dboutreach.KnownUpdate, "test", apitest.Now)
	require.NoError(t, err)
	held := apitest.Read[struct{ ID uuid.UUID }](t, d.Upload(t, "&hold=true", apitest.FormOf("a.csv", apitest.People)), http.StatusAccepted)
	done := apitest.Read[struct{ ID uuid.UUID }](t, d.Upload(t, "", apitest.FormOf("b.csv", apitest.People+"x")), http.StatusAccepted)
	require.NoError(t, d.Uploads.Store.Planned(t.Context(), "acme", done.ID, json.RawMessage(`{}`), "", apitest.Now))
	sender := uuid.New()
	key, box, err := apitest.SecretBox(t, "new").Seal(dboutreach.SenderPurpose(sender), []byte("token"))
	require.NoError(t, err)
	require.NoError(t, d.Senders.Store.Add(t.Context(), dboutreach.Sender{
		ID: sender, Tenant: "acme", Name: "Support", PhoneNumberID: "1", BusinessAccountID: "7", CreatedAt: apitest.Now,
	}, db.Sealed{Key: key, Box: box}, "test"))
	letter, err := d.Messages.Store.Put(t.Context(), "acme", dboutreach.NewMessage{
		ID: uuid.New(), Sender: sender, Recipient: c.Phone,
		Body: campaign.Body{Type: "text", Text: &campaign.Text{Body: "Dear Josephine"}},
	}, apitest.Now)
	require.NoError(t, err)
	// Who has opted out already does so without another entry.
	require.NoError(t, d.Contacts.Store.OptOut(t.Context(), "acme", c.Persons(), "api", "tenant/acme", "test", apitest.Now))

	const acme = "?tenant=acme"
	reads := map[string][4]string{ // path, body, action and subject
		"search-contacts":        {"/contacts/search" + acme, `{"text":"Josephine"}`, api.ContactsShown, "tenant/acme"},
		"export-contacts":        {"/contacts/export" + acme, `{}`, api.ContactsExported, "tenant/acme"},
		"get-contact":            {fmt.Sprint("/contacts/", person) + acme, "", api.ContactShown, fmt.Sprint("contact/", person)},
		"opt-out-contact":        {fmt.Sprint("/contacts/", person, "/opt-out") + acme, "", api.ContactPutShown, "tenant/acme"},
		"put-contact":            {"/contacts" + acme, `{"phone":"+15145550199","known":"skip"}`, api.ContactPutShown, "tenant/acme"},
		"export-person":          {fmt.Sprint("/contacts/", person, "/export") + acme, "", api.ContactExported, fmt.Sprint("contact/", person)},
		"list-opt-outs":          {"/opt-outs" + acme, "", api.OptOutsShown, "tenant/acme"},
		"preview-upload":         {"/uploads/" + held.ID.String() + "/preview" + acme, "", api.PreviewShown, "upload/" + held.ID.String()},
		"get-upload-errors":      {"/uploads/" + done.ID.String() + "/errors.csv" + acme, "", api.RefusedShown, "upload/" + done.ID.String()},
		"get-message":            {"/messages/" + letter.ID.String() + acme, "", api.MessageShown, "tenant/acme"},
		"show-message-recipient": {"/messages/" + letter.ID.String() + "/recipient" + acme, "", api.RecipientShown, "message/" + letter.ID.String()},
		"export-tenant":          {"/tenants/acme/export", "", api.TenantExported, "tenant/acme"},
	}
	methods := map[string]string{}
	changed := apitest.ContactChanges(t, d) // which TestEveryChangeIsAudited looks at
	for id, o := range answers(t, d) {
		methods[id] = o.method
		if _, ok := changed[id]; o.personal && !ok {
			require.Containsf(t, reads, id, "%s answers with persons: record it in the audit, and say in reads how", id)
		}
	}
	asked := map[string]int{}
	for id, read := range reads {
		asked[read[2]]++
		r := d.Ask(t, methods[id], read[0], read[1])
		require.Equal(t, 200, r.Status, "%s: %s", id, r.Body)
		ended, end := context.WithCancel(t.Context())
		end()
		guard.Run(ended)
		require.Eventuallyf(t, func() bool { // an export says so once more, when it has ended
			return 0 < apitest.Value[int](t, d, `SELECT count(*) FROM audit WHERE actor = 'anonymous' AND remote = '127.0.0.1'
				AND action = $1 AND subject = $2 AND coalesce(detail->>'tenant', 'acme') = 'acme'`, read[2], read[3])
		}, 2*time.Minute, 5*time.Millisecond, id)
	}
	require.Zero(t, apitest.Value[int](t, d, `SELECT count(*) FROM audit a WHERE a::text ~ 'Josephine|5550199|5550123|Roy'`))
	require.Zero(t, apitest.Value[int](t, d, `SELECT count(*) FROM audit WHERE jsonb_typeof(detail) <> 'object'`))
	expected := new(strings.Builder)
	fmt.Fprintln(expected, "# HELP conveyor_personal_data_reads_total Requests that were given persons, by action in the audit.")
	fmt.Fprintln(expected, "# TYPE conveyor_personal_data_reads_total counter")
	for action, n := range asked {
		fmt.Fprintf(expected, "conveyor_personal_data_reads_total{action=%q} %d\n", action, n)
	}
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(expected.String()), "conveyor_personal_data_reads_total"))
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP conveyor_personal_data_persons_total Persons, or rows of files, that were given out, by action in the audit.
# TYPE conveyor_personal_data_persons_total counter
conveyor_personal_data_persons_total{action="contact.exported"} 1
conveyor_personal_data_persons_total{action="contact.put_shown"} 2
conveyor_personal_data_persons_total{action="contact.shown"} 1
conveyor_personal_data_persons_total{action="contacts.exported"} 1
conveyor_personal_data_persons_total{action="contacts.shown"} 1
conveyor_personal_data_persons_total{action="message.recipient_shown"} 1
conveyor_personal_data_persons_total{action="message.shown"} 1
conveyor_personal_data_persons_total{action="opt_outs.shown"} 1
conveyor_personal_data_persons_total{action="tenant.exported"} 1
conveyor_personal_data_persons_total{action="upload.preview_shown"} 2
conveyor_personal_data_persons_total{action="upload.refused_shown"} 0
`), "conveyor_personal_data_persons_total"))
}

// An answered operation, and whether its answer may have a person in it.
type answered struct {
	method   string
	personal bool
}

// answers are all operations of the document, by ID.
func answers(t *testing.T, d *apitest.Door) map[string]answered {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			Responses   map[string]struct {
				Content map[string]struct{ Schema any }
			}
		}
		Components struct{ Schemas map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(d.Get(t, "/openapi.json").Body), &doc))
	out, people := map[string]answered{}, 0
	for _, operations := range doc.Paths {
		for method, o := range operations {
			a := answered{method: strings.ToUpper(method)}
			for status, r := range o.Responses {
				for kind, content := range r.Content {
					_, exempt := impersonal[o.OperationID]
					a.personal = a.personal || status[0] == '2' && !exempt &&
						(kind != "application/json" || personal(content.Schema, doc.Components.Schemas, map[string]bool{}))
				}
			}
			if out[o.OperationID] = a; a.personal {
				people++
			}
		}
	}
	for id := range impersonal {
		require.Contains(t, out, id)
	}
	require.Greater(t, people, 10)
	return out
}

// personal says whether a schema has a member of a person, at any depth.
func personal(schema any, all map[string]any, seen map[string]bool) bool {
	switch s := schema.(type) {
	case []any:
		return slices.ContainsFunc(s, func(v any) bool { return personal(v, all, seen) })
	case map[string]any:
		if ref, ok := s["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/components/schemas/")
			if seen[name] {
				return false
			}
			seen[name] = true
			return personal(all[name], all, seen)
		}
		members, _ := s["properties"].(map[string]any)
		for name, member := range members {
			if slices.Contains(personalMembers, name) || personal(member, all, seen) {
				return true
			}
		}
		for _, part := range []string{"items", "additionalProperties", "oneOf", "anyOf", "allOf"} {
			if personal(s[part], all, seen) {
				return true
			}
		}
	}
	return false
}

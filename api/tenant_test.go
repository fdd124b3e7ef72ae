package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// A walked operation is one for tenants, as a request about something of the tenant acme. In its path and body, names in
// braces stand for the IDs that furnish has made.
type walked struct {
	path string
	body string
	mine int // status for acme itself; 0 = 200
	// theirs is the status for another tenant where the request names nothing of acme: it creates or lists. 0 = 404.
	theirs int
	// house: a key of no tenant need not name one.
	house bool
	// headers are names and values in turn.
	headers []string
}

// walk has all operations for tenants.
var walk = map[string]walked{
	"list-contact-lists":  {path: "/contact-lists", theirs: 200},
	"create-contact-list": {path: "/contact-lists", body: `{"name":"Others"}`, theirs: 200},
	"change-contact-list": {path: "/contact-lists/{list}/members", body: `{"add":[{contact}]}`},
	"delete-contact-list": {path: "/contact-lists/{list}", mine: 204},

	"search-contacts":     {path: "/contacts/search", body: `{}`, theirs: 200},
	"count-contacts":      {path: "/contacts/count", body: `{"filter":{"list":"{list}"}}`, theirs: 200},
	"export-contacts":     {path: "/contacts/export", body: `{}`, theirs: 200},
	"get-contact":         {path: "/contacts/{contact}"},
	"export-person":       {path: "/contacts/{contact}/export"},
	"delete-contact":      {path: "/contacts/{contact}", mine: 204},
	"opt-out-contact":     {path: "/contacts/{contact}/opt-out"},
	"opt-out-person":      {path: "/opt-outs", body: `{"email":"secret@example.org"}`, mine: 204, theirs: 204},
	"list-opt-outs":       {path: "/opt-outs", theirs: 200},
	"put-contact":         {path: "/contacts", body: `{"phone":"+15145550177"}`, theirs: 200},
	"tag-contacts":        {path: "/contacts/tags", body: `{"contacts":[{contact}],"add":["new"]}`, theirs: 200},
	"list-segments":       {path: "/segments", theirs: 200},
	"create-segment":      {path: "/segments", body: `{"name":"{unique}","filter":{}}`, mine: 201, theirs: 201},
	"get-segment":         {path: "/segments/{segment}"},
	"change-segment":      {path: "/segments/{segment}", body: `{"name":"{unique}","filter":{}}`},
	"change-segment-part": {path: "/segments/{segment}", body: `{"name":"{unique}"}`},
	"delete-segment":      {path: "/segments/{segment}", mine: 204},
	"list-uploads":        {path: "/uploads", theirs: 200},
	"get-upload":          {path: "/uploads/{upload}"},
	"preview-upload":      {path: "/uploads/{upload}/preview"},
	"cancel-upload":       {path: "/uploads/{upload}/cancel"},
	"start-upload":        {path: "/uploads/{upload}/start", mine: 202},
	"set-upload-options":  {path: "/uploads/{upload}/options", body: `{}`},
	"get-upload-errors":   {path: "/uploads/{ended}/errors.csv"},
	"watch-upload":        {path: "/uploads/{ended}/events"},
	"create-upload": { // its list is acme's
		path: "/uploads", body: apitest.FormOf("people.csv", "phone\n+15145550123\n", "list", "{list}"), mine: 202, theirs: 422,
		headers: []string{"Content-Type", apitest.FormType},
	},
	"list-senders":           {path: "/senders", theirs: 200},
	"create-campaign":        {path: "/campaigns", body: apitest.CampaignBody("{sender}"), mine: 201, theirs: 422},
	"list-campaigns":         {path: "/campaigns", theirs: 200},
	"get-campaign":           {path: "/campaigns/{draft}"},
	"edit-campaign":          {path: "/campaigns/{draft}", body: apitest.CampaignBody("{sender}")},
	"start-campaign":         {path: "/campaigns/{draft}/start", mine: 202},
	"unschedule-campaign":    {path: "/campaigns/{queued}/unschedule"},
	"pause-campaign":         {path: "/campaigns/{running}/pause"},
	"resume-campaign":        {path: "/campaigns/{paused}/resume"},
	"cancel-campaign":        {path: "/campaigns/{running}/cancel"},
	"retry-failed-messages":  {path: "/campaigns/{running}/retry-failed"},
	"list-campaign-messages": {path: "/campaigns/{running}/messages"},
	"send-message": {
		path: "/messages", body: `{"sender":"{sender}","to":"+15145550188","body":{"type":"text","text":{"body":"hi"}}}`,
		mine: 202, theirs: 422,
	},
	"list-messages":           {path: "/messages", theirs: 200},
	"get-message":             {path: "/messages/{message}"},
	"show-message-recipient":  {path: "/messages/{message}/recipient"},
	"retry-message":           {path: "/messages/{message}/retry", mine: 202},
	"list-campaign-errors":    {path: "/campaigns/{running}/errors"},
	"count-campaign-audience": {path: "/campaigns/{running}/audience"},
	"list-upload-refusals":    {path: "/uploads/{ended}/refusals"},
	"list-upload-reasons":     {path: "/uploads/{ended}/refusals/reasons"},
	"save-search": {
		path: "/searches", body: `{"name":"{unique}","filter":{},"targets":[{"kind":"feed"}]}`, mine: 201, theirs: 201,
	},
	"list-search-deliveries": {path: "/searches/{search}/deliveries"},
	"list-search-matches":    {path: "/searches/{search}/matches"},

	"list-searches": {path: "/searches", theirs: 200},
	"get-search":    {path: "/searches/{search}"},
	"change-search": {path: "/searches/{search}", body: `{"state":"paused"}`},
	"delete-search": {path: "/searches/{search}", mine: 204},
	"try-search":    {path: "/searches/try", body: `{"filter":{}}`, theirs: 200},

	"find": {path: "/find?q=secret", theirs: 200, house: true},

	"add-search-target":       {path: "/searches/{search}/targets", body: `{"kind":"feed"}`, mine: 201},
	"challenge-search-target": {path: "/searches/{search}/targets/{target}/challenge", mine: 409},
	"rotate-search-target":    {path: "/searches/{search}/targets/{target}/rotate"},
	"delete-search-target":    {path: "/searches/{search}/targets/{target}", mine: 204},
}

// Every operation for tenants shows a tenant nothing of another one, and does nothing to it: it answers as if it were
// not there. What is not in the table above fails.
func TestTenantsAreApart(t *testing.T) {
	t.Parallel()
	f := apitest.Walkable(t)
	apitest.Tenant(t, f.Pool, "acme")
	apitest.Tenant(t, f.Pool, "rival")
	of := func(name, tenant string) string {
		return f.Key(t, name, access.Admin, func(k *db.Key) { k.Tenant = tenant })
	}
	acme, rival, house := of("acme-key", "acme"), of("rival-key", "rival"), of("house-key", "")
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Tenants     bool   `json:"x-tenant-keys"`
			Parameters  []struct{ Name, In string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(f.Get(t, "/openapi.json").Body), &doc))
	var seen []string
	for path, methods := range doc.Paths {
		for method, o := range methods {
			if !o.Tenants {
				continue
			}
			seen = append(seen, o.OperationID)
			t.Run(o.OperationID, func(t *testing.T) {
				w, ok := walk[o.OperationID]
				require.True(t, ok, "add it to walk: a request about something of acme, which furnish makes")
				require.Contains(t, o.Parameters, struct{ Name, In string }{"tenant", "query"}, "its input has OfTenant")
				require.Equal(t, path, strings.SplitN(template(w.path, path), "?", 2)[0], "the path in walk is another one")
				var names []string
				for name, id := range apitest.Furnish(t, f) {
					names = append(names, "{"+name+"}", id)
				}
				ask := func(key, query string) apitest.Reply {
					fill := strings.NewReplacer(append(names, "{unique}", uuid.NewString())...)
					target := fill.Replace(w.path)
					if sign := "?"; query != "" {
						if strings.Contains(target, sign) {
							sign = "&"
						}
						target += sign + query
					}
					headers := append([]string{"Authorization", "Bearer " + key}, w.headers...)
					return f.Ask(t, strings.ToUpper(method), target, fill.Replace(w.body), headers...)
				}
				theirs := w.theirs
				if theirs == 0 {
					theirs = http.StatusNotFound
				}
				for name, r := range map[string]apitest.Reply{
					"a key of rival": ask(rival, ""), "the same, named": ask(rival, "tenant=rival"),
					"rival named without a key of it": ask(house, "tenant=rival"),
				} {
					require.Equal(t, theirs, r.Status, "%s: %s", name, r.Body)
					require.NotContains(t, r.Body, "secret", name)
					require.NotContains(t, r.Body, "acme", name)
				}
				unknown := apitest.Refused(t, ask(rival, "tenant=nobody"), http.StatusNotFound)
				other := apitest.Refused(t, ask(rival, "tenant=acme"), http.StatusNotFound)
				require.Equal(t, strings.ReplaceAll(unknown.Detail, "nobody", "acme"), other.Detail)
				apitest.Refused(t, ask(house, "tenant=nobody"), http.StatusNotFound)
				if !w.house {
					require.Contains(t, apitest.Refused(t, ask(house, ""), http.StatusBadRequest).Detail, "?tenant=ID")
				} else {
					require.NotContains(t, ask(house, "").Body, "secret")
				}

				mine := w.mine
				if mine == 0 {
					mine = http.StatusOK
				}
				r := ask(acme, "") // the request is a good one, and all of acme's is still there
				require.Equal(t, mine, r.Status, r.Body)
				require.NotContains(t, r.Body, "temporal.test", "where the Web UI is")
			})
		}
	}
	require.ElementsMatch(t, tenantOperations, seen)
	require.Equal(t, len(tenantOperations), len(walk), "there are rows for operations that are not there")
}

// template is a path of walk as the document has it.
func template(path, documented string) string {
	want, got := strings.Split(documented, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return path
	}
	for i := range got {
		if strings.HasPrefix(want[i], "{") && strings.HasPrefix(got[i], "{") {
			got[i] = want[i]
		}
	}
	return strings.Join(got, "/")
}

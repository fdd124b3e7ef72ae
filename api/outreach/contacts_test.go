package outreach_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
)

func TestContacts(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	var ids []int64
	for i := range 5 {
		c := contact.Contact{
			Phone: fmt.Sprintf("+1514555010%d", i), Country: "CA", Name: fmt.Sprintf("Zoé %d", i), Tags: []string{"a"},
			Fields: map[string]string{"city": "=Montréal"},
		}
		c.Key = contact.Key(c.Phone, "")
		id, _, err := d.Contacts.Store.Put(t.Context(), "acme", c, dboutreach.KnownUpdate, "test", apitest.Now)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	post := func(path, body string) apitest.Reply { return d.Ask(t, http.MethodPost, path+"?tenant=acme", body) }
	search := func(body string) apioutreach.ContactPage {
		return apitest.Read[apioutreach.ContactPage](t, post("/contacts/search", body), 200)
	}
	first := search(`{"limit":3}`)
	require.Len(t, first.Items, 3)
	rest := search(`{"limit":3,"cursor":"` + first.NextCursor + `"}`)
	require.Len(t, rest.Items, 2)
	require.Empty(t, rest.NextCursor)
	require.Equal(t, ids[4], rest.Items[1].ID)
	for text, want := range map[string]int{"ZOÉ 1": 1, "514 555-0103": 1, "(514) 555": 5, "nobody": 0} {
		require.Len(t, search(`{"text":"`+text+`"}`).Items, want, text)
	}
	require.Len(t, search(`{"filter":{"tag":"a"},"text":"Zoé 2"}`).Items, 1)
	apitest.Refused(t, post("/contacts/search", `{"filter":{"tag":"a","locale":"fr"}}`), 422)
	apitest.Refused(t, post("/contacts/search", `{"cursor":"x"}`), 422)

	made := apitest.Read[apioutreach.Segment](t, post("/segments", `{"name":"VIPs","filter":{"field":"name","contains":"zoé"}}`), 201)
	apitest.Refused(t, post("/segments", `{"name":"VIPs","filter":{}}`), http.StatusConflict)
	for _, body := range []string{
		`{"name":"x","filter":{"field":"name"}}`, `{"name":"x","filter":{"tag":"a\u0000b"}}`, `{"name":"a\u0000b","filter":{}}`,
	} {
		apitest.Refused(t, post("/segments", body), 422)
	}
	at := "/segments/" + made.ID.String()
	require.Equal(t, int64(5), *apitest.Read[apioutreach.Segment](t, d.Get(t, at+"?tenant=acme"), 200).Contacts)
	n := apitest.Read[apioutreach.ContactCount](t, post("/contacts/count", `{"segment":"`+made.ID.String()+`","text":"Zoé 3"}`), 200)
	require.Equal(t, int64(1), n.Contacts)
	apitest.Refused(t, post("/contacts/count", `{"segment":"`+uuid.NewString()+`"}`), 404)

	// What is exported is read again as it was.
	r := post("/contacts/export", `{"text":"Zoé 1"}`)
	require.Equal(t, "\ufeffphone,email,name,given_name,family_name,locale,tags,fields.city\n"+
		"+15145550101,,Zoé 1,,,,a,'=Montréal\n", r.Body)

	one := fmt.Sprintf("/contacts/%d", ids[0])
	require.False(t, apitest.Read[apioutreach.Contact](t, d.Get(t, one+"?tenant=acme"), 200).OptedOut)
	for range 2 {
		require.True(t, apitest.Read[apioutreach.Contact](t, post(one+"/opt-out", ""), 200).OptedOut)
	}
	require.Equal(t, 204, post("/opt-outs", `{"phone":"514 555-0101"}`).Status)
	require.Len(t, search(`{"text":"0101"}`).Items, 1)
	require.True(t, search(`{"text":"0101"}`).Items[0].OptedOut)
	for _, body := range []string{`{}`, `{"phone":"514 555-0101","email":"a@b.ca"}`, `{"phone":"98"}`} {
		require.NotContains(t, apitest.Refused(t, post("/opt-outs", body), 422).Detail, "98")
	}
	p := apitest.Read[apioutreach.Person](t, d.Get(t, one+"/export?tenant=acme"), 200)
	require.Equal(t, "api", p.OptOut.Source)
	require.Equal(t, "+15145550100", p.Contact.Phone)
	require.Equal(t, 204, d.Ask(t, http.MethodDelete, one+"?tenant=acme", "").Status)
	apitest.Refused(t, d.Get(t, one+"?tenant=acme"), 404)

	// One that is opted out by its ID takes with it those that have its address, and the answer says how many.
	stored := func(body string) apioutreach.ContactStored {
		return apitest.Read[apioutreach.ContactStored](t, post("/contacts", body), 200)
	}
	var couple []int64
	for i := range 3 {
		couple = append(couple, stored(fmt.Sprintf(`{"phone":"514 555-012%d","email":"Both@example.org"}`, i)).ID)
	}
	couple = append(couple, stored(`{"phone":"514 555-0123"}`).ID, stored(`{"email":"both@example.org"}`).ID)
	out := apitest.Read[apioutreach.ContactOptedOut](t, post(fmt.Sprintf("/contacts/%d/opt-out", couple[0]), ""), 200)
	require.Equal(t, int64(4), out.Contacts)
	for i, want := range []bool{true, true, true, false, true} {
		c := apitest.Read[apioutreach.Contact](t, d.Get(t, fmt.Sprintf("/contacts/%d?tenant=acme", couple[i])), 200)
		require.Equal(t, want, c.OptedOut, i)
	}

	// Nothing of it names a person in the audit.
	var audit string
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT string_agg(a::text, ' ') FROM audit a").Scan(&audit))
	for _, deed := range []string{"contact.opted_out", "contact.deleted", "segment.stored"} {
		require.Contains(t, audit, deed)
	}
	require.False(t, strings.Contains(audit, "Zoé") || strings.Contains(audit, "5550"), audit)
}

// A contact is added and corrected by a request, as a row of a file would, and loses a tag.
func TestPutContact(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	post := func(path, body string) apitest.Reply { return d.Ask(t, http.MethodPost, path+"?tenant=acme", body) }
	put := func(body string) apioutreach.ContactStored {
		return apitest.Read[apioutreach.ContactStored](t, post("/contacts", body), 200)
	}
	const first = `{"phone":"514 555-0101","email":"Zoe@EXAMPLE.org","given_name":" Zoe ","family_name":"Roy","locale":"French",
		"tags":["VIP","a, b","VIP"],"fields":{"city":"Montréal"}}`
	one := put(first)
	require.True(t, one.Added)
	want := apioutreach.Contact{
		ID: one.ID, Phone: "+15145550101", Country: "CA", Email: "Zoe@example.org", Name: "Zoe Roy", GivenName: "Zoe",
		FamilyName: "Roy", Locale: "fr", Tags: []string{"VIP", "a, b"}, Fields: map[string]string{"city": "Montréal"},
		CreatedAt: one.CreatedAt, UpdatedAt: apitest.Now,
	}
	require.Equal(t, want, one.Contact)
	require.Equal(t, apioutreach.ContactStored{Contact: want}, put(first), "it is the same request")
	require.Equal(t, apioutreach.ContactStored{Contact: want}, put(`{"phone":"+15145550101","name":"Other","known":"skip"}`))
	apitest.Refused(t, post("/contacts", `{"phone":"+15145550101","known":"fail"}`), 409)
	want.GivenName, want.Name = "Zoë", "Zoë Roy"
	require.Equal(t, want, put(`{"phone":"+15145550101","given_name":"Zoë"}`).Contact)

	for body, field := range map[string]string{
		`{}`: "body.phone", `{"phone":"98"}`: "body.phone", `{"email":"a"}`: "body.email", `{"phone":"+15145550102","locale":"?"}`: "body.locale",
		`{"phone":"+15145550102","fields":{"A b":"x"}}`: "body.fields", `{"phone":"+15145550102","fields":{"a":"#N/A"}}`: "body.fields.a",
		`{"phone":"+15145550102","tags":["` + strings.Repeat("x", 65) + `"]}`: "body.tags",
		`{"phone":"+15145550102","known":"x"}`:                                "body.known",
	} {
		p := apitest.Refused(t, post("/contacts", body), 422)
		require.Contains(t, p.Fields(), field, body)
		require.NotContains(t, p.Detail, "98", "its errors repeat nothing of the person")
	}

	count := func(tag string) int64 {
		return apitest.Read[apioutreach.ContactCount](t, post("/contacts/count", `{"filter":{"tag":"`+tag+`"}}`), 200).Contacts
	}
	require.Equal(t, int64(1), count("VIP"))
	change := fmt.Sprintf(`{"contacts":[%d,%d,999999],"add":["new"],"remove":["VIP"]}`, one.ID, one.ID)
	for _, want := range []int64{1, 0} {
		require.Equal(t, want, apitest.Read[apioutreach.ContactsTagged](t, post("/contacts/tags", change), 200).Changed)
	}
	require.Zero(t, count("VIP"))
	require.Equal(t, int64(1), count("new"))
	const composed, decomposed = "\u00c9t\u00e9", "E\u0301te\u0301" // as keyboards and files of Macs have them
	for _, change := range []string{`"add":["` + decomposed + `"]`, `"remove":["` + decomposed + `"]`} {
		body := fmt.Sprintf(`{"contacts":[%d],%s}`, one.ID, change)
		require.Equal(t, int64(1), apitest.Read[apioutreach.ContactsTagged](t, post("/contacts/tags", body), 200).Changed)
		require.Equal(t, count(composed), count(decomposed))
	}
	require.Zero(t, count(composed))
	apitest.Refused(t, post("/contacts/tags", `{"contacts":[],"add":["new"]}`), 422)
	apitest.Refused(t, post("/contacts/tags", `{"contacts":[1],"add":[""]}`), 422)

	// Another tenant has neither.
	apitest.Tenant(t, d.Pool, "rival")
	r := d.Ask(t, http.MethodPost, "/contacts/tags?tenant=rival", change)
	require.Zero(t, apitest.Read[apioutreach.ContactsTagged](t, r, 200).Changed)
	require.Equal(t, []string{"contact.added", "contact.changed"}, d.Audited(t, fmt.Sprint("contact/", one.ID)))
	require.Contains(t, d.Audited(t, "tenant/acme"), "contact.tagged")
}

// A tenant searches three times at once, and leaves the rest to others.
func TestSearchesAtOnce(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	apitest.Tenant(t, d.Pool, "rival")
	waiting, release := dbtest.Locked(t, d.Pool, "contacts")
	answers := make(chan int, 10)
	search := func(path, tenant string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.Address+path+"?tenant="+tenant, strings.NewReader(`{}`))
		if err != nil {
			answers <- 0
			return
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			answers <- 0
			return
		}
		_ = answer.Body.Close()
		answers <- answer.StatusCode
	}
	for _, path := range []string{"/contacts/search", "/contacts/count", "/contacts/export"} {
		go search(path, "acme")
	}
	waiting(3)
	segment, err := d.Contacts.Store.PutSegment(t.Context(), "acme", dboutreach.Segment{ID: uuid.New(), Name: "x"}, "test", apitest.Now)
	require.NoError(t, err)
	for _, r := range []apitest.Reply{
		d.Ask(t, http.MethodPost, "/contacts/search?tenant=acme", `{}`),
		d.Ask(t, http.MethodPost, "/contacts/export?tenant=acme", `{}`),
		d.Get(t, "/segments/"+segment.ID.String()+"?tenant=acme"),
	} {
		apitest.Refused(t, r, http.StatusTooManyRequests)
		require.NotEmpty(t, r.Header.Get("Retry-After"))
	}
	go search("/contacts/count", "rival")
	waiting(4)
	release()
	for range 4 {
		require.Equal(t, 200, <-answers)
	}
}

// An export has all custom fields, or none of the contacts.
func TestExportOfManyFields(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	c := contact.Contact{Phone: "+15145550199", Name: "Jo"}
	c.Key = contact.Key(c.Phone, "")
	_, _, err := d.Contacts.Store.Put(t.Context(), "acme", c, dboutreach.KnownUpdate, "test", apitest.Now)
	require.NoError(t, err)
	export := func(fields int) apitest.Reply {
		d.System(t, "UPDATE contacts SET fields = (SELECT jsonb_object_agg('f' || n, 'x') FROM generate_series(1, $1::int) n)", fields)
		return d.Ask(t, http.MethodPost, "/contacts/export?tenant=acme", `{}`)
	}
	r := export(993)
	require.Equal(t, 200, r.Status, r.Body)
	require.Equal(t, contact.MaxColumns-1, strings.Count(strings.SplitN(r.Body, "\n", 2)[0], ","))
	require.Contains(t, r.Body, ",fields.f993\n")
	require.Contains(t, apitest.Refused(t, export(994), 422).Detail, "more than 993 custom fields")
}

// What of persons is given out, and how much, is in the audit.
func TestReadsOfPersonsAreAudited(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	d, _ := apitest.Outreach(t, func(p *apitest.Parts) { p.Registerer = registry })
	c := contact.Contact{Phone: "+15145550199", Name: "Jo"}
	c.Key = contact.Key(c.Phone, "")
	id, _, err := d.Contacts.Store.Put(t.Context(), "acme", c, dboutreach.KnownUpdate, "test", apitest.Now)
	require.NoError(t, err)
	u := imported(t, d, apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("clients.csv", apitest.People)), http.StatusAccepted))
	details := func(action string) (out []string) {
		rows, err := d.Pool.Query(t.Context(), "SELECT detail FROM audit WHERE action = $1 ORDER BY id", action)
		require.NoError(t, err)
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return out
	}
	require.Equal(t, 200, d.Get(t, fmt.Sprint("/contacts/", id, "/export?tenant=acme")).Status)
	require.Len(t, details("contact.exported"), 1)
	require.Equal(t, 200, d.Get(t, "/uploads/"+u.ID.String()+"/errors.csv?tenant=acme").Status)
	require.Equal(t, 200, d.Ask(t, "HEAD", "/uploads/"+u.ID.String()+"/errors.csv?tenant=acme", "").Status, "shows nothing")
	require.Len(t, details("upload.refused_shown"), 1)
	require.Contains(t, details("upload.refused_shown")[0], `"rows": 1`)
	r := d.Ask(t, http.MethodPost, "/contacts/export?tenant=acme", `{"filter":{"field":"name","equals":"Jo"}}`)
	require.Equal(t, 200, r.Status, r.Body)
	require.Eventually(t, func() bool { return len(details("contacts.exported")) == 2 }, 2*time.Minute, 5*time.Millisecond)
	last := details("contacts.exported")[1]
	require.Contains(t, last, `"rows": 1`)
	require.NotContains(t, last, "Jo")
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP conveyor_personal_data_persons_total Persons, or rows of files, that were given out, by action in the audit.
# TYPE conveyor_personal_data_persons_total counter
conveyor_personal_data_persons_total{action="contact.exported"} 1
conveyor_personal_data_persons_total{action="contact.put_shown"} 0
conveyor_personal_data_persons_total{action="contact.shown"} 0
conveyor_personal_data_persons_total{action="contacts.exported"} 1
conveyor_personal_data_persons_total{action="contacts.shown"} 0
conveyor_personal_data_persons_total{action="message.recipient_shown"} 0
conveyor_personal_data_persons_total{action="message.shown"} 0
conveyor_personal_data_persons_total{action="opt_outs.shown"} 0
conveyor_personal_data_persons_total{action="tenant.exported"} 0
conveyor_personal_data_persons_total{action="upload.preview_shown"} 0
conveyor_personal_data_persons_total{action="upload.refused_shown"} 1
`), "conveyor_personal_data_persons_total"))
}

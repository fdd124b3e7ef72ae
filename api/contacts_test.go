package api_test

import (
	"context"
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

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db/dbtest"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestContacts(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t)
	var ids []int64
	for i := range 5 {
		c := contact.Contact{
			Phone: fmt.Sprintf("+1514555010%d", i), Country: "CA", Name: fmt.Sprintf("Zoé %d", i), Tags: []string{"a"},
			Fields: map[string]string{"city": "=Montréal"},
		}
		c.Key = contact.Key(c.Phone, "")
		id, _, err := d.Contacts.Store.Put(t.Context(), "acme", c, dboutreach.KnownUpdate, now)
		require.NoError(t, err)
		ids = append(ids, id)
	}
	post := func(path, body string) reply { return d.ask(t, http.MethodPost, path+"?tenant=acme", body) }
	search := func(body string) api.ContactPage {
		return read[api.ContactPage](t, post("/contacts/search", body), 200)
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
	refused(t, post("/contacts/search", `{"filter":{"tag":"a","locale":"fr"}}`), 422)
	refused(t, post("/contacts/search", `{"cursor":"x"}`), 422)

	made := read[api.Segment](t, post("/segments", `{"name":"VIPs","filter":{"field":"name","contains":"zoé"}}`), 201)
	refused(t, post("/segments", `{"name":"VIPs","filter":{}}`), http.StatusConflict)
	refused(t, post("/segments", `{"name":"x","filter":{"field":"name"}}`), 422)
	at := "/segments/" + made.ID.String()
	require.Equal(t, int64(5), *read[api.Segment](t, d.get(t, at+"?tenant=acme"), 200).Contacts)
	n := read[api.ContactCount](t, post("/contacts/count", `{"segment":"`+made.ID.String()+`","text":"Zoé 3"}`), 200)
	require.Equal(t, int64(1), n.Contacts)
	refused(t, post("/contacts/count", `{"segment":"`+uuid.NewString()+`"}`), 404)

	// What is exported is read again as it was.
	r := post("/contacts/export", `{"text":"Zoé 1"}`)
	require.Equal(t, "\ufeffphone,email,name,given_name,family_name,locale,tags,fields.city\n"+
		"+15145550101,,Zoé 1,,,,a,'=Montréal\n", r.Body)

	one := fmt.Sprintf("/contacts/%d", ids[0])
	require.False(t, read[api.Contact](t, d.get(t, one+"?tenant=acme"), 200).OptedOut)
	for range 2 {
		require.True(t, read[api.Contact](t, post(one+"/opt-out", ""), 200).OptedOut)
	}
	require.Equal(t, 204, post("/opt-outs", `{"phone":"514 555-0101"}`).Status)
	require.Len(t, search(`{"text":"0101"}`).Items, 1)
	require.True(t, search(`{"text":"0101"}`).Items[0].OptedOut)
	for _, body := range []string{`{}`, `{"phone":"514 555-0101","email":"a@b.ca"}`, `{"phone":"98"}`} {
		require.NotContains(t, refused(t, post("/opt-outs", body), 422).Detail, "98")
	}
	p := read[api.Person](t, d.get(t, one+"/export?tenant=acme"), 200)
	require.Equal(t, "api", p.OptOut.Source)
	require.Equal(t, "+15145550100", p.Contact.Phone)
	require.Equal(t, 204, d.ask(t, http.MethodDelete, one+"?tenant=acme", "").Status)
	refused(t, d.get(t, one+"?tenant=acme"), 404)

	// Nothing of it names a person in the audit.
	var audit string
	require.NoError(t, d.pool.QueryRow(t.Context(), "SELECT string_agg(a::text, ' ') FROM audit a").Scan(&audit))
	for _, deed := range []string{"contact.opted_out", "contact.deleted", "segment.stored"} {
		require.Contains(t, audit, deed)
	}
	require.False(t, strings.Contains(audit, "Zoé") || strings.Contains(audit, "5550"), audit)
}

// contactChanges are the requests of changes for uploads, contacts, lists and segments, each about something of its own.
func contactChanges(t *testing.T, d *door) map[string][3]string {
	t.Helper()

	const of = "initech"
	tenant(t, d.pool, of)
	ctx, store := t.Context(), d.Contacts.Store
	list := func() string {
		l, err := store.CreateList(ctx, of, uuid.NewString(), "test", now)
		require.NoError(t, err)
		return l.ID.String()
	}
	segment := func() string {
		s, err := store.PutSegment(ctx, of, dboutreach.Segment{ID: uuid.New(), Name: uuid.NewString()}, "test", now)
		require.NoError(t, err)
		return s.ID.String()
	}
	person := func() string {
		c := contact.Contact{Email: uuid.NewString() + "@example.org"}
		c.Key = contact.Key("", c.Email)
		id, _, err := store.Put(ctx, of, c, dboutreach.KnownUpdate, now)
		require.NoError(t, err)
		return fmt.Sprint(id)
	}
	held := func() string {
		file, err := d.Uploads.Blobs.PutUpload(ctx, strings.NewReader("phone\n+15145550123\n"))
		require.NoError(t, err)
		u, err := d.Uploads.Store.Create(ctx, dboutreach.Upload{
			ID: uuid.New(), Tenant: of, FileName: "a", Blob: file.Key, Bytes: file.Bytes, SHA256: file.SHA256,
			CreatedBy: "test", CreatedAt: now, State: dboutreach.UploadHeld,
		})
		require.NoError(t, err)
		return u.ID.String()
	}
	out := map[string][3]string{}
	add := func(operation, path, id, rest, body, deed string) {
		out[operation] = [3]string{path + id + rest + "?tenant=" + of, body, deed + id}
	}
	add("create-contact-list", "/contact-lists", "", "", `{"name":"New"}`, "contact_list.created contact-list/")
	add("change-contact-list", "/contact-lists/", list(), "/members", `{"add":[`+person()+`]}`, "contact_list.changed contact-list/")
	add("delete-contact-list", "/contact-lists/", list(), "", "", "contact_list.deleted contact-list/")
	add("create-segment", "/segments", "", "", `{"name":"New","filter":{}}`, "segment.stored segment/")
	add("change-segment", "/segments/", segment(), "", `{"name":"Newer","filter":{}}`, "segment.stored segment/")
	add("delete-segment", "/segments/", segment(), "", "", "segment.deleted segment/")
	add("delete-contact", "/contacts/", person(), "", "", "contact.deleted contact/")
	add("opt-out-contact", "/contacts/", person(), "/opt-out", "", "contact.opted_out contact/")
	add("opt-out-person", "/opt-outs", "", "", `{"email":"a@example.org"}`, "contact.opted_out tenant/"+of)
	add("create-upload", "/uploads", "", "", formOf("a.csv", "phone\n"), "upload.created upload/")
	add("set-upload-options", "/uploads/", held(), "/options", `{}`, "upload.changed upload/")
	add("start-upload", "/uploads/", held(), "/start", "", "upload.started upload/")
	add("cancel-upload", "/uploads/", held(), "/cancel", "", "upload.canceled upload/")
	return out
}

// A tenant searches three times at once, and leaves the rest to others.
func TestSearchesAtOnce(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t)
	tenant(t, d.pool, "rival")
	conn, err := pgx.Connect(t.Context(), dbtest.Owner(t, d.pool))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE contacts IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	answers := make(chan int, 10)
	search := func(path, tenant string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+path+"?tenant="+tenant, strings.NewReader(`{}`))
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
	waiting := func(n int) {
		t.Helper()
		require.Eventually(t, func() bool {
			var got int
			err := tx.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks
				WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&got)
			return err == nil && got == n
		}, servicetest.Patience(), 5*time.Millisecond)
	}
	for _, path := range []string{"/contacts/search", "/contacts/count", "/contacts/export"} {
		go search(path, "acme")
	}
	waiting(3)
	segment, err := d.Contacts.Store.PutSegment(t.Context(), "acme", dboutreach.Segment{ID: uuid.New(), Name: "x"}, "test", now)
	require.NoError(t, err)
	for _, r := range []reply{
		d.ask(t, http.MethodPost, "/contacts/search?tenant=acme", `{}`),
		d.ask(t, http.MethodPost, "/contacts/export?tenant=acme", `{}`),
		d.get(t, "/segments/"+segment.ID.String()+"?tenant=acme"),
	} {
		refused(t, r, http.StatusTooManyRequests)
		require.NotEmpty(t, r.Header.Get("Retry-After"))
	}
	go search("/contacts/count", "rival")
	waiting(4)
	require.NoError(t, tx.Rollback(t.Context()))
	for range 4 {
		require.Equal(t, 200, <-answers)
	}
}

// What of persons is given out, and how much, is in the audit.
func TestReadsOfPersonsAreAudited(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	d, _ := outreach(t, func(p *parts) { p.Registerer = registry })
	c := contact.Contact{Phone: "+15145550199", Name: "Jo"}
	c.Key = contact.Key(c.Phone, "")
	id, _, err := d.Contacts.Store.Put(t.Context(), "acme", c, dboutreach.KnownUpdate, now)
	require.NoError(t, err)
	u := imported(t, d, read[api.Upload](t, d.upload(t, "", formOf("clients.csv", people)), http.StatusAccepted))
	details := func(action string) (out []string) {
		rows, err := d.pool.Query(t.Context(), "SELECT detail FROM audit WHERE action = $1 ORDER BY id", action)
		require.NoError(t, err)
		out, err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		return out
	}
	require.Equal(t, 200, d.get(t, fmt.Sprint("/contacts/", id, "/export?tenant=acme")).Status)
	require.Len(t, details("contact.exported"), 1)
	require.Equal(t, 200, d.get(t, "/uploads/"+u.ID.String()+"/errors.csv?tenant=acme").Status)
	require.Len(t, details("upload.refused_shown"), 1)
	require.Contains(t, details("upload.refused_shown")[0], `"rows": 1`)
	r := d.ask(t, http.MethodPost, "/contacts/export?tenant=acme", `{"filter":{"field":"name","equals":"Jo"}}`)
	require.Equal(t, 200, r.Status, r.Body)
	require.Eventually(t, func() bool { return len(details("contacts.exported")) == 2 }, 2*time.Minute, 5*time.Millisecond)
	last := details("contacts.exported")[1]
	require.Contains(t, last, `"rows": 1`)
	require.NotContains(t, last, "Jo")
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP conveyor_personal_data_persons_total Persons, or rows of files, that were given out, by action in the audit.
# TYPE conveyor_personal_data_persons_total counter
conveyor_personal_data_persons_total{action="contact.exported"} 1
conveyor_personal_data_persons_total{action="contacts.exported"} 1
conveyor_personal_data_persons_total{action="message.recipient_shown"} 0
conveyor_personal_data_persons_total{action="upload.refused_shown"} 1
# HELP conveyor_personal_data_reads_total Requests that were given persons, by action in the audit.
# TYPE conveyor_personal_data_reads_total counter
conveyor_personal_data_reads_total{action="contact.exported"} 1
conveyor_personal_data_reads_total{action="contacts.exported"} 1
conveyor_personal_data_reads_total{action="message.recipient_shown"} 0
conveyor_personal_data_reads_total{action="upload.refused_shown"} 1
`), "conveyor_personal_data_persons_total", "conveyor_personal_data_reads_total"))
}

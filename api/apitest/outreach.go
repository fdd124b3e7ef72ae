package apitest

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/whatsapp"
)

// AddSender adds a sender of a tenant, with a number of its own.
func AddSender(t *testing.T, pool *pgxpool.Pool, tenant, name string) uuid.UUID {
	t.Helper()

	id := uuid.New()
	err := dboutreach.NewSenders(pool).Add(t.Context(), dboutreach.Sender{
		ID: id, Tenant: tenant, Name: name, PhoneNumberID: fmt.Sprint(id.ID()), BusinessAccountID: "7", CreatedAt: Now,
	}, db.Sealed{Key: "new", Box: []byte("sealed")}, "test")
	require.NoError(t, err)
	return id
}

// NewCampaign adds a campaign in a state.
func NewCampaign(
	t *testing.T, s *dboutreach.Campaigns, tenant string, p dboutreach.Plan, state campaign.State,
) uuid.UUID {
	t.Helper()

	ctx, id := t.Context(), uuid.New()
	_, err := s.Create(ctx, tenant, id, p, "test", Now)
	require.NoError(t, err)
	if state != campaign.Draft {
		_, err = s.Schedule(ctx, tenant, id, Now, "test", Now)
		require.NoError(t, err)
	}
	if state == campaign.Running || state == campaign.Paused {
		_, err = s.Begin(ctx, tenant, id, Now)
		require.NoError(t, err)
	}
	if state == campaign.Paused {
		_, err = s.Pause(ctx, tenant, id, "", "test", Now)
		require.NoError(t, err)
	}
	return id
}

// CampaignBody is the body of POST /campaigns.
func CampaignBody(sender string) string {
	return `{"name":"Spring","sender":"` + sender + `","template":{"type":"text","text":{"body":"Hi {{given_name|you}}"}},` +
		`"audience":{"to":{"tags":["vip"]}}}`
}

// System runs a statement over the rows of all tenants.
func (d *Door) System(t *testing.T, sql string, args ...any) {
	t.Helper()

	err := db.SystemTx(t.Context(), d.Pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), sql, args...)
		return err
	})
	require.NoError(t, err, sql)
}

// ContactChanges are the requests of changes for uploads, contacts, lists and segments, each about something of its
// own.
func ContactChanges(t *testing.T, d *Door) map[string][3]string {
	t.Helper()

	const of = "initech"
	Tenant(t, d.Pool, of)
	ctx, store := t.Context(), d.Contacts.Store
	list := func() string {
		l, err := store.CreateList(ctx, of, uuid.NewString(), "test", Now)
		require.NoError(t, err)
		return l.ID.String()
	}
	segment := func() string {
		s, err := store.PutSegment(ctx, of, dboutreach.Segment{ID: uuid.New(), Name: uuid.NewString()}, "test", Now)
		require.NoError(t, err)
		return s.ID.String()
	}
	person := func() string {
		c := contact.Contact{Email: uuid.NewString() + "@example.org"}
		c.Key = contact.Key("", c.Email)
		id, _, err := store.Put(ctx, of, c, dboutreach.KnownUpdate, "test", Now)
		require.NoError(t, err)
		return fmt.Sprint(id)
	}
	held := func() string {
		file, err := d.Uploads.Blobs.PutUpload(ctx, strings.NewReader("phone\n+15145550123\n"))
		require.NoError(t, err)
		u, err := d.Uploads.Store.Create(ctx, dboutreach.Upload{
			ID: uuid.New(), Tenant: of, FileName: "a", Blob: file.Key, Bytes: file.Bytes, SHA256: file.SHA256,
			CreatedBy: "test", CreatedAt: Now, State: dboutreach.UploadHeld,
		})
		require.NoError(t, err)
		return u.ID.String()
	}
	out := map[string][3]string{}
	add := func(operation, path, id, rest, body, deed string) {
		out[operation] = [3]string{path + id + rest + "?tenant=" + of, body, deed + id}
	}
	add("create-contact-list", "/contact-lists", "", "", `{"name":"New"}`, "contact_list.created contact-list/")
	add("change-contact-list", "/contact-lists/", list(), "/members", `{"add":[`+person()+`]}`,
		"contact_list.changed contact-list/")
	add("delete-contact-list", "/contact-lists/", list(), "", "", "contact_list.deleted contact-list/")
	add("create-segment", "/segments", "", "", `{"name":"New","filter":{}}`, "segment.stored segment/")
	add("change-segment", "/segments/", segment(), "", `{"name":"Newer","filter":{}}`, "segment.stored segment/")
	add("change-segment-part", "/segments/", segment(), "", `{"name":"Newest"}`, "segment.stored segment/")
	add("delete-segment", "/segments/", segment(), "", "", "segment.deleted segment/")
	add("delete-contact", "/contacts/", person(), "", "", "contact.deleted contact/")
	add("opt-out-contact", "/contacts/", person(), "/opt-out", "", "contact.opted_out contact/")
	add("put-contact", "/contacts", "", "", `{"email":"b@example.org"}`, "contact.added contact/")
	out["tag-contacts"] = [3]string{
		"/contacts/tags?tenant=" + of, `{"contacts":[` + person() + `],"add":["new"]}`, "contact.tagged tenant/" + of,
	}
	add("opt-out-person", "/opt-outs", "", "", `{"email":"a@example.org"}`, "contact.opted_out tenant/"+of)
	add("create-upload", "/uploads", "", "", FormOf("a.csv", "phone\n"), "upload.created upload/")
	add("set-upload-options", "/uploads/", held(), "/options", `{}`, "upload.changed upload/")
	add("start-upload", "/uploads/", held(), "/start", "", "upload.started upload/")
	add("cancel-upload", "/uploads/", held(), "/cancel", "", "upload.canceled upload/")
	return out
}

// FormType is the content type of forms, whose parts FormBoundary separates.
const (
	FormBoundary = "boundary"
	FormType     = "multipart/form-data; boundary=" + FormBoundary
)

// FormOf is a form with a file after fields, which are names and values in turn.
func FormOf(name, content string, fields ...string) string {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	_ = w.SetBoundary(FormBoundary)
	for i := 0; i+1 < len(fields); i += 2 {
		_ = w.WriteField(fields[i], fields[i+1])
	}
	part, _ := w.CreateFormFile("file", name)
	_, _ = io.WriteString(part, content)
	_ = w.Close()
	return b.String()
}

// Outreach is an API with the tenant acme, and the folder that files are in.
func Outreach(t *testing.T, change ...func(*Parts)) (d *Door, folder string) {
	t.Helper()

	folder = t.TempDir()
	blobs, err := blob.Open(t.Context(), folder)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, blobs.Close()) })
	d = Open(t, append([]func(*Parts){func(p *Parts) { p.Uploads.Blobs = blobs }}, change...)...)
	Tenant(t, d.Pool, "acme")
	_, err = d.Tenants.Change(t.Context(), "acme", "test", Now, func(t *db.Tenant) { t.Region = "CA" })
	require.NoError(t, err)
	return d, folder
}

// Upload uploads a form for the tenant acme.
func (d *Door) Upload(t *testing.T, query, form string, headers ...string) Reply {
	t.Helper()
	headers = append([]string{"Content-Type", FormType}, headers...)
	return d.Ask(t, http.MethodPost, "/uploads?tenant=acme"+query, form, headers...)
}

// People is a small file of contacts, one of them wrong.
const People = "Tél.;Nom;Courriel\n514 555-0123;Zoé Roy;zoe@example.org\nabc;Max;max@example.org\n"

// Deliver posts a body as Meta does, signed by a secret.
func (d *Door) Deliver(t *testing.T, body, secret string) Reply {
	t.Helper()
	return d.Ask(t, "POST", "/webhooks/whatsapp", body, whatsapp.SignatureHeader, whatsapp.Sign([]byte(body), secret))
}

// Stored is how many events are stored.
func (d *Door) Stored(t *testing.T) int {
	t.Helper()
	events, err := d.Webhooks.Store.Waiting(t.Context(), 0, 100)
	require.NoError(t, err)
	return len(events)
}

package outreach_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

func TestEraseTenant(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	apitest.Tenant(t, d.Pool, "acme")
	apitest.Tenant(t, d.Pool, "umbrella")
	const path, body = "/tenants/acme/erasure", `{"tenant":"acme"}`
	require.Contains(t, apitest.Refused(t, d.Ask(t, "POST", path, body), 409).Detail, "stop it")
	apitest.Refused(t, d.Get(t, path), 404)
	apitest.Read[apioutreach.Tenant](t, d.Ask(t, "PATCH", "/tenants/acme", `{"state":"stopped"}`), 200)
	calls := len(d.Started.Calls)
	for _, wrong := range []string{`{"tenant":"umbrella"}`, `{"tenant":""}`, `{}`} {
		apitest.Refused(t, d.Ask(t, "POST", path, wrong), 422)
	}
	apitest.Refused(t, d.Ask(t, "POST", "/tenants/nobody/erasure", `{"tenant":"nobody"}`), 404)
	apitest.Refused(t, d.Get(t, path), 404)

	d.Started.Err = fault.Newf(fault.Transient, "temporal: %w", errors.New("away"))
	apitest.Read[apioutreach.TenantErasure](t, d.Ask(t, "POST", path, body), http.StatusAccepted) // it is stored, and a worker starts it
	d.Started.Err = nil
	open, err := d.Tenancy.Erasures.Open(t.Context(), apitest.Now)
	require.NoError(t, err)
	require.Empty(t, open, "it may be being started")
	open, err = d.Tenancy.Erasures.Open(t.Context(), apitest.Now.Add(time.Second))
	require.NoError(t, err)
	require.Equal(t, []string{"acme"}, open)
	e := apitest.Read[apioutreach.TenantErasure](t, d.Ask(t, "POST", path, body), http.StatusAccepted)
	require.Equal(t, "running", e.State)
	require.Equal(t, "erase-tenant/acme", e.Workflow.ID)
	require.Equal(t, "anonymous", e.RequestedBy)
	require.NotEmpty(t, e.RequestID)
	require.NotEmpty(t, e.Kept)
	require.Equal(t, e, apitest.Read[apioutreach.TenantErasure](t, d.Get(t, path), 200))
	require.Equal(t, []string{"erase acme", "erase acme"}, d.Started.Calls[calls:], "a request that is repeated starts it")

	apitest.Refused(t, d.Ask(t, "PATCH", "/tenants/acme", `{"state":"active"}`), 409)
	apitest.Refused(t, d.Ask(t, "POST", "/tenants", `{"id":"acme","name":"acme"}`), 409)
	apitest.Refused(t, d.Get(t, "/tenants/acme/export"), 409)
	apitest.Refused(t, d.Ask(t, "POST", "/contact-lists?tenant=acme", `{"name":"x"}`), 404)

	for more := true; more; {
		more, err = d.Tenancy.Erasures.Erase(t.Context(), "acme", 100)
		require.NoError(t, err)
	}
	require.NoError(t, d.Tenancy.Erasures.Finish(t.Context(), "acme", apitest.Now))
	open, err = d.Tenancy.Erasures.Open(t.Context(), apitest.Now.Add(time.Second))
	require.NoError(t, err)
	require.Empty(t, open)
	calls = len(d.Started.Calls)
	e = apitest.Read[apioutreach.TenantErasure](t, d.Ask(t, "POST", path, body), http.StatusAccepted)
	require.Equal(t, "done", e.State)
	require.Len(t, d.Started.Calls, calls, "it is not started again")
	require.Equal(t, []string{"tenant.created", "tenant.stopped", "tenant.erasure_requested", "tenant.erased"},
		d.Audited(t, "tenant/acme"))
}

// Nobody but an admin of the installation takes a tenant out: no operator, and not the tenant itself.
func TestEraseTenantRoles(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	apitest.StoppedTenant(t, f.Pool, "acme")
	own := f.Key(t, "own", access.Admin, func(k *db.Key) { k.Tenant = "acme" })
	for _, key := range []string{own, f.Key(t, "ops", access.Operate), f.Key(t, "read", access.Read)} {
		apitest.Refused(t, f.As(t, key, "POST", "/tenants/acme/erasure", `{"tenant":"acme"}`), 403)
		apitest.Refused(t, f.As(t, key, "GET", "/tenants/acme/erasure"), 403)
		apitest.Refused(t, f.As(t, key, "GET", "/tenants/acme/export"), 403)
	}
	_, err := dboutreach.NewErasures(f.Pool, nil).Get(t.Context(), "acme")
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

func TestExportTenant(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for _, id := range []string{"acme", "umbrella"} {
		apitest.Tenant(t, d.Pool, id)
		_, _, err := d.Contacts.Store.Put(t.Context(), id, contact.Contact{
			Email: "a@" + id + ".example", Key: contact.Key("", "a@"+id+".example"),
		}, dboutreach.KnownUpdate, "test", apitest.Now)
		require.NoError(t, err)
	}
	const content = "phone\n+15145550123\n"
	u := apitest.Read[apioutreach.Upload](t, d.Upload(t, "", apitest.FormOf("people.csv", content)), http.StatusAccepted)
	apitest.Read[apioutreach.Sender](t, d.Ask(t, "POST", "/tenants/acme/senders", apitest.SenderBody), 201)
	apitest.Refused(t, d.Get(t, "/tenants/nobody/export"), 404)

	require.Equal(t, 200, d.Ask(t, "HEAD", "/tenants/acme/export", "").Status, "gives nothing out, and is not recorded")
	r := d.Get(t, "/tenants/acme/export")
	require.Equal(t, 200, r.Status, r.Body)
	require.Equal(t, "application/zip", r.Header.Get("Content-Type"))
	require.Equal(t, `attachment; filename="acme.zip"`, r.Header.Get("Content-Disposition"))
	archive, err := zip.NewReader(bytes.NewReader([]byte(r.Body)), int64(len(r.Body)))
	require.NoError(t, err)
	files := map[string]string{}
	for _, f := range archive.File {
		in, err := f.Open()
		require.NoError(t, err)
		text, err := io.ReadAll(in)
		require.NoError(t, err)
		files[f.Name] = string(text)
		require.NotContains(t, string(text), "umbrella", f.Name)
	}
	require.Equal(t, content, files["files/"+u.ID.String()])
	require.Equal(t, 1, strings.Count(files["tables/contacts.ndjson"], "\n"))
	require.Contains(t, files["tables/contacts.ndjson"], `"a@acme.example"`)
	require.Contains(t, files["tables/uploads.ndjson"], "people.csv")
	require.Contains(t, files["tables/senders.ndjson"], `"Support"`)
	require.NotContains(t, files["tables/senders.ndjson"], `"token`)
	require.Contains(t, files, "tables/opt_outs.ndjson", "tables without rows are there too")
	require.Contains(t, files["manifest.json"], `"contacts":1`)
	require.Contains(t, files["manifest.json"], `"senders":["token","token_key"]`)
	require.Equal(t, []string{"tenant.created", "tenant.exported", "tenant.exported"}, d.Audited(t, "tenant/acme"))

	// A file that retention has deleted is missing, and the rest is there.
	kept, err := d.Tenancy.Erasures.Files(t.Context(), "acme", uuid.Nil, 10)
	require.NoError(t, err)
	_, err = d.Pictures.PutRecord(t.Context(), []byte("another")) // a store without any file is not mounted
	require.NoError(t, err)
	require.NoError(t, d.Pictures.Delete(t.Context(), kept[0].Key))
	r = d.Get(t, "/tenants/acme/export")
	archive, err = zip.NewReader(bytes.NewReader([]byte(r.Body)), int64(len(r.Body)))
	require.NoError(t, err)
	in, err := archive.Open("manifest.json")
	require.NoError(t, err)
	manifest, err := io.ReadAll(in)
	require.NoError(t, err)
	require.Contains(t, string(manifest), `"missing":["`+u.ID.String()+`"]`)
}

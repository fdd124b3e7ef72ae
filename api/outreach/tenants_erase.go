package outreach

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// An Eraser starts the workflow that deletes a tenant: *launch.Launch.
type Eraser interface {
	// Erase starts the workflow, or joins the one that runs.
	Erase(ctx context.Context, tenant string) error
}

// TenantFiles are the uploaded files: *blob.Store.
type TenantFiles interface {
	OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
}

func (h Tenants) registerErasure(d *api.Door) {
	export := api.Needs(access.Admin, api.Within(api.ExportTimeout, api.Op("tenants", "export-tenant",
		"GET /tenants/{tenant}/export", "Export all that is kept of a tenant",
		"A zip: tables/NAME.ndjson with the rows of each table, files/UPLOAD with the uploaded files, and at last "+
			"manifest.json with their numbers and what is left out: access tokens, secrets and hashes of them. The rows of a "+
			"table are as they were when it was read. An export that fails on the way ends without its last chunk. Each is "+
			"recorded in the audit.", 409)))
	export.Responses = api.Streamed("The archive", zipType)
	api.Stream(d, export, h.export)
	api.Serve(d, api.Needs(access.Admin, api.Op("tenants", "erase-tenant", "POST /tenants/{tenant}/erasure",
		"Delete a tenant and all that is kept of it",
		"For good, and for a tenant that is stopped only. Its keys are revoked at once; its campaigns, imports and "+
			"deliveries are ended, its rows deleted table by table, and a quarter of an hour later what was stored meanwhile, "+
			"and its files. The request may be repeated. Its ID is not given out again.", 202, 409)), h.erase)
	api.Serve(d, api.Needs(access.Admin, api.Op("tenants", "get-tenant-erasure", "GET /tenants/{tenant}/erasure",
		"Get how far the deletion of a tenant is, and its report", "")), h.erasure)
}

// TenantErase is the body of POST /tenants/{tenant}/erasure.
type TenantErase struct {
	Tenant string `json:"tenant" maxLength:"40" doc:"the ID of the tenant once more" example:"acme"`
}

type eraseTenantInput struct {
	Tenant string `path:"tenant" maxLength:"40"`
	Body   TenantErase
}

// An ErasureKept is a table in which rows of the tenant stay.
type ErasureKept struct {
	Table string `json:"table"`
	Why   string `json:"why"`
}

// A TenantErasure is how far the deletion of a tenant is, and its report when it has ended.
type TenantErasure struct {
	Tenant      string           `json:"tenant"`
	State       string           `json:"state" enum:"running,done"`
	RequestedAt time.Time        `json:"requested_at"`
	RequestedBy string           `json:"requested_by"`
	Remote      string           `json:"remote,omitempty" doc:"address of the caller"`
	RequestID   string           `json:"request_id,omitempty" doc:"X-Request-Id of the response to the request"`
	Passes      int              `json:"passes" doc:"over all tables that have ended; there are at least two"`
	Table       string           `json:"table,omitempty" doc:"that is gone through"`
	Rows        map[string]int64 `json:"rows" doc:"that were deleted, by table; of api_keys, those that were revoked"`
	Files       int64            `json:"files" doc:"uploaded ones that were deleted"`
	Bytes       int64            `json:"bytes" doc:"of them and their decoded copies"`
	FinishedAt  *time.Time       `json:"finished_at,omitempty"`
	Kept        []ErasureKept    `json:"kept" doc:"in which tables rows of the tenant stay"`
	Workflow    api.WorkflowLink `json:"workflow"`
}

func (h Tenants) showErasure(e dboutreach.Erasure) TenantErasure {
	state := "running"
	if e.FinishedAt != nil {
		state = "done"
	}
	return TenantErasure{
		Tenant: e.Tenant, State: state, RequestedAt: e.RequestedAt, RequestedBy: e.RequestedBy, Remote: e.Origin.Remote,
		RequestID: e.Origin.RequestID, Passes: e.Passes, Table: e.Table, Rows: e.Rows, Files: e.Files, Bytes: e.Bytes,
		FinishedAt: e.FinishedAt,
		Kept:       api.Each(h.Erasures.Kept(), func(k dboutreach.KeptTable) ErasureKept { return ErasureKept(k) }),
		Workflow:   h.door.Workflow(access.ErasureWorkflowID(e.Tenant)),
	}
}

// erase is durably accepted when it answers, and may be repeated.
func (h Tenants) erase(ctx context.Context, in *eraseTenantInput) (*api.Body[TenantErasure], error) {
	if in.Body.Tenant != in.Tenant {
		return nil, fault.Newf(fault.Invalid, "tenant: is %.40q, expected the ID of the tenant that is to be erased, %.40q",
			in.Body.Tenant, in.Tenant)
	}
	e, err := h.Erasures.Request(ctx, in.Tenant, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	if e.FinishedAt == nil {
		if err := h.Launch.Erase(ctx, e.Tenant); err != nil { // a worker starts it when Temporal is there
			h.door.Log.WarnContext(ctx, "cannot start an erasure", "tenant", e.Tenant, "err", err)
		}
	}
	return api.BodyOf(h.showErasure(e)), nil
}

func (h Tenants) erasure(ctx context.Context, in *tenantPathInput) (*api.Body[TenantErasure], error) {
	e, err := h.Erasures.Get(ctx, in.Tenant)
	return api.BodyOf(h.showErasure(e)), err
}

const (
	zipType     = "application/zip"
	tableRows   = 1000    // that are looked at in one statement
	exportBytes = 4 << 20 // of rows that are held before they are sent
	exportFiles = 100
)

// A tenantManifest is the last file of an export. An archive without it is not whole.
type tenantManifest struct {
	Tenant  string              `json:"tenant"`
	At      time.Time           `json:"at"`
	Rows    map[string]int      `json:"rows"` // by table
	Files   map[uuid.UUID]int64 `json:"files"`
	Missing []uuid.UUID         `json:"missing,omitempty"` // uploads whose files were not there any more
	LeftOut map[string][]string `json:"left_out"`          // columns, by table
}

func (h Tenants) export(ctx context.Context, in *tenantPathInput) (*huma.StreamResponse, error) {
	reading, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	t, err := h.door.Tenants.Get(reading, in.Tenant)
	if err != nil {
		return nil, err
	}
	if t.Erasing {
		return nil, fault.Newf(fault.Conflict, "the tenant %q is erased: what is left of it is no export", t.ID)
	}
	record := func(detail map[string]any) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.RequestTimeout)
		defer cancel()
		return h.Erasures.Exported(ctx, t.ID, api.CallerOf(ctx).Name, h.door.Now(), detail)
	}
	if !api.OnlyHead(ctx) {
		if err := record(nil); err != nil { // nothing is given out without a record
			return nil, err
		}
		h.door.Given.Read(api.TenantExported)
	}
	return h.door.Export(api.File{ContentType: zipType, Name: t.ID + ".zip", Packed: true}, func(ctx context.Context, w *api.Export) {
		m := tenantManifest{
			Tenant: t.ID, At: h.door.Now(), Rows: map[string]int{}, Files: map[uuid.UUID]int64{},
			LeftOut: map[string][]string{},
		}
		defer func() { // once more, with what was given out, also to a reader that is gone
			if err := record(map[string]any{"rows": m.Rows, "files": len(m.Files)}); err != nil {
				h.door.Log.WarnContext(ctx, "the end of an export could not be recorded", "tenant", t.ID, "err", err)
			}
		}()
		archive := zip.NewWriter(w)
		for _, table := range h.Erasures.Tables() {
			if h.exportTable(ctx, w, archive, table, &m); w.Failed() {
				return
			}
		}
		if h.exportFiles(ctx, w, archive, &m); w.Failed() {
			return
		}
		out := h.entry(w, archive, "manifest.json")
		if !w.Failed() {
			w.Note(json.NewEncoder(out).Encode(m))
		}
		if !w.Failed() {
			w.Note(archive.Close())
		}
	}), nil
}

// entry begins a file of an archive.
func (h Tenants) entry(w *api.Export, archive *zip.Writer, name string) (out io.Writer) {
	if !w.Failed() {
		var err error
		out, err = archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: h.door.Now()})
		w.Note(err)
	}
	return out
}

// exportTable writes the rows of a table. No connection is held while the reader is waited for.
func (h Tenants) exportTable(ctx context.Context, w *api.Export, archive *zip.Writer, table dboutreach.ExportTable,
	m *tenantManifest) {
	out := h.entry(w, archive, "tables/"+table.Name+".ndjson")
	if len(table.Hidden) > 0 {
		m.LeftOut[table.Name] = table.Hidden
	}
	m.Rows[table.Name] = 0
	var held bytes.Buffer
	for next, begun := "", false; !w.Failed() && (!begun || next != ""); begun = true {
		held.Reset()
		had := 0
		reading, cancel := context.WithTimeout(ctx, api.ContactsTimeout)
		var err error
		next, err = h.Erasures.Read(reading, m.Tenant, table, next, tableRows, exportBytes, func(row string) {
			held.WriteString(row)
			held.WriteByte('\n')
			had++
		})
		if cancel(); err != nil {
			w.Fail(err)
			return
		}
		if m.Rows[table.Name] += had; table.Name == "contacts" {
			h.door.Given.Gave(api.TenantExported, had)
		}
		_, err = held.WriteTo(out)
		w.Note(err)
	}
}

// exportFiles writes the uploaded files. One that retention has deleted meanwhile is missing.
func (h Tenants) exportFiles(ctx context.Context, w *api.Export, archive *zip.Writer, m *tenantManifest) {
	for after, more := uuid.Nil, true; more && !w.Failed(); {
		reading, cancel := context.WithTimeout(ctx, api.RequestTimeout)
		list, err := h.Erasures.Files(reading, m.Tenant, after, exportFiles)
		if cancel(); err != nil {
			w.Fail(err)
			return
		}
		for _, f := range list {
			after = f.Upload
			file, err := h.Files.OpenRange(ctx, f.Key, 0, -1)
			if fault.ClassOf(err) == fault.Gone {
				m.Missing = append(m.Missing, f.Upload)
				continue
			}
			if err != nil {
				w.Fail(err)
				return
			}
			out := h.entry(w, archive, "files/"+f.Upload.String())
			n := int64(0)
			if !w.Failed() {
				n, err = io.Copy(out, file)
				w.Note(err)
			}
			if err := file.Close(); !w.Failed() && err != nil {
				w.Fail(err)
			}
			if !w.Failed() && n != f.Bytes {
				w.Fail(fmt.Errorf("export file of upload %s: it has %d bytes, expected %d", f.Upload, n, f.Bytes))
			}
			if w.Failed() {
				return
			}
			m.Files[f.Upload] = n
		}
		more = len(list) == exportFiles
	}
}

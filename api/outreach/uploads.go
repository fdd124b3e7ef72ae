package outreach

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/metric"
)

// Uploads serves /uploads: the files of contacts and what becomes of them.
type Uploads struct {
	Store  *dboutreach.Uploads
	Blobs  *blob.Store // the files
	Launch UploadStarter
	Limits UploadLimits
	Free   func(context.Context) (int64, error) // bytes where files are stored; nil = there is no bound

	door    *api.Door
	brake   *brake
	taking  *api.Turns // files that are received
	streams *api.Turns // of events
	refused *prometheus.CounterVec
}

// An UploadStarter starts and cancels the workflows of uploads: *launch.Launch.
type UploadStarter interface {
	// StartImport starts the workflow of an upload, or joins the one that runs.
	StartImport(ctx context.Context, tenant string, id uuid.UUID) error
	// CancelImport cancels the workflow of an upload. It is no error where none runs.
	CancelImport(ctx context.Context, id uuid.UUID) error
}

// UploadLimits bound the files that are accepted.
type UploadLimits struct {
	Bytes   int64 // of a file
	Share   int   // chunks that wait of one tenant before its uploads are refused
	All     int   // chunks that wait of all tenants before uploads are refused
	Reserve int64 // bytes that stay free where files are stored
	Low     int   // per cent of Share and All that they must fall to before uploads are accepted again
}

const (
	uploadTimeout = time.Hour        // for a file to be received
	previewEnd    = 5 * time.Second  // for the end of a preview to be recorded
	eventsTimeout = 15 * time.Minute // of a stream; then the caller connects again, and is authorized again

	takingMost, takingShare   = 64, 8 // files received at once by a process, and of one tenant
	streamsMost, streamsShare = 200, 20
)

// Register implements api.Part.
func (h Uploads) Register(d *api.Door) {
	h.door, h.brake = d, newBrake(h.Limits)
	h.taking, h.streams = api.NewTurns(takingMost, takingShare), api.NewTurns(streamsMost, streamsShare)
	h.refused = metric.With(d.Registerer).Counters("conveyor_uploads_refused_total",
		"Files of contacts that were refused before they were read, by reason.", "reason", uploadRefusals...)
	create, body := h.createOperation(d)
	api.StreamTenant(d, api.NeedsTenant(access.Operate, create), h.create)
	d.API.OpenAPI().Paths[create.Path].Post.RequestBody = body // with it, huma would read and check the body
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("contacts", "list-uploads", "GET /uploads",
		"List uploads, the newest first", "")), h.list)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Op("contacts", "get-upload", "GET /uploads/{upload}",
		"Get an upload: its state and how far it is", "")), h.get)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("contacts", "preview-upload",
		"GET /uploads/{upload}/preview", "Get the first rows of an upload as they will be read",
		"With what was detected in the file, and why. It stores nothing. To look before anything is stored, upload "+
			"with hold=true, correct the options with PUT …/options, and start with POST …/start.", 409)), h.preview)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("contacts", "set-upload-options",
		"PUT /uploads/{upload}/options", "Replace the options of a held upload, and look at its first rows",
		"Options that the file contradicts are refused. One that is no longer held is a conflict.", 409)), h.setOptions)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("contacts", "start-upload", "POST /uploads/{upload}/start",
		"Start the import of a held upload",
		"One that was started stays as it is, also when it is done; one that has failed or was canceled is a conflict. 429 "+
			"with Retry-After means that the tenant's imports, or all, are behind: it stays held.", 202, 409)), h.start)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("contacts", "cancel-upload", "POST /uploads/{upload}/cancel",
		"Cancel the import of an upload",
		"What is stored stays, and the answer says how much that is. One that was canceled stays as it is; one that is "+
			"done or has failed is a conflict.", 409)), h.cancel)
	h.registerRefused(d)
	errors := api.NeedsTenant(access.Operate, api.Op("contacts", "get-upload-errors", "GET /uploads/{upload}/errors.csv",
		"Get the rows that were refused",
		"The columns of the file, then error_line, error_field, error_code and error_message, which an import leaves out: "+
			"mend the file and upload it. Cells that a spreadsheet would run as a formula have an apostrophe before them, "+
			"which an import takes away. While the upload runs, those found so far. When they are no longer kept it is a "+
			"conflict.", 409))
	errors.Responses = api.Streamed("The refused rows", "text/csv")
	api.StreamTenant(d, errors, h.errors)
	events := api.NeedsTenant(access.Read, api.Within(eventsTimeout, api.Op("contacts", "watch-upload",
		"GET /uploads/{upload}/events", "Watch an upload, as server-sent events",
		"An event progress with the upload at the beginning and, at most every second, after a change; an event end with "+
			"the last one, after which the stream ends. A stream ends after 15 minutes, too: connect again.")))
	events.Responses = api.Streamed("The events", "text/event-stream")
	api.StreamTenant(d, events, h.events)
}

// UploadState is how far an upload is.
type UploadState dboutreach.UploadState

// Schema implements huma.SchemaProvider.
func (UploadState) Schema(huma.Registry) *huma.Schema { return api.EnumOf(dboutreach.UploadStates) }

// UploadOptions say how a file is read.
type UploadOptions contact.Options

// An Upload is a file of contacts and how far it is imported.
type Upload struct {
	ID       uuid.UUID     `json:"id"`
	Tenant   string        `json:"tenant"`
	FileName string        `json:"file_name"`
	Bytes    int64         `json:"bytes"`
	SHA256   string        `json:"sha256"`
	State    UploadState   `json:"state" doc:"held (until POST …/start) → received → splitting (its chunks are found and already imported) → running (all are found) → done, failed or canceled"`
	Error    string        `json:"error,omitempty" doc:"why it failed or was canceled"`
	DryRun   bool          `json:"dry_run,omitempty" doc:"everything is read and nothing is stored"`
	Known    string        `json:"known" enum:"update,skip,fail" doc:"what becomes of contacts that are there already"`
	Lists    []uuid.UUID   `json:"lists" doc:"that its contacts become members of"`
	Tags     []string      `json:"tags" doc:"that its contacts get"`
	Options  UploadOptions `json:"options" doc:"what was said about how to read it"`
	Rows     UploadRows    `json:"rows"`

	Chunks        int      `json:"chunks" doc:"of up to 1,000 rows; those found so far while the state is splitting"`
	StoredChunks  int      `json:"stored_chunks"`
	RowsPerSecond float64  `json:"rows_per_second,omitempty" doc:"lately; only of a single upload that runs"`
	SecondsLeft   *float64 `json:"seconds_left,omitempty" doc:"at this pace; absent while it is not known"`

	CreatedBy  string           `json:"created_by"`
	CreatedAt  time.Time        `json:"created_at"`
	StartedAt  *time.Time       `json:"started_at,omitempty"`
	FinishedAt *time.Time       `json:"finished_at,omitempty"`
	Workflow   api.WorkflowLink `json:"workflow"`
	Warning    string           `json:"warning,omitempty" doc:"what an operator should know"`
}

// Ended says that nothing more becomes of the upload.
func (u Upload) Ended() bool { return !dboutreach.UploadState(u.State).Open() }

// UploadRows counts the rows of an upload that are dealt with: read = valid + invalid + duplicate, and valid = new +
// updated + skipped.
type UploadRows struct {
	Read      int64 `json:"read" doc:"valid + invalid + duplicate"`
	Valid     int64 `json:"valid" doc:"new + updated + skipped"`
	Invalid   int64 `json:"invalid" doc:"see errors.csv"`
	Duplicate int64 `json:"duplicate" doc:"of a row before it in the file"`
	New       int64 `json:"new"`
	Updated   int64 `json:"updated"`
	Skipped   int64 `json:"skipped" doc:"known contacts that nothing was changed of"`
	Unlisted  int64 `json:"unlisted,omitempty" doc:"of invalid: rows that are counted only. errors.csv and the refusals have those before them, up to 512 MiB, and what max_bytes of the tenant leaves"`
}

func (h Uploads) show(ctx context.Context, u dboutreach.Upload) Upload {
	var options UploadOptions
	if err := json.Unmarshal(u.Options, &options); err != nil {
		options = UploadOptions{} // they were written by set
	}
	return Upload{
		ID: u.ID, Tenant: u.Tenant, FileName: u.FileName, Bytes: u.Bytes, SHA256: hex.EncodeToString(u.SHA256),
		State: UploadState(u.State), Error: u.Error, DryRun: u.DryRun, Known: string(u.Known), Lists: u.Lists, Tags: u.Tags,
		Options: options, Chunks: u.Chunks, StoredChunks: u.Stored,
		Rows: UploadRows{
			Read: u.RowsRead, Valid: u.Valid, Invalid: u.Invalid, Duplicate: u.Duplicate, New: u.New, Updated: u.Updated,
			Skipped: u.Skipped, Unlisted: u.Unlisted,
		},
		CreatedBy: u.CreatedBy, CreatedAt: u.CreatedAt, StartedAt: u.StartedAt, FinishedAt: u.FinishedAt,
		Workflow: h.door.WorkflowFor(ctx, contact.ImportWorkflowID(u.ID)),
	}
}

// progress shows an upload with its pace.
func (h Uploads) progress(ctx context.Context, u dboutreach.Upload) (Upload, error) {
	out := h.show(ctx, u)
	rate, err := h.Store.Rate(ctx, u, h.door.Now())
	if err != nil {
		return out, err
	}
	out.RowsPerSecond = rate
	if u.State == dboutreach.UploadRunning && u.Stored > 0 && rate > 0 {
		left := float64(u.Chunks-u.Stored) * float64(u.RowsRead) / float64(u.Stored)
		out.SecondsLeft = new(left / rate)
	}
	return out, nil
}

type listUploadsInput struct {
	api.OfTenant
	State  string `query:"state" default:"any" example:"received,splitting,running"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	states []string
	after  *db.Position
}

// uploadOrder is the only order of uploads, for their cursors.
const uploadOrder = "uploads"

// Resolve reads the cursor.
func (in *listUploadsInput) Resolve(ctx huma.Context) (wrong []error) {
	in.after, wrong = api.ReadPage(ctx, in.Cursor, uploadOrder, in.Filters()...)
	return wrong
}

func (in *listUploadsInput) Filters() []api.Filter {
	return []api.Filter{{Name: "state", Values: &in.states, Known: api.OrAny(dboutreach.UploadStates)}}
}

// UploadPage is the answer of GET /uploads.
type UploadPage api.Page[Upload]

func (h Uploads) list(ctx context.Context, tenant string, in *listUploadsInput) (*api.Body[UploadPage], error) {
	rows, next, err := h.Store.List(ctx, tenant, in.states, in.after, in.Limit)
	if err != nil {
		return nil, err
	}
	show := func(u dboutreach.Upload) Upload { return h.show(ctx, u) }
	return api.BodyOf(UploadPage(api.PageOf(rows, show, api.CursorAt(next, uploadOrder)))), nil
}

type uploadInput struct {
	api.OfTenant
	Upload uuid.UUID `path:"upload"`
}

func (h Uploads) get(ctx context.Context, tenant string, in *uploadInput) (*api.Body[Upload], error) {
	u, err := h.Store.Get(ctx, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	out, err := h.progress(ctx, u)
	return api.BodyOf(out), err
}

// start is durably accepted when the state is stored. Where the workflow cannot be started, a worker does that later.
func (h Uploads) start(ctx context.Context, tenant string, in *uploadInput) (*api.Body[Upload], error) {
	u, err := h.Store.Get(ctx, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	if u.State == dboutreach.UploadHeld {
		leave, err := h.admit(ctx, u.Tenant, u.Bytes)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	released, err := h.Store.Release(ctx, u.Tenant, u.ID, api.CallerOf(ctx).Name, h.door.Now())
	if fault.ClassOf(err) == fault.Conflict {
		if now, lost := h.Store.Get(ctx, tenant, in.Upload); lost == nil && now.State == dboutreach.UploadDone {
			released, err = now, nil // it was started before
		}
	}
	if err != nil {
		return nil, err
	}
	return api.BodyOf(h.launched(ctx, released)), nil
}

// launched starts the workflow of an upload, unless that is held or over.
func (h Uploads) launched(ctx context.Context, u dboutreach.Upload) Upload {
	out := h.show(ctx, u)
	if u.State == dboutreach.UploadHeld || !u.State.Open() {
		return out
	}
	out.Warning = h.door.Reach(ctx, contact.ImportWorkflowID(u.ID), func(ctx context.Context) error {
		return h.Launch.StartImport(ctx, u.Tenant, u.ID)
	})
	return out
}

func (h Uploads) cancel(ctx context.Context, tenant string, in *uploadInput) (*api.Body[Upload], error) {
	u, err := h.Store.Cancel(ctx, tenant, in.Upload, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	out := h.show(ctx, u)
	out.Warning = h.door.Reach(ctx, contact.ImportWorkflowID(u.ID), func(ctx context.Context) error {
		return h.Launch.CancelImport(ctx, u.ID)
	})
	return api.BodyOf(out), nil
}

// An UploadPreview is how a file is read, and its first rows.
type UploadPreview struct {
	Format  PreviewFormat   `json:"format"`
	Columns []PreviewColumn `json:"columns" doc:"which field each column is; options.mapping changes it"`
	Region  string          `json:"region,omitempty" doc:"of telephone numbers without a country code"`
	Reasons []PreviewReason `json:"reasons" doc:"what was detected, why, and the option that changes it"`
	Rows    []PreviewRow    `json:"rows" doc:"the first 20"`
}

// The parts of a preview.
type (
	PreviewFormat  contact.Format
	PreviewColumn  contact.Column
	PreviewReason  contact.Reason
	PreviewContact contact.Contact
	PreviewProblem contact.Problem
)

// A PreviewRow is a row as it will be read: a contact, or why it is none.
type PreviewRow struct {
	Number   int64            `json:"number" doc:"of the record, from 1"`
	Line     int64            `json:"line" doc:"in the file, from 1"`
	Contact  *PreviewContact  `json:"contact,omitempty"`
	Problems []PreviewProblem `json:"problems,omitempty"`
	Record   []string         `json:"record,omitempty" doc:"its cells, of a row with problems"`
}

func showPreview(p contact.Plan, rows []contact.Row) UploadPreview {
	return UploadPreview{
		Format: PreviewFormat(p.Format), Region: p.Region,
		Columns: api.Each(p.Mapping, func(c contact.Column) PreviewColumn { return PreviewColumn(c) }),
		Reasons: api.Each(p.Reasons, func(r contact.Reason) PreviewReason { return PreviewReason(r) }),
		Rows: api.Each(rows, func(r contact.Row) PreviewRow {
			out := PreviewRow{
				Number: r.Number, Line: r.Line, Record: r.Record,
				Problems: api.Each(r.Problems, func(p contact.Problem) PreviewProblem { return PreviewProblem(p) }),
			}
			if r.Valid() {
				out.Contact, out.Record = new(PreviewContact(r.Contact)), nil
			}
			return out
		}),
	}
}

func (h Uploads) preview(ctx context.Context, tenant string, in *uploadInput) (*api.Body[UploadPreview], error) {
	u, err := h.Store.WithPlan(ctx, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	var plan *contact.Plan
	if u.Plan != nil {
		if err := json.Unmarshal(u.Plan, &plan); err != nil {
			return nil, fmt.Errorf("read plan of upload %s: %w", u.ID, err)
		}
	}
	return h.look(ctx, u, plan)
}

// look reads the first rows of a file, by a plan or, where that is nil, by its options. It is counted before it begins,
// as the reading of an import is: a file that ends each process which looks into it is refused.
func (h Uploads) look(ctx context.Context, u dboutreach.Upload, plan *contact.Plan) (*api.Body[UploadPreview], error) {
	if u.Blob == "" {
		return nil, notKept(u)
	}
	begun, open, err := h.Store.BeginPreview(ctx, u.Tenant, u.ID, h.door.Now(), api.PreviewTimeout+previewEnd)
	if err != nil {
		return nil, err
	}
	if err := contact.CheckPreviews(begun, open); err != nil {
		return nil, err
	}
	defer func() { // also when the caller is gone: this process lives
		alive, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.RequestTimeout)
		defer cancel()
		if err := h.Store.EndPreview(alive, u.Tenant, u.ID); err != nil {
			h.door.Log.WarnContext(ctx, "the end of a preview could not be recorded", "upload", u.ID, "err", err)
		}
	}()
	file := h.Blobs.ReaderAt(ctx, u.Blob, u.Bytes)
	if plan == nil {
		var options contact.Options
		if err := json.Unmarshal(u.Options, &options); err != nil {
			return nil, fmt.Errorf("read options of upload %s: %w", u.ID, err)
		}
		found, err := contact.Sniff(file, u.Bytes, options)
		if err != nil {
			return nil, h.unreadable(u, err)
		}
		plan = &found
	}
	rows, err := plan.Preview(file, u.Bytes, api.PreviewRows)
	if err != nil {
		return nil, h.unreadable(u, err)
	}
	err = h.door.GiveOut(ctx, h.Store.Shown, u.Tenant, api.PreviewShown, "upload/"+u.ID.String(), len(rows),
		map[string]any{"rows": len(rows)})
	if err != nil {
		return nil, err
	}
	return api.BodyOf(showPreview(*plan, rows)), nil
}

// unreadable is the answer to an error of reading a file: one that is no longer kept is a conflict.
func (h Uploads) unreadable(u dboutreach.Upload, err error) error {
	if fault.ClassOf(err) == fault.Gone {
		return notKept(u)
	}
	return err
}

func notKept(u dboutreach.Upload) error {
	return fault.Newf(fault.Conflict, "the file of upload %s is no longer kept", u.ID)
}

type setOptionsInput struct {
	api.OfTenant
	Upload uuid.UUID `path:"upload"`
	Body   UploadOptions
}

func (h Uploads) setOptions(ctx context.Context, tenant string, in *setOptionsInput) (*api.Body[UploadPreview], error) {
	u, err := h.Store.Get(ctx, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	if u.State != dboutreach.UploadHeld {
		return nil, fault.Newf(fault.Conflict, "upload %s is %s, and its options are settled; upload the file with hold=true",
			u.ID, u.State)
	}
	t, err := h.door.Tenants.Get(ctx, u.Tenant)
	if err != nil {
		return nil, err
	}
	if u.Options, err = json.Marshal(contact.Options(in.Body).In(t.Region)); err != nil {
		return nil, fmt.Errorf("write options: %w", err)
	}
	out, err := h.look(ctx, u, nil)
	if err == nil {
		_, err = h.Store.SetOptions(ctx, u.Tenant, u.ID, u.Options, api.CallerOf(ctx).Name, h.door.Now())
	}
	return out, err
}

// errors writes the refused rows as a file that can be mended and uploaded.
func (h Uploads) errors(ctx context.Context, tenant string, in *uploadInput) (*huma.StreamResponse, error) {
	finding, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	u, err := h.Store.WithPlan(finding, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	if u.Plan == nil {
		return nil, fault.Newf(fault.Conflict, "no row of upload %s was read: it is %s%s", u.ID, u.State,
			map[bool]string{true: ": " + u.Error}[u.Error != ""])
	}
	if u.Blob == "" && u.Invalid > 0 {
		return nil, fault.Newf(fault.Conflict, "the refused rows of upload %s are no longer kept", u.ID)
	}
	var plan contact.Plan
	if err := json.Unmarshal(u.Plan, &plan); err != nil {
		return nil, fmt.Errorf("read plan of upload %s: %w", u.ID, err)
	}
	if !api.OnlyHead(ctx) {
		err := h.door.GiveOut(finding, h.Store.Shown, u.Tenant, api.RefusedShown, "upload/"+u.ID.String(), 0,
			map[string]any{"rows": u.Invalid})
		if err != nil {
			return nil, err
		}
	}
	const batch = 200
	return h.door.Export(api.File{
		ContentType: "text/csv; charset=utf-8; header=present", Name: "upload-" + u.ID.String() + "-errors.csv",
	}, func(ctx context.Context, w *api.Export) {
		out, err := contact.NewErrorsWriter(w, plan.Format.Columns)
		given := 0
		for after := new(int64(0)); after != nil && err == nil; {
			var rows []contact.Row
			rows, after, err = h.Store.Errors(ctx, u.Tenant, u.ID, *after, batch)
			if given += len(rows); err == nil && given > api.ExportRows {
				err = api.TooManyRows(api.ExportRows)
			}
			if err != nil {
				w.Fail(err)
				return
			}
			h.door.Given.Gave(api.RefusedShown, len(rows))
			for i := 0; i < len(rows) && err == nil; i++ {
				err = out.Write(rows[i].Line, rows[i].Record, rows[i].Problems)
			}
		}
		if err == nil {
			err = out.Close()
		}
		w.Note(err)
	}), nil
}

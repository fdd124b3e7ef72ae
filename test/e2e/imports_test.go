package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// importing starts a worker that imports, and makes a tenant.
func importing(t *testing.T) *importWorld {
	t.Helper()

	w := newWorld(t)
	return w.imports(w.start("worker", importQueues))
}

// imports is the world with a tenant whose files that worker imports.
func (w *world) imports(worker *process) *importWorld {
	t := w.t
	files, err := blob.Open(t.Context(), w.dir+"/blobs")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	require.NoError(t, db.NewTenants(w.db).Create(t.Context(), db.Tenant{
		ID: "acme", Name: "Acme", Tier: "standard", Region: "CA", CreatedAt: time.Now(),
	}, "me"))
	return &importWorld{w, worker, files, dboutreach.NewUploads(w.db), &launch.Launch{Temporal: w.temporal}}
}

const importQueues = "CONVEYOR_TASK_QUEUES=upload_jobs,upload_chunks,import_persistence"

type importWorld struct {
	*world
	worker  *process
	files   *blob.Store
	uploads *dboutreach.Uploads
	launch  *launch.Launch
}

// upload stores a file and starts its import.
func (w *importWorld) upload(data string, change ...func(*dboutreach.Upload)) dboutreach.Upload {
	w.t.Helper()

	f, err := w.files.PutUpload(w.ctx(), strings.NewReader(data))
	require.NoError(w.t, err)
	u := dboutreach.Upload{
		ID: uuid.New(), Tenant: "acme", FileName: "people.csv", Blob: f.Key, Bytes: f.Bytes, SHA256: f.SHA256, CreatedBy: "me",
		CreatedAt: time.Now(), Options: []byte(`{"region":"CA"}`),
	}
	for _, c := range change {
		c(&u)
	}
	u, err = w.uploads.Create(w.ctx(), u)
	require.NoError(w.t, err)
	require.NoError(w.t, w.launch.StartImport(w.ctx(), u.Tenant, u.ID))
	require.NoError(w.t, w.launch.StartImport(w.ctx(), u.Tenant, u.ID), "started twice is one")
	return u
}

// ended waits until an upload is over, and its workflow.
func (w *importWorld) ended(u dboutreach.Upload) (got dboutreach.Upload, transitions, events int64) {
	w.t.Helper()

	w.eventually("the import ends", func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), contact.ImportWorkflowID(u.ID), "")
		info := d.GetWorkflowExecutionInfo()
		transitions, events = info.GetStateTransitionCount(), info.GetHistoryLength()
		return err == nil && info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	got, err := w.uploads.Get(w.ctx(), u.Tenant, u.ID)
	require.NoError(w.t, err)
	require.False(w.t, got.State.Open(), got.State)
	require.Zero(w.t, w.count("upload_keys WHERE upload = $1", u.ID))
	left, err := w.files.ListUpload(w.ctx(), u.Blob)
	require.NoError(w.t, err)
	for _, key := range left {
		require.NotContains(w.t, key, "rows")
	}
	return got, transitions, events
}

// count counts rows of all tenants.
func (w *importWorld) count(from string, args ...any) (n int) {
	w.t.Helper()

	tx, err := w.db.Begin(w.ctx())
	require.NoError(w.t, err)
	defer func() { _ = tx.Rollback(w.ctx()) }()
	_, err = tx.Exec(w.ctx(), "SELECT set_config('conveyor.tenant', '*', true)")
	require.NoError(w.t, err)
	require.NoError(w.t, tx.QueryRow(w.ctx(), "SELECT count(*) FROM "+from, args...).Scan(&n))
	return n
}

// tally is what became of the rows of an upload.
func tally(u dboutreach.Upload) string {
	return fmt.Sprintf("%s: %d = %d + %d + %d; %d = %d + %d + %d", u.State, u.RowsRead, u.Valid, u.Invalid, u.Duplicate,
		u.Valid, u.New, u.Updated, u.Skipped)
}

// people is a file of n rows with distinct numbers, of which each fiftieth is no number, and each hundredth comes again.
func people(n int) (text string, distinct, invalid, duplicate int) {
	var b strings.Builder
	b.WriteString("First Name,Last Name,Phone,Email,City\n")
	for i := range n {
		switch {
		case i%50 == 7:
			fmt.Fprintf(&b, "Zoé,Côté %d,not a number,p%d@example.org,Montréal\n", i, i)
			invalid++
		case i%100 == 99:
			fmt.Fprintf(&b, "Zoé,Again %d,(514) 2%02d-%04d,p%d@example.org,Montréal\n", i, (i-99)/10000, (i-99)%10000, i)
			duplicate++
		default:
			fmt.Fprintf(&b, "Zoé,Côté %d,(514) 2%02d-%04d,p%d@example.org,\"Mont, réal\"\n", i, i/10000, i%10000, i)
			distinct++
		}
	}
	return b.String(), distinct, invalid, duplicate
}

// A file becomes contacts, with few events; once more it changes nothing; a file that is none fails and says why.
func (w *importWorld) takesFiles() {
	t := w.t
	text, distinct, invalid, duplicate := people(30_000)
	got, transitions, events := w.ended(w.upload(text))
	require.Equal(t, fmt.Sprintf("done: 30000 = %d + %d + %d; %d = %d + 0 + 0", distinct, invalid, duplicate, distinct,
		distinct), tally(got))
	require.Equal(t, distinct, w.count("contacts"))
	require.Equal(t, invalid, w.count("upload_errors"))
	t.Logf("%d chunks: %d state transitions, %d events", got.Chunks, transitions, events)
	require.LessOrEqual(t, events, int64(6*got.Chunks))
	require.Equal(t, 1, one[int](w.world, "SELECT count(*) FROM outbox WHERE routing_key = 'contacts.imported'"))

	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	got, _, _ = w.ended(w.upload(packed.String(), func(u *dboutreach.Upload) { u.FileName = "people.csv.gz" }))
	require.Equal(t, fmt.Sprintf("done: 30000 = %d + %d + %d; %d = 0 + 0 + %d", distinct, invalid, duplicate, distinct,
		distinct), tally(got))

	for name, tt := range map[string]struct{ text, state, says string }{
		"one row":         {"Phone,Name\n514 555-0199,Jo\n", "done", ""},
		"a row, no names": {"514 555-0198\n", "done", ""},
		"only names":      {"Phone,Name\n", "failed", "the file has no rows"},
		"nothing":         {"", "failed", "empty"},
		"a picture":       {"\x89PNG\r\n\x1a\n", "failed", "the file is an image; upload the table itself"},
		"a damaged gzip":  {packed.String()[:5000], "failed", "damaged"},
	} {
		u := w.upload(tt.text)
		got, transitions, events := w.ended(u)
		require.Equal(t, tt.state, string(got.State), "%s: %s", name, got.Error)
		require.Contains(t, got.Error, tt.says, name)
		w.replays(contact.ImportWorkflowID(u.ID), "import_"+strings.ReplaceAll(strings.ReplaceAll(name, ",", ""), " ", "_"))
		if tt.state == "failed" {
			require.Equal(t, "acme upload_jobs invalid "+got.Error, one[string](w.world, `
				SELECT tenant || ' ' || queue || ' ' || class || ' ' || reason FROM dead_letters WHERE message_id = $1`, u.ID.String()), name)
			continue
		}
		t.Logf("%s: %d state transitions, %d events", name, transitions, events)
	}
}

// An import that is canceled stops at once, and says what was stored; so does one whose workflow is canceled.
func TestImportsCancel(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := importing(t)
	text, distinct, _, _ := people(300_000)
	for name, cancel := range map[string]func(u dboutreach.Upload){
		"as the API does": func(u dboutreach.Upload) {
			_, err := w.uploads.Cancel(w.ctx(), "acme", u.ID, "me", time.Now())
			require.NoError(t, err)
			require.NoError(t, w.launch.CancelImport(w.ctx(), u.ID))
		},
		"in Temporal": func(u dboutreach.Upload) { require.NoError(t, w.launch.CancelImport(w.ctx(), u.ID)) },
	} {
		u := w.upload(text)
		w.eventually("rows are stored", func() bool {
			got, err := w.uploads.Get(w.ctx(), "acme", u.ID)
			return err == nil && got.RowsRead > 0
		})
		began := time.Now()
		cancel(u)
		got, _, _ := w.ended(u)
		t.Logf("%s: canceled within %s: %s", name, time.Since(began).Round(time.Millisecond), tally(got))
		require.Equal(t, dboutreach.UploadCanceled, got.State, name)
		w.replays(contact.ImportWorkflowID(u.ID), "import_canceled_"+strings.ReplaceAll(name, " ", "_"))
		require.Less(t, got.RowsRead, int64(distinct), name)
		require.Less(t, time.Since(began), 20*time.Second)
	}
	require.NoError(t, w.launch.CancelImport(w.ctx(), uuid.New()), "none")
}

package faults

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// outages are the services that are killed while a file is imported. short says which are part of the short form.
var outages = []fault{
	{"SIGTERM worker", 0, func(w *world) (string, error) { return w.retire("worker") }},
	{"our Postgres killed -9", 1, func(w *world) (string, error) {
		return "", w.app.Restart(w.ctx, devstack.Postgres, true, w.spell())
	}},
	{"kill -9 worker, about to store contacts", 1, func(w *world) (string, error) {
		// By its name: what Postgres shows of a statement ends after 1,024 bytes.
		return w.killAt("worker", "contacts", "/* sqlContactsWrite */", true)
	}},
	{"kill -9 worker, contacts stored and not reported", 1, func(w *world) (string, error) {
		// LOCK waits for the transaction that stores chunks: this is the next statement after its commit.
		return w.killAt("worker", "uploads", "FROM uploads WHERE tenant = $1 AND id = $2 FOR NO KEY UPDATE", false)
	}},
	{"Temporal killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Temporal, true) }},
	{"Postgres killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Postgres, true) }},
	{"Redis killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Redis, true) }},
	{"RabbitMQ killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.RabbitMQ, true) }},
	{"Postgres backends terminated", 0, terminateBackends},
	{"worker frozen", 0, func(w *world) (string, error) { return w.freeze("worker") }},
	{"blob store's disk full", 0, func(w *world) (string, error) {
		err := w.disk.fill(w.ctx, w.of("worker"))
		pause(w.ctx, w.spell())
		return "", errors.Join(err, w.disk.free(w.ctx))
	}},
}

// A personFile is a file of contacts, and what must become of it.
type personFile struct {
	text                         string
	distinct, invalid, duplicate int
}

// newPersonFile has n rows, of which each fiftieth is no contact, and each hundredth has the number of one before it. City
// is the same in all.
func newPersonFile(n int, city string) (f personFile) {
	var b strings.Builder
	b.WriteString("First Name,Last Name,Phone,Email,City\n")
	for i := range n {
		number := func(i int) string { return fmt.Sprintf("(514) 2%02d-%04d", 20+i/10_000, i%10_000) }
		switch {
		case i%50 == 7:
			fmt.Fprintf(&b, "Zoé,Côté %d,not a number,p%d@example.org,%s\n", i, i, city)
			f.invalid++
		case i%100 == 99:
			fmt.Fprintf(&b, "Zoé,An impostor,%s,p%d@example.org,%s\n", number(i/2/100*100), i, city)
			f.duplicate++
		default:
			fmt.Fprintf(&b, "Zoé,Côté %d,%s,p%d@example.org,\"%s, \"\"QC\"\"\"\n", i, number(i), i, city)
			f.distinct++
		}
	}
	f.text = b.String()
	return f
}

// Under faults, a file of contacts becomes its valid distinct rows, each once, and every row is accounted for.
func TestTheLedgerOfImportsBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with those of drafts, scrapers and search
	n, every := 30_000, time.Second
	if *long {
		n, every = 200_000, 3*time.Second
	}
	w := newWorld(t, nil, "CONVEYOR_IMAGES=false")
	w.say("seed %d: %d rows", *seed, n)
	w.tempt = func() {} // rows are stored all the time
	i, err := newImports(w)
	require.NoError(t, err)
	l := &Ledger{Seed: *seed, Wrong: []string{}}

	first := newPersonFile(n, "Montréal")
	u := i.upload(first)
	kills := 0
	for i.open(u) && w.ctx.Err() == nil {
		before := i.stored(u)
		if said, err := w.kill("worker"); err == nil {
			kills++
			w.say("kill -9%s", said)
		}
		pause(w.ctx, every)
		// On a busy machine a worker may take longer than that to start, and nothing would ever be stored.
		_ = eventually(w.ctx, servicetest.Patience(), func() bool { return i.stored(u) != before || !i.open(u) })
	}
	l.Faults = append(l.Faults, Recovery{Fault: fmt.Sprintf("kill -9 worker every %s", every), Times: kills})
	got := map[uuid.UUID]personFile{u.ID: first}
	second := newPersonFile(n, "Laval") // everybody has moved
	var table []fault
	misses := 0
	for _, f := range outages {
		if (*long || f.short > 0) && strings.Contains(f.name, *only) {
			table = append(table, f)
		}
	}
	for len(table) > 0 && w.ctx.Err() == nil {
		u := i.upload(second)
		got[u.ID] = second
		for len(table) > 0 && i.open(u) {
			f := table[0]
			table = table[1:]
			w.say("%s …", f.name)
			said, err := f.happen(w)
			if err != nil && misses < 5 { // the file was stored before
				misses++
				table = append(table, f)
				w.say("%s: once more: %s", f.name, err)
				continue
			}
			r := Recovery{Fault: f.name, Times: 1}
			if err != nil {
				r.Missed, said = 1, ": missed: "+err.Error()
			}
			l.Faults = append(l.Faults, r)
			w.say("%s: over%s", f.name, said)
		}
	}
	_ = eventually(w.ctx, 2*servicetest.Patience(), func() bool { return !i.anyOpen() })
	w.rest(l)
	l.missed(table)
	if err := i.balance(l, got, second); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.processes(w)
	l.close(w)
}

// imports are what the test itself needs to upload files.
type imports struct {
	*world
	files   *blob.Store
	uploads *dboutreach.Uploads
	pool    *pgxpool.Pool
	launch  launch.Launch
}

const importTenant = "importer"

func newImports(w *world) (*imports, error) {
	files, err := blob.Open(w.ctx, w.disk.path)
	if err != nil {
		return nil, err
	}
	w.t.Cleanup(func() { _ = files.Close() })
	pool, err := db.Open(w.ctx, named(w.vars["DATABASE_URL"], "imports"), 4)
	if err != nil {
		return nil, err
	}
	w.t.Cleanup(pool.Close)
	return &imports{w, files, dboutreach.NewUploads(pool), pool, launch.Launch{Temporal: w.temporal}},
		db.NewTenants(pool).Create(w.ctx, db.Tenant{
			ID: importTenant, Name: "Acme", Tier: "standard", Region: "CA", CreatedAt: time.Now(),
		}, "ledger")
}

// upload stores a file and its row. A start that fails is made up for by the workers. The disk is small: files that are
// done with go.
func (i *imports) upload(p personFile) (u dboutreach.Upload) {
	list, _, _ := i.uploads.List(i.ctx, importTenant, []string{string(dboutreach.UploadDone)}, nil, 100)
	for _, u := range list {
		_ = i.files.DeleteUpload(i.ctx, u.Blob)
	}
	err := eventually(i.ctx, servicetest.Patience(), func() bool {
		f, err := i.files.PutUpload(i.ctx, strings.NewReader(p.text))
		if err == nil {
			u, err = i.uploads.Create(i.ctx, dboutreach.Upload{
				ID: uuid.New(), Tenant: importTenant, FileName: "people.csv", Blob: f.Key, Bytes: f.Bytes, SHA256: f.SHA256,
				CreatedBy: "ledger", CreatedAt: time.Now(), Options: []byte(`{"region":"CA"}`),
			})
		}
		return err == nil
	})
	require.NoError(i.t, err, "no file can be uploaded")
	_ = i.launch.StartImport(i.ctx, u.Tenant, u.ID)
	return u
}

// open says that an upload goes on, or that it cannot be known.
func (i *imports) open(u dboutreach.Upload) bool {
	now, err := i.uploads.Get(i.ctx, u.Tenant, u.ID)
	return err != nil || now.State.Open()
}

// stored is how many chunks of an upload are stored; -1 when it cannot be asked for.
func (i *imports) stored(u dboutreach.Upload) int {
	now, err := i.uploads.Get(i.ctx, u.Tenant, u.ID)
	if err != nil {
		return -1
	}
	return now.Stored
}

func (i *imports) anyOpen() bool {
	list, _, err := i.uploads.List(i.ctx, importTenant, nil, nil, 100)
	for _, u := range list {
		if u.State.Open() {
			return true
		}
	}
	return err != nil
}

// An importTotal is what the tables have.
type importTotal struct {
	Contacts, Keys, Twice, Counted, Errors, Left, Impostors, Events, Letters int
}

const sqlImportTotal = `
SELECT (SELECT count(*) FROM contacts WHERE tenant = $1), (SELECT count(DISTINCT key) FROM contacts WHERE tenant = $1),
    (SELECT count(*) - count(DISTINCT digest) FROM contacts WHERE tenant = $1),
    (SELECT contacts FROM tenants WHERE id = $1), (SELECT count(*) FROM upload_errors),
    (SELECT count(*) FROM upload_keys),
    (SELECT count(*) FROM contacts WHERE tenant = $1 AND family_name = 'An impostor'),
    (SELECT count(*) FROM outbox WHERE routing_key = 'contacts.imported'),
    (SELECT count(*) FROM dead_letters WHERE tenant <> '')`

// balance compares the tables with the files. All have the counts of alike.
func (i *imports) balance(l *Ledger, files map[uuid.UUID]personFile, alike personFile) error {
	list, _, err := i.uploads.List(i.ctx, importTenant, nil, nil, 100)
	if err != nil {
		return err
	}
	var n importTotal
	tx, err := i.pool.Begin(i.ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(i.ctx) }()
	_, err = tx.Exec(i.ctx, "SELECT set_config('conveyor.tenant', '*', true)")
	err = errors.Join(err, tx.QueryRow(i.ctx, sqlImportTotal, importTenant).Scan(&n.Contacts, &n.Keys, &n.Twice, &n.Counted, &n.Errors,
		&n.Left, &n.Impostors, &n.Events, &n.Letters))
	if err != nil {
		return err
	}
	var rows, distinct, invalid, read, kept int
	var wrong, unlike []string
	for _, u := range list {
		f, known := files[u.ID]
		if !known { // one of which the row was stored and the answer lost
			f = alike
		}
		distinct, invalid = f.distinct, invalid+f.invalid
		rows += f.distinct + f.invalid + f.duplicate
		read += int(u.RowsRead)
		if u.State != dboutreach.UploadDone {
			wrong = append(wrong, fmt.Sprintf("%s is %s: %s", u.ID, u.State, u.Error))
		}
		want := fmt.Sprintf("%d valid, %d invalid, %d duplicate", f.distinct, f.invalid, f.duplicate)
		if is := fmt.Sprintf("%d valid, %d invalid, %d duplicate", u.Valid, u.Invalid, u.Duplicate); is != want {
			unlike = append(unlike, fmt.Sprintf("%s has %s, not %s", u.ID, is, want))
		}
		left, err := i.files.ListUpload(i.ctx, u.Blob)
		if err != nil {
			return err
		}
		for _, key := range left {
			if key != u.Blob && key != u.Copy {
				kept++
			}
		}
	}
	l.row("rows uploaded", rows, "in %d files", len(list))
	l.must("rows accounted for: valid, invalid or duplicate", read, rows)
	l.none("uploads that are not done", wrong)
	l.none("uploads whose counts are not those of their file", unlike)
	l.must("contacts: valid distinct rows of the files", n.Contacts, distinct)
	l.must("their keys", n.Keys, distinct)
	l.must("contacts twice", n.Twice, 0)
	l.must("contacts that the tenant is said to have", n.Counted, distinct)
	l.must("contacts of a row that was not the first of its key", n.Impostors, 0)
	l.must("refused rows with their reasons", n.Errors, invalid)
	l.must("events contacts.imported", n.Events, len(list))
	l.must("dead letters", n.Letters, 0)
	l.must("keys that were left behind", n.Left, 0)
	l.must("parsed rows that were left behind", kept, 0)
	return nil
}

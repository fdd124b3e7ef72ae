package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
)

// An Imported is how long a file of contacts takes.
type Imported struct {
	How       string             `json:"how"`
	Rows      int                `json:"rows"`
	Seconds   float64            `json:"seconds"` // until the last row is stored
	PerSecond float64            `json:"per_second"`
	CPU       map[string]float64 `json:"cpu_s_by_group"`
	IdleMiB   int                `json:"idle_mib"` // of our own processes, together, before it began
	PeakMiB   int                `json:"peak_mib"`
	Events    int64              `json:"events,omitempty"`
}

// importing is the import scenarios' part of a run.
type importing struct {
	*system
	rows   int
	report *Report
}

// imports are the scenarios of uploaded files of contacts.
func (h *system) imports(ctx context.Context, rows int, report *Report) []scenario {
	i := importing{h, rows, report}
	return []scenario{{"outreach: import", func() error { return i.run(ctx) }}}
}

// run imports a file of contacts, all of them new, then all known; then as listmonk does.
func (i importing) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "conveyor-bench-uploads-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := i.restart("CONVEYOR_BLOB_URL=file://" + dir); err != nil {
		return err
	}
	files, err := blob.Open(ctx, dir)
	if err != nil {
		return err
	}
	defer files.Close()
	const tenant = "bench"
	err = db.NewTenants(i.db).Create(ctx, db.Tenant{
		ID: tenant, Name: "Bench", Tier: "standard", Region: peopleRegion, CreatedAt: time.Now(),
	}, "bench")
	if err != nil {
		return err
	}
	for _, how := range []string{"all new", "all known"} {
		if err := i.file(ctx, files, tenant, how); err != nil {
			return fmt.Errorf("%s: %w", how, err)
		}
		if _, err := i.db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
			return err
		}
	}
	i.rows = min(i.rows, rowByRowMost)
	return i.rowByRow(ctx)
}

// rowByRowMost is how many rows the yardstick takes: its pace does not depend on it, and it is slow.
const rowByRowMost = 200_000

// upload stores the file.
func (i importing) upload(ctx context.Context, files *blob.Store, tenant string) (u dboutreach.Upload, err error) {
	f, err := files.PutUpload(ctx, peopleCSV(i.rows))
	if err != nil {
		return u, err
	}
	options, err := json.Marshal(peopleOptions)
	if err != nil {
		return u, err
	}
	return dboutreach.NewUploads(i.db).Create(ctx, dboutreach.Upload{
		ID: uuid.New(), Tenant: tenant, FileName: "people.csv", Blob: f.Key, Bytes: f.Bytes, SHA256: f.SHA256,
		Options: options, CreatedBy: "bench", CreatedAt: time.Now(),
	})
}

// file imports the file once.
func (i importing) file(ctx context.Context, files *blob.Store, tenant, how string) error {
	store, start := dboutreach.NewUploads(i.db), launch.Launch{Temporal: i.temporal}
	u, err := i.upload(ctx, files, tenant)
	if err != nil {
		return err
	}
	idle := ours()
	before, began, peak := processes(), time.Now(), 0
	if err := start.StartImport(ctx, tenant, u.ID); err != nil {
		return err
	}
	for u.State.Open() {
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return err
		}
		if u, err = store.Get(ctx, tenant, u.ID); err != nil {
			return err
		}
		peak = max(peak, ours())
	}
	if u.State != dboutreach.UploadDone || u.Valid != int64(i.rows) {
		return fmt.Errorf("it is %s %s: %d of %d rows are valid", u.State, u.Error, u.Valid, i.rows)
	}
	r := Imported{How: how, Seconds: time.Since(began).Seconds(), IdleMiB: idle, PeakMiB: peak}
	run := i.temporal.GetWorkflow(ctx, contact.ImportWorkflowID(u.ID), "") // what is left to be deleted counts, too
	if err := run.Get(ctx, nil); err != nil {
		return err
	}
	d, err := i.temporal.DescribeWorkflowExecution(ctx, contact.ImportWorkflowID(u.ID), "")
	if err != nil {
		return err
	}
	r.Events = d.GetWorkflowExecutionInfo().GetHistoryLength()
	i.imported(r, before)
	return nil
}

func (i importing) imported(r Imported, before map[string]time.Duration) {
	r.Rows, r.PerSecond, r.CPU = i.rows, float64(i.rows)/r.Seconds, cost(before, 1)
	i.report.Imported = append(i.report.Imported, r)
}

// ours is the memory of our own processes in MiB.
func ours() int {
	mib := held()
	return mib["all roles"] + mib["worker"]
}

// peopleRegion is that of the telephone numbers of peopleCSV, which have no country code.
const peopleRegion = "CA"

// peopleOptions are those of an upload of peopleCSV, as the API settles them when it receives a file: an import does
// not ask the tenant for its region.
var peopleOptions = contact.Options{}.In(peopleRegion)

// peopleCSV is a file of n people in eight columns, each with another telephone number.
func peopleCSV(n int) io.Reader {
	r, w := io.Pipe()
	codes := []int{514, 438, 450, 418, 581, 819, 416, 647, 604, 212, 305, 617, 503, 802}
	go func() { // ends with the file, or with its reader
		var b strings.Builder
		b.WriteString("First Name,Last Name,Phone,Email,City,Language,Tags,Note\n")
		for i := range n {
			p := i * 7919 % n // in no order
			fmt.Fprintf(&b, "Zoé,Côté-%d,(%d) %d-%04d,person.%d@example.com,Montréal,fr,\"vip;may\",\"said \"\"hello\"\", twice\"\n",
				p, codes[p%len(codes)], 220+p/len(codes)/10_000, p/len(codes)%10_000, p)
			if b.Len() > 1<<20 || i == n-1 {
				if _, err := io.WriteString(w, b.String()); err != nil {
					return
				}
				b.Reset()
			}
		}
		_ = w.Close()
	}()
	return r
}

// listmonk is the name of the yardstick.
const listmonk = "listmonk's design: one reader, 10,000 rows a transaction, row by row"

const sqlRowByRow = `
INSERT INTO yardstick_people AS p (uuid, email, name, attribs, updated_at) VALUES ($1, $2, $3, $4, now())
ON CONFLICT (lower(email)) DO UPDATE SET name = excluded.name, attribs = excluded.attribs, updated_at = now()`

// rowByRow imports the same rows as listmonk does (internal/subimporter): it does not look at telephone numbers, keeps
// all other columns as attributes, and has no row of a chunk, no reasons and no resume.
func (i importing) rowByRow(ctx context.Context) error {
	_, err := i.db.Exec(ctx, `CREATE TABLE yardstick_people (id serial PRIMARY KEY, uuid uuid NOT NULL UNIQUE,
		email text NOT NULL, name text NOT NULL, attribs jsonb NOT NULL, updated_at timestamptz NOT NULL);
		CREATE UNIQUE INDEX ON yardstick_people (lower(email)); CREATE INDEX ON yardstick_people (updated_at)`)
	if err != nil {
		return err
	}
	for _, how := range []string{"all new", "all known"} {
		before, own, began := processes(), cpuTime(), time.Now()
		rows := csv.NewReader(peopleCSV(i.rows))
		header, err := rows.Read()
		for err == nil {
			err = db.Tx(ctx, i.db, func(tx pgx.Tx) error { return tenThousand(ctx, tx, rows, header) })
		}
		if !errors.Is(err, io.EOF) {
			return err
		}
		r := Imported{How: listmonk + ", " + how, Seconds: time.Since(began).Seconds()}
		i.imported(r, before)
		i.report.Imported[len(i.report.Imported)-1].CPU["the importer"] = (cpuTime() - own).Seconds()
	}
	return nil
}

// tenThousand stores rows one by one. io.EOF, after the last, must not roll them back.
func tenThousand(ctx context.Context, tx pgx.Tx, rows *csv.Reader, header []string) error {
	for range 10_000 {
		cells, err := rows.Read()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return errors.Join(tx.Commit(ctx), io.EOF)
			}
			return err
		}
		attributes := map[string]string{}
		for k, name := range header {
			attributes[name] = cells[k]
		}
		object, err := json.Marshal(attributes)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, sqlRowByRow, uuid.New(), cells[3], cells[0]+" "+cells[1], object); err != nil {
			return err
		}
	}
	return nil
}

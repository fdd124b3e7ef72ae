package activities

import (
	"context"
	"io"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// ImportPersistence are the activities that store what was read, and delete what is not needed any more.
type ImportPersistence struct {
	Uploads ImportUploads
	Chunks  ImportStored
	Ends    ImportEnds
	Files   ImportRows
	Copies  ImportCopies
	Yields  *ImportYields
	Metrics ImportMetrics
	Now     func() time.Time
}

// ImportStored stores chunks in the order of the file.
type ImportStored interface {
	Ready(ctx context.Context, tenant string, id uuid.UUID, most int) ([]contact.Chunk, error)
	// Reserve does a part of Persist ahead: it finds out which rows are the first of their key.
	Reserve(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.ParsedChunk) error
	Persist(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.ParsedChunk, now time.Time) error
}

// ImportCopies deletes the decoded copies of files.
type ImportCopies interface {
	ForgetCopy(ctx context.Context, file string) error
}

// ImportRows keeps the rows of chunks between reading and storing them.
type ImportRows interface {
	OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	PutRows(ctx context.Context, file string, n int, rows []byte) error
	Rows(ctx context.Context, file string, n int) ([]byte, error)
	ForgetRows(ctx context.Context, file string, numbers ...int) error
}

// PersistChunks stores the chunks that are read, in the order of the file, until the next one is not read yet or the
// slice is over, and ends the upload with its last one. It may be repeated, and two of one upload take turns. It
// returns how far the upload is.
func (a *ImportPersistence) PersistChunks(ctx context.Context, job ImportJob) (contact.Progress, error) {
	u, err := a.Uploads.Import(ctx, job.Tenant, job.ID)
	if err != nil {
		return u.Progress, err
	}
	before := u.Progress
	for end := a.Now().Add(persistSlice); err == nil && u.Split() && a.Now().Before(end); {
		var ready []contact.Chunk
		if ready, err = a.Chunks.Ready(ctx, u.Tenant, u.ID, persistAhead); err == nil && len(ready) == 0 {
			break
		}
		if err == nil {
			err = a.store(ctx, u, ready, end)
		}
	}
	now, failed := a.Uploads.Import(ctx, job.Tenant, job.ID)
	if failed == nil && now.Split() && now.Stored == now.Chunks {
		if failed = a.Uploads.Finish(ctx, u.Tenant, u.ID, a.Now()); failed == nil {
			now, failed = a.Uploads.Import(ctx, job.Tenant, job.ID)
		}
	}
	if failed == nil {
		for result, n := range now.Results() {
			a.Metrics.Rows(result, n-before.Results()[result])
		}
		if now.Split() && now.Invalid > contact.MaxRefused && 2*now.Invalid > now.Progress.Rows {
			failed = fault.Newf(fault.Invalid, "%d of %d rows were refused, which is most of them: the columns are taken for "+
				"something else, or the file is none of contacts. Look at the refused rows, and give a mapping",
				now.Invalid, now.Progress.Rows)
		}
	}
	if err == nil {
		err = failed
	}
	return now.Progress, err
}

// store stores chunks in batches. While one is being stored, the next is loaded and its keys are reserved. Between them
// it gives way.
func (a *ImportPersistence) store(ctx context.Context, u contact.Import, ready []contact.Chunk, end time.Time) error {
	type batch struct {
		chunks []contact.ParsedChunk
		err    error
	}
	load := func(ready []contact.Chunk) (next chan batch, rest []contact.Chunk) {
		bytes, n, most := int64(0), 0, persistChunks
		if a.Yields.lately() {
			most = 1
		}
		for n < len(ready) && n < most && (n == 0 || bytes+ready[n].Length <= persistBytes) {
			bytes += ready[n].Length
			n++
		}
		next = make(chan batch, 1)
		go func() { // ends with the load
			var b batch
			defer func() { next <- b }()
			defer fault.Survive(&b.err, "loading chunks", func(text string, args ...any) {
				activity.GetLogger(ctx).Error(text, append(args, "upload", u.ID)...)
			})
			end, err := a.Yields.piece(ctx)
			if b.err = err; err != nil {
				return
			}
			defer end()
			for _, c := range ready[:n] {
				var rows []contact.Row
				if rows, b.err = a.load(ctx, u, c); b.err != nil {
					break
				}
				b.chunks = append(b.chunks, contact.ParsedChunk{N: c.N, Rows: rows})
			}
			if b.err == nil {
				b.err = a.Chunks.Reserve(ctx, u.Tenant, u.ID, b.chunks)
			}
		}()
		return next, ready[n:]
	}
	a.Yields.yield(ctx, 0)
	next, rest := load(ready)
	for took := time.Duration(0); ; {
		b := <-next
		if b.err != nil {
			return b.err
		}
		a.Yields.yield(ctx, took)
		more := len(rest) > 0 && a.Now().Before(end)
		if more {
			next, rest = load(rest)
		}
		began, err := a.persist(ctx, u, b.chunks)
		took = a.Now().Sub(began)
		if err == nil {
			numbers := make([]int, len(b.chunks))
			for i, c := range b.chunks {
				numbers[i] = c.N
				a.Metrics.Chunk("store", a.Now().Sub(began)/time.Duration(len(b.chunks)))
			}
			err = a.Files.ForgetRows(ctx, u.File, numbers...)
		}
		if err == nil {
			err = stopped(ctx, ctx.Err())
		}
		if err != nil {
			if more {
				<-next
			}
			return err
		}
		if !more {
			return nil
		}
	}
}

// persist stores chunks, in a piece that has begun then.
func (a *ImportPersistence) persist(ctx context.Context, u contact.Import, chunks []contact.ParsedChunk) (
	began time.Time, err error,
) {
	end, err := a.Yields.piece(ctx)
	if began = a.Now(); err != nil {
		return began, err
	}
	defer end()
	return began, a.Chunks.Persist(ctx, u.Tenant, u.ID, chunks, began)
}

// load returns the rows of a chunk. What was kept and is gone or damaged, as after the machine has lost its power, is
// read from the file once more.
func (a *ImportPersistence) load(ctx context.Context, u contact.Import, c contact.Chunk) ([]contact.Row, error) {
	data, err := a.Files.Rows(ctx, u.File, c.N)
	var rows []contact.Row
	if err == nil {
		rows, err = contact.ReadRows(data)
	}
	if err == nil && len(rows) == c.Rows || err != nil && !final(err) {
		return rows, err
	}
	activity.GetLogger(ctx).Warn("rows of a chunk are read once more", "upload", u.ID, "chunk", c.N, "err", err)
	text, err := a.Files.OpenRange(ctx, u.Text(), c.Offset, c.Length)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	rows = make([]contact.Row, 0, c.Rows)
	err = u.Plan.Parse(text, c, func(r contact.Row) error {
		rows = append(rows, r)
		return ctx.Err()
	})
	return rows, stopped(ctx, err)
}

// An EndJob names an upload whose workflow ends.
type EndJob struct {
	ImportJob

	Canceled bool `json:"canceled,omitempty"` // the workflow was
}

// An Ended is how an upload ended.
type Ended struct {
	contact.Progress

	More bool `json:"more,omitempty"` // there is more to delete
}

// EndImport deletes what an import kept for itself, for as long as a slice. It may be repeated, and returns how the
// upload ended. One that is still open although its workflow was canceled is canceled first. Otherwise it was replayed,
// and nothing is done: a workflow of its own is started for it.
func (a *ImportPersistence) EndImport(ctx context.Context, job EndJob) (Ended, error) {
	u, err := a.Uploads.Import(ctx, job.Tenant, job.ID)
	if err == nil && u.Open() && job.Canceled {
		err = a.Ends.Cancel(ctx, job.Tenant, job.ID, canceledBy, a.Now())
		if isConflict(err) { // it has ended meanwhile
			err = nil
		}
		if err == nil {
			u, err = a.Uploads.Import(ctx, job.Tenant, job.ID)
		}
	}
	if err != nil || u.Open() {
		return Ended{Progress: u.Progress}, err
	}
	if err := a.forget(ctx, u); err != nil {
		return Ended{Progress: u.Progress}, err
	}
	more := true
	for end := a.Now().Add(persistSlice); more && err == nil && a.Now().Before(end); {
		if more, err = a.Ends.Sweep(ctx, job.Tenant, job.ID, sweepBatch, a.Now()); err == nil {
			err = stopped(ctx, ctx.Err())
		}
	}
	if isConflict(err) { // it was replayed meanwhile
		u, err = a.Uploads.Import(ctx, job.Tenant, job.ID)
		more = false
	}
	return Ended{u.Progress, more}, err
}

// forget deletes what an import that is over kept beside its file: retention has done so where that is gone.
func (a *ImportPersistence) forget(ctx context.Context, u contact.Import) error {
	if u.File == "" {
		return nil
	}
	err := a.Files.ForgetRows(ctx, u.File)
	if err == nil && u.State != "failed" { // that may be replayed, and goes on where it was
		// Also one that no row names: the import was canceled while it was made, or its worker ended then.
		err = a.Copies.ForgetCopy(ctx, u.File)
	}
	return err
}

func isConflict(err error) bool { return fault.ClassOf(err) == fault.Conflict }

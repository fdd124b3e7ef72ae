package activities

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Imports are the activities that begin the import of an uploaded file of contacts.
type Imports struct {
	Uploads  ImportUploads
	Readings ImportReadings
	Split    ImportSplits
	Ends     ImportFails
	Files    ImportFiles
	Cores    Cores // those of ImportChunks
	Yields   *ImportYields
	Metrics  ImportMetrics
	Now      func() time.Time

	reading tenantFiles // in this process
	suspect suspect     // file
}

// ImportChunks are the activities that read the chunks of uploaded files.
type ImportChunks struct {
	Uploads ImportUploads
	Chunks  ImportParsed
	Files   ImportRows
	Cores   Cores
	Yields  *ImportYields
	Metrics ImportMetrics
	Now     func() time.Time

	suspect suspect // chunk
}

// A suspect is the turn of what may have ended a worker, and is read: one at a time in a process, so that none is taken
// for another.
type suspect struct {
	once sync.Once
	turn Cores
}

// take waits for the turn, which leave ends.
func (s *suspect) take(ctx context.Context) (leave func(), err error) {
	s.once.Do(func() { s.turn = make(Cores, 1) })
	if err := s.turn.take(ctx); err != nil {
		return nil, err
	}
	return s.turn.leave, nil
}

// ImportUploads has the rows of uploads.
type ImportUploads interface {
	// Import returns an upload. An unknown one is fault.Gone.
	Import(ctx context.Context, tenant string, id uuid.UUID) (contact.Import, error)
	// Finish ends an upload whose chunks are all stored.
	Finish(ctx context.Context, tenant string, id uuid.UUID, now time.Time) error
}

// ImportReadings counts the readings of whole files, so that one which ends its reader is read a few times only.
type ImportReadings interface {
	// BeginReading returns how many readings have begun in a row and not ended, this one included.
	BeginReading(ctx context.Context, tenant string, id uuid.UUID) (begun int, err error)
	EndReading(ctx context.Context, tenant string, id uuid.UUID) error
}

// ImportSplits stores how a file is cut. Its methods may be repeated; for an upload that is over they are
// fault.Conflict.
type ImportSplits interface {
	Planned(ctx context.Context, tenant string, id uuid.UUID, plan contact.Plan, copied string, now time.Time) error
	AddChunks(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.Chunk, now time.Time) error
	LastChunk(ctx context.Context, tenant string, id uuid.UUID) (c contact.Chunk, ok bool, err error)
	Split(ctx context.Context, tenant string, id uuid.UUID, chunks int) error
}

// ImportFails ends uploads that cannot be imported.
type ImportFails interface {
	// Fail ends an upload with a dead letter. It may be repeated. One that is done or canceled is fault.Conflict.
	Fail(ctx context.Context, tenant string, id uuid.UUID, why contact.Failure, now time.Time) error
}

// ImportEnds ends uploads. Its methods may be repeated.
type ImportEnds interface {
	// Cancel ends an upload. One that is done or failed is fault.Conflict.
	Cancel(ctx context.Context, tenant string, id uuid.UUID, actor string, now time.Time) error
	// Sweep deletes some of what an upload that is over needed, and says whether there is more. One that is open is
	// fault.Conflict.
	Sweep(ctx context.Context, tenant string, id uuid.UUID, most int, now time.Time) (more bool, err error)
}

// ImportParsed knows which chunks are read.
type ImportParsed interface {
	Pending(ctx context.Context, tenant string, id uuid.UUID, from, most int) ([]contact.Chunk, error)
	Parsed(ctx context.Context, tenant string, id uuid.UUID, numbers []int, now time.Time) error
	// BeginChunk returns how many readings of a chunk have begun in a row and not ended, this one included. It is called
	// once a worker has not ended the chunk's group, which has many.
	BeginChunk(ctx context.Context, tenant string, id uuid.UUID, n int) (begun int, err error)
	EndChunk(ctx context.Context, tenant string, id uuid.UUID, n int) error
}

// ImportFiles has the uploaded files. A file that is not there is fault.Gone.
type ImportFiles interface {
	ReaderAt(ctx context.Context, key string, size int64) io.ReaderAt
	OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// PutCopy stores the decoded copy of a file. It is fault.Limited where there is no room for it.
	PutCopy(ctx context.Context, file string, text io.Reader) (key string, err error)
}

// ImportMetrics counts. Its methods may be called by several goroutines at once.
type ImportMetrics interface {
	// Chunk counts one chunk that went through a step: split, parse or store.
	Chunk(step string, took time.Duration)
	// Rows counts rows by what became of them.
	Rows(result string, n int64)
}

// An ImportJob names an upload.
type ImportJob struct {
	Tenant string    `json:"tenant"`
	ID     uuid.UUID `json:"id"`
}

const (
	// splitBatch is how many chunks are stored at once.
	splitBatch = 500
	// splitSlice is how long an activity cuts a file: workers take turns between uploads after it.
	splitSlice = 10 * time.Second
)

// SplitUpload finds out how a file is read and where its chunks are. Where that takes longer than a slice, the upload
// is still splitting, and the next call goes on. It may be repeated, and goes on after the last chunk that it has
// stored. A file that cannot be read is fault.Invalid, and the message says what to do. That of an upload that is over
// returns how it ended.
func (a *Imports) SplitUpload(ctx context.Context, job ImportJob) (_ contact.Progress, err error) {
	end := tellStop(ctx)
	defer func() { end(err) }()
	return a.splitUpload(ctx, job)
}

func (a *Imports) splitUpload(ctx context.Context, job ImportJob) (contact.Progress, error) {
	u, err := a.Uploads.Import(ctx, job.Tenant, job.ID)
	if err != nil || !u.Open() || u.State == "running" {
		return u.Progress, err
	}
	began := a.Now()
	if u, err = a.planned(ctx, u); err != nil {
		return u.Progress, err
	}
	n, more, err := a.slice(ctx, u, began.Add(splitSlice))
	if err != nil {
		return u.Progress, err
	}
	if more {
		u, err = a.Uploads.Import(ctx, job.Tenant, job.ID)
		return u.Progress, err
	}
	if n == 0 {
		return u.Progress, fault.Newf(fault.Invalid, "the file has no rows: its first line is taken for the names of the "+
			"columns. If it is a row, say that the file has no header (header: false); otherwise export it once more")
	}
	if err := a.Split.Split(ctx, u.Tenant, u.ID, n); err != nil {
		return u.Progress, err
	}
	a.Metrics.Chunk("split", a.Now().Sub(began)/time.Duration(n))
	u, err = a.Uploads.Import(ctx, job.Tenant, job.ID)
	return u.Progress, err
}

// planned looks at a file and decodes it where that is needed. What a try before has found out stays. The try is
// counted before it is made, so that a file that ends its worker each time is refused. While a file of its tenant rests
// in this process, it is fault.Limited.
func (a *Imports) planned(ctx context.Context, u contact.Import) (contact.Import, error) {
	if u.Plan != nil && (u.Copy != "" || !u.Plan.Copied()) && u.State == "splitting" {
		return u, nil
	}
	if a.reading.rests(u.Tenant) {
		return u, restsAnother()
	}
	err := a.noted(ctx, u, 0, func() (err error) {
		u, err = a.plan(ctx, u)
		return err
	})
	return u, err
}

// noted reads a file, by read, and has it noted meanwhile that it does: the death of this worker is laid to the file,
// which is fault.Invalid after a few. before are the readings that may have ended workers and were not noted.
func (a *Imports) noted(ctx context.Context, u contact.Import, before int, read func() error) error {
	begun, err := countTry(ctx, func() error { return a.Readings.EndReading(ctx, u.Tenant, u.ID) }, func() (int, error) {
		return a.Readings.BeginReading(ctx, u.Tenant, u.ID)
	})
	if err != nil {
		return err
	}
	if err := contact.CheckReadings(before + begun); err != nil {
		return err
	}
	defer tellUntold(ctx)() // it may be cut off before it has ended
	err = read()
	living, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	ended := a.Readings.EndReading(living, u.Tenant, u.ID)
	if ended != nil {
		tellAlive(living)
	}
	if err == nil {
		err = ended
	}
	return err
}

// slice cuts a file for a while, and says whether there is more. Where a worker has died or hung with it before, it is
// noted, and one such file is cut at a time: a file is cut next to others, and the worker may have died by one of them.
func (a *Imports) slice(ctx context.Context, u contact.Import, end time.Time) (n int, more bool, err error) {
	cut := func() (err error) {
		n, err = a.cut(ctx, u, end)
		if more = errors.Is(err, errSliceOver); more {
			return nil
		}
		return err
	}
	if deaths(ctx) == 0 {
		err = cut()
		return n, more, err
	}
	leave, err := a.suspect.take(ctx)
	if err != nil {
		return 0, false, err
	}
	defer leave()
	err = a.noted(ctx, u, 1, cut)
	return n, more, err
}

func (a *Imports) plan(ctx context.Context, u contact.Import) (contact.Import, error) {
	src := &sharedFile{
		ctx: ctx, file: a.Files.ReaderAt(ctx, u.File, u.Bytes), tenant: u.Tenant, others: &a.reading,
		cores: a.Cores, yields: a.Yields, now: a.Now,
	}
	defer src.close()
	if u.Plan == nil {
		var plan contact.Plan
		err := src.work(func() (err error) {
			plan, err = contact.Sniff(src, u.Bytes, u.Options)
			return err
		})
		if err != nil {
			return u, err
		}
		plan.Records = u.Keeps(plan)
		u.Plan = &plan
	}
	if u.Plan.Copied() && u.Copy == "" {
		var text io.Reader
		err := src.work(func() (err error) {
			text, err = u.Plan.Open(src, u.Bytes)
			return err
		})
		if err != nil {
			return u, err
		}
		text = sharedText{text, src}
		if u.Room != nil {
			text = &roomy{text, *u.Room}
		}
		if u.Copy, err = a.Files.PutCopy(ctx, u.File, text); err != nil {
			return u, err
		}
	}
	return u, a.Split.Planned(ctx, u.Tenant, u.ID, *u.Plan, u.Copy, a.Now())
}

// roomy fails once more bytes are read than there is room for.
type roomy struct {
	io.Reader
	left int64
}

func (r *roomy) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, contact.ErrRoom
	}
	return n, err
}

// errSliceOver says that there is more to do.
var errSliceOver = errors.New("the slice is over")

// cut stores the chunks of a file and returns their number. After end it stops with errSliceOver, once it has stored
// some.
func (a *Imports) cut(ctx context.Context, u contact.Import, end time.Time) (int, error) {
	var from contact.Position
	stored, ok, err := a.Split.LastChunk(ctx, u.Tenant, u.ID)
	if err != nil {
		return 0, err
	}
	if ok {
		from = stored.End()
	}
	text, err := a.Files.OpenRange(ctx, u.Text(), from.Offset, -1)
	if err != nil {
		return 0, err
	}
	defer text.Close()
	var batch []contact.Chunk
	add := func() error {
		if err := a.Split.AddChunks(ctx, u.Tenant, u.ID, batch, a.Now()); err != nil {
			return err
		}
		batch = batch[:0]
		return stopped(ctx, ctx.Err())
	}
	last, err := u.Plan.Split(text, from, func(c contact.Chunk) error {
		if c.FirstRow > contact.MaxRows {
			return fault.Newf(fault.Invalid, "the file has more than %d rows: line %d is beyond; split it", contact.MaxRows,
				c.FirstLine)
		}
		if batch = append(batch, c); len(batch) < splitBatch {
			return nil
		}
		err := add()
		if err == nil && !a.Now().Before(end) {
			err = errSliceOver
		}
		return err
	})
	if err == nil {
		err = add()
	}
	return last.Chunk, err
}

// A FailedImport is an import that cannot go on.
type FailedImport struct {
	ImportJob
	contact.Failure
}

// FailImport ends an upload that cannot be imported, with a dead letter. It may be repeated. One that is over already
// is left as it is.
func (a *Imports) FailImport(ctx context.Context, f FailedImport) (struct{}, error) {
	err := a.Ends.Fail(ctx, f.Tenant, f.ID, f.Failure, a.Now())
	if isConflict(err) {
		err = nil
	}
	return struct{}{}, err
}

// A ParseJob names chunks of an upload: those from From up to but without To.
type ParseJob struct {
	ImportJob
	From int `json:"from"`
	To   int `json:"to"`
}

const (
	// parseMost is how long a chunk may take to be read, and rowsMost how many bytes its rows may have. A chunk has some
	// megabytes at most, which take a fraction of a second: what breaks a bound is no file of contacts.
	parseMost = time.Minute
	rowsMost  = 64 << 20
	// parsedEvery is how long chunks that were read may wait to be noted, so that one write serves several.
	parsedEvery = 200 * time.Millisecond
)

// ParseChunks reads chunks and keeps their rows for PersistChunks. It may be repeated: those that were read already
// are left out. It returns how many it has read. A chunk that cannot be read is fault.Invalid, and the message says
// where.
func (a *ImportChunks) ParseChunks(ctx context.Context, job ParseJob) (_ int, err error) {
	end := tellStop(ctx)
	defer func() { end(err) }()
	return a.parseChunks(ctx, job)
}

func (a *ImportChunks) parseChunks(ctx context.Context, job ParseJob) (int, error) {
	u, err := a.Uploads.Import(ctx, job.Tenant, job.ID)
	if err != nil || !u.Open() {
		return 0, err
	}
	chunks, err := a.Chunks.Pending(ctx, job.Tenant, job.ID, job.From, job.To-job.From)
	if err != nil {
		return 0, err
	}
	n, noted := 0, a.Now()
	var read []int
	for i, c := range chunks {
		if c.N >= job.To {
			chunks = chunks[:i]
			break
		}
	}
	took := time.Duration(0)
	for i, c := range chunks {
		a.Yields.yield(ctx, took)
		if took, err = a.parse(ctx, u, c); err != nil {
			if len(read) > 0 && fault.ClassOf(err) == fault.Limited { // once they are stored, there may be room again
				err = errors.Join(err, a.Chunks.Parsed(ctx, job.Tenant, job.ID, read, a.Now()))
			}
			return n, err
		}
		n++
		// While a worker has died, each at once: the first that is pending is the one at which the next try takes over.
		if read = append(read, c.N); i+1 < len(chunks) && deaths(ctx) == 0 && a.Now().Sub(noted) < parsedEvery {
			continue
		}
		if err := a.Chunks.Parsed(ctx, job.Tenant, job.ID, read, a.Now()); err != nil {
			return n, err
		}
		read, noted = nil, a.Now()
		if err := stopped(ctx, ctx.Err()); err != nil {
			return n, err
		}
	}
	return n, nil
}

func (a *ImportChunks) parse(ctx context.Context, u contact.Import, c contact.Chunk) (took time.Duration, err error) {
	end, err := a.Yields.piece(ctx)
	if err != nil {
		return 0, err
	}
	defer end()
	began := a.Now()
	rows, err := a.read(ctx, u, c)
	if err != nil {
		return 0, err
	}
	if err := a.Files.PutRows(ctx, u.File, c.N, rows); err != nil {
		return 0, err
	}
	took = a.Now().Sub(began)
	a.Metrics.Chunk("parse", took)
	return took, nil
}

// read reads a chunk on one of the Cores. Where a worker has died or hung with its group before, it is noted while its
// text is read, and one such chunk is read at a time: the death of this worker is laid to it.
func (a *ImportChunks) read(ctx context.Context, u contact.Import, c contact.Chunk) ([]byte, error) {
	again := deaths(ctx) > 0
	if again {
		leave, err := a.suspect.take(ctx)
		if err != nil {
			return nil, err
		}
		defer leave()
	}
	if err := a.Cores.take(ctx); err != nil {
		return nil, err
	}
	defer a.Cores.leave() // a file at which the parser panics too
	text, err := a.Files.OpenRange(ctx, u.Text(), c.Offset, c.Length)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	if !again {
		return a.rows(ctx, u, c, text)
	}
	begun, err := countTry(ctx, func() error { return a.Chunks.EndChunk(ctx, u.Tenant, u.ID, c.N) }, func() (int, error) {
		return a.Chunks.BeginChunk(ctx, u.Tenant, u.ID, c.N)
	})
	if err != nil {
		return nil, err
	}
	defer tellUntold(ctx)() // it may be cut off before it has ended
	defer func() {
		living, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if a.Chunks.EndChunk(living, u.Tenant, u.ID, c.N) != nil {
			tellAlive(living)
		}
	}()
	if err := contact.CheckChunk(c, begun); err != nil {
		return nil, err
	}
	return a.rows(ctx, u, c, text)
}

// rows reads the text of a chunk within its bounds. It is not held: its last row may be as long as the file.
func (a *ImportChunks) rows(ctx context.Context, u contact.Import, c contact.Chunk, text io.Reader) ([]byte, error) {
	var w contact.RowsWriter
	end := a.Now().Add(parseMost)
	err := u.Plan.Parse(text, c, func(r contact.Row) error {
		w.Add(r)
		switch {
		case w.Len() > rowsMost:
			return fault.Newf(fault.Invalid, "line %d: the rows before it have more than %d MB of text; remove columns "+
				"that are not needed, or split the file", r.Line, rowsMost>>20)
		case a.Now().After(end):
			return fault.Newf(fault.Invalid, "line %d: the rows from line %d on take longer than %s to read; remove columns "+
				"that are not needed, or split the file", r.Line, c.FirstLine, parseMost)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, stopped(ctx, fmt.Errorf("chunk %d: %w", c.N, err))
	}
	return w.Bytes(), nil
}

const (
	// persistSlice is how long an activity stores chunks: workers take turns between uploads after it.
	persistSlice = 10 * time.Second
	// persistChunks and persistBytes bound what is stored in one transaction: one chunk where messages to one person have
	// waited lately.
	persistChunks = 5
	persistBytes  = 4 << 20
	persistAhead  = 100 // chunks that are looked up at once
)

const (
	// canceledBy is the actor of a cancelation whose author is known to Temporal only.
	canceledBy = "temporal"
	// sweepBatch is how many keys of an upload are deleted at once.
	sweepBatch = 50_000
)

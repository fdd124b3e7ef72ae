package activities_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// A fakeUpload is an upload, its chunks and its files.
type fakeUpload struct {
	mu     sync.Mutex
	in     contact.Import
	files  map[string][]byte
	rows   map[int][]byte
	chunks []contact.Chunk
	parsed map[int]bool
	stored []contact.Row
	clock  time.Time
	tick   time.Duration // that each look at the clock takes
	breaks int           // chunks that can be added before the store is away; below 0 = all
	fails  []contact.Failure
	swept  bool

	room    int      // for rows of so many chunks; 0 = of all
	short   bool     // of cores
	singles int      // looks that find a message that waits
	steps   []string // looks that did, and what was stored

	begun, ended int  // readings
	away         bool // the store, at the end of a reading
	reads        func()

	noted []string    // readings of chunks
	died  map[int]int // of them, by chunk, those before
	first error       // of the first reading of a file
}

func newFakeUpload(data string) *fakeUpload {
	f := &fakeUpload{
		files: map[string][]byte{"u/file": []byte(data)}, rows: map[int][]byte{}, parsed: map[int]bool{}, breaks: -1,
		died: map[int]int{}, clock: time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC),
	}
	f.in.State, f.in.Tenant, f.in.ID, f.in.File, f.in.Bytes = "received", "acme", uuid.New(), "u/file", int64(len(data))
	f.in.Options.Region = "CA"
	return f
}

func (f *fakeUpload) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.clock = f.clock.Add(f.tick)
	return f.clock
}

func (f *fakeUpload) job() activities.ImportJob {
	return activities.ImportJob{Tenant: f.in.Tenant, ID: f.in.ID}
}

func (f *fakeUpload) begin() *activities.Imports {
	return &activities.Imports{
		Uploads: f, Readings: f, Split: f, Ends: f, Files: f, Cores: activities.NewCores(), Yields: f.yields(),
		Metrics: rowMetrics{f}, Now: f.now,
	}
}

func (f *fakeUpload) parsing() *activities.ImportChunks {
	return &activities.ImportChunks{
		Uploads: f, Chunks: f, Files: f, Cores: activities.NewCores(), Yields: f.yields(), Metrics: rowMetrics{f}, Now: f.now,
	}
}

func (f *fakeUpload) storing() *activities.ImportPersistence {
	return &activities.ImportPersistence{
		Uploads: f, Chunks: f, Ends: f, Files: f, Copies: f, Yields: f.yields(), Metrics: rowMetrics{f}, Now: f.now,
	}
}

func (f *fakeUpload) yields() *activities.ImportYields {
	return &activities.ImportYields{Others: f, Short: func() bool { return f.short }, Now: f.now}
}

// SingleWaits says yes singles times, each time that it is asked.
func (f *fakeUpload) SingleWaits(context.Context) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.singles == 0 {
		return false, nil
	}
	f.singles--
	f.steps = append(f.steps, "a message waits")
	return true, nil
}

func (f *fakeUpload) Chunk(string, time.Duration) {}
func (f *fakeUpload) Rows(_ context.Context, _ string, n int) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.rows[n] == nil {
		return nil, fault.Newf(fault.Gone, "not there")
	}
	return f.rows[n], nil
}

// A rowMetrics is the metrics, whose method has the name of another one.
type rowMetrics struct{ *fakeUpload }

func (rowMetrics) Rows(string, int64) {}

func (f *fakeUpload) Import(context.Context, string, uuid.UUID) (contact.Import, error) {
	return f.in, nil
}

func (f *fakeUpload) BeginReading(context.Context, string, uuid.UUID) (int, error) {
	f.begun++
	return f.begun, nil
}

func (f *fakeUpload) BeginChunk(_ context.Context, _ string, _ uuid.UUID, n int) (int, error) {
	f.noted = append(f.noted, fmt.Sprintf("begin %d", n))
	f.died[n]++
	return f.died[n], nil
}

func (f *fakeUpload) EndChunk(ctx context.Context, _ string, _ uuid.UUID, n int) error {
	if f.away {
		return errAway
	}
	f.noted = append(f.noted, fmt.Sprintf("end %d", n))
	f.died[n] = 0
	return ctx.Err()
}

func (f *fakeUpload) EndReading(ctx context.Context, _ string, _ uuid.UUID) error {
	if f.away {
		return errAway
	}
	f.begun = 0
	f.ended++
	return ctx.Err()
}

func (f *fakeUpload) Finish(context.Context, string, uuid.UUID, time.Time) error {
	f.in.State = "done"
	return nil
}

func (f *fakeUpload) Planned(_ context.Context, _ string, _ uuid.UUID, p contact.Plan, copied string, _ time.Time) error {
	f.in.State, f.in.Plan, f.in.Copy = "splitting", &p, copied
	return nil
}

func (f *fakeUpload) AddChunks(_ context.Context, _ string, _ uuid.UUID, chunks []contact.Chunk, _ time.Time) error {
	for _, c := range chunks {
		if f.breaks == 0 {
			return fault.Newf(fault.Transient, "away")
		}
		f.breaks--
		if c.N == len(f.chunks) {
			f.chunks = append(f.chunks, c)
		}
	}
	return nil
}

func (f *fakeUpload) LastChunk(context.Context, string, uuid.UUID) (c contact.Chunk, ok bool, err error) {
	if len(f.chunks) == 0 {
		return c, false, nil
	}
	return f.chunks[len(f.chunks)-1], true, nil
}

func (f *fakeUpload) Split(_ context.Context, _ string, _ uuid.UUID, n int) error {
	if n != len(f.chunks) {
		return fmt.Errorf("%d chunks, not %d", len(f.chunks), n)
	}
	f.in.State, f.in.Chunks = "running", n
	return nil
}

func (f *fakeUpload) Fail(_ context.Context, _ string, _ uuid.UUID, why contact.Failure, _ time.Time) error {
	if !f.in.Open() {
		return fault.Newf(fault.Conflict, "it is %s", f.in.State)
	}
	f.in.State, f.in.Error, f.fails = "failed", why.Reason, append(f.fails, why)
	return nil
}

func (f *fakeUpload) Cancel(context.Context, string, uuid.UUID, string, time.Time) error {
	f.in.State = "canceled"
	return nil
}

func (f *fakeUpload) Sweep(context.Context, string, uuid.UUID, int, time.Time) (bool, error) {
	more := !f.swept
	f.swept = true
	return more, nil
}

func (f *fakeUpload) Pending(_ context.Context, _ string, _ uuid.UUID, from, most int) (out []contact.Chunk, err error) {
	for _, c := range f.chunks[min(from, len(f.chunks)):] {
		if !f.parsed[c.N] && len(out) < most {
			out = append(out, c)
		}
	}
	return out, nil
}

func (f *fakeUpload) Parsed(_ context.Context, _ string, _ uuid.UUID, numbers []int, _ time.Time) error {
	if f.away {
		return errAway
	}
	for _, n := range numbers {
		f.parsed[n] = true
	}
	return nil
}

func (f *fakeUpload) Ready(_ context.Context, _ string, _ uuid.UUID, most int) (out []contact.Chunk, err error) {
	for n := f.in.Stored; n < len(f.chunks) && f.parsed[n] && len(out) < most; n++ {
		out = append(out, f.chunks[n])
	}
	return out, nil
}

func (f *fakeUpload) Reserve(context.Context, string, uuid.UUID, []contact.ParsedChunk) error {
	return nil
}

func (f *fakeUpload) Persist(_ context.Context, _ string, _ uuid.UUID, chunks []contact.ParsedChunk, _ time.Time) error {
	for _, c := range chunks {
		if c.N != f.in.Stored {
			return fault.Newf(fault.Conflict, "chunk %d before %d", c.N, f.in.Stored)
		}
		f.in.Stored++
		f.in.Progress.Rows += int64(len(c.Rows))
		f.stored = append(f.stored, c.Rows...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.steps = append(f.steps, fmt.Sprintf("%d chunks are stored", len(chunks)))
	return nil
}

func (f *fakeUpload) ReaderAt(_ context.Context, key string, _ int64) io.ReaderAt {
	return readerAt(func(p []byte, offset int64) (int, error) {
		if f.reads != nil {
			f.reads()
		}
		return bytes.NewReader(f.files[key]).ReadAt(p, offset)
	})
}

type readerAt func(p []byte, offset int64) (int, error)

func (r readerAt) ReadAt(p []byte, offset int64) (int, error) { return r(p, offset) }

func (f *fakeUpload) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := f.first; err != nil {
		f.first = nil
		return nil, err
	}
	data, ok := f.files[key]
	if !ok {
		return nil, fault.Newf(fault.Gone, "%s is not there", key)
	}
	end := int64(len(data))
	if length >= 0 {
		end = offset + length
	}
	return io.NopCloser(io.NewSectionReader(f.ReaderAt(ctx, key, end), offset, end-offset)), nil
}

func (f *fakeUpload) PutCopy(_ context.Context, _ string, text io.Reader) (string, error) {
	data, err := io.ReadAll(text)
	f.files["u/copy"] = data
	return "u/copy", err
}

func (f *fakeUpload) ForgetCopy(context.Context, string) error {
	delete(f.files, "u/copy")
	return nil
}

func (f *fakeUpload) PutRows(_ context.Context, _ string, n int, rows []byte) error {
	if _, ok := f.rows[n]; !ok && f.room > 0 && len(f.rows) >= f.room {
		return fault.Newf(fault.Limited, "it waits for room")
	}
	f.rows[n] = bytes.Clone(rows)
	return nil
}

func (f *fakeUpload) ForgetRows(_ context.Context, file string, numbers ...int) error {
	if file == "" {
		return fault.Newf(fault.Invalid, `"" is none of an upload`)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for n := range f.rows {
		if len(numbers) == 0 || slices.Contains(numbers, n) {
			delete(f.rows, n)
		}
	}
	return nil
}

// phonebook is a file of n people.
func phonebook(n int) string {
	var b strings.Builder
	b.WriteString("Name,Phone\n")
	for i := range n {
		fmt.Fprintf(&b, "Jo %d,514 222-%04d\n", i, i)
	}
	return b.String()
}

// run runs one activity as a worker does.
func run[In, Out any](t *testing.T, act func(context.Context, In) (Out, error), in In) (out Out, err error) {
	t.Helper()

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	work := func(ctx context.Context) error {
		out, err = act(ctx, in)
		return nil
	}
	env.RegisterActivity(work)
	_, failed := env.ExecuteActivity(work)
	require.NoError(t, failed)
	return out, err
}

// A file is split, read and stored; where a try breaks off, the next one goes on.
func TestImport(t *testing.T) {
	t.Parallel()

	packed := zipped(t, phonebook(3500))
	for name, data := range map[string]string{"text": phonebook(3500), "gzip": packed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newFakeUpload(data)
			f.breaks = 2
			_, err := f.begin().SplitUpload(t.Context(), f.job())
			require.ErrorContains(t, err, "away")
			require.Len(t, f.chunks, 2)
			f.breaks = -1
			for range 2 {
				p, err := f.begin().SplitUpload(t.Context(), f.job())
				require.NoError(t, err)
				require.Equal(t, contact.Progress{State: "running", Chunks: 4}, p)
			}
			storing := f.storing()
			p, err := storing.PersistChunks(t.Context(), f.job())
			require.NoError(t, err)
			require.Zero(t, p.Stored, "nothing is read")
			parsing := f.parsing()
			for _, job := range []activities.ParseJob{{f.job(), 2, 4}, {f.job(), 0, 3}, {f.job(), 0, 4}} {
				_, err := parsing.ParseChunks(t.Context(), job)
				require.NoError(t, err)
			}
			require.Len(t, f.rows, 4)
			delete(f.rows, 1)
			f.rows[2] = f.rows[2][:100] // the machine has lost its power
			p, err = run(t, storing.PersistChunks, f.job())
			require.NoError(t, err)
			require.Equal(t, contact.Progress{State: "done", Chunks: 4, Stored: 4, Rows: 3500}, p)
			require.Len(t, f.stored, 3500)
			for i, r := range f.stored {
				require.Equal(t, int64(i+1), r.Number)
				require.Equal(t, fmt.Sprintf("+1514222%04d", i), r.Contact.Phone)
			}
			require.Empty(t, f.rows)
			ended, err := f.storing().EndImport(t.Context(), activities.EndJob{ImportJob: f.job()})
			require.NoError(t, err)
			require.Equal(t, activities.Ended{Progress: p}, ended)
			require.True(t, f.swept)
			require.NotContains(t, f.files, "u/copy")
		})
	}
}

// Where there is room for the rows of some chunks only, these are stored, and make room for the others.
func TestImportWithLittleRoom(t *testing.T) {
	t.Parallel()
	f := newFakeUpload(phonebook(3500))
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	f.room = 2
	for _, stored := range []int{2, 4} {
		n, err := f.parsing().ParseChunks(t.Context(), activities.ParseJob{ImportJob: f.job(), To: 4})
		require.Equal(t, 2, n)
		if stored < 4 {
			require.Equal(t, fault.Limited, fault.ClassOf(err))
		} else {
			require.NoError(t, err)
		}
		p, err := f.storing().PersistChunks(t.Context(), f.job())
		require.NoError(t, err)
		require.Equal(t, stored, p.Stored)
	}
}

// An import gives way to messages to one person between its pieces, which are small while there are some, and gets on
// whatever waits.
func TestImportYields(t *testing.T) {
	t.Parallel()

	stored := func(singles int) []string {
		f := newFakeUpload(phonebook(3500))
		_, err := f.begin().SplitUpload(t.Context(), f.job())
		require.NoError(t, err)
		_, err = f.parsing().ParseChunks(t.Context(), activities.ParseJob{ImportJob: f.job(), To: 4})
		require.NoError(t, err)
		f.singles, f.tick = singles, 20*time.Millisecond
		p, err := run(t, f.storing().PersistChunks, f.job())
		require.NoError(t, err)
		require.Equal(t, "done", p.State)
		require.Len(t, f.stored, 3500)
		return f.steps
	}
	require.Equal(t, []string{"4 chunks are stored"}, stored(0))
	require.Equal(t, []string{
		"a message waits", "1 chunks are stored", "1 chunks are stored", "1 chunks are stored", "1 chunks are stored",
	}, stored(1))
	all := stored(math.MaxInt)
	waited := 0
	for _, step := range all {
		if step == "a message waits" {
			waited++
		}
	}
	require.Greater(t, waited, 4, "before each chunk: %v", all)
	require.Equal(t, 4, len(all)-waited)
}

// After a message that waited an import rests for as long as it has worked, where the machine is short of cores.
func TestImportRests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rested := func(singles int, short bool) time.Duration {
			f := newFakeUpload(phonebook(3500))
			_, err := f.begin().SplitUpload(t.Context(), f.job())
			require.NoError(t, err)
			f.singles, f.short, f.tick = singles, short, 100*time.Microsecond // a look at the clock for each row
			began := time.Now()
			_, err = f.parsing().ParseChunks(t.Context(), activities.ParseJob{ImportJob: f.job(), To: 4})
			require.NoError(t, err)
			return time.Since(began) // of the bubble, in which work takes no time
		}
		require.Zero(t, rested(0, true))
		require.Zero(t, rested(1, false), "before it has worked")
		require.Greater(t, rested(1, true), 200*time.Millisecond)
	})
}

// A copy has no more bytes than the tenant's quota leaves. That of an import that has failed stays, for it may be
// replayed.
func TestImportCopies(t *testing.T) {
	t.Parallel()
	packed := zipped(t, phonebook(3500))
	f := newFakeUpload(packed)
	f.in.Room = new(int64(1000))
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.ErrorContains(t, err, "max_bytes")
	f.in.Room = new(int64(len(phonebook(3500))))
	_, err = f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	require.Contains(t, f.files, "u/copy")
	f.in.State = "failed"
	_, err = f.storing().EndImport(t.Context(), activities.EndJob{ImportJob: f.job()})
	require.NoError(t, err)
	require.Contains(t, f.files, "u/copy")

	// One that was canceled before its row names the copy leaves none.
	f.in.State, f.in.Copy = "canceled", ""
	_, err = f.storing().EndImport(t.Context(), activities.EndJob{ImportJob: f.job()})
	require.NoError(t, err)
	require.NotContains(t, f.files, "u/copy")
}

// An import whose file retention has deleted ends.
func TestImportEndsWithoutItsFile(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"canceled", "failed"} {
		f := newFakeUpload("")
		f.in.State, f.in.File = state, ""
		ended, err := f.storing().EndImport(t.Context(), activities.EndJob{ImportJob: f.job()})
		require.NoError(t, err)
		require.Equal(t, state, ended.State)
		require.True(t, f.swept)
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return packed.String()
}

// Where the machine is short of cores, a file that takes long rests.
func TestUnpackingRests(t *testing.T) {
	t.Parallel()
	packed := zipped(t, phonebook(20_000))
	synctest.Test(t, func(t *testing.T) {
		rested := func(piece time.Duration, short bool) time.Duration {
			f := newFakeUpload(packed)
			begin, began := f.begin(), time.Now()
			f.tick, f.short = piece, short
			_, err := begin.SplitUpload(t.Context(), f.job())
			require.NoError(t, err)
			return time.Since(began) // of the bubble, in which work takes no time
		}
		require.Zero(t, rested(100*time.Millisecond, false))
		require.Zero(t, rested(time.Millisecond, true), "it does not take long")
		require.Greater(t, rested(100*time.Millisecond, true), 10*time.Second)
	})
}

// A file that is unpacked has a core, which it lends to others, and gives way to messages, each time that it is read.
func TestUnpackingTakesTurns(t *testing.T) {
	t.Parallel()
	packed := zipped(t, phonebook(20_000))
	synctest.Test(t, func(t *testing.T) {
		f := newFakeUpload(packed)
		begin, read := f.begin(), 0
		begin.Cores = make(activities.Cores, 1)
		f.singles, f.tick = 1000, 20*time.Millisecond
		f.reads = func() {
			read++
			require.Empty(t, begin.Cores)
		}
		_, err := begin.SplitUpload(t.Context(), f.job())
		require.NoError(t, err)
		require.Empty(t, begin.Cores)
		require.Greater(t, read, 10)
		require.GreaterOrEqual(t, len(f.steps), read, "each gives way")

		// While others have all cores it waits.
		begin.Cores <- struct{}{}
		f = newFakeUpload(packed)
		waiting := f.begin()
		waiting.Cores = begin.Cores
		stopping, stop := context.WithCancel(t.Context())
		stop()
		_, err = waiting.SplitUpload(stopping, f.job())
		require.Equal(t, fault.Limited, fault.ClassOf(err))
		require.Len(t, begin.Cores, 1)
	})
}

// While a file rests, no other one of its tenant is read in this process: one that began with it ends, and comes later.
// Those of others are read.
func TestUnpackingOneOfATenant(t *testing.T) {
	t.Parallel()
	packed := zipped(t, phonebook(20_000))
	synctest.Test(t, func(t *testing.T) {
		f := newFakeUpload(packed)
		begin, began := f.begin(), time.Now()
		f.tick, f.short = 100*time.Millisecond, true
		split := func() error {
			_, err := begin.SplitUpload(t.Context(), f.job())
			return err
		}
		limited := func(err error) {
			class, after := fault.Of(err)
			require.Equal(t, fault.Limited, class, err)
			require.Positive(t, after)
		}
		second := make(chan error, 1)
		f.reads = func() {
			f.reads = nil
			go func() { second <- split() }() // of the same file, as of any other
		}
		first := split()
		if err := <-second; first == nil {
			limited(err)
		} else {
			limited(first)
			require.NoError(t, err)
		}
		require.Greater(t, time.Since(began), 10*time.Second)

		f.in.State, f.in.Plan, f.in.Copy, f.ended = "received", nil, "", 0
		other := newFakeUpload(phonebook(5))
		other.in.Tenant = "other"
		use := func(f *fakeUpload) { begin.Uploads, begin.Readings, begin.Split, begin.Files = f, f, f, f }
		rests := 0
		began = time.Now()
		f.reads = func() {
			if time.Since(began) == 0 || rests > 0 {
				return
			}
			rests++
			limited(split())
			require.Zero(t, f.ended, "it is no reading")
			use(other)
			_, err := begin.SplitUpload(t.Context(), other.job())
			require.NoError(t, err)
			use(f)
		}
		require.NoError(t, split(), "the one before is over")
		require.Equal(t, 1, rests)
	})
}

// What is read briefly is a tenant's, not a file's: one after the other, its files rest once they have taken two seconds in
// about a minute. Those of another tenant do not, and after some time neither do its own.
func TestUnpackingIsBriefForATenant(t *testing.T) {
	t.Parallel()
	packed := zipped(t, phonebook(20_000))
	synctest.Test(t, func(t *testing.T) {
		f := newFakeUpload(packed)
		begin := f.begin()
		f.tick, f.short = 2*time.Millisecond, true
		rested := func(tenant string) time.Duration {
			began := time.Now()
			f.in.State, f.in.Tenant, f.in.Plan, f.in.Copy = "received", tenant, nil, ""
			_, err := begin.SplitUpload(t.Context(), f.job())
			require.NoError(t, err)
			return time.Since(began) // of the bubble, in which work takes no time
		}
		require.Zero(t, rested("acme"))
		files := 1
		for rested("acme") == 0 {
			files++
			require.Less(t, files, 100)
		}
		require.Zero(t, rested("other"))
		require.Positive(t, rested("acme"))
		f.clock = f.clock.Add(2 * time.Minute)
		require.Zero(t, rested("acme"))
	})
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()

	f := newFakeUpload("Name,Phone\n")
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.ErrorContains(t, err, "the file has no rows")
	require.Equal(t, fault.Invalid, fault.ClassOf(err))

	// A chunk that takes longer than any does.
	f = newFakeUpload(phonebook(500))
	_, err = f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	f.tick = time.Second
	slow := f.parsing()
	_, err = slow.ParseChunks(t.Context(), activities.ParseJob{ImportJob: f.job(), To: 1})
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.ErrorContains(t, err, "line 6")
	require.ErrorContains(t, err, "split the file")

	// Its upload fails once, and not when it is over.
	failed := activities.FailedImport{ImportJob: f.job(), Failure: contact.Failure{Queue: contact.QueueChunks, Reason: "no"}}
	for range 2 {
		_, err := f.begin().FailImport(t.Context(), failed)
		require.NoError(t, err)
	}
	require.Equal(t, []contact.Failure{failed.Failure}, f.fails)
	n, err := slow.ParseChunks(t.Context(), activities.ParseJob{ImportJob: f.job(), To: 1})
	require.NoError(t, err)
	require.Zero(t, n)

	// A file of which nearly all is refused.
	f = newFakeUpload(phonebook(5))
	_, err = f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	f.in.Progress.Rows, f.in.Invalid = 2_000_000, 1_000_001
	_, err = f.storing().PersistChunks(t.Context(), f.job())
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.ErrorContains(t, err, "1000001 of 2000000 rows were refused")

	// One whose workflow is canceled is canceled.
	f = newFakeUpload(phonebook(5))
	ended, err := f.storing().EndImport(t.Context(), activities.EndJob{ImportJob: f.job(), Canceled: true})
	require.NoError(t, err)
	require.Equal(t, "canceled", ended.State)
	p, err := f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	require.Equal(t, "canceled", p.State)

	// One that was replayed before its workflow had ended is left to the next workflow.
	f = newFakeUpload(phonebook(5))
	ended, err = f.storing().EndImport(t.Context(), activities.EndJob{ImportJob: f.job()})
	require.NoError(t, err)
	require.Equal(t, "received", ended.State)
	require.False(t, f.swept)

	// A file that is gone may come back.
	f = newFakeUpload(phonebook(5))
	_, err = f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	delete(f.files, "u/file")
	gone := f.parsing()
	_, err = gone.ParseChunks(t.Context(), activities.ParseJob{ImportJob: f.job(), To: 1})
	require.Equal(t, fault.Gone, fault.ClassOf(err))
}

// A file that ends its worker each time is refused; one that is only refused, or met a store that was away, is not
// counted.
func TestImportCountsDeaths(t *testing.T) {
	t.Parallel()

	f := newFakeUpload(phonebook(5))
	f.begun = 3
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.ErrorContains(t, err, "the last 3 workers that read the file ended meanwhile")
	require.Zero(t, f.ended)

	f = newFakeUpload(phonebook(5))
	f.begun = 2
	_, err = f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, []int{f.begun, f.ended})

	f = newFakeUpload("%PDF-1.7")
	stopping, stop := context.WithCancel(t.Context())
	stop()
	_, err = f.begin().SplitUpload(stopping, f.job())
	require.ErrorContains(t, err, "PDF")
	require.Equal(t, []int{0, 1}, []int{f.begun, f.ended}, "also while the worker stops")

	f, pulse := newFakeUpload(phonebook(5)), new(pulsed)
	begin := f.begin()
	split := func(ctx context.Context) error {
		f.in.State, f.in.Plan, f.in.Copy = "received", nil, ""
		_, err := begin.SplitUpload(ctx, f.job())
		return err
	}
	f.reads = func() { f.away = true }
	for range 5 {
		f.away = false
		require.ErrorIs(t, pulse.try(t, split), errAway, "its worker lives, which it says to the next one")
		require.Equal(t, 1, f.begun)
	}
	f.away, f.reads = false, nil
	require.NoError(t, pulse.try(t, split))
	require.Equal(t, map[string]any{"lived": 5.0}, pulse.said, "none of them is left to be told")

	f, pulse = newFakeUpload(phonebook(5)), new(pulsed)
	begin = f.begin()
	for range 5 {
		f.away = false
		pulse.cutOff(t, func(ctx context.Context, stop func()) error {
			var once sync.Once
			f.reads = func() {
				once.Do(func() {
					stop()
					f.away = true // its process is gone
				})
			}
			return split(ctx)
		})
		require.Equal(t, 1, f.begun, "its worker was asked to stop")
	}
	f.away, f.reads = false, nil
	require.NoError(t, pulse.try(t, split))
}

package activities

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Cores bounds how many files and chunks are read at once in this process, whatever the number of activities: reading
// is nothing but computing, and the process has other work, which must not wait for it. Who waits first is served
// first.
type Cores chan struct{}

// NewCores are half of those that Go uses, and at least one.
func NewCores() Cores { return make(Cores, max(1, runtime.GOMAXPROCS(0)/2)) }

// take waits for one, in vain only where ctx ends.
func (c Cores) take(ctx context.Context) error {
	select {
	case c <- struct{}{}:
		return nil
	default:
	}
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return stopped(ctx, context.Cause(ctx))
	}
}

func (c Cores) leave() { <-c }

// A sharedFile is a file that is read on one of the Cores, in pieces: each time that bytes of it are asked for, it
// gives way to messages and to other files. Of a packed one some megabytes of text lie between, a fraction of a second;
// the whole may take minutes. Where the machine is short of cores, the files of a tenant that take long take a tenth of
// one only; a second one of them in this process ends with fault.Limited, for a file that rests keeps its slot. It is
// not safe for concurrent use.
type sharedFile struct {
	ctx    context.Context //nolint:containedctx // of the reads, which have no parameter for it
	file   io.ReaderAt
	tenant string
	others *tenantFiles // and this one
	cores  Cores
	yields *ImportYields
	now    func() time.Time

	rests bool          // or has rested
	since time.Time     // it has a core; zero = it has none
	piece time.Duration // of work
}

const (
	// sharedBriefly is for how long the files of a tenant are read as fast as they can be: nearly all files are read by
	// then. What they took is forgotten in sharedForgets times the time, so that they have it once a minute.
	sharedBriefly = 2 * time.Second
	sharedForgets = 30
	// sharedRests is how many times as long as it has worked a file rests where they take longer.
	sharedRests    = 9
	sharedRestMost = 3 * time.Second
	// sharedAgain is when a file that is not read, for another one of its tenant rests, looks again.
	sharedAgain = 2 * time.Second
)

// work does what reads the file.
func (f *sharedFile) work(do func() error) error {
	if err := f.take(); err != nil {
		return err
	}
	defer f.leave() // a file at which the reader panics too
	return do()
}

func (f *sharedFile) take() error {
	if err := f.cores.take(f.ctx); err != nil {
		return err
	}
	f.since = f.now()
	return nil
}

func (f *sharedFile) leave() {
	if !f.since.IsZero() {
		f.piece += f.now().Sub(f.since)
		f.since = time.Time{}
		f.cores.leave()
	}
}

// ReadAt implements io.ReaderAt.
func (f *sharedFile) ReadAt(p []byte, offset int64) (int, error) {
	if f.since.IsZero() {
		return f.file.ReadAt(p, offset) // not in work
	}
	f.leave()
	took := f.piece
	f.piece = 0
	f.yields.yield(f.ctx, took)
	if f.others.worked(f.tenant, took, f.now()) && f.yields.Short() {
		if err := f.rest(min(sharedRests*took, sharedRestMost)); err != nil {
			return 0, err
		}
	}
	n, err := f.file.ReadAt(p, offset)
	if taken := f.take(); taken != nil {
		return 0, taken
	}
	return n, err
}

func (f *sharedFile) rest(d time.Duration) error {
	if !f.rests {
		if !f.others.rest(f.tenant) {
			return restsAnother()
		}
		f.rests = true
	}
	return pause(f.ctx, d)
}

// close lets other files of the tenant be read.
func (f *sharedFile) close() {
	f.others.worked(f.tenant, f.piece, f.now())
	if f.rests {
		f.others.wake(f.tenant)
	}
}

// tenantFiles are the files of all tenants that are read in this process. The zero value has none.
type tenantFiles struct {
	mu sync.Mutex
	of map[string]*tenantWork
}

// tenantWork is the work on the files of a tenant.
type tenantWork struct {
	took  time.Duration // that is not forgotten
	at    time.Time     // that is of
	rests bool          // one of them does
}

// worked counts work on a file of a tenant, and says whether its files have taken more than sharedBriefly lately. More
// than twice that is not remembered.
func (t *tenantFiles) worked(tenant string, took time.Duration, now time.Time) (long bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, w := range t.of {
		w.took, w.at = max(0, w.took-now.Sub(w.at)/sharedForgets), now
		if w.took == 0 && !w.rests {
			delete(t.of, name)
		}
	}
	w := t.tenant(tenant)
	w.took, w.at = min(w.took+took, 2*sharedBriefly), now
	return w.took > sharedBriefly
}

// tenant is the work on the files of one, under mu.
func (t *tenantFiles) tenant(name string) *tenantWork {
	if t.of == nil {
		t.of = map[string]*tenantWork{}
	}
	w := t.of[name]
	if w == nil {
		w = &tenantWork{}
		t.of[name] = w
	}
	return w
}

// rest has a file of a tenant rest, and says false where another one does.
func (t *tenantFiles) rest(tenant string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.tenant(tenant)
	if w.rests {
		return false
	}
	w.rests = true
	return true
}

func (t *tenantFiles) wake(tenant string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tenant(tenant).rests = false
}

// rests says whether a file of a tenant does.
func (t *tenantFiles) rests(tenant string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.of[tenant]
	return w != nil && w.rests
}

func restsAnother() error {
	return &fault.Error{
		Class: fault.Limited, After: sharedAgain,
		Err: errors.New("another large file of the tenant is being unpacked while the machine is busy: this one waits for it"),
	}
}

// A sharedText is the text of a sharedFile.
type sharedText struct {
	text io.Reader
	file *sharedFile
}

func (t sharedText) Read(p []byte) (n int, err error) {
	err = t.file.work(func() (err error) {
		n, err = t.text.Read(p)
		return err
	})
	return n, err
}

package activities_test

import (
	"context"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contact"
)

// A slowStore takes some time to store chunks, however many.
type slowStore struct {
	*fakeUpload

	took   time.Duration
	began  time.Time
	starts []time.Duration
}

func (s *slowStore) Persist(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.ParsedChunk, now time.Time) error {
	s.starts = append(s.starts, time.Since(s.began))
	time.Sleep(s.took) // of the bubble
	return s.fakeUpload.Persist(ctx, tenant, id, chunks, now)
}

// A single is a message to one person that waits for some time.
type single struct {
	began    time.Time
	from, to time.Duration
	looks    int
}

func (s *single) SingleWaits(context.Context) (bool, error) {
	s.looks++
	at := time.Since(s.began)
	return s.from <= at && at < s.to, nil
}

// storedBeside stores a file of so many chunks, beside a message that waits.
func storedBeside(t *testing.T, chunks int, took, from, to time.Duration) (*slowStore, *single) {
	t.Helper()

	f := newFakeUpload(phonebook(1000 * chunks))
	_, err := f.begin().SplitUpload(t.Context(), f.job())
	require.NoError(t, err)
	_, err = f.parsing().ParseChunks(t.Context(), activities.ParseJob{ImportJob: f.job(), To: chunks})
	require.NoError(t, err)
	slow, waits := &slowStore{fakeUpload: f, took: took, began: time.Now()}, &single{began: time.Now(), from: from, to: to}
	storing := f.storing()
	storing.Chunks, storing.Now = slow, time.Now
	storing.Yields = &activities.ImportYields{Others: waits, Short: func() bool { return false }, Now: time.Now}
	p, err := storing.PersistChunks(t.Context(), f.job())
	require.NoError(t, err)
	require.Equal(t, "done", p.State)
	return slow, waits
}

// An import waits for as long as a message does, also where that is longer than its last piece of work has paid for. One
// that waits on and on leaves it a quarter of its pace.
func TestImportYieldsOverTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const piece = 100 * time.Millisecond
		slow, _ := storedBeside(t, 25, piece, 250*time.Millisecond, 950*time.Millisecond)
		before := 0
		for _, at := range slow.starts {
			require.False(t, 250*time.Millisecond < at && at < 950*time.Millisecond, "while the message waits: %v", slow.starts)
			if at < 250*time.Millisecond {
				before++
			}
		}
		require.Equal(t, 3, before)

		const chunks = 20
		slow, _ = storedBeside(t, chunks, piece, 0, time.Hour)
		require.Len(t, slow.starts, chunks)
		took := time.Since(slow.began)
		require.Greater(t, took, 3*chunks*piece)
		require.LessOrEqual(t, took, 4*chunks*piece+time.Second)
	})
}

// While no message came lately, an import asks for some ten times a second, whatever the number of its pieces.
func TestImportLooksSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow, waits := storedBeside(t, 25, 20*time.Millisecond, time.Hour, time.Hour)
		require.Len(t, slow.starts, 5)
		require.LessOrEqual(t, waits.looks, 2)
	})
}

// pieces counts how many pieces of work are under way at once.
type pieces struct {
	mu        sync.Mutex
	now, most int
}

func (p *pieces) work() {
	p.mu.Lock()
	p.now++
	p.most = max(p.most, p.now)
	p.mu.Unlock()
	time.Sleep(50 * time.Millisecond) // of the bubble
	p.mu.Lock()
	p.now--
	p.mu.Unlock()
}

// A busyUpload counts its pieces.
type busyUpload struct {
	*fakeUpload
	*pieces
}

func (b busyUpload) OpenRange(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	b.work()
	return b.fakeUpload.OpenRange(ctx, key, offset, length)
}

func (b busyUpload) Reserve(context.Context, string, uuid.UUID, []contact.ParsedChunk) error {
	b.work()
	return nil
}

func (b busyUpload) Persist(ctx context.Context, tenant string, id uuid.UUID, chunks []contact.ParsedChunk, now time.Time) error {
	b.work()
	return b.fakeUpload.Persist(ctx, tenant, id, chunks, now)
}

// After a message that waited, and where the machine is short of cores, imports read, reserve or store, one at a time.
func TestImportsOneAtATime(t *testing.T) {
	t.Parallel()
	const chunks = 8
	most := func(t *testing.T, waits, short bool) int {
		t.Helper()
		p := &pieces{}
		read, stored := newFakeUpload(phonebook(1000*chunks)), newFakeUpload(phonebook(1000*chunks))
		for _, f := range []*fakeUpload{read, stored} {
			_, err := f.begin().SplitUpload(t.Context(), f.job())
			require.NoError(t, err)
		}
		_, err := stored.parsing().ParseChunks(t.Context(), activities.ParseJob{ImportJob: stored.job(), To: chunks})
		require.NoError(t, err)
		one := &single{began: time.Now()}
		if waits {
			one.to = time.Millisecond
		}
		yields := &activities.ImportYields{Others: one, Short: func() bool { return short }, Now: time.Now}
		parsing, storing := read.parsing(), stored.storing()
		parsing.Files, parsing.Yields, parsing.Now = busyUpload{read, p}, yields, time.Now
		storing.Chunks, storing.Yields, storing.Now = busyUpload{stored, p}, yields, time.Now
		var both errgroup.Group
		both.Go(func() error {
			_, err := parsing.ParseChunks(t.Context(), activities.ParseJob{ImportJob: read.job(), To: chunks})
			return err
		})
		both.Go(func() error {
			_, err := storing.PersistChunks(t.Context(), stored.job())
			return err
		})
		require.NoError(t, both.Wait())
		require.Equal(t, "done", stored.in.State)
		require.Len(t, read.rows, chunks)
		return p.most
	}
	for name, tt := range map[string]struct {
		waits, short bool
		want         int
	}{
		"no message":  {false, true, 3},
		"no shortage": {true, false, 3},
		"both":        {true, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { require.Equal(t, tt.want, most(t, tt.waits, tt.short)) })
		})
	}
}

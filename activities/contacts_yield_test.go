package activities_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

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

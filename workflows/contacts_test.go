package workflows_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	importing   *activities.Imports
	chunking    *activities.ImportChunks
	persistence *activities.ImportPersistence
)

// A fakeImport is an upload whose activities do what they are told. A step that errs has its errors, in order.
type fakeImport struct {
	mu       sync.Mutex
	chunks   int
	lost     int // chunks that are not there when they are read the first time
	read     map[int]int
	stored   int
	failed   *activities.FailedImport
	slices   int // of splitting, before the last one
	sweeps   int // slices of tidying up, before the last one
	canceled bool
	fails    map[int]int        // how often the group from a chunk on is not read
	errs     map[string][]error // by step
	steps    map[string]int
}

func (f *fakeImport) step(name string) error {
	f.steps[name]++
	if list := f.errs[name]; len(list) > 0 {
		f.errs[name] = list[1:]
		return list[0]
	}
	return nil
}

func (f *fakeImport) progress() contact.Progress {
	p := contact.Progress{State: "running", Chunks: f.chunks, Stored: f.stored}
	switch {
	case f.failed != nil:
		p.State, p.Error = "failed", f.failed.Reason
	case f.stored == f.chunks:
		p.State = "done"
	}
	return p
}

// importEnv is an import of so many chunks.
func importEnv(t *testing.T, chunks int) (*testsuite.TestWorkflowEnvironment, *fakeImport) {
	t.Helper()

	env := newEnv(t)
	for _, a := range []any{importing, chunking, persistence} {
		env.RegisterActivity(a)
	}
	f := &fakeImport{chunks: chunks, lost: -1, read: map[int]int{}, fails: map[int]int{}, errs: map[string][]error{}, steps: map[string]int{}}
	env.OnActivity(importing.SplitUpload, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.ImportJob) (contact.Progress, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			p := f.progress()
			if f.steps["split"] < f.slices {
				p = contact.Progress{State: "splitting"}
			}
			return p, f.step("split")
		}).Maybe()
	env.OnActivity(chunking.ParseChunks, mock.Anything, mock.Anything).Return(
		func(_ context.Context, job activities.ParseJob) (int, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if err := f.step("parse"); err != nil {
				return 0, err
			}
			if f.fails[job.From]--; f.fails[job.From] >= 0 {
				return 0, failing(fault.Gone)
			}
			for n := job.From; n < job.To; n++ {
				if n == f.lost {
					f.lost = -1
					continue
				}
				f.read[n]++
			}
			return job.To - job.From, nil
		}).Maybe()
	env.OnActivity(persistence.PersistChunks, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.ImportJob) (contact.Progress, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			if err := f.step("store"); err != nil {
				return contact.Progress{}, err
			}
			for f.read[f.stored] > 0 {
				f.stored++
			}
			return f.progress(), nil
		}).Maybe()
	env.OnActivity(importing.FailImport, mock.Anything, mock.Anything).Return(
		func(_ context.Context, failed activities.FailedImport) (struct{}, error) {
			f.failed = &failed
			return struct{}{}, nil
		}).Maybe()
	env.OnActivity(persistence.EndImport, mock.Anything, mock.Anything).Return(
		func(_ context.Context, job activities.EndJob) (activities.Ended, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.canceled = job.Canceled
			ended := activities.Ended{Progress: f.progress(), More: f.steps["end"] < f.sweeps}
			return ended, f.step("end")
		}).Maybe()
	return env, f
}

var importInput = workflows.ImportInput{Tenant: "acme", ID: uuid.MustParse("0198c1a2-0000-7000-8000-000000000001")}

func TestImportContacts(t *testing.T) {
	t.Parallel()

	for _, chunks := range []int{1, 3, 50, 1000} {
		env, f := importEnv(t, chunks)
		env.ExecuteWorkflow(workflows.ImportContacts, importInput)
		require.NoError(t, env.GetWorkflowError())
		var got contact.Progress
		require.NoError(t, env.GetWorkflowResult(&got))
		require.Equal(t, contact.Progress{State: "done", Chunks: chunks, Stored: chunks}, got)
		require.Len(t, f.read, chunks)
		for n, times := range f.read {
			require.Equal(t, 1, times, "chunk %d", n)
		}
		// Six events an activity, with the workflow task after it.
		activities := f.steps["split"] + f.steps["parse"] + f.steps["store"] + f.steps["end"]
		t.Logf("%d chunks: %v", chunks, f.steps)
		if chunks > 50 {
			require.LessOrEqual(t, 6*activities, 3*chunks)
		}
		answer, err := env.QueryWorkflow(workflows.ImportQuery)
		require.NoError(t, err)
		var seen contact.Progress
		require.NoError(t, answer.Get(&seen))
		require.Equal(t, got, seen)
	}
}

// Faults of the file end its import: those that cannot pass at once, others after three tries. A store that is away is
// waited for, however long it takes.
func TestImportContactsFails(t *testing.T) {
	t.Parallel()

	repeat := func(n int, err error) (list []error) {
		for range n {
			list = append(list, err)
		}
		return list
	}
	for name, tt := range map[string]struct {
		step  string
		errs  []error
		queue string // of the dead letter; "" = it goes on
		tries int
	}{
		"a file that is none":       {"split", repeat(1, failing(fault.Invalid)), "upload_jobs", 1},
		"a file that is gone":       {"split", repeat(3, failing(fault.Gone)), "upload_jobs", 3},
		"a chunk beyond its bounds": {"parse", repeat(1, failing(fault.Invalid)), "upload_chunks", 1},
		"rows that are refused":     {"store", repeat(1, failing(fault.Invalid)), "import_persistence", 1},
		"a file that comes back":    {"split", repeat(2, failing(fault.Gone)), "", 3},
		"a store that is away":      {"store", repeat(60, failing(fault.Transient)), "", 61},
		"one that is away at last":  {"end", repeat(8, errors.New("connection refused")), "", 9},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			env, f := importEnv(t, 1)
			f.errs[tt.step] = tt.errs
			env.ExecuteWorkflow(workflows.ImportContacts, importInput)
			require.GreaterOrEqual(t, f.steps[tt.step], tt.tries)
			if tt.queue == "" {
				require.NoError(t, env.GetWorkflowError())
				require.Nil(t, f.failed)
				return
			}
			require.Equal(t, tt.tries, f.steps[tt.step])
			require.ErrorContains(t, env.GetWorkflowError(), "it does not work")
			class, _ := fault.Of(workflows.Fault(tt.errs[0]))
			require.Equal(t, tt.queue, f.failed.Queue)
			require.Equal(t, string(class), f.failed.Class)
			require.Equal(t, "it does not work", f.failed.Reason)
			require.Equal(t, 1, f.steps["end"])
		})
	}
}

// A chunk whose rows are lost on the way is read once more.
func TestImportContactsFindsLostChunks(t *testing.T) {
	t.Parallel()

	env, f := importEnv(t, 40)
	f.lost = 17
	env.ExecuteWorkflow(workflows.ImportContacts, importInput)
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, f.read, 40)
}

// A canceled import tidies up before it ends.
func TestImportContactsCanceled(t *testing.T) {
	t.Parallel()

	env, f := importEnv(t, 40)
	f.errs["store"] = []error{failing(fault.Transient), failing(fault.Transient)}
	env.RegisterDelayedCallback(env.CancelWorkflow, 100*time.Millisecond)
	env.ExecuteWorkflow(workflows.ImportContacts, importInput)
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), env.GetWorkflowError())
	require.Equal(t, 1, f.steps["end"])
	require.True(t, f.canceled)
	require.Nil(t, f.failed)
}

// What takes long is done in slices, between which other uploads have their turn.
func TestImportContactsInSlices(t *testing.T) {
	t.Parallel()

	env, f := importEnv(t, 40)
	f.slices, f.sweeps = 3, 2
	env.ExecuteWorkflow(workflows.ImportContacts, importInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{4, 3}, []int{f.steps["split"], f.steps["end"]})
	require.False(t, f.canceled)
}

// Workers that are killed again and again while the import gets on do not end it.
func TestImportContactsGetsOn(t *testing.T) {
	t.Parallel()

	env, f := importEnv(t, 160)
	f.fails = map[int]int{0: 3}
	for from := 10; from < 160; from += 10 {
		f.fails[from] = 1
	}
	env.ExecuteWorkflow(workflows.ImportContacts, importInput)
	require.NoError(t, env.GetWorkflowError())
	require.Nil(t, f.failed)
}

// A long history ends between two groups of chunks, and the next run goes on there.
func TestImportContactsContinues(t *testing.T) {
	t.Parallel()

	env, f := importEnv(t, 1000)
	env.SetCurrentHistoryLength(5000)
	env.ExecuteWorkflow(workflows.ImportContacts, importInput)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Zero(t, f.steps["parse"])

	next, f := importEnv(t, 1000)
	for n := range 500 {
		f.read[n] = 1
	}
	in := importInput
	in.SoFar, in.Next = contact.Progress{State: "running", Chunks: 1000, Stored: 400}, 500
	next.ExecuteWorkflow(workflows.ImportContacts, in)
	require.NoError(t, next.GetWorkflowError())
	require.Zero(t, f.steps["split"])
	require.Len(t, f.read, 1000)
	require.Equal(t, 1, f.read[499])
}

package workflows_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	drafts    *activities.Drafts
	requested = draft.Request{EventID: uuid.MustParse("3f0d6f5e-5c0e-4d3c-9c45-0d6b1f0a7a11"), URL: "https://shop.example/p/1?who=me"}
	resolved  = draft.Request{EventID: requested.EventID, URL: requested.URL, OutDir: "out"}
)

func drafting(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()

	env := newEnv(t)
	env.RegisterActivity(drafts)
	return env
}

// failing is a fault as the workers hand it on.
func failing(class fault.Class) error {
	return temporal.NewApplicationErrorWithOptions("it does not work", string(class),
		temporal.ApplicationErrorOptions{NonRetryable: class.Final()})
}

// steps has the outcome of each step, in order; those after the last must not be run.
type steps struct {
	check, resolve, run, persist error
	result                       draft.Result
	upTo                         int
}

func (s steps) on(env *testsuite.TestWorkflowEnvironment, persisted any) {
	if s.upTo >= 1 {
		env.OnActivity(drafts.CheckDevtools, mock.Anything, requested).Return(requested, s.check).Once()
	}
	if s.upTo >= 2 {
		env.OnActivity(drafts.ResolveOutDir, mock.Anything, requested).Return(resolved, s.resolve).Once()
	}
	if s.upTo >= 3 {
		env.OnActivity(drafts.RunCrawler, mock.Anything, resolved).Return(s.result, s.run).Once()
	}
	if s.upTo >= 4 {
		env.OnActivity(drafts.PersistDraft, mock.Anything, persisted).Return(
			activities.Persisted{DraftID: draft.ID(requested.EventID), Name: "Kettle", Price: "25.00 EUR"}, s.persist).Once()
	}
}

func crawlDraft(env *testsuite.TestWorkflowEnvironment) (out workflows.DraftResult, err error) {
	env.ExecuteWorkflow(workflows.CrawlDraft, workflows.DraftInput{Request: requested})
	if err := env.GetWorkflowError(); err != nil {
		return out, err
	}
	return out, env.GetWorkflowResult(&out)
}

// The result of a page is stored, a draft or a failure.
func TestCrawlDraft(t *testing.T) {
	t.Parallel()

	good := draft.Result{Request: resolved, Outcome: draft.Succeeded, Status: 200}
	bad := draft.Fail(resolved, fault.Gone, "HTTP 404", time.Unix(0, 0).UTC())
	for _, result := range []draft.Result{good, bad} {
		env := drafting(t)
		steps{result: result, upTo: 4}.on(env, result)
		got, err := crawlDraft(env)
		require.NoError(t, err)
		require.Equal(t, result.Outcome, got.Outcome)
		require.Equal(t, result.Error, got.Error)
		require.Equal(t, draft.ID(requested.EventID), got.DraftID)
		require.Equal(t, "25.00 EUR", got.Price)
	}
}

// No step that fails is retried, in any class, and no step runs after it.
func TestCrawlDraftFails(t *testing.T) {
	t.Parallel()

	for _, class := range fault.Classes {
		if class == fault.Limited { // the worker stopped
			continue
		}
		down := failing(class)
		unmade := draft.Fail(resolved, class, "it does not work", time.Time{})
		unmade.Outcome = draft.Unmade
		for _, s := range []steps{
			{upTo: 1, check: down}, {upTo: 2, resolve: down}, {upTo: 3, result: unmade},
			{upTo: 4, persist: down, result: draft.Result{Request: resolved, Outcome: draft.Succeeded}},
		} {
			env := drafting(t)
			s.on(env, mock.Anything)
			_, err := crawlDraft(env)
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			require.Equal(t, string(class), app.Type())
			require.Equal(t, "it does not work", app.Message())
		}
	}
}

// When a worker dies or stops, another takes over. When that has no end, it is stored as a failure of the page.
func TestCrawlDraftLosesItsWorker(t *testing.T) {
	t.Parallel()

	silent := temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, nil)
	env := drafting(t)
	s := steps{upTo: 2}
	s.on(env, nil)
	env.OnActivity(drafts.RunCrawler, mock.Anything, resolved).Return(draft.Result{}, silent).Times(24)
	env.OnActivity(drafts.PersistDraft, mock.Anything, mock.MatchedBy(func(r draft.Result) bool {
		return r.Outcome == draft.Failed && r.Class == fault.Transient && r.Request == resolved &&
			r.Error == "run crawler: the worker that loaded it died or hung, at the last of 24 tries"
	})).Return(activities.Persisted{}, nil).Once()
	got, err := crawlDraft(env)
	require.NoError(t, err)
	require.Equal(t, draft.Failed, got.Outcome)

	env = drafting(t)
	steps{upTo: 2}.on(env, nil)
	good := draft.Result{Request: resolved, Outcome: draft.Succeeded}
	env.OnActivity(drafts.RunCrawler, mock.Anything, resolved).Return(draft.Result{}, silent).Once()
	env.OnActivity(drafts.RunCrawler, mock.Anything, resolved).Return(draft.Result{}, failing(fault.Transient)).Once()
	env.OnActivity(drafts.RunCrawler, mock.Anything, resolved).Return(good, nil).Once()
	env.OnActivity(drafts.PersistDraft, mock.Anything, good).Return(activities.Persisted{}, nil).Once()
	got, err = crawlDraft(env)
	require.NoError(t, err)
	require.Equal(t, draft.Succeeded, got.Outcome)
}

// A page that makes an activity panic is stored as a failure.
func TestCrawlDraftOfAPageThatPanics(t *testing.T) {
	t.Parallel()

	env := drafting(t)
	steps{upTo: 2}.on(env, nil)
	env.OnActivity(drafts.RunCrawler, mock.Anything, resolved).Return(draft.Result{}, failing(fault.Invalid)).Once()
	env.OnActivity(drafts.PersistDraft, mock.Anything, mock.MatchedBy(func(r draft.Result) bool {
		return r.Outcome == draft.Failed && r.Class == fault.Invalid
	})).Return(activities.Persisted{}, nil).Once()
	_, err := crawlDraft(env)
	require.NoError(t, err)
}

// When a worker stops while it checks for Chromium, another one checks again.
func TestCrawlDraftChecksAgain(t *testing.T) {
	t.Parallel()

	env := drafting(t)
	env.OnActivity(drafts.CheckDevtools, mock.Anything, requested).Return(requested, failing(fault.Limited)).Once()
	good := draft.Result{Request: resolved, Outcome: draft.Succeeded}
	steps{upTo: 4, result: good}.on(env, good)
	_, err := crawlDraft(env)
	require.NoError(t, err)
}

// A canceled run stores nothing.
func TestCrawlDraftCanceled(t *testing.T) {
	t.Parallel()

	env := drafting(t)
	steps{upTo: 2}.on(env, nil)
	env.OnActivity(drafts.RunCrawler, mock.Anything, resolved).Return(draft.Result{}, errors.New("stopped")).
		Run(func(mock.Arguments) { env.CancelWorkflow() })
	_, err := crawlDraft(env)
	require.True(t, temporal.IsCanceledError(err), "%v", err)
}

package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	crawling *activities.Crawling
	tending  *activities.Tending
	seeding  *activities.Seeding
)

// crawlEnv has a run of two shards whose maintenance finds these states, slice by slice.
func crawlEnv(t *testing.T, states ...string) (env *testsuite.TestWorkflowEnvironment, shards *int) {
	t.Helper()

	env, shards = newEnv(t), new(int)
	for _, a := range []any{crawling, tending, seeding} {
		env.RegisterActivity(a)
	}
	env.OnActivity(seeding.SeedCrawl, mock.Anything, mock.Anything).Return(activities.CrawlSeeds{}, nil).Maybe()
	env.OnActivity(crawling.CrawlShard, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.CrawlShardJob) (activities.CrawlShardDone, error) {
			*shards++
			return activities.CrawlShardDone{}, nil
		})
	n := 0
	env.OnActivity(tending.TendCrawl, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.CrawlShardJob) (crawl.Progress, error) {
			n++
			return crawl.Progress{Status: states[min(n, len(states))-1], Discovered: 10 * n, Fetches: 10 * n}, nil
		})
	return env, shards
}

var crawlInput = workflows.CrawlInput{RunID: 7, Seed: "https://a.example/", Shards: 2}

func TestCrawlRun(t *testing.T) {
	t.Parallel()

	env, shards := crawlEnv(t, crawl.Running, crawl.Completed)
	env.ExecuteWorkflow(workflows.CrawlRun, crawlInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 4, *shards, "two slices of two shards")
	var p crawl.Progress
	require.NoError(t, env.GetWorkflowResult(&p))
	require.Equal(t, crawl.Completed, p.Status)
}

// A slice is told how often the run was paused before it: a shard that begins late knows a pause that was over by then.
func TestCrawlRunTellsPauses(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	for _, a := range []any{crawling, tending, seeding} {
		env.RegisterActivity(a)
	}
	env.OnActivity(seeding.SeedCrawl, mock.Anything, mock.Anything).Return(activities.CrawlSeeds{}, nil)
	var told []*int
	env.OnActivity(crawling.CrawlShard, mock.Anything, mock.Anything).Return(activities.CrawlShardDone{}, nil)
	env.OnActivity(tending.TendCrawl, mock.Anything, mock.Anything).Return(
		func(_ context.Context, job activities.CrawlShardJob) (crawl.Progress, error) {
			told = append(told, job.Pauses)
			p := crawl.Progress{Status: crawl.Running, Pauses: new(len(told) / 2)}
			if len(told) == 3 {
				p.Status = crawl.Completed
			}
			return p, nil
		})
	env.ExecuteWorkflow(workflows.CrawlRun, crawlInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []*int{nil, new(0), new(1)}, told)
}

// Runs take turns at the slots of workers, and maintenance comes before shards: it ends leases and runs.
func TestCrawlRunTakesTurns(t *testing.T) {
	t.Parallel()

	env, _ := crawlEnv(t, crawl.Completed)
	got := map[string]temporal.Priority{}
	spyOptions(env, func(name string, o workflow.ActivityOptions) { got[name] = o.Priority })
	env.ExecuteWorkflow(workflows.CrawlRun, crawlInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, map[string]temporal.Priority{
		"SeedCrawl": {FairnessKey: "crawl-run/7"}, "CrawlShard": {FairnessKey: "crawl-run/7"},
		"TendCrawl": {FairnessKey: "crawl-run/7", PriorityKey: 2},
	}, got)
}

// A note is told the name of an activity, and its options.
type note func(name string, o workflow.ActivityOptions)

// spyOptions notes the options that a workflow gives its activities: the environment does not show all of them to these.
func spyOptions(env *testsuite.TestWorkflowEnvironment, tell note) {
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{&optionsSpy{note: tell}}})
}

type optionsSpy struct {
	interceptor.WorkerInterceptorBase
	note
}

func (s *optionsSpy) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	in := &spyInbound{note: s.note}
	in.Next = next
	return in
}

type spyInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	note
}

func (s *spyInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	out := &spyOutbound{note: s.note}
	out.Next = next
	return s.Next.Init(out)
}

type spyOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	note
}

func (s *spyOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	s.note(name, workflow.GetActivityOptions(ctx))
	return s.Next.ExecuteActivity(ctx, name, args...)
}

// A paused run does nothing until it is told to look at its state, or for a while.
func TestCrawlRunPauses(t *testing.T) {
	t.Parallel()

	env, shards := crawlEnv(t, crawl.Paused, crawl.Paused, crawl.Cancelled)
	began := env.Now()
	env.RegisterDelayedCallback(func() {
		require.Equal(t, 2, *shards)
		env.SignalWorkflow(workflows.ControlSignal, nil)
	}, time.Minute)
	env.ExecuteWorkflow(workflows.CrawlRun, crawlInput)
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, 6, *shards)
	require.Equal(t, 6*time.Minute, env.Now().Sub(began), "the second time nobody said anything")
}

// A long run goes on as a new one, which need not read sitemaps again.
func TestCrawlRunContinues(t *testing.T) {
	t.Parallel()

	env, _ := crawlEnv(t, crawl.Running)
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(workflows.CrawlRun, crawlInput)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Contains(t, string(again.Input.GetPayloads()[0].GetData()), `"seeded":true`)
}

// A shard whose store is away is tried until it is back.
func TestCrawlRunOutlastsTheStore(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	for _, a := range []any{crawling, tending, seeding} {
		env.RegisterActivity(a)
	}
	env.OnActivity(seeding.SeedCrawl, mock.Anything, mock.Anything).Return(activities.CrawlSeeds{}, errors.New("away")).Times(8)
	env.OnActivity(seeding.SeedCrawl, mock.Anything, mock.Anything).Return(activities.CrawlSeeds{}, nil)
	env.OnActivity(crawling.CrawlShard, mock.Anything, mock.Anything).Return(activities.CrawlShardDone{}, nil)
	env.OnActivity(tending.TendCrawl, mock.Anything, mock.Anything).Return(crawl.Progress{Status: crawl.Completed}, nil)
	env.ExecuteWorkflow(workflows.CrawlRun, crawlInput)
	require.NoError(t, env.GetWorkflowError())
}

// Sitemaps that end their worker are left out after a few times, and the run says so.
func TestCrawlRunWithoutSitemaps(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	for _, a := range []any{crawling, tending, seeding} {
		env.RegisterActivity(a)
	}
	seeds := 0
	env.OnActivity(seeding.SeedCrawl, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.CrawlShardJob) (activities.CrawlSeeds, error) {
			if seeds++; seeds == 2 || seeds == 3 { // no deaths of workers
				return activities.CrawlSeeds{}, errors.New("the store is away")
			}
			return activities.CrawlSeeds{}, temporal.NewTimeoutError(enums.TIMEOUT_TYPE_HEARTBEAT, nil)
		})
	env.OnActivity(crawling.CrawlShard, mock.Anything, mock.Anything).Return(activities.CrawlShardDone{}, nil)
	env.OnActivity(tending.TendCrawl, mock.Anything, mock.Anything).Return(crawl.Progress{Status: crawl.Running}, nil)
	env.OnActivity(seeding.NoteCrawl, mock.Anything, mock.MatchedBy(func(n activities.CrawlNote) bool {
		return n.RunID == 7 && strings.HasPrefix(n.Note, "the sitemaps are left out")
	})).Return(struct{}{}, nil).Once()
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(workflows.CrawlRun, crawlInput)
	require.Equal(t, 5, seeds)
	env.AssertExpectations(t)
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &again)
	require.Contains(t, string(again.Input.GetPayloads()[0].GetData()), `"note":"the sitemaps are left out`)
}

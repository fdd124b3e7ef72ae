package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	cycles *activities.Cycles
	visits *activities.Visits
)

// scraping is the environment of a ScrapePlatform that gets these plans, one after the other, and must ask for no more.
func scraping(t *testing.T, plans ...scrape.Plan) *testsuite.TestWorkflowEnvironment {
	t.Helper()

	env := newEnv(t)
	env.RegisterActivity(cycles)
	env.RegisterActivity(visits)
	n := 0
	env.OnActivity(cycles.BeginCycle, mock.Anything, "kijiji").Return(
		func(context.Context, string) (scrape.Plan, error) {
			require.Less(t, n, len(plans), "it asks once more")
			n++
			return plans[n-1], nil
		}).Times(len(plans))
	return env
}

func page(n int) activities.ScrapeJob {
	return activities.ScrapeJob{Platform: "kijiji", Cycle: 3, Page: n}
}

func ended(note string) activities.CycleEnd {
	return activities.CycleEnd{Platform: "kijiji", Cycle: 3, Note: note}
}

// runScrape runs it, with pages that are done, requires that it continues as new, and returns what the next run is given.
func runScrape(t *testing.T, env *testsuite.TestWorkflowEnvironment, done ...map[int64]int) (in workflows.ScrapeInput) {
	t.Helper()

	in = workflows.ScrapeInput{Platform: "kijiji"}
	if len(done) > 0 {
		in.Done = done[0]
	}
	env.ExecuteWorkflow(workflows.ScrapePlatform, in)
	require.True(t, env.IsWorkflowCompleted())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	env.AssertExpectations(t)
	in = workflows.ScrapeInput{}
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	return in
}

func TestScrapeACycle(t *testing.T) {
	t.Parallel()

	stop := activities.ScrapedPage{Stopped: scrape.Paused}
	for _, tt := range []struct {
		name  string
		from  int // the page that the plan names, the first time and later
		read  []int
		pages []activities.ScrapedPage
		note  string
	}{
		{"to the last page", 1, []int{1, 2, 3}, []activities.ScrapedPage{
			{Adverts: 40, MaxPages: 9}, {Adverts: 40, MaxPages: 9}, {Adverts: 5, MaxPages: 9, Last: true}}, ""},
		{"taken up in the middle", 2, []int{2}, []activities.ScrapedPage{{Adverts: 5, MaxPages: 9, Last: true}}, ""},
		{"search pages that do not show every advert", 1, []int{1},
			[]activities.ScrapedPage{{MaxPages: 9, Last: true, Partial: "a part"}}, "a part"},
		{"as many pages as are wanted", 1, []int{1, 2},
			[]activities.ScrapedPage{{Adverts: 40, MaxPages: 2}, {Adverts: 40, MaxPages: 2}}, "stopped after 2 pages, the most"},
		{"an operator stops it for a while", 1, []int{1, 2, 2}, []activities.ScrapedPage{
			{Adverts: 40, MaxPages: 9}, stop, {Adverts: 5, MaxPages: 9, Last: true}}, ""},
		{"a page that is not what it was", 1, []int{1, 2},
			[]activities.ScrapedPage{{Adverts: 40, MaxPages: 9}, {Suspect: "no adverts", Last: true}},
			"suspect on page 2: no adverts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			var plans []scrape.Plan
			for range tt.read {
				plans = append(plans, scrape.Plan{Go: true, Cycle: 3, Page: tt.from})
			}
			env := scraping(t, plans...)
			n := 0
			env.OnActivity(visits.ScrapePage, mock.Anything, mock.Anything).Return(
				func(_ context.Context, job activities.ScrapeJob) (activities.ScrapedPage, error) {
					require.Equal(t, page(tt.read[n]), job)
					n++
					return tt.pages[n-1], nil
				}).Times(len(tt.read))
			env.OnActivity(cycles.EndCycle, mock.Anything, ended(tt.note)).Return(ended(tt.note), nil).Once()
			runScrape(t, env)
		})
	}
}

// The cycles of two searches go on in turns, as the plans say, and one that is open when the other ends is continued by
// the next run behind the page that it has come to.
func TestScrapeSearchesInTurns(t *testing.T) {
	t.Parallel()

	rooms := scrape.Plan{Go: true, Search: "rooms", Cycle: 4, Page: 1}
	env := scraping(t, scrape.Plan{Go: true, Cycle: 3, Page: 1}, rooms, rooms, scrape.Plan{Look: true, Search: "rooms", Cycle: 4},
		scrape.Plan{Go: true, Cycle: 3, Page: 1})
	var read []string
	env.OnActivity(visits.ScrapePage, mock.Anything, mock.Anything).Return(
		func(_ context.Context, job activities.ScrapeJob) (activities.ScrapedPage, error) {
			read = append(read, fmt.Sprint(job.Search, job.Cycle, job.Page))
			return activities.ScrapedPage{Adverts: 40, MaxPages: 9, Last: job.Cycle == 3 && job.Page == 2}, nil
		}).Times(4)
	env.OnActivity(visits.LookAtPlatform, mock.Anything, activities.LookJob{Platform: "kijiji", Cycle: 4, Search: "rooms"}).
		Return(activities.ScrapedPage{}, nil).Once()
	env.OnActivity(cycles.EndCycle, mock.Anything, ended("")).Return(ended(""), nil).Once()
	next := runScrape(t, env)
	require.Equal(t, []string{"3 1", "rooms4 1", "rooms4 2", "3 2"}, read)
	require.Equal(t, map[int64]int{4: 2}, next.Done)

	env = scraping(t, rooms)
	env.OnActivity(visits.ScrapePage, mock.Anything, activities.ScrapeJob{Platform: "kijiji", Search: "rooms", Cycle: 4, Page: 3}).
		Return(activities.ScrapedPage{Last: true}, nil).Once()
	env.OnActivity(cycles.EndCycle, mock.Anything, activities.CycleEnd{Platform: "kijiji", Cycle: 4}).
		Return(ended(""), nil).Once()
	require.Empty(t, runScrape(t, env, next.Done).Done)
}

// A run from before there were several searches goes through its cycle without another plan.
func TestScrapeFromBefore(t *testing.T) {
	t.Parallel()

	env := scraping(t, scrape.Plan{Go: true, Cycle: 3, Page: 1})
	env.OnGetVersion("scrape-searches", workflow.DefaultVersion, workflow.Version(1)).Return(workflow.DefaultVersion)
	env.OnActivity(visits.ScrapePage, mock.Anything, page(1)).Return(activities.ScrapedPage{MaxPages: 9}, nil).Once()
	env.OnActivity(visits.ScrapePage, mock.Anything, page(2)).Return(activities.ScrapedPage{Last: true}, nil).Once()
	env.OnActivity(cycles.EndCycle, mock.Anything, ended("")).Return(ended(""), nil).Once()
	runScrape(t, env)
}

// Between two cycles it waits, or until a signal; without a next cycle it reads its settings every five minutes.
func TestScrapeWaits(t *testing.T) {
	t.Parallel()

	env := scraping(t, scrape.Plan{}, scrape.Plan{}, scrape.Plan{Wait: time.Minute}, scrape.Plan{Wait: time.Hour},
		scrape.Plan{Go: true, Cycle: 3, Page: 1})
	began := env.Now()
	wake := func() { env.SignalWorkflow(workflows.WakeSignal, nil) }
	env.RegisterDelayedCallback(wake, 7*time.Minute)
	env.RegisterDelayedCallback(wake, 9*time.Minute)
	env.OnActivity(visits.ScrapePage, mock.Anything, page(1)).Return(
		activities.ScrapedPage{Adverts: 1, MaxPages: 1, Last: true}, nil).Once()
	env.OnActivity(cycles.EndCycle, mock.Anything, ended("")).Return(ended(""), nil).Once()
	runScrape(t, env)
	require.InDelta(t, (9 * time.Minute).Seconds(), env.Now().Sub(began).Seconds(), 5, "a look after five minutes, a wake, the wait, a wake")
}

// Between two cycles it looks at the newest search pages; a look that fails does not end the scraper.
func TestScrapeLooks(t *testing.T) {
	t.Parallel()

	look := scrape.Plan{Look: true, Cycle: 2}
	env := scraping(t, look, look, scrape.Plan{Go: true, Cycle: 3, Page: 1})
	job := activities.LookJob{Platform: "kijiji", Cycle: 2}
	env.OnActivity(visits.LookAtPlatform, mock.Anything, job).Return(activities.ScrapedPage{}, nil).Once()
	env.OnActivity(visits.LookAtPlatform, mock.Anything, job).Return(
		activities.ScrapedPage{}, temporal.NewNonRetryableApplicationError("no such page", "invalid", nil)).Once()
	env.OnActivity(visits.ScrapePage, mock.Anything, page(1)).Return(activities.ScrapedPage{Last: true}, nil).Once()
	env.OnActivity(cycles.EndCycle, mock.Anything, ended("")).Return(ended(""), nil).Once()
	runScrape(t, env)
}

// A page is retried until it succeeds; an error that is final ends the cycle and not the scraper.
// A scraper goes on when the database is back.
func TestScrapeOutlastsTheDatabase(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(cycles)
	env.RegisterActivity(visits)
	began := env.Now()
	env.OnActivity(cycles.BeginCycle, mock.Anything, "kijiji").Return(func(context.Context, string) (scrape.Plan, error) {
		if env.Now().Sub(began) < 10*time.Minute {
			return scrape.Plan{}, failing(fault.Transient)
		}
		return scrape.Plan{Go: true, Cycle: 3, Page: 1}, nil
	})
	env.OnActivity(visits.ScrapePage, mock.Anything, page(1)).Return(activities.ScrapedPage{Last: true}, nil).Once()
	failed := false
	env.OnActivity(cycles.EndCycle, mock.Anything, ended("")).Return(
		func(_ context.Context, end activities.CycleEnd) (activities.CycleEnd, error) {
			if env.Now().Sub(began) < 20*time.Minute {
				failed = true
				return end, failing(fault.Transient)
			}
			return end, nil
		})
	runScrape(t, env)
	require.True(t, failed)
}

func TestScrapeFailures(t *testing.T) {
	t.Parallel()

	env := scraping(t, scrape.Plan{Go: true, Cycle: 3, Page: 1})
	tries := 0
	env.OnActivity(visits.ScrapePage, mock.Anything, page(1)).Return(
		func(context.Context, activities.ScrapeJob) (activities.ScrapedPage, error) {
			if tries++; tries < 9 { // the test environment gives up at ten
				return activities.ScrapedPage{}, temporal.NewApplicationErrorWithOptions("429", "throttled",
					temporal.ApplicationErrorOptions{NextRetryDelay: 5 * time.Minute})
			}
			return activities.ScrapedPage{}, temporal.NewNonRetryableApplicationError("no such page", "invalid", nil)
		})
	env.OnActivity(cycles.EndCycle, mock.Anything, ended("no such page")).Return(ended(""), nil).Once()
	began := env.Now()
	runScrape(t, env)
	require.Equal(t, 9, tries)
	require.GreaterOrEqual(t, env.Now().Sub(began), 8*5*time.Minute)
}

// A canceled scraper ends, in the middle of a page as well as between two cycles.
func TestScrapeCanceled(t *testing.T) {
	t.Parallel()

	env := scraping(t, scrape.Plan{Wait: time.Hour})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)
	env.ExecuteWorkflow(workflows.ScrapePlatform, workflows.ScrapeInput{Platform: "kijiji"})
	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
}

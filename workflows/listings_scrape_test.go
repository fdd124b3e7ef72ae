package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
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

// run runs it and requires that it continues as new.
func runScrape(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	t.Helper()

	env.ExecuteWorkflow(workflows.ScrapePlatform, workflows.ScrapeInput{Platform: "kijiji"})
	require.True(t, env.IsWorkflowCompleted())
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	env.AssertExpectations(t)
}

// open stands for the note of a cycle that does not end.
const open = "open"

func TestScrapeACycle(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name  string
		plan  scrape.Plan
		pages []activities.ScrapedPage
		note  string
	}{
		{"to the last page", scrape.Plan{Go: true, Cycle: 3, Page: 1},
			[]activities.ScrapedPage{{Adverts: 40, MaxPages: 9}, {Adverts: 40, MaxPages: 9}, {Adverts: 5, MaxPages: 9, Last: true}}, ""},
		{"taken up in the middle", scrape.Plan{Go: true, Cycle: 3, Page: 2},
			[]activities.ScrapedPage{{}, {Adverts: 5, MaxPages: 9, Last: true}}, ""},
		{"search pages that do not show every advert", scrape.Plan{Go: true, Cycle: 3, Page: 1}, []activities.ScrapedPage{{MaxPages: 9, Last: true, Partial: "a part"}},
			"a part"},
		{"as many pages as are wanted", scrape.Plan{Go: true, Cycle: 3, Page: 1},
			[]activities.ScrapedPage{{Adverts: 40, MaxPages: 2}, {Adverts: 40, MaxPages: 2}}, "stopped after 2 pages, the most"},
		{"an operator stops it", scrape.Plan{Go: true, Cycle: 3, Page: 1},
			[]activities.ScrapedPage{{Adverts: 40, MaxPages: 9}, {Stopped: scrape.Paused}}, open},
		{"a page that is not what it was", scrape.Plan{Go: true, Cycle: 3, Page: 1},
			[]activities.ScrapedPage{{Adverts: 40, MaxPages: 9}, {Suspect: "no adverts", Last: true}},
			"suspect on page 2: no adverts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := scraping(t, tt.plan)
			for i, p := range tt.pages {
				if i+1 >= tt.plan.Page {
					env.OnActivity(visits.ScrapePage, mock.Anything, page(i+1)).Return(p, nil).Once()
				}
			}
			if tt.note != open {
				env.OnActivity(cycles.EndCycle, mock.Anything, ended(tt.note)).Return(ended(tt.note), nil).Once()
			}
			runScrape(t, env)
		})
	}
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

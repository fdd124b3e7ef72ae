package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// WakeSignal makes a ScrapePlatform read its settings again after an operator has changed them. The settings are in
// Postgres, so the signal carries nothing, and a lost one only delays the change.
const WakeSignal = "wake"

// ScrapeInput is one struct so that a field can be added while old runs are open.
type ScrapeInput struct {
	Platform string `json:"platform"`
	// Done are open cycles with the search page that was finished last: the next run does not read it again.
	Done map[int64]int `json:"done,omitempty"`
}

// searchesSince is the change that lets the cycles of several searches go on in turns, page by page.
const searchesSince = "scrape-searches"

// ScrapeHeartbeat is how long a worker that scrapes a page may be silent before another takes it over. Package workers
// sends the heartbeats.
const ScrapeHeartbeat = 20 * time.Second

// scrapeOptions are the options of an activity that reads search pages and visits their adverts. It is retried without
// end: a page that cannot be read is a result, not an error, and after a refusal the activity itself sets the next
// retry.
func scrapeOptions(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:           QueueBrowser,
		StartToCloseTimeout: 12 * time.Hour, // fifty visits, which an operator may set minutes apart, and a cycle's re-visits
		HeartbeatTimeout:    ScrapeHeartbeat,
		RetryPolicy:         retriesOf(fault.Throttled),
		Summary:             summary,
	}
}

// ScrapePlatform scrapes a platform without end: the search pages of its cycles, and looks between them. Its ID is
// scrape.WorkflowID of the platform, and it runs one activity at a time, so the site gets one request at a time
// whatever the number of searches. It keeps no state but which page it has just finished: the next action, the progress
// of cycles and the adverts that were seen are in Postgres, so it can be terminated and started again at any time. With
// the end of a cycle it continues as new.
func ScrapePlatform(ctx workflow.Context, in ScrapeInput) error {
	inTurns := workflow.GetVersion(ctx, searchesSince, workflow.DefaultVersion, 1) != workflow.DefaultVersion
	wake := workflow.GetSignalChannel(ctx, WakeSignal)
	store := workflow.WithLocalActivityOptions(ctx, storeWork)
	drain := func() { // the settings that the signals are about are read from Postgres after this
		for wake.ReceiveAsync(nil) {
		}
	}
	done := in.Done
	if done == nil {
		done = map[int64]int{}
	}
	for over := false; !over && !workflow.GetInfo(ctx).GetContinueAsNewSuggested(); {
		drain()
		plan, err := local(store, do.BeginCycle, in.Platform)
		switch {
		case err != nil:
		case plan.Look:
			err = lookAt(ctx, wake, in.Platform, plan)
		case !plan.Go:
			why := "until the next cycle"
			if plan.Wait <= 0 {
				why = "until scraping is resumed"
			}
			err = awaitWake(ctx, wake, plan.Wait, why)
		case inTurns:
			over, err = scrapeNext(ctx, in.Platform, plan, done)
		default:
			over, err = true, scrapeCycle(ctx, in.Platform, plan)
		}
		if err != nil {
			return err
		}
	}
	drain()
	return workflow.NewContinueAsNewError(ctx, ScrapePlatform, ScrapeInput{Platform: in.Platform, Done: done})
}

// lookAgain is how often a stopped scraper reads its settings: a lost WakeSignal delays a change by that much.
const lookAgain = 5 * time.Minute

// awaitWake waits for a time, or for lookAgain where it is none (<= 0), or for a WakeSignal. The Web UI shows why.
func awaitWake(ctx workflow.Context, wake workflow.ReceiveChannel, wait time.Duration, why string) error {
	var err error
	s := workflow.NewSelector(ctx)
	s.AddReceive(wake, func(workflow.ReceiveChannel, bool) {}) // the caller takes it
	s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { err = ctx.Err() })
	if wait <= 0 {
		wait = lookAgain
	}
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, wait, workflow.TimerOptions{Summary: why})
	s.AddFuture(timer, func(workflow.Future) {})
	s.Select(ctx)
	return err
}

// lookAt looks at the newest search pages between two cycles; in a cycle ScrapePage does. Only plans of a version that
// has looks ask for it, so runs from before replay without.
func lookAt(ctx workflow.Context, wake workflow.ReceiveChannel, name string, plan scrape.Plan) error {
	work := workflow.WithActivityOptions(ctx, scrapeOptions("newest pages"))
	_, err := call(work, do.LookAtPlatform, activities.LookJob{Platform: name, Cycle: plan.Cycle, Search: plan.Search})
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	return awaitWake(ctx, wake, lookAgain, "until the next cycle") // such as an invalid address: the next cycle says so
}

// scrapeNext reads the next search page of the plan's cycle, and says whether the cycle has ended. done is kept up.
func scrapeNext(ctx workflow.Context, name string, plan scrape.Plan, done map[int64]int) (ended bool, err error) {
	page := plan.Page
	if last := done[plan.Cycle]; last >= page { // it was read, and its visits are made
		page = last + 1
	}
	next, err := scrapeOne(ctx, name, plan, page)
	switch {
	case err != nil:
		return false, err
	case next == nil: // stopped
		return false, nil
	case next.Ends:
		delete(done, plan.Cycle)
		_, err = local(workflow.WithLocalActivityOptions(ctx, storeWork), do.EndCycle, next.CycleEnd)
		return true, err
	}
	done[plan.Cycle] = page
	return false, nil
}

// scrapeCycle goes through the search pages from plan.Page on, in runs from before searchesSince. When the history
// gets too long for the whole cycle, it leaves the cycle open: the next run continues it.
func scrapeCycle(ctx workflow.Context, name string, plan scrape.Plan) error {
	for page := plan.Page; !workflow.GetInfo(ctx).GetContinueAsNewSuggested(); page++ {
		next, err := scrapeOne(ctx, name, plan, page)
		if err != nil || next == nil { // the cycle stays open, and is continued when scraping is resumed
			return err
		}
		if next.Ends {
			_, err = local(workflow.WithLocalActivityOptions(ctx, storeWork), do.EndCycle, next.CycleEnd)
			return err
		}
	}
	return nil
}

// scrapedOne is what follows from a search page.
type scrapedOne struct {
	Ends bool // the cycle does, as CycleEnd says
	activities.CycleEnd
}

// scrapeOne reads a search page with its visits. nil means that an operator has stopped the search.
func scrapeOne(ctx workflow.Context, name string, plan scrape.Plan, page int) (*scrapedOne, error) {
	job := activities.ScrapeJob{Platform: name, Cycle: plan.Cycle, Page: page, Search: plan.Search}
	work := workflow.WithActivityOptions(ctx, scrapeOptions(fmt.Sprintf("page %d", page)))
	got, err := call(work, do.ScrapePage, job)
	next := &scrapedOne{Ends: true, CycleEnd: activities.CycleEnd{Platform: name, Cycle: plan.Cycle}}
	switch {
	case temporal.IsCanceledError(err):
		return nil, err
	case err != nil: // such as an invalid address
		next.Note = message(err)
	case got.Stopped != "":
		return nil, nil
	case got.Suspect != "":
		next.Note = "suspect on page " + fmt.Sprint(page) + ": " + got.Suspect
	case got.Last:
		next.Note = got.Partial
	case page >= got.MaxPages:
		next.Note = fmt.Sprintf("stopped after %d pages, the most", page)
	default:
		next.Ends = false
	}
	return next, nil
}

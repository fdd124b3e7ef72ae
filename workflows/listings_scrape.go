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
}

// ScrapeHeartbeat is how long a worker that scrapes a page may be silent before another takes it over. Package workers
// sends the heartbeats.
const ScrapeHeartbeat = 20 * time.Second

// scrapePage are the options of an activity that reads search pages and visits their adverts. It is retried without
// end: a page that cannot be read is a result, not an error, and after a refusal the activity itself sets the next
// retry.
func scrapePage(summary string) workflow.ActivityOptions {
	_, first, most := fault.Throttled.Retry()
	return workflow.ActivityOptions{
		TaskQueue:           QueueBrowser,
		StartToCloseTimeout: 12 * time.Hour, // fifty visits, which an operator may set minutes apart, and a cycle's re-visits
		HeartbeatTimeout:    ScrapeHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: first, BackoffCoefficient: 2, MaximumInterval: most},
		Summary:             summary,
	}
}

// ScrapePlatform scrapes a platform without end, cycle by cycle. Its ID is scrape.WorkflowID of the platform. It keeps
// no state: the next action, the progress of a cycle and the adverts that were seen are in Postgres, so it can be
// terminated and started again at any time. Each cycle is a run; the next one continues as new.
func ScrapePlatform(ctx workflow.Context, in ScrapeInput) error {
	wake := workflow.GetSignalChannel(ctx, WakeSignal)
	store := workflow.WithLocalActivityOptions(ctx, storeWork)
	drain := func() { // the settings that the signals are about are read from Postgres after this
		for wake.ReceiveAsync(nil) {
		}
	}
	for !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		drain()
		plan, err := local(store, do.BeginCycle, in.Platform)
		if err != nil {
			return err
		}
		if plan.Look {
			if err := lookAt(ctx, wake, in.Platform, plan.Cycle); err != nil {
				return err
			}
			continue
		}
		if !plan.Go {
			if err := awaitCycle(ctx, wake, plan.Wait); err != nil {
				return err
			}
			continue
		}
		if err := scrapeCycle(ctx, in.Platform, plan); err != nil {
			return err
		}
		break
	}
	drain()
	return workflow.NewContinueAsNewError(ctx, ScrapePlatform, in)
}

// lookAgain is how often a stopped scraper reads its settings: a lost WakeSignal delays a change by that much.
const lookAgain = 5 * time.Minute

// awaitCycle waits until the next cycle is due, or for lookAgain where none is (wait <= 0), or for a WakeSignal.
func awaitCycle(ctx workflow.Context, wake workflow.ReceiveChannel, wait time.Duration) error {
	var err error
	s := workflow.NewSelector(ctx)
	s.AddReceive(wake, func(workflow.ReceiveChannel, bool) {}) // the caller takes it
	s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { err = ctx.Err() })
	why := "until the next cycle"
	if wait <= 0 {
		wait, why = lookAgain, "until scraping is resumed"
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
func lookAt(ctx workflow.Context, wake workflow.ReceiveChannel, name string, cycle int64) error {
	work := workflow.WithActivityOptions(ctx, scrapePage("newest pages"))
	_, err := call(work, do.LookAtPlatform, activities.LookJob{Platform: name, Cycle: cycle})
	if err == nil || temporal.IsCanceledError(err) {
		return err
	}
	return awaitCycle(ctx, wake, lookAgain) // such as an invalid address: the next cycle says so
}

// scrapeCycle goes through the search pages from plan.Page on. When the history gets too long for the whole cycle, it
// leaves the cycle open: the next run continues it.
func scrapeCycle(ctx workflow.Context, name string, plan scrape.Plan) error {
	end := activities.CycleEnd{Platform: name, Cycle: plan.Cycle}
	for page := plan.Page; ; page++ {
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return nil
		}
		job := activities.ScrapeJob{Platform: name, Cycle: plan.Cycle, Page: page}
		work := workflow.WithActivityOptions(ctx, scrapePage(fmt.Sprintf("page %d", page)))
		got, err := call(work, do.ScrapePage, job)
		switch {
		case temporal.IsCanceledError(err):
			return err
		case err != nil: // such as an invalid address
			end.Note = message(err)
		case got.Stopped != "": // the cycle stays open, and is continued when scraping is resumed
			return nil
		case got.Suspect != "":
			end.Note = "suspect on page " + fmt.Sprint(page) + ": " + got.Suspect
		case got.Last:
			end.Note = got.Partial
		case page >= got.MaxPages:
			end.Note = fmt.Sprintf("stopped after %d pages, the most", page)
		default:
			continue
		}
		_, err = local(workflow.WithLocalActivityOptions(ctx, storeWork), do.EndCycle, end)
		return err
	}
}

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

// WakeSignal tells a ScrapePlatform to look again at what it should do: an operator has changed something. What that is
// stands in Postgres, so a signal carries nothing, and one that is lost is only late.
const WakeSignal = "wake"

// ScrapeInput is one struct so that a field can be added while old runs are open.
type ScrapeInput struct {
	Platform string `json:"platform"`
}

// ScrapeHeartbeat is how long a worker that scrapes a page may be silent before another takes it over. The workers beat
// by themselves.
const ScrapeHeartbeat = 20 * time.Second

// scrapePage is how a search page and the visits that it leads to are done. Its tries have no end: what cannot work is
// no error, and after a refusal the activity itself says when it is tried again.
func scrapePage(page int) workflow.ActivityOptions {
	_, first, most := fault.Throttled.Retry()
	return workflow.ActivityOptions{
		TaskQueue:           QueueBrowser,
		StartToCloseTimeout: 12 * time.Hour, // a page has up to fifty visits, and an operator may want them minutes apart
		HeartbeatTimeout:    ScrapeHeartbeat,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: first, BackoffCoefficient: 2, MaximumInterval: most},
		Summary:             fmt.Sprintf("page %d", page),
	}
}

// ScrapePlatform scrapes a platform for as long as there is one, cycle by cycle. Its ID is scrape.WorkflowID of its name. It keeps
// nothing: what to do next, how far a cycle has come and what was seen is in Postgres, so it can be terminated and
// started again at any time. Each cycle is a run; the next one continues as new.
func ScrapePlatform(ctx workflow.Context, in ScrapeInput) error {
	wake := workflow.GetSignalChannel(ctx, WakeSignal)
	store := workflow.WithLocalActivityOptions(ctx, storeWork)
	drain := func() { // what they are about is in Postgres, and read after this
		for wake.ReceiveAsync(nil) {
		}
	}
	for !workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
		drain()
		plan, err := local(store, do.BeginCycle, in.Platform)
		if err != nil {
			return err
		}
		if !plan.Go {
			if err := rest(ctx, wake, plan.Wait); err != nil {
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

// lookAgain is how long a scraper that nobody wants goes without a look: a wake that got lost is late by that.
const lookAgain = 5 * time.Minute

// rest waits until the next cycle is due, or until somebody says that there is something new.
func rest(ctx workflow.Context, wake workflow.ReceiveChannel, wait time.Duration) error {
	var err error
	s := workflow.NewSelector(ctx)
	s.AddReceive(wake, func(workflow.ReceiveChannel, bool) {}) // the caller takes it
	s.AddReceive(ctx.Done(), func(workflow.ReceiveChannel, bool) { err = ctx.Err() })
	why := "until the next cycle"
	if wait <= 0 {
		wait, why = lookAgain, "until it is wanted"
	}
	timed, cancel := workflow.WithCancel(ctx)
	defer cancel()
	timer := workflow.NewTimerWithOptions(timed, wait, workflow.TimerOptions{Summary: why})
	s.AddFuture(timer, func(workflow.Future) {})
	s.Select(ctx)
	return err
}

// scrapeCycle goes through the search pages from the one that the plan says. A cycle that the history has no room for
// stays open: the next run takes it up.
func scrapeCycle(ctx workflow.Context, name string, plan scrape.Plan) error {
	end := activities.CycleEnd{Platform: name, Cycle: plan.Cycle}
	for page := plan.Page; ; page++ {
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return nil
		}
		job := activities.ScrapeJob{Platform: name, Cycle: plan.Cycle, Page: page}
		work := workflow.WithActivityOptions(ctx, scrapePage(page))
		got, err := call(work, do.ScrapePage, job)
		switch {
		case temporal.IsCanceledError(err):
			return err
		case err != nil: // such as an address that is none
			end.Note = message(err)
		case got.Stopped != "": // the cycle stays open, and is taken up here when it is wanted again
			return nil
		case got.Suspect != "":
			end.Note = "suspect on page " + fmt.Sprint(page) + ": " + got.Suspect
		case got.Last:
		case page >= got.MaxPages:
			end.Note = fmt.Sprintf("stopped after %d pages, the most", page)
		default:
			continue
		}
		_, err = local(workflow.WithLocalActivityOptions(ctx, storeWork), do.EndCycle, end)
		return err
	}
}

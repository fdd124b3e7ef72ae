package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// HostKey is the search attribute with the host of the page that a workflow loads.
var HostKey = temporal.NewSearchAttributeKeyKeyword("ConveyorHost")

// DraftInput is one struct so that a field can be added while old runs are open.
type DraftInput struct {
	Request draft.Request `json:"request"`
}

// DraftResult is how a CrawlDraft ended, for the Web UI. The result of record is in Postgres.
type DraftResult struct {
	Outcome string `json:"outcome"` // draft.Succeeded or draft.Failed
	activities.Persisted
	Status int    `json:"status,omitempty"` // HTTP
	Error  string `json:"error,omitempty"`  // why it failed
}

// draftOnce retries no step that failed: that is the contract of crawl requests. Only a step whose worker died or
// stopped is taken over by another worker, as the broker would deliver its message again; so a step may happen twice,
// and is idempotent. Every class of fault is listed but Limited, which means that the worker stopped.
var draftOnce = &temporal.RetryPolicy{
	InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumAttempts: 3,
	NonRetryableErrorTypes: classes(),
}

func classes() (names []string) {
	for _, c := range fault.Classes {
		if c != fault.Limited {
			names = append(names, string(c))
		}
	}
	return names
}

// crawlTries bounds the tries to load the page of a draft, for whatever they ended by: RunCrawler counts the workers
// that died, and ends with a result after a few.
const crawlTries = 24

// DraftHeartbeat is how long a worker that makes a draft may be silent before another takes it over.
const DraftHeartbeat = 10 * time.Second

// CrawlDraft makes a product draft of one page. Its ID is draft.WorkflowID of the request's event.
//
// It completes when a draft is stored, also one that says why the page could not be loaded. It fails, and nothing is
// stored, when Chromium cannot be reached, when the folder for its files is invalid, or when writing the files or
// storing the draft fails.
func CrawlDraft(ctx workflow.Context, in DraftInput) (DraftResult, error) {
	request := in.Request
	devtools := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second, HeartbeatTimeout: DraftHeartbeat, RetryPolicy: draftOnce,
		Summary: "devtools", DisableEagerExecution: true, // eager tasks bypass the turns of hosts
	})
	if _, err := call(devtools, do.CheckDevtools, request); err != nil {
		return DraftResult{}, err
	}
	once := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 15 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	})
	request, err := local(once, do.ResolveOutDir, request)
	if err != nil {
		return DraftResult{}, err
	}
	crawler := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute, HeartbeatTimeout: DraftHeartbeat, Summary: Summary(web.Show(request.URL), 200),
		DisableEagerExecution: true,
		// A page that cannot be loaded is a result, not an error. An error is a run that was stopped in the middle.
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumAttempts: crawlTries,
		},
	})
	result, err := call(crawler, do.RunCrawler, request)
	switch {
	case temporal.IsCanceledError(err):
		return DraftResult{}, err
	case err != nil: // a panic, or this page crashed one worker after another
		class := fault.ClassOf(Fault(err))
		why := message(err)
		if _, lost := errors.AsType[*temporal.TimeoutError](err); lost {
			why = fmt.Sprintf("the worker that loaded it died or hung, at the last of %d tries", crawlTries)
		}
		result = draft.Fail(request, class, "run crawler: "+why, workflow.Now(ctx).UTC())
	case result.Outcome == draft.Unmade:
		return DraftResult{}, temporal.NewApplicationError(result.Error, string(result.Class))
	}
	persisted, err := local(once, do.PersistDraft, result)
	if err != nil {
		return DraftResult{}, err
	}
	out := DraftResult{Outcome: result.Outcome, Persisted: persisted, Status: result.Status, Error: result.Error}
	return out, workflow.UpsertTypedSearchAttributes(ctx, OutcomeKey.ValueSet(out.Outcome))
}

// Fault returns the error of an activity or a workflow with the message and class that it had before Temporal wrapped
// it. An error that Temporal made itself, such as a heartbeat timeout, is transient.
func Fault(err error) error {
	var app *temporal.ApplicationError
	if !errors.As(err, &app) {
		return fault.Newf(fault.Transient, "%w", err)
	}
	class := fault.Class(app.Type())
	if !slices.Contains(fault.Classes, class) {
		class = fault.Transient
	}
	return fault.Newf(class, "%s", app.Message())
}

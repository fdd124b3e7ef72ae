// Package launch is the one place that starts and signals workflows: IDs, task queues, search attributes, summaries.
package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/workflows"
)

// Launch starts what Conveyor runs on Temporal. Its methods may be called again for the same thing: IDs are natural,
// so the second start joins the first. Every error is transient: the input was validated by the caller, so a start that
// is refused, even as invalid, means that the server is down or not bootstrapped yet.
type Launch struct {
	Temporal  client.Client
	Namespace string   // of Temporal
	Stages    []string // the listing stages that this deployment does, as in CONVEYOR_LISTING_STAGES
	Enrich    string   // who enriches listings, as in CONVEYOR_ENRICH; "" = nobody
	// Versioned says that workers are of a Worker Deployment. Then no workflow begins in the worker of our own process,
	// which may be of a build that gets no new ones: the server does not look at that.
	Versioned bool

	beats beats
}

// Arrival is one reason to take an advert through the pipeline; ImageJob names one image. They are the types of
// workflows and activities, for packages that import neither.
type (
	Arrival  = workflows.Arrival
	ImageJob = workflows.ImageJob
)

// AdvertSummary is the line that the Web UI shows of an advert: its title and price. Telephone numbers and e-mail
// addresses in the title are masked.
func AdvertSummary(title string, rentCents *int64) string {
	title = page.Mask(strings.Join(strings.Fields(title), " "))
	if rentCents == nil {
		return workflows.Summary(title, 180)
	}
	return workflows.Summary(title, 160) + fmt.Sprintf(" · %d $", *rentCents/100)
}

// Listing takes an advert through the pipeline. When it returns nil the work is durably accepted. Nearly always the
// advert has no workflow, so it is started, in one step with its first task where the worker is in our process; while
// one is running the arrival is a signal to it.
func (l *Launch) Listing(ctx context.Context, ref listing.Ref, a Arrival, summary string) error {
	return l.listing(ctx, ref, a, summary, temporal.Priority{})
}

func (l *Launch) listing(
	ctx context.Context, ref listing.Ref, a Arrival, summary string, priority temporal.Priority,
) error {
	in, o := l.listingStart(ref, a, summary, priority)
	_, err := l.Temporal.ExecuteWorkflow(ctx, o, workflows.Listing, in)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		// It may end in between: then this starts it, and its run gets the arrival from the signal only.
		in.Arrival, o.EnableEagerStart = Arrival{}, false
		_, err = l.Temporal.SignalWithStartWorkflow(ctx, o.ID, workflows.ArrivalSignal, a, o, workflows.Listing, in)
	}
	return fault.Wrap(err, "start %s", o.ID)
}

// listingStart is how the workflow of an advert is started when none is running.
func (l *Launch) listingStart(ref listing.Ref, a Arrival, summary string, priority temporal.Priority) (
	workflows.ListingInput, client.StartWorkflowOptions,
) {
	in := workflows.ListingInput{Ref: ref, Summary: summary, Stages: l.Stages, Enrich: l.Enrich, Arrival: a}
	return in, client.StartWorkflowOptions{
		ID:        ref.WorkflowID(),
		TaskQueue: workflows.QueueListings,
		// One with a priority would bypass the queue's order.
		EnableEagerStart:                         !l.Versioned && priority == temporal.Priority{},
		Priority:                                 priority,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			workflows.PlatformKey.ValueSet(ref.Platform), workflows.StageKey.ValueSet(a.Stage),
		),
	}
}

// Image fetches one image of a listing, outside of any workflow. When it returns nil the work is durably accepted. An
// image that was given up before, at givenUp (zero = never), gets an activity of its own: the try that gave it up may
// not have ended yet, and a request that joined it would end with it.
func (l *Launch) Image(ctx context.Context, job ImageJob, givenUp time.Time) error {
	id := job.Ref.ImageActivityID(job.Image.URL)
	if !givenUp.IsZero() {
		id += "/" + strconv.FormatInt(givenUp.UnixMicro(), 10)
	}
	_, err := l.Temporal.ExecuteActivity(ctx, client.StartActivityOptions{
		ID:                       id,
		TaskQueue:                workflows.QueueImages,
		StartToCloseTimeout:      workflows.ImageTimeout,
		HeartbeatTimeout:         workflows.ImageHeartbeat,
		RetryPolicy:              workflows.ImageRetries(),
		ActivityIDConflictPolicy: enums.ACTIVITY_ID_CONFLICT_POLICY_USE_EXISTING,
		ActivityIDReusePolicy:    enums.ACTIVITY_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		Priority:                 temporal.Priority{FairnessKey: workflows.FairnessKey(job.Image.URL)},
		Summary:                  imageSummary(job.Image.URL),
	}, workflows.AttachImage, job)
	return fault.Wrap(err, "start %s", id)
}

// imageSummary is the beginning of an address, short enough for the server in the JSON in which it is sent: there
// "&", "<" and ">" have six bytes each. A standalone activity whose summary has more than 400 bytes, with 30 around
// that JSON, is refused on every retry.
func imageSummary(address string) string {
	const most = 360
	for n := 200; ; n-- {
		s := workflows.Summary(address, n)
		if text, err := json.Marshal(s); err != nil || len(text) <= most {
			return s
		}
	}
}

// Healthy returns nil when Temporal answers a health check.
func (l *Launch) Healthy(ctx context.Context) error {
	_, err := l.Temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return fault.Wrap(err, "check temporal")
}

// ofTenant is how a workflow of a tenant is started. Its summary in the Web UI is the tenant: what else it is about may
// be personal.
func ofTenant(id, queue, tenant string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: queue, StaticSummary: tenant,
		TypedSearchAttributes: temporal.NewSearchAttributes(workflows.TenantKey.ValueSet(tenant)),
	}
}

// join starts a workflow; started is false where one of its ID runs, which is joined. One that has ended is followed by
// another.
func (l *Launch) join(
	ctx context.Context, o client.StartWorkflowOptions, workflow, in any,
) (started bool, err error) {
	o.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	o.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err = l.Temporal.ExecuteWorkflow(ctx, o, workflow, in)
	if temporal.IsWorkflowExecutionAlreadyStartedError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("start %s: %w", o.ID, err)
	}
	return true, nil
}

// over returns nil also where the workflow that err is about has ended or is not known.
func over(doing string, err error) error {
	var gone *serviceerror.NotFound
	if err == nil || errors.As(err, &gone) {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

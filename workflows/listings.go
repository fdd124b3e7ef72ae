package workflows

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

// listingSteps is the way of an advert through the pipeline, in the order of listing.Stages. Add a step here, and only
// here. Give it the stage of a neighbour, and a since when workflows may be running where it is deployed: those that
// were started before it replay without it.
var listingSteps = []step[activities.ListingJob]{
	{name: "normalize", stage: listing.StageNormalize, run: do.NormalizeListing},
	{name: "dedupe", stage: listing.StageDedupe, run: do.DedupeListing},
	{name: "import", stage: listing.StageImport, run: do.ImportListing},
}

// ArrivalSignal is the signal that a running Listing has a new version to process. It carries an Arrival.
const ArrivalSignal = "arrival"

// Arrival is one reason to take an advert through the pipeline.
type Arrival struct {
	Stage    string `json:"stage"`              // where it enters: normalize dedupe import
	Revision int64  `json:"revision,omitempty"` // of the raw advert; one that this run has done is not done again
	Force    bool   `json:"force,omitempty"`    // done again all the same: by an operator or a replay
}

// ListingInput is one struct so that a field can be added while old runs are open.
type ListingInput struct {
	Ref     listing.Ref `json:"ref"`
	Summary string      `json:"summary,omitempty"` // title and price, for the Web UI
	Stages  []string    `json:"stages"`            // that this deployment does; at any other the advert is handed over
	Enrich  string      `json:"enrich,omitempty"`  // who enriches: here elsewhere; "" = nobody, as in runs from before
	Arrival Arrival     `json:"arrival"`           // why it was started; without a stage, a signal says it
}

// ListingResult is how a Listing ended, for the Web UI. The result of record is in Postgres.
type ListingResult struct {
	Outcome  string `json:"outcome"`            // imported duplicate handed_on withheld
	Revision int64  `json:"revision"`           // the newest that was processed
	Note     string `json:"note,omitempty"`     // what its last step found
	Images   int    `json:"images,omitempty"`   // attached by this run
	Missing  int    `json:"missing,omitempty"`  // images that could not be fetched
	Enriched string `json:"enriched,omitempty"` // what the enrichment found, or why it failed
}

// owns reports whether this deployment does a stage.
func (in ListingInput) owns(stage string) bool { return slices.Contains(in.Stages, stage) }

// The search attributes of workflows.
var (
	PlatformKey = temporal.NewSearchAttributeKeyKeyword("ConveyorPlatform")
	StageKey    = temporal.NewSearchAttributeKeyKeyword("ConveyorStage")
	OutcomeKey  = temporal.NewSearchAttributeKeyKeyword("ConveyorOutcome")
	TenantKey   = temporal.NewSearchAttributeKeyKeyword("ConveyorTenant")
)

// InvalidListing is the error type of an advert that cannot become a listing.
const InvalidListing = "InvalidListing"

// imagesAtOnce is how many images of one listing are on their way at the same time.
const imagesAtOnce = 5

// Listing is one advert, for as long as something is to be done for it. Its ID is ref.WorkflowID(). Every version
// that arrives goes through the steps; its new images are attached, and it is enriched, while the next version may
// already be processed; it completes when nothing is pending.
//
// It ends without error when the advert is imported, a duplicate, or handed over, and fails with InvalidListing when
// the newest version cannot become a listing.
func Listing(ctx workflow.Context, in ListingInput) (ListingResult, error) {
	return takeThrough(ctx, listingSteps, in)
}

func takeThrough(ctx workflow.Context, steps []step[activities.ListingJob], in ListingInput) (ListingResult, error) {
	l := &listingRun{
		in: in, steps: steps, arrivals: workflow.GetSignalChannel(ctx, ArrivalSignal),
		attached: workflow.NewBufferedChannel(ctx, imagesAtOnce), known: map[string]bool{},
		enriched: workflow.NewBufferedChannel(ctx, 1),
	}
	next, ok := l.newest()
	switch {
	case in.Arrival.Stage != "":
		next = merge(in.Arrival, next)
	case !ok: // started by hand, without an arrival
		next = Arrival{Stage: listing.StageNormalize, Force: true}
	}
	for {
		l.process(ctx, next)
		for {
			if next, ok = l.newest(); ok {
				break
			}
			if ctx.Err() != nil { // canceled: images that wait stay pending, for the next version or an operator to start
				l.waiting, l.err = nil, cmp.Or(l.err, ctx.Err())
			}
			if l.flying == 0 && l.enriching == 0 && len(l.waiting) == 0 {
				return l.result, l.err
			}
			l.attach(ctx)
			l.wait(ctx)
		}
	}
}

// listingRun is the state of one Listing.
type listingRun struct {
	in       ListingInput
	steps    []step[activities.ListingJob]
	arrivals workflow.ReceiveChannel
	result   ListingResult // so far
	passes   int           // versions taken through the steps
	err      error         // why the newest version ended badly

	waiting  []listing.Image  // images that have not been started
	known    map[string]bool  // addresses of those and of the ones in flight
	flying   int              // images on their way
	attached workflow.Channel // the address of each image that is settled

	enriching int              // enrichments that have not ended
	enriched  workflow.Channel // what each that ended has found
}

// newest receives all arrivals that wait and merges into one those that are still to be done.
func (l *listingRun) newest() (next Arrival, ok bool) {
	for a := (Arrival{}); l.arrivals.ReceiveAsync(&a); a = (Arrival{}) {
		if a.Revision > l.result.Revision || a.Force {
			next, ok = merge(a, next), true
		}
	}
	return next, ok
}

// merge makes one of two arrivals: the newer revision, at the earlier of the two stages. A zero one adds nothing.
func merge(a, b Arrival) Arrival {
	if b.Stage != "" && listing.StageOrder(b.Stage) < listing.StageOrder(a.Stage) {
		a.Stage = b.Stage
	}
	a.Revision, a.Force = max(a.Revision, b.Revision), a.Force || b.Force
	return a
}

// process takes the newest version through the steps from a.Stage on.
func (l *listingRun) process(ctx workflow.Context, a Arrival) {
	job := activities.ListingJob{Ref: l.in.Ref, Pass: l.passes, Enrich: l.in.Enrich == listing.EnrichHere}
	l.passes++
	reached := a.Stage
	l.err = nil
	for _, s := range l.steps[entry(l.steps, a.Stage):] {
		if job.Outcome != "" || l.err != nil {
			break
		}
		if !s.runs(ctx) {
			continue
		}
		if s.stage == listing.StageDedupe && a.Stage == listing.StageNormalize && l.in.Enrich == listing.EnrichElsewhere {
			s = step[activities.ListingJob]{name: listing.StageEnrich, stage: listing.StageEnrich} // it comes back at dedupe
		}
		reached = s.stage
		var next activities.ListingJob
		if next, l.err = l.step(ctx, s, job); l.err == nil {
			job = next
		}
	}
	switch {
	case rejected(l.err):
		job.Outcome = activities.Rejected
	case temporal.IsCanceledError(l.err):
		job.Outcome = "canceled"
	case final(l.err): // the step will never succeed, and has recorded nothing
		job.Outcome, job.Note = activities.Rejected, l.err.Error()
		job.Revision = max(job.Revision, a.Revision)
		job.Stage = reached
		if _, err := local(workflow.WithLocalActivityOptions(ctx, storeWork), do.FailListing, job); err != nil {
			l.err = err
		}
	case l.err != nil: // no verdict on the advert: its revision stays unsettled
		job.Outcome, job.Note = "failed", l.err.Error()
	}
	l.result.Outcome, l.result.Note = job.Outcome, job.Note
	l.result.Revision = max(l.result.Revision, a.Revision, job.Revision)
	if job.Outcome == activities.Imported && l.in.Enrich == listing.EnrichHere {
		l.enrich(ctx, job)
	}
	if len(job.Images) > 0 && l.err == nil {
		reached = listing.StageImages
		l.queueImages(ctx, job)
	}
	// One upsert a version: each costs the server a visibility task.
	err := workflow.UpsertTypedSearchAttributes(ctx, StageKey.ValueSet(reached), OutcomeKey.ValueSet(job.Outcome))
	if err != nil && l.err == nil {
		l.err = err
	}
}

// step runs one step, or hands the advert over when another team does the step's stage.
func (l *listingRun) step(ctx workflow.Context, s step[activities.ListingJob], job activities.ListingJob) (
	activities.ListingJob, error,
) {
	run, name := s.run, s.name
	if !l.in.owns(s.stage) { // all of the stage is handed over, at its first step
		run, name, job.Stage = do.HandOverListing, s.stage, s.stage
	}
	options := storeWork
	options.Summary = name
	return local(workflow.WithLocalActivityOptions(ctx, options), run, job)
}

// queueImages adds the images of a new version that are not on their way already to those that wait, or hands them all
// over when another team does images.
func (l *listingRun) queueImages(ctx workflow.Context, job activities.ListingJob) {
	if !l.in.owns(listing.StageImages) {
		job.Stage = listing.StageImages
		_, l.err = local(workflow.WithLocalActivityOptions(ctx, storeWork), do.HandOverListing, job)
		return
	}
	for _, img := range job.Images {
		if !l.known[img.URL] {
			l.known[img.URL] = true
			l.waiting = append(l.waiting, img)
		}
	}
}

// enrich ends the enrichment of a version that is published: the language model is asked where that is to be done. Its
// failure is noted, and changes nothing else. Where the import did not enrich the version, as it did not in runs from
// before and on workers of the release before, a step of its own does.
func (l *listingRun) enrich(ctx workflow.Context, job activities.ListingJob) {
	if job.Enriched != "" && !job.Ask {
		l.result.Enriched = job.Enriched
		return
	}
	note, ask := job.Enriched, job.Ask
	job = activities.ListingJob{Ref: job.Ref, Revision: job.Revision}
	l.enriching++
	workflow.Go(ctx, func(ctx workflow.Context) {
		var err error
		if note == "" {
			options := storeWork
			options.Summary = "enrich"
			job, err = local(workflow.WithLocalActivityOptions(ctx, options), do.EnrichListing, job)
			note, ask = job.Note, job.Ask
		}
		if err == nil && ask {
			if job, err = call(workflow.WithActivityOptions(ctx, modelWork), do.AskModel, job); err == nil {
				note += "; " + job.Note
			}
		}
		if err != nil {
			note = strings.TrimPrefix(note+"; failed: "+message(err), "; ")
		}
		l.enriched.Send(ctx, Summary(note, 500))
	})
}

// attach starts images until imagesAtOnce are on their way. An image that fails is recorded by its activity: the
// listing stands without it.
func (l *listingRun) attach(ctx workflow.Context) {
	for l.flying < imagesAtOnce && len(l.waiting) > 0 {
		img := l.waiting[0]
		l.waiting = l.waiting[1:]
		l.flying++
		workflow.Go(ctx, func(ctx workflow.Context) {
			job := activities.ImageJob{Ref: l.in.Ref, Image: img}
			ctx = workflow.WithActivityOptions(ctx, imageWork(img.URL))
			if err := perform(ctx, do.AttachImage, job); err != nil {
				l.result.Missing++
			} else {
				l.result.Images++
			}
			l.attached.Send(ctx, img.URL)
		})
	}
}

// wait blocks until an image or an enrichment is settled, or an arrival is received.
func (l *listingRun) wait(ctx workflow.Context) {
	s := workflow.NewSelector(ctx)
	s.AddReceive(l.attached, func(c workflow.ReceiveChannel, _ bool) {
		var address string
		c.Receive(ctx, &address)
		delete(l.known, address)
		l.flying--
	})
	s.AddReceive(l.enriched, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, &l.result.Enriched)
		l.enriching--
	})
	s.AddReceive(l.arrivals, func(workflow.ReceiveChannel, bool) {}) // newest receives it
	s.Select(ctx)
}

// imageWork is how one image is fetched: images of one host take turns, and those of other hosts do not wait for it.
func imageWork(address string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue:             QueueImages,
		StartToCloseTimeout:   ImageTimeout,
		HeartbeatTimeout:      ImageHeartbeat,
		RetryPolicy:           ImageRetries(),
		Priority:              temporal.Priority{FairnessKey: FairnessKey(address)},
		DisableEagerExecution: true, // eager tasks bypass the rate limit of the queue
		Summary:               Summary(address, 200),
	}
}

// FairnessKey is the host of an address, cut to the 64 bytes that Temporal allows.
func FairnessKey(address string) string {
	u, err := url.Parse(contract.Escaped(address))
	if err != nil {
		return ""
	}
	return Summary(strings.ToValidUTF8(u.Host, "?"), 64) // "%ff.example" parses, and gRPC would refuse it on every retry
}

// Summary cuts a line for the Web UI to at most n bytes, between runes.
func Summary(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// final reports whether err is the fault of a step that can never succeed. Anything else, such as the timeout of a step
// that never got an answer from the database, says nothing of the advert.
func final(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.NonRetryable()
}

// rejected reports whether err means that the advert cannot become a listing, and not that a step failed.
func rejected(err error) bool {
	var app *temporal.ApplicationError
	return errors.As(err, &app) && app.Type() == InvalidListing
}

// AttachImage is the activity that fetches one image, for starting it without a workflow.
var AttachImage = do.AttachImage

// ImageJob names one image of one listing.
type ImageJob = activities.ImageJob

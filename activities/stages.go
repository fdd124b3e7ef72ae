package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/listing"
)

// The metrics of the stages. They go through the SDK's handler, so they stand beside its own metrics, with the same
// labels, and no activity needs a registry. The exporter adds _total and _seconds.
//
// Effects are counted when they are stored. A process that dies in between has stored effects that it did not count,
// and a step that Temporal retries counts again: these are for rates; exact numbers are in Postgres.
const (
	stageIn       = "conveyor_stage_in"       // first tries, by stage and platform
	stageOut      = "conveyor_stage_out"      // adverts or images that are through, by stage, platform and outcome
	stageRejected = "conveyor_stage_rejected" // reasons, by stage, platform and reason; one advert may have several

	// From an advert's arrival at the bridge, or its scrape, to the moment it is visible. Only of versions that are new or
	// changed, and not of old ones that a replay publishes.
	receivedToPublished = "conveyor_received_to_published"
	scrapedToPublished  = "conveyor_scraped_to_published"
)

// passed is the outcome of a step after which an advert goes on to the next one.
const passed = "passed"

// The outcomes of an image.
const (
	imageAttached = "attached"
	imageUnwanted = "unwanted" // settled before, or no longer in the advert
	imageFailed   = "failed"   // given up
)

// count adds one to a counter of a stage.
func count(ctx context.Context, name, stage string, ref listing.Ref, label, value string) {
	tags := map[string]string{"stage": stage, "platform": ref.Platform}
	if label != "" {
		tags[label] = value
	}
	activity.GetMetricsHandler(ctx).WithTags(tags).Counter(name).Inc(1)
}

// entered counts an advert or image that enters a stage, once however often it is tried.
func entered(ctx context.Context, stage string, ref listing.Ref) {
	if activity.GetInfo(ctx).Attempt == 1 {
		count(ctx, stageIn, stage, ref, "", "")
	}
}

// left counts an advert or image that is through a stage, with every reason when it ends there.
func left(ctx context.Context, stage string, ref listing.Ref, outcome string, reasons ...string) {
	count(ctx, stageOut, stage, ref, "outcome", outcome)
	for _, r := range reasons {
		count(ctx, stageRejected, stage, ref, "reason", r)
	}
}

// counted runs a step of the pipeline, and counts the adverts that enter and leave it.
func counted(ctx context.Context, stage string, job ListingJob, step func(context.Context, ListingJob) (
	ListingJob, error)) (ListingJob, error) {
	entered(ctx, stage, job.Ref)
	out, err := step(ctx, job)
	var rejection *listing.Rejection
	switch {
	case errors.As(err, &rejection):
		left(ctx, stage, job.Ref, Rejected, codes(rejection)...)
	case err == nil && out.Outcome != "":
		left(ctx, stage, job.Ref, out.Outcome)
	case err == nil:
		left(ctx, stage, job.Ref, passed)
	}
	return out, err
}

// codes are the reasons of a rejection, for a label: "price missing". They are ours, so they are few.
func codes(r *listing.Rejection) []string {
	var out []string
	for _, reason := range r.Reasons {
		out = append(out, reason.Field+" "+reason.Code)
	}
	return out
}

// delays measures how long a version was on its way when it became visible at now.
func delays(ctx context.Context, v listing.Version, now time.Time) {
	if v.ReceivedAt.IsZero() || v.Same && v.Published != "archived" {
		return
	}
	m := activity.GetMetricsHandler(ctx).WithTags(map[string]string{"platform": v.Listing.Platform})
	m.Timer(receivedToPublished).Record(max(0, now.Sub(v.ReceivedAt)))
	m.Timer(scrapedToPublished).Record(max(0, now.Sub(v.Listing.ScrapedAt)))
}

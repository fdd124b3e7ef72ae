package workflows

import (
	"context"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
)

// StaleInput is where a check begins. It is one struct so that a field can be added while old runs are open.
type StaleInput struct {
	Step int                   `json:"step,omitempty"` // of staleSteps
	From activities.StaleBatch `json:"from,omitzero"`  // a batch of that step
	Done StaleResult           `json:"so_far,omitzero"`
}

// StaleResult has the counts of a check.
type StaleResult struct {
	Archived  int `json:"archived"`         // listings
	Restarted int `json:"restarted"`        // duplicates of archived listings, which may be shown instead
	Resumed   int `json:"resumed"`          // adverts whose run had ended before they were finished
	Images    int `json:"images,omitempty"` // listings with images of which the same is true
}

// A staleStep walks over rows, a batch at a time.
type staleStep struct {
	name  string
	run   func(context.Context, activities.StaleBatch) (activities.StaleBatch, error)
	since bool // it is part of runs that began with resumeUnfinished
	count func(*StaleResult) *int
}

// staleSteps are the steps of a check, in order. New ones are appended: a run that continues as new names its step by
// number.
var staleSteps = []staleStep{
	{"archive", do.ArchiveStaleListings, false, func(r *StaleResult) *int { return &r.Archived }},
	{"duplicates", do.RestartDuplicates, false, func(r *StaleResult) *int { return &r.Restarted }},
	{"unfinished adverts", do.ResumeListings, true, func(r *StaleResult) *int { return &r.Resumed }},
	{"unfinished images", do.ResumeImages, true, func(r *StaleResult) *int { return &r.Images }},
}

// resumeUnfinished is the change that added the last two steps, and continuing as new.
const resumeUnfinished = "resume-unfinished"

// staleWithin is how long a batch of the staleness check is retried. The next check, some hours later, begins anew.
const staleWithin = time.Hour

// ArchiveStale archives the listings whose adverts were not seen for longer than the staleness limit, in batches, then
// takes the duplicates of archived listings through the pipeline again, and then everything whose run has ended before
// it was finished. The schedule "staleness" starts it; two at once do no harm.
func ArchiveStale(ctx workflow.Context, in StaleInput) (StaleResult, error) {
	result := in.Done
	resumes := workflow.GetVersion(ctx, resumeUnfinished, workflow.DefaultVersion, 1) != workflow.DefaultVersion
	b := in.From
	for n := in.Step; n < len(staleSteps); n++ {
		step := staleSteps[n]
		if step.since && !resumes {
			break
		}
		work := batchWork(time.Minute, step.name)
		work.ScheduleToCloseTimeout = staleWithin
		for b.More = true; b.More; {
			if resumes && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
				return result, workflow.NewContinueAsNewError(ctx, ArchiveStale, StaleInput{Step: n, From: b, Done: result})
			}
			var err error
			if b, err = local(workflow.WithLocalActivityOptions(ctx, work), step.run, b); err != nil {
				return result, err
			}
			*step.count(&result) += b.Done
		}
		b = activities.StaleBatch{}
	}
	return result, nil
}

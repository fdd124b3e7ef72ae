package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// RetentionInput is empty but where a run continues another.
type RetentionInput struct {
	Batch  activities.RetentionBatch `json:"batch,omitzero"`
	Failed []string                  `json:"failed,omitempty"`
}

// RetentionResult has what was deleted.
type RetentionResult struct {
	Deleted map[string]int `json:"deleted"` // rows or files, by kind
}

const (
	// retentionPause lets others have the database between two batches.
	retentionPause = time.Second
	// retentionWithin is how long a batch is retried. The next run begins anew.
	retentionWithin = time.Hour
	// filesPause is the time between two tries at files that the store does not delete.
	filesPause = 5 * time.Minute
	// filesSkew is how far the clock of the worker that deletes files may be behind that of the one that has marked them.
	// Replays do not compare it.
	filesSkew = time.Minute
)

// ApplyRetention deletes what is older than it is kept for, one kind after the other, in batches with pauses. The
// schedule "retention" starts it. A kind that fails does not keep the others from being deleted. It may be canceled, and
// two at once do no harm.
func ApplyRetention(ctx workflow.Context, in RetentionInput) (RetentionResult, error) {
	work := storeWork
	work.ScheduleToCloseTimeout = retentionWithin
	ctx = workflow.WithLocalActivityOptions(ctx, work)
	batch := in.Batch
	for {
		next, err := local(ctx, do.DeleteExpired, batch)
		switch {
		case err != nil && ctx.Err() != nil, err != nil && batch.Kind == "":
			return RetentionResult{batch.Deleted}, err
		case err != nil:
			workflow.GetLogger(ctx).Warn("retention skips what it cannot delete", "what", batch.Kind, "err", err)
			in.Failed = append(in.Failed, batch.Kind)
			batch.Skip = true
			continue
		}
		if batch = next; !batch.More {
			break
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return RetentionResult{}, workflow.NewContinueAsNewError(ctx, ApplyRetention, RetentionInput{batch, in.Failed})
		}
		if err := workflow.Sleep(ctx, retentionPause); err != nil {
			return RetentionResult{batch.Deleted}, err
		}
	}
	if batch.Left {
		in.Failed = append(in.Failed, retention.Files)
	}
	if len(in.Failed) > 0 {
		slices.Sort(in.Failed)
		failed := slices.Compact(in.Failed)
		return RetentionResult{batch.Deleted}, fmt.Errorf("could not delete old %v; the log says why", failed)
	}
	return RetentionResult{batch.Deleted}, nil
}

// ForgetInput names the advert to be forgotten.
type ForgetInput struct {
	Ref listing.Ref `json:"ref"`
}

// ForgetListing deletes an advert and all that was made of it: rows, messages, the histories of its workflow and, after
// a while, its files. Activities that were under way may store a remainder, so it looks again before it ends.
func ForgetListing(ctx workflow.Context, in ForgetInput) (retention.Forgotten, error) {
	ctx = workflow.WithLocalActivityOptions(ctx, storeWork)
	done, err := forget(ctx, activities.ForgetBatch{Ref: in.Ref})
	if err != nil {
		return done, err
	}
	if err := workflow.Sleep(ctx, retention.ForgetWait+filesSkew); err != nil {
		return done, err
	}
	rest, err := forget(ctx, activities.ForgetBatch{Ref: in.Ref, Rest: true})
	if done.Add(rest); err != nil {
		return done, err
	}
	return done, deleteFiles(ctx)
}

// deleteFiles deletes the files whose time has come. What the store does not delete, which may be anybody's, is tried
// for an hour and then left to the schedule "retention".
func deleteFiles(ctx workflow.Context) error {
	work := storeWork
	work.ScheduleToCloseTimeout = retentionWithin
	ctx = workflow.WithLocalActivityOptions(ctx, work)
	for end := workflow.Now(ctx).Add(retentionWithin); ; {
		var err error
		files := activities.RetentionBatch{Kind: retention.Files, Only: true, More: true}
		for files.More && err == nil {
			files, err = local(ctx, do.DeleteExpired, files)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && !files.Left:
			return nil
		case err != nil, !workflow.Now(ctx).Before(end):
			workflow.GetLogger(ctx).Warn("files that could not be deleted are left to the schedule", "err", err)
			return nil
		}
		if err := workflow.Sleep(ctx, filesPause); err != nil {
			return err
		}
	}
}

// forget goes once through all that is stored of an advert. The second time, a run that is going stays: either it is of
// an advert that has come back, or it finds nothing to work on.
func forget(ctx workflow.Context, b activities.ForgetBatch) (retention.Forgotten, error) {
	if !b.Rest {
		if _, err := local(ctx, do.EndListing, b); err != nil {
			return b.Done, err
		}
	}
	for b.More = true; b.More; {
		var err error
		if b, err = local(ctx, do.ForgetAdvert, b); err != nil {
			return b.Done, err
		}
	}
	_, err := local(ctx, do.DeleteListingRuns, b)
	return b.Done, err
}

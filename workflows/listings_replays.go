package workflows

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
)

// ReplayInput is one struct so that a field can be added while old runs are open.
type ReplayInput struct {
	Replay listing.Replay `json:"replay"`           // only its ID once it is stored
	Stored bool           `json:"stored,omitempty"` // Replay is in Postgres
}

// ReplayResult is how a Replay ended, for the Web UI. The result of record is in Postgres.
type ReplayResult struct {
	State   string `json:"state"`   // completed canceled
	Started int    `json:"started"` // by this run
}

// Replay takes stored adverts through the pipeline again, at a pace, each in its own Listing. Its ID is
// listing.ReplayWorkflowID of the replay. The request and its progress are in Postgres; this history has only the time
// of each batch.
//
// It ends when every advert came to its end or when it is canceled, here or in Postgres. It fails when a batch can
// never succeed. Adverts that were started are processed to their end in any case.
func Replay(ctx workflow.Context, in ReplayInput) (ReplayResult, error) {
	id := in.Replay.ID
	var result ReplayResult
	err := replay(ctx, in, &result)
	if err == nil || workflow.IsContinueAsNewError(err) {
		return result, err
	}
	end := activities.ReplayEnd{ID: id, State: listing.ReplayFailed, Reason: message(err)}
	if temporal.IsCanceledError(err) {
		end.State, end.Reason = listing.ReplayCanceled, ""
	}
	result.State = end.State
	ctx, _ = workflow.NewDisconnectedContext(ctx) // so that a cancellation can be stored
	if _, failed := local(workflow.WithLocalActivityOptions(ctx, storeWork), do.EndReplay, end); failed != nil {
		err = errors.Join(err, failed)
	}
	return result, err
}

func replay(ctx workflow.Context, in ReplayInput, result *ReplayResult) error {
	if !in.Stored {
		if _, err := local(workflow.WithLocalActivityOptions(ctx, storeWork), do.OpenReplay, in.Replay); err != nil {
			return err
		}
	}
	work := workflow.WithLocalActivityOptions(ctx, batchWork(time.Minute, "batch"))
	for {
		began := workflow.Now(ctx)
		b, err := local(work, do.RunReplayBatch, activities.ReplayBatch{ID: in.Replay.ID})
		if err != nil {
			return err
		}
		result.State, result.Started = b.State, result.Started+b.Started
		if b.State != listing.ReplayRunning {
			return nil
		}
		// The time that the batch took counts as waited.
		if wait := pause(b) - workflow.Now(ctx).Sub(began); wait > 0 {
			if err := workflow.Sleep(ctx, wait); err != nil {
				return err
			}
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			next := ReplayInput{Replay: listing.Replay{ID: in.Replay.ID}, Stored: true}
			return workflow.NewContinueAsNewError(ctx, Replay, next)
		}
	}
}

// pause is the time between two batches: that of the adverts which the last one started, at the replay's rate.
func pause(b activities.ReplayBatch) time.Duration {
	switch {
	case b.Started > 0:
		return time.Duration(b.Started) * time.Second / time.Duration(max(b.Rate, 1))
	case b.Looked > 0: // all of them were skipped
		return 0
	}
	// Nothing could be started: check again whether the adverts under way have ended, sooner at a high rate.
	return min(time.Second, 20*time.Second/time.Duration(max(b.Rate, 1)))
}

// message is an activity's error message without what Temporal wraps around it.
func message(err error) string {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Message()
	}
	return err.Error()
}

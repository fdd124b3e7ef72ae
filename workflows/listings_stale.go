package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
)

// StaleInput is one struct so that a field can be added while old runs are open.
type StaleInput struct{}

// StaleResult has the counts of a check.
type StaleResult struct {
	Archived  int `json:"archived"`  // listings
	Restarted int `json:"restarted"` // duplicates of archived listings, which may be shown instead
}

// staleWithin is how long a batch of the staleness check is retried. The next check, some hours later, begins anew.
const staleWithin = time.Hour

// ArchiveStale archives the listings whose adverts were not seen for longer than the staleness limit, in batches, and
// then takes the duplicates of archived listings through the pipeline again. The schedule "staleness" starts it; two
// at once do no harm.
func ArchiveStale(ctx workflow.Context, _ StaleInput) (StaleResult, error) {
	var result StaleResult
	archive, restart := storeWork, replayWork
	archive.Summary, restart.Summary = "archive", "duplicates"
	archive.ScheduleToCloseTimeout, restart.ScheduleToCloseTimeout = staleWithin, staleWithin
	for b := (activities.StaleBatch{More: true}); b.More; result.Archived += b.Done {
		var err error
		b, err = local(workflow.WithLocalActivityOptions(ctx, archive), do.ArchiveStaleListings, b)
		if err != nil {
			return result, err
		}
	}
	for b := (activities.StaleBatch{More: true}); b.More; result.Restarted += b.Done {
		var err error
		b, err = local(workflow.WithLocalActivityOptions(ctx, restart), do.RestartDuplicates, b)
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

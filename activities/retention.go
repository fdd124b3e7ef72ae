package activities

import (
	"context"
	"maps"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/retention"
)

// Retention are the activities that delete what is older than it is kept for.
type Retention struct {
	Store RetentionStore
	Files RetentionFiles
	Keep  retention.Limits
	Now   func() time.Time
}

// RetentionStore has the database methods of retention. Each deletes a few rows, or a partition, and may be repeated.
type RetentionStore interface {
	// Earlier is a time, or that of the database where it is earlier.
	Earlier(ctx context.Context, at time.Time) (time.Time, error)
	MakePartitions(ctx context.Context, now time.Time) error
	DeleteExpired(ctx context.Context, kind string, before time.Time, cursor string, most int) (retention.Step, error)
	MarkUnused(ctx context.Context, keys []string, due time.Time) (int, error)
	DeleteUnused(ctx context.Context, now time.Time, cursor string, most int,
		remove func(ctx context.Context, key string) error) (retention.Step, error)
}

// RetentionFiles is the blob store. List goes through all files, a page at a time; "" is the first and the last cursor.
type RetentionFiles interface {
	List(ctx context.Context, cursor string, most int) (keys []string, next string, err error)
	Delete(ctx context.Context, key string) error
}

// RetentionBatch is where a batch of deletions begins, and what was deleted so far.
type RetentionBatch struct {
	Kind    string         `json:"kind,omitempty"`   // "" = the first
	Cursor  string         `json:"cursor,omitempty"` // within the kind
	Skip    bool           `json:"skip,omitempty"`   // go on with the next kind: this one failed
	Only    bool           `json:"only,omitempty"`   // end with this kind
	More    bool           `json:"more,omitempty"`
	Left    bool           `json:"left,omitempty"`    // files that the store does not delete were left
	Deleted map[string]int `json:"deleted,omitempty"` // rows or files, by kind
}

const (
	expiredAtOnce = 500
	filesAtOnce   = 100

	// A batch works for a few seconds, with a rest after each step: whoever else needs the database comes first.
	retentionWork = 3 * time.Second
	retentionRest = 20 * time.Millisecond
	// retentionStep is how long a step may take of a kind that was not asked for, so that the batch ends in time and says
	// so: together they are shorter than the activity may take.
	retentionStep = 10 * time.Second
)

// retentionDeleted counts what was deleted, by what it was. The exporter adds _total.
const retentionDeleted = "conveyor_retention_deleted"

// DeleteExpired makes a batch of deletions and returns where the next one begins. It is idempotent: what an interrupted
// batch has deleted is gone, and the next one looks at the rest.
//
// Where it fails, the caller retries and skips the kind that it asked for. So a batch that fails at another kind ends
// before that one without an error, and the next batch begins there. A file that the store does not delete is left,
// and is no error.
func (a *Retention) DeleteExpired(ctx context.Context, b RetentionBatch) (RetentionBatch, error) {
	asked := b
	if b.Kind == "" {
		b.Kind = a.Keep.Next("")
	}
	if b.Skip {
		b.Kind, b.Cursor, b.Skip = a.Keep.Next(b.Kind), "", false
	}
	b.Deleted = maps.Clone(b.Deleted)
	if b.Deleted == nil {
		b.Deleted = map[string]int{}
	}
	b.More = b.Kind != ""
	err := restingBetween(ctx, a.Now, &b.More, func() error {
		within := ctx
		if b.Kind != asked.Kind {
			var done context.CancelFunc
			within, done = context.WithTimeout(ctx, retentionStep)
			defer done()
		}
		step, err := a.step(within, b.Kind, b.Cursor)
		if step.Deleted > 0 && b.Kind != retention.Unused {
			b.Deleted[b.Kind] += step.Deleted
			activity.GetMetricsHandler(ctx).WithTags(map[string]string{"what": b.Kind}).
				Counter(retentionDeleted).Inc(int64(step.Deleted))
		}
		if err != nil {
			return err
		}
		if step.Left != nil {
			activity.GetLogger(ctx).Warn("a file that nothing refers to could not be deleted", "err", step.Left)
			b.Left = true
		}
		b.Cursor = step.Cursor
		if !step.More {
			b.Cursor = ""
			if b.Kind = a.Keep.Next(b.Kind); b.Only {
				b.Kind = ""
			}
		}
		b.More = b.Kind != ""
		return nil
	})
	if err != nil && ctx.Err() == nil && b.Kind != asked.Kind {
		err = nil
	}
	return b, err
}

// restingBetween makes the steps of a batch while there are more and it is not over, and rests after each.
func restingBetween(ctx context.Context, now func() time.Time, more *bool, step func() error) error {
	for end := now().Add(retentionWork); *more && now().Before(end); {
		if err := step(); err != nil {
			return err
		}
		if err := pause(ctx, retentionRest); err != nil {
			return err
		}
	}
	return nil
}

// step makes one step of a kind. By a clock of this machine that is ahead nothing is old enough sooner.
func (a *Retention) step(ctx context.Context, kind, cursor string) (retention.Step, error) {
	now, err := a.Store.Earlier(ctx, a.Now())
	if err != nil {
		return retention.Step{}, err
	}
	switch kind {
	case retention.Partitions:
		return retention.Step{}, a.Store.MakePartitions(ctx, now)
	case retention.Unused:
		keys, next, err := a.Files.List(ctx, cursor, expiredAtOnce)
		if err != nil || len(keys) == 0 {
			return retention.Step{Cursor: next, More: next != ""}, err
		}
		n, err := a.Store.MarkUnused(ctx, keys, now.Add(a.Keep[kind]))
		return retention.Step{Cursor: next, More: next != "", Deleted: n}, err
	case retention.Files:
		return a.Store.DeleteUnused(ctx, now, cursor, filesAtOnce, a.Files.Delete)
	}
	return a.Store.DeleteExpired(ctx, kind, now.Add(-a.Keep[kind]), cursor, expiredAtOnce)
}

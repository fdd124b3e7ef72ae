// Package workflows says what happens, in which order, and for how long.
package workflows

import (
	"context"

	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
)

// do names every activity: local(ctx, do.ImportListing, job). Its pointers stay nil, for Temporal takes only the
// method's name. Names must be unique in the house, and here they are: two promoted methods of one name do not
// compile.
var do struct {
	*activities.Listings
	*activities.Images
	*activities.Replays
	*activities.Staleness
	*activities.Cycles
	*activities.Visits
	*activities.Drafts
}

// local runs one local activity and waits for it. Unlike workflow.ExecuteLocalActivity it is checked by the
// compiler: act must take In and return Out.
func local[In, Out any](ctx workflow.Context, act func(context.Context, In) (Out, error), in In) (Out, error) {
	var out Out
	err := workflow.ExecuteLocalActivity(ctx, act, in).Get(ctx, &out)
	return out, err
}

// A step is one stage of a pipeline whose stages all turn a T into a T.
type step[T any] struct {
	name  string // the stage it belongs to
	run   func(context.Context, T) (T, error)
	since string // change ID if added after the first release: runs older than it skip the step
}

// runs says whether a run has the step: one added later is none for runs that were already going.
func (s step[T]) runs(ctx workflow.Context) bool {
	return s.since == "" || workflow.GetVersion(ctx, s.since, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

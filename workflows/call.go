// Package workflows has the workflows: what happens, in which order, and for how long.
package workflows

import (
	"context"
	"slices"

	"go.temporal.io/sdk/workflow"
)

// The functions below are the only ones that run activities. Unlike the SDK's they are checked by the compiler: act
// must take In and return Out.

// local runs one local activity and waits for its result.
func local[In, Out any](ctx workflow.Context, act func(context.Context, In) (Out, error), in In) (Out, error) {
	var out Out
	err := workflow.ExecuteLocalActivity(ctx, act, in).Get(ctx, &out)
	return out, err
}

// call runs one regular activity and waits for its result.
func call[In, Out any](ctx workflow.Context, act func(context.Context, In) (Out, error), in In) (Out, error) {
	return start(ctx, act, in).get(ctx)
}

// start schedules one regular activity and does not wait for it.
func start[In, Out any](ctx workflow.Context, act func(context.Context, In) (Out, error), in In) future[Out] {
	return future[Out]{workflow.ExecuteActivity(ctx, act, in)}
}

// perform runs one regular activity that has no result, and waits for its end.
func perform[In any](ctx workflow.Context, act func(context.Context, In) error, in In) error {
	return workflow.ExecuteActivity(ctx, act, in).Get(ctx, nil)
}

// A future is the result of a regular activity, once there is one.
type future[Out any] struct{ workflow.Future }

// get waits for the result.
func (f future[Out]) get(ctx workflow.Context) (Out, error) {
	var out Out
	err := f.Get(ctx, &out)
	return out, err
}

// A step is one activity of a pipeline whose activities all turn a T into a T.
type step[T any] struct {
	name  string // in the Web UI, as the activity's summary; unique in its pipeline
	stage string // that it belongs to: a run that does not own the stage hands its T over instead
	run   func(context.Context, T) (T, error)
	since string // change ID, if added after the first release: runs that had gone past its place skip it
}

// runs reports whether a run has the step. A run that had gone past its place before it was added does not.
func (s step[T]) runs(ctx workflow.Context) bool {
	return s.since == "" || workflow.GetVersion(ctx, s.since, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// entry is the index of the first step of a stage, and 0 where no step belongs to it.
func entry[T any](steps []step[T], stage string) int {
	return max(0, slices.IndexFunc(steps, func(s step[T]) bool { return s.stage == stage }))
}

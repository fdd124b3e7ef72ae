package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/retention"
)

// ErasureInput names the tenant to be erased. The rest is set where a run continues another.
type ErasureInput struct {
	Tenant string `json:"tenant"`
	Rest   bool   `json:"rest,omitempty"`  // the pass over what was written behind the first one
	Ended  bool   `json:"ended,omitempty"` // what ran of the tenant was ended in this pass
}

// EraseTenant deletes all that is kept of a tenant. The rows say how far it is, so a run that goes on after any
// interruption repeats nothing. Activities that were under way may store a remainder, so it looks again before it ends.
func EraseTenant(ctx workflow.Context, in ErasureInput) error {
	ctx = workflow.WithLocalActivityOptions(ctx, storeWork)
	for {
		whole, err := erase(ctx, in)
		if err != nil {
			return err
		}
		if !whole {
			in.Ended = true
			return workflow.NewContinueAsNewError(ctx, EraseTenant, in)
		}
		if in.Rest {
			break
		}
		if err := workflow.Sleep(ctx, retention.ForgetWait); err != nil {
			return err
		}
		in.Rest, in.Ended = true, false
	}
	if err := deleteFiles(ctx); err != nil {
		return err
	}
	_, err := local(ctx, do.FinishErasure, activities.ErasureBatch{Tenant: in.Tenant})
	return err
}

// erase ends what runs of a tenant and goes once through all tables. whole is false where the history has become too
// long for that: another run goes on. It asks after a step, so that each run deletes something.
func erase(ctx workflow.Context, in ErasureInput) (whole bool, err error) {
	for b := (activities.ErasureBatch{Tenant: in.Tenant, More: !in.Ended}); b.More; {
		if b, err = local(ctx, do.EndTenantRuns, b); err != nil {
			return false, err
		}
	}
	for b := (activities.ErasureBatch{Tenant: in.Tenant, More: true}); b.More; {
		if b, err = local(ctx, do.EraseTenant, b); err != nil {
			return false, err
		}
		if b.More && workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return false, nil
		}
	}
	return true, nil
}

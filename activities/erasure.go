package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/campaign"
)

// Erasing are the activities that take a tenant out.
type Erasing struct {
	Store ErasureStore
	Runs  TenantRuns
	Now   func() time.Time
}

// ErasureStore has the database methods of an erasure, which keeps how far it is. Each may be repeated.
type ErasureStore interface {
	Runs(ctx context.Context, tenant string, after uuid.UUID, most int) (workflows []string, last uuid.UUID, err error)
	Erase(ctx context.Context, tenant string, most int) (more bool, err error)
	Finish(ctx context.Context, tenant string, now time.Time) error
}

// TenantRuns are the runs of a tenant's workflows.
type TenantRuns interface {
	// EndRun terminates the run of a workflow that is going, if there is one.
	EndRun(ctx context.Context, workflowID, reason string) error
}

// ErasureBatch names a tenant, and where a batch of ending its workflows begins.
type ErasureBatch struct {
	Tenant string    `json:"tenant"`
	After  uuid.UUID `json:"after,omitzero"` // campaign, upload or delivery whose workflow was ended last
	More   bool      `json:"more,omitempty"`
}

const (
	erasedAtOnce = 1000 // rows that one step looks at
	endedAtOnce  = 50
)

// EndTenantRuns makes a batch of terminating what runs of a tenant, so that nothing more is stored or sent of it.
func (a *Erasing) EndTenantRuns(ctx context.Context, b ErasureBatch) (ErasureBatch, error) {
	workflows, last, err := a.Store.Runs(ctx, b.Tenant, b.After, endedAtOnce)
	if err != nil {
		return b, err
	}
	if b.After == uuid.Nil {
		workflows = append(workflows, campaign.DispatchWorkflowID(b.Tenant))
	}
	for _, id := range workflows {
		if err := a.Runs.EndRun(ctx, id, "the tenant is erased"); err != nil {
			return b, err
		}
	}
	b.After, b.More = last, last != uuid.Nil
	return b, nil
}

// EraseTenant makes a batch of deleting what is stored of a tenant. More is false at the end of a pass over all tables.
func (a *Erasing) EraseTenant(ctx context.Context, b ErasureBatch) (ErasureBatch, error) {
	b.More = true
	err := restingBetween(ctx, a.Now, &b.More, func() (err error) {
		b.More, err = a.Store.Erase(ctx, b.Tenant, erasedAtOnce)
		return err
	})
	return b, err
}

// FinishErasure stores that nothing is left of a tenant.
func (a *Erasing) FinishErasure(ctx context.Context, b ErasureBatch) (ErasureBatch, error) {
	return b, a.Store.Finish(ctx, b.Tenant, a.Now())
}

package listings

import (
	"context"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// Staleness serves /staleness.
type Staleness struct {
	Launch StalenessStarter
	Audit  *db.AuditLog

	door *api.Door
}

// A StalenessStarter starts the workflow that archives stale listings: *launch.Launch.
type StalenessStarter interface {
	// ArchiveStale starts the workflow, or joins the one that runs.
	ArchiveStale(ctx context.Context) (workflowID string, joined bool, err error)
}

// Register implements api.Part.
func (h Staleness) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Operate, api.Op("listings", "run-staleness", "POST /staleness/run",
		"Archive stale listings now",
		"Runs the check that is scheduled every few hours. A check that is running already is joined.", 202)), h.run)
}

// StalenessRun is the answer of POST /staleness/run.
type StalenessRun struct {
	Joined   bool             `json:"joined" doc:"a check was running already"`
	Workflow api.WorkflowLink `json:"workflow"`
}

// run is durably accepted when it answers.
func (h Staleness) run(ctx context.Context, _ *struct{}) (*api.Body[StalenessRun], error) {
	id, joined, err := h.Launch.ArchiveStale(ctx)
	if err != nil {
		return nil, err
	}
	err = h.Audit.Record(ctx, db.AuditEntry{
		At: h.door.Now(), Actor: api.CallerOf(ctx).Name, Action: "staleness.started", Subject: "workflow/" + id,
		Detail: map[string]any{"joined": joined},
	})
	return api.BodyOf(StalenessRun{Joined: joined, Workflow: h.door.Workflow(id)}), err
}

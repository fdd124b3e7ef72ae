package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// staleness serves /staleness.
type staleness struct {
	start Starter
	audit *db.AuditLog
	log   *slog.Logger
	link  func(workflowID string) WorkflowLink
	now   func() time.Time
}

func (h *staleness) register(a huma.API) {
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "run-staleness", Method: http.MethodPost, Path: "/staleness/run", Tags: []string{"listings"},
		Summary: "Archive stale listings now", Errors: []int{503}, DefaultStatus: http.StatusAccepted,
		Description: "What the schedule does every few hours. A check that runs already is joined.",
	}), h.run)
}

// StalenessRun is the answer of POST /staleness/run.
type StalenessRun struct {
	Joined   bool         `json:"joined" doc:"a check was running"`
	Workflow WorkflowLink `json:"workflow"`
}

type stalenessOutput struct{ Body StalenessRun }

// run is durably accepted when it answers.
func (h *staleness) run(ctx context.Context, _ *struct{}) (*stalenessOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id, joined, err := h.start.ArchiveStale(ctx)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	err = h.audit.Record(ctx, db.AuditEntry{
		At: h.now(), Actor: callerOf(ctx).Name, Action: "staleness.started", Subject: "workflow/" + id,
		Detail: map[string]any{"joined": joined},
	})
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &stalenessOutput{StalenessRun{Joined: joined, Workflow: h.link(id)}}, nil
}

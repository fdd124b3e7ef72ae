package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
)

// queues serves /queues.
type queues struct {
	read func(context.Context) backlog.Report
}

func (q *queues) register(a huma.API) {
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "queues", Method: http.MethodGet, Path: "/queues", Tags: []string{"operations"},
		Summary: "Say what waits where",
		Description: "Depth, consumers and rates of every queue; the outbox; open dead letters; backlog and " +
			"schedule-to-start of Temporal's task queues; hosts that the limiter holds back. A service that is away has " +
			"nothing to say, and the answer says so; it is never older than a second.",
	}), q.report)
}

type queuesOutput struct{ Body backlog.Report }

func (q *queues) report(ctx context.Context, _ *struct{}) (*queuesOutput, error) {
	return &queuesOutput{q.read(ctx)}, nil
}

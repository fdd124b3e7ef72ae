package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
)

// Queues serves /queues.
type Queues struct {
	Read func(context.Context) backlog.Report // never fails; bounds itself; no list of it is nil
}

// Register implements Part.
func (h Queues) Register(d *Door) {
	Serve(d, Needs(access.Read, huma.Operation{
		OperationID: "queues", Method: http.MethodGet, Path: "/queues", Tags: []string{"operations"},
		Summary: "Get the backlog of every queue",
		Description: "Depth, consumers and rates of every queue; the outbox; open dead letters; backlog and " +
			"schedule-to-start of Temporal's task queues; hosts delayed by the rate limiter; adverts and images that were " +
			"not finished; crawl runs; imports of contacts, messages and webhooks that wait. A part that a service did not answer in time is empty and listed in unknown. The answer is at " +
			"most a second old.",
	}), h.report)
}

func (h Queues) report(ctx context.Context, _ *struct{}) (*Body[backlog.Report], error) {
	return BodyOf(h.Read(ctx)), nil
}

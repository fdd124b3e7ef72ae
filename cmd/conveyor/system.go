package main

import (
	"context"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
)

// A system is what one noun (listings, drafts, …) hands to each role. A nil field means that the system has nothing for
// that role. The roles range over systems: a new system is a file and a line there.
type system struct {
	// activities builds the structs whose methods are the system's activities, for the task queues that run them. The
	// worker role calls done, which may be nil, after its workers have stopped; ctx bounds the call, not the activities.
	activities func(ctx context.Context) (rows []workers.Row, done func())

	// parts are the system's endpoints.
	parts []api.Part

	// queues are the rows of the system's queues.
	queues []bridge.Queue

	// reopeners are those of the queues that are tables.
	reopeners db.Reopeners

	// backlog adds the probes that GET /queues and the metrics show.
	backlog func(*telemetry.Backlog)

	// searchable counts the pages that can be found.
	searchable func(context.Context) (int64, error)

	// bootstrap creates what the system needs in Temporal, once the namespace is there. It may be repeated.
	bootstrap func(ctx context.Context) error
}

// systems are all of them.
func (h *house) systems() []system {
	return []system{
		h.listings(), h.drafts(), h.crawls(), h.search(), h.retention(), h.imports(), h.contacts(), h.messaging(),
		h.campaigns(), h.saved(),
	}
}

// must returns v: internal/config has checked what could fail.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

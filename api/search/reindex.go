package search

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/launch"
)

// A SearchStarter starts the workflows of the search and reads their progress: *launch.Launch.
type SearchStarter interface {
	// ReindexPages starts writing all pages to an engine anew, or joins the workflow that runs, whichever its engine is.
	ReindexPages(ctx context.Context, to string) (workflowID string, joined bool, err error)
	// Reindexing returns how far the newest re-index has come; ok is false when Temporal remembers none.
	Reindexing(ctx context.Context) (r launch.Reindexing, ok bool, err error)
	// DeletePages starts the deletion of the pages of a site and its subdomains, or joins the one that runs.
	DeletePages(ctx context.Context, site string) (workflowID string, joined bool, err error)
}

// reindexing registers the operations on a re-index.
func (h Search) reindexing(d *api.Door) {
	api.Serve(d, api.Needs(access.Operate, api.Op("search", "start-reindex", "POST /search/reindex",
		"Index all stored pages anew",
		"Searches and new pages go on meanwhile. With to, it fills another engine, which is to take over. One runs at a "+
			"time: a request for the same engine joins it, one for another is a conflict.", 202, 409)), h.startReindex)
	api.Serve(d, api.Needs(access.Read, api.Op("search", "get-reindex", "GET /search/reindex",
		"Get the progress of the last re-index", "")), h.showReindex)
}

// ReindexStart is the body of POST /search/reindex.
type ReindexStart struct {
	To string `json:"to,omitempty" enum:"postgres,opensearch" doc:"engine to fill; left out, it is the one that answers queries"`
}

type startReindexInput struct {
	Body *ReindexStart // may be left out
}

// States of a re-index.
const (
	ReindexNone      = "none"
	ReindexRunning   = "running"
	ReindexCompleted = "completed"
	ReindexFailed    = "failed"
)

// A Reindex is the progress of a re-index.
type Reindex struct {
	State     string           `json:"state" enum:"none,running,completed,failed" doc:"none: there was none, or it is forgotten"`
	To        string           `json:"to,omitempty" doc:"engine that is filled"`
	Pages     int              `json:"pages" doc:"indexed so far"`
	Failed    int              `json:"failed,omitempty" doc:"pages that the engine refused"`
	Total     int              `json:"total" doc:"pages that are stored now"`
	Joined    bool             `json:"joined,omitempty" doc:"the request joined one that was running"`
	StartedAt *time.Time       `json:"started_at,omitempty"`
	EndedAt   *time.Time       `json:"ended_at,omitempty"`
	Reason    string           `json:"reason,omitempty" doc:"why it failed"`
	Workflow  api.WorkflowLink `json:"workflow"`
}

// startReindex is durably accepted when it answers.
func (h Search) startReindex(ctx context.Context, in *startReindexInput) (*api.Body[Reindex], error) {
	to := h.Use
	if in.Body != nil && in.Body.To != "" {
		to = in.Body.To
	}
	if h.Engines[to] == nil {
		return nil, fault.Newf(fault.Invalid, "to: %s is not configured, only %s; see CONVEYOR_SEARCH_URL", to,
			strings.Join(slices.Sorted(maps.Keys(h.Engines)), ", "))
	}
	// The start of a workflow has no transaction to record it in. It is recorded first, so that none happens without.
	err := h.Audit.Record(ctx, db.AuditEntry{
		At: h.door.Now(), Actor: api.CallerOf(ctx).Name, Action: "search.reindex_wanted", Subject: "search/" + to,
	})
	if err != nil {
		return nil, err
	}
	id, joined, err := h.Launch.ReindexPages(ctx, to)
	if err != nil {
		return nil, err
	}
	out := Reindex{State: ReindexRunning, To: to, Joined: joined, Workflow: h.door.Workflow(id)}
	if joined {
		r, _, err := h.Launch.Reindexing(ctx)
		if err != nil {
			return nil, err
		}
		if r.Running && r.To != to {
			return nil, fault.Newf(fault.Conflict, "to: %s is being filled; wait until that is done, or cancel workflow %s",
				r.To, id)
		}
		out.Pages, out.Failed, out.StartedAt = r.Pages, r.Failed, &r.Started
	}
	counts, err := h.Store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	out.Total = counts.Pages
	return api.BodyOf(out), nil
}

func (h Search) showReindex(ctx context.Context, _ *struct{}) (*api.Body[Reindex], error) {
	counts, err := h.Store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	r, ok, err := h.Launch.Reindexing(ctx)
	if err != nil {
		return nil, err
	}
	out := Reindex{State: ReindexNone, Total: counts.Pages, Workflow: h.door.Workflow(search.ReindexWorkflowID)}
	if !ok {
		return api.BodyOf(out), nil
	}
	out.To, out.Pages, out.Failed, out.Reason, out.StartedAt = r.To, r.Pages, r.Failed, r.Error, &r.Started
	switch {
	case r.Running:
		out.State = ReindexRunning
	case r.Ended:
		out.State = ReindexCompleted
	default:
		out.State = ReindexFailed
	}
	if !r.Closed.IsZero() {
		out.EndedAt = &r.Closed
	}
	return api.BodyOf(out), nil
}

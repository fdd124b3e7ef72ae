package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// replays serves /replays.
type replays struct {
	store *db.Replays
	start Starter
	log   *slog.Logger
	link  func(workflowID string) WorkflowLink
	now   func() time.Time
}

func (h *replays) register(a huma.API) {
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "start-replay", Method: http.MethodPost, Path: "/replays", Tags: []string{"replays"},
		Summary: "Take stored adverts through the pipeline again", Errors: []int{422, 503},
		DefaultStatus: http.StatusAccepted,
		Description: "For every raw listing that matches, whether it changed or not, behind everything that is scraped. " +
			"With dry_run it only says how many match. A request with the id of an earlier one joins that replay.",
	}), h.create)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "list-replays", Method: http.MethodGet, Path: "/replays", Tags: []string{"replays"},
		Summary: "List replays, the newest first", Errors: []int{422, 503}, RejectUnknownQueryParameters: true,
	}), h.list)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "get-replay", Method: http.MethodGet, Path: "/replays/{id}", Tags: []string{"replays"},
		Summary: "See how far a replay has come", Errors: []int{404, 422, 503},
	}), h.get)
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "cancel-replay", Method: http.MethodDelete, Path: "/replays/{id}", Tags: []string{"replays"},
		Summary: "Stop a replay", Errors: []int{404, 409, 422, 503}, DefaultStatus: http.StatusOK,
		Description: "Nothing more is started; what was started goes its way. The replay stays on record, as canceled.",
	}), h.cancel)
}

// ReplayStart is what POST /replays takes.
type ReplayStart struct {
	ID     *uuid.UUID  `json:"id,omitempty" doc:"chosen by the caller, so that the request can be repeated"`
	Stage  string      `json:"stage,omitempty" enum:"normalize,dedupe,import" default:"normalize" doc:"where to enter"`
	Filter ReplayWhich `json:"filter,omitempty" doc:"which raw listings; empty is all of them"`
	Rate   int         `json:"rate,omitempty" minimum:"1" maximum:"100" default:"20" doc:"adverts a second, at most"`
	DryRun bool        `json:"dry_run,omitempty" doc:"start nothing, only count"`
}

// ReplayWhich says which raw listings. Conditions combine.
type ReplayWhich struct {
	Platform     string      `json:"platform,omitempty" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Status       []string    `json:"status,omitempty" minItems:"1" maxItems:"5" enum:"scraped,normalized,imported,duplicate,rejected" doc:"any of these"`
	ScrapedSince *time.Time  `json:"scraped_since,omitempty" doc:"last scraped then or later"`
	ScrapedUntil *time.Time  `json:"scraped_until,omitempty" doc:"last scraped before"`
	IDs          []uuid.UUID `json:"ids,omitempty" minItems:"1" maxItems:"200" doc:"any of these listings"`
	Reason       string      `json:"reason,omitempty" pattern:"^[a-z_]{1,64}$" doc:"code of a reason for its rejection" example:"missing"`
}

type createReplayInput struct{ Body ReplayStart }

// Resolve checks what a schema cannot say.
func (in *createReplayInput) Resolve(huma.Context) []error {
	f := in.Body.Filter
	if f.ScrapedSince != nil && f.ScrapedUntil != nil && !f.ScrapedSince.Before(*f.ScrapedUntil) {
		return []error{&huma.ErrorDetail{
			Message:  "expected a time after scraped_since, " + f.ScrapedSince.Format(time.RFC3339),
			Location: "body.filter.scraped_until", Value: f.ScrapedUntil,
		}}
	}
	return nil
}

// Replay is a replay with the address of its workflow.
type Replay struct {
	db.Replay
	Workflow WorkflowLink `json:"workflow"`
}

// ReplayAccepted is the answer of POST /replays.
type ReplayAccepted struct {
	DryRun bool    `json:"dry_run" doc:"nothing was started"`
	Total  int64   `json:"total" doc:"raw listings that match"`
	Replay *Replay `json:"replay,omitempty" doc:"absent for a dry run"`
}

type createReplayOutput struct {
	Status   int
	Location string `header:"Location" doc:"where to see how far it has come"`
	Body     ReplayAccepted
}

// create is durably accepted when it answers. The workflow comes first, for it stores the replay itself if we die in
// between; that we store it too lets GET answer at once.
func (h *replays) create(ctx context.Context, in *createReplayInput) (*createReplayOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	filter, now := listing.ReplayFilter(in.Body.Filter), h.now().UTC().Truncate(time.Microsecond)
	total, err := h.store.Count(ctx, filter, now)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	if in.Body.DryRun {
		return &createReplayOutput{Status: http.StatusOK, Body: ReplayAccepted{DryRun: true, Total: total}}, nil
	}
	r := listing.Replay{
		ID: uuid.New(), Stage: in.Body.Stage, Filter: filter, Rate: in.Body.Rate, By: callerOf(ctx).Name, At: now,
	}
	if in.Body.ID != nil {
		r.ID = *in.Body.ID
	}
	if err := h.start.Replay(ctx, r); err != nil {
		return nil, problem(ctx, h.log, err)
	}
	if err := h.store.OpenReplay(ctx, r); err != nil {
		return nil, problem(ctx, h.log, err)
	}
	stored, err := h.store.Get(ctx, r.ID)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &createReplayOutput{
		Status: http.StatusAccepted, Location: "/replays/" + r.ID.String(),
		Body: ReplayAccepted{Total: stored.Total, Replay: h.show(stored)},
	}, nil
}

func (h *replays) show(r db.Replay) *Replay {
	return &Replay{r, h.link(listing.ReplayWorkflowID(r.ID))}
}

type listReplaysInput struct {
	State  string `query:"state" enum:"running,completed,canceled,failed,any" default:"any"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the page before"`

	after *db.Position
}

// replayOrder is what cursors of this list belong to.
const replayOrder = "replays"

// Resolve reads the cursor.
func (in *listReplaysInput) Resolve(huma.Context) []error {
	var err error
	if in.after, err = parseCursor(in.Cursor, replayOrder); err != nil {
		return []error{&huma.ErrorDetail{Message: err.Error(), Location: "query.cursor", Value: in.Cursor}}
	}
	return nil
}

// ReplayPage is the answer of GET /replays.
type ReplayPage struct {
	Items      []*Replay `json:"items"`
	NextCursor string    `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

type listReplaysOutput struct{ Body ReplayPage }

func (h *replays) list(ctx context.Context, in *listReplaysInput) (*listReplaysOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	state := in.State
	if state == "any" {
		state = ""
	}
	page, next, err := h.store.List(ctx, state, in.after, in.Limit)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := &listReplaysOutput{ReplayPage{Items: make([]*Replay, len(page))}}
	for i, r := range page {
		out.Body.Items[i] = h.show(r)
	}
	if next != nil {
		out.Body.NextCursor = writeCursor(*next, replayOrder)
	}
	return out, nil
}

type replayInput struct {
	ID string `path:"id" format:"uuid"`
}

type replayOutput struct{ Body *Replay }

func (h *replays) get(ctx context.Context, in *replayInput) (*replayOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id, err := uuid.Parse(in.ID)
	if err != nil {
		return nil, problem(ctx, h.log, fault.Newf(fault.Invalid, "id: %q is not a UUID", in.ID))
	}
	r, err := h.store.Get(ctx, id)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &replayOutput{h.show(r)}, nil
}

// cancel is done when Postgres says so: the next batch sees it there. Telling the workflow only makes it sooner, so a
// Temporal that is away does not matter.
func (h *replays) cancel(ctx context.Context, in *replayInput) (*replayOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id, err := uuid.Parse(in.ID)
	if err != nil {
		return nil, problem(ctx, h.log, fault.Newf(fault.Invalid, "id: %q is not a UUID", in.ID))
	}
	r, err := h.store.Cancel(ctx, id, callerOf(ctx).Name, h.now())
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	if err := h.start.CancelReplay(ctx, id); err != nil && !errors.Is(err, context.Canceled) {
		h.log.WarnContext(ctx, "replay ends with its next batch", "workflow_id", listing.ReplayWorkflowID(id), "err", err)
	}
	return &replayOutput{h.show(r)}, nil
}

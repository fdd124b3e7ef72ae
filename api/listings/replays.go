package listings

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Replays serves /replays.
type Replays struct {
	Store  *dblistings.Replays
	Launch ReplayStarter

	door *api.Door
}

// A ReplayStarter starts and cancels the workflows of replays: *launch.Launch.
type ReplayStarter interface {
	// Replay starts the workflow of a replay, or joins the one of the same ID.
	Replay(ctx context.Context, r listing.Replay) error
	// CancelReplay tells the workflow of a replay to end.
	CancelReplay(ctx context.Context, id uuid.UUID) error
}

// Register implements api.Part.
func (h Replays) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Operate, huma.Operation{
		OperationID: "start-replay", Method: http.MethodPost, Path: "/replays", Tags: []string{"replays"},
		Summary: "Take stored adverts through the pipeline again", Errors: []int{409},
		DefaultStatus: http.StatusAccepted,
		Responses:     map[string]*huma.Response{"200": api.Answered[ReplayAccepted](d, "How many match: a dry run")},
		Description: "For every raw listing that matches, whether it changed or not, at a lower priority than new adverts. " +
			"With dry_run it only counts how many match. One replay runs at a time for a platform: while there is one, the " +
			"answer is 409 and names it. A request that is repeated joins the replay of the first: by its id, by its " +
			"Idempotency-Key, or without either while one of the same stage, filter and rate is running.",
	}), h.create)
	api.Serve(d, api.Needs(access.Read, api.Query("replays", "list-replays", "GET /replays",
		"List replays, the newest first", "")), h.list)
	api.Serve(d, api.Needs(access.Read, api.Op("replays", "get-replay", "GET /replays/{id}",
		"Get a replay and its progress", "")), h.get)
	api.Serve(d, api.Needs(access.Operate, api.Op("replays", "cancel-replay", "DELETE /replays/{id}", "Cancel a replay",
		"No more adverts are started; those already started are processed to their end. The replay stays on record, as "+
			"canceled.", 409)), h.cancel)
}

// ReplayStart is the body of POST /replays.
type ReplayStart struct {
	ID     *uuid.UUID  `json:"id,omitempty" doc:"chosen by the caller, so that the request can be repeated"`
	Stage  Stage       `json:"stage,omitempty" default:"normalize" doc:"where to enter the pipeline"`
	Filter ReplayWhich `json:"filter,omitempty" doc:"which raw listings; empty is all of them"`
	Rate   int         `json:"rate,omitempty" minimum:"1" maximum:"100" default:"20" doc:"adverts a second, at most"`
	DryRun bool        `json:"dry_run,omitempty" doc:"start nothing, only count"`
}

// ReplayWhich selects raw listings. Conditions combine.
type ReplayWhich struct {
	Platform     string      `json:"platform,omitempty" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Status       []string    `json:"status,omitempty" minItems:"1" maxItems:"5" enum:"scraped,normalized,imported,duplicate,rejected" doc:"any of these"`
	ScrapedSince *time.Time  `json:"scraped_since,omitempty" doc:"last scraped then or later"`
	ScrapedUntil *time.Time  `json:"scraped_until,omitempty" doc:"last scraped before"`
	IDs          []uuid.UUID `json:"ids,omitempty" minItems:"1" maxItems:"200" doc:"any of these listings"`
	Reason       string      `json:"reason,omitempty" pattern:"^[a-z_]{1,64}$" doc:"code of a reason for its rejection" example:"missing"`
}

type createReplayInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"chosen by the caller, in place of an id"`
	Body ReplayStart
}

// id is the ID of the replay that a request asks for: uuid.Nil when it says none.
func (in *createReplayInput) id(caller string) uuid.UUID {
	id := api.Keyed(replayKeys, caller, in.Key, uuid.Nil)
	api.Set(&id, in.Body.ID)
	return id
}

// replayKeys is the namespace of IDs that are made of an Idempotency-Key.
var replayKeys = uuid.MustParse("8f0c5f0e-3d2b-4c39-9d53-52b7b0a3a7c6")

// Resolve checks what a schema cannot express.
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

// Replay is a replay and its progress.
type Replay struct {
	ID        uuid.UUID            `json:"id"`
	State     string               `json:"state"`
	Stage     Stage                `json:"stage"`
	Filter    listing.ReplayFilter `json:"filter" doc:"which raw listings it takes"`
	Rate      int                  `json:"rate" doc:"adverts a second, at most"`
	Total     int64                `json:"total" doc:"adverts that matched when it was made, of those counted so far"`
	Counted   bool                 `json:"counted" doc:"all are counted: total is final"`
	Done      int64                `json:"done" doc:"processed to their end, skipped or failed"`
	Started   int64                `json:"started" doc:"workflows started, or joined where one was running"`
	Skipped   int64                `json:"skipped" doc:"not started; skips gives the reasons"`
	Failed    int64                `json:"failed" doc:"started, and not processed to their end within ten minutes"`
	Outcomes  ReplayOutcomes       `json:"outcomes"`
	Skips     ReplaySkips          `json:"skips"`
	Reason    string               `json:"reason,omitempty" doc:"why it failed"`
	StartedBy string               `json:"started_by"`
	CreatedAt time.Time            `json:"created_at"`
	UpdatedAt time.Time            `json:"updated_at"`
	EndedAt   *time.Time           `json:"ended_at,omitempty"`
	ETA       *time.Time           `json:"eta,omitempty" doc:"when it ends at the pace so far; absent until all are counted"`
	Workflow  api.WorkflowLink     `json:"workflow"`
}

// TransformSchema implements huma.SchemaTransformer.
func (Replay) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return api.OfThese(s, "state", listing.ReplayStates)
}

// ReplayOutcomes counts the adverts of a replay by how they ended.
type ReplayOutcomes struct {
	Imported  int64 `json:"imported"`
	Duplicate int64 `json:"duplicate"`
	Rejected  int64 `json:"rejected"`
	HandedOn  int64 `json:"handed_on" doc:"handed over to a stage that another team runs"`
}

// ReplaySkips counts the adverts that a replay did not start.
type ReplaySkips struct {
	Staged        int64 `json:"staged" doc:"came normalized by another team: enter at dedupe or import"`
	NotNormalized int64 `json:"not_normalized" doc:"no normalized form of the newest revision: enter at normalize"`
	Archived      int64 `json:"archived" doc:"no longer offered; a new scrape brings it back"`
	Gone          int64 `json:"gone" doc:"the platform does not offer it, or no scrape has seen it for as long as makes a listing stale"`
}

func (h Replays) show(r dblistings.Replay) *Replay {
	return &Replay{
		ID: r.ID, State: r.State, Stage: Stage(r.Stage), Filter: r.Filter, Rate: r.Rate, Total: r.Total, Counted: r.Counted,
		Done: r.Done, Started: r.Started, Skipped: r.Skipped, Failed: r.Failed, Outcomes: ReplayOutcomes(r.Outcomes),
		Skips: ReplaySkips(r.Skips), Reason: r.Reason, StartedBy: r.StartedBy, CreatedAt: r.CreatedAt,
		UpdatedAt: r.UpdatedAt, EndedAt: r.EndedAt, ETA: r.ETA, Workflow: h.door.Workflow(listing.ReplayWorkflowID(r.ID)),
	}
}

// ReplayAccepted is the answer of POST /replays.
type ReplayAccepted struct {
	DryRun  bool    `json:"dry_run" doc:"nothing was started"`
	Total   int64   `json:"total" doc:"raw listings that match"`
	Counted bool    `json:"counted" doc:"total is final; else it is an estimate for a dry run, and those counted so far for a replay"`
	Replay  *Replay `json:"replay,omitempty" doc:"absent for a dry run"`
	Warning string  `json:"warning,omitempty" doc:"what did not work: the replay is stored, and begins later"`
}

type createReplayOutput struct {
	Status   int
	Location string `header:"Location" doc:"where to see its progress"`
	Body     ReplayAccepted
}

// countWithin leaves the rest of a request's time to the estimate.
const countWithin = 4 * time.Second

// create is durably accepted when it answers: a workflow that cannot be started, is started later.
func (h Replays) create(ctx context.Context, in *createReplayInput) (*createReplayOutput, error) {
	filter, now := listing.ReplayFilter(in.Body.Filter), h.door.Now().UTC().Truncate(time.Microsecond)
	if in.Body.DryRun {
		total, exact, err := h.Store.Count(ctx, filter, countWithin, now)
		if err != nil {
			return nil, err
		}
		return &createReplayOutput{
			Status: http.StatusOK, Body: ReplayAccepted{DryRun: true, Total: total, Counted: exact},
		}, nil
	}
	by := api.CallerOf(ctx).Name
	r := listing.Replay{
		ID: in.id(by), Stage: string(in.Body.Stage), Filter: filter, Rate: in.Body.Rate, By: by, At: now,
	}
	stored, err := h.Store.StartReplay(ctx, r)
	if err != nil {
		return nil, err
	}
	warning := ""
	if stored.State == listing.ReplayRunning {
		warning = h.door.Reach(ctx, listing.ReplayWorkflowID(stored.ID), func(ctx context.Context) error {
			return h.Launch.Replay(ctx, stored.Request())
		})
	}
	return &createReplayOutput{
		Status: http.StatusAccepted, Location: "/replays/" + stored.ID.String(),
		Body: ReplayAccepted{Total: stored.Total, Counted: stored.Counted, Replay: h.show(stored), Warning: warning},
	}, nil
}

type listReplaysInput struct {
	State  string `query:"state" default:"any"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	states []string
	after  *db.Position
}

// replayOrder is the only order of replays, for their cursors.
const replayOrder = "replays"

// Resolve reads the cursor.
func (in *listReplaysInput) Resolve(ctx huma.Context) (wrong []error) {
	in.after, wrong = api.ReadPage(ctx, in.Cursor, replayOrder, in.Filters()...)
	return wrong
}

func (in *listReplaysInput) Filters() []api.Filter {
	return []api.Filter{{Name: "state", Values: &in.states, Known: api.OrAny(listing.ReplayStates)}}
}

// ReplayPage is the answer of GET /replays.
type ReplayPage api.Page[*Replay]

func (h Replays) list(ctx context.Context, in *listReplaysInput) (*api.Body[ReplayPage], error) {
	rows, next, err := h.Store.List(ctx, in.states, in.after, in.Limit)
	return api.BodyOf(ReplayPage(api.PageOf(rows, h.show, api.CursorAt(next, replayOrder)))), err
}

type replayInput struct {
	ID uuid.UUID `path:"id"`
}

func (h Replays) get(ctx context.Context, in *replayInput) (*api.Body[*Replay], error) {
	r, err := h.Store.Get(ctx, in.ID)
	return api.BodyOf(h.show(r)), err
}

// cancel is done when it is stored: the workflow reads that before its next batch. The signal to the workflow only
// makes that sooner, so cancel succeeds also while Temporal is unavailable.
func (h Replays) cancel(ctx context.Context, in *replayInput) (*api.Body[*Replay], error) {
	r, err := h.Store.Cancel(ctx, in.ID, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	if err := h.Launch.CancelReplay(ctx, in.ID); err != nil && !errors.Is(err, context.Canceled) {
		h.door.Log.WarnContext(ctx, "replay ends with its next batch",
			"workflow_id", listing.ReplayWorkflowID(in.ID), "err", err)
	}
	return api.BodyOf(h.show(r)), nil
}

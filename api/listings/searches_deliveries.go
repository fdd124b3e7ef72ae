package listings

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// told registers the operations on what saved searches have found and told.
func (h Searches) told(d *api.Door) {
	op := func(id, path, summary, description string) api.TenantOperation {
		return api.NeedsTenant(access.Read, huma.Operation{
			OperationID: id, Method: http.MethodGet, Path: path, Tags: []string{"searches"}, Summary: summary,
			Description: description, Errors: []int{404, 422, 503}, RejectUnknownQueryParameters: true,
		})
	}
	api.ServeTenant(d, op("list-search-deliveries", "/searches/{search}/deliveries",
		"List the deliveries of a saved search",
		"Each is a message to one of its targets, those that are due last first. One that has failed is a dead letter of the "+
			"queue notify, and can be replayed."), h.deliveries)
	api.ServeTenant(d, op("list-search-matches", "/searches/{search}/matches", "List what a saved search has found",
		"One item for each event, the newest first, whether it is told yet or not."), h.matches)
}

// The orders of these lists, for their cursors.
const (
	deliveriesOrder = "deliveries"
	matchesOrder    = "matches"
)

// A SearchDelivery is a message to a target of a saved search.
type SearchDelivery struct {
	ID         uuid.UUID        `json:"id" doc:"that webhooks have in Conveyor-Delivery"`
	Target     SearchTarget     `json:"target"`
	State      string           `json:"state"`
	DueAt      time.Time        `json:"due_at"`
	Tries      int              `json:"tries" doc:"that have failed"`
	Reason     string           `json:"reason,omitempty" doc:"of the last failure, or why it was dropped"`
	Items      int              `json:"items" doc:"events that it tells of"`
	StartedAt  *time.Time       `json:"started_at,omitempty" doc:"when it was begun last; in the future, when it is tried again"`
	FinishedAt *time.Time       `json:"finished_at,omitempty"`
	Workflow   api.WorkflowLink `json:"workflow"`
}

// TransformSchema implements huma.SchemaTransformer.
func (SearchDelivery) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return api.OfThese(s, "state", dblistings.DeliveryStates)
}

// SearchDeliveries is the answer of GET /searches/{search}/deliveries.
type SearchDeliveries api.Page[SearchDelivery]

type searchDeliveriesInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
	State  string    `query:"state" example:"failed,dropped"`
	Cursor string    `query:"cursor" maxLength:"1000"`
	Limit  int       `query:"limit" minimum:"1" maximum:"100" default:"50"`

	states []string
}

// Resolve reads the states.
func (in *searchDeliveriesInput) Resolve(ctx huma.Context) []error {
	return api.AnyOf(ctx, in.Filters()...)
}

func (in *searchDeliveriesInput) Filters() []api.Filter {
	return []api.Filter{{Name: "state", Values: &in.states, Known: dblistings.DeliveryStates}}
}

func (h Searches) deliveries(
	ctx context.Context, tenant string, in *searchDeliveriesInput,
) (*api.Body[SearchDeliveries], error) {
	after, err := api.ParseCursor(in.Cursor, deliveriesOrder)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "cursor: %w", err)
	}
	found, next, err := h.Store.Deliveries(ctx, tenant, in.Search, in.states, after, in.Limit)
	if err != nil {
		return nil, err
	}
	out := api.PageOf(found, func(d dblistings.SavedDelivery) SearchDelivery {
		return SearchDelivery{
			ID: d.ID, Target: SearchTarget{ID: d.Target, Kind: string(d.Kind), Label: d.Label, State: d.Stands},
			State: d.State, DueAt: d.DueAt, Tries: d.Tries, Reason: d.Reason, Items: d.Items,
			StartedAt: d.StartedAt, FinishedAt: d.FinishedAt,
			Workflow: h.door.WorkflowFor(ctx, saved.WorkflowID(d.ID)),
		}
	}, api.CursorAt(next, deliveriesOrder))
	out.Items = append([]SearchDelivery{}, out.Items...)
	return api.BodyOf(SearchDeliveries(out)), nil
}

// A SearchMatch is a piece of news that a saved search has found.
type SearchMatch struct {
	FoundHome

	Event   int64 `json:"event" doc:"grows with time"`
	Offered bool  `json:"offered" doc:"it is not archived by now"`
}

// SearchMatches is the answer of GET /searches/{search}/matches.
type SearchMatches api.Page[SearchMatch]

type searchMatchesInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
	Cursor string    `query:"cursor" maxLength:"1000"`
	Limit  int       `query:"limit" minimum:"1" maximum:"100" default:"50"`
}

// matchCursor is a position in the list of matches.
type matchCursor struct {
	Sort  string `json:"s"`
	Event int64  `json:"e"`
}

func (h Searches) matches(
	ctx context.Context, tenant string, in *searchMatchesInput,
) (*api.Body[SearchMatches], error) {
	var before *int64
	if in.Cursor != "" {
		var at matchCursor
		if err := api.DecodeCursor(in.Cursor, &at); err != nil || at.Sort != matchesOrder {
			return nil, fault.Newf(fault.Invalid, "cursor: %w", api.ErrCursor)
		}
		before = &at.Event
	}
	found, next, err := h.Store.Matches(ctx, tenant, in.Search, before, in.Limit)
	if err != nil {
		return nil, err
	}
	out := api.PageOf(found, func(i saved.Item) SearchMatch { return SearchMatch{showFound(i), i.Events[0], i.Offered} },
		api.Maybe(next, func(event int64) matchCursor { return matchCursor{matchesOrder, event} }))
	out.Items = append([]SearchMatch{}, out.Items...)
	return api.BodyOf(SearchMatches(out)), nil
}

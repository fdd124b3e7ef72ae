package outreach

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contact"
)

// segments registers /segments.
func (h Contacts) segments(d *api.Door) {
	api.ServeTenant(d, contactOp(access.Read, "list-segments", "GET /segments", "List the segments, by name", "", 409),
		h.listSegments)
	api.ServeTenant(d, contactOp(access.Operate, "create-segment", "POST /segments",
		"Save a filter of contacts as a segment", "", 201, 409), h.createSegment)
	api.ServeTenant(d, contactOp(access.Read, "get-segment", "GET /segments/{segment}",
		"Get a segment, and how many contacts it has", "", 409), h.getSegment)
	api.ServeTenant(d, contactOp(access.Operate, "change-segment", "PUT /segments/{segment}",
		"Change the name and the filter of a segment", "", 409), h.changeSegment)
	api.ServeTenant(d, contactOp(access.Operate, "change-segment-part", "PATCH /segments/{segment}",
		"Change the name or the filter of a segment",
		"Omitted fields are unchanged, also where another request changes them at the same time.", 409), h.changeSegmentPart)
	api.ServeTenant(d, contactOp(access.Operate, "delete-segment", "DELETE /segments/{segment}",
		"Delete a segment; its contacts stay", "", 409), h.deleteSegment)
}

// A Segment is a saved filter.
type Segment struct {
	ID        uuid.UUID      `json:"id"`
	Name      string         `json:"name"`
	Filter    contact.Filter `json:"filter"`
	Contacts  *int64         `json:"contacts,omitempty" doc:"that it has now; of a single segment"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
}

func showSegment(s dboutreach.Segment) Segment {
	return Segment{ID: s.ID, Name: s.Name, Filter: s.Filter, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt}
}

// Segments is the answer of GET /segments.
type Segments struct {
	Items []Segment `json:"items"`
}

func (h Contacts) listSegments(ctx context.Context, tenant string, in *tenantInput) (*api.Body[Segments], error) {
	list, err := h.Store.Segments(ctx, tenant)
	return api.BodyOf(Segments{api.Each(list, showSegment)}), err
}

// SegmentStart is the body of POST /segments and PUT /segments/{segment}.
type SegmentStart struct {
	Name   string         `json:"name" minLength:"1" maxLength:"200"`
	Filter contact.Filter `json:"filter"`
}

type createSegmentInput struct {
	api.OfTenant
	Body SegmentStart
}

func (h Contacts) createSegment(
	ctx context.Context, tenant string, in *createSegmentInput,
) (*api.Body[Segment], error) {
	put := dboutreach.Segment{ID: uuid.New(), Name: in.Body.Name, Filter: in.Body.Filter}
	kept, err := h.Store.PutSegment(ctx, tenant, put, api.CallerOf(ctx).Name, h.door.Now())
	return api.BodyOf(showSegment(kept)), err
}

type segmentInput struct {
	api.OfTenant
	Segment uuid.UUID `path:"segment"`
}

func (h Contacts) getSegment(ctx context.Context, tenant string, in *segmentInput) (*api.Body[Segment], error) {
	s, err := h.Store.Segment(ctx, tenant, in.Segment)
	if err != nil {
		return nil, err
	}
	n, err := h.Store.Count(ctx, tenant, s.Filter)
	if err != nil {
		return nil, err
	}
	out := showSegment(s)
	out.Contacts = &n
	return api.BodyOf(out), nil
}

type changeSegmentInput struct {
	api.OfTenant
	Segment uuid.UUID `path:"segment"`
	Body    SegmentStart
}

func (h Contacts) changeSegment(
	ctx context.Context, tenant string, in *changeSegmentInput,
) (*api.Body[Segment], error) {
	return h.change(ctx, tenant, in.Segment, &in.Body.Name, &in.Body.Filter)
}

// SegmentChange is the body of PATCH /segments/{segment}.
type SegmentChange struct {
	Name   *string         `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Filter *contact.Filter `json:"filter,omitempty"`
}

type changeSegmentPartInput struct {
	api.OfTenant
	Segment uuid.UUID `path:"segment"`
	Body    SegmentChange
}

func (h Contacts) changeSegmentPart(
	ctx context.Context, tenant string, in *changeSegmentPartInput,
) (*api.Body[Segment], error) {
	return h.change(ctx, tenant, in.Segment, in.Body.Name, in.Body.Filter)
}

func (h Contacts) change(ctx context.Context, tenant string, id uuid.UUID, name *string, f *contact.Filter) (
	*api.Body[Segment], error,
) {
	kept, err := h.Store.ChangeSegment(ctx, tenant, id, name, f, api.CallerOf(ctx).Name, h.door.Now())
	return api.BodyOf(showSegment(kept)), err
}

func (h Contacts) deleteSegment(ctx context.Context, tenant string, in *segmentInput) (*struct{}, error) {
	return nil, h.Store.DeleteSegment(ctx, tenant, in.Segment, api.CallerOf(ctx).Name, h.door.Now())
}

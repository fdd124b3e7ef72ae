package outreach

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contact"
)

// registerRefused registers what tells which rows of a file were refused.
func (h Uploads) registerRefused(d *api.Door) {
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Query("contacts", "list-upload-refusals",
		"GET /uploads/{upload}/refusals", "List the rows that were refused, in the order of the file",
		"Values are masked: errors.csv has the rows as they were in the file. While the upload runs, those found so "+
			"far.")), h.refusals)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Op("contacts", "list-upload-reasons",
		"GET /uploads/{upload}/refusals/reasons", "Count the refused rows of an upload by reason",
		"The first 10,000 of them are counted.")), h.reasons)
}

type listRefusalsInput struct {
	api.OfTenant
	Upload uuid.UUID `path:"upload"`
	Code   string    `query:"code" maxLength:"40" doc:"rows with this problem" example:"phone_invalid"`
	After  int64     `query:"after" minimum:"0" doc:"next of the previous page"`
	Limit  int       `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// Resolve checks what a schema cannot express.
func (in *listRefusalsInput) Resolve(huma.Context) []error {
	return api.WrongText("query.code", in.Code)
}

// UploadRefusals is the answer of GET /uploads/{upload}/refusals.
type UploadRefusals struct {
	Items []UploadRefusal `json:"items"`
	Next  int64           `json:"next,omitempty" doc:"pass it as after; absent on the last page"`
}

// An UploadRefusal is a row that was refused.
type UploadRefusal struct {
	Row      int64           `json:"row" doc:"of the record, from 1"`
	Line     int64           `json:"line" doc:"in the file, from 1"`
	Problems []UploadProblem `json:"problems"`
}

// An UploadProblem is why a row was refused.
type UploadProblem struct {
	Field string `json:"field,omitempty" doc:"the field, or the header of the column; absent: the whole row"`
	Code  string `json:"code" example:"phone_invalid"`
	Value string `json:"value,omitempty" doc:"the cell, masked"`
}

func (h Uploads) refusals(
	ctx context.Context, tenant string, in *listRefusalsInput,
) (*api.Body[UploadRefusals], error) {
	u, err := h.Store.WithPlan(ctx, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	var plan contact.Plan
	if u.Plan != nil {
		if err := json.Unmarshal(u.Plan, &plan); err != nil {
			return nil, fmt.Errorf("read plan of upload %s: %w", u.ID, err)
		}
	}
	rows, next, err := h.Store.Refused(ctx, u.Tenant, u.ID, in.Code, in.After, in.Limit)
	if err != nil {
		return nil, err
	}
	out := UploadRefusals{Items: api.Each(rows, func(r contact.Row) UploadRefusal {
		problems := api.Each(r.Problems, func(p contact.Problem) UploadProblem {
			return UploadProblem{p.Field, p.Code, contact.Mask(cellOf(plan.Mapping, r.Record, p.Field))}
		})
		return UploadRefusal{Row: r.Number, Line: r.Line, Problems: problems}
	})}
	if next != nil {
		out.Next = *next
	}
	return api.BodyOf(out), nil
}

// cellOf is the first cell of a record with a value in a column of a field, or with its header; "" when there is none.
func cellOf(m contact.Mapping, record []string, field string) string {
	for i, c := range m {
		if i < len(record) && record[i] != "" && slices.Contains([]string{c.Field, c.Header}, field) {
			return record[i]
		}
	}
	return ""
}

// UploadReasons is the answer of GET /uploads/{upload}/refusals/reasons.
type UploadReasons struct {
	Items []UploadReason `json:"items" doc:"the most frequent first; a row may have several"`
}

// An UploadReason counts the rows that were refused for a reason.
type UploadReason struct {
	Field string `json:"field,omitempty"`
	Code  string `json:"code" example:"phone_invalid"`
	Rows  int64  `json:"rows"`
}

func (h Uploads) reasons(ctx context.Context, tenant string, in *uploadInput) (*api.Body[UploadReasons], error) {
	u, err := h.Store.Get(ctx, tenant, in.Upload)
	if err != nil {
		return nil, err
	}
	rows, err := h.Store.Reasons(ctx, u.Tenant, u.ID)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(UploadReasons{api.Each(rows, func(r dboutreach.RefusedReason) UploadReason {
		return UploadReason{r.Field, r.Code, r.N}
	})}), nil
}

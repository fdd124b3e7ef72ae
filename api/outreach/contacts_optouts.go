package outreach

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
)

// optOuts registers the list of those who have opted out.
func (h Contacts) optOuts(d *api.Door) {
	api.ServeTenant(d, contactOp(access.Operate, "list-opt-outs", "GET /opt-outs",
		"List the contacts that are never written to", "The oldest contacts first; 10,000 contacts are looked at for a "+
			"page, so one may be short, or empty, and not the last. Of people who are no contacts no number is kept, so "+
			"they are not in it. The audit has each request."), h.listOptOuts)
}

// A ContactOptOut is why a contact is not written to.
type ContactOptOut struct {
	Contact int64     `json:"contact" doc:"its ID"`
	Phone   string    `json:"phone,omitempty" doc:"E.164"`
	Email   string    `json:"email,omitempty"`
	Name    string    `json:"name,omitempty"`
	Source  string    `json:"source" enum:"import,api,message" doc:"message: the person wrote it, or set it in WhatsApp, and may take it back; the others hold for good"`
	At      time.Time `json:"at"`
}

type listOptOutsInput struct {
	api.OfTenant
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	after int64
}

// optOutsOrder is the only order of opt-outs, for their cursors.
const optOutsOrder = "opt-outs"

// Resolve reads the cursor.
func (in *listOptOutsInput) Resolve(huma.Context) []error {
	var err error
	in.after, err = api.ParseIDCursor(in.Cursor, optOutsOrder)
	return api.WrongCursor(in.Cursor, err)
}

// OptOutPage is the answer of GET /opt-outs.
type OptOutPage api.Page[ContactOptOut]

func (h Contacts) listOptOuts(ctx context.Context, tenant string, in *listOptOutsInput) (*api.Body[OptOutPage], error) {
	rows, next, err := h.Store.OptOuts(ctx, tenant, in.after, in.Limit)
	if err == nil {
		err = h.door.GiveOut(ctx, h.Store.Shown, tenant, api.OptOutsShown, "tenant/"+tenant, len(rows),
			map[string]any{"contacts": len(rows)})
	}
	if err != nil {
		return nil, err
	}
	show := func(o dboutreach.ContactOptOut) ContactOptOut { return ContactOptOut(o) }
	return api.BodyOf(OptOutPage(api.PageOf(rows, show, api.CursorOf(next, optOutsOrder)))), nil
}

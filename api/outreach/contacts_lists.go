package outreach

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
)

// lists registers /contact-lists.
func (h Contacts) lists(d *api.Door) {
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("contacts", "list-contact-lists", "GET /contact-lists",
		"List the lists of contacts, by name", "")), h.listLists)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("contacts", "create-contact-list", "POST /contact-lists",
		"Create a list of contacts", "Where there is a list of that name, the answer is that one.", 409)), h.createList)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("contacts", "change-contact-list",
		"POST /contact-lists/{list}/members", "Add contacts to a list, and remove others",
		"Contacts that are not there are ignored. Files of contacts become members by the parameter list of POST "+
			"/uploads.")), h.changeMembers)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Within(api.DeleteListTimeout, api.Op("contacts",
		"delete-contact-list", "DELETE /contact-lists/{list}", "Delete a list",
		"Its contacts stay. When the answer is 503 the list may be gone and some members not: a repeated request goes on. "+
			"It is 409 while a campaign that has begun still chooses its contacts by the list, until its written_at is set.",
		409))), h.deleteList)
}

// A ContactList is a list that contacts are members of.
type ContactList struct {
	ID        uuid.UUID `json:"id"`
	Name      string    `json:"name"`
	Members   *int64    `json:"members,omitempty" doc:"in the list of lists"`
	CreatedAt time.Time `json:"created_at"`
}

func showList(l dboutreach.ContactList) ContactList {
	return ContactList{ID: l.ID, Name: l.Name, CreatedAt: l.CreatedAt}
}

// ContactLists is the answer of GET /contact-lists.
type ContactLists struct {
	Items []ContactList `json:"items"`
}

type tenantInput struct{ api.OfTenant }

func (h Contacts) listLists(ctx context.Context, tenant string, in *tenantInput) (*api.Body[ContactLists], error) {
	lists, err := h.Store.Lists(ctx, tenant)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(ContactLists{api.Each(lists, func(l dboutreach.CountedList) ContactList {
		shown := showList(l.ContactList)
		shown.Members = &l.Members
		return shown
	})}), nil
}

// ContactListStart is the body of POST /contact-lists.
type ContactListStart struct {
	Name string `json:"name" minLength:"1" maxLength:"200"`
}

type createListInput struct {
	api.OfTenant
	Body ContactListStart
}

func (h Contacts) createList(ctx context.Context, tenant string, in *createListInput) (*api.Body[ContactList], error) {
	l, err := h.Store.CreateList(ctx, tenant, in.Body.Name, api.CallerOf(ctx).Name, h.door.Now())
	return api.BodyOf(showList(l)), err
}

// MembersChange is the body of POST /contact-lists/{list}/members.
type MembersChange struct {
	Add    []int64 `json:"add,omitempty" maxItems:"10000" doc:"IDs of contacts"`
	Remove []int64 `json:"remove,omitempty" maxItems:"10000" doc:"IDs of contacts"`
}

type changeMembersInput struct {
	api.OfTenant
	List uuid.UUID `path:"list"`
	Body MembersChange
}

// MembersChanged is the answer of POST /contact-lists/{list}/members.
type MembersChanged struct {
	Added   int64 `json:"added" doc:"that were no members"`
	Removed int64 `json:"removed" doc:"that were members"`
}

func (h Contacts) changeMembers(
	ctx context.Context, tenant string, in *changeMembersInput,
) (*api.Body[MembersChanged], error) {
	added, removed, err := h.Store.Members(ctx, tenant, in.List, in.Body.Add, in.Body.Remove, api.CallerOf(ctx).Name,
		h.door.Now())
	return api.BodyOf(MembersChanged{added, removed}), err
}

type contactListInput struct {
	api.OfTenant
	List uuid.UUID `path:"list"`
}

func (h Contacts) deleteList(ctx context.Context, tenant string, in *contactListInput) (_ *struct{}, err error) {
	for more := true; more && err == nil; {
		more, err = h.Store.DeleteList(ctx, tenant, in.List, 10_000, api.CallerOf(ctx).Name, h.door.Now())
	}
	return nil, err
}

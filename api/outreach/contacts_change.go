package outreach

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// changes registers what changes single contacts.
func (h Contacts) changes(d *api.Door, op func(
	role access.Role, id, method, path, summary, description string,
) api.TenantOperation) {
	put := op(access.Operate, "put-contact", http.MethodPost, "/contacts", "Add a contact, or correct one",
		"One with that telephone number, or with that address and no number, is corrected: what is given replaces what it "+
			"has, fields that are not given stay, and tags are added, up to 50 in all. Everything is read as a row of a file "+
			"is. It may be repeated.")
	tag := op(access.Operate, "tag-contacts", http.MethodPost, "/contacts/tags", "Add and remove tags of contacts",
		"A tag in both lists is removed. A contact has at most 50 tags: those that it has stay, and what is beyond is left "+
			"out. Contacts that are not there are ignored. It may be repeated.")
	put.Errors = append(put.Errors, http.StatusConflict)
	api.ServeTenant(d, put, h.put)
	api.ServeTenant(d, tag, h.tag)
}

// ContactPut is the body of POST /contacts.
type ContactPut struct {
	Phone      string            `json:"phone,omitempty" maxLength:"100" doc:"a telephone number; one without country code is of the tenant's region"`
	Email      string            `json:"email,omitempty" maxLength:"400"`
	Name       string            `json:"name,omitempty" maxLength:"200" doc:"absent: of the parts, where one is given"`
	GivenName  string            `json:"given_name,omitempty" maxLength:"200"`
	FamilyName string            `json:"family_name,omitempty" maxLength:"200"`
	Locale     string            `json:"locale,omitempty" maxLength:"200" doc:"a language: fr, fr-CA, French"`
	Tags       []string          `json:"tags,omitempty" maxItems:"50" doc:"that it gets"`
	Fields     map[string]string `json:"fields,omitempty" maxProperties:"100" doc:"custom fields: names of small letters, digits and _"`
	Known      string            `json:"known,omitempty" enum:"update,skip,fail" default:"update" doc:"what becomes of one that is there: it is corrected, stays as it is, or is a conflict"`
}

type putContactInput struct {
	api.OfTenant
	Body ContactPut
}

// Resolve checks the names of custom fields.
func (in *putContactInput) Resolve(huma.Context) (wrong []error) {
	for name := range in.Body.Fields {
		if !contact.IsCustom(name) {
			wrong = append(wrong, &huma.ErrorDetail{
				Message: "expected names of small letters, digits and _", Location: "body.fields", Value: name,
			})
		}
	}
	return wrong
}

// A ContactStored is the answer of POST /contacts.
type ContactStored struct {
	Contact
	Added bool `json:"added" doc:"it was not there before"`
}

// put stores a contact. Its errors repeat nothing of the person.
func (h Contacts) put(ctx context.Context, tenant string, in *putContactInput) (*api.Body[ContactStored], error) {
	t, err := h.door.Tenants.Get(ctx, tenant)
	if err != nil {
		return nil, err
	}
	b := in.Body
	c, problems := contact.Given(contact.Contact{
		Phone: b.Phone, Email: b.Email, Name: b.Name, GivenName: b.GivenName, FamilyName: b.FamilyName, Locale: b.Locale,
		Tags: b.Tags, Fields: b.Fields,
	}, t.Region)
	if len(problems) > 0 {
		return nil, wrongContact(problems)
	}
	if b.Name == "" && (c.GivenName == "") != (c.FamilyName == "") { // the other part is the one that is stored
		stored, err := h.Store.Find(ctx, tenant, c.Key)
		if class, _ := fault.Of(err); err != nil && class != fault.Gone {
			return nil, err
		}
		c.Name = strings.TrimSpace(cmp.Or(c.GivenName, stored.GivenName) + " " + cmp.Or(c.FamilyName, stored.FamilyName))
	}
	known := dboutreach.Known(b.Known)
	id, added, err := h.Store.Put(ctx, tenant, c, known, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	stored, err := h.Store.Get(ctx, tenant, id)
	return api.BodyOf(ContactStored{showContact(stored), added}), err
}

// wrongContact refuses a contact, by the codes of its problems.
func wrongContact(problems []contact.Problem) error {
	wrong := api.Each(problems, func(p contact.Problem) error {
		return &huma.ErrorDetail{Message: "cannot be read (" + p.Code + ")", Location: "body." + p.Field}
	})
	return huma.Error422UnprocessableEntity("the contact cannot be read", wrong...)
}

// ContactTags is the body of POST /contacts/tags.
type ContactTags struct {
	Contacts []int64  `json:"contacts" minItems:"1" maxItems:"10000" doc:"IDs of contacts"`
	Add      []string `json:"add,omitempty" maxItems:"50"`
	Remove   []string `json:"remove,omitempty" maxItems:"50"`
}

type tagContactsInput struct {
	api.OfTenant
	Body ContactTags
}

// ContactsTagged is the answer of POST /contacts/tags.
type ContactsTagged struct {
	Changed int64 `json:"changed" doc:"contacts whose tags are others now"`
}

func (h Contacts) tag(ctx context.Context, tenant string, in *tagContactsInput) (*api.Body[ContactsTagged], error) {
	ids := slices.Compact(slices.Sorted(slices.Values(in.Body.Contacts)))
	n, err := h.Store.Tag(ctx, tenant, ids, in.Body.Add, in.Body.Remove, api.CallerOf(ctx).Name, h.door.Now())
	return api.BodyOf(ContactsTagged{n}), err
}

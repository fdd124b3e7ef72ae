package outreach

import (
	"context"
	"encoding/json"
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
func (h Contacts) changes(d *api.Door) {
	api.ServeTenant(d, contactOp(access.Operate, "put-contact", "POST /contacts", "Add a contact, or correct one",
		"One with that telephone number, or with that address and no number, is corrected: what is given replaces what it "+
			"has, null empties a field, fields that are not given stay, and tags are added, up to 50 in all. Everything is "+
			"read as a row of a file is, so an empty text gives nothing. A contact that loses an address which has opted "+
			"out stays opted out, by its number. It may be repeated.", 409), h.put)
	api.ServeTenant(d, contactOp(access.Operate, "tag-contacts", "POST /contacts/tags", "Add and remove tags of contacts",
		"A tag in both lists is removed. A contact has at most 50 tags: those that it has stay, and what is beyond is left "+
			"out. Contacts that are not there are ignored. It may be repeated."), h.tag)
}

// ContactPut is the body of POST /contacts.
type ContactPut struct {
	Phone      string          `json:"phone,omitempty" maxLength:"100" doc:"a telephone number; one without country code belongs to the tenant's region"`
	Email      Text            `json:"email,omitempty,omitzero" maxLength:"400" doc:"null: it has none any more"`
	Name       Text            `json:"name,omitempty,omitzero" maxLength:"200" doc:"absent: of the parts, where one is given or emptied"`
	GivenName  Text            `json:"given_name,omitempty,omitzero" maxLength:"200"`
	FamilyName Text            `json:"family_name,omitempty,omitzero" maxLength:"200"`
	Locale     Text            `json:"locale,omitempty,omitzero" maxLength:"200" doc:"a language: fr, fr-CA, French"`
	Tags       []string        `json:"tags,omitempty" maxItems:"50" doc:"that it gets"`
	Fields     map[string]Text `json:"fields,omitempty" maxProperties:"100" doc:"custom fields: names of small letters, digits and _; null in place of a text empties one"`
	Known      string          `json:"known,omitempty" enum:"update,skip,fail" default:"update" doc:"what becomes of one that is there: it is corrected, stays as it is, or is a conflict"`
}

// A Text is one of a request: absent (its zero value), a text, or null, which empties what it is about.
type Text struct {
	Value string
	Null  bool
}

// Schema implements huma.SchemaProvider.
func (Text) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Nullable: true}
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *Text) UnmarshalJSON(data []byte) error {
	*t = Text{Null: string(data) == "null"}
	return json.Unmarshal(data, &t.Value)
}

// MarshalJSON implements json.Marshaler.
func (t Text) MarshalJSON() ([]byte, error) {
	if t.Null {
		return []byte("null"), nil
	}
	return json.Marshal(t.Value)
}

// instead is what a text of a request leaves of one that is stored: itself, as it was read, nothing, or what was there.
func (t Text) instead(read, stored string) string {
	if t.Null || read != "" {
		return read
	}
	return stored
}

// empties are the fields that a request empties.
func (b ContactPut) empties() (fields []string) {
	add := func(field string, t Text) {
		if t.Null {
			fields = append(fields, field)
		}
	}
	add(contact.FieldEmail, b.Email)
	add(contact.FieldName, b.Name)
	add(contact.FieldGiven, b.GivenName)
	add(contact.FieldFamily, b.FamilyName)
	add(contact.FieldLocale, b.Locale)
	for name, t := range b.Fields {
		add(contact.FieldCustom+name, t)
	}
	return fields
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
	custom := make(map[string]string, len(b.Fields))
	for name, t := range b.Fields {
		custom[name] = t.Value
	}
	c, problems := contact.Given(contact.Contact{
		Phone: b.Phone, Email: b.Email.Value, Name: b.Name.Value, GivenName: b.GivenName.Value,
		FamilyName: b.FamilyName.Value, Locale: b.Locale.Value, Tags: b.Tags, Fields: custom,
	}, t.Region)
	if len(problems) > 0 {
		return nil, wrongContact(problems)
	}
	empty := b.empties()
	switch none := (Text{}); {
	case b.Name.Null:
		c.Name = ""
	case b.Name.Value == "" && (c.GivenName == "" || c.FamilyName == "") && (b.GivenName != none || b.FamilyName != none):
		bare, err := h.rename(ctx, tenant, b, &c)
		if err != nil {
			return nil, err
		}
		if bare {
			empty = append(empty, contact.FieldName)
		}
	}
	known := dboutreach.Known(b.Known)
	id, added, err := h.Store.Put(ctx, tenant, c, known, api.CallerOf(ctx).Name, h.door.Now(), empty...)
	if err != nil {
		return nil, err
	}
	stored, err := h.Store.Get(ctx, tenant, id)
	if err != nil {
		return nil, err
	}
	// A request that changes nothing leaves no other entry, and has the whole person for an answer.
	h.door.GiveOutOften(ctx, tenant, api.ContactPutShown, "put-contact")
	return api.BodyOf(ContactStored{showContact(stored), added}), nil
}

// rename makes the whole name of a contact of its parts, where a request changes one of them and the other is the one
// that is stored. bare says that nothing is left of a name that was made so.
func (h Contacts) rename(ctx context.Context, tenant string, b ContactPut, c *contact.Contact) (bare bool, err error) {
	stored, err := h.Store.Find(ctx, tenant, c.Key)
	if err != nil && fault.ClassOf(err) != fault.Gone {
		return false, err
	}
	given := b.GivenName.instead(c.GivenName, stored.GivenName)
	family := b.FamilyName.instead(c.FamilyName, stored.FamilyName)
	c.Name = ""
	if given != stored.GivenName || family != stored.FamilyName {
		c.Name = strings.TrimSpace(given + " " + family)
		bare = c.Name == "" && stored.Name == strings.TrimSpace(stored.GivenName+" "+stored.FamilyName)
	}
	return bare, nil
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

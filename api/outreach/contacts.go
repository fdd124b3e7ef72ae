package outreach

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Contacts serves the people that tenants write to, their lists and their segments.
type Contacts struct {
	Store *dboutreach.Contacts

	door *api.Door
}

// Register implements api.Part.
func (h Contacts) Register(d *api.Door) {
	h.door = d
	api.ServeTenant(d, contactOp(access.Operate, "search-contacts", "POST /contacts/search", "Search contacts",
		"The oldest first. It is a POST so that no telephone number or name is in an address, which proxies log. The audit "+
			"has each request."),
		h.search)
	api.ServeTenant(d, contactOp(access.Operate, "count-contacts", "POST /contacts/count", "Count contacts", ""), h.count)
	export := contactOp(access.Operate, "export-contacts", "POST /contacts/export", "Export contacts as CSV",
		"All that a query has, the oldest first, with a column for each custom field, up to 993. Cells that a spreadsheet "+
			"would run as a formula have an apostrophe before them, which an import takes away. An export that fails on the "+
			"way ends without its last chunk.")
	export.Responses = api.Streamed("The contacts", "text/csv")
	api.StreamTenant(d, export, h.export)
	api.ServeTenant(d, contactOp(access.Operate, "get-contact", "GET /contacts/{contact}", "Get a contact",
		"The audit has each request."),
		h.get)
	api.ServeTenant(d, contactOp(access.Operate, "export-person", "GET /contacts/{contact}/export",
		"Get all that is kept of a person", "The contact, its lists, its opt-out, its messages, and the rows of files "+
			"that were refused and have its phone or address, for a request of that person. Files that were uploaded are "+
			"not in it."), h.person)
	api.ServeTenant(d, contactOp(access.Operate, "delete-contact", "DELETE /contacts/{contact}",
		"Delete a person for good", "The contact, its places in lists, and the recipient and content of its messages; messages that wait are not sent. "+
			"An opt-out stays, without the phone, so that it holds when the person is imported again. Uploaded files are "+
			"kept as long as files are kept. The audit does not name the person."), h.remove)
	api.ServeTenant(d, contactOp(access.Operate, "opt-out-contact", "POST /contacts/{contact}/opt-out",
		"Never write to a contact again", "Its telephone number and its e-mail address are opted out, and with "+
			"the address every contact that has it: of a couple or an office with one address, all. The answer says how many "+
			"contacts that are. POST /opt-outs with the phone alone opts out no other contact. It holds for good, also across a "+
			"deletion and another import."), h.optOut)
	api.ServeTenant(d, contactOp(access.Operate, "opt-out-person", "POST /opt-outs",
		"Never write to a telephone number or an address again", "Whether a contact has it or not. A number without "+
			"country code belongs to the tenant's region. It holds for good."), h.optOutPerson)
	h.optOuts(d)
	h.changes(d)
	h.lists(d)
	h.segments(d)
}

// contactOp is an operation on contacts, for keys of tenants.
func contactOp(role access.Role, id, route, summary, description string, statuses ...int) api.TenantOperation {
	return api.NeedsTenant(role, api.Op("contacts", id, route, summary, description, statuses...))
}

// ContactQuery says which contacts are meant: those that all of its parts have.
type ContactQuery struct {
	Filter  *contact.Filter `json:"filter,omitempty" doc:"conditions; absent: all contacts"`
	Segment *uuid.UUID      `json:"segment,omitempty" doc:"a saved filter"`
	Text    string          `json:"text,omitempty" maxLength:"200" doc:"part of a telephone number, an address or a name"`
}

// query is the filter of a query. One that means nothing is fault.Invalid.
func (h Contacts) query(ctx context.Context, tenant string, q ContactQuery) (f contact.Filter, err error) {
	var all []contact.Filter
	if q.Segment != nil {
		s, err := h.Store.Segment(ctx, tenant, *q.Segment)
		if err != nil {
			return contact.Filter{}, err
		}
		all = append(all, s.Filter)
	}
	if q.Filter != nil {
		all = append(all, *q.Filter)
	}
	if text := strings.TrimSpace(q.Text); text != "" {
		all = append(all, textFilter(text))
	}
	all = slices.DeleteFunc(all, contact.Filter.Empty)
	switch len(all) {
	case 0:
		return f, f.Check()
	case 1:
		return all[0], all[0].Check()
	}
	f.All = all
	return f, f.Check()
}

// textFilter is what a person looks for by a piece of text. Of a telephone number the digits count.
func textFilter(text string) contact.Filter {
	f := contact.Filter{Any: []contact.Filter{
		{Field: contact.FieldName, Contains: &text}, {Field: contact.FieldEmail, Contains: &text},
	}}
	digits := strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, text)
	if strings.Trim(text, "+0123456789 .-()\u00a0\u202f") == "" && digits != "" {
		f.Any = append(f.Any, contact.Filter{Field: contact.FieldPhone, Contains: &digits})
	}
	return f
}

// A Contact is a person that a tenant writes to.
type Contact struct {
	ID         int64             `json:"id"`
	Phone      string            `json:"phone,omitempty" doc:"E.164, as given"`
	Country    string            `json:"country,omitempty" doc:"of the phone, ISO 3166-1 alpha-2"`
	Email      string            `json:"email,omitempty"`
	Name       string            `json:"name,omitempty"`
	GivenName  string            `json:"given_name,omitempty"`
	FamilyName string            `json:"family_name,omitempty"`
	Locale     string            `json:"locale,omitempty" doc:"BCP 47"`
	Tags       []string          `json:"tags"`
	Fields     map[string]string `json:"fields" doc:"custom fields"`
	WaID       string            `json:"wa_id,omitempty" doc:"the number as WhatsApp has it, digits only; absent: as phone, or it was never written to"`
	OptedOut   bool              `json:"opted_out" doc:"it is never written to"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
}

func showContact(c dboutreach.Contact) Contact {
	return Contact{
		ID: c.ID, Phone: c.Phone, Country: c.Country, Email: c.Email, Name: c.Name, GivenName: c.GivenName,
		FamilyName: c.FamilyName, Locale: c.Locale, Tags: c.Tags, Fields: c.Fields, WaID: c.WaID, OptedOut: c.OptedOut,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt,
	}
}

// ContactSearch is the body of POST /contacts/search.
type ContactSearch struct {
	ContactQuery
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"20"`
	Cursor string `json:"cursor,omitempty" maxLength:"400" doc:"next_cursor of the previous page, for the same query"`
}

type searchContactsInput struct {
	api.OfTenant
	Body ContactSearch

	after int64
}

// contactOrder is the only order of contacts, for their cursors.
const contactOrder = "contacts"

// Resolve reads the cursor.
func (in *searchContactsInput) Resolve(huma.Context) (wrong []error) {
	var err error
	if in.after, err = api.ParseIDCursor(in.Body.Cursor, contactOrder); err != nil {
		wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: "body.cursor"})
	}
	return wrong
}

// ContactPage is the answer of POST /contacts/search.
type ContactPage api.Page[Contact]

func (h Contacts) search(ctx context.Context, tenant string, in *searchContactsInput) (*api.Body[ContactPage], error) {
	f, err := h.query(ctx, tenant, in.Body.ContactQuery)
	if err != nil {
		return nil, err
	}
	rows, next, err := h.Store.Search(ctx, tenant, f, in.after, in.Body.Limit)
	if err == nil {
		err = h.door.GiveOut(ctx, h.Store.Shown, tenant, api.ContactsShown, "tenant/"+tenant, len(rows),
			map[string]any{"filter": digestOf(f), "rows": len(rows)})
	}
	if err != nil {
		return nil, err
	}
	return api.BodyOf(ContactPage(api.PageOf(rows, showContact, api.CursorOf(next, contactOrder)))), nil
}

// digestOf is what the audit has of a filter. There are so few telephone numbers that the digest of one tells it.
func digestOf(f contact.Filter) string {
	doc, err := json.Marshal(f.Textless())
	if err != nil {
		panic(err) // texts, numbers and times
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:8])
}

type contactQueryInput struct {
	api.OfTenant
	Body ContactQuery
}

// ContactCount is the answer of POST /contacts/count.
type ContactCount struct {
	Contacts int64 `json:"contacts"`
}

func (h Contacts) count(ctx context.Context, tenant string, in *contactQueryInput) (*api.Body[ContactCount], error) {
	f, err := h.query(ctx, tenant, in.Body)
	if err != nil {
		return nil, err
	}
	n, err := h.Store.Count(ctx, tenant, f)
	return api.BodyOf(ContactCount{n}), err
}

// exportFields are the columns of an export before those of custom fields. The first ones have headers that an import
// knows.
var exportFields = []string{
	contact.FieldPhone, contact.FieldEmail, contact.FieldName, contact.FieldGiven, contact.FieldFamily,
	contact.FieldLocale, contact.FieldTags,
}

func (h Contacts) export(ctx context.Context, tenant string, in *contactQueryInput) (*huma.StreamResponse, error) {
	finding, cancel := context.WithTimeout(ctx, api.ContactsTimeout)
	defer cancel()
	f, err := h.query(finding, tenant, in.Body)
	if err != nil {
		return nil, err
	}
	custom, err := h.Store.FieldNames(finding, tenant, maxExportFields+1)
	if err != nil {
		return nil, err
	}
	if len(custom) > maxExportFields {
		return nil, fault.Newf(fault.Invalid, "the contacts have more than %d custom fields, and an import takes no more; "+
			"the export of the tenant has all", maxExportFields)
	}
	header := func(name string) string { return contact.FieldCustom + name }
	columns := append(slices.Clone(exportFields), api.Each(custom, header)...)
	const batch = 1000
	detail := map[string]any{"filter": digestOf(f)}
	record := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), api.RequestTimeout)
		defer cancel()
		return h.Store.Shown(ctx, tenant, api.ContactsExported, "tenant/"+tenant, api.CallerOf(ctx).Name, h.door.Now(), detail)
	}
	if err := record(); err != nil { // nothing is given out without a record
		return nil, err
	}
	h.door.Given.Read(api.ContactsExported)
	return h.door.Export(api.File{ContentType: "text/csv; charset=utf-8; header=present", Name: "contacts.csv"},
		func(ctx context.Context, w *api.Export) {
			given := 0
			defer func() { // once more, with how many were given out, also to a reader that is gone
				detail["rows"] = given
				if err := record(); err != nil {
					h.door.Log.WarnContext(ctx, "the end of an export could not be recorded", "tenant", tenant, "err", err)
				}
			}()
			out, err := contact.NewWriter(w, columns)
			for after := new(int64(0)); after != nil && err == nil; {
				var rows []dboutreach.Contact
				rows, after, err = h.Store.Search(ctx, tenant, f, *after, batch)
				if err == nil && given+len(rows) > api.ExportRows {
					err = api.TooManyRows(api.ExportRows)
				}
				if err != nil {
					w.Fail(err)
					return
				}
				given += len(rows)
				h.door.Given.Gave(api.ContactsExported, len(rows))
				for i := 0; i < len(rows) && err == nil; i++ {
					c := rows[i]
					cells := []string{
						c.Phone, c.Email, c.Name, c.GivenName, c.FamilyName, c.Locale, strings.Join(c.Tags, "; "),
					}
					for _, name := range custom {
						cells = append(cells, c.Fields[name])
					}
					err = out.Write(cells)
				}
			}
			if err == nil {
				err = out.Close()
			}
			w.Note(err)
		}), nil
}

// maxExportFields is how many custom fields an export has columns for, so that an import takes it.
var maxExportFields = contact.MaxColumns - len(exportFields)

type contactInput struct {
	api.OfTenant
	Contact int64 `path:"contact" minimum:"1"`
}

func (h Contacts) get(ctx context.Context, tenant string, in *contactInput) (*api.Body[Contact], error) {
	c, err := h.Store.Get(ctx, tenant, in.Contact)
	if err == nil {
		err = h.door.GiveOut(ctx, h.Store.Shown, tenant, api.ContactShown, fmt.Sprint("contact/", in.Contact), 1, nil)
	}
	return api.BodyOf(showContact(c)), err
}

// A Person is all that is kept of a contact.
type Person struct {
	Contact  Contact         `json:"contact"`
	Lists    []ContactList   `json:"lists"`
	OptOut   *OptOut         `json:"opt_out,omitempty"`
	Messages []PersonMessage `json:"messages"`
	Refused  []PersonRow     `json:"refused,omitempty" doc:"rows of files that were refused, and have the phone or the address"`
	LeftOut  int64           `json:"left_out,omitempty" doc:"messages and rows that are missing here, for there are too many: the oldest ones; the export of the tenant has all"`
}

// A PersonRow is a row of a file that was refused.
type PersonRow struct {
	Upload   uuid.UUID        `json:"upload"`
	Row      int64            `json:"row" doc:"number of the record, from 1"`
	Line     int64            `json:"line"`
	Problems []PreviewProblem `json:"problems"`
	Record   []string         `json:"record" doc:"the cells as they were in the file"`
}

// An OptOut is a wish for no more messages.
type OptOut struct {
	Source string    `json:"source" enum:"import,api,message"`
	At     time.Time `json:"at"`
}

// A PersonMessage is a message to a person.
type PersonMessage struct {
	ID          uuid.UUID       `json:"id"`
	Campaign    *uuid.UUID      `json:"campaign,omitempty"`
	Recipient   string          `json:"recipient"`
	State       string          `json:"state"`
	Body        json.RawMessage `json:"body"`
	QueuedAt    time.Time       `json:"queued_at"`
	SentAt      *time.Time      `json:"sent_at,omitempty"`
	DeliveredAt *time.Time      `json:"delivered_at,omitempty"`
	ReadAt      *time.Time      `json:"read_at,omitempty"`
	WAUser      string          `json:"wa_user,omitempty" doc:"WhatsApp's ID of the person within the tenant's business, where it is known"`
	WAUserWas   string          `json:"wa_user_was,omitempty" doc:"what it called the person before that: several have spaces between them, the latest last"`
}

func (h Contacts) person(ctx context.Context, tenant string, in *contactInput) (*api.Body[Person], error) {
	p, err := h.Store.Export(ctx, tenant, in.Contact)
	if err == nil {
		err = h.door.GiveOut(ctx, h.Store.Shown, tenant, api.ContactExported, fmt.Sprint("contact/", in.Contact), 1,
			map[string]any{"messages": len(p.Messages)})
	}
	if err != nil {
		return nil, err
	}
	return api.BodyOf(Person{
		Contact: showContact(p.Contact), Lists: api.Each(p.Lists, showList),
		OptOut:   api.Maybe(p.OptOut, func(o dboutreach.OptOut) OptOut { return OptOut(o) }),
		Messages: api.Each(p.Messages, func(m dboutreach.PersonMessage) PersonMessage { return PersonMessage(m) }),
		Refused: api.Each(p.Refused, func(r dboutreach.PersonRow) PersonRow {
			problems := api.Each(r.Problems, func(p contact.Problem) PreviewProblem { return PreviewProblem(p) })
			return PersonRow{r.Upload, r.Row, r.Line, problems, r.Record}
		}),
		LeftOut: p.LeftOut,
	}), nil
}

func (h Contacts) remove(ctx context.Context, tenant string, in *contactInput) (*struct{}, error) {
	return nil, h.Store.Delete(ctx, tenant, in.Contact, api.CallerOf(ctx).Name, h.door.Now())
}

// optOutSource is the source of opt-outs by this API.
const optOutSource = "api"

// A ContactOptedOut is the answer of POST /contacts/{contact}/opt-out.
type ContactOptedOut struct {
	Contact
	Contacts int64 `json:"contacts" doc:"how many are not written to by it: this one, and those with the same e-mail address"`
}

func (h Contacts) optOut(ctx context.Context, tenant string, in *contactInput) (*api.Body[ContactOptedOut], error) {
	c, err := h.Store.Get(ctx, tenant, in.Contact)
	if err != nil {
		return nil, err
	}
	err = h.Store.OptOut(ctx, tenant, c.Persons(), optOutSource, "contact/"+strconv.FormatInt(c.ID, 10),
		api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	n, err := h.Store.Reach(ctx, tenant, c.Persons())
	if err != nil {
		return nil, err
	}
	h.door.GiveOutOften(ctx, tenant, api.ContactPutShown, "opt-out-contact") // as by put
	c.OptedOut = true
	return api.BodyOf(ContactOptedOut{showContact(c), n}), nil
}

// OptOutStart is the body of POST /opt-outs.
type OptOutStart struct {
	Phone string `json:"phone,omitempty" maxLength:"100" doc:"a telephone number"`
	Email string `json:"email,omitempty" maxLength:"400" doc:"an e-mail address: every contact that has it"`
}

type optOutInput struct {
	api.OfTenant
	Body OptOutStart
}

// optOutPerson opts out by one of the two. Its errors repeat neither.
func (h Contacts) optOutPerson(ctx context.Context, tenant string, in *optOutInput) (*struct{}, error) {
	t, err := h.door.Tenants.Get(ctx, tenant)
	if err != nil {
		return nil, err
	}
	if (in.Body.Phone == "") == (in.Body.Email == "") {
		return nil, fault.Newf(fault.Invalid, "expected one of phone and email")
	}
	var (
		phone, email string
		problem      *contact.Problem
	)
	if in.Body.Phone != "" {
		phone, _, problem = contact.ReadPhone(in.Body.Phone, t.Region)
	} else {
		email, problem = contact.ReadEmail(in.Body.Email)
	}
	if problem != nil {
		return nil, fault.Newf(fault.Invalid, "cannot be read (%s); expected a number such as +15145550123, or an address",
			problem.Code)
	}
	return nil, h.Store.OptOut(ctx, tenant, []string{contact.Key(phone, email)}, optOutSource, "tenant/"+tenant,
		api.CallerOf(ctx).Name, h.door.Now())
}

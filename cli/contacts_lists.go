package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
)

// listsCmd are the commands on lists of contacts.
type listsCmd struct {
	List    listsListCmd    `cmd:"" help:"List the lists, by name."`
	Create  listsCreateCmd  `cmd:"" help:"Create a list, or print the one of that name."`
	Members listsMembersCmd `cmd:"" help:"Add contacts to a list, and remove others."`
	Delete  listsDeleteCmd  `cmd:"" help:"Delete a list; its contacts stay."`
}

type listsListCmd struct {
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints the lists as a table.
func (c *listsListCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return show(ctx, r, http.MethodGet, group.path("/contact-lists", nil), nil, c.JSON,
		func(w io.Writer, got apioutreach.ContactLists) error { return printLists(w, got.Items...) })
}

func printLists(w io.Writer, lists ...apioutreach.ContactList) error {
	return printTable(w, lists, "there are no lists; conveyor contacts lists create NAME makes one",
		"ID\tNAME\tMEMBERS\tCREATED", func(t io.Writer, l apioutreach.ContactList) {
			members := "-"
			if l.Members != nil {
				members = fmt.Sprint(*l.Members)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.ID, Short(Plain(l.Name), 60), members, l.CreatedAt.UTC().Format(time.RFC3339))
		})
}

type listsCreateCmd struct {
	Name string `arg:"" help:"Name of the list."`
	JSON bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run creates a list, and prints it.
func (c *listsCreateCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	in := apioutreach.ContactListStart{Name: c.Name}
	return show(ctx, r, http.MethodPost, group.path("/contact-lists", nil), in, c.JSON,
		func(w io.Writer, l apioutreach.ContactList) error { return printLists(w, l) })
}

// listArg names a list of contacts.
type listArg struct {
	List string `arg:"" help:"ID or name of the list."`
}

type listsMembersCmd struct {
	listArg
	Add    []int64 `help:"IDs of contacts to add, as contacts set and POST /contacts/search have them." placeholder:"ID"`
	Remove []int64 `help:"IDs of contacts to remove." placeholder:"ID"`
	JSON   bool    `name:"json" help:"Print the answer of the API as JSON."`
}

// Run changes the members of a list.
func (c *listsMembersCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	if len(c.Add)+len(c.Remove) == 0 {
		return Usage("say which contacts: --add or --remove")
	}
	id, err := group.find(ctx, r, "/contact-lists", "list", c.List)
	if err != nil {
		return err
	}
	path := group.path("/contact-lists/"+id.String()+"/members", nil)
	in := apioutreach.MembersChange{Add: c.Add, Remove: c.Remove}
	return show(ctx, r, http.MethodPost, path, in, c.JSON, func(w io.Writer, got apioutreach.MembersChanged) error {
		_, err := fmt.Fprintf(w, "%d contacts added, %d removed\n", got.Added, got.Removed)
		return err
	})
}

type listsDeleteCmd struct{ listArg }

// Run deletes a list.
func (c *listsDeleteCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return group.remove(ctx, r, "/contact-lists", "list", c.List)
}

// remove deletes what of the tenant has this ID or name. For path and what see find.
func (c *ContactsCmd) remove(ctx context.Context, r Client, path, what, named string) error {
	id, err := c.find(ctx, r, path, what, named)
	if err == nil {
		err = r.call(ctx, http.MethodDelete, c.path(path+"/"+id.String(), nil), nil, nil)
	}
	if err == nil {
		fmt.Printf("%s %s is deleted\n", what, Plain(named))
	}
	return err
}

// segmentsCmd are the commands on segments, which are saved filters of contacts.
type segmentsCmd struct {
	List   segmentsListCmd   `cmd:"" help:"List the segments, by name."`
	Show   segmentsShowCmd   `cmd:"" help:"Show a segment, and how many contacts it has now."`
	Create segmentsCreateCmd `cmd:"" help:"Save a filter of contacts as a segment."`
	Set    segmentsSetCmd    `cmd:"" help:"Change the name or the filter of a segment."`
	Delete segmentsDeleteCmd `cmd:"" help:"Delete a segment; its contacts stay."`
}

// contactFilter are conditions on contacts, as JSON; the zero value, of an empty text or null, is none.
type contactFilter struct{ *contact.Filter }

// UnmarshalText reads them, with no member that there is not, and nothing behind them.
func (f *contactFilter) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&f.Filter); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("expected one JSON object")
	}
	return nil
}

type segmentsListCmd struct {
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints the segments as a table.
func (c *segmentsListCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return show(ctx, r, http.MethodGet, group.path("/segments", nil), nil, c.JSON,
		func(w io.Writer, got apioutreach.Segments) error {
			return printTable(w, got.Items, "there are no segments; conveyor contacts segments create NAME makes one",
				"ID\tNAME\tCHANGED\tFILTER", func(t io.Writer, s apioutreach.Segment) {
					fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", s.ID, Short(Plain(s.Name), 60), s.UpdatedAt.UTC().Format(time.RFC3339),
						Short(filterText(s.Filter), 120))
				})
		})
}

// filterText is a filter as --filter takes it.
func filterText(f contact.Filter) string {
	text, _ := json.Marshal(f) // it came as JSON
	return Plain(string(text))
}

type segmentsCreateCmd struct {
	Name   string        `arg:"" help:"Name of the segment."`
	Filter contactFilter `required:"" help:"Conditions as JSON, such as {\"tag\":\"vip\"}." placeholder:"JSON"`
	JSON   bool          `name:"json" help:"Print the answer of the API as JSON."`
}

// Run creates a segment, and prints it.
func (c *segmentsCreateCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	if c.Filter.Filter == nil {
		return Usage("read --filter: expected conditions, such as {\"tag\":\"vip\"}; {} is every contact")
	}
	in := apioutreach.SegmentStart{Name: c.Name, Filter: *c.Filter.Filter}
	return show(ctx, r, http.MethodPost, group.path("/segments", nil), in, c.JSON, printSegment)
}

func printSegment(w io.Writer, s apioutreach.Segment) error {
	t, row := newFacts(w)
	row("segment", "%s", s.ID)
	row("name", "%s", Plain(s.Name))
	row("filter", "%s", filterText(s.Filter))
	if s.Contacts != nil {
		row("contacts", "%d", *s.Contacts)
	}
	row("changed", "%s", s.UpdatedAt.UTC().Format(time.RFC3339))
	return t.Flush()
}

// segmentArg names a segment.
type segmentArg struct {
	Segment string `arg:"" help:"ID or name of the segment."`
}

func (a segmentArg) path(ctx context.Context, group *ContactsCmd, r Client) (string, error) {
	id, err := group.find(ctx, r, "/segments", "segment", a.Segment)
	return group.path("/segments/"+id.String(), nil), err
}

type segmentsShowCmd struct {
	segmentArg
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints a segment.
func (c *segmentsShowCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	path, err := c.path(ctx, group, r)
	if err != nil {
		return err
	}
	return show(ctx, r, http.MethodGet, path, nil, c.JSON, printSegment)
}

type segmentsSetCmd struct {
	segmentArg
	Name   string        `help:"New name."`
	Filter contactFilter `help:"New conditions as JSON." placeholder:"JSON"`
	JSON   bool          `name:"json" help:"Print the answer of the API as JSON."`
}

// Run changes what is given of a segment, and prints it.
func (c *segmentsSetCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	if c.Name == "" && c.Filter.Filter == nil {
		return Usage("say what to change: --name or --filter")
	}
	path, err := c.path(ctx, group, r)
	if err != nil {
		return err
	}
	in := apioutreach.SegmentChange{Filter: c.Filter.Filter}
	if c.Name != "" {
		in.Name = &c.Name
	}
	return show(ctx, r, http.MethodPatch, path, in, c.JSON, printSegment)
}

type segmentsDeleteCmd struct{ segmentArg }

// Run deletes a segment.
func (c *segmentsDeleteCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return group.remove(ctx, r, "/segments", "segment", c.Segment)
}

type optOutsCmd struct{ listFlags }

// Run prints page after page, up to --limit, the oldest contacts first.
func (c *optOutsCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return c.pages(group.ofTenant).list(ctx, r, "no contact has opted out")
}

func (c *optOutsCmd) pages(tenant ofTenant) pages[apioutreach.ContactOptOut] {
	return pages[apioutreach.ContactOptOut]{
		Path: "/opt-outs", Query: tenant.query(nil), listFlags: c.listFlags,
		Head: "CONTACT\tPHONE\tE-MAIL\tNAME\tSOURCE\tSINCE (UTC)",
		Row: func(t io.Writer, o apioutreach.ContactOptOut) {
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\n", o.Contact, cmp.Or(Plain(o.Phone), "-"), cmp.Or(Plain(o.Email), "-"),
				cmp.Or(Short(Plain(o.Name), 40), "-"), o.Source, o.At.UTC().Format(time.DateTime))
		},
	}
}

type contactsOptOutCmd struct {
	Person string `arg:"" help:"Telephone number, or e-mail address, which opts out every contact that has it."`
	Yes    bool   `short:"y" help:"Do not ask."`
}

// Run opts out a person, contact or not.
func (c *contactsOptOutCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return c.run(ctx, group.ofTenant, r, os.Stdin, os.Stdout)
}

func (c *contactsOptOutCmd) run(ctx context.Context, tenant ofTenant, r Client, in io.Reader, out io.Writer) error {
	question := fmt.Sprintf("Never write to %s again? There is no way back.", Plain(c.Person))
	if !c.Yes && !confirmed(ctx, in, out, question) {
		return errors.New("not confirmed: nothing was changed")
	}
	start := apioutreach.OptOutStart{Phone: c.Person}
	if strings.Contains(c.Person, "@") {
		start = apioutreach.OptOutStart{Email: c.Person}
	}
	if err := r.call(ctx, http.MethodPost, tenant.path("/opt-outs", nil), start, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s is never written to again\n", Plain(c.Person))
	return err
}

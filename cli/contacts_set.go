package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"

	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/domain/contact"
)

type contactsSetCmd struct {
	Phone      string            `help:"Telephone number; one without country code belongs to the tenant's region." placeholder:"NUMBER"`
	Email      string            `help:"E-mail address." placeholder:"ADDRESS"`
	Name       string            `help:"Whole name; the default is made of the parts." placeholder:"NAME"`
	GivenName  string            `help:"Given name." placeholder:"NAME"`
	FamilyName string            `help:"Family name." placeholder:"NAME"`
	Locale     string            `help:"Language, such as fr-CA." placeholder:"TAG"`
	Field      map[string]string `help:"Custom field." placeholder:"NAME=VALUE" mapsep:"none"`
	Empty      []string          `help:"Fields that are emptied: email, name, given_name, family_name, locale, fields.NAME." placeholder:"FIELD"`
	Tag        []string          `help:"Tags that it gets." placeholder:"TAG" sep:"none"`
	Untag      []string          `help:"Tags that are taken from it." placeholder:"TAG" sep:"none"`
	JSON       bool              `name:"json" help:"Print the contact as JSON."`
}

// Run stores a contact, and prints what it is then.
func (c *contactsSetCmd) Run(ctx context.Context, group *ContactsCmd, r Client) error {
	return c.run(ctx, group.ofTenant, r, os.Stdout)
}

func (c *contactsSetCmd) run(ctx context.Context, tenant ofTenant, r Client, out io.Writer) error {
	var stored apioutreach.ContactStored
	put, err := c.put()
	if err != nil {
		return err
	}
	if err := r.call(ctx, http.MethodPost, tenant.path("/contacts", nil), put, &stored); err != nil {
		return err
	}
	if len(c.Untag) > 0 {
		change := apioutreach.ContactTags{Contacts: []int64{stored.ID}, Remove: c.Untag}
		if err := r.call(ctx, http.MethodPost, tenant.path("/contacts/tags", nil), change, nil); err != nil {
			return fmt.Errorf("contact %d is stored, but its tags were not removed: %w", stored.ID, err)
		}
		path := tenant.path(fmt.Sprintf("/contacts/%d", stored.ID), nil)
		if err := r.call(ctx, http.MethodGet, path, nil, &stored.Contact); err != nil {
			return err
		}
	}
	return printAs(out, stored, c.JSON, printContact)
}

// put is the request for it.
func (c *contactsSetCmd) put() (apioutreach.ContactPut, error) {
	text := func(value string) apioutreach.Text { return apioutreach.Text{Value: value} }
	put := apioutreach.ContactPut{
		Phone: c.Phone, Email: text(c.Email), Name: text(c.Name), GivenName: text(c.GivenName),
		FamilyName: text(c.FamilyName), Locale: text(c.Locale), Tags: c.Tag, Fields: map[string]apioutreach.Text{},
	}
	for name, value := range c.Field {
		put.Fields[name] = text(value)
	}
	fields := map[string]*apioutreach.Text{
		contact.FieldEmail: &put.Email, contact.FieldName: &put.Name, contact.FieldGiven: &put.GivenName,
		contact.FieldFamily: &put.FamilyName, contact.FieldLocale: &put.Locale,
	}
	for _, field := range c.Empty {
		name, custom := strings.CutPrefix(field, contact.FieldCustom)
		switch {
		case custom && put.Fields[name].Value != "", !custom && fields[field] != nil && fields[field].Value != "":
			return put, Usage("--empty %s: the field is given a value, too", field)
		case custom:
			put.Fields[name] = apioutreach.Text{Null: true}
		case fields[field] != nil:
			*fields[field] = apioutreach.Text{Null: true}
		default:
			return put, Usage("--empty %s: there is no such field", field)
		}
	}
	return put, nil
}

// printContact writes a contact as text. What it does not have is left out.
func printContact(w io.Writer, c apioutreach.ContactStored) error {
	t := Table(w)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t, "%s\t%s\n", name, Plain(value))
		}
	}
	state := ""
	if c.Added {
		state = " (added)"
	}
	row("contact", fmt.Sprint(c.ID, state))
	row("phone", c.Phone)
	row("email", c.Email)
	row("name", c.Name)
	row("given name", c.GivenName)
	row("family name", c.FamilyName)
	row("locale", c.Locale)
	row("tags", strings.Join(c.Tags, ", "))
	for _, name := range slices.Sorted(maps.Keys(c.Fields)) {
		row("fields."+name, c.Fields[name])
	}
	if c.OptedOut {
		row("opted out", "yes: it is never written to")
	}
	return t.Flush()
}

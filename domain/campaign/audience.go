package campaign

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
)

// An Audience says which contacts of a tenant a campaign writes to: those that are in one of the groups of To, or all
// of them; of these, the ones that Filter has; and none that is in a group of Except. Contacts that have opted out
// are never written to.
type Audience struct {
	// All is every contact. It is said explicitly, so that nothing is sent to all by omission.
	All    bool            `json:"all,omitempty"`
	To     Groups          `json:"to,omitzero"`
	Filter *contact.Filter `json:"filter,omitempty"`
	Except Groups          `json:"except,omitzero"`
}

// Groups are contacts: the union of all that it names.
type Groups struct {
	Lists    []uuid.UUID `json:"lists,omitempty"`
	Segments []uuid.UUID `json:"segments,omitempty"`
	Tags     []string    `json:"tags,omitempty"` // contacts with one of them
}

// IsZero says that g names no group.
func (g Groups) IsZero() bool { return len(g.Lists)+len(g.Segments)+len(g.Tags) == 0 }

// maxGroups bounds how many groups of a kind an audience names.
const maxGroups = 100

// Check says what is wrong with a. The error is fault.Invalid with contract.Errors, all of them.
func (a Audience) Check() error {
	var e contract.Errors
	bad := func(field, format string, args ...any) {
		e = append(e, contract.FieldError{Field: field, Reason: fmt.Sprintf(format, args...)})
	}
	switch {
	case a.All && !a.To.IsZero():
		bad("all", "is true beside to: expected one of them")
	case !a.All && a.To.IsZero():
		bad("to", "names no list, segment or tag; to write to every contact, set all to true")
	}
	for _, side := range []struct {
		field string
		Groups
	}{{"to", a.To}, {"except", a.Except}} {
		for field, n := range map[string]int{
			".lists": len(side.Lists), ".segments": len(side.Segments), ".tags": len(side.Tags),
		} {
			if n > maxGroups {
				bad(side.field+field, "has %d entries, the most is %d", n, maxGroups)
			}
		}
		if slices.ContainsFunc(side.Tags, func(t string) bool { return strings.TrimSpace(t) == "" }) {
			bad(side.field+".tags", "has an empty tag")
		}
	}
	if a.Filter != nil {
		if err := a.Filter.Check(); err != nil {
			bad("filter", "%v", err)
		}
	}
	n := len(a.Lists()) + len(a.Segments()) + len(a.To.Tags) + len(a.Except.Tags)
	if a.Filter != nil {
		n += a.Filter.Conditions()
	}
	if n > MaxConditions { // a segment is one condition or more: Contacts knows
		bad("", "has %d conditions, the most is %d", n, MaxConditions)
	}
	if len(e) == 0 {
		return nil
	}
	slices.SortFunc(e, func(a, b contract.FieldError) int { return strings.Compare(a.Field, b.Field) })
	return fault.Newf(fault.Invalid, "%w", e)
}

// Lists are the lists that a names.
func (a Audience) Lists() []uuid.UUID { return slices.Concat(a.To.Lists, a.Except.Lists) }

// Segments are the segments that a names.
func (a Audience) Segments() []uuid.UUID { return slices.Concat(a.To.Segments, a.Except.Segments) }

// MaxConditions bounds an audience as a whole, whatever the quota of its tenant: each contact of the tenant is compared
// with all of them.
const MaxConditions = 1000

// Contacts is the audience as one filter, given the filters of its segments as they are now. One of more than
// MaxConditions is fault.Invalid, as is a segment that is missing there: an exception that is left out would let those
// be written to who were to be spared.
func (a Audience) Contacts(segments map[uuid.UUID]contact.Filter) (contact.Filter, error) {
	for _, id := range a.Segments() {
		if _, ok := segments[id]; !ok {
			return contact.Filter{}, fault.Newf(fault.Invalid, "audience: there is no segment %s", id)
		}
	}
	var all []contact.Filter
	if !a.All {
		all = append(all, contact.Filter{Any: a.To.filters(segments)})
	}
	if a.Filter != nil {
		all = append(all, *a.Filter)
	}
	if !a.Except.IsZero() {
		all = append(all, contact.Filter{Not: &contact.Filter{Any: a.Except.filters(segments)}})
	}
	if len(all) == 0 {
		return contact.Filter{}, nil
	}
	whole := contact.Filter{All: all}
	if n := whole.Conditions(); n > MaxConditions {
		return contact.Filter{}, fault.Newf(fault.Invalid, "audience: has %d conditions, those of its segments included, the "+
			"most is %d", n, MaxConditions)
	}
	return whole, nil
}

// filters are the groups, one by one.
func (g Groups) filters(segments map[uuid.UUID]contact.Filter) []contact.Filter {
	any := []contact.Filter{}
	for _, id := range g.Lists {
		any = append(any, contact.Filter{List: id.String()})
	}
	for _, id := range g.Segments {
		any = append(any, segments[id])
	}
	for _, tag := range g.Tags {
		any = append(any, contact.Filter{Tag: tag})
	}
	return any
}

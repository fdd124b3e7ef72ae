package contact

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/language"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Filter says which contacts a segment has. Exactly one condition is set; the zero Filter is all contacts.
//
//	{"all": [{"tag": "vip"}, {"field": "city", "equals": "Montréal"}, {"not": {"country": "FR"}}]}
type Filter struct {
	All []Filter `json:"all,omitempty" doc:"All of these hold"`
	Any []Filter `json:"any,omitempty" doc:"One or more of these hold"`
	Not *Filter  `json:"not,omitempty" doc:"This does not hold"`

	Tag     string `json:"tag,omitempty" doc:"The contact has this tag"`
	List    string `json:"list,omitempty" format:"uuid" doc:"The contact is a member of this list"`
	Locale  string `json:"locale,omitempty" doc:"The contact's language: fr is also fr-CA, fr-CA only that"`
	Country string `json:"country,omitempty" doc:"Country of the telephone number, as ISO 3166-1 alpha-2"`
	Created *Range `json:"created,omitempty" doc:"When the contact was first stored"`
	Updated *Range `json:"updated,omitempty" doc:"When the contact was last changed"`

	// Field is one of FilterFields, or the name of a custom field, with or without "fields." before it (with it, where
	// the name is also that of a field). One of the three below says what it must be; all compare text without regard
	// to case.
	Field    string  `json:"field,omitempty" doc:"phone, email, name, given_name, family_name, or a custom field"`
	Equals   *string `json:"equals,omitempty" doc:"The field is this text, in any case"`
	Contains *string `json:"contains,omitempty" doc:"The field contains this text, in any case"`
	Exists   *bool   `json:"exists,omitempty" doc:"The field is not empty, or empty"`
}

// Range is a range of time: From is in it, Before is not. One of them may be missing.
type Range struct {
	From   *time.Time `json:"from,omitempty"`
	Before *time.Time `json:"before,omitempty"`
}

// FilterFields are the fields that are no custom ones.
var FilterFields = []string{FieldPhone, FieldEmail, FieldName, FieldGiven, FieldFamily}

// Bounds of a filter.
const (
	maxFilterDepth = 5
	maxFilterParts = 50 // conditions in all
	maxFilterText  = 200
)

// FilterField is what Field means: one of FilterFields, or the name of a custom field.
func (f Filter) FilterField() (name string, custom bool) {
	if name, ok := strings.CutPrefix(f.Field, FieldCustom); ok {
		return name, true
	}
	return f.Field, !slices.Contains(FilterFields, f.Field)
}

// Language is Locale as contacts have it, in any notation that Check accepts: fr-CA of fr_CA and FR-ca.
func (f Filter) Language() string {
	if tag, err := language.Parse(f.Locale); err == nil {
		return tag.String()
	}
	return f.Locale
}

// Empty says that the filter has no condition, so that all contacts are meant.
func (f Filter) Empty() bool {
	return len(f.conditions()) == 0 && f.Equals == nil && f.Contains == nil && f.Exists == nil
}

// Check refuses a filter that means nothing. The fault.Invalid names the condition, as in all[1].field.
func (f Filter) Check() error {
	if f.Empty() {
		return nil
	}
	parts := 0
	return f.check("", 1, &parts)
}

// Conditions is how many conditions there are in f, those of all, any and not.
func (f Filter) Conditions() int {
	n := 0
	for _, some := range [][]Filter{f.All, f.Any} {
		for _, one := range some {
			n += one.Conditions()
		}
	}
	if f.Not != nil {
		n += f.Not.Conditions()
	}
	return max(n, 1)
}

// Lists are the lists that f names.
func (f Filter) Lists() []uuid.UUID {
	var ids []uuid.UUID
	for _, one := range slices.Concat(f.All, f.Any) {
		ids = append(ids, one.Lists()...)
	}
	if f.Not != nil {
		ids = append(ids, f.Not.Lists()...)
	}
	if f.List != "" {
		id, _ := uuid.Parse(f.List) // Check refuses what is none
		ids = append(ids, id)
	}
	return ids
}

// Textless is f without the texts that fields are compared with, which may be those of a person.
func (f Filter) Textless() Filter {
	less := func(all []Filter) (out []Filter) {
		for _, one := range all {
			out = append(out, one.Textless())
		}
		return out
	}
	f.All, f.Any = less(f.All), less(f.Any)
	if f.Not != nil {
		f.Not = new(f.Not.Textless())
	}
	for _, text := range []**string{&f.Equals, &f.Contains} {
		if *text != nil {
			*text = new("")
		}
	}
	return f
}

// conditions are the names of those that are set.
func (f Filter) conditions() []string {
	var set []string
	for _, c := range []struct {
		name string
		is   bool
	}{
		{"all", f.All != nil}, {"any", f.Any != nil}, {"not", f.Not != nil}, {"tag", f.Tag != ""}, {"list", f.List != ""},
		{"locale", f.Locale != ""}, {"country", f.Country != ""}, {"created", f.Created != nil},
		{"updated", f.Updated != nil}, {"field", f.Field != ""},
	} {
		if c.is {
			set = append(set, c.name)
		}
	}
	return set
}

func (f Filter) check(at string, depth int, parts *int) error {
	refuse := func(where, format string, args ...any) error {
		if where = strings.TrimPrefix(strings.TrimSuffix(at, ".")+"."+where, "."); where == "" {
			where = "filter"
		}
		return fault.Newf(fault.Invalid, "%s: %s", strings.TrimSuffix(where, "."), fmt.Sprintf(format, args...))
	}
	if *parts++; *parts > maxFilterParts {
		return refuse("", "the filter has more than %d conditions; split the segment", maxFilterParts)
	}
	if depth > maxFilterDepth {
		return refuse("", "conditions are nested more than %d deep; flatten them", maxFilterDepth)
	}
	set := f.conditions()
	if f.Field == "" && (f.Equals != nil || f.Contains != nil || f.Exists != nil) {
		return refuse("field", "is missing: equals, contains and exists say what a field must be")
	}
	if len(set) == 0 {
		return refuse("", "has no condition; use one of all, any, not, tag, list, locale, country, created, updated, field")
	}
	if len(set) > 1 {
		return refuse("", "has %s at once; put them into \"all\": [...]", strings.Join(set, " and "))
	}
	switch set[0] {
	case "all", "any":
		inner := f.All
		if set[0] == "any" {
			inner = f.Any
		}
		if len(inner) == 0 {
			return refuse(set[0], "is empty; put conditions into it")
		}
		for i, c := range inner {
			if err := c.check(fmt.Sprintf("%s%s[%d].", at, set[0], i), depth+1, parts); err != nil {
				return err
			}
		}
	case "not":
		return f.Not.check(at+"not.", depth+1, parts)
	case "tag":
		if utf8.RuneCountInString(f.Tag) > MaxTag || strings.TrimSpace(f.Tag) != f.Tag {
			return refuse("tag", "%s is no tag: it has at most %d characters and no spaces at its ends", excerpt(f.Tag), MaxTag)
		}
		if !isText(f.Tag) {
			return refuse("tag", "is something that is not text")
		}
	case "list":
		if !isUUID(f.List) {
			return refuse("list", "%s is not the ID of a list; use its UUID", excerpt(f.List))
		}
	case "locale":
		if _, err := language.Parse(f.Locale); err != nil || len(f.Locale) > 35 {
			return refuse("locale", "%s is not a language; use a code such as fr or en-CA", excerpt(f.Locale))
		}
	case "country":
		if len(f.Country) != 2 || strings.Trim(f.Country, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return refuse("country", "%s is not a country; use two capital letters such as CA", excerpt(f.Country))
		}
	case "created":
		return f.Created.check(refuse, "created")
	case "updated":
		return f.Updated.check(refuse, "updated")
	case "field":
		return f.checkField(refuse)
	}
	return nil
}

// isText says that Postgres can store a text.
func isText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func (f Filter) checkField(refuse func(string, string, ...any) error) error {
	name, custom := f.FilterField()
	if custom && (name == "" || slug(name) != name) {
		return refuse("field", "unknown field %s; use %s, or the name of a custom field (letters, digits and _)",
			excerpt(f.Field), strings.Join(FilterFields, ", "))
	}
	n := 0
	for _, text := range []*string{f.Equals, f.Contains} {
		if text == nil {
			continue
		}
		n++
		if *text == "" {
			return refuse("field", "is compared with an empty text; use \"exists\": false")
		}
		if utf8.RuneCountInString(*text) > maxFilterText {
			return refuse("field", "is compared with more than %d characters; shorten the text", maxFilterText)
		}
		if !isText(*text) {
			return refuse("field", "is compared with something that is not text")
		}
	}
	if f.Exists != nil {
		n++
	}
	if n != 1 {
		return refuse("field", "needs exactly one of equals, contains, exists; it has %d", n)
	}
	return nil
}

func (r Range) check(refuse func(string, string, ...any) error, name string) error {
	switch {
	case r.From == nil && r.Before == nil:
		return refuse(name, "is empty; give from, before, or both")
	case r.From != nil && r.Before != nil && !r.From.Before(*r.Before):
		return refuse(name, "ends before it begins: from %s, before %s", r.From.Format(time.RFC3339), r.Before.Format(time.RFC3339))
	}
	return nil
}

// isUUID says that s is a UUID in its usual notation.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if s[i] != '-' {
				return false
			}
		} else if !strings.ContainsRune("0123456789abcdefABCDEF", rune(s[i])) {
			return false
		}
	}
	return true
}

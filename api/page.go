package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
)

// A Page is one page of a list. The page of each list is a type of its own, for its name in the OpenAPI document.
type Page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

// PageOf makes the answer for rows; its list is never null. next is the cursor that the next page begins at, nil on the
// last page.
func PageOf[R, T, C any](rows []R, show func(R) T, next *C) Page[T] {
	out := Page[T]{Items: Listed(rows, show)}
	if next != nil {
		out.NextCursor = EncodeCursor(*next)
	}
	return out
}

// A Cursor is a position in a list together with the list's order, so that it is not taken for a position in another
// one. It names the item before it by an ID, a number or a text.
type Cursor[I any] struct {
	Sort      string    `json:"s"`
	At        time.Time `json:"t,omitzero"`
	RentCents int64     `json:"r,omitempty"`
	ID        I         `json:"i"`

	Rank *db.RankPosition `json:"k,omitempty"`
}

// CursorAt is the cursor of a position in an order; nil stays nil.
func CursorAt(p *db.Position, sort string) *Cursor[uuid.UUID] {
	return Maybe(p, func(p db.Position) Cursor[uuid.UUID] {
		return Cursor[uuid.UUID]{sort, p.At, p.RentCents, p.ID, p.Rank}
	})
}

// CursorOf is the cursor of a number or a text in an order; nil stays nil.
func CursorOf[I any](id *I, sort string) *Cursor[I] {
	return Maybe(id, func(id I) Cursor[I] { return Cursor[I]{Sort: sort, ID: id} })
}

func timeCursorAt(p *db.IDPosition, sort string) *Cursor[int64] {
	return Maybe(p, func(p db.IDPosition) Cursor[int64] { return Cursor[int64]{Sort: sort, At: p.At, ID: p.ID} })
}

// ParseIDCursor reads a next_cursor of a list by ID. "" is the first page: 0. Its error is for the caller.
func ParseIDCursor(s, sort string) (int64, error) {
	c, err := readCursor(s, func(c Cursor[int64]) bool { return c.Sort == sort && c.ID >= 1 })
	return c.ID, err
}

// ParseTextCursor reads a next_cursor of a list by a text. "" is the first page: "". Its error is for the caller.
func ParseTextCursor(s, sort string) (string, error) {
	c, err := readCursor(s, func(c Cursor[string]) bool {
		return c.Sort == sort && c.ID != "" && WrongText("", c.ID) == nil
	})
	return c.ID, err
}

// parseTimeCursor reads a next_cursor of a list by time and ID. "" is the first page. Its error is for the caller.
func parseTimeCursor(s, sort string) (*db.IDPosition, error) {
	c, err := readCursor(s, func(c Cursor[int64]) bool { return c.Sort == sort && c.ID >= 1 && !c.At.IsZero() })
	if s == "" || err != nil {
		return nil, err
	}
	return &db.IDPosition{At: c.At, ID: c.ID}, nil
}

// readCursor reads a cursor that fits. "" is the first page: the zero Cursor.
func readCursor[I any](s string, fits func(Cursor[I]) bool) (c Cursor[I], err error) {
	if s == "" {
		return c, nil
	}
	if err = DecodeCursor(s, &c); err != nil || !fits(c) {
		return Cursor[I]{}, ErrCursor
	}
	return c, nil
}

// EncodeCursor writes a cursor as callers see it: opaque, so that none is made by hand.
func EncodeCursor(c any) string {
	doc, err := json.Marshal(c)
	if err != nil {
		panic(err) // times, numbers and IDs
	}
	return base64.RawURLEncoding.EncodeToString(doc)
}

// DecodeCursor reads what EncodeCursor wrote into c.
func DecodeCursor(s string, c any) error {
	doc, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return err
	}
	return json.Unmarshal(doc, c)
}

// ErrCursor says that a cursor is none of ours.
var ErrCursor = errors.New("expected a next_cursor of an earlier page")

// byRank is the only order whose positions have a rank: the relevance of listings.
const byRank = "relevance"

// ParseCursor reads a next_cursor of a list in an order. "" is the first page. Its error is for the caller.
func ParseCursor(s, sort string) (*db.Position, error) {
	c, err := readCursor(s, func(c Cursor[uuid.UUID]) bool {
		return c.ID != uuid.Nil && (c.Sort == byRank) == (c.Rank != nil)
	})
	if s == "" || err != nil {
		return nil, err
	}
	if c.Sort != sort {
		return nil, errors.New("belongs to another order of the list; keep sort unchanged, or start without cursor")
	}
	return &db.Position{At: c.At, RentCents: c.RentCents, ID: c.ID, Rank: c.Rank}, nil
}

// WrongCursor is the answer's detail for a cursor that cannot be read; none when err is nil.
func WrongCursor(value string, err error) []error {
	if err == nil {
		return nil
	}
	return []error{&huma.ErrorDetail{Message: err.Error(), Location: "query.cursor", Value: value}}
}

// WrongText refuses a text that Postgres cannot take. at is its place in the request.
func WrongText(at, text string) []error {
	if utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
		return nil
	}
	return []error{&huma.ErrorDetail{Message: "expected text in UTF-8 without NUL", Location: at, Value: text}}
}

// wrongUntil refuses a time that is before since; the zero time is none. at is its place in the request.
func wrongUntil(at string, since, until time.Time) []error {
	if until.IsZero() || !until.Before(since) {
		return nil
	}
	return []error{&huma.ErrorDetail{Message: "expected a time that is not before since", Location: at, Value: until}}
}

// Unchanged says that an If-None-Match has a tag: one of several, or in its weak form, as a proxy that compresses makes
// it.
func Unchanged(ifNoneMatch, tag string) bool {
	for given := range strings.SplitSeq(ifNoneMatch, ",") { // our tags have no commas
		if given = strings.TrimSpace(given); given == "*" || strings.TrimPrefix(given, "W/") == tag {
			return true
		}
	}
	return false
}

// A Filter is a filter that takes several values and means any of them: separated by commas, or given again. They are
// written to values, none of them where it does not filter.
type Filter struct {
	Name   string
	usual  string // what it is where nothing but commas is given: the default of its schema
	Values *[]string
	Known  []string       // the values that there are; any: whatever it is
	Form   *regexp.Regexp // or what each of them looks like
	Commas bool           // a value may hold commas itself: each text that was given counts as it stands, too
}

const (
	mostValues   = 20  // of one filter
	longestValue = 400 // characters of one of them
)

var errManyValues = fmt.Errorf("expected at most %d values", mostValues)

// fit says why the values of a filter are too many, or too long, or are no text that Postgres takes. A schema could
// only bound the text that has all of them.
func fit(values []string) error {
	if len(values) > mostValues {
		return errManyValues
	}
	for _, v := range values {
		switch {
		case len(WrongText("", v)) > 0:
			return errors.New("expected text in UTF-8 without NUL")
		case utf8.RuneCountInString(v) > longestValue:
			return fmt.Errorf("expected values of at most %d characters", longestValue)
		}
	}
	return nil
}

// read reads the filter from the query of a request. Its error is for the caller.
func (f Filter) read(query url.Values) error {
	values := parts(query[f.Name]...)
	if len(values) == 0 {
		values = parts(f.usual)
	}
	*f.Values = values
	if len(query[f.Name]) > mostValues {
		return errManyValues
	}
	if err := fit(values); err != nil {
		return err
	}
	for _, v := range values {
		switch {
		case f.Known != nil && !slices.Contains(f.Known, v):
			return fmt.Errorf("expected any of %s", strings.Join(f.Known, ", "))
		case f.Form != nil && !f.Form.MatchString(v):
			return fmt.Errorf("expected values that match %s", f.Form)
		}
	}
	for _, text := range query[f.Name] {
		if f.Commas && strings.Contains(text, ",") && len(values) > 0 && utf8.RuneCountInString(text) <= longestValue {
			*f.Values = append(*f.Values, text)
		}
	}
	if f.Known != nil && slices.Contains(values, anyValue) {
		*f.Values = nil
	}
	return nil
}

// parts are the values in texts, which commas separate, each once. Of more than a filter may have it returns one more
// than that: each further one is compared with all before it, which takes seconds for as many as an address has room
// for.
func parts(texts ...string) (values []string) {
	for _, text := range texts {
		for v := range strings.SplitSeq(text, ",") {
			if v = strings.TrimSpace(v); v == "" || slices.Contains(values, v) {
				continue
			}
			if values = append(values, v); len(values) > mostValues {
				return values
			}
		}
	}
	return values
}

// Strung are values as a filter knows them.
func Strung[S ~string](values []S) []string {
	return Each(values, func(v S) string { return string(v) })
}

// anyValue is the value of a filter that lets everything through.
const anyValue = "any"

// OrAny are the values that a filter of states knows, and any.
func OrAny[S ~string](states []S) []string { return append(Strung(states), anyValue) }

// ValuesOf gives a type of its own to the values of a filter.
func ValuesOf[S ~string](values []string) []S {
	return Each(values, func(v string) S { return S(v) })
}

// A filtered input has filters that take several values.
type filtered interface{ Filters() []Filter }

// describe says in the document which values the filters of an operation take.
func describe(o *huma.Operation, filters []Filter) {
	for _, f := range filters {
		for _, p := range o.Parameters {
			if p.Name == f.Name && p.In == "query" {
				p.Schema.Description = f.description(p.Schema.Description)
				p.Description = p.Schema.Description
			}
		}
	}
}

// description is what the document says of a filter; it begins with what is so of this one only.
func (f Filter) description(own string) string {
	text := "any of these, separated by commas or given again"
	if own != "" {
		text = own + "; " + text
	}
	if f.Known != nil {
		listed := slices.DeleteFunc(slices.Clone(f.Known), func(v string) bool { return v == anyValue })
		text += ": " + strings.Join(listed, ", ")
	}
	if slices.Contains(f.Known, anyValue) {
		text += "; any: whatever it is"
	}
	if f.Commas {
		text += "; one with a comma in it is found as well"
	}
	return text
}

// OfThese gives a property of an answer its values, where the field cannot have a type that knows them: the answer is
// converted from what the store returns.
func OfThese[S ~string](answer *huma.Schema, property string, values []S) *huma.Schema {
	answer.Properties[property].Enum = EnumOf(values).Enum
	return answer
}

// EnumOf is the schema of a text that is one of these.
func EnumOf[S ~string](values []S) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Enum: Each(values, func(v S) any { return string(v) })}
}

// AnyOf reads the filters that take several values, and refuses other parameters that are given more than once.
func AnyOf(ctx huma.Context, filters ...Filter) (wrong []error) {
	address := ctx.URL()
	query, refuse := address.Query(), Refusing(&wrong)
	var names []string
	for _, f := range filters {
		names = append(names, f.Name)
		f.usual = usualOf(ctx.Operation(), f.Name)
		err := f.read(query)
		refuse(f.Name, *f.Values, err)
	}
	return append(wrong, Repeated(ctx, names...)...)
}

// usualOf is the default of a parameter of an operation; "" = it has none.
func usualOf(o *huma.Operation, name string) string {
	for _, p := range o.Parameters {
		if p.Name == name && p.In == "query" {
			usual, _ := p.Schema.Default.(string)
			return usual
		}
	}
	return ""
}

// Repeated refuses parameters of an operation that are given more than once, except lists and the filters of these
// names: all but the first would be ignored.
func Repeated(ctx huma.Context, filters ...string) (wrong []error) {
	address := ctx.URL()
	query := address.Query()
	for _, p := range ctx.Operation().Parameters {
		values, list := query[p.Name], p.Explode != nil && *p.Explode || slices.Contains(filters, p.Name)
		if p.In == "query" && len(values) > 1 && !list {
			wrong = append(wrong, &huma.ErrorDetail{
				Message: "is given more than once", Location: "query." + p.Name, Value: values,
			})
		}
	}
	return wrong
}

// Refuse notes an error of a parameter, unless it is nil.
type Refuse func(name string, value any, err error)

// Refusing collects errors of parameters as huma reports those of a schema.
func Refusing(wrong *[]error) Refuse {
	return func(name string, value any, err error) {
		if err != nil {
			*wrong = append(*wrong, &huma.ErrorDetail{Message: err.Error(), Location: "query." + name, Value: value})
		}
	}
}

// ReadPage reads which page of a list in an order is asked for, and its filters: what Resolve of its input does.
func ReadPage(ctx huma.Context, cursor, order string, filters ...Filter) (after *db.Position, wrong []error) {
	after, err := ParseCursor(cursor, order)
	return after, append(WrongCursor(cursor, err), AnyOf(ctx, filters...)...)
}

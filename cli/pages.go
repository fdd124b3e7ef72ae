package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/mtlrent/conveyor/api"
)

// pageSize is the largest page that the API returns of most lists.
const pageSize = 100

// Table lays cells that end with tabs out in columns, two spaces apart, when it is flushed.
func Table(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// printTable writes a row for each item below a head, or on standard error what it says where there is none.
func printTable[T any](w io.Writer, items []T, none, head string, row func(t io.Writer, item T)) error {
	if len(items) == 0 {
		_, err := fmt.Fprintln(os.Stderr, none)
		return err
	}
	t := Table(w)
	fmt.Fprintln(t, head)
	for _, item := range items {
		row(t, item)
	}
	return t.Flush()
}

// newFacts is a table of names and what is said of each: row writes one.
func newFacts(w io.Writer) (t *tabwriter.Writer, row func(name, format string, args ...any)) {
	t = Table(w)
	return t, func(name, format string, args ...any) {
		fmt.Fprintf(t, "%s\t"+format+"\n", append([]any{name}, args...)...)
	}
}

// A tally is a number of things.
type tally struct {
	of string
	n  int64
}

// tallied writes those of a list that are not zero.
func tallied(row func(name, format string, args ...any), list ...tally) {
	for _, t := range list {
		if t.n > 0 {
			row("  "+t.of, "%d", t.n)
		}
	}
}

// listFlags are those of commands that print a list.
type listFlags struct {
	Limit int  `help:"Show at most this many; 0 shows all." default:"50"`
	JSON  bool `name:"json" help:"Print one JSON object per line instead of text."`
}

// stateFlags are those of a list of what is in one of the states that the tag set:"states=…" names.
type stateFlags struct {
	State anyCase `help:"State: ${enum}." enum:"${states},any" default:"any"`
	listFlags
}

// anyCase is a word that may be written in capitals, as the API writes some states.
type anyCase string

// UnmarshalText reads it.
func (a *anyCase) UnmarshalText(text []byte) error {
	*a = anyCase(strings.ToLower(string(text)))
	return nil
}

// query adds the state to a query.
func (f stateFlags) query(q url.Values) url.Values {
	if f.State != "any" {
		q.Set("state", string(f.State))
	}
	return q
}

// pages prints a list of the API, page after page: a row each, or a JSON object a line.
type pages[T any] struct {
	Path  string
	Query url.Values
	listFlags
	Size int                       // largest page; 0 = pageSize
	Head string                    // row above the first one; "" = none
	Row  func(t io.Writer, item T) // prints an item as a row
}

// list prints the list to standard output; none is what to say when it is empty.
func (p pages[T]) list(ctx context.Context, r Client, none string) error {
	if p.Limit < 0 {
		return Usage("read --limit: expected 0 or more")
	}
	shown, more, err := p.print(ctx, os.Stdout, r)
	if err != nil {
		return err
	}
	switch {
	case shown == 0:
		fmt.Fprintln(os.Stderr, none)
	case more:
		fmt.Fprintf(os.Stderr, "%d shown, there are more; --limit 0 shows all\n", shown)
	}
	return nil
}

// print writes the list to w, up to a page that fails; more says that there are items beyond Limit.
func (p pages[T]) print(ctx context.Context, w io.Writer, r Client) (shown int, more bool, err error) {
	t := Table(w)
	defer func() {
		if wrong := t.Flush(); wrong != nil && err == nil {
			err = fmt.Errorf("write: %w", wrong)
		}
	}()
	for more = true; more && (p.Limit == 0 || shown < p.Limit); {
		size := cmp.Or(p.Size, pageSize)
		if p.Limit > 0 {
			size = min(size, p.Limit-shown)
		}
		p.Query.Set("limit", strconv.Itoa(size))
		var page api.Page[T]
		if err := r.call(ctx, http.MethodGet, p.Path+"?"+p.Query.Encode(), nil, &page); err != nil {
			return shown, false, err
		}
		for _, item := range page.Items {
			if p.JSON {
				if err := printLine(w, item); err != nil {
					return shown, false, fmt.Errorf("write: %w", err)
				}
			} else {
				if shown == 0 && p.Head != "" {
					fmt.Fprintln(t, p.Head)
				}
				p.Row(t, item)
			}
			shown++
		}
		p.Query.Set("cursor", page.NextCursor)
		more = page.NextCursor != ""
	}
	return shown, more, nil
}

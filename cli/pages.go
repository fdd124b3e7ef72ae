package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"

	"github.com/mtlrent/conveyor/api"
)

// pageSize is the largest page that the API returns.
const pageSize = 100

// pages prints a list of the API, page after page: a row each, or a JSON object a line.
type pages[T any] struct {
	Path  string
	Query url.Values
	Limit int                 // most items that are shown; 0 shows all
	JSON  bool                // print objects instead of rows
	Row   func(n int, item T) // prints the nth item, from 0
	Flush func() error        // of the table, at the end
}

// list prints a list of up to limit items to standard output; none is what to say when it is empty.
func list(
	ctx context.Context, connect Connect, limit int, none string,
	print func(context.Context, io.Writer, Client) (shown int, more bool, err error),
) error {
	if limit < 0 {
		return errors.New("read --limit: expected 0 or more")
	}
	r, err := connect()
	if err != nil {
		return err
	}
	shown, more, err := print(ctx, os.Stdout, r)
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

// print writes the list to w; more says that there are items beyond Limit.
func (p pages[T]) print(ctx context.Context, w io.Writer, r Client) (shown int, more bool, err error) {
	enc := json.NewEncoder(w)
	for more = true; more && (p.Limit == 0 || shown < p.Limit); {
		size := pageSize
		if p.Limit > 0 {
			size = min(size, p.Limit-shown)
		}
		p.Query.Set("limit", strconv.Itoa(size))
		var page api.Page[T]
		if err := r.call(ctx, http.MethodGet, p.Path+"?"+p.Query.Encode(), nil, &page); err != nil {
			return shown, false, err
		}
		for _, item := range page.Items {
			if !p.JSON {
				p.Row(shown, item)
			} else if err := enc.Encode(item); err != nil {
				return shown, false, fmt.Errorf("write: %w", err)
			}
			shown++
		}
		p.Query.Set("cursor", page.NextCursor)
		more = page.NextCursor != ""
	}
	if err := p.Flush(); err != nil {
		return shown, more, fmt.Errorf("write: %w", err)
	}
	return shown, more, nil
}

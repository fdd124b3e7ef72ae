package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/google/uuid"

	apidrafts "github.com/mtlrent/conveyor/api/drafts"
)

type draftListCmd struct {
	Since      when `help:"Only those requested at this time or later: 2026-11-20, 2026-11-20T14:00:00Z, or 48h for 48 hours ago." placeholder:"TIME"`
	stateFlags `set:"states=pending,succeeded,failed,dead,canceled"`
}

// Run prints page after page, up to --limit.
func (c *draftListCmd) Run(ctx context.Context, r Client) error {
	query := c.query(url.Values{})
	if since := c.Since.moment(); since != nil {
		query.Set("since", since.UTC().Format(time.RFC3339))
	}
	return pages[apidrafts.DraftRequestSummary]{
		Path: "/crawl-requests", Query: query, listFlags: c.listFlags,
		Head: "EVENT ID\tSTATE\tREQUESTED\tURL\tERROR",
		Row: func(t io.Writer, v apidrafts.DraftRequestSummary) {
			reason := ""
			if v.Error != nil {
				reason = *v.Error
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", v.EventID, v.State, v.RequestedAt.UTC().Format(time.RFC3339),
				Short(Plain(v.URL), 80), Short(Plain(reason), 60))
		},
	}.list(ctx, r, "there are no such crawl requests")
}

type draftCancelCmd struct {
	EventID []uuid.UUID `arg:"" help:"Event IDs of the requests." placeholder:"UUID"`
}

// Run cancels each, whatever becomes of those before it. If some could not be canceled, it is ExitError 1.
func (c *draftCancelCmd) Run(ctx context.Context, r Client) error {
	refused := 0
	for _, id := range c.EventID {
		var out apidrafts.DraftRequestState
		err := r.call(ctx, http.MethodPost, "/crawl-requests/"+id.String()+"/cancel", nil, &out)
		switch {
		case ctx.Err() != nil:
			return cmp.Or(err, ctx.Err())
		case err != nil:
			refused++
			fmt.Fprintf(os.Stderr, "crawl request %s: %s\n", id, Plain(err.Error()))
		default:
			fmt.Printf("crawl request %s is %s\n", id, out.State)
			if out.Warning != "" {
				fmt.Fprintln(os.Stderr, Plain(out.Warning))
			}
		}
	}
	if refused > 0 {
		return ExitError(1)
	}
	return nil
}

package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mtlrent/conveyor/api"
)

type listingsRefusedCmd struct {
	Status   string `help:"Adverts that were rejected, or that another is shown for: ${enum}." enum:"rejected,duplicate" default:"rejected"`
	Platform string `help:"Only adverts of this platform."`
	Reason   string `help:"Only adverts with this reason, such as missing." placeholder:"CODE"`
	Limit    int    `help:"Show at most this many; 0 shows all." default:"20"`
	JSON     bool   `name:"json" help:"Print one JSON object per line instead of text."`
}

// Run prints page after page, up to --limit.
func (c *listingsRefusedCmd) Run(ctx context.Context, connect Connect) error {
	return list(ctx, connect, c.Limit, "no advert matches", c.print)
}

// print writes the adverts that match.
func (c *listingsRefusedCmd) print(ctx context.Context, w io.Writer, r Client) (shown int, more bool, err error) {
	q := url.Values{"status": {c.Status}}
	setQuery(q, "platform", c.Platform)
	setQuery(q, "reason", c.Reason)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	adverts := pages[api.AdvertSummary]{
		Path: "/adverts", Query: q, Limit: c.Limit, JSON: c.JSON, Flush: table.Flush,
		Row: func(n int, a api.AdvertSummary) {
			if n == 0 {
				fmt.Fprintln(table, "CAME\tADVERT\tTITLE\tREASONS")
			}
			why := make([]string, len(a.Reasons))
			for i, r := range a.Reasons {
				why[i] = r.Field + ": " + r.Message
			}
			fmt.Fprintf(table, "%s\t%s/%s\t%s\t%s\n", a.RevisedAt.UTC().Format(time.DateTime), Plain(a.Platform),
				Plain(a.PlatformID), Short(Plain(a.Title), 50), Short(Plain(strings.Join(why, "; ")), 120))
		},
	}
	return adverts.print(ctx, w, r)
}

type listingsReasonsCmd struct {
	Platform string `help:"Only adverts of this platform."`
	Days     int    `help:"How many days, today included." default:"14"`
}

// Run prints a line for each day, platform and reason.
func (c *listingsReasonsCmd) Run(ctx context.Context, connect Connect) error {
	r, err := connect()
	if err != nil {
		return err
	}
	q := url.Values{"days": {strconv.Itoa(c.Days)}}
	setQuery(q, "platform", c.Platform)
	var got api.ReasonCounts
	if err := r.call(ctx, http.MethodGet, "/adverts/reasons?"+q.Encode(), nil, &got); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "DAY\tPLATFORM\tREASON\tADVERTS")
	for _, n := range got.Counts {
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\n", n.Day.UTC().Format(time.DateOnly), Plain(n.Platform), Plain(n.Code), n.Adverts)
	}
	return w.Flush()
}

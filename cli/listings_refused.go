package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

type listingsRefusedCmd struct {
	Status   string `help:"Adverts that were rejected, or that another is shown for: ${enum}." enum:"rejected,duplicate" default:"rejected"`
	Platform string `help:"Only adverts of this platform."`
	Reason   string `help:"Only adverts with this reason, such as missing." placeholder:"CODE"`
	listFlags
}

// Run prints page after page, up to --limit.
func (c *listingsRefusedCmd) Run(ctx context.Context, r Client) error {
	q := url.Values{"status": {c.Status}}
	setQuery(q, "platform", c.Platform)
	setQuery(q, "reason", c.Reason)
	return pages[apilistings.AdvertSummary]{
		Path: "/adverts", Query: q, listFlags: c.listFlags,
		Head: "CAME\tADVERT\tTITLE\tREASONS",
		Row: func(table io.Writer, a apilistings.AdvertSummary) {
			why := make([]string, len(a.Reasons))
			for i, r := range a.Reasons {
				why[i] = r.Field + ": " + r.Message
			}
			fmt.Fprintf(table, "%s\t%s/%s\t%s\t%s\n", a.RevisedAt.UTC().Format(time.DateTime), Plain(a.Platform),
				Plain(a.PlatformID), Short(Plain(a.Title), 50), Short(Plain(strings.Join(why, "; ")), 120))
		},
	}.list(ctx, r, "no advert matches")
}

type listingsReasonsCmd struct {
	Platform string `help:"Only adverts of this platform."`
	Days     int    `help:"How many days, today included." default:"14"`
	JSON     bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints a line for each day, platform and reason.
func (c *listingsReasonsCmd) Run(ctx context.Context, r Client) error {
	q := url.Values{"days": {strconv.Itoa(c.Days)}}
	setQuery(q, "platform", c.Platform)
	return show(ctx, r, http.MethodGet, "/adverts/reasons?"+q.Encode(), nil, c.JSON, printReasons)
}

func printReasons(out io.Writer, got apilistings.ReasonCounts) error {
	return printTable(out, got.Counts, "no advert was rejected in these days", "DAY\tPLATFORM\tREASON\tADVERTS",
		func(t io.Writer, n apilistings.ReasonCount) {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\n", n.Day.UTC().Format(time.DateOnly), Plain(n.Platform), Plain(n.Code), n.Adverts)
		})
}

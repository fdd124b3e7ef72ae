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
	"time"

	apicrawl "github.com/mtlrent/conveyor/api/crawl"
)

type crawlVisitedCmd struct {
	crawlID
	Limit int  `arg:"" optional:"" help:"Show at most this many, 1 to 50000." default:"20"`
	JSON  bool `name:"json" help:"Print the answer of the API as JSON."`
}

func (c *crawlVisitedCmd) Run(ctx context.Context, r Client) error {
	q := url.Values{"status": {"VISITED"}, "sort": {"visited_at"}, "order": {"desc"}, "limit": {strconv.Itoa(c.Limit)}}
	return show(ctx, r, http.MethodGet, c.path("/urls?"+q.Encode()), nil, c.JSON, printVisited)
}

func printVisited(w io.Writer, page apicrawl.CrawlURLPage) error {
	t := Table(w)
	fmt.Fprintln(t, "VISITED AT\tSTATUS\tDEPTH\tMS\tURL")
	for _, u := range page.URLs {
		at := "–"
		if u.VisitedAt != nil {
			at = u.VisitedAt.UTC().Format(time.RFC3339)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\n", at, number(u.HTTPStatus), u.Depth, number(u.TookMS), Plain(u.NormalizedURL))
	}
	fmt.Fprintf(t, "%d of %d visited URLs\n", page.Pagination.Returned, page.Pagination.Total)
	return t.Flush()
}

// number is a number that may be unknown.
func number(n *int) string {
	if n == nil {
		return "–"
	}
	return strconv.Itoa(*n)
}

type crawlWhyCmd struct {
	crawlID
	Hosts int  `help:"Show at most this many hosts, 1 to 1000, those with the most open URLs." default:"20"`
	JSON  bool `name:"json" help:"Print the answer of the API as JSON."`
}

func (c *crawlWhyCmd) Run(ctx context.Context, r Client) error {
	return show(ctx, r, http.MethodGet, c.path(fmt.Sprintf("/why?hosts=%d", c.Hosts)), nil, c.JSON, printWhy)
}

// printWhy writes what keeps a run from finishing: in sentences, then its hosts and workers, and what is tried next.
func printWhy(w io.Writer, y apicrawl.CrawlWhy) error {
	fmt.Fprintf(w, "crawl run %d is %s\n", y.ID, y.Status)
	for _, line := range y.Text {
		fmt.Fprintln(w, Plain(line))
	}
	t := Table(w)
	if len(y.Hosts) > 0 {
		fmt.Fprintln(t, "\nHOST\tREADY\tAGAIN\tHELD\tIN PROGRESS\tNEXT\tURLS/S\tHELD BY")
	}
	for _, h := range y.Hosts {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%s\t%.1f\t%s\n", Plain(h.Host), h.Ready, h.Again, h.Held, h.InProgress,
			until(y.At, h.NextDue), h.PerSecond, heldBy(y.At, h))
	}
	if len(y.Leases.Workers) > 0 {
		fmt.Fprintln(t, "\nWORKER\tURLS\tEXPIRED\tLEASE ENDS")
	}
	for _, l := range y.Leases.Workers {
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\n", Plain(l.Worker), l.Count, l.Expired, until(y.At, l.NextUntil))
	}
	if len(y.Next) > 0 {
		fmt.Fprintln(t, "\nNEXT\tAFTER\tTRIES\tURL")
	}
	for _, n := range y.Next {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", until(y.At, &n.DueAt), number(n.HTTPStatus), n.Tries, Plain(n.NormalizedURL))
	}
	return t.Flush()
}

// heldBy is what keeps a host from being asked, and for how long.
func heldBy(now time.Time, h apicrawl.CrawlOpenHost) string {
	if h.HeldBy == nil {
		return "–"
	}
	text := strings.ReplaceAll(*h.HeldBy, "_", " ")
	if h.HeldCause != nil && *h.HeldCause != "" {
		text += ": " + *h.HeldCause
	}
	return Short(Plain(text), 60) + ", " + until(now, h.HeldUntil)
}

// until is how long it is until a time, at now.
func until(now time.Time, at *time.Time) string {
	switch {
	case at == nil:
		return "–"
	case !at.After(now):
		return "now"
	}
	return "in " + at.Sub(now).Round(100*time.Millisecond).String()
}

type crawlBrokenCmd struct {
	crawlID
	Limit *int `help:"Show at most this many URLs; 0 shows all. The default is 100, and all in CSV." placeholder:"N"`
	Pages int  `help:"Show at most this many of the pages that link to a URL, 1 to 100." default:"10"`
	CSV   bool `name:"csv" help:"Print a CSV row for each page that links to such a URL, up to --pages."`
	JSON  bool `name:"json" help:"Print one JSON object per line."`
}

func (c *crawlBrokenCmd) Run(ctx context.Context, r Client) error {
	if err := within("pages", c.Pages, 100); err != nil {
		return err
	}
	query := url.Values{"pages": {strconv.Itoa(c.Pages)}}
	if !c.CSV {
		return c.links(query).list(ctx, r, "no URL leads nowhere")
	}
	query.Set("format", "csv")
	if c.Limit != nil {
		query.Set("limit", strconv.Itoa(*c.Limit))
	}
	body, err := r.stream(ctx, c.path("/broken-links?"+query.Encode()))
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(os.Stdout, body)
	return exportError(err)
}

// links are the URLs that lead nowhere.
func (c *crawlBrokenCmd) links(query url.Values) pages[apicrawl.CrawlBrokenLink] {
	most := 100
	if c.Limit != nil {
		most = *c.Limit
	}
	return pages[apicrawl.CrawlBrokenLink]{
		Path: c.path("/broken-links"), Query: query, listFlags: listFlags{most, c.JSON},
		Size: 1000, // for each page the API reads the links of all pages
		Row: func(w io.Writer, l apicrawl.CrawlBrokenLink) {
			fmt.Fprintf(w, "%s  %s", Plain(l.NormalizedURL), l.Status)
			if l.HTTPStatus != nil {
				fmt.Fprintf(w, " %d", *l.HTTPStatus)
			}
			if l.Error != nil {
				fmt.Fprintf(w, ": %s", Plain(*l.Error))
			}
			fmt.Fprintln(w)
			for _, p := range l.LinkedFrom {
				fmt.Fprintf(w, "  ← %s", Plain(p.NormalizedURL))
				if p.Title != nil {
					fmt.Fprintf(w, "  %s", Short(Plain(*p.Title), 60))
				}
				fmt.Fprintln(w)
			}
			if rest := l.LinkedTotal - int64(len(l.LinkedFrom)); rest > 0 {
				fmt.Fprintf(w, "  ← and %d more pages\n", rest)
			}
		},
	}
}

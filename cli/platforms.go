package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// PlatformsCmd shows and controls the scrapers of rental sites.
type PlatformsCmd struct {
	List   platformsListCmd  `cmd:"" default:"1" help:"List platforms with the state and the last cycle of each."`
	Show   platformShowCmd   `cmd:"" help:"Show one platform: settings, refusals, cycles, adverts."`
	Scrape platformChangeCmd `cmd:"" help:"Start the next cycle now."`
	Pause  platformChangeCmd `cmd:"" help:"Pause scraping a platform until it is resumed."`
	Resume platformChangeCmd `cmd:"" help:"Resume a paused platform where it stopped."`
	Set    platformSetCmd    `cmd:"" help:"Change the settings of a platform, from its next request on and across restarts."`
	Search platformSearchCmd `cmd:"" help:"List, add, change, pause and remove the searches of a platform."`
}

type platformsListCmd struct {
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

func (c *platformsListCmd) Run(ctx context.Context, r Client) error {
	return show(ctx, r, http.MethodGet, "/platforms", nil, c.JSON,
		func(w io.Writer, list apilistings.PlatformList) error {
			if len(list.Items) == 0 {
				_, err := fmt.Fprintln(os.Stderr, "there are no platforms; conveyor bootstrap creates them")
				return err
			}
			return printPlatforms(w, list.Items)
		})
}

// printPlatforms writes a line per platform, with the counts of the last cycle, or of the first while it is under way,
// and below what of those that are scraped is unproven.
func printPlatforms(w io.Writer, list []apilistings.Platform) error {
	t := Table(w)
	fmt.Fprintln(t, "NAME\tSTATE\tNEXT\tCYCLE\tNEW\tCHANGED\tSKIPPED\tFAILED\tGONE\tBLOCKS")
	for _, p := range list {
		fmt.Fprintf(t, "%s\t%s\t%s", p.Name, p.State, Plain(p.Next))
		switch c := p.Last; {
		case c != nil:
			fmt.Fprintf(t, "\t%d, ended %s", c.Cycle, c.EndedAt.UTC().Format(time.DateTime))
			printCounts(t, c)
		case p.Current != nil:
			fmt.Fprintf(t, "\t%d, under way", p.Current.Cycle)
			printCounts(t, p.Current)
		default:
			fmt.Fprint(t, "\tnone\t–\t–\t–\t–\t–\t–\n")
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, p := range list {
		if p.Unproven != "" && p.State != "disabled" {
			fmt.Fprintf(w, "\n%s is unproven: %s\n", p.Name, Plain(p.Unproven))
		}
	}
	return nil
}

func printCounts(w io.Writer, c *apilistings.PlatformCycle) {
	fmt.Fprintf(w, "\t%d\t%d\t%d\t%d\t%d\t%d\n", c.New, c.Changed, c.Skipped, c.Failed, c.Gone, c.Refusals)
}

// platformName is the argument of the commands on one platform.
type platformName struct {
	Name string `arg:"" help:"Name of the platform, such as kijiji."`
}

type (
	platformShowCmd struct {
		platformName
		JSON bool `name:"json" help:"Print the answer of the API as JSON."`
	}
	platformChangeCmd struct {
		platformName
		JSON bool `name:"json" help:"Print the answer of the API as JSON."`
	}
)

func (c *platformShowCmd) Run(ctx context.Context, r Client) error {
	return c.ask(ctx, r, http.MethodGet, "", nil, c.JSON)
}

// Run does with a platform what the command is called.
func (c *platformChangeCmd) Run(ctx context.Context, r Client, k *kong.Context) error {
	return c.ask(ctx, r, http.MethodPost, "/"+k.Selected().Name, nil, c.JSON)
}

type platformSetCmd struct {
	platformName
	searchFlags
	Enabled *bool `help:"Scrape the platform, or not." negatable:"disabled"`
	Reset   bool  `help:"First return to the configured settings."`
	JSON    bool  `name:"json" help:"Print the answer of the API as JSON."`
}

// routeFlags say which way requests go.
type routeFlags struct {
	Transport *scrape.Transport `help:"Client that loads the pages: browser or http." placeholder:"CLIENT"`
	Proxy     *string           `help:"Proxy: http://, https:// or socks5://[user:password@]host:port; - reads it from standard input; empty takes it back." placeholder:"URL"`
}

// read takes a proxy from standard input where - stands for it: a password on a command line is seen by others.
func (f *routeFlags) read(ctx context.Context, in io.Reader) error {
	if f.Proxy == nil || *f.Proxy != "-" {
		return nil
	}
	line, err := bufio.NewReader(io.LimitReader(Until(ctx, in), 1001)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the proxy: %w", err)
	}
	*f.Proxy = strings.TrimSpace(line)
	return nil
}

// Validate reports a command line that sets nothing; kong calls it.
func (c *platformSetCmd) Validate() error {
	if c.searchFlags == (searchFlags{}) && c.Enabled == nil && !c.Reset {
		return errors.New("nothing to set: give --delay, --pages, --cooldown, --look, --cycle, --transport, --proxy, " +
			"--enabled, --disabled or --reset")
	}
	return nil
}

func (c *platformSetCmd) Run(ctx context.Context, r Client) error {
	if err := c.read(ctx, os.Stdin); err != nil {
		return err
	}
	return c.ask(ctx, r, http.MethodPatch, "", c.patch(), c.JSON)
}

func (c *platformSetCmd) patch() apilistings.PlatformPatch {
	s := c.over(apilistings.SearchSettings{})
	return apilistings.PlatformPatch{
		DelaySeconds: s.DelaySeconds, MaxPages: s.MaxPages, CooldownSeconds: s.CooldownSeconds, LookSeconds: s.LookSeconds,
		CycleSeconds: s.CycleSeconds, Transport: s.Transport, Proxy: c.Proxy, Enabled: c.Enabled, Reset: c.Reset,
	}
}

// ask sends a request about the platform and prints its state afterwards.
func (c platformName) ask(ctx context.Context, r Client, method, action string, in any, asJSON bool) error {
	return show(ctx, r, method, "/platforms/"+url.PathEscape(c.Name)+action, in, asJSON, printPlatform)
}

// printPlatform writes the state of a platform as text.
func printPlatform(w io.Writer, p apilistings.Platform) error {
	t, row := newFacts(w)
	row("platform", "%s", p.Name)
	row("state", "%s", p.State)
	row("next", "%s", Plain(p.Next))
	by := string(p.Transport)
	if p.Proxy != "" {
		by += " through " + Plain(p.Proxy)
	}
	row("search", "%s, by %s", Plain(p.URL), by)
	row("pace", "%s", paceText(p.Settings))
	if p.Settings != p.Configured {
		row("configured", "%s", paceText(p.Configured))
	}
	if s := p.Suspect; s != nil {
		row("suspect", "since %s: %s", s.Since.UTC().Format(time.RFC3339), Plain(s.Reason))
	}
	if b := p.Blocked; b != nil {
		row("refused", "%d in a row (%s)", b.Refusals, Plain(b.Reason))
	}
	if p.LastSuccessAt != nil {
		row("read last", "%s", p.LastSuccessAt.UTC().Format(time.RFC3339))
	}
	if p.OldestVisitAt != nil {
		row("oldest visit", "%s", p.OldestVisitAt.UTC().Format(time.RFC3339))
	}
	if f := p.Forecast; f != nil {
		row("forecast", "cycles of %s, visits up to %s old; of %d requests a day %d look, %d search, %d visit again",
			seconds(f.CycleSeconds).Round(time.Second), seconds(f.OldestVisitSeconds).Round(time.Minute), f.Requests, f.Looks,
			f.Search, f.Revisits)
	}
	if p.Unproven != "" {
		row("unproven", "%s", Plain(p.Unproven))
	}
	row("adverts", "%d known, %d of them could not be read; %d gone", p.Adverts.Known, p.Adverts.Failed, p.Adverts.Gone)
	for _, c := range []*apilistings.PlatformCycle{p.Current, p.Last} {
		if c != nil {
			printCycle(row, c)
		}
	}
	for _, s := range p.Searches {
		if s.Name != scrape.DefaultSearch {
			row("search "+s.Name, "%s, %s", s.State, Plain(s.URL))
		}
	}
	row("workflow", "%s", p.Workflow.URL)
	return t.Flush()
}

func printCycle(row func(name, format string, args ...any), c *apilistings.PlatformCycle) {
	how := "under way since " + c.StartedAt.UTC().Format(time.RFC3339)
	if c.EndedAt != nil {
		how = fmt.Sprintf("ended %s, after %s", c.EndedAt.UTC().Format(time.RFC3339),
			c.EndedAt.Sub(c.StartedAt).Round(time.Second))
		if c.Complete {
			how += ", complete"
		}
	}
	row(fmt.Sprintf("cycle %d", c.Cycle), "%s", how)
	if c.Note != "" {
		row("  note", "%s", Plain(c.Note))
	}
	total := ""
	if c.Total != nil {
		total = fmt.Sprintf("; the site says %d", *c.Total)
	}
	row("  pages", "%d, %d adverts%s", c.Pages, c.Seen, total)
	tallied(row, tally{"new", int64(c.New)}, tally{"changed", int64(c.Changed)}, tally{"stale", int64(c.Stale)},
		tally{"returned", int64(c.Returned)}, tally{"skipped", int64(c.Skipped)}, tally{"failed", int64(c.Failed)},
		tally{"rejected", int64(c.Rejected)}, tally{"gone", int64(c.Gone)}, tally{"refusals", int64(c.Refusals)})
}

func paceText(s apilistings.PlatformSettings) string {
	text := fmt.Sprintf("%s between requests, at most %d pages a cycle, %s between cycles", seconds(s.DelaySeconds), s.MaxPages,
		seconds(s.CooldownSeconds))
	if s.LookSeconds > 0 {
		text += fmt.Sprintf(", newest pages every %s", seconds(s.LookSeconds))
	}
	if s.CycleSeconds > 0 {
		text += fmt.Sprintf(", %s for a cycle", seconds(s.CycleSeconds))
	}
	if !s.Enabled {
		text += ", disabled"
	}
	return text
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

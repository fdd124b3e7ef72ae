package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/alecthomas/kong"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

// platformSearchCmd shows and changes the searches of a platform.
type platformSearchCmd struct {
	List   searchListCmd   `cmd:"" help:"List the searches of a platform."`
	Add    searchAddCmd    `cmd:"" help:"Add a search to a platform, or replace it. What is not given is as the platform has it."`
	Set    searchSetCmd    `cmd:"" help:"Change some of a search."`
	Pause  searchChangeCmd `cmd:"" help:"Pause a search until it is resumed."`
	Resume searchChangeCmd `cmd:"" help:"Resume a paused search."`
	Remove searchRemoveCmd `cmd:"" help:"Remove a search; adverts that no other search shows are forgotten."`
}

// searchName is the argument of the commands on one search.
type searchName struct {
	platformName
	Search string `arg:"" help:"Name of the search, such as laval; that of the settings is default."`
}

func (c searchName) path() string {
	return "/platforms/" + url.PathEscape(c.Name) + "/searches/" + url.PathEscape(c.Search)
}

// searchFlags are the settings of a search, or of a platform: those of its searches that do not say otherwise.
type searchFlags struct {
	Delay    *time.Duration `help:"Pause after each request, such as 9s." placeholder:"TIME"`
	Pages    *int           `help:"Maximum of search pages in a cycle." placeholder:"N"`
	Cooldown *time.Duration `help:"Pause between two cycles, such as 1m." placeholder:"TIME"`
	Look     *time.Duration `help:"Time between two looks at the newest search pages, such as 5m; 0s is none." placeholder:"TIME"`
	Cycle    *time.Duration `help:"How long a cycle with its re-visits should take, such as 2h; 6h at most." placeholder:"TIME"`
	routeFlags
}

// over returns settings with those that are given in place of what is there.
func (f searchFlags) over(own apilistings.SearchSettings) apilistings.SearchSettings {
	set := func(into **float64, d *time.Duration) {
		if d != nil {
			*into = new(d.Seconds())
		}
	}
	set(&own.DelaySeconds, f.Delay)
	set(&own.CooldownSeconds, f.Cooldown)
	set(&own.LookSeconds, f.Look)
	set(&own.CycleSeconds, f.Cycle)
	if f.Pages != nil {
		own.MaxPages = f.Pages
	}
	if f.Transport != nil {
		own.Transport = f.Transport
	}
	return own
}

type (
	searchListCmd struct {
		platformName
		JSON bool `name:"json" help:"Print the searches as JSON."`
	}
	searchAddCmd struct {
		searchName
		URL    string `required:"" help:"Address of its first search page." placeholder:"URL"`
		Paused bool   `help:"Do not scrape it yet."`
		searchFlags
	}
	searchSetCmd struct {
		searchName
		URL string `help:"Address of its first search page; it starts over with the adverts there." placeholder:"URL"`
		searchFlags
	}
	searchChangeCmd struct{ searchName }
	searchRemoveCmd struct{ searchName }
)

func (c *searchListCmd) Run(ctx context.Context, r Client) error {
	var p apilistings.Platform
	if err := r.call(ctx, http.MethodGet, "/platforms/"+url.PathEscape(c.Name), nil, &p); err != nil {
		return err
	}
	if len(p.Searches) == 0 && !c.JSON {
		fmt.Fprintf(os.Stderr, "%s has no searches; add one with conveyor platforms search add\n", Plain(c.Name))
		return nil
	}
	return printAs(os.Stdout, p.Searches, c.JSON, printSearches)
}

func (c *searchAddCmd) Run(ctx context.Context, r Client) error {
	if err := c.read(ctx, os.Stdin); err != nil {
		return err
	}
	in := apilistings.PlatformSearchPut{
		URL: c.URL, Paused: c.Paused, SearchSettings: c.over(apilistings.SearchSettings{}), Proxy: c.Proxy,
	}
	return c.put(ctx, r, in)
}

func (c searchName) put(ctx context.Context, r Client, in apilistings.PlatformSearchPut) error {
	return show(ctx, r, http.MethodPut, c.path(), in, false, func(w io.Writer, out apilistings.PlatformSearch) error {
		return printSearches(w, []apilistings.PlatformSearch{out})
	})
}

// change puts a search as it is but for what f changes.
func (c searchName) change(ctx context.Context, r Client, f func(*apilistings.PlatformSearchPut)) error {
	var is apilistings.PlatformSearch
	if err := r.call(ctx, http.MethodGet, c.path(), nil, &is); err != nil {
		return err
	}
	in := apilistings.PlatformSearchPut{URL: is.URL, Paused: is.Paused, SearchSettings: is.Own}
	f(&in)
	return c.put(ctx, r, in)
}

func (c *searchSetCmd) Run(ctx context.Context, r Client) error {
	if err := c.read(ctx, os.Stdin); err != nil {
		return err
	}
	return c.change(ctx, r, func(in *apilistings.PlatformSearchPut) {
		in.Proxy = c.Proxy
		if c.URL != "" {
			in.URL = c.URL
		}
		in.SearchSettings = c.over(in.SearchSettings)
	})
}

// Run pauses or resumes a search, as the command is called.
func (c *searchChangeCmd) Run(ctx context.Context, r Client, k *kong.Context) error {
	return c.change(ctx, r, func(in *apilistings.PlatformSearchPut) { in.Paused = k.Selected().Name == "pause" })
}

func (c *searchRemoveCmd) Run(ctx context.Context, r Client) error {
	if err := r.call(ctx, http.MethodDelete, c.path(), nil, nil); err != nil {
		return err
	}
	fmt.Printf("%s has no search %s any more\n", c.Name, c.Search)
	return nil
}

// printSearches writes a line per search, and below why some get no request.
func printSearches(w io.Writer, list []apilistings.PlatformSearch) error {
	t := Table(w)
	fmt.Fprintln(t, "SEARCH\tSTATE\tCYCLE\tSEEN\tNEW\tGONE\tDELAY\tLOOK\tBY\tURL")
	for _, s := range list {
		cycle, seen := "none", [3]string{"–", "–", "–"}
		for _, c := range []*apilistings.PlatformCycle{s.Last, s.Current} {
			if c == nil {
				continue
			}
			cycle = fmt.Sprintf("%d, under way", c.Cycle)
			if c.EndedAt != nil {
				cycle = fmt.Sprintf("%d, ended %s", c.Cycle, c.EndedAt.UTC().Format(time.DateTime))
			}
			seen = [3]string{fmt.Sprint(c.Seen), fmt.Sprint(c.New), fmt.Sprint(c.Gone)}
		}
		by := string(s.Transport)
		if s.Proxy != "" {
			by += " through " + Plain(s.Proxy)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Name, s.State, cycle, seen[0], seen[1], seen[2],
			seconds(s.Settings.DelaySeconds), seconds(s.Settings.LookSeconds), by, Plain(s.URL))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range list {
		if s.Trouble != nil {
			fmt.Fprintf(w, "\n%s: %s\n", s.Name, Plain(s.Trouble.Reason))
		}
	}
	return nil
}

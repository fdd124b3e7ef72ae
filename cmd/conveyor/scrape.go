package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

type scrapeCmd struct {
	Platform  string           `arg:"" help:"Platform whose readers are used: kijiji, kangalou, …"`
	Once      bool             `help:"Load one page. Required without --file: continuous scraping is a workflow, see conveyor platforms."`
	URL       string           `name:"url" help:"URL of the page, or the original one of a saved page. The default is the first search page, or the canonical URL in the saved page." placeholder:"URL"`
	Transport scrape.Transport `help:"Transport that loads the page, browser or http; the default is the one that the platform needs." enum:",browser,http" default:""`
	File      string           `help:"Read a saved page, HTML or JSON, without any request; - is standard input." placeholder:"FILE"`
	JSON      bool             `name:"json" help:"Print the values as JSON."`
}

// Validate reports a wrong command line; kong calls it.
func (c *scrapeCmd) Validate() error {
	if _, ok := platform.ByName(c.Platform); !ok {
		return fmt.Errorf("there is no platform %q; known are %s", c.Platform, strings.Join(platform.Names(), ", "))
	}
	if !c.Once && c.File == "" {
		return cli.UsageError("--once is missing: this command loads one page; continuous scraping is a workflow, see conveyor platforms")
	}
	return nil
}

// Run prints the result of the platform's readers on one page. It needs none of the services.
func (c *scrapeCmd) Run(ctx context.Context) error {
	conf, err := settings()
	if err != nil {
		return err
	}
	return c.run(ctx, conf, os.Stdin, os.Stdout)
}

func (c *scrapeCmd) run(ctx context.Context, conf config.Config, in io.Reader, out io.Writer) error {
	site, ok := platform.ByName(c.Platform)
	if !ok {
		return fmt.Errorf("there is no platform %q", c.Platform)
	}
	readers := confine.New(confine.Options{})
	defer readers.Close()
	var page web.Page
	var err error
	if c.File != "" {
		page, err = c.saved(ctx, readers, in, site)
	} else {
		page, err = c.load(ctx, conf, site)
	}
	if err != nil {
		return err
	}
	r, err := read(ctx, readers, site, page, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		return cli.PrintJSON(out, r)
	}
	return r.print(out)
}

// saved reads a page from a file or standard input.
func (c *scrapeCmd) saved(ctx context.Context, readers *confine.Pool, in io.Reader, site platform.Platform) (
	web.Page, error,
) {
	body, err := savedPage(ctx, c.File, in)
	if err != nil {
		return web.Page{}, err
	}
	body = nextPage(body)
	address := c.URL
	if address == "" {
		if address, err = ownAddress(ctx, readers, body, site.Site().Start); err != nil {
			return web.Page{}, err
		}
	}
	return web.Page{Asked: address, URL: address, Body: body}, nil
}

// savedPage reads a file, or in for "-", as UTF-8. It may be compressed by gzip. When ctx ends it returns at once: the
// command can be stopped while it waits for standard input.
func savedPage(ctx context.Context, file string, in io.Reader) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read page: %w", err)
		}
		defer f.Close()
		in = f
	}
	buffered := bufio.NewReader(cli.Until(ctx, in))
	in = buffered
	if magic, _ := buffered.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("read page: %w", err)
		}
		in = unpacked
	}
	body, err := io.ReadAll(io.LimitReader(in, fetch.MaxPageBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	if len(body) > fetch.MaxPageBytes {
		return nil, fmt.Errorf("read page: is larger than %d MiB", fetch.MaxPageBytes>>20)
	}
	if utf8.Valid(body) { // whatever it declares: a browser that saves a page as UTF-8 may keep the declaration
		return bytes.TrimPrefix(body, []byte("\ufeff")), nil
	}
	return fetch.UTF8(body, "text/html"), nil
}

// nextPage wraps the JSON of a Next.js page, its __NEXT_DATA__, in a page again: often only the JSON was saved.
// Anything else stays as it is.
func nextPage(body []byte) []byte {
	var data struct {
		Props json.RawMessage `json:"props"`
	}
	if json.Unmarshal(body, &data) != nil || data.Props == nil {
		return body
	}
	var page bytes.Buffer
	page.WriteString(`<!DOCTYPE html><html><body><script id="__NEXT_DATA__" type="application/json">`)
	json.HTMLEscape(&page, body)
	page.WriteString(`</script></body></html>`)
	return page.Bytes()
}

// A canonicalReader finds the address that a page says is its own.
type canonicalReader interface {
	Canonical(ctx context.Context, page []byte) (address string, err error)
}

// ownAddress is the canonical URL that a page declares. The default is the root of start's site: links resolve against
// it, and it is neither a search page nor an advert.
func ownAddress(ctx context.Context, readers canonicalReader, body []byte, start string) (string, error) {
	root, err := url.Parse(start)
	if err != nil {
		return start, nil
	}
	root = &url.URL{Scheme: root.Scheme, Host: root.Host, Path: "/"}
	said, err := readers.Canonical(ctx, body)
	if err != nil {
		return "", fmt.Errorf("read page: %w", err)
	}
	if u := (web.Page{URL: root.String()}).Link(said); u != nil {
		return u.String(), nil
	}
	return root.String(), nil
}

// load requests the page from the site, if robots.txt allows that.
func (c *scrapeCmd) load(ctx context.Context, conf config.Config, site platform.Platform) (web.Page, error) {
	settings := conf.Scrape.Of(c.Platform, site.Site())
	address := cmp.Or(c.URL, settings.URL)
	request, err := site.SearchRequest(address, 1)
	switch {
	case err != nil: // not a search: an advert
		request = web.Request{URL: address}
	case request.Form == nil: // the page that the address names, not the first one
		request.URL = address
	}
	client := plainClient(conf, nil)
	defer client.Close()
	allowed, _, err := fetch.NewRobots(client.Ask, fetch.RobotsOptions{}).Allowed(ctx, request.URL)
	if err != nil {
		return web.Page{}, err
	}
	if !allowed {
		return web.Page{}, fmt.Errorf("robots.txt of the site does not allow %q; a saved page can be read with --file",
			request.URL)
	}
	source, done, err := loader(conf, cmp.Or(c.Transport, settings.Transport))
	if err != nil {
		return web.Page{}, err
	}
	defer done()
	return source.Load(ctx, request)
}

// loader opens the source of pages of a transport; the caller calls done afterwards.
func loader(c config.Config, t scrape.Transport) (source activities.PageSource, done func(), err error) {
	if t == scrape.HTTP {
		client := plainClient(c, nil)
		return client, client.Close, nil
	}
	log := telemetry.Logger(os.Stderr, c.Telemetry.Level, c.Telemetry.Format)
	b := newBrowser(c, log, nil)
	return b, b.Close, b.Check()
}

// A reading is the result of a platform's readers on a page.
type reading struct {
	Platform string          `json:"platform"`
	Kind     string          `json:"kind"` // search or detail
	Asked    string          `json:"asked"`
	URL      string          `json:"url"`               // where redirects led
	Results  *scrape.Results `json:"results,omitempty"` // of a search page
	Gone     string          `json:"gone,omitempty"`    // of a detail page, why there is no advert
	Advert   *scrape.Advert  `json:"advert,omitempty"`
	Outcome  *normalized     `json:"normalized,omitempty"` // of the advert; a building has its units instead
	Units    []unitReading   `json:"units,omitempty"`
}

// A unitReading is a home of a building and what becomes of it.
type unitReading struct {
	Advert  scrape.Advert `json:"advert"`
	Outcome normalized    `json:"normalized"`
}

// read tries both readers; the one that recognizes the page gives its kind. Where a site redirects from a removed
// advert to a search page, both may recognize it, so the requested URL decides.
func read(ctx context.Context, readers activities.PageReader, site platform.Platform, p web.Page, now time.Time) (
	reading, error,
) {
	r := reading{Platform: site.Name(), Asked: p.Asked, URL: p.URL}
	_, noSearch := site.SearchRequest(p.Asked, 1)
	results, notSearch := readers.ReadSearch(ctx, site.Name(), p)
	advert, notAdvert := readers.ReadAdvert(ctx, site.Name(), p)
	class := fault.ClassOf(notAdvert)
	switch {
	case notAdvert == nil && (noSearch != nil || notSearch != nil):
		r.Kind, r.Advert = "detail", &advert
		units := advert.Units
		advert.Units, advert.ScrapedAt = nil, now.UTC().Truncate(time.Second)
		if units == nil {
			outcome, err := outcomeOf(advert)
			r.Outcome = &outcome
			return r, err
		}
		for _, u := range units {
			u.ScrapedAt = advert.ScrapedAt
			outcome, err := outcomeOf(u)
			if err != nil {
				return r, err
			}
			r.Units = append(r.Units, unitReading{u, outcome})
		}
	case class == fault.Gone && noSearch != nil && (p.URL != p.Asked || notSearch != nil):
		r.Kind, r.Gone = "detail", notAdvert.Error()
	case notSearch == nil:
		r.Kind, r.Results = "search", &results
	case web.RefusalOf(notSearch) != nil || class == fault.Gone: // the error of the advert's reader is the same
		return r, fmt.Errorf("read %q: %w", p.URL, notSearch)
	default:
		return r, fmt.Errorf("read %q: no reader of %s recognizes this page\n  as a search page: %w\n  as an advert's page: %w", p.URL,
			r.Platform, notSearch, notAdvert)
	}
	return r, nil
}

// outcomeOf is what becomes of an advert.
func outcomeOf(advert scrape.Advert) (normalized, error) {
	line, err := json.Marshal(advert) // a Raw is its message
	if err != nil {
		return normalized{}, fmt.Errorf("write advert: %w", err)
	}
	return normalizeLine(line), nil
}

// print writes a reading as text.
func (r reading) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s page of %s: %s\n", r.Kind, r.Platform, cli.Plain(r.URL))
	if r.URL != r.Asked {
		fmt.Fprintf(&b, "redirected from %s\n", cli.Plain(r.Asked))
	}
	switch {
	case r.Results != nil:
		printResults(&b, *r.Results)
	case r.Advert == nil:
		fmt.Fprintf(&b, "\nthe advert is gone: %s\n", cli.Plain(r.Gone))
	default:
		fmt.Fprintln(&b)
		outline(&b, "", *r.Advert)
		if r.Outcome != nil {
			printOutcome(&b, *r.Outcome)
		}
		for i, u := range r.Units {
			fmt.Fprintf(&b, "\nunit %d of %d: %s, %s\n", i+1, len(r.Units), cli.Plain(u.Advert.PlatformID), cli.Plain(u.Advert.Title))
			printOutcome(&b, u.Outcome)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printResults(b *strings.Builder, r scrape.Results) {
	total, last := "the site does not state a total", "more pages follow"
	if r.Total >= 0 {
		total = fmt.Sprintf("%d in all", r.Total)
	}
	if r.Last {
		last = "this is the last page"
	}
	fmt.Fprintf(b, "%d adverts on the page; %s; %s\n", len(r.Cards), total, last)
	if len(r.Cards) == 0 {
		return
	}
	t := cli.Table(b)
	fmt.Fprintln(t, "\nID\tTITLE\tFINGERPRINT\tURL")
	for _, c := range r.Cards {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", cli.Plain(c.PlatformID), cli.Short(cli.Plain(c.Title), 50), c.Fingerprint, cli.Plain(c.URL))
	}
	_ = t.Flush() // to memory
}

func printOutcome(b *strings.Builder, n normalized) {
	if n.Listing == nil {
		fmt.Fprintf(b, "\nit cannot become a listing, for %d reasons:\n", len(n.Reasons))
		for _, r := range n.Reasons {
			fmt.Fprintf(b, "  %s (%s): %s\n", cli.Plain(r.Field), r.Code, cli.Plain(r.Message))
		}
		return
	}
	fmt.Fprintln(b, "\nit becomes this listing:")
	outline(b, "  ", *n.Listing)
}

// outline writes the members of a value's JSON in their order, a line each; an empty value is a dash.
func outline(b *strings.Builder, indent string, v any) {
	doc, err := json.Marshal(v)
	if err != nil {
		fmt.Fprintf(b, "%s%v\n", indent, err)
		return
	}
	members(doc, func(name string, value json.RawMessage) { outlineMember(b, indent, name, value) })
}

// members calls f for each member of an object, in order.
func members(object json.RawMessage, f func(name string, value json.RawMessage)) {
	dec := json.NewDecoder(bytes.NewReader(object))
	_, _ = dec.Token() // the opening brace; our own JSON is valid
	for dec.More() {
		name, _ := dec.Token()
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return
		}
		f(fmt.Sprint(name), value)
	}
}

func outlineMember(b *strings.Builder, indent, name string, value json.RawMessage) {
	within := indent + "  "
	switch text := string(value); {
	case text == "null" || text == `""` || text == "[]" || text == "{}":
		fmt.Fprintf(b, "%s%s: –\n", indent, cli.Plain(name))
	case value[0] == '{':
		fmt.Fprintf(b, "%s%s:\n", indent, cli.Plain(name))
		members(value, func(name string, value json.RawMessage) { outlineMember(b, within, name, value) })
	case value[0] == '[':
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list)
		if len(list) == 1 {
			outlineMember(b, indent, name, list[0])
			return
		}
		fmt.Fprintf(b, "%s%s:\n", indent, cli.Plain(name))
		for i, v := range list {
			outlineMember(b, within, fmt.Sprint(i+1), v)
		}
	case value[0] == '"':
		var s string
		_ = json.Unmarshal(value, &s)
		lines := strings.Split(strings.TrimSpace(s), "\n")
		if len(lines) == 1 {
			fmt.Fprintf(b, "%s%s: %s\n", indent, cli.Plain(name), cli.Plain(lines[0]))
			return
		}
		fmt.Fprintf(b, "%s%s:\n", indent, cli.Plain(name))
		for _, line := range lines {
			fmt.Fprintf(b, "%s%s\n", within, cli.Plain(line))
		}
	default:
		fmt.Fprintf(b, "%s%s: %s\n", indent, cli.Plain(name), text)
	}
}

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

type scrapeCmd struct {
	Platform  string           `arg:"" help:"Whose readers are tried: kijiji, kangalou, …"`
	Once      bool             `help:"Load one page. It must be said: what scrapes all the time is a workflow, see conveyor platforms."`
	URL       string           `name:"url" help:"Address of the page, or where a saved one came from. The default is the first search page, or what the saved page says." placeholder:"URL"`
	Transport scrape.Transport `help:"What loads it, browser or http; the default is as the platform needs." enum:",browser,http" default:""`
	File      string           `help:"Read a saved page, HTML or JSON, and ask nobody; - is standard input." placeholder:"FILE"`
	JSON      bool             `name:"json" help:"Print the values as JSON."`
}

// Validate is called by kong: what it returns is a command line that is wrong.
func (c *scrapeCmd) Validate() error {
	if _, ok := platform.ByName(c.Platform); !ok {
		return fmt.Errorf("there is no platform %q; known are %s", c.Platform, strings.Join(platform.Names(), ", "))
	}
	if !c.Once && c.File == "" {
		return errors.New("--once is missing: this loads one page; the scraper that goes on is a workflow, see conveyor platforms")
	}
	return nil
}

// Run prints what the platform's readers make of one page. It needs none of the services.
func (c *scrapeCmd) Run(ctx context.Context) error {
	conf, err := config.Load()
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
	var page web.Page
	var err error
	if c.File != "" {
		page, err = c.saved(in, site)
	} else {
		page, err = c.load(ctx, conf, site)
	}
	if err != nil {
		return err
	}
	r, err := read(site, page, time.Now())
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(out, r)
	}
	return r.print(out)
}

// saved reads a page from a file or standard input.
func (c *scrapeCmd) saved(in io.Reader, site platform.Platform) (web.Page, error) {
	body, err := savedPage(c.File, in)
	if err != nil {
		return web.Page{}, err
	}
	body = nextPage(body)
	address := cmp.Or(c.URL, ownAddress(body, site.Site().Start))
	return web.Page{Asked: address, URL: address, Body: body}, nil
}

// savedPage reads a file, or in for "-", as UTF-8. It may be compressed by gzip.
func savedPage(file string, in io.Reader) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read page: %w", err)
		}
		defer f.Close()
		in = f
	}
	buffered := bufio.NewReader(in)
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
	if utf8.Valid(body) { // whatever it says of itself: a browser that saves a page may leave that as it was
		return bytes.TrimPrefix(body, []byte("\ufeff")), nil
	}
	return fetch.UTF8(body, "text/html"), nil
}

// nextPage makes a page of the data of one, for what Next.js has in __NEXT_DATA__ is often all that was kept. Anything
// else stays as it is.
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

// ownAddress is what a page says its address is. A page that says nothing is somewhere on the site of start: its links
// resolve, and it is neither a search's nor an advert's.
func ownAddress(body []byte, start string) string {
	root, err := url.Parse(start)
	if err != nil {
		return start
	}
	root = &url.URL{Scheme: root.Scheme, Host: root.Host, Path: "/"}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(body))
	if err != nil {
		return root.String()
	}
	said := cmp.Or(doc.Find(`link[rel="canonical"]`).AttrOr("href", ""),
		doc.Find(`meta[property="og:url"]`).AttrOr("content", ""))
	if u := (web.Page{URL: root.String()}).Link(said); u != nil {
		return u.String()
	}
	return root.String()
}

// load asks the site for the page, if its robots.txt allows that.
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
	allowed, _, err := fetch.NewRobots(client).Allowed(ctx, request.URL)
	if err != nil {
		return web.Page{}, err
	}
	if !allowed {
		return web.Page{}, fmt.Errorf("robots.txt of the site does not allow %q; a page that is saved can be read with --file",
			request.URL)
	}
	source, done, err := loader(conf, cmp.Or(c.Transport, settings.Transport))
	if err != nil {
		return web.Page{}, err
	}
	defer done()
	return source.Load(ctx, request)
}

// loader opens what loads pages by a transport; the caller calls done afterwards.
func loader(c config.Config, t scrape.Transport) (source activities.PageSource, done func(), err error) {
	if t == scrape.HTTP {
		client := plainClient(c, nil)
		return client, client.Close, nil
	}
	log := telemetry.Logger(os.Stderr, c.Telemetry.Level, c.Telemetry.Format)
	b := chromium(c, log, nil)
	return b, func() { _ = b.Close() }, b.Check()
}

// plainClient loads pages where no script has to run.
func plainClient(c config.Config, traces trace.TracerProvider) *fetch.Client {
	return fetch.New(fetch.Options{AllowPrivate: c.Images.AllowPrivate, Timeout: c.Browser.Timeout, Traces: traces})
}

// chromium is the browser of this process. It starts with the first page that needs it.
func chromium(c config.Config, log *slog.Logger, registry prometheus.Registerer) *browser.Browser {
	b := c.Browser
	return browser.New(browser.Options{
		Executable: b.Executable, Driver: b.Driver, Dial: fetch.Dial(c.Images.AllowPrivate, nil), Pages: b.Pages,
		MaxCycles: b.MaxCycles, MaxAge: b.MaxAge, MaxRSS: b.MaxRSS << 20, Timeout: b.Timeout, Log: log, Registerer: registry,
	})
}

// devtools is the Chromium that drafts are made with.
func devtools(c config.Config, log *slog.Logger, registry prometheus.Registerer) *browser.Devtools {
	d := c.Drafts
	return browser.NewDevtools(browser.DevtoolsOptions{
		URL: d.DevtoolsURL, Driver: c.Browser.Driver, Dial: fetch.Dial(c.Images.AllowPrivate, nil), ProxyHost: d.ProxyHost,
		Pages: d.Pages, Timeout: d.Timeout, Log: log, Registerer: registry,
	})
}

// A reading is what a platform's readers make of a page.
type reading struct {
	Platform string          `json:"platform"`
	Kind     string          `json:"kind"` // search or detail
	Asked    string          `json:"asked"`
	URL      string          `json:"url"`               // where redirects led
	Results  *scrape.Results `json:"results,omitempty"` // of a search page
	Gone     string          `json:"gone,omitempty"`    // of a detail page, why there is no advert
	Advert   *scrape.Advert  `json:"advert,omitempty"`
	Outcome  *normalized     `json:"normalized,omitempty"`
}

// read tries both readers; which of them knows a page is what the page is. An advert that was removed and a search page
// look the same where the site leads from one to the other, so there the address decides.
func read(site platform.Platform, p web.Page, now time.Time) (reading, error) {
	r := reading{Platform: site.Name(), Asked: p.Asked, URL: p.URL}
	_, noSearch := site.SearchRequest(p.Asked, 1)
	results, notSearch := site.ReadSearch(p)
	advert, notAdvert := site.ReadAdvert(p)
	class, _ := fault.Of(notAdvert)
	switch {
	case notAdvert == nil && (noSearch != nil || notSearch != nil):
		r.Kind, r.Advert = "detail", &advert
		advert.ScrapedAt = now.UTC().Truncate(time.Second)
		line, err := json.Marshal(advert) // a Raw is its message
		if err != nil {
			return r, fmt.Errorf("write advert: %w", err)
		}
		r.Outcome = new(normalizeLine(line))
	case class == fault.Gone && noSearch != nil && (p.URL != p.Asked || notSearch != nil):
		r.Kind, r.Gone = "detail", notAdvert.Error()
	case notSearch == nil:
		r.Kind, r.Results = "search", &results
	case web.RefusalOf(notSearch) != nil || class == fault.Gone: // the advert's reader says no more than that
		return r, fmt.Errorf("read %q: %w", p.URL, notSearch)
	default:
		return r, fmt.Errorf("read %q: no reader of %s knows this page\n  as a search page: %w\n  as an advert's page: %w", p.URL,
			r.Platform, notSearch, notAdvert)
	}
	return r, nil
}

// print writes a reading for people.
func (r reading) print(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s page of %s: %s\n", r.Kind, r.Platform, plain(r.URL))
	if r.URL != r.Asked {
		fmt.Fprintf(&b, "where %s led\n", plain(r.Asked))
	}
	switch {
	case r.Results != nil:
		printResults(&b, *r.Results)
	case r.Advert == nil:
		fmt.Fprintf(&b, "\nthe advert is gone: %s\n", plain(r.Gone))
	default:
		fmt.Fprintln(&b)
		outline(&b, "", *r.Advert)
		printOutcome(&b, *r.Outcome)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printResults(b *strings.Builder, r scrape.Results) {
	total, last := "the site does not say how many in all", "more pages follow"
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
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nID\tTITLE\tFINGERPRINT\tURL")
	for _, c := range r.Cards {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", plain(c.PlatformID), short(plain(c.Title), 50), c.Fingerprint, plain(c.URL))
	}
	_ = t.Flush() // to memory
}

func printOutcome(b *strings.Builder, n normalized) {
	if n.Listing == nil {
		fmt.Fprintf(b, "\nit cannot become a listing, for %d reasons:\n", len(n.Reasons))
		for _, r := range n.Reasons {
			fmt.Fprintf(b, "  %s (%s): %s\n", plain(r.Field), r.Code, plain(r.Message))
		}
		return
	}
	fmt.Fprintln(b, "\nit becomes this listing:")
	outline(b, "  ", *n.Listing)
}

// outline writes a value as its JSON has it, a line each, for people: members in their order, a dash for what is empty.
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
	_, _ = dec.Token() // it begins, and what we have marshaled can be read
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
		fmt.Fprintf(b, "%s%s: –\n", indent, plain(name))
	case value[0] == '{':
		fmt.Fprintf(b, "%s%s:\n", indent, plain(name))
		members(value, func(name string, value json.RawMessage) { outlineMember(b, within, name, value) })
	case value[0] == '[':
		var list []json.RawMessage
		_ = json.Unmarshal(value, &list)
		if len(list) == 1 {
			outlineMember(b, indent, name, list[0])
			return
		}
		fmt.Fprintf(b, "%s%s:\n", indent, plain(name))
		for i, v := range list {
			outlineMember(b, within, fmt.Sprint(i+1), v)
		}
	case value[0] == '"':
		var s string
		_ = json.Unmarshal(value, &s)
		lines := strings.Split(strings.TrimSpace(s), "\n")
		if len(lines) == 1 {
			fmt.Fprintf(b, "%s%s: %s\n", indent, plain(name), plain(lines[0]))
			return
		}
		fmt.Fprintf(b, "%s%s:\n", indent, plain(name))
		for _, line := range lines {
			fmt.Fprintf(b, "%s%s\n", within, plain(line))
		}
	default:
		fmt.Fprintf(b, "%s%s: %s\n", indent, plain(name), text)
	}
}

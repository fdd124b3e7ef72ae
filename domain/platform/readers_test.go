package platform_test

import (
	"bytes"
	"encoding/json"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// A fixture is a page of a platform's testdata. By its name: search*.html and search*.json list adverts, empty* lists
// none, detail* is one advert. The address is that of <link rel="canonical">, in JSON of "canonical", else the platform's
// Start.
type fixture struct {
	name string
	page web.Page
}

func (f fixture) detail() bool { return strings.HasPrefix(f.name, "detail") }

var canonical = regexp.MustCompile(`(?:<link rel="canonical" href=|"canonical": )"([^"]+)"`)

func fixtures(tb testing.TB, p platform.Platform) (all []fixture) {
	tb.Helper()
	for _, pattern := range []string{"search*", "empty*", "detail*"} {
		paths, err := filepath.Glob(filepath.Join(p.Name(), "testdata", pattern))
		if err != nil || len(paths) == 0 {
			tb.Fatalf("%s has no testdata/%s (%v)", p.Name(), pattern, err)
		}
		for _, path := range paths {
			body := sharedtest.Read(tb, path)
			address := p.Site().Start
			if m := canonical.FindSubmatch(body); m != nil {
				address = string(m[1])
			}
			all = append(all, fixture{filepath.Base(path), web.Page{Asked: address, URL: address, Status: 200, Body: body}})
		}
	}
	return all
}

// read reads a page as what it is; the result is Results or an Advert.
func read(p platform.Platform, detail bool, page web.Page) (any, error) {
	if detail {
		return p.ReadAdvert(page)
	}
	return p.ReadSearch(page)
}

// TestReaders is what every platform's reader must hold to, whatever its site looks like.
func TestReaders(t *testing.T) {
	t.Parallel()
	for _, p := range platform.All {
		t.Run(p.Name(), func(t *testing.T) {
			t.Parallel()
			t.Run("site", func(t *testing.T) { siteIsSane(t, p) })
			t.Run("requests", func(t *testing.T) { asks(t, p) })
			for _, f := range fixtures(t, p) {
				t.Run(f.name, func(t *testing.T) {
					t.Parallel()
					got, err := read(p, f.detail(), f.page)
					require.NoError(t, err)
					sane(t, p, got)
					if r, ok := got.(scrape.Results); ok && (len(r.Cards) == 0) != strings.HasPrefix(f.name, "empty") {
						t.Errorf("%d cards", len(r.Cards))
					}
					again, err := read(p, f.detail(), f.page)
					if err != nil || !reflect.DeepEqual(got, again) {
						t.Errorf("read twice: %+v and %+v, %v", got, again, err)
					}
					statuses(t, p, f)
					halves(t, p, f, got)
					nowhere(t, p, f)
				})
			}
			t.Run("other pages", func(t *testing.T) { refusesOthers(t, p) })
		})
	}
}

func siteIsSane(t *testing.T, p platform.Platform) {
	t.Parallel()
	s := p.Site()
	u, err := url.Parse(s.Start)
	if err != nil || u.Scheme != "https" || u.Host == "" {
		t.Errorf("Start = %q, %v; want an https address", s.Start, err)
	}
	if s.Transport != scrape.Browser && s.Transport != scrape.HTTP {
		t.Errorf("Transport = %q", s.Transport)
	}
	if s.Delay < time.Second || s.Cooldown < time.Second || s.MaxPages < 1 {
		t.Errorf("Pace = %+v; want a second and a page at least", s.Pace)
	}
	require.Equal(t, p.Site(), s, "Site changes")
}

func asks(t *testing.T, p platform.Platform) {
	t.Parallel()
	seen := map[string]bool{}
	for _, n := range []int{1, 2, 1000} {
		r, err := p.SearchRequest(p.Site().Start, n)
		require.NoErrorf(t, err, "page %d", n)
		key, _ := json.Marshal(r)
		if u, err := url.Parse(r.URL); err != nil || u.Scheme != "https" || u.Host == "" || seen[string(key)] {
			t.Errorf("page %d = %+v, %v", n, r, err)
		}
		seen[string(key)] = true
		if _, _, post := r.Post(); post {
			continue // its address is not all of it
		}
		// The address of a later page leads to the same pages.
		for _, m := range []int{1, 2, 7} {
			want, err1 := p.SearchRequest(p.Site().Start, m)
			got, err2 := p.SearchRequest(r.URL, m)
			if err1 != nil || err2 != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("page %d from %q = %+v, %v; want %+v, %v", m, r.URL, got, err2, want, err1)
			}
		}
	}
	for _, n := range []int{0, -1} {
		if r, err := p.SearchRequest(p.Site().Start, n); !invalid(err) {
			t.Errorf("page %d = %+v, %v; want invalid", n, r, err)
		}
	}
	for _, start := range []string{"", " ", "::", "/", "x", "https://", "https://example.org", "https://example.org/x?y=z",
		"ftp://example.org/", "javascript:alert(1)", "https://user:secret@example.org/", "http://[::1", "\x00", "%zz"} {
		if r, err := p.SearchRequest(start, 1); !invalid(err) {
			t.Errorf("SearchRequest(%q) = %+v, %v; want invalid", start, r, err)
		}
	}
	// The address of an advert is no search.
	for _, f := range fixtures(t, p) {
		if f.detail() {
			if r, err := p.SearchRequest(f.page.URL, 1); !invalid(err) {
				t.Errorf("SearchRequest(%q) = %+v, %v; want invalid", f.page.URL, r, err)
			}
		}
	}
}

func invalid(err error) bool {
	class, _ := fault.Of(err)
	return class == fault.Invalid
}

// quoted are coordinates of Montréal as text.
var quoted = regexp.MustCompile(`"-?(45|73)\.\d+"`)

// nowhere reads a page whose coordinates are no numbers: what is read of it can be written all the same.
func nowhere(t *testing.T, p platform.Platform, f fixture) {
	t.Helper()
	body := f.page.Body
	for _, number := range []string{"NaN", "-inf", "1e999", ""} {
		f.page.Body = quoted.ReplaceAll(body, []byte(`"`+number+`"`))
		got, err := read(p, f.detail(), f.page)
		assert.NoErrorf(t, err, "with coordinates %q", number)
		if _, err := json.Marshal(got); err != nil {
			t.Errorf("with coordinates %q: %v", number, err)
		}
	}
}

// sane holds for whatever a reader returns without an error.
func sane(t *testing.T, p platform.Platform, got any) {
	t.Helper()
	switch got := got.(type) {
	case scrape.Results:
		if got.Total < -1 || len(got.Cards) == 0 && !got.Last {
			t.Errorf("total %d, last %t, %d cards", got.Total, got.Last, len(got.Cards))
		}
		seen := map[string]bool{}
		for _, c := range got.Cards {
			assert.False(t, seen[c.PlatformID], c.PlatformID)
			seen[c.PlatformID] = true
			message(t, contract.ScrapedListing{Platform: p.Name(), PlatformID: c.PlatformID, URL: c.URL})
			if c.Title == "" || c.Fingerprint == "" {
				t.Errorf("card = %+v", c)
			}
			if c.Advert != nil {
				sane(t, p, *c.Advert)
				assert.Equal(t, c.PlatformID, c.Advert.PlatformID, "the card has another advert")
			}
		}
	case scrape.Advert:
		message(t, contract.ScrapedListing{Platform: got.Platform, PlatformID: got.PlatformID, URL: got.URL})
		if got.Platform != p.Name() || got.Title == "" || !got.ScrapedAt.IsZero() {
			t.Errorf("advert %q of %q, title %q, scraped at %v", got.PlatformID, got.Platform, got.Title, got.ScrapedAt)
		}
		for _, s := range got.ImageURLs {
			if u, err := url.Parse(s); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
				t.Errorf("image at %q", s)
			}
		}
		for name := range got.Attributes {
			assert.NotEmpty(t, name, "an attribute without a name")
		}
		if got.PostedAt != nil && got.PostedAt.Location() != time.UTC {
			t.Errorf("posted at %v", got.PostedAt)
		}
		units := map[string]bool{}
		for _, u := range got.Units {
			if units[u.PlatformID] || u.PlatformID == got.PlatformID || u.Units != nil ||
				!reflect.DeepEqual(u.Attributes["building"], []string{got.PlatformID}) {
				t.Errorf("unit %s of %s, of the building %q", u.PlatformID, got.PlatformID, u.Attributes["building"])
			}
			units[u.PlatformID] = true
			sane(t, p, u)
		}
		var extra map[string]any
		if got.Extra != nil && json.Unmarshal(got.Extra, &extra) != nil {
			t.Errorf("extra is no object: %s", got.Extra)
		}
	}
}

// message holds an advert to what the queue takes.
func message(t *testing.T, m contract.ScrapedListing) {
	t.Helper()
	m.ScrapedAt = time.Unix(1, 0)
	require.NoErrorf(t, m.Check(), "%q at %q", m.PlatformID, m.URL)
	if strings.Contains(m.URL, "#") || !utf8.ValidString(m.URL) {
		t.Errorf("the address %q", m.URL)
	}
}

// statuses: what a status says counts, whatever stands in the page.
func statuses(t *testing.T, p platform.Platform, f fixture) {
	for _, tt := range []struct {
		status  int
		after   time.Duration
		class   fault.Class
		refused bool
	}{
		{429, time.Minute, fault.Throttled, true},
		{403, 0, fault.Throttled, true},
		{503, time.Minute, fault.Throttled, true},
		{503, 0, fault.Throttled, false},
		{500, 0, fault.Transient, false},
		{404, 0, fault.Gone, false},
		{410, 0, fault.Gone, false},
	} {
		page := f.page
		page.Status, page.RetryAfter, page.Body = tt.status, tt.after, []byte("<html>error</html>")
		got, err := read(p, f.detail(), page)
		class, after := fault.Of(err)
		if class != tt.class || (web.RefusalOf(err) != nil) != tt.refused || tt.refused && after != tt.after {
			t.Errorf("status %d: %+v, %v; want %q", tt.status, got, err, tt.class)
		}
	}
}

// halves cuts the page at many points, as a connection does. What is left is not recognized, or reads like the whole:
// it never holds fewer adverts without a word.
func halves(t *testing.T, p platform.Platform, f fixture, whole any) {
	n := len(f.page.Body)
	for cut := 0; cut < n; cut += max(1, n/400) {
		for how, body := range map[string][]byte{"cut off": f.page.Body[:cut], "closed": closed(t, f.page.Body[:cut])} {
			if how == "closed" && !app.Match(f.page.Body) {
				continue // nothing tells such a page from one with fewer adverts
			}
			page := f.page
			page.Body = body
			got, err := read(p, f.detail(), page)
			if err == nil && !reflect.DeepEqual(got, whole) {
				t.Fatalf("%d of %d bytes, %s, read as %+v; the whole as %+v", cut, n, how, got, whole)
			}
			if err != nil && !invalid(err) && web.RefusalOf(err) == nil {
				t.Fatalf("%d of %d bytes, %s: %v", cut, n, how, err)
			}
		}
	}
}

// closed is a page as a browser hands it over, which ends every element that is open.
func closed(t *testing.T, body []byte) []byte {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(body))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, html.Render(&out, doc))
	return out.Bytes()
}

// app is a page that carries its data in one piece.
var app = regexp.MustCompile(`__NEXT_DATA__|^\s*[{[]`)

// refusesOthers: pages of other platforms are errors, and never empty results.
func refusesOthers(t *testing.T, p platform.Platform) {
	t.Parallel()
	pages := map[string]string{
		"nothing": "", "white space": " \n", "no text": "\xff\xfe\x00\x01", "JSON": `{"ok":true}`, "empty JSON": "{}",
		"empty list": "[]", "null": "null", "text": "hello", "an empty page": "<html><body></body></html>",
		"no data":      `<html><script id="__NEXT_DATA__" type="application/json"></script></html>`,
		"other data":   `<html><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{}}}</script></html>`,
		"another site": `<html><head><title>Example Domain</title></head><body><h1>Example</h1><a href="/1">1</a></body></html>`,
	}
	for _, other := range platform.All {
		if other.Name() != p.Name() {
			for _, f := range fixtures(t, other) {
				pages[other.Name()+" "+f.name] = string(f.page.Body)
			}
		}
	}
	captcha := "<html><head><title>Just a moment...</title></head><body>" +
		`<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script></body></html>`
	for _, f := range fixtures(t, p) {
		for name, body := range pages {
			page := f.page
			page.Body = []byte(body)
			if got, err := read(p, f.detail(), page); !invalid(err) && web.RefusalOf(err) == nil {
				t.Errorf("%s for %s: %+v, %v; want a ShapeError", name, f.name, got, err)
			}
		}
		page := f.page
		page.Body = []byte(captcha)
		_, err := read(p, f.detail(), page)
		if r := web.RefusalOf(err); r == nil || r.Reason != "captcha" {
			t.Errorf("a challenge for %s: %v; want a refusal", f.name, err)
		}
	}
}

// fuzzReader seeds with every page of the platform and holds the results to what all must hold to.
func fuzzReader(f *testing.F, name string) {
	p, ok := platform.ByName(name)
	if !ok {
		f.Fatal(name)
	}
	for _, fix := range fixtures(f, p) {
		f.Add(fix.page.Body, fix.page.URL)
	}
	f.Fuzz(func(t *testing.T, body []byte, address string) {
		page := web.Page{Asked: p.Site().Start, URL: address, Status: 200, Body: bytes.Clone(body)}
		for _, detail := range []bool{false, true} {
			got, err := read(p, detail, page)
			if err == nil {
				sane(t, p, got)
			}
		}
		assert.Equal(t, body, page.Body, "the reader writes to the page")
		_, _ = p.SearchRequest(address, 2)
	})
}

func FuzzKijiji(f *testing.F)   { fuzzReader(f, "kijiji") }
func FuzzKangalou(f *testing.F) { fuzzReader(f, "kangalou") }
func FuzzCentris(f *testing.F)  { fuzzReader(f, "centris") }
func FuzzRentals(f *testing.F)  { fuzzReader(f, "rentals_ca") }
func FuzzZumper(f *testing.F)   { fuzzReader(f, "zumper") }
func FuzzRealtor(f *testing.F)  { fuzzReader(f, "realtor_ca") }

package demosite_test

import (
	"errors"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
	"github.com/mtlrent/conveyor/domain/place"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/sim/demosite"
	"github.com/mtlrent/conveyor/sim/demosite/corpus"
)

const host = "http://demo.example"

var start = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// starts are the first search pages of the halves.
var starts = map[string]string{
	demosite.Kijiji:   host + "/b-apartments-condos/ville-de-montreal/c37l1700281",
	demosite.Kangalou: host + "/fr/recherche/",
}

// load asks the site as a scraper does.
func load(t testing.TB, site http.Handler, r web.Request) web.Page {
	t.Helper()
	page := web.Page{Asked: r.URL, URL: r.URL}
	for range 3 {
		u, err := url.Parse(page.URL)
		require.NoError(t, err)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, page.URL, nil)
		if contentType, body, post := r.Post(); post {
			req = httptest.NewRequestWithContext(t.Context(), http.MethodPost, page.URL, strings.NewReader(body))
			req.Header.Set("Content-Type", contentType)
		}
		w := httptest.NewRecorder()
		site.ServeHTTP(w, req)
		if w.Code != http.StatusFound {
			page.Status, page.ContentType, page.Body = w.Code, w.Header().Get("Content-Type"), w.Body.Bytes()
			if after, err := time.ParseDuration(w.Header().Get("Retry-After") + "s"); err == nil {
				page.RetryAfter = after
			}
			return page
		}
		to, err := u.Parse(w.Header().Get("Location"))
		require.NoError(t, err)
		page.URL = to.String()
	}
	t.Fatalf("GET %s: too many redirects", r.URL)
	return page
}

func reader(t testing.TB, name string) platform.Platform {
	t.Helper()
	p, ok := platform.ByName(name)
	require.True(t, ok, name)
	return p
}

// cards reads every search page of a half.
func cards(t testing.TB, site *demosite.Site, name string) []scrape.Card {
	t.Helper()
	p := reader(t, name)
	seen := map[string]bool{}
	var list []scrape.Card
	for n := 1; n <= 1000; n++ {
		req, err := p.SearchRequest(starts[name], n)
		require.NoError(t, err)
		results, err := p.ReadSearch(load(t, site, req))
		require.NoErrorf(t, err, "%s page %d", name, n)
		for _, c := range results.Cards {
			if !seen[c.PlatformID] {
				seen[c.PlatformID] = true
				list = append(list, c)
			}
		}
		if results.Last {
			return list
		}
	}
	t.Fatalf("%s has no last page", name)
	return nil
}

func squeeze(s string) string { return strings.Join(strings.Fields(html.UnescapeString(s)), " ") }

// Every page of both halves is read by the reader of its platform, and agrees with the inventory.
func TestReaders(t *testing.T) {
	t.Parallel()
	for _, name := range []string{demosite.Kijiji, demosite.Kangalou} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := start
			site := demosite.New(demosite.Options{Now: func() time.Time { return now }, Adverts: 150})
			now = start.Add(2 * time.Hour)
			p := reader(t, name)
			adverts, err := site.Adverts(name)
			require.NoError(t, err)
			want := map[string]demosite.Advert{}
			for _, a := range adverts {
				if a.State == demosite.Active {
					want[a.ID] = a
				}
			}
			removed := len(adverts) - len(want)
			if len(want) < 200 || removed == 0 {
				t.Fatalf("%d adverts are there and %d removed; want 200 or more, and some", len(want), removed)
			}
			list := cards(t, site, name)
			assert.Equal(t, len(want), len(list), "adverts of the search pages")
			rejected := 0
			for _, c := range list {
				a, ok := want[c.PlatformID]
				if !ok {
					t.Errorf("card %s is no active advert", c.PlatformID)
					continue
				}
				if c.URL != host+a.URL || squeeze(c.Title) != squeeze(a.Title) {
					t.Errorf("card = %+v; want %+v", c, a)
				}
				got, err := p.ReadAdvert(load(t, site, web.Request{URL: c.URL}))
				require.NoErrorf(t, err, "read %s", c.URL)
				checkAdvert(t, got.Raw, a)
				if _, err := p.Normalize(got.Raw); err != nil {
					if r := (*listing.Rejection)(nil); !errors.As(err, &r) {
						t.Errorf("normalize %s: %v", c.URL, err)
					}
					rejected++
				}
			}
			t.Logf("%d adverts read, %d of them are no listing", len(list), rejected)
			assert.LessOrEqual(t, rejected, len(list)/5, "rejected")
			for _, a := range adverts {
				if a.State != demosite.Removed {
					continue
				}
				if _, err := p.ReadAdvert(load(t, site, web.Request{URL: host + a.URL})); class(err) != fault.Gone {
					t.Errorf("read the removed %s: %v; want gone", a.ID, err)
				}
			}
		})
	}
}

func class(err error) fault.Class {
	c, _ := fault.Of(err)
	return c
}

var photoAddress = regexp.MustCompile(`^` + regexp.QuoteMeta(host) + `/photos/\d+/\d\.jpg$`)

func checkAdvert(t *testing.T, got listing.Raw, want demosite.Advert) {
	t.Helper()
	if got.Platform != want.Platform || got.PlatformID != want.ID || got.URL != host+want.URL ||
		squeeze(got.Title) != squeeze(want.Title) {
		t.Errorf("advert = %s %s %q; want %+v", got.Ref, got.URL, got.Title, want)
	}
	amount := got.Price.AmountCents
	if amount == nil { // Kangalou prints its prices
		if r := prose.ParsePrice(got.Price.Text); r.Stated > 0 {
			amount = &r.Stated
		}
	}
	if (amount == nil) != (want.PriceCents == nil) || amount != nil && *amount != *want.PriceCents {
		t.Errorf("%s costs %+v; want %v", got.Ref, got.Price, want.PriceCents)
	}
	require.Contains(t, got.Address, ", Montréal, QC, H", got.Ref)
	if n := len(got.ImageURLs); n < 3 || n > 8 || slices.ContainsFunc(got.ImageURLs, func(u string) bool {
		return !photoAddress.MatchString(u)
	}) {
		t.Errorf("%s has the photos %q", got.Ref, got.ImageURLs)
	}
	if got.Latitude == nil || got.Longitude == nil {
		t.Fatalf("%s lies nowhere", got.Ref)
	}
	if n, ok := place.At(*got.Latitude, *got.Longitude); !ok || n.How != place.Quartier {
		t.Errorf("%s lies at %v, %v: %+v", got.Ref, *got.Latitude, *got.Longitude, n)
	}
	said := texts()[strings.TrimPrefix(words(got.Description), "Visites libres ce samedi. ")]
	if !slices.ContainsFunc(said, func(from listing.Raw) bool {
		return strings.TrimSuffix(squeeze(got.Title), " - à voir") == squeeze(from.Title) && sameBoxes(got, from)
	}) {
		t.Errorf("%s, %q with %v, has a text outside the corpus: %q", got.Ref, got.Title, got.Attributes, got.Description)
	}
	if want.Platform == demosite.Kijiji &&
		(got.PostedAt == nil || got.PostedAt.After(want.AppearedAt) || got.Contact.Name == "" || got.Contact.Phone != "") {
		t.Errorf("%s was posted at %v by %+v", got.Ref, got.PostedAt, got.Contact)
	}
}

// sameBoxes tells whether the page of an advert has the boxes of its advert in the corpus.
func sameBoxes(got, from listing.Raw) bool {
	stated := func(name string) string { return strings.Join(got.Attributes[name], " ") }
	rooms, pets := from.Attributes["numrooms"][0], strings.Join(from.Attributes["petsallowed"], "")
	furnished := slices.Equal(from.Attributes["furnished"], []string{"1"})
	bedrooms := strconv.Itoa(max(0, int(rooms[0]-'0')-2))
	if got.Platform == demosite.Kangalou {
		ticked := func(box string) bool { return slices.Contains(got.Attributes["criteria"], "criteria-"+box) }
		return stated("appartmentsize") == rooms[:1]+" ½" && stated("bedroomcount") == bedrooms &&
			ticked("furnished") == furnished && ticked("cat-allowed") == (pets == "1") && ticked("dog-allowed") == (pets == "1") &&
			ticked("no-animals-allowed") == (pets == "0")
	}
	return stated("numberbedrooms") == bedrooms && (stated("furnished") == "1") == furnished && stated("petsallowed") == pets &&
		stated("numberbathrooms") != "" && len(got.Attributes) > 30
}

var tags = regexp.MustCompile(`<[^>]*>`)

// words is the text of a description in one line, however a site marks it up.
func words(description string) string { return squeeze(tags.ReplaceAllString(description, " ")) }

// texts are the adverts of the corpus by description.
var texts = sync.OnceValue(func() map[string][]listing.Raw {
	all := map[string][]listing.Raw{}
	for _, raw := range corpus.All() {
		key := words(raw.Description)
		all[key] = append(all[key], raw)
	}
	return all
})

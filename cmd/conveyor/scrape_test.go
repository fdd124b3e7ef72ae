package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/sharedtest"
	"github.com/mtlrent/conveyor/sim/demosite"
)

const (
	demoSearch   = "/b-apartments-condos/ville-de-montreal/c37l1700281"
	demoKangalou = "/fr/recherche/"
)

// demo serves a demo site that stands still; conf lets our client reach it.
func demo(t *testing.T) (site *demosite.Site, address string, conf config.Config) {
	t.Helper()

	site = demosite.New(demosite.Options{Frozen: true})
	server := httptest.NewServer(site)
	t.Cleanup(server.Close)
	conf.Images.AllowPrivate = []string{strings.TrimPrefix(server.URL, "http://")}
	return site, server.URL, conf
}

func scraped(t *testing.T, conf config.Config, c scrapeCmd) (string, error) {
	t.Helper()

	c.Once = true
	require.NoError(t, c.Validate())
	var out bytes.Buffer
	err := c.run(t.Context(), conf, strings.NewReader(""), &out)
	return out.String(), err
}

// scrapedJSON is what is read of a page, as --json prints it.
func scrapedJSON(t *testing.T, conf config.Config, c scrapeCmd) (r reading) {
	t.Helper()

	c.JSON = true
	out, err := scraped(t, conf, c)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(out), &r), out)
	return r
}

func TestScrapeOnce(t *testing.T) {
	t.Parallel()
	_, address, conf := demo(t)
	for name, tt := range map[string]struct{ path, second, adverts string }{
		"kijiji": {demoSearch, strings.Replace(demoSearch, "/c37", "/page-2/c37", 1), "adverts on the page; 90 in all"},
		"kangalou": {demoKangalou, demoKangalou + "?page=2",
			"20 adverts on the page; 45 in all; more pages follow"},
	} {
		search := scrapeCmd{Platform: name, URL: address + tt.path, Transport: scrape.HTTP}
		out, err := scraped(t, conf, search)
		require.NoError(t, err)
		require.Contains(t, out, "search page of "+name+": "+address+tt.path+"\n")
		require.Contains(t, out, tt.adverts)
		require.Regexp(t, `(?m)^\nID +TITLE +FINGERPRINT +URL$`, out)

		r := scrapedJSON(t, conf, search)
		require.Equal(t, "search", r.Kind)
		require.GreaterOrEqual(t, len(r.Results.Cards), 20)
		card := r.Results.Cards[0]
		require.Regexp(t, `(?m)^`+card.PlatformID+` +.* +`+card.Fingerprint+` +`+card.URL+`$`, out)
		second := scrapedJSON(t, conf, scrapeCmd{Platform: name, URL: address + tt.second, Transport: scrape.HTTP})
		require.NotEqual(t, card.PlatformID, second.Results.Cards[len(second.Results.Cards)-1].PlatformID)
		require.Equal(t, address+tt.second, second.URL, "the page that was named")

		detail := scrapeCmd{Platform: name, URL: card.URL, Transport: scrape.HTTP}
		r = scrapedJSON(t, conf, detail)
		require.Equal(t, "detail", r.Kind)
		require.Equal(t, card.PlatformID, r.Advert.PlatformID)
		require.NotEmpty(t, r.Advert.ImageURLs)
		require.True(t, r.Outcome.Listing != nil || len(r.Outcome.Reasons) > 0)
		out, err = scraped(t, conf, detail)
		require.NoError(t, err)
		require.Contains(t, out, "detail page of "+name+": "+card.URL)
		require.Contains(t, out, "\nplatform_id: "+card.PlatformID+"\n")
	}
	r := scrapedJSON(t, conf, scrapeCmd{
		Platform: "kangalou", URL: address + "/fr/recherche/ajax/search-map/", Transport: scrape.HTTP,
	})
	require.Len(t, r.Results.Cards, 45, "the map is asked by a form")
}

func TestScrapeOnceRefuses(t *testing.T) {
	t.Parallel()
	site, address, conf := demo(t)
	search := scrapeCmd{Platform: "kijiji", URL: address + demoSearch, Transport: scrape.HTTP}
	for kind, want := range map[string]string{
		"429": "the site refuses: 429", "captcha": "the site refuses: captcha",
		"shape": "page not recognized: neither an Apollo cache nor",
	} {
		require.NoError(t, site.Break(demosite.Fault{Platform: "kijiji", Kind: kind}))
		out, err := scraped(t, conf, search)
		require.ErrorContains(t, err, want)
		require.Empty(t, out)
		site.Mend("")
	}
	err := (&scrapeCmd{Platform: "kijiji", File: "-"}).run(t.Context(), conf, strings.NewReader("<html></html>"), io.Discard)
	require.ErrorContains(t, err, "no reader of kijiji recognizes this page\n  as a search page: page not recognized: ")
	require.ErrorContains(t, err, "\n  as an advert's page: page not recognized: ")
	_, err = scraped(t, conf, scrapeCmd{Platform: "kijiji", URL: address + demoSearch + "?sort=price", Transport: scrape.HTTP})
	require.ErrorContains(t, err, "robots.txt of the site does not allow")
	require.Empty(t, site.Hits(demoSearch+"?sort=price"))
	_, err = scraped(t, config.Config{}, search)
	require.ErrorContains(t, err, "refused: only ports 80 and 443 are allowed", "the guard stays")
	_, err = scraped(t, conf, scrapeCmd{Platform: "kijiji", URL: "ftp://example.com/", Transport: scrape.HTTP})
	require.Error(t, err)

	require.ErrorContains(t, (&scrapeCmd{Platform: "kijiji"}).Validate(), "see conveyor platforms")
	require.ErrorContains(t, (&scrapeCmd{Platform: "nobody", Once: true}).Validate(), "known are kijiji, kangalou")
	require.Equal(t, 2, run([]string{"scrape", "kijiji"}))
	require.Equal(t, 2, run([]string{"platforms", "set", "kijiji"}))
}

// A removed advert leads to the search; what is there instead is not taken for what was asked.
func TestScrapeOnceOfARemovedAdvert(t *testing.T) {
	t.Parallel()
	var moved http.HandlerFunc = func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, demoSearch+"?adRemoved=1", http.StatusFound)
	}
	site, _, _ := demo(t)
	mux := http.NewServeMux()
	mux.Handle("/", site)
	mux.Handle("/v-apartments-condos/montreal/gone/1700000001", moved)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	conf := config.Config{Images: config.Images{AllowPrivate: []string{"127.0.0.1"}}}
	out, err := scraped(t, conf, scrapeCmd{
		Platform: "kijiji", URL: server.URL + "/v-apartments-condos/montreal/gone/1700000001", Transport: scrape.HTTP,
	})
	require.NoError(t, err)
	require.Contains(t, out, "redirected from "+server.URL+"/v-apartments-condos/montreal/gone/1700000001\n")
	require.Contains(t, out, "the advert is gone: ")
}

func TestScrapeSavedPage(t *testing.T) {
	t.Parallel()
	fixtures := filepath.Join("..", "..", "domain", "platform")
	for _, tt := range []struct{ file, kind, url string }{
		{"kijiji/testdata/search.html", "search", ""},
		{"kijiji/testdata/detail.html", "detail", ""},
		{"kijiji/testdata/detail.html", "detail", "https://www.kijiji.ca/v-apartments-condos/x/y/1700000001"},
		{"kijiji/testdata/search.html", "search", "https://www.kijiji.ca/b-apartments-condos/x/c37l1700281?sort=dateDesc"},
		{"kangalou/testdata/search.html", "search", ""},
		{"kangalou/testdata/search-map.json", "search", ""},
		{"kangalou/testdata/detail-2026.html", "detail", "https://www.kangalou.com/fr/appartement/x/123457/"},
		{"centris/testdata/search.html", "search", ""},
		{"centris/testdata/search-later.json", "search", ""},
		{"centris/testdata/detail.html", "detail", ""},
		{"rentals_ca/testdata/search.html", "search", ""},
		{"rentals_ca/testdata/detail.html", "detail", ""},
	} {
		file := filepath.Join(fixtures, filepath.FromSlash(tt.file))
		c := scrapeCmd{Platform: strings.Split(tt.file, "/")[0], File: file, URL: tt.url}
		require.Equal(t, tt.kind, scrapedJSON(t, config.Config{}, c).Kind, tt)
	}
	_, err := scraped(t, config.Config{}, scrapeCmd{Platform: "kijiji", File: filepath.Join(t.TempDir(), "none")})
	require.ErrorIs(t, err, os.ErrNotExist)

	search, err := os.ReadFile(filepath.Join(fixtures, "kangalou", "testdata", "search.html"))
	require.NoError(t, err)
	var out bytes.Buffer
	c := scrapeCmd{Platform: "kangalou", File: "-", URL: "https://demo.example/fr/recherche/"}
	require.NoError(t, c.run(t.Context(), config.Config{}, bytes.NewReader(search), &out))
	require.Contains(t, out.String(), " https://demo.example/fr/")
	c.URL = "" // the page says where it is from, or its links lead to the site's own address
	search = append([]byte(`<link rel="canonical" href="https://other.example/fr/recherche/?page=2">`), search...)
	out.Reset()
	require.NoError(t, c.run(t.Context(), config.Config{}, bytes.NewReader(search), &out))
	require.Contains(t, out.String(), "search page of kangalou: https://other.example/fr/recherche/?page=2\n")
}

// A building is read as its units: each with what becomes of it.
func TestScrapeSavedBuilding(t *testing.T) {
	t.Parallel()
	c := scrapeCmd{Platform: "rentals_ca", File: filepath.Join("..", "..", "domain", "platform", "rentals_ca", "testdata", "detail.html")}
	r := scrapedJSON(t, config.Config{}, c)
	require.Equal(t, "900001", r.Advert.PlatformID)
	require.Nil(t, r.Outcome)
	require.Len(t, r.Units, 2)
	require.Equal(t, "900001-8000002", r.Units[1].Outcome.Listing.PlatformID)
	require.Equal(t, int64(200_000), r.Units[1].Outcome.Listing.RentCents)
	out, err := scraped(t, config.Config{}, c)
	require.NoError(t, err)
	require.Contains(t, out, "\nunit 2 of 2: 900001-8000002, Le Fictif, 2 Bedroom\n\nit becomes this listing:\n")
}

// The real pages may not be published: they lie in the folder "shared" beside the repository, or in CONVEYOR_SHARED.
func TestScrapeRealPages(t *testing.T) {
	t.Parallel()
	dir := sharedtest.Dir(t, "conveyor scrape of real pages")
	real := func(name string) scrapeCmd {
		return scrapeCmd{Platform: "kijiji", File: filepath.Join(dir, "data", "kijiji", name)}
	}
	out, err := scraped(t, config.Config{}, real("search_toronto_2025-05.reduced.html"))
	require.NoError(t, err)
	require.Contains(t, out, "\n45 adverts on the page; 9018 in all; more pages follow\n")
	out, err = scraped(t, config.Config{}, real("detail_montreal_2026-03.redacted.next_data.json"))
	require.NoError(t, err)
	for _, want := range []string{
		"detail page of kijiji: ", "\nplatform_id: 1691588114\n", "\n  amount_cents: 188000\n", "\n  numberbedrooms: 2\n",
		"\nposted_at: 2024-04-23T00:17:03Z\n", "\nit becomes this listing:\n", "\n  rent_from: true\n",
		"attribute petsallowed says yes, description says no",
	} {
		require.Contains(t, out, want)
	}
}

// What strangers wrote does not steer the terminal.
func TestScrapePrintsPlainly(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, reading{Kind: "search", URL: "http://a/\x1b[2J", Results: &scrape.Results{
		Total: -1, Last: true, Cards: []scrape.Card{{PlatformID: "1", Title: "a\x1b]0;b\x07\u202e"}},
	}}.print(&b))
	outline(&b, "", map[string]any{"na\x1bme": "one\ntwo \u009b2J", "list": []any{1, nil}, "empty": map[string]int{}})
	require.NotRegexp(t, "[\x00-\x09\x0b-\x1f\u007f-\u009f\u202e]", b.String())
	require.Contains(t, b.String(), "the site does not state a total; this is the last page")
	require.Contains(t, b.String(), "empty: –\nlist:\n  1: 1\n  2: –\nna me:\n  one\n  two  2J\n")
}

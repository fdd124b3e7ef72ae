package kangalou

import (
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// Site is the search of the whole province. How fast it may be asked is not known, so it is asked as slowly as
// Kijiji. It had 141 pages in 2019.
func (Platform) Site() scrape.Site {
	return scrape.Site{
		Start: "https://www.kangalou.com/fr/recherche/",
		Pace: scrape.Pace{Transport: scrape.Browser, Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute,
			Look: scrape.DefaultLook, Cycle: scrape.DefaultCycle},
		Unproven: "search pages after their script ran, advert pages, the map's answer and removed adverts (its parser was " +
			"written from one page of 2019 without adverts and from the selectors of other scrapers); robots.txt and terms of " +
			"use were not read: a person decides whether it may be scraped",
	}
}

// card is the element of an advert on a search page, where a script of the site puts it. The script copies templates,
// which are there from the beginning and are no adverts.
const (
	card      = "div.property__inner"
	templates = ".js-infoWindowTemplate " + card + ", .js-propertyTemplateCreation.hidden " + card
	filled    = "#slist " + card + ", .js-resultListing .results " + card
)

var (
	searchPath = regexp.MustCompile(`/(fr/(recherche|location)|en/(search|recherche|location))(/|$)`)
	mapPath    = regexp.MustCompile(`/(fr/recherche|en/search|en/recherche)/ajax/search-map/?$`)
	number     = regexp.MustCompile(`/(\d{4,20})(?:/|$)`)
)

// idOf is the number in an advert's path, "" where there is none. It stands third in what was seen of 2019 and last in
// what was seen of 2026.
func idOf(u *url.URL) string {
	m := number.FindStringSubmatch(u.Path)
	if m == nil {
		return ""
	}
	return m[1]
}

func isSearch(u *url.URL) bool { return searchPath.MatchString(u.Path) && idOf(u) == "" }

// SearchRequest asks for the n-th page of the search at start: an address such as Site().Start, "/fr/location/…" or
// that of the map, "/fr/recherche/ajax/search-map/", on any host. What the query of start filters by is kept. The map
// is asked by a form, as the site's own script does, and answers with everything at once.
func (Platform) SearchRequest(start string, n int) (web.Request, error) {
	u, query, err := scrape.StartOf(start, n)
	if err != nil {
		return web.Request{}, err
	}
	if !isSearch(u) {
		return web.Request{}, fault.Newf(fault.Invalid, "search %q: not a search of kangalou, want /fr/recherche/", start)
	}
	if mapPath.MatchString(u.Path) {
		form := url.Values{"s": {"newest"}, "pinsOnly": {"true"}, "z[]": {""}, "pmin": {""}, "pmax": {""}}
		maps.Copy(form, query) // c[] names cities
		if n > 1 {
			form.Set("page", strconv.Itoa(n))
		}
		u.RawQuery, u.ForceQuery = "", false
		return web.Request{URL: u.String(), Form: form, Header: map[string]string{
			"X-Requested-With": "XMLHttpRequest", "Accept": "application/json, text/javascript, */*; q=0.01"}}, nil
	}
	query.Del("page")
	if n > 1 {
		query.Set("page", strconv.Itoa(n))
	}
	u.RawQuery = query.Encode()
	return web.Request{URL: u.String(), Wait: filled}, nil
}

// pageOf is the number of a search page, 1 where the address names none.
func pageOf(u *url.URL) int {
	if n, err := strconv.Atoi(u.Query().Get("page")); err == nil && n > 0 {
		return n
	}
	return 1
}

// names lists members for an error.
func names[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

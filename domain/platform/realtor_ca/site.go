package realtorca

import (
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// Site is the island of Montréal. An advert that the API does not show cannot be asked for, so a search of more adverts
// than it shows finds none that was removed.
func (Platform) Site() scrape.Site {
	return scrape.Site{
		Start: "https://api2.realtor.ca/Listing.svc/PropertySearch_Post",
		Pace: scrape.Pace{Transport: scrape.HTTP, Delay: 9 * time.Second, MaxPages: 20, Cooldown: 10 * time.Minute,
			Look: scrape.DefaultLook, Cycle: scrape.DefaultCycle},
		Most: 600, Whole: true,
		Unproven: "requests: only answers of 2020 to 2025 were at hand, and a guard answers programs with a challenge (CREA's " +
			"DDF is the way for its members); rents that are not by the month; robots.txt and terms of use were not read: a " +
			"person decides whether it may be scraped",
	}
}

const searchPath = "/Listing.svc/PropertySearch_Post"

// perPage is the number of adverts in an answer: each is stated whole, and an answer stays well below a page's size.
const perPage = 50

// SearchRequest asks for the n-th page of the search at start, the address of the API on any host, as the site's script
// does: by a form. The query of start goes into the form: LatitudeMin, LatitudeMax, LongitudeMin and LongitudeMax for
// another place, CultureId=2 for French, RentMax and others.
func (Platform) SearchRequest(start string, n int) (web.Request, error) {
	u, query, err := scrape.StartOf(start, n)
	if err != nil {
		return web.Request{}, err
	}
	if strings.TrimSuffix(u.Path, "/") != searchPath {
		return web.Request{}, fault.Newf(fault.Invalid, "search %q: not a search of realtor_ca, want %s", start, searchPath)
	}
	form := url.Values{
		"ZoomLevel": {"11"}, "LatitudeMin": {"45.40"}, "LatitudeMax": {"45.71"}, "LongitudeMin": {"-73.98"},
		"LongitudeMax": {"-73.47"}, "Sort": {"6-D"}, "PropertyTypeGroupID": {"1"}, "TransactionTypeId": {"3"},
		"PropertySearchTypeId": {"1"}, "Currency": {"CAD"}, "ApplicationId": {"1"}, "CultureId": {"1"}, "Version": {"7.0"},
	}
	maps.Copy(form, query)
	form.Set("RecordsPerPage", strconv.Itoa(perPage))
	form.Set("CurrentPage", strconv.Itoa(n))
	u.RawQuery, u.ForceQuery = "", false
	return web.Request{URL: u.String(), Form: form, Header: map[string]string{
		"Accept": "application/json", "Origin": "https://www.realtor.ca", "Referer": "https://www.realtor.ca/"}}, nil
}

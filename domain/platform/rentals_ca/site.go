package rentalsca

import (
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// Site is the city of Montréal. The site answers a plain client with a challenge, and 429 to browsers that begin anew
// for each page.
func (Platform) Site() scrape.Site {
	return scrape.Site{
		Start: "https://rentals.ca/montreal",
		Pace: scrape.Pace{Transport: scrape.Browser, Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute,
			Look: scrape.DefaultLook, Cycle: scrape.DefaultCycle},
		Unproven: "search pages (only entries of them were at hand, without the page around), adverts of private landlords and " +
			"in French, adverts that were removed; robots.txt and terms of use were not read: a person decides whether it may " +
			"be scraped",
	}
}

// searchPath is a city, in English or French. A quarter's path has the shape of an advert's and is not taken.
var (
	searchPath = regexp.MustCompile(`^/(fr/a-louer-)?[a-z][a-z0-9-]{2,}/?$`)
	advertPath = regexp.MustCompile(`^/(fr/a-louer-)?[a-z][a-z0-9-]{2,}/[^/]+/?$`)
)

// SearchRequest asks for the n-th page of the search at start, a city such as Site().Start, on any host. What the query
// of start filters by is kept.
func (Platform) SearchRequest(start string, n int) (web.Request, error) {
	u, query, err := scrape.StartOf(start, n)
	if err != nil {
		return web.Request{}, err
	}
	if !searchPath.MatchString(u.Path) {
		return web.Request{}, fault.Newf(fault.Invalid, "search %q: not a search of rentals_ca, want /<city>", start)
	}
	query.Del("p")
	if n > 1 {
		query.Set("p", strconv.Itoa(n))
	}
	u.RawQuery = query.Encode()
	return web.Request{URL: u.String()}, nil
}

// pageOf is the number of a search page, 1 where the address names none.
func pageOf(address string) int {
	if u, err := url.Parse(address); err == nil {
		if n, err := strconv.Atoi(u.Query().Get("p")); err == nil && n > 0 {
			return n
		}
	}
	return 1
}

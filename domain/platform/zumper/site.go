package zumper

import (
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// Site is the city of Montréal. Pages 6 s apart were answered. The site's robots.txt, read in 2026-08, allows its pages
// for cities and their "?page=", and no other filter in a query.
func (Platform) Site() scrape.Site {
	return scrape.Site{
		Start: "https://www.zumper.com/apartments-for-rent/montreal-qc",
		Pace: scrape.Pace{Transport: scrape.Browser, Delay: 9 * time.Second, MaxPages: 40, Cooldown: time.Minute,
			Look: scrape.DefaultLook, Cycle: scrape.DefaultCycle},
		Partial: "the data of a search page lists only a part of its adverts, so those that are not listed count as " +
			"missing nowhere",
		Unproven: "pages of Montréal (those at hand are of Vancouver), the last search page, houses with several flats: they " +
			"are read as one home at the lowest rent; terms of use were not read: a person decides whether it may be scraped",
	}
}

var (
	searchPath = regexp.MustCompile(`^/apartments-for-rent/[a-z0-9-]+-[a-z]{2}(/[a-z0-9-]+)*/?$`)
	advertPath = regexp.MustCompile(`^/(?:listings/(\d{3,12}p?)|apartment-buildings/(p\d{3,12}))(?:/[^/]*)?/?$`)
)

// idOf is the number in the path of an advert or a building, "" where there is none. The address that the site leads to,
// /address/…, has none.
func idOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	m := advertPath.FindStringSubmatch(u.Path)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

func isSearch(address string) bool {
	u, err := url.Parse(address)
	return err == nil && searchPath.MatchString(u.Path)
}

// SearchRequest asks for the n-th page of the search at start: a city such as Site().Start, with filters as parts of
// the path (".../2-beds"), on any host. Filters in a query are fault.Invalid, for the site's robots.txt keeps them from
// robots.
func (Platform) SearchRequest(start string, n int) (web.Request, error) {
	u, query, err := scrape.StartOf(start, n)
	if err != nil {
		return web.Request{}, err
	}
	query.Del("page")
	if len(query) > 0 || !searchPath.MatchString(u.Path) {
		return web.Request{}, fault.Newf(fault.Invalid,
			"search %q: not a search of zumper, want /apartments-for-rent/<city>-<province> and no query", start)
	}
	if u.RawQuery, u.ForceQuery = "", false; n > 1 {
		u.RawQuery = "page=" + strconv.Itoa(n)
	}
	return web.Request{URL: u.String()}, nil
}

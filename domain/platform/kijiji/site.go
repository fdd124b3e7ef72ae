package kijiji

import (
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

// Site is the long-term rentals of the city of Montréal. Asked every 6 s the site refused after some 25 requests,
// every 12 s it did not; 9 s is what operators run today. A cycle ends at the last page by itself: 250 pages of 40
// are more than the 9,018 adverts of the largest city seen, for only a cycle that reaches the end can tell which
// adverts are gone.
func (Platform) Site() scrape.Site {
	return scrape.Site{
		Start: "https://www.kijiji.ca/b-apartments-condos/ville-de-montreal/c37l1700281",
		Pace: scrape.Pace{Transport: scrape.Browser, Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute,
			Look: scrape.DefaultLook, Cycle: scrape.DefaultCycle},
	}
}

var (
	// code is the last segment of a search's path: category, place and filters, "c37l1700281a27949001".
	code  = regexp.MustCompile(`^(k0)?c\d+l\d+(a\d+)*$`)
	paged = regexp.MustCompile(`^page-\d+$`)
	nth   = regexp.MustCompile(`/page-(\d{1,9})/`)
)

// pageOf is the number of a search page, 1 where the address names none.
func pageOf(address string) int {
	m := nth.FindStringSubmatch(address)
	if m == nil {
		return 1
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// search returns the segments of a search's path without its "page-N", nil for another path. All but the code and the
// first letter is decoration, French or English.
func search(path string) []string {
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	last := len(parts) - 1
	if !code.MatchString(parts[last]) || !slices.ContainsFunc(parts[:last], func(s string) bool {
		return strings.HasPrefix(s, "b-")
	}) {
		return nil
	}
	if paged.MatchString(parts[last-1]) {
		parts = slices.Delete(parts, last-1, last)
	}
	return parts
}

// SearchRequest asks for the n-th page of the search at start, an address such as Site().Start, on any host. Filters in
// a query are fault.Invalid, for the site's robots.txt keeps them from robots; those in the path ("a27949001") are not.
func (Platform) SearchRequest(start string, n int) (web.Request, error) {
	u, _, err := scrape.StartOf(start, n)
	if err != nil {
		return web.Request{}, err
	}
	if u.RawQuery != "" || u.ForceQuery {
		return web.Request{}, fault.Newf(fault.Invalid,
			"search %q: has a query; the site's robots.txt disallows search filters in queries", start)
	}
	parts := search(u.EscapedPath())
	if parts == nil {
		return web.Request{}, fault.Newf(fault.Invalid,
			"search %q: not a search of kijiji, want /b-<category>/<place>/c<number>l<number>", start)
	}
	if n > 1 {
		parts = slices.Insert(parts, len(parts)-1, "page-"+strconv.Itoa(n))
	}
	path := strings.Join(parts, "/")
	if u.Path, err = url.PathUnescape(path); err != nil {
		return web.Request{}, fault.Newf(fault.Invalid, "search %q: %v", start, err)
	}
	u.RawPath = path
	return web.Request{URL: u.String()}, nil
}

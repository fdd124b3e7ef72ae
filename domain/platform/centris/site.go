package centris

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// Site is the one search whose address is known, a borough of Montréal. Fast paging was answered by 429 for some ten
// minutes; a request each 4 s passed in 2026-08. The site shows 20 adverts a page and stops at a limit of its own.
func (Platform) Site() scrape.Site {
	return scrape.Site{
		Start: "https://www.centris.ca/fr/propriete~a-louer~montreal-rosemont-la-petite-patrie?q=H4sIAAAAAAAACl2MsQ6CMBRF_6UzAwODccXEGBMHMSyEodILvFgoaYumIfy7j8CAbu_ce-6bRKedOIpYROJpzQs2NQocMJu6pgpXhBVHhzNMY-XQhqyVA3gXR8ItZ074MBYlM6St2pvsti81aQ-7lTVBK5dLPS7rYlqDi2I1lR6NsYEn76Xn6A5HCr0nqcUc7eUMWlPfPMKAH7_3f2JKPpzIeUuV35mHJBFzOX8BEETeyP4AAAA",
		Pace: scrape.Pace{Transport: scrape.Browser, Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute,
			Look: scrape.DefaultLook, Cycle: scrape.DefaultCycle},
		Unproven: "search pages after the first (no answer of the site was at hand, its script was read), adverts that were " +
			"removed, English pages; robots.txt and terms of use were not read: a person decides whether it may be scraped",
	}
}

var (
	searchPath = regexp.MustCompile(`^/(fr|en)/[^/~]+~(a-louer|for-rent)(~[^/~]+)?/?$`)
	advertPath = regexp.MustCompile(`^/(fr|en)/[^/]+~(a-louer|for-rent)~[^/]+/(\d{6,10})/?$`)
)

// resultsPath is where the site's script asks for the pages after the first.
const resultsPath = "/Property/GetInscriptions"

// idOf is the Centris number in an advert's path, "" where there is none.
func idOf(u *url.URL) string {
	m := advertPath.FindStringSubmatch(u.Path)
	if m == nil {
		return ""
	}
	return m[3]
}

// SearchRequest asks for the n-th page of the search at start: an address such as Site().Start, on any host, with the q
// of the site's own links, for without it the pages after the first cannot be asked for. Those are no pages of their
// own: the site's script asks for them by POST, and so does this.
func (Platform) SearchRequest(start string, n int) (web.Request, error) {
	u, query, err := scrape.StartOf(start, n)
	if err != nil {
		return web.Request{}, err
	}
	if !searchPath.MatchString(u.Path) || query.Get("q") == "" {
		return web.Request{}, fault.Newf(fault.Invalid,
			"search %q: not a search of centris, want /fr/propriete~a-louer~<place>?q=…", start)
	}
	fields, err := fieldsOf(query.Get("q"))
	if err != nil {
		return web.Request{}, fault.Newf(fault.Invalid, "search %q: its q cannot be read: %v", start, err)
	}
	u.RawQuery = url.Values{"q": query["q"][:1]}.Encode()
	if n == 1 {
		return web.Request{URL: u.String()}, nil
	}
	referer := u.String()
	u.Path, u.RawPath, u.RawQuery = resultsPath, "", "page="+strconv.Itoa(n) // the reader knows the page by its address
	asked, err := json.Marshal(map[string]any{
		"mode": "Result", "searchView": "Thumbnail", "sort": "None", "pageSize": pageSize, "page": n,
		"query": map[string]any{"fieldsValues": fields}, "region": "Quebec",
	})
	if err != nil {
		return web.Request{}, fault.Newf(fault.Invalid, "search %q: %v", start, err)
	}
	return web.Request{URL: u.String(), JSON: string(asked), Header: map[string]string{
		"X-Requested-With": "XMLHttpRequest", "Accept": "application/json", "Referer": referer}}, nil
}

// pageSize is the number of adverts on a page.
const pageSize = 20

// fieldsOf returns what a search filters by, from the q of its address: base64url of gzip of JSON, of which 64 KiB are
// read at most.
func fieldsOf(q string) (json.RawMessage, error) {
	packed, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(q, "="))
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var search struct {
		FieldsValues json.RawMessage `json:"fieldsValues"`
	}
	if err := json.NewDecoder(io.LimitReader(r, 64<<10)).Decode(&search); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(search.FieldsValues, []byte("[")) {
		return nil, fault.Newf(fault.Invalid, "it has no fieldsValues")
	}
	return search.FieldsValues, nil
}

// pageOf is the number of a page by its address: that of a request for a page after the first, 1 for a search, 0 for
// anything else.
func pageOf(address string) int {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return 0
	case searchPath.MatchString(u.Path):
		return 1
	case u.Path == resultsPath:
		n, _ := strconv.Atoi(u.Query().Get("page"))
		return max(n, 0)
	}
	return 0
}

package demosite_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// centrisStart is the search that conveyor up scrapes.
func centrisStart(t testing.TB) string {
	t.Helper()
	all := strings.Split(demosite.AllSearches(host), ",")
	start, ok := strings.CutPrefix(all[len(all)-1], demosite.Centris+"=")
	if !ok || len(all) != 3 {
		t.Fatalf("AllSearches = %q", all)
	}
	return start
}

func searchCentris(t testing.TB, site *demosite.Site, n int) (scrape.Results, error) {
	t.Helper()
	p := reader(t, demosite.Centris)
	r, err := p.SearchRequest(centrisStart(t), n)
	require.NoError(t, err)
	return p.ReadSearch(load(t, site, r))
}

// Every page of Centris' part is read by the reader of the platform, and agrees with the inventory.
func TestCentris(t *testing.T) {
	t.Parallel()
	site, after := clocked(demosite.Options{Adverts: 200})
	after(2 * time.Hour)
	p := reader(t, demosite.Centris)
	active, removed := map[string]demosite.Advert{}, 0
	for _, a := range adverts(t, site, demosite.Centris) {
		if a.State == demosite.Active {
			active[a.ID] = a
			continue
		}
		removed++
		if _, err := p.ReadAdvert(load(t, site, web.Request{URL: host + a.URL})); class(err) != fault.Gone {
			t.Errorf("the removed %s: %v; want gone", a.ID, err)
		}
	}
	if len(active) < 100 || removed == 0 {
		t.Fatalf("%d adverts are there and %d removed; want 100 or more, and some", len(active), removed)
	}
	seen, listings := map[string]bool{}, 0
	for n := 1; ; n++ {
		r, err := searchCentris(t, site, n)
		if err != nil || r.Total != len(active) || n > 50 {
			t.Fatalf("page %d: total %d of %d, %v", n, r.Total, len(active), err)
		}
		for _, c := range r.Cards {
			a, known := active[c.PlatformID]
			if !known || seen[c.PlatformID] || c.URL != host+a.URL {
				t.Errorf("card = %+v; the advert is %+v", c, a)
			}
			seen[c.PlatformID] = true
			got, err := p.ReadAdvert(load(t, site, web.Request{URL: c.URL}))
			require.NoError(t, err)
			if cents := got.Price.AmountCents; (cents == nil) != (a.PriceCents == nil) || cents != nil && *cents != *a.PriceCents {
				t.Errorf("%s costs %v; want %v", c.PlatformID, got.Price, a.PriceCents)
			}
			if got.Latitude == nil || len(got.ImageURLs) < 3 || !strings.Contains(got.Address, ", Montréal, QC, H") ||
				!strings.Contains(squeeze(got.Description), squeeze(a.Title)) {
				t.Errorf("advert = %+v; want %+v", got.Raw, a)
			}
			var l listing.Listing
			if l, err = p.Normalize(got.Raw); err == nil {
				listings++
				if a.PriceCents != nil && l.RentCents != *a.PriceCents {
					t.Errorf("%s is a listing for %d", c.PlatformID, l.RentCents)
				}
			}
		}
		if r.Last {
			break
		}
	}
	if len(seen) != len(active) || listings < len(active)*4/5 {
		t.Errorf("%d of %d adverts were seen, %d are listings", len(seen), len(active), listings)
	}
}

func TestCentrisFaults(t *testing.T) {
	t.Parallel()
	site, _ := clocked(demosite.Options{})
	for _, n := range []int{1, 2} {
		for kind, want := range map[string]fault.Class{"429": fault.Throttled, "shape": fault.Invalid, "half": fault.Invalid} {
			require.NoError(t, site.Break(demosite.Fault{Platform: demosite.Centris, Kind: kind}))
			if _, err := searchCentris(t, site, n); class(err) != want {
				t.Errorf("page %d, %s: %v is %q; want %q", n, kind, err, class(err), want)
			}
			site.Mend("")
		}
	}
	require.NoError(t, site.Break(demosite.Fault{Platform: demosite.Centris, Kind: "empty"}))
	if r, err := searchCentris(t, site, 1); err != nil || len(r.Cards) != 0 || r.Total != 0 {
		t.Errorf("no adverts: %+v, %v", r, err)
	}
	for _, query := range []string{"page=0", "page=x", ""} {
		p := load(t, site, web.Request{URL: host + "/Property/GetInscriptions?" + query, JSON: `{"page":1}`})
		assert.Equal(t, 404, p.Status, query)
	}
	if u, err := url.Parse(centrisStart(t)); err != nil || u.Query().Get("q") == "" {
		t.Errorf("the search has no q: %v", err)
	}
}

// Every fifth home of Centris' part is on Kijiji's half too, at one rent whenever one looks, and is found to be one home.
func TestHomesOnTwoSites(t *testing.T) {
	t.Parallel()
	site, after := clocked(demosite.Options{Adverts: 200})
	read := func(platform string, a demosite.Advert) (l listing.Listing, ok bool) {
		p := reader(t, platform)
		got, err := p.ReadAdvert(load(t, site, web.Request{URL: host + a.URL}))
		if err != nil {
			return l, false
		}
		l, err = p.Normalize(got.Raw)
		return l, err == nil
	}
	for _, elapsed := range []time.Duration{0, 40 * time.Minute, 5 * time.Hour} {
		after(elapsed)
		same, pairs := 0, 0
		for k := range 40 {
			a, err := site.Advert(demosite.Centris, strconv.Itoa(20_000_001+k))
			require.NoError(t, err)
			b, err := site.Advert(demosite.Kijiji, strconv.Itoa(1_900_000_001+k))
			require.NoError(t, err)
			one, ok1 := read(demosite.Centris, a)
			two, ok2 := read(demosite.Kijiji, b)
			if !ok1 || !ok2 {
				continue
			}
			kind := listing.SameHome(one, two).Kind
			if k%5 != 1 && kind != "" {
				t.Errorf("after %s: %s and %s are one home", elapsed, a.ID, b.ID)
			}
			if k%5 == 1 {
				if pairs++; kind == listing.Duplicate {
					same++
				}
				if one.RentCents != two.RentCents {
					t.Errorf("after %s: %s costs %d and %s %d", elapsed, a.ID, one.RentCents, b.ID, two.RentCents)
				}
			}
		}
		if pairs < 4 || same < pairs-1 {
			t.Errorf("after %s: %d of %d pairs are found", elapsed, same, pairs)
		}
	}
}

package demosite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// clocked is a site whose clock the test turns.
func clocked(o demosite.Options) (*demosite.Site, func(time.Duration)) {
	now := start
	o.Now = func() time.Time { return now }
	return demosite.New(o), func(after time.Duration) { now = start.Add(after) }
}

func adverts(t testing.TB, site *demosite.Site, platform string) []demosite.Advert {
	t.Helper()
	list, err := site.Adverts(platform)
	require.NoError(t, err)
	return list
}

func get(t testing.TB, site http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, host+path, nil))
	return w
}

// Two sites with one seed show the same at the same time, after any requests; another seed shows another.
func TestInventoryIsAFunctionOfTime(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{demosite.Kijiji, demosite.Kangalou} {
		one, turnOne := clocked(demosite.Options{Adverts: 60})
		for _, after := range []time.Duration{0, time.Second, 9 * time.Minute, 4 * time.Hour, 31 * 24 * time.Hour} {
			turnOne(after)
			fresh, turn := clocked(demosite.Options{Adverts: 60})
			turn(after)
			if a, b := adverts(t, one, platform), adverts(t, fresh, platform); !reflect.DeepEqual(a, b) {
				t.Errorf("%s after %s depends on earlier requests", platform, after)
			}
			a := adverts(t, one, platform)[0]
			if x, y := get(t, one, a.URL), get(t, fresh, a.URL); !bytes.Equal(x.Body.Bytes(), y.Body.Bytes()) {
				t.Errorf("the page of %s after %s depends on earlier requests", a.ID, after)
			}
			twice, turn := clocked(demosite.Options{Adverts: 60, Tempo: 2})
			turn(after / 2)
			for i, b := range adverts(t, twice, platform) {
				if a := adverts(t, one, platform)[i]; a.ID != b.ID || a.State != b.State || !reflect.DeepEqual(a.PriceCents, b.PriceCents) {
					t.Fatalf("%s at twice the tempo: %+v; want %+v", platform, b, a)
				}
			}
		}
		other, _ := clocked(demosite.Options{Adverts: 60, Seed: 2})
		turnOne(0)
		if a, b := adverts(t, one, platform), adverts(t, other, platform); a[0].Title == b[0].Title && a[1].Title == b[1].Title {
			t.Errorf("%s looks alike with another seed", platform)
		}
	}
}

func TestFrozen(t *testing.T) {
	t.Parallel()
	site, turn := clocked(demosite.Options{Frozen: true})
	before := adverts(t, site, demosite.Kijiji)
	turn(1000 * time.Hour)
	if after := adverts(t, site, demosite.Kijiji); len(after) != 90 || !reflect.DeepEqual(before, after) {
		t.Errorf("a frozen site has %d adverts, and they changed", len(after))
	}
	require.Len(t, adverts(t, site, demosite.Kangalou), 45)
}

// Over half a day of the clock everything happens that a scraper must cope with, and nothing else.
func TestWhatHappens(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{demosite.Kijiji, demosite.Kangalou} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			site, turn := clocked(demosite.Options{Adverts: 40})
			count := map[string]int{}
			was := map[string]demosite.Advert{}
			place := map[string]int{}
			for minute := 0; minute < 12*60; minute += 2 { // no advert is away for less
				turn(time.Duration(minute) * time.Minute)
				list := adverts(t, site, platform)
				for i, a := range list {
					b, known := was[a.ID]
					switch {
					case !known:
						count["new"]++
						if minute > 0 && (i > 16 || start.Add(time.Duration(minute-2)*time.Minute).After(a.AppearedAt)) {
							t.Errorf("minute %d: new advert %s is number %d and appeared at %s", minute, a.ID, i, a.AppearedAt)
						}
					case a.URL != b.URL || !a.AppearedAt.Equal(b.AppearedAt):
						t.Errorf("minute %d: %+v was %+v", minute, a, b)
					case a.State != b.State:
						count[a.State]++
					case !reflect.DeepEqual(a.PriceCents, b.PriceCents):
						count["price"]++
					case a.Title != b.Title:
						count["title"]++
					case i < place[a.ID]-5:
						count["bump"]++
					}
					was[a.ID], place[a.ID] = a, i
				}
				require.Equal(t, len(was), len(list), minute)
			}
			want := 160
			if platform == demosite.Kangalou {
				want = 80
			}
			assert.Equal(t, want, count["new"], "adverts after half a day")
			for _, what := range []string{demosite.Removed, demosite.Active, "price", "title", "bump"} {
				assert.GreaterOrEqual(t, count[what], want, what)
			}
			if d := count[demosite.Removed] - count[demosite.Active]; d < 0 || d > want/5 {
				t.Errorf("%d went and %d came back", count[demosite.Removed], count[demosite.Active])
			}
			t.Log(count)
		})
	}
}

// Every change of an advert, by the site itself or by Patch, shows in its card's fingerprint, but for a bump.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{demosite.Kijiji, demosite.Kangalou} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			site, turn := clocked(demosite.Options{Frozen: true})
			prints := func() (map[string]string, string) {
				all := map[string]string{}
				list := cards(t, site, platform)
				for _, c := range list {
					all[c.PlatformID] = c.Fingerprint
				}
				return all, list[0].PlatformID
			}
			before, _ := prints()
			list := adverts(t, site, platform)
			bumped, cheaper, renamed := list[40].ID, list[41].ID, list[42].ID
			cents, title := int64(43_210), "4 ½ à louer, rénové"
			turn(time.Hour)
			for id, c := range map[string]demosite.Change{
				bumped: {Bump: true}, cheaper: {PriceCents: &cents}, renamed: {Title: &title},
			} {
				if _, err := site.Patch(platform, id, c); err != nil {
					t.Fatal(err)
				}
			}
			if a := adverts(t, site, platform)[0]; a.ID != bumped {
				t.Errorf("the bumped advert is not on top: %+v", a)
			}
			after, _ := prints()
			for id, print := range after {
				if changed := print != before[id]; changed != (id == cheaper || id == renamed) {
					t.Errorf("the fingerprint of %s changed: %t", id, changed)
				}
			}
		})
	}
}

func TestRemovedAndReturned(t *testing.T) {
	t.Parallel()
	site, turn := clocked(demosite.Options{Frozen: true})
	a := adverts(t, site, demosite.Kijiji)[50]
	yes, no := true, false
	if got, err := site.Patch(demosite.Kijiji, a.ID, demosite.Change{Removed: &yes}); err != nil || got.State != demosite.Removed {
		t.Fatalf("Patch = %+v, %v", got, err)
	}
	w := get(t, site, a.URL)
	if want := "/b-apartments-condos/ville-de-montreal/c37l1700281?adRemoved=" + a.ID; w.Code != 302 || w.Header().Get("Location") != want {
		t.Errorf("a removed advert answers %d %q; want 302 %q", w.Code, w.Header().Get("Location"), want)
	}
	require.Len(t, cards(t, site, demosite.Kijiji), 89, "adverts that are found")
	turn(time.Hour)
	if got, err := site.Patch(demosite.Kijiji, a.ID, demosite.Change{Removed: &no}); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("returned: %+v, %v; want %+v", got, err, a)
	}
	if got := adverts(t, site, demosite.Kijiji)[0]; got.ID != a.ID {
		t.Errorf("the returned advert is not on top: %+v", got)
	}
	if w := get(t, site, a.URL); w.Code != 200 {
		t.Errorf("a returned advert answers %d", w.Code)
	}
	for _, path := range []string{"/v-apartments-condos/x/y/1", "/v-apartments-condos/x/y/1999999999", "/v-apartments-condos/x/y/z"} {
		if w := get(t, site, path); w.Code != 302 || !strings.Contains(w.Header().Get("Location"), "?adRemoved=") {
			t.Errorf("GET %s = %d %q; want 302", path, w.Code, w.Header().Get("Location"))
		}
	}
	for path, want := range map[string]int{
		"/v-apartments-condos/another-city/another-slug/" + a.ID: 200, "/b-apartments-condos/x/c37l1": 404,
		"/b-apartments-condos/x/page-0/c37l1700281": 404, "/b-apartments-condos/x/page-2/c37l1700281": 200,
		"/b-appartement-condo/x/c37l1700281": 200, "/b-apartments-condos/x/page-99/c37l1700281": 200,
		"/fr/recherche/?page=0": 404, "/fr/recherche/?page=x": 404, "/fr/recherche/?page=99": 200, "/fr/appartement/x/1/": 404,
	} {
		if w := get(t, site, path); w.Code != want {
			t.Errorf("GET %s = %d; want %d", path, w.Code, want)
		}
	}
}

// 40 organic adverts and 6 paid ones a page; some of these are seen twice, on a page and from page to page.
func TestKijijiPages(t *testing.T) {
	t.Parallel()
	site, _ := clocked(demosite.Options{Frozen: true, Adverts: 95})
	p := reader(t, demosite.Kijiji)
	seen, twice := map[string]int{}, 0
	for n, organic := range []int{40, 40, 15} {
		req, err := p.SearchRequest(starts[demosite.Kijiji], n+1)
		require.NoError(t, err)
		page := load(t, site, req)
		assert.Equal(t, organic+6, bytes.Count(page.Body, []byte(`"__ref":"RealEstateListing:`)), n+1)
		r, err := p.ReadSearch(page)
		if err != nil || r.Total != 95 || r.Last != (n == 2) || len(r.Cards) > organic+6 || len(r.Cards) < organic {
			t.Fatalf("page %d: %d cards of %d, last %t, %v", n+1, len(r.Cards), r.Total, r.Last, err)
		}
		twice += organic + 6 - len(r.Cards)
		for _, c := range r.Cards {
			seen[c.PlatformID]++
		}
	}
	again := 0
	for _, n := range seen {
		if n > 1 {
			again++
		}
	}
	if len(seen) != 95 || twice == 0 || again == 0 {
		t.Errorf("%d adverts, %d twice on a page, %d on several pages; want 95 and some", len(seen), twice, again)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, platform := range []string{demosite.Kijiji, demosite.Kangalou} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			now := start
			site := demosite.New(demosite.Options{Now: func() time.Time { return now }})
			p := reader(t, platform)
			search := web.Request{URL: starts[platform]}
			detail := web.Request{URL: host + adverts(t, site, platform)[0].URL}
			// read returns the errors of the search page and of the detail page.
			read := func() (scrape.Results, error, error) {
				r, first := p.ReadSearch(load(t, site, search))
				_, second := p.ReadAdvert(load(t, site, detail))
				return r, first, second
			}
			for kind, want := range map[string]string{
				"429": "429", "403": "403", "captcha": "captcha", "half": "page not recognized", "shape": "page not recognized",
			} {
				require.NoError(t, site.Break(demosite.Fault{Platform: platform, Kind: kind, Times: 2}))
				_, first, second := read()
				for _, err := range []error{first, second} {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("%s: %v; want %q", kind, err, want)
					}
				}
				if _, first, second := read(); first != nil || second != nil {
					t.Errorf("after two times %s: %v, %v", kind, first, second)
				}
			}

			err := site.Break(demosite.Fault{Platform: platform, Kind: "503", RetryAfter: 1500 * time.Millisecond, For: time.Minute,
				Pages: "search"})
			require.NoError(t, err)
			_, first, second := read()
			if f := (*fault.Error)(nil); !errors.As(first, &f) || f.After != 2*time.Second || second != nil {
				t.Errorf("503 on search pages: %v, %v", first, second)
			}
			now = now.Add(time.Minute)
			if _, first, _ := read(); first != nil {
				t.Errorf("503 a minute later: %v", first)
			}

			require.NoError(t, site.Break(demosite.Fault{Platform: platform, Kind: "empty"}))
			if r, first, second := read(); first != nil || second != nil || len(r.Cards) != 0 || !r.Last {
				t.Errorf("empty: %+v, %v, %v", r, first, second)
			}
			site.Mend(platform)
			if r, first, _ := read(); first != nil || len(r.Cards) == 0 {
				t.Errorf("mended: %+v, %v", r, first)
			}
			search.URL += "?fault=429&retry_after=7"
			if page := load(t, site, search); page.Status != 429 || page.RetryAfter != 7*time.Second {
				t.Errorf("?fault=429 = %d, %s", page.Status, page.RetryAfter)
			}
		})
	}
	site, _ := clocked(demosite.Options{})
	for _, f := range []demosite.Fault{
		{Kind: "429"}, {Platform: "nobody", Kind: "429"}, {Platform: demosite.Kijiji, Kind: "500"},
		{Platform: demosite.Kijiji, Kind: "429", Pages: "some"}, {Platform: demosite.Kijiji, Kind: "429", Times: -1},
	} {
		assert.Errorf(t, site.Break(f), "Break(%+v) takes it", f)
	}
}

// These need a connection.
func TestFaultsOnTheWire(t *testing.T) {
	t.Parallel()
	site := demosite.New(demosite.Options{Drip: time.Hour, Frozen: true})
	srv := httptest.NewServer(site)
	t.Cleanup(srv.Close)
	for kind, whole := range map[string]bool{"half": true, "cut": false} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/fr/recherche/?fault="+kind, nil)
		require.NoError(t, err)
		resp, err := srv.Client().Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if (err == nil) != whole || len(body) < 1000 || bytes.Contains(body, []byte("</html>")) {
			t.Errorf("%s: %d bytes, %v", kind, len(body), err)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/fr/recherche/?fault=slow", nil)
	require.NoError(t, err)
	resp, err := srv.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	if n, err := io.CopyN(io.Discard, resp.Body, 1); n != 1 || err != nil {
		t.Errorf("slow: %d bytes, %v; want one and the connection open", n, err)
	}
}

func TestAdmin(t *testing.T) {
	t.Parallel()
	site, _ := clocked(demosite.Options{Frozen: true})
	do := func(method, path, body string, want int, into any) {
		t.Helper()
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, host+path, strings.NewReader(body)))
		if w.Code != want {
			t.Fatalf("%s %s = %d %s; want %d", method, path, w.Code, w.Body, want)
		}
		if into != nil {
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), into))
		}
	}
	for _, platform := range []string{demosite.Kijiji, demosite.Kangalou} {
		var made, changed demosite.Advert
		do("POST", "/admin/adverts", fmt.Sprintf(`{"platform":%q}`, platform), 201, &made)
		if !strings.HasPrefix(made.URL, host+"/") || made.ID == "" || !made.AppearedAt.Equal(start) || made.State != demosite.Active {
			t.Errorf("published %+v", made)
		}
		do("PATCH", "/admin/adverts/"+made.ID, `{"price_cents":12345,"title":"<b>Neuf</b>"}`, 200, &changed)
		if changed.PriceCents == nil || *changed.PriceCents != 12345 || changed.Title != "<b>Neuf</b>" || changed.URL != made.URL {
			t.Errorf("changed %+v", changed)
		}
		got, err := reader(t, platform).ReadAdvert(load(t, site, web.Request{URL: made.URL}))
		require.NoError(t, err)
		assert.Equal(t, "<b>Neuf</b>", got.Title, "the page's title")
		var list []demosite.Advert
		do("GET", "/admin/adverts?platform="+platform, "", 200, &list)
		assert.Equal(t, made.ID, list[0].ID)
		if c := cards(t, site, platform); !contains(c, made.ID) {
			t.Errorf("no card of %s", made.ID)
		}
	}
	do("POST", "/admin/faults", `{"platform":"kijiji","kind":"429","retry_after":9,"times":1,"for":"1m","pages":"search"}`, 204, nil)
	if w := get(t, site, "/b-apartments-condos/x/c37l1700281"); w.Code != 429 || w.Header().Get("Retry-After") != "9" {
		t.Errorf("broken: %d", w.Code)
	}
	do("POST", "/admin/faults", `{"platform":"kijiji","kind":"429"}`, 204, nil)
	do("DELETE", "/admin/faults?platform=kijiji", "", 204, nil)
	if w := get(t, site, "/b-apartments-condos/x/c37l1700281"); w.Code != 200 {
		t.Errorf("mended: %d", w.Code)
	}
	for _, tt := range []struct {
		method, path, body string
		code               int
	}{
		{"POST", "/admin/adverts", `{"platform":"nobody"}`, 404},
		{"POST", "/admin/adverts", `{`, 400},
		{"POST", "/admin/adverts", `{"plattform":"kijiji"}`, 400},
		{"PATCH", "/admin/adverts/1", `{"bump":true}`, 404},
		{"PATCH", "/admin/adverts/1900000001", `{"price_cents":0}`, 422},
		{"PATCH", "/admin/adverts/1900000001", `{"title":""}`, 422},
		{"POST", "/admin/faults", `{"platform":"kijiji","kind":"418"}`, 422},
		{"POST", "/admin/faults", `{"platform":"kijiji","kind":"429","for":"soon"}`, 422},
	} {
		var e struct{ Error string }
		if do(tt.method, tt.path, tt.body, tt.code, &e); e.Error == "" {
			t.Errorf("%s %s does not name the error", tt.method, tt.path)
		}
	}
}

func contains(cards []scrape.Card, id string) bool {
	for _, c := range cards {
		if c.PlatformID == id {
			return true
		}
	}
	return false
}

// Everything at once, for the race detector.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	site := demosite.New(demosite.Options{Tempo: 1e6})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			platform := []string{demosite.Kijiji, demosite.Kangalou}[i%2]
			for range 20 {
				a, err := site.Publish(platform)
				if err != nil {
					t.Error(err)
					return
				}
				get(t, site, strings.TrimPrefix(starts[platform], host))
				get(t, site, a.URL)
				if _, err := site.Patch(platform, a.ID, demosite.Change{Bump: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func BenchmarkPages(b *testing.B) {
	for name, path := range map[string]func(site *demosite.Site) string{
		"kijiji search":   func(*demosite.Site) string { return "/b-apartments-condos/x/c37l1700281" },
		"kangalou search": func(*demosite.Site) string { return "/fr/recherche/" },
		"kijiji detail":   func(s *demosite.Site) string { return adverts(b, s, demosite.Kijiji)[0].URL },
		"kangalou detail": func(s *demosite.Site) string { return adverts(b, s, demosite.Kangalou)[0].URL },
	} {
		b.Run(name, func(b *testing.B) {
			site, turn := clocked(demosite.Options{})
			turn(24 * time.Hour)
			at := path(site)
			b.ReportAllocs()
			for b.Loop() {
				if w := get(b, site, at); w.Code != 200 {
					b.Fatal(w.Code)
				}
			}
		})
	}
}

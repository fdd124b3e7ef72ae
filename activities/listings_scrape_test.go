package activities_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// site is a fake Kijiji and its store: it records the calls, and fails where a test asks for it.
type site struct {
	url     string           // of the search; "" = one of Kijiji
	adverts []string         // IDs on the one search page, each due for a visit
	answer  map[string]error // of a detail page, by ID
	bodies  map[string]string
	store   map[string]error // of Found, by ID
	robots  error
	delay   time.Duration // that robots.txt asks for
	proxy   scrape.SealedProxy
	down    bool     // the proxy
	through []string // the proxies of requests, whole

	lookAt time.Time      // a look is due then, once
	newest []string       // IDs on the first page of a look, each unknown; nil = the look fails
	todo   []scrape.Visit // re-visits that are due, the oldest first; Missing ones wait to be verified

	told  []string
	turns []time.Duration
}

var errRemoved = errors.New("removed")

func (s *site) Load(_ context.Context, r web.Request) (web.Page, error) {
	name, password, _ := r.Proxy.User()
	s.through = append(s.through, r.Proxy.String()+" "+name+" "+password)
	if s.down {
		return web.Page{}, fmt.Errorf("fetch: %w", &web.ProxyError{Proxy: r.Proxy.String(), Reason: "no route"})
	}
	p := web.Page{Asked: r.URL, URL: r.URL, Status: 200, ContentType: "text/html"}
	id := r.URL[len(r.URL)-10:]
	if !slices.Contains(s.adverts, id) {
		list := ""
		for i, id := range s.adverts {
			list += fmt.Sprintf(`%s{"__typename":"RealEstateListing","id":%q,"title":"4½","url":"http://127.0.0.1/v-x/m/y/%s",
				"price":{"type":"FIXED","amount":90000}}`, map[bool]string{true: ","}[i > 0], id, id)
		}
		p.Body = fmt.Appendf(nil, `<html><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{
			"__APOLLO_STATE__":{"ROOT_QUERY":{"searchResultsPageByUrl:/b-x/m/c37l1":{"pagination":{"offset":0,"limit":40,
			"totalCount":%d},"results":{"topListings":[],"mainListings({})":[%s]}}}}}}}</script></html>`, len(s.adverts), list)
		return p, nil
	}
	err := s.answer[id]
	if errors.Is(err, errRemoved) {
		p.URL = "http://127.0.0.1/b-x/m/c37l1?adRemoved=" + id
		return p, nil
	}
	p.Body = []byte(s.bodies[id])
	if s.bodies[id] == "" {
		p.Body = fmt.Appendf(nil, `<html><script id="__NEXT_DATA__" type="application/json">{"props":{"pageProps":{
			"listingId":%[1]q,"__APOLLO_STATE__":{"ROOT_QUERY":{"listing({\"id\":\"%[1]s\"})":{"__typename":"RealEstateListing",
			"id":%[1]q,"title":"4½","description":"","url":"http://127.0.0.1/v-x/m/y/%[1]s","status":"ACTIVE",
			"price":{"type":"FIXED","amount":90000}}}}}}}</script></html>`, id)
	}
	return p, err
}

func (s *site) Allowed(context.Context, string, web.Proxy) (bool, time.Duration, error) {
	return true, s.delay, s.robots
}

func (s *site) say(format string, args ...any) { s.told = append(s.told, fmt.Sprintf(format, args...)) }

func (s *site) Settings(context.Context, scrape.Search) (scrape.Turn, error) {
	return scrape.Turn{Settings: scrape.Settings{URL: cmp.Or(s.url, "http://127.0.0.1/b-x/m/c37l1"), Enabled: true,
		Pace: scrape.Pace{Transport: scrape.Browser, MaxPages: 1}, Proxy: s.proxy}}, nil
}

func (s *site) Turn(ctx context.Context, of scrape.Search, apart time.Duration, _ time.Time) (scrape.Turn, error) {
	s.turns = append(s.turns, apart)
	return s.Settings(ctx, of)
}

func (s *site) Refused(_ context.Context, _ string, _ int64, reason string, _ time.Duration, _ float64, now time.Time) (
	time.Time, error,
) {
	s.say("refused %s", reason)
	return now.Add(time.Minute), nil
}

func (s *site) Suspect(_ context.Context, _ string, v scrape.Suspicion, _ time.Time) error {
	s.say("suspect %s", v.Of)
	return nil
}

func (s *site) NoResults(context.Context, scrape.Search, int64, int, int, string, time.Time) (string, error) {
	s.say("no results")
	return "", nil
}

func (s *site) Trouble(context.Context, string, string, time.Time) error {
	s.say("trouble")
	return nil
}

func (s *site) Unreached(_ context.Context, of scrape.Search, reason string, _, _ time.Time) error {
	s.say("unreached %s: %s", of.Name, reason)
	return nil
}

func (s *site) Seen(_ context.Context, _ scrape.Search, _ int64, _ int, r scrape.Results, _ time.Time) (
	[]scrape.Visit, error,
) {
	var due []scrape.Visit
	for _, c := range r.Cards {
		due = append(due, scrape.Visit{Card: c, Why: scrape.New})
	}
	return due, nil
}

func (s *site) Due(_ context.Context, _ string, _ int64, v []scrape.Visit, _ time.Time) ([]scrape.Visit, error) {
	return v, nil
}

func (s *site) Looked(context.Context, scrape.Search, time.Time) error {
	s.say("look")
	s.lookAt = time.Time{}
	return nil
}

func (s *site) Newest(_ context.Context, _ scrape.Search, _ int64, r scrape.Results, _ time.Time) (
	[]scrape.Visit, int, int, error,
) {
	s.say("newest %d", len(r.Cards))
	var found []scrape.Visit
	for _, id := range s.newest {
		found = append(found, scrape.Visit{Why: scrape.New, Card: scrape.Card{PlatformID: id, URL: "http://127.0.0.1/v-x/m/y/" + id}})
	}
	return found, len(found), 1, nil
}

func (s *site) Chores(_ context.Context, _ string, _ int64, now time.Time) (c scrape.Chores, err error) {
	c.LookAt, c.Pages, c.Total, c.MaxPages, c.Started, c.Target = s.lookAt, 1, -1, 1, now, time.Hour
	for _, v := range s.todo {
		if v.Why == scrape.Missing && c.Missing == nil {
			c.Missing = &v
		}
		if v.Why == scrape.Stale && c.Oldest == nil {
			c.Oldest, c.OldestAt = &v, now.Add(-scrape.StaleAfter)
		}
	}
	return c, nil
}

// visited takes a re-visit off the list.
func (s *site) visited(id string) {
	s.todo = slices.DeleteFunc(s.todo, func(v scrape.Visit) bool { return v.PlatformID == id })
}

func (s *site) Found(_ context.Context, _ int64, f scrape.FoundAdvert) error {
	if err := s.store[f.PlatformID]; err != nil {
		return err
	}
	s.visited(f.PlatformID)
	s.say("found %s", f.PlatformID)
	return nil
}

func (s *site) Gone(_ context.Context, ref listing.Ref, _ int64, _ string, _ time.Time) error {
	s.visited(ref.PlatformID)
	s.say("gone %s", ref.PlatformID)
	return nil
}

func (s *site) Failed(_ context.Context, ref listing.Ref, _ int64, _ string, _ time.Time) error {
	s.say("failed %s", ref.PlatformID)
	return nil
}

func TestScrapePage(t *testing.T) {
	t.Parallel()
	some := []string{"1000000001", "1000000002", "1000000003"}
	many := append(slices.Clone(some), "1000000004", "1000000005", "1000000006")
	all := func(ids []string, err error) map[string]error {
		out := map[string]error{}
		for _, id := range ids {
			out[id] = err
		}
		return out
	}
	for _, tt := range []struct {
		name string
		site site
		want []string
		err  string // of the activity; its type is the fault's class
	}{
		{"each is stored before the next", site{adverts: some},
			[]string{"found 1000000001", "found 1000000002", "found 1000000003"}, ""},
		{"one that the store refuses does not stop the others", site{adverts: some,
			store: map[string]error{"1000000001": fault.Newf(fault.Invalid, "postgres cannot store it")}},
			[]string{"failed 1000000001", "found 1000000002", "found 1000000003"}, ""},
		{"a store that is down is not held against the advert", site{adverts: some, store: all(some, errors.New("away"))},
			[]string{"trouble"}, "away"},
		{"one that was removed", site{adverts: some, answer: map[string]error{"1000000002": errRemoved}},
			[]string{"found 1000000001", "gone 1000000002", "found 1000000003"}, ""},
		{"a page that is not recognized", site{adverts: some, bodies: map[string]string{"1000000002": "<html>?</html>"}},
			[]string{"found 1000000001", "failed 1000000002", "found 1000000003"}, ""},
		{"a page that takes all memory", site{adverts: some, bodies: map[string]string{
			"1000000002": "<p>" + formats(400) + "x" + strings.Repeat("<p>x", 100_000) + "</html>"}},
			[]string{"found 1000000001", "failed 1000000002", "found 1000000003"}, ""},
		{"a run of removals is the site's", site{adverts: many, answer: all(many, errRemoved)}, []string{
			"gone 1000000001", "gone 1000000002", "gone 1000000003", "gone 1000000004", "suspect detail"}, ""},
		{"an unknown host name is no removal", site{adverts: some,
			answer: all(some, fault.Newf(fault.Gone, "host does not exist"))},
			[]string{"failed 1000000001", "failed 1000000002", "failed 1000000003", "trouble"}, "host does not exist"},
		{"a run of pages that cannot be read is the site's", site{adverts: many,
			answer: all(many, fault.Newf(fault.Invalid, "body is larger"))},
			[]string{"failed 1000000001", "failed 1000000002", "failed 1000000003", "suspect detail"}, ""},
		{"a site that refuses", site{adverts: some, answer: map[string]error{"1000000002": web.Refused("429", 0)}},
			[]string{"found 1000000001", "refused 429"}, "the site refuses: 429"},
		{"robots.txt that cannot be had", site{adverts: some, robots: fault.Newf(fault.Transient, "status 500")},
			[]string{"trouble"}, "status 500"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &tt.site
			s.delay = time.Minute
			cycled := 0
			env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
			a := &activities.Visits{Sites: s, Trouble: s, Adverts: s, Results: s, Reader: readers, Robots: s,
				Pages: map[scrape.Transport]activities.PageSource{scrape.Browser: s}, Now: time.Now, Dice: func() float64 { return 0.5 }, Cycled: func() { cycled++ }}
			env.RegisterActivity(a)
			_, err := env.ExecuteActivity(a.ScrapePage, activities.ScrapeJob{Platform: "kijiji", Cycle: 1, Page: 1})
			if tt.err == "" {
				require.NoError(t, err)
				require.Equal(t, 1, cycled)
			} else {
				require.ErrorContains(t, err, tt.err)
				require.Zero(t, cycled)
			}
			require.Equal(t, tt.want, s.told)
			for _, apart := range s.turns {
				require.Equal(t, time.Minute, apart, "a request was sooner than robots.txt wants")
			}
		})
	}
}

// again is an advert that is due for a re-visit.
func again(id, why string) scrape.Visit {
	return scrape.Visit{Why: why, Card: scrape.Card{PlatformID: id, URL: "http://127.0.0.1/v-x/m/y/" + id}}
}

// A look comes before the visits that wait, and what it finds before them; then adverts that are missing are verified,
// and others visited again.
func TestScrapePageInLanes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	s := &site{adverts: []string{"1000000001", "1000000002"}, lookAt: now, newest: []string{"1000000009", "1000000001"},
		todo: []scrape.Visit{again("1000000005", scrape.Stale), again("1000000006", scrape.Stale), again("1000000007", scrape.Missing)}}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	a := &activities.Visits{Sites: s, Trouble: s, Adverts: s, Results: s, Reader: known{readers}, Robots: s,
		Pages: map[scrape.Transport]activities.PageSource{scrape.Browser: s}, Now: func() time.Time { return now }, Cycled: func() {}}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.ScrapePage, activities.ScrapeJob{Platform: "kijiji", Cycle: 1, Page: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"look", "newest 2", "found 1000000009", "found 1000000001", "found 1000000002",
		"found 1000000007", "found 1000000005", "found 1000000006"}, s.told)
	require.Len(t, s.turns, 8, "each request has a turn of its own")

	s.told = nil
	_, err = env.ExecuteActivity(a.LookAtPlatform, activities.LookJob{Platform: "kijiji", Cycle: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"look", "newest 2", "found 1000000009", "found 1000000001"}, s.told)
}

// opener opens what is sealed for one purpose with the key "k".
type opener string

func (o opener) Open(purpose, key string, sealed []byte) ([]byte, error) {
	if purpose != string(o) || key != "k" {
		return nil, fmt.Errorf("open %s: there is no key %q", purpose, key)
	}
	return sealed, nil
}

// Requests go through the proxy with its credentials. One that fails, or cannot be opened, stops the search for a while:
// it is no trouble of the site, and nothing is requested without it.
func TestScrapePageThroughAProxy(t *testing.T) {
	t.Parallel()
	purpose := scrape.ProxyPurpose("kijiji", "", "socks5://10.0.0.7")
	sealed := scrape.SealedProxy{Shown: "socks5://10.0.0.7", Purpose: purpose, Key: "k", Box: []byte("me:secret")}
	lost := sealed
	lost.Key = "lost"
	for _, tt := range []struct {
		name    string
		proxy   scrape.SealedProxy
		down    bool
		stopped string
		told    []string
		through []string
	}{
		{"it works", sealed, false, "", []string{"found 1000000001"},
			[]string{"socks5://10.0.0.7 me secret", "socks5://10.0.0.7 me secret"}},
		{"it is down", sealed, true, "its proxy fails", []string{"unreached default: fetch: proxy socks5://10.0.0.7: no route"},
			[]string{"socks5://10.0.0.7 me secret"}},
		{"its key is lost", lost, false, "its proxy fails",
			[]string{`unreached default: proxy socks5://10.0.0.7: open ` + purpose + `: there is no key "lost"`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &site{adverts: []string{"1000000001"}, proxy: tt.proxy, down: tt.down}
			env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
			a := &activities.Visits{Sites: s, Trouble: s, Adverts: s, Results: s, Reader: known{readers}, Robots: s, Secrets: opener(purpose),
				Pages: map[scrape.Transport]activities.PageSource{scrape.Browser: s}, Now: time.Now, Cycled: func() {}}
			env.RegisterActivity(a)
			done, err := env.ExecuteActivity(a.ScrapePage, activities.ScrapeJob{Platform: "kijiji", Cycle: 1, Page: 1})
			require.NoError(t, err)
			var page activities.ScrapedPage
			require.NoError(t, done.Get(&page))
			require.Equal(t, tt.stopped, page.Stopped)
			require.Equal(t, tt.told, s.told)
			require.Equal(t, tt.through, s.through)
		})
	}
}

// known is a PageReader whose detail pages are those of the advert that was asked for.
type known struct{ activities.PageReader }

func (r known) ReadAdvert(_ context.Context, name string, p web.Page) (a scrape.Advert, err error) {
	a.Ref, a.URL, a.Title = listing.Ref{Platform: name, PlatformID: p.Asked[len(p.Asked)-10:]}, p.URL, "4½"
	return a, nil
}

// A site that answers 503 and does not say for how long is asked again by the retry policy, whose waits grow.
func TestScrapePageOfASiteThatIsDown(t *testing.T) {
	t.Parallel()
	down := &site{robots: web.Check(web.Page{Status: 503})}
	a := &activities.Visits{Sites: down, Trouble: down, Adverts: down, Results: down, Reader: readers, Robots: down, Now: time.Now}
	var failed error
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	scrapePage := func(ctx context.Context, job activities.ScrapeJob) error {
		_, failed = a.ScrapePage(ctx, job)
		return failed
	}
	env.RegisterActivity(scrapePage)
	_, err := env.ExecuteActivity(scrapePage, activities.ScrapeJob{Platform: "kijiji", Cycle: 1, Page: 1})
	require.ErrorContains(t, err, "status 503")
	class, after := fault.Of(failed)
	require.Equal(t, fault.Transient, class)
	require.Zero(t, after)
	require.Equal(t, []string{"trouble"}, down.told)
}

// buildings is a PageReader that finds two units in each advert.
type buildings struct{ activities.PageReader }

func (r buildings) ReadAdvert(ctx context.Context, platform string, p web.Page) (scrape.Advert, error) {
	a, err := r.PageReader.ReadAdvert(ctx, platform, p)
	for _, id := range []string{"1", "2"} {
		u := a
		u.PlatformID += "-" + id
		a.Units = append(a.Units, u)
	}
	return a, err
}

// units keeps what is stored of a building.
type units struct {
	*site
	found scrape.FoundAdvert
}

func (s *units) Found(_ context.Context, _ int64, f scrape.FoundAdvert) error {
	s.found = f
	return nil
}

// Each unit of a building is a message of its own, of one visit; the building is none.
func TestScrapePageOfABuilding(t *testing.T) {
	t.Parallel()
	s := &units{site: &site{adverts: []string{"1000000001"}}}
	now := time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	a := &activities.Visits{Sites: s, Trouble: s, Adverts: s, Results: s, Reader: buildings{readers}, Robots: s,
		Pages: map[scrape.Transport]activities.PageSource{scrape.Browser: s}, Now: func() time.Time { return now }, Cycled: func() {}}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.ScrapePage, activities.ScrapeJob{Platform: "kijiji", Cycle: 1, Page: 1})
	require.NoError(t, err)
	require.Equal(t, "1000000001", s.found.Raw.PlatformID)
	require.Nil(t, s.found.Payload)
	require.Len(t, s.found.Units, 2)
	for i, u := range s.found.Messages() {
		id := fmt.Sprintf("1000000001-%d", i+1)
		var m contract.ScrapedListing
		require.NoError(t, json.Unmarshal(u.Payload, &m))
		require.Equal(t, id, m.PlatformID)
		require.Equal(t, id, u.Raw.PlatformID)
		require.Equal(t, now.Truncate(time.Microsecond), m.ScrapedAt)
		require.Equal(t, m.ScrapedAt, u.Raw.ScrapedAt)
	}
}

// whole is a PageReader whose search pages state each advert whole.
type whole struct{ activities.PageReader }

func (r whole) ReadSearch(ctx context.Context, platform string, p web.Page) (scrape.Results, error) {
	found, err := r.PageReader.ReadSearch(ctx, platform, p)
	for i, c := range found.Cards {
		found.Cards[i].Advert = &scrape.Advert{Raw: listing.Raw{
			Ref: listing.Ref{Platform: platform, PlatformID: c.PlatformID}, URL: c.URL, Title: c.Title}}
	}
	return found, err
}

// Adverts that the search page states whole are stored without a request each.
func TestScrapePageOfWholeAdverts(t *testing.T) {
	t.Parallel()
	s := &site{adverts: []string{"1000000001", "1000000002"}}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	a := &activities.Visits{Sites: s, Trouble: s, Adverts: s, Results: s, Reader: whole{readers}, Robots: s,
		Pages: map[scrape.Transport]activities.PageSource{scrape.Browser: s}, Now: time.Now, Cycled: func() {}}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.ScrapePage, activities.ScrapeJob{Platform: "kijiji", Cycle: 1, Page: 1})
	require.NoError(t, err)
	require.Equal(t, []string{"found 1000000001", "found 1000000002"}, s.told)
	require.Len(t, s.turns, 1, "the search page alone was requested")
}

// large is a PageReader of the last page of a search of which its site shows a part.
type large struct {
	activities.PageReader
	total int
}

func (r large) ReadSearch(_ context.Context, platform string, p web.Page) (scrape.Results, error) {
	return scrape.Results{Total: r.total, Last: true, Cards: []scrape.Card{{PlatformID: "1000000001", URL: p.URL,
		Advert: &scrape.Advert{Raw: listing.Raw{Ref: listing.Ref{Platform: platform, PlatformID: "1000000001"}, URL: p.URL}}}}}, nil
}

// An advert that moves behind the last one that its site shows of a search is not missing, also where most are shown.
func TestScrapeLastPageOfALargeSearch(t *testing.T) {
	t.Parallel()
	for total, partial := range map[int]string{
		600:  "",
		650:  "the site shows 600 of the 650 adverts of this search, so none counts as removed: replace it by smaller ones",
		1500: "the site shows 600 of the 1500 adverts of this search, so none counts as removed: replace it by smaller ones",
	} {
		s := &site{url: "http://127.0.0.1/Listing.svc/PropertySearch_Post"}
		env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
		a := &activities.Visits{Sites: s, Trouble: s, Adverts: s, Results: s, Reader: large{readers, total}, Robots: s,
			Pages: map[scrape.Transport]activities.PageSource{scrape.Browser: s}, Now: time.Now, Cycled: func() {}}
		env.RegisterActivity(a)
		done, err := env.ExecuteActivity(a.ScrapePage, activities.ScrapeJob{Platform: "realtor_ca", Cycle: 1, Page: 12})
		require.NoError(t, err)
		var page activities.ScrapedPage
		require.NoError(t, done.Get(&page))
		require.True(t, page.Last)
		require.Equal(t, partial, page.Partial)
	}
}

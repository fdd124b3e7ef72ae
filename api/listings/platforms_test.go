package listings_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/scrape"
)

// cycles brings kijiji through a first cycle and into its second.
func cycles(t *testing.T, s *dblistings.Platforms) {
	t.Helper()

	ctx, first := t.Context(), apitest.Now.Add(-time.Hour)
	_, err := s.Begin(ctx, "kijiji", first)
	require.NoError(t, err)
	_, err = s.Seen(ctx, scrape.Search{Platform: "kijiji", Name: scrape.DefaultSearch}, 1, 1, scrape.Results{Total: 1, Last: true, Cards: []scrape.Card{
		{PlatformID: "1700000001", URL: "https://www.kijiji.ca/v-x/1700000001", Title: "a", Fingerprint: "f"},
	}}, first)
	require.NoError(t, err)
	require.NoError(t, s.Failed(ctx, apitest.Kijiji("1700000001"), 1, "page not recognized", first))
	require.NoError(t, s.End(ctx, "kijiji", 1, "", first.Add(10*time.Minute)))
	_, err = s.Begin(ctx, "kijiji", apitest.Now.Add(-time.Minute))
	require.NoError(t, err)
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	require.Empty(t, apitest.Read[apilistings.PlatformList](t, d.Get(t, "/platforms"), 200).Items)
	s := apitest.Scraped(t, d)
	cycles(t, s)

	list := apitest.Read[apilistings.PlatformList](t, d.Get(t, "/platforms"), http.StatusOK).Items
	require.Len(t, list, 2)
	require.Equal(t, "kangalou", list[0].Name)
	require.Equal(t, "disabled", list[0].State)
	require.Nil(t, list[0].Last)
	p := list[1]
	require.Equal(t, p, d.Platform(t, "kijiji"))
	require.Equal(t, "scraping", p.State)
	require.Equal(t, "goes on with cycle 2, page 1", p.Next)
	require.Equal(t, apitest.SearchURL, p.URL)
	require.Equal(t, scrape.Browser, p.Transport)
	require.Equal(t, apilistings.PlatformSettings{Enabled: true, DelaySeconds: 9, MaxPages: 250, CooldownSeconds: 60}, p.Settings)
	require.Equal(t, p.Settings, p.Configured)
	require.Equal(t, apilistings.PlatformAdverts{Known: 1, Failed: 1}, p.Adverts)
	require.Equal(t, apitest.Now.Add(-time.Hour), p.LastSuccessAt.UTC())
	require.EqualValues(t, 2, p.Current.Cycle)
	require.EqualValues(t, 1, p.Last.Cycle)
	require.True(t, p.Last.Complete)
	require.Equal(t, []int{1, 1, 1}, []int{p.Last.Pages, p.Last.Seen, p.Last.Failed})
	require.Equal(t, api.WorkflowLink{
		ID: "scrape/kijiji", URL: "http://temporal.test/namespaces/conveyor/workflows/scrape%2Fkijiji",
	}, p.Workflow)
	require.Empty(t, d.Started.Calls, "to look changes nothing")

	until, err := s.Refused(t.Context(), "kijiji", 2, "429", time.Hour, 0.5, apitest.Now)
	require.NoError(t, err)
	p = d.Platform(t, "kijiji")
	require.Equal(t, "blocked", p.State)
	require.Equal(t, "asks again in 1h0m0s, after refusal 1 in a row (429)", p.Next)
	require.Equal(t, 1, p.Blocked.Refusals)
	require.True(t, until.Equal(*p.Blocked.Until))
	require.NoError(t, s.Suspect(t.Context(), "kijiji",
		scrape.Suspicion{Of: scrape.SearchPages, Reason: "no adverts", Cycle: 2, Page: 1}, apitest.Now))
	require.Equal(t, "no adverts", d.Platform(t, "kijiji").Suspect.Reason)
}

// Operators' changes are stored and audited, and the scraper is signalled.
func TestChangePlatform(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	s := apitest.Scraped(t, d)
	cycles(t, s)
	do := func(method, path, body string, status int) apilistings.Platform {
		t.Helper()
		return apitest.Read[apilistings.Platform](t, d.Ask(t, method, "/platforms/"+path, body), status)
	}
	p := do(http.MethodPatch, "kijiji", `{"delay_between_requests_seconds": 1.5, "max_pages_per_cycle": 20}`, 200)
	require.Equal(t, apilistings.PlatformSettings{Enabled: true, DelaySeconds: 1.5, MaxPages: 20, CooldownSeconds: 60}, p.Settings)
	require.Equal(t, 9.0, p.Configured.DelaySeconds)
	p = do(http.MethodPatch, "kijiji", `{"cooldown_between_cycles_seconds": 0, "enabled": true}`, 200)
	require.Equal(t, apilistings.PlatformSettings{Enabled: true, DelaySeconds: 1.5, MaxPages: 20}, p.Settings, "the rest stays")
	p = do(http.MethodPatch, "kijiji", `{"reset": true, "max_pages_per_cycle": 7}`, 200)
	require.Equal(t, apilistings.PlatformSettings{Enabled: true, DelaySeconds: 9, MaxPages: 7, CooldownSeconds: 60}, p.Settings)

	p = do(http.MethodPost, "kijiji/pause", "", 202)
	require.Equal(t, "paused", p.State)
	require.Equal(t, "nothing until it is resumed", p.Next)
	p = do(http.MethodPost, "kijiji/resume", "", 202)
	require.Equal(t, "scraping", p.State)
	require.NoError(t, s.End(t.Context(), "kijiji", 2, "", apitest.Now))
	require.Equal(t, "begins cycle 3 in 1m0s", d.Platform(t, "kijiji").Next)
	require.Equal(t, "begins cycle 3 now", do(http.MethodPost, "kijiji/scrape", "", 202).Next)

	wake := "scrape kijiji: " + apitest.SearchURL
	require.Equal(t, []string{wake, wake, wake, wake, wake, wake}, d.Started.Calls)
	deed := func(what string) string { return "anonymous platform." + what + " platform/kijiji" }
	require.Equal(t, []string{
		deed("set"), deed("set"), deed("set"), deed("paused"), deed("resumed"), deed("scrape_wanted"),
	}, d.Deeds(t))
	var detail string
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT detail FROM audit ORDER BY id LIMIT 1").Scan(&detail))
	require.JSONEq(t, `{"delay_between_requests_seconds": 1.5, "max_pages_per_cycle": 20}`, detail)
}

// The scraper of a disabled platform is not started; one in the middle of a cycle is told to stop.
func TestDisablePlatform(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	s := apitest.Scraped(t, d)
	set := func(name, body string) apilistings.Platform {
		t.Helper()
		return apitest.Read[apilistings.Platform](t, d.Ask(t, http.MethodPatch, "/platforms/"+name, body), 200)
	}
	require.Equal(t, "disabled", set("kangalou", `{"max_pages_per_cycle": 3}`).State)
	require.Empty(t, d.Started.Calls)
	require.Equal(t, "waiting", set("kangalou", `{"enabled": true}`).State)
	require.Equal(t, []string{"scrape kangalou: https://k.example/fr/recherche/"}, d.Started.Calls)
	require.Equal(t, "disabled", set("kangalou", `{"reset": true}`).State, "as it is configured")
	require.Len(t, d.Started.Calls, 1)

	cycles(t, s)
	require.Equal(t, "disabled", set("kijiji", `{"enabled": false}`).State)
	require.Equal(t, "scrape kijiji: "+apitest.SearchURL, d.Started.Calls[1])
}

func TestPlatformRefuses(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	apitest.Scraped(t, d)
	for _, tt := range []struct {
		name, method, path, body string
		status                   int
		says                     string
	}{
		{"an unknown platform", "GET", "nobody", "", 404, `"nobody": there is none of that name`},
		{"a change of it", "PATCH", "nobody", `{"enabled": true}`, 404, "there is none of that name"},
		{"a cycle of it", "POST", "nobody/scrape", "", 404, "there is none of that name"},
		{"a pause of it", "POST", "nobody/pause", "", 404, "there is none of that name"},
		{"a resumption of it", "POST", "nobody/resume", "", 404, "there is none of that name"},
		{"a cycle of a disabled one", "POST", "kangalou/scrape", "", 409, "kangalou is not enabled: enable it first"},
		{"no name", "GET", "Kijiji", "", 422, "path.name"},
		{"no name, to scrape", "POST", "a%20b/scrape", "", 422, "path.name"},
		{"a delay before now", "PATCH", "kijiji", `{"delay_between_requests_seconds": -1}`, 422,
			"body.delay_between_requests_seconds"},
		{"a delay of a day", "PATCH", "kijiji", `{"delay_between_requests_seconds": 86400}`, 422,
			"body.delay_between_requests_seconds"},
		{"no pages", "PATCH", "kijiji", `{"max_pages_per_cycle": 0}`, 422, "body.max_pages_per_cycle"},
		{"half a page", "PATCH", "kijiji", `{"max_pages_per_cycle": 0.5}`, 422, "body.max_pages_per_cycle"},
		{"a long rest", "PATCH", "kijiji", `{"cooldown_between_cycles_seconds": 604801}`, 422,
			"body.cooldown_between_cycles_seconds"},
		{"a field that is misspelt", "PATCH", "kijiji", `{"delay": 1}`, 422, "body.delay"},
		{"a word for a switch", "PATCH", "kijiji", `{"enabled": "no"}`, 422, "body.enabled"},
		{"another address", "PATCH", "kijiji", `{"url": "https://example.com/"}`, 422, "body.url"},
	} {
		p := apitest.Refused(t, d.Ask(t, tt.method, "/platforms/"+tt.path, tt.body), tt.status)
		require.Contains(t, p.Detail+fmt.Sprint(p.Fields()), tt.says, tt.name)
	}
	require.Equal(t, http.StatusAccepted, d.Ask(t, http.MethodPost, "/platforms/kijiji/pause", "").Status)
	p := apitest.Refused(t, d.Ask(t, http.MethodPost, "/platforms/kijiji/scrape", ""), http.StatusConflict)
	require.Contains(t, p.Detail, "kijiji is paused: resume it first")
	require.Len(t, d.Deeds(t), 1, "a refused request is not audited")
}

// A stored change holds although the scraper could not be signalled: it reads its settings itself.
func TestChangePlatformWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	apitest.Scraped(t, d)
	d.Started.Err = errors.New("temporal is away")
	r := d.Ask(t, http.MethodPatch, "/platforms/kijiji", `{"max_pages_per_cycle": 7}`)
	apitest.Refused(t, r, http.StatusServiceUnavailable)
	require.Equal(t, 7, d.Platform(t, "kijiji").Settings.MaxPages)
}

// The roles of all operations are tested together; this is the table of those for platforms.
func TestPlatformRoles(t *testing.T) {
	t.Parallel()
	f := apitest.Guarded(t)
	store := dblistings.NewPlatforms(f.Pool)
	d := apitest.Bare(t, func(p *apitest.Parts) {
		p.Platforms.Store, p.Keys.Store = store, f.KeyStore
		p.Starting(&apitest.Starter{})
		p.Guard = api.NewGuard(api.GuardOptions{Keys: f.KeyStore, Log: apitest.Quiet, Now: f.Clock.Now})
	})
	d.Pool = f.Pool
	apitest.Scraped(t, d)
	reader, operator := f.Key(t, "dash", access.Read), f.Key(t, "ann", access.Operate)
	for _, tt := range []struct {
		method, path, body string
		status             int
		operate            bool
	}{
		{"GET", "/platforms", "", 200, false},
		{"GET", "/platforms/kijiji", "", 200, false},
		{"PATCH", "/platforms/kijiji", `{"max_pages_per_cycle": 9}`, 200, true},
		{"POST", "/platforms/kijiji/scrape", "", 202, true},
		{"POST", "/platforms/kijiji/pause", "", 202, true},
		{"POST", "/platforms/kijiji/resume", "", 202, true},
	} {
		apitest.Refused(t, d.Ask(t, tt.method, tt.path, tt.body), http.StatusUnauthorized)
		r := d.As(t, reader, tt.method, tt.path, tt.body)
		if tt.operate {
			require.Contains(t, apitest.Refused(t, r, http.StatusForbidden).Detail, "needs the role operate")
			r = d.As(t, operator, tt.method, tt.path, tt.body)
		}
		require.Equal(t, tt.status, r.Status, tt.path)
	}
	require.Equal(t, []string{
		"ann platform.set platform/kijiji", "ann platform.scrape_wanted platform/kijiji",
		"ann platform.paused platform/kijiji", "ann platform.resumed platform/kijiji",
	}, d.Deeds(t)[2:], "after the two keys")
}

func TestPlatformCycles(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	apitest.Scraped(t, d)
	_, err := d.Pool.Exec(t.Context(), `INSERT INTO platform_cycles (platform, cycle, started_at, complete, pages, total, new)
		SELECT 'kijiji', 100 + n, $1::timestamptz + n * '1 hour'::interval, n <> 3, n, 40, 7 FROM generate_series(1, 5) n`, apitest.Now)
	require.NoError(t, err)
	list := func(query string) apilistings.PlatformCycles {
		return apitest.Read[apilistings.PlatformCycles](t, d.Get(t, "/platforms/kijiji/cycles"+query), 200)
	}
	first := list("?limit=2")
	require.Equal(t, []int64{105, 104, 104}, []int64{first.Items[0].Cycle, first.Items[1].Cycle, first.Next})
	second := list("?limit=2&before=104")
	require.Equal(t, []any{int64(103), false, 3, 40, 7}, []any{
		second.Items[0].Cycle, second.Items[0].Complete, second.Items[0].Pages, *second.Items[0].Total, second.Items[0].New,
	})
	last := list("?before=102")
	require.Equal(t, int64(101), last.Items[0].Cycle)
	require.Zero(t, last.Next)
	apitest.Refused(t, d.Get(t, "/platforms/nowhere/cycles"), 404)
	apitest.Refused(t, d.Get(t, "/platforms/kijiji/cycles?page=2"), 422)
}

func TestPlatformSearches(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	apitest.Scraped(t, d)
	const laval = "https://kijiji.ca/b-apartments-condos/laval-rive-nord/c37l1700278"
	const path = "/platforms/kijiji/searches/"
	put := func(name, body string) apilistings.PlatformSearch {
		t.Helper()
		return apitest.Read[apilistings.PlatformSearch](t, d.Ask(t, http.MethodPut, path+name, body), http.StatusOK)
	}
	s := put("laval", `{"url":"`+laval+`","delay_between_requests_seconds":20,"look_every_seconds":60,"transport":"http"}`)
	require.Equal(t, []any{"laval", "waiting", laval, scrape.HTTP}, []any{s.Name, s.State, s.URL, s.Transport})
	require.Equal(t, apilistings.PlatformSettings{Enabled: true, DelaySeconds: 20, MaxPages: 250, CooldownSeconds: 60, LookSeconds: 60},
		s.Settings)
	require.Equal(t, apilistings.SearchSettings{Transport: new(scrape.HTTP), DelaySeconds: new(20.0), LookSeconds: new(60.0)}, s.Own)
	require.Equal(t, s, apitest.Read[apilistings.PlatformSearch](t, d.Get(t, path+"laval"), http.StatusOK))
	s = put("laval", `{"url":"`+laval+`","paused":true}`)
	require.Equal(t, "paused", s.State)
	require.Zero(t, s.Own)
	require.Len(t, d.Platform(t, "kijiji").Searches, 2)

	// Who only adds overwrites none, that of the settings neither.
	add := func(name, match string) apitest.Reply {
		t.Helper()
		return d.Ask(t, http.MethodPut, path+name, `{"url":"`+apitest.SearchURL+`"}`, "If-None-Match", match)
	}
	for _, name := range []string{"laval", scrape.DefaultSearch} {
		require.Contains(t, apitest.Refused(t, add(name, "*"), http.StatusPreconditionFailed).Detail, "one of that name")
	}
	apitest.Refused(t, add("laval", `"x"`), http.StatusUnprocessableEntity)
	require.Equal(t, s, apitest.Read[apilistings.PlatformSearch](t, d.Get(t, path+"laval"), http.StatusOK))
	apitest.Read[apilistings.PlatformSearch](t, add("verdun", "*"), http.StatusOK)
	require.Equal(t, http.StatusNoContent, d.Ask(t, http.MethodDelete, path+"verdun", "").Status)
	require.Equal(t, "paused", put(scrape.DefaultSearch, `{"paused":true}`).State)
	require.Equal(t, "paused", d.Platform(t, "kijiji").State, "all of them are")
	require.Equal(t, http.StatusNoContent, d.Ask(t, http.MethodDelete, path+"laval", "").Status)
	put(scrape.DefaultSearch, `{"url":"`+apitest.SearchURL+`"}`)
	require.Equal(t, "waiting", d.Platform(t, "kijiji").State)

	for _, tt := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{http.MethodPut, path + "laval", `{}`, 422, "not on the site"},
		{http.MethodPut, path + "laval", `{"url":"https://www.example.org/c37"}`, 422, "not on the site"},
		{http.MethodPut, path + "laval", `{"url":"https://me:secret@www.kijiji.ca/b-x/y/c37l1"}`, 422, "not on the site"},
		{http.MethodPut, path + "laval", `{"url":"https://www.kijiji.ca/?sort=price"}`, 422, "url: "},
		{http.MethodPut, path + "LAVAL", `{"url":"` + laval + `"}`, 422, ""},
		{http.MethodPut, path + scrape.DefaultSearch, `{"url":"` + laval + `"}`, 422, "CONVEYOR_SCRAPE"},
		{http.MethodPut, "/platforms/nobody/searches/x", `{"url":"` + laval + `"}`, 404, "none of that name"},
		{http.MethodGet, path + "laval", "", 404, "no search"},
		{http.MethodDelete, path + "laval", "", 404, "no search"},
		{http.MethodDelete, path + scrape.DefaultSearch, "", 409, "pause it instead"},
	} {
		p := apitest.Refused(t, d.Ask(t, tt.method, tt.path, tt.body), tt.status)
		require.Contains(t, p.Detail, tt.says, "%s %s %s", tt.method, tt.path, tt.body)
		require.NotContains(t, p.Detail, "secret")
	}
}

// A proxy is kept with its credentials sealed; nothing shows them, the audit included.
func TestProxiesOfPlatforms(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	s := apitest.Scraped(t, d)
	const proxy = `"socks5://me:s3cret@10.0.0.7:1080"`
	const path = "/platforms/kijiji/searches/laval"
	r := d.Ask(t, http.MethodPatch, "/platforms/kijiji", `{"transport":"http","proxy":`+proxy+`}`)
	p := apitest.Read[apilistings.Platform](t, r, http.StatusOK)
	require.Equal(t, []any{scrape.HTTP, "socks5://10.0.0.7:1080"}, []any{p.Transport, p.Proxy})
	require.NotContains(t, r.Body, "s3cret")
	turn := func(name string) scrape.SealedProxy {
		t.Helper()
		turn, err := s.Settings(t.Context(), scrape.Search{Platform: "kijiji", Name: name})
		require.NoError(t, err)
		return turn.Settings.Proxy
	}
	plain := func(p scrape.SealedProxy) string {
		t.Helper()
		text, err := d.Platforms.Secrets.Open(p.Purpose, p.Key, p.Box)
		require.NoError(t, err)
		return string(text)
	}
	require.Equal(t, "me:s3cret", plain(turn(scrape.DefaultSearch)))

	put := func(body string) apilistings.PlatformSearch {
		t.Helper()
		r := d.Ask(t, http.MethodPut, path, `{"url":"`+apitest.SearchURL+`"`+body+`}`)
		require.NotContains(t, r.Body, "s3cret")
		return apitest.Read[apilistings.PlatformSearch](t, r, http.StatusOK)
	}
	require.Equal(t, "socks5://10.0.0.7:1080", put("").Proxy, "that of the platform")
	require.Equal(t, "me:s3cret", plain(turn("laval")))
	require.Equal(t, "https://proxy.example", put(`,"proxy":"https://you:s3cret2@proxy.example"`).Proxy)
	require.Equal(t, "https://proxy.example", put(`,"paused":true`).Proxy, "it stays")
	require.Equal(t, "you:s3cret2", plain(turn("laval")))
	require.Empty(t, put(`,"proxy":"direct"`).Proxy)
	require.Zero(t, turn("laval").Shown)
	require.Equal(t, "socks5://10.0.0.7:1080", put(`,"proxy":""`).Proxy)
	require.NotContains(t, d.Get(t, "/audit").Body, "s3cret")

	p = apitest.Read[apilistings.Platform](t, d.Ask(t, http.MethodPatch, "/platforms/kijiji", `{"proxy":"http://10.0.0.8:3128"}`), 200)
	require.Equal(t, "http://10.0.0.8:3128", p.Proxy)
	require.Empty(t, turn(scrape.DefaultSearch).Key, "it has no credentials")
	p = apitest.Read[apilistings.Platform](t, d.Ask(t, http.MethodPatch, "/platforms/kijiji", `{"reset":true}`), 200)
	require.Equal(t, []any{scrape.Browser, ""}, []any{p.Transport, p.Proxy})
	for _, wrong := range []string{"proxy.example:80", "ftp://me:s3cret@x", "direct", "http://me:s3cret@x/path"} {
		says := apitest.Refused(t, d.Ask(t, http.MethodPatch, "/platforms/kijiji", `{"proxy":"`+wrong+`"}`), 422)
		require.Contains(t, says.Detail, "proxy: ")
		require.NotContains(t, says.Detail, "s3cret")
	}
}

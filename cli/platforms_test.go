package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// kijiji is a platform in the middle of its second cycle.
func kijiji() apilistings.Platform {
	pace := apilistings.PlatformSettings{Enabled: true, DelaySeconds: 9, MaxPages: 250, CooldownSeconds: 60, LookSeconds: 300, CycleSeconds: 7200}
	slow := pace
	slow.DelaySeconds = 30
	return apilistings.Platform{
		Name: "kijiji", State: "scraping", Next: "goes on with cycle 2, page 3", URL: "https://www.kijiji.ca/b-x/y/c37l1",
		Transport: "browser", Settings: slow, Configured: pace, LastSuccessAt: new(noon.Add(-20 * time.Second)),
		Adverts: apilistings.PlatformAdverts{Known: 120, Failed: 2, Gone: 7}, OldestVisitAt: new(noon.Add(-26 * time.Hour)),
		Forecast: &apilistings.PlatformForecast{CycleSeconds: 7200, OldestVisitSeconds: 93600, Requests: 9600, Looks: 288, Search: 2700,
			Revisits: 5000},
		Current: &apilistings.PlatformCycle{PastCycle: apilistings.PastCycle{
			Cycle: 2, StartedAt: noon.Add(-5 * time.Minute), Pages: 3, Seen: 120, New: 4,
		}},
		Last: &apilistings.PlatformCycle{PastCycle: apilistings.PastCycle{
			Cycle: 1, StartedAt: noon.Add(-time.Hour), EndedAt: new(noon.Add(-6 * time.Minute)), Complete: true, Pages: 9,
			Total: new(350), Seen: 350, New: 346, Changed: 1, Skipped: 2, Failed: 3, Gone: 5, Refusals: 6,
		}},
	}
}

func TestPrintPlatforms(t *testing.T) {
	t.Parallel()
	first := kijiji()
	idle := apilistings.Platform{Name: "centris", State: "disabled", Next: "nothing until it is enabled", Unproven: "page 2"}
	first.Name, first.Last, first.Unproven = "kangalou", nil, "its map"
	var b strings.Builder
	require.NoError(t, printPlatforms(&b, []apilistings.Platform{idle, first, kijiji()}))
	require.Equal(t, `NAME      STATE     NEXT                          CYCLE                         NEW  CHANGED  SKIPPED  FAILED  GONE  BLOCKS
centris   disabled  nothing until it is enabled   none                          –    –        –        –       –     –
kangalou  scraping  goes on with cycle 2, page 3  2, under way                  4    0        0        0       0     0
kijiji    scraping  goes on with cycle 2, page 3  1, ended 2026-11-21 11:54:00  346  1        2        3       5     6

kangalou is unproven: its map
`, b.String())
}

func TestPrintPlatform(t *testing.T) {
	t.Parallel()
	p := kijiji()
	p.Suspect = &apilistings.PlatformTrouble{Since: noon.Add(-time.Minute), Reason: "no mainListings\x1b[2J"}
	p.Blocked = &apilistings.PlatformBlock{Refusals: 3, Reason: "429"}
	p.Current.Note, p.Workflow.URL, p.Unproven = "stopped", "http://ui/scrape", "page 2"
	var b strings.Builder
	require.NoError(t, printPlatform(&b, p))
	require.Equal(t, `platform      kijiji
state         scraping
next          goes on with cycle 2, page 3
search        https://www.kijiji.ca/b-x/y/c37l1, by browser
pace          30s between requests, at most 250 pages a cycle, 1m0s between cycles, newest pages every 5m0s, 2h0m0s for a cycle
configured    9s between requests, at most 250 pages a cycle, 1m0s between cycles, newest pages every 5m0s, 2h0m0s for a cycle
suspect       since 2026-11-21T11:59:00Z: no mainListings [2J
refused       3 in a row (429)
read last     2026-11-21T11:59:40Z
oldest visit  2026-11-20T10:00:00Z
forecast      cycles of 2h0m0s, visits up to 26h0m0s old; of 9600 requests a day 288 look, 2700 search, 5000 visit again
unproven      page 2
adverts       120 known, 2 of them could not be read; 7 gone
cycle 2       under way since 2026-11-21T11:55:00Z
  note        stopped
  pages       3, 120 adverts
  new         4
cycle 1       ended 2026-11-21T11:54:00Z, after 54m0s, complete
  pages       9, 350 adverts; the site says 350
  new         346
  changed     1
  skipped     2
  failed      3
  gone        5
  refusals    6
workflow      http://ui/scrape
`, b.String())
}

// Each command sends the one request that it stands for.
func TestPlatformCommands(t *testing.T) {
	t.Parallel()
	var asked []string
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+string(body)))
		if strings.HasPrefix(r.URL.Path, "/platforms/nobody") {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"status": 404, "detail": "there is none"}`)
			return
		}
		var answer any = kijiji()
		if r.URL.Path == "/platforms" {
			answer = apilistings.PlatformList{Items: []apilistings.Platform{kijiji()}}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(door.Close)
	for _, tt := range []struct {
		args, want, err string
	}{
		{"platforms", "GET /platforms", ""},
		{"platforms list", "GET /platforms", ""},
		{"platforms show kijiji", "GET /platforms/kijiji", ""},
		{"platforms show nobody", "GET /platforms/nobody", "there is none"},
		{"platforms scrape kijiji", "POST /platforms/kijiji/scrape", ""},
		{"platforms pause kijiji", "POST /platforms/kijiji/pause", ""},
		{"platforms resume kijiji", "POST /platforms/kijiji/resume", ""},
		{"platforms set kijiji --disabled", `PATCH /platforms/kijiji {"enabled":false}`, ""},
		{"platforms set kijiji --enabled --reset", `PATCH /platforms/kijiji {"enabled":true,"reset":true}`, ""},
		{"platforms set kijiji --delay 1.5s --pages 20 --cooldown 1m",
			`PATCH /platforms/kijiji {"delay_between_requests_seconds":1.5,"max_pages_per_cycle":20,` +
				`"cooldown_between_cycles_seconds":60}`, ""},
		{"platforms set kijiji --look 2m --cycle 3h",
			`PATCH /platforms/kijiji {"look_every_seconds":120,"cycle_target_seconds":10800}`, ""},
		{"platforms search list kijiji", "GET /platforms/kijiji", ""},
		{"platforms search add kijiji laval --url https://k.example/b --look 1m --transport http",
			`PUT /platforms/kijiji/searches/laval {"url":"https://k.example/b","transport":"http","look_every_seconds":60}`, ""},
		{"platforms set kijiji --transport http --proxy socks5://me:secret@10.0.0.7",
			`PATCH /platforms/kijiji {"transport":"http","proxy":"socks5://me:secret@10.0.0.7"}`, ""},
		{"platforms set kijiji --proxy=", `PATCH /platforms/kijiji {"proxy":""}`, ""},
		{"platforms search remove kijiji laval", "DELETE /platforms/kijiji/searches/laval", ""},
		{"platforms set kijiji --delay 0s --pages 0",
			`PATCH /platforms/kijiji {"delay_between_requests_seconds":0,"max_pages_per_cycle":0}`, ""},
	} {
		asked = nil
		err := run(t, door.URL, strings.Fields(tt.args)...)
		if tt.err == "" {
			require.NoError(t, err, tt.args)
		} else {
			require.EqualError(t, err, tt.err, tt.args)
		}
		require.Equal(t, []string{tt.want}, asked, tt.args)
	}
}

// A search is changed by reading it and putting it back.
func TestPlatformSearchCommands(t *testing.T) {
	t.Parallel()
	var put []string
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); r.Method == http.MethodPut {
			put = append(put, strings.TrimSpace(string(body)))
		}
		_ = json.NewEncoder(w).Encode(apilistings.PlatformSearch{
			Name: "laval", URL: "https://k.example/b", Own: apilistings.SearchSettings{DelaySeconds: new(20.0)},
		})
	}))
	t.Cleanup(door.Close)
	for args, want := range map[string]string{
		"set kijiji laval --proxy direct":           `{"url":"https://k.example/b","delay_between_requests_seconds":20,"proxy":"direct"}`,
		"pause kijiji laval":                        `{"url":"https://k.example/b","paused":true,"delay_between_requests_seconds":20}`,
		"resume kijiji laval":                       `{"url":"https://k.example/b","delay_between_requests_seconds":20}`,
		"set kijiji laval --look 2m --url http://x": `{"url":"http://x","delay_between_requests_seconds":20,"look_every_seconds":120}`,
	} {
		put = nil
		require.NoError(t, run(t, door.URL, strings.Fields("platforms search "+args)...), args)
		require.Equal(t, []string{want}, put, args)
	}
}

func TestPrintPlatformSearches(t *testing.T) {
	t.Parallel()
	p := kijiji()
	var b strings.Builder
	require.NoError(t, printSearches(&b, []apilistings.PlatformSearch{
		{Name: "default", State: "scraping", URL: p.URL, Transport: "http", Settings: p.Settings, Current: p.Current, Last: p.Last},
		{Name: "laval", State: "waiting", URL: "https://k.example/b", Transport: "http", Proxy: "socks5://10.0.0.1:1080", Settings: p.Settings,
			Trouble: &apilistings.PlatformTrouble{Since: noon, Reason: "proxy: no route"}},
	}))
	require.Equal(t, `SEARCH   STATE     CYCLE         SEEN  NEW  GONE  DELAY  LOOK  BY                                   URL
default  scraping  2, under way  120   4    0     30s    5m0s  http                                 https://www.kijiji.ca/b-x/y/c37l1
laval    waiting   none          –     –    –     30s    5m0s  http through socks5://10.0.0.1:1080  https://k.example/b

laval: proxy: no route
`, b.String())
}

func TestProxyFromStandardInput(t *testing.T) {
	t.Parallel()
	f := routeFlags{Proxy: new("-")}
	require.NoError(t, f.read(t.Context(), strings.NewReader("http://me:secret@proxy.example\nmore")))
	require.Equal(t, "http://me:secret@proxy.example", *f.Proxy)
}

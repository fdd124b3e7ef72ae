package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/saved"
)

const (
	savedOne = "018f1b1e-0000-7000-8000-00000000000a"
	hookOne  = "018f1b1e-0000-7000-8000-00000000000b"
)

// searchesAPI answers as the API does, and returns its address and what it was asked.
func searchesAPI(t *testing.T) (address string, asked *[]string) {
	t.Helper()

	asked = new([]string)
	search := apilistings.SavedSearch{
		ID: uuid.MustParse(savedOne), Name: "near work", State: "active", Kinds: []apilistings.SearchKind{"new"},
		Filter:   saved.Criteria{MaxPrice: 1500, Text: "balcon"},
		Schedule: saved.Schedule{QuietAt: "22:00", QuietTo: "07:00"},
		Targets: []apilistings.SearchTarget{
			{ID: uuid.MustParse(hookOne), Kind: "webhook", State: "unconfirmed", Label: "https://hooks.example", Secret: "s3cret"},
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*asked = append(*asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		var out any = search
		switch {
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusNoContent)
			return
		case strings.HasSuffix(r.URL.Path, "/challenge"), strings.HasSuffix(r.URL.Path, "/rotate"):
			out = search.Targets[0]
		case strings.HasSuffix(r.URL.Path, "/try"):
			out = apilistings.SearchTried{Homes: 12, All: true, Items: []apilistings.FoundHome{{Title: "4½ lumineux", RentCents: 145_000}}}
		case strings.HasSuffix(r.URL.Path, "/deliveries"):
			out = apilistings.SearchDeliveries{Items: []apilistings.SearchDelivery{{State: "failed", Tries: 12, Reason: "answered 500", Items: 3}}}
		case strings.HasSuffix(r.URL.Path, "/matches"):
			out = apilistings.SearchMatches{Items: []apilistings.SearchMatch{{FoundHome: apilistings.FoundHome{Kind: "price_drop"}, Event: 7}}}
		case r.URL.Path == "/searches" && r.Method == http.MethodGet && !r.URL.Query().Has("cursor"):
			out = apilistings.SavedSearches{Items: []apilistings.SavedSearch{{Name: "another"}}, NextCursor: "next"}
		case r.URL.Path == "/searches" && r.Method == http.MethodGet:
			out = apilistings.SavedSearches{Items: []apilistings.SavedSearch{search}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// Each command asks for what it says; a search may be named by its name, also on a later page.
func TestSearches(t *testing.T) {
	t.Parallel()
	url, asked := searchesAPI(t)
	for _, line := range [][]string{
		{"list"}, {"show", savedOne}, {"pause", "near work"}, {"resume", savedOne}, {"delete", savedOne},
		{"challenge", savedOne}, {"targets", "rotate", savedOne, hookOne, "--overlap", "48h"},
		{"try", "--max-price", "1500", "--has-images", "--claimed", "no", "--days", "14"}, {"matches", savedOne}, {"deliveries", savedOne, "--state", "failed"},
		{
			"create", "near work", "--near", "45.5,-73.6,1500", "--bedrooms", "1,2", "--filter", `{"text":"balcon"}`, "--webhook",
			"https://hooks.example/a,b", "--feed", "--kinds", "new,back", "--pace", "daily", "--at", "07:30", "--quiet", "22:00-07:00",
		},
	} {
		require.NoError(t, run(t, url, append([]string{"searches", "--tenant", "acme"}, line...)...), line)
	}
	one := "/searches/" + savedOne
	require.Equal(t, []string{
		"GET /searches?limit=50&tenant=acme", "GET /searches?cursor=next&limit=49&tenant=acme",
		"GET " + one + "?tenant=acme",
		"GET /searches?limit=100&tenant=acme", "GET /searches?cursor=next&limit=100&tenant=acme",
		"PATCH " + one + `?tenant=acme {"state":"paused"}`,
		"GET " + one + "?tenant=acme", "PATCH " + one + `?tenant=acme {"state":"active"}`,
		"GET " + one + "?tenant=acme", "DELETE " + one + "?tenant=acme",
		"GET " + one + "?tenant=acme", "POST " + one + "/targets/" + hookOne + "/challenge?tenant=acme",
		"GET " + one + "?tenant=acme", "POST " + one + "/targets/" + hookOne + "/rotate?overlap_hours=48&tenant=acme",
		`POST /searches/try?tenant=acme {"filter":{"max_price":1500,"has_images":true,"claimed":false},"days":14,"limit":20}`,
		"GET " + one + "?tenant=acme", "GET " + one + "/matches?limit=50&tenant=acme",
		"GET " + one + "?tenant=acme", "GET " + one + "/deliveries?limit=50&state=failed&tenant=acme",
		`POST /searches?tenant=acme {"name":"near work","filter":{"bedrooms":[1,2],"near":{"latitude":45.5,"longitude":-73.6,` +
			`"metres":1500},"text":"balcon"},"kinds":["new","back"],"schedule":{"pace":"daily","at":"07:30","quiet_at":"22:00",` +
			`"quiet_to":"07:00"},"targets":[{"kind":"webhook","url":"https://hooks.example/a,b"},{"kind":"feed"}]}`,
	}, *asked)
	for want, line := range map[string][]string{
		`{"filter":{"max_price":1400,"parking":["indoor","yes"],"pets":"cats","rooms":[4.5],"text":"balcon"},` +
			`"schedule":{"at":"07:30","pace":"daily","quiet_at":"22:00","quiet_to":"07:00"}}`: {
			"--max-price", "1400", "--rooms", "4.5", "--pets", "cats", "--parking", "indoor,yes", "--pace", "daily", "--at", "07:30",
		},
		`{"language":"fr","filter":{"available_by":"2027-07-01"}}`: {
			"--filter", "{}", "--available-by", "2027-07-01", "--language", "fr",
		},
		`{"name":"nearer","kinds":["back"],"schedule":{}}`: {"--name", "nearer", "--kinds", "back", "--quiet", "-"},
	} {
		require.NoError(t, run(t, url, append([]string{"searches", "set", savedOne}, line...)...), line)
		require.Equal(t, "PATCH "+one+" "+want, (*asked)[len(*asked)-1])
	}
	require.ErrorContains(t, run(t, url, "searches", "set", savedOne), "say what to change")
	require.NoError(t, run(t, url, "searches", "targets", "add", savedOne, "--email", "jo@example.org", "--telegram", "@homes"))
	require.Equal(t, []string{
		`POST ` + one + `/targets {"kind":"email","email":"jo@example.org"}`, `POST ` + one + `/targets {"kind":"telegram","chat":"@homes"}`,
	}, (*asked)[len(*asked)-2:])
	require.NoError(t, run(t, url, "searches", "targets", "add", savedOne, "--telegram", "-1001234567890", "--telegram=-100", "--feed"))
	require.Equal(t, []string{
		`POST ` + one + `/targets {"kind":"telegram","chat":"-1001234567890"}`,
		`POST ` + one + `/targets {"kind":"telegram","chat":"-100"}`, `POST ` + one + `/targets {"kind":"feed"}`,
	}, (*asked)[len(*asked)-3:])
	require.ErrorContains(t, run(t, url, "searches", "targets", "add", savedOne), "name a target")
	require.NoError(t, run(t, url, "searches", "try", "--bbox", "-74,45,-73,46", "--near", "-45.5,-73.6,1500"))
	require.Contains(t, (*asked)[len(*asked)-1], `"bbox":[-74,45,-73,46],"near":{"latitude":-45.5,`)
	require.NoError(t, run(t, url, "searches", "targets", "delete", savedOne, hookOne))
	require.Equal(t, "DELETE "+one+"/targets/"+hookOne, (*asked)[len(*asked)-1])
	require.ErrorContains(t, run(t, url, "searches", "show", "nobody"), `there is no saved search "nobody"`)
	require.ErrorContains(t, run(t, url, "searches", "create", "x"), "--webhook URL, --email ADDRESS")
	require.NoError(t, run(t, url, "searches", "add", "x", "--target", `{"kind":"feed"}`), "its name until 0.6")
	require.Contains(t, (*asked)[len(*asked)-1], `"targets":[{"kind":"feed"}]`)
	require.ErrorContains(t, run(t, url, "searches", "create", "x", "--target", `{"colour":"red"}`), "colour")
	require.ErrorContains(t, run(t, url, "searches", "create", "x", "--feed", "--at", "25:00"), "schedule.at")
	require.ErrorContains(t, run(t, url, "searches", "try", "--max-price", "1", "--min-price", "2"), "filter.max_price")
	require.ErrorContains(t, run(t, url, "searches", "try", "--text", words(33)), "filter.text: expected at most 32 words")
	require.ErrorContains(t, run(t, url, "searches", "try", "--near", "45,-73"), "expected 3")
	require.ErrorContains(t, run(t, url, "searches", "try", "--filter", `{"colour":"red"}`), "colour")
}

// What a later API knows of a filter and a schedule stays when another part of them changes.
func TestSearchKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	const doc = `{"id":"` + savedOne + `","name":"near work","state":"active",
		"filter":{"max_price":1500,"balcony":true,"near":{"latitude":45.5,"longitude":-73.6,"metres":900,"by":"foot"}},
		"schedule":{"quiet_at":"22:00","quiet_to":"07:00","days":["mon"]}}`
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		if r.URL.Path == "/searches" {
			_, _ = io.WriteString(w, `{"items":[`+doc+`]}`)
			return
		}
		_, _ = io.WriteString(w, doc)
	}))
	t.Cleanup(s.Close)
	const near = `"near":{"latitude":45.5,"longitude":-73.6,"metres":900,"by":"foot"}`
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--max-price", "1400"}, `{"filter":{"balcony":true,"max_price":1400,` + near + `}}`},
		{[]string{"--near", "45.5,-73.6,500"},
			`{"filter":{"balcony":true,"max_price":1500,"near":{"latitude":45.5,"longitude":-73.6,"metres":500}}}`},
		{[]string{"--quiet", "-"}, `{"schedule":{"days":["mon"]}}`},
		{[]string{"--pace", "hourly"},
			`{"schedule":{"days":["mon"],"pace":"hourly","quiet_at":"22:00","quiet_to":"07:00"}}`},
		{[]string{"--filter", `{"max_price":9}`}, `{"filter":{"max_price":9}}`},
	} {
		for _, name := range []string{savedOne, "near work"} {
			require.NoError(t, run(t, s.URL, append([]string{"searches", "set", name}, tt.args...)...), tt.args)
			require.Equal(t, tt.want, asked)
		}
	}
}

// words are so many different words.
func words(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("w%d", i))
	}
	return strings.Join(list, " ")
}

// A search whose filter would be refused today is renamed all the same; its filter is not changed to another like it.
func TestSearchOfOtherRules(t *testing.T) {
	t.Parallel()
	asked := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = string(body)
		_, _ = io.WriteString(w, `{"id":"`+savedOne+`","name":"x","state":"active","filter":{"text":"`+words(40)+`"}}`)
	}))
	t.Cleanup(s.Close)
	require.NoError(t, run(t, s.URL, "searches", "set", savedOne, "--name", "near work"))
	require.Equal(t, `{"name":"near work"}`, asked)
	require.ErrorContains(t, run(t, s.URL, "searches", "set", savedOne, "--max-price", "1500"), "filter.text")
}

func TestPrintSearches(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printTried(&b, apilistings.SearchTried{Homes: 12, Items: []apilistings.FoundHome{{
		At: noon, RentCents: 145_000, Bedrooms: 2, Platform: "kijiji", Title: "4½\x1b[2J", URL: "https://a.example/1",
	}}}, 7))
	require.Equal(t, `PUBLISHED (UTC)      RENT     BEDROOMS  PLATFORM  TITLE   URL
2026-11-21 12:00:00  1,450 $  2         kijiji    4½ [2J  https://a.example/1
it would have found at least 12 homes in 7 days, 1 are shown
`, b.String())
	b.Reset()
	require.NoError(t, printSaved(&b, apilistings.SavedSearch{
		ID: uuid.MustParse(savedOne), Name: "near\nwork", State: "active", Kinds: []apilistings.SearchKind{"new", "back"}, CreatedAt: noon,
		Filter:   saved.Criteria{MaxPrice: 1500},
		Schedule: saved.Schedule{Pace: saved.Daily}, Targets: []apilistings.SearchTarget{
			{Kind: "feed", State: "active", AtomURL: "https://a.example/x.atom"},
			{Kind: "webhook", State: "unconfirmed", Label: "https://b.example", Reason: "the webhook answered 500"},
		},
	}))
	require.Equal(t, `search               018f1b1e-0000-7000-8000-00000000000a
name                 near work
state                active
filter               {"max_price":1500}
tells                new,back
schedule             {"pace":"daily"}
created              2026-11-21T12:00:00Z
feed                 00000000-0000-0000-0000-000000000000
  atom               https://a.example/x.atom
webhook:unconfirmed  00000000-0000-0000-0000-000000000000 https://b.example
  reason             the webhook answered 500
`, b.String())
}

func TestPolygonOf(t *testing.T) {
	t.Parallel()
	const ring = `[[-73.6,45.5],[-73.5,45.5],[-73.5,45.6,30],[-73.6,45.5]]`
	want := [][]float64{{-73.6, 45.5}, {-73.5, 45.5}, {-73.5, 45.6}}
	for name, tt := range map[string]struct {
		doc string
		err string // a part of the error; "" for none
	}{
		"a polygon":        {`{"type":"Polygon","coordinates":[` + ring + `]}`, ""},
		"a feature":        {`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[` + ring + `]}}`, ""},
		"one of many":      {`{"type":"MultiPolygon","coordinates":[[` + ring + `]]}`, ""},
		"beside a point":   {`{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}},{"type":"Feature","geometry":{"type":"Polygon","coordinates":[` + ring + `]}}]}`, ""},
		"two":              {`{"type":"MultiPolygon","coordinates":[[` + ring + `],[` + ring + `]]}`, "2 polygons"},
		"none":             {`{"type":"Point","coordinates":[1,2]}`, "0 polygons"},
		"with a hole":      {`{"type":"Polygon","coordinates":[` + ring + `,` + ring + `]}`, "holes"},
		"empty":            {`{"type":"Polygon","coordinates":[]}`, "empty"},
		"a corner of one":  {`{"type":"Polygon","coordinates":[[[1]]]}`, "corner"},
		"too many corners": {`{"type":"Polygon","coordinates":[[[1,2]` + strings.Repeat(",[1,3]", 500) + `]]}`, "501 corners"},
		"no GeoJSON":       {`<kml>`, "invalid"},
	} {
		got, err := polygonOf([]byte(tt.doc))
		if tt.err != "" {
			require.ErrorContains(t, err, tt.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	file := filepath.Join(t.TempDir(), "streets.geojson")
	require.NoError(t, os.WriteFile(file, []byte(`{"type":"Polygon","coordinates":[`+ring+`]}`), 0o600))
	c, err := (&searchFilter{Polygon: file, BBox: "-74, 45, -73, 46", Text: "balcon"}).criteria()
	require.NoError(t, err)
	require.Equal(t, saved.Criteria{Polygon: want, Box: []float64{-74, 45, -73, 46}, Text: "balcon"}, c)
}

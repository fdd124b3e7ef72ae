package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/listing"
)

// search saves a search of acme with a feed, and returns its ID.
func (d *door) search(t *testing.T, name string) string {
	t.Helper()

	r := d.ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"`+name+`","filter":{},"targets":[{"kind":"feed"}]}`)
	return read[api.SavedSearch](t, r, 201).ID.String()
}

func TestSearches(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t, func(p *parts) { p.Searches.Secrets = secretBox(t, "new") })
	post := func(path, body string) reply { return d.ask(t, http.MethodPost, path+"?tenant=acme", body) }
	made := read[api.SavedSearch](t, post("/searches", `{"name":"Plateau","filter":{"max_price":1500,
		"near":{"latitude":45.52,"longitude":-73.58,"metres":2000},"text":"ensoleillé"},"kinds":["new"],
		"schedule":{"pace":"daily","at":"07:30"},
		"targets":[{"kind":"webhook","url":"https://hooks.example/private"},{"kind":"feed"}]}`), 201)
	require.Len(t, made.Targets, 2)
	require.NotEmpty(t, made.Targets[0].Secret)
	require.Equal(t, "https://hooks.example", made.Targets[0].Label)
	one := "/searches/" + made.ID.String() + "?tenant=acme"
	got := d.get(t, one)
	require.NotContains(t, got.Body, "private")
	require.NotContains(t, got.Body, made.Targets[0].Secret)
	require.Equal(t, int64(1500), read[api.SavedSearch](t, got, 200).Filter.MaxPrice)

	changed := read[api.SavedSearch](t, d.ask(t, http.MethodPatch, one, `{"state":"paused","filter":{}}`), 200)
	require.Equal(t, "paused", changed.State)
	require.Zero(t, changed.Filter.MaxPrice)
	require.Equal(t, made.Name, changed.Name)
	for body, status := range map[string]int{
		`{"name":"Plateau","filter":{},"targets":[{"kind":"feed"}]}`:                              409,
		`{"name":"a","filter":{"polygon":[[1,2]]},"targets":[{"kind":"feed"}]}`:                   422,
		`{"name":"a","filter":{},"targets":[{"kind":"webhook"}]}`:                                 422,
		`{"name":"a","filter":{},"targets":[{"kind":"webhook","url":"ftp://a.example"}]}`:         422,
		`{"name":"a","filter":{},"targets":[{"kind":"webhook","url":"https://u:p@a.example"}]}`:   422,
		`{"name":"a","filter":{},"targets":[]}`:                                                   422,
		`{"name":"a","filter":{},"schedule":{"time_zone":"Mars"},"targets":[{"kind":"feed"}]}`:    422,
		`{"name":"a","filter":{"text":"site:example.org"},"targets":[{"kind":"feed"}]}`:           422,
		`{"name":"a","filter":{},"kinds":["new","new"],"targets":[{"kind":"feed"}]}`:              422,
		`{"name":"a","filter":{"near":{"latitude":0,"longitude":0}},"targets":[{"kind":"feed"}]}`: 422,
	} {
		refused(t, post("/searches", body), status)
	}
	d.search(t, "Abitibi")
	first := read[api.SavedSearches](t, d.get(t, "/searches?tenant=acme&limit=1"), 200)
	require.Equal(t, "Abitibi", first.Items[0].Name)
	rest := read[api.SavedSearches](t, d.get(t, "/searches?tenant=acme&limit=1&cursor="+first.NextCursor), 200)
	require.Equal(t, "Plateau", rest.Items[0].Name)
	require.Empty(t, rest.NextCursor)
	refused(t, d.get(t, "/searches?tenant=acme&cursor=x"), 422)
	require.Equal(t, 204, d.ask(t, http.MethodDelete, one, "").Status)
	refused(t, d.get(t, one), 404)
}

// What a search finds is in its feed, at once and without credentials; a trial says what it would have found.
func TestSearchFeed(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t)
	r := d.ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"A & B","filter":{},"targets":[{"kind":"feed"}]}`)
	feed := read[api.SavedSearch](t, r, 201).Targets[0]
	path := feed.AtomURL[strings.Index(feed.AtomURL, "/feeds/"):]
	empty := d.get(t, path)
	require.Equal(t, 200, empty.Status)
	d.publish(t, listing.Listing{Ref: kijiji("1"), Title: "4½ <bright>", RentCents: 90_000}, "", now)
	done, err := db.NewSaved(d.pool).Matcher().Next(t.Context(), 10, now)
	require.NoError(t, err)
	require.Equal(t, 1, done.Matches)

	atom := d.get(t, path)
	require.Contains(t, atom.Body, "<title>New: 4½ &lt;bright&gt;, 900 $ a month</title>")
	require.Contains(t, atom.Body, `href="https://example.org/1"`)
	require.Equal(t, "application/atom+xml; charset=utf-8", atom.Header.Get("Content-Type"))
	require.NotEqual(t, empty.Header.Get("ETag"), atom.Header.Get("ETag"))
	same := d.ask(t, http.MethodGet, path, "", "If-None-Match", atom.Header.Get("ETag"))
	require.Equal(t, 304, same.Status)
	require.Empty(t, same.Body)
	require.Contains(t, d.get(t, strings.Replace(path, ".atom", ".json", 1)).Body, `"version":"https://jsonfeed.org/version/1.1"`)
	for _, none := range []string{"/feeds/x.atom", "/feeds/x", strings.Replace(path, ".atom", ".rss", 1)} {
		refused(t, d.get(t, none), 404)
	}
	tried := read[api.SearchTried](t, d.ask(t, http.MethodPost, "/searches/try?tenant=acme", `{"filter":{"max_price":900}}`), 200)
	require.Equal(t, 1, tried.Homes)
	require.True(t, tried.All)
	require.Equal(t, kijiji("1").ID(), tried.Items[0].ListingID)
}

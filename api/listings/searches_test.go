package listings_test

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api/apitest"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

func TestSearches(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t, func(p *apitest.Parts) { p.Searches.Secrets = apitest.SecretBox(t, "new") })
	post := func(path, body string) apitest.Reply { return d.Ask(t, http.MethodPost, path+"?tenant=acme", body) }
	made := apitest.Read[apilistings.SavedSearch](t, post("/searches", `{"name":"Plateau","filter":{"max_price":1500,
		"near":{"latitude":45.52,"longitude":-73.58,"metres":2000},"text":"ensoleillé"},"kinds":["new"],
		"schedule":{"pace":"daily","at":"07:30"},
		"targets":[{"kind":"webhook","url":"https://hooks.example/private"},{"kind":"feed"}]}`), 201)
	require.Len(t, made.Targets, 2)
	require.NotEmpty(t, made.Targets[0].Secret)
	require.Equal(t, "https://hooks.example", made.Targets[0].Label)
	one := "/searches/" + made.ID.String() + "?tenant=acme"
	got := d.Get(t, one)
	require.NotContains(t, got.Body, "private")
	require.NotContains(t, got.Body, made.Targets[0].Secret)
	require.Equal(t, int64(1500), apitest.Read[apilistings.SavedSearch](t, got, 200).Filter.MaxPrice)

	changed := apitest.Read[apilistings.SavedSearch](t, d.Ask(t, http.MethodPatch, one, `{"state":"paused","filter":{}}`), 200)
	require.Equal(t, "paused", changed.State)
	require.Zero(t, changed.Filter.MaxPrice)
	require.Equal(t, made.Name, changed.Name)
	for body, status := range map[string]int{
		`{"name":"Plateau","filter":{},"targets":[{"kind":"feed"}]}`:                              409,
		`{"name":"a","filter":{"polygon":[[1,2]]},"targets":[{"kind":"feed"}]}`:                   422,
		`{"name":"a","filter":{},"targets":[{"kind":"webhook"}]}`:                                 422,
		`{"name":"a","filter":{},"targets":[{"kind":"webhook","url":"ftp://a.example"}]}`:         422,
		`{"name":"a","filter":{},"targets":[{"kind":"webhook","url":"http://a.example"}]}`:        422,
		`{"name":"a","filter":{},"targets":[{"kind":"webhook","url":"https://u:p@a.example"}]}`:   422,
		`{"name":"a","filter":{},"targets":[]}`:                                                   422,
		`{"name":"a","filter":{},"schedule":{"time_zone":"Mars"},"targets":[{"kind":"feed"}]}`:    422,
		`{"name":"a","filter":{"text":"site:example.org"},"targets":[{"kind":"feed"}]}`:           422,
		`{"name":"a","filter":{"text":"` + words(33) + `"},"targets":[{"kind":"feed"}]}`:          422,
		`{"name":"a","filter":{},"kinds":["new","new"],"targets":[{"kind":"feed"}]}`:              422,
		`{"name":"a","filter":{"near":{"latitude":0,"longitude":0}},"targets":[{"kind":"feed"}]}`: 422,
	} {
		apitest.Refused(t, post("/searches", body), status)
	}
	d.SaveSearch(t, "Abitibi")
	first := apitest.Read[apilistings.SavedSearches](t, d.Get(t, "/searches?tenant=acme&limit=1"), 200)
	require.Equal(t, "Abitibi", first.Items[0].Name)
	rest := apitest.Read[apilistings.SavedSearches](t, d.Get(t, "/searches?tenant=acme&limit=1&cursor="+first.NextCursor), 200)
	require.Equal(t, "Plateau", rest.Items[0].Name)
	require.Empty(t, rest.NextCursor)
	require.Equal(t, []string{"query.cursor"}, apitest.Refused(t, d.Get(t, "/searches?tenant=acme&cursor=x"), 422).Fields())
	require.Equal(t, 204, d.Ask(t, http.MethodDelete, one, "").Status)
	apitest.Refused(t, d.Get(t, one), 404)
}

// What a search finds is in its feed, at once and without credentials; a trial says what it would have found.
// A tenant tries one search at a time, and all of them two in a process.
func TestSearchTrialsTakeTurns(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t, func(p *apitest.Parts) { p.Searches.Within = time.Minute })
	for _, id := range []string{"rival", "third"} {
		apitest.Tenant(t, d.Pool, id)
	}
	waiting, release := dbtest.Locked(t, d.Pool, "listings")
	try := func(tenant string) apitest.Reply {
		return d.Ask(t, http.MethodPost, "/searches/try?tenant="+tenant, `{"filter":{}}`)
	}
	var tries sync.WaitGroup
	for n, id := range []string{"acme", "rival"} {
		tries.Go(func() {
			if r := try(id); r.Status != 200 && r.Status != 503 {
				t.Error(id, r.Status, r.Body)
			}
		})
		waiting(n + 1)
		if n == 0 {
			apitest.Refused(t, try("acme"), http.StatusTooManyRequests)
		}
	}
	r := try("third")
	apitest.Refused(t, r, http.StatusTooManyRequests)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	release()
	tries.Wait()
	require.Equal(t, 200, try("third").Status)
}

func TestSearchFeed(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	r := d.Ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"A & B","filter":{},"targets":[{"kind":"feed"}]}`)
	feed := apitest.Read[apilistings.SavedSearch](t, r, 201).Targets[0]
	path := feed.AtomURL[strings.Index(feed.AtomURL, "/feeds/"):]
	empty := d.Get(t, path)
	require.Equal(t, 200, empty.Status)
	d.Publish(t, listing.Listing{Ref: apitest.Kijiji("1"), Title: "4½ <bright>", RentCents: 90_000}, "", apitest.Now)
	done, err := dblistings.NewSaved(d.Pool).Matcher().Next(t.Context(), 10, apitest.Now)
	require.NoError(t, err)
	require.Equal(t, 1, done.Matches)

	atom := d.Get(t, path)
	require.Contains(t, atom.Body, "<title>New: 4½ &lt;bright&gt;, 900 $ a month</title>")
	require.Contains(t, atom.Body, `href="https://example.org/1"`)
	require.Equal(t, "application/atom+xml; charset=utf-8", atom.Header.Get("Content-Type"))
	require.NotEqual(t, empty.Header.Get("ETag"), atom.Header.Get("ETag"))
	same := d.Ask(t, http.MethodGet, path, "", "If-None-Match", atom.Header.Get("ETag"))
	require.Equal(t, 304, same.Status)
	require.Empty(t, same.Body)
	for _, match := range []string{"W/" + atom.Header.Get("ETag"), `"x", ` + atom.Header.Get("ETag"), "*"} {
		require.Equal(t, 304, d.Ask(t, http.MethodGet, path, "", "If-None-Match", match).Status, match)
	}
	require.Equal(t, 200, d.Ask(t, http.MethodGet, path, "", "If-None-Match", `"x"`).Status)
	require.Contains(t, d.Get(t, strings.Replace(path, ".atom", ".json", 1)).Body, `"version":"https://jsonfeed.org/version/1.1"`)
	for _, none := range []string{"/feeds/x.atom", "/feeds/x", strings.Replace(path, ".atom", ".rss", 1)} {
		apitest.Refused(t, d.Get(t, none), 404)
	}
	tried := apitest.Read[apilistings.SearchTried](t, d.Ask(t, http.MethodPost, "/searches/try?tenant=acme", `{"filter":{"max_price":900}}`), 200)
	require.Equal(t, 1, tried.Homes)
	require.True(t, tried.All)
	require.Equal(t, apitest.Kijiji("1").ID(), tried.Items[0].ListingID)
}

// Targets come and go. Of a person's address only a part is shown, and no token.
func TestSearchTargets(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t, func(p *apitest.Parts) {
		p.Searches.Secrets, p.Searches.Mail, p.Searches.Telegram = apitest.SecretBox(t, "new"), true, true
	})
	post := func(path, body string) apitest.Reply { return d.Ask(t, http.MethodPost, path+"?tenant=acme", body) }
	made := apitest.Read[apilistings.SavedSearch](t, post("/searches", `{"name":"Plateau","filter":{},"language":"fr","targets":[
		{"kind":"email","email":"Jo <jo.secret@Example.org>"},{"kind":"telegram","chat":"-100123456789"}]}`), 201)
	require.EqualValues(t, "fr", made.Language)
	require.Equal(t, []string{"email j…@example.org unconfirmed", "telegram …789 unconfirmed"}, targetsOf(made))
	one := "/searches/" + made.ID.String()
	got := d.Get(t, one+"?tenant=acme")
	require.Equal(t, targetsOf(made), targetsOf(apitest.Read[apilistings.SavedSearch](t, got, 200)))
	require.NotContains(t, got.Body, "secret")

	hook := apitest.Read[apilistings.SearchTarget](t, post(one+"/targets", `{"kind":"webhook","url":" https://hooks.example/private\n"}`), 201)
	require.NotEmpty(t, hook.Secret)
	require.Equal(t, saved.TargetUnconfirmed, hook.State)
	apitest.Read[apilistings.SearchTarget](t, post(one+"/targets", `{"kind":"telegram","chat":"@channel"}`), 201)
	require.Equal(t, 204, d.Ask(t, http.MethodDelete, one+"/targets/"+hook.ID.String()+"?tenant=acme", "").Status)
	apitest.Refused(t, d.Ask(t, http.MethodDelete, one+"/targets/"+hook.ID.String()+"?tenant=acme", ""), 404)
	left := apitest.Read[apilistings.SavedSearch](t, d.Ask(t, http.MethodPatch, one+"?tenant=acme", `{"language":"en"}`), 200)
	require.EqualValues(t, "en", left.Language)
	require.ElementsMatch(t, append(targetsOf(made), "telegram @channel unconfirmed"), targetsOf(left))
	for _, body := range []string{
		`{"kind":"email"}`, `{"kind":"email","email":"jo"}`, `{"kind":"email","email":"jo@example.org\r\nBcc: a@b.example"}`,
		`{"kind":"email","email":"a@b.example, c@d.example"}`, `{"kind":"telegram"}`, `{"kind":"telegram","chat":"jo"}`,
		`{"kind":"telegram","chat":"000"}`, `{"kind":"telegram","chat":"-0"}`, `{"kind":"telegram","chat":"99999999999999999999"}`,
		`{"kind":"telegram","chat":"+123"}`, `{"kind":"fax"}`,
	} {
		apitest.Refused(t, post(one+"/targets", body), 422)
	}
	again := apitest.Refused(t, post(one+"/targets", `{"kind":"email","email":"JO.Secret+tag@example.org"}`), 409)
	require.Contains(t, again.Detail, "email: the address was asked to confirm")
	for _, chat := range []string{"@CHANNEL", "-0100123456789"} {
		again = apitest.Refused(t, post(one+"/targets", `{"kind":"telegram","chat":"`+chat+`"}`), 409)
		require.Contains(t, again.Detail, "chat: it was asked to confirm")
	}
	var known []byte
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT sum FROM saved_addresses").Scan(&known))
	require.Len(t, known, sha256.Size)
	plain := sha256.Sum256([]byte("jo.secret@example.org"))
	require.NotEqual(t, plain[:], known, "who reads the table cannot try addresses")
	for range saved.MaxTargets - 3 {
		apitest.Read[apilistings.SearchTarget](t, post(one+"/targets", `{"kind":"feed"}`), 201)
	}
	apitest.Refused(t, post(one+"/targets", `{"kind":"feed"}`), 409)
	apitest.Refused(t, post("/searches/"+uuid.NewString()+"/targets", `{"kind":"feed"}`), 404)

	d, _ = apitest.Outreach(t, func(p *apitest.Parts) { p.Searches.Secrets = apitest.SecretBox(t, "new") })
	id := d.SaveSearch(t, "none")
	for _, body := range []string{`{"kind":"email","email":"jo@example.org"}`, `{"kind":"telegram","chat":"1"}`} {
		r := d.Ask(t, http.MethodPost, "/searches/"+id+"/targets?tenant=acme", body)
		require.Contains(t, apitest.Refused(t, r, 409).Detail, "is not set up")
	}
}

// A webhook whose challenge has failed says why, and is asked again when its tenant wants that.
func TestSearchTargetChallenge(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	one := "/searches/" + d.SaveSearch(t, "a")
	hook := d.Hook(t, strings.TrimPrefix(one, "/searches/"))
	shown := func() apilistings.SearchTarget {
		t.Helper()
		s := apitest.Read[apilistings.SavedSearch](t, d.Get(t, one+"?tenant=acme"), 200)
		return s.Targets[slices.IndexFunc(s.Targets, func(t apilistings.SearchTarget) bool { return t.ID.String() == hook })]
	}
	require.Equal(t, "the webhook answered 500", shown().Reason)
	require.Equal(t, saved.TargetUnconfirmed, shown().State)
	ask := func(target string) apitest.Reply {
		return d.Ask(t, http.MethodPost, one+"/targets/"+target+"/challenge?tenant=acme", "")
	}
	for range 2 { // the second while the first is under way
		require.Equal(t, saved.TargetUnconfirmed, apitest.Read[apilistings.SearchTarget](t, ask(hook), 202).State)
	}
	due, err := d.Searches.Store.Begin(t.Context(), 10, 10, apitest.Now, apitest.Now.Add(time.Second))
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.NoError(t, d.Searches.Store.EndNotice(t.Context(), "acme", due[0].ID, "sent", "", apitest.Now))
	require.Equal(t, saved.TargetActive, shown().State)
	require.Empty(t, shown().Reason)
	require.Contains(t, apitest.Refused(t, ask(hook), 409).Detail, "is confirmed")
	apitest.Refused(t, ask(uuid.NewString()), 404)
	mailed, _ := d.Subscriber(t, strings.TrimPrefix(one, "/searches/"), saved.Email, "j…@example.org")
	require.Contains(t, apitest.Refused(t, ask(mailed), 409).Detail, "is no webhook")
}

// The secret of a webhook is replaced, the one before is good for a while, and the addresses of a feed change at once.
func TestSearchTargetRotate(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	s := apitest.Read[apilistings.SavedSearch](t, d.Ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"a","filter":{},
		"targets":[{"kind":"webhook","url":"https://hooks.example/x"},{"kind":"feed"}]}`), 201)
	slices.SortFunc(s.Targets, func(a, b apilistings.SearchTarget) int { return strings.Compare(a.Kind, b.Kind) })
	feed, hook := s.Targets[0], s.Targets[1]
	rotate := func(target, query string) apitest.Reply {
		return d.Ask(t, http.MethodPost, "/searches/"+s.ID.String()+"/targets/"+target+"/rotate?tenant=acme"+query, "")
	}
	due, err := d.Searches.Store.Begin(t.Context(), 10, 10, apitest.Now, apitest.Now)
	require.NoError(t, err)
	require.Len(t, due, 1, "its challenge")
	stored := func() (a saved.Address) {
		t.Helper()
		n, err := d.Searches.Store.Notice(t.Context(), "acme", due[0].ID)
		require.NoError(t, err)
		plain, err := d.Searches.Secrets.Open(saved.TargetPurpose(n.Target), n.Sealed.Key, n.Sealed.Box)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(plain, &a))
		return a
	}
	before := stored()
	require.Equal(t, hook.Secret, before.Secret)
	made := apitest.Read[apilistings.SearchTarget](t, rotate(hook.ID.String(), ""), 200)
	require.NotEqual(t, hook.Secret, made.Secret)
	require.WithinDuration(t, apitest.Now.Add(24*time.Hour), *made.BeforeUntil, 0)
	after := stored()
	require.Equal(t, before.URL, after.URL)
	require.Equal(t, []string{made.Secret, hook.Secret}, after.Secrets(apitest.Now))
	require.Equal(t, []string{made.Secret}, after.Secrets(apitest.Now.Add(24*time.Hour)))
	last := apitest.Read[apilistings.SearchTarget](t, rotate(hook.ID.String(), "&overlap_hours=0"), 200)
	require.Nil(t, last.BeforeUntil)
	after = stored()
	require.Equal(t, []string{last.Secret}, after.Secrets(apitest.Now))
	apitest.Refused(t, rotate(hook.ID.String(), "&overlap_hours=169"), 422)

	moved := apitest.Read[apilistings.SearchTarget](t, rotate(feed.ID.String(), ""), 200)
	require.Empty(t, moved.Secret)
	of := func(address string) string { return address[strings.Index(address, "/feeds/"):] }
	require.Equal(t, 404, d.Get(t, of(feed.JSONURL)).Status)
	require.Equal(t, 200, d.Get(t, of(moved.JSONURL)).Status)
	require.Equal(t, 200, d.Get(t, of(moved.AtomURL)).Status)

	mailed, _ := d.Subscriber(t, s.ID.String(), saved.Email, "j…@example.org")
	require.Contains(t, apitest.Refused(t, rotate(mailed, ""), 409).Detail, "nothing to rotate")
	require.Contains(t, apitest.Refused(t, rotate(d.Hook(t, s.ID.String()), ""), 409).Detail, "cannot be rotated")
	apitest.Refused(t, rotate(uuid.NewString(), ""), 404)
}

func targetsOf(s apilistings.SavedSearch) (out []string) {
	for _, t := range s.Targets {
		out = append(out, t.Kind+" "+t.Label+" "+t.State)
	}
	slices.Sort(out) // those of one time are in no order
	return out
}

// An address and a chat are confirmed and stopped by their owner, by pages whose GET changes nothing, without
// credentials.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	d, _ := apitest.Outreach(t)
	subscriptions(t, d, saved.Email, "j…@example.org")
	subscriptions(t, d, saved.Telegram, "…789")
}

func subscriptions(t *testing.T, d *apitest.Door, kind saved.Channel, label string) {
	t.Helper()

	id := d.SaveSearch(t, "<i>"+string(kind)+"</i>")
	state := func() string {
		s := apitest.Read[apilistings.SavedSearch](t, d.Get(t, "/searches/"+id+"?tenant=acme"), 200)
		return s.Targets[slices.IndexFunc(s.Targets, func(t apilistings.SearchTarget) bool { return t.Kind == string(kind) })].State
	}
	_, token := d.Subscriber(t, id, kind, label)
	path := "/subscriptions/" + token
	page := func(method, deed string, headers ...string) apitest.Reply {
		t.Helper()
		r := d.Ask(t, method, path+deed, "", headers...)
		require.Equal(t, "text/html; charset=utf-8", r.Header.Get("Content-Type"))
		require.NotContains(t, r.Body, "<i>")
		return r
	}
	for _, deed := range []string{"/confirm", "/unsubscribe"} {
		r := page(http.MethodGet, deed)
		require.Equal(t, 200, r.Status)
		require.Contains(t, r.Body, `<form method="post">`)
		require.Contains(t, r.Body, label)
		require.Contains(t, r.Header.Get("Content-Security-Policy"), "form-action 'self'")
		require.Equal(t, "no-store", r.Header.Get("Cache-Control"))
	}
	require.Equal(t, saved.TargetUnconfirmed, state())
	apitest.Refused(t, d.Ask(t, http.MethodPost, path+"/confirm", "", "Sec-Fetch-Site", "cross-site"), 403)
	for range 2 {
		require.Contains(t, page(http.MethodPost, "/confirm", "Sec-Fetch-Site", "same-origin").Body, "It is confirmed")
		require.Equal(t, saved.TargetActive, state())
	}
	for range 2 { // as mail programs do it
		r := d.Ask(t, http.MethodPost, path+"/unsubscribe", "List-Unsubscribe=One-Click",
			"Content-Type", "application/x-www-form-urlencoded")
		require.Equal(t, 200, r.Status)
		require.Contains(t, r.Body, "No more news")
		require.Equal(t, saved.TargetStopped, state())
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r := page(method, "/confirm")
		require.Contains(t, r.Body, "No more news", "a link in an old e-mail begins nothing again")
		require.NotContains(t, r.Body, "<form")
	}
	require.Equal(t, saved.TargetStopped, state())
	path += "x"
	require.Equal(t, 404, page(http.MethodGet, "/confirm").Status)
	require.Equal(t, 404, page(http.MethodPost, "/unsubscribe").Status)
}

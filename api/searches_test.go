package api_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
)

// search saves a search of acme with a feed, and returns its ID.
func (d *door) search(t *testing.T, name string) string {
	t.Helper()

	r := d.ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"`+name+`","filter":{},"targets":[{"kind":"feed"}]}`)
	return read[api.SavedSearch](t, r, 201).ID.String()
}

// subscriber adds an e-mail address to a search of acme, and returns the target's ID and the token of its links.
func (d *door) subscriber(t *testing.T, search string, kind saved.Channel, label string) (id, token string) {
	t.Helper()

	target, token := uuid.New(), rand.Text()
	sum := sha256.Sum256([]byte(token))
	require.NoError(t, d.Searches.Store.AddTarget(t.Context(), "acme", uuid.MustParse(search), dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: target, Kind: kind, Label: label}, Token: sum[:],
		Sum: sum[:],
	}, "test", now))
	return target.String(), token
}

// hook adds a webhook to a search of acme whose challenge has failed, and returns the target's ID.
func (d *door) hook(t *testing.T, search string) string {
	t.Helper()

	target, token := uuid.New(), sha256.Sum256([]byte(rand.Text()))
	require.NoError(t, d.Searches.Store.AddTarget(t.Context(), "acme", uuid.MustParse(search), dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: target, Kind: saved.Webhook, Label: "https://hooks.example"}, Token: token[:],
	}, "test", now))
	due, err := d.Searches.Store.Begin(t.Context(), 100, now, now)
	require.NoError(t, err)
	for _, n := range due {
		require.NoError(t, d.Searches.Store.EndNotice(t.Context(), n.Tenant, n.ID, "failed", "the webhook answered 500", now))
	}
	return target.String()
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
		`{"name":"a","filter":{},"targets":[{"kind":"webhook","url":"http://a.example"}]}`:        422,
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
// A tenant tries one search at a time, and all of them two in a process.
func TestSearchTrialsTakeTurns(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t, func(p *parts) { p.Searches.Within = time.Minute })
	for _, id := range []string{"rival", "third"} {
		tenant(t, d.pool, id)
	}
	conn, err := pgx.Connect(t.Context(), dbtest.Owner(t, d.pool))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	tx, err := conn.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE listings IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	try := func(tenant string) reply {
		return d.ask(t, http.MethodPost, "/searches/try?tenant="+tenant, `{"filter":{}}`)
	}
	var tries sync.WaitGroup
	for n, id := range []string{"acme", "rival"} {
		tries.Go(func() {
			if r := try(id); r.Status != 200 && r.Status != 503 {
				t.Error(id, r.Status, r.Body)
			}
		})
		require.Eventually(t, func() bool {
			var got int
			err := tx.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks
				WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`).Scan(&got)
			return err == nil && got == n+1
		}, 2*time.Minute, 5*time.Millisecond)
		if n == 0 {
			refused(t, try("acme"), http.StatusTooManyRequests)
		}
	}
	r := try("third")
	refused(t, r, http.StatusTooManyRequests)
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.NoError(t, tx.Rollback(t.Context()))
	tries.Wait()
	require.Equal(t, 200, try("third").Status)
}

func TestSearchFeed(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t)
	r := d.ask(t, http.MethodPost, "/searches?tenant=acme", `{"name":"A & B","filter":{},"targets":[{"kind":"feed"}]}`)
	feed := read[api.SavedSearch](t, r, 201).Targets[0]
	path := feed.AtomURL[strings.Index(feed.AtomURL, "/feeds/"):]
	empty := d.get(t, path)
	require.Equal(t, 200, empty.Status)
	d.publish(t, listing.Listing{Ref: kijiji("1"), Title: "4½ <bright>", RentCents: 90_000}, "", now)
	done, err := dblistings.NewSaved(d.pool).Matcher().Next(t.Context(), 10, now)
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

// Targets come and go. Of a person's address only a part is shown, and no token.
func TestSearchTargets(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t, func(p *parts) {
		p.Searches.Secrets, p.Searches.Mail, p.Searches.Telegram = secretBox(t, "new"), true, true
	})
	post := func(path, body string) reply { return d.ask(t, http.MethodPost, path+"?tenant=acme", body) }
	made := read[api.SavedSearch](t, post("/searches", `{"name":"Plateau","filter":{},"language":"fr","targets":[
		{"kind":"email","email":"Jo <jo.secret@Example.org>"},{"kind":"telegram","chat":"-100123456789"}]}`), 201)
	require.EqualValues(t, "fr", made.Language)
	require.Equal(t, []string{"email j…@example.org unconfirmed", "telegram …789 unconfirmed"}, targetsOf(made))
	one := "/searches/" + made.ID.String()
	got := d.get(t, one+"?tenant=acme")
	require.Equal(t, targetsOf(made), targetsOf(read[api.SavedSearch](t, got, 200)))
	require.NotContains(t, got.Body, "secret")

	hook := read[api.SearchTarget](t, post(one+"/targets", `{"kind":"webhook","url":"https://hooks.example/private"}`), 201)
	require.NotEmpty(t, hook.Secret)
	require.Equal(t, saved.TargetUnconfirmed, hook.State)
	read[api.SearchTarget](t, post(one+"/targets", `{"kind":"telegram","chat":"@channel"}`), 201)
	require.Equal(t, 204, d.ask(t, http.MethodDelete, one+"/targets/"+hook.ID.String()+"?tenant=acme", "").Status)
	refused(t, d.ask(t, http.MethodDelete, one+"/targets/"+hook.ID.String()+"?tenant=acme", ""), 404)
	left := read[api.SavedSearch](t, d.ask(t, http.MethodPatch, one+"?tenant=acme", `{"language":"en"}`), 200)
	require.EqualValues(t, "en", left.Language)
	require.ElementsMatch(t, append(targetsOf(made), "telegram @channel unconfirmed"), targetsOf(left))
	for _, body := range []string{
		`{"kind":"email"}`, `{"kind":"email","email":"jo"}`, `{"kind":"email","email":"jo@example.org\r\nBcc: a@b.example"}`,
		`{"kind":"email","email":"a@b.example, c@d.example"}`, `{"kind":"telegram"}`, `{"kind":"telegram","chat":"jo"}`,
		`{"kind":"fax"}`,
	} {
		refused(t, post(one+"/targets", body), 422)
	}
	again := refused(t, post(one+"/targets", `{"kind":"email","email":"JO.Secret+tag@example.org"}`), 409)
	require.Contains(t, again.Detail, "email: the address was asked to confirm")
	again = refused(t, post(one+"/targets", `{"kind":"telegram","chat":"@CHANNEL"}`), 409)
	require.Contains(t, again.Detail, "chat: it was asked to confirm")
	var known []byte
	require.NoError(t, d.pool.QueryRow(t.Context(), "SELECT sum FROM saved_addresses").Scan(&known))
	require.Len(t, known, sha256.Size)
	plain := sha256.Sum256([]byte("jo.secret@example.org"))
	require.NotEqual(t, plain[:], known, "who reads the table cannot try addresses")
	for range saved.MaxTargets - 3 {
		read[api.SearchTarget](t, post(one+"/targets", `{"kind":"feed"}`), 201)
	}
	refused(t, post(one+"/targets", `{"kind":"feed"}`), 409)
	refused(t, post("/searches/"+uuid.NewString()+"/targets", `{"kind":"feed"}`), 404)

	d, _ = outreach(t, func(p *parts) { p.Searches.Secrets = secretBox(t, "new") })
	id := d.search(t, "none")
	for _, body := range []string{`{"kind":"email","email":"jo@example.org"}`, `{"kind":"telegram","chat":"1"}`} {
		r := d.ask(t, http.MethodPost, "/searches/"+id+"/targets?tenant=acme", body)
		require.Contains(t, refused(t, r, 409).Detail, "is not set up")
	}
}

// A webhook whose challenge has failed says why, and is asked again when its tenant wants that.
func TestSearchTargetChallenge(t *testing.T) {
	t.Parallel()
	d, _ := outreach(t)
	one := "/searches/" + d.search(t, "a")
	hook := d.hook(t, strings.TrimPrefix(one, "/searches/"))
	shown := func() api.SearchTarget {
		t.Helper()
		s := read[api.SavedSearch](t, d.get(t, one+"?tenant=acme"), 200)
		return s.Targets[slices.IndexFunc(s.Targets, func(t api.SearchTarget) bool { return t.ID.String() == hook })]
	}
	require.Equal(t, "the webhook answered 500", shown().Reason)
	require.Equal(t, saved.TargetUnconfirmed, shown().State)
	ask := func(target string) reply {
		return d.ask(t, http.MethodPost, one+"/targets/"+target+"/challenge?tenant=acme", "")
	}
	for range 2 { // the second while the first is under way
		require.Equal(t, saved.TargetUnconfirmed, read[api.SearchTarget](t, ask(hook), 202).State)
	}
	due, err := d.Searches.Store.Begin(t.Context(), 10, now, now.Add(time.Second))
	require.NoError(t, err)
	require.Len(t, due, 1)
	require.NoError(t, d.Searches.Store.EndNotice(t.Context(), "acme", due[0].ID, "sent", "", now))
	require.Equal(t, saved.TargetActive, shown().State)
	require.Empty(t, shown().Reason)
	require.Contains(t, refused(t, ask(hook), 409).Detail, "is confirmed")
	refused(t, ask(uuid.NewString()), 404)
	mailed, _ := d.subscriber(t, strings.TrimPrefix(one, "/searches/"), saved.Email, "j…@example.org")
	require.Contains(t, refused(t, ask(mailed), 409).Detail, "is no webhook")
}

func targetsOf(s api.SavedSearch) (out []string) {
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
	d, _ := outreach(t)
	subscriptions(t, d, saved.Email, "j…@example.org")
	subscriptions(t, d, saved.Telegram, "…789")
}

func subscriptions(t *testing.T, d *door, kind saved.Channel, label string) {
	t.Helper()

	id := d.search(t, "<i>"+string(kind)+"</i>")
	state := func() string {
		s := read[api.SavedSearch](t, d.get(t, "/searches/"+id+"?tenant=acme"), 200)
		return s.Targets[slices.IndexFunc(s.Targets, func(t api.SearchTarget) bool { return t.Kind == string(kind) })].State
	}
	_, token := d.subscriber(t, id, kind, label)
	path := "/subscriptions/" + token
	page := func(method, deed string, headers ...string) reply {
		t.Helper()
		r := d.ask(t, method, path+deed, "", headers...)
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
	refused(t, d.ask(t, http.MethodPost, path+"/confirm", "", "Sec-Fetch-Site", "cross-site"), 403)
	for range 2 {
		require.Contains(t, page(http.MethodPost, "/confirm", "Sec-Fetch-Site", "same-origin").Body, "It is confirmed")
		require.Equal(t, saved.TargetActive, state())
	}
	for range 2 { // as mail programs do it
		r := d.ask(t, http.MethodPost, path+"/unsubscribe", "List-Unsubscribe=One-Click",
			"Content-Type", "application/x-www-form-urlencoded")
		require.Equal(t, 200, r.Status)
		require.Contains(t, r.Body, "nothing more")
		require.Equal(t, saved.TargetStopped, state())
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		r := page(method, "/confirm")
		require.Contains(t, r.Body, "nothing more", "a link in an old e-mail begins nothing again")
		require.NotContains(t, r.Body, "<form")
	}
	require.Equal(t, saved.TargetStopped, state())
	path += "x"
	require.Equal(t, 404, page(http.MethodGet, "/confirm").Status)
	require.Equal(t, 404, page(http.MethodPost, "/unsubscribe").Status)
}

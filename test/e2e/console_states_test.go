package e2e

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// answers has a page be answered with a status by the API, for paths that a pattern matches.
func answers(t *testing.T, p playwright.Page, pattern string, status int, headers map[string]string, body string) {
	t.Helper()

	require.NoError(t, p.Route(pattern, func(r playwright.Route) {
		_ = r.Fulfill(playwright.RouteFulfillOptions{
			Status: &status, Headers: headers, Body: body, ContentType: playwright.String("application/problem+json"),
		})
	}))
}

// A page says that it reads, how long the API asks it to wait, and that what it is of is not there, with a way back; and a
// bulk action whose count failed counts again.
func TestStatesOfTheConsole(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := consoleWorld(t)
	_, err := w.db.Exec(t.Context(), `
		INSERT INTO dead_letters (fingerprint, queue, exchange, routing_key, body, reason, class, headers, first_at, last_at)
		VALUES (sha256('1'), 'scraped.kijiji', 'scraped', 'kijiji', '{}', 'its reason', 'invalid', '{}', now(), now())`)
	require.NoError(t, err)
	v := w.visit(t, size(360))
	v.expects(`status of [45]\d\d`)

	const id = "00000000-0000-5000-8000-000000000000"
	gone := map[string]string{
		"/listings/" + id: "Listings", "/drafts/" + id: "Drafts", "/replays/" + id: "Replays", "/crawl/999999": "Crawl runs",
		"/dead-letters/999999": "Dead letters", "/platforms/none": "Platforms", "/search/999999": "Search",
		"/drafts/requests/" + id: "Draft requests", "/uploads/" + id + "?tenant=acme": "Uploads",
		"/campaigns/" + id + "?tenant=acme": "Campaigns", "/messages/" + id + "?tenant=acme": "Messages",
	}
	p := v.page("/listings/" + id)
	for path, up := range gone {
		v.open(p, path)
		v.shown(p, p.Locator("main .problem"), "why it is not there")
		v.shown(p, p.Locator("main .crumb a", playwright.PageLocatorOptions{HasText: up}), up)
		v.until(p, "its name is that of the tab", `() => document.title.startsWith(document.querySelector('main h1').textContent)`)
		v.fits(p)
		v.axe(p, true)
	}

	late := make(chan struct{})
	require.NoError(t, p.Route(w.api+"/dead-letters/1", func(r playwright.Route) {
		go func() {
			<-late
			_ = r.Continue()
		}()
	}))
	v.open(p, "/dead-letters/1")
	v.sees(p, "Reading …")
	v.axe(p, true)
	close(late)
	v.sees(p, "its reason")

	// The menu of a telephone is closed by a link in it, also by that of the page that is shown, and by Escape.
	v.open(p, "/dead-letters")
	for _, close := range []func() error{
		func() error {
			return p.Locator("#rail a", playwright.PageLocatorOptions{HasText: "Dead letters"}).Click()
		},
		func() error { return p.Keyboard().Press("Escape") },
	} {
		v.press(p, "Menu")
		v.shown(p, p.Locator(".rail.open"), "the menu")
		v.axe(p, true)
		require.NoError(t, close())
		v.until(p, "the menu is closed, and the focus not lost",
			"() => !document.querySelector('.rail.open') && document.activeElement !== document.body")
	}

	answers(t, p, w.api+"/dead-letters?*", http.StatusTooManyRequests, map[string]string{"Retry-After": "30"},
		`{"title":"Too Many Requests","status":429,"detail":"the caller asks too often"}`)
	v.open(p, "/dead-letters")
	v.sees(p, "Try again in 30 s.")
	require.NoError(t, p.UnrouteAll())

	var asked atomic.Int32
	require.NoError(t, p.Route(w.api+"/dead-letters/replay", func(r playwright.Route) {
		if asked.Add(1) == 1 {
			_ = r.Fulfill(playwright.RouteFulfillOptions{Status: playwright.Int(http.StatusServiceUnavailable)})
			return
		}
		_ = r.Continue()
	}))
	v.open(p, "/dead-letters")
	v.rows(p, 1)
	v.press(p, "Replay all that match …")
	v.sees(p, "Replay …") // of how many is not known
	require.NoError(t, p.Locator("dialog .problem button").Click())
	v.sees(p, "1 matches.")
	v.shown(p, p.GetByText("Replay 1"), "Replay 1")
}

// A key of a tenant is led to the pages of the tenant, and to none that it is refused.
func TestConsoleOfATenant(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := newWorld(t)
	w.start("api")
	require.NoError(t, db.NewTenants(w.db).Create(t.Context(), db.Tenant{
		ID: "acme", Name: "Acme", Tier: "standard", Region: "CA", CreatedAt: time.Now(),
		Quotas: db.Quotas{MaxContacts: new(int64(5))},
	}, "me"))
	admin := w.captured("keys", "create", "ana", "--role", "admin")
	key := w.captured("keys", "create", "bea", "--role", "operate", "--tenant", "acme")
	w.eventually("authentication is on", func() bool { return w.status("127.0.0.1", "") == 401 })
	v := w.visit(t, size(1440))
	v.expects(`status of 40[13]`) // it learns by asking that it may not list tenants
	p := v.page("/")
	enter := func(key string) {
		t.Helper()
		require.NoError(t, p.GetByLabel("API key").Fill(key))
		require.NoError(t, p.GetByLabel("API key").Press("Enter"))
	}
	enter(key)
	v.sees(p, "Drop a file of contacts")
	v.until(p, "its pages, and no others", `() => [...document.querySelectorAll('#rail a')].map((a) => a.textContent).join() ===
		'Saved searches,Uploads,Campaigns,Messages,Contacts' && !document.querySelector('.rail a[href$="/licences"]')`)
	for _, page := range []string{"searches", "campaigns", "messages", "contacts"} {
		v.open(p, "/"+page)
		v.shown(p, p.Locator("main h1"), page)
		v.until(p, "nothing is refused", "() => !document.querySelector('main [aria-busy], main .problem')")
		v.until(p, "nor led to", `() => !document.querySelector('main a[href^="/ui/listings"]')`)
	}
	v.press(p, "Sign out")
	enter(admin)
	v.sees(p, "ana admin")
	v.open(p, "/tenants")
	v.shown(p, p.Locator("tr", playwright.PageLocatorOptions{HasText: "Acme"}).GetByText("0 of 5"), "its contacts")
	v.axe(p, true)
	v.screenshot(p, fmt.Sprint("tenants-", 1440))
}

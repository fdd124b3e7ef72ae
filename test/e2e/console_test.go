package e2e

import (
	"net/url"
	"slices"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// Every page of the console shows what the API knows and what strangers wrote: in both themes and widths, without an
// error, a violation of its policy, a request to another origin, a fault of its accessibility, or a line that makes the
// page wider than the screen.
func TestTheConsole(t *testing.T) {
	t.Parallel()

	f := furnish(t)
	// Between them these have every kind of element; the other pages are held to the rules of accessibility by test-e2e.
	inGate := []string{"/", "/listings", "/listings?view=cards", "/listings/" + f.advert, "/refused", "/crawl/" + f.run,
		"/search?q=zqxword", "/drafts/" + f.draft, "/uploads/" + f.upload + "?tenant=acme", "/dead-letters", "/keys"}
	for _, view := range []struct {
		name        string
		theme       playwright.ColorScheme
		width       int
		short, full bool // full = held to all rules, not only to those that a theme or a width may break
	}{
		{"light", *playwright.ColorSchemeLight, 1440, true, true}, {"dark narrow", *playwright.ColorSchemeDark, 390, !testing.Short(), *walk},
		{"light narrow", *playwright.ColorSchemeLight, 390, false, true}, {"dark", *playwright.ColorSchemeDark, 1440, false, true},
	} {
		if !view.short && !*walk {
			continue
		}
		o := size(view.width)
		o.ColorScheme = &view.theme
		v := f.visit(t, o)
		v.expects(`no-such-filter|status of 4\d\d`)
		p := v.page("/")
		for _, page := range []struct{ path, says string }{
			{"/", "Needs a person"},
			{"/listings", "zqx <script>"},
			{"/listings?text=nothing-like-it", "Nothing matches"},
			{"/listings?no-such-filter=1", "no-such-filter"},
			{"/listings?view=map", "Fit to the result"},
			{"/listings?view=cards", " ago"},
			{"/refused?text=louer", "Reasons by day"},
			{"/listings/" + f.advert, "zqx <script>"},
			{"/listings/" + f.refused, "zqx"},
			{"/listings/" + f.gone, "60007"},
			{"/refused", "zqx"},
			{"/duplicates", "Adverts of one home"},
			{"/platforms", "Sites that are scraped"},
			{"/platforms/kijiji", "Freshness"},
			{"/replays", "Replays"},
			{"/replays/" + f.replay, "rejected"},
			{"/crawl", "127.0.0.1"},
			{"/crawl/" + f.run, "zqx <script>"},
			{"/crawl/compare?a=" + f.run + "&b=" + f.run, "Two crawls compared"},
			{"/searches?tenant=acme", "zqx <script>"},
			{"/search", "Type words"},
			{"/search?q=zqxword", "zqx <script>"},
			{"/search/" + f.page, "zqx <script>"},
			{"/drafts", "zqx"},
			{"/drafts/" + f.draft, "zqx"},
			{"/drafts/requests", "Draft requests"},
			{"/drafts/requests/" + f.request, "/product"},
			{"/uploads?tenant=acme", "zqx <img"},
			{"/uploads/" + f.upload + "?tenant=acme", "zqx <img"},
			{"/uploads/" + f.held + "?tenant=acme", "zqx <script>"},
			{"/campaigns?tenant=acme", "Campaigns"},
			{"/messages?tenant=acme", "Messages"},
			{"/contacts?tenant=acme", "Contacts"},
			{"/tenants", "Customers: what each has"},
			{"/queues", "scraped.kijiji"},
			{"/dead-letters", "What they died of"},
			{"/dead-letters/" + f.letter, "zqx <script>"},
			{"/activity", "Who changed what"},
			{"/keys", "API keys of persons and programs"},
			{"/licences", "What the program contains of others"},
			{"/nothing", "There is no such page"},
		} {
			t.Run(view.name+" "+page.path, func(t *testing.T) {
				v.on(t, func() {
					v.open(p, page.path)
					v.shown(p, p.Locator("main").GetByText(page.says).Locator("visible=true"), page.says)
					v.harmless(p)
					v.fits(p)
					if !testing.Short() || slices.Contains(inGate, page.path) {
						v.axe(p, view.full)
					}
					v.screenshot(p, page.path+"-"+view.name)
				})
			})
		}
		require.NoError(t, p.Close(), "it would complain of the API that is killed below")
	}
	for _, path := range paths {
		if path.short || *walk {
			t.Run(path.name, func(t *testing.T) { path.walk(t, f) })
		}
	}
}

// A browser logs in by a key: the page stays where it is, and a revoked key ends the session.
func TestLoginOfTheConsole(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	w.start("api")
	key := w.captured("keys", "create", "ana", "--role", "operate")
	w.eventually("authentication is on", func() bool { return w.status("127.0.0.1", "") == 401 })
	v := w.visit(t, size(1440))
	v.expects(`status of 401`)
	p := v.page("/dead-letters?queue=scraped.kijiji")
	v.sees(p, "This API asks for a key")
	v.fits(p)
	v.axe(p, true)
	enter := func(key string) {
		t.Helper()
		require.NoError(t, p.GetByLabel("API key").Fill(key))
		require.NoError(t, p.GetByLabel("API key").Press("Enter"))
	}
	enter(key)
	v.sees(p, "operate")
	stays := func() {
		t.Helper()
		u, err := url.Parse(p.URL())
		require.NoError(t, err)
		require.Equal(t, "/ui/dead-letters?queue=scraped.kijiji", u.RequestURI())
	}
	stays()
	kept, err := p.Evaluate("JSON.stringify(Object.entries(localStorage)) + document.cookie")
	require.NoError(t, err)
	require.NotContains(t, kept, key[13:], "the page keeps the key")

	other := w.captured("keys", "create", "bea", "--role", "read")
	w.run("keys", "revoke", "ana")
	v.sees(p, "This API asks for a key")
	enter(other)
	v.sees(p, "bea")
	stays()
	v.until(p, "the dialog is gone, and bea may only read", `() => !document.querySelector('dialog[open]') &&
		[...document.querySelectorAll('main .head button')].every((b) => b.disabled && b.title === 'needs the role operate') &&
		!document.querySelector('#rail a:is([href$="/tenants"], [href$="/activity"], [href$="/keys"])')`)
}

package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/require"
)

// presses presses keys, one after the other.
func (v *visitor) presses(p playwright.Page, keys ...string) {
	v.t.Helper()

	for _, key := range keys {
		require.NoError(v.t, p.Keyboard().Press(key), key)
	}
}

// Ten tabs of one browser load, though it has six connections to an origin: one of them holds the stream, for all.
func tenTabs(t *testing.T, f *furnished) {
	v := f.visit(t, size(1440))
	var streams atomic.Int32
	v.browser.OnRequest(func(r playwright.Request) {
		if strings.Contains(r.URL(), "/events?") {
			streams.Add(1)
		}
	})
	for range 10 {
		v.sees(v.page("/"), "Needs a person")
	}
	require.EqualValues(t, 1, streams.Load(), "streams")
}

// Everything can be reached without a mouse, and what has the focus shows it.
func tourByKeyboard(t *testing.T, f *furnished) {
	v := f.visit(t, size(1440))
	p := v.page("/")
	v.sees(p, "Needs a person")
	at := func(path string) {
		t.Helper()
		v.until(p, path, fmt.Sprintf("() => location.pathname.startsWith('/ui%s')", path))
	}
	focus := func(what, js string) {
		t.Helper()
		v.until(p, what, fmt.Sprintf(`() => { const e = document.activeElement; const s = getComputedStyle(e)
			return e.matches(':focus-visible') && s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 && (%s) }`, js))
	}
	for key, path := range map[string]string{
		"l": "/listings", "r": "/refused", "p": "/platforms", "c": "/crawl", "s": "/search", "d": "/drafts", "u": "/uploads",
		"q": "/queues", "x": "/dead-letters",
	} {
		v.presses(p, "Escape", "g", key)
		at(path)
		if key == "s" {
			require.NoError(t, p.Locator("main").Focus()) // the words of a search have the focus
		}
	}
	v.presses(p, "g", "l")
	at("/listings")
	v.shown(p, p.Locator("main tbody a"), "a listing")
	v.presses(p, "j")
	focus("the first listing", `e.matches('tbody a')`)
	first, err := p.Evaluate("() => document.activeElement.href")
	require.NoError(t, err)
	v.presses(p, "j")
	focus("the second listing", fmt.Sprintf("e.matches('tbody a') && e.href !== %q", first))
	v.presses(p, "k", "Enter")
	v.until(p, "Enter opens it", fmt.Sprintf("() => location.href === %q", first))

	v.presses(p, "Control+k")
	focus("the words to find", `e.matches('dialog input')`)
	require.NoError(t, p.Keyboard().Type("queu"))
	v.presses(p, "Enter")
	at("/queues")
	v.presses(p, "?")
	v.shown(p, p.Locator("dialog[open]"), "the list of keys")
	v.presses(p, "Escape")
	v.until(p, "Escape closes it", "() => !document.querySelector('dialog[open]')")
	v.presses(p, "g", "x")
	at("/dead-letters")
	v.presses(p, "/")
	focus("a filter", `e.matches('main select, main input')`)

	// Tab leads through everything that can be pressed, from the top, and each of it can be seen.
	v.open(p, "/keys")
	v.sees(p, "API keys of persons and programs")
	v.presses(p, "Tab")
	focus("skip to the content", `e.matches('.skip')`)
	for range 30 {
		v.presses(p, "Tab")
		focus("the next", `e !== document.body && e.getBoundingClientRect().width > 0`)
	}
}

// english are words that no French sentence has.
var english = regexp.MustCompile(`(?i)\b(the|and|with|was|were|from|this|that|nothing|which|what|each|yet|of|is|are|not|by)\b`)

// In French no sentence of the console is in English. Words of strangers, of the API and of identifiers stay as they are.
func french(t *testing.T, f *furnished) {
	o := size(1440)
	o.Locale = playwright.String("fr-CA")
	v := f.visit(t, o)
	p := v.page("/")
	for _, path := range []string{
		"/", "/listings", "/listings/" + f.advert, "/refused", "/duplicates", "/platforms", "/platforms/kijiji", "/replays",
		"/replays/" + f.replay, "/crawl", "/crawl/" + f.run, "/search", "/drafts", "/drafts/requests", "/uploads?tenant=acme",
		"/uploads/" + f.upload + "?tenant=acme", "/campaigns?tenant=acme", "/tenants", "/queues", "/dead-letters", "/dead-letters/" + f.letter,
		"/activity", "/keys", "/nothing",
	} {
		v.open(p, path)
		v.until(p, "the page is there", "() => document.querySelector('main')?.innerText.trim() && !document.querySelector('[aria-busy=true]')")
		text, err := p.Evaluate(`() => {
			const out = []
			const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
			while (texts.nextNode()) {
				const e = texts.currentNode.parentElement
				if (!e.closest('script, style, pre, mark, .s, .m, .i, .adv, .tag, .page-text, .todo p, .problem, .because, .verm, .ochr, ' +
					'.cut, .copy, [lang=en], .rd, .kv, .wrap, .legend a')) out.push(texts.currentNode.data)
			}
			for (const e of document.querySelectorAll('[aria-label], [title], [placeholder]'))
				if (!e.closest('main td, .sv, .todo')) out.push(e.getAttribute('aria-label') ?? '', e.getAttribute('placeholder') ?? '')
			return out.join('\n')
		}`)
		require.NoError(t, err)
		for line := range strings.Lines(text.(string)) {
			require.NotRegexp(t, english, line, path)
		}
		lang, err := p.Evaluate("() => document.documentElement.lang")
		require.NoError(t, err)
		require.Equal(t, "fr", lang, "screen readers read it in French")
	}
}

// At 200 % a window of 1440 pixels has 720, and who wants no motion sees none.
func zoomed(t *testing.T, f *furnished) {
	o := size(720)
	o.ReducedMotion = playwright.ReducedMotionReduce
	v := f.visit(t, o)
	p := v.page("/")
	for _, path := range []string{"/", "/listings", "/listings/" + f.advert, "/refused", "/crawl/" + f.run, "/queues", "/dead-letters"} {
		v.open(p, path)
		v.until(p, "the page is there", "() => document.querySelector('main h1, main h2')")
		v.fits(p)
		// "late" moves nothing: it is the moment after which a page says that it is read.
		moving, err := p.Evaluate(`() => document.getAnimations().filter((a) => a.animationName !== 'late').length +
			[...document.querySelectorAll('*')].filter((e) =>
				getComputedStyle(e).transitionDuration.split(', ').some((d) => parseFloat(d) > 0.01)).length`)
		require.NoError(t, err)
		require.EqualValues(t, 0, moving, path)
	}
}

// A page whose API is killed says since when it is stale, and is live again by itself when the API is back.
func apiKilled(t *testing.T, f *furnished) {
	v := f.visit(t, size(1440))
	v.expects(`ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|EventSource`)
	p, err := v.browser.NewPage()
	require.NoError(t, err)
	require.NoError(t, p.Clock().Install())
	v.open(p, "/")
	live := p.Locator(".state-live", playwright.PageLocatorOptions{HasText: "live"})
	v.shown(p, live, "live")
	f.apiProcess.kill()
	require.NoError(t, p.Clock().FastForward("01:00"))
	v.sees(p, "stale since")
	shown, err := p.Locator("main").InnerText()
	require.NoError(t, err)
	require.Contains(t, shown, "Needs a person", "what was shown stays")
	f.apiProcess = f.start("api")
	f.eventually("the API answers", func() bool { return f.get("/health", nil) == http.StatusOK })
	require.NoError(t, p.Clock().FastForward("01:00"))
	v.shown(p, live, "live again")
}

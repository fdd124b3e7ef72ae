package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// evil is what a stranger may write: markup, addresses that run scripts, marks that turn the direction of what follows,
// controls, characters of no width, and more than anybody reads. Pages show it as text, and say "zqx" with it.
var evil = "zqx <script>pwned=1</script><img src=x onerror=pwned=1>\"><svg onload=pwned=1>'`${pwned=1} {{pwned}} " +
	"<a href=javascript:pwned=1>a</a><iframe src=//evil.invalid></iframe> \u202eRLO \u2067שלום مرحبا \u0007\u001b[31m " +
	"\u200b\u200d\ufeff 👩\u200d👩\u200d👧\u200d👦🏳️\u200d🌈 Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A " + strings.Repeat("W", 10_000)

// hostile is a site whose every text is evil: a page with links, and a product's page.
func hostile() http.Handler {
	mux := http.NewServeMux()
	text := html.EscapeString(evil)
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(rw, `<!doctype html><html lang="en"><title>%s</title><meta name="description" content="%s">
			<h1>%s</h1><p>zqxword %s</p><a href="javascript:pwned=1">a</a><a href="/zqx%%3Cimg%%20src=x%%20onerror=pwned=1%%3E">b</a>
			<a href="/zqx-%s">%s</a>`, text, text, text, text, strings.Repeat("w", 1500), text)
	})
	mux.HandleFunc("GET /product", func(rw http.ResponseWriter, _ *http.Request) {
		product, _ := json.Marshal(map[string]any{ // of texts only
			"@context": "https://schema.org", "@type": "Product", "name": text, "description": text, "sku": evil, "brand": evil,
			"url": "javascript:pwned=1", "image": "javascript:pwned=1",
			"offers": map[string]any{"@type": "Offer", "price": "12.50", "priceCurrency": "CAD", "url": "javascript:pwned=1"},
		})
		_, _ = fmt.Fprintf(rw, `<!doctype html><html lang="en"><title>%s</title><h1>%s</h1>
			<script type="application/ld+json">%s</script>`, text, text, product)
	})
	return mux
}

// A furnished world has something on every page of the console, much of it from strangers who mean harm.
type furnished struct {
	*world

	worker, apiProcess *process
	graph              *httptest.Server // a site without harm to crawl

	// IDs, by which pages are opened.
	advert, refused, gone, run, page, draft, request, upload, held, letter, replay string
}

// furnish sends what strangers write through the doors that it comes by: messages, a crawl, uploads.
func furnish(t *testing.T) *furnished {
	t.Helper()

	site := httptest.NewServer(hostile())
	t.Cleanup(site.Close)
	graph := httptest.NewServer(crawlsite.NewGraph(crawlsite.GraphOptions{Seed: 16, Pages: 150, Delay: 20 * time.Millisecond}))
	t.Cleanup(graph.Close)
	hosts := strings.ReplaceAll(site.URL+","+graph.URL, "http://", "")
	w := newWorld(t, "CONVEYOR_ALLOW_PRIVATE_HOSTS="+hosts, "FETCH_MIN_GAP_PER_HOST_MS=0",
		"FETCH_GAP_JITTER_MS=0", "RETRY_BASE_DELAY_MS=100")
	f := &furnished{world: w, graph: graph, worker: w.start("worker")}
	w.start("bridge")
	f.apiProcess = w.start("api")
	w.ready()
	w.queuesCrawls()
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })

	wish := draftRequest{event: uuid.New(), url: site.URL + "/product"}
	w.ask(wish)
	run := w.crawl(site.URL+"/", map[string]any{"publish": true})
	w.stock(10)
	now := with("scraped_at", time.Now().UTC())
	w.publish("scraped", "kijiji",
		advert("70001", now, with("title", html.EscapeString(evil)), with("description", html.EscapeString(evil)), with("address", evil),
			with("url", "https://www.kijiji.ca/v-appartement/70001?a=<img src=x onerror=pwned=1>"),
			with("attributes", map[string]any{"numberbedrooms": []string{"2"}, evil[:60]: []string{evil}})),
		advert("70002", now, with("title", html.EscapeString(evil)), with("description", evil), with("price", map[string]any{"type": evil, "text": evil})),
		advert("70003", now, with("title", evil), with("url", "javascript:pwned=1")),
		[]byte(`{"platform":"kijiji","platform_id":`+string(quoted(evil))+`}`),
		[]byte(evil))
	require.NoError(t, db.NewTenants(w.db).Create(t.Context(), db.Tenant{
		ID: "acme", Name: "<b onclick=pwned=1>Acme \u202e", Tier: "standard", Region: "CA", CreatedAt: time.Now(),
	}, "me"))
	people := "First Name,Phone,Email," + `"` + strings.ReplaceAll(evil[:200], `"`, `""`) + "\"\n" +
		strings.Repeat(fmt.Sprintf("\"%s\",\"%s\",p@example.org,x\n", strings.ReplaceAll(evil, `"`, `""`), "zqx <img src=x onerror=pwned=1>"), 3) +
		"Zoé,514 555-0101,zoe@example.org,x\n"
	f.upload, f.held = w.uploads("acme", people, false), w.uploads("acme", people, true)

	f.advert, f.refused = w.settles("70001"), w.settles("70002")
	f.letter = w.letterWhere("reason LIKE '%is not an ID%'")
	f.gone = w.settles("60007")
	f.draft, f.request = w.drafted(wish).ID.String(), wish.event.String()
	require.Equal(t, http.StatusCreated, w.send(http.MethodPost, "/searches?tenant=acme",
		fmt.Sprintf(`{"name":%s,"filter":{"text":"zqx"},"targets":[{"kind":"feed"}]}`, quoted(evil[:60]))))
	w.completed(run)
	f.run = fmt.Sprint(run)
	w.eventually("the page can be found", func() bool { return one[int](w, "SELECT count(*) FROM pages") > 0 })
	f.page = fmt.Sprint(one[int64](w, "SELECT min(id) FROM pages"))
	out := w.run("replay", "start", "--status", "rejected")
	f.replay = replayID(t, out)
	return f
}

func quoted(text string) []byte {
	b, _ := json.Marshal(text) // of text
	return b
}

// settles waits until an advert of Kijiji is brought to its end, and returns its ID.
func (w *world) settles(platformID string) string {
	w.t.Helper()

	w.eventually("advert "+platformID+" is settled", func() bool {
		return one[int](w, `SELECT count(*) FROM raw_listings WHERE platform_id = $1 AND settled_revision = revision`, platformID) == 1
	})
	return listingID("kijiji", platformID)
}

// uploads sends a file of contacts of a tenant, as the console does, and returns the ID of the upload.
func (w *world) uploads(tenant, text string, hold bool) string {
	w.t.Helper()

	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	file, err := form.CreateFormFile("file", "zqx <img src=x onerror=pwned=1> \u202egpj.csv")
	require.NoError(w.t, err)
	_, err = io.WriteString(file, text)
	require.NoError(w.t, err)
	require.NoError(w.t, form.Close())
	resp, err := http.Post(fmt.Sprintf("%s/uploads?tenant=%s&hold=%t", w.api, tenant, hold), form.FormDataContentType(), &body)
	require.NoError(w.t, err)
	defer resp.Body.Close()
	var out struct{ ID string }
	require.NoError(w.t, json.NewDecoder(resp.Body).Decode(&out))
	require.Less(w.t, resp.StatusCode, 300)
	return out.ID
}

// harmless requires that what strangers wrote is text on a page: it runs nothing, asks for nothing, turns the direction
// of nothing but itself, and where it is a link, the link says its host and tells it nothing of us.
func (v *visitor) harmless(p playwright.Page) {
	v.t.Helper()

	found, err := p.Evaluate(`() => {
		const out = []
		const say = (what, e) => out.push(what + ': ' + e.outerHTML.slice(0, 300))
		if (window.pwned !== undefined) out.push("a stranger's script ran")
		for (const e of document.querySelectorAll('body *')) {
			for (const a of e.attributes) if (a.name.startsWith('on')) say('a handler', e)
			if (/^(script|object|embed)$/i.test(e.tagName) && e.closest('main')) say('an element that runs', e)
			if (e.tagName === 'IFRAME' && e.getAttribute('sandbox') !== '') say('a frame without a sandbox', e)
		}
		for (const a of document.querySelectorAll('main a[href]')) {
			const to = new URL(a.getAttribute('href'), location.href), rel = a.getAttribute('rel') ?? ''
			if (!/^https?:$/.test(to.protocol)) say('a link that is none', a)
			if (to.host === location.host) continue
			if (!/noreferrer/.test(rel) || !/noopener/.test(rel)) say('a link that tells where it is', a)
			if (!a.dataset.key && !a.textContent.includes(to.host)) say('a link that does not say its host', a)
		}
		const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
		while (texts.nextNode()) {
			const text = texts.currentNode, e = text.parentElement
			if (!/[\u202a-\u202e\u2066-\u2069\u0590-\u08ff]/.test(text.data) || /^(SCRIPT|STYLE|OPTION|TITLE)$/.test(e.tagName)) continue
			if (!/isolate|plaintext/.test(getComputedStyle(e).unicodeBidi)) say('not isolated', e)
			for (let n = text.nextSibling; n; n = n.nextSibling)
				if (n.textContent.trim() && !(n instanceof Element && n.tagName === 'MARK') && e.querySelector(':scope > mark') === null)
					{ say('turned with it', e); break }
		}
		return [...new Set(out)].slice(0, 5).join('\n')
	}`)
	require.NoError(v.t, err)
	assert.Empty(v.t, found, p.URL())
}

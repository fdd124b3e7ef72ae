package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// crawls is the queue of crawl requests, and their routing key.
const crawls = "crawler.url.requested.v1"

// productPage is a page with a product that anyone can read.
const productPage = `<!doctype html><html lang="en"><title>%[1]s</title><h1>%[1]s</h1>
<script type="application/ld+json">{"@context":"https://schema.org","@type":"Product","name":"%[1]s","sku":"S%[2]d",
"offers":{"@type":"Offer","price":"%[2]d.00","priceCurrency":"CAD"}}</script><p>It does what it says.</p>`

// poisonPages are pages that cost their reader far more than their sender, by path.
var poisonPages = map[string]func() string{
	// 18 layers of 12 references to one item each: 12^16 ways through them.
	"/web": func() string {
		var b strings.Builder
		b.WriteString(`<h1>Web</h1><script type="application/ld+json">{"@graph":[`)
		for n := range 18 {
			next := fmt.Sprintf(`{"@id":"#%d"}`, n+1)
			fmt.Fprintf(&b, `{"@id":"#%d","x":[%s]},`, n, strings.TrimSuffix(strings.Repeat(next+",", 12), ","))
		}
		b.WriteString(`{"@id":"#18","@type":"Product","name":"e"}]}</script>`)
		return b.String()
	},
	// Each paragraph opens anew what is still open: 40,000,000 elements for a reader that follows the standard.
	"/open": func() string {
		return `<h1>Open</h1><script type="application/ld+json">{"@type":"Product","name":"n","description":"` +
			"<p>" + strings.Repeat("<b id=1>", 400) + strings.Repeat("<p>x", 100_000) + `"}</script>`
	},
	// 200,000 elements, one in the other, as a script can build them and Chromium writes them.
	"/deep": func() string {
		return `<h1>Deep</h1><script>let at = document.body; for (let n = 0; n < 200000; n++) {
			const e = document.createElement(n % 2 ? "p" : "b"); at.append(e); at = e }</script>`
	},
	// 3 GiB, and then no end.
	"/memory": func() string {
		return `<h1>Memory</h1><script>const all = []; for (let n = 0; n < 24; n++) all.push(new Uint8Array(1 << 27).fill(n + 1));
			for (;;) all[0][0]++</script>`
	},
}

// A crawl is one request for a draft.
type crawl struct {
	event uuid.UUID
	path  string
	name  string // of the product; "" for a poison page
}

// A draftedAs is the draft that a request led to.
type draftedAs struct {
	Event   uuid.UUID
	Outcome string
	Name    string
	Error   string
}

const (
	sqlDrafted   = `SELECT event_id, outcome, coalesce(name, ''), error FROM product_drafts`
	sqlDraftDead = `SELECT workflow_id, reason FROM dead_letters WHERE workflow_id LIKE 'draft/%'`
)

// chromiumLimit is that of the container with Chromium and the worker of drafts, in MiB.
const chromiumLimit = 3 << 10

// Poison pages among good ones cost themselves: every good page is a draft, every poison one a draft or a dead letter,
// also when workers and bridges are killed meanwhile.
func TestTheLedgerOfDraftsBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with that of scrapers
	site := newShop(t)
	w := newWorld(t, []string{devstack.Chromium}, "CONVEYOR_IMAGES=false",
		"CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(site.URL, "http://"))

	var crawls []crawl
	var most atomic.Int64 // bytes of Chromium
	w.gone.Go(func() {
		for pause(w.ctx, 200*time.Millisecond) {
			if pid := w.stack.Pid(devstack.Chromium); pid != 0 {
				most.Store(max(most.Load(), int64(resident(pid))))
			}
		}
	})
	ask := func(path, name string) {
		c := crawl{uuid.New(), path, name}
		require.NoError(t, w.askForDraft(c.event, site.URL+path), path)
		crawls = append(crawls, c)
	}
	repeats := 1
	if *long {
		repeats = 5
	}
	for range repeats {
		for path := range poisonPages {
			for range 2 {
				ask(fmt.Sprintf("/product/%d", len(crawls)), fmt.Sprintf("Kettle %d", len(crawls)))
			}
			ask(path, "")
		}
	}
	for _, role := range []string{"worker", "bridge"} {
		pause(w.ctx, w.upTo(3*time.Second))
		w.say("kill -9 %s", role)
		require.NoError(t, w.any(role).signal(syscall.SIGKILL))
	}

	l := &Ledger{Seed: *seed, Wrong: []string{}}
	w.rest(l)
	l.requests(w, crawls)
	size := int(most.Load() >> 20)
	l.row("memory of Chromium, in MiB", size, "")
	l.must("MiB above its container's limit", max(0, size-chromiumLimit), 0)
	l.processes(w)
	l.close(w)
}

// newShop is a site of good pages with a product, and of poison ones.
func newShop(t *testing.T) *httptest.Server {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		switch poison, ok := poisonPages[r.URL.Path]; {
		case ok:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, poison())
		default:
			if _, err := fmt.Sscanf(r.URL.Path, "/product/%d", &n); err != nil {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, productPage, fmt.Sprintf("Kettle %d", n), n)
		}
	}))
	t.Cleanup(site.Close)
	return site
}

// requests reads what became of crawl requests.
func (l *Ledger) requests(w *world, crawls []crawl) {
	drafts, err := table[draftedAs](w, sqlDrafted)
	dead, err2 := table[struct{ Workflow, Reason string }](w, sqlDraftDead)
	if err := errors.Join(err, err2); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	reasons := map[string]string{}
	for _, d := range dead {
		reasons[strings.TrimPrefix(d.Workflow, "draft/")] = d.Reason
	}
	l.drafts(crawls, drafts, reasons)
}

// drafts follows every crawl request to its end.
func (l *Ledger) drafts(crawls []crawl, drafts []draftedAs, dead map[string]string) {
	made := map[uuid.UUID]draftedAs{}
	for _, d := range drafts {
		made[d.Event] = d
	}
	var lost, bad []string
	good, survived := 0, 0
	for _, c := range crawls {
		d, drafted := made[c.event]
		reason, died := dead[c.event.String()]
		switch {
		case !drafted && !died:
			lost = append(lost, c.path)
		case c.name == "":
			if drafted {
				survived++
			}
		case d.Outcome != "succeeded" || d.Name != c.name:
			bad = append(bad, fmt.Sprintf("%s is %s as %q: %s%s", c.path, d.Outcome, d.Name, d.Error, reason))
		default:
			good++
		}
	}
	l.row("crawl requests", len(crawls), "%d of good pages; %d of poison ones are drafts", good, survived)
	l.none("crawl requests without draft or dead letter", lost)
	l.none("good pages that are no good draft", bad)
}

// askForDraft publishes a crawl request until the broker has confirmed it.
func (w *world) askForDraft(event uuid.UUID, url string) error {
	body, err := json.Marshal(map[string]any{
		"event_name": "crawler/url.requested", "event_id": event, "ts": time.Now().UTC(),
		"data": map[string]any{"url": url, "out_dir": ""},
	})
	if err != nil {
		return err
	}
	var failed error
	if err := eventually(w.ctx, servicetest.Patience(), func() bool {
		failed = w.publish("events", crawls, amqp.Publishing{MessageId: event.String(), Body: body,
			DeliveryMode: amqp.Persistent, ContentType: "application/json", Type: "crawler/url.requested"})
		return failed == nil
	}); err != nil {
		return failed
	}
	return nil
}

// publish returns nil when a queue has a message.
func (w *world) publish(exchange, key string, m amqp.Publishing) error {
	ch, hangUp, err := dial(w.vars["RABBITMQ_URL"])
	if err != nil {
		return err
	}
	defer hangUp()
	if err := ch.Confirm(false); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.ctx, patience)
	defer cancel()
	returned := ch.NotifyReturn(make(chan amqp.Return, 1))
	c, err := ch.PublishWithDeferredConfirmWithContext(ctx, exchange, key, true, false, m)
	if err != nil {
		return err
	}
	if ok, err := c.WaitContext(ctx); err != nil || !ok {
		return errors.Join(errors.New("not confirmed"), err)
	}
	select { // a message that reaches no queue comes back before it is confirmed
	case <-returned:
		return errors.New("no queue is bound yet")
	default:
		return nil
	}
}

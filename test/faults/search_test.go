package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mtlrent/conveyor/bridge"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// crawledQueue is where crawled pages arrive.
const crawledQueue = "crawler_queue"

// strikes are the faults that meet crawled pages. short says which are part of the short form.
var strikes = []fault{
	{"SIGTERM worker", 0, func(w *world) (string, error) { return w.retire("worker") }},
	{"kill -9 bridge", 1, func(w *world) (string, error) { return w.kill("bridge") }},
	{"kill -9 worker", 1, func(w *world) (string, error) { return w.kill("worker") }},
	{"our Postgres killed -9", 1, func(w *world) (string, error) {
		return "", w.app.Restart(w.ctx, devstack.Postgres, true, w.spell())
	}},
	{"RabbitMQ killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.RabbitMQ, true) }},
	{"kill -9 worker, about to write the index", 1, func(w *world) (string, error) {
		return w.killAt("worker", "search_segments", "INSERT INTO search_segments", true)
	}},
	{"kill -9 bridge, the messages are kept", 1, func(w *world) (string, error) {
		return w.killAt("bridge", "page_inbox", "INSERT INTO page_inbox", false)
	}},
	{"Temporal killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Temporal, true) }},
	{"Postgres killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Postgres, true) }},
	{"Postgres backends terminated", 0, terminateBackends},
	{"worker frozen", 0, func(w *world) (string, error) { return w.freeze("worker") }},
	{"our Postgres killed -9, away for long", 0, appDatabaseAway},
}

// A sentPage is one message for the indexer. Its text has a word that no other version has.
type sentPage struct {
	url     string // "" for a message that can never be stored
	version int
	at      time.Time // crawled
	body    string
}

func (p sentPage) word() string { return fmt.Sprintf("version%d", p.version) }

// pagesToSend are n messages: most of new pages, others newer or older versions, sent again, huge, or broken.
func pagesToSend(n int, dice *rand.Rand) (list []sentPage) {
	began := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	var good []int // in list
	filler := strings.Repeat("the quick brown fox jumps over the lazy dog while nobody looks at it ", 20)
	for v := range n {
		p := sentPage{url: fmt.Sprintf("https://site%d.example/page/%d", v%50, v), version: v, at: began.Add(time.Duration(v) * time.Second)}
		text := filler
		switch lot := dice.IntN(1000); {
		case lot < 20:
			p.url, p.body = "", fmt.Sprintf(`{"url":"https://site.example/broken/%d","metadata":{}}`, v)
		case lot < 30:
			p.url = ""
			p.body = fmt.Sprintf(`{"url":"https://a:b@site.example/%d","text":"","metadata":{"timestamp":"2026-11-01T00:00:00Z","status_code":200}}`, v)
		case lot < 80 && len(good) > 0:
			p = list[good[dice.IntN(len(good))]] // sent again
		case lot < 180 && len(good) > 0:
			p.url = list[good[dice.IntN(len(good))]].url // newer than any before
		case lot < 230 && len(good) > 0:
			p.url, p.at = list[good[dice.IntN(len(good))]].url, began.Add(-time.Duration(v)*time.Second) // older
		case lot < 232:
			text = strings.Repeat(filler, 3_000_000/len(filler))
		}
		if p.body == "" {
			p.body = fmt.Sprintf(`{"url":%q,"text":"%s %s","metadata":{"title":"Page %d","timestamp":%q,"status_code":200}}`,
				p.url, p.word(), text, v, p.at.Format(time.RFC3339))
		}
		if p.url != "" {
			good = append(good, len(list))
		}
		list = append(list, p)
	}
	return list
}

// Under faults, each crawled page is stored in its newest version and can be found, or is a dead letter.
func TestTheLedgerOfSearchBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with those of drafts and scrapers
	n := 2000
	if *long {
		n = 20_000
	}
	w := newWorld(t, nil, "CONVEYOR_IMAGES=false")
	w.say("seed %d: %d crawled pages", *seed, n)
	sent := pagesToSend(n, rand.New(rand.NewPCG(*seed, 8)))
	var table []fault
	for _, f := range strikes {
		if (*long || f.short > 0) && strings.Contains(f.name, *only) {
			table = append(table, f)
		}
	}
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	sender := bridge.NewSender(w.vars["RABBITMQ_URL"])
	defer sender.Close()
	w.tempt = func() {} // pages arrive all the time
	for i, f := range table {
		share := sent[len(sent)*i/len(table) : len(sent)*(i+1)/len(table)]
		var sending sync.WaitGroup
		sending.Go(func() {
			for len(share) > 0 {
				part := share[:min(len(share), 50)]
				parcels := make([]bridge.Parcel, len(part))
				for k, p := range part {
					parcels[k] = bridge.Parcel{RoutingKey: crawledQueue, Body: []byte(p.body)}
				}
				if sender.Send(w.ctx, parcels) == nil { // otherwise all of them again
					share = share[len(part):]
				}
				if !pause(w.ctx, 50*time.Millisecond) {
					return
				}
			}
		})
		w.suffer(f, l)
		sending.Wait()
	}
	// Messages in hand are neither in their queue nor yet in a workflow, so rest is seen in the tables first.
	_ = eventually(w.ctx, servicetest.Patience(), func() bool { return w.storedAll(sent) })
	w.rest(l)
	if err := l.pages(w, sent, "no site"); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.processes(w)
	l.close(w)
}

const sqlPagesThere = `
SELECT (SELECT count(*) FROM unnest($1::text[], $2::timestamptz[]) AS s(url, at)
        JOIN pages p ON p.url = s.url AND p.crawled_at = s.at AND p.doc_revision = p.revision),
    (SELECT count(DISTINCT body) FROM dead_letters WHERE queue = 'crawler_queue')`

// storedAll says that the newest version of each page is in the index, and each broken message a dead letter.
func (w *world) storedAll(sent []sentPage) bool {
	newest, broken := sorted(sent)
	var (
		urls        []string
		times       []time.Time
		there, died int
	)
	for url, p := range newest {
		urls, times = append(urls, url), append(times, p.at)
	}
	ctx, cancel := context.WithTimeout(w.ctx, 10*time.Second)
	defer cancel()
	err := w.db.QueryRow(ctx, sqlPagesThere, urls, times).Scan(&there, &died)
	return err == nil && there == len(newest) && died >= len(broken)
}

// sorted are the newest version of each page, and the messages that can never be stored.
func sorted(sent []sentPage) (newest map[string]sentPage, broken map[string]bool) {
	newest, broken = map[string]sentPage{}, map[string]bool{}
	for _, p := range sent {
		if p.url == "" {
			broken[p.body] = true
		} else if before, ok := newest[p.url]; !ok || p.at.After(before.at) {
			newest[p.url] = p
		}
	}
	return newest, broken
}

// A keptPage is a row of pages.
type keptPage struct {
	URL     string
	At      time.Time
	Text    string // its beginning
	Indexed bool
}

const (
	sqlKeptPages = `SELECT url, crawled_at, left(text, 20), doc IS NOT NULL AND doc_revision = revision FROM pages`
	sqlPagesDead = `SELECT convert_from(body, 'UTF8'), reason FROM dead_letters WHERE queue = 'crawler_queue'`
	sqlInboxLeft = `SELECT count(*) FILTER (WHERE error IS NULL), count(*) FROM page_inbox`
)

// pages compares what was sent with what is stored, dead, and found. Pages of a site that begin with origin come from
// crawls, and are only counted.
func (l *Ledger) pages(w *world, sent []sentPage, origin string) error {
	kept, err := table[keptPage](w, sqlKeptPages)
	dead, err2 := table[struct{ Body, Reason string }](w, sqlPagesDead)
	var open, inbox int
	err3 := w.db.QueryRow(w.ctx, sqlInboxLeft).Scan(&open, &inbox)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	letters := map[string]string{}
	for _, d := range dead {
		letters[d.Body] = d.Reason
	}
	newest, broken := sorted(sent)
	var lost, killed []string
	for body := range broken {
		if _, ok := letters[body]; !ok {
			lost = append(lost, body)
		}
	}
	for _, p := range sent {
		if reason, ok := letters[p.body]; ok && p.url != "" {
			killed = append(killed, p.url+": "+reason)
		}
	}
	stored, crawled := map[string]keptPage{}, 0
	var twice, old, unindexed, unexpected []string
	for _, k := range kept {
		if _, ok := stored[k.URL]; ok {
			twice = append(twice, k.URL)
		}
		stored[k.URL] = k
		p, ok := newest[k.URL]
		switch {
		case !ok && strings.HasPrefix(k.URL, origin):
			crawled++
		case !ok:
			unexpected = append(unexpected, k.URL)
		case !k.At.Equal(p.at) || !strings.HasPrefix(k.Text, p.word()+" "):
			old = append(old, fmt.Sprintf("%s is %q of %s, not %s", k.URL, k.Text, k.At, p.word()))
		case !k.Indexed:
			unindexed = append(unindexed, k.URL)
		}
	}
	for url := range newest {
		if _, ok := stored[url]; !ok {
			lost = append(lost, url)
		}
	}
	l.row("messages", len(sent), "%d pages, %d messages that can never be stored", len(newest), len(broken))
	l.none("published and neither stored nor dead", lost)
	l.none("good pages that are dead letters", killed)
	l.none("URLs stored twice", twice)
	l.none("URLs that were not published", unexpected)
	l.none("pages that are not the newest version", old)
	l.none("pages whose version the index does not have", unindexed)
	l.row("messages left in the inbox", open, "of batches that a bridge was killed with; they came again in others")
	return l.foundPages(w, sent, newest, crawled)
}

// foundPages asks for each page by the word that only its newest version has, and for versions that are no more.
func (l *Ledger) foundPages(w *world, sent []sentPage, newest map[string]sentPage, crawled int) error {
	index := dbsearch.NewSearchIndex(w.db)
	stats, err := index.Stats(w.ctx)
	if err != nil {
		return err
	}
	l.must("pages that can be found", stats.Pages, len(newest)+crawled)
	var missed, ghosts []string
	asked := map[int]bool{}
	for _, p := range sent {
		if p.url == "" || asked[p.version] {
			continue
		}
		asked[p.version] = true
		r, err := index.Search(w.ctx, search.Query{Text: `"` + p.word() + `"`, Limit: 2})
		if err != nil {
			return err
		}
		switch current := newest[p.url].version == p.version; {
		case current && (len(r.Hits) != 1 || r.Hits[0].URL != p.url):
			missed = append(missed, fmt.Sprintf("%s by %s: %d hits", p.url, p.word(), len(r.Hits)))
		case !current && len(r.Hits) > 0:
			ghosts = append(ghosts, p.word()+" finds "+r.Hits[0].URL)
		}
	}
	l.row("questions to the index", len(asked), "in %d segments", stats.Segments)
	l.none("pages that are not found", missed)
	l.none("versions that are found though there is a newer one", ghosts)
	return nil
}

package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	crawling "github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

const busyRate = 20 // messages a second of a campaign: so that it is being sent while a service is away

// awayFor is how long each service is away.
func awayFor() time.Duration {
	if *long {
		return 5 * time.Minute
	}
	return 20 * time.Second
}

// absences are the services that are away in turn.
var absences = []fault{
	{"our Postgres", 1, func(w *world) (string, error) { return "", w.away(w.app, devstack.Postgres) }},
	{"RabbitMQ", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.RabbitMQ) }},
	{"Redis", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.Redis) }},
	{"Temporal", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.Temporal) }},
	{"Chromium", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.Chromium) }},
	{"the folder of files", 1, func(w *world) (string, error) {
		err := w.disk.takeAway()
		w.under(awayFor())
		return "", errors.Join(err, w.disk.giveBack())
	}},
}

// away kills a service and starts it again after that time, while work comes in.
func (w *world) away(stack *devstack.Stack, service string) error {
	back := make(chan error, 1)
	go func() { back <- stack.Restart(w.ctx, service, true, awayFor()) }()
	_ = eventually(w.ctx, servicetest.Patience(), func() bool { return stack.Pid(service) == 0 })
	w.under(awayFor())
	return <-back
}

// Each service is away in turn while every system works: adverts with pictures, crawls that keep bodies, product drafts,
// imports, campaigns and single messages. Nothing is lost, nothing is done twice, nothing good is refused for good, and
// all comes to its end by itself, but for drafts that could not be made: their requests are dead letters by their
// contract, and are replayed.
func TestEachServiceIsAwayInTurn(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel()
	g := crawlsite.NewGraph(crawlsite.GraphOptions{Seed: *seed, Pages: 150, Chain: 5, Delay: 50 * time.Millisecond})
	pages := crawlsite.New(g)
	site, shop := httptest.NewServer(pages), newShop(t)
	t.Cleanup(site.Close)
	var hooks *dboutreach.Webhooks
	api, phones := phone(serveAt(t, "127.0.0.1"), func(r *http.Request) error { return applyWebhook(r, hooks) })
	box, keys := newKeys(t)
	w := newWorldBeside(t, release{binary: binary}, []*httptest.Server{site, shop}, []string{devstack.Chromium},
		"CONVEYOR_WHATSAPP_URL="+phones, "CONVEYOR_SECRET_KEYS="+keys, "CONVEYOR_WHATSAPP_TIMEOUT=3s",
		"CONVEYOR_API_RATE=0", "CONVEYOR_API_WRITE_RATE=0", // all that is tried again has one address
		fmt.Sprintf("CONVEYOR_DISPATCH_STANDARD=%d", busyRate))
	hooks = dboutreach.NewWebhooks(w.db, nil)
	w.gone.Go(func() { _ = api.Run(w.ctx) })
	d := &rig{world: w, got: map[uuid.UUID]personFile{}}
	var err error
	d.imports, err = newImports(w)
	require.NoError(t, err)
	require.NoError(t, w.makeContacts(int(awayFor().Seconds())*busyRate/2))
	sender, err := w.makeSender(box, "acme", "1")
	require.NoError(t, err)
	singles := &singles{world: w, sender: sender}
	meanwhile := func() {} // once, while a service is away
	w.tempt = func() {
		w.flow.feed(1)
		singles.write()
		meanwhile()
		meanwhile = func() {}
	}

	settings := crawling.Defaults
	settings.MaxDepth, settings.MaxPages, settings.StoreBodies = 1000, 10_000, true
	want := g.Expected(site.URL, settings)
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	start := launch.Launch{Temporal: w.temporal}
	var runs []int64
	var campaigns []uuid.UUID
	var file personFile
	for i, f := range absences {
		if f.name == "Chromium" { // that dies under a page fails it, by the contract of crawl requests
			d.come("no page is being loaded", d.drafted)
			meanwhile = func() { d.draft(shop.URL) }
		}
		d.come("a campaign is planned", func() bool {
			id, err := w.planCampaign(sender)
			if err == nil {
				campaigns = append(campaigns, id)
			}
			return err == nil
		})
		d.come("the campaign is started", func() bool {
			return start.StartCampaign(w.ctx, "acme", campaigns[i]) == nil
		})
		// What the campaign before left when a service went away is sent first, at the same rate.
		require.NoError(t, eventually(w.ctx, servicetest.Patience()+awayFor(), func() bool {
			rows, err := w.sent(&campaigns[i])
			return err == nil && slices.ContainsFunc(rows, func(m sentAs) bool {
				return slices.Contains([]campaign.Status{
					campaign.MessageSent, campaign.MessageDelivered, campaign.MessageRead,
				}, m.State)
			})
		}), "a message of it is sent")
		file = newPersonFile(diskRows, fmt.Sprint("City ", i))
		upload := d.imports.upload(file)
		d.got[upload.ID] = file
		run, err := w.startCrawl(site.URL+"/", settings)
		require.NoError(t, err)
		runs = append(runs, run)
		if f.name != "Chromium" {
			d.draft(shop.URL)
		}
		d.come("a body is kept, and rows are stored", func() bool {
			return d.count(sqlBodies, []int64{run}) > 0 && d.imports.stored(upload) > 0
		})
		w.say("%s is away …", f.name)
		_, err = f.happen(w)
		l.Faults = append(l.Faults, Recovery{Fault: f.name + " away", Times: 1, Missed: b2i(err != nil)})
		if err != nil {
			l.Wrong = append(l.Wrong, f.name+": "+err.Error())
		}
		w.say("%s is back", f.name)
	}
	d.come("every single message was taken", singles.taken)
	d.come("every draft is made", d.drafted)
	unrest := w.settle()
	settled, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	if err := api.Settled(settled); err != nil {
		l.Wrong = append(l.Wrong, "webhooks were not taken: "+err.Error())
	}
	l.Seconds = time.Since(w.began).Seconds()
	b, err := w.books()
	if err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.compare(w.flow.snapshot(), b)
	if unrest != "" {
		l.Wrong = append(l.Wrong, "it did not come to rest: "+unrest)
	}
	if err := d.imports.balance(l, d.got, file); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.requests(w, d.drafts)
	hits := pages.Hits()
	l.row("pages that were asked for and not kept", d.unkept(hits), "")
	d.crawled(l, site.URL, runs, want, hits)
	for _, id := range campaigns {
		l.campaign(w, id, api, int(awayFor().Seconds())*busyRate/2, 0)
	}
	rows, err := w.sent(nil)
	if err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.must("single messages", len(rows), singles.asked)
	l.sent(rows, api, singles.asked, 0)
	l.processes(w)
	fmt.Print(l.String())
	for _, wrong := range l.Wrong {
		t.Error(wrong)
	}
	if t.Failed() {
		w.keepLogs()
	}
}

// singles are messages that are sent one by one, each until it is taken.
type singles struct {
	*world
	sender uuid.UUID

	asked int // by one goroutine
	mu    sync.Mutex
	done  int
}

// write sends one, and does not wait for it.
func (s *singles) write() {
	n := s.asked
	s.asked++
	s.gone.Go(func() {
		for !s.post(n) {
			if !pause(s.ctx, 500*time.Millisecond) {
				return
			}
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.done++
	})
}

func (s *singles) taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done == s.asked
}

// post says whether the API has taken message n.
func (s *singles) post(n int) bool {
	ctx, cancel := context.WithTimeout(s.ctx, servicetest.Patience())
	defer cancel()
	in := body(fmt.Sprintf(`{"sender":"%s","to":"+1438%07d","body":{"type":"text","text":{"body":"Bonjour"}}}`, s.sender, 5550000+n))
	in.key = fmt.Sprint("single-", n)
	code, _, err := s.ask(ctx, http.DefaultClient, "acme", http.MethodPost, "/messages", in)
	return err == nil && code < 300
}

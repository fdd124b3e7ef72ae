package faults

import (
	"context"
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
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/cloudapi"
	"github.com/mtlrent/conveyor/sim/crawlsite"
)

// A busy is a rig in which every system works: adverts with pictures, crawls that keep bodies, product drafts, imports,
// campaigns and single messages.
type busy struct {
	*rig
	graph    *crawlsite.Graph
	pages    *crawlsite.Watch
	site     *httptest.Server // of pages
	shop     *httptest.Server
	box      *secret.Box
	phones   *cloudapi.API
	hooks    *dboutreach.Webhooks // of phones, from begin on
	contacts int                  // of each campaign
	settings crawling.Settings

	sender    uuid.UUID
	singles   *singles
	runs      []int64
	campaigns []uuid.UUID
	file      personFile // the latest one
}

// newBusy starts the services, Chromium too, and the roles of a release, which may reach more servers of the test. The
// pages of the site are answered after a delay.
func newBusy(t *testing.T, of release, contacts int, delay time.Duration, more []*httptest.Server, settings ...string) *busy {
	b := &busy{contacts: contacts, shop: newShop(t), settings: crawling.Defaults}
	b.settings.MaxDepth, b.settings.MaxPages, b.settings.StoreBodies = 1000, 10_000, true
	b.graph = crawlsite.NewGraph(crawlsite.GraphOptions{Seed: *seed, Pages: 150, Chain: 5, Delay: delay})
	b.pages = crawlsite.New(b.graph)
	b.site = httptest.NewServer(b.pages)
	t.Cleanup(b.site.Close)
	var phones, keys string
	b.phones, phones = phone(serveAt(t, "127.0.0.1"), func(r *http.Request) error { return applyWebhook(r, b.hooks) })
	b.box, keys = newKeys(t)
	w := newWorldBeside(t, of, append(more, b.site, b.shop), []string{devstack.Chromium}, append(settings,
		"CONVEYOR_WHATSAPP_URL="+phones, "CONVEYOR_SECRET_KEYS="+keys, "CONVEYOR_WHATSAPP_TIMEOUT=3s",
		"CONVEYOR_API_RATE=0", "CONVEYOR_API_WRITE_RATE=0", // all that is tried again has one address
		fmt.Sprintf("CONVEYOR_DISPATCH_STANDARD=%d", busyRate))...)
	b.rig = &rig{world: w, got: map[uuid.UUID]personFile{}}
	return b
}

// begin makes what campaigns and imports need. The schema is that of this release.
func (b *busy) begin() {
	var err error
	b.hooks = dboutreach.NewWebhooks(b.db, nil)
	b.gone.Go(func() { _ = b.phones.Run(b.ctx) })
	b.imports, err = newImports(b.world)
	require.NoError(b.t, err)
	require.NoError(b.t, b.makeContacts(b.contacts))
	b.sender, err = b.makeSender(b.box, "acme", "1")
	require.NoError(b.t, err)
	b.singles = &singles{world: b.world, sender: b.sender}
}

// round starts a campaign, a file and a crawl, and returns when each of them is under way.
func (b *busy) round() {
	var id uuid.UUID
	b.come("a campaign is planned", func() (ok bool) {
		made, err := b.planCampaign(b.sender)
		if err == nil {
			id = made
			b.campaigns = append(b.campaigns, id)
		}
		return err == nil
	})
	start := launch.Launch{Temporal: b.temporal}
	b.come("the campaign is started", func() bool { return start.StartCampaign(b.ctx, "acme", id) == nil })
	// What the campaign before left when a service went away is sent first, at the same rate.
	require.NoError(b.t, eventually(b.ctx, servicetest.Patience()+awayFor(), func() bool {
		rows, err := b.sent(&id)
		return err == nil && slices.ContainsFunc(rows, func(m sentAs) bool {
			return slices.Contains([]campaign.Status{
				campaign.MessageSent, campaign.MessageDelivered, campaign.MessageRead,
			}, m.State)
		})
	}), "a message of it is sent")
	b.file = newPersonFile(diskRows, fmt.Sprint("City ", len(b.runs)))
	upload := b.imports.upload(b.file)
	b.got[upload.ID] = b.file
	run, err := b.startCrawl(b.site.URL+"/", b.settings)
	require.NoError(b.t, err)
	b.runs = append(b.runs, run)
	b.come("a body is kept, and rows are stored", func() bool {
		return b.count(sqlBodies, []int64{run}) > 0 && b.imports.stored(upload) > 0
	})
}

// reckon waits until all is done, and fails the test where the books do not balance.
func (b *busy) reckon(l *Ledger) {
	b.balance(l)
	l.close(b.world)
}

// balance waits until all is done, asks the roles to end, and compares the books.
func (b *busy) balance(l *Ledger) {
	b.come("every single message was taken", b.singles.taken)
	b.come("every draft is made", b.drafted)
	b.rest(l)
	settled, cancel := context.WithTimeout(b.ctx, servicetest.Patience())
	defer cancel()
	if err := b.phones.Settled(settled); err != nil {
		l.Wrong = append(l.Wrong, "webhooks were not taken: "+err.Error())
	}
	l.flowed(b.world)
	if err := b.imports.balance(l, b.got, b.file); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.requests(b.world, b.drafts)
	hits := b.pages.Hits()
	l.row("pages that were asked for and not kept", b.unkept(hits), "")
	b.crawled(l, b.site.URL, b.runs, b.graph.Expected(b.site.URL, b.settings), hits)
	for _, id := range b.campaigns {
		l.campaign(b.world, id, b.phones, b.contacts, 0)
	}
	rows, err := b.sent(nil)
	if err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.must("single messages", len(rows), b.singles.asked)
	l.sent(rows, b.phones, b.singles.asked, 0)
	l.workflows(b.world)
	l.processes(b.world)
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

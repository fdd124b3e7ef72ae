package faults

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// A town is a busy in which, besides, rental sites are scraped, crawled pages arrive to be found, and saved searches are
// told of adverts.
type town struct {
	*busy
	rentals  *site
	hooks    *hooks
	searches []*watcher
	flats    *market
	pages    []sentPage
	sent     atomic.Int64 // of pages: those that the broker has confirmed
}

const (
	townAdverts = 40 // on either half of the rental site
	// townWord is in the titles of adverts that saved searches are about, and in no others.
	townWord = "zibeline"
	// townPages is how many crawled pages arrive a second.
	townPages = 5
)

func newTown(t *testing.T) *town {
	s := &town{rentals: newSite(t, townAdverts), hooks: newHooks()}
	door := httptest.NewServer(s.hooks)
	t.Cleanup(door.Close)
	s.busy = newBusy(t, release{binary: binary}, awayContacts(), 50*time.Millisecond,
		[]*httptest.Server{{URL: s.rentals.url}},
		"CONVEYOR_SCRAPE="+demosite.Searches(s.rentals.url), "CONVEYOR_SCRAPE_TRANSPORT=http", "CONVEYOR_SCRAPE_DELAY=50ms",
		"CONVEYOR_SCRAPE_COOLDOWN=3s", "CONVEYOR_SCRAPE_LOOK=2s",
		"CONVEYOR_WEBHOOK_PRIVATE_HOSTS="+strings.TrimPrefix(door.URL, "http://"))
	s.begin()
	s.flats = &market{world: s.world, flats: map[string]flat{}}
	about := func(l *flat, _ int64) bool { return strings.Contains(l.title, townWord) }
	s.searches = []*watcher{
		{
			name: "moody", tenant: "acme", kinds: allKinds, hook: "/moody/all", feed: true,
			filter: `{"text":"` + townWord + `"}`, fits: about,
		},
		{
			name: "cheap", tenant: "acme", kinds: allKinds, hook: "/steady/cheap",
			filter: `{"text":"` + townWord + `","max_price":1500}`,
			fits:   func(l *flat, rent int64) bool { return about(l, rent) && rent <= 1500_00 },
		},
	}
	for _, search := range s.searches {
		require.NoError(t, s.saveSearch(search, door.URL, s.hooks))
	}
	for _, p := range pagesToSend(len(absences)*townPages*int(awayFor().Seconds()), rand.New(rand.NewPCG(*seed, 8))) {
		if p.url != "" { // dead letters are another ledger's
			s.pages = append(s.pages, p)
		}
	}
	return s
}

// live has the rental site change, and crawled pages arrive, until ctx ends or all of them are sent.
func (s *town) live(ctx context.Context) {
	s.gone.Go(func() { s.rentals.live(ctx, s.newestCycle) })
	s.gone.Go(func() {
		sender := bridge.NewSender(s.vars["RABBITMQ_URL"])
		defer sender.Close()
		for left := s.pages; len(left) > 0; {
			part := left[:min(len(left), townPages)]
			parcels := make([]bridge.Parcel, len(part))
			for k, p := range part {
				parcels[k] = bridge.Parcel{RoutingKey: crawledQueue, Body: []byte(p.body)}
			}
			if sender.Send(s.ctx, parcels) == nil { // otherwise all of them again
				left = left[len(part):]
				s.sent.Add(int64(len(part)))
			}
			if !pause(s.ctx, time.Second) {
				return
			}
		}
	})
}

// advertise publishes an advert that saved searches are about, or one that they are not.
func (s *town) advertise() {
	m := s.flats
	m.Lock()
	defer m.Unlock()
	f := m.next()
	f.title, f.bedrooms, f.rent = "Beau logement lumineux "+f.id, 2, 1200_00+int64(m.n*37%8)*100_00
	if m.n%3 > 0 {
		f.title += " " + townWord
	}
	f.lat, f.lon = 45.2+float64(m.n%100)*.002, -73.5+float64(m.n/100)*.003 // none lies near others
	m.put(f, time.Now())
}

// reckon waits until all is done, and fails the test where the books do not balance.
func (s *town) reckon(l *Ledger) {
	calm := time.Now()
	s.come("each search was gone through twice", func() bool { return s.cycles(2, calm) == nil })
	s.come("every page is stored", func() bool { return int(s.sent.Load()) == len(s.pages) && s.storedAll(s.pages) })
	s.come("every advert is compared with the searches", func() bool {
		var n int
		return s.flow.unconfirmed() == 0 && s.db.QueryRow(s.ctx, sqlUncompared).Scan(&n) == nil && n == 0
	})
	told := s.toldAll()
	saved, err := s.savedBooks(s.searches, nil)
	if err := errors.Join(told, err); err != nil {
		l.Wrong = append(l.Wrong, "saved searches: "+err.Error())
	}
	s.busy.balance(l)
	saved.calls = s.hooks.seen()
	l.saved(saved)
	adverts, err := table[scrapedAdvert](s.world, sqlScrapedAdverts)
	cycles, err2 := table[cycleSums](s.world, sqlCycleSums)
	letters, err3 := table[letter](s.world, sqlLetters)
	if err := errors.Join(err, err2, err3, l.pages(s.world, s.pages, s.site.URL)); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.scrapes(s.rentals, adverts, cycles, letters, townAgain())
	running, err := s.workflowsThat(`ExecutionStatus = "Running" AND WorkflowType = "ScrapePlatform"`)
	if err != nil {
		l.Wrong = append(l.Wrong, err.Error())
	}
	l.must("scrapers running", int(running), len(s.rentals.halves))
	l.close(s.world)
}

// townAgain is how many visits to adverts the absences may cost: one in hand on either half, each half minute that the
// service is away to which its answer goes.
func townAgain() int { return 2 * len(absences) * max(1, int(awayFor()/(30*time.Second))) }

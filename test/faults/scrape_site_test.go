package faults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// A site is the demo site under a script of ours: it changes, and knows of each visit whether there was a reason.
type site struct {
	*demosite.Site
	url string

	mu      sync.Mutex // held while a page is answered, so that nothing changes meanwhile
	dice    *rand.Rand
	size    int // adverts on either half at the start
	halves  map[string]*half
	changes map[string]int // by kind
	read    func(half string, o *offer) page
}

// A page is the content of an advert's detail page.
type page struct {
	title, price string
	rent         int64 // cents a month; 0 = it cannot be a listing
}

// now returns the present content of an advert's page, by the platform's own reader, which is not under test here.
func (s *site) now(half string, o *offer) page {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, s.url+o.URL, nil)
	answer := httptest.NewRecorder()
	s.Site.ServeHTTP(answer, r)
	site, _ := platform.ByName(half)
	a, err := site.ReadAdvert(web.Page{Asked: s.url + o.URL, URL: s.url + o.URL, Status: answer.Code,
		ContentType: answer.Header().Get("Content-Type"), Body: answer.Body.Bytes()})
	if err != nil {
		return page{title: err.Error()}
	}
	p := page{title: a.Title, price: " " + a.Price.Text}
	if a.Price.AmountCents != nil {
		p.price = fmt.Sprint(*a.Price.AmountCents) + p.price
	}
	if l, err := site.Normalize(a.Raw); err == nil {
		p.rent = l.RentCents
	}
	return p
}

// A half is one platform of the site.
type half struct {
	name       string
	offers     map[string]*offer // by ID
	paths      map[string]*offer
	order      []*offer
	searches   int
	visits     int
	again      []string // visits to pages that had been visited as they were, for no reason
	redirected bool     // an advert that is gone leads to the search, which no scraper reads then
}

// An offer is an advert of the site, and the requests for it.
type offer struct {
	demosite.Advert
	version int   // counts its changes, removals and returns among them
	removed int64 // the cycle in which it was

	carded  int  // the version that a search page showed last
	unseen  int  // cycles that have begun since
	missing bool // it was out of sight for long enough to be taken for gone: pages move while they are read
	visited int  // the version of the last visit, 0 before the first
	basis   int  // the version on its card then: when that was older, one more visit is due
}

// newSite has so many adverts on either half, an even number.
func newSite(t *testing.T, size int) *site {
	s := &site{
		Site: demosite.New(demosite.Options{Adverts: size, Frozen: true}), dice: rand.New(rand.NewPCG(*seed, 4)),
		size: size, halves: map[string]*half{}, changes: map[string]int{},
	}
	s.read = s.now
	for range size / 2 {
		_, err := s.Publish(demosite.Kangalou)
		require.NoError(t, err)
	}
	for _, name := range []string{demosite.Kijiji, demosite.Kangalou} {
		s.halves[name] = &half{name: name, offers: map[string]*offer{}, paths: map[string]*offer{}}
		all, err := s.Adverts(name)
		require.NoError(t, err)
		require.Len(t, all, size)
		for _, a := range all {
			s.halves[name].add(a)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		answer := httptest.NewRecorder()
		s.Site.ServeHTTP(answer, r)
		s.note(r, answer.Body.Bytes())
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // the client may be gone
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (h *half) add(a demosite.Advert) {
	o := &offer{Advert: a, version: 1}
	h.offers[a.ID], h.paths[a.URL] = o, o
	h.order = append(h.order, o)
}

// note records a request and its answer.
func (s *site) note(r *http.Request, body []byte) {
	path := r.URL.Path
	for _, h := range s.halves {
		if o := h.paths[path]; o != nil {
			h.visit(o)
			return
		}
	}
	switch {
	case strings.HasPrefix(path, "/b-"):
		s.halves[demosite.Kijiji].search(!strings.Contains(path, "/page-"), body)
	case strings.HasPrefix(path, "/fr/recherche/"):
		s.halves[demosite.Kangalou].search(!r.URL.Query().Has("page"), body)
	}
}

var cardID = regexp.MustCompile(`(?:data-listingid|data-id)="(\d+)"`)

func (h *half) search(first bool, body []byte) {
	if h.redirected {
		h.redirected = false
		return
	}
	h.searches++
	if first {
		for _, o := range h.order {
			o.unseen++
		}
	}
	for _, m := range cardID.FindAllSubmatch(body, -1) {
		if o := h.offers[string(m[1])]; o != nil {
			o.missing = o.missing || o.unseen > 2
			o.carded, o.unseen = o.version, 0
		}
	}
}

func (h *half) visit(o *offer) {
	h.visits++
	if o.visited == o.version && o.basis == o.version && !o.missing {
		h.again = append(h.again, o.ID)
	}
	o.visited, o.basis, o.missing = o.version, o.carded, false
	h.redirected = o.State == demosite.Removed
}

// live changes the site until ctx ends. cycle is the newest cycle of a half, as far as that can be known now.
func (s *site) live(ctx context.Context, cycle func(half string) (int64, error)) {
	pauses := rand.New(rand.NewPCG(*seed, 5))
	for pause(ctx, 100*time.Millisecond+time.Duration(pauses.IntN(300))*time.Millisecond) {
		name := []string{demosite.Kijiji, demosite.Kangalou}[pauses.IntN(2)]
		if n, err := cycle(name); err == nil {
			s.change(name, n)
		}
	}
}

// away is how many cycles a removed advert stays away: one that comes back sooner may not have been missed, and is
// asked for again an hour after its page said that it is gone.
const away = 3

// change changes one advert of a half.
func (s *site) change(name string, cycle int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.halves[name]
	o := h.order[s.dice.IntN(len(h.order))]
	if s.dice.IntN(10) == 0 { // there are few of these
		if i := slices.IndexFunc(h.order, func(o *offer) bool {
			return o.State == demosite.Removed && cycle >= o.removed+away
		}); i >= 0 {
			o = h.order[i]
		}
	}
	kind, c := "", demosite.Change{}
	switch p := s.dice.IntN(100); {
	case o.State == demosite.Removed && cycle < o.removed+away:
		return
	case o.State == demosite.Removed:
		kind, c.Removed = "returned", new(false)
	case p < 10 && len(h.order) < s.size*5/4:
		if a, err := s.Publish(name); err == nil {
			h.add(a)
			s.changes["new"]++
		}
		return
	case p < 55:
		cents := 60_000 + int64(s.dice.IntN(300))*500
		if o.PriceCents != nil && *o.PriceCents == cents {
			return
		}
		kind, c.PriceCents = "priced", &cents
	case p < 75:
		kind, c.Title = "edited", new(fmt.Sprintf("Grand logement rénové %d", o.version))
	case p < 85:
		kind, c.Bump = "bumped", true
	default:
		kind, c.Removed = "removed", new(true)
	}
	now, err := s.Patch(name, o.ID, c)
	if err != nil {
		panic(err) // of our own script
	}
	s.changes[kind]++
	o.Advert, o.removed = now, cycle
	if kind != "bumped" {
		o.version++
	}
}

// tempt makes a change that a scraper must visit.
func (s *site) tempt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.halves {
		for _, n := range s.dice.Perm(len(h.order)) {
			o := h.order[n]
			if o.State == demosite.Removed {
				continue
			}
			now, err := s.Patch(h.name, o.ID, demosite.Change{PriceCents: new(60_050 + int64(o.version)*100)})
			if err != nil {
				panic(err)
			}
			s.changes["priced"]++
			o.Advert = now
			o.version++
			break
		}
	}
}

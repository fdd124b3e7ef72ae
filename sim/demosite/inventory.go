package demosite

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/listing"
)

// The parts of the site, called halves since there were two.
const (
	Kijiji   = "kijiji"
	Kangalou = "kangalou"
	Centris  = "centris"
)

// The states of an advert.
const (
	Active  = "active"
	Removed = "removed"
)

// maxPublished bounds the adverts that Publish makes on one half, for a demo may run for weeks.
const maxPublished = 10_000

// An Advert is one advert as the demo site knows it: the values that a scraper should find.
type Advert struct {
	Platform   string    `json:"platform"`
	ID         string    `json:"id"`
	URL        string    `json:"url"` // of the detail page; a path where the site's address is not known
	Title      string    `json:"title"`
	PriceCents *int64    `json:"price_cents"` // null = "please contact"
	State      string    `json:"state"`
	AppearedAt time.Time `json:"appeared_at"`
}

// A Change is a change by Patch to an advert. A nil field stays as it is, and goes on changing with the clock.
type Change struct {
	PriceCents *int64  `json:"price_cents,omitempty"` // 1 to 10,000,000
	Title      *string `json:"title,omitempty"`       // 1 to 200 characters
	Removed    *bool   `json:"removed,omitempty"`     // false brings it back, to the top of the first page
	Bump       bool    `json:"bump,omitempty"`        // to the top of the first page
}

// ErrUnknown is the error for an advert or a platform that the site does not have.
var ErrUnknown = errors.New("demo: no such advert or platform")

// half is one platform's inventory. Its adverts by the clock are a pure function of the seed and the time that has
// passed; those of Publish, and the values that Patch fixed, lie over it.
//
// An advert's life is a row of rounds of 30 to 60 minutes. In each it changes its price once, is edited or not, is
// bumped once, and from the second round on is away for a few minutes in every other round. So the state at any time
// needs the round at hand and the two before, however long the site has been running.
type half struct {
	platform     string
	seed         uint64
	first, limit int           // adverts at the start, and at most
	twins        *half         // every fifth advert shows the home of that half's advert of the same number; nil = none
	every        time.Duration // between two new ones

	mu        sync.RWMutex
	corpus    []listing.Raw // its part, in the seed's order
	homes     []*home       // by number; grown when first needed
	published []published
	fixed     map[string]fix
	looks     map[string]*look // rendered parts by ID
}

// published is an advert that Publish made. It changes by Patch only.
type published struct {
	*home
	at time.Time
}

func (p published) state() state {
	return state{cents: p.rent, sorted: p.at, posted: p.at, appeared: p.at}
}

// fix is the change that Patch has made to an advert.
type fix struct {
	title   *string
	cents   *int64
	was     int64 // the price before
	removed *bool
	sorted  time.Time // of its last bump or return
}

// state is an advert at one moment. It is comparable: two equal states of a home look alike.
type state struct {
	cents, was int64 // 0 = none stated; was is the price before, when that was higher
	edit       bool
	title      string // "" = the home's own
	removed    bool
	sorted     time.Time // UTC; of the last bump or return
	posted     time.Time // UTC
	appeared   time.Time // UTC; at the earliest the site's start
}

// shown is an advert as a page shows it.
type shown struct {
	*home
	state
}

func (a shown) heading() string {
	return cmp.Or(a.title, a.titles[bit(a.edit)])
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (a shown) advert() Advert {
	out := Advert{Platform: a.platform, ID: a.id, URL: a.path(), Title: a.heading(), State: Active, AppearedAt: a.appeared}
	if a.cents > 0 {
		out.PriceCents = &a.cents
	}
	if a.removed {
		out.State = Removed
	}
	return out
}

// elapsed is how far the inventory's clock has gone at now.
func (s *Site) elapsed(now time.Time) time.Duration {
	if s.o.Frozen {
		return 0
	}
	return max(0, time.Duration(float64(now.Sub(s.o.Start))*s.o.Tempo))
}

// at is the wall clock's time when the inventory's clock stood at t.
func (s *Site) at(t time.Duration) time.Time {
	if s.o.Frozen {
		return s.o.Start
	}
	return s.o.Start.Add(time.Duration(float64(t) / s.o.Tempo))
}

// all returns every advert of a half that has appeared by now, the removed ones too, in the order of the site: the last
// posted, bumped or returned first.
func (s *Site) all(h *half, now time.Time) []shown {
	t := s.elapsed(now)
	n := h.limit
	if more := int64(t / h.every); more < int64(h.limit-h.first) {
		n = h.first + int(more)
	}
	h.grow(n)
	h.mu.RLock()
	defer h.mu.RUnlock()
	list := make([]shown, 0, n+len(h.published))
	for k, home := range h.homes[:n] {
		list = append(list, h.fix(shown{home, s.state(h, k, t)}))
	}
	for _, p := range h.published {
		list = append(list, h.fix(shown{p.home, p.state()}))
	}
	order := make([]rank, len(list)) // small things are quick to sort
	for i := range list {
		order[i] = rank{list[i].sorted.UnixNano(), i}
	}
	slices.SortFunc(order, func(a, b rank) int { return cmp.Or(cmp.Compare(b.sorted, a.sorted), b.at-a.at) })
	out := make([]shown, len(list))
	for i, r := range order {
		out[i] = list[r.at]
	}
	return out
}

type rank struct {
	sorted int64
	at     int
}

// active returns the adverts of all without the removed ones.
func (s *Site) active(h *half, now time.Time) []shown {
	return slices.DeleteFunc(s.all(h, now), func(a shown) bool { return a.removed })
}

// one returns the advert of that ID as it is now, and false for an ID that has not appeared.
func (s *Site) one(h *half, id string, now time.Time) (shown, bool) {
	n, err := strconv.Atoi(id)
	if err != nil {
		return shown{}, false
	}
	k := n - firstID[h.platform]
	t := s.elapsed(now)
	if k >= 0 && k < h.limit && h.appears(k) <= t {
		h.grow(k + 1)
		h.mu.RLock()
		defer h.mu.RUnlock()
		return h.fix(shown{h.homes[k], s.state(h, k, t)}), true
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	if k -= publishedFrom; k >= 0 && k < len(h.published) {
		p := h.published[k]
		return h.fix(shown{p.home, p.state()}), true
	}
	return shown{}, false
}

// appears is when advert k does, by the inventory's clock.
func (h *half) appears(k int) time.Duration {
	return max(0, time.Duration(k-h.first+1)) * h.every
}

// grow makes the first n homes.
func (h *half) grow(n int) {
	h.mu.RLock()
	have := len(h.homes)
	h.mu.RUnlock()
	if have >= n {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for k := len(h.homes); k < n; k++ {
		made := h.newHome(k, k)
		if h.twin(k) {
			id, platform := made.id, made.platform
			*made = *h.twins.home(k)
			made.id, made.platform = id, platform
		}
		h.homes = append(h.homes, made)
	}
}

// twin tells whether advert k is of a home that another half shows too: the second, the seventh and so on.
func (h *half) twin(k int) bool { return h.twins != nil && k%5 == 1 && k < h.twins.limit }

// home is the home of advert k.
func (h *half) home(k int) *home {
	h.grow(k + 1)
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.homes[k]
}

// state is the state of advert k at t, by the clock.
func (s *Site) state(h *half, k int, t time.Duration) state {
	home := h.homes[k]
	d := h.dice(k)
	length := d.between(30*time.Minute, 60*time.Minute, 0, saltLength)
	origin := h.appears(k)
	st := state{appeared: s.at(origin).UTC()}
	if k < h.first { // these are in the middle of their first round, each elsewhere
		origin = -d.between(0, length, 0, saltPhase)
		st.sorted, st.posted = s.o.Start.Add(-time.Duration(k+1)*7*time.Minute).UTC(), home.dated
	} else {
		st.sorted, st.posted = st.appeared, st.appeared
	}
	round := int64((t - origin) / length)
	within := (t - origin) % length
	begin := origin + time.Duration(round)*length

	// price
	r := round
	if within < d.between(length/10, length*4/10, r, saltPrice) {
		r--
	}
	if st.cents = d.price(home.rent, r); st.cents < d.price(home.rent, r-1) {
		st.was = d.price(home.rent, r-1)
	}
	if h.twin(k) { // its landlord changes both
		h.twins.grow(k + 1)
		h.twins.mu.RLock()
		both := s.state(h.twins, k, t)
		h.twins.mu.RUnlock()
		st.cents, st.was = both.cents, both.was
	}
	// edit
	r = round
	if within < d.between(length*40/100, length*55/100, r, saltEdit) {
		r--
	}
	st.edit = r >= 0 && d.at(r, saltEdited)%2 == 0
	// bump, absence and return
	bump := d.between(length*55/100, length*70/100, round, saltBump)
	gone, back := d.absence(length, round)
	sorted := time.Duration(-1)
	switch _, last := d.absence(length, round-1); {
	case back > 0 && within >= back:
		sorted = begin + back
	case within >= bump:
		sorted = begin + bump
	case last > 0:
		sorted = begin - length + last
	case round > 0:
		sorted = begin - length + d.between(length*55/100, length*70/100, round-1, saltBump)
	}
	if sorted >= 0 { // no time before the start is known
		st.sorted = s.at(sorted).UTC()
	}
	st.removed = back > 0 && within >= gone && within < back
	return st
}

// absence is when an advert goes and comes back in a round, from its beginning; 0, 0 = it stays.
func (d dice) absence(length time.Duration, round int64) (gone, back time.Duration) {
	if round < 1 || d.at(round, saltAway)%2 == 0 {
		return 0, 0
	}
	gone = d.between(length*75/100, length*80/100, round, saltGone)
	return gone, gone + d.between(2*time.Minute, 6*time.Minute, round, saltBack)
}

// price is the price of a round, in steps of 5 $: within 6 % of the first, which holds before the first round.
func (d dice) price(cents, round int64) int64 {
	if cents == 0 || round < 0 {
		return cents
	}
	percent := [...]int64{-6, -4, -2, 0, 0, 2, 3}[d.at(round, saltPercent)%7]
	if percent == 0 {
		return cents
	}
	return max(500, (cents*(100+percent)/100+250)/500*500)
}

// fix lays the changes of Patch over a. The caller holds the lock.
func (h *half) fix(a shown) shown {
	f, ok := h.fixed[a.id]
	if !ok {
		return a
	}
	if f.title != nil {
		a.title = *f.title
	}
	if f.cents != nil {
		if a.cents, a.was = *f.cents, 0; f.was > a.cents {
			a.was = f.was
		}
	}
	if f.removed != nil {
		a.removed = *f.removed
	}
	if f.sorted.After(a.sorted) {
		a.sorted = f.sorted
	}
	return a
}

// Publish puts a new advert on top of a half's first page. It stays as it is until Patch changes it. At most 10,000 on
// each half.
func (s *Site) Publish(platform string) (Advert, error) {
	h, err := s.half(platform)
	if err != nil {
		return Advert{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	k := len(h.published)
	if k >= maxPublished {
		return Advert{}, fmt.Errorf("publish on %q: there are %d such adverts already", platform, k)
	}
	// Their texts come from the end of the corpus, so that they differ from those by the clock for as long as may be.
	p := published{h.newHome(publishedFrom+k, -1-k), s.o.Now().UTC()}
	h.published = append(h.published, p)
	return shown{p.home, p.state()}.advert(), nil
}

// Patch changes an advert, and returns it as it then is.
func (s *Site) Patch(platform, id string, c Change) (Advert, error) {
	h, err := s.half(platform)
	if err != nil {
		return Advert{}, err
	}
	switch {
	case c.PriceCents != nil && (*c.PriceCents < 1 || *c.PriceCents > 10_000_000):
		return Advert{}, fmt.Errorf("change %q: price_cents is %d; want 1 to 10000000", id, *c.PriceCents)
	case c.Title != nil && (*c.Title == "" || len([]rune(*c.Title)) > 200):
		return Advert{}, fmt.Errorf("change %q: title is empty or longer than 200 characters", id)
	}
	now := s.o.Now().UTC()
	before, ok := s.one(h, id, now)
	if !ok {
		return Advert{}, fmt.Errorf("change %q: %w", id, ErrUnknown)
	}
	h.mu.Lock()
	f := h.fixed[id]
	if c.PriceCents != nil {
		cents := *c.PriceCents
		f.cents, f.was = &cents, before.cents
	}
	if c.Title != nil {
		f.title = c.Title
	}
	if c.Removed != nil {
		f.removed = c.Removed
	}
	if c.Bump || c.Removed != nil && !*c.Removed && before.removed {
		f.sorted = now
	}
	h.fixed[id] = f
	h.mu.Unlock()
	after, _ := s.one(h, id, now)
	return after.advert(), nil
}

// Adverts returns the adverts of a half that have appeared, the removed ones too, in the order of the site.
func (s *Site) Adverts(platform string) ([]Advert, error) {
	h, err := s.half(platform)
	if err != nil {
		return nil, err
	}
	list := []Advert{}
	for _, a := range s.all(h, s.o.Now()) {
		list = append(list, a.advert())
	}
	return list, nil
}

// Advert returns one advert of a half, and ErrUnknown for one that has not appeared.
func (s *Site) Advert(platform, id string) (Advert, error) {
	h, err := s.half(platform)
	if err != nil {
		return Advert{}, err
	}
	a, ok := s.one(h, id, s.o.Now())
	if !ok {
		return Advert{}, fmt.Errorf("find %q: %w", id, ErrUnknown)
	}
	return a.advert(), nil
}

func (s *Site) half(platform string) (*half, error) {
	if h := s.halves[platform]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("platform %q: %w", platform, ErrUnknown)
}

func (h *half) dice(k int) dice { return dice{h.seed, uint64(k), uint64(firstID[h.platform])} }

// dice are thrown once: the same throw gives the same number for ever.
type dice struct{ seed, advert, platform uint64 }

const (
	saltLength = iota + 1
	saltPhase
	saltPrice
	saltPercent
	saltEdit
	saltEdited
	saltBump
	saltAway
	saltGone
	saltBack
	saltHome
)

// at is the number of one throw, evenly spread.
func (d dice) at(round int64, salt uint64) uint64 {
	x := mix(d.seed ^ mix(d.platform<<32|salt))
	return mix(mix(x^d.advert) ^ uint64(round))
}

// between is a duration from from up to, and without, to.
func (d dice) between(from, to time.Duration, round int64, salt uint64) time.Duration {
	return from + time.Duration(d.at(round, salt)%uint64(to-from))
}

// mix is a step of SplitMix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

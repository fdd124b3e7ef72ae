package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// The kinds of messages, and the outcome that each should have.
const (
	fresh     = "fresh"     // a new advert: a listing
	changed   = "changed"   // a known advert, another price: a new version, unless a newer one overtook it
	unchanged = "unchanged" // a known advert, scraped again: settled on arrival
	rejected  = "rejected"  // an advert without a rent: a dead letter
	invalid   = "invalid"   // a message that can never be understood: a dead letter
	poisoned  = "poisoned"  // a new advert, one of whose pictures costs too much: a listing with the others
	ahead     = "ahead"     // a new advert by a publisher whose clock is wrong: a listing
	corrected = "corrected" // such an advert by a publisher whose clock is right, another price: the newest version
	twin      = "twin"      // a new advert of a home, one of two: a listing, or a duplicate of the other
)

// clockAhead is how far such a clock is ahead: a message from further in the future is invalid.
const clockAhead = 59 * time.Minute

// A message is one publish of the flow. It is sent until it is confirmed, always under the same MessageId.
type message struct {
	id       string
	platform string // that it is published for; "" = kijiji
	body     []byte
	kind     string
	advert   string    // its platform ID, unlike those of other platforms; "" for an invalid one
	at       time.Time // scraped_at by a clock that is right; no two messages have the same
	rent     int64     // cents
	place    int       // adverts of one number are of one place; 0 = the advert's own
	images   []string

	sends       int
	confirmed   bool
	confirmedAt time.Time
}

// The flow makes the messages, publishes them and remembers all.
type flow struct {
	url   string
	hosts map[string]*host

	mu      sync.Mutex
	dice    *rand.Rand
	all     []*message
	newest  map[string]*message // by advert
	adverts []string
	future  []string // adverts that were published with a wrong date
	waiting []*message
	wake    chan struct{}
	blocked int // times that the broker would take no more

	conn     *amqp.Connection // of run alone, as are the next two
	ch       *amqp.Channel
	returned chan amqp.Return // messages that reached no queue
}

func newFlow(url string, hosts map[string]*host) *flow {
	return &flow{
		url: url, hosts: hosts, dice: rand.New(rand.NewPCG(*seed, 1)), newest: map[string]*message{},
		wake: make(chan struct{}, 1),
	}
}

// feed puts n messages into the queue of those to publish.
func (f *flow) feed(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range n {
		kind := fresh
		switch p := f.dice.IntN(100); {
		case p < 4:
			kind = invalid
		case p < 8:
			kind = rejected
		case len(f.adverts) < 10: // too few are known
		case p < 20:
			kind = changed
		case p < 32:
			kind = unchanged
		}
		f.add(kind)
	}
}

// probe publishes an advert by whose listing it is seen that work goes on.
func (f *flow) probe() *message {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.add(fresh)
}

// again publishes messages once more that only the broker had.
func (f *flow) again(lost func(m message) bool) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.all {
		if m.confirmed && lost(*m) {
			m.confirmed = false
			f.waiting = append(f.waiting, m)
			n++
		}
	}
	f.awake()
	return n
}

// kinds feeds messages of these kinds and returns them.
func (f *flow) kinds(kinds ...string) (list []*message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range kinds {
		list = append(list, f.add(kind))
	}
	return list
}

// correct publishes an honest version of every advert that was published with a wrong date, and says how many.
func (f *flow) correct() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for range f.future {
		f.add(corrected)
	}
	return len(f.future)
}

// trickle feeds n messages in small bursts until the time is up.
func (f *flow) trickle(ctx context.Context, n int, during time.Duration) {
	go func() { // ends with ctx
		began, fed := time.Now(), 0
		for pause(ctx, 500*time.Millisecond) {
			due := min(n, int(float64(n)*float64(time.Since(began))/float64(during)))
			if due-fed > 3 {
				f.feed(due - fed)
				fed = due
			}
		}
		f.feed(n - fed)
	}()
}

// put has a message published that is not of the flow's own making.
func (f *flow) put(m *message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all, f.waiting = append(f.all, m), append(f.waiting, m)
	f.awake()
}

// add makes one message. The caller holds the lock.
func (f *flow) add(kind string) *message {
	n := len(f.all) + 1
	m := &message{
		id: fmt.Sprintf("message-%d-%d", *seed, n), kind: kind,
		at: time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Second),
	}
	switch kind {
	case invalid:
		m.body = [][]byte{
			fmt.Appendf(nil, "<html>%d", n), fmt.Appendf(nil, `{"title":"%d"}`, n),
			fmt.Appendf(nil, `{"platform":"kijiji","platform_id":7,"url":"https://a.example/%d"}`, n),
		}[n%3]
	case fresh, rejected, poisoned:
		m.advert = fmt.Sprint(10_000_000 + n)
		m.rent = 90_000 + int64(f.dice.IntN(100))*1000
		m.images = f.pictures(m.advert, 1+f.dice.IntN(3))
		if kind == poisoned {
			m.images = append(m.images, f.hosts["poison"].url+"/"+m.advert+".jpg")
		}
		m.body = f.body(m)
		f.newest[m.advert] = m
		if kind == fresh {
			f.adverts = append(f.adverts, m.advert)
		}
	case twin:
		m.advert, m.at = fmt.Sprint(10_000_000+n), time.Now().UTC().Truncate(time.Millisecond)
		m.rent, m.images, m.place = 100_000+int64(n%50)*1000, []string{}, 10_000_000+n
		f.newest[m.advert] = m
	case changed, unchanged:
		m.advert = f.adverts[f.dice.IntN(len(f.adverts))]
		before := f.newest[m.advert]
		m.rent, m.images = before.rent, before.images
		if kind == changed {
			m.rent += 5000
			if f.dice.IntN(2) == 0 { // its pictures too: the first is gone, another one is new
				m.images = append(m.images[1:len(m.images):len(m.images)], f.pictures(fmt.Sprint(m.advert, "-", n), 1)...)
			}
		}
		m.body = f.body(m)
		f.newest[m.advert] = m
	case ahead:
		m.advert, m.at = fmt.Sprint(10_000_000+n), time.Now().UTC().Truncate(time.Millisecond)
		m.rent, m.images = 150_000, f.pictures(m.advert, 1)
		m.body = f.body(m)
		f.newest[m.advert], f.future = m, append(f.future, m.advert)
	case corrected: // of the one whose turn it is
		m.advert, m.at = f.future[0], time.Now().UTC().Truncate(time.Millisecond)
		before := f.newest[m.advert]
		m.rent, m.images = before.rent-5000, before.images
		m.body = f.body(m)
		f.newest[m.advert], f.future = m, append(f.future[1:], m.advert)
	}
	f.all = append(f.all, m)
	f.waiting = append(f.waiting, m)
	f.awake()
	return m
}

func (f *flow) awake() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// pictures are n addresses at some of the hosts.
func (f *flow) pictures(name string, n int) []string {
	share := []string{"well", "well", "well", "better", "better", "better", "slow", "moody", "empty"}
	var urls []string
	for i := range n {
		urls = append(urls, fmt.Sprintf("%s/%s/%d.png", f.hosts[share[f.dice.IntN(len(share))]].url, name, i))
	}
	return urls
}

// body writes an advert. Each lies a hundred metres or more from all of other places, or some would be the same home.
func (f *flow) body(m *message) []byte {
	n := m.place
	if n == 0 {
		_, _ = fmt.Sscan(m.advert, &n) // it is a number
	}
	platform := cmp.Or(m.platform, "kijiji")
	word := strings.Map(func(digit rune) rune { return digit - '0' + 'k' }, fmt.Sprint(n)) // no telephone number
	price := map[string]any{"amount_cents": m.rent, "type": "FIXED"}
	if m.kind == rejected {
		price = map[string]any{"type": "CONTACT"}
	}
	scraped := m.at
	if m.kind == ahead {
		scraped = scraped.Add(clockAhead)
	}
	body, err := json.Marshal(map[string]any{
		"platform": platform, "platform_id": m.advert, "url": "https://www." + platform + ".example/" + m.advert,
		"scraped_at": scraped, "title": "Grand 4 ½ rénové près du métro " + m.advert,
		"description": "<p>Deux chambres fermées, chauffé, éclairé, " + word + ".</p>", "price": price,
		"latitude": 45.40 + float64(n%400)*.001, "longitude": -73.95 + float64(n/400%400)*.0015,
		"attributes": map[string]any{"numberbedrooms": []string{"2"}, "bedroomcount": []string{"2"}}, "image_urls": m.images,
		"contact": map[string]any{"name": "Jo", "phone": "514 555 0199"},
	})
	if err != nil {
		panic(err)
	}
	return body
}

// run publishes the waiting messages until ctx ends, in the order in which they were made.
func (f *flow) run(ctx context.Context) {
	defer f.hangUp()
	for ctx.Err() == nil {
		f.mu.Lock()
		batch := f.waiting[:min(5, len(f.waiting))]
		f.mu.Unlock()
		if len(batch) == 0 {
			select {
			case <-f.wake:
			case <-ctx.Done():
			}
			continue
		}
		if err := f.publish(ctx, batch); err != nil { // the broker is down, and will come back
			f.hangUp()
			pause(ctx, 100*time.Millisecond)
			continue
		}
		f.mu.Lock()
		f.waiting = f.waiting[len(batch):]
		f.mu.Unlock()
		pause(ctx, 20*time.Millisecond) // a flow, not a flood
	}
}

// patience is how long the broker may take to confirm. One that is out of memory takes longer: then all of it is sent
// again, on another connection.
const patience = 10 * time.Second

// publish returns nil when the broker has confirmed every message that it had not before.
func (f *flow) publish(ctx context.Context, batch []*message) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := f.dial(); err != nil {
		return err
	}
	confirms := make([]*amqp.DeferredConfirmation, len(batch))
	for i, m := range batch {
		if m.confirmed {
			continue
		}
		f.mu.Lock()
		m.sends++
		f.mu.Unlock()
		var err error
		confirms[i], err = f.ch.PublishWithDeferredConfirmWithContext(ctx, "scraped", cmp.Or(m.platform, "kijiji"), true, false,
			amqp.Publishing{MessageId: m.id, DeliveryMode: amqp.Persistent, ContentType: "application/json", Body: m.body})
		if err != nil {
			return err
		}
	}
	for i, c := range confirms {
		if c == nil {
			continue
		}
		if ok, err := c.WaitContext(ctx); err != nil || !ok || len(f.returned) > 0 {
			return errors.Join(errors.New("not confirmed"), err)
		}
		f.mu.Lock()
		batch[i].confirmed, batch[i].confirmedAt = true, time.Now()
		f.mu.Unlock()
	}
	return nil
}

func (f *flow) dial() (err error) {
	if f.ch != nil && !f.ch.IsClosed() {
		return nil
	}
	f.hangUp()
	if f.conn, err = dialAs("scraper", f.url); err != nil {
		return err
	}
	blocks := f.conn.NotifyBlocked(make(chan amqp.Blocking, 1))
	go func() { // ends with the connection
		for b := range blocks {
			if b.Active {
				f.mu.Lock()
				f.blocked++
				f.mu.Unlock()
			}
		}
	}()
	if f.ch, err = f.conn.Channel(); err != nil {
		return err
	}
	f.returned = f.ch.NotifyReturn(make(chan amqp.Return, 5))
	return f.ch.Confirm(false)
}

// hangUp drops the connection. A broker that is out of memory does not listen, and is not waited for.
func (f *flow) hangUp() {
	if f.conn != nil {
		_ = f.conn.CloseDeadline(time.Now().Add(100 * time.Millisecond))
	}
	f.conn, f.ch = nil, nil
}

// snapshot is the journal as it stands.
func (f *flow) snapshot() []message {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]message, len(f.all))
	for i, m := range f.all {
		out[i] = *m
	}
	return out
}

// blocks says how often the broker would take no more.
func (f *flow) blocks() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blocked
}

// unconfirmed says how many messages the broker has not taken yet.
func (f *flow) unconfirmed() (n int) {
	for _, m := range f.snapshot() {
		if !m.confirmed {
			n++
		}
	}
	return n
}

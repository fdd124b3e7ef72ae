package faults

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/notify/smtptest"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// savedBreaks are the faults that meet saved searches.
func savedBreaks(h *hooks) []fault {
	return []fault{
		{"kill -9 api", 1, func(w *world) (string, error) { return w.kill("api") }},
		{"kill -9 bridge", 1, func(w *world) (string, error) { return w.kill("bridge") }},
		{"kill -9 worker", 1, func(w *world) (string, error) { return w.kill("worker") }},
		{"kill -9 worker, compared but not committed", 1, func(w *world) (string, error) {
			return w.killAt("worker", "saved_matches", "INSERT INTO saved_matches", true)
		}},
		{"kill -9 workers, a notice sent but not recorded", 1, func(w *world) (string, error) {
			return "", h.struck(w, func() (err error) {
				for _, r := range w.of("worker") {
					err = errors.Join(err, r.signal(syscall.SIGKILL))
				}
				return err
			})
		}},
		{"RabbitMQ killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.RabbitMQ, true) }},
		{"Temporal killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Temporal, true) }},
		{"Postgres backends terminated", 1, terminateBackends},
		{"Postgres killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Postgres, true) }},
		{"Redis killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Redis, true) }},
		{"our Postgres killed -9, Temporal's works", 0, appDatabaseAway},
		{"our Postgres frozen, Temporal's works", 0, appDatabaseFrozen},
		{"worker frozen", 0, func(w *world) (string, error) { return w.freeze("worker") }},
	}
}

// A watcher is a saved search, and what it is about in plain words of ours.
type watcher struct {
	name   string
	tenant string
	filter string // as the API takes it
	fits   func(l *flat, rent int64) bool
	kinds  []string
	pace   string
	paused bool
	hook   string // path; "" for none
	mail   string // address; "" for none
	chat   string // "" for none
	feed   bool

	id      string
	since   time.Time
	targets map[string]string // hook, mail and chat, by the ID of the target
	news    string            // path of its feed
}

var allKinds = []string{"new", "price_drop", "back"}

// The middle of the adverts, and how far some searches look.
const (
	middleLat, middleLon = 45.4805, -73.6205
	nearMetres           = 1500.0
	reachLat, reachLon   = .021, .031
)

// watchers are the searches of a run but the last one, which is saved when there are adverts.
func watchers() []*watcher {
	cheap := func(_ *flat, rent int64) bool { return rent <= 1500_00 }
	return []*watcher{
		{
			name: "cheap", tenant: "acme", filter: `{"max_price":1500,"bedrooms":[2]}`, kinds: allKinds, hook: "/steady/cheap",
			mail: "cheap@example.org", chat: "101", feed: true, fits: func(l *flat, rent int64) bool { return cheap(l, rent) && l.bedrooms == 2 },
		},
		{ // a square on its corner
			name: "moody", tenant: "acme", kinds: allKinds, hook: "/moody/polygon", filter: fmt.Sprintf(
				`{"polygon":[[%f,%f],[%f,%f],[%f,%f],[%f,%f]]}`, middleLon-reachLon, middleLat, middleLon, middleLat-reachLat,
				middleLon+reachLon, middleLat, middleLon, middleLat+reachLat),
			fits: func(l *flat, _ int64) bool {
				return math.Abs(l.lat-middleLat)/reachLat+math.Abs(l.lon-middleLon)/reachLon <= 1
			},
		},
		{
			name: "stuck", tenant: "acme", kinds: allKinds, hook: "/stuck/near", chat: "102", filter: fmt.Sprintf(
				`{"near":{"latitude":%f,"longitude":%f,"metres":%f}}`, middleLat, middleLon, nearMetres),
			fits: func(l *flat, _ int64) bool {
				const degree = 111_195
				return math.Hypot((l.lat-middleLat)*degree,
					(l.lon-middleLon)*degree*math.Cos(middleLat*math.Pi/180)) <= nearMetres
			},
		},
		{
			name: "words", tenant: "acme", filter: `{"text":"piscine"}`, kinds: allKinds[1:], hook: "/moody/words", feed: true,
			fits: func(l *flat, _ int64) bool { return strings.Contains(l.title, "piscine") },
		},
		{
			name: "hourly", tenant: "acme", filter: `{}`, kinds: allKinds, pace: "hourly", hook: "/moody/hourly",
			mail: "hourly@example.org", fits: func(*flat, int64) bool { return true },
		},
		{
			name: "dear", tenant: "other", filter: `{"min_price":1500}`, kinds: allKinds[2:], hook: "/steady/dear", feed: true,
			mail: "dear@example.org", fits: func(_ *flat, rent int64) bool { return rent >= 1500_00 },
		},
		{name: "paused", tenant: "other", filter: `{}`, kinds: allKinds, hook: "/steady/paused", paused: true, fits: cheap},
	}
}

// A flat is an advert of the script.
type flat struct {
	id       string
	rent     int64 // cents
	title    string
	lat, lon float64
	bedrooms int
}

// A market is the script: what is published, one thing after the other.
type market struct {
	*world
	sync.Mutex                 // for all below
	flats      map[string]flat // as they were published last, by ID
	edits      []edit
	n          int
}

// An edit is a change of an advert, but for its rent.
type edit struct {
	listing string // ID
	at      time.Time
	before  flat
}

// between is how long it takes from one advert to the next, so that they come while faults strike.
const between = 200 * time.Millisecond

// publish publishes n new adverts that lie far apart, and returns their IDs. Those that were scraped long ago are stale.
func (m *market) publish(n int, scraped time.Duration) (ids []string) {
	for range n {
		m.Lock()
		f := m.next()
		f.title, f.bedrooms, f.rent = "Beau logement lumineux "+f.id, 2+m.n%3/2, 1200_00+int64(m.n*37%8)*100_00
		if m.n%2 == 0 {
			f.title += " avec piscine"
		}
		k := m.n * 37 % 1000
		f.lat, f.lon = middleLat-.02+float64(k%40)*.001, middleLon-.03+float64(k/40)*.0025
		m.put(f, time.Now().Add(-scraped))
		m.Unlock()
		pause(m.ctx, between)
		ids = append(ids, f.id)
	}
	return ids
}

func (m *market) next() flat {
	m.n++
	return flat{id: fmt.Sprint(30_000_000 + m.n)}
}

// repost publishes an advert anew, under another ID.
func (m *market) repost(id string) {
	pause(m.ctx, between)
	m.Lock()
	defer m.Unlock()
	f := m.flats[id]
	f.id = m.next().id
	m.put(f, time.Now())
}

// price publishes an advert with another rent, or as it was.
func (m *market) price(id string, change int64) {
	pause(m.ctx, between)
	m.Lock()
	defer m.Unlock()
	f := m.flats[id]
	f.rent += change
	m.put(f, time.Now())
}

// edit publishes an advert with another number of bedrooms, every third also with a pool.
func (m *market) edit(id string) {
	pause(m.ctx, between)
	m.Lock()
	defer m.Unlock()
	f := m.flats[id]
	ref := listing.Ref{Platform: "kijiji", PlatformID: id}
	m.edits = append(m.edits, edit{ref.ID().String(), time.Now(), f})
	if f.bedrooms = 5 - f.bedrooms; len(m.edits)%3 == 0 {
		f.title += " et grande piscine"
	}
	m.put(f, time.Now())
}

// put hands a message to the flow, which publishes it until it is confirmed.
func (m *market) put(f flat, scraped time.Time) {
	scraped = scraped.UTC().Truncate(time.Millisecond)
	body, err := json.Marshal(map[string]any{
		"platform": "kijiji", "platform_id": f.id, "url": "https://www.kijiji.ca/v-appartement/" + f.id,
		"scraped_at": scraped, "title": f.title, "description": "<p>Chauffé, éclairé.</p>",
		"price":    map[string]any{"amount_cents": f.rent, "type": "FIXED"},
		"latitude": f.lat, "longitude": f.lon, "image_urls": []string{},
		"attributes": map[string]any{"numberbedrooms": []string{fmt.Sprint(f.bedrooms)}},
	})
	if err != nil {
		panic(err)
	}
	m.flats[f.id] = f
	m.flow.put(&message{
		id: "saved-" + uuid.NewString(), kind: fresh, advert: f.id, at: scraped, rent: f.rent, body: body,
	})
}

// Under faults, each saved search is told exactly what is due to it by the history of the listings, each thing once.
func TestTheLedgerOfSavedSearchesBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with the other short ones
	h := newHooks()
	door := httptest.NewServer(h)
	t.Cleanup(door.Close)
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	post, chats := smtptest.New(t, smtptest.Options{}), &chatroom{
		dice: mathrand.New(mathrand.NewPCG(*seed, 15)), asked: map[string]int{}, links: map[string]string{},
	}
	telegram := httptest.NewServer(chats)
	t.Cleanup(telegram.Close)
	w := newWorld(t, nil, "CONVEYOR_SMTP_URL=smtp://"+post.Address, "CONVEYOR_SMTP_FROM=Homes <homes@conveyor.example>",
		"CONVEYOR_TELEGRAM_URL="+telegram.URL, "CONVEYOR_TELEGRAM_TOKEN=1:0123456789abcdef", "CONVEYOR_IMAGES=false",
		"CONVEYOR_WEBHOOK_PRIVATE_HOSTS="+strings.TrimPrefix(door.URL, "http://"),
		"CONVEYOR_SECRET_KEYS=k1:"+base64.StdEncoding.EncodeToString(key), "CONVEYOR_API_WRITE_RATE=0")
	m := &market{world: w, flats: map[string]flat{}}
	w.tempt = func() { m.publish(1, 0) }
	for _, id := range []string{"acme", "other"} {
		require.NoError(t, db.NewTenants(w.db).Create(w.ctx,
			db.Tenant{ID: id, Name: id, Tier: campaign.Standard, CreatedAt: time.Now()}, "test"))
	}
	all := watchers()
	for _, s := range all {
		require.NoError(t, w.saveSearch(s, door.URL, h))
		if s.mail != "" {
			require.NoError(t, w.confirm(post, s.mail))
		}
		if s.chat != "" {
			require.NoError(t, w.confirmChat(chats, s.chat))
		}
	}
	post.Play(mishaps()...)
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	left := slices.DeleteFunc(savedBreaks(h), func(f fault) bool {
		return f.short == 0 && !*long || !strings.Contains(f.name, *only)
	})
	mathrand.New(mathrand.NewPCG(*seed, 9)).Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
	rounds := 1
	if *long {
		rounds = 6
	}
	w.say("seed %d: %d searches", *seed, len(all))
	for n := range rounds {
		if err := m.round(l, &left, n == rounds-1, func() {
			if n > 0 {
				return
			}
			late := &watcher{
				name: "late", tenant: "acme", filter: `{"max_price":2000}`, kinds: allKinds, hook: "/steady/late",
				mail: "late@example.org", fits: func(_ *flat, rent int64) bool { return rent <= 2000_00 },
			}
			require.NoError(t, w.saveSearch(late, door.URL, h))
			require.NoError(t, w.confirm(post, late.mail))
			all = append(all, late)
		}); err != nil {
			l.Wrong = append(l.Wrong, err.Error())
			break
		}
	}
	if err := w.toldAll(); err != nil {
		l.Wrong = append(l.Wrong, err.Error())
	}
	b, err := w.savedBooks(all, m.edits)
	w.rest(l)
	if err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	b.calls = slices.Concat(h.seen(), mailed(post.Taken()), chats.seen())
	l.missed(left)
	l.saved(b)
	l.workflows(w)
	l.processes(w)
	l.close(w)
}

// round publishes adverts, changes their rents, edits some, posts some anew, archives some and brings them back; after
// each of these nothing changes until all of it is compared, so that each event is compared with the listing as it was
// then. Faults strike meanwhile: their share, or all that is left. saved is called between adverts and prices.
func (m *market) round(l *Ledger, left *[]fault, last bool, saved func()) error {
	share := (len(*left) + 4) / 5
	if !last {
		share = min(1, share)
	}
	step := func(what string, change func()) error {
		m.say("%s", what)
		var changing sync.WaitGroup
		changing.Go(change)
		for range min(share, len(*left)) {
			f := (*left)[0]
			*left = (*left)[1:]
			m.suffer(f, l)
		}
		changing.Wait()
		if err := m.compared(); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	var here, stale []string
	if err := step("adverts are published", func() { here, stale = m.publish(14, 0), m.publish(5, 100*time.Hour) }); err != nil {
		return err
	}
	saved()
	if err := step("rents change", func() {
		for i, id := range here {
			m.price(id, []int64{-100_00, -100_00, 0, 150_00, -250_00, 0, -50_00}[i%7])
		}
	}); err != nil {
		return err
	}
	if err := m.strikeHour(); err != nil {
		return err
	}
	if err := step("adverts are edited", func() {
		for _, id := range here[3:] {
			m.edit(id)
		}
	}); err != nil {
		return err
	}
	if err := step("listings are archived, adverts posted anew", func() {
		for _, id := range here[:3] {
			m.repost(id)
		}
	}); err != nil {
		return err
	}
	if err := m.archive(stale); err != nil {
		return err
	}
	if err := step("listings are back, rents fall", func() {
		for _, id := range stale {
			m.price(id, 0)
		}
		for _, id := range here[4:9] {
			m.price(id, -75_00)
		}
		// They have no new revision, by which it would be seen that they are under way.
		if err := m.listed(stale, false); err != nil {
			l.Wrong = append(l.Wrong, err.Error())
		}
	}); err != nil {
		return err
	}
	return m.strikeHour()
}

// stepWithin is the patience for one step: with everything down at its begin.
func stepWithin() time.Duration { return 2 * servicetest.Patience() }

const sqlUncompared = `
SELECT (SELECT count(*) FROM raw_listings WHERE settled_revision < revision) + (SELECT count(*) FROM saved_queue)`

// compared waits until every advert is through the pipeline, and what that changed is compared with the searches.
func (w *world) compared() error {
	left := ""
	err := eventually(w.ctx, stepWithin(), func() bool {
		left = w.uncompared()
		return left == ""
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, left)
	}
	return nil
}

func (w *world) uncompared() string {
	if n := w.flow.unconfirmed(); n > 0 {
		return fmt.Sprint(n, " messages to be confirmed")
	}
	raws, err := table[raw](w, sqlRaws)
	if err != nil {
		return err.Error()
	}
	stored := map[string]time.Time{}
	for _, r := range raws {
		stored[r.PlatformID] = r.LastAt
	}
	for _, m := range w.flow.snapshot() {
		if stored[m.advert].Before(m.at) {
			return m.advert + " is not stored"
		}
	}
	var n int
	if err := w.db.QueryRow(w.ctx, sqlUncompared).Scan(&n); err != nil || n > 0 {
		return fmt.Sprintf("%d adverts and events under way: %v", n, err)
	}
	return ""
}

// archive checks for stale listings until these are archived.
func (w *world) archive(ids []string) error {
	return w.listed(ids, true, func() {
		_ = w.send(http.MethodPost, "/staleness/run", "", nil) // one may be under way, or the API away
	})
}

// listed waits until all of these listings are archived, or none is; again is done before each look.
func (w *world) listed(ids []string, archived bool, again ...func()) error {
	return eventually(w.ctx, stepWithin(), func() bool {
		for _, do := range again {
			do()
		}
		var n int
		err := w.db.QueryRow(w.ctx, "SELECT count(*) FROM listings WHERE platform_id = ANY ($1) AND (status = 'archived') = $2",
			ids, archived).Scan(&n)
		return err == nil && n == len(ids) && pause(w.ctx, 500*time.Millisecond)
	})
}

// strikeHour makes digests due that wait: an hour cannot be waited for.
func (w *world) strikeHour() error {
	var n int64
	err := eventually(w.ctx, servicetest.Patience(), func() bool {
		return w.everyTenant(func(ctx context.Context, tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, "UPDATE saved_deliveries SET due_at = now() WHERE state = 'waiting' AND due_at > now()")
			n = tag.RowsAffected()
			return err
		}) == nil
	})
	w.say("the hour strikes: %d digests", n)
	return err
}

const sqlUntold = `SELECT count(*) FROM saved_deliveries WHERE state IN ('waiting', 'started')`

// triesWithin is how long a delivery may take whose tries were used up by faults: the sixth comes 405 s after the fifth.
func triesWithin() time.Duration { return 405*time.Second + 2*servicetest.Patience() }

// toldAll waits until every delivery has ended.
func (w *world) toldAll() error {
	n := -1
	if err := eventually(w.ctx, triesWithin(), func() bool {
		err := w.everyTenant(func(ctx context.Context, tx pgx.Tx) error { return tx.QueryRow(ctx, sqlUntold).Scan(&n) })
		return err == nil && n == 0
	}); err != nil {
		return fmt.Errorf("%d deliveries have not ended: %w", n, err)
	}
	return nil
}

// challenged waits until the webhook of a search is confirmed.
func (w *world) challenged(s *watcher) error {
	return eventually(w.ctx, servicetest.Patience(), func() bool {
		var got struct {
			Targets []struct{ Kind, State string }
		}
		if w.send(http.MethodGet, "/searches/"+s.id+"?tenant="+s.tenant, "", &got) != nil {
			return false
		}
		return !slices.ContainsFunc(got.Targets, func(t struct{ Kind, State string }) bool {
			return t.Kind == "webhook" && t.State != "active"
		})
	})
}

// saveSearch saves a search by the API, which may be starting: a name is there once.
func (w *world) saveSearch(s *watcher, hooks string, h *hooks) error {
	targets := []string{}
	if s.hook != "" {
		targets = append(targets, fmt.Sprintf(`{"kind":"webhook","url":%q}`, hooks+s.hook))
	}
	if s.mail != "" {
		targets = append(targets, fmt.Sprintf(`{"kind":"email","email":%q}`, s.mail))
	}
	if s.chat != "" {
		targets = append(targets, fmt.Sprintf(`{"kind":"telegram","chat":%q}`, s.chat))
	}
	if s.feed {
		targets = append(targets, `{"kind":"feed"}`)
	}
	body := fmt.Sprintf(`{"name":%q,"filter":%s,"kinds":["%s"],"schedule":{"pace":%q},"targets":[%s]}`, s.name, s.filter,
		strings.Join(s.kinds, `","`), cmp.Or(s.pace, "at_once"), strings.Join(targets, ","))
	var made struct {
		ID        string
		CreatedAt time.Time `json:"created_at"`
		Targets   []struct {
			ID, Kind, Secret string
			JSONURL          string `json:"json_url"`
		}
	}
	var refused error
	if err := eventually(w.ctx, servicetest.Patience(), func() bool {
		refused = w.send(http.MethodPost, "/searches?tenant="+s.tenant, body, &made)
		return refused == nil || strings.HasPrefix(refused.Error(), "4")
	}); err != nil || refused != nil {
		return fmt.Errorf("save %s: %w", s.name, errors.Join(refused, err))
	}
	s.id, s.since, s.targets = made.ID, made.CreatedAt, map[string]string{}
	for _, t := range made.Targets {
		switch t.Kind {
		case "feed":
			s.news = t.JSONURL
		case "email":
			s.targets[t.ID] = s.mail
		case "telegram":
			s.targets[t.ID] = s.chat
		default:
			s.targets[t.ID] = s.hook
			h.mu.Lock()
			h.secrets[s.hook] = t.Secret
			h.mu.Unlock()
		}
	}
	if err := w.challenged(s); err != nil {
		return fmt.Errorf("the webhook of %s is not confirmed: %w", s.name, err)
	}
	if !s.paused {
		return nil
	}
	return w.send(http.MethodPatch, "/searches/"+s.id+"?tenant="+s.tenant, `{"state":"paused"}`, nil)
}

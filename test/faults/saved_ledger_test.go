package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// savedBooks are what became of saved searches.
type savedBooks struct {
	searches []*watcher
	events   []happened
	items    []savedItem
	calls    []hookCall
	feeds    map[string][]hookItem // by search
}

// happened is an event of a listing. Title and bedrooms are those that the listing has at last: an advert is edited once.
type happened struct {
	ID       int64
	Listing  string
	Home     string
	Kind     string
	At       time.Time
	Old, New int64 // rent
	Status   string
	Title    string
	Bedrooms int
	Lat, Lon float64

	before *flat // of "edited"
}

// savedItem is an event in a delivery.
type savedItem struct {
	Target   string
	Event    int64
	Delivery string
	State    string
}

const (
	sqlHappened = `
SELECT e.id, l.id::text, coalesce(h.home_id, l.id)::text, e.kind, e.at, coalesce(e.old_rent_cents, 0),
    coalesce(e.new_rent_cents, 0), coalesce(e.new_status, ''), l.title, l.bedrooms, l.latitude, l.longitude
FROM listing_events e JOIN listings l ON l.id = e.listing_id LEFT JOIN home_members h ON h.listing_id = l.id
ORDER BY e.id`

	// The numbers of edits that anything was told of: they have no other history.
	sqlEditTold = `
SELECT min(m.event), m.listing::text FROM saved_matches m
WHERE NOT EXISTS (SELECT FROM listing_events e WHERE e.id = m.event) GROUP BY 2`

	sqlSavedItem = `
SELECT i.target::text, i.event, i.delivery::text, d.state FROM saved_items i JOIN saved_deliveries d ON d.id = i.delivery`
)

// savedBooks reads everything that there is of them, but for what webhooks have seen.
func (w *world) savedBooks(searches []*watcher, edits []edit) (b savedBooks, err error) {
	b.searches, b.feeds = searches, map[string][]hookItem{}
	if b.events, err = table[happened](w, sqlHappened); err != nil {
		return b, err
	}
	numbers := map[string]int64{} // of edits, by listing
	if err = w.everyTenant(func(ctx context.Context, tx pgx.Tx) (err error) {
		rows, _ := tx.Query(ctx, sqlEditTold)
		var event int64
		var listing string
		if _, err = pgx.ForEachRow(rows, []any{&event, &listing}, func() error {
			numbers[listing] = event
			return nil
		}); err != nil {
			return err
		}
		rows, _ = tx.Query(ctx, sqlSavedItem)
		b.items, err = pgx.CollectRows(rows, pgx.RowToStructByPos[savedItem])
		return err
	}); err != nil {
		return b, err
	}
	b.events = withEdits(b.events, edits, numbers)
	for _, s := range searches {
		if !s.feed {
			continue
		}
		var feed struct {
			Items []struct {
				Home hookItem `json:"_conveyor"`
			}
		}
		path := strings.TrimPrefix(s.news, w.vars["CONVEYOR_API_URL"])
		if err := eventually(w.ctx, servicetest.Patience(), func() bool {
			return w.send(http.MethodGet, path, "", &feed) == nil
		}); err != nil {
			return b, fmt.Errorf("read the feed of %s: %w", s.name, err)
		}
		for _, i := range slices.Backward(feed.Items) {
			b.feeds[s.name] = append(b.feeds[s.name], i.Home)
		}
	}
	return b, nil
}

// withEdits puts the edits of adverts among the events of their listings: those that something was told of by their
// numbers, the others by their time.
func withEdits(events []happened, edits []edit, numbers map[string]int64) []happened {
	for i, x := range edits {
		n := slices.IndexFunc(events, func(e happened) bool { return e.Listing == x.listing })
		if n < 0 {
			continue // it was never published: other rows say so
		}
		e := events[n]
		e.Kind, e.At, e.before = "edited", x.at, &x.before
		id, told := numbers[x.listing]
		place := slices.IndexFunc(events, func(o happened) bool { return told && o.ID > id || !told && o.At.After(x.at) })
		if e.ID = id; !told {
			e.ID = int64(-1 - i)
		}
		if place < 0 {
			place = len(events)
		}
		events = slices.Insert(events, place, e)
	}
	return events
}

// A due is what a search must be told of an event.
type due struct {
	hookItem

	event int64
	home  string
}

// duesOf goes through the history of the listings, and says what is due to a search, in the order of the events: a home
// that it was not told of and that comes into its view, by its rent or an edit, is new; a rent that falls and is not the
// one that it was told of last is a price drop; what was archived and is offered again is back.
func duesOf(s *watcher, events []happened) (list []due) {
	rent, published := map[string]int64{}, map[string]time.Time{} // of listings
	last := map[string]int64{}                                    // rent that a home was told of with
	edited := map[string]happened{}                               // of listings
	for _, e := range events {
		if e.Kind == "edited" {
			edited[e.Listing] = e
		}
	}
	for _, e := range events {
		if e.Kind == "created" || e.Kind == "price" {
			rent[e.Listing] = e.New
		}
		if e.Kind == "created" {
			published[e.Listing] = e.At
		}
		now, l := rent[e.Listing], &flat{title: e.Title, bedrooms: e.Bedrooms, lat: e.Lat, lon: e.Lon}
		if x := edited[e.Listing]; e.At.Before(x.At) {
			l = x.before
		}
		told, known := last[e.Home]
		var may []string // as what it may be told, the first that the search wants
		switch {
		case s.paused, e.At.Before(s.since), e.Kind == "status" && e.Status != "active", !s.fits(l, now):
		case e.Kind == "edited" && !known && !s.fits(e.before, now):
			may = []string{"new"}
		case e.Kind == "created" && !known:
			may = []string{"new"}
		case e.Kind == "created" && now < told:
			may = []string{"price_drop"}
		case e.Kind == "price" && !known && !s.fits(l, e.Old):
			may = []string{"new"}
			if now < e.Old {
				may = []string{"new", "price_drop"}
			}
		case e.Kind == "price" && now < e.Old && (!known || now != told):
			may = []string{"price_drop"}
		case e.Kind == "status" && !known && !published[e.Listing].Before(s.since):
			may = []string{"new", "back"}
		case e.Kind == "status":
			may = []string{"back"}
		}
		for _, kind := range may {
			if slices.Contains(s.kinds, kind) {
				list = append(list, due{hookItem{kind, e.Listing, now}, e.ID, e.Home})
				last[e.Home] = now
				break
			}
		}
	}
	return list
}

// together makes one item of those of a home, as a notice has them: its newest advert and rent, and new where it was
// new.
func together(dues []due) (out []hookItem) {
	at := map[string]int{}
	for _, d := range dues {
		i, known := at[d.home]
		if !known {
			at[d.home] = len(out)
			out = append(out, d.hookItem)
			continue
		}
		if out[i].Kind == "new" {
			d.Kind = "new"
		}
		out[i] = d.hookItem
	}
	return out
}

// saved compares what webhooks and feeds were told with what was due.
func (l *Ledger) saved(b savedBooks) {
	var left, foreign, twice, untold, unknown, forged, other, unsaid, feeds []string
	kinds := map[string]int{}
	target, paths := map[string]*watcher{}, map[string]string{} // of targets; of deliveries
	dues := map[string]map[int64]due{}                          // by target and event
	total := 0
	for _, s := range b.searches {
		list := duesOf(s, b.events)
		for _, d := range list {
			kinds[d.Kind]++
		}
		for id := range s.targets {
			total += len(list)
			target[id], dues[id] = s, map[int64]due{}
			for _, d := range list {
				dues[id][d.event] = d
			}
		}
		if s.feed {
			var want []hookItem
			for _, d := range list[max(0, len(list)-100):] {
				want = append(want, d.hookItem)
			}
			if !slices.Equal(want, b.feeds[s.name]) {
				feeds = append(feeds, fmt.Sprintf("%s: %v instead of %v", s.name, b.feeds[s.name], want))
			}
		}
	}
	parts, states := map[string][]due{}, map[string]string{} // of deliveries
	delivered := map[string]bool{}
	for _, i := range b.items {
		s := target[i.Target]
		if s == nil {
			foreign = append(foreign, i.Target+" is no target of ours")
			continue
		}
		key := fmt.Sprintf("%s at %s: event %d", s.name, s.targets[i.Target], i.Event)
		d, ok := dues[i.Target][i.Event]
		if !ok {
			foreign = append(foreign, key)
			continue
		}
		if delivered[key] {
			twice = append(twice, key)
		}
		delivered[key] = true
		parts[i.Delivery], states[i.Delivery], paths[i.Delivery] = append(parts[i.Delivery], d), i.State, s.targets[i.Target]
	}
	for id, events := range dues {
		for event, d := range events {
			s := target[id]
			if key := fmt.Sprintf("%s at %s: event %d", s.name, s.targets[id], event); !delivered[key] {
				left = append(left, fmt.Sprintf("%s (%s)", key, d.Kind))
			}
		}
	}
	for _, list := range parts {
		slices.SortFunc(list, func(a, b due) int { return int(a.event - b.event) })
	}
	assign(b.calls, parts, paths)
	taken, answered, repeated := map[string]bool{}, map[string]bool{}, 0
	for _, c := range b.calls {
		switch {
		case !c.signed:
			forged = append(forged, c.delivery)
		case paths[c.delivery] != c.path:
			unknown = append(unknown, fmt.Sprintf("%s at %s", c.delivery, c.path))
		}
		if want := together(parts[c.delivery]); !slices.Equal(want, c.items) {
			other = append(other, fmt.Sprintf("%s at %s: %v instead of %v", c.delivery, c.path, c.items, want))
		}
		if taken[c.delivery] {
			repeated++
		}
		taken[c.delivery] = taken[c.delivery] || c.taken
		answered[c.delivery] = answered[c.delivery] || c.answered
	}
	told := 0
	for id, list := range parts {
		switch {
		case !taken[id]:
			untold = append(untold, fmt.Sprintf("%s at %s, which is %s", id, paths[id], states[id]))
		case states[id] != "sent" || !answered[id]:
			unsaid = append(unsaid, fmt.Sprintf("%s is %s", id, states[id]))
		}
		if taken[id] {
			told += len(list)
		}
	}
	l.row("events of listings", len(b.events), "compared with %d searches", len(b.searches))
	l.row("due, to feeds too", kinds["new"]+kinds["price_drop"]+kinds["back"], "%d new, %d price drops, %d back",
		kinds["new"], kinds["price_drop"], kinds["back"])
	l.must("due to webhooks, mailboxes and chats, and told", told, total)
	l.none("due, and in no delivery", left)
	l.none("in a delivery, and not due", foreign)
	l.none("in two deliveries", twice)
	l.row("requests, e-mails and messages", len(b.calls), "for %d deliveries; %d repeated one that was taken", len(parts),
		repeated)
	l.none("deliveries that nobody has taken", untold)
	l.none("taken and not sent, or sent and not answered", unsaid)
	l.none("requests that no delivery made", unknown)
	l.none("requests with a wrong signature, broken e-mails", forged)
	l.none("requests that say something else", other)
	l.none("feeds that say something else", feeds)
}

// toldWell is a search that was told of two adverts, of which one became cheaper, without any fault.
func toldWell() savedBooks {
	at := func(n int) time.Time { return time.Date(2026, 1, 10, 12, 0, n, 0, time.UTC) }
	s := &watcher{
		name: "cheap", kinds: allKinds, hook: "/steady/cheap", feed: true, since: at(0),
		targets: map[string]string{"t": "/steady/cheap", "m": "jo@example.org", "c": "42"},
		fits:    func(l *flat, rent int64) bool { return rent <= 1500_00 && l.title != "small" },
	}
	news := []hookItem{
		{"new", "a", 1400_00}, {"price_drop", "a", 1300_00}, {"new", "b", 1000_00}, {"back", "b", 1000_00}, {"new", "e", 1000_00},
	}
	small := edit{listing: "e", at: at(8), before: flat{title: "small"}}
	told := edit{listing: "a", at: at(8)}
	b := savedBooks{
		searches: []*watcher{s},
		events: withEdits([]happened{
			{ID: 1, Listing: "z", Home: "z", Kind: "created", At: at(-1), New: 1000_00}, // before there was a search
			{ID: 2, Listing: "a", Home: "a", Kind: "created", At: at(1), New: 1400_00},
			{ID: 3, Listing: "c", Home: "c", Kind: "created", At: at(1), New: 1900_00},
			{ID: 4, Listing: "a", Home: "a", Kind: "price", At: at(2), Old: 1400_00, New: 1300_00},
			{ID: 5, Listing: "b", Home: "b", Kind: "created", At: at(3), New: 1000_00},
			{ID: 6, Listing: "d", Home: "b", Kind: "created", At: at(4), New: 1000_00}, // another advert of the home
			{ID: 7, Listing: "b", Home: "b", Kind: "status", At: at(5), Status: "archived"},
			{ID: 8, Listing: "b", Home: "b", Kind: "status", At: at(6), Status: "active"},
			{ID: 9, Listing: "e", Home: "e", Kind: "created", At: at(7), New: 1000_00},
		}, []edit{small, told}, map[string]int64{"e": 10}),
		items: []savedItem{{"t", 2, "one", "sent"}, {"t", 4, "one", "sent"}, {"t", 5, "two", "sent"}, {"t", 8, "three", "sent"}, {"t", 10, "four", "sent"}},
		calls: []hookCall{
			{path: s.hook, delivery: "one", signed: true, items: []hookItem{{"new", "a", 1300_00}}},
			{s.hook, "one", true, true, true, []hookItem{{"new", "a", 1300_00}}},
			{s.hook, "two", true, true, true, news[2:3]}, {s.hook, "three", true, true, true, news[3:4]},
			{s.hook, "four", true, true, true, news[4:]},
		},
		feeds: map[string][]hookItem{"cheap": news},
	}
	for target, where := range map[string]string{"m": "jo@example.org", "c": "42"} {
		for n, id := range []int64{2, 4, 5, 8, 10} {
			delivery := fmt.Sprint(target, n)
			b.items = append(b.items, savedItem{target, id, delivery, "sent"})
			if target == "c" {
				delivery = "" // a message of a chat names none
			}
			b.calls = append(b.calls, hookCall{where, delivery, true, true, true, news[n : n+1]})
		}
	}
	slices.SortStableFunc(b.calls[5:], func(a, b hookCall) int { return strings.Compare(a.path, b.path) })
	return b
}

// Each thing that is told twice, wrongly or not at all has a line in the ledger.
func TestTheLedgerSeesWhatSavedSearchesAreNotTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(b *savedBooks)
		want  string // how a complaint begins; "" for none
	}{
		{"nothing is wrong", func(*savedBooks) {}, ""},
		{"an answer was lost, and the notice repeated", func(b *savedBooks) {
			b.calls = append(b.calls, b.calls[1])
		}, ""},
		{"a price drop was left out", func(b *savedBooks) { b.items = slices.Delete(b.items, 1, 2) }, "due, and in no delivery"},
		{"a second advert is told", func(b *savedBooks) {
			b.items = append(b.items, savedItem{"t", 6, "two", "sent"})
		}, "in a delivery, and not due"},
		{"an edit is left out", func(b *savedBooks) { b.items = slices.Delete(b.items, 4, 5) }, "due, and in no delivery"},
		{"an edit out of view is told", func(b *savedBooks) {
			b.events[slices.IndexFunc(b.events, func(e happened) bool { return e.ID == 10 })].before.title = "large"
		}, "in a delivery, and not due"},
		{"a dear one is told", func(b *savedBooks) {
			b.items = append(b.items, savedItem{"t", 3, "two", "sent"})
		}, "in a delivery, and not due"},
		{"one is told twice", func(b *savedBooks) {
			b.items = append(b.items, savedItem{"t", 5, "five", "sent"})
		}, "in two deliveries"},
		{"a notice did not arrive", func(b *savedBooks) { b.calls = slices.Delete(b.calls, 4, 5) }, "deliveries that nobody has taken"},
		{"it was never answered", func(b *savedBooks) { b.calls[3].answered = false }, "taken and not sent"},
		{"it goes on being sent", func(b *savedBooks) { b.items[3].State = "started" }, "taken and not sent"},
		{"it arrived elsewhere", func(b *savedBooks) { b.calls[3].path = "/steady/dear" }, "requests that no delivery made"},
		{"it comes from nowhere", func(b *savedBooks) {
			b.calls = append(b.calls, hookCall{path: "/steady/cheap", delivery: "six", signed: true})
		}, "requests that no delivery made"},
		{"it is not signed", func(b *savedBooks) { b.calls[0].signed = false }, "requests with a wrong signature, broken e-mails"},
		{"a repeat says something else", func(b *savedBooks) { b.calls[0].items = nil }, "requests that say something else"},
		{"the rent is an old one", func(b *savedBooks) {
			b.calls[1].items = []hookItem{{"new", "a", 1400_00}}
		}, "requests that say something else"},
		{"a feed is short", func(b *savedBooks) { b.feeds["cheap"] = b.feeds["cheap"][1:] }, "feeds that say something else"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := toldWell()
			tt.spoil(&b)
			l := &Ledger{}
			l.saved(b)
			if tt.want == "" {
				require.Empty(t, l.Wrong)
				return
			}
			require.True(t, slices.ContainsFunc(l.Wrong, func(s string) bool { return strings.HasPrefix(s, tt.want) }),
				"%q is not among %q", tt.want, l.Wrong)
		})
	}
}

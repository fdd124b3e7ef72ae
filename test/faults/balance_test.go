package faults

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// honest is a journal of five messages and the books of a run in which nothing went wrong.
func honest() ([]message, books) {
	at := func(n int) time.Time { return time.Date(2026, 1, 10, 12, 0, n, 0, time.UTC) }
	journal := []message{
		{id: "m1", kind: fresh, advert: "1", at: at(1), rent: 100_000, images: []string{"http://h/a", "http://h/b"}},
		{id: "m2", kind: changed, advert: "1", at: at(2), rent: 105_000, images: []string{"http://h/b", "http://h/c"}},
		{id: "m3", kind: unchanged, advert: "1", at: at(3), rent: 105_000, images: []string{"http://h/b", "http://h/c"}},
		{id: "m4", kind: rejected, advert: "2", at: at(4)},
		{id: "m5", kind: invalid},
	}
	for i := range journal {
		journal[i].confirmed, journal[i].sends = true, 1
	}
	return journal, books{
		raws: map[string]raw{
			"1": {"1", "imported", 2, 2, 3, at(3)},
			"2": {"2", "rejected", 1, 1, 1, at(4)},
		},
		live: map[string]live{"1": {"1", "id-1", 2, 105_000, 2}},
		letters: []letter{
			{Queue: "scraped.kijiji", MessageID: "m5", State: "open"},
			{Queue: "scraped.kijiji", WorkflowID: "listing/kijiji/2", State: "open"},
			{Queue: "images.pending", WorkflowID: "listing/kijiji/1", Body: `{"listing_id":"id-1","url":"http://h/c"}`, State: "open"},
		},
		images: []picturedAs{
			{"1", "http://h/a", "dropped", "", ""}, {"1", "http://h/b", "attached", "k", "sum"}, {"1", "http://h/c", "failed", "", ""},
		},
		history: []change{{"1", "created", 0, 100_000, "active"}, {"1", "price", 100_000, 105_000, ""}},
		outbox: []told{
			{"e1", "listings.published", "id-1", 1, "", at(5), "1", ""}, {"e2", "listings.published", "id-1", 2, "", at(5), "1", ""},
			{"e3", "images.attached", "id-1", 0, "http://h/b", at(5), "1", ""},
		},
		sights: map[string]sight{"e1": {times: 1}, "e2": {times: 2}, "e3": {times: 1}},
		queued: map[string]bool{"e1": true, "e2": true},
	}
}

// A ledger that cannot fail proves nothing: each thing that is missing or there twice has a line in it.
func TestTheLedgerSeesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(journal []message, b *books)
		want  string // how a complaint begins; "" for none
	}{
		{"nothing is wrong", func([]message, *books) {}, ""},
		{"an advert is gone", func(_ []message, b *books) { delete(b.raws, "1") }, "lost = confirmed"},
		{"the last scrape is gone", func(_ []message, b *books) {
			r := b.raws["1"]
			r.LastAt = r.LastAt.Add(-time.Second)
			b.raws["1"] = r
		}, "lost = confirmed"},
		{"an invalid message is gone", func(_ []message, b *books) { b.letters = b.letters[1:] }, "lost = confirmed"},
		{"a message is not confirmed", func(j []message, _ *books) { j[0].confirmed = false }, "messages confirmed"},
		{"an advert was left half way", func(_ []message, b *books) {
			r := b.raws["1"]
			r.Status = "normalized"
			b.raws["1"] = r
		}, "not brought to their end"},
		{"a rejected advert has no dead letter", func(_ []message, b *books) { b.letters = b.letters[:1] }, "not brought to their end"},
		{"a listing is not enriched", func(_ []message, b *books) {
			v := b.live["1"]
			v.Enriched = 1
			b.live["1"] = v
		}, "listings that are not enriched"},
		{"a listing is gone", func(_ []message, b *books) { delete(b.live, "1") }, "listings: 0, must be 1"},
		{"an old version is shown", func(_ []message, b *books) {
			v := b.live["1"]
			v.RentCents = 100_000
			b.live["1"] = v
		}, "listings that are not the newest version"},
		{"an advert comes from nowhere", func(_ []message, b *books) { b.raws["9"] = raw{PlatformID: "9"} }, "adverts never published"},
		{"an advert comes from a scraper", func(_ []message, b *books) {
			b.scraped = map[string]bool{"9": true}
			b.raws["9"], b.live["9"] = raw{PlatformID: "9", Status: "imported"}, live{"9", "id-9", 1, 90_000, 1}
			b.images = append(b.images, picturedAs{"9", "http://h/z", "attached", "z", "sum-z"})
			b.letters = append(b.letters, letter{MessageID: "m9", WorkflowID: "listing/kijiji/9"})
			b.outbox = append(b.outbox, told{ID: "e9", RoutingKey: "listings.published", ListingID: "id-9", Revision: 1, PlatformID: "9"})
			b.sights["e9"], b.queued["e9"] = sight{times: 1}, true
		}, ""},
		{"its event is not seen", func(_ []message, b *books) {
			b.scraped = map[string]bool{"9": true}
			b.outbox = append(b.outbox, told{ID: "e9", RoutingKey: "images.attached", PlatformID: "9"})
		}, "events never seen"},
		{"a good message is a dead letter", func(_ []message, b *books) {
			b.letters = append(b.letters, letter{Queue: "scraped.kijiji", MessageID: "m1"})
		}, "dead letters of good messages"},
		{"a good advert was rejected", func(_ []message, b *books) {
			b.letters = append(b.letters, letter{Queue: "scraped.kijiji", WorkflowID: "listing/kijiji/1", State: "resolved"})
		}, "good adverts rejected"},
		{"a good advert is rejected", func(_ []message, b *books) {
			r := b.raws["1"]
			r.Status = "rejected"
			b.raws["1"] = r
		}, "good adverts rejected"},
		{"history is told twice", func(_ []message, b *books) { b.history = append(b.history, b.history[1]) }, "history rows"},
		{"a history row is missing", func(_ []message, b *books) { b.history = b.history[:1] }, "history rows"},
		{"it was created twice", func(_ []message, b *books) { b.history = append(b.history[:1:1], b.history...) }, "history rows"},
		{"a revision is there twice", func(_ []message, b *books) { b.twice = 1 }, "revisions twice"},
		{"an image was forgotten", func(_ []message, b *books) { b.images[1].State = "pending" }, "images neither attached nor failed"},
		{"a dropped image is shown", func(_ []message, b *books) { b.images[0].State = "attached" }, "images neither attached nor failed"},
		{"one picture is shown twice", func(_ []message, b *books) {
			b.images[2] = picturedAs{"1", "http://h/c", "attached", "k", "sum"}
		}, "images twice"},
		{"an image failed without a word", func(_ []message, b *books) { b.letters = b.letters[:2] }, "failed images without"},
		{"a file is damaged", func(_ []message, b *books) { b.broken = []string{"k"} }, "damaged files"},
		{"an event was never seen", func(_ []message, b *books) { delete(b.sights, "e3") }, "events never seen"},
		{"an event is not in the queue", func(_ []message, b *books) { delete(b.queued, "e1") }, "events never seen"},
		{"an event was lost with the broker's data", func(_ []message, b *books) {
			delete(b.sights, "e3")
			b.losses.times = []lossy{{b.outbox[2].PublishedAt.Add(-time.Second), b.outbox[2].PublishedAt.Add(time.Second)}}
		}, ""},
		{"an event was lost before that", func(_ []message, b *books) {
			delete(b.sights, "e3")
			b.losses.times = []lossy{{b.outbox[2].PublishedAt.Add(time.Second), b.outbox[2].PublishedAt.Add(time.Minute)}}
		}, "events never seen"},
		{"an event was taken out of the queue before", func(_ []message, b *books) {
			delete(b.queued, "e1")
			b.losses.saved = map[string]bool{"e1": true}
		}, ""},
		{"poison is still in the outbox", func(_ []message, b *books) {
			b.outbox = append(b.outbox, told{ID: "e9", RoutingKey: "listings.normalized"})
			b.losses.rows = map[string]bool{"e9": true}
		}, ""},
		{"a costly picture was decoded", func(j []message, b *books) {
			j[1].images[1], j[2].images[1] = "http://h/c.jpg", "http://h/c.jpg"
			b.images[2] = picturedAs{"1", "http://h/c.jpg", "attached", "c", "other"}
		}, "images that cost too much"},
		{"an event comes from nowhere", func(_ []message, b *books) { b.sights["e9"] = sight{times: 1} }, "events seen and never told"},
		{"a version was told under two IDs", func(_ []message, b *books) {
			b.outbox = append(b.outbox, told{ID: "e4", RoutingKey: "listings.published", ListingID: "id-1", Revision: 2})
		}, "imported versions without exactly one event ID"},
		{"a version was not told", func(_ []message, b *books) { b.outbox = slices.Delete(b.outbox, 1, 2) },
			"imported versions without exactly one event ID"},
		{"an image was told under two IDs", func(_ []message, b *books) {
			b.outbox = append(b.outbox, told{ID: "e4", RoutingKey: "images.attached", ListingID: "id-1", URL: "http://h/b"})
		}, "images told twice"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			journal, b := honest()
			tt.spoil(journal, &b)
			l := &Ledger{}
			l.compare(journal, b)
			if tt.want == "" {
				require.Empty(t, l.Wrong)
				return
			}
			require.True(t, slices.ContainsFunc(l.Wrong, func(s string) bool { return strings.HasPrefix(s, tt.want) }),
				"%q is not among %q", tt.want, l.Wrong)
			require.Contains(t, l.String(), "WRONG")
		})
	}
}

// The same goes for its lines about scrapers.
func TestTheLedgerSeesWhatScrapersDoWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		spoil func(s *site, a []scrapedAdvert, c []cycleSums) []scrapedAdvert
		want  string // how a complaint begins; "" for none
	}{
		{"nothing is wrong", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert { return a }, ""},
		{"an advert was never seen", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert { return a[1:] },
			"adverts skipped"},
		{"an old price is known", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[0].Price = "90000 "
			return a
		}, "adverts skipped"},
		{"an old price is listed", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[0].RentCents = 90_000
			return a
		}, "adverts skipped"},
		{"an old title is known", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[0].Title = "Autre"
			return a
		}, "adverts skipped"},
		{"an advert is left half way", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[0].Settled = 1
			return a
		}, "adverts skipped"},
		{"a rejected advert has no dead letter", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[0].Status, a[0].Listed = "rejected", 0
			return a
		}, "adverts skipped"},
		{"an advert is taken for gone", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[0].Gone = true
			return a
		}, "adverts skipped"},
		{"a removed one is not", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[1].Gone = false
			return a
		}, "removed adverts"},
		{"an advert comes from nowhere", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			return append(a, scrapedAdvert{Platform: demosite.Kijiji, ID: "9"})
		}, "adverts that the site does not have"},
		{"a visit failed", func(_ *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			a[0].Failures = 1
			return a
		}, "adverts whose last visit failed"},
		{"there is an alarm", func(_ *site, a []scrapedAdvert, c []cycleSums) []scrapedAdvert {
			c[0].Suspect = "no adverts"
			return a
		}, "alarms"},
		{"a page is visited twice", func(s *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			h := s.halves[demosite.Kijiji]
			h.visit(h.offers["1"])
			h.visit(h.offers["1"])
			return a
		}, "visits for no reason"},
		{"again, after the faults' share", func(s *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			h := s.halves[demosite.Kijiji]
			h.visit(h.offers["1"])
			return a
		}, ""},
		{"again, because its card was older", func(s *site, a []scrapedAdvert, _ []cycleSums) []scrapedAdvert {
			h := s.halves[demosite.Kijiji]
			h.offers["1"].version = 5
			h.visit(h.offers["1"])
			h.search(true, []byte(`<li data-listingid="1">`))
			h.visit(h.offers["1"])
			return a
		}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := &half{name: demosite.Kijiji, offers: map[string]*offer{}, paths: map[string]*offer{}}
			h.add(demosite.Advert{ID: "1", Title: "Beau 4 ½", State: demosite.Active})
			h.add(demosite.Advert{ID: "2", Title: "Parti", State: demosite.Removed})
			h.search(true, []byte(`<li data-listingid="1"><li data-listingid="2">`))
			h.visit(h.offers["1"])
			s := &site{halves: map[string]*half{h.name: h}, read: func(string, *offer) page {
				return page{"Beau 4 ½", "100000 ", 100_000}
			}}
			cycles := []cycleSums{{Platform: h.name}}
			adverts := tt.spoil(s, []scrapedAdvert{
				{h.name, "1", false, 0, "imported", "Beau 4 ½", "100000 ", 2, 2, 2, 100_000},
				{h.name, "2", true, 0, "", "", "", 0, 0, 0, 0},
			}, cycles)
			l := &Ledger{}
			l.scrapes(s, adverts, cycles, nil, 1)
			if tt.want == "" {
				require.Empty(t, l.Wrong)
				return
			}
			require.True(t, slices.ContainsFunc(l.Wrong, func(s string) bool { return strings.HasPrefix(s, tt.want) }),
				"%q is not among %q", tt.want, l.Wrong)
		})
	}
}

// decidedWell is a pair that the rules made one home of, and a person two, and a pair whose decision was undone, without
// any fault.
func decidedWell() books {
	of := func(id, platform, home string) lodger {
		return lodger{PlatformID: id, ID: "id-" + id, Platform: platform, Home: home, Shown: home, Raw: "imported",
			Visible: true}
	}
	a, b, c, d := of("1", "kijiji", "id-1"), of("2", "kangalou", "id-2"), of("3", "kijiji", "id-3"), of("4", "kangalou", "id-3")
	a.Apart, b.Apart = "id-2", "id-1"
	d.Hidden, d.Visible, d.Raw, d.DuplicateOf, d.Kind, d.Matched = true, false, "duplicate", "id-3", "duplicate", "id-3"
	return books{
		lodgers: map[string]lodger{"1": a, "2": b, "3": c, "4": d},
		said:    []verdict{{1, "id-2", "different", false}, {2, "id-4", "show", true}},
		pairs: []pair{
			{parted, [2]string{"1", "2"}, [2]lodger{}, []verdict{{1, "id-2", "different", false}}},
			{returned, [2]string{"3", "4"}, [2]lodger{c, d}, []verdict{{2, "id-4", "show", true}}},
		},
		outbox: []told{
			{ID: "e1", RoutingKey: "listings.merged", PlatformID: "2"}, {ID: "e2", RoutingKey: "listings.split", PlatformID: "2"},
			{ID: "e3", RoutingKey: "listings.merged", PlatformID: "4"},
		},
	}
}

// So it does for its lines about homes.
func TestTheLedgerSeesWhatIsDecidedInVain(t *testing.T) {
	t.Parallel()
	change := func(b *books, advert string, change func(m *lodger)) {
		m := b.lodgers[advert]
		change(&m)
		b.lodgers[advert] = m
	}
	overruled, left := "homes that are not as they were decided on", "homes that are not as before"
	for _, tt := range []struct {
		name  string
		spoil func(b *books)
		want  string // how a complaint begins; "" for none
	}{
		{"nothing is wrong", func(*books) {}, ""},
		{"a rule overrules it", func(b *books) {
			change(b, "2", func(m *lodger) { m.Home, m.Hidden = "id-1", true })
		}, overruled},
		{"nothing holds them apart", func(b *books) { change(b, "2", func(m *lodger) { m.Apart = "" }) }, overruled},
		{"one of them is not published", func(b *books) { change(b, "2", func(m *lodger) { m.Visible = false }) }, overruled},
		{"the other one is still shown", func(b *books) {
			b.pairs[1].said[0].Undone, b.said[1].Undone = false, false
		}, overruled},
		{"it is shown, and the first one as well", func(b *books) {
			b.pairs[1].said[0].Undone, b.said[1].Undone = false, false
			change(b, "3", func(m *lodger) { m.Shown, m.Chosen = "id-4", "id-4" })
			change(b, "4", func(m *lodger) { m.Shown, m.Chosen, m.Hidden, m.Visible = "id-4", "id-4", false, true })
		}, overruled},
		{"two adverts are shown for a home", func(b *books) { change(b, "4", func(m *lodger) { m.Visible = true }) }, left},
		{"the choice was left", func(b *books) { change(b, "3", func(m *lodger) { m.Chosen = "id-4" }) }, left},
		{"its reviewer was left", func(b *books) { change(b, "4", func(m *lodger) { m.ReviewedBy = "Jo" }) }, left},
		{"it is not of its home any more", func(b *books) { change(b, "4", func(m *lodger) { m.Home = "id-4" }) }, left},
		{"nobody asked for it", func(b *books) {
			b.pairs[1].said, b.said = nil, b.said[:1]
			change(b, "4", func(m *lodger) { m.Hidden = false })
		}, "homes that nobody decided on"},
		{"a decision is lost", func(b *books) { b.said = b.said[1:] }, "decisions lost"},
		{"a decision is stored twice", func(b *books) { b.said = append(b.said, verdict{3, "id-2", "different", false}) },
			"decisions lost"},
		{"an undoing is lost", func(b *books) { b.said[1].Undone = false }, "decisions lost"},
		{"a decision was refused", func(b *books) { b.refused = []string{"409"} }, "decisions that the API"},
		{"a split was not told", func(b *books) { b.outbox = slices.Delete(b.outbox, 1, 2) }, "merged or split"},
		{"a merge was told twice", func(b *books) { b.outbox = append(b.outbox, b.outbox[2]) }, "merged or split"},
		{"a lonely advert was merged", func(b *books) { b.outbox[2].PlatformID = "9" }, "merged or split"},
		{"a lie was believed", func(b *books) {
			b.reads = []reading{{"1", "Près du métro", []listing.Fact{truth, {Field: "heating", Value: "oil", Text: "mazout"}}, true}}
		}, "lies of the language model"},
		{"what is true was not", func(b *books) { b.reads = []reading{{"1", "Près du métro", nil, true}} }, "lies of the language"},
		{"the language model did not answer", func(b *books) { b.reads = []reading{{"1", "Près du métro", nil, false}} }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := decidedWell()
			tt.spoil(&b)
			l := &Ledger{}
			l.homes(b)
			l.readings(b.reads)
			if tt.want == "" {
				require.Empty(t, l.Wrong)
				return
			}
			require.True(t, slices.ContainsFunc(l.Wrong, func(s string) bool { return strings.HasPrefix(s, tt.want) }),
				"%q is not among %q", tt.want, l.Wrong)
		})
	}
}

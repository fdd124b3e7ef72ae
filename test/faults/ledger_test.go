package faults

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// books are the state after a run, which the ledger compares with the journal of the published messages.
type books struct {
	raws    map[string]raw // by platform ID
	live    map[string]live
	letters []letter
	images  []picturedAs
	history []change
	outbox  []told
	sights  map[string]sight  // by event ID
	queued  map[string]bool   // event IDs that lie in listings.published
	lodgers map[string]lodger // by platform ID
	said    []verdict         // that are stored
	pairs   []pair            // what callers of the API have said
	refused []string          // decisions that the API did not take
	reads   []reading
	broken  []string        // damaged or missing files of the blob store
	twice   int             // neighbouring revisions of one content
	scraped map[string]bool // platform IDs of adverts that scrapers brought
	losses  losses          // what only the broker had when a fault emptied it
}

// losses are what the ledger forgives: a broker that is rebuilt empty, or whose queue is deleted, loses what only it
// had. Messages of the flow are published again, as a scraper publishes an advert again with its next visit; events
// that were delivered into such a queue are gone.
type losses struct {
	again int             // messages of the flow that were published again
	times []lossy         // in which events may be lost
	saved map[string]bool // IDs of events taken out of listings.published before it was emptied
	rows  map[string]bool // message IDs of the poison in the outbox
}

// lossy is a time in which confirmed events reached no queue that lasted.
type lossy struct{ from, to time.Time }

// may says whether an event that was published then may be lost.
func (l losses) may(published time.Time) bool {
	return slices.ContainsFunc(l.times, func(t lossy) bool { return published.After(t.from) && published.Before(t.to) })
}

type raw struct {
	PlatformID string
	Status     string
	Revision   int64
	Settled    int64
	Scrapes    int64
	LastAt     time.Time
}

// live is a listing.
type live struct {
	PlatformID string
	ID         string
	Revision   int64
	RentCents  int64
	Enriched   int64 // revision of its enrichment; 0 = none
}

type letter struct {
	Queue      string
	MessageID  string
	WorkflowID string
	Body       string
	Reason     string
	State      string
	Deaths     int64
}

type picturedAs struct {
	PlatformID string
	URL        string
	State      string
	Key        string
	Hash       string
}

type change struct {
	PlatformID string
	Kind       string
	Old, New   int64
	Status     string // new one
}

type told struct {
	ID          string
	RoutingKey  string
	ListingID   string
	Revision    int64
	URL         string
	PublishedAt time.Time // zero: not yet
	PlatformID  string
	Change      string // of listings.published
}

// A Row is one line of the ledger. Must is the number that it has to have, nil where any will do.
type Row struct {
	Name  string `json:"name"`
	Count int64  `json:"count"`
	Note  string `json:"note,omitempty"`
	Must  *int64 `json:"must,omitempty"`
}

// A Recovery says of one fault how long it took until an advert that was published after it was a published listing.
type Recovery struct {
	Fault  string    `json:"fault"`
	Times  int       `json:"times"`
	Missed int       `json:"missed,omitempty"`            // could not be done: another fault was in its way
	Alone  []float64 `json:"seconds_alone"`               // sorted
	Random []float64 `json:"seconds_at_random,omitempty"` // while others struck too; sorted
}

// A Ledger is the balance of a run.
type Ledger struct {
	Seed    uint64     `json:"seed"`
	Seconds float64    `json:"seconds"`
	Rows    []Row      `json:"rows"`
	Faults  []Recovery `json:"faults"`
	Wrong   []string   `json:"wrong"` // empty when it balances
}

func (l *Ledger) row(name string, n int, note string, args ...any) {
	l.Rows = append(l.Rows, Row{Name: name, Count: int64(n), Note: fmt.Sprintf(note, args...)})
}

// must adds a row whose number has to be want. Examples name the culprits otherwise.
func (l *Ledger) must(name string, n, want int, examples ...string) {
	m := int64(want)
	l.Rows = append(l.Rows, Row{Name: name, Count: int64(n), Must: &m})
	if n == want {
		return
	}
	slices.Sort(examples)
	if len(examples) > 5 {
		examples = append(examples[:5:5], "…")
	}
	l.Wrong = append(l.Wrong, strings.TrimSuffix(fmt.Sprintf("%s: %d, must be %d: %s", name, n, want,
		strings.Join(examples, "; ")), ": "))
}

// within adds a row whose number has to be between two, which count.
func (l *Ledger) within(name string, n, least, most int) {
	l.row(name, n, "%d to %d", least, most)
	if n < least || n > most {
		l.Wrong = append(l.Wrong, fmt.Sprintf("%s: %d, must be %d to %d", name, n, least, most))
	}
}

// missed says that faults were not tried: left of them, and those that could not be done.
func (l *Ledger) missed(left []fault) {
	var names []string
	for _, f := range left {
		names = append(names, f.name)
	}
	for _, f := range l.Faults {
		if f.Missed > 0 {
			names = append(names, f.Fault)
		}
	}
	l.none("faults that did not happen", names)
}

// none is must for things of which there may be none.
func (l *Ledger) none(name string, found []string) { l.must(name, len(found), 0, found...) }

// compare balances the published messages against the books.
func (l *Ledger) compare(journal []message, b books) {
	own := b.published()
	l.messages(journal, own)
	l.tables(journal, own)
	l.pictures(journal, own)
	l.events(b)
	l.homes(own)
	l.readings(b.reads)
}

// published are the books without what scrapers brought, which Ledger.scrapes compares with their site.
func (b books) published() books {
	own := b
	own.raws, own.live, own.lodgers = maps.Clone(b.raws), maps.Clone(b.live), maps.Clone(b.lodgers)
	for id := range b.scraped {
		delete(own.raws, id)
		delete(own.live, id)
		delete(own.lodgers, id)
	}
	own.letters = slices.DeleteFunc(slices.Clone(b.letters), func(d letter) bool {
		return b.scraped[d.WorkflowID[strings.LastIndexByte(d.WorkflowID, '/')+1:]]
	})
	own.images = slices.DeleteFunc(slices.Clone(b.images), func(p picturedAs) bool { return b.scraped[p.PlatformID] })
	own.history = slices.DeleteFunc(slices.Clone(b.history), func(c change) bool { return b.scraped[c.PlatformID] })
	own.outbox = slices.DeleteFunc(slices.Clone(b.outbox), func(e told) bool { return b.scraped[e.PlatformID] })
	return own
}

// messages follows every confirmed message to its end.
func (l *Ledger) messages(journal []message, b books) {
	var confirmed, sends int
	ends := map[string]int{}
	var lost, unsettled, good, refused []string
	newest, dead, kinds := map[string]message{}, map[string]bool{}, map[string]int{}
	for _, d := range b.letters {
		if d.MessageID != "" {
			dead[d.MessageID] = true
		}
		if d.WorkflowID != "" && d.Queue == "scraped.kijiji" && d.State == "open" {
			dead[d.WorkflowID] = true
		}
	}
	published := map[string]bool{} // by MessageId
	for _, m := range journal {
		published[m.id] = m.kind == invalid
		sends += m.sends
		kinds[m.kind]++
		if !m.confirmed {
			continue
		}
		confirmed++
		if m.advert != "" {
			newest[m.advert] = m
		}
		r := b.raws[m.advert]
		listed := b.live[m.advert].ID != ""
		switch {
		case m.kind == invalid && dead[m.id]:
			ends["dead letters"]++
		case m.kind == invalid, r.LastAt.Before(m.at):
			lost = append(lost, m.id+" ("+m.kind+" "+m.advert+")")
		case m.kind == rejected && r.Status == "rejected" && dead["listing/kijiji/"+m.advert]:
			ends["dead letters"]++
		case r.Status == "imported" && listed:
			ends["listings"]++
		case m.kind != rejected && r.Status == "duplicate" && b.lodgers[m.advert].Hidden:
			ends["duplicates"]++
		default:
			unsettled = append(unsettled, fmt.Sprintf("%s is %s", m.advert, r.Status))
		}
	}
	for _, d := range b.letters {
		if d.Queue == crawls { // no message of the flow: see drafts
			continue
		}
		if known, ok := published[d.MessageID]; d.MessageID != "" && !(ok && known) && !b.losses.rows[d.MessageID] {
			good = append(good, d.MessageID+": "+d.Reason)
		}
		advert, of := strings.CutPrefix(d.WorkflowID, "listing/kijiji/")
		if m, ok := newest[advert]; of && ok && m.kind != rejected && d.Queue == "scraped.kijiji" {
			refused = append(refused, advert+": "+d.Reason) // whatever became of it since
		}
	}
	for id, r := range b.raws {
		if m, ok := newest[id]; ok && m.kind != rejected && r.Status == "rejected" {
			refused = append(refused, id)
		}
	}
	var old, unexpected []string
	scrapes, valid := 0, 0
	for id, r := range b.raws {
		m, ok := newest[id]
		scrapes += int(r.Scrapes)
		switch {
		case !ok:
			unexpected = append(unexpected, id)
		case m.kind != rejected && b.rent(id) != m.rent:
			old = append(old, fmt.Sprintf("%s costs %d, not %d", id, b.rent(id), m.rent))
		case !r.LastAt.Equal(m.at):
			old = append(old, fmt.Sprintf("%s was scraped %s, not %s", id, r.LastAt, m.at))
		}
	}
	for _, m := range journal {
		if m.confirmed && m.kind != invalid {
			valid++
		}
	}
	l.row("messages attempted", len(journal), "%d new, %d changed, %d unchanged, %d to be rejected, %d invalid",
		kinds[fresh]+kinds[poisoned]+kinds[ahead]+kinds[twin], kinds[changed]+kinds[corrected], kinds[unchanged], kinds[rejected],
		kinds[invalid])
	l.must("messages confirmed", confirmed, len(journal))
	l.row("sent", sends, "unconfirmed messages were sent again under the same MessageId")
	l.row("published again: only the broker had them", b.losses.again, "it was rebuilt empty, or their queue was deleted")
	l.row("scrapes counted", scrapes, "of %d: a message may be delivered more than once", valid)
	l.row("ended as listings", ends["listings"], "of %d adverts", len(b.live))
	l.row("ended as duplicates", ends["duplicates"], "another advert is shown for their home")
	l.row("ended as dead letters", ends["dead letters"], "")
	l.none("lost = confirmed − (listings ∪ dead letters)", lost)
	l.none("not brought to their end", unsettled)
	l.none("listings that are not the newest version", old)
	l.none("adverts never published", unexpected)
	l.none("good adverts rejected", refused)
	l.none("dead letters of good messages", good)
}

// tables looks for duplicates.
func (l *Ledger) tables(journal []message, b books) {
	var history []string
	last, created := map[string]int64{}, map[string]int{}
	for _, c := range b.history { // in the order of writing
		switch {
		case c.Kind == "created":
			created[c.PlatformID]++
			if created[c.PlatformID] > 1 {
				history = append(history, c.PlatformID+" created twice")
			}
		case c.Kind == "price" && (c.Old != last[c.PlatformID] || c.New == c.Old):
			history = append(history, fmt.Sprintf("%s: price %d → %d after %d", c.PlatformID, c.Old, c.New, last[c.PlatformID]))
		}
		if c.New != 0 {
			last[c.PlatformID] = c.New
		}
	}
	for id, v := range b.live {
		if last[id] != v.RentCents {
			history = append(history, fmt.Sprintf("%s costs %d, its history ends at %d", id, v.RentCents, last[id]))
		}
	}
	adverts := map[string]bool{}
	for _, m := range journal {
		if m.confirmed && m.advert != "" && m.kind != rejected && !b.lodgers[m.advert].Hidden {
			adverts[m.advert] = true
		}
	}
	var bare []string
	for id, v := range b.live {
		if v.Enriched < v.Revision {
			bare = append(bare, fmt.Sprintf("%s/%d is enriched as of %d", id, v.Revision, v.Enriched))
		}
	}
	l.must("listings", len(b.live), len(adverts))
	l.none("listings that are not enriched", bare)
	l.none("history rows twice or missing", history)
	l.must("revisions twice", b.twice, 0)
}

// pictures follows every picture that the newest version of an advert wants.
func (l *Ledger) pictures(journal []message, b books) {
	wanted := map[string]message{} // by advert
	for _, m := range journal {
		if m.confirmed && m.advert != "" && m.kind != rejected {
			wanted[m.advert] = m
		}
	}
	dead := map[string]bool{}
	for _, d := range b.letters {
		if d.Queue == "images.pending" {
			_, url, _ := strings.Cut(d.Body, `"url":`)
			dead[strings.Trim(strings.SplitN(strings.TrimSpace(url), ",", 2)[0], `"} `)] = true
		}
	}
	states := map[string]int{}
	have, shown := map[string]bool{}, map[string]bool{}
	var twice, missing, silent, swallowed []string
	for _, p := range b.images {
		if !slices.Contains(wanted[p.PlatformID].images, p.URL) {
			if p.State != "dropped" {
				missing = append(missing, p.URL+" is "+p.State+", and no advert has it")
			}
			continue
		}
		states[p.State]++
		have[p.URL] = p.State == "attached" || p.State == "failed"
		if p.State == "failed" && !dead[p.URL] {
			silent = append(silent, p.URL)
		}
		if p.State == "attached" {
			if strings.HasSuffix(p.URL, ".jpg") {
				swallowed = append(swallowed, p.URL)
			}
			key := p.PlatformID + " " + p.Hash
			if shown[key] {
				twice = append(twice, key)
			}
			shown[key] = true
		}
	}
	n := 0
	for _, m := range wanted {
		for _, url := range m.images {
			n++
			if !have[url] {
				missing = append(missing, url)
			}
		}
	}
	l.row("images wanted", n, "%d attached, %d failed with a dead letter", states["attached"], states["failed"])
	l.none("images neither attached nor failed", missing)
	l.none("images twice", twice)
	l.none("failed images without a dead letter", silent)
	l.none("images that cost too much and were decoded", swallowed)
	l.none("damaged files", b.broken)
}

// events compares the published events with those that a consumer saw.
func (l *Ledger) events(b books) {
	var unseen, several, unheard, repeated []string
	ids := map[string][]string{}                          // of listings.published, by listing and revision
	images, returns := map[string]int{}, map[string]int{} // returns of an advert
	known := map[string]bool{}
	gone := 0
	for _, e := range b.outbox {
		known[e.ID] = true
		if b.losses.rows[e.ID] {
			continue
		}
		forgiven := b.losses.may(e.PublishedAt)
		switch {
		case b.sights[e.ID].times > 0:
		case forgiven:
			gone++
		default:
			unseen = append(unseen, e.RoutingKey+" "+e.ID)
		}
		switch e.RoutingKey {
		case "listings.published":
			if e.Change == "returned" {
				returns[e.PlatformID]++
			} else {
				key := fmt.Sprintf("%s/%d", e.ListingID, e.Revision)
				ids[key] = append(ids[key], e.ID)
			}
			if !b.queued[e.ID] && !b.losses.saved[e.ID] && !forgiven {
				unseen = append(unseen, e.ID+" is not in listings.published")
			}
		case "images.attached":
			if images[e.ListingID+" "+e.URL]++; images[e.ListingID+" "+e.URL] == 2 {
				repeated = append(repeated, e.ListingID+" "+e.URL)
			}
		}
	}
	for key, list := range ids {
		if len(list) != 1 {
			several = append(several, fmt.Sprintf("%s: %v", key, list))
		}
	}
	for _, c := range b.history {
		if c.Kind == "status" && c.Status == "active" {
			returns[c.PlatformID]--
		}
	}
	for id, n := range returns {
		if n != 0 {
			several = append(several, fmt.Sprintf("%s: %d returns more than in its history", id, n))
		}
	}
	for _, v := range b.live {
		if len(ids[fmt.Sprintf("%s/%d", v.ID, v.Revision)]) == 0 {
			several = append(several, fmt.Sprintf("%s/%d: none", v.ID, v.Revision))
		}
	}
	for id := range b.sights {
		if !known[id] {
			unheard = append(unheard, id)
		}
	}
	for id := range b.queued {
		if !known[id] {
			unheard = append(unheard, id)
		}
	}
	times := 0
	for _, s := range b.sights {
		times += s.times
	}
	l.row("events told", len(b.outbox), "%d of them listings.published, one an imported version", len(ids))
	l.row("events seen", len(b.sights), "in %d deliveries: %d came again under the same ID", times, times-len(b.sights))
	l.row("events that only the broker had", gone, "and that are gone with its data")
	l.none("events never seen", unseen)
	l.none("events seen and never told", unheard)
	l.none("imported versions without exactly one event ID", several)
	l.none("images told twice", repeated)
}

// String is the ledger as a table, and one of the faults.
func (l *Ledger) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\nLEDGER of %.0f s, seed %d\n\n", l.Seconds, l.Seed)
	pad := func(s string, n int) string { return s + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(s))) }
	for _, r := range l.Rows {
		verdict := r.Note
		switch {
		case r.Must == nil:
		case *r.Must == r.Count:
			verdict = "ok"
		default:
			verdict = fmt.Sprintf("WRONG, must be %d", *r.Must)
		}
		fmt.Fprintln(&out, strings.TrimSpace(fmt.Sprintf("%s %7d  %s", pad(r.Name, 52), r.Count, verdict)))
	}
	if len(l.Faults) == 0 {
		return out.String()
	}
	worst := func(took []float64) string {
		if len(took) == 0 {
			return "-"
		}
		return fmt.Sprintf("%.1f s", took[len(took)-1])
	}
	fmt.Fprintf(&out, "\n%s %7s %7s %9s %10s\n", pad("FAULT", 52), "times", "missed", "recovery", "at random")
	for _, f := range l.Faults {
		fmt.Fprintf(&out, "%s %7d %7d %9s %10s\n", pad(f.Fault, 52), f.Times, f.Missed, worst(f.Alone), worst(f.Random))
	}
	fmt.Fprint(&out, "\nA recovery is the time from the end of a fault until an advert published after it was a published listing;\n"+
		"at random other faults struck meanwhile, and the longest is shown.\n")
	return out.String()
}

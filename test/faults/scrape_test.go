package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// upsets are the faults that meet scrapers.
var upsets = []fault{
	{"kill -9 worker", 1, func(w *world) (string, error) { return w.kill("worker") }},
	{"kill -9 worker, visited but not stored", 1, func(w *world) (string, error) {
		return w.killAt("worker", "platform_adverts", "visited_fingerprint = $5", true)
	}},
	{"kill -9 worker, stored but not reported", 1, func(w *world) (string, error) {
		return w.killAt("worker", "platform_adverts", "visited_fingerprint = $5", false)
	}},
	{"kill -9 bridge", 1, func(w *world) (string, error) { return w.kill("bridge") }},
	{"RabbitMQ killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.RabbitMQ, true) }},
	{"Postgres backends terminated", 1, terminateBackends},
	{"Postgres killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Postgres, true) }},
	{"Temporal killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Temporal, true) }},
	{"Redis killed -9", 1, func(w *world) (string, error) { return w.restart(devstack.Redis, true) }},
	{"worker frozen", 0, func(w *world) (string, error) { return w.freeze("worker") }},
}

// costs is how many visits a fault may cost beyond those that there is a reason for: one on its way on either half,
// each time that something is gone.
var costs = map[string]int{
	"kill -9 worker": 2, "kill -9 worker, visited but not stored": 2, "kill -9 worker, stored but not reported": 2,
	"Postgres backends terminated": 2 * 5, "Postgres killed -9": 2, "worker frozen": 2,
}

// Under faults, while a site changes and is scraped by two searches of one half and one of the other, with looks
// between their cycles, no advert is skipped for good and no event is published twice.
func TestTheLedgerOfScrapersBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel() // with that of drafts
	s := newSite(t, 150)
	w := newWorld(t, nil, "CONVEYOR_SCRAPE="+demosite.Searches(s.url), "CONVEYOR_SCRAPE_TRANSPORT="+*transport,
		"CONVEYOR_SCRAPE_DELAY=10ms", "CONVEYOR_SCRAPE_COOLDOWN=1s", "CONVEYOR_SCRAPE_LOOK=2s", "CONVEYOR_IMAGES=false",
		"CONVEYOR_ALLOW_PRIVATE_HOSTS="+strings.TrimPrefix(s.url, "http://"))
	_, err := w.db.Exec(w.ctx, sqlSecondSearch, demosite.Kijiji)
	require.NoError(t, err)
	w.tempt = s.tempt
	during := 35 * time.Second
	if *long {
		during = *random
	}
	w.say("seed %d: a site of %d adverts a half, %s at random", *seed, s.size, during)
	require.NoError(t, eventually(w.ctx, 2*servicetest.Patience(), func() bool { return w.cycles(1, w.began) == nil }), "the first cycles")
	w.say("the first cycles are over")

	struck, extra := w.upset(s, during)
	calm := time.Now()
	w.say("no more faults; waiting for two cycles of either half")
	within := servicetest.Patience()
	if *long {
		within = 5 * servicetest.Patience()
	}
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	if err := eventually(w.ctx, within, func() bool { return w.cycles(2, calm) == nil }); err != nil {
		l.Wrong = append(l.Wrong, w.cycles(2, calm).Error())
	}
	w.rest(l)
	for name, times := range struck {
		l.Faults = append(l.Faults, Recovery{Fault: name, Times: times[0], Missed: times[1]})
	}
	slices.SortFunc(l.Faults, func(a, b Recovery) int { return strings.Compare(a.Fault, b.Fault) })
	adverts, err := table[scrapedAdvert](w, sqlScrapedAdverts)
	cycles, err2 := table[cycleSums](w, sqlCycleSums)
	b, err3 := w.books()
	if err := errors.Join(err, err2, err3); err != nil {
		l.Wrong = append(l.Wrong, "the books cannot be read: "+err.Error())
	}
	l.scrapes(s, adverts, cycles, b.letters, extra)
	l.events(b)
	running, err := w.workflowsThat(`ExecutionStatus = "Running" AND WorkflowType = "ScrapePlatform"`)
	if err != nil {
		l.Wrong = append(l.Wrong, err.Error())
	}
	l.must("scrapers running", int(running), len(s.halves))
	l.workflows(w)
	l.processes(w)
	l.close(w)
}

// upset lets faults strike, one after the other, while the site changes. It returns how often each struck and was
// missed, and how many visits that may have cost.
func (w *world) upset(s *site, during time.Duration) (struck map[string][2]int, extra int) {
	ctx, cancel := context.WithTimeout(w.ctx, during)
	defer cancel()
	w.gone.Go(func() { s.live(ctx, w.newestCycle) })
	dice := rand.New(rand.NewPCG(*seed, 6))
	struck = map[string][2]int{}
	for pause(ctx, time.Duration(dice.IntN(1000))*time.Millisecond) {
		for _, n := range dice.Perm(len(upsets)) {
			f := upsets[n]
			if f.short == 0 && !*long || !strings.Contains(f.name, *only) || !pause(ctx, time.Duration(dice.IntN(2000))*time.Millisecond) {
				continue
			}
			w.say("%s …", f.name)
			said, err := f.happen(w)
			times := struck[f.name]
			times[0]++
			extra += costs[f.name]
			if err != nil {
				times[1]++
				said = ": missed: " + err.Error()
			}
			struck[f.name] = times
			w.say("%s: over%s", f.name, said)
		}
	}
	return struck, extra
}

// A second search that shows the adverts of the first one.
const sqlSecondSearch = `
INSERT INTO platform_searches (platform, search, url) SELECT name, 'again', url FROM platforms WHERE name = $1`

// How often each search was begun, of the one that was least often.
const sqlNewestCycle = `
SELECT coalesce(min(n), 0) FROM (
    SELECT (SELECT count(*) FROM platform_cycles c WHERE c.platform = s.platform AND c.search = s.search) AS n
    FROM platform_searches s WHERE s.platform = $1) x`

func (w *world) newestCycle(half string) (n int64, err error) {
	ctx, cancel := context.WithTimeout(w.ctx, time.Second)
	defer cancel()
	return n, w.db.QueryRow(ctx, sqlNewestCycle, half).Scan(&n)
}

const sqlCyclesSince = `
SELECT coalesce(string_agg(name || ', ' || search || ', has had ' || n || ' cycles', '; '), '') FROM (
    SELECT p.name, s.search, count(c) AS n FROM platforms p JOIN platform_searches s ON s.platform = p.name
    LEFT JOIN platform_cycles c ON c.platform = p.name AND c.search = s.search AND c.complete AND c.started_at > $2
    WHERE p.enabled
    GROUP BY p.name, s.search) x
WHERE n < $1`

// cycles returns nil when each search has gone through so many cycles that began after a time.
func (w *world) cycles(n int, since time.Time) error {
	var behind string
	if err := w.db.QueryRow(w.ctx, sqlCyclesSince, n, since).Scan(&behind); err != nil {
		return err
	}
	if behind != "" {
		return errors.New(behind)
	}
	return nil
}

// A scrapedAdvert is an advert as Conveyor knows it in the end.
type scrapedAdvert struct {
	Platform, ID      string
	Gone              bool
	Failures          int
	Status            string
	Title, Price      string // as a page has them
	Revision, Settled int64
	Listed            int64 // the listing's revision; 0 = there is none
	RentCents         int64
}

const sqlScrapedAdverts = `
SELECT a.platform, a.platform_id, a.gone_at IS NOT NULL, a.failures, coalesce(r.status, ''),
    coalesce(r.payload->>'title', ''), concat(r.payload->'price'->>'amount_cents', ' ', r.payload->'price'->>'text'),
    coalesce(r.revision, 0), coalesce(r.settled_revision, 0), coalesce(l.revision, 0), coalesce(l.rent_cents, 0)
FROM platform_adverts a
LEFT JOIN raw_listings r ON r.platform = a.platform AND r.platform_id = a.platform_id
LEFT JOIN listings l ON l.id = r.id`

// cycleSums are the counts of all cycles of a platform.
type cycleSums struct {
	Platform                                           string
	Cycles, Complete                                   int
	New, Changed, Returned, Stale, Failed, Gone, Block int
	Suspect                                            string
}

const sqlCycleSums = `
SELECT p.name, count(c), count(c) FILTER (WHERE c.complete), sum(c.new), sum(c.changed), sum(c.returned), sum(c.stale),
    sum(c.failed), sum(c.gone), sum(c.refusals), p.suspect_reason
FROM platforms p JOIN platform_cycles c ON c.platform = p.name
GROUP BY p.name, p.suspect_reason ORDER BY p.name`

// scrapes compares the adverts as Conveyor knows them with the site. extra is how many visits without a reason there
// may be.
func (l *Ledger) scrapes(s *site, adverts []scrapedAdvert, cycles []cycleSums, letters []letter, extra int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var changes []string
	for _, kind := range slices.Sorted(maps.Keys(s.changes)) {
		changes = append(changes, fmt.Sprintf("%d %s", s.changes[kind], kind))
	}
	n := 0
	for _, c := range s.changes {
		n += c
	}
	l.row("changes of the site", n, "%s", strings.Join(changes, ", "))
	dead := map[string]bool{}
	for _, d := range letters {
		if d.State == "open" {
			dead[d.WorkflowID] = true
		}
	}
	have := map[string]scrapedAdvert{}
	for _, a := range adverts {
		have[a.Platform+"/"+a.ID] = a
	}
	var skipped, kept, again, failed, alarms []string
	ends := map[string]int{}
	visits, searches := 0, 0
	for _, h := range s.halves {
		visits, searches, again = visits+h.visits, searches+h.searches, append(again, h.again...)
		for _, o := range h.order {
			key := h.name + "/" + o.ID
			a, known := have[key]
			delete(have, key)
			switch {
			case o.State == demosite.Removed:
				if known && !a.Gone {
					kept = append(kept, key)
				}
			case !known:
				skipped = append(skipped, key+" was never seen")
			default:
				if wrong := a.differs(s.read(h.name, o), dead["listing/"+key]); wrong != "" {
					skipped = append(skipped, key+" "+wrong)
				}
				ends[a.Status]++
			}
		}
	}
	for _, a := range adverts {
		if a.Failures > 0 {
			failed = append(failed, a.Platform+"/"+a.ID)
		}
	}
	for _, c := range cycles {
		l.row("cycles of "+c.Platform, c.Cycles, "%d complete; visits: %d new, %d changed, %d returned, %d stale; %d gone",
			c.Complete, c.New, c.Changed, c.Returned, c.Stale, c.Gone)
		if c.Failed > 0 || c.Block > 0 || c.Suspect != "" {
			alarms = append(alarms, fmt.Sprintf("%s: %d visits failed, %d refusals, suspect: %q", c.Platform, c.Failed, c.Block,
				c.Suspect))
		}
	}
	l.row("adverts on the site", ends["imported"]+ends["duplicate"]+ends["rejected"],
		"%d listings, %d duplicates, %d dead letters without a rent", ends["imported"], ends["duplicate"], ends["rejected"])
	l.none("adverts skipped or not as the site shows them", skipped)
	l.none("adverts that the site does not have", slices.Sorted(maps.Keys(have)))
	l.none("removed adverts that are not marked as gone", kept)
	l.none("adverts whose last visit failed", failed)
	l.none("alarms about a site that is well", alarms)
	l.row("search pages asked for", searches, "")
	l.row("detail pages asked for", visits, "%d of them for no reason; the faults may have cost %d", len(again), extra)
	l.must("visits for no reason, beyond those", max(0, len(again)-extra), 0, again...)
}

// differs says how an advert differs from the site; "" when it is.
func (a scrapedAdvert) differs(want page, dead bool) string {
	switch {
	case a.Gone:
		return "is taken for gone"
	case a.Price != want.price:
		return fmt.Sprintf("costs %q, not %q", a.Price, want.price)
	case a.Title != want.title:
		return fmt.Sprintf("is called %q, not %q", a.Title, want.title)
	case a.Settled != a.Revision:
		return "is not brought to its end"
	case want.rent == 0 && a.Status == "rejected" && dead, want.rent > 0 && a.Status == "duplicate",
		want.rent > 0 && a.Status == "imported" && a.Listed == a.Revision && a.RentCents == want.rent:
		return ""
	}
	return fmt.Sprintf("is %s at revision %d, its listing at %d for %d, not %d", a.Status, a.Revision, a.Listed, a.RentCents,
		want.rent)
}

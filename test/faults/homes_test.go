package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"github.com/mtlrent/conveyor/domain/listing"
)

// What is said of a pair of adverts, one on each of two platforms.
const (
	grouped   = "grouped"   // nothing: the rules take them for one home
	parted    = "parted"    // that they are two homes
	turned    = "turned"    // that the other one is to be shown
	reunited  = "reunited"  // that they are two homes, and that is undone
	returned  = "returned"  // that the other one is to be shown, and that is undone
	joined    = "joined"    // of two homes, that they are one
	separated = "separated" // of two homes, that they are one, and that is undone
	turning   = "turning"   // now one, now the other is to be shown, as long as faults strike
)

var scripts = []string{parted, reunited, turned, returned, joined, separated, grouped}

// A lodger is an advert in its home.
type lodger struct {
	PlatformID  string
	ID          string // of its listing
	Platform    string
	Home        string
	Shown       string // of the home
	Chosen      string
	Kind        string
	Matched     string
	Hidden      bool
	Pinned      bool
	ReviewedBy  string
	Rent        int64
	Raw         string // status
	DuplicateOf string
	Visible     bool
	Apart       string // IDs of listings, by spaces
}

const (
	sqlLodgers = `
SELECT r.platform_id, r.id::text, r.platform, m.home_id::text, coalesce(h.shown, r.id)::text,
    coalesce(h.chosen::text, ''), m.kind, coalesce(m.matched::text, ''), m.hidden, m.pinned, m.reviewed_by,
    m.rent_cents, r.status, coalesce(r.duplicate_of::text, ''), coalesce(l.status = 'active', false),
    coalesce((SELECT string_agg(other_id::text, ' ' ORDER BY other_id) FROM home_apart WHERE listing_id = r.id), '')
FROM raw_listings r JOIN home_members m ON m.listing_id = r.id LEFT JOIN homes h ON h.id = m.home_id
LEFT JOIN listings l ON l.id = r.id`

	sqlVerdicts = `SELECT id, listing_id::text, verdict, undone_at IS NOT NULL FROM home_verdicts`
)

// A verdict is a decision on a home that the API has acknowledged, or that is in its table.
type verdict struct {
	Number  int64
	Listing string
	Say     string
	Undone  bool
}

// A pair is two adverts, and what was said of them.
type pair struct {
	script  string
	adverts [2]string // platform IDs
	before  [2]lodger // anything was said
	said    []verdict
}

// stands is the last decision that was not undone; zero for none.
func (p *pair) stands() (v verdict) {
	for _, s := range p.said {
		if !s.Undone {
			v = s
		}
	}
	return v
}

// moves are how often listings.merged and listings.split must be told of the pair.
func (p *pair) moves() (merged, split int) {
	if p.script != joined && p.script != separated {
		merged = 1 // by the rules
	}
	for _, v := range p.said {
		switch {
		case v.Say == listing.SaySame && v.Undone:
			merged, split = merged+1, split+1
		case v.Say == listing.SaySame:
			merged++
		case v.Say == listing.SayDifferent && v.Undone:
			merged, split = merged+1, split+1
		case v.Say == listing.SayDifferent:
			split++
		}
	}
	return merged, split
}

// wrong says what of the pair is not as it was said; "" when all is.
func (p *pair) wrong(a, b lodger) string {
	v := p.stands()
	if v.Say == "" { // exactly as it was
		for i, now := range []lodger{a, b} {
			if now != p.before[i] {
				return fmt.Sprintf("is %+v, was %+v", now, p.before[i])
			}
		}
		return ""
	}
	if v.Say == listing.SayDifferent {
		if a.Home == b.Home || a.Hidden || b.Hidden || !a.Visible || !b.Visible || !strings.Contains(a.Apart, b.ID) ||
			!strings.Contains(b.Apart, a.ID) {
			return fmt.Sprintf("are not two homes: %+v %+v", a, b)
		}
		return ""
	}
	shown, hidden := a, b
	if a.Shown == b.ID {
		shown, hidden = b, a
	}
	if a.Home != b.Home || shown.Shown != shown.ID || shown.Hidden || !shown.Visible || !hidden.Hidden || hidden.Visible ||
		shown.Raw != "imported" || hidden.Raw != "duplicate" || hidden.DuplicateOf != shown.ID {
		return fmt.Sprintf("are not one home, one of which is shown: %+v %+v", a, b)
	}
	if v.Say == listing.SayShow && (shown.ID != v.Listing || shown.Chosen != v.Listing) ||
		v.Say == listing.SaySame && !(a.Pinned && b.Pinned) {
		return fmt.Sprintf("%s %s does not stand: %+v %+v", v.Say, v.Listing, a, b)
	}
	return ""
}

// people decide on homes by the API. They ask again until they have an answer, and do not always wait for it.
type people struct {
	w *world

	mu      sync.Mutex
	dice    *rand.Rand
	left    int // pairs that are not done
	rested  bool
	pairs   []*pair
	refused []string // decisions that the API did not take
}

// decide publishes pairs of adverts and has them decided on, some at a time.
func (w *world) decide() {
	pairs := 2 * len(scripts)
	if *long {
		pairs *= 4
	}
	p := &people{w: w, dice: rand.New(rand.NewPCG(*seed, 12)), left: pairs + 1}
	w.people = p
	todo := make(chan string, pairs)
	for n := range pairs {
		todo <- scripts[n%len(scripts)]
	}
	close(todo)
	for range 3 {
		w.gone.Go(func() {
			for script := range todo {
				p.take(script)
			}
		})
	}
	w.gone.Go(func() { p.take(turning) })
}

// busy says of how many pairs something is still to be said.
func (p *people) busy() int {
	if p == nil {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left
}

// rest lets nothing be said that is said as long as faults strike.
func (p *people) rest() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rested = true
}

func (p *people) resting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rested
}

func (p *people) upTo(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dice.IntN(n)
}

// take lets a pair of adverts be published and says what is to be said of it.
func (p *people) take(script string) {
	ctx := p.w.ctx
	one := &pair{script: script, adverts: p.w.flow.pair(script == joined || script == separated)}
	p.mu.Lock()
	p.pairs = append(p.pairs, one)
	p.mu.Unlock()
	through := func(a, b lodger) bool { return a.settled() && b.settled() }
	p.await(one, func(a, b lodger) bool { return through(a, b) && p.ended(a) && p.ended(b) })
	var ok bool
	if one.before, ok = p.await(one, through); !ok {
		return
	}
	shown, hidden := one.before[0], one.before[1]
	if shown.Hidden {
		shown, hidden = hidden, shown
	}
	some := []lodger{shown, hidden}[p.upTo(2)]
	switch script {
	case parted:
		p.say(one, listing.SayDifferent, some)
	case reunited:
		p.say(one, listing.SayDifferent, some)
		p.undo(one)
	case turned:
		p.say(one, listing.SayShow, hidden)
	case returned:
		p.say(one, listing.SayShow, hidden)
		p.undo(one)
	case joined:
		p.say(one, listing.SaySame, one.before[1])
	case separated:
		p.say(one, listing.SaySame, one.before[1])
		p.undo(one)
	case turning:
		for n := 0; !p.resting() && pause(ctx, 200*time.Millisecond); n++ {
			p.say(one, listing.SayShow, []lodger{hidden, shown}[n%2])
			if n%3 == 2 {
				p.undo(one)
			}
		}
	}
	if one.stands().Say != "" { // against every rule
		p.w.flow.reprice(one.adverts)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left--
}

// settled says whether the advert is through the pipeline.
func (l lodger) settled() bool {
	return l.Raw == "imported" && l.Visible || l.Raw == "duplicate" && l.Hidden
}

// ended says whether no run of the advert is left. A run whose end was lost to a fault judges its advert again, which by
// then may be the same as one that joined it.
func (p *people) ended(l lodger) bool {
	ref := listing.Ref{Platform: l.Platform, PlatformID: l.PlatformID}
	d, err := p.w.temporal.DescribeWorkflowExecution(p.w.ctx, ref.WorkflowID(), "")
	return err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// await waits until a pair is as it is to be.
func (p *people) await(one *pair, is func(a, b lodger) bool) (both [2]lodger, ok bool) {
	for pause(p.w.ctx, 100*time.Millisecond) {
		found, err := table[lodger](p.w, sqlLodgers)
		if err != nil { // the database is away
			continue
		}
		at := map[string]lodger{}
		for _, l := range found {
			at[l.PlatformID] = l
		}
		both = [2]lodger{at[one.adverts[0]], at[one.adverts[1]]}
		if is(both[0], both[1]) {
			return both, true
		}
	}
	return both, false
}

// say tells the API what an advert of a pair is, and notes the number of the decision.
func (p *people) say(one *pair, what string, about lodger) {
	var got struct{ Number int64 }
	body, _ := json.Marshal(map[string]string{"verdict": what, "listing_id": about.ID}) // never fails
	if p.ask("/duplicates/"+one.before[0].Home, body, &got) {
		p.mu.Lock()
		defer p.mu.Unlock()
		one.said = append(one.said, verdict{got.Number, about.ID, what, false})
	}
}

// undo takes the last decision on a pair back: at once, while the pipeline may still be publishing, or when it has.
func (p *people) undo(one *pair) {
	if p.upTo(2) == 0 {
		p.await(one, func(a, b lodger) bool { return a.settled() && b.settled() })
	}
	v := one.stands()
	if v.Number != 0 && p.ask(fmt.Sprintf("/duplicates/verdicts/%d/undo", v.Number), nil, nil) {
		p.mu.Lock()
		defer p.mu.Unlock()
		at := slices.Index(one.said, v)
		one.said[at].Undone = true
	}
}

// errLater is an answer after which a caller asks again.
var errLater = errors.New("ask again")

// ask posts until there is an answer. Now and then the caller hangs up while the API works.
func (p *people) ask(path string, body []byte, out any) bool {
	lost := false
	for {
		within := 10 * time.Second
		if p.upTo(3) == 0 {
			within = time.Duration(1+p.upTo(40)) * time.Millisecond
		}
		err := p.post(path, body, out, within)
		switch {
		case err == nil, lost && strings.Contains(err.Error(), "is undone already"):
			return true
		case !errors.Is(err, errLater):
			p.mu.Lock()
			defer p.mu.Unlock()
			p.refused = append(p.refused, path+": "+err.Error())
			return false
		}
		lost = true
		if !pause(p.w.ctx, 50*time.Millisecond) {
			return false
		}
	}
}

func (p *people) post(path string, body []byte, out any, within time.Duration) error {
	ctx, cancel := context.WithTimeout(p.w.ctx, within)
	defer cancel()
	code, answer, err := p.w.ask(ctx, http.DefaultClient, "", http.MethodPost, path,
		&content{kind: "application/json", data: body})
	if err != nil || code >= http.StatusInternalServerError || bytes.Contains(answer, []byte("ask again")) {
		return errLater
	}
	return decoded(code, answer, nil, out)
}

// decided are the pairs, as far as anything was said.
func (p *people) decided() (pairs []pair, refused []string) {
	if p == nil {
		return nil, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.pairs {
		c := *one
		c.said = slices.Clone(one.said)
		pairs = append(pairs, c)
	}
	return pairs, slices.Clone(p.refused)
}

// pair publishes two adverts at once, on two platforms: of one home, or of two.
func (f *flow) pair(two bool) [2]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, b := f.add(twin), f.add(twin)
	b.platform = "kangalou"
	if b.rent = 2 * a.rent; !two {
		b.place, b.rent = a.place, a.rent
	}
	a.body, b.body = f.body(a), f.body(b)
	return [2]string{a.advert, b.advert}
}

// reprice publishes both adverts of a pair with new prices.
func (f *flow) reprice(adverts [2]string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range adverts {
		m, before := f.add(twin), f.newest[id] // f.add keeps the order of the dates
		m.kind, m.platform, m.advert, m.place, m.rent = changed, before.platform, id, before.place, before.rent+5000
		m.body, f.newest[id] = f.body(m), m
	}
}

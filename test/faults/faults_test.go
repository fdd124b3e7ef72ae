// Package faults breaks everything that Conveyor stands on while adverts flow, one thing at a time and then at random,
// and afterwards balances a ledger: each confirmed message is a listing or a dead letter, nothing is there twice, every
// role is healthy. It has services of its own, for it kills them.
//
// `go test ./test/faults` is the short form; `make test-faults` the long one.
package faults

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// The form of a run. The short form is that of make test-faults-short: some faults of the table, others with each seed, without waiting
// for Conveyor to recover before the next.
var (
	long      = flag.Bool("long", false, "the long form: 1,000 messages, ten minutes at random, waiting after each fault")
	messages  = flag.Int("messages", 0, "messages to publish; default 200, long 1,000, and as many again at random")
	random    = flag.Duration("random", -1, "how long faults strike at random; default none, long 10m")
	seed      = flag.Uint64("seed", 0, "of all that is left to chance; default a new one")
	only      = flag.String("only", "", "only the faults whose names contain this")
	transport = flag.String("transport", "http", "scrapers' transport for the demo site's pages: browser or http")
	report    = flag.String("json", "", "file for the ledger as JSON")
)

// binary is the conveyor under test, built once.
var binary string

// beforeBuild is what the test of a cluster does before anything else. It may say which binary is under test.
var beforeBuild = func() error { return nil }

func TestMain(m *testing.M) { os.Exit(build(m)) }

func build(m *testing.M) int {
	flag.Parse()
	if testing.Short() { // only what reads ledgers
		return m.Run()
	}
	form()
	if err := beforeBuild(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if binary != "" { // another process has built it
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "conveyor-faults-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "conveyor")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/conveyor").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build: %v\n%s", err, out))
	}
	return m.Run()
}

// form fills in the values that the flags leave open.
func form() {
	n, chance := 200, time.Duration(0)
	if *long {
		n, chance = 1000, 10*time.Minute
	}
	if *messages == 0 {
		*messages = n
	}
	if *random < 0 {
		*random = chance
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
}

// Under faults, nothing is lost and nothing is there twice.
func TestTheLedgerBalances(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	m := newLiar(t)
	w := newWorld(t, nil, "CONVEYOR_API_WRITE_RATE=0", "CONVEYOR_ENRICH_URL="+m.url, "CONVEYOR_ENRICH_MODEL=liar",
		"CONVEYOR_ENRICH_TIMEOUT=1s", "CONVEYOR_ENRICH_DAILY=1000000")
	w.decide()
	w.say("seed %d: %d messages, %s at random", *seed, *messages, *random)

	table := chosen()
	w.oneAtATime(table)
	if *random > 0 {
		w.atRandom(table)
	}
	w.people.rest()
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	w.rest(l)
	l.flowed(w)
	l.workflows(w)
	l.processes(w)
	l.recoveries(w)
	l.lies(m)

	if *report != "" {
		doc, err := json.MarshalIndent(l, "", "  ")
		if err == nil {
			err = os.WriteFile(*report, append(doc, '\n'), 0o644)
		}
		assert.NoError(t, err)
	}
	l.close(w)
}

// shortForm is how long the faults of the short form take together, about.
const shortForm = 35 * time.Second

// chosen are the faults of this run: in the short form as many as fit, other ones with each seed.
func chosen() (table []fault) {
	left := shortForm
	rank := rand.New(rand.NewPCG(*seed, 4)).Perm(len(faults))
	picked := map[int]bool{}
	for _, n := range rank {
		f := faults[n]
		if *long || *only != "" || f.short > 0 && f.short <= left {
			picked[n] = strings.Contains(f.name, *only)
			left -= f.short
		}
	}
	for n, f := range faults {
		if picked[n] {
			table = append(table, f)
		}
	}
	return table
}

// oneAtATime strikes with every fault once, each in the middle of its share of the messages.
func (w *world) oneAtATime(table []fault) {
	for i, f := range table {
		n := *messages*(i+1)/len(table) - *messages*i/len(table)
		w.flow.feed(n - 1) // the last one is the probe
		probe := w.strike(f, true)
		if probe != nil && *long {
			if err := eventually(w.ctx, 2*servicetest.Patience(), func() bool { return w.watch.saw(probe.advert) }); err != nil {
				w.say("%s: an advert published after it is still not a listing", f.name)
			}
		}
	}
}

// atRandom lets two at a time strike whenever they like, each fault for as long as it likes.
func (w *world) atRandom(table []fault) {
	w.say("at random, for %s", *random)
	ctx, cancel := context.WithTimeout(w.ctx, *random)
	defer cancel()
	w.flow.trickle(ctx, *messages, *random)
	busy := make(chan string, len(table)) // the faults that are not striking
	for _, n := range rand.New(rand.NewPCG(*seed, 3)).Perm(len(table)) {
		busy <- table[n].name
	}
	byName := map[string]fault{}
	for _, f := range table {
		byName[f.name] = f
	}
	done := make(chan struct{})
	for lane := range 2 {
		dice := rand.New(rand.NewPCG(*seed, 10+uint64(lane)))
		go func() {
			defer func() { done <- struct{}{} }()
			for pause(ctx, time.Duration(dice.IntN(8000))*time.Millisecond) {
				name := <-busy
				for range dice.IntN(len(table)) { // any of those that rest
					busy <- name
					name = <-busy
				}
				w.strike(byName[name], false)
				busy <- name
			}
		}()
	}
	<-done
	<-done
}

// A blow is one fault that struck, and how long it took until work went on.
type blow struct {
	fault  string
	alone  bool
	probe  *message // published when the fault was over
	healed time.Time
	missed error // it could not be done: another one was in its way
}

// strike lets a fault happen and be over, and publishes the advert by which it is seen that work goes on. While other
// faults strike too, one that cannot be done is noted and no failure.
func (w *world) strike(f fault, alone bool) *message {
	w.say("%s …", f.name)
	began := time.Now()
	said, err := f.happen(w)
	b := blow{fault: f.name, alone: alone, healed: time.Now(), missed: err}
	switch {
	case err == nil:
		b.probe = w.flow.probe()
		w.say("%s: over after %s%s", f.name, time.Since(began).Round(100*time.Millisecond), said)
	case alone:
		w.t.Errorf("%s could not be done: %v", f.name, err)
	default:
		w.say("%s: missed: %v", f.name, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blows = append(w.blows, b)
	return b.probe
}

// eventually asks until the answer is yes.
func eventually(ctx context.Context, within time.Duration, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for !ok() {
		if !pause(ctx, 100*time.Millisecond) {
			return fmt.Errorf("not within %s", within)
		}
	}
	return nil
}

// disturb kills a worker every three seconds until something is done, and lets each fault that is left strike once between
// two kills, the first after so many. how says how far it is. It returns the number of kills.
func (w *world) disturb(left *[]fault, l *Ledger, first int, done func() bool, how func() string) (kills int) {
	end := time.Now().Add(2 * servicetest.Patience())
	if *long {
		end = time.Now().Add(10 * servicetest.Patience())
	}
	for time.Now().Before(end) && pause(w.ctx, 3*time.Second) {
		if done() {
			return kills
		}
		if len(*left) > 0 && kills >= first {
			f := (*left)[0]
			*left = (*left)[1:]
			w.suffer(f, l)
		}
		if w.any("worker").signal(syscall.SIGKILL) == nil { // it may be starting
			kills++
		}
		if kills%4 == 0 {
			w.say("after %d kills: %s", kills, how())
		}
	}
	l.Wrong = append(l.Wrong, "after all this time "+how())
	return kills
}

// suffer lets a fault strike, and says in the ledger whether it could.
func (w *world) suffer(f fault, l *Ledger) {
	w.say("%s …", f.name)
	said, err := f.happen(w)
	r := Recovery{Fault: f.name, Times: 1}
	if err != nil {
		r.Missed, said = 1, ": missed: "+err.Error()
	}
	l.Faults = append(l.Faults, r)
	w.say("%s: over%s", f.name, said)
}

// pause waits; false when ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

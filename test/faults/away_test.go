package faults

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

const busyRate = 20 // messages a second of a campaign: so that it is being sent while a service is away

// awayFor is how long each service is away.
func awayFor() time.Duration {
	if *long {
		return 5 * time.Minute
	}
	return 20 * time.Second
}

// awayContacts are those of each campaign: enough for a quarter of the time that a service is away.
func awayContacts() int { return int(awayFor().Seconds()) * busyRate / 4 }

// absences are the services that are away in turn.
var absences = []fault{
	{"our Postgres", 1, func(w *world) (string, error) { return "", w.away(w.app, devstack.Postgres) }},
	{"RabbitMQ", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.RabbitMQ) }},
	{"Redis", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.Redis) }},
	{"Temporal", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.Temporal) }},
	{"Chromium", 1, func(w *world) (string, error) { return "", w.away(w.stack, devstack.Chromium) }},
	{"the folder of files", 1, func(w *world) (string, error) {
		err := w.disk.takeAway()
		w.under(awayFor())
		return "", errors.Join(err, w.disk.giveBack())
	}},
}

// away kills a service and starts it again after that time, while work comes in.
func (w *world) away(stack *devstack.Stack, service string) error {
	back := make(chan error, 1)
	go func() { back <- stack.Restart(w.ctx, service, true, awayFor()) }()
	_ = eventually(w.ctx, servicetest.Patience(), func() bool { return stack.Pid(service) == 0 })
	w.under(awayFor())
	return <-back
}

// Each service is away in turn while every system works. Nothing is lost, nothing is done twice, nothing good is refused
// for good, and all comes to its end by itself, but for drafts that could not be made: their requests are dead letters by
// their contract, and are replayed.
func TestEachServiceIsAwayInTurn(t *testing.T) {
	servicetest.Slow(t, servicetest.TestFaults)
	t.Parallel()
	b := newTown(t)
	b.draftsFail = true
	living, stop := context.WithCancel(b.ctx)
	defer stop()
	b.live(living)
	meanwhile, n := func() {}, 0 // once, while a service is away
	b.tempt = func() {
		b.flow.feed(1)
		b.singles.write()
		if n++; n%4 == 0 {
			b.advertise()
		}
		meanwhile()
		meanwhile = func() {}
	}
	l := &Ledger{Seed: *seed, Wrong: []string{}}
	for _, f := range absences {
		if f.name == "Chromium" { // that dies under a page fails it, by the contract of crawl requests
			b.come("no page is being loaded", b.drafted)
			meanwhile = func() { b.draft(b.shop.URL) }
		} else {
			b.draft(b.shop.URL)
		}
		b.round()
		b.say("%s is away …", f.name)
		_, err := f.happen(b.world)
		l.Faults = append(l.Faults, Recovery{Fault: f.name + " away", Times: 1, Missed: b2i(err != nil)})
		if err != nil {
			l.Wrong = append(l.Wrong, f.name+": "+err.Error())
		}
		b.say("%s is back", f.name)
	}
	stop()
	b.reckon(l)
}

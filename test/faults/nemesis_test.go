package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	workflowpb "go.temporal.io/api/workflow/v1"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A fault is one thing that can go wrong. It happens, and is over when happen returns; the text beside an error is for
// the reader of the log.
type fault struct {
	name   string
	short  time.Duration // what it costs in the short form; 0: it is part of the long one only
	happen func(w *world) (said string, err error)
}

// faults are all that is tried. Each may strike at any time, while any other does.
var faults = []fault{
	{"kill -9 api", time.Second, func(w *world) (string, error) { return w.kill("api") }},
	{"kill -9 bridge", time.Second, func(w *world) (string, error) { return w.kill("bridge") }},
	{"kill -9 worker", time.Second, func(w *world) (string, error) { return w.kill("worker") }},
	{"SIGTERM api", time.Second, func(w *world) (string, error) { return w.retire("api") }},
	{"SIGTERM bridge", 2 * time.Second, func(w *world) (string, error) { return w.retire("bridge") }},
	{"SIGTERM worker", 5 * time.Second, func(w *world) (string, error) { return w.retire("worker") }},
	{"kill -9 relay, confirmed but not marked", time.Second, func(w *world) (string, error) {
		return w.killAt("bridge", "outbox", "SET published_at", true)
	}},
	{"kill -9 worker, stored but not reported", time.Second, func(w *world) (string, error) {
		return w.killAt("worker", "listings", "INSERT INTO listings", false)
	}},
	{"kill -9 api, a home is being decided on", time.Second, func(w *world) (string, error) {
		return w.killAt("api", "home_verdicts", "INSERT INTO home_verdicts", false)
	}},
	{"AMQP cut between delivery and ack", time.Second, cutBeforeAck},
	{"AMQP cut, again and again", 0, cutOften},
	{"broker memory alarm", 5 * time.Second, memoryAlarm},
	{"RabbitMQ restarted", 0, func(w *world) (string, error) { return w.restart(devstack.RabbitMQ, false) }},
	{"RabbitMQ killed -9", 8 * time.Second, func(w *world) (string, error) { return w.restart(devstack.RabbitMQ, true) }},
	{"RabbitMQ rebuilt empty", 12 * time.Second, rebuildBroker},
	{"exchange of events deleted", 5 * time.Second, func(w *world) (string, error) {
		return w.deleteFromBroker("exchanges", "listings.events", fresh)
	}},
	{"exchange of adverts deleted", 15 * time.Second, func(w *world) (string, error) {
		return w.deleteFromBroker("exchanges", "scraped", fresh)
	}},
	{"exchange of dead letters deleted", 15 * time.Second, func(w *world) (string, error) {
		return w.deleteFromBroker("exchanges", "scraped.dlx", invalid)
	}},
	{"queue of adverts deleted", 5 * time.Second, func(w *world) (string, error) {
		return w.deleteFromBroker("queues", "scraped.kijiji", fresh)
	}},
	{"queue of dead letters deleted", 5 * time.Second, func(w *world) (string, error) {
		return w.deleteFromBroker("queues", "scraped.kijiji.dlq", invalid)
	}},
	{"queue of events deleted", 5 * time.Second, func(w *world) (string, error) {
		return w.deleteFromBroker("queues", "listings.published", fresh)
	}},
	{"Postgres backends terminated", time.Second, terminateBackends},
	{"Postgres restarted", 2 * time.Second, func(w *world) (string, error) { return w.restart(devstack.Postgres, false) }},
	{"Postgres killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Postgres, true) }},
	{"our Postgres killed -9, Temporal's works", 20 * time.Second, appDatabaseAway},
	{"our Postgres frozen, Temporal's works", 20 * time.Second, appDatabaseFrozen},
	{"raw_listings locked", 18 * time.Second, func(w *world) (string, error) { return w.lockTable("raw_listings") }},
	{"listings locked", 18 * time.Second, func(w *world) (string, error) { return w.lockTable("listings") }},
	{"outbox locked", 18 * time.Second, func(w *world) (string, error) { return w.lockTable("outbox") }},
	{"a migration under load", 0, migrateUnderLoad},
	{"Redis killed -9", 2 * time.Second, func(w *world) (string, error) { return w.restart(devstack.Redis, true) }},
	{"Temporal restarted", 4 * time.Second, func(w *world) (string, error) { return w.restart(devstack.Temporal, false) }},
	{"Temporal killed -9", 0, func(w *world) (string, error) { return w.restart(devstack.Temporal, true) }},
	{"image host stalls", 7 * time.Second, stallHost},
	{"blob store's disk full", time.Second, diskFull},
	{"poison in the outbox", 2 * time.Second, poisonOutbox},
	{"poison pictures", 5 * time.Second, poisonPictures},
	{"a publisher's clock 59 minutes ahead", 2 * time.Second, wrongClock},
	{"bridge frozen", 0, func(w *world) (string, error) { return w.freeze("bridge") }},
	{"worker frozen", 0, func(w *world) (string, error) { return w.freeze("worker") }},
}

// spell is how long something is away: long enough to be noticed, and now and then for the patience to end.
func (w *world) spell() time.Duration {
	if *long {
		return 2*time.Second + w.upTo(10*time.Second)
	}
	return 1500 * time.Millisecond
}

// upTo is a time of less than most.
func (w *world) upTo(most time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.dice.Int64N(int64(most)))
}

// any picks one of the roles of a kind.
func (w *world) any(command string) *role {
	list := w.of(command)
	return list[int(w.upTo(time.Duration(len(list))))]
}

// kill kills one role of a kind while it has something in hand.
func (w *world) kill(command string) (string, error) {
	r := w.any(command)
	pause(w.ctx, w.upTo(time.Second))
	return ": " + r.name, r.signal(syscall.SIGKILL)
}

// killAt kills a role at the very moment at which one of its statements, of which only a part of the text is known, has
// been sent to Postgres and not been answered. Then the statement is executed and its client is gone, or it is undone
// with its sender.
func (w *world) killAt(command, table, statement string, undone bool) (said string, err error) {
	err = w.behindLock(table, command, statement, func(name string, pid int) error {
		for _, r := range w.of(command) {
			if r.name != name {
				continue
			}
			said, err = ": "+name, r.signal(syscall.SIGKILL)
			if undone {
				_, gone := w.db.Exec(w.ctx, "SELECT pg_terminate_backend($1)", pid)
				err = errors.Join(err, gone)
			}
			return err
		}
		return fmt.Errorf("there is no %q", name)
	})
	return said, err
}

const sqlBlocked = `
SELECT application_name, pid FROM pg_stat_activity
WHERE application_name LIKE $1 || '%' AND query LIKE '%' || $2 || '%' AND wait_event_type = 'Lock'
LIMIT 1`

// behindLock locks a table against writers until a statement of a role waits for it, does something at that moment, and
// lets go. Which statements are caught is luck, so it tries again.
func (w *world) behindLock(table, command, statement string, act func(role string, pid int) error) error {
	ctx, cancel := context.WithTimeout(w.ctx, servicetest.Patience())
	defer cancel()
	conn, err := pgx.Connect(ctx, named(w.vars["DATABASE_URL"], "faults"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "LOCK TABLE "+table+" IN EXCLUSIVE MODE"); err != nil {
			return err
		}
		w.tempt() // so that there is always a statement to wait for
		name, pid, err := w.blocked(ctx, command, statement)
		if err == nil {
			return errors.Join(act(name, pid), tx.Rollback(ctx))
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err := tx.Rollback(ctx); err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
	}
}

// blocked looks for half a second for a statement that waits, and says whose it is. The error is pgx.ErrNoRows when there
// was none. It looks from outside of the transaction that locks, inside of which the world stands still.
func (w *world) blocked(ctx context.Context, command, statement string) (name string, pid int, err error) {
	for range 50 {
		err = w.db.QueryRow(ctx, sqlBlocked, command, statement).Scan(&name, &pid)
		if !errors.Is(err, pgx.ErrNoRows) || !pause(ctx, 10*time.Millisecond) {
			break
		}
	}
	return name, pid, err
}

// Names of the connections that a bridge opens.
const (
	consumers  = "conveyor consumers"
	publishers = "conveyor publishers"
	relay      = "conveyor relay"
)

// cutBeforeAck is the trap of the stale ack: deliveries are in hand when their connection is closed, their work ends
// after another session has begun, and its deliveries have the same tags.
func cutBeforeAck(w *world) (string, error) {
	var n int
	err := w.behindLock("raw_listings", "bridge", "INSERT INTO raw_listings", func(string, int) (err error) {
		return errors.Join(eventually(w.ctx, servicetest.Patience(), func() bool {
			n, err = w.cut(consumers)
			return n > 0 || err != nil
		}), err)
	})
	return fmt.Sprintf(": %d connections", n), err
}

// cutOften closes all our connections whenever it sees any, in the middle of any work.
func cutOften(w *world) (string, error) {
	cuts := 0
	for range 60 {
		n, err := w.cut(consumers, publishers, relay)
		if err != nil {
			return "", err
		}
		cuts += n
		pause(w.ctx, w.upTo(500*time.Millisecond))
	}
	return fmt.Sprintf(": %d connections", cuts), nil
}

// memoryAlarm makes the broker block every publisher, as it does when it is short of memory.
func memoryAlarm(w *world) (string, error) {
	before := w.flow.blocks()
	if err := w.rabbitmqctl(w.ctx, "set_vm_memory_high_watermark", "absolute", "1MB"); err != nil {
		return "", err
	}
	blocked := eventually(w.ctx, servicetest.Patience(), func() bool {
		w.flow.feed(1)
		pause(w.ctx, 100*time.Millisecond)
		return w.flow.blocks() > before
	})
	pause(w.ctx, w.spell())
	calm := func() bool {
		return w.rabbitmqctl(w.ctx, "set_vm_memory_high_watermark", "absolute", "1GB") == nil
	}
	return "", errors.Join(blocked, eventually(w.ctx, servicetest.Patience(), calm)) // it may be being restarted
}

// errBusy: another fault has taken the same service away.
var errBusy = errors.New("another fault has it")

// restart takes a service away for a while; where that is Postgres, both at once, as where Temporal shares ours.
func (w *world) restart(service string, kill bool) (string, error) {
	ctx, cancel := context.WithTimeout(w.ctx, 2*servicetest.Patience())
	defer cancel()
	away := w.spell()
	switch service {
	case devstack.Postgres:
		if !w.postgres.TryLock() {
			return "", errBusy
		}
		defer w.postgres.Unlock()
		var both errgroup.Group
		both.Go(func() error { return w.stack.Restart(ctx, service, kill, away) })
		both.Go(func() error { return w.app.Restart(ctx, service, kill, away) })
		return "", both.Wait()
	case devstack.RabbitMQ:
		if !w.broker.TryLock() {
			return "", errBusy
		}
		defer w.broker.Unlock()
	}
	return "", w.stack.Restart(ctx, service, kill, away)
}

const sqlTerminate = `
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND application_name NOT LIKE 'faults%'`

// terminateBackends ends every session at both databases, ours and Temporal's.
func terminateBackends(w *world) (string, error) {
	theirs, err := pgx.Connect(w.ctx, named(owner(w.stack.Vars()), "faults"))
	if err != nil {
		return "", err
	}
	defer func() { _ = theirs.Close(context.WithoutCancel(w.ctx)) }()
	sessions := 0
	for range 5 {
		var n, m int
		err := errors.Join(w.db.QueryRow(w.ctx, sqlTerminate).Scan(&n), theirs.QueryRow(w.ctx, sqlTerminate).Scan(&m))
		if err != nil {
			return "", err
		}
		sessions += n + m
		pause(w.ctx, w.upTo(500*time.Millisecond))
	}
	return fmt.Sprintf(": %d sessions", sessions), nil
}

// stallHost lets an image host take requests and say nothing. Images of the others must go on, which the ledger sees
// only as time; the downloads that it holds up come later.
func stallHost(w *world) (string, error) {
	h := w.hosts["well"]
	resume := h.stall()
	defer resume()
	before := h.total()
	err := eventually(w.ctx, servicetest.Patience(), func() bool {
		w.flow.feed(1)
		pause(w.ctx, 100*time.Millisecond)
		return h.total() > before
	})
	pause(w.ctx, w.spell())
	return fmt.Sprintf(": %d requests", h.total()-before), err
}

// diskFull leaves no room for images until a worker has complained, or, on a real disk, an image waits for room.
func diskFull(w *world) (string, error) {
	complaints := func() (n int) {
		for _, r := range w.of("worker") {
			_, _, full := r.log.counts()
			n += full
		}
		return n
	}
	before := complaints()
	if err := w.disk.fill(w.ctx, w.of("worker")); err != nil {
		return "", errors.Join(err, w.disk.free(w.ctx))
	}
	seen := func() bool {
		w.flow.feed(1)
		pause(w.ctx, 200*time.Millisecond)
		return complaints() > before
	}
	if w.disk.real { // then nothing is written below the reserve
		probe := w.flow.probe()
		seen = func() bool { return w.waits("listing/kijiji/" + probe.advert) }
	}
	err := eventually(w.ctx, servicetest.Patience(), seen)
	pause(w.ctx, w.spell()/2)
	return fmt.Sprintf(": %d writes failed", complaints()-before), errors.Join(err, w.disk.free(w.ctx))
}

// waits says whether something of a workflow waits for room on the disk.
func (w *world) waits(workflow string) bool {
	is, err := w.temporal.DescribeWorkflowExecution(w.ctx, workflow, "")
	return err == nil && slices.ContainsFunc(is.GetPendingActivities(), func(a *workflowpb.PendingActivityInfo) bool {
		return strings.Contains(a.GetLastFailure().GetMessage(), "waits for room")
	})
}

// freeze stops a role for longer than leases, heartbeats and task timeouts last, and lets it go on as if nothing had
// been. The leases that it still believes to hold are another's by then.
func (w *world) freeze(command string) (string, error) {
	r := w.any(command)
	if err := r.signal(syscall.SIGSTOP); err != nil {
		return "", err
	}
	pause(w.ctx, 40*time.Second)
	return ": " + r.name, r.signal(syscall.SIGCONT)
}

package outreach

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/mtlrent/conveyor/domain/campaign"
)

// A DispatchStarter wakes the workflows that send the messages of tenants: *launch.Launch.
type DispatchStarter interface {
	// WakeDispatch has the workflow of a tenant look for messages, and starts it where it does not run.
	WakeDispatch(ctx context.Context, tenant string) error
}

const (
	wakeWithin = time.Second     // a request that has stored a message waits so long for its workflow
	wakePause  = 5 * time.Second // after a failure, in which no request of the tenant waits
	// WakeEvery is how soon after a wake of a tenant the next one is sent. A slice that sends messages looks for more
	// for longer than that.
	WakeEvery = 250 * time.Millisecond
)

// Wakes has the workflow Dispatch of a tenant look for messages that were stored. A wake is worth little, for workers
// look for tenants with messages every two seconds: after a failure none of the tenant is tried for a while, and none
// of any where Temporal cannot be reached, so that it slows down one request in that time, by a second. The first of
// several wakes of a tenant is sent at once, and those within a while after it are one, at its end.
type Wakes struct {
	launch DispatchStarter
	every  time.Duration // between two wakes of a tenant
	log    *slog.Logger

	mu     sync.Mutex
	away   map[string]time.Time // by tenant, "" = all: none is tried before
	woken  map[string]time.Time // by tenant, where less than every ago
	behind map[string]*time.Timer
	closed bool
	under  sync.WaitGroup // wakes of behind that are under way
}

// NewWakes returns wakes by a launch, so far apart for a tenant. Close them.
func NewWakes(launch DispatchStarter, every time.Duration, log *slog.Logger) *Wakes {
	return &Wakes{
		launch: launch, every: every, log: log,
		away: map[string]time.Time{}, woken: map[string]time.Time{}, behind: map[string]*time.Timer{},
	}
}

// Wake returns when the signal was sent, or could not be sent in time, or when it is to be sent soon.
func (w *Wakes) Wake(ctx context.Context, tenant string) {
	ctx = context.WithoutCancel(ctx) // what it is for is stored, whether its caller waits or has gone
	if w.begin(ctx, tenant, time.Now()) {
		w.wake(ctx, tenant)
	}
}

// begin says that a tenant is woken now. Where one was just now, the wake is put off; it is sent then, come what may:
// what it is for would have been tried before.
func (w *Wakes) begin(ctx context.Context, tenant string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.woken, func(_ string, at time.Time) bool { return now.Sub(at) >= w.every })
	if _, armed := w.behind[tenant]; armed {
		return false
	}
	if woken, lately := w.woken[tenant]; lately && !w.closed {
		w.arm(ctx, tenant, w.every-now.Sub(woken))
		return false
	}
	maps.DeleteFunc(w.away, func(_ string, until time.Time) bool { return !now.Before(until) })
	_, all := w.away[""]
	_, own := w.away[tenant]
	if all || own {
		return false
	}
	w.woken[tenant] = now
	return true
}

// arm has a tenant woken after a while. The caller holds the lock.
func (w *Wakes) arm(ctx context.Context, tenant string, after time.Duration) {
	w.under.Add(1)
	w.behind[tenant] = time.AfterFunc(after, func() {
		defer w.under.Done()
		w.mu.Lock()
		delete(w.behind, tenant) // before the signal, which may be too early for what is stored from now on
		w.woken[tenant] = time.Now()
		w.mu.Unlock()
		w.wake(ctx, tenant)
	})
}

// Close sends what was put off, and returns when it was sent or could not be sent in time. Wakes after it are sent at
// once.
func (w *Wakes) Close() {
	w.mu.Lock()
	w.closed = true
	for _, timer := range w.behind {
		if timer.Stop() { // else it is about to be sent
			timer.Reset(0)
		}
	}
	w.mu.Unlock()
	w.under.Wait()
}

// wake sends a signal.
func (w *Wakes) wake(ctx context.Context, tenant string) {
	waking, cancel := context.WithTimeout(ctx, wakeWithin)
	defer cancel()
	err := w.launch.WakeDispatch(waking, tenant)
	if w.woke(tenant, err); err == nil {
		return
	}
	w.log.WarnContext(ctx, "cannot reach the workflow that sends messages; a worker starts it when temporal is back",
		"workflow_id", campaign.DispatchWorkflowID(tenant), "err", err)
}

// woke notes what became of a wake.
func (w *Wakes) woke(tenant string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if err == nil {
		w.woken[tenant] = now
		return
	}
	delete(w.woken, tenant)
	var away *serviceerror.Unavailable
	switch {
	case errors.As(err, &away):
		w.away[""] = now.Add(wakePause)
	default:
		w.away[tenant] = now.Add(wakePause)
	}
}

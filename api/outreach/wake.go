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
	// WakeDispatch has the workflow of a tenant look for messages, and starts it where it does not run. Calls that come
	// at once for one tenant share a signal.
	WakeDispatch(ctx context.Context, tenant string) error
}

const (
	wakeWithin = time.Second     // a request that has stored a message waits so long for its workflow
	wakePause  = 5 * time.Second // after a failure, in which no request of the tenant waits
)

// Wakes has the workflow Dispatch of a tenant look for messages that were stored. A wake is worth little, for workers
// look for tenants with messages every two seconds: after a failure none of the tenant is tried for a while, and none
// of any where Temporal cannot be reached, so that it slows down one request in that time, by a second.
type Wakes struct {
	launch DispatchStarter
	log    *slog.Logger

	mu   sync.Mutex
	away map[string]time.Time // by tenant, "" = all: none is tried before
}

// NewWakes returns wakes by a launch.
func NewWakes(launch DispatchStarter, log *slog.Logger) *Wakes {
	return &Wakes{launch: launch, log: log, away: map[string]time.Time{}}
}

// Wake returns when the signal was sent, or could not be sent in time.
func (w *Wakes) Wake(ctx context.Context, tenant string) {
	if !w.tries(tenant, time.Now()) {
		return
	}
	waking, cancel := context.WithTimeout(ctx, wakeWithin)
	defer cancel()
	err := w.launch.WakeDispatch(waking, tenant)
	if err == nil || errors.Is(ctx.Err(), context.Canceled) { // a caller that has gone says nothing of Temporal
		return
	}
	of := tenant
	var away *serviceerror.Unavailable
	if errors.As(err, &away) {
		of = ""
	}
	w.mu.Lock()
	w.away[of] = time.Now().Add(wakePause)
	w.mu.Unlock()
	w.log.WarnContext(ctx, "cannot reach the workflow that sends messages; a worker starts it when temporal is back",
		"workflow_id", campaign.DispatchWorkflowID(tenant), "err", err)
}

func (w *Wakes) tries(tenant string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.away, func(_ string, until time.Time) bool { return !now.Before(until) })
	_, all := w.away[""]
	_, own := w.away[tenant]
	return !all && !own
}

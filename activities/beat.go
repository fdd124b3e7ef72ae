package activities

import (
	"context"
	"encoding/json"
	"sync"

	"go.temporal.io/sdk/activity"
)

// Pulse is what the heartbeats of an activity carry: how far it has come, for the worker that takes over when this one
// dies. The worker beats by itself; the activity says what with progress.
type Pulse struct {
	mu   sync.Mutex
	last any // nil = nothing was said
}

type pulseKey struct{}

// WithPulse returns a context in which progress tells p. What an earlier try of the activity had said is in p already:
// the first beat would wipe it out otherwise.
func WithPulse(ctx context.Context) (context.Context, *Pulse) {
	p := &Pulse{}
	if activity.HasHeartbeatDetails(ctx) {
		var said json.RawMessage
		if activity.GetHeartbeatDetails(ctx, &said) == nil && len(said) > 0 {
			p.last = said
		}
	}
	return context.WithValue(ctx, pulseKey{}, p), p
}

// Beat tells Temporal that the activity of ctx lives, and how far it has come.
func (p *Pulse) Beat(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		activity.RecordHeartbeat(ctx)
	} else {
		activity.RecordHeartbeat(ctx, p.last)
	}
}

// progress says how far an activity has come. Temporal may learn of it only with a later beat, so whoever takes over
// must be ready to find more done than it says.
func progress(ctx context.Context, v any) {
	p, ok := ctx.Value(pulseKey{}).(*Pulse)
	if !ok {
		activity.RecordHeartbeat(ctx, v)
		return
	}
	p.mu.Lock()
	p.last = v
	p.mu.Unlock()
	p.Beat(ctx)
}

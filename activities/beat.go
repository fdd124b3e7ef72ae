package activities

import (
	"context"
	"encoding/json"
	"sync"

	"go.temporal.io/sdk/activity"
)

// Pulse is the progress that the heartbeats of an activity carry, for the worker that takes over when this one dies.
// The worker sends the heartbeats; the activity reports its progress with progress.
type Pulse struct {
	mu   sync.Mutex
	last any // the last progress; nil = none was reported
}

type pulseKey struct{}

// WithPulse returns a context in which progress is reported to p. The progress of an earlier try of the activity is in
// p already: the first heartbeat would erase it otherwise.
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

// Beat sends a heartbeat of the activity of ctx to Temporal, with its last progress.
func (p *Pulse) Beat(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		activity.RecordHeartbeat(ctx)
	} else {
		activity.RecordHeartbeat(ctx, p.last)
	}
}

// progress reports how far an activity has come. Temporal may receive it only with a later heartbeat, so a worker that
// takes over must be ready to find more done than was reported, and what v points to may not change any more.
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

// said says whether a text is the progress of the try before.
func said(ctx context.Context, text string) bool {
	p, ok := ctx.Value(pulseKey{}).(*Pulse)
	if !ok {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	last, ok := p.last.(json.RawMessage)
	var was string
	return ok && json.Unmarshal(last, &was) == nil && was == text
}

// ends is the progress of an activity that may kill its workers: how its tries have ended.
type ends struct {
	// Lived is how many have ended otherwise than by the death of their worker, as by a graceful stop of it.
	Lived int `json:"lived,omitempty"`
	// Untold: the last one has ended alive, and could not say so to our store, which counts the tries that begin.
	Untold bool `json:"untold,omitempty"`
}

// endsOf is how the tries up to this one have ended, as far as they could tell, and whether this one has told so.
func endsOf(ctx context.Context) (e ends, this bool) {
	p, ok := ctx.Value(pulseKey{}).(*Pulse)
	if !ok {
		return e, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if told, ok := p.last.(ends); ok {
		return told, true
	}
	if last, ok := p.last.(json.RawMessage); ok && json.Unmarshal(last, &e) != nil {
		return ends{}, false // of another kind
	}
	return e, false
}

// tellEnds tells the next try of an activity how those up to this one have ended.
func tellEnds(ctx context.Context, change func(*ends)) {
	if _, ok := ctx.Value(pulseKey{}).(*Pulse); !ok {
		return
	}
	e, _ := endsOf(ctx)
	change(&e)
	progress(ctx, e)
}

// tellAlive tells the next try of an activity that this one has ended alive, which our store could not be told.
func tellAlive(ctx context.Context) {
	tellEnds(ctx, func(e *ends) { e.Untold = true })
}

// countTry counts a try that begins, by begin. Where the one before could only tell this one that it has ended alive,
// that is stored first, by end.
func countTry(ctx context.Context, end func() error, begin func() (int, error)) (begun int, err error) {
	if before, this := endsOf(ctx); before.Untold && !this {
		if err := end(); err != nil {
			return 0, err
		}
		tellEnds(ctx, func(e *ends) { e.Untold = false })
	}
	if begun, err = begin(); err != nil {
		tellAlive(ctx) // it may be counted all the same
	}
	return begun, err
}

// deaths is how many tries of an activity before this one have ended in the death of their worker, or hung: those that
// did not tellLived.
func deaths(ctx context.Context) int {
	if !activity.IsActivity(ctx) {
		return 0
	}
	e, _ := endsOf(ctx)
	return max(int(activity.GetInfo(ctx).Attempt)-1-e.Lived, 0)
}

// tellLived tells the next tries of an activity that this one has ended alive.
func tellLived(ctx context.Context) {
	tellEnds(ctx, func(e *ends) { e.Lived++ })
}

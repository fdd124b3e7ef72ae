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
	lived int // ends.Lived of the tries before

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
			p.lived = p.ends().Lived
		}
	}
	return context.WithValue(ctx, pulseKey{}, p), p
}

// Beat sends a heartbeat of the activity of ctx to Temporal, with its last progress, also when ctx has ended: the SDK
// would send nothing then, and a store that does not answer takes the time of ctx until that is to be told.
func (p *Pulse) Beat(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // the SDK bounds each request
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

// ends is how the tries up to this one have ended, as far as they could tell. p is locked.
func (p *Pulse) ends() (e ends) {
	switch last := p.last.(type) {
	case ends:
		return last
	case json.RawMessage:
		if json.Unmarshal(last, &e) != nil {
			return ends{} // of another kind
		}
	}
	return e
}

// tellEnds tells the next try of an activity how those up to this one have ended. It may be called at any time.
func tellEnds(ctx context.Context, change func(*ends)) {
	p, ok := ctx.Value(pulseKey{}).(*Pulse)
	if !ok {
		return
	}
	p.mu.Lock()
	e := p.ends()
	change(&e)
	p.last = e
	p.mu.Unlock()
	p.Beat(ctx)
}

// tellAlive tells the next try of an activity that this one has ended alive, which our store could not be told.
func tellAlive(ctx context.Context) {
	tellEnds(ctx, func(e *ends) { e.Untold = true })
}

// untold says whether the last try that has ended told so by tellAlive, and countTry has not told the store since.
func untold(ctx context.Context) bool {
	p, ok := ctx.Value(pulseKey{}).(*Pulse)
	if !ok {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends().Untold
}

// countTry counts a try that begins, by begin. Where the one before could only tell this one that it has ended alive,
// that is stored first, by end.
func countTry(ctx context.Context, end func() error, begin func() (int, error)) (begun int, err error) {
	if untold(ctx) {
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
	before := int(activity.GetInfo(ctx).Attempt) - 1
	if p, ok := ctx.Value(pulseKey{}).(*Pulse); ok {
		before -= p.lived
	}
	return max(before, 0)
}

// tellLived tells the next tries of an activity that this one has ended alive.
func tellLived(ctx context.Context) {
	tellEnds(ctx, func(e *ends) { e.Lived++ })
}

// tellStop does tellLived as soon as the worker is asked to stop, or else when the function that it returns is called
// with an error.
func tellStop(ctx context.Context) (end func(error)) {
	over := atStop(ctx, func(e *ends) { e.Lived++ })
	return func(err error) {
		if told := over(); err != nil && !told {
			tellLived(ctx)
		}
	}
}

// tellUntold does tellAlive as soon as the worker is asked to stop, until the function that it returns is called: for a
// try that our store counts, and that may be cut off before it can take that back.
func tellUntold(ctx context.Context) (end func()) {
	over := atStop(ctx, func(e *ends) { e.Untold = true })
	return func() { over() }
}

// atStop does tellEnds as soon as the worker is asked to stop, until the function that it returns is called, which says
// whether it was. Once the grace of the stop is over, ctx ends, and the process a moment later: that is too late.
func atStop(ctx context.Context, change func(*ends)) (over func() (told bool)) {
	if !activity.IsActivity(ctx) {
		return func() bool { return false }
	}
	stops, ended := activity.GetWorkerStopChannel(ctx), make(chan struct{})
	var telling sync.WaitGroup
	told := false
	telling.Go(func() {
		select {
		case <-stops:
			told = true
			tellEnds(ctx, change)
		case <-ended:
		}
	})
	return func() bool {
		close(ended)
		telling.Wait()
		return told
	}
}

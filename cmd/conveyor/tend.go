package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"
)

// tend does a piece of work of the worker role once in every interval, first at the end of one, until stop is called,
// which waits for it. It is part of the work of a task queue: a process that does not serve queue does nothing. A
// failure is logged, a panic too and counted, and the work is done again in its time; doing names it in the log.
func (h *house) tend(queue, doing string, every time.Duration, work func(context.Context) error) (stop func()) {
	if !slices.Contains(h.config.Worker.Queues, queue) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tender sync.WaitGroup
	tender.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := h.survive(ctx, doing, work); err != nil && ctx.Err() == nil {
				h.log.WarnContext(ctx, doing+" failed", "err", err)
			}
		}
	})
	return func() {
		cancel()
		tender.Wait()
	}
}

// survive turns a panic of a tender into an error: the row that causes it would end one worker process after the other.
func (h *house) survive(ctx context.Context, doing string, work func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			h.panics.WithLabelValues(doing).Inc()
			h.log.ErrorContext(ctx, doing+" panicked", "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	return work(ctx)
}

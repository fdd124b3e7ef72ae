package main

import (
	"context"
	"sync"
	"time"
)

// tend does a piece of work of the worker role once in every interval, first at the end of one, until stop is called,
// which waits for it. A failure is logged, and the work is done again in its time; doing names it in the log.
func (h *house) tend(doing string, every time.Duration, work func(context.Context) error) (stop func()) {
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
			if err := work(ctx); err != nil && ctx.Err() == nil {
				h.log.WarnContext(ctx, doing+" failed", "err", err)
			}
		}
	})
	return func() {
		cancel()
		tender.Wait()
	}
}

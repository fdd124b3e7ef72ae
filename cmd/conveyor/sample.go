package main

import (
	"context"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

const (
	sampleEvery  = 30 * time.Second
	sampleWithin = 10 * time.Second
	flowKept     = 8 * 24 * time.Hour // GET /flow goes back a week
	flowApart    = 10 * time.Minute   // after it, no transaction counts for a minute any more
	tidyEach     = 20                 // samples
)

// sample stores what waits in the queues, and adds up what has passed, until ctx ends. Of several API processes, one
// does it at a time.
func (h *house) sample(ctx context.Context, waiting *telemetry.Backlog) {
	samples, flow := db.NewSamples(h.pool), db.NewFlow(h.pool)
	n := -1
	_ = again(ctx, sampleEvery, func() (bool, error) {
		n++
		storing, cancel := context.WithTimeout(ctx, sampleWithin)
		r := waiting.Read(storing)
		err := samples.Add(storing, r.Samples(), time.Now())
		if err == nil && n%tidyEach == 0 {
			err = flow.Tidy(storing, time.Now().Add(-flowApart), time.Now().Add(-flowKept))
		}
		cancel()
		if err != nil && ctx.Err() == nil {
			h.log.WarnContext(ctx, "cannot store the past of the queues", "err", err)
		}
		return false, nil
	})
}

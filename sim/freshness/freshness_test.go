package freshness_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/sim/freshness"
)

// A month of a site of 9,000 adverts at nine seconds a request, with its looks and without, and with a search that is too
// long to be read to its end. The year is in the benchmark.
func TestAMonth(t *testing.T) {
	t.Parallel()

	lanes := scrape.Pace{Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute, Look: scrape.DefaultLook,
		Cycle: scrape.DefaultCycle}
	noLooks, bounded := lanes, lanes
	noLooks.Look, bounded.MaxPages = 0, 100
	for _, tt := range []struct {
		name     string
		pace     scrape.Pace
		p50, p95 time.Duration // at most
		oldest   time.Duration // at most
		complete bool          // cycles are
	}{
		{"two lanes", lanes, 4 * time.Minute, 8 * time.Minute, 48 * time.Hour, true},
		{"the slow lane alone", noLooks, 3 * time.Hour, 6 * time.Hour, 48 * time.Hour, true},
		{"bounded pages", bounded, 4 * time.Minute, 8 * time.Minute, 48 * time.Hour, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			r := freshness.Simulate(freshness.NineThousand, tt.pace, 30, 1)
			t.Logf("%+v", r)
			require.Zero(t, r.Wrong, "wrongly archived")
			require.LessOrEqual(t, r.P50, tt.p50)
			require.LessOrEqual(t, r.P95, tt.p95)
			require.LessOrEqual(t, r.Oldest, tt.oldest)
			require.InDelta(t, 28*freshness.NineThousand.New, r.New, 500, "all that is published is noticed")
			require.LessOrEqual(t, r.Requests, 30*24*3600/9+1000, "a request at a time, nine seconds apart")
			if tt.complete {
				require.Greater(t, r.Gone, 7000)
			}
		})
	}
}

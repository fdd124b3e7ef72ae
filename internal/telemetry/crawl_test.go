package telemetry_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// The names are those of the system that this one replaces: dashboards and alerts of others use them.
func TestCrawl(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewPedanticRegistry()
	c := telemetry.NewCrawl(reg)
	c.Waited(-time.Second)
	c.Fetched(20 * time.Millisecond)
	for n, o := range []crawl.Outcome{
		crawl.OutcomeVisited, crawl.OutcomeRetried, crawl.OutcomeFailed, crawl.OutcomeSkipped, crawl.OutcomeReturned,
	} {
		for range n + 1 {
			c.Processed(time.Second, o)
		}
	}
	c.Cycle(time.Millisecond, 3, 2)
	c.Cycle(time.Millisecond, 0, 0)
	families, err := reg.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		got[f.GetName()] = m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
	}
	require.Equal(t, map[string]float64{
		"crawl_fetch_duration_seconds": 1, "crawl_processing_duration_seconds": 15, "crawl_queue_latency_seconds": 1,
		"crawl_urls_visited_total": 1, "crawl_urls_retried_total": 2, "crawl_urls_failed_total": 3,
		"conveyor_crawl_urls_skipped_total": 4, "conveyor_crawl_urls_returned_total": 5, "processed_urls_total": 15,
		"crawl_stale_claims_recovered_total": 3, "crawl_reconciliation_cycle_duration_seconds": 2,
		"crawl_queue_reconciliation_cycles_total": 2, "crawl_queue_reconciliation_requeued_total": 2,
	}, got)
}

package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/metric"
)

// Crawl has the metrics of a process that crawls. Those without our prefix have the names of the system that this one
// replaces. Its methods may be called by several goroutines at once.
type Crawl struct {
	fetch, processing, wait, cycle                         prometheus.Histogram
	visited, retried, failed, skipped, returned, processed prometheus.Counter
	recovered, cycles, requeued                            prometheus.Counter
}

// NewCrawl registers the metrics with r.
func NewCrawl(r prometheus.Registerer) *Crawl {
	m := metric.With(r)
	histogram := func(name, help string) prometheus.Histogram {
		return m.Histogram(name, help, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300)
	}
	return &Crawl{
		fetch: histogram("crawl_fetch_duration_seconds",
			"Time from the start of a request, when its host's turn has come, until the headers of the answer are there."),
		processing: histogram("crawl_processing_duration_seconds",
			"Time from the claim of a URL until its result is stored, the wait for its host's turn included."),
		wait: histogram("crawl_queue_latency_seconds", "Time from a URL being due until it was claimed."),
		cycle: histogram("crawl_reconciliation_cycle_duration_seconds",
			"Time of one cycle of maintenance of one run: leases that have ended, counts, completion."),
		visited:   m.Counter("crawl_urls_visited_total", "URLs that ended as VISITED."),
		retried:   m.Counter("crawl_urls_retried_total", "Requests after which a URL was queued again for another try."),
		failed:    m.Counter("crawl_urls_failed_total", "URLs that ended in a state other than VISITED and SKIPPED."),
		processed: m.Counter("processed_urls_total", "Claimed URLs that came to a result, retries included."),
		skipped:   m.Counter("conveyor_crawl_urls_skipped_total", "Claimed URLs that ended as SKIPPED."),
		returned: m.Counter("conveyor_crawl_urls_returned_total",
			"Claimed URLs that went back to the frontier without a request: their host's turn was too far away."),
		recovered: m.Counter("crawl_stale_claims_recovered_total",
			"URLs whose lease ended before their worker had a result."),
		cycles:   m.Counter("crawl_queue_reconciliation_cycles_total", "Cycles of maintenance, of all runs."),
		requeued: m.Counter("crawl_queue_reconciliation_requeued_total", "URLs that maintenance put back to the frontier."),
	}
}

// Waited counts a claim, and how long its URL had been due.
func (c *Crawl) Waited(d time.Duration) { since(c.wait, d) }

// Fetched counts a request, and how long its headers took.
func (c *Crawl) Fetched(d time.Duration) { c.fetch.Observe(d.Seconds()) }

// Processed counts a result, and how long it took from the claim on.
func (c *Crawl) Processed(d time.Duration, o crawl.Outcome) {
	c.processing.Observe(d.Seconds())
	c.processed.Inc()
	switch o {
	case crawl.OutcomeVisited:
		c.visited.Inc()
	case crawl.OutcomeRetried:
		c.retried.Inc()
	case crawl.OutcomeFailed:
		c.failed.Inc()
	case crawl.OutcomeSkipped:
		c.skipped.Inc()
	case crawl.OutcomeReturned:
		c.returned.Inc()
	}
}

// Cycle counts a cycle of maintenance: the leases that had ended, and the URLs that it put back to the frontier.
func (c *Crawl) Cycle(took time.Duration, recovered, requeued int) {
	c.cycle.Observe(took.Seconds())
	c.cycles.Inc()
	c.recovered.Add(float64(recovered))
	c.requeued.Add(float64(requeued))
}

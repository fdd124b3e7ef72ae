package main

import (
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// The rows of all systems fit together: workers.New panics when activities are missing, or when two have one name.
func TestSystems(t *testing.T) {
	t.Parallel()

	c, err := settings()
	require.NoError(t, err)
	h := &house{
		config: c, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry(), redis: redis.NewClient(&redis.Options{}),
	}
	t.Cleanup(func() { _ = h.redis.Close() })
	h.pool, err = db.Open(t.Context(), "postgres://conveyor@127.0.0.1:1/conveyor", 1)
	require.NoError(t, err)
	t.Cleanup(h.pool.Close)
	temporal, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)

	var (
		rows    []workers.Row
		backlog telemetry.Backlog
		again   = db.Reopeners{}
	)
	for _, s := range h.systems() {
		if s.activities != nil {
			more, done := s.activities(t.Context())
			rows = append(rows, more...)
			if done != nil {
				t.Cleanup(done)
			}
		}
		if s.backlog != nil {
			s.backlog(&backlog)
		}
		maps.Copy(again, s.reopeners)
	}
	require.ElementsMatch(t, []string{ // dead letters of the others cannot be replayed
		contact.QueueJobs, contact.QueueChunks, contact.QueuePersistence, campaign.QueueDispatch, campaign.QueueRetry,
		campaign.QueueCampaigns, saved.Queue,
	}, slices.Collect(maps.Keys(again)))
	made := workers.New(temporal, rows, workers.Options{Queues: workflows.QueueNames(), StoreSlots: 1})
	require.Len(t, made, len(workflows.Queues))
	require.NotNil(t, backlog.Limits)
	require.NotNil(t, backlog.Platforms)

	var names []string
	for _, q := range h.bridgeOptions().Queues {
		names = append(names, q.Name)
	}
	want, err := servicetest.Queues("../../domain/contract/queues.go")
	require.NoError(t, err)
	want = slices.DeleteFunc(want, func(name string) bool { return name == contract.QueueEnriched }) // of another team
	for _, name := range platform.Names() {
		want = append(want, contract.QueueScraped(name))
	}
	slices.Sort(names)
	slices.Sort(want)
	require.Equal(t, want, names)
}

// A process that serves other task queues only is built with every activity, and starts no tender: it holds no saved
// search in memory.
func TestNoticesElsewhere(t *testing.T) {
	t.Parallel()

	c, err := settings()
	require.NoError(t, err)
	c.Worker.Queues = []string{workflows.QueueCrawl}
	h := &house{config: c, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry()}
	rows, done := h.saved().activities(t.Context())
	require.Len(t, rows, 1)
	done() // without a database: nothing has asked for it
}

// Where another team enriches listings, it has listings.normalized to itself.
func TestQueuesOfEnrichmentElsewhere(t *testing.T) {
	t.Parallel()

	c, err := settings()
	require.NoError(t, err)
	c.Listings.Enrich = listing.EnrichElsewhere
	h := &house{config: c, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry()}
	consumed := map[string]bool{}
	for _, q := range h.listings().queues {
		consumed[q.Name] = q.Handle != nil
	}
	require.Contains(t, consumed, contract.QueueNormalized)
	require.False(t, consumed[contract.QueueNormalized])
	require.True(t, consumed[contract.QueueEnriched])
	require.True(t, consumed[contract.QueueReady])
}

// The document that package api holds fast has the endpoints of every system.
func TestDocumentedEndpoints(t *testing.T) {
	t.Parallel()

	c, err := settings()
	require.NoError(t, err)
	h := &house{config: c, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry()}
	served := httptest.NewRecorder()
	api.New(api.Options{Metrics: h.registry, Log: h.log, Version: "1.2.3", URL: "http://conveyor.test"}, h.parts(&telemetry.Backlog{})...).ServeHTTP(
		served, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://conveyor.test/openapi.yaml", nil))
	require.Equal(t, http.StatusOK, served.Code)
	golden, err := os.ReadFile("../../api/testdata/openapi.golden.yaml")
	require.NoError(t, err)
	require.Equal(t, string(golden), served.Body.String(), "add the part to those of the tests of package api, then: "+
		"go test ./api -run OpenAPI -update")
}

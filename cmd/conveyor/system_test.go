package main

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// The rows of all systems fit together: workers.New panics when activities are missing, or when two have one name, and
// api.New when two operations have one path.
func TestSystems(t *testing.T) {
	t.Parallel()

	c, err := settings()
	require.NoError(t, err)
	h := &house{
		config: c, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry(), redis: redis.NewClient(&redis.Options{}),
	}
	t.Cleanup(func() { _ = h.redis.Close() })
	temporal, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(temporal.Close)

	var (
		rows    []workers.Row
		parts   []api.Part
		backlog telemetry.Backlog
	)
	for _, s := range h.systems() {
		if s.activities != nil {
			more, done := s.activities(t.Context())
			t.Cleanup(done)
			rows = append(rows, more...)
		}
		parts = append(parts, s.parts...)
		if s.backlog != nil {
			s.backlog(&backlog)
		}
	}
	made := workers.New(temporal, rows, workers.Options{Queues: workflows.QueueNames(), StoreSlots: 1})
	require.Len(t, made, len(workflows.Queues))
	require.NotNil(t, api.New(api.Options{Metrics: h.registry, Log: h.log}, parts...))
	require.NotNil(t, backlog.Limits)
	require.NotNil(t, backlog.Platforms)

	var names []string
	for _, q := range h.bridgeOptions().Queues {
		names = append(names, q.Name)
	}
	want := []string{
		contract.QueueNormalized, contract.QueueReady, contract.QueueImages, contract.QueuePublished,
		contract.QueueDraftRequested,
	}
	for _, name := range platform.Names() {
		want = append(want, contract.QueueScraped(name))
	}
	slices.Sort(names)
	slices.Sort(want)
	require.Equal(t, want, names)
}

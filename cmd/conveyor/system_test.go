package main

import (
	"log/slog"
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
)

// The systems together fill every struct of activities, and what the API, the bridge and the reports need of them.
func TestSystems(t *testing.T) {
	t.Parallel()

	c, err := config.Load(taskQueues)
	require.NoError(t, err)
	h := &house{
		config: c, log: slog.New(slog.DiscardHandler), registry: prometheus.NewRegistry(), redis: redis.NewClient(&redis.Options{}),
	}
	t.Cleanup(func() { _ = h.redis.Close() })
	var (
		acts  workers.Activities
		parts api.Options
		topo  bridge.Options
		wait  telemetry.Backlog
	)
	for _, s := range h.systems() {
		if s.activities != nil {
			t.Cleanup(s.activities(t.Context(), &acts))
		}
		if s.parts != nil {
			s.parts(&parts)
		}
		if s.queues != nil {
			s.queues(&topo)
		}
		if s.backlog != nil {
			s.backlog(&wait)
		}
	}
	for i, v := range reflect.ValueOf(acts).Fields() {
		require.False(t, v.IsNil(), "no system has %s", i.Name)
	}
	require.NotNil(t, parts.Listings)
	require.NotNil(t, parts.Replays)
	require.NotNil(t, parts.Platforms)
	require.NotNil(t, parts.Drafts)
	require.Equal(t, c.DraftRequests.Queue, parts.DraftRequests.Queue)
	require.Equal(t, c.DraftRequests.Queue, topo.DraftRequests.Queue)
	require.Equal(t, c.Listings.Stages, topo.Stages)
	require.NotEmpty(t, topo.Platforms)
	require.NotNil(t, wait.Limits)
	require.NotNil(t, wait.Platforms)
}

package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/cli"
)

// A health check asks what worker and bridge show of themselves, and says what it got instead.
func TestHealth(t *testing.T) {
	t.Parallel()

	door := httptest.NewServer((&house{registry: prometheus.NewRegistry()}).instruments())
	t.Cleanup(door.Close)
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "redis is away", http.StatusServiceUnavailable)
	}))
	t.Cleanup(away.Close)

	require.Equal(t, 0, run([]string{"health", door.URL + "/health"}))
	require.Equal(t, 1, run([]string{"health", away.URL}))
	require.ErrorContains(t, (&cli.HealthCmd{URL: away.URL}).Run(t.Context(), nil), "503 Service Unavailable: redis is away")
	require.Equal(t, 1, run([]string{"health", "http://127.0.0.1:1/health"}), "nobody listens")

	resp, err := http.Get(door.URL + "/health")
	require.NoError(t, err)
	defer resp.Body.Close()
	var got api.Liveness
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	require.Equal(t, api.Liveness{Status: "ok", Version: version()}, got)
	require.True(t, strings.HasPrefix(got.Version, "conveyor "), got.Version)
}

// Profiles show what the process holds in memory, so they are served on request only.
func TestProfilesAreOffByDefault(t *testing.T) {
	t.Parallel()

	for on, status := range map[bool]int{false: http.StatusNotFound, true: http.StatusOK} {
		h := &house{registry: prometheus.NewRegistry()}
		h.config.Telemetry.Profile = on
		answer := httptest.NewRecorder()
		h.instruments().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/debug/pprof/", http.NoBody))
		require.Equal(t, status, answer.Code)
	}
}

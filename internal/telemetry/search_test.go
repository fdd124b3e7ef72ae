package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/telemetry"
)

func TestSearch(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewPedanticRegistry()
	s := telemetry.NewSearch(reg)
	s.Stored(map[string]int{"stored": 3, "refused": 0})
	s.Stored(map[string]int{"stored": 1, "refused": 2})
	s.Indexed("postgres", 20*time.Millisecond)
	require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP conveyor_search_pages_total Crawled pages by outcome: stored, unchanged, overtaken by a version that was crawled later, removed, refused.
# TYPE conveyor_search_pages_total counter
conveyor_search_pages_total{outcome="overtaken"} 0
conveyor_search_pages_total{outcome="refused"} 2
conveyor_search_pages_total{outcome="removed"} 0
conveyor_search_pages_total{outcome="stored"} 4
conveyor_search_pages_total{outcome="unchanged"} 0
`), "conveyor_search_pages_total"))
	n, err := testutil.GatherAndCount(reg, "conveyor_search_index_seconds")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

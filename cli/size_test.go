package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/sizing"
)

func TestSize(t *testing.T) {
	t.Parallel()

	c := SizeCmd{
		Listings: 5e6, Rescrape: 6 * time.Hour, Changed: .05, Turnover: .033, Images: 6, Messages: 2e6, Peak: 3,
		Keep: 90 * 24 * time.Hour, Conns: 24,
	}
	var b strings.Builder
	require.NoError(t, c.print(&b))
	for _, want := range []string{
		"adverts seen again      220       660", "history shards                       64",
		"connections of Postgres              210", "disk: files                          9,900 GB",
		"\n10× the load: nothing is saturated; one quorum queue is the nearest",
		"\n100× the load: one quorum queue is saturated first (", "; then history shards, the partition of images",
	} {
		require.Contains(t, b.String(), want)
	}
	b.Reset()
	c.JSON = true
	require.NoError(t, c.print(&b))
	var p sizing.Plan
	require.NoError(t, json.Unmarshal([]byte(b.String()), &p))
	require.Equal(t, 64, p.Shards)
	require.Len(t, p.Scales, 4)

	c.Costs = filepath.Join(t.TempDir(), "bench.json")
	require.ErrorContains(t, c.print(&b), "--costs: open")
	require.NoError(t, os.WriteFile(c.Costs, []byte(`{"results": [{"scenario": "all new",
		"cpu_ms_each_by_group": {"worker": 640, "postgres": 10}}]}`), 0o600))
	b.Reset()
	require.NoError(t, c.print(&b))
	var costly sizing.Plan
	require.NoError(t, json.Unmarshal([]byte(b.String()), &costly))
	require.Greater(t, costly.Cores[0].Busy, 10*p.Cores[0].Busy)
}

func TestFigure(t *testing.T) {
	t.Parallel()

	for v, want := range map[float64]string{
		0: "0", .0001: "< 0.01", .012: "0.012", 3.456: "3.5", 42.4: "42", 999.6: "1,000", 9.99: "10", 1_000: "1,000", 12_345_678: "12,345,678",
	} {
		require.Equal(t, want, figure(v))
	}
}

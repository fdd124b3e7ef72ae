package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/telemetry"
)

func TestLogger(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, level, format string
		want                []string // the messages that are written
	}{
		{"everything", "debug", "text", []string{"d", "i", "w", "e"}},
		{"information", "info", "json", []string{"i", "w", "e"}},
		{"warnings, in capitals", "WARN", "json", []string{"w", "e"}},
		{"errors", "error", "text", []string{"e"}},
		{"a level that there is not", "loud", "text", []string{"i", "w", "e"}},
		{"nothing said", "", "", []string{"i", "w", "e"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			log := telemetry.Logger(&out, tt.level, tt.format)
			log.Debug("d")
			log.Info("i")
			log.Warn("w")
			log.Error("e", "ref", "kijiji/1")
			var got []string
			for line := range strings.Lines(out.String()) {
				if tt.format == "json" {
					var doc struct{ Msg string }
					require.NoError(t, json.Unmarshal([]byte(line), &doc))
					got = append(got, doc.Msg)
					continue
				}
				_, message, _ := strings.Cut(line, "msg=")
				got = append(got, message[:1])
			}
			require.Equal(t, tt.want, got)
			require.Contains(t, out.String(), "kijiji/1")
		})
	}
}

// The metrics of the process and those of the SDK stand in one registry, once.
func TestMetrics(t *testing.T) {
	t.Parallel()
	r := telemetry.Registry()
	sdk, err := telemetry.Temporal(r, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	sdk.WithTags(map[string]string{"namespace": "conveyor"}).Counter("temporal_request").Inc(3)
	sdk.Timer("temporal_request_latency").Record(time.Second)
	sdk.Gauge("temporal_num_pollers").Update(2)

	names := map[string]float64{}
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		names[f.GetName()] = f.GetMetric()[0].GetCounter().GetValue()
	}
	require.InDelta(t, 3, names["temporal_request_total"], 0)
	for _, name := range []string{"go_goroutines", "temporal_num_pollers", "temporal_request_latency_seconds"} {
		require.Contains(t, names, name)
	}

	_, err = telemetry.Temporal(prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	require.NoError(t, err, "another registry has its own")
}

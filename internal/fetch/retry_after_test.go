package fetch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/fetch"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"120": 2 * time.Minute, " 120 ": 2 * time.Minute, "Sat, 21 Nov 2026 12:00:10 GMT": 10 * time.Second,
		"Sat, 21 Nov 2026 11:00:10 GMT": 0, "299.997": 5 * time.Minute,
		"0.129": time.Second, ".5": time.Second, "2.0": 2 * time.Second,
		"2.": 2 * time.Second, "0.0": 0, "-1.5": 0, "-5": 0, "1.x": 0, "1.2.3": 0, "1e3": 0, "inf": 0, "NaN": 0,
		".": 0, "": 0, "soon": 0,
		"99999999999999999999": time.Hour, "99999999999999999999.5": time.Hour, "3600.5": time.Hour,
		"9223372036854775807.5": time.Hour,
	} {
		require.Equal(t, want, fetch.RetryAfter(header, now, time.Hour), header)
	}
}

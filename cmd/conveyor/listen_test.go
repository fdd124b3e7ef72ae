package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A request that does not end is cut, and is no failure of the role that moves or stops.
func TestDrain(t *testing.T) {
	t.Parallel()
	came, cut := make(chan struct{}), make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(came)
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	go func() {
		answer, err := http.Get(server.URL)
		if err == nil {
			answer.Body.Close()
		}
		cut <- err
	}()
	<-came
	require.NoError(t, drain(t.Context(), slog.New(slog.DiscardHandler), server.Config, 10*time.Millisecond))
	require.Error(t, <-cut)
}

func TestLoopback(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"127.0.0.1:8080":   "127.0.0.1:8080",
		"127.0.0.53:8080":  "127.0.0.53:8080",
		"[::1]:8080":       "[::1]:8080",
		"localhost:8080":   "localhost:8080",
		"0.0.0.0:8080":     "127.0.0.1:8080",
		":8080":            "127.0.0.1:8080",
		"[::]:8080":        "127.0.0.1:8080",
		"10.0.0.7:8080":    "127.0.0.1:8080",
		"api.example:8080": "127.0.0.1:8080",
		"localhost.evil:1": "127.0.0.1:1",
		":http":            "127.0.0.1:http",
		":":                "127.0.0.1:0",
		"8080":             "8080",
	} {
		require.Equal(t, want, loopback(address), address)
	}
}

func TestLifetime(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90d": 90 * 24 * time.Hour, "12h": 12 * time.Hour, "1h30m": 90 * time.Minute, "1d": 24 * time.Hour,
	} {
		var l lifetime
		require.NoError(t, l.UnmarshalText([]byte(text)))
		require.Equal(t, want, time.Duration(l))
	}
	for _, text := range []string{"", "d", "0d", "-1d", "1.5d", "90", "forever", "-1h", "99999999999999999999d", "100000d"} {
		var l lifetime
		require.Error(t, l.UnmarshalText([]byte(text)), text)
	}
}

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Commands over HTTP call the API at CONVEYOR_API_URL with the key in CONVEYOR_API_KEY, and exit as it answers.
func TestConnect(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good" || r.URL.Path != "/replays" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, `{"items": []}`)
	}))
	t.Cleanup(server.Close)
	t.Setenv("CONVEYOR_API_URL", server.URL)
	t.Setenv("CONVEYOR_API_KEY", "good")
	require.Equal(t, 0, run([]string{"replay", "list"}))
	t.Setenv("CONVEYOR_API_KEY", "bad")
	require.Equal(t, 1, run([]string{"replay", "list"}))
	t.Setenv("CONVEYOR_PREFETCH", "0")
	require.Equal(t, 1, run([]string{"replay", "list"}), "a wrong setting")
}

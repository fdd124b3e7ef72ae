package cluster

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What leads to the Web UI answers no page of another site.
func TestForwardedUIChecksHost(t *testing.T) {
	t.Parallel()
	ui := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "histories") }))
	t.Cleanup(ui.Close)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		guarded(ctx, l, strings.TrimPrefix(ui.URL, "http://"))
	}()
	for host, want := range map[string]int{"": 200, "rebind.example": 421} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String(), nil)
		require.NoError(t, err)
		if host != "" {
			r.Host = host
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		require.Equal(t, want, answer.StatusCode, host)
	}
	cancel()
	<-ended
}

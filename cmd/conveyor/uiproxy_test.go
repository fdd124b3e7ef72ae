package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// The role passes on what comes by its own address and by the host of CONVEYOR_TEMPORAL_UI_URL, and nothing by another
// name. It ends with its context.
func TestUIProxy(t *testing.T) {
	t.Setenv("CONVEYOR_TEMPORAL_UI_URL", "https://workflows.example/x")
	ui := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "histories") }))
	t.Cleanup(ui.Close)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // a port that is free
	require.NoError(t, err)
	address := l.Addr().String()
	require.NoError(t, l.Close())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- (&uiProxyCmd{Address: address, To: ui.URL}).Run(ctx) }()
	ask := func(host string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/healthz", nil)
		require.NoError(t, err)
		r.Host = host
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		status, err := ask(address)
		assert.NoError(c, err)
		assert.Equal(c, http.StatusOK, status)
	}, servicetest.Patience(), 10*time.Millisecond)
	for host, want := range map[string]int{"workflows.example": 200, "localhost:8233": 200, "rebind.example": 421} {
		status, err := ask(host)
		require.NoError(t, err)
		require.Equal(t, want, status, host)
	}
	cancel()
	require.NoError(t, <-ended)
	for _, to := range []string{"", "temporal-ui:8080", "ftp://temporal-ui", "http://me:pw@temporal-ui"} {
		require.ErrorContains(t, (&uiProxyCmd{Address: address, To: to}).Run(t.Context()), "--to is not", to)
	}
}

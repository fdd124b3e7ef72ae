package main

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// The role needs no setting but its password, and does not start without. It ends with its context.
func TestChromium(t *testing.T) {
	t.Setenv("CONVEYOR_BROWSER", "/bin/true")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // a port that is free
	require.NoError(t, err)
	c := &chromiumCmd{Address: l.Addr().String(), Most: 1}
	require.NoError(t, l.Close())
	require.ErrorContains(t, c.Run(t.Context()), "CONVEYOR_CHROMIUM_PASSWORD is not set")
	t.Setenv("CONVEYOR_CHROMIUM_PASSWORD", "s3cr3t")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		answer, err := http.Get("http://" + c.Address + "/health")
		if assert.NoError(t, err) {
			assert.NoError(t, answer.Body.Close())
			assert.Equal(t, http.StatusOK, answer.StatusCode)
		}
	}, servicetest.Patience(), 10*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

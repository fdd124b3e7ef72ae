package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signal ends the command while it waits for its input, and what it has read by then is written.
func TestNormalizeStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	silent, input := io.Pipe()
	t.Cleanup(func() { _ = input.Close() })
	go func() {
		_, _ = io.WriteString(input, "{\"platform_id\":\"7\"}\n")
		_, _ = input.Write([]byte{' '}) // it is read once the line is
		cancel()
	}()
	var out strings.Builder
	require.ErrorContains(t, (&normalizeCmd{File: "-"}).run(ctx, silent, &out), "read -: context canceled")
	require.Contains(t, out.String(), `"platform_id":"7"`)
}

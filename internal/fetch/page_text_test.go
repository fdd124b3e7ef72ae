package fetch_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/fetch"
)

// A type that says nothing may be that of a page; any other says what it is.
func TestTypesOfText(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{
		"": true, "*/*": true, "unknown/unknown": true, "text/html charset=utf-8": true, "application/xhtml+xml": true,
		"application/octet-stream": false, "application/unknown": false, "image/png": false,
	} {
		require.Equal(t, want, fetch.Text(kind), kind)
	}
}

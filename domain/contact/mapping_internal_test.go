package contact

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// No header is listed twice, or the later one would be what it means.
func TestHeadersStandOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]known{}
	for _, g := range slices.Concat(headersNear, headersAbroad) {
		for name := range strings.SplitSeq(g.names, "|") {
			was, twice := seen[fold(name)]
			require.False(t, twice, "%q is %v and %v", name, was, g.known)
			seen[fold(name)] = g.known
		}
	}
	for name, k := range seen {
		require.Equal(t, k, headers[name], name)
	}
}

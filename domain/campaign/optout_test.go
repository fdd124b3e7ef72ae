package campaign_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
)

// TestStops reads messages that were labelled before any rule had read them; those of "near" are what rules once took for
// stops, or came close to. The misses of the sets aside are not looked at; none of all may be taken for a stop and be none.
func TestStops(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/stops.tsv")
	require.NoError(t, err)
	whole := map[string]int{}
	for line := range strings.Lines(string(file)) {
		set, labelled, _ := strings.Cut(strings.TrimSpace(line), "\t")
		label, text, _ := strings.Cut(labelled, "\t")
		got := campaign.IsOptOut(text)
		switch {
		case got == (label == "stop"):
			whole[set]++
		case got || set == "open":
			t.Errorf("IsOptOut(%q) = %v", text, got)
		}
	}
	require.Equal(t, map[string]int{"open": 295, "aside": 55, "aside2": 46, "aside3": 16, "aside4": 53, "open5": 49,
		"aside5": 32, "near": 138}, whole)
}

package kijiji_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform/kijiji"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// TestHomePairs scores listing.SameHome on pairs of real adverts. All pairs of the corpus that are near in place, size
// and rent are among them, and a seeded draw of pairs that are alike in text or place but not in size or rent. They were
// labelled by reading them, before any verdict of the rule was looked at; seven that no reader can tell were left out.
// Every second pair is set aside: the rule is not to be tuned on those.
func TestHomePairs(t *testing.T) {
	t.Parallel()
	adverts := map[string]listing.Listing{}
	for _, raw := range corpus(t) {
		if l, err := (kijiji.Platform{}).Normalize(raw); err == nil {
			adverts[l.PlatformID] = l
		}
	}
	data := sharedtest.Read(t, filepath.Join("testdata", "homes.tsv"))
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.GreaterOrEqual(t, len(lines), 400)
	for half, name := range []string{"seen", "set aside"} {
		right, wrong, missed := 0, 0, 0
		for i := half; i < len(lines); i += 2 {
			f := strings.Split(lines[i], "\t")
			a, knownA := adverts[f[0]]
			b, knownB := adverts[f[1]]
			if !knownA || !knownB {
				t.Fatalf("line %d: %q is no pair of listings", i+1, lines[i])
			}
			match := listing.SameHome(a, b)
			switch said, is := match.Kind != "", f[2] == "same"; {
			case said && is:
				right++
			case said:
				wrong++
				t.Logf("%s: taken for one home: %q and %q: %q", name, a.Title, b.Title, match.Reasons)
			case is:
				missed++
				t.Logf("%s: missed: %q and %q: %q", name, a.Title, b.Title, match.Reasons)
			}
		}
		precision := float64(right) / float64(right+wrong)
		recall := float64(right) / float64(right+missed)
		t.Logf("%s: precision %d/%d = %.3f, recall %d/%d = %.3f", name, right, right+wrong, precision, right,
			right+missed, recall)
		if precision < .98 || recall < .90 {
			t.Errorf("%s: precision %.3f, recall %.3f; want .98 and .90 at least", name, precision, recall)
		}
	}
}

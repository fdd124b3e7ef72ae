package scrape_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/scrape"
)

func TestFingerprint(t *testing.T) {
	t.Parallel()
	was := scrape.Fingerprint("a b", "c")
	if len(was) != 16 || was != scrape.Fingerprint(" a \u00a0b\n", "c") {
		t.Errorf("Fingerprint = %q; white space counts", was)
	}
	for _, other := range [][]string{{"a", "b c"}, {"a bc"}, {"a b", "c", ""}, {"c", "a b"}, {}} {
		if got := scrape.Fingerprint(other...); got == was {
			t.Errorf("Fingerprint(%q) is that of %q", other, []string{"a b", "c"})
		}
	}
}

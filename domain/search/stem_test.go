package search_test

import (
	"testing"

	"github.com/mtlrent/conveyor/domain/search"
)

func TestStem(t *testing.T) {
	t.Parallel()

	for _, c := range []struct{ language, word, want string }{
		{"en", "economies", "economi"},
		{"en", "running", "run"},
		{"en", "run", ""},
		{"fr", "appartements", "appart"},
		{"", "running", ""},
		{"de", "laufen", ""},
		{"en", "foo_bars", ""},
		{"en", "v2s", ""},
		{"en", "", ""},
	} {
		if got := search.Stem(c.language, c.word); got != c.want {
			t.Errorf("%s %q: %q, not %q", c.language, c.word, got, c.want)
		}
	}
}

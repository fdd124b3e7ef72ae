package search_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// The samples were written apart from the lists of words. A language may be missed, but it must not be taken for another.
func TestDetect(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("testdata/languages.tsv")
	require.NoError(t, err)
	samples := strings.Split(strings.TrimSpace(string(text)), "\n")
	missed := 0
	for _, sample := range samples {
		want, s, _ := strings.Cut(sample, "\t")
		for _, s := range []string{s, strings.ToLower(s)} {
			switch got := search.Detect(s); {
			case got == "" && want != "en" && want != "fr":
				missed++
			case got != want:
				t.Errorf("%q: %q, not %q", s, got, want)
			}
		}
	}
	if missed > 2*len(samples)/20 {
		t.Errorf("%d of %d samples: no language", missed, 2*len(samples))
	}
}

func TestDetectTooLittle(t *testing.T) {
	t.Parallel()

	for _, s := range []string{"", "ok", "\x00\xff", "12 34 56 78 90 12", "zyx wvu tsr qpo nml kji", "東", "❤❤❤❤❤❤❤❤❤❤❤❤❤❤",
		strings.Repeat("x", 100_000), "GET /a/b/c.html HTTP/1.1"} {
		assert.Empty(t, search.Detect(s), s)
	}
}

// What is after the first 4 KiB is not read.
func TestDetectReadsTheBeginning(t *testing.T) {
	t.Parallel()

	s := strings.Repeat("the price of this house is not known to us ", 200) + strings.Repeat("le prix de cette maison ", 9999)
	assert.Equal(t, "en", search.Detect(s))
}

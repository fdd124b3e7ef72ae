package search_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

func TestEdits(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		a, b string
		most int
		want int
	}{
		{"montreal", "montreal", 2, 0},
		{"montreal", "montral", 2, 1},
		{"montreal", "montrael", 2, 1},
		{"montreal", "monreall", 2, 2},
		{"montreal", "toronto", 2, 3},
		{"abc", "cab", 2, 2},
		{"", "ab", 1, 2},
		{"été", "ete", 2, 2},
		{"ab", "ba", 1, 1},
		{"a", "aaaaaaaaaaaaaaa", 2, 3},
	} {
		require.Equal(t, c.want, search.Edits(c.a, c.b, c.most), "%s %s", c.a, c.b)
		require.Equal(t, c.want, search.Edits(c.b, c.a, c.most), "%s %s", c.b, c.a)
	}
}

func TestTypos(t *testing.T) {
	t.Parallel()

	for word, want := range map[string]int{
		"": 0, "the": 0, "home": 1, "library": 1, "apartment": 2, "h2o2h2o2": 0, "1234": 0, "snake_case": 0,
		"住宅住宅": 1,
	} {
		require.Equal(t, want, search.Typos(word), word)
	}
}

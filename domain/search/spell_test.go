package search_test

import (
	"math/rand/v2"
	"slices"
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

func TestAlike(t *testing.T) {
	t.Parallel()

	for _, words := range [][2]string{
		{"skedule", "schedule"}, {"farmacy", "pharmacy"}, {"foto", "photo"}, {"skool", "school"}, {"fisics", "physics"},
		{"kwik", "quick"}, {"sinema", "cinema"}, {"taxi", "taksi"}, {"apartement", "appartement"},
	} {
		require.True(t, search.Alike(words[0], words[1]), words)
	}
	for _, words := range [][2]string{{"house", "mouse"}, {"kitchen", "chicken"}, {"sale", "sail"}, {"cat", "sat"}} {
		require.False(t, search.Alike(words[0], words[1]), words)
	}
}

// TestSimilarity compares with what pg_trgm computes of words with typing errors.
func TestSimilarity(t *testing.T) {
	t.Parallel()

	trigrams := func(word string) map[string]bool {
		letters, out := []rune("  "+word+" "), map[string]bool{}
		for i := range len(letters) - 2 {
			out[string(letters[i:i+3])] = true
		}
		return out
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		letters := make([]rune, 4+r.IntN(16))
		for i := range letters {
			letters[i] = []rune("abcdeé")[r.IntN(6)]
		}
		word, edits := string(letters), 1+r.IntN(2)
		for range edits {
			i := r.IntN(len(letters) - 1)
			switch r.IntN(4) {
			case 0:
				letters[i], letters[i+1] = letters[i+1], letters[i]
			case 1:
				letters[i] = 'z'
			case 2:
				letters = slices.Delete(letters, i, i+1)
			default:
				letters = slices.Insert(letters, i, 'z')
			}
		}
		a, b, both := trigrams(word), trigrams(string(letters)), 0
		for tri := range a {
			if b[tri] {
				both++
			}
		}
		got := float64(both) / float64(len(a)+len(b)-both)
		if least := search.Similarity(word, edits); got < least {
			t.Fatalf("%s and %s, %d errors: similarity %f, want %f at least", word, string(letters), edits, got, least)
		}
	}
}

func TestIsStem(t *testing.T) {
	t.Parallel()

	for term, want := range map[string]bool{"pt:inform": true, "fr:condo": true, "pt::ptree": false, "sv:hus": true, "fi:talo": false, "de": false} {
		require.Equal(t, want, search.IsStem(term), term)
	}
}

package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// Pages of several languages in segments of their own:
// forms count in their language, the words themselves in all.
func TestSearchLanguagesApart(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	for n, p := range []struct{ language, text string }{
		{"de", "Häuser am See"}, {"en", "houses by the lake"}, {"fr", "maisons au bord du lac"}, {"", "haus house maison"},
		{"es", "luces de la casa"}, {"", "cas luc hau"},
	} {
		in := incoming("apart.example", fmt.Sprint("/", n), "", p.text, n)
		in.Language = p.language
		l.put(t, in)
	}
	for text, want := range map[string]string{
		"haus": "0 3", "house": "1 3", "maison": "2 3", "luz": "4", "casa": "4", "luc": "4 5", "haus house maison luz": "0 1 2 3 4",
		"haus hose maison luz": "0 1 2 3 4",
	} {
		for range 2 { // the second time from what is kept
			r, err := l.index.Search(t.Context(), search.Query{Text: text, Limit: 10})
			require.NoError(t, err)
			var got []string
			for n := range 6 {
				for _, h := range r.Hits {
					if strings.HasSuffix(h.URL, fmt.Sprint("/", n)) {
						got = append(got, fmt.Sprint(n))
					}
				}
			}
			require.Equal(t, want, strings.Join(got, " "), text)
		}
	}
}

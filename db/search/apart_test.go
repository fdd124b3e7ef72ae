package search_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// A word that hardly any page has is found where it is written as two, in a row.
func TestSearchParted(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	page := func(n int, text string) search.Incoming {
		return incoming("a.example", fmt.Sprintf("/%d", n), fmt.Sprintf("Page %d", n), text, n)
	}
	l.put(t, page(1, "a can of Red Bull, cold"), page(2, "a bull that is red"), page(3, "the new iPhone 15 has come"),
		page(4, "15 of them have an iphone"), page(5, "a red redb ull"))
	l.put(t, page(6, "Red Bull for all"), page(7, "nothing"))
	ask := func(text string) search.Results {
		t.Helper()
		r, err := l.index.Search(t.Context(), search.Query{Text: text, Limit: 20})
		require.NoError(t, err)
		return r
	}
	found := func(r search.Results) (ids []string) {
		for _, h := range r.Hits {
			if h.All {
				ids = append(ids, h.Title)
			}
		}
		return ids
	}
	r := ask("redbull")
	require.ElementsMatch(t, []string{"Page 1", "Page 6"}, found(r))
	require.Empty(t, r.Corrected)
	require.Empty(t, r.DidYouMean)
	for _, h := range r.Hits {
		require.Len(t, h.Snippet.Marks, 1)
		at := h.Snippet.Marks[0]
		require.Equal(t, "Red Bull", h.Snippet.Text[at.Start:at.End])
	}
	require.Equal(t, []string{"Page 3"}, found(ask("iphone15")))
	l.put(t, page(8, "call os.path.join of the path"))
	require.Equal(t, []string{"Page 8"}, found(ask("os.path")))
	l.put(t, page(9, "a rent of 1 500 $"), page(30, "500 of them, and 1 of those"))
	require.Equal(t, []string{"Page 9"}, found(ask("rent 1500")))
	require.Equal(t, []string{"Page 1"}, found(ask("red redbull cold")), "where a part is a word of the query")
	require.Empty(t, ask("bluebull").Hits)
	l.put(t, page(31, "a website"), page(32, "the agency at H2Y 1A1"), page(33, "refrigerators with a freezer"))
	r = ask("web site")
	require.Equal(t, []string{"Page 31"}, found(r))
	require.Empty(t, r.Corrected)
	require.Empty(t, r.DidYouMean)
	require.Len(t, r.Hits[0].Snippet.Marks, 1)
	require.Equal(t, []string{"Page 32"}, found(ask("h2y1a1")))
	r = ask("refriger")
	require.Equal(t, []string{"Page 33"}, found(r))
	require.Equal(t, "refrigerators", r.DidYouMean)
	for _, quoted := range []string{`"refriger"`, `"refrigerator"`, `"refrigeratros"`, `"h2y1a1"`} {
		require.Empty(t, ask(quoted).Hits, "%s: quotes ask for just this form", quoted)
	}
	require.Equal(t, []string{"Page 33"}, found(ask(`"refrigerators" "with"`)))
	l.put(t, page(35, "a comparison of Terrassenschrauben, suitable and delightful"))
	require.Equal(t, []string{"Page 35"}, found(ask("schraube")))
	for _, within := range []string{"paris", "table", "light"} {
		require.Empty(t, found(ask(within)), "%s is not what the last part of a compound says", within)
	}
	for n, gone := range strings.Fields("Dachschrauben Holzschrauben Radschrauben Eckschrauben") {
		l.put(t, page(40+n, gone))
		l.put(t, page(40+n, "nothing of that kind"))
	}
	require.Equal(t, []string{"Page 35"}, found(ask("schraube")), "shorter ones are of pages that have changed")
	l.put(t, page(34, "a case of the smartphone 15"))
	require.Equal(t, "smartphone 15", ask("smartphnoe 15").DidYouMean)
	for n := range 5 {
		l.put(t, page(10+n, fmt.Sprintf("redbull number%d", n)))
	}
	require.Len(t, ask("redbull").Hits, 5, "many pages have it")
}

package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

func TestBlocks(t *testing.T) {
	t.Parallel()

	b := search.NewBuilder()
	for i := range 300 {
		b.Add(int64(i+1), search.Page{ID: int64(i), Document: search.Document{
			Title: "the title", Text: strings.Repeat("the ", 50) + fmt.Sprintf("word%d word%d été", i, i%7), Language: "en",
		}})
	}
	want := b.Segment().Terms
	var blocks []search.Block
	p := search.NewPacker(func(b search.Block) error { blocks = append(blocks, b); return nil })
	for _, term := range want {
		require.NoError(t, p.Add(term))
	}
	require.NoError(t, p.Flush())
	require.Less(t, len(blocks), len(want)/10)

	var got []search.TermPostings
	counts := map[string]int{}
	for _, b := range blocks {
		first := len(got)
		require.NoError(t, b.Terms(func(x search.TermPostings) bool { got = append(got, x); return true }))
		require.Equal(t, []string{b.First, b.Last}, []string{got[first].Term, got[len(got)-1].Term})
		head := b
		head.Postings = b.Postings[:min(len(b.Postings), search.Head)]
		require.NoError(t, head.Counts("word", func(term string, docs int) { counts[term] += docs }))
		for _, x := range got[first:] {
			found, place, err := b.Find(x.Term)
			require.NoError(t, err)
			require.Equal(t, x, found)
			require.Equal(t, x.Term, got[first+place].Term)
			at, err := search.Block{Positions: b.Positions}.PositionsAt(place)
			require.NoError(t, err)
			require.Equal(t, x.Positions, at)
		}
		for _, x := range want { // those of the other blocks too, and what would stand just beside
			for _, term := range []string{x.Term, x.Term + "\x00", x.Term[:len(x.Term)-1], x.Term[1:], x.Term + "1"} {
				at := slices.IndexFunc(got[first:], func(t search.TermPostings) bool { return t.Term == term })
				found, place, err := b.Find(term)
				require.NoError(t, err)
				require.Equal(t, at, place, term)
				require.Equal(t, at >= 0, found.Postings != nil, term)
			}
		}
	}
	require.Equal(t, want, got)
	require.Len(t, counts, 300)
	require.Equal(t, 43, counts["word0"])
	require.Equal(t, 1, counts["word299"])
}

// Bytes that are broken are an error at most.
func FuzzBlocks(f *testing.F) {
	f.Add([]byte{0, 1, 2, 'a', 1, 1, 1, 1, 2, 'b', 1, 1}, []byte{0, 1, 7})
	f.Fuzz(func(_ *testing.T, postings, positions []byte) {
		b := search.Block{Postings: postings, Positions: positions}
		_ = b.Terms(func(search.TermPostings) bool { return true })
		_, _, _ = b.Find("b")
		_, _ = b.PositionsAt(1)
		_ = b.Counts("a", func(string, int) {})
	})
}

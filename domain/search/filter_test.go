package search_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

func TestFilter(t *testing.T) {
	t.Parallel()

	require.True(t, search.Filter(nil).May(search.HashTerm("road")), "nothing is known")
	require.EqualValues(t, 0x6d40d2af19638108, search.HashTerm("en:economi"), "filters are stored")
	for _, terms := range []int{1, 2, 100, 20_000} {
		p := search.NewPacker(func(search.Block) error { return nil })
		for i := range terms {
			require.NoError(t, p.Add(search.TermPostings{Term: fmt.Sprintf("word%05d", i)}))
		}
		f := p.Filter()
		for i := range terms {
			require.True(t, f.May(search.HashTerm(fmt.Sprintf("word%05d", i))))
		}
		wrong := 0
		for i := range 10_000 {
			if f.May(search.HashTerm(fmt.Sprintf("en:word%d", i))) {
				wrong++
			}
		}
		require.Less(t, wrong, 200, "of 10,000 others, among %d", terms)
		require.LessOrEqual(t, len(f), 2+terms*5/4)
	}
}

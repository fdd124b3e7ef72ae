package search_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/search"
)

// Of more common words with a prefix than are looked at, the commonest comes first, though it is the last of the
// alphabet.
func TestSuggestCommonest(t *testing.T) {
	t.Parallel()

	l := newLibrary(t)
	l.put(t, incoming("a.example", "/", "Title", "some words", 0))
	segment := dbtest.Query[int64](t, l.pool, "SELECT id FROM search_segments WHERE collection > 0")[0]
	add := func(term string, docs int) {
		pack := search.NewPacker(func(b search.Block) error {
			dbtest.Exec(t, l.pool, "INSERT INTO search_postings VALUES ($1, $2, $3, $4, '')", segment, b.First, b.Last, b.Postings)
			return nil
		})
		require.NoError(t, pack.Add(search.TermPostings{
			Term: term, Postings: append(binary.AppendUvarint(nil, uint64(docs)), make([]byte, 2*docs)...),
		}))
		require.NoError(t, pack.Flush())
	}
	for i := range 250 {
		add(fmt.Sprintf("ca%03d", i), 600+i%2)
	}
	add("cuisine", 5000)
	add("czar", 700)
	got, err := l.index.Suggest(t.Context(), "grande c", 3)
	require.NoError(t, err)
	require.Equal(t, []string{"cuisine", "czar", "ca001"}, got)
}

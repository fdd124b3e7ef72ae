package crawl

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// lineageRows are rows of sqlCrawlLineage, one for each seq. Their IDs are 1, 2, …, and their paths so long.
type lineageRows struct {
	pgx.Rows

	seqs []int64
	path int
	at   int
}

func (r *lineageRows) Next() bool {
	r.at++
	return r.at <= len(r.seqs)
}

func (r *lineageRows) Scan(dest ...any) error {
	*dest[0].(*int64), *dest[1].(*int64) = r.seqs[r.at-1], int64(r.at)
	*dest[6].(*string) = "https://x.org/" + strings.Repeat("a", r.path-1)
	return nil
}

func (r *lineageRows) Close()     {}
func (r *lineageRows) Err() error { return nil }

// A part of a lineage has a bounded number of bytes, however long addresses are.
func TestLineageOfLongAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		seqs []int64
		path int
		ids  []int64
		more bool
	}{
		{"short ones", []int64{1, 2, 3}, 1, []int64{1, 2, 3}, false},
		{"more than fit", []int64{1, 2, 3, 4, 5, 6}, 1, []int64{1, 2, 3, 4, 5}, true},
		{"long ones", []int64{1, 2, 3, 4}, 50, []int64{1}, true},
		{"the last is too long", []int64{1}, 500, []int64{1}, false},
		{"of one seq", []int64{1, 1, 1, 1}, 50, []int64{1}, true},
		{"the second seq does not fit", []int64{1, 2, 2, 2}, 22, []int64{1}, true},
	} {
		l, more, err := readLineage(&lineageRows{seqs: tt.seqs, path: tt.path}, 5, 100)
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.ids, l.IDs, tt.name)
		require.Equal(t, tt.more, more, tt.name)
		require.Len(t, l.Paths, len(l.IDs), tt.name)
		require.Len(t, l.Paths[0], tt.path, tt.name)
	}
}

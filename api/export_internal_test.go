package api

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// No spreadsheet takes what a site says for a formula.
func TestCrawlCellsAreNoFormulas(t *testing.T) {
	t.Parallel()
	for _, title := range []string{"=1", "+1", "-1", "@x", "\tx", "\nx", "＝1", "＋1", "－1", "＠x", "'=1"} {
		require.Equal(t, "'"+title, TextCell(&title))
	}
	for _, title := range []string{"", "A title", "'tis"} {
		require.Equal(t, title, TextCell(&title))
	}
	require.Empty(t, TextCell(nil))
}

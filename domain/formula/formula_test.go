package formula_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/formula"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"": "", "Ann": "Ann", "=1+1": "'=1+1", "+1": "'+1", "+15145550123": "+15145550123", "-x": "'-x", "@x": "'@x", "\tx": "'\tx",
		"\nx": "'\nx", "＝x": "'＝x", "＋x": "'＋x", "－x": "'－x", "＠x": "'＠x", "'=x": "''=x", "'tis": "'tis", "a=b": "a=b",
	} {
		require.Equal(t, want, formula.Escape(cell), cell)
		require.Equal(t, cell, formula.Unescape(want), want)
	}
	require.Equal(t, "'tis", formula.Unescape("'tis"))
}

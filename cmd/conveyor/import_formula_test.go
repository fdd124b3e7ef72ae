package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// No spreadsheet takes what a stranger's dump has in a refused row for a formula.
func TestRefusedRowsAreNoFormulas(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	refused := tally{file: csv.NewWriter(&out)}
	refused.refuse(1, "=HYPERLINK(1)", errors.New("＝2 is no title"))
	refused.file.Flush()
	require.Equal(t, "row,id,reason\n1,'=HYPERLINK(1),'＝2 is no title\n", out.String())
}

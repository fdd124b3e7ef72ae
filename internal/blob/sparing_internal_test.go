package blob

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Reading stops within spareEvery bytes of the one that leaves too little.
func TestSparing(t *testing.T) {
	t.Parallel()

	const fits = 3*spareEvery + 1000
	r := &sparing{Reader: strings.NewReader(strings.Repeat("x", 9*spareEvery))}
	var read int64
	r.room = func() error {
		if read > fits {
			return fault.Newf(fault.Limited, "it waits for room")
		}
		return nil
	}
	var err error
	for p := make([]byte, 32<<10); err == nil; {
		var n int
		n, err = r.Read(p)
		read += int64(n)
	}
	require.NotErrorIs(t, err, io.EOF)
	require.Equal(t, fault.Limited, fault.ClassOf(err))
	require.GreaterOrEqual(t, read, int64(fits))
	require.LessOrEqual(t, read, int64(fits+spareEvery))
}

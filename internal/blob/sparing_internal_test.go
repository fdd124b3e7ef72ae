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
	r := &sparing{Reader: strings.NewReader(strings.Repeat("x", 9*spareEvery)), reserve: 5000}
	var read int64
	r.free = func() (int64, error) { return r.reserve + fits - read, nil }
	var err error
	for p := make([]byte, 32<<10); err == nil; {
		var n int
		n, err = r.Read(p)
		read += int64(n)
	}
	require.NotErrorIs(t, err, io.EOF)
	require.Equal(t, fault.Transient, fault.ClassOf(err))
	require.GreaterOrEqual(t, read, int64(fits))
	require.LessOrEqual(t, read, int64(fits+spareEvery))
}

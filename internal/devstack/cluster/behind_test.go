package cluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What was acknowledged before a time is safe when the replica has what was written then, however far it is behind what
// is written now.
func TestBehind(t *testing.T) {
	t.Parallel()

	start := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	var l lag
	require.Equal(t, "how far the replica was behind is not known", l.now().ago(start))
	for _, c := range []struct {
		primary          string
		second           int
		written, flushed int64
		bytes            int64
		behind           time.Duration
	}{
		{"pg1", 0, 100, 90, 10, -1}, // it may have been so for long
		{"pg1", 1, 200, 150, 50, time.Second},
		{"pg1", 2, 300, 250, 50, time.Second},
		{"pg1", 3, 400, 250, 150, 2 * time.Second},
		{"pg1", 9, 500, 250, 250, 8 * time.Second},
		{"pg1", 10, 500, 500, 0, 0},
		{"pg1", 11, 500, 500, 0, 0}, // nothing was written
		{"pg2", 20, 600, 500, 100, -1},
	} {
		at := start.Add(time.Duration(c.second) * time.Second)
		l.saw(c.primary, at, c.written, c.flushed)
		require.Equal(t, Behind{Primary: c.primary, At: at, Bytes: c.bytes, For: c.behind}, l.now())
	}
	require.Equal(t, "the replica was 100 bytes behind pg2, as that said 3s before", l.now().ago(start.Add(23*time.Second)))
	for i := range 2 * lagEnds {
		l.saw("pg1", start.Add(time.Duration(i)*time.Second), int64(i), 0)
	}
	require.Len(t, l.ends, lagEnds)
	require.Equal(t, (2*lagEnds-1)*time.Second, l.now().For)
	require.Contains(t, l.now().ago(start.Add(2*lagEnds*time.Second)), "1199 bytes and at most 19m59s behind pg1, as that said 1s before")
}

package api

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A row is read again when it is old, is good for a while longer where it cannot be, and is forgotten for a new one only.
func TestFresh(t *testing.T) {
	t.Parallel()
	at, reads := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC), 0
	f := newFresh[int, string](func() time.Time { return at })
	var fails error
	get := func(key int) (string, error) {
		return f.get(t.Context(), key, func(_ context.Context, was string, _ bool) (string, error) {
			reads++
			return was + "x", fails
		})
	}
	sure := func(key int, want string, n int) {
		t.Helper()
		got, err := get(key)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, n, reads)
	}
	for key := range mostFresh {
		sure(key, "x", key+1)
	}
	sure(0, "x", mostFresh)
	at = at.Add(keysFresh)
	sure(0, "xx", mostFresh+1)
	require.Len(t, f.rows, mostFresh, "a row that is read again takes no other one's place")
	fails = errors.New("away")
	at = at.Add(keysGrace)
	sure(0, "xx", mostFresh+2)
	at = at.Add(time.Second)
	_, err := get(0)
	require.ErrorIs(t, err, fails)
	fails = fault.Newf(fault.Gone, "none")
	_, err = get(mostFresh)
	require.ErrorIs(t, err, fails)
	require.Len(t, f.rows, 1)
	reads = 0
	_, err = get(mostFresh)
	require.ErrorIs(t, err, fails, "that there is none is known")
	require.Zero(t, reads)
}

package api

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// A name has no more than its share, and what waits gets a turn as soon as there is one.
func TestTurns(t *testing.T) {
	t.Parallel()
	turns := newTurns(3, 2)
	leave, ok := turns.take("a")
	require.True(t, ok)
	_, ok = turns.take("a")
	require.True(t, ok)
	_, ok = turns.take("a")
	require.False(t, ok, "its share")
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, ok = turns.wait(over, "a")
	require.False(t, ok)
	other, ok := turns.wait(over, "b")
	require.True(t, ok)
	_, ok = turns.take("c")
	require.False(t, ok, "all")
	got := make(chan bool)
	for range 2 {
		go func() {
			leave, ok := turns.wait(t.Context(), "a")
			if ok {
				leave()
			}
			got <- ok
		}()
	}
	other()
	leave()
	require.True(t, <-got)
	require.True(t, <-got)
}

package activities_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// An answer whose URL was lost with a worker is read between two notes, one at a time, and not while that cannot be noted;
// the others are not noted.
func TestSuspectsAreReadOneAtATime(t *testing.T) {
	t.Parallel()

	c := newCrawled(t)
	bodies := map[string]string{"/": "home", "/new": "new"}
	c.add("https://a.example/new", 0)
	for i := range 9 {
		path := fmt.Sprintf("/lost/%d", i)
		bodies[path] = "lost"
		c.add("https://a.example"+path, 0)
		c.waiting[len(c.waiting)-1].Lost = 1
	}
	c.add("https://a.example/gone", 0)
	c.waiting[len(c.waiting)-1].Lost = 1
	c.answer, c.unnoted = pages(bodies), 1

	for path, state := range c.work() {
		if path == "/gone" {
			require.Equal(t, "NOT_FOUND", state)
		} else {
			require.Equal(t, "VISITED", state, path)
		}
	}
	failed := c.readings[0]
	require.Len(t, c.readings, 1+2*9, "one that could not be noted, and each once")
	for i := 1; i < len(c.readings); i += 2 {
		path := c.readings[i][len("begin "):]
		require.Equal(t, []string{"begin " + path, "end " + path}, c.readings[i:i+2])
	}
	require.Contains(t, c.readings[1:], failed, "it was read later")
	require.Len(t, c.results["https://a.example"+failed[len("begin "):]], 2)
	require.NotContains(t, c.readings, "begin /")
	require.NotContains(t, c.readings, "begin /new")
}

// One that hangs while it is read takes its own slot, and not those of all others that were lost.
func TestASuspectThatHangs(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		c := newCrawled(t)
		bodies := map[string]string{"/": "home"}
		for i := range 9 {
			path := fmt.Sprintf("/lost/%d", i)
			bodies[path] = "lost"
			c.add("https://a.example"+path, 0)
			c.waiting[len(c.waiting)-1].Lost = 1
		}
		c.answer = pages(bodies)
		c.slots.Suspect <- struct{}{}
		for path, state := range c.work() {
			require.Equal(t, "VISITED", state, path)
		}
		require.Empty(t, c.readings, "without a note nothing is laid to them")
	})
}

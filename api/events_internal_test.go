package api

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A reader that comes back is told to read all anew where its topic was not looked at all the time, also when another
// reader has had that begun again before it: two pages of the console come back so after the network was away.
func TestEventsThatNobodyLookedFor(t *testing.T) {
	t.Parallel()
	h := &hub{name: "hub", streams: map[*reader]bool{}, looking: true} // the test looks
	look := func(marks map[string]string) {
		topics, _ := h.wanted()
		h.publish(topics, marks)
	}
	join := func(topic, after string) (r *reader, missed []event, leave func()) {
		return h.join([]string{topic}, after)
	}
	id := func(n int64) string { return fmt.Sprintf("hub-%d", n) }
	_, _, _ = join("flow", "") // it is always looked for something
	drafts, _, leave := join("drafts", "")
	look(map[string]string{"flow": "1", "drafts": "1"})
	require.True(t, h.missedSome(drafts), "it is new")
	seen := id(h.n)
	leave()

	drafts, missed, leave := join("drafts", seen)
	require.False(t, h.missedSome(drafts), "it was away between two looks")
	require.Empty(t, missed)
	look(map[string]string{"flow": "1", "drafts": "2"})
	require.Len(t, drafts.events, 1)
	leave()
	drafts, missed, leave = join("drafts", seen)
	require.False(t, h.missedSome(drafts), "the event is kept")
	require.Len(t, missed, 1)
	leave()

	look(map[string]string{"flow": "1"})
	_, _, _ = join("drafts", "") // they have changed meanwhile
	look(map[string]string{"flow": "1", "drafts": "3"})
	for _, after := range []string{seen, id(missed[0].n)} {
		drafts, _, _ = join("drafts", after)
		require.True(t, h.missedSome(drafts), "nobody has looked for a while: %s", after)
	}
	flow, _, _ := join("flow", seen)
	require.False(t, h.missedSome(flow), "this topic was looked at all the time")
}

package activities

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/scrape"
)

// A heartbeat may be written down while the visits that it has are taken off the list.
func TestProgressOfAPageDoesNotChange(t *testing.T) {
	t.Parallel()

	at := cursor{Rest: []scrape.Visit{{Card: scrape.Card{PlatformID: "1"}}, {Card: scrape.Card{PlatformID: "2"}}}}
	was, kept := slices.Clone(at.Rest), at.kept()
	at.Rest = slices.DeleteFunc(at.Rest, func(v scrape.Visit) bool { return v.PlatformID == "1" })
	require.Len(t, at.Rest, 1)
	require.Equal(t, was, kept.Rest)
}

package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
)

// Replays are listed page after page, as everything else is. Not parallel: see printed.
func TestReplayList(t *testing.T) {
	first, second := uuid.New(), uuid.New()
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		if strings.Contains(ask, "cursor=next") {
			return apilistings.ReplayPage{Items: []*apilistings.Replay{{ID: second}}}
		}
		return apilistings.ReplayPage{Items: []*apilistings.Replay{{ID: first}}, NextCursor: "next"}
	})
	for args, want := range map[string][]string{
		"": {"GET /replays?limit=20&state=any", "GET /replays?cursor=next&limit=19&state=any"},
		" --limit 0 --state failed": {
			"GET /replays?limit=100&state=failed", "GET /replays?cursor=next&limit=100&state=failed",
		},
	} {
		asked = nil
		text := printed(t, func() error { return run(t, url, strings.Fields("replay list"+args)...) })
		require.Equal(t, want, asked, args)
		require.Contains(t, text, fmt.Sprint(first))
		require.Contains(t, text, fmt.Sprint(second))
	}
	text := printed(t, func() error { return run(t, url, strings.Fields("replay list --limit 1 --json")...) })
	require.Contains(t, text, `{"id":"`+first.String()+`"`)
	require.Len(t, strings.Split(strings.TrimSpace(text), "\n"), 1)
}

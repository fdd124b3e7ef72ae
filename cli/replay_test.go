package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/platform"
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
		"": {"GET /replays?limit=50", "GET /replays?cursor=next&limit=49"},
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

// A replay of a platform that there is not, and that no advert is of, is not started: its name is misspelt.
func TestReplayOfNoPlatform(t *testing.T) {
	t.Parallel()
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, regexp.MustCompile(`"id":"[^"]+",`).ReplaceAllString(ask, ""))
		if strings.Contains(ask, "others") {
			return apilistings.ReplayAccepted{Total: 3, Counted: true}
		}
		return apilistings.ReplayAccepted{}
	})
	for line, want := range map[string]struct {
		asked []string
		err   string
	}{
		"--platform kijji": {
			[]string{`POST /replays {"stage":"normalize","filter":{"platform":"kijji"},"rate":20,"dry_run":true}`},
			`no advert matches, and there is no platform "kijji"; known are ` + strings.Join(platform.Names(), ", "),
		},
		"--platform others --dry-run": {slices.Repeat([]string{
			`POST /replays {"stage":"normalize","filter":{"platform":"others"},"rate":20,"dry_run":true}`,
		}, 2), ""},
		"--platform kijiji --dry-run": {
			[]string{`POST /replays {"stage":"normalize","filter":{"platform":"kijiji"},"rate":20,"dry_run":true}`}, "",
		},
	} {
		asked = nil
		err := run(t, url, strings.Fields("replay start "+line)...)
		require.Equal(t, want.asked, asked, line)
		if want.err == "" {
			require.NoError(t, err, line)
		} else {
			require.EqualError(t, err, want.err, line)
		}
	}
}

// A replay is watched until it ends, also where no bar can be drawn; with --json standard output is one document. Not
// parallel: see printed.
func TestReplayWatched(t *testing.T) {
	state := apilistings.Replay{ID: uuid.New(), State: "running", Total: 3, Counted: true}
	url := serve(t, func(ask string) any {
		if strings.HasPrefix(ask, "POST") {
			return apilistings.ReplayAccepted{Total: 3, Counted: true, Replay: &state}
		}
		done := state
		done.State, done.Done = "completed", 3
		return done
	})
	text := printed(t, func() error { return run(t, url, "replay", "start", "--wait", "--json") })
	var done apilistings.Replay
	require.NoError(t, json.Unmarshal([]byte(text), &done), text)
	require.EqualValues(t, "completed", done.State)

	state.Total, state.Counted, state.Done, state.Failed, state.ETA = 5, false, 2, 1, new(time.Now().Add(time.Hour))
	require.Regexp(t, "^replay running: 2 of 5\\+ done, 1 failed, (1h0m0s|59m.*) left$", replayLine(state))
	state.ETA = new(time.Now().Add(-time.Hour))
	require.Contains(t, replayLine(state), ", 0s left")
}

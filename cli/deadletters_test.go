package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
)

func TestOnlyYesIsYes(t *testing.T) {
	t.Parallel()

	for answer, want := range map[string]bool{
		"y\n": true, "YES\r\n": true, "yes": true, "\n": false, "": false, "n\n": false, "yesterday\n": false,
	} {
		var out bytes.Buffer
		assert.Equal(t, want, confirmed(t.Context(), strings.NewReader(answer), &out, "Replay 3?"), answer)
		asked := "Replay 3? [y/N] "
		if answer == "" { // a cron job: it will never answer
			asked += "\nstandard input has no answer: --yes goes without one\n"
		}
		require.Equal(t, asked, out.String())
	}
}

// A number that the API does not take is refused before anything is asked: its 0 would be the API's default there.
func TestNumbersAreWithin(t *testing.T) {
	t.Parallel()

	for line, want := range map[string]string{
		"dead-letters replay --all --yes --limit 0":         "read --limit: is 0, expected 1 to 10000",
		"dead-letters replay --queue q --dry-run --limit 0": "read --limit: is 0, expected 1 to 10000",
		"dead-letters replay --all --yes --limit 10001":     "read --limit: is 10001, expected 1 to 10000",
		"replay start --rate 0":                             "read --rate: is 0, expected 1 to 100",
		"searches try --days 0":                             "read --days: is 0, expected 1 to 90",
		"searches try --limit=-1":                           "read --limit: is -1, expected 1 to 100",
		"tenants sender add acme --name a --phone-number-id 1 --business-account-id 2 --per-second 0": "read --per-second: " +
			"is 0, expected 1 to 1000",
	} {
		url := serve(t, func(ask string) any {
			t.Errorf("%s asked %s", line, ask)
			return nil
		})
		require.EqualError(t, run(t, url, strings.Fields(line)...), want, line)
	}
}

// A discard by filter is shown first, and is then done for what was shown; IDs are discarded one by one. Not parallel:
// see printed.
func TestDiscard(t *testing.T) {
	var asked []string
	sample := make([]api.LetterItem, 1)
	sample[0].Reason = "url: is missing"
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		if strings.Contains(ask, `"dry_run":true`) {
			return api.LettersDiscarded{DryRun: true, Matched: 12, Sample: sample}
		}
		return api.LettersDiscarded{Matched: 12, Discarded: 10, Left: 2}
	})
	for line, want := range map[string]struct {
		asked []string
		says  string
	}{
		"--queue q --limit 10 --yes": {
			[]string{`POST /dead-letters/discard {"queue":"q","limit":10,"dry_run":true}`,
				`POST /dead-letters/discard {"queue":"q","limit":10,"dry_run":false}`},
			"(?s)^ID.*url: is missing\n… and 11 more\ndiscarded 10\n2 are left",
		},
		"--all --dry-run": {
			[]string{`POST /dead-letters/discard {"limit":10000,"dry_run":true}`}, "would discard 12 of 12\n$",
		},
		"3 4": {[]string{"DELETE /dead-letters/3", "DELETE /dead-letters/4"}, "^3: discarded\n4: discarded\n$"},
	} {
		asked = nil
		text := printed(t, func() error { return run(t, url, strings.Fields("dead-letters discard "+line)...) })
		require.Equal(t, want.asked, asked, line)
		require.Regexp(t, want.says, text, line)
	}
}

// What dead letters died of is counted. Not parallel: see printed.
func TestReasons(t *testing.T) {
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		return api.LetterGroups{Items: []api.LetterGroup{{Queue: "q\x1b", Class: "invalid", Reason: "at byte …", Letters: 12, Newest: 7}}}
	})
	text := printed(t, func() error { return run(t, url, "dead-letters", "reasons", "--queue", "q", "--state", "ANY") })
	require.Equal(t, []string{"GET /dead-letters/groups?queue=q&state=any"}, asked)
	require.Regexp(t, "^LETTERS .*\n12 +q +invalid +0001-01-01 00:00:00 +7 +at byte …\n$", text)
}

func TestWhen(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]time.Time{
		"2026-01-31":                time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC),
		"2026-01-31T12:00:00Z":      time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
		"2026-01-31T12:00:00-05:00": time.Date(2026, 1, 31, 17, 0, 0, 0, time.UTC),
	} {
		var got when
		if err := got.UnmarshalText([]byte(text)); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	var ago when
	if err := ago.UnmarshalText([]byte("2h")); err != nil || time.Since(ago.Time).Round(time.Minute) != 2*time.Hour {
		t.Errorf("2h is %v, %v", ago, err)
	}
	for _, text := range []string{"", "-2h", "yesterday", "2026-13-01"} {
		if err := ago.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v; want an error", text, ago)
		}
	}
}

package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestOnlyYesIsYes(t *testing.T) {
	t.Parallel()

	for answer, want := range map[string]bool{
		"y\n": true, "YES\r\n": true, "yes": true, "\n": false, "": false, "n\n": false, "yesterday\n": false,
	} {
		var out bytes.Buffer
		if got := confirmed(strings.NewReader(answer), &out, "Replay 3?"); got != want {
			t.Errorf("confirmed(%q) = %v; want %v", answer, got, want)
		}
		if got, want := out.String(), "Replay 3? [y/N] "; got != want {
			t.Errorf("it asked %q; want %q", got, want)
		}
	}
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

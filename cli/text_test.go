package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlain(t *testing.T) {
	t.Parallel()

	if got, want := Plain("a\x1b[31m\n\tb\u202ec\u0085é"), "a [31m  b c é"; got != want {
		t.Errorf("plain = %q; want %q", got, want)
	}
	if got, want := Short("4 ½ à louer", 5), "4 ½ …"; got != want {
		t.Errorf("short = %q; want %q", got, want)
	}
}

// Lines of JSON, and documents as the API sends them, steer no terminal either. Not parallel: see printed.
func TestJSONLinesArePlain(t *testing.T) {
	const title = "4\u00bd \u009b2J\u202e"
	for _, args := range [][]string{
		{"listings", "refused", "--json"}, {"dead-letters", "list", "--json"}, {"dead-letters", "show", "7", "--json"},
		{"status", "--json"},
	} {
		url := serve(t, func(ask string) any {
			switch {
			case strings.Contains(ask, "/dead-letters/7"):
				return `{"id":7,"reason":"` + title + `"}`
			case strings.Contains(ask, "/queues"):
				return `{"warnings":["` + title + `"]}`
			case strings.Contains(ask, "/dead-letters"):
				return map[string]any{"items": []any{map[string]any{"id": 7, "reason": title}}}
			}
			return map[string]any{"items": []any{map[string]any{"title": title}}}
		})
		text := printed(t, func() error { return run(t, url, args...) })
		require.Contains(t, text, "4\u00bd \\u009b2J\\u202e", args)
		require.True(t, json.Valid([]byte(text)), text)
	}
}

// What is printed as JSON is the same JSON, and steers no terminal.
func TestPrintJSON(t *testing.T) {
	t.Parallel()
	const name = "a <b> \u009b31m\u202e\x1b é"
	var b strings.Builder
	require.NoError(t, PrintJSON(&b, map[string]string{"name": name}))
	want := "{\n  \"name\": \"a <b> \\u009b31m\\u202e\\u001b é\"\n}\n"
	assert.Equal(t, want, b.String())
	var out map[string]string
	if err := json.Unmarshal([]byte(b.String()), &out); err != nil || out["name"] != name {
		t.Errorf("it reads as %q, %v", out["name"], err)
	}
}

package cli

import (
	"encoding/json"
	"strings"
	"testing"
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

// What is printed as JSON is the same JSON, and steers no terminal.
func TestPrintJSON(t *testing.T) {
	t.Parallel()
	const name = "a <b> \u009b31m\u202e\x1b é"
	var b strings.Builder
	if err := PrintJSON(&b, map[string]string{"name": name}); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"name\": \"a <b> \\u009b31m\\u202e\\u001b é\"\n}\n"
	if b.String() != want {
		t.Errorf("PrintJSON wrote %q, want %q", b.String(), want)
	}
	var out map[string]string
	if err := json.Unmarshal([]byte(b.String()), &out); err != nil || out["name"] != name {
		t.Errorf("it reads as %q, %v", out["name"], err)
	}
}

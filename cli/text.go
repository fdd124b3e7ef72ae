package cli

import (
	"encoding/json"
	"io"
	"strings"
	"unicode"
)

// Plain returns s on one line and without control characters: text from adverts, messages and callers must not steer
// the terminal it is printed on. Every control and bidirectional character becomes a space.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}

// Short cuts s to n runes, 1 or more, of which the last is an ellipsis when something was cut.
func Short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// PrintJSON writes v as indented JSON, with <, > and & as they are.
func PrintJSON(out io.Writer, v any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

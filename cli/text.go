package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Plain returns s on one line and without control characters: text from adverts, messages and callers must not steer
// the terminal it is printed on. Every control and bidirectional character becomes a space.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) {
			return ' '
		}
		return r
	}, s)
}

// steers says that a character does something to a terminal instead of showing.
func steers(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// Short cuts s to n runes, 1 or more, of which the last is an ellipsis when something was cut.
func Short(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// PrintJSON writes v as indented JSON, with <, > and & as they are, and what would steer a terminal escaped.
func PrintJSON(out io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(out, tame(b.String()))
	return err
}

// printLine writes v as JSON in a line, with what would steer a terminal escaped.
func printLine(out io.Writer, v any) error {
	doc, err := json.Marshal(v)
	if err == nil {
		_, err = io.WriteString(out, tame(string(doc))+"\n")
	}
	return err
}

// tame is a JSON document in which what would steer a terminal is escaped. Below U+0020 there is only the space between
// values.
func tame(doc string) string {
	var text strings.Builder
	for _, r := range doc {
		if r >= ' ' && steers(r) { // in a string: nothing else of JSON holds such characters
			fmt.Fprintf(&text, `\u%04x`, r)
		} else {
			text.WriteRune(r)
		}
	}
	return text.String()
}

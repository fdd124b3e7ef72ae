package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCutSession(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("A", sessionLength)
	escaped, _ := json.Marshal(`,"sessionId":"` + id + `"}`)
	for _, tt := range []struct{ name, message, session, rest string }{
		{"an event", `{"method":"a","params":{},"sessionId":"` + id + `"}`, id, `{"method":"a","params":{}}`},
		{"an answer", `{"id":1,"result":{},"sessionId":"` + id + `"}`, id, `{"id":1,"result":{}}`},
		{"of the browser", `{"id":1,"result":{"sessionId":"` + id + `"}}`, "", ""},
		{"at the beginning", `{"sessionId":"` + id + `","id":1}`, "", ""},
		{"a text that looks like it", `{"id":1,"result":` + string(escaped) + `}`, "", ""},
		{"quotes in it", `{"id":1,"sessionId":"` + id[:31] + `"` + `"}`, "", ""},
		{"short", `{}`, "", ""},
	} {
		session, rest := cutSession([]byte(tt.message))
		if session != tt.session || string(rest) != tt.rest {
			t.Errorf("%s: cutSession = %q, %s; want %q, %s", tt.name, session, rest, tt.session, tt.rest)
		}
	}
	whole := `{"sessionId":"` + id + `","id":1}`
	require.Equal(t, `{"id":1}`, string(withoutSession([]byte(whole))))
}

// A message that is too long does not take the one after it along.
func TestReadMessage(t *testing.T) {
	t.Parallel()
	in := bufio.NewReader(bytes.NewReader(append(append(append([]byte("one\x00"),
		bytes.Repeat([]byte("x"), maxMessage+1)...), 0), "two\x00three"...)))
	for _, want := range []string{"one", "", "two"} {
		got, err := readMessage(in)
		if err != nil || string(got) != want || (got == nil) != (want == "") {
			t.Errorf("readMessage = %.10q, %v; want %q", got, err, want)
		}
	}
	if got, err := readMessage(in); err == nil {
		t.Errorf("readMessage of half a message = %q", got)
	}
}

package cli

import "testing"

func TestPlain(t *testing.T) {
	t.Parallel()

	if got, want := Plain("a\x1b[31m\n\tb\u202ec\u0085é"), "a [31m  b c é"; got != want {
		t.Errorf("plain = %q; want %q", got, want)
	}
	if got, want := Short("4 ½ à louer", 5), "4 ½ …"; got != want {
		t.Errorf("short = %q; want %q", got, want)
	}
}

package main

import "testing"

func TestExitCodes(t *testing.T) {
	home := t.TempDir()
	tests := []struct {
		name string
		args []string
		want int
	}{
		{"done", []string{"version"}, 0},
		{"an unknown flag", []string{"up", "--sideways"}, 2},
		{"with-services without a command", []string{"--home", home, "with-services", "--"}, 1},
		{"the command's own", []string{"--home", home, "with-services", "--only", "redis", "--", "sh", "-c", "exit 7"}, 7},
		{"a command killed by a signal",
			[]string{"--home", home, "with-services", "--only=redis", "--", "sh", "-c", "kill -9 $$"}, 137},
		{"a command that is not there", []string{"--home", home, "with-services", "--only=redis", "--", "nowhere"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := run(tt.args); got != tt.want {
				t.Errorf("run(%q) = %d; want %d", tt.args, got, tt.want)
			}
		})
	}
}

// What is printed of an address holds no password.
func TestWithoutUser(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"http://conveyor:secret@127.0.0.1:15673/#/queues": "http://127.0.0.1:15673/#/queues",
		"http://127.0.0.1:8233":                           "http://127.0.0.1:8233",
		"http://a:b@c:%zz/":                               "?",
	} {
		if got := withoutUser(address); got != want {
			t.Errorf("withoutUser(%q) = %q; want %q", address, got, want)
		}
	}
}

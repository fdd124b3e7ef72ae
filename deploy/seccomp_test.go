package deploy_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The profile of the containers with Chromium lets its sandbox have user namespaces, and is otherwise as closed as
// Docker's default: what that keeps for capabilities, it keeps as well.
func TestSeccompProfile(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("seccomp-chromium.json")
	require.NoError(t, err)
	var profile struct {
		DefaultAction string
		Syscalls      []struct {
			Names    []string
			Action   string
			Args     []json.RawMessage
			Includes struct{ Caps []string }
			Excludes struct{ Caps []string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &profile))
	require.Equal(t, "SCMP_ACT_ERRNO", profile.DefaultAction)
	free := func(name string) bool { // without capabilities and whatever its arguments
		for _, s := range profile.Syscalls {
			if s.Action == "SCMP_ACT_ALLOW" && slices.Contains(s.Names, name) && len(s.Args)+len(s.Includes.Caps) == 0 {
				return true
			}
		}
		return false
	}
	for _, name := range []string{"clone", "unshare", "setns", "chroot", "execve", "seccomp", "capset"} {
		require.True(t, free(name), name)
	}
	for _, name := range []string{"mount", "umount2", "pivot_root", "bpf", "init_module", "kexec_load", "keyctl", "add_key",
		"reboot", "swapon", "open_by_handle_at", "perf_event_open", "userfaultfd", "clone3", "personality"} {
		require.False(t, free(name), name)
	}
}

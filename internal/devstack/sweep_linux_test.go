package devstack

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProcessesOfAKilledRunAreEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left, other := exec.Command("sleep", "1000"), exec.Command("sleep", "1000")
	left.Env, other.Env = []string{mark(dir)}, []string{mark(dir + "-other")}
	for _, cmd := range []*exec.Cmd{left, other} {
		cmd.SysProcAttr = procAttr(syscall.SIGKILL)
		require.NoError(t, cmd.Start())
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	}
	startRedis(t, dir)
	require.False(t, alive(left.Process.Pid), "a process of the killed run lives on")
	require.True(t, alive(other.Process.Pid), "a process of another folder was ended")
}

package devstack

import (
	"os/exec"
	"syscall"
	"testing"
)

func TestProcessesOfAKilledRunAreEnded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	left, other := exec.Command("sleep", "1000"), exec.Command("sleep", "1000")
	left.Env, other.Env = []string{mark(dir)}, []string{mark(dir + "-other")}
	for _, cmd := range []*exec.Cmd{left, other} {
		cmd.SysProcAttr = procAttr(syscall.SIGKILL)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { _ = cmd.Wait(); close(ended) }()
		t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	}
	startRedis(t, dir)
	if alive(left.Process.Pid) {
		t.Error("a process of the killed run lives on")
	}
	if !alive(other.Process.Pid) {
		t.Error("a process of another folder was ended")
	}
}

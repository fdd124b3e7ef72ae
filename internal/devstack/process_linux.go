package devstack

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mtlrent/conveyor/domain/fault"
)

// procAttr makes a child the leader of its own process group, so that a Ctrl-C at the terminal reaches only us and a
// kill reaches all it forked, and asks the kernel to signal it when we die.
func procAttr(onDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: onDeath}
}

// Tie makes the kernel end cmd with SIGTERM when this process dies, even by kill -9. The signal comes at the death of
// the thread that starts it: hold runtime.LockOSThread while the command runs.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
}

// leftovers lists the processes that carry our mark in their environment: children of a run that was killed before it
// could stop them. The environment, unlike a process ID in a file, cannot be that of another process.
func leftovers(mark string) []int {
	var pids []int
	for _, d := range glob("/proc/[0-9]*") {
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(filepath.Join(d, "environ"))
		if err != nil {
			continue // gone, or not ours to look at
		}
		for _, kv := range bytes.Split(env, []byte{0}) {
			if string(kv) == mark {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// enterNetwork moves the calling thread, which must be locked, into the network namespace at path.
func enterNetwork(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	defer func() { _ = f.Close() }()
	return fault.Wrap(unix.Setns(int(f.Fd()), unix.CLONE_NEWNET), "enter network namespace %s", path)
}

// zombie reports whether a process has ended and only waits to be reaped.
func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return true
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

// roomy is how much has to be free in memory, in bytes, for a stack's files to lie there: several times what the whole
// of our tests takes. A container often has 64 MB.
const roomy = 8 << 30

// inMemory is a folder of a file system in memory with that much room, "" for none.
func inMemory() string {
	const shm = "/dev/shm"
	var fs unix.Statfs_t
	var host unix.Sysinfo_t
	if unix.Statfs(shm, &fs) != nil || unix.Sysinfo(&host) != nil || fs.Type != unix.TMPFS_MAGIC {
		return ""
	}
	//nolint:gosec // sizes are positive
	if fs.Bavail*uint64(fs.Bsize) >= roomy && host.Totalram*uint64(host.Unit) >= 2*roomy {
		return shm
	}
	return ""
}

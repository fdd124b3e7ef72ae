package confine

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mtlrent/conveyor/domain/fault"
)

const setNoNewPrivs = 38 // PR_SET_NO_NEW_PRIVS

// Shield closes this process to others of the same user: they cannot read its memory, its environment or its files by
// /proc, or trace it, unless they may trace every process. It leaves no core dump. Programs that it executes are not
// shielded; only Linux has this.
func Shield() error {
	return fault.Wrap(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0), "close this process to others of its user")
}

// self is this program, also when its file was replaced meanwhile.
func self() (string, error) { return "/proc/self/exe", nil }

// attributes keep a child from the signals of the terminal, and let it die with its parent.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// confine bounds what this process may do from now on: take so many bytes more than it has, open nothing, write no
// file but those of out. Nothing raises the bounds again.
func confine(memory int64, out output) error {
	taken, err := dataSize()
	if err != nil {
		return err
	}
	// When the machine or the container is out of memory, a child is the right process to be killed.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	limits := map[int]uint64{
		syscall.RLIMIT_CORE: 0, syscall.RLIMIT_NOFILE: 0, syscall.RLIMIT_DATA: uint64(taken + memory),
	}
	if out == noFiles {
		limits[syscall.RLIMIT_FSIZE] = 0
	}
	for resource, most := range limits {
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return err
		}
	}
	// Not in a program with cgo, where Go cannot reach all threads.
	if _, _, e := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0); e != 0 && e != syscall.ENOTSUP {
		return e
	}
	return nil
}

// dataSize is how many bytes of this process count for RLIMIT_DATA.
func dataSize() (int64, error) {
	stat, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(stat)
	if len(fields) < 6 {
		return 0, errors.New("/proc/self/statm is short")
	}
	pages, err := strconv.ParseInt(string(fields[5]), 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// boundCPU lets the next job take so many seconds of CPU time: the kernel sends SIGXCPU then, each second.
func boundCPU(seconds uint64) error {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return err
	}
	took := time.Duration(used.Utime.Nano() + used.Stime.Nano())
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &limit); err != nil {
		return err
	}
	limit.Cur = min(limit.Max, uint64((took+time.Second-1)/time.Second)+seconds)
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &limit)
}

// unboundCPU takes the bound of boundCPU away.
func unboundCPU() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CPU, &limit); err != nil {
		return err
	}
	limit.Cur = limit.Max
	return syscall.Setrlimit(syscall.RLIMIT_CPU, &limit)
}

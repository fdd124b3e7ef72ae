package chromium

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// maxProcesses is far above what pages of one process each need.
const maxProcesses = 64

// Trim looks at the process group of a Chromium. When it has more bytes of memory than allowed, Trim ends the page that
// takes the most; when it has more than 64 processes, all of them; and says so. Otherwise it returns "".
func Trim(group int, allowed int64) string {
	var memory, most int64
	var count, fattest int
	for _, p := range Processes() {
		if p.Group != group {
			continue
		}
		count++
		memory += p.Memory
		if p.Memory > most && p.renders() {
			most, fattest = p.Memory, p.PID
		}
	}
	switch {
	case count > maxProcesses:
		_ = syscall.Kill(-group, syscall.SIGKILL)
		return fmt.Sprintf("all %d processes", count)
	case memory > allowed && fattest != 0:
		_ = syscall.Kill(fattest, syscall.SIGKILL)
		return fmt.Sprintf("the page of %d MiB, of %d MiB in all", most>>20, memory>>20)
	}
	return ""
}

// renders says whether it is a process of pages.
func (p Process) renders() bool {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
	return bytes.Contains(line, []byte("--type=renderer"))
}

// A Process is one of /proc. A number alone may come to mean another.
type Process struct {
	PID, Parent, Group, Session int

	Started string // in ticks since boot
	Memory  int64  // bytes resident
}

// Processes lists everything that runs, zombies left out.
func Processes() (out []Process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // fails for a malformed pattern only
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // gone since
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before may hold spaces
		if len(f) < 22 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		p := Process{Started: f[19]}
		p.PID, _ = strconv.Atoi(filepath.Base(dir))
		p.Parent, _ = strconv.Atoi(f[1])
		p.Group, _ = strconv.Atoi(f[2])
		p.Session, _ = strconv.Atoi(f[3])
		pages, _ := strconv.ParseInt(f[21], 10, 64)
		p.Memory = pages * int64(os.Getpagesize())
		out = append(out, p)
	}
	return out
}

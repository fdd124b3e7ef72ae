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
	for _, dir := range groupOf(group) {
		count++
		memory += dir.memory
		if dir.memory > most && dir.renders() {
			most, fattest = dir.memory, dir.pid
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

type member struct {
	pid    int
	memory int64 // bytes
}

// renders says whether it is a process of pages.
func (m member) renders() bool {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", m.pid))
	return bytes.Contains(line, []byte("--type=renderer"))
}

func groupOf(group int) (out []member) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // fails for a malformed pattern only
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // gone since
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before may hold spaces
		if len(f) < 22 || f[0] == "Z" || f[2] != strconv.Itoa(group) {
			continue
		}
		m := member{}
		m.pid, _ = strconv.Atoi(filepath.Base(dir))
		pages, _ := strconv.ParseInt(f[21], 10, 64)
		m.memory = pages * int64(os.Getpagesize())
		out = append(out, m)
	}
	return out
}

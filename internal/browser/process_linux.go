package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// process is one of /proc. A number alone may come to mean another.
type process struct {
	pid, parent, session int
	started              string // in ticks since boot
	pages                int64  // resident
}

// processes lists everything that runs, zombies left out.
func processes() []process {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // fails for a malformed pattern only
	var out []process
	for _, dir := range dirs {
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue // gone since
		}
		f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before may hold spaces
		if len(f) < 22 || f[0] == "Z" || f[0] == "X" {
			continue
		}
		p := process{started: f[19]}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(f[1])
		p.session, _ = strconv.Atoi(f[3])
		p.pages, _ = strconv.ParseInt(f[21], 10, 64)
		out = append(out, p)
	}
	return out
}

// family are the processes of a generation: the driver and all of Chromium, which has a session of its own.
type family struct {
	driver, chromium process // zero while unknown
}

// drivers are our children that run the Playwright driver.
func drivers(folder string) map[int]process {
	out := map[int]process{}
	for _, p := range processes() {
		if p.parent != os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid))
		if bytes.Contains(line, []byte(filepath.Join(folder, "package", "cli.js")+"\x00run-driver\x00")) {
			out[p.pid] = p
		}
	}
	return out
}

// find looks for Chromium below the driver.
func (f *family) find() {
	for _, p := range processes() {
		if f.driver.pid == 0 || p.parent != f.driver.pid || p.session != p.pid {
			continue
		}
		f.chromium = p
	}
}

// members are those that still run.
func (f *family) members() []process {
	var out []process
	for _, p := range processes() {
		switch {
		case f.driver.pid != 0 && p.pid == f.driver.pid && p.started == f.driver.started:
			out = append(out, p)
		case f.chromium.pid != 0 && p.session == f.chromium.pid:
			if p.pid == f.chromium.pid && p.started != f.chromium.started {
				return out // the number is another's now
			}
			out = append(out, p)
		}
	}
	return out
}

// alive says whether the main processes that are known run.
func (f *family) alive() bool {
	left := map[int]bool{0: true}
	for _, p := range f.members() {
		left[p.pid] = true
	}
	return left[f.driver.pid] && left[f.chromium.pid]
}

// rss is the memory of all of them in bytes. What they share counts once for each, so it is an upper bound.
func (f *family) rss() int64 {
	var pages int64
	for _, p := range f.members() {
		pages += p.pages
	}
	return pages * int64(os.Getpagesize())
}

// kill ends them without asking.
func (f *family) kill() {
	for _, p := range f.members() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended since
	}
}

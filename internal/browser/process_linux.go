package browser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// family are the processes of a generation: the driver and all of Chromium, which has a session of its own.
type family struct {
	driver, chromium chromium.Process // zero while unknown
}

// drivers are our children that run the Playwright driver.
func drivers(folder string) map[int]chromium.Process {
	out := map[int]chromium.Process{}
	for _, p := range chromium.Processes() {
		if p.Parent != os.Getpid() {
			continue
		}
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.PID))
		if bytes.Contains(line, []byte(filepath.Join(folder, "package", "cli.js")+"\x00run-driver\x00")) {
			out[p.PID] = p
		}
	}
	return out
}

// find looks for Chromium below the driver.
func (f *family) find() {
	for _, p := range chromium.Processes() {
		if f.driver.PID == 0 || p.Parent != f.driver.PID || p.Session != p.PID {
			continue
		}
		f.chromium = p
	}
}

// members are those that still run.
func (f *family) members() []chromium.Process {
	var out []chromium.Process
	for _, p := range chromium.Processes() {
		switch {
		case f.driver.PID != 0 && p.PID == f.driver.PID && p.Started == f.driver.Started:
			out = append(out, p)
		case f.chromium.PID != 0 && p.Session == f.chromium.PID:
			if p.PID == f.chromium.PID && p.Started != f.chromium.Started {
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
		left[p.PID] = true
	}
	return left[f.driver.PID] && left[f.chromium.PID]
}

// rss is the memory of all of them in bytes. What they share counts once for each, so it is an upper bound.
func (f *family) rss() int64 {
	var all int64
	for _, p := range f.members() {
		all += p.Memory
	}
	return all
}

// kill ends them without asking.
func (f *family) kill() {
	for _, p := range f.members() {
		_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended since
	}
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/*/stat: USER_HZ, 100 on every Linux.
const tick = time.Second / 100

// roles names the group of a process that we have started, by its first argument: the binary may have any name.
var roles = map[string]string{"up": "all roles", "worker": "worker", "bridge": "bridge", "api": "api"}

// groups names the group of another process by a piece of its command line; the first that fits counts.
var groups = []struct{ piece, group string }{
	{"-yardstick", "yardstick"}, {"-crawl-site", crawlSiteGroup}, {"temporal-server", "temporal"},
	{"chromium", "chromium"}, {"playwright", "driver"},
	{"postgres", "postgres"}, {"beam.smp", "rabbitmq"}, {"redis-server", "redis"},
}

// A process is one of the stack that we were started by.
type process struct {
	pid, parent int
	dir         string // below /proc
	command     []string
	group       string // "" is not measured
}

// descendants are the processes of the stack that we were started by, or every process of the machine when it was not
// with-services that started us.
func descendants() (out []process) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	parents := map[int]int{}
	for _, dir := range dirs {
		if fields := stat(dir); len(fields) > 1 {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			parents[pid], _ = strconv.Atoi(fields[1])
		}
	}
	root := os.Getppid()
	if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", root)); !bytes.Contains(line, []byte("with-services")) {
		root = 1
	}
	for _, dir := range dirs {
		own, _ := strconv.Atoi(filepath.Base(dir))
		pid := own
		for pid > 1 && pid != root {
			pid = parents[pid]
		}
		if line, err := os.ReadFile(filepath.Join(dir, "cmdline")); pid == root && err == nil { // or it has ended
			command := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
			out = append(out, process{pid: own, parent: parents[own], dir: dir, command: command})
		}
	}
	grouped(out, root, os.Getpid())
	return out
}

// grouped sets the groups of the descendants of root. What a process of a group has started is of that group, too, as
// the children that read pages are, where it is of none itself. we have started the roles.
func grouped(all []process, root, we int) {
	at := map[int]*process{}
	for i := range all {
		at[all[i].pid] = &all[i]
	}
	for i := range all {
		for p := at[all[i].pid]; p != nil && p.pid != root && p.pid != we && all[i].group == ""; p = at[p.parent] {
			all[i].group = p.own(we)
		}
	}
}

// processes returns the CPU time used so far by every group of the stack. A process that has ended counts with its
// parent's children, so a group loses nothing.
func processes() map[string]time.Duration {
	out := map[string]time.Duration{}
	for _, p := range descendants() {
		fields := stat(p.dir)
		if len(fields) < 15 {
			continue
		}
		if p.group != "" {
			for _, i := range []int{11, 12, 13, 14} { // utime stime cutime cstime
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				out[p.group] += time.Duration(n) * tick
			}
		}
	}
	return out
}

// own is the group of a process by itself, "" where that is not said by its command line.
func (p process) own(we int) string {
	if p.parent == we && len(p.command) > 1 && roles[p.command[1]] != "" {
		return roles[p.command[1]]
	}
	command := strings.Join(p.command, " ")
	for _, g := range groups {
		if strings.Contains(command, g.piece) {
			return g.group
		}
	}
	return ""
}

// connections is the CPU time that each process of Postgres used so far, and for which database. What Postgres does by
// itself is of "background", and so is what has ended meanwhile: its workers of autovacuum, most of all.
func connections() map[int]connection {
	out := map[int]connection{}
	for _, p := range descendants() {
		fields := stat(p.dir)
		if p.group != "postgres" || len(fields) < 15 {
			continue
		}
		c := connection{of: "background"}
		// "postgres: role database host(port) state"
		if title := strings.Fields(strings.Join(p.command, " ")); len(title) > 3 && strings.Contains(title[3], "(") {
			c.of = title[2]
		}
		for _, i := range []int{11, 12, 13, 14} { // utime stime cutime cstime
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			c.used += time.Duration(n) * tick
		}
		out[p.pid] = c
	}
	return out
}

// A connection is a process of Postgres, with the database that it is for.
type connection struct {
	of   string
	used time.Duration
}

// databases is the CPU time that Postgres used for each database since a look, in seconds a unit of n.
func databases(before map[int]connection, n float64) map[string]float64 {
	out := map[string]float64{}
	for pid, c := range connections() {
		out[c.of] += (c.used - before[pid].used).Seconds() / n
	}
	return out
}

// held is the memory that the processes of each group hold, in MiB; memory that they share counts for each.
func held() map[string]int {
	out := map[string]int{}
	for _, p := range descendants() {
		out[p.group] += resident(p.pid)
	}
	return out
}

// stat is /proc/PID/stat from the process state on, or nil when the process has ended.
func stat(dir string) []string {
	line, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
}

// spent is the CPU time that each group used between two looks.
func spent(before, after map[string]time.Duration) map[string]time.Duration {
	out := map[string]time.Duration{}
	for g, used := range after {
		out[g] = used - before[g]
	}
	return out
}

// cost is the CPU time that each group used since a look, in seconds a unit of n.
func cost(before map[string]time.Duration, n float64) map[string]float64 {
	out := map[string]float64{}
	for group, used := range spent(before, processes()) {
		out[group] = used.Seconds() / n
	}
	return out
}

// resident is the memory that a process has resident, in MiB; 0 when it has ended.
func resident(pid int) int { return status(pid, "VmRSS:") }

// status is a line of /proc/PID/status in MiB, 0 where there is none.
func status(pid int, name string) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // it may have ended
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kb, _ := strconv.Atoi(fields[1])
			return kb / 1024
		}
	}
	return 0
}

// A share of a thread's time is what it computed and what it waited for a core, in nanoseconds.
type share struct{ ran, waited float64 }

// threads is that of every thread of the stack with a name, since it began, as the scheduler counts it.
func threads(name string) (s share) {
	for _, p := range descendants() {
		names, _ := filepath.Glob(filepath.Join(p.dir, "task/*/comm")) // the pattern is right
		for _, file := range names {
			if comm, _ := os.ReadFile(file); !strings.HasPrefix(string(comm), name) { // or it has ended
				continue
			}
			stat, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "schedstat"))
			if fields := strings.Fields(string(stat)); len(fields) > 1 {
				ran, _ := strconv.ParseFloat(fields[0], 64)
				waited, _ := strconv.ParseFloat(fields[1], 64)
				s.ran, s.waited = s.ran+ran, s.waited+waited
			}
		}
	}
	return s
}

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/internal/devstack"
)

// A role is one process of Conveyor under a supervisor as systemd is one: whenever it ends it is started again. That it
// is killed is ours to do; that it ends by itself is a fault of Conveyor, and noted.
type role struct {
	name    string // worker-1
	command string // worker
	env     []string
	ask     string   // URL that says whether it is healthy: /ready of an API, /metrics of others
	within  []string // command that runs it where it belongs; none = here
	log     *roleLog

	mu      sync.Mutex
	release release                  // that it runs from its next start on
	process *os.Process              // nil while it does not run
	killed  bool                     // by us
	asked   bool                     // to end
	retired bool                     // asked to end, for another one in its place
	drains  []time.Duration          // how long each that was retired took to end
	queues  map[string]time.Duration // the longest of these ends of each task queue of a worker
	kills   int
	exits   []string // each time that it ended by itself: how
	cuts    []span   // in which its host was off the network
	memory  int      // the most that its processes had resident, in MiB
	code    int      // of the last life
}

// starter starts every process from one thread, for they are tied to the thread that started them.
var starter = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() { // as long as the tests
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// keep runs the role until ctx ends, and then asks it to end and waits.
func (r *role) keep(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		of := r.release
		r.mu.Unlock()
		line := slices.Concat(r.within, []string{of.binary, r.command})
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Env = append(slices.Clone(r.env), of.settings...)
		cmd.Stdout, cmd.Stderr = r.log, r.log
		devstack.Tie(cmd)
		started := make(chan error)
		starter() <- func() { started <- cmd.Start() }
		if err := <-started; err != nil {
			r.note(fmt.Sprintf("cannot be started: %v", err))
			pause(ctx, time.Second)
			continue
		}
		r.mu.Lock()
		r.process, r.killed, r.retired = cmd.Process, false, false
		r.mu.Unlock()
		stop := context.AfterFunc(ctx, func() {
			r.mu.Lock()
			r.asked = true
			r.mu.Unlock()
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if !pause(context.WithoutCancel(ctx), 45*time.Second) {
				return
			}
			_ = cmd.Process.Kill() // no effect on one that has ended
		})
		err := cmd.Wait()
		stop()
		r.mu.Lock()
		r.process, r.code = nil, cmd.ProcessState.ExitCode()
		how, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		early := how.Signaled() && how.Signal() == syscall.SIGTERM // before it listened
		by := r.killed || r.asked && r.code == 0 || r.retired && (r.code == 0 || early)
		r.mu.Unlock()
		if !by {
			r.note(fmt.Sprintf("ended by itself: %v; it said at last: %s", err, r.log.last()))
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// A span is a time; it has not ended while to is zero.
type span struct{ from, to time.Time }

// cut notes that the role's host leaves the network; the function that it returns, that it is back.
func (r *role) cut() (back func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.cuts)
	r.cuts = append(r.cuts, span{from: time.Now()})
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.cuts[n].to = time.Now()
	}
}

// cutSince says whether the role's host was off the network at any time since t.
func (r *role) cutSince(t time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.cuts, func(s span) bool { return s.to.IsZero() || s.to.After(t) })
}

func (r *role) note(exit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exits = append(r.exits, exit)
}

// signal sends a signal to the process, if there is one.
func (r *role) signal(s syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return fmt.Errorf("%s does not run", r.name)
	}
	if s == syscall.SIGKILL {
		r.killed = true
		r.kills++
	}
	return r.process.Signal(s)
}

func (r *role) pid() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.process == nil {
		return 0
	}
	return r.process.Pid
}

// A roleLog writes a role's output to a file, and looks for the lines that matter to the ledger. Processes write to it
// through a pipe, so a limit on their files does not touch it.
type roleLog struct {
	mu     sync.Mutex
	file   *os.File
	half   []byte // a line that is not finished
	tail   string
	panics int
	leases int                      // lost
	full   int                      // times that it found the disk full
	ends   map[string]time.Duration // of a worker's task queues, since they were last taken
}

func (l *roleLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.half = append(l.half, p...)
	for {
		line, rest, ok := bytes.Cut(l.half, []byte("\n"))
		if !ok {
			break
		}
		l.read(string(line))
		l.half = bytes.Clone(rest)
	}
	return l.file.Write(p)
}

func (l *roleLog) read(line string) {
	l.tail = line
	switch {
	case strings.Contains(line, "panick") || strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:"):
		l.panics++
	case strings.Contains(line, "leases ran out before the broker confirmed"):
		_, n, _ := strings.Cut(line, `"messages":`)
		n, _, _ = strings.Cut(n, "}")
		n, _, _ = strings.Cut(n, ",")
		lost, _ := strconv.Atoi(n)
		l.leases += max(1, lost)
	case strings.Contains(line, "the disk is full") || strings.Contains(line, "file too large"):
		l.full++
	case strings.Contains(line, `"worker of a task queue has ended"`):
		var end struct{ Queue, Took string }
		_ = json.Unmarshal([]byte(line), &end) // then it has no queue
		took, err := time.ParseDuration(end.Took)
		if err == nil && l.ends == nil {
			l.ends = map[string]time.Duration{}
		}
		if err == nil {
			l.ends[end.Queue] = took
		}
	}
}

// takeEnds returns how long the worker's task queues took to end, since the last call.
func (l *roleLog) takeEnds() map[string]time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	ends := l.ends
	l.ends = nil
	return ends
}

func (l *roleLog) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tail
}

// counts returns the numbers of panics, lost leases and full disks in the log.
func (l *roleLog) counts() (panics, leases, full int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.panics, l.leases, l.full
}

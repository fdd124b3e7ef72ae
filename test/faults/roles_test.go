package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
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
	log     *roleLog
	metrics string // address, "" for none

	mu      sync.Mutex
	process *os.Process // nil while it does not run
	killed  bool        // by us
	asked   bool        // to end
	kills   int
	exits   []string // each time that it ended by itself: how
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
		cmd := exec.Command(binary, r.command)
		cmd.Env, cmd.Stdout, cmd.Stderr = r.env, r.log, r.log
		devstack.Tie(cmd)
		started := make(chan error)
		starter() <- func() { started <- cmd.Start() }
		if err := <-started; err != nil {
			r.note(fmt.Sprintf("cannot be started: %v", err))
			pause(ctx, time.Second)
			continue
		}
		r.mu.Lock()
		r.process, r.killed = cmd.Process, false
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
		by := r.killed || r.asked && r.code == 0
		r.mu.Unlock()
		if !by {
			r.note(fmt.Sprintf("ended by itself: %v; it said at last: %s", err, r.log.last()))
		}
		pause(ctx, 100*time.Millisecond)
	}
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
	leases int // lost
	full   int // times that it found the disk full
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
	}
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

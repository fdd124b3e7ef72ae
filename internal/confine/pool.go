// Package confine reads what strangers wrote, pages and pictures, in child processes with limits: a page that makes its
// reader eat memory or run for ever ends a child, and not the worker with all that runs in it.
//
// A child is this program again. It has no environment, can open no file and no connection, and its memory and the CPU
// time of a job are bounded by the kernel (on Linux; elsewhere only time is bounded). It lives for many jobs, one at a
// time.
package confine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Options bound the children of a Pool. A zero field takes its default.
type Options struct {
	Children int           // at once; default 2. They are started when they are needed
	Memory   int64         // bytes that a child may take beside its program; default 512 MiB
	CPU      time.Duration // of a job, rounded up to seconds; default 20 s
	Wall     time.Duration // of a job; default 60 s. It is for a machine that is too busy: CPU is the bound on the job
}

// startAgain is when a child is started again that could not be.
const startAgain = 5 * time.Second

// A Pool runs jobs in children. It is safe for concurrent use.
//
// The faults of its methods, beside those of the readers: Invalid for a job that goes beyond Memory or CPU; Limited
// while all children are busy until ctx ends, or none can be started, which is no fault of what is read; Transient when
// a child does not answer within Wall or ends for another reason. When ctx ends, the child is killed and the method
// returns at once, with ctx's error.
type Pool struct {
	o     Options
	slots *semaphore.Weighted

	mu     sync.Mutex
	idle   []*child // the last one is used next, so that those not needed stay idle
	all    map[*child]bool
	closed bool
}

// New returns a pool without children. The program must call Child first of all. Close the pool.
func New(o Options) *Pool {
	o = o.whole()
	return &Pool{o: o, slots: semaphore.NewWeighted(int64(o.Children)), all: map[*child]bool{}}
}

// whole is o with its defaults.
func (o Options) whole() Options {
	if o.Children <= 0 {
		o.Children = 2
	}
	if o.Memory <= 0 {
		o.Memory = 512 << 20
	}
	if o.CPU <= 0 {
		o.CPU = 20 * time.Second
	}
	if o.Wall <= 0 {
		o.Wall = time.Minute
	}
	return o
}

// Close kills the children, those with a job as well, and returns when they have ended.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	for c := range p.all {
		c.kill()
	}
	p.mu.Unlock()
	p.endIdle()
	_ = p.slots.Acquire(context.Background(), int64(p.o.Children)) // once the jobs have ended
	p.slots.Release(int64(p.o.Children))
}

// do has a child do a job, and decodes its result into out.
func (p *Pool) do(ctx context.Context, job string, in any, data []byte, out any) ([][]byte, error) {
	head, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("write job %s: %w", job, err)
	}
	if err := p.slots.Acquire(ctx, 1); err != nil {
		return nil, fault.Newf(fault.Limited, "wait for a process to read in: %w", err)
	}
	defer p.slots.Release(1)
	var parts [][]byte
	for again := false; ; again = true {
		c, used, err := p.take()
		if err != nil {
			return nil, &fault.Error{
				Class: fault.Limited, After: startAgain, Err: fmt.Errorf("start a process to read in: %w", err),
			}
		}
		parts, err = p.ask(ctx, c, []byte(job), []byte(strconv.FormatInt(int64(p.o.CPU/time.Second), 10)), head, data)
		if err == nil {
			break
		}
		if !used || again || !errors.Is(err, errSilent) {
			return nil, err
		}
		p.endIdle()
	}
	var o outcome
	if err := json.Unmarshal(parts[0], &o); err != nil {
		return nil, fmt.Errorf("read result of job %s: %w", job, err)
	}
	if err := o.err(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(parts[1], out); err != nil {
		return nil, fmt.Errorf("read result of job %s: %w", job, err)
	}
	return parts[2:], nil
}

var (
	errWall = errors.New("it took too long")
	// errSilent is of a child that ended without a word or a byte of an answer. An idle one may have done so before it
	// was asked: where memory runs out, the kernel ends those first, and all of them at once.
	errSilent = errors.New("no answer")
)

// ask sends a child a job and returns the parts of its answer, at least two. The child is idle afterwards, or ended.
func (p *Pool) ask(ctx context.Context, c *child, parts ...[]byte) ([][]byte, error) {
	within, cancel := context.WithTimeoutCause(ctx, p.o.Wall, errWall)
	defer cancel()
	alive := context.AfterFunc(within, c.kill)
	err := write(c.in, parts...)
	var answer [][]byte
	if err == nil {
		answer, err = read(c.out)
	}
	if !alive() && err == nil { // killed, with the answer on its way
		err = context.Cause(within)
	}
	if err == nil && len(answer) < 2 {
		err = errors.New("short answer")
	}
	if err == nil {
		p.put(c, len(answer[0]) > 0 && bytes.Contains(answer[0], lastMark))
		return answer, nil
	}
	state := p.end(c)
	if answer == nil && c.said.String() == "" && (errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE)) {
		err = errSilent
	}
	switch said := c.said.String(); {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("read in another process: %w", context.Cause(ctx))
	case errors.Is(context.Cause(within), errWall):
		return nil, fault.Newf(fault.Transient, "reading it took longer than %s", p.o.Wall)
	case strings.Contains(said, overCPU):
		return nil, fault.Newf(fault.Invalid, "%s", tookCPU(p.o))
	case strings.Contains(said, overMemory), strings.Contains(said, "out of memory"),
		strings.Contains(said, "cannot allocate memory"), strings.Contains(said, "pthread_create failed"),
		strings.Contains(said, "SIGSEGV"): // the runtime does not look everywhere whether it got memory
		return nil, fault.Newf(fault.Invalid, "%s", tookMemory(p.o))
	case strings.Contains(said, "stack overflow"):
		return nil, fault.Newf(fault.Invalid, "reading it goes too deep")
	default:
		line, _, _ := strings.Cut(said, "\n")
		return nil, fault.Newf(fault.Transient, "the process that read it ended: %s: %.200s (%w)", state, line, err)
	}
}

// take returns an idle child, which is a used one, or a new one.
func (p *Pool) take() (c *child, used bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, errors.New("the pool is closed")
	}
	if last := len(p.idle) - 1; last >= 0 {
		c = p.idle[last]
		p.idle = p.idle[:last]
		return c, true, nil
	}
	if c, err = start(p.o.Memory); err == nil {
		p.all[c] = true
	}
	return c, false, err
}

// endIdle ends the children that are idle.
func (p *Pool) endIdle() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.end(c)
	}
}

// put keeps a child for the next job, unless this was its last.
func (p *Pool) put(c *child, last bool) {
	p.mu.Lock()
	if !last && !p.closed {
		p.idle = append(p.idle, c)
		p.mu.Unlock()
		return
	}
	p.mu.Unlock()
	p.end(c)
}

// end kills a child and returns how it ended.
func (p *Pool) end(c *child) string {
	c.kill()
	_ = c.in.Close()
	err := c.cmd.Wait()
	p.mu.Lock()
	delete(p.all, c)
	p.mu.Unlock()
	if err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// A child is a process that does jobs.
type child struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	said *beginning // on standard error
}

func start(memory int64) (*child, error) {
	program, err := self()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(program, command, strconv.FormatInt(memory, 10)), said: &beginning{}}
	c.cmd.Env = []string{} // no secrets; nil would be ours
	c.cmd.Dir = "/"
	c.cmd.Stderr = c.said
	c.cmd.SysProcAttr = attributes()
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if c.out, err = c.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return c, c.cmd.Start()
}

// kill ends the process; it may have ended already.
func (c *child) kill() { _ = c.cmd.Process.Kill() }

// beginning keeps the beginning of what is written to it.
type beginning struct{ b bytes.Buffer }

func (t *beginning) Write(p []byte) (int, error) {
	t.b.Write(p[:min(len(p), max(0, 4<<10-t.b.Len()))])
	return len(p), nil
}

func (t *beginning) String() string { return strings.TrimSpace(t.b.String()) }

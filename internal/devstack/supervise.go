package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// service is one child process, and how it is started, probed and stopped. Every function may be called again after a
// crash.
type service struct {
	name   string
	hidden bool     // no line of its own on the display
	needs  []string // ready before, stopped after
	at     string   // shown when ready

	prepare func(ctx context.Context) error // before the first start: folders, files, schema
	command func() *exec.Cmd                // a new command for each start; streams and process group are set later
	attach  func(*exec.Cmd) (func(), error) // more to do with a command; what it returns is called after the start
	probe   func(ctx context.Context) error // nil error = answers by its real protocol
	settle  func(ctx context.Context) error // after the first time it answers: users, databases
	explain func(error) error               // what to say of a first start that failed
	tend    func(pid int)                   // each second while it runs
	shut    func()                          // before it is ended for good
	remove  func()                          // after its last process has ended
	stopBy  syscall.Signal                  // the signal that it takes as "stop cleanly"
	grace   time.Duration                   // how long that may take
	within  time.Duration                   // how long a start may take
}

// pace is how patiently a service is restarted.
type pace struct {
	first, most time.Duration // the pause before the first restart, doubled with each up to the most
	slate       time.Duration // a child that has lived this long clears the record
	deaths      int           // more of them without a clean slate, and we give up
}

func usualPace() pace {
	return pace{first: 500 * time.Millisecond, most: 15 * time.Second, slate: time.Minute, deaths: 8}
}

// spawner starts every child from one operating-system thread that lives as long as the stack. "Signal the child when
// the parent dies" means the parent *thread*, and Go may end any other.
type spawner struct{ work chan func() }

// newSpawner starts the thread, in the network namespace at a path; "" = in that of this process.
func newSpawner(network string) (*spawner, error) {
	s := &spawner{work: make(chan func())}
	there := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine, and serves no other
		if network != "" {
			if err := enterNetwork(network); err != nil {
				there <- err
				return
			}
		}
		there <- nil
		for f := range s.work {
			f()
		}
	}()
	return s, <-there
}

func (s *spawner) start(cmd *exec.Cmd) error {
	result := make(chan error)
	s.work <- func() { result <- cmd.Start() }
	return <-result
}

func (s *spawner) close() { close(s.work) }

// child is one life of a service's process.
type child struct {
	cmd   *exec.Cmd
	born  time.Time
	ended chan struct{}
	err   error // valid after ended
}

// restart asks for the service to be stopped and started again.
type restart struct {
	kill bool          // by SIGKILL, not by stopBy
	away time.Duration // between its end and the next start
	down bool          // it stays away, until up
	up   bool          // it is started, after its preparation, if it is away
	back chan error    // told once, when it answers again or did not come back; with down, when it has ended
}

// keeper keeps one service alive from start to stop.
type keeper struct {
	stack *Stack
	svc   *service
	quit  chan struct{} // closed by stop
	gone  chan struct{} // closed when the loop has ended
	asked chan restart

	mu      sync.Mutex
	current *child
	log     *os.File
	looping bool
	stopped bool
	hurry   context.Context // of the caller of stop
}

func newKeeper(s *Stack, svc *service) *keeper {
	if s.opts.Throwaway && svc.name != Postgres { // which would leave its shared memory behind
		svc.stopBy = syscall.SIGKILL
	}
	return &keeper{stack: s, svc: svc, quit: make(chan struct{}), gone: make(chan struct{}), asked: make(chan restart)}
}

func (k *keeper) logPath() string { return filepath.Join(k.stack.opts.Dir, "log", k.svc.name+".log") }
func (k *keeper) pidPath() string { return filepath.Join(k.stack.opts.Dir, "run", k.svc.name+".pid") }

func (k *keeper) pid() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == nil {
		return 0
	}
	select {
	case <-k.current.ended:
		return 0
	default:
		return k.current.cmd.Process.Pid
	}
}

// start brings the service up for the first time and returns when it answers. A child that dies on the way is not
// restarted: at the start that is a wrong set-up, and the log's last lines are in the error.
func (k *keeper) start(ctx context.Context) error {
	k.stack.progress(k.svc, preparing, "")
	log, err := openLog(k.logPath())
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.log = log
	k.mu.Unlock()
	if k.svc.prepare != nil {
		if err := k.svc.prepare(ctx); err != nil {
			return fmt.Errorf("prepare %s: %w", k.svc.name, err)
		}
	}
	k.stack.progress(k.svc, starting, "")
	c, err := k.launch(ctx)
	if err != nil && k.svc.explain != nil {
		err = k.svc.explain(err)
	}
	if err != nil {
		return err
	}
	if k.svc.settle != nil {
		if err := k.svc.settle(ctx); err != nil {
			return fmt.Errorf("set up %s: %w", k.svc.name, err)
		}
	}
	k.stack.progress(k.svc, ready, k.svc.at)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looping = true
	go k.keep(c)
	return nil
}

// launch starts one child and waits until it answers.
func (k *keeper) launch(ctx context.Context) (*child, error) {
	cmd := k.svc.command()
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = procAttr(k.svc.stopBy)
	}
	if cmd.Env == nil {
		cmd.Env = baseEnv()
	}
	cmd.Env = append(cmd.Env, mark(k.stack.opts.Dir))
	cmd.Stdout, cmd.Stderr = k.log, k.log
	k.mu.Lock()
	if k.stopped {
		k.mu.Unlock()
		return nil, fmt.Errorf("start %s: %w", k.svc.name, context.Canceled)
	}
	started := func() {}
	if k.svc.attach != nil {
		var err error
		if started, err = k.svc.attach(cmd); err != nil {
			k.mu.Unlock()
			return nil, fmt.Errorf("start %s: %w", k.svc.name, err)
		}
	}
	err := k.stack.spawn.start(cmd)
	started()
	if err != nil {
		k.mu.Unlock()
		return nil, fmt.Errorf("start %s: %w", k.svc.name, err)
	}
	c := &child{cmd: cmd, born: time.Now(), ended: make(chan struct{})}
	k.current = c
	k.mu.Unlock()
	k.writePid(cmd.Process.Pid)
	go func() {
		c.err = cmd.Wait()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // children that it left
		close(c.ended)
	}()
	return c, k.await(ctx, c)
}

func (k *keeper) writePid(pid int) {
	if err := os.MkdirAll(filepath.Dir(k.pidPath()), 0o700); err == nil {
		_ = os.WriteFile(k.pidPath(), []byte(strconv.Itoa(pid)+"\n"), 0o600)
	}
}

// await probes until the child answers, ends, or takes too long.
func (k *keeper) await(ctx context.Context, c *child) error {
	ctx, cancel := context.WithTimeout(ctx, k.svc.within)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		once, done := context.WithTimeout(ctx, 3*time.Second)
		err := k.svc.probe(once)
		done()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-c.ended:
			return fmt.Errorf("%s ended before it was ready (%s), see %s:\n%s",
				k.svc.name, how(c), k.logPath(), tail(k.logPath(), 8))
		case <-k.quit:
			return fmt.Errorf("start %s: %w", k.svc.name, context.Canceled)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("%s does not answer after %s (%w), see %s:\n%s",
					k.svc.name, k.svc.within, last, k.logPath(), tail(k.logPath(), 8))
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// how says in words how a child ended.
func how(c *child) string {
	if c.err == nil {
		return "exit status 0"
	}
	return c.err.Error()
}

// keep restarts the child whenever it ends, until stop.
func (k *keeper) keep(c *child) {
	defer close(k.gone)
	checkLog, tend := time.NewTicker(10*time.Second), time.NewTicker(time.Second)
	defer checkLog.Stop()
	defer tend.Stop()
	pace := k.stack.pace
	deaths, backoff := 0, pace.first
	for {
		select {
		case <-k.quit:
			k.end(c)
			return
		case <-checkLog.C:
			capLog(k.log)
			continue
		case <-tend.C:
			if k.svc.tend != nil && c.cmd != nil {
				k.svc.tend(c.cmd.Process.Pid)
			}
			continue
		case r := <-k.asked:
			switch {
			case r.down:
				c = k.down(c, r)
			case r.up:
				c = k.up(c, r)
			default:
				c = k.restart(c, r)
			}
			continue
		case <-c.ended:
		}
		if time.Since(c.born) > pace.slate {
			deaths, backoff = 0, pace.first
		}
		deaths++
		if deaths > pace.deaths {
			k.stack.fail(fmt.Errorf("%s keeps dying (%s), see %s", k.svc.name, how(c), k.logPath()))
			<-k.quit
			return
		}
		k.stack.log.Warn("service died, restarting it", "service", k.svc.name, "how", how(c), "in", backoff)
		select {
		case <-k.quit:
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, pace.most)
		c = k.revive(c)
	}
}

// away is no child: it never ends, so it is not restarted.
func away() *child { return &child{} }

// down ends the child, and leaves the service away.
func (k *keeper) down(c *child, r restart) *child {
	k.endBy(c, r.kill)
	r.back <- nil
	return away()
}

// up starts a service that is away. One that does not come back stays away.
func (k *keeper) up(c *child, r restart) *child {
	if c.ended != nil {
		r.back <- nil
		return c
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-k.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	if k.svc.prepare != nil {
		if err := k.svc.prepare(ctx); err != nil {
			r.back <- fmt.Errorf("prepare %s: %w", k.svc.name, err)
			return c
		}
	}
	next, err := k.launch(ctx)
	r.back <- err
	if err == nil {
		return next
	}
	if next != nil {
		k.end(next)
	}
	return c
}

// endBy ends the child as an operator does, or with kill as a crash does: it and all that it forked.
func (k *keeper) endBy(c *child, kill bool) {
	if !kill || c.cmd == nil {
		k.end(c)
		return
	}
	_ = syscall.Kill(c.cmd.Process.Pid, syscall.SIGKILL)
	<-c.ended
}

// restart ends the child as asked and starts the next one. That is no death to count.
func (k *keeper) restart(c *child, r restart) *child {
	k.endBy(c, r.kill)
	select {
	case <-k.quit:
	case <-time.After(r.away):
	}
	c = k.revive(c)
	select {
	case <-c.ended:
		r.back <- fmt.Errorf("%s did not come back (%s), see %s", k.svc.name, how(c), k.logPath())
	default:
		r.back <- nil
	}
	return c
}

// revive starts the next child. One that cannot be started or does not answer counts as dead.
func (k *keeper) revive(old *child) *child {
	c, err := k.launch(context.Background())
	if err == nil {
		k.stack.log.Info("service is back", "service", k.svc.name, "pid", c.cmd.Process.Pid)
		return c
	}
	select {
	case <-k.quit:
	default:
		k.stack.log.Warn("service did not come back", "service", k.svc.name, "err", err)
	}
	if c == nil {
		return &child{born: time.Now(), ended: old.ended, err: err}
	}
	k.end(c)
	return c
}

// end stops a child: the clean signal, its grace, then SIGKILL to the whole group.
func (k *keeper) end(c *child) {
	if c.cmd == nil {
		return
	}
	k.mu.Lock()
	hurry := k.hurry
	k.mu.Unlock()
	if hurry == nil {
		hurry = context.Background()
	}
	pid := c.cmd.Process.Pid
	grace := time.NewTimer(k.svc.grace)
	defer grace.Stop()
	select {
	case <-c.ended:
		return
	default:
		_ = syscall.Kill(pid, k.svc.stopBy)
	}
	select {
	case <-c.ended:
		return
	case <-grace.C:
		k.stack.log.Warn("service did not stop in time, killing it", "service", k.svc.name, "grace", k.svc.grace)
	case <-hurry.Done():
	}
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	<-c.ended
}

// stop ends the service for good and returns when it is gone.
func (k *keeper) stop(ctx context.Context) {
	if k.svc.shut != nil {
		k.svc.shut()
	}
	k.mu.Lock()
	k.stopped, k.hurry = true, ctx
	current, looping := k.current, k.looping
	k.mu.Unlock()
	close(k.quit)
	switch {
	case looping:
		<-k.gone
	case current != nil:
		k.end(current)
	}
	if k.svc.remove != nil {
		k.svc.remove()
	}
	_ = os.Remove(k.pidPath())
	if k.log != nil {
		_ = k.log.Close()
	}
}

// baseEnv is the environment that a child inherits: enough to run, nothing that configures it behind our back, as
// PGDATA or RABBITMQ_NODENAME would. Later entries win.
func baseEnv() []string {
	var env []string
	for _, k := range []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ", "LANG"} {
		if v, ok := os.LookupEnv(k); ok {
			env = append(env, k+"="+v)
		}
	}
	return env
}

// mark is the variable by which a child is recognized as belonging to the stack in dir, whichever process started it.
func mark(dir string) string { return "CONVEYOR_STACK=" + dir }

// endLeftovers ends every process that carries the mark of dir, gently, then after grace by force, and returns how many
// there were. The caller must hold the lock of dir, or it ends a stack that is alive.
func endLeftovers(dir string, grace time.Duration) int {
	pids := leftovers(mark(dir))
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	for end := time.Now().Add(grace); len(living(pids)) > 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().Before(end) {
			continue
		}
		for _, pid := range living(leftovers(mark(dir))) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		break
	}
	for end := time.Now().Add(2 * time.Second); len(living(pids)) > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	return len(pids)
}

// living drops those that have ended, reaped or not.
func living(pids []int) []int {
	var alive []int
	for _, pid := range pids {
		if syscall.Kill(pid, 0) == nil && !zombie(pid) {
			alive = append(alive, pid)
		}
	}
	return alive
}

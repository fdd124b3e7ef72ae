// Package devstack runs the services that Conveyor stands on — Postgres, RabbitMQ, Redis, Temporal and its Web UI, a
// Chromium — as supervised child processes of this one, with everything they write below one folder. It is for one
// machine: a developer's, a test run's, a demo's. In production the same binary is pointed at services that others run.
package devstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// The services, as Options.Services and the display name them.
const (
	Postgres   = "postgres"
	RabbitMQ   = "rabbitmq"
	Redis      = "redis"
	Temporal   = "temporal"
	TemporalUI = "temporal-ui"
	Chromium   = "chromium"       // with its DevTools port open
	Browser    = "browser"        // nothing runs: Chromium and its driver are installed
	Sentinel   = "redis-sentinel" // of a Member only
	Network    = "network"        // nothing runs: iproute2 is installed
	PgBouncer  = "pgbouncer"      // DATABASE_URL leads through it, in transaction mode; only when it is named
)

// Namespace is the Temporal namespace of a stack. Start does not create it: `conveyor bootstrap` does, with everything
// that belongs into it.
const Namespace = "conveyor"

// Options name the services to start and their folder and ports. The zero value of everything but Dir is usable.
type Options struct {
	// Dir holds data/, log/, run/, lock and env. It is created, and belongs to one stack at a time.
	Dir string
	// Bin is where the Temporal binaries are linked to; default Dir/bin. Stacks may share it.
	Bin string
	// Ports, see PortsFrom. With FreePorts they are ignored and a free block is reserved.
	Ports     Ports
	FreePorts bool
	// Services to start; nil means all but PgBouncer. The services that a listed one needs are started too.
	Services []string
	// Roles says that the API and the demo site will want their ports too.
	Roles bool
	// Settings are more lines for the env file: the configuration of the roles beside the stack's own addresses.
	Settings map[string]string
	// External services are used where they are.
	External External
	// UILater lets Start return without the Temporal Web UI and CLI where these have to be built: they follow, and the
	// UI's address says so meanwhile.
	UILater bool
	// UIURL is the address by which people reach the Web UI, where that is not the stack's: its host is answered, too.
	UIURL string
	// NoInstall makes a missing package or tool an error that names it.
	NoInstall bool
	// NoSandbox runs Chromium without its sandbox. Otherwise a Chromium that cannot have it is an error.
	NoSandbox bool
	// Member makes the stack one host of a cluster; nil = it is all of it, on the loopback.
	Member *Member
	// CreateDB lets the owner of the database create others, and roles, as tests do.
	CreateDB bool
	// Throwaway trades durability for speed: for data that is deleted afterwards, never for any other.
	Throwaway bool
	// Out shows progress while services come up; nil is silent. Log takes later events; nil is slog.Default.
	Out io.Writer
	Log *slog.Logger
}

// Stack is a set of running services. Stop it, or its processes end with ours, less gently.
type Stack struct {
	opts     Options
	ports    Ports
	env      map[string]string
	secrets  *secrets
	show     *Progress
	log      *slog.Logger
	tools    tools
	spawn    *spawner
	pace     pace
	held     []*os.File
	keepers  []*keeper
	build    func(ctx context.Context) error // compiles what install has left; nil = nothing
	unbuilt  []goTool                        // left for later by Options.UILater
	follower *keeper                         // of the service that follows; nil = none
	later    *later                          // nil = nothing follows
	failure  chan struct{}
	failOnce sync.Once
	err      error
	stopOnce sync.Once
	stopErr  error
}

// Start installs missing software, starts every service as soon as those that it needs are ready, and returns when all
// answer. On an error nothing is left running. Cancelling ctx gives up a start that is under way; afterwards only Stop
// stops.
func Start(ctx context.Context, o Options) (*Stack, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve %q: %w", o.Dir, err)
	}
	o.Dir = dir
	if o.Bin == "" {
		o.Bin = filepath.Join(dir, "bin")
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if err := private(dir); err != nil {
		return nil, fmt.Errorf("create %s: %w", dir, err)
	}
	s := &Stack{opts: o, ports: o.Ports, log: o.Log, pace: usualPace(), failure: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop(context.WithoutCancel(ctx)))
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	all := []string{Postgres, RabbitMQ, Redis, Temporal, TemporalUI, Chromium, Browser, PgBouncer}
	if s.opts.Member != nil {
		all = append(all, Sentinel)
	}
	for _, name := range s.opts.Services {
		if !slices.Contains(all, name) {
			return fmt.Errorf("there is no service %q; there are %s", name, strings.Join(all, ", "))
		}
	}
	if err := s.claim(); err != nil {
		return err
	}
	if s.opts.Roles {
		if err := s.ports.CheckRoles(); err != nil {
			return err
		}
	}
	if err := s.checkPorts(); err != nil {
		return err
	}
	s.show = NewProgress(s.opts.Out)
	defer s.show.Close()
	if err := s.install(ctx); err != nil {
		return err
	}
	services, err := s.plan()
	if err != nil {
		return err
	}
	if s.spawn, err = newSpawner(s.opts.Member.network()); err != nil {
		return err
	}
	if err := s.launch(ctx, services); err != nil {
		return err
	}
	if s.follower != nil {
		if err := s.followUI(); err != nil {
			return err
		}
	}
	return writeEnv(filepath.Join(s.opts.Dir, "env"), s.env, s.opts.Settings)
}

// claim makes the folder and the ports ours, after ending the processes that a killed run has left in it.
func (s *Stack) claim() error {
	if s.ports == (Ports{}) && !s.opts.FreePorts {
		p, err := PortsFrom(func(string) string { return "" })
		if err != nil {
			return err
		}
		s.ports = p
	}
	note := fmt.Sprintf("pid %d, http://%s", os.Getpid(), s.addr(s.ports.API))
	f, err := lock(s.opts.Dir, note)
	if err != nil {
		return err
	}
	s.held = append(s.held, f)
	if n := endLeftovers(s.opts.Dir, 10*time.Second); n > 0 {
		s.log.Warn("stopped processes of a run that was killed", "processes", n, "dir", s.opts.Dir)
	}
	if s.secrets, err = loadSecrets(s.opts.Dir); err != nil {
		return err
	}
	// Files of an older version, which every user of the machine could read. The folder itself may have to let pass the
	// user of Postgres.
	for _, name := range []string{
		"log", "run", "blobs", "drafts", "data/" + RabbitMQ, "data/" + Redis, "data/" + Temporal,
	} {
		if err := private(filepath.Join(s.opts.Dir, name)); err != nil {
			return fmt.Errorf("create data folder: %w", err)
		}
	}
	if !s.opts.FreePorts {
		return nil
	}
	ports, held, err := freePorts()
	if err != nil {
		return err
	}
	s.ports, s.held = ports, append(s.held, held)
	return nil
}

// wanted says whether a service is part of this stack, ours or external.
func (s *Stack) wanted(name string) bool {
	byName := name == Sentinel || name == Network || name == PgBouncer
	if s.opts.Services == nil && !byName || slices.Contains(s.opts.Services, name) {
		return true
	}
	switch name {
	case Postgres:
		return s.opts.External.DatabaseURL == "" && (s.starts(Temporal) || s.starts(PgBouncer))
	case Temporal:
		return slices.Contains(s.opts.Services, TemporalUI)
	case Browser: // the driver, and a path to Chromium
		return s.opts.External.DevtoolsURL == "" && slices.Contains(s.opts.Services, Chromium)
	}
	return false
}

// starts says whether a service is part of this stack and ours to start.
func (s *Stack) starts(name string) bool {
	e := s.opts.External
	used := map[string]string{Postgres: e.DatabaseURL, RabbitMQ: e.RabbitMQURL, Redis: e.RedisURL,
		Temporal: e.TemporalAddress, TemporalUI: e.TemporalAddress, Chromium: e.DevtoolsURL, PgBouncer: e.DatabaseURL}
	if e.Browser != "" {
		used[Browser] = e.BrowserDriver // both, or we get the other
	}
	return used[name] == "" && s.wanted(name)
}

// checkPorts reports every taken port at once, before anything is installed or built.
func (s *Stack) checkPorts() error {
	if s.opts.FreePorts {
		return nil
	}
	rows := map[string]string{"Postgres": Postgres, "Redis": Redis, "RabbitMQ": RabbitMQ,
		"RabbitMQ management": RabbitMQ, "Temporal": Temporal, "Temporal Web UI": TemporalUI, "Chromium": Chromium}
	if err := s.ports.check(func(r portRow) bool { return rows[r.name] != "" && s.starts(rows[r.name]) }); err != nil {
		return err
	}
	return s.ports.moveInternal()
}

// plan lists the services to start, each after those that it needs, and shows those that are used where they are.
func (s *Stack) plan() ([]*service, error) {
	s.env = s.addresses()
	var all []*service
	for _, make := range []struct {
		name string
		list func() ([]*service, error)
	}{
		{Postgres, s.postgres}, {PgBouncer, s.pgbouncer}, {Redis, s.redis}, {RabbitMQ, s.rabbitmq},
		{Temporal, s.temporal}, {TemporalUI, s.temporalUI}, {Chromium, s.chromium}, {Sentinel, s.sentinel},
	} {
		switch {
		case s.starts(make.name):
			list, err := make.list()
			if err != nil {
				return nil, err
			}
			all = append(all, list...)
		case s.wanted(make.name) && make.name != TemporalUI:
			s.show.set(make.name, external, "runs elsewhere and is used there")
		}
	}
	return append(all, s.programs()...), nil
}

// addresses are the stack's variables: the given URLs of external services, ours of the rest.
func (s *Stack) addresses() map[string]string {
	e, env := s.opts.External, map[string]string{}
	put := func(service, key, given, ours string) {
		switch {
		case given != "":
			env[key] = given
		case s.starts(service):
			env[key] = ours
		}
	}
	direct := s.databaseURL(s.ports.Postgres, roleApp, s.secrets.App, "conveyor")
	put(Postgres, "DATABASE_URL", e.DatabaseURL, direct)
	if s.starts(PgBouncer) {
		env["DATABASE_URL"] = s.databaseURL(s.ports.PgBouncer, roleApp, s.secrets.App, "conveyor")
		env["DATABASE_LISTEN_URL"] = direct
	}
	put(Postgres, "DATABASE_MIGRATE_URL", e.MigrateURL,
		s.databaseURL(s.ports.Postgres, roleOwner, s.secrets.Owner, "conveyor"))
	broker := rabbitUser + ":" + s.secrets.RabbitMQ + "@"
	put(RabbitMQ, "RABBITMQ_URL", e.RabbitMQURL, "amqp://"+broker+s.addr(s.ports.RabbitMQ)+"/")
	put(RabbitMQ, "RABBITMQ_MANAGEMENT_URL", e.ManagementURL, "http://"+broker+s.addr(s.ports.Management))
	put(Redis, "REDIS_URL", e.RedisURL, "redis://:"+s.secrets.Redis+"@"+s.addr(s.ports.Redis)+"/0")
	put(Temporal, "TEMPORAL_ADDRESS", e.TemporalAddress, s.addr(s.ports.Temporal))
	if env["TEMPORAL_ADDRESS"] != "" {
		env["TEMPORAL_NAMESPACE"] = Namespace
	}
	put(Chromium, "CHROME_DEVTOOLS_URL", e.DevtoolsURL,
		"http://conveyor:"+s.secrets.DevTools+"@"+s.addr(s.ports.Chromium))
	put(Browser, "CONVEYOR_BROWSER", e.Browser, s.tools.chromium)
	put(Browser, "CONVEYOR_BROWSER_DRIVER", e.BrowserDriver, s.tools.driver)
	env["CONVEYOR_API_URL"] = "http://" + s.addr(s.ports.API)
	if len(s.opts.Settings) > 0 || s.opts.Member != nil {
		env["CONVEYOR_SECRET_KEYS"] = cmp.Or(e.SecretKeys, s.secrets.Seal)
		if s.secrets.New && e.DatabaseURL == "" { // nor is there an older database
			env["CONVEYOR_KEY_OPT_OUTS"], env["CONVEYOR_BIND_TOKENS"], env["CONVEYOR_DERIVE_KEYS"] = "true", "true", "true"
		}
	}
	return env
}

// built is what services need whose programs are compiled.
const built = "built"

// launch starts every service once those that it needs are ready. The first failure gives up the others. Compiling
// takes minutes: meanwhile the services start that do not need it.
func (s *Stack) launch(ctx context.Context, services []*service) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	up := map[string]chan struct{}{}
	for _, svc := range services {
		up[svc.name] = make(chan struct{})
		k, detail := newKeeper(s, svc), ""
		if s.Follows(svc.name) {
			s.follower, detail = k, "is built when the others run"
		}
		s.progress(svc, waiting, detail)
		s.keepers = append(s.keepers, k)
	}
	var wg sync.WaitGroup
	if s.build != nil {
		up[built] = make(chan struct{})
		wg.Go(func() {
			if err := s.build(ctx); err != nil {
				cancel(err)
				return
			}
			close(up[built])
		})
	}
	for _, k := range s.keepers {
		if k == s.follower {
			continue
		}
		wg.Go(func() {
			for _, need := range k.svc.needs {
				if up[need] == nil {
					continue // external, or nothing is compiled
				}
				select {
				case <-up[need]:
				case <-ctx.Done():
					return
				}
			}
			if err := k.start(ctx); err != nil {
				if ctx.Err() == nil {
					s.progress(k.svc, failed, err.Error())
				}
				cancel(err)
				return
			}
			close(up[k.svc.name])
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

func (s *Stack) progress(svc *service, st state, detail string) {
	if !svc.hidden {
		s.show.set(svc.name, st, detail)
	}
}

// Ports are the ports in use, which differ from the asked-for ones with FreePorts.
func (s *Stack) Ports() Ports { return s.ports }

// Vars are the stack's variables by name. The map is a copy.
func (s *Stack) Vars() map[string]string { return maps.Clone(s.env) }

// Env are the stack's variables as KEY=value, to append to a command's environment.
func (s *Stack) Env() []string {
	var list []string
	for _, k := range envKeys {
		if v, ok := s.env[k]; ok {
			list = append(list, k+"="+v)
		}
	}
	return list
}

// Pid is the process ID of a service that we started, 0 for any other or while it is being restarted.
func (s *Stack) Pid(service string) int {
	for _, k := range s.keepers {
		if k.svc.name == service {
			return k.pid()
		}
	}
	return 0
}

// Restart ends a service that we started, leaves it away for a while, and returns when it answers again: as an operator
// restarts it, or with kill as a crash does. Where that fails the service is restarted as one that died.
func (s *Stack) Restart(ctx context.Context, service string, kill bool, away time.Duration) error {
	return s.each(ctx, service, false, restart{kill: kill, away: away})
}

// Done is closed when a service has died so often that restarting it was given up. Err then says which.
func (s *Stack) Done() <-chan struct{} { return s.failure }

// Err is nil until Done is closed.
func (s *Stack) Err() error {
	select {
	case <-s.failure:
		return s.err
	default:
		return nil
	}
}

func (s *Stack) fail(err error) {
	s.failOnce.Do(func() {
		s.err = err
		close(s.failure)
	})
}

// Stop stops every service after those that need it, each with a bounded grace, then kills the remaining processes,
// removes the env file and lets go of the folder. Cancelling ctx shortens every grace to nothing. Further calls return
// the same.
func (s *Stack) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() { s.stopErr = s.stop(ctx) })
	return s.stopErr
}

func (s *Stack) stop(ctx context.Context) error {
	if len(s.held) == 0 {
		return nil // the folder is another's
	}
	if s.later != nil {
		s.later.cancel()
		<-s.later.gone
	}
	err := os.Remove(filepath.Join(s.opts.Dir, "env"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	gone := map[string]chan struct{}{}
	for _, k := range s.keepers {
		gone[k.svc.name] = make(chan struct{})
	}
	var wg sync.WaitGroup
	for _, k := range s.keepers {
		wg.Go(func() {
			defer close(gone[k.svc.name])
			for _, other := range s.keepers {
				if slices.Contains(other.svc.needs, k.svc.name) {
					<-gone[other.svc.name]
				}
			}
			k.stop(ctx)
		})
	}
	wg.Wait()
	endLeftovers(s.opts.Dir, time.Second)
	if s.spawn != nil {
		s.spawn.close()
	}
	_ = s.held[0].Truncate(0) // the lock file names no process
	for _, f := range s.held {
		_ = f.Close()
	}
	return err
}

package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// tools are the programs of a stack, as absolute paths. Only those of services that we start are set.
type tools struct {
	postgres                                string // the folder of initdb and postgres
	major                                   int    // the version of these
	majors                                  map[int]string
	redis, rabbitmq, epmd, ip               string
	temporalServer, temporalSQL, temporalUI string
	chromium, node, driver                  string // driver is a folder
	pgbouncer                               string
}

// minPostgres is the oldest major version that the schema is written for.
const minPostgres = 15

// debPackage says which Debian package a service's programs come from, and finds them. find leaves its result in tools
// and names the missing program otherwise.
type debPackage struct {
	service, deb string
	find         func(*tools) error
}

var debPackages = []debPackage{
	{Postgres, "postgresql", func(t *tools) error { return findPostgres(t, debianPostgres) }},
	{PgBouncer, "pgbouncer", func(t *tools) error { return findProgram(&t.pgbouncer, "pgbouncer") }},
	{Redis, "redis-server", func(t *tools) error { return findProgram(&t.redis, "redis-server") }},
	{Sentinel, "redis-server", func(t *tools) error { return findProgram(&t.redis, "redis-server") }},
	{RabbitMQ, "rabbitmq-server", func(t *tools) error {
		// Not the wrapper in /usr/sbin, which insists on the user rabbitmq and on the system's folders.
		return errors.Join(findProgram(&t.rabbitmq, "/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"),
			findProgram(&t.epmd, "epmd"))
	}},
	{Network, "iproute2", func(t *tools) error { return findProgram(&t.ip, "ip") }},
	{Chromium, "chromium", func(t *tools) error { return findProgram(&t.chromium, chromium.Executables...) }},
	{Browser, "chromium", func(t *tools) error { return findProgram(&t.chromium, chromium.Executables...) }},
	{Browser, "nodejs", func(t *tools) (err error) {
		t.node, err = chromium.FindNode()
		return err
	}},
	{Browser, "npm", func(t *tools) error { return findNPM(t) }},
}

// install finds every program that the stack needs, and gets those that are missing; those that are to be compiled it
// leaves to Stack.build. One install runs at a time on a machine: package managers and compilers do not share well.
func (s *Stack) install(ctx context.Context) error {
	if missing := s.missingPackages(); len(missing) > 0 {
		if err := s.alone(ctx, func() error { return s.installPackages(ctx) }); err != nil {
			return err
		}
	}
	if s.starts(Browser) && s.linkDriver() != nil {
		if err := s.alone(ctx, func() error { return s.installDriver(ctx) }); err != nil {
			return err
		}
	}
	if !s.starts(Temporal) && !s.starts(TemporalUI) {
		return nil
	}
	s.tools.temporalServer = filepath.Join(s.opts.Bin, "temporal-server")
	s.tools.temporalSQL = filepath.Join(s.opts.Bin, "temporal-sql-tool")
	s.tools.temporalUI = filepath.Join(s.opts.Bin, "temporal-ui-server")
	tools := s.goTools()
	if s.linkTools(tools) == nil {
		return nil
	}
	if s.opts.UILater && !s.opts.NoInstall && s.starts(TemporalUI) {
		ui := func(t goTool) bool { return t.service == TemporalUI }
		s.unbuilt = slices.DeleteFunc(slices.Clone(tools), func(t goTool) bool { return !ui(t) })
		if tools = slices.DeleteFunc(tools, ui); s.linkTools(tools) == nil {
			return nil
		}
	}
	if s.opts.NoInstall {
		return s.buildTools(ctx, tools) // says what is missing, before anything starts
	}
	s.build = s.building(tools)
	return nil
}

// alone runs f while no other stack of this user installs.
func (s *Stack) alone(ctx context.Context, f func() error) error {
	dir := cacheDir(s.opts.Bin)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create tool cache: %w", err)
	}
	l, err := os.OpenFile(filepath.Join(dir, "install.lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return fmt.Errorf("lock tool cache: %w", err)
	}
	defer func() { _ = l.Close() }()
	for waited := false; ; waited = true {
		if syscall.Flock(int(l.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			if waited {
				s.show.set("install", ready, "")
			}
			return f()
		}
		s.show.set("install", installing, "waiting for another conveyor to finish installing")
		if err := sleep(ctx, pollLock); err != nil {
			return err
		}
	}
}

// missingPackages fills in tools and returns the packages of programs that are not there.
func (s *Stack) missingPackages() []debPackage {
	var missing []debPackage
	s.tools.chromium, s.tools.driver = s.opts.External.Browser, s.driverDir()
	for _, p := range debPackages {
		if s.starts(p.service) && p.find(&s.tools) != nil {
			missing = append(missing, p)
		}
	}
	return missing
}

func (s *Stack) installPackages(ctx context.Context) error {
	missing := s.missingPackages()
	if len(missing) == 0 {
		return nil // another has just done it
	}
	var debs []string
	for _, p := range missing {
		debs = append(debs, p.deb)
	}
	list := strings.Join(debs, " ")
	byHand := "install it by hand: sudo apt-get install -y --no-install-recommends " + list
	if s.opts.NoInstall {
		return fmt.Errorf("%s is missing and installing is switched off; %s", list, byHand)
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("%s is missing and there is no apt-get here: install PostgreSQL %d or newer, RabbitMQ 3.10 or "+
			"newer, Redis, Chromium and Node %d or newer with your package manager, or set DATABASE_URL, RABBITMQ_URL, "+
			"REDIS_URL and CONVEYOR_BROWSER", list, minPostgres, chromium.MinNode)
	}
	cmd, err := asRoot(ctx, aptScript, debs)
	if err != nil {
		return fmt.Errorf("%s is missing, and installing it needs root; %s", list, byHand)
	}
	stopGently(cmd)
	s.show.set("packages", installing, list)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.show.set("packages", failed, "")
		return fmt.Errorf("apt-get could not install %s (%w): %s; without a network, %s", list, err, lastLine(out), byHand)
	}
	for _, p := range missing {
		if err := p.find(&s.tools); err != nil {
			return fmt.Errorf("package %s was installed, but %w", p.deb, err)
		}
	}
	s.show.set("packages", ready, list)
	return nil
}

// aptScript installs the packages of its arguments. policy-rc.d keeps them from starting daemons of their own, which
// would take the ports; a policy-rc.d that is there already stays as it is.
const aptScript = `
set -e
export DEBIAN_FRONTEND=noninteractive
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
	trap 'rm -f "$policy"' EXIT
	trap 'exit 130' INT TERM
	printf '#!/bin/sh\nexit 101\n' > "$policy"
	chmod 755 "$policy"
fi
apt-get update -q || echo "apt-get update failed, trying with the lists that are there" >&2
apt-get install -q -y --no-install-recommends -o DPkg::Lock::Timeout=300 "$@"
`

// asRoot makes a command of a shell script, with sudo when we are not root and it does not ask for a password.
func asRoot(ctx context.Context, script string, args []string) (*exec.Cmd, error) {
	line := append([]string{"sh", "-c", script, "conveyor"}, args...)
	if os.Geteuid() != 0 {
		if err := exec.CommandContext(ctx, "sudo", "-n", "true").Run(); err != nil {
			return nil, err
		}
		line = append([]string{"sudo", "-n"}, line...)
	}
	return exec.CommandContext(ctx, line[0], line[1:]...), nil
}

// findProgram sets path to the first name that exists, and leaves one that is set.
func findProgram(path *string, names ...string) error {
	if *path != "" {
		return nil
	}
	for _, n := range names {
		if p, err := exec.LookPath(n); err == nil {
			*path = p
			return nil
		}
	}
	for _, n := range names { // Debian's sbin may not be on the PATH
		if p, err := exec.LookPath(filepath.Join("/usr/sbin", filepath.Base(n))); err == nil {
			*path = p
			return nil
		}
	}
	return fmt.Errorf("program %q is not there", names[len(names)-1])
}

// debianPostgres is where Debian has a folder for each major version of Postgres.
const debianPostgres = "/usr/lib/postgresql"

// findPostgres takes the newest Postgres of Debian's layout, else the one on the PATH, and notes the others.
func findPostgres(t *tools, debian string) error {
	newest, all := 0, map[int]string{}
	for _, d := range glob(filepath.Join(debian, "*/bin/initdb")) {
		if v, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(d)))); err == nil {
			newest, all[v] = max(newest, v), filepath.Dir(d)
		}
	}
	if newest == 0 {
		initdb, err := exec.LookPath("initdb")
		if err != nil {
			return errors.New(`program "initdb" is not there`)
		}
		if newest, err = majorOf(initdb); err != nil {
			return err
		}
		all[newest] = filepath.Dir(initdb)
	}
	if newest < minPostgres {
		return fmt.Errorf("PostgreSQL %d is too old, %d or newer is needed", newest, minPostgres)
	}
	t.postgres, t.major, t.majors = all[newest], newest, all
	return nil
}

// majorOf asks a program of Postgres for its version, such as "initdb (PostgreSQL) 17.2" or "… 18beta1".
func majorOf(program string) (int, error) {
	out, err := exec.Command(program, "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("ask %s for its version: %w", program, err)
	}
	var v int
	_, version, _ := strings.Cut(string(out), "(PostgreSQL) ")
	if _, err := fmt.Sscanf(version, "%d", &v); err != nil {
		return 0, fmt.Errorf("read the version of %s from %q", program, lastLine(out))
	}
	return v, nil
}

// of takes the Postgres that has written a data folder, where it is one of several.
func (t *tools) of(data string) {
	b, err := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	if err != nil {
		return
	}
	v, err := strconv.Atoi(lastLine(b))
	if dir := t.majors[v]; err == nil && dir != "" && v >= minPostgres {
		t.postgres, t.major = dir, v
	}
}

// lastLine is the last line of a command's output that says something.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}

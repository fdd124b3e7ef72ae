package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// buildToolchain compiles the Temporal tools, whatever Go is here: the server needs at least this one. Toolchain and
// flags are also the Makefile's, so that the standard library is compiled once for both. The tag leaves out gRPC of
// Google's storage, a tenth of the server's packages: it keeps archives there over HTTP.
const buildToolchain = "go1.26.10"

var buildFlags = []string{"-trimpath", "-tags=disable_grpc_modules", "-gcflags=all=-dwarf=false", "-ldflags=-s -w"}

const pollLock = 200 * time.Millisecond

// goTool is a program that is built from the module proxy. Several are called `server`, so each has a folder of its own
// in the cache, named after its version: a new version is a new folder, and stacks of different checkouts share both.
type goTool struct {
	name, version string            // the display's, the cache folder's
	service       string            // it comes with this one
	packages      []string          // of `go install`, without the version
	links         map[string]string // name in Options.Bin → file in the cache folder
}

var goTools = []goTool{
	{"temporal-server", "v1.32.2", Temporal,
		[]string{"go.temporal.io/server/cmd/server", "go.temporal.io/server/cmd/tools/sql"},
		map[string]string{"temporal-server": "server", "temporal-sql-tool": "sql"}},
	{"temporal-ui", "v2.54.1", TemporalUI, // later ones lack a file on the proxy
		[]string{"github.com/temporalio/ui-server/v2/cmd/server"},
		map[string]string{"temporal-ui-server": "server"}},
	{"temporal-cli", "v1.5.1", TemporalUI, // for persons too; later ones have a replace directive, refused by `go install`
		[]string{"github.com/temporalio/cli/cmd/temporal"},
		map[string]string{"temporal": "temporal"}},
}

// goTools are those of the services that this stack starts.
func (s *Stack) goTools() []goTool {
	return slices.DeleteFunc(slices.Clone(goTools), func(t goTool) bool { return !s.starts(t.service) })
}

// cacheDir is shared by all checkouts of this user. Without a home there is none, and bin serves.
func cacheDir(bin string) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return filepath.Join(bin, "cache")
	}
	return filepath.Join(dir, "conveyor")
}

func (t goTool) dir(bin string) string { return filepath.Join(cacheDir(bin), t.name+"@"+t.version) }

// linkTools points Options.Bin at the cached builds of tools. It fails when one is missing.
func (s *Stack) linkTools(tools []goTool) error {
	if err := os.MkdirAll(s.opts.Bin, 0o755); err != nil {
		return fmt.Errorf("create %s: %w", s.opts.Bin, err)
	}
	for _, t := range tools {
		for link, file := range t.links {
			if err := relink(filepath.Join(t.dir(s.opts.Bin), file), filepath.Join(s.opts.Bin, link)); err != nil {
				return err
			}
		}
	}
	return nil
}

// relink makes link point at file, in one step, so that a stack that starts at the same time finds either.
func relink(file, link string) error {
	if _, err := os.Stat(file); err != nil {
		return err
	}
	if now, err := os.Readlink(link); err == nil && now == file {
		return nil
	}
	tmp := fmt.Sprintf("%s.%d", link, os.Getpid())
	return fault.Wrap(errors.Join(os.Symlink(file, tmp), os.Rename(tmp, link)), "link %s", link)
}

// building builds tools while no other stack of this user installs.
func (s *Stack) building(tools []goTool) func(context.Context) error {
	return func(ctx context.Context) error {
		return s.alone(ctx, func() error { return s.buildTools(ctx, tools) })
	}
}

func (s *Stack) buildTools(ctx context.Context, tools []goTool) error {
	for _, t := range tools {
		if err := s.buildTool(ctx, t); err != nil {
			return err
		}
	}
	return s.linkTools(tools)
}

// buildTool compiles into a folder next door and renames it, so that a cache folder that exists is complete.
func (s *Stack) buildTool(ctx context.Context, t goTool) error {
	dir := t.dir(s.opts.Bin)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	var targets []string
	for _, p := range t.packages {
		targets = append(targets, p+"@"+t.version)
	}
	if s.opts.NoInstall {
		return fmt.Errorf("%s %s is not built and installing is switched off: run once without --no-install",
			t.name, t.version)
	}
	goCmd, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("%s is not built and there is no Go to build it: install Go 1.26 (https://go.dev/dl)", t.name)
	}
	s.show.set("build "+t.name, building, t.version+", some minutes the first time")
	for _, old := range glob(dir[:strings.LastIndex(dir, "@")] + "-*") {
		_ = os.RemoveAll(old) // of a build that was killed; we hold the lock, so no other runs
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), t.name+"-*")
	if err != nil {
		return fmt.Errorf("create build folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	cmd := exec.CommandContext(ctx, goCmd, slices.Concat([]string{"install"}, buildFlags, targets)...)
	cmd.Dir = fresh // outside our module
	cmd.Env = append(os.Environ(),
		"GOBIN="+fresh, "GOTOOLCHAIN="+buildToolchain, "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=",
		"GOGC=off", "GOMEMLIMIT=2GiB") // compilers live for a second
	stopGently(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.show.set("build "+t.name, failed, "")
		return fmt.Errorf("build %s %s (%w): %s; it needs the Go module proxy: check the network and GOPROXY, then run again",
			t.name, t.version, err, lastLine(out))
	}
	if err := errors.Join(os.Chmod(fresh, 0o755), os.Rename(fresh, dir)); err != nil {
		return fmt.Errorf("keep build of %s: %w", t.name, err)
	}
	s.show.set("build "+t.name, ready, t.version)
	return nil
}

// stopGently makes the command's context end it and its children by SIGTERM, so that apt-get and our script around it
// clean up, and only after a minute by force.
func stopGently(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = time.Minute
}

func glob(pattern string) []string {
	list, _ := filepath.Glob(pattern) // fails for a malformed pattern only
	return list
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/devstack"
)

type withServicesCmd struct {
	NoInstall bool     `help:"Report missing tools instead of installing them."`
	Durable   bool     `help:"Write to disk durably, as in production. By default the services are faster, keep their files in memory where there is plenty, and may lose data in a crash."`
	Only      []string `help:"Start only these services: postgres, redis, rabbitmq, temporal, temporal-ui, chromium, browser, pgbouncer." placeholder:"SERVICE"`
	Command   []string `arg:"" passthrough:"" help:"Command and arguments, after --."`
}

// Run starts services on free ports with data in a folder of their own (devstack.Scratch), runs the command with their
// addresses in its environment, and returns its exit code. Several may run at once.
func (c *withServicesCmd) Run(ctx context.Context, all *CLI) (err error) {
	line := c.Command
	if len(line) > 0 && line[0] == "--" {
		line = line[1:]
	}
	if len(line) == 0 {
		return cli.UsageError("no command given: conveyor with-services -- COMMAND ARGUMENTS")
	}
	if err := confine.Shield(); err != nil { // the environment may be a role's
		return err
	}
	dir, err := devstack.Scratch(all.Home, c.Durable)
	if err != nil {
		return err
	}
	given := devstack.ExternalFrom(os.Getenv) // only its tools are used
	conf, err := settings()
	if err != nil {
		return err
	}
	stack, err := devstack.Start(ctx, devstack.Options{
		External: devstack.External{Browser: given.Browser, BrowserDriver: given.BrowserDriver},
		Dir:      dir, Bin: filepath.Join(all.Home, "bin"), FreePorts: true, Throwaway: !c.Durable,
		Services: c.Only, NoInstall: c.NoInstall, Out: os.Stderr, CreateDB: true,
		NoSandbox: conf.Browser.Sandbox == config.SandboxOff,
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() {
		if stopErr := stopStack(stack); stopErr != nil {
			fmt.Fprintf(os.Stderr, "conveyor: %v\n", stopErr)
		}
		_ = devstack.Remove(dir)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stack.Done():
			fmt.Fprintf(os.Stderr, "conveyor: %v\n", stack.Err())
			cancel()
		case <-ctx.Done():
		}
	}()
	return runCommand(ctx, line, append(stack.Env(), "CONVEYOR_TEST=1"), commandStops(conf.Worker.StopGrace))
}

// commandStops is how long a command has to stop, which may be a worker: activities have the grace first, and then
// those that run inside workflow tasks.
func commandStops(grace time.Duration) time.Duration {
	return max(30*time.Second, 2*grace+5*time.Second)
}

// runCommand runs a command in the foreground. When ctx ends, the command gets SIGTERM and that time to stop. Its exit
// code is a cli.ExitError.
func runCommand(ctx context.Context, line, env []string, stop time.Duration) error {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stop
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	devstack.Tie(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return fault.Wrap(err, "run %s", strings.Join(line, " "))
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return cli.ExitError(128 + int(status.Signal()))
	}
	return cli.ExitError(exit.ExitCode())
}

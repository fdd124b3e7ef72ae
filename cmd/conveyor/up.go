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

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/demosite"
	"github.com/mtlrent/conveyor/internal/devstack"
)

// stopWithin bounds a stop, from the first signal to the last process.
const stopWithin = 45 * time.Second

type upCmd struct {
	ServicesOnly bool `help:"Start the services only, for roles that you run yourself."`
	NoInstall    bool `help:"Say what is missing instead of installing it."`
}

// Run brings everything up and keeps it up until a signal, which is the normal end and no error.
func (c *upCmd) Run(ctx context.Context, cli *CLI) (err error) {
	ports, err := devstack.PortsFrom(os.Getenv)
	if err != nil {
		return err
	}
	settings, err := roleSettings(ports, cli.Home)
	if err != nil {
		return err
	}
	fmt.Printf("conveyor: starting services, data in %s\n", cli.Home)
	stack, err := devstack.Start(ctx, devstack.Options{
		Dir: cli.Home, Ports: ports, External: devstack.ExternalFrom(os.Getenv), NoInstall: c.NoInstall, Out: os.Stdout,
		Roles: !c.ServicesOnly, Settings: settings,
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() {
		fmt.Println("conveyor: stopping services")
		err = errors.Join(err, stopStack(stack))
		fmt.Println("conveyor: stopped")
	}()
	fmt.Printf("conveyor: services are up; `set -a; . %s` tells a shell and its programs where; Ctrl-C stops them\n",
		filepath.Join(cli.Home, "env"))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-stack.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	if c.ServicesOnly {
		<-ctx.Done()
	} else if err := runRoles(ctx, settings, stack); err != nil {
		return err
	}
	return stack.Err()
}

// roleSettings are what the roles are told beside the addresses of the services, unless the environment says
// otherwise. They stand in the env file, so that a role started by hand is told the same. What is wrong in the
// environment is found here, before anything starts.
func roleSettings(ports devstack.Ports, home string) (map[string]string, error) {
	if _, err := config.Load(); err != nil {
		return nil, err
	}
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	settings := map[string]string{
		"CONVEYOR_API_ADDRESS":         address(ports.API),
		"CONVEYOR_TEMPORAL_UI_URL":     "http://" + address(ports.TemporalUI),
		"CONVEYOR_ALLOW_PRIVATE_HOSTS": address(ports.Demo),
		"CONVEYOR_HOME":                home,
		// The demo site is ours, and people want to see something: faster than any real site would take.
		"CONVEYOR_SCRAPE":          demosite.Searches("http://" + address(ports.Demo)),
		"CONVEYOR_SCRAPE_DELAY":    "1s",
		"CONVEYOR_SCRAPE_COOLDOWN": "10s",
		"CONVEYOR_IMAGE_INTERVAL":  "100ms",
	}
	settings["TEMPORAL_NAMESPACE"] = devstack.Namespace
	for key := range settings {
		if said, ok := os.LookupEnv(key); ok {
			settings[key] = said
		}
	}
	return settings, nil
}

// runRoles runs every role and the demo site on the stack until ctx is done.
func runRoles(ctx context.Context, settings map[string]string, stack *devstack.Stack) error {
	for _, line := range stack.Env() {
		key, value, _ := strings.Cut(line, "=")
		if _, said := os.LookupEnv(key); !said {
			settings[key] = value
		}
	}
	for key, value := range settings {
		if err := os.Setenv(key, value); err != nil {
			return fmt.Errorf("set %s: %w", key, err)
		}
	}
	demo := fmt.Sprintf("127.0.0.1:%d", stack.Ports().Demo)
	return with(ctx, func(ctx context.Context, h *house) error {
		if err := h.migrate(ctx); err != nil {
			return err
		}
		if err := h.bootstrap(ctx); err != nil {
			return err
		}
		roles, ctx := errgroup.WithContext(ctx)
		roles.Go(func() error { return h.all(ctx) })
		roles.Go(func() error { return serve(ctx, h.log, "demo site", demo, demosite.New(demosite.Options{})) })
		h.printAddresses(os.Stdout, "http://"+demo)
		return roles.Wait()
	})
}

type withServicesCmd struct {
	NoInstall bool     `help:"Say what is missing instead of installing it."`
	Durable   bool     `help:"Write to disk as a house that lasts does; without it the services are fast and forgetful."`
	Only      []string `help:"Start only these: postgres, redis, rabbitmq, temporal, temporal-ui, chromium." placeholder:"SERVICE"`
	Command   []string `arg:"" passthrough:"" help:"Command and arguments, after --."`
}

// Run starts services on free ports with data in a folder of their own, runs the command with their addresses in its
// environment, and returns its exit code. Several may run at once.
func (c *withServicesCmd) Run(ctx context.Context, cli *CLI) (err error) {
	line := c.Command
	if len(line) > 0 && line[0] == "--" {
		line = line[1:]
	}
	if len(line) == 0 {
		return errors.New("say which command to run: conveyor with-services -- COMMAND ARGUMENTS")
	}
	devstack.Sweep(filepath.Join(cli.Home, "test-*"))
	dir := filepath.Join(cli.Home, fmt.Sprintf("test-%d", os.Getpid()))
	given := devstack.ExternalFrom(os.Getenv) // of it, the tools only
	stack, err := devstack.Start(ctx, devstack.Options{
		External: devstack.External{Browser: given.Browser, BrowserDriver: given.BrowserDriver},
		Dir:      dir, Bin: filepath.Join(cli.Home, "bin"), FreePorts: true, Throwaway: !c.Durable,
		Services: c.Only, NoInstall: c.NoInstall, Out: os.Stderr,
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() {
		if stopErr := stopStack(stack); stopErr != nil {
			fmt.Fprintf(os.Stderr, "conveyor: %v\n", stopErr)
		}
		_ = os.RemoveAll(dir)
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
	return runCommand(ctx, line, append(stack.Env(), "CONVEYOR_TEST=1"))
}

// runCommand runs a command in the foreground. A signal to us is passed on, and the command has 30 seconds for it.
func runCommand(ctx context.Context, line, env []string) error {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	devstack.Tie(cmd)
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		if err != nil {
			return fmt.Errorf("run %s: %w", strings.Join(line, " "), err)
		}
		return nil
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitError(128 + int(status.Signal()))
	}
	return exitError(exit.ExitCode())
}

func stopStack(stack *devstack.Stack) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return stack.Stop(ctx)
}

// interrupted turns the error of something that was given up by a signal into the code that shells expect.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exitError(128 + int(syscall.SIGINT))
	}
	return err
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mtlrent/conveyor/internal/devstack"
)

// The variables by which a process that Enter has started again knows on which switch it is, and the file descriptor of
// the network namespace that it came from.
const (
	envSwitch  = "CONVEYOR_CLUSTER_SWITCH"
	envOutside = "CONVEYOR_CLUSTER_OUTSIDE"
)

// Enter installs what a cluster needs, while there is a network, and starts this program again on the switch of the
// cluster in dir, with the same arguments and process ID: it returns only there, or with an error that says what is
// missing. The whole process is on the switch then, so whatever it dials is dialed from there.
func Enter(ctx context.Context, o Options) error {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return fmt.Errorf("resolve %q: %w", o.Dir, err)
	}
	if inside(dir) {
		return nil
	}
	if os.Geteuid() != 0 {
		return ErrNoNamespaces
	}
	if err := devstack.Install(ctx, devstack.Options{
		Dir: dir, Bin: o.Bin, NoInstall: o.NoInstall, Out: o.Out,
		Services: []string{devstack.Postgres, devstack.RabbitMQ, devstack.Redis, devstack.Temporal, devstack.TemporalUI,
			devstack.Network},
	}); err != nil {
		return err
	}
	name := prefix(dir) + theSwitch
	path := filepath.Join(spaces, name)
	if _, err := os.Stat(path); err != nil {
		if err := ip(ctx, "netns", "add", name); err != nil {
			return fmt.Errorf("%w: %w", ErrNoNamespaces, err)
		}
	}
	outside, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0) // inherited
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	inner, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open network namespace: %w", err)
	}
	defer func() { _ = inner.Close() }()
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	runtime.LockOSThread() // not unlocked on an error: the thread may be on the switch
	if err := unix.Setns(int(inner.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("%w: %w", ErrNoNamespaces, err)
	}
	env := append(os.Environ(), envSwitch+"="+name, envOutside+"="+strconv.Itoa(outside))
	return fmt.Errorf("start %s on the switch: %w", self, syscall.Exec(self, os.Args, env))
}

// ErrNoNamespaces is returned where the machine does not let this process make network namespaces.
var ErrNoNamespaces = errors.New("network namespaces cannot be made here: that needs root with CAP_NET_ADMIN and " +
	"CAP_SYS_ADMIN, and the package iproute2")

// inside says whether this process is on the switch of the cluster in dir.
func inside(dir string) bool { return os.Getenv(envSwitch) == prefix(dir)+theSwitch }

// listenOutside listens in the network namespace that the driver came from, where people's browsers are.
func listenOutside(at string) (net.Listener, error) {
	fd, err := strconv.Atoi(os.Getenv(envOutside))
	if err != nil {
		return nil, errors.New("listen on the machine: this process is not on a switch")
	}
	type result struct {
		l   net.Listener
		err error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			done <- result{nil, fmt.Errorf("listen on the machine: %w", err)}
			return
		}
		l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", at)
		done <- result{l, err}
	}()
	r := <-done
	return r.l, r.err
}

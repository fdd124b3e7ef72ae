//go:build cluster

// Package cluster starts every engine as a cluster of hosts on one machine, with three hosts of Conveyor, and makes one
// thing after the other fail: a process killed, a host cut off, a link slow. After each an advert is published, and has
// to become a listing; how long that takes is the time to recover.
//
// It needs root, for network namespaces. `make test-cluster` runs it; with -long each failure happens ten times.
package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

var (
	long   = flag.Bool("long", false, "the long form: more failures, each ten times, a host of Conveyor away for a minute")
	rounds = flag.Int("rounds", 0, "how often each failure happens; default 1, long 10")
	empty  = flag.Int("empty", 0, "how often bridges start at once on an empty broker; default 1, long 20")
	seed   = flag.Uint64("seed", 1, "of the frames that slow links lose")
)

// options are those of the cluster under test. Its folder is named after the process, which is the same on the switch.
func options() cluster.Options {
	home := os.Getenv("CONVEYOR_HOME")
	if home == "" {
		home = filepath.Join("..", "..", config.Home())
		if abs, err := filepath.Abs(home); err == nil { // fails in a folder that was deleted only
			home = abs
		}
	}
	dir := filepath.Join(home, fmt.Sprintf("test-cluster-%d", os.Getpid()))
	return cluster.Options{
		Throwaway: true, Dir: dir, Bin: filepath.Join(home, "bin"), Binary: filepath.Join(dir, "conveyor"), Seed: *seed,
		Out: os.Stderr, Settings: []string{"CONVEYOR_DEMO=true", "CONVEYOR_STOP_GRACE=5s"},
	}
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

// run builds Conveyor, while there is a network, and goes on to the switch.
func run(m *testing.M) int {
	flag.Parse()
	if *rounds == 0 {
		*rounds = 1
		if *long {
			*rounds = 10
		}
	}
	if *empty == 0 {
		*empty = 1
		if *long {
			*empty = 20
		}
	}
	o := options()
	abs, err := filepath.Abs(o.Binary)
	if err != nil {
		return failed(err)
	}
	if _, err := os.Stat(abs); err != nil {
		cluster.Sweep(context.Background(), filepath.Join(filepath.Dir(o.Dir), "test-cluster-*"))
		if out, err := exec.Command("go", "build", "-o", abs, "../../cmd/conveyor").CombinedOutput(); err != nil {
			return failed(fmt.Errorf("build: %w\n%s", err, out))
		}
	}
	if err := cluster.Enter(context.Background(), o); err != nil {
		_ = os.RemoveAll(o.Dir)
		return failed(err)
	}
	code := m.Run()
	if err := stop(); err != nil {
		return failed(err)
	}
	if code == 0 { // the logs say why not
		_ = cluster.Remove(o.Dir)
	}
	return code
}

// failed says what went wrong. Where there can be no network namespaces, tests pass without having run, but in CI.
func failed(err error) int {
	fmt.Fprintln(os.Stderr, err)
	if errors.Is(err, cluster.ErrNoNamespaces) && os.Getenv("CI") == "" {
		fmt.Fprintln(os.Stderr, "NOTHING WAS TESTED: no cluster can be started here")
		return 0
	}
	return 1
}

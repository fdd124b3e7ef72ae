package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/redis/go-redis/v9"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/internal/devstack/cluster"
)

// clusterCmd runs every engine as a cluster on this machine, and makes things fail in it.
type clusterCmd struct {
	Up      clusterUpCmd      `cmd:"" help:"Start every engine as a cluster, and three hosts of Conveyor, each in a network namespace of its own. Needs root."`
	Status  clusterStatusCmd  `cmd:"" help:"Show every host: its link, what runs there, and what its engine says."`
	Kill    clusterNodeCmd    `cmd:"" help:"End every process of a host, or one of them, as a loss of power does."`
	Shut    clusterNodeCmd    `cmd:"" help:"Stop every process of a host, or one of them, as an operator does."`
	Start   clusterNodeCmd    `cmd:"" help:"Start what kill or shut has ended. The primary of before a promotion comes back as a replica."`
	Cut     clusterNodeCmd    `cmd:"" help:"Take a host off the network."`
	Heal    clusterNodeCmd    `cmd:"" help:"Make the link of a host whole and fast again."`
	Slow    clusterSlowCmd    `cmd:"" help:"Make the link of a host slow, and lose frames of it."`
	Promote clusterPromoteCmd `cmd:"" help:"End the primary of Postgres, and make its replica the primary."`
}

// clusterDir is the folder of the cluster of a home.
func clusterDir(home string) string { return filepath.Join(home, "cluster") }

type clusterUpCmd struct {
	EnginesOnly bool   `help:"Start the engines only; run the roles yourself."`
	Sync        bool   `help:"Let each commit wait for the replica of Postgres. While it is away, nothing is committed."`
	NoInstall   bool   `help:"Report missing tools instead of installing them."`
	Seed        uint64 `help:"Seed of the frames that slow links lose." default:"1"`
}

// Run starts the cluster and keeps it running until a signal, which is no error.
func (c *clusterUpCmd) Run(ctx context.Context, cli *CLI) (err error) {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	o := cluster.Options{
		Dir: clusterDir(cli.Home), Bin: filepath.Join(cli.Home, "bin"), Binary: self, Synchronous: c.Sync,
		NoInstall: c.NoInstall, Seed: c.Seed, Out: os.Stdout, Settings: []string{"CONVEYOR_DEMO=true"},
	}
	if c.EnginesOnly {
		o.Binary = ""
	}
	if err := cluster.Enter(ctx, o); err != nil {
		return interrupted(ctx, err)
	}
	redis.SetLogger(quietly{slog.Default()}) // a Sentinel that is cut off is no news
	fmt.Printf("conveyor: starting a cluster, data in %s\n", o.Dir)
	running, err := cluster.Start(ctx, o)
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() {
		fmt.Println("conveyor: stopping the cluster")
		err = errors.Join(err, running.Stop(context.WithoutCancel(ctx)))
		fmt.Println("conveyor: stopped")
	}()
	if err := running.WriteEnv(); err != nil {
		return err
	}
	ports, err := running.Forward(ctx)
	if err != nil {
		return err
	}
	printForwards(os.Stdout, ports)
	fmt.Printf("\nconveyor: the cluster is up; in another terminal:\n"+
		"  bin/conveyor cluster status\n  bin/conveyor cluster cut pg1 && bin/conveyor cluster promote\n"+
		"  bin/conveyor status\n"+
		"passwords are in %s; Ctrl-C stops everything\n", filepath.Join(o.Dir, "env"))
	return running.Serve(ctx)
}

// printForwards prints where the machine's loopback leads to the hosts.
func printForwards(w io.Writer, list []cluster.Forward) {
	t := cli.Table(w)
	for _, f := range list {
		at := f.Local
		if strings.Contains(f.Name, "UI") || strings.Contains(f.Name, "API") || strings.Contains(f.Name, "management") {
			at = "http://" + at
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\n", f.Name, f.Host, at)
	}
	_ = t.Flush() // an error of the terminal has no reader
}

// clusterWithin bounds a command: a replica that is copied anew takes longest.
const clusterWithin = 3 * time.Minute

// ask has the driver do something, and prints what it says.
func ask(ctx context.Context, cli *CLI, in cluster.Request) error {
	ctx, cancel := context.WithTimeout(ctx, clusterWithin)
	defer cancel()
	said, err := cluster.Ask(ctx, clusterDir(cli.Home), in)
	if err != nil {
		return err
	}
	fmt.Print(said)
	return nil
}

type clusterStatusCmd struct{}

func (clusterStatusCmd) Run(ctx context.Context, cli *CLI) error {
	return ask(ctx, cli, cluster.Request{Action: "status"})
}

// clusterNode is the argument of most commands.
type clusterNode struct {
	Node string `arg:"" help:"Host, such as rabbit1, pg1, temporal1, redis1, host1; kill, shut and start also take host1/worker."`
}

type clusterNodeCmd struct{ clusterNode }

// Run does with a host what the command is called.
func (c clusterNodeCmd) Run(ctx context.Context, cli *CLI, k *kong.Context) error {
	return ask(ctx, cli, cluster.Request{Action: k.Selected().Name, Node: c.Node})
}

type clusterSlowCmd struct {
	clusterNode
	Delay time.Duration `help:"What a round trip takes longer, half of it each way." default:"200ms"`
	Loss  string        `help:"Share of the frames that are lost, each way." default:"0%"`
}

func (c clusterSlowCmd) Run(ctx context.Context, cli *CLI) error {
	loss, err := strconv.ParseFloat(strings.TrimSuffix(c.Loss, "%"), 64)
	if err != nil {
		return fmt.Errorf("read --loss: is %q, expected a percentage such as 2%%", c.Loss)
	}
	return ask(ctx, cli, cluster.Request{Action: "slow", Node: c.Node, Delay: c.Delay, Loss: loss / 100})
}

type clusterPromoteCmd struct{}

func (clusterPromoteCmd) Run(ctx context.Context, cli *CLI) error {
	return ask(ctx, cli, cluster.Request{Action: "promote"})
}

package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/internal/launch"
)

// deploymentCmd works on Temporal directly, as bootstrap does, so that a job of a rollout needs no API.
type deploymentCmd struct {
	Status     deploymentStatusCmd  `cmd:"" help:"Show the builds of the workers, which one is current, and what is pinned to each."`
	SetCurrent setCurrentCmd        `cmd:"" name:"set-current" help:"Send new workflows, and all that are not pinned, to a build."`
	Ramp       deploymentRampCmd    `cmd:"" help:"Send a share of the new workflows, and of those that are not pinned, to a build beside the current one."`
	Drain      deploymentDrainCmd   `cmd:"" help:"Wait until no workflow needs a build any more, so that its workers may be stopped."`
	BuildID    deploymentBuildIDCmd `cmd:"" name:"build-id" help:"Print the build ID of this binary."`
	JSON       bool                 `name:"json" help:"Print the state of the deployment, afterwards, as JSON."`
}

// buildOption names the build that a command is about.
type buildOption struct {
	Build string `arg:"" optional:"" help:"ID of the build; by default that of this binary."`
}

func (o buildOption) id(h *house) (string, error) {
	return cmp.Or(o.Build, h.config.Temporal.BuildID), h.named()
}

// named returns an error when workers are of no deployment.
func (h *house) named() error {
	if h.config.Temporal.Deployment == "" {
		return errors.New("CONVEYOR_DEPLOYMENT is not set: without it workers have no builds, and all of them get all work")
	}
	return nil
}

func (h *house) deployment() launch.Deployment {
	return launch.Deployment{Temporal: h.temporal, Namespace: h.namespace, Name: h.config.Temporal.Deployment}
}

type deploymentStatusCmd struct{}

func (deploymentStatusCmd) Run(ctx context.Context, all *CLI) error {
	return with(ctx, func(ctx context.Context, h *house) error {
		if err := h.named(); err != nil {
			return err
		}
		return h.tellDeployment(ctx, all.Deploys.JSON)
	})
}

// tellDeployment prints the state of the deployment to standard output.
func (h *house) tellDeployment(ctx context.Context, asJSON bool) error {
	s, err := h.deployment().State(ctx, time.Now())
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(os.Stdout, s)
	}
	return printDeployment(os.Stdout, s)
}

func printDeployment(w io.Writer, s launch.DeploymentState) error {
	if len(s.Builds) == 0 {
		fmt.Fprintf(w, "deployment %s: no worker has reported a build yet\n", s.Name)
		return nil
	}
	switch {
	case s.Current == "":
		fmt.Fprintf(w, "deployment %s: no build is current; workers without a deployment get the work\n", s.Name)
	default:
		fmt.Fprintf(w, "deployment %s: build %s is current\n", s.Name, cli.Plain(s.Current))
	}
	t := cli.Table(w)
	fmt.Fprintln(t, "BUILD\tSTATE\tWORKERS\tPINNED\tSINCE\tWARNING")
	for _, b := range s.Builds {
		state := b.State
		if state == launch.BuildRamping {
			state = fmt.Sprintf("%s %g %%", state, s.Percent)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%s\n", cli.Plain(b.ID), state, b.Workers, b.Pinned,
			minute(b.CreatedAt), stuckText(b))
	}
	return t.Flush()
}

// stuckText is the warning of a build whose work waits for workers that are not there.
func stuckText(b launch.Build) string {
	if !b.Stuck() {
		return ""
	}
	return "no worker of it polls " + strings.Join(b.Missing, ", ")
}

type setCurrentCmd struct {
	buildOption
	Unversioned bool          `help:"Send the work to workers without a deployment instead, before CONVEYOR_DEPLOYMENT is taken away."`
	Force       bool          `help:"Do so even while the build has no worker for a task queue that the one before had."`
	Wait        time.Duration `help:"Time that the workers of the build may take to come." default:"0s" placeholder:"5m"`
}

func (c *setCurrentCmd) Run(ctx context.Context, all *CLI) error {
	if c.Unversioned && c.Build != "" {
		return cli.UsageError("--unversioned takes no build")
	}
	return with(ctx, func(ctx context.Context, h *house) error {
		build, err := c.id(h)
		if err != nil {
			return err
		}
		if c.Unversioned {
			build = ""
		}
		err = h.retried(ctx, c.Wait, func() error { return h.deployment().SetCurrent(ctx, build, c.Force) })
		if err != nil {
			return err
		}
		return h.tellDeployment(ctx, all.Deploys.JSON)
	})
}

// retried does something that is refused while workers are on their way, for as long as it may take, and says once why
// it waits.
func (h *house) retried(ctx context.Context, within time.Duration, do func() error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for said := ""; ; {
		err := do()
		if err == nil || within <= 0 {
			return err
		}
		if text := plain(err); text != said {
			said = text
			fmt.Fprintf(os.Stderr, "conveyor: waiting: %s\n", text)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return err
		}
	}
}

type deploymentRampCmd struct {
	buildOption
	Percent float32       `required:"" help:"Share of the new and the unpinned workflows, 0 to 100; 0 ends the ramp."`
	Force   bool          `help:"Do so even while the build has no worker for a task queue of the current one."`
	Wait    time.Duration `help:"Time that the workers of the build may take to come." default:"0s" placeholder:"5m"`
}

func (c *deploymentRampCmd) Run(ctx context.Context, all *CLI) error {
	if c.Percent < 0 || c.Percent > 100 {
		return cli.Usage("--percent is %g, expected 0 to 100", c.Percent)
	}
	return with(ctx, func(ctx context.Context, h *house) error {
		build, err := c.id(h)
		if err != nil {
			return err
		}
		err = h.retried(ctx, c.Wait, func() error { return h.deployment().Ramp(ctx, build, c.Percent, c.Force) })
		if err != nil {
			return err
		}
		return h.tellDeployment(ctx, all.Deploys.JSON)
	})
}

type deploymentDrainCmd struct {
	Build  string        `arg:"" optional:"" help:"ID of the build; by default all that are not current any more."`
	Move   bool          `help:"Have the workflows that are pinned to the build go on with the current one, instead of waiting for them."`
	Within time.Duration `help:"Time after which the command fails." default:"1h"`
}

// drainEvery is how often a drain looks. Temporal itself looks every three minutes by default.
const drainEvery = 2 * time.Second

func (c *deploymentDrainCmd) Run(ctx context.Context, all *CLI) error {
	return with(ctx, func(ctx context.Context, h *house) error {
		if err := h.named(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, c.Within, fmt.Errorf("not within %s", c.Within))
		defer cancel()
		builds := []string{c.Build}
		if c.Build == "" {
			s, err := h.deployment().State(ctx, time.Now())
			if err != nil {
				return err
			}
			builds = drainable(s)
		}
		for _, build := range builds {
			if err := c.wait(ctx, h.deployment(), build, os.Stderr); err != nil {
				return err
			}
		}
		return h.tellDeployment(context.WithoutCancel(ctx), all.Deploys.JSON)
	})
}

// drainable are the builds that drain.
func drainable(s launch.DeploymentState) (builds []string) {
	for _, b := range s.Builds {
		if b.State == launch.BuildDraining {
			builds = append(builds, b.ID)
		}
	}
	return builds
}

// wait returns when a build has drained, and writes each change to w.
func (c *deploymentDrainCmd) wait(ctx context.Context, d launch.Deployment, build string, w io.Writer) error {
	var said string
	for {
		s, err := d.State(ctx, time.Now())
		if err != nil {
			return err
		}
		b, ok := s.Build(build)
		switch {
		case !ok:
			return fmt.Errorf("drain build %s: deployment %s has no such build; conveyor deployment status lists them",
				build, d.Name)
		case b.State == launch.BuildCurrent || b.State == launch.BuildRamping:
			return fmt.Errorf("drain build %s: it is %s and gets new workflows; make another one current first",
				build, b.State)
		case b.State == launch.BuildInactive || b.State == launch.BuildDrained:
			fmt.Fprintf(w, "conveyor: build %s is %s: its workers may be stopped\n", cli.Plain(b.ID), b.State)
			return nil
		}
		if c.Move && b.Pinned > 0 {
			n, err := d.Move(ctx, b.ID)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "conveyor: %d workflows go on with build %s\n", n, cli.Plain(s.Current))
		}
		if text := drainText(b); text != said {
			said = text
			fmt.Fprintf(w, "conveyor: build %s: %s\n", cli.Plain(b.ID), text)
		}
		select {
		case <-time.After(drainEvery):
		case <-ctx.Done():
			return fmt.Errorf("drain build %s: %w: %s", build, context.Cause(ctx), drainText(b))
		}
	}
}

// drainText is what a drain waits for.
func drainText(b launch.Build) string {
	switch {
	case b.Pinned == 0:
		return "no workflow is pinned to it; waiting until Temporal has looked, too"
	case b.Stuck():
		return fmt.Sprintf("%d workflows are pinned to it, and %s: start one, or give --move", b.Pinned, stuckText(b))
	}
	return fmt.Sprintf("%d workflows are pinned to it", b.Pinned)
}

type deploymentBuildIDCmd struct{}

func (deploymentBuildIDCmd) Run() error {
	c, err := settings()
	if err != nil {
		return err
	}
	if c.Temporal.BuildID == "" {
		if c.Temporal.BuildID, err = buildID(); err != nil {
			return err
		}
	}
	fmt.Println(c.Temporal.BuildID)
	return nil
}

// buildID is the version of this binary, as Temporal tells builds apart: that of a release, or the commit that it was
// built from. Of a binary that does not know, as that of an image without CONVEYOR_VERSION, or has changes that are not
// committed, it is a hash of its file.
func buildID() (string, error) {
	if release != "" && release != "devel" {
		return release, nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		v := info.Main.Version
		if v != "" && v != "(devel)" && !strings.HasSuffix(v, "+dirty") {
			return v, nil
		}
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this binary for the name of its build: %w", err)
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read this binary for the name of its build: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", fmt.Errorf("read this binary for the name of its build: %w", err)
	}
	return "devel-" + hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// workerVersion is the build that the workers of this process are of; without a name they are of none.
func (h *house) workerVersion() worker.WorkerDeploymentVersion {
	if h.config.Temporal.Deployment == "" {
		return worker.WorkerDeploymentVersion{}
	}
	return worker.WorkerDeploymentVersion{DeploymentName: h.config.Temporal.Deployment, BuildID: h.config.Temporal.BuildID}
}

// begin makes the build of this process current if none is, as soon as Temporal knows its workers, and says so
// otherwise: they get nothing new then.
func (h *house) begin(ctx context.Context) {
	build, warned := h.config.Temporal.BuildID, time.Now()
	for {
		current, err := h.deployment().Begin(ctx, build)
		switch {
		case err == nil && current == build:
			h.log.InfoContext(ctx, "workers run the current build",
				"deployment", h.config.Temporal.Deployment, "build", build)
			return
		case err == nil:
			h.log.WarnContext(ctx, "workers get nothing new until conveyor deployment set-current or ramp names their build",
				"deployment", h.config.Temporal.Deployment, "build", build, "current", current)
			return
		case time.Since(warned) > time.Minute: // it takes a second or two
			warned = time.Now()
			h.log.WarnContext(ctx, "it is not known yet whether the workers run the current build",
				"build", build, "err", err)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return
		}
	}
}

// Command conveyor is the whole of Conveyor: every role, the local services and the tools are commands of this one
// binary. `conveyor --help` lists them.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// CLI is the command line. A command is a field here and a struct with a Run method in a file of its name.
type CLI struct {
	Version kong.VersionFlag `help:"Print the version and stop."`
	Home    string           `help:"Folder for data, logs and tools." default:".conveyor" env:"CONVEYOR_HOME" type:"path"`

	Up        upCmd        `cmd:"" help:"Start the local services and every role. The one command to begin with."`
	API       apiCmd       `cmd:"" name:"api" help:"Serve the HTTP API, /docs and /metrics."`
	Worker    workerCmd    `cmd:"" help:"Run workflows and activities."`
	Bridge    bridgeCmd    `cmd:"" help:"Carry messages between RabbitMQ and Conveyor, and publish events."`
	Migrate   migrateCmd   `cmd:"" help:"Bring the database schema up to date."`
	Bootstrap bootstrapCmd `cmd:"" help:"Create what must exist in Temporal: namespace, search attributes, queue limits, schedules."`
	Health    healthCmd    `cmd:"" help:"Ask a role whether it lives: exit code 0 or 1, for health checks of containers."`
	Config    configCmd    `cmd:"" help:"Print every setting with its value and what it is."`
	Feed      feedCmd      `cmd:"" help:"Publish scraped listings from a JSONL file."`
	Normalize normalizeCmd `cmd:"" help:"Normalize scraped listings from JSONL to JSONL, without any service."`
	Scrape    scrapeCmd    `cmd:"" help:"Read one page of a rental site, live or saved, and print what was read: for those who adapt a reader."`
	Draft     draftCmd     `cmd:"" help:"Make a product draft of a page, and print it."`
	Extract   extractCmd   `cmd:"" help:"Print the product draft of a saved page, without any service."`

	Status      statusCmd      `cmd:"" help:"Show what waits where, live: queues, outbox, dead letters, task queues, platforms, hosts."`
	DeadLetters deadLettersCmd `cmd:"" name:"dead-letters" help:"List, look at, replay and discard what could not be processed."`
	Replay      replaysCmd     `cmd:"" help:"Take stored adverts through the pipeline again: start, show, list, cancel."`
	Platforms   platformsCmd   `cmd:"" help:"See how rental sites are scraped, begin a cycle, pause, resume, change the pace."`
	Keys        keysCmd        `cmd:"" help:"Make, list and revoke keys of the API."`

	InstallBrowser installBrowserCmd `cmd:"" name:"install-browser" help:"Install Chromium and its driver, for workers that are not started by up."`
	DemoSite       demoCmd           `cmd:"" name:"demo-site" aliases:"demo" help:"Serve the demo site alone."`
	WithServices   withServicesCmd   `cmd:"" help:"Run a command with fresh services of its own, then remove them."`
	VersionCmd     versionCmd        `cmd:"" name:"version" help:"Print the version."`
}

// exitError ends the process with a code of its own and no message, for commands that have already said why.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func main() { os.Exit(run(os.Args[1:])) }

// run returns the exit code: 0 done, 1 failed, 2 the command line is wrong, or the code of an exitError.
func run(args []string) int {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	var cli CLI
	parser, err := kong.New(&cli, kong.Name("conveyor"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Description("Takes rental adverts from the scraper to the published listing, each in a durable workflow of its own."))
	if err != nil {
		panic(err) // the struct above is wrong, which no user can cause
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "conveyor: %v; see conveyor --help\n", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends us at once
	}()
	command.BindTo(withRole(ctx, command.Command()), (*context.Context)(nil))
	err = command.Run(&cli)
	var code exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(os.Stderr, "conveyor: %v\n", err)
	return 1
}

type versionCmd struct{}

func (versionCmd) Run() error {
	fmt.Println(version())
	return nil
}

// release is set by the linker for builds that see no repository, such as that of the container image.
var release string

// version is the module version of a released build, the commit of one made in a checkout, and always the Go version.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	parts := []string{"conveyor", cmp.Or(release, strings.Trim(info.Main.Version, "()"))}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) > 12:
			parts = append(parts, s.Value[:12])
		case s.Key == "vcs.modified" && s.Value == "true":
			parts = append(parts, "modified")
		}
	}
	return strings.Join(append(parts, info.GoVersion), " ")
}

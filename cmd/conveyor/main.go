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

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/licences"
)

// CLI is the command line. A command is a field here and a struct with a Run method: those that work through the HTTP
// API are in package cli, the others in files of this package.
type CLI struct {
	Version kong.VersionFlag `help:"Print the version and stop."`
	Home    string           `help:"Folder for data, logs and tools." default:".conveyor" env:"CONVEYOR_HOME" type:"path"`

	Up        upCmd            `cmd:"" help:"Start the local services and every role. Start here."`
	API       apiCmd           `cmd:"" name:"api" help:"Serve the HTTP API, /docs and /metrics."`
	Worker    workerCmd        `cmd:"" help:"Run workflows and activities."`
	Bridge    bridgeCmd        `cmd:"" help:"Consume messages from RabbitMQ, and publish events."`
	Migrate   migrateCmd       `cmd:"" help:"Apply database migrations."`
	Bootstrap bootstrapCmd     `cmd:"" help:"Create the namespace, search attributes, queue limits and schedules in Temporal, and start the scrapers."`
	Deploys   deploymentCmd    `cmd:"" name:"deployment" help:"Roll out releases side by side: show the builds of the workers, make one current, ramp and drain."`
	Health    cli.HealthCmd    `cmd:"" help:"Check the health endpoint of a role: exit code 0 or 1, for health checks of containers."`
	Config    configCmd        `cmd:"" help:"Print every setting with its value and description."`
	Feed      feedCmd          `cmd:"" help:"Publish scraped listings from a JSONL file."`
	Import    importCmd        `cmd:"" help:"Import data from another system: listings from a dump of their table, drafts from a SQLite file."`
	Normalize normalizeCmd     `cmd:"" help:"Normalize scraped listings from JSONL to JSONL, without any service."`
	Scrape    scrapeCmd        `cmd:"" help:"Read one page of a rental site, live or saved, and print the result; for developers of platform readers."`
	Crawl     cli.CrawlCmd     `cmd:"" help:"Crawl sites: start, show, control, export and compare runs."`
	Search    cli.SearchCmd    `cmd:"" help:"Search crawled pages; show, fill and empty the index."`
	Searches  cli.SearchesCmd  `cmd:"" help:"Save searches of listings, and notify webhooks, e-mail addresses, chats and feeds of new matches."`
	Contacts  cli.ContactsCmd  `cmd:"" help:"Import, export, correct and opt out the contacts of a tenant; their lists and segments."`
	Tenants   cli.TenantsCmd   `cmd:"" help:"Create, list, change, export and erase tenants and the numbers that they send from; encrypt secrets anew."`
	Campaigns cli.CampaignsCmd `cmd:"" help:"Create, start, control and show campaigns of a tenant."`
	Messages  cli.MessagesCmd  `cmd:"" help:"Send messages to one person each, show what became of them, and send failed ones again."`
	Draft     cli.DraftCmd     `cmd:"" help:"Request product drafts of pages; list and cancel the requests."`
	Extract   extractCmd       `cmd:"" help:"Print the product draft of a saved page, without any service."`

	Size        cli.SizeCmd        `cmd:"" help:"Estimate how large an installation must be for a load: cores, connections, shards, disk, bandwidth, and the first bottleneck."`
	Status      cli.StatusCmd      `cmd:"" help:"Show queues, outbox, dead letters, task queues, platforms and hosts, live."`
	DeadLetters cli.DeadLettersCmd `cmd:"" name:"dead-letters" help:"List, show, replay and discard messages that could not be processed."`
	Replay      cli.ReplayCmd      `cmd:"" help:"Process stored adverts again: start, show, list and cancel replays."`
	Listings    cli.ListingsCmd    `cmd:"" help:"Export listings, show rents and refused adverts, and claim listings for their owners."`
	Platforms   cli.PlatformsCmd   `cmd:"" help:"Show and control the scraping of rental sites: start a cycle, pause, resume, change settings."`
	Duplicates  cli.DuplicatesCmd  `cmd:"" help:"List homes with several adverts, say which are one and which is shown, and undo that."`
	Keys        keysCmd            `cmd:"" help:"Create, list and revoke API keys."`
	Sessions    sessionsCmd        `cmd:"" help:"List the sessions of browsers, and end those of a caller."`
	Audit       cli.AuditCmd       `cmd:"" help:"List the actions of callers: changes, and refused credentials."`
	Forget      cli.ForgetCmd      `cmd:"" help:"Delete an advert and all that was made of it, for good."`

	InstallBrowser installBrowserCmd `cmd:"" name:"install-browser" help:"Install Chromium and its driver, for workers that are not started by conveyor up."`
	DemoSite       demoCmd           `cmd:"" name:"demo-site" aliases:"demo" help:"Serve the demo site."`
	UIProxy        uiProxyCmd        `cmd:"" name:"temporal-ui-proxy" help:"Serve the Temporal Web UI to requests by an IP address, localhost or its own name only, so that pages of other sites cannot read it; conveyor up does so by itself."`
	Chromium       chromiumCmd       `cmd:"" name:"chromium" help:"Start a Chromium for each worker that asks for one: a role of its own, in a container that reaches nothing else."`
	Cluster        clusterCmd        `cmd:"" help:"Run every engine as a cluster of hosts on this machine, and make hosts and links fail."`
	WithServices   withServicesCmd   `cmd:"" help:"Run a command with temporary services, and remove them afterwards."`
	VersionCmd     versionCmd        `cmd:"" name:"version" help:"Print the version."`
}

func main() {
	confine.Child()    // the process may be one that only reads pages
	chromium.StandIn() // or one that passes messages on to Chromium
	os.Exit(run(os.Args[1:]))
}

// run returns the exit code: 0 done, 1 failed, 2 the command line is wrong, or the code of a cli.ExitError.
func run(args []string) int {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	var line CLI
	parser, err := kong.New(&line, kong.Name("conveyor"), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Bind(cli.Connect(connect)), kong.BindToProvider(cli.Provide),
		kong.Description("Takes rental adverts to published listings and product pages to drafts, crawls sites and searches their pages, imports contacts and sends them messages, each in durable workflows."))
	if err != nil {
		panic(err) // a bug in CLI, not an input of the user
	}
	exemplify(parser.Model.Node)
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		return misused(err, understood(err))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	command.BindTo(withRole(ctx, command.Command()), (*context.Context)(nil))
	err = command.Run(&line)
	var code cli.ExitError
	var wrong cli.UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &wrong):
		return misused(err, commandLine(command))
	}
	fmt.Fprintf(os.Stderr, "conveyor: %s\n", plain(err))
	return 1
}

// misused says what is wrong with a command line, and which help says how it goes.
func misused(err error, command string) int {
	fmt.Fprintf(os.Stderr, "conveyor: %s; see %s --help\n", plain(err), command)
	return 2
}

// plain is an error's text without what would steer the terminal: it may quote a page or an answer.
func plain(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = cli.Plain(line)
	}
	return strings.Join(lines, "\n")
}

type versionCmd struct {
	Licences bool `help:"Also list what the binary contains of others, with the texts of their licences."`
}

func (c versionCmd) Run() error {
	fmt.Println(version())
	if !c.Licences {
		return nil
	}
	l, err := licences.Unpack(licences.Packed)
	if err != nil {
		return err
	}
	fmt.Println()
	return l.Write(os.Stdout)
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

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// stopWithin bounds a stop, from the first signal to the last process.
const stopWithin = 45 * time.Second

type upCmd struct {
	ServicesOnly bool `help:"Start the services only; run the roles yourself."`
	NoInstall    bool `help:"Report missing tools instead of installing them."`
}

// Help says where everything is, and how it ends.
func (*upCmd) Help() string {
	return `All addresses are printed when everything runs. Data, logs and tools are below --home, whose file env gives a
shell the addresses, and the passwords that were made for them:

    set -a; . .conveyor/env; set +a

Ctrl-C stops everything; what is stored stays for the next start. All listens on 127.0.0.1, at ports that these change:

` + strings.Join(devstack.PortVariables(), " ")
}

// Run starts everything and keeps it running until a signal, which is no error.
func (c *upCmd) Run(ctx context.Context, cli *CLI) (err error) {
	ports, err := devstack.PortsFrom(os.Getenv)
	if err != nil {
		return err
	}
	env, err := roleSettings(ports, cli.Home)
	if err != nil {
		return err
	}
	given, err := externalServices(os.Getenv)
	if err != nil {
		return err
	}
	if gone := given.Gone(ports); len(gone) > 0 {
		return fmt.Errorf("%s: set in this shell, and nothing answers there. They are of a stack that has stopped, from %s: "+
			"use a shell that has not sourced it, or unset all that it sets", strings.Join(gone, ", "),
			filepath.Join(cli.Home, "env"))
	}
	fmt.Printf("conveyor: starting services, data in %s\n", cli.Home)
	stack, err := devstack.Start(ctx, devstack.Options{
		Dir: cli.Home, Ports: ports, External: given, NoInstall: c.NoInstall, Out: os.Stdout, UILater: true,
		Roles: !c.ServicesOnly, Settings: env, NoSandbox: env["CONVEYOR_BROWSER_SANDBOX"] == config.SandboxOff,
		UIURL: env["CONVEYOR_TEMPORAL_UI_URL"],
	})
	if err != nil {
		return interrupted(ctx, err)
	}
	defer func() {
		fmt.Println("conveyor: stopping services")
		err = errors.Join(err, stopStack(stack))
		fmt.Println("conveyor: stopped")
	}()
	fmt.Printf("conveyor: services are up; `set -a; . %s` sets their addresses in a shell; Ctrl-C stops them\n",
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
	} else if err := runRoles(ctx, env, stack); err != nil {
		return err
	}
	return stack.Err()
}

// roleSettings are the settings of the roles beside the addresses of the services; the environment overrides them. The
// env file contains them, so that a role started by hand gets the same. It reports an invalid environment, before
// anything starts.
func roleSettings(ports devstack.Ports, home string) (map[string]string, error) {
	conf, err := settings()
	if err != nil {
		return nil, err
	}
	address := func(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
	out := map[string]string{
		"CONVEYOR_API_ADDRESS":           address(ports.API),
		"CONVEYOR_TEMPORAL_UI_URL":       "http://" + address(ports.TemporalUI),
		"CONVEYOR_ALLOW_PRIVATE_HOSTS":   address(ports.Demo),
		"CONVEYOR_WEBHOOK_PRIVATE_HOSTS": address(ports.Demo),
		"CONVEYOR_DEMO":                  "true",
		"CONVEYOR_HOME":                  home,
		"CONVEYOR_BROWSER_SANDBOX":       conf.Browser.Sandbox,
		// The demo site is local, so it is scraped faster than any real site may be: see demoPace.
		"CONVEYOR_SCRAPE":          demosite.AllSearches("http://" + address(ports.Demo)),
		"CONVEYOR_SCRAPE_DELAY":    "1s",
		"CONVEYOR_SCRAPE_COOLDOWN": "10s",
		"CONVEYOR_IMAGE_INTERVAL":  "100ms",
		// Messages go to the demo site, and no further.
		"CONVEYOR_WHATSAPP_URL":           "http://" + address(ports.Demo) + cloudPath,
		"CONVEYOR_WHATSAPP_APP_SECRETS":   rand.Text(),
		"CONVEYOR_WHATSAPP_VERIFY_TOKENS": rand.Text(),
	}
	out["TEMPORAL_NAMESPACE"] = devstack.Namespace
	_, sites := os.LookupEnv("CONVEYOR_SCRAPE")
	if _, told := os.LookupEnv("CONVEYOR_DEMO"); told && !conf.Images.Demo { // so nothing on the loopback may be reached
		out["CONVEYOR_ALLOW_PRIVATE_HOSTS"], out["CONVEYOR_WEBHOOK_PRIVATE_HOSTS"], out["CONVEYOR_SCRAPE"] = "", "", ""
		sites = true
	}
	for key := range out {
		if value, ok := os.LookupEnv(key); ok {
			out[key] = value
		} else if sites && slices.Contains(demoPace, key) {
			delete(out, key)
		}
	}
	return out, nil
}

// demoPace are the settings of a pace that no site but the demo's may be asked at.
var demoPace = []string{"CONVEYOR_SCRAPE_DELAY", "CONVEYOR_SCRAPE_COOLDOWN", "CONVEYOR_IMAGE_INTERVAL"}

// externalServices are the services that the environment names; the broker also by RABBITMQ_USER and its likes.
func externalServices(getenv func(string) string) (given devstack.External, err error) {
	given = devstack.ExternalFrom(getenv)
	given.RabbitMQURL, given.ManagementURL, err = config.Broker(getenv)
	return given, err
}

// runRoles runs every role and the demo site on the stack until ctx is done.
func runRoles(ctx context.Context, env map[string]string, stack *devstack.Stack) error {
	for _, line := range stack.Env() {
		key, value, _ := strings.Cut(line, "=")
		if _, set := os.LookupEnv(key); !set {
			env[key] = value
		}
	}
	for key, value := range env {
		if err := os.Setenv(key, value); err != nil {
			return fmt.Errorf("set %s: %w", key, err)
		}
	}
	demo := fmt.Sprintf("127.0.0.1:%d", stack.Ports().Demo)
	return with(ctx, func(ctx context.Context, h *house) error {
		if err := h.migrate(ctx); err != nil {
			return err
		}
		if _, err := h.checkDatabaseRole(ctx, h.pool.Config().ConnConfig.User); err != nil {
			return err
		}
		if err := h.bootstrap(ctx); err != nil {
			return err
		}
		made, err := h.makeDemo(ctx, demo, filepath.Join(config.Home(), "demo"))
		if err != nil {
			h.log.WarnContext(ctx, "the demo tenant could not be made", "err", err)
		}
		roles, ctx := errgroup.WithContext(ctx)
		roles.Go(func() error { return h.all(ctx) })
		site, cloud := demoSite(demosite.Options{}, h.config.API.URL+"/webhooks/whatsapp", h.config.WhatsApp)
		roles.Go(func() error { return cloud.Run(ctx) })
		roles.Go(func() error { return serve(ctx, h.log, "demo site", demo, site) })
		note := ""
		if stack.Follows(devstack.TemporalUI) {
			note = "  (is being built, some minutes the first time; this address says when it is there)"
		}
		h.printAddresses(os.Stdout, "http://"+demo, note)
		printNext(os.Stdout, made)
		return roles.Wait()
	})
}

// all runs every role in this process until ctx ends or one of them fails.
func (h *house) all(ctx context.Context) error {
	roles, ctx := errgroup.WithContext(ctx)
	roles.Go(func() error { return h.bridge(ctx) })
	roles.Go(func() error { return h.worker(ctx) })
	roles.Go(func() error { return h.api(ctx) })
	return roles.Wait()
}

// printAddresses prints the URLs of the stack. uiNote is said of the Temporal Web UI.
func (h *house) printAddresses(w io.Writer, demo, uiNote string) {
	t := cli.Table(w)
	for _, row := range [][2]string{
		{"console", h.config.API.URL + "/ui/"},
		{"API", h.config.API.URL},
		{"API documentation", h.config.API.URL + "/docs"},
		{"Temporal Web UI", h.config.Temporal.UIURL + "/namespaces/" + h.namespace + "/workflows" + uiNote},
		{"RabbitMQ management", withoutUser(h.config.RabbitMQ.ManagementURLs()[0]) +
			"  (user and password: RABBITMQ_MANAGEMENT_URL in " + filepath.Join(config.Home(), "env") + ")"},
		{"demo site", demo},
		{"metrics", h.config.API.URL + "/metrics"},
	} {
		fmt.Fprintf(t, "  %s\t%s\n", row[0], row[1])
	}
	_ = t.Flush() // an error of the terminal has no reader
}

// printNext prints the next commands to try.
func printNext(w io.Writer, demo demoFiles) {
	fmt.Fprintln(w, "\nconveyor: all roles are running; next, in another terminal:\n  bin/conveyor platforms")
	if demo.contacts != "" {
		fmt.Fprintf(w, "  bin/conveyor contacts import %s --tenant %s\n", demo.contacts, demoTenant)
		fmt.Fprintf(w, "  bin/conveyor campaigns create %s --start --tenant %s\n", demo.campaign, demoTenant)
	}
}

// withoutUser is a URL without its user and password, and without the files of its certificates.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "?"
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

func stopStack(stack *devstack.Stack) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	return stack.Stop(ctx)
}

// interrupted returns the exit code that shells expect after a signal, if ctx has ended, and err otherwise.
func interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return cli.ExitError(128 + int(syscall.SIGINT))
	}
	return err
}

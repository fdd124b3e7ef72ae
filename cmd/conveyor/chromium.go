package main

import (
	"cmp"
	"context"
	"os"

	"github.com/mtlrent/conveyor/cli"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// chromiumCmd has Chromium where nothing else is: no database, no keys, and no way out but the proxies of the workers.
type chromiumCmd struct {
	Address string `help:"Address to listen on." default:"127.0.0.1:9222"`
	Most    int    `help:"Chromiums at once: a worker has one, and two while one takes over." default:"4"`
}

// Run serves until a signal, without any service.
func (c *chromiumCmd) Run(ctx context.Context) error {
	if c.Most < 1 {
		return cli.UsageError("--most is less than 1")
	}
	conf, err := settings()
	if err != nil {
		return err
	}
	b := conf.Browser
	if b.Password == "" {
		return cli.UsageError("CONVEYOR_CHROMIUM_PASSWORD is not set: without a password, anyone who can connect to this " +
			"address could use Chromium to read files of this user")
	}
	executable := cmp.Or(b.Executable, chromium.Find())
	if err := chromium.Check(executable); err != nil {
		return err
	}
	if err := confine.Shield(); err != nil {
		return err
	}
	log := telemetry.Logger(os.Stderr, conf.Telemetry.Level, conf.Telemetry.Format)
	lender := chromium.NewLender(chromium.LenderOptions{
		Executable: executable, NoSandbox: b.Sandbox == config.SandboxOff, Password: b.Password, Most: c.Most,
		MaxRSS: b.MaxRSS << 20, Log: log,
	})
	defer lender.Close()
	return serve(ctx, log, "DevTools", c.Address, lender)
}

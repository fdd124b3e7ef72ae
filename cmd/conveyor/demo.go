package main

import (
	"context"
	"os"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/demosite"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

type demoCmd struct {
	Address string `help:"Address the site listens on." default:"127.0.0.1:8090"`
}

// Run serves the demo site alone, until a signal; conveyor up has it built in. It needs none of the services.
func (c *demoCmd) Run(ctx context.Context) error {
	conf, err := config.Load()
	if err != nil {
		return err
	}
	log := telemetry.Logger(os.Stderr, conf.Telemetry.Level, conf.Telemetry.Format)
	return serve(ctx, log, "demo site", c.Address, demosite.New(demosite.Options{}))
}

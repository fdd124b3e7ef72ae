package main

import (
	"context"
	"os"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/demosite"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

type demoCmd struct {
	Address string  `help:"Address the site listens on." default:"127.0.0.1:8090"`
	Adverts int     `help:"Adverts at the start on Kijiji's half, half as many on Kangalou's." default:"90"`
	Tempo   float64 `help:"How fast the adverts change: 2 is twice as fast, 0 is not at all." default:"1"`
	Seed    uint64  `help:"Other seeds show other adverts." default:"1"`
}

// Run serves the demo site alone, until a signal; conveyor up has it built in. It needs none of the services.
func (c *demoCmd) Run(ctx context.Context) error {
	conf, err := config.Load()
	if err != nil {
		return err
	}
	log := telemetry.Logger(os.Stderr, conf.Telemetry.Level, conf.Telemetry.Format)
	return serve(ctx, log, "demo site", c.Address, demosite.New(demosite.Options{
		Adverts: c.Adverts, Tempo: c.Tempo, Frozen: c.Tempo <= 0, Seed: c.Seed,
	}))
}

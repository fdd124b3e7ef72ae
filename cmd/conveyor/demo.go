package main

import (
	"context"
	"os"

	"github.com/mtlrent/conveyor/internal/demosite"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

type demoCmd struct {
	Address string  `help:"Address to listen on." default:"127.0.0.1:8090"`
	Adverts int     `help:"Adverts at the start on the Kijiji pages; the Kangalou pages have half as many." default:"90"`
	Tempo   float64 `help:"Speed at which adverts change: 2 is twice as fast, 0 is no change." default:"1"`
	Seed    uint64  `help:"Seed of the adverts; another seed makes other adverts." default:"1"`
}

// Run serves the demo site until a signal, without any service; conveyor up serves it too.
func (c *demoCmd) Run(ctx context.Context) error {
	conf, err := settings()
	if err != nil {
		return err
	}
	log := telemetry.Logger(os.Stderr, conf.Telemetry.Level, conf.Telemetry.Format)
	return serve(ctx, log, "demo site", c.Address, demosite.New(demosite.Options{
		Adverts: c.Adverts, Tempo: c.Tempo, Frozen: c.Tempo <= 0, Seed: c.Seed,
	}))
}

package main

import (
	"cmp"
	"context"
	"net/http"
	"os"

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/sim/cloudapi"
	"github.com/mtlrent/conveyor/sim/demosite"
)

type demoCmd struct {
	Address string  `help:"Address to listen on." default:"127.0.0.1:8090"`
	Adverts int     `help:"Adverts at the start on the Kijiji pages; the Kangalou pages have half as many, those of Centris a quarter." default:"90"`
	Tempo   float64 `help:"Speed at which adverts change: 2 is twice as fast, 0 is no change." default:"1"`
	Seed    uint64  `help:"Seed of the adverts; another seed makes other adverts." default:"1"`
	Webhook string  `help:"URL that the fake of the WhatsApp Cloud API posts statuses to, signed with the first of CONVEYOR_WHATSAPP_APP_SECRETS; empty is none."`
}

// cloudPath is where the demo site has its fake of the WhatsApp Cloud API.
const cloudPath = "/whatsapp"

// demoSite is the demo site with a fake of the WhatsApp Cloud API, which posts statuses to a webhook while it runs.
func demoSite(o demosite.Options, webhook string, c config.WhatsApp) (*demosite.Site, *cloudapi.API) {
	cloud := cloudapi.New(cloudapi.Options{Webhook: webhook, Secret: cmp.Or(c.AppSecrets...)})
	site := demosite.New(o)
	site.Handle(cloudPath+"/", cloudPath+"/admin/counts", "a fake of the WhatsApp Cloud API, with errors, limits and "+
		"webhooks on script; it sends nothing", http.StripPrefix(cloudPath, cloud))
	return site, cloud
}

// Run serves the demo site until a signal, without any service; conveyor up serves it too.
func (c *demoCmd) Run(ctx context.Context) error {
	conf, err := settings()
	if err != nil {
		return err
	}
	log := telemetry.Logger(os.Stderr, conf.Telemetry.Level, conf.Telemetry.Format)
	site, cloud := demoSite(demosite.Options{
		Adverts: c.Adverts, Tempo: c.Tempo, Frozen: c.Tempo <= 0, Seed: c.Seed,
	}, c.Webhook, conf.WhatsApp)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return cloud.Run(ctx) })
	g.Go(func() error { return serve(ctx, log, "demo site", c.Address, site) })
	return g.Wait()
}

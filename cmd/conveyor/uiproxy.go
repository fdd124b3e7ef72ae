package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"

	"github.com/mtlrent/conveyor/internal/rebind"
	"github.com/mtlrent/conveyor/internal/telemetry"
)

// uiProxyCmd stands before the Temporal Web UI, which asks for no login and answers by whatever name it is called.
type uiProxyCmd struct {
	Address string `help:"Address to listen on." default:"127.0.0.1:8233"`
	To      string `help:"URL of the Web UI, which only this process should reach." placeholder:"http://HOST:PORT" required:""`
}

// Run serves until a signal, without any service but the Web UI.
func (c *uiProxyCmd) Run(ctx context.Context) error {
	to, err := url.Parse(c.To)
	if err != nil || to.Scheme != "http" && to.Scheme != "https" || to.Host == "" || to.User != nil {
		return errors.New("--to is not http[s]://HOST[:PORT]")
	}
	conf, err := settings()
	if err != nil {
		return err
	}
	log := telemetry.Logger(os.Stderr, conf.Telemetry.Level, conf.Telemetry.Format)
	names := rebind.NamesOf(rebind.HostOf(conf.Temporal.UIURL))
	return serve(ctx, log, "Temporal Web UI", c.Address,
		names.Guard("CONVEYOR_TEMPORAL_UI_URL", endedBy(ctx, rebind.Proxy(to, nil, log))))
}

// endedBy ends requests with ctx: a page of a running workflow always waits for news, and serve would wait for it.
func endedBy(ctx context.Context, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		its, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		next.ServeHTTP(w, r.WithContext(its))
	})
}

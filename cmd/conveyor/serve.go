package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// drainWithin is how long requests under way may take after the signal to stop.
const drainWithin = 10 * time.Second

// serve answers on address until ctx ends, and finishes what is under way.
func serve(ctx context.Context, log *slog.Logger, what, address string, handler http.Handler) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for %s: %w", what, err)
	}
	log.InfoContext(ctx, "listening", "for", what, "address", "http://"+listener.Addr().String())
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, // the time to write is bounded by who knows how much there is to say
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		stopped <- drain(context.WithoutCancel(ctx), log, server, drainWithin)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return fmt.Errorf("serve on %s: %w", address, err)
	}
	return <-stopped
}

// drain lets requests under way finish, and cuts those that take longer. That is no failure: the API moves to another
// address while it runs, and somebody who reads a picture slowly must not end the process.
func drain(ctx context.Context, log *slog.Logger, server *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.WarnContext(ctx, "requests under way are cut", "after", within)
		return server.Close()
	}
	return err
}

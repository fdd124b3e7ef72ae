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

// drainWithin bounds requests under way after the signal to stop.
const drainWithin = 10 * time.Second

// serve serves HTTP on address until ctx ends, and finishes requests under way. purpose names the server in the log.
// listen changes how its connections are accepted.
func serve(ctx context.Context, log *slog.Logger, purpose, address string, handler http.Handler,
	listen ...func(net.Listener) net.Listener) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for %s: %w", purpose, err)
	}
	for _, change := range listen {
		listener = change(listener)
	}
	log.InfoContext(ctx, "listening", "for", purpose, "address", "http://"+listener.Addr().String())
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 128 << 10, // a search of 10,000 characters, escaped, has room
		// There is no WriteTimeout: handlers bound the time of their responses.
	}
	tellServed(server)
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

// sendBuffer is how many bytes of a response the kernel takes for a connection, about. By itself it takes megabytes: a
// thousand readers that stop would hold gigabytes, and each be noticed only when its megabytes are full.
const sendBuffer = 128 << 10

// modest is a listener whose connections have a small send buffer.
type modest struct{ net.Listener }

// Accept implements net.Listener.
func (l modest) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetWriteBuffer(sendBuffer) // with the kernel's own it works, too
	}
	return conn, err
}

// drain lets requests under way finish, and closes the connections of those that take longer. That is no failure: the
// API moves to another address while it runs, and one slow download of an image must not end the process.
func drain(ctx context.Context, log *slog.Logger, server *http.Server, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		log.WarnContext(ctx, "requests under way were closed", "after", within)
		return server.Close()
	}
	return err
}

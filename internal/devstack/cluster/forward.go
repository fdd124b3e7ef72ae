package cluster

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/netutil"

	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/rebind"
)

// Forward is a port of the machine's loopback that leads to a port of a host.
type Forward struct {
	Name, Host string
	Local, To  string // host:port
}

// forwarded are the ports that people use. The n-th host of a kind has the n-th port from that of `make run`.
func (c *Cluster) forwarded() []Forward {
	p := c.ports
	var list []Forward
	add := func(name string, hosts []string, port int) {
		for i, host := range hosts {
			list = append(list, Forward{name, host, fmt.Sprintf("127.0.0.1:%d", port+i),
				fmt.Sprintf("%s:%d", Address(host), port)})
		}
	}
	if c.opts.Binary != "" {
		add("API and console", Hosts, p.API)
	}
	add(webUI, Temporals, p.TemporalUI)
	add("Temporal", Temporals, p.Temporal)
	add("RabbitMQ management", Brokers, p.Management)
	add("RabbitMQ", Brokers, p.RabbitMQ)
	add("Postgres", Databases, p.Postgres)
	add("Redis", Redises, p.Redis)
	return list
}

// webUI is the name of the Web UI of Temporal.
const webUI = "Temporal Web UI"

// guarded passes requests on that no page of another site can send: the Web UI has no login, and answers by any name.
func guarded(ctx context.Context, l net.Listener, to string) {
	proxy := rebind.Proxy(&url.URL{Scheme: "http", Host: to}, nil, slog.New(slog.DiscardHandler))
	server := &http.Server{
		Handler:           rebind.NamesOf().Guard("", proxy),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	_ = server.Serve(netutil.LimitListener(l, mostForwarded)) // until it is closed
	_ = server.Close()                                        // its connections, where only l was closed
}

// mostForwarded bounds the connections of one port.
const mostForwarded = 200

// Forward opens ports of the machine's loopback, until ctx ends. A port that is taken is replaced by a free one.
func (c *Cluster) Forward(ctx context.Context) ([]Forward, error) {
	list := c.forwarded()
	for i, f := range list {
		l, err := listenOutside(f.Local)
		if err != nil {
			if l, err = listenOutside("127.0.0.1:0"); err != nil {
				return nil, fmt.Errorf("forward %s of %s: %w", f.Name, f.Host, err)
			}
		}
		list[i].Local = l.Addr().String()
		context.AfterFunc(ctx, func() { _ = l.Close() })
		if f.Name == webUI {
			go guarded(ctx, l, f.To)
		} else {
			go forward(ctx, l, f.To)
		}
	}
	return list, nil
}

func forward(ctx context.Context, l net.Listener, to string) {
	slots := make(chan struct{}, mostForwarded)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				splice(ctx, conn, to)
			}()
		default:
			_ = conn.Close()
		}
	}
}

// splice carries bytes both ways until either side ends.
func splice(ctx context.Context, near net.Conn, to string) {
	far, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", to)
	if err != nil {
		_ = near.Close()
		return
	}
	end := sync.OnceFunc(func() { _ = near.Close(); _ = far.Close() })
	stop := context.AfterFunc(ctx, end)
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(far, near); end() })
	both.Go(func() { _, _ = io.Copy(near, far); end() })
	both.Wait()
}

// WriteEnv writes the variables by which Conveyor finds the engines, as seen from the switch, to the file env of the
// cluster's folder. It holds passwords.
func (c *Cluster) WriteEnv() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return devstack.WriteEnv(c.opts.Dir, c.vars)
}

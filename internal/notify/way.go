package notify

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
)

// A way is how far a request by HTTP has come.
type way struct {
	connected atomic.Bool // anew
	wrote     atomic.Bool // all of it: the host may have taken it, unless the connection was dead
}

// traced is a context for the one request that w is of.
func (w *way) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				w.connected.Store(true)
			}
		},
		GotConn: func(c httptrace.GotConnInfo) {
			if !c.Reused {
				w.connected.Store(true)
			}
		},
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				w.wrote.Store(true)
			}
		},
	})
}

// made reports whether a request that failed with err made a connection of its own. Refused is made: something answers.
func (w *way) made(err error) bool { return w.connected.Load() || errors.Is(err, syscall.ECONNREFUSED) }

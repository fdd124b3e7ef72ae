//go:build !linux

package cluster

import (
	"context"
	"errors"
	"net"
	"time"
)

// ErrNoNamespaces is what every function here says: a cluster needs Linux.
var ErrNoNamespaces = errors.New("network namespaces cannot be made here: that needs Linux")

// Enter returns ErrNoNamespaces.
func Enter(context.Context, Options) error { return ErrNoNamespaces }

func inside(string) bool { return false }

func listenOutside(string) (net.Listener, error) { return nil, ErrNoNamespaces }

type relay struct {
	delay time.Duration
	loss  float64
}

func newRelay(string, string, time.Duration, float64, uint64) (*relay, error) {
	return nil, ErrNoNamespaces
}

func (r *relay) run()   {}
func (r *relay) close() {}

package bridge

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/mtlrent/conveyor/db"
)

// restoreEvery is the least time between two declarations of the topology by one restorer.
const restoreEvery = 5 * time.Second

// A restorer declares the topology again when a part of it is missing: an operator deleted a queue or an exchange, or
// the broker was rebuilt empty. Safe for use by several goroutines.
type restorer struct {
	topology topology
	connect  *connector
	turns    *db.Outbox
	log      *slog.Logger

	mu   sync.Mutex
	last time.Time
}

// lookEvery is how often a bridge looks whether everything exists that only other services use: when it is missing,
// nothing of ours fails.
const lookEvery = 5 * time.Second

// watch declares the topology again whenever an exchange or a queue is missing that others use, until ctx ends.
func (r *restorer) watch(ctx context.Context) {
	for r.topology.declare && pause(ctx, lookEvery) {
		if ch, err := r.connect.channel(ctx); err == nil { // while the broker is down the consumers say so
			r.after(ctx, r.topology.complete(ch))
			_ = ch.Close()
		}
	}
}

// after declares what is missing if err is the broker's word that something does not exist. It does nothing where the
// topology is only checked (RABBITMQ_DECLARE_TOPOLOGY=false).
func (r *restorer) after(ctx context.Context, err error) {
	var e *amqp.Error
	if !r.topology.declare || !errors.As(err, &e) || e.Code != amqp.NotFound {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) < restoreEvery {
		return
	}
	r.last = time.Now()
	conn, failed := r.connect.get(ctx)
	if failed == nil {
		failed = r.topology.inTurn(ctx, conn, r.turns, r.log)
	}
	r.log.WarnContext(ctx, "queues and exchanges are declared again", "missing", e.Reason, "err", failed)
}

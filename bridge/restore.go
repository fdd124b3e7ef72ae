package bridge

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// restoreEvery is the least time between two declarations of the topology by one restorer.
const restoreEvery = 5 * time.Second

// A restorer declares the topology again when a part of it is missing: an operator deleted a queue or an exchange, or
// the broker was rebuilt empty. Safe for use by several goroutines.
type restorer struct {
	topology topology
	connect  *connector
	log      *slog.Logger

	mu   sync.Mutex
	last time.Time
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
		failed = r.topology.establish(conn, r.log)
	}
	r.log.WarnContext(ctx, "queues and exchanges are declared again", "missing", e.Reason, "err", failed)
}

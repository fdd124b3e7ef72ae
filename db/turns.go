package db

import (
	"context"
	"fmt"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	topologyWithin = 2 * time.Minute // to wait for a turn, and to have it, unless the caller ends it earlier
	topologyEnd    = 5 * time.Second
)

const (
	sqlTopologyLimits = `/* sqlTopologyLimits */
SELECT set_config('statement_timeout', $1, true), set_config('idle_in_transaction_session_timeout', $1, true)`
	sqlTopologyTurn = `/* sqlTopologyTurn */ SELECT pg_advisory_xact_lock(hashtext('conveyor topology'), hashtext($1))`
)

// Turn waits until no other process has the turn to declare the queues of the broker's virtual host, two minutes at
// most, and takes it. It is over when the caller calls end, after two minutes, or with the process. It takes a
// connection of the pool, and a pooler in transaction mode is no hindrance.
func (o *Outbox) Turn(ctx context.Context, vhost string) (end func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, topologyWithin)
	defer cancel()
	tx, err := o.pool.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("take the turn to declare queues: %w", err)
	}
	end = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), topologyEnd)
		defer cancel()
		_ = tx.Rollback(ctx) // it wrote nothing
	}
	if _, err = tx.Exec(ctx, sqlTopologyLimits, fmt.Sprint(topologyWithin.Milliseconds())); err == nil {
		_, err = tx.Exec(ctx, sqlTopologyTurn, vhost)
	}
	if err != nil {
		end()
		return nil, fmt.Errorf("take the turn to declare queues: %w", fault.Ended(ctx, err))
	}
	return end, nil
}

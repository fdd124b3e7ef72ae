package db

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// How long the server has to cancel a statement whose context has ended, and to roll back its transaction. When it has
// not by then, the connection is closed.
const (
	cancelWithin   = 500 * time.Millisecond
	rollbackWithin = 2 * time.Second
)

// A canceler has the server cancel the statement whose context ends, so that the connection remains. pgx alone closes
// it, and while many statements are late, the pool would connect anew for each, to a server that is busy already.
//
// pgconn.CancelRequestContextWatcherHandler gives up its request where the statement ends by itself meanwhile. A busy
// server may execute it later, on a statement of the next user of the connection. This one waits for the server to
// acknowledge the request, which it does after it has signaled its process. PgBouncer does since 1.18.
type canceler struct {
	conn   *pgconn.PgConn
	within time.Duration
	asked  chan struct{} // closed when the request is over
	lost   bool          // the server has not acknowledged a request, and may execute it at any time
}

// cancelerKey is where a connection has its canceler, in its custom data.
const cancelerKey = "conveyor.canceler"

// unconfirmed is the function of Postgres that warns of a commit which a request to cancel made stop waiting for a
// synchronous standby. It is done, and a promotion would lose it, but Postgres calls that a success. Whoever takes a
// message for stored would lose it, so it is an error, as where the connection is closed.
const unconfirmed = "SyncRepWaitForLSN"

// canceling makes the connections of conf remain when the context of a statement ends.
func canceling(conf *pgxpool.Config, within time.Duration) {
	conf.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		c := &canceler{conn: conn, within: within}
		conn.CustomData()[cancelerKey] = c
		return c
	}
	conf.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) {
		c, ok := conn.PgConn().CustomData()[cancelerKey].(*canceler)
		return !ok || !c.lost, nil
	}
	conf.ConnConfig.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) {
		if n.Routine == unconfirmed {
			_ = conn.Close(context.Background()) // the statement fails: the rest of its answer is not read
		}
	}
}

// HandleCancel implements ctxwatch.Handler.
func (c *canceler) HandleCancel(context.Context) {
	until := time.Now().Add(c.within)
	_ = c.conn.Conn().SetDeadline(until) // one that is closed has none
	c.asked = make(chan struct{})
	go func() {
		defer close(c.asked)
		ctx, cancel := context.WithDeadline(context.Background(), until)
		defer cancel()
		if err := c.conn.CancelRequest(ctx); err != nil || ctx.Err() != nil { // it ignores that no answer came
			c.lost = true
		}
	}()
}

// HandleUnwatchAfterCancel implements ctxwatch.Handler.
func (c *canceler) HandleUnwatchAfterCancel() {
	<-c.asked
	_ = c.conn.Conn().SetDeadline(time.Time{})
}

// Tx runs do in a transaction, which is committed when do returns nil and rolled back otherwise. Where ctx ends, it is
// rolled back too, and its connection remains: pgx.BeginFunc would close it.
func Tx(ctx context.Context, pool *pgxpool.Pool, do func(tx pgx.Tx) error) error {
	return TxWith(ctx, pool, pgx.TxOptions{}, do)
}

// TxWith is Tx in a transaction of these options.
func TxWith(ctx context.Context, pool *pgxpool.Pool, options pgx.TxOptions, do func(tx pgx.Tx) error) (err error) {
	tx, err := pool.BeginTx(ctx, options)
	if err != nil {
		return fault.Ended(ctx, err)
	}
	defer func() { // after a panic, too
		rolling, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWithin)
		defer cancel()
		if failed := tx.Rollback(rolling); err == nil && !errors.Is(failed, pgx.ErrTxClosed) {
			err = failed
		}
	}()
	if err := do(tx); err != nil {
		return fault.Ended(ctx, err)
	}
	if ctx.Err() != nil { // pgx would close the connection
		return ctx.Err()
	}
	if err = tx.Commit(ctx); err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// TxBatches is Tx for two batches, each of which is one round trip: BEGIN goes along with the first, and COMMIT with
// the second, which next returns once the first is read. next may ask more of the transaction meanwhile.
func TxBatches(ctx context.Context, pool *pgxpool.Pool, first *pgx.Batch,
	next func(tx Querier) (*pgx.Batch, error)) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fault.Ended(ctx, err)
	}
	defer conn.Release() // closes one that is still in a transaction
	defer func() {       // after a panic, too
		if conn.Conn().PgConn().TxStatus() != idle {
			rolling, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWithin)
			defer cancel()
			_, _ = conn.Exec(rolling, "ROLLBACK")
		}
	}()
	first.QueuedQueries = slices.Insert(first.QueuedQueries, 0, &pgx.QueuedQuery{SQL: "BEGIN"})
	if err := conn.SendBatch(ctx, first).Close(); err != nil {
		return fault.Ended(ctx, err)
	}
	second, err := next(conn)
	if err != nil {
		return fault.Ended(ctx, err)
	}
	if ctx.Err() != nil { // pgx would close the connection
		return ctx.Err()
	}
	second.Queue("COMMIT")
	if err = conn.SendBatch(ctx, second).Close(); err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

const idle = 'I' // the state of a connection that is in no transaction

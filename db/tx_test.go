package db_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// late are the ways in which a statement is late: each takes longer than its caller waits.
var late = map[string]func(ctx context.Context, pool *pgxpool.Pool) error{
	"rows": func(ctx context.Context, pool *pgxpool.Pool) error {
		_, err := db.Rows(ctx, pool, pgx.RowTo[string], "SELECT pg_sleep(50)::text")
		return err
	},
	"row of many that were read before": func(ctx context.Context, pool *pgxpool.Pool) error {
		_, err := db.Rows(ctx, pool, pgx.RowTo[string], `
			SELECT CASE WHEN i < 1e5 THEN repeat('x', 100) ELSE pg_sleep(50)::text END FROM generate_series(1, 1e5) i`)
		return err
	},
	"write": func(ctx context.Context, pool *pgxpool.Pool) error {
		b := new(pgx.Batch)
		b.Queue("SELECT 1")
		b.Queue("SELECT pg_sleep(50)")
		b.Queue("SELECT 2")
		return db.Write(ctx, pool, b)
	},
	"transaction": func(ctx context.Context, pool *pgxpool.Pool) error {
		return db.Tx(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_sleep(50)")
			return err
		})
	},
	"transaction of a tenant": func(ctx context.Context, pool *pgxpool.Pool) error {
		return db.TenantTx(ctx, pool, "acme", func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT pg_sleep(50)")
			return err
		})
	},
	"rows of a tenant": func(ctx context.Context, pool *pgxpool.Pool) error {
		_, err := db.TenantRows(ctx, pool, "acme", pgx.RowTo[string], "SELECT pg_sleep(50)::text")
		return err
	},
	"transaction between two statements": func(ctx context.Context, pool *pgxpool.Pool) error {
		return db.Tx(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT 1")
			<-ctx.Done()
			return err
		})
	},
	"first batch of a transaction": func(ctx context.Context, pool *pgxpool.Pool) error {
		return db.TxBatches(ctx, pool, batch("SELECT pg_sleep(50)"), func(db.Querier) (*pgx.Batch, error) {
			return batch(), nil
		})
	},
	"second batch of a transaction": func(ctx context.Context, pool *pgxpool.Pool) error {
		return db.TxBatches(ctx, pool, batch("SELECT 1"), func(db.Querier) (*pgx.Batch, error) {
			return batch("SELECT pg_sleep(50)"), nil
		})
	},
	"transaction between two batches": func(ctx context.Context, pool *pgxpool.Pool) error {
		return db.TxBatches(ctx, pool, batch("SELECT 1"), func(db.Querier) (*pgx.Batch, error) {
			<-ctx.Done()
			return batch("SELECT 1"), nil
		})
	},
}

func batch(statements ...string) *pgx.Batch {
	b := new(pgx.Batch)
	for _, s := range statements {
		b.Queue(s)
	}
	return b
}

// Two batches are one transaction: both are stored, or neither, whichever of its parts fails, and its connection is in
// no transaction then.
func TestTxBatches(t *testing.T) {
	t.Parallel()

	const fail = "SELECT 1 / 0"
	const add = `INSERT INTO flow (minute, line, station, outcome, source, took, backend, n)
		SELECT now(), '', '', '', '', count(*), 0, 1 FROM flow`
	pool := connected(t, dbtest.New(t).Config().ConnString(), 1)
	opened := pool.Stat().NewConnsCount()
	failed := errors.New("no")
	for name, tt := range map[string]struct {
		first, second string
		next          func(tx db.Querier) error
		want          error
		stored        int64
	}{
		"nothing":       {add, add, nil, nil, 2},
		"the first":     {fail, add, nil, nil, 0},
		"the second":    {add, fail, nil, nil, 0},
		"what is asked": {add, add, func(db.Querier) error { return failed }, failed, 0},
		"a statement in between": {add, add, func(tx db.Querier) error {
			_, err := db.Rows(t.Context(), tx, pgx.RowTo[int], fail)
			return err
		}, nil, 0},
	} {
		dbtest.Exec(t, pool, "DELETE FROM flow")
		err := db.TxBatches(t.Context(), pool, batch(tt.first), func(tx db.Querier) (*pgx.Batch, error) {
			n, err := db.Row(t.Context(), tx, pgx.RowTo[int], "SELECT count(*)::int FROM flow")
			if err == nil && n != 1 {
				err = fmt.Errorf("%d rows are there", n)
			}
			if tt.next != nil {
				err = tt.next(tx)
			}
			return batch(tt.second), err
		})
		require.Equal(t, tt.stored == 0, err != nil, "%s: %v", name, err)
		if tt.want != nil {
			require.ErrorIs(t, err, tt.want, name)
		}
		require.Equal(t, tt.stored, dbtest.Count(t, pool, "flow"), name)
	}
	require.Panics(t, func() {
		_ = db.TxBatches(t.Context(), pool, batch("DELETE FROM flow"), func(db.Querier) (*pgx.Batch, error) { panic("here") })
	})
	_, err := pool.Exec(t.Context(), add)
	require.NoError(t, err)
	require.Equal(t, opened, pool.Stat().NewConnsCount(), "the connection remains")
}

// connected opens every connection of a pool of n.
func connected(t *testing.T, url string, n int32, options ...db.Option) *pgxpool.Pool {
	t.Helper()

	if pooled() {
		options = append(options, db.Pooled)
	}
	pool, err := db.Open(t.Context(), url, n, options...)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	var all []*pgxpool.Conn
	for range n {
		conn, err := pool.Acquire(t.Context())
		require.NoError(t, err)
		all = append(all, conn)
	}
	for _, conn := range all {
		conn.Release()
	}
	return pool
}

// A statement that takes longer than its caller waits is canceled, and its connection remains: a storm of them opens no
// other connection, nor is one left in a transaction. The caller is told that its time was over.
func TestLateStatementsKeepTheirConnections(t *testing.T) {
	t.Parallel()

	const conns = 4
	pool := connected(t, dbtest.New(t).Config().ConnString(), conns, db.CancelWithin(time.Minute))
	opened := pool.Stat().NewConnsCount()
	for name, ask := range late {
		var storm errgroup.Group
		for range 3 * conns { // some of them do not even get a connection
			storm.Go(func() error {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				defer cancel()
				if err := ask(ctx, pool); !errors.Is(err, context.DeadlineExceeded) {
					return fmt.Errorf("%s: %v", name, err)
				}
				return nil
			})
		}
		require.NoError(t, storm.Wait())
		ctx, cancel := context.WithCancel(t.Context())
		left := time.AfterFunc(100*time.Millisecond, cancel)
		require.ErrorIs(t, ask(ctx, pool), context.Canceled, name)
		left.Stop()
		cancel()
	}
	require.Equal(t, opened, pool.Stat().NewConnsCount())
	require.EqualValues(t, conns, pool.Stat().TotalConns())
}

// The request to cancel a statement that ends by itself just then does not cancel the next one of its connection.
func TestLateCancelsHitNoOther(t *testing.T) {
	t.Parallel()

	pool := connected(t, dbtest.New(t).Config().ConnString(), 1, db.CancelWithin(time.Minute))
	opened := pool.Stat().NewConnsCount()
	canceled := 0
	for i := range 300 {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		_, err := pool.Exec(ctx, "SELECT pg_sleep($1)", 0.001+float64(i%20)/10_000)
		cancel()
		if err != nil {
			canceled++
		}
		_, err = pool.Exec(t.Context(), "SELECT pg_sleep(0.002)")
		require.NoError(t, err, i)
	}
	t.Logf("%d of 300 were canceled", canceled)
	require.Equal(t, opened, pool.Stat().NewConnsCount())
}

// A server that does not acknowledge a request to cancel may still act on it: nobody gets that connection.
func TestUnansweredCancelsCloseTheConnection(t *testing.T) {
	t.Parallel()

	var silent atomic.Bool
	within := db.CancelWithin(3 * time.Second)
	pool := connected(t, dbtest.New(t).Config().ConnString(), 1, within, func(conf *pgxpool.Config) {
		dial := conf.ConnConfig.DialFunc
		conf.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			if !silent.Load() {
				return dial(ctx, network, address)
			}
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, far) }() // ends with near
			return near, nil
		}
	})
	opened := pool.Stat().NewConnsCount()
	silent.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := pool.Exec(ctx, "SELECT pg_sleep(0.6)") // ends by itself
	require.NoError(t, err)
	silent.Store(false)
	_, err = pool.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
	require.Equal(t, opened+1, pool.Stat().NewConnsCount())
}

// A server that hangs does not cancel: the caller waits little longer than it wanted to, and the connection is closed.
func TestHungServersAreLeft(t *testing.T) {
	t.Parallel()

	var hung atomic.Bool
	pool := connected(t, dbtest.New(t).Config().ConnString(), 2, func(conf *pgxpool.Config) {
		dial := conf.ConnConfig.DialFunc
		conf.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return &deaf{Conn: conn, is: &hung}, err
		}
	})
	hung.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- late["transaction"](ctx, pool) }()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.DeadlineExceeded)
	case <-time.After(servicetest.Patience()):
		t.Fatal("it waits for the server")
	}
	hung.Store(false)
	_, err := pool.Exec(t.Context(), "SELECT 1")
	require.NoError(t, err)
}

// A commit that waits for a synchronous standby until its caller's time is over is no success: the standby does not
// have it. Postgres says so by a warning only.
func TestUnconfirmedCommitsAreNoSuccess(t *testing.T) {
	t.Parallel()

	const url = "postgres://me@127.0.0.1/it?sslmode=disable&default_query_exec_mode=simple_protocol"
	canceled := make(chan struct{}, 1)
	pool, err := db.Open(t.Context(), url, 1, func(conf *pgxpool.Config) {
		conf.ConnConfig.DialFunc = func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { // ends with near
				defer func() { _ = far.Close() }()
				_ = unsure(pgproto3.NewBackend(far, far), canceled)
			}()
			return near, nil
		}
	})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	for name, commit := range map[string]func(ctx context.Context) error{
		"statement": func(ctx context.Context) error {
			_, err := pool.Exec(ctx, "COMMIT")
			return err
		},
		"transaction": func(ctx context.Context) error {
			err := db.Tx(ctx, pool, func(pgx.Tx) error { return nil })
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return err
		},
		"batch": func(ctx context.Context) error {
			b := new(pgx.Batch)
			b.Queue("COMMIT")
			return db.Write(ctx, pool, b)
		},
	} {
		_, err := pool.Exec(t.Context(), "SELECT 1")
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		require.Error(t, commit(ctx), name)
		cancel()
	}
}

// unsure answers as Postgres does whose standby is away: a commit is over when it is to be canceled.
func unsure(server *pgproto3.Backend, canceled chan struct{}) error {
	started, err := server.ReceiveStartupMessage()
	if err != nil {
		return err
	}
	if _, cancels := started.(*pgproto3.CancelRequest); cancels {
		canceled <- struct{}{}
		return nil
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	server.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	server.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte("four")})
	for state := byte('I'); ; {
		server.Send(&pgproto3.ReadyForQuery{TxStatus: state})
		if err := server.Flush(); err != nil {
			return err
		}
		asked, err := server.Receive()
		if err != nil {
			return err
		}
		query, ok := asked.(*pgproto3.Query)
		if !ok {
			return nil
		}
		state = 'I'
		switch sql := strings.ToUpper(query.String); {
		case sql == "BEGIN":
			state = 'T'
		case strings.HasPrefix(sql, "COMMIT"):
			<-canceled
			server.Send(&pgproto3.NoticeResponse{Severity: "WARNING", Code: "01000", Routine: "SyncRepWaitForLSN"})
		}
		server.Send(&pgproto3.CommandComplete{CommandTag: []byte("DONE")})
	}
}

// deaf is a connection that sends nothing while its server hangs.
type deaf struct {
	net.Conn
	is *atomic.Bool
}

func (d *deaf) Write(b []byte) (int, error) {
	if d.is.Load() {
		return len(b), nil
	}
	return d.Conn.Write(b)
}

// The victim of a deadlock is tried again, as by a worker of another release that locks in another order: its error is
// of a class that passes.
func TestDeadlockPasses(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	var work errgroup.Group
	var met sync.WaitGroup
	met.Add(2)
	var victims atomic.Int32
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		work.Go(func() error {
			first := true
			for {
				err := db.Tx(context.Background(), pool, func(tx pgx.Tx) error {
					for i, n := range order {
						if _, err := tx.Exec(context.Background(), "SELECT pg_advisory_xact_lock($1)", n); err != nil {
							return err
						}
						if i == 0 && first {
							first = false
							met.Done()
							met.Wait()
						}
					}
					return nil
				})
				if err == nil {
					return nil
				}
				if victims.Add(1); fault.ClassOf(db.Refused(err)) != fault.Transient {
					return err
				}
			}
		})
	}
	require.NoError(t, work.Wait())
	require.EqualValues(t, 1, victims.Load())
}

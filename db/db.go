// Package db keeps Conveyor's state in Postgres. Each store is one system's tables; SQL stands in a constant right
// above its method and is prepared by a test. Times are arguments: nothing here reads a clock, but that leases and
// waits of the outbox end by the clock of Postgres.
package db

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// What a server or a client that hangs costs at most. Callers bound their statements by contexts, which is earlier; the
// limits of the session hold where the caller is gone: it then keeps no locks. A setting in the url takes precedence.
const (
	connectTimeout = 10 * time.Second
	hostTimeout    = 4 * time.Second // of each host, where the url names several; see hosts
	keepAlive      = 5 * time.Second // silence of a connection before it is probed, 3 times at intervals of 1 s
	silence        = 8 * time.Second // of a host that has something to acknowledge
)

var sessionLimits = map[string]string{
	"statement_timeout":                   "60s", // none of ours takes half of it; migrations have no limit
	"idle_in_transaction_session_timeout": "60s",
	"tcp_user_timeout":                    "30s", // answers that the client does not acknowledge
}

const sqlSessionLimits = `/* sqlSessionLimits */
SELECT set_config(name, value, false) FROM unnest($1::text[], $2::text[]) AS s(name, value)`

// isStandby is the refusal of a server that has become a standby: its connections are closed, so that the pool opens
// others with the primary. DATABASE_URL names several hosts then, and target_session_attrs=read-write.
const isStandby = "25006"

// limited makes the connections of conf end in time. The limits are no startup parameters, which PgBouncer refuses.
func limited(conf *pgxpool.Config) {
	timeout := cmp.Or(conf.ConnConfig.ConnectTimeout, connectTimeout)
	if conf.ConnConfig.ConnectTimeout == 0 && severalHosts(conf.ConnConfig) {
		timeout = hostTimeout
	}
	conf.ConnConfig.ConnectTimeout = timeout
	conf.ConnConfig.DialFunc = (&net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: keepAlive, Interval: time.Second, Count: 3},
		Control:         giveUp(silence),
	}).DialContext
	conf.ConnConfig.OnPgError = func(_ *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != isStandby && !strings.EqualFold(err.Severity, "FATAL")
	}
	var names, values []string
	for name, value := range sessionLimits {
		if _, given := conf.ConnConfig.RuntimeParams[name]; !given {
			names, values = append(names, name), append(values, value)
		}
	}
	conf.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		typed(conn.TypeMap())
		_, err := conn.Exec(ctx, sqlSessionLimits, names, values)
		return err
	}
	remember(conf)
}

// Pooled is for a url of a pooler that gives out a session for a transaction at a time, such as PgBouncer in
// transaction mode. Nothing is kept by a session then: no settings, whose place is the pooler's connect_query, and no
// prepared statements, which poolers before PgBouncer 1.21 mix up. Where the url has a default_query_exec_mode, that
// holds. Everything else here is the same: what transactions set ends with them, locks too.
func Pooled(conf *pgxpool.Config) {
	conf.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		typed(conn.TypeMap())
		return nil
	}
	if !strings.Contains(conf.ConnString(), "default_query_exec_mode=") {
		conf.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}

// severalHosts says whether a url names a second host, to which the pool goes when the first is away. A host is also
// tried twice, with TLS and without.
func severalHosts(conf *pgx.ConnConfig) bool {
	return slices.ContainsFunc(conf.Fallbacks, func(f *pgconn.FallbackConfig) bool {
		return f.Host != conf.Host || f.Port != conf.Port
	})
}

// Open returns a pool on the database at url with at most maxConns connections (0 = pgx's default). It does not wait
// for the server: a database that is down is an error of the first query. A statement takes a minute at most.
func Open(ctx context.Context, url string, maxConns int32, options ...Option) (*pgxpool.Pool, error) {
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read DATABASE_URL: %w", err)
	}
	if maxConns > 0 {
		conf.MaxConns = maxConns
	}
	limited(conf)
	canceling(conf, cancelWithin)
	for _, with := range options {
		with(conf)
	}
	return pgxpool.NewWithConfig(ctx, conf)
}

// Write sends b as one transaction: all of it is stored or nothing. Data that no column takes is fault.Invalid. Its
// outbox messages carry the trace of ctx.
func Write(ctx context.Context, pool *pgxpool.Pool, b *pgx.Batch) error {
	RememberTrace(ctx, b)
	return Refused(fault.Ended(ctx, pool.SendBatch(ctx, b).Close())) // a batch without BEGIN is one implicit transaction
}

const (
	checkViolation    = "23514"
	sequenceExhausted = "2200H" // not the fault of the data
)

// Refused gives err the class Invalid when Postgres rejected the data itself: a JSON escape that is no character, a
// number out of range, a nesting too deep, a value that a check forbids. An error that has a class keeps it.
func Refused(err error) error {
	var pg *pgconn.PgError
	var classed *fault.Error
	if !errors.As(err, &pg) || errors.As(err, &classed) {
		return err
	}
	if pg.Code == "21000" || pg.Code == checkViolation ||
		strings.HasPrefix(pg.Code, "22") && pg.Code != sequenceExhausted || strings.HasPrefix(pg.Code, "54") {
		return fault.Newf(fault.Invalid, "body: postgres cannot store it: %s: %s (%w)", pg.Message, pg.Detail, err)
	}
	return err
}

// JSON writes a document that is to be stored. One that cannot be written, as with a number that is none (NaN), never
// can: fault.Invalid.
func JSON(v any) ([]byte, error) {
	doc, err := json.Marshal(v)
	if err != nil {
		return nil, &fault.Error{Class: fault.Invalid, Err: err}
	}
	return doc, nil
}

// A Querier is a pool, or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// Rows returns the rows of a statement.
func Rows[T any](ctx context.Context, q Querier, scan pgx.RowToFunc[T], text string, args ...any) ([]T, error) {
	rows, _ := q.Query(ctx, text, args...) // CollectRows reports its error
	out, err := pgx.CollectRows(rows, scan)
	return out, fault.Ended(ctx, err)
}

// RowsUpTo is Rows until they have enough bytes, as they come from Postgres. more says that there are others: these are
// read, each in the place of the one before it, and forgotten.
func RowsUpTo[T any](ctx context.Context, q Querier, enough int, scan pgx.RowToFunc[T], text string, args ...any) (
	out []T, more bool, err error,
) {
	rows, _ := q.Query(ctx, text, args...) // Err reports its error
	out, more, err = collectUpTo(rows, enough, scan)
	return out, more, fault.Ended(ctx, err)
}

func collectUpTo[T any](rows pgx.Rows, enough int, scan pgx.RowToFunc[T]) (out []T, more bool, err error) {
	defer rows.Close()
	out = []T{}
	for had := 0; rows.Next(); {
		if had >= enough {
			more = true
			break
		}
		row, err := scan(rows)
		if err != nil {
			return nil, false, err
		}
		out = append(out, row)
		for _, column := range rows.RawValues() {
			had += len(column)
		}
	}
	rows.Close()
	return out, more, rows.Err()
}

// Row returns the one row of a statement; where there is none, pgx.ErrNoRows.
func Row[T any](ctx context.Context, q Querier, scan pgx.RowToFunc[T], text string, args ...any) (T, error) {
	rows, _ := q.Query(ctx, text, args...) // CollectExactlyOneRow reports its error
	out, err := pgx.CollectExactlyOneRow(rows, scan)
	return out, fault.Ended(ctx, err)
}

// Gone is the fault of this text where err is that there is no such row, and else err.
func Gone(err error, format string, args ...any) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return fault.Newf(fault.Gone, format, args...)
	}
	return err
}

// Stated turns a zero value into NULL.
func Stated[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// Some is a list, empty instead of nil, which would be NULL.
func Some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Among are the values that a filter takes any of: nil, which is NULL, where it does not filter.
//
// A statement takes them as text[]. Where an index may begin with the column, one value is an =, for only that leaves
// the rest of the index in its order: any array, of one value, too, is sorted. The planner knows the values, and leaves
// of such a CASE what holds:
//
//	CASE WHEN $1::text[] IS NULL THEN true WHEN cardinality($1) = 1 THEN state = $1[1] ELSE state = ANY ($1) END
func Among[T ~string](values []T) []string {
	var texts []string
	for _, v := range values {
		texts = append(texts, string(v))
	}
	return texts
}

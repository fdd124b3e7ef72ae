// Package db keeps Conveyor's state in Postgres. Each store is one system's tables; SQL stands in a constant right
// above its method and is prepared by a test. Times are arguments: nothing here reads a clock.
package db

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Open returns a pool on the database at url with at most maxConns connections (0 = pgx's default). It does not wait
// for the server: a database that is down is an error of the first query.
func Open(ctx context.Context, url string, maxConns int32, options ...Option) (*pgxpool.Pool, error) {
	conf, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read DATABASE_URL: %w", err)
	}
	if maxConns > 0 {
		conf.MaxConns = maxConns
	}
	for _, with := range options {
		with(conf)
	}
	return pgxpool.NewWithConfig(ctx, conf)
}

// write sends b as one transaction: all of it is stored or nothing. Data that no column takes is fault.Invalid. Its
// outbox messages carry the trace of ctx.
func write(ctx context.Context, pool *pgxpool.Pool, b *pgx.Batch) error {
	rememberTrace(ctx, b)
	return refused(pool.SendBatch(ctx, b).Close()) // a batch without BEGIN is one implicit transaction
}

const checkViolation = "23514"

// refused gives err the class Invalid when Postgres rejected the data itself: a JSON escape that is no character, a
// number out of range, a nesting too deep, a value that a check forbids.
func refused(err error) error {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return err
	}
	if pg.Code == "21000" || pg.Code == checkViolation || strings.HasPrefix(pg.Code, "22") ||
		strings.HasPrefix(pg.Code, "54") {
		return fault.Newf(fault.Invalid, "body: postgres cannot store it: %s: %s (%w)", pg.Message, pg.Detail, err)
	}
	return err
}

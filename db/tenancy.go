package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// The tables of outreach have policies: a transaction sees the rows of the tenant in its setting conveyor.tenant, all
// of them when that is everyTenant, and none without it. It holds until the end of the transaction, so that a
// connection comes back to the pool without it. The functions below are the only ones that set it.

// everyTenant is the setting of the system itself: schedulers, relays, retention, metrics. No request has it.
const everyTenant = "*"

const sqlTenant = `/* sqlTenant */ SELECT set_config('conveyor.tenant', $1, true)`

// TenantTx runs do in a transaction that sees the rows of one tenant. An ID that no tenant can have is fault.Gone; that
// of no tenant sees nothing. Data that no column takes is fault.Invalid: it would be tried for ever.
func TenantTx(ctx context.Context, pool *pgxpool.Pool, tenant string, do func(tx pgx.Tx) error) error {
	if !access.IsTenant(tenant) {
		return fault.Newf(fault.Gone, "there is no tenant %.80q", tenant)
	}
	return settingTx(ctx, pool, tenant, do)
}

// SystemTx runs do in a transaction that sees the rows of all tenants.
func SystemTx(ctx context.Context, pool *pgxpool.Pool, do func(tx pgx.Tx) error) error {
	return settingTx(ctx, pool, everyTenant, do)
}

func settingTx(ctx context.Context, pool *pgxpool.Pool, tenant string, do func(tx pgx.Tx) error) error {
	// Begin and set in one round trip. The tenant is a slug or a star, so there is nothing to escape.
	begin := "BEGIN; SELECT set_config('conveyor.tenant', '" + tenant + "', true)"
	return Refused(TxWith(ctx, pool, pgx.TxOptions{BeginQuery: begin}, do))
}

// SQLTenantStands is a condition of the statements that store something new of the tenant of their transaction: nothing
// of one that is erased, behind which the erasure may be over. Where one stores nothing, TenantStands says why.
const SQLTenantStands = `EXISTS (
    SELECT FROM tenants WHERE id = current_setting('conveyor.tenant', true) AND NOT erasing)`

const sqlTenantErasing = `/* sqlTenantErasing */ SELECT erasing FROM tenants WHERE id = $1`

// TenantStands refuses, as fault.Gone, a tenant that is not there, or is erased.
func TenantStands(ctx context.Context, tx pgx.Tx, tenant string) error {
	var erasing bool
	switch err := tx.QueryRow(ctx, sqlTenantErasing, tenant).Scan(&erasing); {
	case errors.Is(err, pgx.ErrNoRows):
		return fault.Newf(fault.Gone, "there is no tenant %.80q", tenant)
	case err != nil:
		return err
	case erasing:
		return fault.Newf(fault.Gone, "the tenant %q is erased", tenant)
	}
	return nil
}

// TenantWrite sends b as one transaction of a tenant: all of it is stored or nothing. Data that no column takes is
// fault.Invalid. It is a single round trip.
func TenantWrite(ctx context.Context, pool *pgxpool.Pool, tenant string, b *pgx.Batch) error {
	if !access.IsTenant(tenant) {
		return fault.Newf(fault.Gone, "there is no tenant %.80q", tenant)
	}
	return settingWrite(ctx, pool, tenant, b)
}

// SystemWrite sends b as one transaction over the rows of all tenants.
func SystemWrite(ctx context.Context, pool *pgxpool.Pool, b *pgx.Batch) error {
	return settingWrite(ctx, pool, everyTenant, b)
}

func settingWrite(ctx context.Context, pool *pgxpool.Pool, tenant string, b *pgx.Batch) error {
	first := new(pgx.Batch)
	first.Queue(sqlTenant, tenant)
	b.QueuedQueries = append(first.QueuedQueries, b.QueuedQueries...)
	return Write(ctx, pool, b)
}

// TenantRows returns the rows of a statement that sees those of one tenant. It is a single round trip.
func TenantRows[T any](ctx context.Context, pool *pgxpool.Pool, tenant string, scan pgx.RowToFunc[T], text string,
	args ...any) ([]T, error) {
	if !access.IsTenant(tenant) {
		return nil, fault.Newf(fault.Gone, "there is no tenant %.80q", tenant)
	}
	return settingRows(ctx, pool, tenant, scan, text, args...)
}

// TenantRowsUpTo is TenantRows until they have enough bytes, as RowsUpTo.
func TenantRowsUpTo[T any](ctx context.Context, pool *pgxpool.Pool, tenant string, enough int, scan pgx.RowToFunc[T],
	text string, args ...any) (out []T, more bool, err error) {
	if !access.IsTenant(tenant) {
		return nil, false, fault.Newf(fault.Gone, "there is no tenant %.80q", tenant)
	}
	err = settingQuery(ctx, pool, tenant, func(rows pgx.Rows) (err error) {
		out, more, err = collectUpTo(rows, enough, scan)
		return err
	}, text, args...)
	return out, more, err
}

// SystemRows returns the rows of a statement that sees those of all tenants.
func SystemRows[T any](ctx context.Context, pool *pgxpool.Pool, scan pgx.RowToFunc[T], text string, args ...any) (
	[]T, error,
) {
	return settingRows(ctx, pool, everyTenant, scan, text, args...)
}

func settingRows[T any](ctx context.Context, pool *pgxpool.Pool, tenant string, scan pgx.RowToFunc[T], text string,
	args ...any) (out []T, err error) {
	err = settingQuery(ctx, pool, tenant, func(rows pgx.Rows) (err error) {
		out, err = pgx.CollectRows(rows, scan)
		return err
	}, text, args...)
	return out, err
}

func settingQuery(ctx context.Context, pool *pgxpool.Pool, tenant string, take func(pgx.Rows) error, text string,
	args ...any) error {
	b := new(pgx.Batch)
	b.Queue(sqlTenant, tenant)
	b.Queue(text, args...).Query(take)
	return fault.Ended(ctx, pool.SendBatch(ctx, b).Close())
}

// One is the only row of rows; pgx.ErrNoRows when there is none.
func One[T any](rows []T, err error) (row T, _ error) {
	switch {
	case err != nil:
		return row, err
	case len(rows) == 0:
		return row, pgx.ErrNoRows
	}
	return rows[0], nil
}

// Violates says whether err has a code such as UniqueViolation, and is by a constraint; "" = by any, or by none.
func Violates(err error, code, constraint string) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == code && (constraint == "" || pg.ConstraintName == constraint)
}

const sqlRoleSeesAll = `/* sqlRoleSeesAll */
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1 AND (rolsuper OR rolbypassrls))`

// RoleSeesAll says whether a role of the database sees the rows of all tenants whatever the setting: policies do not
// hold for a superuser, nor with BYPASSRLS. Then only the WHERE of each statement keeps tenants apart.
func RoleSeesAll(ctx context.Context, pool *pgxpool.Pool, role string) (all bool, err error) {
	err = pool.QueryRow(ctx, sqlRoleSeesAll, role).Scan(&all)
	return all, err
}

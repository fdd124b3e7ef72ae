package db_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// under runs do in a transaction with a setting of conveyor.tenant, and takes it back.
func under(t *testing.T, pool *pgxpool.Pool, tenant string, do func(ctx context.Context, tx pgx.Tx)) {
	t.Helper()

	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	_, err = tx.Exec(t.Context(), "SELECT set_config('conveyor.tenant', $1, true)", tenant)
	require.NoError(t, err)
	do(t.Context(), tx)
}

// Without any WHERE, a transaction of a tenant sees and changes nothing of another, and one without a tenant nothing at
// all; so does the next one on a connection that was a tenant's.
func TestTenancy(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.Unreferred(t, pool)
	rows, _ := pool.Query(ctx, `SELECT relname FROM pg_class c
		WHERE relkind = 'r' AND relrowsecurity AND relforcerowsecurity AND relnamespace = 'public'::regnamespace ORDER BY 1`)
	guarded, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	rows, _ = pool.Query(ctx, `SELECT table_name FROM information_schema.columns
		WHERE column_name = 'tenant' AND table_schema = 'public' AND table_name NOT IN ('outbox', 'api_keys', 'dead_letters')`)
	named, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Subset(t, guarded, named, "a table with a tenant has a policy")
	var covered []string
	for table := range dbtest.TenantRow {
		covered = append(covered, table)
	}
	slices.Sort(covered)
	require.Equal(t, guarded, covered, "each table with a policy has a row in this test")

	for n, tenant := range []string{"acme", "umbrella"} {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
			for _, table := range append([]string{"tenants"}, covered...) { // the others refer to it
				if err == nil {
					_, err = tx.Exec(ctx, "INSERT INTO "+table+" "+dbtest.TenantRow[table]+" ON CONFLICT DO NOTHING", tenant, fmt.Sprint(n+1))
				}
			}
			return err
		})
		require.NoError(t, err)
	}
	count := func(ctx context.Context, tx pgx.Tx, sql string) (n int) {
		require.NoError(t, tx.QueryRow(ctx, sql).Scan(&n), sql)
		return n
	}
	for _, table := range covered {
		column, seen := "tenant", 1
		switch table {
		case "tenants":
			column = "id"
		case "webhook_events": // no tenant reads them
			column, seen = "'umbrella'", 0
		}
		under(t, pool, "acme", func(ctx context.Context, tx pgx.Tx) {
			require.Equal(t, seen, count(ctx, tx, "SELECT count(*) FROM "+table), table)
			require.Zero(t, count(ctx, tx, "SELECT count(*) FROM "+table+" WHERE "+column+" = 'umbrella'"), table)
			tag, err := tx.Exec(ctx, "UPDATE "+table+" SET "+first(table)+" WHERE "+column+" = 'umbrella'")
			require.NoError(t, err, table)
			require.Zero(t, tag.RowsAffected(), table)
			tag, err = tx.Exec(ctx, "DELETE FROM "+table+" WHERE "+column+" = 'umbrella'")
			require.NoError(t, err, table)
			require.Zero(t, tag.RowsAffected(), table)
			_, err = tx.Exec(ctx, "SAVEPOINT s")
			require.NoError(t, err)
			_, err = tx.Exec(ctx, "INSERT INTO "+table+" "+dbtest.TenantRow[table], "initech", "9")
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg, table)
			require.Equal(t, "42501", pg.Code, "%s: a row of another tenant is refused: %s", table, pg.Message)
			_, err = tx.Exec(ctx, "ROLLBACK TO s")
			require.NoError(t, err)
		})
		for _, none := range []string{"", "acm", "acme ", "%", "nobody"} {
			under(t, pool, none, func(ctx context.Context, tx pgx.Tx) {
				require.Zero(t, count(ctx, tx, "SELECT count(*) FROM "+table), "%s as %q", table, none)
			})
		}
		var n int
		for range 10 { // every connection of the pool
			require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&n))
			require.Zero(t, n, "%s without a tenant", table)
		}
		under(t, pool, "*", func(ctx context.Context, tx pgx.Tx) {
			require.Equal(t, 2, count(ctx, tx, "SELECT count(*) FROM "+table), table)
		})
	}
}

// A transaction that Postgres refuses for its data is fault.Invalid, and one that has a class keeps it.
func TestTenantTxRefused(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	for _, value := range []string{"a\x00", "\xff"} {
		do := func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT $1::text", value)
			return err
		}
		for _, err := range []error{db.TenantTx(ctx, pool, "acme", do), db.SystemTx(ctx, pool, do)} {
			require.Equal(t, fault.Invalid, fault.ClassOf(err))
		}
		err := db.TenantTx(ctx, pool, "acme", func(tx pgx.Tx) error { return fault.Newf(fault.Gone, "%w", do(tx)) })
		require.Equal(t, fault.Gone, fault.ClassOf(err))
	}
}

// first is an assignment that changes nothing.
func first(table string) string {
	switch table {
	case "tenants":
		return "name = name"
	case "webhook_events":
		return "body = body"
	}
	return "tenant = tenant"
}

func TestTenants(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := db.NewTenants(pool)
	most := int64(1000)
	acme := dbtest.NewTenant(t, pool, "acme", func(t *db.Tenant) { t.MaxContacts = &most })
	dbtest.NewTenant(t, pool, "umbrella", func(t *db.Tenant) { t.Region = "" })
	made, err := s.Get(ctx, "acme")
	require.NoError(t, err)
	acme.Quotas, acme.MaxMessagesDay = made.Quotas, made.MaxMessagesDay // the defaults
	require.Equal(t, int64(1_000_000), *made.MaxMessagesDay)
	require.Equal(t, most, *made.MaxContacts)
	require.Equal(t, fault.Conflict, fault.ClassOf(s.Create(ctx, acme, "test")))
	for _, change := range []func(*db.Tenant){
		func(t *db.Tenant) { t.ID = "*" }, func(t *db.Tenant) { t.ID = "a'; DROP TABLE x; --" },
		func(t *db.Tenant) { t.Name = "" }, func(t *db.Tenant) { t.Name = "a\x00b" }, func(t *db.Tenant) { t.Tier = "gold" },
		func(t *db.Tenant) { t.Region = "ca" }, func(t *db.Tenant) { t.MaxContacts = new(int64(-1)) },
	} {
		wrong := acme
		wrong.ID = "other"
		change(&wrong)
		require.Equal(t, fault.Invalid, fault.ClassOf(s.Create(ctx, wrong, "test")), "%+v", wrong)
	}

	got, err := s.Get(ctx, "acme")
	require.NoError(t, err)
	acme.State, acme.UpdatedAt = db.TenantActive, acme.CreatedAt
	require.Equal(t, acme, got)
	for _, id := range []string{"nobody", "*", "", "acme'"} {
		_, err = s.Get(ctx, id)
		require.Equal(t, fault.Gone, fault.ClassOf(err), id)
		_, err = s.Change(ctx, id, "me", dbtest.At(1), func(*db.Tenant) {})
		require.Equal(t, fault.Gone, fault.ClassOf(err), id)
	}

	list, next, err := s.List(ctx, "", 1)
	require.NoError(t, err)
	require.Equal(t, []db.Tenant{acme}, list)
	list, next, err = s.List(ctx, *next, 1)
	require.NoError(t, err)
	require.Nil(t, next)
	require.Equal(t, "umbrella", list[0].ID)
	require.Equal(t, int64(10_000_000), *list[0].MaxContacts)

	_, err = s.Change(ctx, "acme", "me", dbtest.At(1), func(t *db.Tenant) { t.Tier, t.MaxContacts = campaign.Enterprise, nil })
	require.NoError(t, err)
	_, err = s.Change(ctx, "acme", "me", dbtest.At(2), func(*db.Tenant) {})
	require.NoError(t, err)
	_, err = s.Change(ctx, "acme", "me", dbtest.At(2), func(t *db.Tenant) { t.Tier = "gold" })
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	_, err = s.Change(ctx, "acme", "me", dbtest.At(3), func(t *db.Tenant) { t.State, t.StoppedReason = db.TenantStopped, "unpaid" })
	require.NoError(t, err)
	got, err = s.Change(ctx, "acme", "me", dbtest.At(4), func(t *db.Tenant) { t.State, t.ID = db.TenantActive, "umbrella" })
	require.NoError(t, err)
	acme.Tier, acme.MaxContacts, acme.UpdatedAt = campaign.Enterprise, nil, dbtest.At(4)
	require.Equal(t, acme, got)
	got, err = s.Get(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, acme, got)
	require.Equal(t, []string{"tenant.created", "tenant.changed", "tenant.stopped", "tenant.resumed"},
		dbtest.Audited(t, pool, "tenant/acme"))
}

func TestKeysOfTenants(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	s := db.NewKeys(pool)
	k := db.Key{ID: "aaaaaaaa", Name: "acme-ci", Role: access.Operate, Tenant: "acme", CreatedAt: dbtest.At(0), CreatedBy: "me"}
	require.NoError(t, s.Create(ctx, k, access.SumOf("1")))
	other := k
	other.ID, other.Name, other.Tenant = "bbbbbbbb", "b", "nobody"
	require.Equal(t, fault.Invalid, fault.ClassOf(s.Create(ctx, other, access.SumOf("2"))))
	locks, err := s.Locks(ctx)
	require.NoError(t, err)
	require.Len(t, locks, 1)
	require.Equal(t, k, locks["aaaaaaaa"].Key)
}

// The role of the application is under the policies; that of a superuser is not.
func TestRoleSeesAll(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	var super string
	require.NoError(t, pool.QueryRow(ctx, "SELECT rolname FROM pg_roles WHERE rolsuper LIMIT 1").Scan(&super))
	for role, want := range map[string]bool{pool.Config().ConnConfig.User: false, super: true, "nobody-of-this-name": false} {
		got, err := db.RoleSeesAll(ctx, pool, role)
		require.NoError(t, err)
		require.Equal(t, want, got, role)
	}
}

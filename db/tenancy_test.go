package db_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

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

// tenantRow makes a row of each table of outreach for a tenant: its columns and their values, which have the tenant as
// $1 and a number of the tenant as $2. webhook_events are of no tenant.
var tenantRow = map[string]string{
	"tenants": "(id, name, tier, created_at, updated_at) SELECT $1, $2::text, 'standard', now(), now()",
	"senders": `(id, tenant, name, phone_number_id, business_account_id, token, token_key, created_at, updated_at)
		SELECT gen_random_uuid(), $1, 'n', $2::text, '1', '', 'k', now(), now()`,
	"contacts":             `(tenant, key, digest, created_at, updated_at) SELECT $1, $2::text, '', now(), now()`,
	"contact_lists":        `(id, tenant, name, created_at) SELECT gen_random_uuid(), $1, $2::text, now()`,
	"contact_list_members": `(tenant, list, contact) SELECT $1, gen_random_uuid(), $2::text::int`,
	"segments": `(id, tenant, name, filter, created_at, updated_at)
		SELECT gen_random_uuid(), $1, $2::text, '{}', now(), now()`,
	"opt_outs": `(tenant, digest, source, at) SELECT $1, $2::text::bytea, 'api', now()`,
	"opt_ins":  `(tenant, digest, at) SELECT $1, $2::text::bytea, now()`,
	"uploads": `(id, tenant, file_name, blob, bytes, sha256, created_by, created_at)
		SELECT gen_random_uuid(), $1, $2::text, 'b', 1, '', 'me', now()`,
	"upload_chunks": `(tenant, upload, n, byte_offset, byte_length, first_row, first_line, lines, rows, created_at)
		SELECT $1, gen_random_uuid(), $2::text::int, 0, 1, 1, 1, 1, 1, now()`,
	"upload_keys": `(tenant, upload, key) SELECT $1, gen_random_uuid(), md5($2)::uuid`,
	"upload_errors": `(tenant, upload, row, line, problems, record)
		SELECT $1, gen_random_uuid(), $2::text::int, 1, '[]', '{}'`,
	"campaigns": `(id, tenant, name, sender, template, audience, created_by, created_at, updated_at)
		SELECT gen_random_uuid(), $1, $2::text, gen_random_uuid(), '{}', '{}', 'me', now(), now()`,
	"messages": `(id, tenant, sender, due_at, queued_at, kind, digest, recipient, body)
		SELECT gen_random_uuid(), $1, gen_random_uuid(), now(), now(), 'campaign', '', $2::text, '{}'`,
	"message_attempts": `(tenant, message, n, took_ms, at, outcome)
		SELECT $1, gen_random_uuid(), $2::text::int, 0, now(), 'sent'`,
	"message_days":   `(tenant, day, n) SELECT $1, '2026-01-01', $2::text::int`,
	"webhook_events": `(received_at, digest, body) SELECT now(), ($1 || $2::text)::bytea, ''`,
	"saved_searches": `(id, tenant, name, filter, kinds, schedule, state, since, created_at, updated_at)
		SELECT gen_random_uuid(), $1, $2::text, '{}', '{new}', '{}', 'active', now(), now(), now()`,
	"saved_targets": `(id, tenant, search, kind, label, token, created_at, updated_at)
		SELECT gen_random_uuid(), $1, gen_random_uuid(), 'feed', '', $2::text::bytea, now(), now()`,
	"saved_matches": `(tenant, search, event, listing, kind, rent_cents, at)
		SELECT $1, gen_random_uuid(), $2::text::int, gen_random_uuid(), 'new', 1, now()`,
	"saved_deliveries": `(id, tenant, target, due_at, reason) SELECT gen_random_uuid(), $1, gen_random_uuid(), now(), $2::text`,
	"saved_asks":       `(tenant, since, asked) SELECT $1, now(), $2::text::int`,
	"saved_told":       `(tenant, day, n) SELECT $1, '2026-01-01', $2::text::int`,
	"tenant_erasures":  `(tenant, requested_at, requested_by) SELECT $1, now(), $2::text`,
	"saved_items": `(tenant, target, event, search, delivery)
		SELECT $1, gen_random_uuid(), $2::text::int, gen_random_uuid(), gen_random_uuid()`,
}

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
	dbtest.Alter(t, pool, `DO $$
		DECLARE c record;
		BEGIN
			FOR c IN SELECT conrelid::regclass AS t, conname FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text ~ '^saved_'
			LOOP EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', c.t, c.conname); END LOOP;
		END $$`) // the rows below refer to nothing
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
	for table := range tenantRow {
		covered = append(covered, table)
	}
	slices.Sort(covered)
	require.Equal(t, guarded, covered, "each table with a policy has a row in this test")

	for n, tenant := range []string{"acme", "umbrella"} {
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
			for _, table := range append([]string{"tenants"}, covered...) { // the others refer to it
				if err == nil {
					_, err = tx.Exec(ctx, "INSERT INTO "+table+" "+tenantRow[table]+" ON CONFLICT DO NOTHING", tenant, fmt.Sprint(n+1))
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
			_, err = tx.Exec(ctx, "INSERT INTO "+table+" "+tenantRow[table], "initech", "9")
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

// at is a time of these tests.
func at(minutes int) time.Time {
	return time.Date(2026, 11, 22, 12, minutes, 0, 0, time.UTC).Local() // as pgx returns it
}

// newTenant makes a tenant.
func newTenant(t testing.TB, pool *pgxpool.Pool, id string, change ...func(*db.Tenant)) db.Tenant {
	t.Helper()

	tenant := db.Tenant{ID: id, Name: id + " Inc.", Tier: campaign.Standard, Region: "CA", CreatedAt: at(0)}
	for _, c := range change {
		c(&tenant)
	}
	require.NoError(t, db.NewTenants(pool).Create(t.Context(), tenant, "test"))
	return tenant
}

func class(err error) fault.Class {
	c, _ := fault.Of(err)
	return c
}

// audited are the actions on a subject, oldest first.
func audited(t *testing.T, pool *pgxpool.Pool, subject string) (actions []string) {
	t.Helper()

	list, _, err := db.NewAuditLog(pool).List(t.Context(), db.AuditFilter{Subject: subject}, nil, 100)
	require.NoError(t, err)
	for _, row := range slices.Backward(list) {
		actions = append(actions, row.Action)
	}
	return actions
}

func TestTenants(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	s := db.NewTenants(pool)
	most := int64(1000)
	acme := newTenant(t, pool, "acme", func(t *db.Tenant) { t.MaxContacts = &most })
	newTenant(t, pool, "umbrella", func(t *db.Tenant) { t.Region = "" })
	made, err := s.Get(ctx, "acme")
	require.NoError(t, err)
	acme.Quotas = made.Quotas // the defaults
	require.Equal(t, fault.Conflict, class(s.Create(ctx, acme, "test")))
	for _, change := range []func(*db.Tenant){
		func(t *db.Tenant) { t.ID = "*" }, func(t *db.Tenant) { t.ID = "a'; DROP TABLE x; --" },
		func(t *db.Tenant) { t.Name = "" }, func(t *db.Tenant) { t.Name = "a\x00b" }, func(t *db.Tenant) { t.Tier = "gold" },
		func(t *db.Tenant) { t.Region = "ca" }, func(t *db.Tenant) { t.MaxContacts = new(int64(-1)) },
	} {
		wrong := acme
		wrong.ID = "other"
		change(&wrong)
		require.Equal(t, fault.Invalid, class(s.Create(ctx, wrong, "test")), "%+v", wrong)
	}

	got, err := s.Get(ctx, "acme")
	require.NoError(t, err)
	acme.State, acme.UpdatedAt = db.TenantActive, acme.CreatedAt
	require.Equal(t, acme, got)
	for _, id := range []string{"nobody", "*", "", "acme'"} {
		_, err = s.Get(ctx, id)
		require.Equal(t, fault.Gone, class(err), id)
		_, err = s.Change(ctx, id, "me", at(1), func(*db.Tenant) {})
		require.Equal(t, fault.Gone, class(err), id)
	}

	list, next, err := s.List(ctx, "", 1)
	require.NoError(t, err)
	require.Equal(t, []db.Tenant{acme}, list)
	list, next, err = s.List(ctx, *next, 1)
	require.NoError(t, err)
	require.Nil(t, next)
	require.Equal(t, "umbrella", list[0].ID)

	_, err = s.Change(ctx, "acme", "me", at(1), func(t *db.Tenant) { t.Tier, t.MaxContacts = campaign.Enterprise, nil })
	require.NoError(t, err)
	_, err = s.Change(ctx, "acme", "me", at(2), func(*db.Tenant) {})
	require.NoError(t, err)
	_, err = s.Change(ctx, "acme", "me", at(2), func(t *db.Tenant) { t.Tier = "gold" })
	require.Equal(t, fault.Invalid, class(err))
	_, err = s.Change(ctx, "acme", "me", at(3), func(t *db.Tenant) { t.State, t.StoppedReason = db.TenantStopped, "unpaid" })
	require.NoError(t, err)
	got, err = s.Change(ctx, "acme", "me", at(4), func(t *db.Tenant) { t.State, t.ID = db.TenantActive, "umbrella" })
	require.NoError(t, err)
	acme.Tier, acme.MaxContacts, acme.UpdatedAt = campaign.Enterprise, nil, at(4)
	require.Equal(t, acme, got)
	got, err = s.Get(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, acme, got)
	require.Equal(t, []string{"tenant.created", "tenant.changed", "tenant.stopped", "tenant.resumed"},
		audited(t, pool, "tenant/acme"))
}

func TestKeysOfTenants(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	newTenant(t, pool, "acme")
	s := db.NewKeys(pool)
	k := db.Key{ID: "aaaaaaaa", Name: "acme-ci", Role: access.Operate, Tenant: "acme", CreatedAt: at(0), CreatedBy: "me"}
	require.NoError(t, s.Create(ctx, k, access.SumOf("1")))
	other := k
	other.ID, other.Name, other.Tenant = "bbbbbbbb", "b", "nobody"
	require.Equal(t, fault.Invalid, class(s.Create(ctx, other, access.SumOf("2"))))
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

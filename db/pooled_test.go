package db_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// tenantsWithSegments stores tenants that have one segment each, of their own name.
func tenantsWithSegments(t *testing.T, pool *pgxpool.Pool, ids ...string) {
	t.Helper()

	for _, id := range ids {
		require.NoError(t, db.NewTenants(pool).Create(t.Context(), db.Tenant{
			ID: id, Name: id, Tier: campaign.Standard, Region: "CA", CreatedAt: dbtest.Start,
		}, "test"))
		_, err := dboutreach.NewContacts(pool, nil).PutSegment(t.Context(), id, dboutreach.Segment{ID: uuid.New(), Name: id}, "test", dbtest.Start)
		require.NoError(t, err)
	}
}

// pooled says whether DATABASE_URL leads through PgBouncer.
func pooled() bool { return os.Getenv("DATABASE_LISTEN_URL") != "" }

// Sessions that tenants share, one transaction after another, show each tenant its own rows and others nothing: in the
// pool of this process, and among all processes where DATABASE_URL leads through PgBouncer (make test-pgbouncer).
func TestSharedSessionsKeepTenantsApart(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	tenantsWithSegments(t, pool, "acme", "umbrella")
	var lock sync.Mutex
	sessions := map[uint32]map[string]bool{} // which tenants had one, by the process of the server
	var work errgroup.Group
	for client := range 20 {
		work.Go(func() error {
			for turn := range 30 {
				tenant := []string{"acme", "umbrella", ""}[(client+turn)%3]
				session, err := onlyOwn(t.Context(), pool, tenant)
				if err != nil {
					return err
				}
				lock.Lock()
				if sessions[session] == nil {
					sessions[session] = map[string]bool{}
				}
				sessions[session][tenant] = true
				lock.Unlock()
			}
			return nil
		})
	}
	require.NoError(t, work.Wait())
	shared := 0
	for _, tenants := range sessions {
		if len(tenants) == 3 {
			shared++
		}
	}
	require.Positive(t, shared, "a session was that of both tenants and of none")

	conn, err := pgx.Connect(t.Context(), pool.Config().ConnString())
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var session uint32
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&session))
	require.Equal(t, pooled(), sessions[session] != nil, "a new connection has a session of others behind a pooler, only there")
}

// onlyOwn fails where a tenant sees anything but its own rows, or no tenant anything: by a batch that is one implicit
// transaction, as most statements of the stores are, and by a transaction, whose session it returns.
func onlyOwn(ctx context.Context, pool *pgxpool.Pool, tenant string) (session uint32, err error) {
	begin := "BEGIN"
	var want []string
	if tenant != "" {
		begin += "; SELECT set_config('conveyor.tenant', '" + tenant + "', true)"
		want = []string{tenant}
		list, err := dboutreach.NewContacts(pool, nil).Segments(ctx, tenant)
		if err != nil {
			return 0, err
		}
		if len(list) != 1 || list[0].Name != tenant {
			return 0, fmt.Errorf("tenant %q reads segments %v", tenant, list)
		}
	}
	return session, pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{BeginQuery: begin}, func(tx pgx.Tx) error {
		rows, _ := tx.Query(ctx, "SELECT name FROM segments")
		seen, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		if fmt.Sprint(seen) != fmt.Sprint(want) {
			return fmt.Errorf("tenant %q sees the segments of %q", tenant, seen)
		}
		return tx.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&session)
	})
}

// Behind a pooler a session is the next client's, so nothing stays on it: no setting, no prepared statement, no lock.
func TestPooledConnectionsLeaveNothing(t *testing.T) {
	t.Parallel()

	pool, err := db.Open(t.Context(), dbtest.Direct(t, dbtest.New(t)), 1, db.Pooled)
	require.NoError(t, err)
	defer pool.Close()
	tenantsWithSegments(t, pool, "acme")
	_, err = dboutreach.NewContacts(pool, nil).Segments(t.Context(), "acme")
	require.NoError(t, err)
	_, _, err = dblistings.NewListings(pool).Search(t.Context(), dblistings.ListingFilter{Text: "balcon", Limit: 5})
	require.NoError(t, err)
	var settings, statements, locks int
	var tenant string
	require.NoError(t, pool.QueryRow(t.Context(), `
		SELECT (SELECT count(*) FROM pg_settings WHERE source = 'session'), (SELECT count(*) FROM pg_prepared_statements),
			(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
			coalesce(current_setting('conveyor.tenant', true), '')`).Scan(&settings, &statements, &locks, &tenant))
	require.Zero(t, settings, "settings")
	require.Zero(t, statements, "prepared statements")
	require.Zero(t, locks, "locks")
	require.Empty(t, tenant)
}

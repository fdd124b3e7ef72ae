package outreach_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// Every table that has a column with a tenant is one that an erasure goes through, by its primary key, or says why rows
// stay.
func TestTenantTables(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	var known []string
	for _, table := range dboutreach.TenantTables() {
		if table.Name != "tenants" && table.Name != "outbox" { // these have it elsewhere
			known = append(known, table.Name+"."+table.Column)
		}
		rows, _ := pool.Query(ctx, `SELECT a.attname::text FROM pg_index i, unnest(i.indkey) WITH ORDINALITY k (n, place)
			JOIN pg_attribute a ON a.attnum = k.n
			WHERE i.indrelid = $1::regclass AND i.indisprimary AND a.attrelid = i.indrelid ORDER BY k.place`, table.Name)
		key, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(t, err)
		if table.Own && len(key) > 1 {
			require.Equal(t, table.Column, key[0], table.Name)
			key = key[1:]
		}
		require.Equal(t, key, table.Key, table.Name)
		conn, err := pool.Acquire(ctx)
		require.NoError(t, err)
		for _, text := range []string{table.Erase, table.Read} {
			_, err := conn.Conn().Prepare(ctx, "", text)
			require.NoError(t, err, text)
		}
		conn.Release()
	}
	slices.Sort(known)
	rows, _ := pool.Query(ctx, `SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
			AND NOT a.attisdropped AND (a.attname = 'tenant' OR a.attname LIKE '%\_tenant') ORDER BY 1`)
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	slices.Sort(there)
	require.Equal(t, there, known, "say in tenantTables how its rows are erased, or why they stay")
}

// keyOf is the API key of each tenant.
var keyOf = map[string]string{"acme": "aaaaaaaa", "umbrella": "bbbbbbbb"}

// filled is a database with rows of two tenants in each table, of which acme is stopped.
func filled(t *testing.T) *pgxpool.Pool {
	t.Helper()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.Unreferred(t, pool)
	keys := db.NewKeys(pool)
	for n, tenant := range []string{"acme", "umbrella"} {
		dbtest.NewTenant(t, pool, tenant)
		k := db.Key{ID: keyOf[tenant], Name: tenant, Role: access.Operate, Tenant: tenant, CreatedAt: dbtest.At(0), CreatedBy: "me"}
		require.NoError(t, keys.Create(ctx, k, access.SumOf(tenant)))
		err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
			for table, row := range dbtest.TenantRow {
				for i := range 20 {
					if err == nil && table != "tenants" && table != "tenant_erasures" && table != "webhook_events" {
						_, err = tx.Exec(ctx, "INSERT INTO "+table+" "+row+" ON CONFLICT DO NOTHING", tenant, fmt.Sprint(100*n+i+1))
					}
				}
			}
			if err == nil {
				_, err = tx.Exec(ctx, `INSERT INTO dead_letters (fingerprint, queue, exchange, routing_key, body, reason, class,
						workflow_id, message_id, first_at, last_at, tenant)
					SELECT sha256(($1 || n)::bytea), 'q', '', '', '', '', '', $1 || n, $1 || n, now(), now(), $1
					FROM generate_series(1, 20) n`, tenant)
			}
			if err == nil {
				_, err = tx.Exec(ctx, `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at, published_at)
					SELECT gen_random_uuid(), $1, 'listings.events', 'message.status', convert_to(CASE n % 3
							WHEN 0 THEN '{"event_id":"x","tenant":"' || $1 || '","data":{}}' ELSE '{"platform":"acme","data":{}}' END, 'UTF8'),
						now(), CASE n % 3 WHEN 2 THEN now() END
					FROM generate_series(1, 60) n`, tenant)
			}
			if err == nil {
				_, err = tx.Exec(ctx, `INSERT INTO sessions (sum, id, caller, key_id, key_sum, role, caller_tenant, created_at,
						used_at, ends_at)
					SELECT sha256(($1 || n)::bytea), gen_random_uuid(), 'oidc:x', '', '', 'read', $1, now(), now(), now()
					FROM generate_series(1, 20) n`, tenant)
			}
			if err == nil {
				_, err = tx.Exec(ctx, `UPDATE uploads SET copy_bytes = 5, blob = CASE WHEN file_name LIKE '%1' THEN '' ELSE blob END
					WHERE tenant = $1`, tenant)
			}
			return err
		})
		require.NoError(t, err)
	}
	_, err := db.NewTenants(pool).Change(ctx, "acme", "me", dbtest.At(1), func(t *db.Tenant) { t.State = db.TenantStopped })
	require.NoError(t, err)
	return pool
}

// holdings are the rows of a tenant, by table.
func holdings(t *testing.T, pool *pgxpool.Pool, tenant string) map[string]int64 {
	t.Helper()

	have := map[string]int64{}
	for _, table := range dboutreach.TenantTables() {
		n := number(t, pool, "SELECT count(*) FROM "+table.Name+" WHERE "+table.Column+" = $1", tenant)
		if n > 0 {
			have[table.Name] = int64(n)
		}
	}
	return have
}

// An erasure is killed in each of its statements, and what it leaves is what it says; the report counts each row once.
// Nothing of the other tenant is touched.
func TestEraseTenant(t *testing.T) {
	t.Parallel()

	pool, ctx := filled(t), t.Context()
	s := dboutreach.NewErasures(pool, nil)
	k := &killer{}
	part := dbtest.Part(t, pool, "listings").Config().ConnString()
	mortal, err := db.Open(ctx, part, 2, func(c *pgxpool.Config) { c.ConnConfig.Tracer = k })
	require.NoError(t, err)
	t.Cleanup(mortal.Close)
	dying := dboutreach.NewErasures(mortal, nil)

	had, other := holdings(t, pool, "acme"), holdings(t, pool, "umbrella")
	require.Len(t, had, len(dboutreach.TenantTables())-1, "rows in each table but that of erasures: %v", had)
	_, err = s.Request(ctx, "umbrella", "me", dbtest.At(2))
	require.Equal(t, fault.Conflict, fault.ClassOf(err), "it is active")
	_, err = s.Request(ctx, "nobody", "me", dbtest.At(2))
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	_, err = s.Get(ctx, "acme")
	require.Equal(t, fault.Gone, fault.ClassOf(err))
	require.Equal(t, had, holdings(t, pool, "acme"))

	asked := db.WithOrigin(ctx, db.Origin{Remote: "10.0.0.1", RequestID: "r1", KeyID: "k1"})
	e, err := s.Request(asked, "acme", "me", dbtest.At(2))
	require.NoError(t, err)
	again, err := s.Request(ctx, "acme", "other", dbtest.At(3))
	require.NoError(t, err)
	require.Equal(t, e, again, "a second request changes nothing")
	require.Equal(t, db.Origin{Remote: "10.0.0.1", RequestID: "r1", KeyID: "k1"}, e.Origin)
	require.Equal(t, "api_keys", e.Table)
	locks, err := db.NewKeys(pool).Locks(ctx)
	require.NoError(t, err)
	require.NotNil(t, locks[keyOf["acme"]].RevokedAt)
	require.Nil(t, locks[keyOf["umbrella"]].RevokedAt)
	_, err = db.NewTenants(pool).Change(ctx, "acme", "me", dbtest.At(3), func(t *db.Tenant) { t.State = db.TenantActive })
	require.Equal(t, fault.Conflict, fault.ClassOf(err))

	k2 := db.Key{ID: "cccccccc", Name: "late", Role: access.Read, Tenant: "acme", CreatedAt: dbtest.At(3), CreatedBy: "me"}
	require.Equal(t, fault.Invalid, fault.ClassOf(db.NewKeys(pool).Create(ctx, k2, access.SumOf("late"))))

	kills, calls := 0, 0
	for more := true; more; calls++ {
		for step := int64(1); ; step++ {
			if calls%5 > 0 { // the others are as these
				step = 1000
			}
			k.left.Store(step)
			more, err = dying.Erase(ctx, "acme", 7)
			if k.left.Load() > 0 {
				require.NoError(t, err, "after %d steps", step)
				break
			}
			require.Error(t, err)
			kills++
		}
		k.left.Store(0)
		e, err = s.Get(ctx, "acme")
		require.NoError(t, err)
		left := holdings(t, pool, "acme")
		for table, n := range had {
			if table != "api_keys" && table != "tenants" {
				require.Equal(t, n, left[table]+e.Rows[table], "%s: each row is there or counted", table)
			}
		}
	}
	require.Greater(t, kills, 20)
	require.Equal(t, 1, e.Passes)
	require.Equal(t, other, holdings(t, pool, "umbrella"))
	require.Equal(t, map[string]int64{"api_keys": 1, "tenants": 1, "tenant_erasures": 1}, holdings(t, pool, "acme"))
	kept := map[string]bool{}
	for _, table := range s.Kept() {
		require.NotEmpty(t, table.Why)
		kept[table.Table] = true
	}
	require.Equal(t, slices.Sorted(maps.Keys(kept)), slices.Sorted(maps.Keys(holdings(t, pool, "acme"))))
	events := func(of string) int {
		return number(t, pool, "SELECT count(*) FROM outbox WHERE strpos(convert_from(body, 'UTF8'), $1) > 0", of)
	}
	require.Zero(t, events(`"tenant":"acme"`))
	require.Equal(t, 80, events(`"platform":"acme"`), "a platform of its name is not the tenant")
	require.EqualValues(t, 18, e.Files, "two have none any more")
	require.EqualValues(t, 18*(1+5), e.Bytes)
	require.Equal(t, 1, number(t, pool, "SELECT count(*) FROM unused_blobs WHERE key = 'b' AND due_at < now()"))
	require.Equal(t, 20, number(t, pool, `SELECT count(*) FROM saved_changes c
		WHERE NOT EXISTS (SELECT FROM saved_searches s WHERE s.id = c.search)`), "matchers are told of each search")
	tombstone, err := db.NewTenants(pool).Get(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, []any{"erased", "", int64(0), db.TenantStopped, true},
		[]any{tombstone.Name, tombstone.Region, tombstone.Contacts, tombstone.State, tombstone.Erasing})
	require.Equal(t, fault.Conflict, fault.ClassOf(db.NewTenants(pool).Create(ctx, db.Tenant{
		ID: "acme", Name: "Acme", Tier: "standard", CreatedAt: dbtest.At(4),
	}, "me")), "its ID is not given out again")

	// What was written behind the first pass goes with the second one.
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
		if err == nil {
			_, err = tx.Exec(ctx, "INSERT INTO contacts "+dbtest.TenantRow["contacts"], "acme", "late")
		}
		return err
	})
	require.NoError(t, err)
	for more := true; more; {
		more, err = s.Erase(ctx, "acme", 1000)
		require.NoError(t, err)
	}
	require.Zero(t, holdings(t, pool, "acme")["contacts"])
	for range 2 {
		require.NoError(t, s.Finish(ctx, "acme", dbtest.At(20)))
	}
	e, err = s.Get(ctx, "acme")
	require.NoError(t, err)
	require.Equal(t, 2, e.Passes)
	require.Equal(t, had["contacts"]+1, e.Rows["contacts"])
	require.True(t, e.FinishedAt.Equal(dbtest.At(20)))
	require.Empty(t, e.Table)
	require.Equal(t, other, holdings(t, pool, "umbrella"))
	require.Equal(t, []string{"tenant.created", "tenant.stopped", "tenant.erasure_requested", "tenant.erased"},
		dbtest.Audited(t, pool, "tenant/acme"))
	more, err := s.Erase(ctx, "acme", 1000)
	require.NoError(t, err)
	require.False(t, more, "it has ended")
}

// What has a workflow is named in pages, of one tenant.
func TestTenantRuns(t *testing.T) {
	t.Parallel()

	pool, ctx := filled(t), t.Context()
	s := dboutreach.NewErasures(pool, nil)
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT set_config('conveyor.tenant', '*', true)")
		if err == nil {
			_, err = tx.Exec(ctx, "UPDATE uploads SET swept_at = now() WHERE file_name NOT LIKE '%5'")
		}
		if err == nil {
			_, err = tx.Exec(ctx, "UPDATE campaigns SET state = 'queued' WHERE name LIKE '%2'")
		}
		if err == nil {
			_, err = tx.Exec(ctx, "UPDATE campaigns SET state = 'done', started_at = now() WHERE name LIKE '%3'")
		}
		if err == nil {
			_, err = tx.Exec(ctx, "UPDATE saved_deliveries SET state = 'started' WHERE reason = '4'")
		}
		return err
	})
	require.NoError(t, err)
	kinds := map[string]int{}
	var after uuid.UUID
	for {
		var ids []string
		ids, after, err = s.Runs(ctx, "acme", after, 2)
		require.NoError(t, err)
		for _, id := range ids {
			kind, _, _ := strings.Cut(id, "/")
			kinds[kind]++
		}
		if after == uuid.Nil {
			break
		}
	}
	require.Equal(t, map[string]int{"campaign": 4, "import": 2, "notify": 1}, kinds)
}

// An export has each row of the tenant once, in steps of any size, and no secret.
func TestExportTenant(t *testing.T) {
	t.Parallel()

	pool, ctx := filled(t), t.Context()
	s := dboutreach.NewErasures(pool, nil)
	want := holdings(t, pool, "acme")
	for _, step := range []struct{ most, enough int }{{1000, 1 << 20}, {3, 1 << 20}, {1000, 1}} {
		got := map[string]int64{}
		for _, table := range s.Tables() {
			seen := map[string]bool{}
			for next, begun := "", false; !begun || next != ""; begun = true {
				var err error
				next, err = s.Read(ctx, "acme", table, next, step.most, step.enough, func(row string) {
					require.NotContains(t, row, "umbrella")
					require.False(t, seen[row], row)
					seen[row] = true
					got[table.Name]++
					var columns map[string]any
					require.NoError(t, json.Unmarshal([]byte(row), &columns))
					for _, hidden := range []string{"token", "sum", "key_sum", "box"} {
						require.NotContains(t, columns, hidden, table.Name)
					}
				})
				require.NoError(t, err)
			}
		}
		require.Equal(t, want, got, "%+v", step)
	}
	files, err := s.Files(ctx, "acme", uuid.Nil, 100)
	require.NoError(t, err)
	require.Len(t, files, 18)
	rest, err := s.Files(ctx, "acme", files[9].Upload, 3)
	require.NoError(t, err)
	require.Equal(t, files[10:13], rest)
}

// An export has what WhatsApp calls a person, without the mark of one that it has called otherwise before.
func TestExportOfMovedUsers(t *testing.T) {
	t.Parallel()

	pool, ctx := filled(t), t.Context()
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT set_config('conveyor.tenant', 'acme', true)")
		if err == nil {
			_, err = tx.Exec(ctx, "UPDATE messages SET wa_user = (ARRAY['CA.1', '~CA.2'])[n] FROM (SELECT id, "+
				"row_number() OVER (ORDER BY id) AS n FROM messages WHERE tenant = 'acme') o WHERE messages.id = o.id")
		}
		return err
	}))
	s := dboutreach.NewErasures(pool, nil)
	users := map[any]bool{}
	for _, table := range s.Tables() {
		if table.Name == "messages" {
			_, err := s.Read(ctx, "acme", table, "", 1000, 1<<20, func(row string) {
				var columns map[string]any
				require.NoError(t, json.Unmarshal([]byte(row), &columns))
				require.Contains(t, columns, "wa_user")
				users[columns["wa_user"]] = true
			})
			require.NoError(t, err)
		}
	}
	require.Equal(t, map[any]bool{"CA.1": true, "CA.2": true, nil: true}, users)
}

// An export of large rows reads each of them about once, however few of them are in a page.
func TestExportReadsRowsOnce(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	u := newUpload(t, dboutreach.NewUploads(pool), "acme")
	const rows, size = 150, 10_000
	require.NoError(t, pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "SELECT set_config('conveyor.tenant', 'acme', true)")
		if err == nil {
			_, err = tx.Exec(ctx, `INSERT INTO upload_errors (tenant, upload, row, line, problems, record)
				SELECT 'acme', $1, n, n, '[]', ARRAY[repeat('x', $3)] FROM generate_series(1, $2) n`, u.ID, rows, size)
		}
		return err
	}))
	conf := pool.Config()
	var read atomic.Int64
	dial := conf.ConnConfig.DialFunc
	conf.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		return counting{c, &read}, err
	}
	counted, err := pgxpool.NewWithConfig(ctx, conf)
	require.NoError(t, err)
	defer counted.Close()
	s := dboutreach.NewErasures(counted, nil)
	for _, table := range s.Tables() {
		if table.Name != "upload_errors" {
			continue
		}
		had, pages := 0, 0
		for next := ""; pages == 0 || next != ""; pages++ {
			next, err = s.Read(ctx, "acme", table, next, 1000, 6*size, func(string) { had++ })
			require.NoError(t, err)
		}
		require.Equal(t, rows, had)
		require.Greater(t, pages, 20)
	}
	require.Greater(t, read.Load(), int64(rows*size))
	require.Less(t, read.Load(), int64(rows*size*3/2))
}

// counting counts the bytes that are read from a connection.
type counting struct {
	net.Conn

	read *atomic.Int64
}

func (c counting) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// Nothing new is stored of a tenant from the request of its erasure on, whoever asks for it: an erasure that is over
// would not find it.
func TestErasedTenantTakesNothing(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	senders, contacts, campaigns, searches := dboutreach.NewSenders(pool), dboutreach.NewContacts(pool, nil), dboutreach.NewCampaigns(pool, nil), dblistings.NewSaved(pool)
	sender, search := uuid.New(), uuid.New()
	target := func(kind saved.Channel) dblistings.NewTarget {
		id := uuid.New()
		return dblistings.NewTarget{SavedTarget: dblistings.SavedTarget{ID: id, Kind: kind}, Token: id[:]}
	}
	adds := map[string]func(name, id string, tenant string) error{
		"sender": func(name, id, tenant string) error {
			return senders.Add(ctx, dboutreach.Sender{
				ID: uuid.MustParse(id), Tenant: tenant, Name: name, PhoneNumberID: fmt.Sprint(len(name)), BusinessAccountID: "1",
				CreatedAt: dbtest.At(0),
			}, db.Sealed{Key: "k", Box: []byte("box")}, "me")
		},
		"list": func(name, _, tenant string) error {
			_, err := contacts.CreateList(ctx, tenant, name, "me", dbtest.At(0))
			return err
		},
		"segment": func(name, _, tenant string) error {
			_, err := contacts.PutSegment(ctx, tenant, dboutreach.Segment{
				ID: uuid.New(), Name: name, Filter: contact.Filter{Tag: "vip"},
			}, "me", dbtest.At(0))
			return err
		},
		"search": func(name, id, tenant string) error {
			return searches.Add(ctx, saved.Search{
				ID: uuid.MustParse(id), Tenant: tenant, Name: name, Kinds: saved.Kinds, State: saved.Active, Since: dbtest.At(0),
				CreatedAt: dbtest.At(0),
			}, []dblistings.NewTarget{target(saved.Webhook)}, "me")
		},
		"opt-out": func(name, _, tenant string) error {
			return contacts.OptOut(ctx, tenant, []string{name}, "api", "x", "me", dbtest.At(0))
		},
	}
	for thing, add := range adds {
		id := sender
		if thing == "search" {
			id = search
		}
		require.NoError(t, add("before", id.String(), "acme"), thing)
		dbtest.RequireClass(t, fault.Gone, add("nobody's", uuid.NewString(), "nobody"))
	}
	draft := func() error {
		_, err := campaigns.Create(ctx, "acme", uuid.New(), dboutreach.Plan{
			Name: "x", Sender: sender, Template: text("x"), Audience: campaign.Audience{All: true},
		}, "me", dbtest.At(0))
		return err
	}
	require.NoError(t, draft())
	_, err := db.NewTenants(pool).Change(ctx, "acme", "me", dbtest.At(1), func(t *db.Tenant) { t.State = db.TenantStopped })
	require.NoError(t, err)
	_, err = dboutreach.NewErasures(pool, nil).Request(ctx, "acme", "me", dbtest.At(1))
	require.NoError(t, err)
	had := holdings(t, pool, "acme")
	for thing, add := range adds {
		err := add("after it", uuid.NewString(), "acme")
		dbtest.RequireClass(t, fault.Gone, err)
		require.ErrorContains(t, err, `the tenant "acme" is erased`, thing)
	}
	require.ErrorContains(t, draft(), `the tenant "acme" is erased`)
	err = searches.AddTarget(ctx, "acme", search, target(saved.Feed), "me", dbtest.At(1))
	dbtest.RequireClass(t, fault.Gone, err)
	require.ErrorContains(t, err, `the tenant "acme" is erased`)
	require.Equal(t, had, holdings(t, pool, "acme"))
}

// What is not stored is no success, though the tenant stands by the time that it is looked for.
func TestTenantStandsAgain(t *testing.T) {
	t.Parallel()

	pool, ctx := dbtest.New(t), t.Context()
	dbtest.NewTenant(t, pool, "acme")
	search, searches := uuid.New(), dblistings.NewSaved(pool)
	require.NoError(t, searches.Add(ctx, saved.Search{
		ID: search, Tenant: "acme", Name: "x", Kinds: saved.Kinds, State: saved.Active, Since: dbtest.At(0), CreatedAt: dbtest.At(0),
	}, nil, "me"))
	dbtest.Alter(t, pool, `CREATE FUNCTION stores_nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'`)
	for _, table := range []string{"senders", "saved_targets"} {
		dbtest.Alter(t, pool, "CREATE TRIGGER nothing BEFORE INSERT ON "+table+
			" FOR EACH ROW EXECUTE FUNCTION stores_nothing()")
	}
	dbtest.RequireClass(t, fault.Gone, dboutreach.NewSenders(pool).Add(ctx, dboutreach.Sender{
		ID: uuid.New(), Tenant: "acme", Name: "x", PhoneNumberID: "1", BusinessAccountID: "1", CreatedAt: dbtest.At(0),
	}, db.Sealed{Key: "k", Box: []byte("box")}, "me"))
	for _, kind := range []saved.Channel{saved.Feed, saved.Webhook} {
		dbtest.RequireClass(t, fault.Gone, searches.AddTarget(ctx, "acme", search, dblistings.NewTarget{
			SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: kind}, Token: []byte(kind),
		}, "me", dbtest.At(1)))
	}
}

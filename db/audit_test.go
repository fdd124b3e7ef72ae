package db_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/listing"
)

// A role that may do everything to the table can neither change the audit nor delete what is younger than 90 days, not
// by the function either.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	ctx, log := t.Context(), db.NewAuditLog(pool)
	for _, days := range []int{0, 89, 91, 92, 93} {
		require.NoError(t, log.Record(ctx, db.AuditEntry{
			At: time.Now().AddDate(0, 0, -days), Actor: "jo", Action: "x.done", Subject: fmt.Sprint("x/", days),
		}))
	}
	owner, err := pgx.Connect(ctx, dbtest.Owner(t, pool))
	require.NoError(t, err)
	defer owner.Close(ctx)
	for _, sql := range []string{
		"UPDATE audit SET actor = 'ann'", "UPDATE audit SET at = '2000-01-01' WHERE subject = 'x/0'",
		"DELETE FROM audit WHERE subject = 'x/0'", "DELETE FROM audit WHERE subject = 'x/89'", "DELETE FROM audit",
		"TRUNCATE audit", "TRUNCATE audit, replays CASCADE",
		"UPDATE audit SET detail = '{}' WHERE subject = 'x/93'",
	} {
		_, err := owner.Exec(ctx, sql)
		require.ErrorContains(t, err, "the audit is append-only", sql)
		_, err = pool.Exec(ctx, sql)
		require.Error(t, err, sql)
	}
	require.Equal(t, int64(5), dbtest.Count(t, pool, "audit"))

	expire := func(before string, most int) int {
		return dbtest.Query[int](t, pool, fmt.Sprintf("SELECT audit_expire(%s, %d)", before, most))[0]
	}
	require.Equal(t, 0, expire("now()", 0))
	require.Equal(t, 0, expire("now()", -1))
	require.Equal(t, 1, expire("now() + interval '1 day'", 1))
	require.Equal(t, []string{"x/0", "x/89", "x/91", "x/92"},
		dbtest.Query[string](t, pool, "SELECT subject FROM audit ORDER BY at DESC"), "the oldest goes first")
	require.Equal(t, 1, expire("now() - interval '91 days 12 hours'", 100))
	require.Equal(t, 1, expire("'infinity'", 100))
	require.Equal(t, 0, expire("now()", 100))
	require.Equal(t, int64(2), dbtest.Count(t, pool, "audit"), "no argument reaches what is younger than 90 days")
}

// The function needs no right of its caller to delete from the table, and takes the tables of its own schema.
func TestAuditExpiresForAnyRole(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	ctx := t.Context()
	require.NoError(t, db.NewAuditLog(pool).Record(ctx, db.AuditEntry{
		At: time.Now().AddDate(0, 0, -100), Actor: "jo", Action: "x.done", Subject: "x/1",
	}))
	tx, err := pool.Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(ctx) }()
	for _, sql := range []string{
		"CREATE TEMP TABLE audit (id bigint, at timestamptz)",
		"INSERT INTO pg_temp.audit VALUES (1, '2000-01-01')",
	} {
		_, err := tx.Exec(ctx, sql)
		require.NoError(t, err, sql)
	}
	var n int
	require.NoError(t, tx.QueryRow(ctx, "SELECT audit_expire(now(), 10)").Scan(&n))
	require.Equal(t, 1, n)
	require.NoError(t, tx.QueryRow(ctx, "SELECT count(*) FROM pg_temp.audit").Scan(&n))
	require.Equal(t, 1, n)
}

// Entries have the request that they came by, whichever store writes them.
func TestAuditOrigin(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	ctx := db.WithOrigin(t.Context(), db.Origin{Remote: "192.0.2.7", RequestID: "r1", KeyID: "abcdefgh"})
	require.NoError(t, db.NewAuditLog(pool).Record(ctx,
		db.AuditEntry{At: at, Actor: "jo", Action: "a.done", Subject: "a/1"},
		db.AuditEntry{At: at, Actor: "jo", Action: "b.done", Subject: "b/1"}))
	k, sum := newKey(t, "ci", "read")
	require.NoError(t, db.NewKeys(pool).Create(ctx, k, sum))
	r := draft.Request{EventID: uuid.New(), URL: "https://shop.example/p/1?token=x", OutDir: "out"}
	for range 2 { // a repeated request changes nothing
		require.NoError(t, dbdrafts.NewDrafts(pool).RequestDraft(ctx, r, db.Sealed{}, "jo",
			dbdrafts.Target{Exchange: "x", RoutingKey: "y"}, at))
	}
	letters := db.NewDeadLetters(pool, nil)
	require.NoError(t, letters.Archive(ctx, db.DeadLetter{
		Key: "k", Class: "invalid", At: at, Route: listing.StageRoute(listing.StageNormalize, "kijiji"),
	}))
	id := dbtest.Query[int64](t, pool, "SELECT id FROM dead_letters")[0]
	_, err := letters.Replay(ctx, id, false, "jo", at)
	require.NoError(t, err)
	require.NoError(t, letters.Discard(ctx, id, "jo", at))
	require.Equal(t, []string{
		"a.done", "b.done", "api_key.created", "crawl_request.created", "dead_letter.replayed", "dead_letter.discarded",
	}, dbtest.Query[string](t, pool,
		"SELECT action FROM audit WHERE (remote, request_id, key_id) = ('192.0.2.7', 'r1', 'abcdefgh') ORDER BY id"))
	require.Equal(t, int64(6), dbtest.Count(t, pool, "audit"))
	require.Empty(t, dbtest.Query[string](t, pool, "SELECT detail::text FROM audit WHERE detail::text LIKE '%token%'"))

	// Without a request there is none.
	_, err = db.NewKeys(pool).Revoke(t.Context(), "ci", "cli:jo", at)
	require.NoError(t, err)
	require.Equal(t, []string{"--"}, dbtest.Query[string](t, pool, `SELECT remote || '-' || request_id || '-' || key_id
		FROM audit WHERE actor = 'cli:jo' AND action = 'api_key.revoked'`))
}

func TestAuditList(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	ctx, log := t.Context(), db.NewAuditLog(pool)
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	for i, actor := range []string{"jo", "ann", "jo", "ann", "jo"} {
		require.NoError(t, log.Record(ctx, db.AuditEntry{ // the last two share a time
			At: at.Add(time.Duration(min(i, 3)) * time.Hour), Actor: actor, Action: "x.done", Subject: fmt.Sprint("x/", i),
			Detail: map[string]int{"n": i},
		}))
	}
	for name, tt := range map[string]struct {
		filter db.AuditFilter
		want   []string
	}{
		"all, the newest first": {db.AuditFilter{}, []string{"x/4", "x/3", "x/2", "x/1", "x/0"}},
		"of an actor":           {db.AuditFilter{Actor: []string{"ann"}}, []string{"x/3", "x/1"}},
		"of one of two actors":  {db.AuditFilter{Actor: []string{"ann", "nobody"}}, []string{"x/3", "x/1"}},
		"of a subject":          {db.AuditFilter{Subject: "x/2"}, []string{"x/2"}},
		"of an action":          {db.AuditFilter{Action: []string{"y.done"}}, nil},
		"since and until, inclusive": {db.AuditFilter{Since: at.Add(time.Hour), Until: at.Add(2 * time.Hour)},
			[]string{"x/2", "x/1"}},
	} {
		var got []string
		for after, more := (*db.IDPosition)(nil), true; more; more = after != nil {
			var rows []db.AuditRow
			var err error
			rows, after, err = log.List(ctx, tt.filter, after, 2)
			require.NoError(t, err, name)
			for _, r := range rows {
				got = append(got, r.Subject)
			}
		}
		require.Equal(t, tt.want, got, name)
	}
	rows, _, err := log.List(ctx, db.AuditFilter{Subject: "x/4"}, nil, 1)
	require.NoError(t, err)
	require.JSONEq(t, `{"n": 4}`, string(rows[0].Detail))
	_, _, err = log.List(ctx, db.AuditFilter{Subject: "\x00"}, nil, 1)
	require.Error(t, err)
}

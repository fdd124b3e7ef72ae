package listings_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/domain/saved"
)

// ofSearches are the kinds of what is of saved searches, tested as in TestDeleteExpired: what they are filled with, how
// much is deleted, and what is left.
var ofSearches = map[string]struct {
	fill    func(t *testing.T, w *telling, old, edge time.Time)
	deleted int
	left    string // SELECT
	want    []string
}{
	retention.Notices: {func(t *testing.T, w *telling, old, edge time.Time) {
		target := w.searching(t)
		for n, d := range []struct {
			name, state string
			finished    *time.Time
		}{
			{"a sent", "sent", &old}, {"b edge", "sent", &edge}, {"c started", "started", nil}, {"d dropped", "dropped", &old},
			{"e failed", "failed", &old}, {"f can be replayed", "started", nil},
		} {
			id := uuid.New()
			dbtest.ExecAll(t, w.pool, `INSERT INTO saved_deliveries (id, tenant, target, due_at, state, reason, finished_at)
				VALUES ($1, 'acme', $2, $3, $4, $5, $6)`, id, target, dbtest.Start.Add(time.Duration(n)*time.Second), d.state, d.name, d.finished)
			if d.name == "f can be replayed" {
				require.NoError(t, w.FailNotice(t.Context(), "acme", id, fault.Transient, d.name, old))
			}
		}
	}, 3, `SELECT reason FROM saved_deliveries ORDER BY 1`, []string{"b edge", "c started", "f can be replayed"}},
	retention.News: {func(t *testing.T, w *telling, old, edge time.Time) {
		target := w.searching(t)
		one, other := publishNew(t, w.pool, "1").ID(), publishNew(t, w.pool, "2").ID()
		for n, k := range []struct {
			listing uuid.UUID
			at      time.Time
		}{{one, old}, {one, old}, {other, old}, {one, edge}, {one, old}, {one, edge}} {
			dbtest.ExecAll(t, w.pool, `INSERT INTO saved_matches (tenant, search, event, listing, kind, rent_cents, at)
				SELECT 'acme', search, $2, $3, 'new', 1, $4 FROM saved_targets WHERE id = $1`, target, n+1, k.listing, k.at)
		}
		id := uuid.New()
		dbtest.ExecAll(t, w.pool, `INSERT INTO saved_deliveries (id, tenant, target, due_at) VALUES ($1, 'acme', $2, $3)`, id, target, old)
		dbtest.ExecAll(t, w.pool, `INSERT INTO saved_items (tenant, target, event, search, delivery)
			SELECT 'acme', id, 5, search, $2 FROM saved_targets WHERE id = $1`, target, id)
	}, 2, `SELECT event FROM saved_matches ORDER BY 1`, []string{"3", "4", "5", "6"}},
	retention.Unconfirmed: {func(t *testing.T, w *telling, old, edge time.Time) {
		target := w.searching(t)
		for n, k := range []struct {
			name, state string
			at          time.Time
		}{
			{"a", "unconfirmed", old}, {"b", "active", old}, {"c", "stopped", old}, {"d", "unconfirmed", edge},
			{"e", "unconfirmed", old},
		} {
			dbtest.ExecAll(t, w.pool, `INSERT INTO saved_targets (id, tenant, search, kind, label, token, created_at, updated_at, state)
				SELECT gen_random_uuid(), 'acme', search, $6, $2, $3, $4, $4, $5 FROM saved_targets WHERE id = $1`,
				target, k.name, []byte{byte(n)}, k.at, k.state, []string{"email", "telegram"}[n%4/2])
			dbtest.ExecAll(t, w.pool, `INSERT INTO saved_addresses (sum, asked_at, refused) VALUES ($1, $2, $3)`, []byte("sum "+k.name), k.at,
				k.state == "stopped")
		}
		dbtest.ExecAll(t, w.pool, `INSERT INTO saved_targets (id, tenant, search, kind, label, token, created_at, updated_at, state)
			SELECT gen_random_uuid(), 'acme', search, 'webhook', 'hook', 'hook', $2, $2, 'unconfirmed' FROM saved_targets
			WHERE id = $1`, target, old)
	}, 2, `SELECT label FROM saved_targets WHERE kind <> 'feed' UNION ALL SELECT encode(sum, 'escape') FROM saved_addresses
		ORDER BY 1`, []string{"b", "c", "d", "hook", "sum c", "sum d"}},
	retention.Searches: {func(t *testing.T, w *telling, old, edge time.Time) {
		w.searching(t)
		for n, at := range []*time.Time{nil, &old, &edge} {
			dbtest.ExecAll(t, w.pool, `INSERT INTO saved_searches (id, tenant, name, filter, kinds, schedule, state, since, created_at, updated_at,
					deleted_at)
				SELECT gen_random_uuid(), tenant, $1, filter, kinds, schedule, state, since, since, since, $2 FROM saved_searches
				LIMIT 1`, string(rune('a'+n)), at)
		}
	}, 1, `SELECT name FROM saved_searches WHERE name IN ('a', 'b', 'c') ORDER BY 1`, []string{"a", "c"}},
	retention.Deleted: {func(t *testing.T, w *telling, old, edge time.Time) {
		w.searching(t)
		dbtest.ExecAll(t, w.pool, "UPDATE saved_changes SET at = $1", old)
		for n, at := range []time.Time{old, edge, old} {
			dbtest.ExecAll(t, w.pool, `INSERT INTO saved_changes (search, version, at) VALUES (gen_random_uuid(), $1, $2)`, 100+n, at)
		}
	}, 2, `SELECT version FROM saved_changes ORDER BY 1`, []string{"1", "101"}},
}

// searching saves a search of acme with a feed, and returns the feed's target.
func (w *telling) searching(t *testing.T) (target uuid.UUID) {
	t.Helper()

	target = uuid.New()
	s := saved.Search{
		ID: uuid.New(), Tenant: "acme", Name: "search", Kinds: saved.Kinds, State: saved.Active, Since: dbtest.Start, CreatedAt: dbtest.Start,
	}
	require.NoError(t, w.Add(t.Context(), s, []dblistings.NewTarget{{
		SavedTarget: dblistings.SavedTarget{ID: target, Kind: saved.Feed}, Token: sum("feed"),
	}}, "test"))
	return target
}

func TestDeleteExpiredOfSearches(t *testing.T) {
	t.Parallel()

	for kind, test := range ofSearches {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()

			w := newTelling(t)
			require.Zero(t, dbtest.Expire(t, w.pool, kind, dbtest.Start), "of empty tables")
			test.fill(t, w, dbtest.Start.Add(-time.Microsecond), dbtest.Start)
			require.Equal(t, test.deleted, dbtest.Expire(t, w.pool, kind, dbtest.Start))
			require.Equal(t, test.want, dbtest.Lines(t, w.pool, test.left))
			require.Zero(t, dbtest.Expire(t, w.pool, kind, dbtest.Start), "of what must stay")
			require.Equal(t, test.want, dbtest.Lines(t, w.pool, test.left))
		})
	}
}

package db_test

import (
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

func newKey(t *testing.T, name string, role access.Role) (db.Key, access.Sum) {
	t.Helper()

	id, key, err := access.NewKey(rand.Reader)
	require.NoError(t, err)
	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	return db.Key{ID: id, Name: name, Role: role, CreatedAt: at, CreatedBy: "cli:jo"}, access.SumOf(key)
}

func TestKeys(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	keys, ctx := db.NewKeys(pool), t.Context()
	first, sum := newKey(t, "grafana", access.Read)
	soon := first.CreatedAt.Add(time.Hour)
	first.ExpiresAt = &soon
	second, _ := newKey(t, "ci", access.Admin)
	second.CreatedAt = first.CreatedAt.Add(time.Minute)
	require.NoError(t, keys.Create(ctx, first, sum))
	require.NoError(t, keys.Create(ctx, second, access.Sum{1}))

	list, err := keys.List(ctx)
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, []string{"grafana", "ci"}, []string{list[0].Name, list[1].Name})
	require.True(t, list[0].ExpiresAt.Equal(soon))
	require.Equal(t, db.KeyLive, list[0].State(soon.Add(-time.Nanosecond)))
	require.Equal(t, db.KeyExpired, list[0].State(soon))
	locks, err := keys.Locks(ctx)
	require.NoError(t, err)
	require.Equal(t, sum[:], locks[first.ID].Sum)
	require.Equal(t, "grafana", locks[first.ID].Name)

	// Used only moves forward.
	require.NoError(t, keys.Used(ctx, first.ID, soon))
	require.NoError(t, keys.Used(ctx, first.ID, soon.Add(-time.Minute)))
	locks, err = keys.Locks(ctx)
	require.NoError(t, err)
	require.True(t, locks[first.ID].LastUsedAt.Equal(soon))

	// By name or by ID; twice is once.
	for _, by := range []string{"ci", second.ID, "ci"} {
		got, err := keys.Revoke(ctx, by, "cli:ann", soon)
		require.NoError(t, err)
		require.Equal(t, second.ID, got.ID)
		require.True(t, got.RevokedAt.Equal(soon))
		require.Equal(t, db.KeyRevoked, got.State(first.CreatedAt))
	}
	_, err = keys.Revoke(ctx, "nobody\x00", "cli:ann", soon)
	require.Equal(t, fault.Gone, fault.ClassOf(err))

	var deeds []string
	rows, err := pool.Query(ctx, "SELECT actor || ' ' || action || ' ' || subject FROM audit ORDER BY id")
	require.NoError(t, err)
	for rows.Next() {
		var deed string
		require.NoError(t, rows.Scan(&deed))
		deeds = append(deeds, deed)
	}
	require.Equal(t, []string{
		"cli:jo api_key.created api-key/" + first.ID, "cli:jo api_key.created api-key/" + second.ID,
		"cli:ann api_key.revoked api-key/" + second.ID,
	}, deeds)
}

func TestKeysRefuses(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	keys, ctx := db.NewKeys(pool), t.Context()
	first, sum := newKey(t, "ci", access.Read)
	require.NoError(t, keys.Create(ctx, first, sum))
	again, other := newKey(t, "ci", access.Read)
	require.Equal(t, fault.Conflict, fault.ClassOf(keys.Create(ctx, again, other)))
	_, err := keys.Revoke(ctx, "ci", "cli:jo", first.CreatedAt)
	require.NoError(t, err)
	err = keys.Create(ctx, again, other)
	require.ErrorContains(t, err, `name: there is or was a key "ci"`)

	for name, change := range map[string]func(*db.Key){
		"an unknown role":         func(k *db.Key) { k.Role = "root" },
		"a name with a colon":     func(k *db.Key) { k.Name = "cli:jo" },
		"expired before it began": func(k *db.Key) { k.ExpiresAt = &first.CreatedAt },
	} {
		k, sum := newKey(t, "other", access.Read)
		change(&k)
		require.Equal(t, fault.Invalid, fault.ClassOf(keys.Create(ctx, k, sum)), name)
	}
	var deeds int
	require.NoError(t, pool.QueryRow(ctx, "SELECT count(*) FROM audit").Scan(&deeds))
	require.Equal(t, 2, deeds, "refused changes are not audited")
}

// No form in which a key is listed holds anything of its secret.
func TestKeysAreNotShown(t *testing.T) {
	t.Parallel()
	keys, ctx := db.NewKeys(dbtest.New(t)), t.Context()
	k, sum := newKey(t, "ci", access.Read)
	require.NoError(t, keys.Create(ctx, k, sum))
	list, err := keys.List(ctx)
	require.NoError(t, err)
	doc, err := json.Marshal(list)
	require.NoError(t, err)
	require.NotContains(t, string(doc), "sum")
}

package apitest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Bury archives a dead letter of scraped.kijiji that died some minutes after now, and returns its number.
func (d *Door) Bury(t *testing.T, key string, minutes int, change ...func(*db.DeadLetter)) int64 {
	t.Helper()

	l := db.DeadLetter{
		Key: key, Route: listing.StageRoute(listing.StageNormalize, "kijiji"), MessageID: "m-" + key,
		Headers: map[string]string{"x-error": "price: is missing", "mine": "kept"},
		Body: []byte(fmt.Sprintf(`{"platform_id":%q,"size":1.50,"contact":{"name":%q,"phone":%q}}`, key, PersonalData[0],
			PersonalData[1])),
		Reason: "price: is missing", Class: "invalid", At: Now.Add(time.Duration(minutes) * time.Minute),
	}
	for _, f := range change {
		f(&l)
	}
	require.NoError(t, d.Letters.Archive(t.Context(), l))
	var id int64
	require.NoError(t, d.Pool.QueryRow(t.Context(), "SELECT max(id) FROM dead_letters").Scan(&id))
	return id
}

// Value reads one value of the database.
func Value[T any](t *testing.T, d *Door, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, d.Pool.QueryRow(t.Context(), sql, args...).Scan(&v), sql)
	return v
}

package dbtest

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Dead is a dead letter of scraped.kijiji that died some minutes after the start.
func Dead(key string, minutes int) db.DeadLetter {
	return db.DeadLetter{
		Key: key, Route: listing.StageRoute(listing.StageNormalize, "kijiji"), MessageID: "m-" + key,
		Headers: map[string]string{"mine": "kept", "x-error": "not JSON"}, Body: []byte("<" + key + ">"),
		Reason: "not JSON", Class: "invalid", At: After(minutes),
	}
}

// Archive stores letters and returns their numbers.
func Archive(t testing.TB, pool *pgxpool.Pool, letters ...db.DeadLetter) []int64 {
	t.Helper()

	require.NoError(t, db.NewDeadLetters(pool, nil).Archive(t.Context(), letters...))
	ids := Query[int64](t, pool, "SELECT id FROM dead_letters ORDER BY id")
	return ids[len(ids)-len(letters):]
}

// LetterStates are the states of all letters, in the order of their numbers.
func LetterStates(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	return Query[string](t, pool, "SELECT state FROM dead_letters ORDER BY id")
}

package dbtest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/retention"
)

// Expire deletes what is of a kind and older than before, two rows a step, and returns how many that were.
func Expire(t testing.TB, pool *pgxpool.Pool, kind string, before time.Time) (deleted int) {
	t.Helper()
	cursor := ""
	for range 100 {
		step, err := db.NewRetention(pool).DeleteExpired(t.Context(), kind, before, cursor, 2)
		require.NoError(t, err)
		deleted += step.Deleted
		if cursor = step.Cursor; !step.More {
			return deleted
		}
	}
	t.Fatal("it does not end")
	return 0
}

// ExpiresOfOutreach are the kinds that the tests of outreach delete; the tests of listings delete all others.
var ExpiresOfOutreach = []string{
	retention.Messages, retention.Transactional, retention.Unreported, retention.Webhooks, retention.UploadFiles,
	retention.Uploads, retention.Lists,
}

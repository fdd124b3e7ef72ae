package db_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// A session ends by itself what its client no longer waits for.
func TestSessionsHaveLimits(t *testing.T) {
	t.Parallel()

	pool, err := db.Open(t.Context(), dbtest.New(t).Config().ConnString(), 1)
	require.NoError(t, err)
	defer pool.Close()
	for setting, want := range map[string]string{
		"statement_timeout": "1min", "idle_in_transaction_session_timeout": "1min", "tcp_user_timeout": "30000",
	} {
		var got string
		require.NoError(t, pool.QueryRow(t.Context(), "SHOW "+setting).Scan(&got))
		require.Equal(t, want, got, setting)
	}
}

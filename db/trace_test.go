package db_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// A lease that is kept is not due for others; one that was lost cannot be kept.
func TestExtend(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := db.NewOutbox(pool)
	fill(t, pool, "a", 3)
	mine, other := uuid.New(), uuid.New()
	held := ids(lease(t, o, mine, ""))
	n, err := o.Extend(t.Context(), mine, held, 2*time.Minute)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	wind(t, pool, time.Minute)
	require.Empty(t, lease(t, o, other, ""))
	wind(t, pool, 2*time.Minute)
	require.Len(t, lease(t, o, other, ""), 3)
	n, err = o.Extend(t.Context(), mine, held, time.Hour)
	require.NoError(t, err)
	require.Zero(t, n)
}

package db_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// One process at a time declares the queues of a virtual host.
func TestTurnsAreTaken(t *testing.T) {
	t.Parallel()

	outbox := db.NewOutbox(dbtest.New(t))
	first, err := outbox.Turn(t.Context(), "/")
	require.NoError(t, err)
	other, err := outbox.Turn(t.Context(), "another")
	require.NoError(t, err, "another virtual host")
	other()

	waiting, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = outbox.Turn(waiting, "/")
	require.ErrorIs(t, err, context.DeadlineExceeded)

	first()
	second, err := outbox.Turn(t.Context(), "/")
	require.NoError(t, err)
	second()
}

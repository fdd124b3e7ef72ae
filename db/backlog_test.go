package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contract"
)

// A deep outbox is counted up to a limit, and its oldest message is found all the same, in whichever lane it is.
func TestWaitingInADeepOutbox(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	o := db.NewOutbox(pool)
	got, err := o.Waiting(t.Context(), dbtest.Start)
	require.NoError(t, err)
	require.Zero(t, got)
	deep := func(lane string, n, minutes int) {
		_, err := pool.Exec(t.Context(), `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
			SELECT gen_random_uuid(), $1, 'e', 'k', '{}', $2::timestamptz + n * interval '1 ms' FROM generate_series(1, $3::int) n`,
			lane, dbtest.After(minutes), n)
		require.NoError(t, err)
	}
	deep("b", 3, 5)
	deep("z", 1, 2)
	got, err = o.Waiting(t.Context(), dbtest.After(10))
	require.NoError(t, err)
	require.EqualValues(t, 4, got.Pending)
	require.InDelta(t, 480, got.OldestAgeSeconds, 1)
	deep("a", backlog.MostPending+10, 6)
	got, err = o.Waiting(t.Context(), dbtest.After(10))
	require.NoError(t, err)
	require.EqualValues(t, backlog.MostPending, got.Pending)
	require.InDelta(t, 480, got.OldestAgeSeconds, 1)
}

func TestOpenByQueue(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	got, err := s.OpenByQueue(t.Context())
	require.NoError(t, err)
	require.Empty(t, got)

	at := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	require.NoError(t, s.Archive(t.Context(),
		db.DeadLetter{Key: "1", Route: contract.Route{Queue: "scraped.kijiji"}, Class: "invalid", At: at},
		db.DeadLetter{Key: "2", Route: contract.Route{Queue: "scraped.kijiji"}, Class: "invalid", At: at},
		db.DeadLetter{Key: "3", Route: contract.Route{Queue: "scraped.kijiji"}, Class: "transient", At: at},
		db.DeadLetter{Key: "4", Route: contract.Route{Queue: "images.pending"}, Class: "gone", At: at},
		db.DeadLetter{Key: "5", Route: contract.Route{Queue: "images.pending"}, Class: "gone", At: at},
	))
	_, err = pool.Exec(t.Context(), "UPDATE dead_letters SET state = 'resolved' WHERE queue = 'images.pending' "+
		"AND id = (SELECT min(id) FROM dead_letters WHERE queue = 'images.pending')")
	require.NoError(t, err)
	got, err = s.OpenByQueue(t.Context())
	require.NoError(t, err)
	require.Equal(t, []backlog.DeadCount{
		{Queue: "images.pending", Class: "gone", Open: 1},
		{Queue: "scraped.kijiji", Class: "invalid", Open: 2},
		{Queue: "scraped.kijiji", Class: "transient", Open: 1},
	}, got)
}

// However many dead letters are open, they are counted up to a limit.
func TestOpenByQueueIsCapped(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := db.NewDeadLetters(pool, nil)
	require.NoError(t, s.Archive(t.Context(),
		db.DeadLetter{Key: "first", Route: contract.Route{Queue: "whatsapp"}, Class: "invalid", At: dbtest.Start}))
	columns := strings.Join(dbtest.Query[string](t, pool, `SELECT quote_ident(column_name) FROM information_schema.columns
		WHERE table_schema = current_schema() AND table_name = 'dead_letters' AND column_name NOT IN ('id', 'fingerprint')
			AND is_generated = 'NEVER'`), ", ")
	dbtest.Exec(t, pool, fmt.Sprintf(`INSERT INTO dead_letters (fingerprint, %[1]s)
		SELECT sha256(n::text::bytea), %[1]s FROM dead_letters, generate_series(1, $1) n`, columns), backlog.MostLetters+5)
	got, err := s.OpenByQueue(t.Context())
	require.NoError(t, err)
	require.Equal(t, []backlog.DeadCount{{Queue: "whatsapp", Class: "invalid", Open: backlog.MostLetters}}, got)
}

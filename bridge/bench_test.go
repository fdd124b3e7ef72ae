package bridge_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
)

// BenchmarkRelay publishes a full outbox to a quorum queue, with confirms. events/s counts from the first lease to the
// last mark.
func BenchmarkRelay(b *testing.B) {
	const events = 20_000
	for _, lanes := range []int{20, 1} {
		b.Run(fmt.Sprintf("%d lanes", lanes), func(b *testing.B) {
			pool, broker := dbtest.New(b), bridgetest.New(b)
			o := options(broker.URL)
			require.NoError(b, bridge.Establish(b.Context(), o))
			relay := bridge.NewRelay([]string{broker.URL}, db.NewOutbox(pool), o, bridge.NewMetrics(prometheus.NewRegistry()),
				slog.New(slog.DiscardHandler), time.Now)
			var took time.Duration
			for b.Loop() {
				fill(b, pool, lanes, events)
				dbtest.Alter(b, pool, "ANALYZE outbox")
				ctx, stop := context.WithCancel(b.Context())
				began := time.Now()
				done := make(chan struct{})
				go func() { defer close(done); relay.Run(ctx) }()
				require.Eventually(b, func() bool { return pending(b, pool) == 0 }, time.Minute, 50*time.Millisecond)
				took += time.Since(began)
				stop()
				<-done
			}
			b.ReportMetric(float64(events*b.N)/took.Seconds(), "events/s")
		})
	}
}

// BenchmarkEventDelay writes events one by one, at random times and so many a second on average, and reports how long
// after its transaction the broker has confirmed one.
func BenchmarkEventDelay(b *testing.B) {
	const events = 300
	for _, rate := range []float64{5, 30, 100, 400} {
		b.Run(fmt.Sprintf("%.0f a second", rate), func(b *testing.B) {
			pool, broker := dbtest.New(b), bridgetest.New(b)
			o := options(broker.URL)
			require.NoError(b, bridge.Establish(b.Context(), o))
			run(b, o, pool, time.Now)
			s := dblistings.NewListings(pool)
			n := 0
			for b.Loop() {
				for range min(events, int(20*rate)) {
					pause := time.NewTimer(time.Duration(rand.ExpFloat64() / rate * float64(time.Second)))
					<-pause.C
					n++
					handOver(b, s, n)
				}
				require.Eventually(b, func() bool { return pending(b, pool) == 0 }, time.Minute, 50*time.Millisecond)
			}
			var p50, p95, mean float64
			require.NoError(b, pool.QueryRow(b.Context(), `
				SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms), percentile_cont(0.95) WITHIN GROUP (ORDER BY ms), avg(ms)
				FROM (SELECT extract(epoch FROM published_at - created_at)::float8 * 1000 AS ms FROM outbox) d`).
				Scan(&p50, &p95, &mean))
			b.ReportMetric(p50, "p50-ms")
			b.ReportMetric(p95, "p95-ms")
			b.ReportMetric(mean, "mean-ms")
		})
	}
}

// handOver writes the n-th message for the queue listings.ready.
func handOver(t testing.TB, s *dblistings.Listings, n int) {
	t.Helper()

	require.NoError(t, s.HandOver(t.Context(), listing.Handover{
		Ref: listing.Ref{Platform: "kijiji", PlatformID: "1"}, Revision: int64(n), Exchange: contract.ExchangeListings,
		RoutingKey: contract.QueueReady, Bodies: [][]byte{fmt.Appendf(nil, `{"n":%d}`, n)},
	}, listing.Run{}, time.Now()))
}

// fill writes events to the outbox, about 500 bytes each, of as many lanes.
func fill(t testing.TB, pool *pgxpool.Pool, lanes, events int) {
	t.Helper()

	_, err := pool.Exec(t.Context(), `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
		SELECT gen_random_uuid(), 't' || lpad((n % $1)::text, 4, '0'), 'listings.events', 'listings.published',
			convert_to('{"pad":"' || repeat('x', 490) || '"}', 'UTF8'), now()
		FROM generate_series(1, $2) n`, lanes, events)
	require.NoError(t, err)
}

// pending counts the events that are not confirmed.
func pending(t testing.TB, pool *pgxpool.Pool) int {
	t.Helper()

	var n int
	require.NoError(t, pool.QueryRow(context.WithoutCancel(t.Context()),
		"SELECT count(*) FROM outbox WHERE published_at IS NULL").Scan(&n))
	return n
}

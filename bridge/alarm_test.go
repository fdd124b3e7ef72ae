package bridge_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/db/dbtest"
)

// gauge is the value of conveyor_amqp_blocked for a connection.
func gauge(t testing.TB, r *prometheus.Registry, name string) (v float64) {
	t.Helper()

	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "conveyor_amqp_blocked" && m.GetLabel()[0].GetValue() == name {
				v = m.GetGauge().GetValue()
			}
		}
	}
	return v
}

// TestRelayWaitsOutAnAlarm: while the broker blocks publishers, the events already sent stay leased and the rest is not
// touched; then all goes on by itself, and nothing is sent twice.
func TestRelayWaitsOutAnAlarm(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	line := bridgetest.NewLine(t, broker.URL)
	registry, logs := prometheus.NewRegistry(), new(logs)
	o := options(line.URL)
	o.Relays = 2
	r := bridge.NewRelay([]string{line.URL}, dbtest.Outbox(t, pool), o, bridge.NewMetrics(registry),
		slog.New(slog.NewTextHandler(logs, nil)), time.Now)
	r.KeepEvery(50 * time.Millisecond)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })

	fill(t, pool, 5, 10)
	empty(t, pool)
	line.Alarm(true)
	const events = 3000 // far more than the two cycles can have in hand
	fill(t, pool, 5, events)
	blocked := func() bool { return gauge(t, registry, "conveyor relay") == 1 }
	require.Eventually(t, blocked, patience, tick)
	count := func(where string) (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM outbox WHERE "+where).Scan(&n))
		return n
	}
	var until time.Time
	longest := func() (at time.Time) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT max(leased_until) FROM outbox").Scan(&at))
		return at
	}
	for range 3 { // the lease is kept again and again
		before := longest()
		require.Eventually(t, func() bool { until = longest(); return until.After(before) }, patience, tick)
	}
	require.LessOrEqual(t, count("lease_token IS NOT NULL"), 1000, "no more is leased")
	require.Equal(t, events, count("published_at IS NULL"))
	require.Zero(t, count("last_error <> ''"), "no lease is burnt")
	require.Contains(t, logs.String(), "broker blocks publishers")

	line.Alarm(false)
	empty(t, pool)
	require.False(t, blocked())
	got := messageIDs(broker.Get("listings.published", events+10))
	require.ElementsMatch(t, column(t, pool, "message_id"), got)
	require.Zero(t, broker.Ready("listings.published"), "nothing twice")
	require.NotContains(t, column(t, pool, "refusals"), "1")
}

// TestRelayStopsDuringAnAlarm: shutdown is not held up, and the leased events are due again.
func TestRelayStopsDuringAnAlarm(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	line := bridgetest.NewLine(t, broker.URL)
	line.Alarm(true)
	r := newRelay(t, options(line.URL), pool, time.Now)
	r.Cycles = 1
	r.ConfirmWithin(time.Hour)
	r.KeepEvery(time.Hour)
	stop := running(t, r)
	fill(t, pool, 3, 2000)
	_, err := pool.Exec(t.Context(), "UPDATE outbox SET body = convert_to(repeat(' ', 100000), 'UTF8') WHERE id % 10 = 0")
	require.NoError(t, err)
	leased := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(),
			"SELECT count(*) FROM outbox WHERE lease_token IS NOT NULL").Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return leased() > 0 }, patience, tick)
	stop()
	require.Zero(t, leased())
	require.Equal(t, 2000, pending(t, pool))

	line.Cut() // bytes buffered in the line are lost with it
	relay(t, broker.URL, pool, 2, time.Now)
	empty(t, pool)
	require.Len(t, broker.Get("listings.published", 2000), 2000)
}

// TestDeadLettersWaitOutAnAlarm: a message that cannot be buried is held unacked, other queues go on, and shutdown
// gives it back.
func TestDeadLettersWaitOutAnAlarm(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	line := bridgetest.NewLine(t, r.broker.URL)
	r.URLs, r.ArchiveDeadLetters = []string{line.URL}, false
	r.DrainWithin(time.Hour)
	stop := r.start(t)
	line.Alarm(true)
	r.broker.Publish("scraped", "kijiji", []byte("<html>"))
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "blocks publishers") }, "not blocked")
	kangalou := strings.Replace(string(message(t, "7")), `"kijiji"`, `"kangalou"`, 1)
	r.broker.Publish("scraped", "kangalou", []byte(kangalou))
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "the other queue waits, too")
	require.Zero(t, r.broker.Ready("scraped.kijiji.dlq"))

	line.Alarm(false)
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji.dlq") == 1 }, "it is buried")
	line.Alarm(true)
	r.broker.Publish("scraped", "kijiji", []byte("<p>"))
	r.eventually(t, func() bool { return strings.Count(r.logs.String(), "messages to be sent wait") == 2 }, "not blocked")
	stop() // fails where it waits for the grace
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji") == 1 }, "it is not lost")
}

// TestDeadLettersWithoutAnAnswer: a dead letter that its queue does not confirm is stored in Postgres, and then what is
// behind it, or dies in another queue, goes on. The message counts as held meanwhile.
func TestDeadLettersWithoutAnAnswer(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	line := bridgetest.NewLine(t, r.broker.URL)
	r.URLs, r.ArchiveDeadLetters = []string{line.URL}, false
	r.HandleWithin(time.Minute, 10*time.Millisecond)
	r.BuryWithin(2 * time.Second)
	stop := r.start(t)
	line.Mute("scraped.kijiji")
	r.broker.Publish("scraped", "kijiji", []byte("<html>"), message(t, "1"))
	held := "messages are held: the broker does not confirm a dead letter"
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), held) }, "it does not count as held")
	r.broker.Publish("scraped", "kangalou", []byte("<html>"))
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE queue = 'scraped.kijiji'") == 1 }, "not stored")
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "the message behind it waits")
	r.eventually(t, func() bool {
		return r.broker.Ready("scraped.kangalou.dlq")+r.rows(t, "dead_letters WHERE queue = 'scraped.kangalou'") > 0
	}, "the other queue's message waits")
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji")+r.broker.Ready("scraped.kangalou"), "all are acked")
}

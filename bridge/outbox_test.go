package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// relay runs a relay by way of url, with so many cycles at once, until stop or the end of the test.
func relay(t testing.TB, url string, pool *pgxpool.Pool, cycles int, now func() time.Time) (stop func()) {
	t.Helper()

	o := options(url)
	o.Relays = cycles
	return run(t, o, pool, now)
}

// run is relay for any options.
func run(t testing.TB, o bridge.Options, pool *pgxpool.Pool, now func() time.Time) (stop func()) {
	t.Helper()

	return running(t, newRelay(t, o, pool, now))
}

func newRelay(t testing.TB, o bridge.Options, pool *pgxpool.Pool, now func() time.Time) *bridge.Relay {
	t.Helper()

	return bridge.NewRelay(o.URLs, dbtest.Outbox(t, pool), o, bridge.NewMetrics(prometheus.NewRegistry()),
		slog.New(slog.DiscardHandler), now)
}

// running runs a relay until stop, which waits for its end with patience, or the end of the test.
func running(t testing.TB, r *bridge.Relay) (stop func()) {
	t.Helper()

	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case <-done:
		case <-time.After(patience):
			require.Fail(t, "the relay does not stop")
		}
	})
	t.Cleanup(stop)
	return stop
}

// outbox returns a broker with our topology and a database.
func outbox(t testing.TB) (*bridgetest.Broker, *pgxpool.Pool) {
	t.Helper()

	broker := bridgetest.New(t)
	require.NoError(t, bridge.Establish(t.Context(), options(broker.URL)))
	return broker, dbtest.New(t)
}

// column returns one text column of the outbox in the order of writing.
func column(t testing.TB, pool *pgxpool.Pool, what string) []string {
	t.Helper()

	rows, _ := pool.Query(t.Context(), "SELECT "+what+"::text FROM outbox ORDER BY id")
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return got
}

// messageIDs returns the MessageIds of deliveries.
func messageIDs(deliveries []amqp.Delivery) []string {
	out := make([]string, len(deliveries))
	for i, d := range deliveries {
		out[i] = d.MessageId
	}
	return out
}

// empty waits until everything is confirmed and marked.
func empty(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool { return pending(t, pool) == 0 }, patience, 10*time.Millisecond)
}

func TestRelayPublishes(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	relay(t, broker.URL, pool, 2, time.Now)
	s, ref := dblistings.NewListings(pool), listing.Ref{Platform: "kijiji", PlatformID: "1"}
	_, err := s.Receive(t.Context(), []dblistings.Arrival{{
		Ref: ref, URL: "https://k.example/1", Payload: []byte(`{}`), ContentHash: []byte{1}, ScrapedAt: time.Now(),
	}}, time.Now())
	require.NoError(t, err)
	l := listing.Listing{Ref: ref, URL: "https://k.example/1", Title: "4 ½", RentCents: 125_000}
	require.NoError(t, s.SaveNormalized(t.Context(), l, listing.Payload{Revision: 1}, time.Now())) // no queue is bound to listings.normalized
	_, err = s.Publish(t.Context(), listing.Publication{Version: listing.Version{Revision: 1, Listing: l}},
		listing.Run{}, time.Now())
	require.NoError(t, err)

	d := broker.Get("listings.published", 1)[0]
	var e contract.Event
	require.NoError(t, json.Unmarshal(d.Body, &e))
	require.Equal(t, d.MessageId, e.EventID)
	require.Equal(t, "listings.published", e.EventName)
	require.Equal(t, amqp.Persistent, d.DeliveryMode)
	require.Equal(t, "application/json", d.ContentType)
	require.Equal(t, "listings.events", d.Exchange)
	empty(t, pool)
	require.Equal(t, []string{"0", "0"}, column(t, pool, "refusals"), "an event without subscribers is published")
}

// wind makes waits and leases as if d had passed: they end by the clock of Postgres.
func wind(t testing.TB, pool *pgxpool.Pool, d time.Duration) {
	t.Helper()

	_, err := pool.Exec(t.Context(), "UPDATE outbox SET leased_until = leased_until - $1::interval, due_at = due_at - $1::interval", d)
	require.NoError(t, err)
}

// TestRelayUnroutable: an event that its queue must get, and does not, stays until the queue is bound again.
func TestRelayUnroutable(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	ch := broker.Channel()
	require.NoError(t, ch.QueueUnbind("listings.published", "listings.published", "listings.events", nil))
	fill(t, pool, 2, 60)
	_, err := pool.Exec(t.Context(), "UPDATE outbox SET routing_key = 'listings.normalized' WHERE id % 3 = 0")
	require.NoError(t, err)
	relay(t, broker.URL, pool, 1, time.Now)
	refused := func() (n int) {
		for _, r := range column(t, pool, "refusals") {
			if r == "1" {
				n++
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return refused() == 40 && pending(t, pool) == 40 }, patience, tick)
	for _, e := range column(t, pool, "last_error") {
		require.Contains(t, []string{"", "no queue is bound for it"}, e)
	}
	require.Zero(t, broker.Ready("listings.published"))

	require.NoError(t, ch.QueueBind("listings.published", "listings.published", "listings.events", false, nil))
	wind(t, pool, time.Minute)
	empty(t, pool)
	require.ElementsMatch(t, published(t, pool), messageIDs(broker.Get("listings.published", 40)))
	require.Zero(t, broker.Ready("listings.published"))
}

// TestRelayPoison: a message to an exchange that is not there is refused by itself. The others go out once, also those
// that other cycles have under way, and it goes out when the exchange is there.
func TestRelayPoison(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	fill(t, pool, 3, 60)
	_, err := pool.Exec(t.Context(), "UPDATE outbox SET exchange = 'nowhere' WHERE id % 20 = 0")
	require.NoError(t, err)
	relay(t, broker.URL, pool, 3, time.Now)
	require.Eventually(t, func() bool { return pending(t, pool) == 3 }, patience, tick)
	fill(t, pool, 3, 60)
	require.Eventually(t, func() bool { return pending(t, pool) == 3 }, patience, tick, "others do not wait for it")
	got := messageIDs(broker.Get("listings.published", 117))
	slices.Sort(got)
	require.Len(t, slices.Compact(got), 117)
	require.Zero(t, broker.Ready("listings.published"), "a message went out twice")
	require.Len(t, slices.DeleteFunc(column(t, pool, "last_error"), func(e string) bool { return e == "" }), 3)

	ch := broker.Channel()
	require.NoError(t, ch.ExchangeDeclare("nowhere", amqp.ExchangeTopic, true, false, false, false, nil))
	wind(t, pool, time.Minute)
	empty(t, pool)
}

// TestRelayTooLarge: a message that is larger than the broker takes is refused by itself, and the others of its batch are
// published.
func TestRelayTooLarge(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()

	broker, pool := outbox(t)
	fill(t, pool, 1, 5)
	const most = 16 << 20 // of RabbitMQ 4 without a setting; the broker of these tests takes 8 MiB
	_, err := pool.Exec(t.Context(), "UPDATE outbox SET body = convert_to(repeat('x', $1), 'UTF8') WHERE id % 5 = 3", most+1)
	require.NoError(t, err)
	relay(t, broker.URL, pool, 1, time.Now)
	require.Eventually(t, func() bool { return pending(t, pool) == 1 }, patience, tick)
	require.Eventually(t, func() bool { return slices.Contains(column(t, pool, "refusals"), "1") }, patience, tick)
	require.Contains(t, strings.Join(column(t, pool, "last_error"), ""), "PRECONDITION_FAILED")
	require.Equal(t, 4, len(broker.Get("listings.published", 4)))
}

// TestRelaySilence: of a batch in which the broker leaves some messages without an answer, the others are marked or
// refused, and go out once. The silent ones are put off, and reach their queue once the broker answers.
func TestRelaySilence(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	line := bridgetest.NewLine(t, broker.URL)
	line.Mute("listings.ready")
	fill(t, pool, 1, 40)
	_, err := pool.Exec(t.Context(), `UPDATE outbox SET exchange = '',
		routing_key = CASE id % 20 WHEN 5 THEN 'gone' WHEN 10 THEN 'listings.ready' ELSE routing_key END`)
	require.NoError(t, err)
	r := newRelay(t, options(line.URL), pool, time.Now)
	r.Cycles = 1
	r.KeepEvery(50 * time.Millisecond)
	r.ConfirmWithin(3 * time.Second)
	running(t, r)
	require.Eventually(t, func() bool {
		return strings.Contains(strings.Join(column(t, pool, "last_error"), ""), "the broker does not answer")
	}, patience, tick)
	var returned int
	require.NoError(t, pool.QueryRow(t.Context(),
		"SELECT count(*) FROM outbox WHERE routing_key = 'gone' AND refusals = 1 AND published_at IS NULL").Scan(&returned))
	require.Equal(t, 2, returned)
	require.Eventually(t, func() bool { return pending(t, pool) == 4 }, patience, tick)
	require.Equal(t, 36, broker.Ready("listings.published"), "once")
	var putOff int
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM outbox WHERE routing_key = 'listings.ready'
		AND refusals = 0 AND due_at > now() AND published_at IS NULL`).Scan(&putOff))
	require.Equal(t, 2, putOff)

	line.Mute("")
	_, err = broker.Channel().QueueDeclare("gone", true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	require.NoError(t, err)
	wind(t, pool, time.Minute)
	empty(t, pool)
}

// TestRelaySilenceOfAnother: messages that were not sent, because the broker left those of another exchange without an
// answer until the time of their batch was over, are not put off with these.
func TestRelaySilenceOfAnother(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	line := bridgetest.NewLine(t, broker.URL)
	r := newRelay(t, options(line.URL), pool, time.Now)
	r.Cycles = 1
	r.KeepEvery(50 * time.Millisecond)
	r.ConfirmWithin(3 * time.Second)
	running(t, r)
	fill(t, pool, 1, 1)
	empty(t, pool) // the time of the batch is not that of connecting
	line.Mute("listings.published")
	_, err := pool.Exec(t.Context(), `INSERT INTO outbox (message_id, lane, exchange, routing_key, body, created_at)
		SELECT gen_random_uuid(), 't', exchange, CASE n WHEN 2 THEN 'listings.published' ELSE 'kijiji' END, '{}', now()
		FROM unnest('{scraped,listings.events,listings,events,scraped.dlx,listings.dlx,events.dlx,listings.events.dlx,
			amq.topic}'::text[]) WITH ORDINALITY AS e(exchange, n) ORDER BY n`)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return pending(t, pool) == 1 }, patience, tick)
	require.Zero(t, dbtest.Count(t, pool, "outbox WHERE exchange <> 'listings.events' AND due_at > '-infinity'"))
	require.EqualValues(t, 7, dbtest.Count(t, pool, "outbox WHERE last_error LIKE 'not sent%'"))
}

// TestRelayAway: where no message of a batch had an answer, they go out as soon as the broker answers again.
func TestRelayAway(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	line := bridgetest.NewLine(t, broker.URL)
	line.Mute("listings.published")
	fill(t, pool, 1, 3)
	o := options(line.URL)
	var r *bridge.Relay
	said := &called{on: "cannot publish the outbox", do: func() { // before the next try
		line.Mute("")
		r.ConfirmWithin(patience)
	}}
	r = bridge.NewRelay(o.URLs, dbtest.Outbox(t, pool), o, bridge.NewMetrics(prometheus.NewRegistry()),
		slog.New(slog.NewTextHandler(said, nil)), time.Now)
	r.Cycles = 1
	r.KeepEvery(50 * time.Millisecond)
	r.ConfirmWithin(time.Second)
	running(t, r)
	empty(t, pool)
	require.Zero(t, dbtest.Count(t, pool, "outbox WHERE due_at > '-infinity'"), "they were not put off")
}

// called calls do for what is written with a text in it.
type called struct {
	on string
	do func()
}

func (c *called) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.on) {
		c.do()
	}
	return len(b), nil
}

// TestRelayGivesUp: a message that the broker refuses for too long becomes a dead letter, of which operators are told; its
// replay arrives when there is a queue again.
func TestRelayGivesUp(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	ch := broker.Channel()
	require.NoError(t, ch.QueueUnbind("listings.published", "listings.published", "listings.events", nil))
	fill(t, pool, 1, 3)
	_, err := pool.Exec(t.Context(), `UPDATE outbox SET exchange = CASE id % 3 WHEN 0 THEN 'nowhere' ELSE exchange END,
		body = CASE id % 3 WHEN 1 THEN '{"tenant":"acme","data":{}}' ELSE body END`)
	require.NoError(t, err)
	o, registry, logs := options(broker.URL), prometheus.NewRegistry(), new(logs)
	o.GiveUp = 45 * time.Second // with the third refusal
	o.Declare = false           // or the binding would be declared again
	r := bridge.NewRelay(o.URLs, dbtest.Outbox(t, pool), o, bridge.NewMetrics(registry), slog.New(slog.NewTextHandler(logs, nil)),
		time.Now)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	for n := range 2 {
		want := []string{fmt.Sprint(n + 1), fmt.Sprint(n + 1), fmt.Sprint(n + 1)}
		require.Eventually(t, func() bool { return slices.Equal(column(t, pool, "refusals"), want) }, patience, tick)
		wind(t, pool, time.Minute)
	}
	empty(t, pool)
	require.Empty(t, column(t, pool, "id"))
	letters := func(where string) (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM dead_letters WHERE "+where).Scan(&n))
		return n
	}
	require.Equal(t, 2, letters("queue = 'outbox' AND exchange = 'listings.events' AND reason LIKE '%no queue is bound for it'"))
	require.Equal(t, 1, letters("queue = 'outbox' AND tenant = 'acme'"), "what is of a tenant stays the tenant's")
	require.Equal(t, 1, letters("queue = 'outbox' AND exchange = 'nowhere' AND reason LIKE '%NOT_FOUND%'"))
	require.Eventually(t, func() bool { return strings.Contains(logs.String(), "they are dead letters now") }, patience, tick)
	require.Equal(t, 3.0, total(t, registry, "conveyor_outbox_given_up_total"))

	require.NoError(t, ch.QueueBind("listings.published", "listings.published", "listings.events", false, nil))
	n, err := db.NewDeadLetters(pool, nil).ReplayAll(t.Context(), db.LetterFilter{Reason: "no queue"}, 10, "Ginette", time.Now())
	require.NoError(t, err)
	require.Equal(t, 2, n.Sent)
	empty(t, pool)
	for _, d := range broker.Get("listings.published", 2) {
		require.Equal(t, "listings.events", d.Exchange)
		require.Len(t, d.MessageId, 36)
	}
}

// total is the sum of a metric's values over its labels.
func total(t testing.TB, r *prometheus.Registry, name string) (sum float64) {
	t.Helper()

	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// published returns the IDs of the messages that go to the queue listings.published.
func published(t testing.TB, pool *pgxpool.Pool) []string {
	t.Helper()
	ids := column(t, pool, "CASE routing_key WHEN 'listings.published' THEN message_id::text ELSE '' END")
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}

func TestTwoRelaysDoNotOverlap(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	const events = 3000
	fill(t, pool, 7, events)
	relay(t, broker.URL, pool, 3, time.Now)
	relay(t, broker.URL, pool, 3, time.Now)
	empty(t, pool)
	got := messageIDs(broker.Get("listings.published", events))
	require.Zero(t, broker.Ready("listings.published"), "no event twice")
	require.ElementsMatch(t, column(t, pool, "message_id"), got)
}

// TestRelayIsFair: however much a busy lane has, another one's events go out with the next batch.
func TestRelayIsFair(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	fill(t, pool, 1, 2000)
	_, err := pool.Exec(t.Context(), "UPDATE outbox SET lane = 'busy'")
	require.NoError(t, err)
	fill(t, pool, 12, 12*60)
	relay(t, broker.URL, pool, 1, time.Now)
	empty(t, pool)
	got := messageIDs(broker.Get("listings.published", 2720))
	lane := map[string]string{}
	ids, of := column(t, pool, "message_id"), column(t, pool, "lane")
	for i, id := range ids {
		lane[id] = of[i]
	}
	// 13 lanes have something: ten of them in the first cycle, the other three and the remainder in the second.
	for _, batch := range [][]string{got[:500], got[500 : 4*50+9*10+500]} {
		n := map[string]int{}
		for _, id := range batch {
			n[lane[id]]++
		}
		for name, of := range n {
			require.LessOrEqual(t, of, 50, "of %s in a cycle", name)
		}
	}
	last := slices.IndexFunc(got, func(id string) bool { return lane[id] == "t0011" })
	require.Less(t, last, 1000, "every lane had a turn within two cycles")
	busy := slices.DeleteFunc(slices.Clone(got), func(id string) bool { return lane[id] != "busy" })
	require.Equal(t, ids[:2000], busy, "in the order of writing")
}

// TestRelayBoundsBytes: a cycle has no more of large messages in hand than fit into memory, and goes on at once with
// the next slice.
func TestRelayBoundsBytes(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	line := bridgetest.NewLine(t, broker.URL)
	line.Alarm(true)
	fill(t, pool, 1, 50)
	_, err := pool.Exec(t.Context(), "UPDATE outbox SET body = convert_to(repeat('x', $1), 'UTF8')", 1<<20)
	require.NoError(t, err)
	relay(t, line.URL, pool, 1, time.Now)
	leased := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(),
			"SELECT count(*) FROM outbox WHERE lease_token IS NOT NULL").Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return leased() > 0 }, patience, tick)
	require.Equal(t, 16, leased())

	line.Alarm(false)
	for pending(t, pool) > 0 {
		require.LessOrEqual(t, leased(), 16)
	}
	require.ElementsMatch(t, column(t, pool, "message_id"), messageIDs(broker.Get("listings.published", 50)))
}

// TestRelaySetsType: the AMQP type of a message is that of its row.
func TestRelaySetsType(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	id := uuid.New()
	require.NoError(t, dbdrafts.NewDrafts(pool).RequestDraft(t.Context(), draft.Request{EventID: id, URL: "https://shop.example/"},
		db.Sealed{}, "Ginette", dbdrafts.Target{Exchange: "events", RoutingKey: requests}, time.Now()))
	fill(t, pool, 1, 1)
	relay(t, broker.URL, pool, 1, time.Now)
	d := broker.Get(requests, 1)[0]
	require.Equal(t, id.String(), d.MessageId)
	require.Equal(t, contract.CrawlRequestedName, d.Type)
	require.Empty(t, broker.Get("listings.published", 1)[0].Type)
}

// TestRelayLosesNothing cuts its line to the broker again and again while it publishes: every event arrives, those of
// unknown fate again under the same MessageId, and none is marked that did not arrive.
func TestRelayLosesNothing(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	line := bridgetest.NewLine(t, broker.URL)
	const events = 4000
	fill(t, pool, 5, events)
	relay(t, line.URL, pool, 2, time.Now)
	for left := events; left > 1000; left -= 1000 {
		require.Eventually(t, func() bool { return pending(t, pool) < left }, patience, tick)
		line.Cut()
		require.Eventually(t, func() bool {
			return strings.Contains(strings.Join(column(t, pool, "last_error"), ""), "c") || pending(t, pool) == 0
		}, patience, tick)
		line.Mend()
	}
	empty(t, pool)
	got := messageIDs(broker.Get("listings.published", broker.Ready("listings.published")))
	slices.Sort(got)
	want := column(t, pool, "message_id")
	slices.Sort(want)
	require.Equal(t, want, slices.Compact(got))
	require.NotContains(t, column(t, pool, "refusals"), "1", "an absent broker costs no refusal")
}

// TestRelayStopsClean: a relay that is told to stop waits for the broker's confirms of the events it has sent.
func TestRelayStopsClean(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	const events = 5000
	fill(t, pool, 10, events)
	stop := relay(t, broker.URL, pool, 3, time.Now)
	require.Eventually(t, func() bool { return pending(t, pool) < events-500 }, patience, tick)
	stop()
	sent := events - pending(t, pool)
	require.Equal(t, sent, broker.Ready("listings.published"), "the events sent are marked")
	var leased int
	require.NoError(t, pool.QueryRow(t.Context(),
		"SELECT count(*) FROM outbox WHERE lease_token IS NOT NULL").Scan(&leased))
	require.Zero(t, leased, "and nothing is left leased")
}

func TestRelayIsWoken(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	r := newRelay(t, options(broker.URL), pool, time.Now)
	r.Cycles = 1
	r.PollEvery(time.Hour)
	running(t, r)
	listening := func() (n int) {
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE query = 'LISTEN outbox' AND datname = current_database()`).Scan(&n))
		return n
	}
	require.Eventually(t, func() bool { return listening() == 1 }, patience, tick)
	s := dblistings.NewListings(pool)
	written := 0
	for range 12 { // each in less than the hour to the next poll
		<-time.After(3 * db.WakeEvery) // or the relay still looks because of the message before
		tries := 0
		require.Eventually(t, func() bool {
			if tries++; tries%50 == 1 { // a writer does not wait long for its wake-up on a busy machine: the next one wakes
				written++
				handOver(t, s, written)
			}
			return broker.Ready("listings.ready") > 0
		}, patience, 4*tick)
		broker.Get("listings.ready", broker.Ready("listings.ready"))
	}
	looks, _ := r.Turn()
	require.False(t, looks, "what was looked for counts as the look of this hour")
}

func TestSender(t *testing.T) {
	t.Parallel()

	broker, _ := outbox(t)
	sender := bridge.NewSender(broker.URL)
	defer sender.Close()
	parcels := make([]bridge.Parcel, 1200)
	for i := range parcels {
		parcels[i] = bridge.Parcel{Exchange: "scraped", RoutingKey: "kijiji", Body: []byte("{}")}
	}
	require.NoError(t, sender.Send(t.Context(), parcels))
	require.Len(t, broker.Get("scraped.kijiji", 1200), 1200)
	err := sender.Send(t.Context(), []bridge.Parcel{{Exchange: "scraped", RoutingKey: "nobody"}})
	require.ErrorContains(t, err, "no queue is bound")
	require.ErrorContains(t, sender.Send(t.Context(), []bridge.Parcel{{Exchange: "nowhere"}}), "nowhere")
	require.NoError(t, sender.Send(t.Context(), parcels[:1]), "it goes on after an error")

	require.NoError(t, bridge.Ping(t.Context(), broker.URL))
	require.Error(t, bridge.Ping(t.Context(), "amqp://127.0.0.1:1/"))
}

// The cycles of a relay that nothing wakes share one look in each interval, and take it from one that hangs.
func TestCyclesShareTheirLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const poll = time.Second
		r := new(bridge.Relay)
		r.PollEvery(poll)
		took := func() int { // by three cycles at one instant
			var looks atomic.Int64
			var all sync.WaitGroup
			for range 3 {
				all.Go(func() {
					mine, next := r.Turn()
					if mine {
						looks.Add(1)
					}
					if next <= 0 || next > poll {
						t.Errorf("asks again after %v", next)
					}
				})
			}
			all.Wait()
			return int(looks.Load())
		}
		require.Equal(t, 1, took(), "nobody has looked")
		require.Zero(t, took())
		time.Sleep(poll - time.Millisecond)
		require.Zero(t, took())
		_, next := r.Turn()
		require.Equal(t, time.Millisecond, next, "as soon as it is due")
		time.Sleep(next)
		require.Equal(t, 1, took(), "whichever it is")
		time.Sleep(poll / 2)
		r.Look(time.Now())
		time.Sleep(poll / 2)
		require.Zero(t, took(), "a cycle that was woken has looked")
		time.Sleep(poll / 2)
		require.Equal(t, 1, took())
	})
}

// A relay whose every look finds messages looks less often, and one that finds some now and then at once.
func TestBusyRelaysGather(t *testing.T) {
	t.Parallel()
	const long, short = 20 * time.Millisecond, time.Millisecond
	require.Zero(t, bridge.Gather(0, long))
	require.Zero(t, bridge.Gather(3, long), "a few events one after the other")
	require.Positive(t, bridge.Gather(0, short), "two events in a moment")
	busy := bridge.Gather(4, short)
	require.Greater(t, busy, bridge.Gather(0, short))
	require.Equal(t, busy+short, bridge.Gather(4, 0), "the time since the last look counts")
}

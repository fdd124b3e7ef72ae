package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

const tick = 5 * time.Millisecond

var patience = servicetest.Patience()

func options(url string) bridge.Options {
	return bridge.Options{
		URLs: []string{url}, Queues: append(listings().Queues(), drafts().Queues()...), QueueType: "quorum", Declare: true, Prefetch: 50,
		Hold: time.Minute, ArchiveDeadLetters: true, Relays: 3, Retention: time.Hour, Version: "test",
	}
}

func listings() *bridge.Listings {
	return &bridge.Listings{
		Stages: []string{"normalize", "dedupe", "import", "images"}, Platforms: []string{"kijiji", "kangalou"}, Prefetch: 50,
	}
}

func drafts() *bridge.Drafts {
	return &bridge.Drafts{Exchange: "events", Queue: requests, RoutingKey: requests, Prefetch: 1, TaskQueue: "drafts"}
}

// A starter is a Temporal that only remembers.
type starter struct {
	mu       sync.Mutex
	calls    int
	listings map[string][]launch.Arrival // by platform_id
	images   []launch.ImageJob
	drafts   []draft.Request
	givenUp  []time.Time           // of each image
	idle     bool                  // no worker makes drafts
	fail     func(id string) error // nil or a result of nil accepts
	pages    [][]uuid.UUID         // batches of keys
	refuse   map[uuid.UUID]string  // pages that are refused, and why
	merges   int                   // of the index; every batch asks for one
}

func (s *starter) Listing(_ context.Context, ref listing.Ref, a launch.Arrival, _ string) error {
	return s.accept(ref.PlatformID, func() { s.listings[ref.PlatformID] = append(s.listings[ref.PlatformID], a) })
}

func (s *starter) DraftsServed(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle {
		return errors.New("no worker polls")
	}
	return nil
}

func (s *starter) SearchServed(ctx context.Context) error {
	return s.DraftsServed(ctx)
}

func (s *starter) IndexPages(_ context.Context, keys []uuid.UUID, hosts []string) (launch.Indexed, error) {
	err := s.accept(hosts[0], func() { s.pages = append(s.pages, keys) })
	return launch.Indexed{WorkflowID: "index/x", RunID: "run", Refused: s.refuse, Full: true}, err
}

func (s *starter) CompactIndex(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merges++
	return errors.New("not now")
}

// serve says whether a worker makes drafts, or stores pages.
func (s *starter) serve(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = !on
}

func (s *starter) Draft(_ context.Context, r draft.Request) error {
	return s.accept(r.URL, func() { s.drafts = append(s.drafts, r) })
}

func (s *starter) Image(_ context.Context, job launch.ImageJob, givenUp time.Time) error {
	return s.accept(job.Image.URL, func() { s.images, s.givenUp = append(s.images, job), append(s.givenUp, givenUp) })
}

func (s *starter) accept(id string, remember func()) error {
	s.mu.Lock()
	s.calls++
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		if err := fail(id); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	remember()
	return nil
}

// set changes how starts fail.
func (s *starter) set(fail func(string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

// started returns how many different adverts were accepted, and called how often it was asked.
func (s *starter) started() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.listings)
}

func (s *starter) called() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// arrivals returns the messages that were accepted for an advert.
func (s *starter) arrivals(id string) []launch.Arrival {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listings[id]
}

// logs is a log that a test can read while it is written.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A rig is a bridge between a broker and a database of its own.
type rig struct {
	*bridge.Bridge
	Listings *dblistings.Listings
	listings *bridge.Listings
	drafts   *bridge.Drafts // nil leaves its queue to others
	more     []bridge.Queue // those of other systems
	broker   *bridgetest.Broker
	pool     *pgxpool.Pool
	temp     *starter
	logs     *logs
}

// newRig returns a bridge that is not running yet; change its options before start.
func newRig(t testing.TB) *rig {
	t.Helper()

	broker, pool := bridgetest.New(t), dbtest.New(t)
	r := &rig{
		listings: listings(), drafts: drafts(),
		broker: broker, pool: pool, temp: &starter{listings: map[string][]launch.Arrival{}}, logs: new(logs),
	}
	r.Bridge = &bridge.Bridge{Options: options(broker.URL), Now: time.Now,
		Metrics: bridge.NewMetrics(prometheus.NewRegistry()), Log: slog.New(slog.NewTextHandler(r.logs, nil))}
	r.use(pool)
	r.arrange()
	return r
}

// arrange gives the bridge the rows of its systems as they are now.
func (r *rig) arrange() {
	r.listings.Store, r.listings.Launch = r.Listings, r.temp
	r.Queues = append(r.listings.Queues(), r.more...)
	if r.drafts != nil {
		r.drafts.Launch, r.drafts.Store, r.drafts.Now = r.temp, dbdrafts.NewDrafts(r.pool), time.Now
		r.Queues = append(r.Queues, r.drafts.Queues()...)
	}
}

// use puts the bridge on another pool of the same database.
func (r *rig) use(pool *pgxpool.Pool) {
	r.Listings, r.DeadLetters, r.Outbox = dblistings.NewListings(pool), db.NewDeadLetters(pool, nil), db.NewOutbox(pool)
}

// byLine puts the bridge on a pool by a line that can be cut.
func (r *rig) byLine(t *testing.T) *bridgetest.Line {
	t.Helper()

	line := bridgetest.NewLine(t, r.pool.Config().ConnString())
	pool, err := db.Open(t.Context(), line.URL, 10)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	r.use(pool)
	return line
}

// start runs the bridge and waits until its consumers are there. stop ends it and waits; the test's end does, too.
func (r *rig) start(t testing.TB) (stop func()) {
	t.Helper()

	r.arrange()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "the bridge does not stop", r.logs.String())
		}
	})
	t.Cleanup(stop)
	r.eventually(t, func() bool { return r.consumers("scraped.kijiji") == 1 }, "no consumer")
	return stop
}

// eventually waits for a condition and shows the log when it does not come about.
func (r *rig) eventually(t testing.TB, f func() bool, what string) {
	t.Helper()

	deadline := time.Now().Add(patience)
	for !f() {
		if time.Now().After(deadline) {
			require.Fail(t, what, r.logs.String())
		}
		<-time.After(tick)
	}
}

// consumers returns how many consumers a queue has, -1 when there is no such queue.
func (r *rig) consumers(queue string) int {
	ch := r.broker.Channel()
	defer ch.Close()
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	if err != nil {
		return -1
	}
	return q.Consumers
}

// rows counts the rows of a table that satisfy a condition.
func (r *rig) rows(t testing.TB, where string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, r.pool.QueryRow(context.WithoutCancel(t.Context()), "SELECT count(*) FROM "+where, args...).Scan(&n))
	return n
}

// message is the scraped message of the contract's golden file under another ID.
func message(t testing.TB, id string) []byte {
	t.Helper()

	body, err := os.ReadFile("../domain/contract/testdata/scraped.json")
	require.NoError(t, err)
	var m map[string]any
	require.NoError(t, json.Unmarshal(body, &m))
	m["platform_id"] = id
	body, err = json.Marshal(m)
	require.NoError(t, err)
	return body
}

// messages are n adverts.
func messages(t testing.TB, n int) [][]byte {
	t.Helper()

	out := make([][]byte, n)
	for i := range out {
		out[i] = message(t, fmt.Sprint(i))
	}
	return out
}

func TestScraped(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	stop := r.start(t)
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "nothing was started")
	require.Equal(t, []launch.Arrival{{Stage: listing.StageNormalize, Revision: 1}}, r.temp.arrivals("1"))
	require.Equal(t, 1, r.rows(t, "raw_listings WHERE status = 'scraped' AND payload->'raw'->>'slug' = 'beau-4-1-2'"))

	// Unchanged and settled: counted and acked, nothing is started. A byte order mark is no part of a message.
	_, err := r.pool.Exec(t.Context(), "UPDATE raw_listings SET settled_revision = 1")
	require.NoError(t, err)
	r.broker.Publish("scraped", "kijiji", message(t, "1"), append([]byte("\ufeff"), message(t, "2")...))
	r.eventually(t, func() bool { return r.temp.started() == 2 }, "the second was not started")
	r.eventually(t, func() bool { return r.rows(t, "raw_listings WHERE scrapes = 2") == 1 }, "it was not counted")
	require.Len(t, r.temp.arrivals("1"), 1)

	// Archived meanwhile: a run of its that has done this revision and still waits for images must do it again.
	_, err = r.pool.Exec(t.Context(), "UPDATE raw_listings SET archived_at = now() WHERE platform_id = '1'")
	require.NoError(t, err)
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return len(r.temp.arrivals("1")) == 2 }, "it stays archived although it was seen")
	require.Equal(t, launch.Arrival{Stage: listing.StageNormalize, Revision: 1, Force: true}, r.temp.arrivals("1")[1])
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"), "everything is acked")
	require.Zero(t, r.rows(t, "dead_letters"))
}

// TestManyAtOnce: waiting messages are stored together, so that a backlog is not one statement a message.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	registry := prometheus.NewRegistry()
	r.Metrics = bridge.NewMetrics(registry)
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	r.broker.Publish("scraped", "kijiji", messages(t, 500)...)
	r.start(t)
	r.eventually(t, func() bool { return r.temp.started() == 500 }, "not all were started")
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "conveyor_batch_messages" {
			h := f.GetMetric()[0].GetHistogram()
			require.Less(t, h.GetSampleCount(), uint64(h.GetSampleSum()), "no batch of several messages")
		}
	}
}

// TestLargeMessages: of large messages few are taken at once, whatever the prefetch, and of small ones many again. Each is
// handled once.
func TestLargeMessages(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.listings.Prefetch = 40
	r.PrefetchBytes(400 << 10)
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	large := messages(t, 100)
	for i, body := range large {
		pad := []byte(`"pad":"` + strings.Repeat("x", 50<<10) + `","title":`)
		large[i] = bytes.Replace(body, []byte(`"title":`), pad, 1)
	}
	r.broker.Publish("scraped", "kijiji", large...)
	r.temp.set(func(string) error { return errors.New("temporal is away") })
	stop := r.start(t)
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "its messages are large") }, "no log")
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji") == 95 }, "an eighth of the prefetch is taken")
	r.temp.set(nil)
	r.eventually(t, func() bool { return r.temp.started() == 100 }, "not all were started")
	for n := 0; !strings.Contains(r.logs.String(), "its messages are small again"); n++ {
		require.Less(t, n, 20)
		var small [][]byte
		for i := range 40 {
			small = append(small, message(t, fmt.Sprint("small-", n, "-", i)))
		}
		r.broker.Publish("scraped", "kijiji", small...)
		r.eventually(t, func() bool { return r.temp.started() == 100+40*(n+1) }, "not all were started")
	}
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
	require.Zero(t, r.rows(t, "dead_letters"))
}

// TestMixedMessages: a backlog in which runs of large and small messages alternate is taken without pauses, though the
// consumer begins anew at each change: as after failures in a row, these would be a quarter of a minute each.
func TestMixedMessages(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.listings.Prefetch = 40
	r.PrefetchBytes(400 << 10)
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	const runs, large, small = 10, 12, 200 // four times anew for each: less at once, and three times more
	pad := []byte(`"pad":"` + strings.Repeat("x", 50<<10) + `","title":`)
	for n := range runs {
		var bodies [][]byte
		for i := range large + small {
			body := message(t, fmt.Sprint(n, "-", i))
			if i < large {
				body = bytes.Replace(body, []byte(`"title":`), pad, 1)
			}
			bodies = append(bodies, body)
		}
		r.broker.Publish("scraped", "kijiji", bodies...)
	}
	stop := r.start(t)
	r.eventually(t, func() bool { return r.temp.started() == runs*(large+small) }, "not all were started")
	stop()
	require.GreaterOrEqual(t, strings.Count(r.logs.String(), "consumer begins anew"), 2*runs)
	require.NotContains(t, r.logs.String(), "consumer lost its session")
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
}

func TestInvalidMessages(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.ArchiveDeadLetters = false
	stop := r.start(t)
	r.temp.set(func(id string) error {
		if id == "panic" {
			panic("cannot handle this message")
		}
		return nil
	})
	extra := func(value string) []byte {
		return bytes.Replace(message(t, "extra"), []byte(`"title":`), []byte(`"extra":`+value+`,"title":`), 1)
	}
	for i, tt := range []struct {
		name, reason string
		body         []byte
	}{
		{"not JSON", "not JSON", []byte("<html>")},
		{"an empty body", "not JSON", nil},
		{"missing members",
			"platform: is missing; platform_id: is missing; url: is missing; scraped_at: is missing", []byte("{}")},
		{"latitude abc", "latitude: is a string", bytes.Replace(message(t, "x"), []byte("45.5231"), []byte(`"abc"`), 1)},
		{"a body of 2 MiB", "the most is 1048576", bytes.Repeat([]byte("x"), 2<<20)},
		{"an escaped NUL", "extra: contains a NUL", extra(`["\u0000"]`)},
		{"a raw NUL", "not JSON", extra("\"\x00\"")},
		{"invalid UTF-8", "not UTF-8", extra("\"\xff\"")},
		{"half of a surrogate pair", "SQLSTATE 22", extra(`"\ud800"`)},
		{"a number that no column holds", "SQLSTATE 22003", extra("1e999999")},
		{"an unknown platform", `"nobody" is not known`,
			bytes.Replace(message(t, "x"), []byte(`"kijiji"`), []byte(`"nobody"`), 1)},
		{"a scrape of tomorrow", "scraped_at: is 2999",
			bytes.Replace(message(t, "x"), []byte(`"2026-11-20T14:03:05Z"`), []byte(`"2999-01-01T00:00:00Z"`), 1)},
		{"a platform of another queue", "publish it with routing key", bytes.Replace(message(t, "x"), []byte(`"kijiji"`),
			[]byte(`"kangalou"`), 1)},
		{"a message that makes the handler panic", "cannot handle this message", message(t, "panic")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			next := fmt.Sprint("after-", i)
			r.broker.Send("scraped", "kijiji",
				amqp.Publishing{
					MessageId: tt.name, Body: tt.body, Headers: amqp.Table{"x-attempt": int32(2), "mine": "kept"}, Expiration: "600000",
					ContentType: "text/x", ContentEncoding: "gzip", Priority: 3, CorrelationId: "c", ReplyTo: "r", Type: "advert", AppId: "a",
				},
				amqp.Publishing{MessageId: next, Body: message(t, next)})
			d := r.broker.Get("scraped.kijiji.dlq", 1)[0]
			require.Equal(t, tt.name, d.MessageId)
			require.Equal(t, string(tt.body), string(d.Body))
			require.Equal(t, []any{"text/x", "gzip", uint8(3), "c", "r", "advert", "a", ""}, []any{d.ContentType, d.ContentEncoding,
				d.Priority, d.CorrelationId, d.ReplyTo, d.Type, d.AppId, d.Expiration}, "its sender's properties; but it does not expire")
			require.Contains(t, d.Headers["x-error"], tt.reason)
			require.Len(t, d.Headers["x-conveyor-death"], 36)
			delete(d.Headers, "x-error")
			delete(d.Headers, "x-conveyor-death")
			require.Equal(t, amqp.Table{
				"x-error-class": "invalid", "x-origin-queue": "scraped.kijiji", "x-origin-exchange": "scraped",
				"x-origin-routing-key": "kijiji", "x-attempt": int64(3), "x-conveyor-version": "test", "mine": "kept",
			}, d.Headers)
			r.eventually(t, func() bool { return len(r.temp.arrivals(next)) == 1 }, "the next message was not handled")
		})
	}
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
	require.Zero(t, r.rows(t, "dead_letters"), "they stay in the broker")
}

func TestDeadLettersAreArchived(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.start(t)
	bad := amqp.Publishing{MessageId: "m1", Body: []byte("<html>")}
	r.broker.Send("scraped", "kijiji", bad)
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE state = 'open'") == 1 }, "not archived")
	r.broker.Send("scraped", "kijiji", bad)
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE deaths = 2") == 1 }, "not counted")
	var queue, exchange, key, id, reason, class, body, version string
	require.NoError(t, r.pool.QueryRow(t.Context(), `SELECT queue, exchange, routing_key, message_id, reason, class,
		convert_from(body, 'UTF8'), headers->>'x-conveyor-version' FROM dead_letters`).
		Scan(&queue, &exchange, &key, &id, &reason, &class, &body, &version))
	require.Equal(t, []string{"scraped.kijiji", "scraped", "kijiji", "m1", "invalid", "<html>", "test"},
		[]string{queue, exchange, key, id, class, body, version})
	require.Contains(t, reason, "not JSON")

	// Dead letters of other services are archived as well, whatever they contain.
	r.broker.Send("", "scraped.kijiji.dlq",
		amqp.Publishing{MessageId: "nothing at all"},
		amqp.Publishing{MessageId: "no\x00text", Body: []byte{0, 0xff}, Headers: amqp.Table{
			"x-error": "a\x00b\xff", "x-error-class": "\x00", "x-origin-queue": "\xff",
			"x-origin-exchange": "\x00", "a\x00": "b",
		}})
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 3 }, "not archived")
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji.dlq") == 0 }, "they stay in the queue")
}

// TestTemporalAway: messages are held, nothing more is taken, nothing spins, and it goes on by itself.
func TestTemporalAway(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.listings.Prefetch = 5
	stop := r.start(t)
	away := errors.New("temporal is away")
	r.temp.set(func(string) error { return away })
	began := time.Now()
	r.broker.Publish("scraped", "kijiji", messages(t, 12)...)
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji") == 7 }, "a prefetch's worth is taken")
	r.eventually(t, func() bool { return r.temp.called() >= 4 }, "it is tried again")
	// With pauses of 100 ms × 2ⁿ there are at most 5 starts a round, and as many rounds as doublings of the time.
	rounds := 3
	for wait := 80 * time.Millisecond; wait < time.Since(began); wait *= 2 {
		rounds++
	}
	require.LessOrEqual(t, r.temp.called(), 5*rounds, "nothing spins")
	require.Equal(t, 7, r.broker.Ready("scraped.kijiji"), "no more is taken")
	require.Zero(t, r.temp.started())
	require.Contains(t, r.logs.String(), "messages are held, trying again")

	r.temp.set(nil)
	r.eventually(t, func() bool { return r.temp.started() == 12 }, "it goes on by itself")
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
	require.Zero(t, r.rows(t, "dead_letters"))
}

// TestHeldOften: while a service is down for longer than the broker waits for an ack, its messages are given back before
// the broker takes them, as often as needed. A good one outlives any number of holds, also in a queue of another team
// that drops messages after 20 deliveries, as RabbitMQ 4 does by default.
func TestHeldOften(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	_, err := r.broker.Channel().QueueDeclare("scraped.kijiji", true, false, false, false, amqp.Table{
		"x-queue-type": "quorum", "x-delivery-limit": 20,
	})
	require.NoError(t, err)
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	for i, body := range messages(t, 8) {
		r.broker.Send("scraped", "kijiji", amqp.Publishing{
			MessageId: fmt.Sprint(i), Type: "advert", Body: body,
			Headers: amqp.Table{"mine": "kept", "CC": []any{"listings.published"}}, // a queue, but no key of this exchange
		})
	}
	r.Hold = 50 * time.Millisecond
	r.temp.set(func(string) error { return errors.New("temporal is away") })
	for n := range 3 {
		for range 9 { // as bridges before this one did
			r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji") == 8 }, "a good message is lost")
			ch := r.broker.Channel()
			deliveries, err := ch.Consume("scraped.kijiji", "", false, false, false, false, nil)
			require.NoError(t, err)
			for range 8 {
				d := <-deliveries
				require.Equal(t, "advert", d.Type)
				require.Equal(t, "kept", d.Headers["mine"])
			}
			require.NoError(t, ch.Close())
		}
		stop := r.start(t)
		held := func() int { return strings.Count(r.logs.String(), "were held for 50ms") }
		r.eventually(t, func() bool { return held() >= 3*(n+1) }, "not given back")
		stop()
	}
	r.temp.set(nil)
	stop := r.start(t)
	r.eventually(t, func() bool { return r.temp.started() == 8 }, "a good message is lost")
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
	require.Zero(t, r.broker.Ready("listings.published"), "no other queue has a copy")
	require.Zero(t, r.rows(t, "dead_letters"))
}

// TestConsumerCancelledWhileHolding: RabbitMQ 4.3 answers a hold that lasts too long by cancelling the consumer, and
// leaves its channel open; older ones cancel only when the queue is deleted. Either way there is a new session at once.
func TestConsumerCancelledWhileHolding(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	stop := r.start(t)
	r.temp.set(func(string) error { return errors.New("temporal is away") })
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "messages are held") }, "it is held")
	_, err := r.broker.Channel().QueueDelete("scraped.kijiji", false, false, false)
	require.NoError(t, err)
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "the broker cancelled the consumer") },
		"it goes on holding messages of a canceled consumer")

	r.temp.set(nil)
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	r.eventually(t, func() bool { return r.consumers("scraped.kijiji") == 1 }, "no consumer")
	r.broker.Publish("scraped", "kijiji", message(t, "2"))
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "it works")
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
}

func TestPostgresAway(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	line := r.byLine(t)
	stop := r.start(t)
	line.Cut()
	r.broker.Publish("scraped", "kijiji", append(messages(t, 3), []byte("<html>"))...)
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "messages are held") }, "they are held")
	require.Zero(t, r.temp.called())
	line.Mend()
	r.eventually(t, func() bool { return r.temp.started() == 3 }, "it goes on by itself")
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 1 }, "and archives")
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
}

// TestPostgresHangs: while Postgres accepts connections and answers nothing, messages are kept and operators see that
// they are held before the first call ends; when it answers again, the work goes on by itself.
func TestPostgresHangs(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ within, slow time.Duration }{
		"the call does not end": {time.Hour, 50 * time.Millisecond},
		"calls end":             {3 * time.Second, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := newRig(t)
			line := r.byLine(t)
			registry := prometheus.NewRegistry()
			r.Metrics = bridge.NewMetrics(registry)
			r.HandleWithin(c.within, c.slow)
			stop := r.start(t)
			r.broker.Publish("scraped", "kijiji", message(t, "before"))
			r.eventually(t, func() bool { return r.temp.started() == 1 }, "not started")
			line.Hang(true)
			t.Cleanup(func() { line.Hang(false) }) // before the bridge is stopped
			r.broker.Publish("scraped", "kijiji", messages(t, 3)...)
			r.broker.Publish("scraped", "kangalou", []byte("<html>")) // its dead letter is to be archived
			r.eventually(t, func() bool { return total(t, registry, "conveyor_messages_held") >= 2 }, "the metric does not show them")
			said := "messages are held, trying again"
			if c.within == time.Hour {
				said = "a service is slow or does not answer"
			}
			r.eventually(t, func() bool { return strings.Contains(r.logs.String(), said) }, "no log")
			require.Equal(t, 1, r.temp.started())

			line.Hang(false)
			r.eventually(t, func() bool { return r.temp.started() == 4 }, "it goes on by itself")
			r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 1 }, "and archives")
			r.eventually(t, func() bool { return total(t, registry, "conveyor_messages_held") == 0 }, "nothing is held")
			stop()
			require.Zero(t, r.broker.Ready("scraped.kijiji"))
		})
	}
}

// TestConnectionClosedBeforeAck: an ack for a delivery of the session before must not settle another message, and an
// unacked message comes again.
func TestConnectionClosedBeforeAck(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.listings.Prefetch = 2
	stop := r.start(t)
	inHand, release := make(chan string, 20), make(chan struct{})
	r.temp.set(func(id string) error {
		inHand <- id
		<-release
		return nil
	})
	r.broker.Publish("scraped", "kijiji", messages(t, 6)...)
	first := <-inHand
	r.eventually(t, func() bool { return r.broker.Cut("conveyor consumers") == 1 }, "no connection to cut")
	r.eventually(t, func() bool { return r.consumers("scraped.kijiji") == 0 }, "the session has ended")

	// From here on nothing is accepted, so that a message that leaves the queue was acked by mistake.
	r.temp.set(func(string) error { return errors.New("away") })
	close(release)
	r.eventually(t, func() bool { return r.temp.called() >= 4 }, "the messages come again")
	stop()
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji") == 6 }, "something was acked")

	r.temp.set(nil)
	stop = r.start(t)
	r.eventually(t, func() bool { return r.temp.started() == 6 }, "nothing is lost")
	stop()
	require.GreaterOrEqual(t, len(r.temp.arrivals(first)), 2, "accepted in both sessions")
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
}

func TestShutdownDrains(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	stop := r.start(t)
	inHand, release := make(chan string, 20), make(chan struct{})
	r.temp.set(func(id string) error {
		inHand <- id
		<-release
		return nil
	})
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	<-inHand
	stopped := make(chan struct{})
	go func() { defer close(stopped); stop() }()
	r.eventually(t, func() bool { return r.consumers("listings.ready") == 0 }, "the others stop")
	close(release)
	<-stopped
	require.Equal(t, 1, r.temp.started())
	require.Zero(t, r.broker.Ready("scraped.kijiji"), "the message in hand is acked")
}

func TestShutdownDoesNotWaitForWhatIsAway(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.RetryAfter(time.Hour)
	r.DrainWithin(time.Hour)
	r.temp.set(func(string) error { return errors.New("away") })
	stop := r.start(t)
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return r.temp.called() == 1 }, "not tried")
	stop() // fails where it waits for the pause or the grace
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji") == 1 }, "it goes back to its queue")
}

// TestBrokerAway: a bridge that starts before its broker waits for it, and one that loses it comes back.
func TestBrokerAway(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	line := bridgetest.NewLine(t, r.broker.URL)
	r.URLs = []string{line.URL}
	line.Cut()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	r.eventually(t, func() bool { return strings.Contains(r.logs.String(), "cannot connect to rabbitmq") }, "it says so")
	for n := range 2 {
		line.Mend()
		r.eventually(t, func() bool { return r.consumers("scraped.kijiji") == 1 }, "no consumer")
		r.broker.Publish("scraped", "kijiji", message(t, fmt.Sprint(n)))
		r.eventually(t, func() bool { return r.temp.started() == n+1 }, "it works")
		line.Cut()
	}
	cancel()
	require.NoError(t, <-ended)
}

func TestTopologyOfAnotherTeam(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	ch := r.broker.Channel()
	_, err := ch.QueueDeclare("scraped.kijiji", true, false, false, false, amqp.Table{"x-queue-type": "classic",
		"x-max-length": 1000})
	require.NoError(t, err)
	require.NoError(t, ch.ExchangeDeclare("listings", "direct", true, false, false, false, nil))
	stop := r.start(t)
	require.Contains(t, r.logs.String(), "declared with other arguments; used as it is")
	require.Contains(t, r.logs.String(), "queue=scraped.kijiji")
	require.Contains(t, r.logs.String(), "exchange=listings ")
	require.Contains(t, r.logs.String(), "inequivalent arg", "the difference is named")
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "it is used")
	stop()

	var q struct {
		Arguments map[string]any `json:"arguments"`
		Type      string         `json:"type"`
	}
	r.broker.Call("GET", "/api/queues/"+r.broker.Vhost+"/scraped.kijiji", nil, &q)
	require.Equal(t, "classic", q.Type)
	require.Equal(t, map[string]any{"x-queue-type": "classic", "x-max-length": 1000.0}, q.Arguments)
	r.broker.Call("GET", "/api/queues/"+r.broker.Vhost+"/scraped.kangalou", nil, &q)
	require.Equal(t, "quorum", q.Type)
}

func TestTopologyIsOnlyChecked(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.Declare = false
	err := r.Run(t.Context())
	require.ErrorContains(t, err, "check exchange scraped")
	require.ErrorContains(t, err, "RABBITMQ_DECLARE_TOPOLOGY")
	require.Equal(t, -1, r.consumers("scraped.kijiji"), "nothing is declared")

	declared := r.Options
	declared.Declare = true
	require.NoError(t, bridge.Establish(t.Context(), declared))
	require.NoError(t, bridge.Establish(t.Context(), declared), "twice is once")
	_, err = r.broker.Channel().QueueDelete("images.pending", false, false, false)
	require.NoError(t, err)
	require.ErrorContains(t, r.Run(t.Context()), "check queue images.pending")
	require.NoError(t, bridge.Establish(t.Context(), declared))
	r.start(t)
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "it works")
}

// TestBridgesStartTogether: bridges that start at the same instant on a broker without queues all declare them. Of a
// queue that another connection is declaring the broker may say that it is down.
func TestBridgesStartTogether(t *testing.T) {
	t.Parallel()

	const bridges = 6
	for range 4 {
		r := newRig(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var running errgroup.Group
		for range bridges {
			running.Go(func() error {
				defer cancel()
				return r.Run(ctx)
			})
		}
		r.eventually(t, func() bool { return ctx.Err() != nil || r.consumers("scraped.kijiji") == bridges }, "not all consume")
		cancel()
		require.NoError(t, running.Wait())
	}
}

func TestNotYet(t *testing.T) {
	t.Parallel()

	down := "NOT_FOUND - home node 'rabbit@b' of durable queue 'scraped.kijiji' in vhost '/' is down or inaccessible"
	missing := "NOT_FOUND - no queue 'scraped.kijiji' in vhost '/'"
	deleted := "NOT_FOUND - no exchange 'scraped' in vhost '/'"
	for _, tt := range []struct {
		err              error
		checks, declares bool
	}{
		{nil, false, false},
		{context.Canceled, false, false},
		{&amqp.Error{Code: amqp.NotFound, Reason: down}, true, true},
		{fmt.Errorf("declare queue scraped.kijiji: %w", &amqp.Error{Code: amqp.NotFound, Reason: down}), true, true},
		{&amqp.Error{Code: amqp.NotFound, Reason: missing}, false, true},
		{&amqp.Error{Code: amqp.NotFound, Reason: deleted}, false, true},
		{&amqp.Error{Code: amqp.AccessRefused, Reason: "ACCESS_REFUSED - down or inaccessible"}, false, false},
	} {
		require.Equal(t, tt.checks, bridge.NotYet(tt.err, false), "%v", tt.err)
		require.Equal(t, tt.declares, bridge.NotYet(tt.err, true), "%v", tt.err)
	}
}

// TestNoDeadLetterQueue: where another team's topology has no place for dead letters, Postgres is their place.
func TestNoDeadLetterQueue(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.Declare, r.ArchiveDeadLetters = false, false
	declared := r.Options
	declared.Declare = true
	require.NoError(t, bridge.Establish(t.Context(), declared))
	require.NoError(t, r.broker.Channel().ExchangeDelete("scraped.dlx", false, false))
	stop := r.start(t)
	r.broker.Publish("scraped", "kijiji", []byte("<html>"), message(t, "1"))
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 1 && r.temp.started() == 1 }, "not archived")
	stop()
	require.Zero(t, r.broker.Ready("scraped.kijiji"))
}

func TestStagesOfOthers(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.listings.Stages = []string{"normalize", "import"}
	r.start(t)
	r.eventually(t, func() bool { return r.consumers("listings.ready") == 1 }, "import is ours")
	for queue, want := range map[string]int{
		"scraped.kijiji": 1, "scraped.kangalou": 1, "listings.normalized": 0, "images.pending": 0, "listings.published": 0,
	} {
		r.eventually(t, func() bool { return r.consumers(queue) == want }, queue)
	}
}

func TestStagedMessages(t *testing.T) {
	t.Parallel()

	r, registry := newRig(t), prometheus.NewRegistry()
	r.Metrics = bridge.NewMetrics(registry)
	r.start(t)
	staged := func(id, scrapedAt, l string) []byte {
		return []byte(`{"platform":"kijiji","platform_id":"` + id + `","url":"https://k.example/` + id +
			`","scraped_at":"` + scrapedAt + `","listing":` + l + `}`)
	}
	const l = `{"platform":"x","platform_id":"y","title":"4 ½","rent_cents":125000,"bedrooms":2,` +
		`"posted_at":"9999-12-31T23:59:59-05:00"}`
	r.broker.Publish("listings", "listings.normalized", staged("1", "2026-11-20T14:00:00Z", l))
	r.broker.Publish("listings", "listings.ready", staged("2", "2026-11-20T14:00:00Z", l))
	r.eventually(t, func() bool { return r.temp.started() == 2 }, "not started")
	require.Equal(t, []launch.Arrival{{Stage: listing.StageDedupe, Revision: 1, Force: true}}, r.temp.arrivals("1"))
	require.Equal(t, []launch.Arrival{{Stage: listing.StageImport, Revision: 1, Force: true}}, r.temp.arrivals("2"))
	v, err := r.Listings.Load(t.Context(), listing.Ref{Platform: "kijiji", PlatformID: "1"}.ID())
	require.NoError(t, err)
	require.Equal(t, listing.Ref{Platform: "kijiji", PlatformID: "1"}, v.Listing.Ref, "the envelope is the authority")
	require.Equal(t, int64(125_000), v.Listing.RentCents)
	require.Nil(t, v.Listing.PostedAt, "no answer could show it")

	r.broker.Publish("listings", "listings.normalized", staged("1", "2026-11-19T14:00:00Z", l)) // older: settled
	for _, bad := range []string{`{"title":"x"}`, `{"title":"x","rent_cents":1,"bedrooms":1,"latitude":"abc"}`, `7`} {
		r.broker.Publish("listings", "listings.normalized", staged("3", "2026-11-20T14:00:00Z", bad))
	}
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE queue = 'listings.normalized'") == 3 }, "not dead")
	r.eventually(t, func() bool { return r.broker.Ready("listings.normalized") == 0 }, "not acked")
	require.Len(t, r.temp.arrivals("1"), 1)
	families, err := registry.Gather()
	require.NoError(t, err)
	var overtaken float64
	for _, f := range families {
		if f.GetName() == "conveyor_listings_overtaken_total" {
			overtaken = f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	require.Equal(t, 1.0, overtaken)
}

// What was scraped too long ago does not bring an archived listing back; what is scraped now does.
func TestScrapedLongAgo(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.listings.StaleAfter = 48 * time.Hour
	r.start(t)
	at := func(age time.Duration) []byte {
		var m map[string]any
		require.NoError(t, json.Unmarshal(message(t, "1"), &m))
		m["scraped_at"] = time.Now().Add(-age)
		body, err := json.Marshal(m)
		require.NoError(t, err)
		return body
	}
	r.broker.Publish("scraped", "kijiji", at(49*time.Hour))
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "not started")
	_, err := r.pool.Exec(t.Context(), "UPDATE raw_listings SET settled_revision = revision, archived_at = now()")
	require.NoError(t, err)
	r.broker.Publish("scraped", "kijiji", at(49*time.Hour))
	r.eventually(t, func() bool { return r.rows(t, "raw_listings WHERE scrapes = 2") == 1 }, "not stored")
	r.eventually(t, func() bool { return r.broker.Ready("scraped.kijiji") == 0 }, "not acked")
	require.Len(t, r.temp.arrivals("1"), 1)
	r.broker.Publish("scraped", "kijiji", at(0))
	r.eventually(t, func() bool { return len(r.temp.arrivals("1")) == 2 }, "not started")
	require.True(t, r.temp.arrivals("1")[1].Force)
}

func TestPendingImages(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	ref := listing.Ref{Platform: "kijiji", PlatformID: "1"}
	_, err := r.Listings.Receive(t.Context(), []dblistings.Arrival{{
		Ref: ref, URL: "https://k.example/1", Payload: []byte(`{}`), ContentHash: []byte{1}, ScrapedAt: time.Now(),
	}}, time.Now())
	require.NoError(t, err)
	_, err = r.Listings.Publish(t.Context(),
		listing.Publication{Version: listing.Version{Revision: 1, Listing: listing.Listing{
			Ref: ref, URL: "https://k.example/1", Title: "x", RentCents: 1,
		}}}, listing.Run{}, time.Now())
	require.NoError(t, err)
	r.start(t)
	ask := func(id, url string) {
		r.broker.Publish("listings", "images.pending", []byte(`{"listing_id":"`+id+`","url":"`+url+`","sort_order":3}`))
	}
	ask(ref.ID().String(), "http://i.example/1.jpg")
	r.eventually(t, func() bool { return r.temp.called() == 1 }, "not started")
	r.eventually(t,
		func() bool { return r.rows(t, "listing_images WHERE state = 'pending' AND sort_order = 3") == 1 }, "no row")
	r.temp.mu.Lock()
	require.Equal(t,
		[]launch.ImageJob{{Ref: ref, Image: listing.Image{URL: "http://i.example/1.jpg", SortOrder: 3}}}, r.temp.images)
	require.True(t, r.temp.givenUp[0].IsZero())
	r.temp.mu.Unlock()

	// Asked for again after it was given up, it is work of its own.
	failed := time.Now().UTC().Truncate(time.Microsecond)
	require.NoError(t, r.Listings.FailImage(t.Context(), ref, listing.Image{URL: "http://i.example/1.jpg"}, fault.Gone, "404",
		listing.Run{}, failed))
	ask(ref.ID().String(), "http://i.example/1.jpg")
	r.eventually(t, func() bool { return r.temp.called() == 2 }, "not started again")
	r.eventually(t, func() bool { return r.broker.Ready("images.pending") == 0 }, "not acked")
	r.temp.mu.Lock()
	require.Equal(t, failed, r.temp.givenUp[1].UTC())
	r.temp.mu.Unlock()

	ask("not a UUID", "http://i.example/1.jpg")
	ask(listing.Ref{Platform: "kijiji", PlatformID: "none"}.ID().String(), "http://i.example/1.jpg")
	ask(ref.ID().String(), "file:///etc/passwd")
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE queue = 'images.pending'") == 4 }, "not dead")
	require.Equal(t, 2, r.temp.called())
}

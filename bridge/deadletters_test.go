package bridge_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// one reads one value of the rig's database.
func one[T any](t testing.TB, r *rig, sql string, args ...any) (v T) {
	t.Helper()
	require.NoError(t, r.pool.QueryRow(t.Context(), sql, args...).Scan(&v), sql)
	return v
}

// replay sends a dead letter again.
func (r *rig) replay(t testing.TB, id int64) {
	t.Helper()
	_, err := r.DeadLetters.Replay(t.Context(), id, false, "Ginette", time.Now())
	require.NoError(t, err)
}

// TestReplayDiesAgain: the same message is the same dead letter, however often it goes round.
func TestReplayDiesAgain(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.start(t)
	r.broker.Send("scraped", "kijiji", amqp.Publishing{
		MessageId: "m1", Body: []byte("<html>"), Headers: amqp.Table{
			"mine": "kept", "bytes": []byte("kept"), "many": uint32(3), "nothing": nil, "CC": []any{"scraped.kangalou"},
		},
	})
	r.eventually(t, func() bool { return r.rows(t, "dead_letters WHERE state = 'open'") == 1 }, "not archived")
	id := one[int64](t, r, "SELECT id FROM dead_letters")
	for deaths := 2; deaths <= 3; deaths++ {
		r.replay(t, id)
		r.eventually(t, func() bool {
			return r.rows(t, "dead_letters WHERE state = 'open' AND deaths = $1 AND replays = $1 - 1", deaths) == 1
		}, "it did not die again")
		r.eventually(t, func() bool { return r.rows(t, "outbox WHERE published_at IS NULL") == 0 }, "not marked")
		l, err := r.DeadLetters.Get(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, []string{"scraped.kijiji", "scraped", "kijiji", "m1"},
			[]string{l.Queue, l.Exchange, l.RoutingKey, l.MessageID})
		require.Equal(t, []string{"kept", "kept", "3", ""},
			[]string{l.Headers["mine"], l.Headers["bytes"], l.Headers["many"], l.Headers["nothing"]})
		require.Equal(t, []string{"", "2", "3"}[deaths-1], l.Headers["x-attempt"], "each death counts")
		require.NotNil(t, l.Replay)
		require.NotNil(t, l.Replay.SentAt)
	}
	require.Equal(t, 1, r.rows(t, "dead_letters"))
	require.Equal(t, 2, r.rows(t, "audit WHERE action = 'dead_letter.replayed' AND actor = 'Ginette'"))
}

// TestReplayIsNotSkipped: an advert that did not change is acked without a workflow, unless its message is a replay.
func TestReplayIsNotSkipped(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.start(t)
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return r.temp.started() == 1 }, "not started")
	ref := listing.Ref{Platform: "kijiji", PlatformID: "1"}
	payload, err := r.Listings.Raw(t.Context(), ref.ID())
	require.NoError(t, err)
	require.NoError(t, r.Listings.Reject(t.Context(), listing.Raw{Ref: ref}, payload,
		&listing.Rejection{Reasons: []listing.Reason{{Field: "price", Message: "is missing"}}}, listing.Run{}, time.Now()))
	r.broker.Publish("scraped", "kijiji", message(t, "1"))
	r.eventually(t, func() bool { return r.rows(t, "raw_listings WHERE scrapes = 2") == 1 }, "not counted")
	require.Len(t, r.temp.arrivals("1"), 1, "no workflow is started")

	r.replay(t, one[int64](t, r, "SELECT id FROM dead_letters"))
	r.eventually(t, func() bool { return len(r.temp.arrivals("1")) == 2 }, "the replay was not let through")
	require.Equal(t, launch.Arrival{Stage: listing.StageNormalize, Revision: 1, Force: true}, r.temp.arrivals("1")[1])
	require.Equal(t, 1, r.rows(t, "raw_listings WHERE revision = 1"))
}

// TestReplayOfAConsumersRefusal: a message that another team's consumer refused goes back to its queue, and to no
// other.
func TestReplayOfAConsumersRefusal(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.start(t)
	ch := r.broker.Channel()
	_, err := ch.QueueDeclare("another-queue", true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	require.NoError(t, err)
	r.broker.Send("listings.events", "listings.published", amqp.Publishing{
		MessageId: "m1", Headers: amqp.Table{"x-retry": int32(3)}, Body: []byte(`{"n":1}`),
	})
	require.NoError(t, ch.QueueBind("another-queue", "#", "listings.events", false, nil))
	var d amqp.Delivery
	r.eventually(t, func() bool {
		var ok bool
		d, ok, err = ch.Get("listings.published", false)
		return err == nil && ok
	}, "no message")
	require.NoError(t, d.Reject(false))
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 1 }, "not archived")
	l, err := r.DeadLetters.Get(t.Context(), one[int64](t, r, "SELECT id FROM dead_letters"))
	require.NoError(t, err)
	require.Equal(t, []string{"listings.published", "listings.events", "listings.published", "broker: rejected", "transient"},
		[]string{l.Queue, l.Exchange, l.RoutingKey, l.Reason, l.Class})

	r.replay(t, l.ID)
	again := r.broker.Get("listings.published", 1)[0]
	require.Equal(t, "m1", again.MessageId)
	require.Equal(t, `{"n":1}`, string(again.Body))
	require.Equal(t, "3", again.Headers["x-retry"], "as text, as the API says")
	require.Contains(t, again.Headers, contract.DeadLetterHeader)
	require.NotContains(t, again.Headers, "x-death")
	require.Zero(t, r.broker.Ready("another-queue"))
}

// TestDeadLettersWithoutAWord: the dead-letter queue itself says where a message died.
func TestDeadLettersWithoutAWord(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	r.start(t)
	r.broker.Send("", "images.pending.dlq", amqp.Publishing{MessageId: "m1", Headers: amqp.Table{
		"x-origin-queue": "not so", "x-conveyor-dead-letter": "no number", "x-death": "no list",
	}})
	r.eventually(t, func() bool { return r.rows(t, "dead_letters") == 1 }, "not archived")
	l, err := r.DeadLetters.Get(t.Context(), one[int64](t, r, "SELECT id FROM dead_letters"))
	require.NoError(t, err)
	require.Equal(t, []string{"images.pending", "listings", "images.pending", "no reason is given"},
		[]string{l.Queue, l.Exchange, l.RoutingKey, l.Reason})
}

// TestReplayToAQueueThatIsGone: the replay waits and gives the reason, while the rest goes out; messages with one
// MessageId of their sender are told apart.
func TestReplayToAQueueThatIsGone(t *testing.T) {
	t.Parallel()

	r := newRig(t)
	letter := func(queue string) db.DeadLetter {
		return db.DeadLetter{Key: queue, Route: contract.Route{Queue: queue}, MessageID: "m1", Body: []byte(queue), Class: "invalid", At: time.Now()}
	}
	require.NoError(t, r.DeadLetters.Archive(t.Context(), letter("gone"), letter("listings.published")))
	ids := []int64{
		one[int64](t, r, "SELECT min(id) FROM dead_letters"), one[int64](t, r, "SELECT max(id) FROM dead_letters"),
	}
	r.replay(t, ids[0])
	r.replay(t, ids[1])
	r.start(t)
	require.Equal(t, "listings.published", string(r.broker.Get("listings.published", 1)[0].Body))
	r.eventually(t, func() bool { return r.rows(t, "outbox WHERE published_at IS NOT NULL") == 1 }, "not marked")
	r.eventually(t, func() bool { return r.rows(t, "outbox WHERE refusals = 1") == 1 }, "not refused")
	l, err := r.DeadLetters.Get(t.Context(), ids[0])
	require.NoError(t, err)
	require.Equal(t, &db.LetterReplay{Error: "no queue is bound for it"}, l.Replay)
	require.NoError(t, r.DeadLetters.Discard(t.Context(), ids[0], "Ginette", time.Now()))
	require.Zero(t, r.rows(t, "outbox WHERE published_at IS NULL"))
	require.Zero(t, r.broker.Ready("listings.published"))
}

// TestReplayIsForbidden: a broker that does not let us write to queues directly keeps replays waiting, and no event.
func TestReplayIsForbidden(t *testing.T) {
	t.Parallel()

	broker, pool := outbox(t)
	user := "events-only-" + broker.Vhost
	broker.Call("PUT", "/api/users/"+user, map[string]string{"password": "x", "tags": ""}, nil)
	t.Cleanup(func() { broker.Call("DELETE", "/api/users/"+user, nil, nil) })
	broker.Call("PUT", "/api/permissions/"+broker.Vhost+"/"+user,
		map[string]string{"configure": ".*", "write": "^listings[.]events$", "read": ".*"}, nil)
	at, err := url.Parse(broker.URL)
	require.NoError(t, err)
	at.User = url.UserPassword(user, "x")

	letters := db.NewDeadLetters(pool, nil)
	require.NoError(t, letters.Archive(t.Context(), db.DeadLetter{
		Key: "a", Route: contract.Route{Queue: "scraped.kijiji"}, Body: []byte("{}"), Class: "invalid", At: time.Now(),
	}))
	_, err = letters.ReplayAll(t.Context(), db.LetterFilter{}, 1, "Ginette", time.Now())
	require.NoError(t, err)
	fill(t, pool, 2, 30)
	relay(t, at.String(), pool, 1, time.Now)
	require.Len(t, broker.Get("listings.published", 30), 30)
	require.Eventually(t, func() bool { return pending(t, pool) == 1 }, patience, tick)
	require.Eventually(t, func() bool {
		return strings.Contains(column(t, pool, "last_error")[0], "ACCESS_REFUSED")
	}, patience, tick)
	require.Equal(t, "1", column(t, pool, "refusals")[0])
	require.Zero(t, broker.Ready("scraped.kijiji"))
}

package bridge_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/mtlrent/conveyor/bridge"
)

const (
	traceOne = "00-11111111111111111111111111111111-aaaaaaaaaaaaaaaa-01"
	traceTwo = "00-22222222222222222222222222222222-bbbbbbbbbbbbbbbb-01"
)

// A batch that is stored together has a span linked to each sender's, and each message goes on in its own trace.
func TestMessagesGoOnInTheirTraces(t *testing.T) {
	t.Parallel()

	recorder := tracetest.NewSpanRecorder()
	r := newRig(t)
	r.Traces = trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
	require.NoError(t, bridge.Establish(t.Context(), r.Options))
	under := func(traceparent string) amqp.Table { return amqp.Table{"traceparent": traceparent} }
	r.broker.Send("scraped", "kijiji",
		amqp.Publishing{MessageId: "m1", Body: message(t, "1"), Headers: under(traceOne)},
		amqp.Publishing{MessageId: "m2", Body: message(t, "2"), Headers: under(traceTwo)},
		amqp.Publishing{MessageId: "m3", Body: message(t, "3")},
		amqp.Publishing{MessageId: "m4", Body: message(t, "4"), Headers: amqp.Table{"traceparent": int32(7)}},
		amqp.Publishing{MessageId: "m5", Body: []byte("<html>"), Headers: under(traceOne)},
	)
	stop := r.start(t)
	r.eventually(t, func() bool { return r.temp.started() == 4 && r.rows(t, "dead_letters") == 1 }, "not all were handled")
	stop()

	batches, messages := map[api.SpanID]trace.ReadOnlySpan{}, map[string]trace.ReadOnlySpan{}
	var links []string
	for _, s := range recorder.Ended() {
		switch s.Name() {
		case "receive scraped.kijiji":
			batches[s.SpanContext().SpanID()] = s
			require.False(t, s.Parent().IsValid())
			for _, l := range s.Links() {
				links = append(links, l.SpanContext.TraceID().String()[:1])
			}
		case "process scraped.kijiji":
			for _, a := range s.Attributes() {
				if a.Key == "messaging.message.id" {
					messages[a.Value.AsString()] = s
				}
			}
		}
	}
	require.Equal(t, "121", strings.Join(links, ""))
	require.Len(t, messages, 5)
	traces := map[api.TraceID]bool{}
	for id, s := range messages {
		require.Contains(t, batches, s.Links()[0].SpanContext.SpanID(), "%s is linked to its batch", id)
		traces[s.SpanContext().TraceID()] = true
	}
	require.Equal(t, "aaaaaaaaaaaaaaaa", messages["m1"].Parent().SpanID().String())
	require.Equal(t, "bbbbbbbbbbbbbbbb", messages["m2"].Parent().SpanID().String())
	require.False(t, messages["m3"].Parent().IsValid(), "without a sender's trace it begins its own")
	require.Len(t, traces, 4)
	require.Contains(t, messages["m5"].Status().Description, "not JSON")
}

// An event goes out with the trace that it was written in: with tracing on as the next span of it, with tracing off as
// it is.
func TestEventsCarryTheirTrace(t *testing.T) {
	t.Parallel()

	for _, on := range []bool{false, true} {
		broker, pool := outbox(t)
		o, recorder := options(broker.URL), tracetest.NewSpanRecorder()
		if on {
			o.Traces = trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
		}
		fill(t, pool, 1, 2)
		_, err := pool.Exec(t.Context(), `UPDATE outbox SET traceparent = $1, tracestate = 'vendor=opaque'
			WHERE id = (SELECT min(id) FROM outbox)`, traceOne)
		require.NoError(t, err)
		run(t, o, pool, time.Now)
		got := broker.Get("listings.published", 2)
		// Cycles at work at once may take a row each: the traced one need not come first.
		slices.SortFunc(got, func(a, b amqp.Delivery) int { return len(b.Headers) - len(a.Headers) })
		require.Empty(t, got[1].Headers, "an event that was not traced has no headers")
		want := traceOne
		if on {
			require.Eventually(t, func() bool { return len(recorder.Ended()) == 1 }, patience, tick)
			s := recorder.Ended()[0]
			require.Equal(t, "publish listings.published", s.Name())
			require.Equal(t, "aaaaaaaaaaaaaaaa", s.Parent().SpanID().String())
			want = traceOne[:36] + s.SpanContext().SpanID().String() + "-01"
		}
		require.Equal(t, amqp.Table{"traceparent": want, "tracestate": "vendor=opaque"}, got[0].Headers)
	}
}

package bridge

import (
	"context"
	"maps"
	"slices"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
)

// w3c reads and writes the headers traceparent and tracestate.
var w3c propagation.TraceContext

// headers are those of a message, as the propagator sees them.
type headers amqp.Table

// Get is for the propagator.
func (h headers) Get(key string) string { return text(amqp.Table(h), key) }

// Set is for the propagator.
func (h headers) Set(key, value string) { h[key] = value }

// Keys is for the propagator.
func (h headers) Keys() []string { return slices.Collect(maps.Keys(h)) }

// tracing makes the spans of messages. They hold IDs and queue names, never a body. The zero one makes none.
type tracing struct{ tracer trace.Tracer }

func newTracing(p trace.TracerProvider) tracing {
	if p == nil {
		return tracing{}
	}
	return tracing{p.Tracer("github.com/mtlrent/conveyor/bridge")}
}

func (t tracing) off() bool { return t.tracer == nil }

// sender returns ctx with the trace that a message came with, or with none: never with that of its batch.
func (t tracing) sender(ctx context.Context, d amqp.Delivery) context.Context {
	if t.off() {
		return ctx
	}
	return w3c.Extract(trace.ContextWithSpanContext(ctx, trace.SpanContext{}), headers(d.Headers))
}

// batch begins the span of the work on a whole batch, such as the statement that stores it. It is a trace of its own,
// linked to those of the messages: none of them can be its only parent.
func (t tracing) batch(ctx context.Context, q Queue, batch []amqp.Delivery) (context.Context, trace.Span) {
	if t.off() {
		return ctx, noop.Span{}
	}
	var links []trace.Link
	for _, d := range batch {
		if s := trace.SpanContextFromContext(t.sender(ctx, d)); s.IsValid() {
			links = append(links, trace.Link{SpanContext: s})
		}
	}
	return t.tracer.Start(ctx, "receive "+q.Name, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithLinks(links...),
		trace.WithAttributes(append(q.attributes(), semconv.MessagingOperationTypeReceive,
			semconv.MessagingOperationName("receive"), semconv.MessagingBatchMessageCount(len(batch)))...))
}

// message runs f in the span of one message: the next one in its sender's trace, linked to the batch of ctx.
func (t tracing) message(ctx context.Context, q Queue, d amqp.Delivery, f func(context.Context) error) error {
	if t.off() {
		return f(ctx)
	}
	var links []trace.Link
	if together := trace.SpanContextFromContext(ctx); together.IsValid() {
		links = append(links, trace.Link{SpanContext: together})
	}
	ctx, span := t.tracer.Start(t.sender(ctx, d), "process "+q.Name, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(links...), trace.WithAttributes(append(q.attributes(), semconv.MessagingOperationTypeProcess,
			semconv.MessagingOperationName("process"), semconv.MessagingMessageID(d.MessageId))...))
	defer span.End()
	err := f(ctx)
	failed(span, err)
	return err
}

// event begins the span of publishing an event, the next one in the trace that wrote it, and returns the headers that
// carry it on. An event that was not traced has neither. While our tracing is off the writer's trace is passed on.
func (t tracing) event(m db.Message) (amqp.Table, trace.Span) {
	if m.TraceParent == "" {
		return nil, noop.Span{}
	}
	written := propagation.MapCarrier{"traceparent": m.TraceParent, "tracestate": m.TraceState}
	ctx := w3c.Extract(context.Background(), written)
	span := trace.Span(noop.Span{})
	if !t.off() {
		ctx, span = t.tracer.Start(ctx, "publish "+m.RoutingKey, trace.WithSpanKind(trace.SpanKindProducer),
			trace.WithAttributes(semconv.MessagingSystemRabbitMQ,
				semconv.MessagingDestinationName(m.Exchange+":"+m.RoutingKey),
				semconv.MessagingRabbitMQDestinationRoutingKey(m.RoutingKey), semconv.MessagingOperationTypeSend,
				semconv.MessagingOperationName("publish"), semconv.MessagingMessageID(m.MessageID.String())))
	}
	out := amqp.Table{}
	w3c.Inject(ctx, headers(out))
	return out, span
}

// attributes name the queue of a delivery, for its spans.
func (q Queue) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemRabbitMQ, semconv.MessagingDestinationName(q.Exchange + ":" + q.Key + ":" + q.Name),
		semconv.MessagingRabbitMQDestinationRoutingKey(q.Key),
	}
}

// failed records err, if there is one, as the status of a span.
func failed(span trace.Span, err error) {
	if err == nil {
		return
	}
	span.SetStatus(codes.Error, err.Error())
	span.SetAttributes(semconv.ErrorTypeKey.String(string(fault.ClassOf(err))))
}

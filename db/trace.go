package db

import (
	"context"
	"strings"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// An Option changes how Open connects.
type Option func(*pgxpool.Config)

// Traced makes a span of each statement that belongs to a trace. It has the name of the comment that the statement
// begins with, and holds no values. A statement outside of a trace, such as the outbox relay's, makes none.
func Traced(p trace.TracerProvider) Option {
	return func(c *pgxpool.Config) {
		tracer := otelpgx.NewTracer(
			otelpgx.WithTracerProvider(p),
			otelpgx.WithSpanNameCtxFunc(func(ctx context.Context, sql string) string {
				if comment, named := strings.CutPrefix(sql, "/* "); named {
					name, _, _ := strings.Cut(comment, " */")
					return name
				}
				return otelpgx.SQLOperationName(ctx, sql)
			}),
			otelpgx.WithDisableSQLStatementInAttributes(), // the name leads to it, and it is up to 3 KB
			otelpgx.WithDisableConnectionDetailsInAttributes(),
		)
		// The connection's own work, such as preparing a statement once, is part of the statement's time.
		c.ConnConfig.Tracer = struct {
			pgx.QueryTracer
			pgx.BatchTracer
			pgx.CopyFromTracer
		}{tracer, tracer, tracer}
	}
}

// The trace columns of the outbox default to these settings, so that the statements which write events need not mention
// traces. The settings hold until the end of the transaction.
const sqlTrace = `/* sqlTrace */
SELECT set_config('conveyor.traceparent', $1, true), set_config('conveyor.tracestate', $2, true)`

// RememberTrace puts the trace of ctx, if there is one, before everything else in b.
func RememberTrace(ctx context.Context, b *pgx.Batch) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, headers)
	first := new(pgx.Batch)
	first.Queue(sqlTrace, headers["traceparent"], headers["tracestate"])
	b.QueuedQueries = append(first.QueuedQueries, b.QueuedQueries...)
}

package listings_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	api "go.opentelemetry.io/otel/trace"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/listing"
)

// An event remembers the trace of the transaction that wrote it, and of no other on the same connection.
func TestEventsRememberTheirTrace(t *testing.T) {
	t.Parallel()

	fresh := dbtest.New(t)
	recorder := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
	pool, err := db.Open(t.Context(), fresh.Config().ConnString(), 1, db.Traced(provider))
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	s, o := dblistings.NewListings(pool), db.NewOutbox(pool)
	save := func(ctx context.Context, revision int64) {
		t.Helper()
		l := listing.Listing{Ref: listing.Ref{Platform: "kijiji", PlatformID: "1"}, Title: "4 ½"}
		require.NoError(t, s.SaveNormalized(ctx, l, payload(revision), dbtest.Start))
	}
	save(t.Context(), 1)
	state, err := api.ParseTraceState("vendor=opaque")
	require.NoError(t, err)
	parent := api.NewSpanContext(api.SpanContextConfig{
		TraceID: api.TraceID{1, 2}, SpanID: api.SpanID{3}, TraceFlags: api.FlagsSampled, TraceState: state, Remote: true,
	})
	ctx, span := provider.Tracer("t").Start(api.ContextWithSpanContext(t.Context(), parent), "step")
	save(ctx, 2)
	span.End()
	save(t.Context(), 3)

	got, err := o.Lease(t.Context(), uuid.New(), "", 50, 500, 16<<20, time.Minute)
	require.NoError(t, err)
	require.Len(t, got, 3)
	here := span.SpanContext()
	for i, want := range [][2]string{
		{"", ""},
		{"00-" + here.TraceID().String() + "-" + here.SpanID().String() + "-01", "vendor=opaque"},
		{"", ""},
	} {
		require.Equal(t, want, [2]string{got[i].TraceParent, got[i].TraceState}, i)
	}
	var names []string
	for _, ended := range recorder.Ended() {
		names = append(names, ended.Name())
		for _, a := range ended.Attributes() {
			require.NotContains(t, a.Value.String(), "4 ½", "a statement's values are not recorded")
		}
	}
	require.Equal(t, []string{"sqlTrace", "sqlListingStep", "sqlRawNormalized", "batch start", "step"},
		names, "statements of the trace, by name, and none outside of it")
}

// Archiving has a transaction of its own kind, whose events carry the trace like any other.
func TestArchivedRemembersItsTrace(t *testing.T) {
	t.Parallel()

	pool := dbtest.New(t)
	s := dblistings.NewListings(pool)
	imported(t, s, "1")
	here := api.NewSpanContext(api.SpanContextConfig{TraceID: api.TraceID{1, 2}, SpanID: api.SpanID{3}})
	_, n, err := s.ArchiveStale(api.ContextWithSpanContext(t.Context(), here), dbtest.After(60), listing.Cursor{}, tenOfAll,
		dbtest.After(99))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{"00-" + here.TraceID().String() + "-" + here.SpanID().String() + "-00"},
		dbtest.Query[string](t, pool, "SELECT traceparent FROM outbox WHERE routing_key = 'listings.archived'"))
}

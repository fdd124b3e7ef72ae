package workers_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workers"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	rejection := &listing.Rejection{Reasons: []listing.Reason{
		{Field: "title", Code: "missing", Message: "is missing"},
		{Field: "price", Code: "missing", Message: "none is stated"},
	}}
	down := errors.New("dial tcp: connection refused")
	for _, tt := range []struct {
		name  string
		err   error
		kind  string // as Temporal names it
		final bool
		wait  time.Duration
	}{
		{"a rejected advert", fmt.Errorf("normalize kijiji/1: %w", rejection), "InvalidListing", true, 0},
		{"invalid otherwise", fault.Newf(fault.Invalid, "platform: no normalizer"), "invalid", true, 0},
		{"gone", fault.Newf(fault.Gone, "there is none"), "gone", true, 0},
		{"blocked", fault.Newf(fault.Blocked, "a private address"), "blocked", true, 0},
		{"in conflict", fault.Newf(fault.Conflict, "changed meanwhile"), "conflict", true, 0},
		{"transient", fault.Newf(fault.Transient, "HTTP 502"), "transient", false, 0},
		{"not classified", down, "transient", false, 0},
		{"throttled, with a wait", &fault.Error{Class: fault.Throttled, After: 90 * time.Second, Err: down}, "throttled",
			false, 90 * time.Second},
		{"throttled, without one", fault.Newf(fault.Throttled, "HTTP 429"), "throttled", false, 5 * time.Second},
		{"held back by our own limit", &fault.Error{Class: fault.Limited, After: 40 * time.Second, Err: down}, "limited",
			false, 40 * time.Second},
		{"wrapped twice", fmt.Errorf("attach: %w", fmt.Errorf("fetch: %w", fault.Newf(fault.Gone, "HTTP 404"))), "gone",
			true, 0},
		{"another error type of Temporal around a fault",
			temporal.NewApplicationErrorWithCause("attach", "Odd", fault.Newf(fault.Gone, "HTTP 404")), "gone", true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{workers.Faults}})
			fail := func(context.Context) error { return tt.err }
			env.RegisterActivity(fail)
			_, err := env.ExecuteActivity(fail)
			var app *temporal.ApplicationError
			require.ErrorAs(t, err, &app)
			require.Equal(t, tt.kind, app.Type())
			require.Equal(t, tt.final, app.NonRetryable())
			require.Equal(t, tt.wait, app.NextRetryDelay())
			require.Equal(t, tt.err.Error(), app.Message(), "every reason is told")
		})
	}
}

// Success stays success, and a cancelled activity is cancelled, not failed.
func TestFaultsLeaveAlone(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{workers.Faults}})
	work := func(_ context.Context, in string) (string, error) {
		if in == "stop" {
			return "", fmt.Errorf("fetch: %w", temporal.NewCanceledError())
		}
		return in + " done", nil
	}
	env.RegisterActivity(work)
	stated := workers.ToTemporal(canceled(), fmt.Errorf("store: %w", &pgconn.PgError{Code: "57014", Message: "canceling statement"}))
	require.ErrorIs(t, stated, context.Canceled, "a statement that was canceled with it")
	got, err := env.ExecuteActivity(work, "work")
	require.NoError(t, err)
	var out string
	require.NoError(t, got.Get(&out))
	require.Equal(t, "work done", out)
	_, err = env.ExecuteActivity(work, "stop")
	var cancelled *temporal.CanceledError
	require.ErrorAs(t, err, &cancelled)
}

// canceled is the context of an activity that was canceled.
func canceled() context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(temporal.NewCanceledError())
	return ctx
}

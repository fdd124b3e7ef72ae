package outreach_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
)

// A roster has the times of signals by tenant.
type roster struct {
	apitest.Starter

	began time.Time
	mu    sync.Mutex
	calls map[string][]time.Duration
	err   error
	hangs bool

	during func(ctx context.Context) // nil: nothing happens
}

func (r *roster) WakeDispatch(ctx context.Context, tenant string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[tenant] = append(r.calls[tenant], time.Since(r.began))
	if r.during != nil {
		r.during(ctx)
	}
	if r.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return r.err
}

// wake has a tenant woken at times, by requests that end at once.
func (r *roster) wake(t *testing.T, w *apioutreach.Wakes, tenant string, at ...time.Duration) {
	t.Helper()
	for _, at := range at {
		time.Sleep(at - time.Since(r.began)) // of the bubble
		before := time.Now()
		ctx, answered := context.WithCancel(t.Context())
		w.Wake(ctx, tenant)
		answered()
		require.Zero(t, time.Since(before), "no request waits")
	}
}

func newRoster() (*roster, *apioutreach.Wakes) {
	r := &roster{began: time.Now(), calls: map[string][]time.Duration{}}
	return r, apioutreach.NewWakes(r, 250*time.Millisecond, apitest.Quiet)
}

const ms = time.Millisecond

// Of many messages of a tenant the first wakes its workflow at once, and those within a while after it do so once, at the
// end of it.
func TestWakesOfABurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := newRoster()
		defer w.Close()
		r.wake(t, w, "acme", 0, 10*ms, 20*ms)
		r.wake(t, w, "other", 30*ms)
		r.wake(t, w, "acme", 240*ms, 260*ms, 270*ms, 1000*ms, 1010*ms)
		time.Sleep(time.Second)
		require.Equal(t, map[string][]time.Duration{
			"acme": {0, 250 * ms, 500 * ms, 1000 * ms, 1250 * ms}, "other": {30 * ms},
		}, r.calls)
	})
}

// A process that ends sends what it has put off.
func TestWakesAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		hangs bool
		took  time.Duration
	}{
		"temporal is there": {false, 0},
		"temporal hangs":    {true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, w := newRoster()
				r.wake(t, w, "acme", 0, 10*ms)
				r.wake(t, w, "quiet", 20*ms)
				r.hangs = tt.hangs
				before := time.Now()
				w.Close()
				require.Equal(t, tt.took, time.Since(before))
				require.Equal(t, map[string][]time.Duration{"acme": {0, 20 * ms}, "quiet": {20 * ms}}, r.calls)
				r.hangs = false
				if w.Close(); !tt.hangs { // what comes now is sent at once
					r.wake(t, w, "acme", 30*ms)
					require.Equal(t, []time.Duration{0, 20 * ms, 30 * ms}, r.calls["acme"])
				}
				time.Sleep(time.Second)
				require.Len(t, r.calls["quiet"], 1)
			})
		})
	}
}

// What was put off is tried also where another wake has failed meanwhile, and its own failure holds up what follows.
func TestWakesThatFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := newRoster()
		defer w.Close()
		r.wake(t, w, "acme", 0, 10*ms)
		r.err = serviceerror.NewUnavailable("connection refused")
		r.wake(t, w, "other", 20*ms)
		r.wake(t, w, "third", 30*ms)
		r.err = errors.New("too many signals")
		time.Sleep(time.Second)
		require.Equal(t, map[string][]time.Duration{"acme": {0, 250 * ms}, "other": {20 * ms}}, r.calls)
		r.err = nil
		r.wake(t, w, "acme", 2000*ms, 2010*ms, 5240*ms)
		time.Sleep(time.Second)
		require.Len(t, r.calls["acme"], 2)
		r.wake(t, w, "acme", 6300*ms)
		require.Len(t, r.calls["acme"], 3)
	})
}

// A caller that has gone has stored what is to be sent: its signal goes out all the same.
func TestWakesOfCallersThatHaveGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, w := newRoster()
		defer w.Close()
		ctx, goes := context.WithCancel(t.Context())
		r.during = func(signal context.Context) {
			goes()
			require.NoError(t, signal.Err())
		}
		w.Wake(ctx, "acme")
		r.during = nil
		w.Wake(ctx, "other")
		require.Equal(t, map[string][]time.Duration{"acme": {0}, "other": {0}}, r.calls)
	})
}

package limit_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// What one process marks all see, until the time is over, but the run that it is of.
func TestRecent(t *testing.T) {
	t.Parallel()

	rdb := client(t, servicetest.Address(t, "REDIS_URL"))
	o := limit.RecentOptions{Name: "test-" + rand.Text(), TTL: time.Hour, Timeout: 10 * time.Second}
	one, two := limit.NewRecent(rdb, o), limit.NewRecent(client(t, servicetest.Address(t, "REDIS_URL")), o)
	ctx := t.Context()
	urls := []string{"https://a.example/", "https://a.example/?q=1", "https://b.example/"}
	seen, err := one.Seen(ctx, 2, urls)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false}, seen)
	require.NoError(t, one.Mark(ctx, 1, []string{urls[0], urls[2]}))
	require.NoError(t, one.Mark(ctx, 1, nil))
	seen, err = two.Seen(ctx, 2, append(urls, urls[0]))
	require.NoError(t, err)
	require.Equal(t, []bool{true, false, true, true}, seen)
	seen, err = two.Seen(ctx, 1, urls)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false}, seen, "a run's own marks")
	require.NoError(t, two.Mark(ctx, 2, urls[2:]))
	for run, want := range map[int64][]bool{1: {false, false, true}, 2: {true, false, false}, 3: {true, false, true}} {
		seen, err = one.Seen(ctx, run, urls)
		require.NoError(t, err)
		require.Equal(t, want, seen, "run %d", run)
	}
	seen, err = two.Seen(ctx, 2, nil)
	require.NoError(t, err)
	require.Empty(t, seen)

	o.Name += "-other"
	seen, err = limit.NewRecent(rdb, o).Seen(ctx, 2, urls)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false}, seen, "those of another name")

	keys, err := rdb.Keys(ctx, o.Name[:len(o.Name)-6]+":*").Result()
	require.NoError(t, err)
	require.Len(t, keys, 2)
	for _, key := range keys {
		require.NotContains(t, key, "example")
		left, err := rdb.TTL(ctx, key).Result()
		require.NoError(t, err)
		require.InDelta(t, time.Hour.Seconds(), left.Seconds(), 60)
		require.NoError(t, rdb.Del(ctx, key).Err()) // as when its time is over
	}
	seen, err = one.Seen(ctx, 2, urls)
	require.NoError(t, err)
	require.Equal(t, []bool{false, false, false}, seen)
}

// While Redis is away the crawl goes on: nothing counts as seen, and Redis is asked now and then.
func TestRecentWithoutRedis(t *testing.T) {
	t.Parallel()

	clock, reg := newClock(), prometheus.NewRegistry()
	r := limit.NewRecent(away(t), limit.RecentOptions{Registerer: reg, Now: clock.Now, Cooldown: time.Minute})
	for n := range 3 {
		seen, err := r.Seen(t.Context(), 2, []string{"a", "b"})
		require.NoError(t, err)
		require.Equal(t, []bool{false, false}, seen)
		require.NoError(t, r.Mark(t.Context(), 1, []string{"a"}))
		require.Equal(t, float64(3*(n+1)), value(t, reg, "conveyor_limiter_fallback_total"))
		require.Equal(t, 1.0, value(t, reg, "conveyor_limiter_fallback_active"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Seen(ctx, 2, []string{"a"})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, r.Mark(ctx, 1, []string{"a"}), context.Canceled)
}

// Redis returns: it is asked again, and what it remembered is known.
func TestRecentAfterRedis(t *testing.T) {
	t.Parallel()

	p, clock, reg := newProxy(t, servicetest.Address(t, "REDIS_URL")), newClock(), prometheus.NewRegistry()
	r := limit.NewRecent(client(t, p.url), limit.RecentOptions{
		Name: "test-" + rand.Text(), Registerer: reg, Now: clock.Now, Cooldown: time.Minute, Timeout: 10 * time.Second,
	})
	require.NoError(t, r.Mark(t.Context(), 1, []string{"a"}))
	p.down()
	seen, err := r.Seen(t.Context(), 2, []string{"a"})
	require.NoError(t, err)
	require.Equal(t, []bool{false}, seen)
	p.up()
	seen, err = r.Seen(t.Context(), 2, []string{"a"})
	require.NoError(t, err)
	require.Equal(t, []bool{false}, seen, "it is left alone for a while")
	clock.add(2 * time.Minute)
	seen, err = r.Seen(t.Context(), 2, []string{"a"})
	require.NoError(t, err)
	require.Equal(t, []bool{true}, seen)
	require.Equal(t, 0.0, value(t, reg, "conveyor_limiter_fallback_active"))
}

package limit_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// Two processes hand out the burst together, and no more.
func TestRateAcrossProcesses(t *testing.T) {
	t.Parallel()
	o := limit.RateOptions{
		Name: "test-" + rand.Text(), Events: 1, Period: time.Hour, Burst: 5, Timeout: 10 * time.Second,
	}
	one, other := limit.NewRate(client(t, servicetest.Address(t, "REDIS_URL")), o), limit.NewRate(client(t, servicetest.Address(t, "REDIS_URL")), o)
	for left := 4; left >= 0; left-- {
		turn := one.Take(t.Context(), "jo")
		require.True(t, turn.OK)
		require.Equal(t, 5, turn.Limit)
		require.Equal(t, left, turn.Left)
		require.Zero(t, turn.Retry)
		one, other = other, one
	}
	turn := one.Take(t.Context(), "jo")
	require.False(t, turn.OK)
	require.Zero(t, turn.Left)
	require.InDelta(t, time.Hour, turn.Retry, float64(time.Minute))
	require.InDelta(t, 5*time.Hour, turn.Reset, float64(time.Minute))
	require.True(t, one.Take(t.Context(), "ann").OK, "every caller has turns of its own")
}

// A limit of one process needs no Redis, and is no fallback.
func TestRateOfOneProcess(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	r := limit.NewRate(nil, limit.RateOptions{Name: "test", Events: 1, Period: time.Hour, Burst: 2, Registerer: reg})
	require.True(t, r.Take(t.Context(), "jo").OK)
	require.True(t, r.Take(t.Context(), "jo").OK)
	require.False(t, r.Take(t.Context(), "jo").OK)
	require.True(t, r.Take(t.Context(), "ann").OK)
	families, err := reg.Gather()
	require.NoError(t, err)
	require.Empty(t, families)
}

// Without Redis a process counts by itself, at the same rate, and says so.
func TestRateWithoutRedis(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	reg := prometheus.NewRegistry()
	r := limit.NewRate(away(t), limit.RateOptions{
		Name: "test", Events: 2, Period: time.Second, Burst: 3, Registerer: reg, Now: func() time.Time { return now },
		Timeout: 10 * time.Second,
	})
	for left := 2; left >= 0; left-- {
		turn := r.Take(t.Context(), "jo")
		require.Equal(t, limit.Turn{
			OK: true, Limit: 3, Left: left, Reset: time.Duration(3-left) * time.Second / 2,
		}, turn)
	}
	turn := r.Take(t.Context(), "jo")
	require.Equal(t, limit.Turn{Limit: 3, Retry: time.Second / 2, Reset: 3 * time.Second / 2}, turn)
	now = now.Add(turn.Retry)
	require.True(t, r.Take(t.Context(), "jo").OK)
	require.False(t, r.Take(t.Context(), "jo").OK)
	require.InDelta(t, 6, value(t, reg, "conveyor_limiter_fallback_total"), 0)
	require.InDelta(t, 1, value(t, reg, "conveyor_limiter_fallback_active"), 0)
}

// New callers without end do not fill the memory; beyond MaxCallers they share one set of turns.
func TestRateForgets(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	r := limit.NewRate(away(t), limit.RateOptions{
		Name: "test", Events: 1, Period: time.Second, Burst: 2, MaxCallers: 10, Now: func() time.Time { return now },
		Timeout: 10 * time.Second,
	})
	for i := range 10 {
		require.True(t, r.Take(t.Context(), fmt.Sprint("known", i)).OK)
	}
	allowed := 0
	for i := range 100 {
		if r.Take(t.Context(), fmt.Sprint("late", i)).OK {
			allowed++
		}
	}
	require.Equal(t, 2, allowed)
	require.LessOrEqual(t, r.Remembered(), 11)
	now = now.Add(time.Minute)
	require.True(t, r.Take(t.Context(), "later").OK)
	require.Equal(t, 1, r.Remembered(), "callers that have all their turns are forgotten")
}

// Several turns are taken at once, as many as there are: with Redis those of all processes, without it one's own.
func TestTakeUpTo(t *testing.T) {
	t.Parallel()
	for name, rdb := range map[string]func() *redis.Client{
		"redis": func() *redis.Client { return client(t, servicetest.Address(t, "REDIS_URL")) },
		"away":  func() *redis.Client { return away(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := limit.RateOptions{
				Name: "test-" + rand.Text(), Events: 1, Period: time.Hour, Burst: 30, Timeout: 10 * time.Second,
			}
			one, other := limit.NewRate(rdb(), o), limit.NewRate(rdb(), o)
			assert.Equal(t, 20, one.TakeUpTo(t.Context(), "all", 20), "20 of 30")
			if name == "away" {
				other = one
			}
			assert.Equal(t, 10, other.TakeUpTo(t.Context(), "all", 20), "20 of the other 10")
			assert.Equal(t, 0, one.TakeUpTo(t.Context(), "all", 20), "20 of none")
			assert.Equal(t, 1, one.TakeUpTo(t.Context(), "others", 1), "another caller's")
		})
	}
}

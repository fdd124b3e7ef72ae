package limit_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// Waits tells every process how long the next caller of a host would wait, whichever process made the queue.
func TestWaits(t *testing.T) {
	t.Parallel()
	rdb, name := client(t, servicetest.Address(t, "REDIS_URL")), "test-"+rand.Text()
	now := time.Now()
	stay := func(context.Context, time.Duration) error { return context.Canceled } // takes its slot and leaves
	hosts := limit.New(rdb, limit.Options{
		Name: name, Interval: 20 * time.Second, MaxWait: 55 * time.Second, Sleep: stay, Slack: 5 * time.Second,
		Timeout: 10 * time.Second,
	})
	waits, err := limit.Waits(t.Context(), rdb, name, 10, now)
	require.NoError(t, err)
	require.Empty(t, waits)

	require.NoError(t, hosts.Wait(t.Context(), "free.example"))
	for range 2 {
		_ = hosts.Wait(t.Context(), "busy.example")
	}
	for range 3 {
		_ = hosts.Wait(t.Context(), "full.example")
	}
	err = hosts.Wait(t.Context(), "full.example")
	class, after := fault.Of(err)
	require.Equal(t, fault.Limited, class)

	require.Eventually(t, func() bool { // it is told beside the waiting
		waits, err = limit.Waits(t.Context(), rdb, name, 10, now)
		return err == nil && len(waits) == 2 && waits[0].WaitSeconds > 60
	}, servicetest.Patience(), 5*time.Millisecond)
	require.Equal(t, "full.example", waits[0].Host)
	require.Equal(t, name, waits[0].Limiter)
	require.InDelta(t, after.Seconds(), waits[0].WaitSeconds, 15)
	require.Equal(t, "busy.example", waits[1].Host)
	require.InDelta(t, 50, waits[1].WaitSeconds, 15)

	waits, err = limit.Waits(t.Context(), rdb, name, 1, now)
	require.NoError(t, err)
	require.Len(t, waits, 1)
	waits, err = limit.Waits(t.Context(), rdb, name, 10, now.Add(10*time.Minute))
	require.NoError(t, err)
	require.Empty(t, waits, "a wait that is over is not listed")
}

func TestWaitsWithoutRedis(t *testing.T) {
	t.Parallel()
	_, err := limit.Waits(t.Context(), client(t, "redis://127.0.0.1:1"), "test", 10, time.Now())
	require.ErrorContains(t, err, "read the line for test")
}

package main

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workflows"
)

// A row that makes a tender panic, or fail, does not end the process, and the work is done again.
func TestTendersSurvive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{log: slog.New(slog.DiscardHandler), panics: telemetry.NewPanics(prometheus.NewRegistry())}
		h.config.Worker.Queues = []string{workflows.QueueNotify}
		turns := 0
		stop := h.tend(workflows.QueueNotify, "reading rows", time.Second, func(context.Context) error {
			switch turns++; turns {
			case 1, 2:
				panic("a row")
			case 3:
				return errors.New("away")
			}
			return nil
		})
		other := h.tend(workflows.QueueDispatch, "what others do", time.Second, func(context.Context) error {
			t.Error("this process does not serve the queue")
			return nil
		})
		time.Sleep(4*time.Second + time.Millisecond)
		synctest.Wait()
		stop()
		other()
		require.Equal(t, 4, turns)
		require.InDelta(t, 2, testutil.ToFloat64(h.panics), 0)
	})
}

// One that was started is not started again for a while; one that could not be is.
func TestSeldom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tried, away := map[string]int{}, true
		start := seldom(10*time.Second, func(_ context.Context, one string) error {
			if tried[one]++; one == "b" && away {
				return errors.New("away")
			}
			return nil
		})
		turn := func() {
			for _, one := range []string{"a", "b"} {
				_ = start(t.Context(), one)
			}
			time.Sleep(4 * time.Second)
		}
		turn()
		require.Equal(t, map[string]int{"a": 1, "b": 1}, tried)
		away = false
		turn()
		turn()
		require.Equal(t, map[string]int{"a": 1, "b": 2}, tried)
		turn() // the 13th second
		require.Equal(t, map[string]int{"a": 2, "b": 3}, tried)
	})
}

// A Temporal that hangs, or is away, ends a list early; one workflow that cannot be started does not.
func TestStartEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const all = 500
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for name, tt := range map[string]struct {
			start func(ctx context.Context, i int) error
			tried int
			ends  bool // the pages that follow are not asked for
		}{
			"all start": {func(context.Context, int) error { return nil }, all, false},
			"some fail": {func(_ context.Context, i int) error {
				if i%2 == 0 {
					return errors.New("refused")
				}
				return nil
			}, all, false},
			"away":     {func(context.Context, int) error { return serviceerror.NewUnavailable("away") }, 1, true},
			"it hangs": {func(ctx context.Context, _ int) error { return hang(ctx) }, 3, true},
			"it hangs from the tenth on": {func(ctx context.Context, i int) error {
				if i < 10 {
					return nil
				}
				return hang(ctx)
			}, 13, true},
			"two in a row are slow": {func(ctx context.Context, i int) error {
				if i%3 == 0 {
					return nil
				}
				return hang(ctx)
			}, all, false},
		} {
			tried := 0
			err := startEach(t.Context(), make([]int, all), func(ctx context.Context, _ int) error {
				tried++
				return tt.start(ctx, tried-1)
			})
			require.Equal(t, tt.tried, tried, name)
			require.Equal(t, tt.ends, unreachable(err), name)
		}
	})
}

// What is missing is read page by page, and no further once Temporal cannot be reached.
func TestResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &house{log: slog.New(slog.DiscardHandler), panics: telemetry.NewPanics(prometheus.NewRegistry())}
		h.config.Worker.Queues = []string{workflows.QueueNotify}
		away := 0
		var pages, started []int
		stop := resume[int]{
			queue: workflows.QueueNotify, doing: "starting numbers", every: time.Second, most: 2,
			list: func(_ context.Context, after, most int) (page []int, err error) {
				pages = append(pages, after)
				for n := after + 1; n <= 5 && len(page) < most; n++ {
					page = append(page, n)
				}
				return page, nil
			},
			start: func(_ context.Context, n int) error {
				if n == away {
					return serviceerror.NewUnavailable("away")
				}
				started = append(started, n)
				return nil
			},
		}.tend(h)
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		require.Equal(t, []int{0, 2, 4}, pages)
		require.Equal(t, []int{1, 2, 3, 4, 5}, started)
		pages, started, away = nil, nil, 3
		time.Sleep(time.Second)
		synctest.Wait()
		stop()
		require.Equal(t, []int{0, 2}, pages)
		require.Equal(t, []int{1, 2}, started)
	})
}

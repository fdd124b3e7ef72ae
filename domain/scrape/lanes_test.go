package scrape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/scrape"
)

func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	old := now.Add(-scrape.StaleAfter)
	for _, tt := range []struct {
		name string
		m    scrape.Moment
		want scrape.Step
	}{
		{"nothing else", scrape.Moment{}, scrape.PageStep},
		{"a look is due, and all else too",
			scrape.Moment{LookAt: now, Waiting: 3, Missing: true, Oldest: old}, scrape.LookStep},
		{"a look is not due yet", scrape.Moment{LookAt: now.Add(1), Waiting: 3, Missing: true}, scrape.VisitStep},
		{"one is missing", scrape.Moment{Missing: true, Oldest: old}, scrape.VerifyStep},
		{"the first re-visit after a page, beyond the budget", scrape.Moment{Oldest: old}, scrape.RevisitStep},
		{"the second, beyond the budget", scrape.Moment{Oldest: old, Again: 1, Until: now}, scrape.PageStep},
		{"the second, within it", scrape.Moment{Oldest: old, Again: 1, Until: now.Add(1)}, scrape.RevisitStep},
		{"the oldest visit is not old", scrape.Moment{Oldest: old.Add(1)}, scrape.PageStep},
	} {
		tt.m.Now = now
		require.Equal(t, tt.want, tt.m.Next(), tt.name)
	}
}

// The forecast of a large site is what its simulation gives, and that of a small one has no re-visit before its time.
func TestForecast(t *testing.T) {
	t.Parallel()
	pace := scrape.Pace{
		Delay: 9 * time.Second, MaxPages: 250, Cooldown: time.Minute, Look: 5 * time.Minute, Cycle: 2 * time.Hour,
	}
	large := scrape.Forecast(scrape.Load{Pace: pace, Adverts: 9_000, Pages: 225, Fresh: 70})
	require.InDelta(t, 2*time.Hour, large.Cycle, float64(5*time.Minute))
	require.InDelta(t, 38*time.Hour, large.Age, float64(3*time.Hour))
	require.InDelta(t, 9_500, large.Requests, 200)
	require.Equal(t, 288, large.Looks)

	small := scrape.Forecast(scrape.Load{Pace: pace, Adverts: 40, Pages: 1})
	require.Equal(t, scrape.StaleAfter, small.Age.Round(time.Hour))
	require.Less(t, small.Cycle, time.Minute)
	require.Less(t, small.Revisits, 200)
}

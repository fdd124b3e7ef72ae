package activities

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// A slice whose worker died does not begin anew: the others wait for its end.
func TestSliceEnd(t *testing.T) {
	t.Parallel()

	scheduled := time.Date(2026, 11, 24, 22, 30, 0, 0, time.UTC)
	const slice = 15 * time.Second
	for _, tt := range []struct {
		name    string
		attempt int32
		begins  time.Duration // after it was scheduled
		ends    time.Duration
	}{
		{"at once", 1, 0, slice},
		{"when a worker is free", 1, time.Minute, time.Minute + slice},
		{"after a worker died", 2, 11 * time.Second, slice},
		{"after its end", 17, 3 * time.Minute, slice},
		{"with a clock that is behind", 2, -time.Second, slice - time.Second},
	} {
		info := activity.Info{Attempt: tt.attempt, ScheduledTime: scheduled}
		require.Equal(t, scheduled.Add(tt.ends), sliceEnd(info, scheduled.Add(tt.begins), slice), tt.name)
	}
}

// lateShards is a run whose shards began late: they work until the third look.
type lateShards struct {
	status string
	paused int // the look before which it was paused, and resumed; 0 = never
	looks  int
}

func (s *lateShards) Tend(context.Context, int64, bool) (crawl.Progress, error) {
	s.looks++
	pauses := 5
	if s.paused > 0 && s.looks >= s.paused {
		pauses++
	}
	return crawl.Progress{Status: s.status, Working: s.looks < 3, Pauses: &pauses}, nil
}

func (*lateShards) Cycle(time.Duration, int, int) {}

// Shards that waited for slots work beyond the slice, and so does its maintenance: it ends the leases of dead workers.
// It ends when the run is paused, also where it was resumed before the next look, or before the first: shards may have
// seen that and left.
func TestTendLateShards(t *testing.T) {
	t.Parallel()

	before, after := 5, 6
	for _, tt := range []struct {
		s      *lateShards
		pauses *int // before the slice
		looks  int
	}{
		{&lateShards{status: crawl.Running}, nil, 3}, {&lateShards{status: crawl.Running}, &before, 3},
		{&lateShards{status: crawl.Paused}, nil, 1}, {&lateShards{status: crawl.Running, paused: 2}, nil, 2},
		{&lateShards{status: crawl.Running, paused: 1}, &before, 1}, {&lateShards{status: crawl.Running, paused: 1}, &after, 3},
	} {
		s := tt.s
		a := &Tending{Store: s, Metrics: s, Now: time.Now}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivity(a)
		_, err := env.ExecuteActivity(a.TendCrawl, CrawlShardJob{RunID: 7, Pauses: tt.pauses})
		require.NoError(t, err)
		require.Equal(t, tt.looks, s.looks, "%+v", s)
	}
}

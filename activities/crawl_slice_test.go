package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
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

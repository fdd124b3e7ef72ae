package campaign_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
)

// A campaign that is to start now by the clock of another machine is not put off: a worker waits for its own clock.
func TestProgressAt(t *testing.T) {
	t.Parallel()

	now := time.Now()
	for in, want := range map[time.Duration]campaign.Progress{
		0:                      {Due: true},
		50 * time.Millisecond:  {Soon: true},
		campaign.StartSkew - 1: {Soon: true},
		campaign.StartSkew:     {},
		time.Minute:            {},
	} {
		require.Equal(t, want, campaign.Progress{}.At(new(now.Add(in)), now), in)
	}
	require.Equal(t, campaign.Progress{}, campaign.Progress{}.At(nil, now))
}

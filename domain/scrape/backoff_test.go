package scrape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

func TestRevisitWaits(t *testing.T) {
	t.Parallel()
	want := 10 * time.Minute
	for n, wait := range scrape.RevisitWaits {
		assert.Equal(t, min(want, 6*time.Hour), wait, n+1)
		want *= 2
	}
	require.Equal(t, 6*time.Hour, scrape.RevisitWaits[len(scrape.RevisitWaits)-1], "the last wait")
}

func TestBackoff(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n     int
		asked time.Duration
		dice  float64
		want  time.Duration
	}{
		{1, 0, .5, 5 * time.Second},
		{1, 0, 0, 4 * time.Second},
		{1, 0, 1, 6 * time.Second},
		{2, 0, .5, 10 * time.Second},
		{3, 0, .5, 20 * time.Second},
		{6, 0, .5, 160 * time.Second},
		{6, 0, 1, 192 * time.Second},
		{7, 0, .5, 5 * time.Minute},
		{7, 0, 1, 5 * time.Minute}, // never longer
		{7, 0, 0, 4 * time.Minute},
		{1 << 40, 0, .5, 5 * time.Minute},
		{0, 0, .5, 5 * time.Second},
		{-5, 0, .5, 5 * time.Second},
		{1, time.Minute, .5, time.Minute},     // what the site asks for, where it is longer
		{7, time.Minute, .5, 5 * time.Minute}, // and ours, where that is
		{1, 100 * time.Hour, .5, web.MaxRetryAfter},
		{1, -time.Hour, .5, 5 * time.Second},
	} {
		if got := scrape.Backoff(tt.n, tt.asked, tt.dice); got != tt.want {
			t.Errorf("Backoff(%d, %v, %v) = %v; want %v", tt.n, tt.asked, tt.dice, got, tt.want)
		}
	}
}

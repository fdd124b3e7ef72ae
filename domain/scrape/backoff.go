package scrape

import (
	"time"

	"github.com/mtlrent/conveyor/domain/web"
)

// The waits after refusals, in a row: firstWait, doubled each time, at most maxWait.
const (
	firstWait = 5 * time.Second
	maxWait   = 5 * time.Minute
)

// Backoff is how long to stay away after the n-th refusal in a row, 1 being the first: 5 s × 2ⁿ⁻¹ ± 20 %, at most five
// minutes, or what the site itself asks for when that is longer. dice is from 0 to 1 and spreads the wait.
func Backoff(n int, asked time.Duration, dice float64) time.Duration {
	wait := maxWait
	if n = max(n, 1); n < 8 { // 5 s × 2⁶ is above the cap
		wait = min(firstWait<<(n-1), maxWait)
	}
	wait = min(time.Duration(float64(wait)*(0.8+0.4*dice)), maxWait)
	return max(wait, min(asked, web.MaxRetryAfter))
}

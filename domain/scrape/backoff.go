package scrape

import (
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// The waits after refusals, in a row: firstWait, doubled each time, at most maxWait.
const (
	firstWait = 5 * time.Second
	maxWait   = 5 * time.Minute
)

// RevisitWaits are how long an advert whose detail page could not be read waits for its next visit: the first after the
// first failure in a row, the second after the second, and the last after every later one. The wait doubles up to six
// hours.
var RevisitWaits = []time.Duration{
	10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 160 * time.Minute, 320 * time.Minute,
	6 * time.Hour,
}

// GoneWait is how long an advert whose detail page says that it was removed waits for its next visit, while search
// pages show it all the same.
const GoneWait = time.Hour

// Backoff is how long to wait after the n-th refusal in a row, 1 being the first: 5 s × 2ⁿ⁻¹ ± 20 %, at most five
// minutes, or as long as the site itself asks for when that is longer. dice is from 0 to 1 and spreads the wait.
func Backoff(n int, asked time.Duration, dice float64) time.Duration {
	wait := float64(fault.Growing(firstWait, maxWait, 2, n)) * (0.8 + 0.4*dice)
	return max(min(time.Duration(wait), maxWait), min(asked, web.MaxRetryAfter))
}

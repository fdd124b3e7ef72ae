package fault

import "time"

// RefusalWaits are how long a message that the broker returned or refused waits before it is published again: the first
// after the first refusal, the second after the second, and the last after every later one. The wait doubles up to one
// hour. A broker that is away refuses nothing.
var RefusalWaits = []time.Duration{
	30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute,
	32 * time.Minute, time.Hour,
}

// Refusals is how often a message is refused until it has waited for d or longer in all: the first refusal with which
// it may be given up. It is 0, which means never, for a d that is not positive.
func Refusals(d time.Duration) (n int) {
	for n = 1; d > 0; n++ {
		d -= RefusalWaits[min(n, len(RefusalWaits))-1]
		if d <= 0 {
			return n + 1
		}
	}
	return 0
}

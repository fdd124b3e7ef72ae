package fault

import "time"

// RefusalWaits are how long a message that the broker returned or refused waits before it is published again: the first
// after the first refusal, the second after the second, and the last after every later one. The wait doubles up to one
// hour. A broker that is away refuses nothing.
var RefusalWaits = []time.Duration{
	30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute,
	32 * time.Minute, time.Hour,
}

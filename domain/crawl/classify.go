package crawl

import (
	"context"
	"errors"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// ClassifyResponse is the state of a URL whose request was answered with this HTTP status, and whether it is worth
// another try: then it goes back to Queued while it has tries left, and takes the state when it has none.
func ClassifyResponse(status int) (s State, retry bool) {
	switch {
	case status >= 200 && status < 300, status == 304:
		return Visited, false
	case status == 301:
		return Redirect301, false
	case status == 403:
		return Forbidden, false
	case status == 404:
		return NotFound, false
	case status == 408, status == 421, status == 425, status == 429, status >= 500 && status < 600:
		return HTTPTerminal, true
	}
	return HTTPTerminal, false
}

// ClassifyError tells whether a request that was not answered, or not whole, is worth another try: timeouts, cut and
// refused connections and name servers that do not answer are; addresses that the guard refuses, hosts that do not
// exist and bodies that are too large are not. The state without one is Failed.
func ClassifyError(err error) (retry bool) {
	class, _ := fault.Of(err)
	return class != "" && !class.Final()
}

// A RetryPolicy says how long a URL waits for its next try. Both are above 0.
type RetryPolicy struct {
	Base time.Duration // after the first try; it doubles with every other
	Max  time.Duration // at most
}

// Backoff is the wait after so many tries, the first included. retryAfter is the wait that a 429 asked for, 0 = none:
// it lengthens the wait, up to Max as well.
func Backoff(tries int, retryAfter time.Duration, o RetryPolicy) time.Duration {
	return min(max(fault.Growing(o.Base, o.Max, 2, tries), retryAfter), o.Max)
}

// A Verdict is what a request tells about its host's patience. The zero Verdict is Welcome.
type Verdict struct {
	Refused bool
	Unasked bool          // it tells nothing
	After   time.Duration // the wait that the host itself asks for; 0 = none
}

// Welcome is a host that answers.
var Welcome Verdict

// Unasked is said where no request was made, or none that tells of the host: what it has refused before still counts.
var Unasked = Verdict{Unasked: true}

// Refused is a host that wants fewer requests, or cannot take more.
func Refused(after time.Duration) Verdict { return Verdict{Refused: true, After: after} }

// Judge is the verdict on a request: Refused by 403, 429, any 5xx and an error that is worth another try, Welcome
// otherwise. A request that the caller gave up, or that failed here, is Unasked. after is the wait that the answer
// asks for.
func Judge(status int, after time.Duration, err error) Verdict {
	class, wait := fault.Of(err)
	switch {
	case errors.Is(err, context.Canceled), class == fault.Limited:
		return Unasked
	case err != nil && ClassifyError(err):
		return Refused(wait)
	case err == nil && (status == 403 || status == 429 || status >= 500 && status < 600):
		return Refused(after)
	}
	return Welcome
}

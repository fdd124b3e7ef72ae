package activities

import (
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// A keeper paces the requests of a process whose answers are to be kept while nothing can be: the disk is full, or
// away. What was not kept is asked for again, so a site would have every page asked for as long as that lasts. Instead
// one URL is tried for all, after waits that double. It is one for all runs of a process, for a slice of one is short.
type keeper struct {
	mu    sync.Mutex
	fails int       // tries in a row that kept nothing, and the one that is under way
	until time.Time // of the next try
}

// wait is how long nothing is asked for.
func (k *keeper) wait(now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.left(now)
}

func (k *keeper) left(now time.Time) time.Duration {
	if k.fails == 0 {
		return 0
	}
	return max(0, k.until.Sub(now))
}

// enter is how long a URL has to wait. Where that is 0, it is asked for: alone, while nothing can be kept.
func (k *keeper) enter(now time.Time, o crawl.RetryPolicy) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if left := k.left(now); left > 0 || k.fails == 0 {
		return left
	}
	k.fails++
	k.until = now.Add(crawl.Backoff(k.fails, 0, o))
	return 0
}

// failed is called for an answer that could not be kept, and is how long its URL has to wait. Answers that were on
// their way together fail together, and count once.
func (k *keeper) failed(now time.Time, o crawl.RetryPolicy) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fails == 0 {
		k.fails = 1
		k.until = now.Add(crawl.Backoff(1, 0, o))
	}
	return max(o.Base, k.left(now))
}

// kept is called for an answer that was kept.
func (k *keeper) kept() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fails = 0
}

// unasked is called for a request without an answer, which says nothing: another may be tried at once.
func (k *keeper) unasked() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fails = max(min(k.fails, 1), k.fails-1) // that of enter
	k.until = time.Time{}
}

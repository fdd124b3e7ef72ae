package activities

import (
	"context"
	"sync"
	"time"
)

// ImportOthers knows what an import must not keep waiting.
type ImportOthers interface {
	// SingleWaits says whether a message to one person has just been queued, is due, and was not claimed yet.
	SingleWaits(ctx context.Context) (bool, error)
}

// ImportYields has the imports of a process give way to messages to one person. These take a dozen short steps of
// several processes one after the other, each of which waits for a core as long as an import keeps all of them.
type ImportYields struct {
	Others ImportOthers
	Short  func() bool // the machine has fewer cores than its work needs
	Now    func() time.Time

	mu     sync.Mutex // held during a look: several activities share one
	looked time.Time
	waits  bool
	seen   time.Time     // when one waited last
	spare  time.Duration // that they may wait
	one    Cores         // of pieces; nil until it is needed
}

const (
	yieldEvery  = 20 * time.Millisecond  // between two looks
	yieldSeldom = 100 * time.Millisecond // while none has waited within yieldsFor
	// An import that gives way waits for yieldMost at a time, and in all for as many times as long as it has worked
	// before as yieldShare says: whatever waits, and why, it gets on with a quarter of its pace. What it did not wait it
	// may wait later, up to spareMost: a message takes longer than the piece before it has taken.
	yieldShare = 3
	yieldMost  = time.Second
	spareMost  = 3 * yieldMost // of the activities that read, reserve and store
	// yieldsFor is how long after a message that waited an import works in small pieces, and for half of the time where
	// the machine is short of cores: the next one finds it in the middle of one.
	yieldsFor = 30 * time.Second
)

// yield waits while a message to one person does, after work that took some time.
func (y *ImportYields) yield(ctx context.Context, took time.Duration) {
	y.spend(-yieldShare * took)
	began, waited := y.Now(), time.Duration(0)
	for y.look(ctx) && waited < yieldMost && y.spend(0) > 0 {
		if pause(ctx, yieldEvery) != nil {
			return
		}
		before := waited
		waited = y.Now().Sub(began)
		y.spend(waited - before)
	}
	if rest := min(took, yieldMost) - waited; rest > 0 && y.lately() && y.Short() {
		_ = pause(ctx, rest) // what is done next sees that ctx has ended
	}
}

// piece waits until a piece of work may begin, and returns what is to be called at its end. Where an import rests
// between its pieces, imports do one at a time in this process: reading, reserving and storing would have all cores
// by turns.
func (y *ImportYields) piece(ctx context.Context) (end func(), err error) {
	if !y.lately() || !y.Short() {
		return func() {}, nil
	}
	y.mu.Lock()
	if y.one == nil {
		y.one = make(Cores, 1)
	}
	y.mu.Unlock()
	return y.one.leave, y.one.take(ctx)
}

// spend takes some of the time that imports may wait, and returns what is left.
func (y *ImportYields) spend(d time.Duration) time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.spare = min(y.spare-d, spareMost)
	return y.spare
}

// look says whether a message waits. Where that cannot be found out, none does: what the import does next will tell.
func (y *ImportYields) look(ctx context.Context) bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	now, every := y.Now(), yieldSeldom
	if y.late(now) {
		every = yieldEvery
	}
	if now.Sub(y.looked) >= every {
		waits, err := y.Others.SingleWaits(ctx)
		y.waits, y.looked = waits && err == nil, now
		if y.waits {
			y.seen = now
		}
	}
	return y.waits
}

// lately says whether a message has waited within yieldsFor.
func (y *ImportYields) lately() bool {
	y.mu.Lock()
	defer y.mu.Unlock()
	return y.late(y.Now())
}

// late is lately, under mu.
func (y *ImportYields) late(now time.Time) bool {
	return !y.seen.IsZero() && now.Sub(y.seen) < yieldsFor
}

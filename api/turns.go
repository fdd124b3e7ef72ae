package api

import (
	"context"
	"maps"
	"sync"
	"time"
)

// Turns bound what is done at once in a process, in all and by name: that of a tenant, or of a network.
type Turns struct {
	most, share int

	mu    sync.Mutex
	all   int
	of    map[string]int
	waits map[string]int // how many wait for a turn
	left  chan struct{}  // closed by the next leave; nil = nothing waits for one
}

// NewTurns are so many turns, of which each name has a share.
func NewTurns(most, share int) *Turns {
	return &Turns{most: most, share: share, of: map[string]int{}, waits: map[string]int{}}
}

// Take takes a turn of a name; ok is false when there is none. Call leave when it is over.
func (t *Turns) Take(name string) (leave func(), ok bool) {
	leave, _ = t.try(name)
	return leave, leave != nil
}

// Wait takes a turn as Take does, and waits for one until ctx ends.
func (t *Turns) Wait(ctx context.Context, name string) (leave func(), ok bool) {
	t.count(t.waits, name, 1)
	defer t.count(t.waits, name, -1)
	for {
		leave, left := t.try(name)
		if leave != nil {
			return leave, true
		}
		select {
		case <-left:
		case <-ctx.Done():
			return nil, false
		}
	}
}

// try takes a turn, or returns what the next leave closes.
func (t *Turns) try(name string) (leave func(), left <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all >= t.most || t.of[name] >= t.share {
		if t.left == nil {
			t.left = make(chan struct{})
		}
		return nil, t.left
	}
	t.all++
	t.of[name]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.all--
		t.free(name)
	}, nil
}

// awaited says whether anything of a name waits for a turn.
func (t *Turns) awaited(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.waits[name] > 0
}

// taken is how many turns are taken, of all and of a name, those that rest among them.
func (t *Turns) taken(name string) (all, own int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.of {
		all += of
	}
	return all, t.of[name]
}

// rest keeps a turn of the name's share for some time more, without one of all. Call it before leave.
func (t *Turns) rest(name string, d time.Duration) {
	t.count(t.of, name, 1)
	time.AfterFunc(d, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.free(name)
	})
}

func (t *Turns) count(of map[string]int, name string, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if of[name] += n; of[name] == 0 {
		delete(of, name)
	}
}

// free gives back a turn of a name's share. The caller holds the lock.
func (t *Turns) free(name string) {
	t.of[name]--
	maps.DeleteFunc(t.of, func(_ string, n int) bool { return n == 0 })
	if t.left != nil {
		close(t.left)
		t.left = nil
	}
}

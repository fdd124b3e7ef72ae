package api

import (
	"context"
	"maps"
	"sync"
)

// turns bound what is done at once in a process, in all and by name: that of a tenant, or of a network.
type turns struct {
	most, share int

	mu   sync.Mutex
	all  int
	of   map[string]int
	left chan struct{} // closed by the next leave; nil = nothing waits for one
}

func newTurns(most, share int) *turns { return &turns{most: most, share: share, of: map[string]int{}} }

// take takes a turn of a name; ok is false when there is none. Call leave when it is over.
func (t *turns) take(name string) (leave func(), ok bool) {
	leave, _ = t.try(name)
	return leave, leave != nil
}

// wait takes a turn as take does, and waits for one until ctx ends.
func (t *turns) wait(ctx context.Context, name string) (leave func(), ok bool) {
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
func (t *turns) try(name string) (leave func(), left <-chan struct{}) {
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
		t.of[name]--
		maps.DeleteFunc(t.of, func(_ string, n int) bool { return n == 0 })
		if t.left != nil {
			close(t.left)
			t.left = nil
		}
	}, nil
}

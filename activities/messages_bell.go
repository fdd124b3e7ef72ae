package activities

import (
	"context"
	"slices"
	"sync"
	"time"
)

// bells wake the slices of this process that wait for further messages of their tenants. The zero value has none.
type bells struct {
	mu sync.Mutex
	of map[string][]chan struct{} // by tenant
}

// hang returns a bell of a tenant, which is rung until it is taken down. One ring is kept until it is heard.
func (b *bells) hang(tenant string) (bell <-chan struct{}, takeDown func()) {
	hung := make(chan struct{}, 1)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.of == nil {
		b.of = map[string][]chan struct{}{}
	}
	b.of[tenant] = append(b.of[tenant], hung)
	return hung, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.of[tenant] = slices.DeleteFunc(b.of[tenant], func(other chan struct{}) bool { return other == hung })
		if len(b.of[tenant]) == 0 {
			delete(b.of, tenant)
		}
	}
}

// ring rings all bells of a tenant, and waits for nothing.
func (b *bells) ring(tenant string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, hung := range b.of[tenant] {
		select {
		case hung <- struct{}{}:
		default: // it was rung, and nothing was read since
		}
	}
}

const (
	// A slice that lingers looks when its workflow was woken, and each lingerEvery, for the workflow may run in another
	// process. Soon after a message it looks more often: what comes in a burst may share a wake that comes late.
	lingerEvery = 250 * time.Millisecond
	lingerOften = 100 * time.Millisecond
	lingerSoon  = 3 * lingerOften
)

// linger waits until something may be due that was not.
func (s *slice) linger(ctx context.Context) {
	wait := lingerEvery
	if s.Now().Sub(s.lastWork) < lingerSoon {
		wait = lingerOften
	}
	if s.soonest >= 0 {
		wait = min(wait, max(s.soonest, time.Millisecond))
	}
	select {
	case <-s.bell:
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

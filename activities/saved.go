package activities

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// Notices are the activities that tell saved searches their news.
type Notices struct {
	Store   NoticeStore
	Send    NoticeSender
	Metrics NoticeMetrics
	Turns   *NoticeTurns
	Now     func() time.Time
}

// NoticeStore has deliveries as they are. Its methods may be repeated.
type NoticeStore interface {
	Notice(ctx context.Context, tenant string, id uuid.UUID) (saved.Notice, error)
	CountNoticeTry(ctx context.Context, tenant string, id uuid.UUID, reason string) (tries int, err error)
	EndNotice(ctx context.Context, tenant string, id uuid.UUID, state, reason string, now time.Time) error
	FailNotice(ctx context.Context, tenant string, id uuid.UUID, class fault.Class, reason string, now time.Time) error
}

// NoticeSender sends a notice to its target, in bounded time. Its errors name neither the address nor what it holds.
type NoticeSender interface {
	Send(ctx context.Context, n saved.Notice) error
}

// NoticeMetrics counts tries: sent, dropped, retried, failed.
type NoticeMetrics interface {
	Told(channel saved.Channel, result string)
}

// NoticeTurns bounds how many notices a process sends to one target at once, so that a target that does not answer
// takes no more of its slots.
type NoticeTurns struct {
	mu   sync.Mutex
	busy map[uuid.UUID]int
}

// noticesAtOnce is how many notices of one target are on their way in a process.
const noticesAtOnce = 2

// take reports whether there is a turn; done gives it back.
func (t *NoticeTurns) take(target uuid.UUID) (done func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy == nil {
		t.busy = map[uuid.UUID]int{}
	}
	if t.busy[target] >= noticesAtOnce {
		return nil, false
	}
	t.busy[target]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.busy[target]--; t.busy[target] == 0 {
			delete(t.busy, target)
		}
	}, true
}

// NoticeJob names a delivery.
type NoticeJob struct {
	Tenant string    `json:"tenant"`
	ID     uuid.UUID `json:"id"`
}

// NoticeDone is how a delivery ended.
type NoticeDone struct {
	State string `json:"state"` // sent failed dropped, or gone: its search was deleted
	Homes int    `json:"homes"`
}

// TellNotice sends a delivery, unless it has ended. Tries that fail are counted in the table; the last one makes it a
// dead letter. A worker that dies between sending and recording has it sent once more, under the same ID.
func (a *Notices) TellNotice(ctx context.Context, job NoticeJob) (done NoticeDone, err error) {
	n, err := a.Store.Notice(ctx, job.Tenant, job.ID)
	switch class, _ := fault.Of(err); {
	case class == fault.Gone:
		return NoticeDone{State: "gone"}, nil
	case err != nil:
		return done, err
	}
	done.Homes = len(n.Items)
	end := func(state, reason string) (NoticeDone, error) {
		if err := a.Store.EndNotice(ctx, job.Tenant, job.ID, state, reason, a.Now()); err != nil {
			return done, err
		}
		a.Metrics.Told(n.Channel, state)
		done.State = state
		return done, nil
	}
	switch {
	case n.State != "waiting" && n.State != "started":
		done.State = n.State
		return done, nil
	case !n.On:
		return end("dropped", "the search is paused")
	case len(n.Items) == 0:
		return end("dropped", "the listings are gone")
	}
	leave, ok := a.Turns.take(n.Target)
	if !ok {
		return done, &fault.Error{
			Class: fault.Limited, After: 2 * time.Second, Err: fmt.Errorf("target %s is busy", n.Target),
		}
	}
	defer leave()
	if err := a.Send.Send(ctx, n); err != nil {
		return a.missed(ctx, job, n, err)
	}
	return end("sent", "")
}

// missed counts a try that has failed and gives the delivery up when it was the last one.
func (a *Notices) missed(ctx context.Context, job NoticeJob, n saved.Notice, cause error) (done NoticeDone, err error) {
	if ctx.Err() != nil { // the worker stops: that is no failure of the target
		return done, cause
	}
	tries, err := a.Store.CountNoticeTry(ctx, job.Tenant, job.ID, cause.Error())
	if err != nil {
		return done, err
	}
	class, _ := fault.Of(cause)
	if !class.Final() && tries < saved.MaxTries {
		a.Metrics.Told(n.Channel, "retried")
		return done, cause
	}
	if err := a.Store.FailNotice(ctx, job.Tenant, job.ID, class, cause.Error(), a.Now()); err != nil {
		return done, err
	}
	a.Metrics.Told(n.Channel, "failed")
	return NoticeDone{State: "failed", Homes: len(n.Items)}, nil
}

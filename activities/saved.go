package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	NoticeHead(ctx context.Context, tenant string, id uuid.UUID) (saved.Notice, error) // without its items
	Notice(ctx context.Context, tenant string, id uuid.UUID) (saved.Notice, error)
	PutOffNotice(ctx context.Context, tenant string, id uuid.UUID, p saved.Pause) (tries int, err error)
	EndNotice(ctx context.Context, tenant string, id uuid.UUID, state, reason string, now time.Time) error
	FailNotice(ctx context.Context, tenant string, id uuid.UUID, class fault.Class, reason string, now time.Time) error
}

// NoticeSender sends a notice to its target, in bounded time. Its errors name neither the address nor what it holds.
// One of the class fault.Gone says that the target is not there any more, or wants no more: it is stopped. One of the
// class fault.Limited says that this process lacks the key of its address.
type NoticeSender interface {
	Send(ctx context.Context, n saved.Notice) error
}

// NoticeMetrics counts tries: sent, dropped, retried, failed, keyless.
type NoticeMetrics interface {
	Told(channel saved.Channel, result string)
}

// NoticeTurns bounds how many notices a process sends at once: to one target, and to one server, which a channel or the
// webhooks of a host share, and of one tenant by a channel: it may have any number of hosts, or of addresses behind a
// slow server. So a target, a server or a tenant whose notices take long takes no more of its slots. Those that find no
// turn look again one after another, of the narrowest bound that has none, about as fast as its turns end: thousands
// that wait for servers which do not answer cost little, and those of one target do not wait behind them. Questions to
// confirm an address, for which somebody waits, have a few turns more, and rows of their own. Of those that have
// failed, a tenant has a few tried again in a second.
type NoticeTurns struct {
	mu    sync.Mutex
	taken map[any]int                 // by the ID of a target, the name of a server, and noticesOf
	took  map[any]time.Duration       // by the same: what turns have taken lately, on average
	next  map[any]time.Time           // of the rows of those with none left: when the next one looks again
	again map[noticesOf]map[int64]int // notices that have failed: how many are tried again in a second of Unix time
}

// questionsOf is the row of what confirms, of those that wait for a turn of one thing.
type questionsOf struct{ of any }

// noticesOf are those of a tenant by a channel.
type noticesOf struct {
	tenant  string
	channel saved.Channel
}

const (
	serverAtOnce = 16 // by e-mail, and by Telegram
	senderAtOnce = 12 // of them of one tenant
	hostAtOnce   = 8  // by webhooks of one host
	tenantAtOnce = 16 // by webhooks of one tenant
	askedAtOnce  = 2  // to confirm an address: more than that, of a server and of a tenant

	turnAfter     = 2 * time.Second       // until a notice that finds no turn looks again, the first of them
	turnSpace     = 50 * time.Millisecond // until the next of them, at least
	turnAfterMost = 5 * time.Minute
	pauseWritten  = 10 * time.Second // a shorter wait is not worth a write

	againMost = 3 // of a tenant by a channel: how many that have failed are tried again in a second
)

// take takes a turn for a notice, which done gives back, or says after how long it should look again.
func (t *NoticeTurns) take(n *saved.Notice, clock func() time.Time) (done func(), after time.Duration) {
	now := clock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken == nil {
		t.taken, t.took, t.next = map[any]int{}, map[any]time.Duration{}, map[any]time.Time{}
	}
	server, tenant := serverAtOnce, senderAtOnce
	if n.Channel == saved.Webhook {
		server, tenant = hostAtOnce, tenantAtOnce
	}
	row := func(of any) any { return of }
	if n.Confirms {
		server, tenant = server+askedAtOnce, tenant+askedAtOnce
		row = func(of any) any { return questionsOf{of} }
	}
	bounds := []struct { // the narrowest first
		of   any
		most int
	}{{n.Target, saved.AtOnceMost}, {n.Server(), server}, {noticesOf{n.Tenant, n.Channel}, tenant}}
	for _, b := range bounds {
		if t.taken[b.of] < b.most {
			continue
		}
		after = max(turnAfter, t.next[row(b.of)].Sub(now))
		if after >= turnAfterMost {
			return nil, turnAfterMost
		}
		t.next[row(b.of)] = now.Add(after + max(turnSpace, t.took[b.of]/time.Duration(b.most)))
		return nil, after
	}
	for _, b := range bounds {
		t.taken[b.of]++
	}
	return func() {
		took := clock().Sub(now)
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, b := range bounds {
			of := b.of
			if mean, ok := t.took[of]; ok {
				t.took[of] = mean + (took-mean)/8
			} else {
				t.took[of] = took
			}
			if t.taken[of]--; t.taken[of] == 0 {
				delete(t.taken, of)
				delete(t.took, of)
				delete(t.next, of)
				delete(t.next, questionsOf{of})
			}
		}
	}, 0
}

// pause is the pause before a notice that has failed is tried again: the one that it asks for, or until its tenant has
// fewer than againMost tried in that second.
func (t *NoticeTurns) pause(n *saved.Notice, now time.Time, asked time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.again == nil {
		t.again = map[noticesOf]map[int64]int{}
	}
	of := noticesOf{n.Tenant, n.Channel}
	if t.again[of] == nil {
		t.again[of] = map[int64]int{}
	}
	at := now.Add(asked).Unix()
	for t.again[of][at] >= againMost {
		at++
	}
	t.again[of][at]++
	for of, times := range t.again {
		maps.DeleteFunc(times, func(at int64, _ int) bool { return at < now.Unix() })
		if len(times) == 0 {
			delete(t.again, of)
		}
	}
	return max(asked, time.Unix(at, 0).Sub(now))
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
// dead letter, unless it is a challenge. A worker that dies between sending and recording has it sent once more, under
// the same ID, unless it could tell the next one.
func (a *Notices) TellNotice(ctx context.Context, job NoticeJob) (done NoticeDone, err error) {
	n, err := a.Store.NoticeHead(ctx, job.Tenant, job.ID)
	open := func() bool { return n.State == "waiting" || n.State == "started" }
	if err == nil && open() && !said(ctx, "sent") && n.Halted() == "" {
		now := a.Now()
		if until := n.Until(now); until.After(now) {
			return done, a.later(ctx, job, until.Sub(now), fmt.Errorf("nothing is sent to target %s until %s", n.Target,
				until.UTC().Format(time.RFC3339)))
		}
		leave, after := a.Turns.take(&n, a.Now)
		if leave == nil {
			return done, a.later(ctx, job, after, fmt.Errorf("target %s is busy", n.Target))
		}
		defer leave()
	}
	if err == nil {
		n, err = a.Store.Notice(ctx, job.Tenant, job.ID)
	}
	switch class, _ := fault.Of(err); {
	case class == fault.Gone:
		return NoticeDone{State: "gone"}, nil
	case err != nil:
		return done, err
	}
	done.Homes = len(n.Items) + n.More
	end := func(state, reason string) (NoticeDone, error) {
		// Until it is recorded: a repeat of the activity would send it once more.
		text, args := "the end of a notice cannot be recorded", []any{"notice", job.ID}
		if err := insist(ctx, text, args, func(ctx context.Context) error {
			err := a.Store.EndNotice(ctx, job.Tenant, job.ID, state, reason, a.Now())
			if err != nil && state == "sent" {
				progress(ctx, state) // for a worker that takes over
			}
			return err
		}); err != nil {
			return done, err
		}
		a.Metrics.Told(n.Channel, state)
		done.State = state
		return done, nil
	}
	if !open() {
		done.State = n.State
		return done, nil
	}
	if said(ctx, "sent") {
		return end("sent", "")
	}
	if why := n.Idle(); why != "" {
		return end("dropped", why)
	}
	err = a.Send.Send(ctx, n)
	switch class, after := fault.Of(err); {
	case err == nil:
		return end("sent", "")
	case class == fault.Limited: // this process lacks the key of its address: that is no try
		a.Metrics.Told(n.Channel, "keyless")
		return done, a.later(ctx, job, after, err)
	default:
		return a.missed(ctx, job, n, err)
	}
}

// later has a delivery tried after a while that was not tried now. The workflow waits; the table says so where that
// takes long.
func (a *Notices) later(ctx context.Context, job NoticeJob, after time.Duration, why error) error {
	if after > pauseWritten {
		if _, err := a.Store.PutOffNotice(ctx, job.Tenant, job.ID, saved.Pause{Until: a.Now().Add(after)}); err != nil {
			return err
		}
	}
	return &fault.Error{Class: fault.Limited, After: after, Err: why}
}

// missed counts a try that has failed and gives the delivery up when it was the last one. One that could not reach the
// target may have failed on our side: for a while it is not counted.
func (a *Notices) missed(ctx context.Context, job NoticeJob, n saved.Notice, cause error) (done NoticeDone, err error) {
	if ctx.Err() != nil { // the worker stops: that is no failure of the target
		return done, cause
	}
	now := a.Now()
	class, after := fault.Of(cause)
	counts, pause := n.Missed(cause, now)
	if after = max(after, pause); !class.Final() {
		after = a.Turns.pause(&n, now, after)
	}
	tries, err := a.Store.PutOffNotice(ctx, job.Tenant, job.ID, saved.Pause{
		Until: now.Add(after), At: now, Reason: cause.Error(), Astray: errors.Is(cause, saved.ErrUnreached), Counts: counts,
	})
	if err != nil {
		return done, err
	}
	if !class.Final() && (!counts || tries < n.MaxTries()) {
		a.Metrics.Told(n.Channel, "retried")
		return done, &fault.Error{Class: class, After: after, Err: cause}
	}
	if n.Challenges() { // its tenant is shown the reason, and asks again when it is mended: that is no dead letter
		err = a.Store.EndNotice(ctx, job.Tenant, job.ID, "failed", cause.Error(), a.Now())
	} else {
		err = a.Store.FailNotice(ctx, job.Tenant, job.ID, class, cause.Error(), a.Now())
	}
	if err != nil {
		return done, err
	}
	a.Metrics.Told(n.Channel, "failed")
	return NoticeDone{State: "failed", Homes: len(n.Items) + n.More}, nil
}

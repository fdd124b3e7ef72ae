package activities

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/campaign"
)

// Dispatching are the activities that send the messages of tenants.
type Dispatching struct {
	Queue    MessageQueue
	Rest     MessageRest
	Accounts MessageAccounts
	Flow     MessageFlow
	Metrics  MessageMetrics
	Slots    MessageSlots
	Rates    map[campaign.Tier]int // messages a second of a tenant
	Lease    time.Duration         // of messages that are being sent: longer than a request may take
	Now      func() time.Time
	Dice     func() float64

	running atomic.Int64 // slices
	bells   bells        // of those
}

// MessageQueue is the queue of messages.
type MessageQueue interface {
	Waiting(ctx context.Context, tenant string) ([]campaign.Waiting, error)
	Claim(ctx context.Context, t campaign.Take) ([]campaign.Claim, error)
	Record(ctx context.Context, tenant string, token uuid.UUID, results []campaign.Result, now time.Time) (
		campaign.Recorded, error)
	Release(ctx context.Context, tenant string, token uuid.UUID, ids []uuid.UUID) error
}

// MessageRest gives back what was claimed without the claimant's knowledge.
type MessageRest interface {
	ReleaseRest(ctx context.Context, tenant string, tokens, inHand []uuid.UUID) error
}

// MessageAccounts opens what tenants send with.
type MessageAccounts interface {
	// Account is that of a tenant; fault.Gone where there is none.
	Account(ctx context.Context, tenant string) (campaign.Account, error)
	// Line opens a sender. Its access token stays in Send.
	Line(ctx context.Context, tenant string, sender uuid.UUID) (MessageLine, error)
}

// A MessageLine sends by one number.
type MessageLine struct {
	PerSecond int // messages
	// Send makes one request, and never a second one. The error is fault.Invalid: the message cannot be a request, and
	// none was made.
	Send func(ctx context.Context, c campaign.Claim) (campaign.Answer, error)
}

// MessageFlow hands out passes, each for one message, within limits that hold for all processes together.
type MessageFlow interface {
	// Take returns up to n passes that respect each of the caps, and when to ask again. It does not wait.
	Take(ctx context.Context, n int, caps ...campaign.Cap) (passes []MessagePass, again time.Duration)
}

// A MessagePass allows one message to be sent at a time of its own. Await it, or Drop it.
type MessagePass interface {
	In() time.Duration
	Await(ctx context.Context) bool // false: it came too late, or ctx has ended
	Drop()
}

// MessageMetrics counts what becomes of messages. Its methods may be called by several goroutines at once.
type MessageMetrics interface {
	Sent(tier campaign.Tier, r campaign.Result)
	Waited(kind string, d time.Duration) // from the time that a message was due until its request
	Slice(queue string, d time.Duration)
}

// MessageSlots bound the requests of a process.
type MessageSlots chan struct{}

// DispatchJob is a slice of the work on a tenant's messages.
type DispatchJob struct {
	Tenant string        `json:"tenant"`
	Tried  bool          `json:"tried,omitempty"` // those that were tried before; else those that were not
	Slice  time.Duration `json:"slice"`           // nothing is claimed after it
}

// DispatchDone is what a slice has done.
type DispatchDone struct {
	Accepted int `json:"accepted,omitempty"`
	Later    int `json:"later,omitempty"` // are tried again
	Failed   int `json:"failed,omitempty"`
	Unknown  int `json:"unknown,omitempty"`
	// Hold is for how long no slice would do anything: the tenant is at a limit, or its senders cannot be used.
	Hold time.Duration `json:"hold,omitempty"`
}

// Requests is the number of requests that were made.
func (d DispatchDone) Requests() int { return d.Accepted + d.Later + d.Failed + d.Unknown }

// DispatchMessages sends messages of a tenant until the slice is over, or none is to be sent within a second. It may
// be repeated, and run beside others on the same tenant: what it leaves behind when it is killed is unknown when its
// leases end, for it claims a message only when its request is about to be written.
func (a *Dispatching) DispatchMessages(ctx context.Context, job DispatchJob) (DispatchDone, error) {
	began, queue := a.Now(), campaign.QueueDispatch
	if job.Tried {
		queue = campaign.QueueRetry
	}
	defer func() { a.Metrics.Slice(queue, a.Now().Sub(began)) }()
	account, err := a.Accounts.Account(ctx, job.Tenant)
	if err != nil {
		return DispatchDone{}, err
	}
	a.running.Add(1)
	defer a.running.Add(-1)
	return newSlice(a, job, account).work(ctx)
}

// DispatchPlan says what waits.
type DispatchPlan struct {
	First DispatchKind `json:"first"`
	Tried DispatchKind `json:"tried"`
}

// A DispatchKind says when the first message of a kind may be claimed.
type DispatchKind struct {
	Any           bool          `json:"any,omitempty"`
	Wait          time.Duration `json:"wait,omitempty"`
	Transactional bool          `json:"transactional,omitempty"` // one may be claimed then
}

// DispatchQuery names the tenant. It is one struct so that a field can be added while old runs are open.
type DispatchQuery struct {
	Tenant string `json:"tenant"`
}

// PlanDispatch says what of a tenant waits to be sent. Its workflow has been woken, mostly, so a slice of the tenant
// that lingers in this process looks, too: at once, for what it was woken for was stored before.
func (a *Dispatching) PlanDispatch(ctx context.Context, in DispatchQuery) (p DispatchPlan, err error) {
	a.bells.ring(in.Tenant)
	waiting, err := a.Queue.Waiting(ctx, in.Tenant)
	if err != nil {
		return p, err
	}
	for _, w := range waiting { // the soonest first, transactional ones before others
		kind := &p.First
		if w.Tried {
			kind = &p.Tried
		}
		if !kind.Any {
			*kind = DispatchKind{true, w.Wait, w.Transactional}
		}
		kind.Transactional = kind.Transactional || w.Transactional && w.Wait <= kind.Wait
	}
	return p, nil
}

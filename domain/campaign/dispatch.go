package campaign

import (
	"time"

	"github.com/google/uuid"
)

// The queues of campaigns, of messages that were not tried before, and of those that were: their task queues, and the
// queues of their dead letters.
const (
	QueueCampaigns = "campaigns"
	QueueDispatch  = "message_dispatch"
	QueueRetry     = "message_retry"
)

// A Take says which messages of a tenant a worker wants.
type Take struct {
	Tenant    string
	Sender    uuid.UUID     // zero = any
	Tried     bool          // those that were tried before; else those that were not
	Max       int           // messages: as many as the limits of tenant and sender have room for
	Token     uuid.UUID     // of the lease, which every write names
	Lease     time.Duration // when it ends, the messages are unknown
	Unlimited bool          // no two callers take the last messages of the tenant's day: see Account
}

// A Waiting says when a kind of messages of a sender may be claimed.
type Waiting struct {
	Sender        uuid.UUID
	Tried         bool // before
	Transactional bool
	Wait          time.Duration // 0 = now
}

// A Recorded counts the results of requests that were stored.
type Recorded struct {
	Stored int
	Lost   int // their lease was another's by then: nothing of them was stored
}

// An Account is what a tenant sends by.
type Account struct {
	Tier      Tier
	Senders   int
	Unlimited bool // it may send any number of messages a day, or has plenty left of this one
}

// A Cap is a limit of messages a second that is shared by all processes.
type Cap struct {
	Key       string
	PerSecond int
}

// TenantCap is the limit of a tenant.
func TenantCap(tenant string, perSecond int) Cap { return Cap{tenant, perSecond} }

// SenderCap is the limit of a sender.
func SenderCap(sender uuid.UUID, perSecond int) Cap {
	return Cap{"sender/" + sender.String(), perSecond}
}

// RetryCap is the limit of a tenant's further tries while first ones wait: a fifth of its rate, 1 a second at least.
func RetryCap(tenant string, perSecond int) Cap { return Cap{tenant + "/retries", max(1, perSecond/5)} }

// StartSkew is how far the clock of a worker may be behind that of the machine by which a campaign is to start now. It
// is shorter than any reservation of a start.
const StartSkew = 15 * time.Second

// A Progress is how far a campaign has come.
type Progress struct {
	State   State  `json:"state"`
	Due     bool   `json:"due,omitempty"`     // its time has come
	Soon    bool   `json:"soon,omitempty"`    // its time comes within StartSkew
	Written bool   `json:"written,omitempty"` // every contact of the audience has its message
	Counts  Counts `json:"counts"`
	More    bool   `json:"more,omitempty"`  // there is more to do at once
	Ended   bool   `json:"ended,omitempty"` // none of its messages waits, or it is not to run
}

// At is the progress of a campaign that is scheduled for a time, at now; nil = for none.
func (p Progress) At(scheduled *time.Time, now time.Time) Progress {
	if scheduled != nil {
		p.Due = !scheduled.After(now)
		p.Soon = !p.Due && scheduled.Before(now.Add(StartSkew))
	}
	return p
}

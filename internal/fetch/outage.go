package fetch

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

const (
	outageHosts = 5                // in a row that cannot be reached, before it is our own network
	outageFirst = time.Second      // until it is tried again; then twice as long each time
	outageMost  = 30 * time.Second // between two tries
	outageTrust = time.Hour        // after it, what fails may be the hosts after all
)

// An Outage knows whether the network of this process is away: several hosts in a row could not be connected to or
// looked up, and none has answered since. Then one request at a time tries it, and what fails costs the others no
// attempt: it is fault.Limited, with the wait. After an hour, the failures of those that try it are those of their
// hosts, so that work on nothing but dead hosts comes to an end. A nil Outage is none. It is safe for concurrent use.
type Outage struct {
	now func() time.Time

	mu    sync.Mutex
	hosts map[string]bool // that could not be reached since the last answer
	since time.Time       // when it began; zero = there is none
	wait  time.Duration   // between the last two tries
	next  time.Time       // when it may be tried again
}

// NewOutage returns one that has not begun.
func NewOutage(now func() time.Time) *Outage { return &Outage{now: now, hosts: map[string]bool{}} }

// Active says that the network is away.
func (o *Outage) Active() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero()
}

// enter is called before a request. Its error is that the network is away, and is not to be tried now.
func (o *Outage) enter() error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	if o.since.IsZero() {
		return nil
	}
	if now.Before(o.next) {
		return o.away(now)
	}
	o.wait = min(2*o.wait, outageMost)
	o.next = now.Add(o.wait)
	return nil
}

func (o *Outage) away(now time.Time) error {
	return &fault.Error{
		Class: fault.Limited, After: max(o.next.Sub(now), outageFirst),
		Err: errors.New("our network seems to be away: none of several hosts could be reached"),
	}
}

// left is called with what became of a request for a host, nil for any answer, and returns what the caller is told.
// That a host is unknown to the name server says neither that the network is away nor that it is there: while it is
// away, a resolver nearby may say so of every host, and is not believed.
func (o *Outage) left(host string, err error) error {
	unknown := notFound(err)
	if o == nil || err != nil && !unknown && !unreached(err) {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		clear(o.hosts)
		o.since = time.Time{}
		return nil
	}
	now := o.now()
	if unknown {
		if o.since.IsZero() || now.Sub(o.since) > outageTrust {
			return err
		}
		return o.away(now)
	}
	if o.since.IsZero() {
		if o.hosts[host] = true; len(o.hosts) < outageHosts {
			return err
		}
		o.since, o.wait, o.next = now, outageFirst, now.Add(outageFirst)
	}
	if now.Sub(o.since) > outageTrust {
		return err
	}
	return o.away(now)
}

// unreached says that a host could not be looked up or connected to. One that refuses was reached, a name server
// that knows no such host was asked, and what the guard refuses was not tried.
func unreached(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, syscall.ECONNREFUSED) {
		return false
	}
	if class, _ := fault.Of(Fault(err)); class == fault.Invalid {
		return false
	}
	if notFound(err) {
		return false
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// notFound says that a name server knows no such host.
func notFound(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns) && dns.IsNotFound
}

package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

const (
	outageHosts = 5                // in a row that cannot be reached, before it is our own network
	outageNames = 10               // in a row that do not exist, before a name that did is looked up
	outageKnown = 3                // names that did, the last ones
	outageFirst = time.Second      // until it is tried again; then twice as long each time
	outageMost  = 30 * time.Second // between two tries
	outageTrust = time.Hour        // after it, what fails may be the hosts after all
)

// An Outage knows whether the network of this process is away: several hosts in a row could not be connected to or
// looked up, and none has answered since. Or more of them do not exist, and neither do the hosts any more that answered
// last: a name server that knows nobody is no better than none. Then one request at a time tries it, and what fails
// costs the others no attempt: it is fault.Limited, with the wait. After an hour, the failures of those that try it are
// those of their hosts, so that work on nothing but dead hosts comes to an end. A nil Outage is none. It is safe for
// concurrent use.
type Outage struct {
	now func() time.Time

	mu      sync.Mutex
	hosts   map[string]bool // that could not be reached since the last answer
	unknown map[string]bool // that do not exist, since the last answer or the last look at known
	known   []string        // the names that answered last
	looking bool            // known is being looked up
	since   time.Time       // when it began; zero = there is none
	nobody  bool            // it began because the name server knows nobody
	wait    time.Duration   // between the last two tries
	next    time.Time       // when it may be tried again
}

// NewOutage returns one that has not begun.
func NewOutage(now func() time.Time) *Outage {
	return &Outage{now: now, hosts: map[string]bool{}, unknown: map[string]bool{}}
}

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
		Err: fmt.Errorf("%w: none of several hosts could be reached", web.ErrNoNetwork),
	}
}

// left is called with what became of a request for a host, nil for any answer, and returns what the caller is told.
// look looks a name up. That one host is unknown to the name server says neither that the network is away nor that it
// is there: while it is away, a resolver nearby may say so of every host, and is not believed.
func (o *Outage) left(host string, err error, look func(name string) error) error {
	unknown := notFound(err)
	if o == nil || err != nil && !unknown && !unreached(err) {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil:
		o.over()
		o.met(host)
		return nil
	case unknown && (o.since.IsZero() || o.nobody):
		return o.missing(host, err, look)
	case !unknown && o.since.IsZero():
		if o.hosts[host] = true; len(o.hosts) >= outageHosts {
			o.begin(false)
		}
	}
	return o.still(err)
}

func (o *Outage) begin(nobody bool) {
	now := o.now()
	o.since, o.nobody, o.wait, o.next = now, nobody, outageFirst, now.Add(outageFirst)
}

func (o *Outage) over() {
	clear(o.hosts)
	clear(o.unknown)
	o.since, o.nobody = time.Time{}, false
}

// met remembers that a host answered, if it has a name.
func (o *Outage) met(host string) {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	if slices.Contains(o.known, name) || net.ParseIP(strings.Trim(name, "[]")) != nil {
		return
	}
	o.known = append(o.known, name)
	o.known = o.known[max(0, len(o.known)-outageKnown):]
}

// missing is left for a host that does not exist, err, while nothing else says that the network is away. The lock is
// held, but not while names are looked up.
func (o *Outage) missing(host string, err error, look func(name string) error) error {
	if o.since.IsZero() && len(o.unknown) < outageNames {
		o.unknown[host] = true
	}
	if len(o.unknown) < outageNames || len(o.known) == 0 || o.looking {
		return o.still(err)
	}
	known := slices.Clone(o.known)
	o.looking = true
	o.mu.Unlock()
	lost := !slices.ContainsFunc(known, func(name string) bool { return !notFound(look(name)) })
	o.mu.Lock()
	o.looking = false
	switch {
	case len(o.unknown) < outageNames: // a host has answered meanwhile
		return err
	case !lost && o.since.IsZero():
		clear(o.unknown)
	case !lost && o.nobody:
		o.over()
	case lost && o.since.IsZero():
		o.begin(true)
	}
	return o.still(err)
}

// still is what the caller is told of err, a host's: while the network is away, that.
func (o *Outage) still(err error) error {
	now := o.now()
	if o.since.IsZero() || now.Sub(o.since) > outageTrust {
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
	if fault.ClassOf(Fault(err)) == fault.Invalid {
		return false
	}
	if notFound(err) {
		return false
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
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

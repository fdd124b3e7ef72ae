package fetch

import (
	"bytes"
	"cmp"
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/web"
)

// RobotName is the product token by which robots.txt may speak of us.
const RobotName = "Conveyor"

const (
	robotsOld       = 24 * time.Hour // how long RFC 9309 lets rules be believed that cannot be read again
	robotsPatience  = time.Hour      // how long callers wait for an origin whose rules cannot be read
	robotsRedirects = 5              // that are followed, to other hosts as well
	mostRobots      = 10_000         // origins
	mostRobotsSize  = 32 << 20       // bytes of the rules of all origins together
)

// RobotsOptions are the settings of Robots. A zero field takes its default.
type RobotsOptions struct {
	TTL time.Duration // how long rules are believed; default 1 h
	// ErrorTTL is how long the origin is not asked again after an error, or longer if it says so, but no longer than TTL.
	// Default: not at all.
	ErrorTTL time.Duration
	Now      func() time.Time // default time.Now
}

// Robots knows the robots.txt of origins. It is safe for concurrent use.
type Robots struct {
	ask func(context.Context, web.Request) (Exchange, error)
	o   RobotsOptions

	mu      sync.Mutex
	origins map[string]*list.Element // of known
	recent  *list.List               // the one used last in front
	size    int                      // bytes of the rules of all origins
	reading map[string]*reading
}

// reading is one origin being read.
type reading struct {
	done   chan struct{} // closed when what follows is known
	rules  robots.Rules
	err    error
	gaveUp bool // the caller that read it ended
}

// known is what is known of one origin.
type known struct {
	origin string
	rules  robots.Rules
	at     time.Time // when rules were read; zero = never
	size   int       // bytes of rules

	err     error // of the last reading; nil = rules are of that
	until   time.Time
	failing time.Time // the first reading in a row without rules to go by; zero = there are rules
}

// NewRobots returns Robots that know nothing yet. They ask by ask, one request at a time as Client.Ask does: a caller
// that owes a host politeness pays it there.
func NewRobots(ask func(context.Context, web.Request) (Exchange, error), o RobotsOptions) *Robots {
	o.TTL = cmp.Or(o.TTL, time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Robots{
		ask: ask, o: o, origins: map[string]*list.Element{}, recent: list.New(), reading: map[string]*reading{},
	}
}

// Allowed says whether an address may be asked for, and how far apart requests to its site must be at least. Errors are
// those of Rules, and fault.Invalid for what is no address.
func (r *Robots) Allowed(ctx context.Context, address string) (ok bool, delay time.Duration, err error) {
	u, err := parse(nil, address)
	if err != nil {
		return false, 0, err
	}
	rules, err := r.Rules(ctx, u.Scheme+"://"+web.HostPort(u))
	if err != nil {
		return false, 0, err
	}
	return rules.Allowed(RobotName, u.RequestURI()), rules.CrawlDelay(RobotName), nil
}

// Rules returns the rules of an origin, as in "https://example.org:8443". They are read once in RobotsOptions.TTL, by
// one caller while others wait, and believed for a day where they cannot be read again, unless the site refuses. By
// RFC 9309 a 4xx other than 429 allows everything, and so does the sixth redirect in a row.
//
// An error means that the rules are not known, and nothing may be requested: a *web.Refusal (fault.Throttled, with the
// wait asked for) for 429 and when the site refuses, the class of fault.OfStatus for other statuses, and the faults of
// asking. One that may pass is fault.Limited, with the time until the origin is asked again, for all but the caller
// that has asked. Once readings have failed for an hour it is everybody's, so that work on such an origin comes to an
// end. When ctx ends its error is returned, and nothing is remembered.
func (r *Robots) Rules(ctx context.Context, origin string) (robots.Rules, error) {
	for {
		k, wait := r.find(origin)
		switch {
		case k != nil:
			return k.rules, k.err
		case wait == nil:
			return r.refresh(ctx, origin)
		}
		select {
		case <-wait.done:
			if !wait.gaveUp {
				return wait.rules, wait.err
			}
		case <-ctx.Done():
			return nothing, fmt.Errorf("read robots.txt: %w", ctx.Err())
		}
	}
}

// find returns what is known of the origin, or what to wait for. With neither, the caller must refresh it.
func (r *Robots) find(origin string) (*known, *reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.o.Now()
	if e := r.origins[origin]; e != nil {
		r.recent.MoveToFront(e)
		if k, _ := e.Value.(*known); now.Before(k.until) {
			found := *k
			switch {
			case found.err == nil:
			case found.believed(now):
				found.err = nil
			default:
				found.rules, found.err = nothing, k.held(now)
			}
			return &found, nil
		}
	}
	if wait := r.reading[origin]; wait != nil {
		return nil, wait
	}
	r.reading[origin] = &reading{done: make(chan struct{}), gaveUp: true}
	return nil, nil
}

// believed says that old rules stand in for those that could not be read.
func (k *known) believed(now time.Time) bool {
	return !k.at.IsZero() && now.Sub(k.at) < robotsOld && web.RefusalOf(k.err) == nil
}

// held is the error of a reading for callers that have not asked: where it may pass, they have to wait, for an hour.
func (k *known) held(now time.Time) error {
	wait := k.until.Sub(now)
	if fault.ClassOf(k.err).Final() || wait <= 0 || !k.failing.IsZero() && now.Sub(k.failing) >= robotsPatience {
		return k.err
	}
	return &fault.Error{Class: fault.Limited, After: wait, Err: k.err}
}

// fails notes when readings began to fail. Those of long before are another matter.
func (k *known) fails(now time.Time) {
	if k.failing.IsZero() || now.Sub(k.until) >= robotsPatience {
		k.failing = now
	}
}

// refresh reads the rules of an origin, and lets those who wait for it go on.
func (r *Robots) refresh(ctx context.Context, origin string) (rules robots.Rules, err error) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.reading[origin].done)
		delete(r.reading, origin)
	}()
	rules, err = r.read(ctx, origin)
	if err != nil && ctx.Err() != nil {
		return rules, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	k, now := &known{origin: origin}, r.o.Now()
	defer func() {
		others := r.reading[origin]
		if others.rules, others.gaveUp = rules, false; err != nil {
			others.err = k.held(now)
		}
	}()
	if e := r.origins[origin]; e != nil {
		k, _ = e.Value.(*known)
	} else {
		r.origins[origin] = r.recent.PushFront(k)
	}
	if k.err = err; err == nil {
		r.size += rules.Size() - k.size
		k.rules, k.size, k.at, k.until, k.failing = rules, rules.Size(), now, now.Add(r.o.TTL), time.Time{}
	} else {
		class, after := fault.Of(err)
		switch {
		case k.believed(now):
			rules, err, k.failing = k.rules, nil, time.Time{}
		case class != fault.Limited:
			k.fails(now)
		}
		k.until = now
		if r.o.ErrorTTL > 0 && class != fault.Limited { // our own limits say nothing of the origin
			k.until = now.Add(min(max(r.o.ErrorTTL, after), r.o.TTL))
		}
	}
	for len(r.origins) > mostRobots || r.size > mostRobotsSize && len(r.origins) > 1 {
		oldest, _ := r.recent.Remove(r.recent.Back()).(*known)
		r.size -= oldest.size
		delete(r.origins, oldest.origin)
	}
	return rules, err
}

// read asks for the robots.txt of an origin.
func (r *Robots) read(ctx context.Context, origin string) (robots.Rules, error) {
	address := origin + "/robots.txt"
	for range robotsRedirects + 1 {
		x, err := r.ask(ctx, web.Request{URL: address, Most: robots.MaxSize})
		if err == nil && x.RedirectTo == "" {
			return judged(x)
		}
		if err != nil {
			return nothing, fmt.Errorf("read robots.txt: %w", err)
		}
		address = x.RedirectTo
	}
	return robots.Rules{}, nil
}

// nothing are the rules of a site that cannot be asked: they allow nothing.
var nothing, _ = robots.FromStatus(0, nil)

// judged reads an answer.
func judged(x Exchange) (robots.Rules, error) {
	if err := web.Check(x.Page); web.RefusalOf(err) != nil && (x.Status == 429 || x.Status >= 500) {
		return nothing, fmt.Errorf("read robots.txt: %w", err)
	}
	raw, body := x.Raw, x.Body
	if x.Cut { // the last line may be a part of one, and a part of a rule is another rule
		raw, body = raw[:bytes.LastIndexAny(raw, "\r\n")+1], body[:bytes.LastIndexAny(body, "\r\n")+1]
	}
	if x.Charset != "" && utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0 { // it is UTF-8, whatever its header says
		body = raw
	}
	return robots.FromStatus(x.Status, body)
}

// Package limit limits the rate of our requests to hosts (Hosts), those of a crawl with the number that is under way
// (Visits), and the rate of callers to our API (Rate), across all processes.
//
// With Hosts, starts are at least an interval apart for each host. Redis keeps the queue: it hands out slots in the
// order of asking (GCRA, one round trip a start). While Redis is down every process keeps the same pace by itself, so n
// processes are together at most n times too fast, and two metrics show it.
package limit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Options are the settings of Hosts. A zero field takes its default.
type Options struct {
	Name     string        // what is limited, e.g. "images": names the keys in Redis and the metrics; default "hosts"
	Interval time.Duration // least time between two starts on one host, 1 ms or more; default 500 ms
	MaxWait  time.Duration // a longer wait is refused instead of waited for; default 5 s
	// Slack is how late a caller may start in its slot; later, it takes another. Slots are Interval+Slack apart, which
	// is what makes Interval hold whatever the network and the scheduler do. Default Interval/20. While callers are later
	// than half of it, as on a loaded machine, slots are wider: twice as wide as they are late, Interval at most.
	Slack time.Duration
	// Timeout is how long Redis may take to answer, five times as long for the first answer; default 1 s. A start whose
	// answer is late is refused. When there has been none for three times as long, or Redis cannot be connected to, it is
	// left alone for Cooldown (default 5 s), then one caller tries it while the others stay local.
	Timeout  time.Duration
	Cooldown time.Duration
	MaxHosts int // hosts remembered in this process, those that may start at once excepted; default 10,000

	Registerer prometheus.Registerer // takes the metrics; nil = none are registered

	Now     func() time.Time                                 // default time.Now
	Sleep   func(ctx context.Context, d time.Duration) error // returns ctx.Err() when ctx ends first; default a timer
	Started func(host string, at time.Time, fromRedis bool)  // called at each start, before Wait returns; default none
}

// Hosts paces the starts on each host. Its methods may be called by several goroutines at once.
type Hosts struct {
	o     Options
	redis *reach
	line  redis.UniversalClient // for what Waits reads

	mu    sync.Mutex
	hosts map[string]pace // starts and reserved slots of this process; an entry in the past is as good as none
	slack time.Duration   // of new slots

	waits prometheus.Observer
}

// New returns Hosts that share their pace with every other of the same Name on the same Redis. It does not talk to
// Redis: one that is down at startup is like one that goes down later.
func New(rdb redis.UniversalClient, o Options) *Hosts {
	o.Name = cmp.Or(o.Name, "hosts")
	o.Interval = max(cmp.Or(o.Interval, 500*time.Millisecond), time.Millisecond)
	o.MaxWait = cmp.Or(o.MaxWait, 5*time.Second)
	o.Slack = cmp.Or(o.Slack, o.Interval/20)
	o.Timeout = cmp.Or(o.Timeout, time.Second)
	o.Cooldown = cmp.Or(o.Cooldown, 5*time.Second)
	o.MaxHosts = cmp.Or(o.MaxHosts, 10_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Started == nil {
		o.Started = func(string, time.Time, bool) {}
	}
	return &Hosts{
		o: o, redis: newReach(rdb, o.Name, o.Timeout, o.Cooldown, o.Now, o.Registerer), line: rdb,
		hosts: map[string]pace{}, slack: o.Slack, waits: waitsOf(o.Registerer, o.Name),
	}
}

// Wait blocks until it is this caller's turn on the host (a name, with or without a port; case does not matter). A turn
// that is further away than Options.MaxWait or than ctx's deadline is fault.Limited at once, with the wait as After,
// and takes no slot. When ctx ends during the wait its error is returned, and the slot is lost: the next caller is not
// sooner.
func (h *Hosts) Wait(ctx context.Context, host string) error {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 300 {
		return fault.Newf(fault.Invalid, "wait for a turn: bad host %.300q", host)
	}
	asked := h.o.Now()
	giveUp := asked.Add(h.o.MaxWait)
	if d, ok := ctx.Deadline(); ok {
		giveUp = earlier(giveUp, asked.Add(time.Until(d)))
	}
	for slow := 0; ; {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for a turn on %s: %w", host, err)
		}
		s, err := h.reserve(ctx, host, giveUp)
		if err != nil {
			return err
		}
		if d := s.from.Sub(h.o.Now()); d > 0 {
			if err := h.o.Sleep(ctx, d); err != nil {
				return fmt.Errorf("wait for a turn on %s: %w", host, err)
			}
		}
		if at, ok := h.start(host, s); ok {
			if !s.redis {
				h.redis.fallbacks.Inc()
			}
			h.waits.Observe(at.Sub(asked).Seconds())
			h.o.Started(host, at, s.redis)
			return nil
		}
		if s.to.Before(s.from) { // the answer took longer than Slack, so the time of the slot is not known
			if slow++; slow == maxSlow {
				h.redis.trip()
			}
		}
	}
}

// maxSlow is how many answers slower than Slack make a Redis count as down.
const maxSlow = 3

// slot is the right to start on a host between from and to.
type slot struct {
	from, to time.Time
	slack    time.Duration // how late it may be spent: to is so much after the first moment that it may have begun
	redis    bool
}

// pace is the state of one host in this process.
type pace struct {
	next time.Time // an interval after the last start
	tail time.Time // the end of the last slot that was promised here
}

// start spends the slot, unless it is too early or too late for it, or a start in this process was less than an
// interval ago: a Redis that was restarted or flushed has forgotten it.
func (h *Hosts) start(host string, s slot) (at time.Time, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at = h.o.Now()
	h.widen(at.Sub(s.to) + s.slack)
	p := h.hosts[host]
	if at.Before(s.from) || at.After(s.to) || at.Before(p.next) {
		return at, false
	}
	p.next = at.Add(h.o.Interval)
	h.hosts[host] = p
	return at, true
}

// widen makes new slots fit for a caller that was so late, and narrows them slowly when callers are not. The caller
// holds the lock.
func (h *Hosts) widen(late time.Duration) {
	if h.slack = max(2*late, h.slack-(h.slack-h.o.Slack)/16); h.slack > h.o.Interval {
		h.slack = h.o.Interval
	}
	h.slack = max(h.slack, h.o.Slack)
}

// slackNow is the slack of a new slot.
func (h *Hosts) slackNow() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.slack
}

// reserve takes the next free slot of the host, from Redis or, while that is down, from this process.
func (h *Hosts) reserve(ctx context.Context, host string, giveUp time.Time) (slot, error) {
	if h.redis.ask() {
		asked := h.o.Now()
		s, wait, err := h.redisSlot(ctx, host, giveUp)
		switch {
		case err == nil && wait > 0:
			h.redis.reached()
			return slot{}, tooFar(host, wait)
		case err == nil:
			h.redis.reached()
			h.mu.Lock()
			defer h.mu.Unlock()
			return s, h.promise(host, s.from.Add(s.slack))
		case ctx.Err() != nil: // says nothing about Redis
			return slot{}, fmt.Errorf("wait for a turn on %s: %w", host, ctx.Err())
		case !h.redis.down(asked, err):
			return slot{}, tooFar(host, h.o.Interval)
		}
		h.redis.trip()
	}
	return h.localSlot(host, giveUp)
}

// redisSlot takes a slot from the queue in Redis. A wait above zero means that the next one is further away than
// giveUp: none was taken. The queue is a GCRA bucket with a burst as long as the queue may be; its caller waits the
// burst out.
func (h *Hosts) redisSlot(ctx context.Context, host string, giveUp time.Time) (s slot, wait time.Duration, err error) {
	slack := h.slackNow()
	gap := h.o.Interval + slack
	asked := h.o.Now()
	left := giveUp.Sub(asked)
	if left < 0 {
		return slot{}, h.o.Interval, nil
	}
	queue := redis_rate.Limit{Rate: 1, Period: gap, Burst: int(left/gap) + 1}
	r, err := h.redis.allow(ctx, h.redis.patience(), h.o.Name+":"+host, queue)
	if err != nil {
		return slot{}, 0, err
	}
	// Redis looked at its clock between asked and now. A microsecond is for its rounding.
	turn := max(0, r.ResetAfter-gap)
	s = slot{from: h.o.Now().Add(turn), to: asked.Add(turn + slack - time.Microsecond), slack: slack, redis: true}
	if r.Allowed == 0 || turn > 0 {
		// Its caller has to wait, so the round trip costs nothing.
		tell(h.line, h.o.Name, host, asked.Add(r.ResetAfter), h.o.Timeout)
	}
	if r.Allowed == 0 {
		return slot{}, max(r.ResetAfter, time.Millisecond), nil
	}
	return s, 0, nil
}

// localSlot takes a slot from this process's own queue.
func (h *Hosts) localSlot(host string, giveUp time.Time) (slot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, p := h.o.Now(), h.hosts[host]
	from := later(now, later(p.next, p.tail))
	if from.After(later(giveUp, now)) { // Redis may have taken longer than there was to wait
		return slot{}, tooFar(host, from.Sub(now))
	}
	s := slot{from: from, to: from.Add(h.slack), slack: h.slack}
	return s, h.promise(host, s.to)
}

// promise notes that a slot which ends at to is taken. The caller holds the lock.
func (h *Hosts) promise(host string, to time.Time) error {
	p, known := h.hosts[host]
	now := h.o.Now()
	if !known && !room(h.hosts, h.o.MaxHosts, func(p pace) bool { return !p.next.After(now) && !p.tail.After(now) }) {
		return tooFar(host, h.o.Interval)
	}
	p.tail = later(p.tail, to.Add(h.o.Interval))
	h.hosts[host] = p
	return nil
}

// waitsOf is the metric of waits of one limiter.
func waitsOf(r prometheus.Registerer, name string) prometheus.Observer {
	return register(r, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "conveyor_limiter_wait_seconds",
		Help:    "Time from asking for a start on a host until it was granted.",
		Buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
	}, []string{"limiter"})).WithLabelValues(name)
}

func tooFar(host string, wait time.Duration) error {
	return &fault.Error{Class: fault.Limited, After: wait, Err: fmt.Errorf(
		"wait for a turn on %s: the next one is in %s", host, wait.Round(time.Millisecond))}
}

// room says whether one more may be remembered: where there are most, those that are as good as none are forgotten.
func room[V any](of map[string]V, most int, none func(V) bool) bool {
	if len(of) >= most {
		maps.DeleteFunc(of, func(_ string, v V) bool { return none(v) })
	}
	return len(of) < most
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// register returns the collector, or the one of that name which is registered already.
func register[C prometheus.Collector](r prometheus.Registerer, c C) C {
	if r == nil {
		return c
	}
	err := r.Register(c)
	if already, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if old, ok := already.ExistingCollector.(C); ok {
			return old
		}
	}
	if err != nil {
		panic(fmt.Sprintf("limit: register metrics: %v", err)) // a clash of names in our own code
	}
	return c
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

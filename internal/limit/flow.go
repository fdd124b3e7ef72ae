package limit

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// FlowOptions are the settings of a Flow. A zero field takes its default.
type FlowOptions struct {
	Name string // names the keys in Redis and the metrics; default "flow"
	// Ahead is how far ahead passes are handed out, and so the longest that one is waited for; default 200 ms. What comes
	// between, such as an urgent message, waits for as long.
	Ahead time.Duration
	// Slack is how late a pass may be used; default 80 ms. Later, it is given back.
	Slack time.Duration
	// Timeout is how long Redis may take to answer; default 280 ms. Redis counts as down when there has been no answer for
	// three times as long, or it cannot be connected to. That is soon, because a tenant's messages are sent by one process
	// at a time, which keeps the rate by itself.
	Timeout  time.Duration
	Cooldown time.Duration // how long it is left alone after a failure; default 5 s
	MaxKeys  int           // remembered in this process, those in use excepted; default 10,000

	Registerer prometheus.Registerer // takes the metrics; nil = none are registered

	Now   func() time.Time                                 // default time.Now
	Sleep func(ctx context.Context, d time.Duration) error // returns ctx.Err() when ctx ends first; default a timer
}

// A Cap is a limit of a Flow.
type Cap struct {
	Key       string // what is limited, such as a tenant
	PerSecond int    // in the long run; 1 at least
}

// A Flow hands out passes, each for one start at a time of its own, at a rate for each key and for all processes
// together. Nothing waits in it: a caller whose turn is further away than FlowOptions.Ahead is told when to come again,
// and does something else.
//
// The passes of a key are evenly apart. Those that were missed, because no caller came or one was late, are made up
// for, 0.8 s of them at most, by passes that are 6 % closer. So a rate holds within 2 % over a minute, and starts
// exceed it by less than 20 % in any one second, lateness of up to 130 ms included.
//
// Redis keeps the times, by its own clock. While it is down every process keeps the same rate by itself, so n
// processes are together at most n times too fast, and two metrics show it. Its methods may be called by several
// goroutines at once.
type Flow struct {
	o     FlowOptions
	line  redis.UniversalClient
	redis *reach // nil = none

	mu   sync.Mutex
	keys map[string]*flowing
	slow int // answers of Redis in a row that took longer than Slack

	waits prometheus.Observer
}

// How far passes that were missed may be made up for: so much of them, so much faster.
const (
	flowArrears = 800 * time.Millisecond
	flowFaster  = 1.06
)

// flowing is the state of a key in this process. Redis has the same two times for all processes.
type flowing struct {
	due  time.Time // when the next pass is due at the rate; it may be handed out up to flowArrears before
	next time.Time // before that there is none, however much is due
	lost int       // passes to give back
}

// A Pass allows one start.
type Pass struct {
	flow     *Flow
	caps     []Cap
	asked    time.Time
	from, to time.Time
	redis    bool
}

// NewFlow returns a Flow that shares its limits with every other of the same Name on the same Redis. It does not talk
// to Redis: one that is down at startup is like one that goes down later. With nil for Redis, processes count for
// themselves.
func NewFlow(rdb redis.UniversalClient, o FlowOptions) *Flow {
	o.Name = cmp.Or(o.Name, "flow")
	o.Ahead = cmp.Or(o.Ahead, 200*time.Millisecond)
	o.Slack = cmp.Or(o.Slack, 80*time.Millisecond)
	o.Timeout = cmp.Or(o.Timeout, 280*time.Millisecond)
	o.Cooldown = cmp.Or(o.Cooldown, 5*time.Second)
	o.MaxKeys = cmp.Or(o.MaxKeys, 10_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	f := &Flow{o: o, line: rdb, keys: map[string]*flowing{}, waits: waitsOf(o.Registerer, o.Name)}
	if rdb != nil {
		f.redis = newReach(rdb, o.Name, o.Timeout, o.Cooldown, o.Now, o.Registerer)
	}
	return f
}

// Take returns up to n passes, in the order of their times, that respect each of the caps: those that are due within
// FlowOptions.Ahead. again is when to call Take again, counted from now: with passes, early enough that the next ones
// follow without a gap, which needs that they are awaited meanwhile, by goroutines of their own; without, when there
// may be one. Take asks Redis once and does not wait. Every cap but the first must belong to the first, as a sender
// does to its tenant: it is counted together with that one only. When ctx ends there are no passes, and again is 0.
//
// Call Await on each pass before its start, or Drop.
func (f *Flow) Take(ctx context.Context, n int, caps ...Cap) (passes []*Pass, again time.Duration) {
	if n < 1 || len(caps) == 0 || ctx.Err() != nil {
		return nil, 0
	}
	asked := f.o.Now()
	floor, lost, ok := f.enter(asked, caps)
	if !ok {
		return nil, f.o.Ahead
	}
	if f.redis != nil && f.redis.ask() {
		offsets, next, err := f.askRedis(ctx, n, caps, floor, lost)
		switch {
		case err == nil:
			f.redis.reached()
			return f.granted(asked, caps, offsets), f.again(offsets, next)
		case ctx.Err() != nil: // says nothing about Redis
			f.giveBack(caps, lost)
			return nil, 0
		case !f.redis.down(asked, err):
			f.giveBack(caps, lost)
			return nil, f.o.Ahead / 2
		}
		f.redis.trip()
	}
	return f.takeOwn(n, caps, lost)
}

// enter returns the earliest time of a pass, from now, so that a Redis that has forgotten all does not hand out the
// passes of this process again, and what to give back of each cap. It is not ok where there are too many keys.
func (f *Flow) enter(now time.Time, caps []Cap) (floor time.Duration, lost []int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lost = make([]int, len(caps))
	for i, c := range caps {
		s := f.key(now, c)
		if s == nil {
			return 0, nil, false
		}
		floor = max(floor, s.next.Sub(now))
		lost[i] = min(s.lost, int(flowArrears/c.gap())+1)
		s.lost = 0
	}
	return floor, lost, true
}

// key is the state of a key; nil = there are too many. The caller holds the lock.
func (f *Flow) key(now time.Time, c Cap) *flowing {
	s := f.keys[c.Key]
	if s != nil {
		return s
	}
	if !room(f.keys, f.o.MaxKeys, func(s *flowing) bool { return !s.due.After(now) && !s.next.After(now) }) {
		return nil
	}
	s = &flowing{}
	f.keys[c.Key] = s
	return s
}

// again is when to call Take again after passes at these times. next is when the one after them is due within Ahead; it
// is 0 or less where that is so already.
func (f *Flow) again(offsets []time.Duration, next time.Duration) time.Duration {
	switch {
	case len(offsets) == 0:
		return max(next, time.Millisecond)
	case next > 0:
		return max(next, f.o.Ahead/2)
	}
	return max(0, offsets[len(offsets)-1]-f.o.Ahead/2)
}

// askRedis returns the times of passes, from when Redis looked at its clock, and next as again takes it.
func (f *Flow) askRedis(ctx context.Context, n int, caps []Cap, floor time.Duration, lost []int) (
	offsets []time.Duration, next time.Duration, err error,
) {
	keys := make([]string, len(caps))
	args := []any{n, f.o.Ahead.Microseconds(), floor.Microseconds(), flowArrears.Microseconds()}
	for i, c := range caps {
		keys[i] = fmt.Sprintf("%s:{%s}:%s", f.o.Name, caps[0].Key, c.Key) // one slot of a cluster
		args = append(args, micros(c.gap()), micros(c.least()), lost[i])
	}
	got, err := within(ctx, f.o.Timeout, func(ctx context.Context) ([]int64, error) {
		return flowScript.Run(ctx, f.line, keys, args...).Int64Slice()
	})
	if err != nil {
		return nil, 0, err
	}
	for _, at := range got[1:] {
		offsets = append(offsets, time.Duration(at)*time.Microsecond)
	}
	return offsets, time.Duration(got[0]) * time.Microsecond, nil
}

// granted are the passes at the times that Redis gave, of which it is known only that its clock was looked at between
// asked and now. Those of an answer that took longer than Slack are lost, unless all answers do: then starts are late.
func (f *Flow) granted(asked time.Time, caps []Cap, offsets []time.Duration) (passes []*Pass) {
	answered := f.o.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	until := asked
	if f.slow++; answered.Sub(asked) <= f.o.Slack {
		f.slow = 0
	} else if f.slow >= maxSlow {
		until = answered
	}
	for _, at := range offsets {
		f.note(caps, asked.Add(at))
		passes = append(passes, &Pass{
			flow: f, caps: caps, asked: asked, from: answered.Add(at), to: until.Add(at + f.o.Slack), redis: true,
		})
	}
	return passes
}

// note counts a pass in this process. The caller holds the lock.
func (f *Flow) note(caps []Cap, at time.Time) {
	for _, c := range caps {
		if s := f.keys[c.Key]; s != nil {
			s.due = later(s.due, at).Add(c.gap())
			s.next = later(s.next, at.Add(c.least()))
		}
	}
}

// takeOwn takes passes of those that this process counts.
func (f *Flow) takeOwn(n int, caps []Cap, lost []int) (passes []*Pass, again time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.o.Now()
	for i, c := range caps {
		if s := f.keys[c.Key]; s != nil {
			s.due = s.due.Add(-time.Duration(lost[i]) * c.gap())
		}
	}
	var offsets []time.Duration
	for {
		at := now
		for _, c := range caps {
			if s := f.keys[c.Key]; s != nil {
				at = later(at, later(s.next, s.due.Add(-flowArrears)))
			}
		}
		if d := at.Sub(now); d > f.o.Ahead || len(passes) == n {
			return passes, f.again(offsets, d-f.o.Ahead)
		}
		f.note(caps, at)
		offsets = append(offsets, at.Sub(now))
		passes = append(passes, &Pass{flow: f, caps: caps, asked: now, from: at, to: at.Add(f.o.Slack)})
	}
}

// Await blocks until the time of the pass, FlowOptions.Ahead at most, and reports whether to start: at once, then.
// Where it is false the caller was too late, or ctx has ended; the pass is given back.
func (p *Pass) Await(ctx context.Context) bool {
	if d := p.from.Sub(p.flow.o.Now()); d > 0 && p.flow.o.Sleep(ctx, d) != nil || ctx.Err() != nil {
		p.Drop()
		return false
	}
	now := p.flow.o.Now()
	if now.After(p.to) {
		p.Drop()
		return false
	}
	if !p.redis && p.flow.redis != nil {
		p.flow.redis.fallbacks.Inc()
	}
	p.flow.waits.Observe(now.Sub(p.asked).Seconds())
	return true
}

// In is how long it takes until the time of the pass; 0 or less = it is there.
func (p *Pass) In() time.Duration { return p.from.Sub(p.flow.o.Now()) }

// Drop gives a pass back that is not used.
func (p *Pass) Drop() {
	lost := make([]int, len(p.caps))
	for i := range lost {
		lost[i] = 1
	}
	p.flow.giveBack(p.caps, lost)
}

// giveBack notes passes that the next Take returns.
func (f *Flow) giveBack(caps []Cap, lost []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, c := range caps {
		if s := f.keys[c.Key]; s != nil {
			s.lost += lost[i]
		}
	}
}

// gap is the time between two passes at the rate, least that while arrears are made up for.
func (c Cap) gap() time.Duration   { return time.Second / time.Duration(max(c.PerSecond, 1)) }
func (c Cap) least() time.Duration { return time.Duration(float64(c.gap()) / flowFaster) }

func micros(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Microsecond), 'f', 3, 64)
}

// flowScript hands out passes. Each key has two times in microseconds: when the next pass is due at the rate, and
// before which there is none. It returns the wait and the times of the passes, from now. The clock is Redis's; where it
// has gone back, as by a failover, the times are no further away than any that it gives.
var flowScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local n, ahead, floor, arrears = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local caps = {}
for i, key in ipairs(KEYS) do
  local c = {gap = tonumber(ARGV[3 * i + 2]), least = tonumber(ARGV[3 * i + 3]), due = 0, next = 0}
  local value = redis.call('GET', key)
  if value then
    local due, next = string.match(value, '(%d+) (%d+)')
    local last = now + ahead + c.gap
    c.due = math.min(math.max(0, due - ARGV[3 * i + 4] * c.gap), last + arrears)
    c.next = math.min(tonumber(next), last)
  end
  caps[i] = c
end
local out = {0}
while true do
  local at = now + floor
  for _, c in ipairs(caps) do at = math.max(at, c.next, c.due - arrears) end
  if at - now > ahead or #out > n then
    out[1] = math.ceil(at - now - ahead)
    break
  end
  out[#out + 1] = math.ceil(at - now)
  for _, c in ipairs(caps) do c.due, c.next = math.max(c.due, at) + c.gap, at + c.least end
end
for i, key in ipairs(KEYS) do
  local c = caps[i]
  local ttl = math.ceil((math.max(c.due, c.next) - now) / 1000) + 60000
  if ttl > 0 then
    redis.call('SET', key, string.format('%.0f %.0f', c.due, c.next), 'PX', string.format('%.0f', ttl))
  end
end
return out`)

package limit

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
)

// VisitOptions are the settings of Visits. Gap, Jitter and CooldownBase are off where they are zero; another zero field
// takes its default.
type VisitOptions struct {
	Name    string // names the keys in Redis and the metrics; default "visits"
	PerHost int    // requests at once to one host; default 4

	Gap    time.Duration // least time between two starts on one host
	Jitter time.Duration // up to so much more, at random; at most Gap, where that is on

	// CooldownBase is how long a host is left alone after a crawl.Refused. It doubles with each that follows, up to
	// CooldownMax (default 5 s), and every crawl.Welcome takes one back. A host that asks for longer gets it, up to
	// MaxRetryAfter (default 5 minutes).
	CooldownBase  time.Duration
	CooldownMax   time.Duration
	MaxRetryAfter time.Duration

	MaxWait time.Duration // a longer wait is refused instead of waited for; default 1 s
	Lease   time.Duration // how long the requests of a process that died count, 30 ms or more; default 3 s
	// Timeout is how long Redis may take to answer, five times as long for the first answer; default 1 s, which is more
	// than a slow link costs that loses a packet. A start whose answer is late is refused. Redis counts as down when
	// there has been none for three times as long, or it cannot be connected to: until then it may pace the others, and
	// a process that went on by itself would come on top of them.
	Timeout  time.Duration
	Cooldown time.Duration // how long Redis is left alone after a failure; default 5 s
	MaxHosts int           // hosts remembered in this process, those in use excepted; default 10,000

	Registerer prometheus.Registerer // takes the metrics; nil = none are registered

	Now     func() time.Time                                 // default time.Now
	Sleep   func(ctx context.Context, d time.Duration) error // returns ctx.Err() when ctx ends first; default a timer
	Dice    func() float64                                   // from 0 to 1, for the jitter; default random
	Started func(host string, at time.Time, fromRedis bool)  // called at each start, before Enter returns; default none
}

// Visits paces the requests to each host, and bounds how many are under way, in all processes together. Redis keeps the
// seats that requests take, the time of the next start and the cooldown of each host. A process takes several seats and
// uses them again for a third of a lease without asking, so that without a gap most requests cost no round trip. Seats
// are shared evenly among the processes that want more than there are.
//
// While Redis is down every process keeps its share of the limits by itself, and two metrics show it: the gap is as
// many times as long, and the seats are divided among as many, as processes wanted the host when Redis was last heard
// of. So a site is not asked more often during an outage, nor by a process that is cut off and comes back. A process
// that has never heard of Redis takes itself for the only one, so one that just started is patient: the first answer
// may take longer. A start may be as much nearer to the one before it as another process was late for its own.
type Visits struct {
	o       VisitOptions
	process string // names this one in Redis
	redis   *reach
	line    redis.UniversalClient

	mu      sync.Mutex
	closed  bool
	hosts   map[string]*visited
	sharers int // processes that wanted the host that Redis was last asked about

	waits prometheus.Observer
}

// visited is the state of one host in this process, guarded by Visits.mu.
type visited struct {
	used, waiting int
	target        int       // requests that this process may have under way
	counted       int       // seats that Redis counts as ours
	fresh         time.Time // until when target holds
	redis         bool      // target is from there
	sharers       int       // processes that wanted the host when Redis was last heard of; 0 = it was not
	asking        bool      // one caller asks Redis
	askAfter      time.Time // there was no seat: the next one asks then
	wake          []context.CancelFunc
	timer         *time.Timer // renews or returns the seats; nil = there are none

	next    time.Time // when the next start is free, as far as this process knows
	last    time.Time // a gap after the last start in this process
	cool    time.Time
	strikes int
}

// NewVisits returns Visits that share their limits with every other of the same Name on the same Redis. It does not
// talk to Redis: one that is down at startup is like one that goes down later.
func NewVisits(rdb redis.UniversalClient, o VisitOptions) *Visits {
	o.Name = cmp.Or(o.Name, "visits")
	o.PerHost = max(1, cmp.Or(o.PerHost, 4))
	if o.Gap > 0 {
		o.Jitter = min(o.Jitter, o.Gap)
	}
	o.CooldownMax = max(cmp.Or(o.CooldownMax, 5*time.Second), o.CooldownBase)
	o.MaxRetryAfter = cmp.Or(o.MaxRetryAfter, 5*time.Minute)
	o.MaxWait = cmp.Or(o.MaxWait, time.Second)
	o.Lease = max(cmp.Or(o.Lease, 3*time.Second), 30*time.Millisecond)
	o.Timeout = cmp.Or(o.Timeout, time.Second)
	o.Cooldown = cmp.Or(o.Cooldown, 5*time.Second)
	o.MaxHosts = cmp.Or(o.MaxHosts, 10_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Dice == nil {
		o.Dice = mathrand.Float64
	}
	if o.Started == nil {
		o.Started = func(string, time.Time, bool) {}
	}
	return &Visits{
		o: o, process: "@" + rand.Text()[:12], line: rdb, hosts: map[string]*visited{},
		redis: newReach(rdb, o.Name, o.Timeout, o.Cooldown, o.Now, o.Registerer),
		waits: waitsOf(o.Registerer, o.Name),
	}
}

// Close gives the seats back that no request uses, and renews those in use no longer. Visits that were not closed lose
// them by their lease.
func (v *Visits) Close() {
	v.mu.Lock()
	v.closed = true
	var held []string
	for host, h := range v.hosts {
		if h.timer != nil {
			h.timer.Stop()
			h.timer = nil
			held = append(held, host)
		}
	}
	v.mu.Unlock()
	for _, host := range held {
		v.mu.Lock()
		h := v.hosts[host]
		if h != nil && !h.asking {
			h.asking = true
			v.sync(context.Background(), host, h, start{})
		}
		v.mu.Unlock()
	}
}

// busy is when to come again where all seats are taken and stay so.
const busy = 500 * time.Millisecond

// Enter blocks until a request to the host may start (a name, with or without a port; case does not matter), and
// returns leave, to be called once when it is over. delay is the least time between starts that the host asks for
// itself, 0 = none; the longer one of it and the gap counts.
//
// A turn that is further away than VisitOptions.MaxWait or than ctx's deadline is fault.Limited, with the wait as
// After, and takes nothing: at once where the time is known, as in a cooldown (crawl.ErrCooldown), and after the wait
// where all seats were taken. When ctx ends its error is returned.
func (v *Visits) Enter(ctx context.Context, host string, delay time.Duration) (leave func(crawl.Verdict), err error) {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "" || len(host) > 300 {
		return nil, fault.Newf(fault.Invalid, "wait for a turn: bad host %.300q", host)
	}
	asked := v.o.Now()
	giveUp := asked.Add(v.o.MaxWait)
	if d, ok := ctx.Deadline(); ok {
		giveUp = earlier(giveUp, asked.Add(time.Until(d)))
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	h, err := v.host(host, asked)
	if err != nil {
		return nil, err
	}
	h.waiting++
	defer func() { h.waiting-- }()
	for {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait for a turn on %s: %w", host, err)
		}
		now := v.o.Now()
		s := start{wanted: true, giveUp: giveUp, gap: max(v.gap(), delay)}
		if wait := h.cool.Sub(now); wait > 0 && h.cool.After(giveUp) {
			return nil, cooling(host, wait)
		}
		switch {
		case s.gap == 0 && h.used < h.target && now.Before(h.fresh) && !h.cool.After(now) && !h.next.After(now):
			s.ok, s.at = true, now
		case h.asking || h.used >= h.target && now.Before(h.askAfter):
			until := giveUp
			if !h.asking {
				until = earlier(giveUp, h.askAfter)
			}
			if !now.Before(giveUp) {
				return nil, tooFar(host, busy)
			}
			v.wait(ctx, h, until.Sub(now))
			continue
		default:
			h.asking = true
			s = v.sync(ctx, host, h, s)
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("wait for a turn on %s: %w", host, err)
			}
		}
		switch {
		case s.wait > 0 && s.cools:
			return nil, cooling(host, s.wait)
		case s.wait > 0:
			return nil, tooFar(host, s.wait)
		}
		if s.ok {
			h.used++
			h.waiting--
			at, err := v.begin(ctx, h, s)
			h.waiting++
			if err == nil && !at.IsZero() {
				if !h.redis {
					v.redis.fallbacks.Inc()
				}
				v.waits.Observe(at.Sub(asked).Seconds())
				v.o.Started(host, at, h.redis)
				return v.leaver(host, h), nil
			}
			v.leave(h)
			if err != nil {
				return nil, fmt.Errorf("wait for a turn on %s: %w", host, err)
			}
		}
	}
}

// start is a start that is asked for, and what came of it.
type start struct {
	wanted bool
	giveUp time.Time
	gap    time.Duration // until the next one

	ok    bool // it may start, at
	at    time.Time
	wait  time.Duration // it is so far away, which is too far; 0 = not known, or not so
	cools bool          // for the host is in its cooldown
}

// cooling is tooFar of a host in its cooldown.
func cooling(host string, wait time.Duration) error {
	return &fault.Error{Class: fault.Limited, After: wait, Err: fmt.Errorf(
		"wait for a turn on %s: %w for %s", host, crawl.ErrCooldown, wait.Round(time.Millisecond))}
}

// gap is that after a start.
func (v *Visits) gap() time.Duration { return v.o.Gap + time.Duration(v.o.Dice()*float64(v.o.Jitter)) }

// host returns the state of a host, of which there are not too many. The caller holds the lock.
func (v *Visits) host(name string, now time.Time) (*visited, error) {
	h := v.hosts[name]
	if h != nil {
		return h, nil
	}
	idle := func(h *visited) bool { return h.idle() && !h.cool.After(now) && !h.next.After(now) }
	if !room(v.hosts, v.o.MaxHosts, idle) {
		return nil, tooFar(name, busy)
	}
	h = &visited{}
	v.hosts[name] = h
	return h, nil
}

// idle says that no caller and no timer knows of h.
func (h *visited) idle() bool { return h.used == 0 && h.waiting == 0 && !h.asking && h.timer == nil }

// wait sleeps so long, or until something has changed. The caller holds the lock, which is free meanwhile.
func (v *Visits) wait(ctx context.Context, h *visited, d time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h.wake = append(h.wake, cancel)
	v.mu.Unlock()
	_ = v.o.Sleep(ctx, max(d, time.Millisecond))
	v.mu.Lock()
}

// changed lets those who wait look again. The caller holds the lock.
func (h *visited) changed() {
	for _, wake := range h.wake {
		wake()
	}
	h.wake = h.wake[:0]
}

// begin waits for the time of a start. It is zero when the host began to cool down meanwhile: the start is lost. The
// caller holds the lock, which is free meanwhile.
func (v *Visits) begin(ctx context.Context, h *visited, s start) (time.Time, error) {
	for {
		now := v.o.Now()
		if h.cool.After(now) && h.cool.After(s.at) {
			return time.Time{}, nil
		}
		d := max(s.at.Sub(now), h.last.Sub(now))
		if d <= 0 {
			h.last = now.Add(s.gap)
			return now, nil
		}
		v.mu.Unlock()
		err := v.o.Sleep(ctx, d)
		v.mu.Lock()
		if err != nil {
			return time.Time{}, err
		}
	}
}

// leaver makes the function that ends a request.
func (v *Visits) leaver(host string, h *visited) func(crawl.Verdict) {
	left := false
	return func(verdict crawl.Verdict) {
		v.mu.Lock()
		defer v.mu.Unlock()
		if left {
			return
		}
		left = true
		v.leave(h)
		if v.o.CooldownBase > 0 && !verdict.Unasked && (verdict.Refused || h.strikes > 0) {
			v.judge(host, h, verdict)
		}
	}
}

// leave frees a seat. The caller holds the lock.
func (v *Visits) leave(h *visited) {
	h.used--
	if h.counted > h.target { // others wait for what is above it
		h.askAfter = time.Time{}
	}
	h.changed()
}

// maxStrikes is how many are counted: those above lengthen no cooldown, and would take long to forget.
const maxStrikes = 20

// judge notes a verdict, here and in Redis. The caller holds the lock, which is free meanwhile.
func (v *Visits) judge(host string, h *visited, verdict crawl.Verdict) {
	now, after := v.o.Now(), min(verdict.After, v.o.MaxRetryAfter)
	switch {
	case !verdict.Refused:
		h.strikes--
	case !h.cool.After(now): // requests that were under way together are refused together, and count once
		h.strikes = min(h.strikes+1, maxStrikes)
		h.cool = now.Add(fault.Growing(v.o.CooldownBase, v.o.CooldownMax, 2, h.strikes))
	}
	if verdict.Refused {
		h.cool = later(h.cool, now.Add(after))
	}
	if !v.redis.ask() {
		return
	}
	v.mu.Unlock()
	got, err := within(context.Background(), v.redis.patience(), func(ctx context.Context) ([]int64, error) {
		return judgeScript.Run(ctx, v.line, []string{v.key(host)}, verdict.Refused, v.o.CooldownBase.Microseconds(),
			v.o.CooldownMax.Microseconds(), after.Microseconds()).Int64Slice()
	})
	if err == nil && verdict.Refused {
		tell(v.line, v.o.Name, host, v.o.Now().Add(time.Duration(got[0])*time.Microsecond), v.o.Timeout)
	}
	v.mu.Lock()
	if err != nil {
		if v.redis.down(now, err) {
			v.redis.trip()
		}
		return
	}
	v.redis.reached()
	h.cool = later(h.cool, v.o.Now().Add(time.Duration(got[0])*time.Microsecond))
	h.strikes = int(got[1])
}

func (v *Visits) key(host string) string { return "visits:" + v.o.Name + ":" + host }

// sync tells Redis what this process uses and wants of the host's seats, takes a start if one is wanted and there is a
// seat for it, and learns the rest. While Redis is down it does the same by what this process knows. The caller holds
// the lock, which is free meanwhile, and has set asking.
func (v *Visits) sync(ctx context.Context, host string, h *visited, s start) start {
	defer func() {
		h.asking = false
		h.changed()
	}()
	used, want := h.used, min(h.used+h.waiting, v.o.PerHost)
	began := v.o.Now()
	if v.redis.ask() {
		v.mu.Unlock()
		left := s.giveUp.Sub(began)
		got, err := within(ctx, v.redis.patience(), func(ctx context.Context) ([]int64, error) {
			return enterScript.Run(ctx, v.line, []string{v.key(host)}, v.process, v.o.PerHost, v.o.Lease.Microseconds(),
				used, want, s.wanted, s.gap.Microseconds(), left.Microseconds()).Int64Slice()
		})
		v.mu.Lock()
		switch {
		case err == nil:
			v.redis.reached()
			return v.learn(host, h, s, began, got)
		case ctx.Err() != nil: // says nothing about Redis
			return s
		case !v.redis.down(began, err):
			s.wait = busy
			return s
		}
		v.redis.trip()
	}
	now, sharers := v.o.Now(), max(1, cmp.Or(h.sharers, v.sharers))
	h.target, h.counted, h.redis, h.fresh = max(1, v.o.PerHost/sharers), 0, false, now.Add(v.o.Lease/3)
	s.gap *= time.Duration(sharers)
	if s.wanted {
		s.at = later(now, later(h.next, h.cool))
		switch {
		case h.used >= h.target:
			h.askAfter = now.Add(poll)
		case s.at.After(later(s.giveUp, now)): // Redis may have taken longer than there was to wait
			s.wait, s.cools = s.at.Sub(now), s.at.Equal(h.cool)
		default:
			s.ok, h.next = true, s.at.Add(s.gap)
		}
	}
	return s
}

// poll is how often Redis is asked for a seat while other processes have them all.
const poll = 20 * time.Millisecond

// learn takes in the answer of enterScript to a question that began then. The caller holds the lock.
func (v *Visits) learn(host string, h *visited, s start, began time.Time, got []int64) start {
	now := v.o.Now()
	in := func(i int) time.Duration { return time.Duration(got[i]) * time.Microsecond }
	h.redis, h.target, h.counted, h.strikes = true, int(got[0]), int(got[1]), int(got[5])
	h.fresh, h.sharers, v.sharers = began.Add(v.o.Lease/3), int(got[6]), int(got[6])
	if in(4) > 0 {
		h.cool = later(h.cool, now.Add(in(4)))
	}
	switch {
	case !s.wanted:
	case got[2] == 1:
		// What this process still knows counts too: a Redis that was restarted has forgotten it.
		s.ok, s.at = true, later(now.Add(in(3)), h.cool)
		h.next = later(h.next, s.at.Add(s.gap))
	case s.giveUp.Before(now.Add(in(3))):
		s.wait, s.cools = max(in(3), time.Millisecond), in(4) > 0 && in(4) >= in(3)
	case h.target >= v.o.PerHost: // all seats are ours: one is free when a request of ours is over
		h.askAfter = h.fresh
	default:
		h.askAfter = now.Add(poll)
	}
	if h.counted > 0 || h.waiting > 0 {
		if h.timer == nil && !v.closed {
			h.timer = time.AfterFunc(v.o.Lease/3, func() { v.renew(host, h) })
		}
	}
	return s
}

// renew is called by the timer of a host: it renews the seats that are in use, and gives the others back.
func (v *Visits) renew(host string, h *visited) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if h.timer == nil {
		return
	}
	if !h.asking && (h.used == 0 && h.waiting == 0 || !v.o.Now().Before(h.fresh)) {
		h.asking = true
		v.sync(context.Background(), host, h, start{})
	}
	if h.timer == nil { // closed meanwhile
		return
	}
	if h.used > 0 || h.waiting > 0 || h.asking {
		h.timer.Reset(v.o.Lease / 3)
		return
	}
	h.timer, h.target = nil, 0
	if now := v.o.Now(); h.strikes == 0 && !h.cool.After(now) && !h.next.After(now) && v.hosts[host] == h {
		delete(v.hosts, host)
	}
}

// The state of a host in Redis is a hash: next (µs since 1970: when the next start is free), cool (likewise, the end of
// the cooldown), strikes, and a field for each process, "seats until want since": it holds so many until then, wants so
// many in all, and has held or wanted them since then; in the future where it yields: there are more processes than
// seats, it has held one the longest, and takes none before the others. The clock is Redis's.
var (
	enterScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local me, per, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local used, want = tonumber(ARGV[4]), tonumber(ARGV[5])
local start, gap, most = ARGV[6] == '1', tonumber(ARGV[7]), tonumber(ARGV[8])
local num = function(x) return string.format('%.0f', x) end

local at = {next = 0, cool = 0, strikes = 0}
local held, since = 0, now
local rivals = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local k, value = all[i], all[i + 1]
  if at[k] then
    at[k] = tonumber(value)
  else
    local n, till, w, s = string.match(value, '(%d+) (%d+) (%d+) (%d+)')
    if tonumber(till) < now then
      redis.call('HDEL', KEYS[1], k)
    elseif k == me then
      held, since = tonumber(n), tonumber(s)
    else
      rivals[#rivals + 1] = {tonumber(n), tonumber(w), tonumber(s)}
    end
  end
end

local free, wanting, short, ahead, oldest, starving = per, 1, false, 0, true, false
for _, r in ipairs(rivals) do
  free = free - r[1]
  if r[2] > 0 then wanting = wanting + 1 end
  if r[2] > r[1] then
    short = true
    if r[1] == 0 then
      starving = true
      if r[3] < since then ahead = ahead + 1 end
    end
  end
  if r[1] > 0 and r[3] < since then oldest = false end
end
local target = math.min(want, free)
if short then target = math.min(target, math.max(1, math.floor(per / wanting))) end
local yields = since > now
if held == 0 or yields then
  target = math.min(target, free - ahead)
elseif starving and oldest and wanting > per and now - since > lease / 3 then
  target, since = 0, now + lease
end
target = math.max(target, 0)
local counted = math.max(used, target)
if (held == 0 or yields) and target > 0 or yields and counted == 0 then since = now end

local turn = math.max(now, at.next, at.cool)
local ok = start and target > used and turn - now <= most
if ok and gap > 0 then
  redis.call('HSET', KEYS[1], 'next', num(turn + gap))
  at.next = turn + gap
end
if counted == 0 and want == 0 then
  redis.call('HDEL', KEYS[1], me)
else
  redis.call('HSET', KEYS[1], me, num(counted) .. ' ' .. num(now + lease) .. ' ' .. num(want) .. ' ' .. num(since))
end
redis.call('PEXPIRE', KEYS[1], num(math.ceil((math.max(now + lease, at.next, at.cool) - now) / 1000) + 600000))
return {target, counted, ok and 1 or 0, turn - now, math.max(0, at.cool - now), at.strikes, #rivals + 1}`)

	judgeScript = redis.NewScript(`
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local base, most, after = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local cool = tonumber(redis.call('HGET', KEYS[1], 'cool') or 0)
local strikes = tonumber(redis.call('HGET', KEYS[1], 'strikes') or 0)
if ARGV[1] ~= '1' then
  strikes = math.max(0, strikes - 1)
else
  if cool <= now then
    strikes = math.min(strikes + 1, 20)
    cool = now + math.min(base * 2 ^ (strikes - 1), most)
  end
  cool = math.max(cool, now + after)
  redis.call('HSET', KEYS[1], 'cool', string.format('%.0f', cool))
end
redis.call('HSET', KEYS[1], 'strikes', strikes)
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(math.max(0, cool - now) / 1000) + 600000))
return {math.max(0, cool - now), strikes}`)
)

package limit

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"
)

// RateOptions are the settings of a Rate. Name, Events, Period and Burst must be set.
type RateOptions struct {
	Name   string        // what is limited, e.g. "api": names the keys in Redis and the metrics
	Events int           // turns in each Period, in the long run
	Period time.Duration //
	Burst  int           // turns at once

	Timeout    time.Duration // how long Redis may take to answer, which the caller waits for; default 250 ms
	Cooldown   time.Duration // how long it is left alone after a failure; default 5 s
	MaxCallers int           // remembered in this process while Redis is down; default 10,000

	Registerer prometheus.Registerer // takes the metrics; nil = none are registered
	Now        func() time.Time      // default time.Now
}

// Rate limits how often each caller may act, in all processes together. Hosts makes a caller wait; Rate refuses.
// While Redis is down each process counts by itself, so that n processes together allow n times as much.
type Rate struct {
	o     RateOptions
	redis *reach // nil = none

	mu  sync.Mutex
	own map[string]*rate.Limiter
}

// A Turn is the result of Take.
type Turn struct {
	OK    bool
	Limit int           // turns at once, when none were taken for long
	Left  int           // turns left now
	Retry time.Duration // until there is one; 0 when OK
	Reset time.Duration // until all are there again
}

// NewRate returns a Rate that counts together with every other of the same Name on the same Redis. It does not talk to
// Redis: one that is down at startup is like one that goes down later. With nil for Redis, processes count for
// themselves.
func NewRate(rdb redis.UniversalClient, o RateOptions) *Rate {
	o.Timeout = cmp.Or(o.Timeout, 250*time.Millisecond)
	o.Cooldown = cmp.Or(o.Cooldown, 5*time.Second)
	o.MaxCallers = cmp.Or(o.MaxCallers, 10_000)
	if o.Now == nil {
		o.Now = time.Now
	}
	r := &Rate{o: o, own: map[string]*rate.Limiter{}}
	if rdb != nil {
		r.redis = newReach(rdb, o.Name, o.Timeout, o.Cooldown, o.Now, o.Registerer)
	}
	return r
}

// Take takes one turn of the caller, if there is one.
func (r *Rate) Take(ctx context.Context, caller string) Turn {
	if r.redis == nil {
		return r.takeOwn(caller)
	}
	if r.redis.ask() {
		got, err := r.redis.allow(ctx, r.o.Timeout, r.o.Name+":"+caller, r.limit())
		if err == nil {
			r.redis.reached()
			return Turn{
				OK: got.Allowed > 0, Limit: r.o.Burst, Left: got.Remaining, Retry: max(0, got.RetryAfter), Reset: got.ResetAfter,
			}
		}
		if ctx.Err() == nil { // an impatient caller says nothing about Redis
			r.redis.trip()
		}
	}
	r.redis.fallbacks.Inc()
	return r.takeOwn(caller)
}

// TakeUpTo takes up to n turns of the caller, as many as there are, and returns how many it took.
func (r *Rate) TakeUpTo(ctx context.Context, caller string, n int) int {
	if r.redis.ask() {
		got, err := r.redis.allowUpTo(ctx, r.o.Name+":"+caller, r.limit(), n)
		if err == nil {
			r.redis.reached()
			return got.Allowed
		}
		if ctx.Err() == nil {
			r.redis.trip()
		}
	}
	r.redis.fallbacks.Inc()
	r.mu.Lock()
	defer r.mu.Unlock()
	now, l := r.o.Now(), r.limiter(caller)
	n = min(n, max(0, int(l.TokensAt(now))))
	l.AllowN(now, n)
	return n
}

func (r *Rate) limit() redis_rate.Limit {
	return redis_rate.Limit{Rate: r.o.Events, Period: r.o.Period, Burst: r.o.Burst}
}

// takeOwn takes a turn of those that this process counts.
func (r *Rate) takeOwn(caller string) Turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, l := r.o.Now(), r.limiter(caller)
	ok := l.AllowN(now, 1)
	have := l.TokensAt(now)
	t := Turn{OK: ok, Limit: r.o.Burst, Left: max(0, int(have)), Reset: r.until(float64(r.o.Burst) - have)}
	if !ok {
		t.Retry = r.until(1 - have)
	}
	return t
}

// until is how long so many turns take to come.
func (r *Rate) until(turns float64) time.Duration {
	return max(0, time.Duration(turns*float64(r.o.Period)/float64(r.o.Events)))
}

// limiter is the caller's own. When there are too many, those with all their turns are forgotten; when that is not
// enough, all new callers share one.
func (r *Rate) limiter(caller string) *rate.Limiter {
	if l, ok := r.own[caller]; ok {
		return l
	}
	now := r.o.Now()
	if !room(r.own, r.o.MaxCallers, func(l *rate.Limiter) bool { return l.TokensAt(now) >= float64(r.o.Burst) }) {
		caller = ""
		if l, ok := r.own[caller]; ok {
			return l
		}
	}
	l := rate.NewLimiter(rate.Limit(float64(r.o.Events)/r.o.Period.Seconds()), r.o.Burst)
	r.own[caller] = l
	return l
}

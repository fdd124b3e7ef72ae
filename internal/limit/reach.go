package limit

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/mtlrent/conveyor/domain/fault"
)

// reach asks Redis. After a failure Redis is not asked for a while, then one caller tries it while the others stay
// local.
type reach struct {
	redis    *redis_rate.Limiter
	timeout  time.Duration
	cooldown time.Duration
	now      func() time.Time

	mu      sync.Mutex
	until   time.Time // Redis is left alone until then; zero = it answers
	known   bool      // it has answered
	failing time.Time // the first of the requests in a row that Redis did not answer in time; zero = the last was answered

	fallbacks prometheus.Counter
	active    prometheus.Gauge
}

func newReach(
	rdb redis.UniversalClient, name string, timeout, cooldown time.Duration, now func() time.Time, r prometheus.Registerer,
) *reach {
	fallbacks := register(r, prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "conveyor_limiter_fallback_total",
		Help: "Starts and turns granted by this process alone because Redis was down.",
	}, []string{"limiter"}))
	active := register(r, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "conveyor_limiter_fallback_active",
		Help: "1 while this process limits by itself because Redis is down.",
	}, []string{"limiter"}))
	return &reach{
		redis: redis_rate.NewLimiter(rdb), timeout: timeout, cooldown: cooldown, now: now,
		fallbacks: fallbacks.WithLabelValues(name), active: active.WithLabelValues(name),
	}
}

// patience is how long Redis may take to answer. The first answer takes more than one round trip: to connect to a
// Sentinel and ask for the leader, to connect to that one, and for the script, which it may not have. On a link of 200
// ms that is 2 s. A connection that is refused ends the wait at once.
func (r *reach) patience() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known {
		return r.timeout
	}
	return 5 * r.timeout
}

// allow asks Redis for a turn, for no longer than the timeout.
func (r *reach) allow(
	ctx context.Context, timeout time.Duration, key string, l redis_rate.Limit,
) (*redis_rate.Result, error) {
	return within(ctx, timeout, func(ctx context.Context) (*redis_rate.Result, error) {
		return r.redis.Allow(ctx, key, l)
	})
}

// allowUpTo asks Redis for up to n turns.
func (r *reach) allowUpTo(ctx context.Context, key string, l redis_rate.Limit, n int) (*redis_rate.Result, error) {
	return within(ctx, r.timeout, func(ctx context.Context) (*redis_rate.Result, error) {
		return r.redis.AllowAtMost(ctx, key, l, n)
	})
}

// within asks Redis for no longer than the timeout. A client may be configured to return later than its context ends;
// within does not.
func within[T any](ctx context.Context, timeout time.Duration, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type answer struct {
		got T
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		var a answer
		a.err = fault.Try("asking Redis", nil, func() (err error) {
			a.got, err = ask(ctx)
			return err
		})
		answered <- a
	}()
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case a := <-answered:
		return a.got, a.err
	}
}

// ask says whether to ask Redis. While it is down one caller in each cooldown may.
func (r *reach) ask() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	if r.until.IsZero() {
		return true
	}
	if now.Before(r.until) {
		return false
	}
	r.until = now.Add(r.cooldown)
	return true
}

// down says whether to go on without Redis, which did not answer what was asked then. One that is late, by a packet
// that was lost or on a busy machine, is not down: alone it would be too fast together with the others.
func (r *reach) down(asked time.Time, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failing.IsZero() {
		r.failing = asked
	}
	return !errors.Is(err, context.DeadlineExceeded) || r.now().Sub(r.failing) >= 3*r.timeout
}

func (r *reach) trip() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until = r.now().Add(r.cooldown)
	r.active.Set(1)
}

func (r *reach) reached() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.until, r.known, r.failing = time.Time{}, true, time.Time{}
	r.active.Set(0)
}

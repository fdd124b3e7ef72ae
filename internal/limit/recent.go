package limit

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
)

// RecentOptions are the settings of Recent. A zero field takes its default.
type RecentOptions struct {
	Name string        // names the keys in Redis and the metrics; default "recent"
	TTL  time.Duration // how long an address is remembered, 1 s or more; default 24 h
	// Timeout is how long Redis may take to answer; default 250 ms. After a failure it is left alone for Cooldown
	// (default 5 s).
	Timeout  time.Duration
	Cooldown time.Duration

	Registerer prometheus.Registerer // takes the metrics; nil = none are registered
	Now        func() time.Time      // default time.Now
}

// Recent remembers in Redis which addresses were crawled lately, for all processes: the rule of the indexer contract.
// It is a courtesy to sites, and no state of a crawl: while Redis is away every address counts as not seen, nothing is
// remembered, and the metrics of the limiter say so. Its methods may be called by several goroutines at once.
type Recent struct {
	o     RecentOptions
	line  redis.UniversalClient
	redis *reach
}

// NewRecent returns the Recent of a name on a Redis. It does not talk to it.
func NewRecent(rdb redis.UniversalClient, o RecentOptions) *Recent {
	o.Name = cmp.Or(o.Name, "recent")
	o.TTL = max(cmp.Or(o.TTL, 24*time.Hour), time.Second)
	o.Timeout = cmp.Or(o.Timeout, 250*time.Millisecond)
	o.Cooldown = cmp.Or(o.Cooldown, 5*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Recent{o: o, line: rdb, redis: newReach(rdb, o.Name, o.Timeout, o.Cooldown, o.Now, o.Registerer)}
}

// key is that of a canonical address: a hash, because addresses are long and may hold what is nobody's business.
func (r *Recent) key(url string) string {
	sum := sha256.Sum256([]byte(url))
	return r.o.Name + ":" + base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Seen says for each address whether another run than this one has marked it within the TTL, in one round trip. The
// only error is that of ctx.
func (r *Recent) Seen(ctx context.Context, run int64, urls []string) ([]bool, error) {
	out := make([]bool, len(urls))
	found, err := r.ask(ctx, urls, func(ctx context.Context, p redis.Pipeliner, key string) {
		p.Get(ctx, key)
	})
	own := strconv.FormatInt(run, 10)
	for i, c := range found {
		if by, ok := c.(*redis.StringCmd); ok {
			out[i] = by.Err() == nil && by.Val() != own
		}
	}
	return out, err
}

// Mark remembers addresses for the TTL, in one round trip. Call it when the result of the crawl is stored: what is
// marked before that, and then lost, would be skipped by other runs. The only error is that of ctx.
func (r *Recent) Mark(ctx context.Context, run int64, urls []string) error {
	_, err := r.ask(ctx, urls, func(ctx context.Context, p redis.Pipeliner, key string) {
		p.Set(ctx, key, run, r.o.TTL)
	})
	return err
}

// ask sends a command for each address. It returns no answers while Redis is away.
func (r *Recent) ask(ctx context.Context, urls []string, command func(context.Context, redis.Pipeliner, string)) (
	[]redis.Cmder, error,
) {
	if len(urls) == 0 {
		return nil, ctx.Err()
	}
	if !r.redis.ask() {
		r.redis.fallbacks.Add(float64(len(urls)))
		return nil, ctx.Err()
	}
	got, err := within(ctx, r.o.Timeout, func(ctx context.Context) ([]redis.Cmder, error) {
		got, err := r.line.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, u := range urls {
				command(ctx, p, r.key(u))
			}
			return nil
		})
		if !errors.Is(err, redis.Nil) { // a key that is not there
			return got, err
		}
		for _, c := range got {
			if err := c.Err(); err != nil && !errors.Is(err, redis.Nil) {
				return got, err
			}
		}
		return got, nil
	})
	switch {
	case err == nil:
		r.redis.reached()
		return got, nil
	case ctx.Err() != nil: // says nothing about Redis
		return nil, fmt.Errorf("look for recent addresses: %w", ctx.Err())
	}
	r.redis.trip()
	r.redis.fallbacks.Add(float64(len(urls)))
	return nil, nil
}

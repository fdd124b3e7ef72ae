package limit_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// visits makes n processes that share a host's limits.
func visits(t *testing.T, n int, o limit.VisitOptions) []*limit.Visits {
	t.Helper()
	o.Name = cmp.Or(o.Name, "test-"+rand.Text())
	o.Timeout = 10 * time.Second
	var all []*limit.Visits
	for range n {
		v := limit.NewVisits(client(t, servicetest.Address(t, "REDIS_URL")), o)
		t.Cleanup(v.Close)
		all = append(all, v)
	}
	return all
}

// enter takes a turn that must be there.
func enter(t *testing.T, v *limit.Visits, host string) (leave func(crawl.Verdict)) {
	t.Helper()
	leave, err := v.Enter(t.Context(), host, 0)
	require.NoError(t, err)
	return leave
}

// refused is the wait after which a turn may be tried again; the test fails if there is one now.
func refused(t *testing.T, v *limit.Visits, host string, delay time.Duration) time.Duration {
	t.Helper()
	_, err := v.Enter(t.Context(), host, delay)
	class, after := fault.Of(err)
	if class != fault.Limited || after <= 0 {
		t.Fatalf("Enter = %v (%s, %s); want limited", err, class, after)
	}
	return after
}

// counter counts the round trips of a client.
type counter struct{ trips atomic.Int64 }

func (c *counter) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c *counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error { c.trips.Add(1); return next(ctx, cmd) }
}
func (c *counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { c.trips.Add(1); return next(ctx, cmds) }
}

// scripts counts those that a client is asked to run, and nothing of what it says to a server by itself.
type scripts struct{ counter }

func (s *scripts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (s *scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			s.trips.Add(1)
		}
		return next(ctx, cmd)
	}
}

// However many processes and callers there are, a host has no more requests than it may, every process gets on, and
// most requests cost no round trip.
func TestVisitsAtOnce(t *testing.T) {
	t.Parallel()
	for _, perHost := range []int{1, 4} {
		t.Run(fmt.Sprint(perHost), func(t *testing.T) {
			t.Parallel()
			const processes, each = 3, 300
			o := limit.VisitOptions{
				Name: "test-" + rand.Text(), PerHost: perHost, MaxWait: servicetest.Patience(), Lease: 300 * time.Millisecond,
				Timeout: 10 * time.Second,
			}
			var trips counter
			var now, most atomic.Int64
			var g errgroup.Group
			for range processes {
				rdb := client(t, servicetest.Address(t, "REDIS_URL"))
				rdb.AddHook(&trips)
				v := limit.NewVisits(rdb, o)
				t.Cleanup(v.Close)
				var left atomic.Int64
				left.Store(each)
				for range 6 {
					g.Go(func() error {
						for left.Add(-1) >= 0 {
							leave, err := v.Enter(t.Context(), "One.example.", 0)
							if err != nil {
								return err
							}
							n := now.Add(1)
							for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
							}
							time.Sleep(time.Millisecond)
							now.Add(-1)
							leave(crawl.Welcome)
							leave(crawl.Welcome) // once more does nothing
						}
						return nil
					})
				}
			}
			require.NoError(t, g.Wait())
			assert.LessOrEqual(t, most.Load(), int64(perHost), "requests at once")
			// Processes that wait for a seat of another ask every 20 ms.
			if n := trips.trips.Load(); perHost > processes && n > processes*each/2 {
				t.Errorf("%d round trips for %d requests", n, processes*each)
			}
		})
	}
}

// Processes that all want the only seat have it in turns.
func TestVisitsInTurns(t *testing.T) {
	t.Parallel()
	all := visits(t, 3, limit.VisitOptions{PerHost: 1, MaxWait: servicetest.Patience(), Lease: 90 * time.Millisecond})
	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	defer cancel()
	var mu sync.Mutex
	counts := make([]int, len(all))
	var g errgroup.Group
	for i, v := range all {
		for range 2 {
			g.Go(func() error {
				for ctx.Err() == nil {
					leave, err := v.Enter(ctx, "one.example", 0)
					if err != nil {
						return nil //nolint:nilerr // the test is over
					}
					time.Sleep(time.Millisecond)
					leave(crawl.Welcome)
					mu.Lock()
					counts[i]++
					if min(counts[0], counts[1], counts[2]) >= 20 {
						cancel()
					}
					mu.Unlock()
				}
				return nil
			})
		}
	}
	_ = g.Wait()
	require.GreaterOrEqual(t, min(counts[0], counts[1], counts[2]), 20, counts)
}

// Starts of all processes on a host are a gap apart, or the host's own delay, and the jitter is no longer than the gap.
func TestVisitsGap(t *testing.T) {
	t.Parallel()
	const gap = 40 * time.Millisecond
	for _, tt := range []struct {
		name           string
		gap, jitter    time.Duration
		delay, between time.Duration
	}{
		{"gap", gap, 0, 0, gap},
		{"gap and jitter", gap, time.Hour, 0, 2 * gap},
		{"jitter alone", 0, gap, 0, gap},
		{"a longer delay", gap, 0, 3 * gap, 3 * gap},
		{"a shorter delay", gap, 0, gap / 2, gap},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var l log
			all := visits(t, 2, limit.VisitOptions{
				Gap: tt.gap, Jitter: tt.jitter, Dice: func() float64 { return 1 }, MaxWait: time.Minute, Started: l.started,
			})
			began := time.Now()
			var g errgroup.Group
			for _, v := range all {
				for range 3 {
					g.Go(func() error {
						for range 2 {
							leave, err := v.Enter(t.Context(), "one.example", tt.delay)
							if err != nil {
								return err
							}
							leave(crawl.Welcome)
						}
						return nil
					})
				}
			}
			require.NoError(t, g.Wait())
			assert.GreaterOrEqual(t, time.Since(began), 11*tt.between, "for 12 starts")
			for _, s := range l.starts {
				assert.True(t, s.redis, "a start was granted without Redis")
			}
		})
	}
}

// A host that refuses is left alone by every process: longer with each refusal, less after each welcome, and as long as
// it asks for.
func TestVisitsCooldown(t *testing.T) {
	t.Parallel()
	all := visits(t, 3, limit.VisitOptions{
		PerHost: 3, CooldownBase: 20 * time.Hour, CooldownMax: 70 * time.Hour, MaxRetryAfter: 3600 * time.Hour,
		MaxWait: servicetest.Patience(), Lease: 30 * time.Millisecond,
	})
	near := func(got, want time.Duration) {
		t.Helper()
		if got > want || got < want-time.Hour {
			t.Errorf("the next turn is in %s; want %s", got, want)
		}
	}
	first, second, third := enter(t, all[0], "one.example"), enter(t, all[0], "one.example"), enter(t, all[0], "one.example")
	first(crawl.Refused(0))
	near(refused(t, all[0], "one.example", 0), 20*time.Hour)
	second(crawl.Refused(0)) // under way at the same time: no further strike
	near(refused(t, all[1], "one.example", 0), 20*time.Hour)
	third(crawl.Refused(300 * time.Hour))
	near(refused(t, all[0], "one.example", 0), 300*time.Hour)
	near(refused(t, all[2], "one.example", 0), 300*time.Hour)
	enter(t, all[0], "two.example")(crawl.Refused(86400 * time.Hour))
	near(refused(t, all[1], "two.example", 0), 3600*time.Hour)
	for i, v := range all {
		if _, err := v.Enter(t.Context(), "two.example", 0); !errors.Is(err, crawl.ErrCooldown) {
			t.Errorf("process %d: %v; want the cooldown", i, err)
		}
	}
	enter(t, all[0], "three.example")(crawl.Welcome)
	enter(t, all[1], "three.example")(crawl.Welcome)

	off := visits(t, 1, limit.VisitOptions{})[0]
	enter(t, off, "one.example")(crawl.Refused(time.Hour))
	enter(t, off, "one.example")(crawl.Welcome)
}

// The cooldown doubles up to its most, and is forgotten step by step.
func TestVisitsStrikes(t *testing.T) {
	t.Parallel()
	const host, base = "one.example", time.Hour
	o := limit.VisitOptions{CooldownBase: base, CooldownMax: 4 * base, PerHost: 1}
	requests := []struct {
		verdict crawl.Verdict
		before  time.Duration // the wait for this request
	}{
		{crawl.Refused(0), 0},
		{crawl.Refused(0), base},
		{crawl.Refused(0), 2 * base},
		{crawl.Unasked, 4 * base},
		{crawl.Unasked, 0},
		{crawl.Refused(0), 0},     // 3 strikes before, now 4
		{crawl.Welcome, 4 * base}, // now 3
		{crawl.Welcome, 0},
		{crawl.Welcome, 0},
		{crawl.Welcome, 0},
		{crawl.Refused(0), 0},
		{crawl.Welcome, base},
	}
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		c, o := newClock(), o
		o.Now, o.Sleep, o.MaxWait = c.Now, c.Sleep, 5*base
		v := limit.NewVisits(away(t), o)
		t.Cleanup(v.Close)
		for i, tt := range requests {
			began := c.since()
			enter(t, v, host)(tt.verdict)
			assert.Equal(t, tt.before, c.since()-began, i)
		}
	})
	t.Run("redis", func(t *testing.T) { // each time another process, that knows what Redis knows
		t.Parallel()
		o := o
		o.Name, o.MaxWait = "test-"+rand.Text(), servicetest.Patience()
		rdb := client(t, servicetest.Address(t, "REDIS_URL"))
		for i, tt := range requests {
			if tt.before > 0 {
				v := visits(t, 1, o)[0]
				if got := refused(t, v, host, 0); got > tt.before || got < tt.before-base/2 {
					t.Errorf("request %d would wait %s; want %s", i, got, tt.before)
				}
				v.Close()
				if err := rdb.HSet(t.Context(), "visits:"+o.Name+":"+host, "cool", 0).Err(); err != nil { // it is over
					t.Fatal(err)
				}
			}
			v := visits(t, 1, o)[0]
			enter(t, v, host)(tt.verdict)
			v.Close()
		}
	})
}

// What a process held that died is free after a lease, and what one holds that lives is not.
func TestVisitsOfADeadProcess(t *testing.T) {
	t.Parallel()
	servicetest.Undisturbed(t, func() error { return visitsOfADeadProcess(t) }) // one that is held loses its lease, too
}

func visitsOfADeadProcess(t *testing.T) error {
	const lease = 600 * time.Millisecond
	all := visits(t, 3, limit.VisitOptions{PerHost: 2, MaxWait: servicetest.Patience(), Lease: lease})
	defer enter(t, all[0], "one.example")(crawl.Welcome) // its leave is never called before the end
	enter(t, all[1], "one.example")
	all[1].Close() // nothing renews its lease any more
	began := time.Now()
	leave := enter(t, all[2], "one.example")
	defer func() { leave(crawl.Welcome) }()
	if took := time.Since(began); took > 10*lease {
		return fmt.Errorf("the seat of a dead process was free after %s; want a lease of %s", took, lease)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*lease)
	defer cancel()
	if _, err := all[2].Enter(ctx, "one.example", 0); err == nil {
		return errors.New("the seat of a process that lives was taken")
	}
	return nil
}

// A turn that is too far away is refused, with the wait, and takes nothing.
func TestVisitsTooFar(t *testing.T) {
	t.Parallel()
	all := visits(t, 2, limit.VisitOptions{PerHost: 1, MaxWait: 60 * time.Millisecond})
	in := func(delay time.Duration, host string) (leave func(crawl.Verdict)) { // its wait may be over before it has asked
		for since := time.Now(); ; {
			leave, err := all[0].Enter(t.Context(), host, delay)
			if err == nil {
				return leave
			}
			if time.Since(since) > servicetest.Patience() {
				t.Fatal(err)
			}
		}
	}
	leave := in(0, "one.example")
	for _, v := range all {
		assert.LessOrEqual(t, refused(t, v, "one.example", 0), time.Second, "all seats are taken")
	}
	leave(crawl.Welcome)
	in(0, "one.example")(crawl.Welcome)

	in(time.Hour, "two.example")(crawl.Welcome)
	for range 3 {
		if after := refused(t, all[0], "two.example", time.Hour); after > time.Hour || after < 30*time.Minute {
			t.Errorf("the next turn is in %s; want an hour", after)
		}
	}
	if _, err := all[0].Enter(t.Context(), "two.example", time.Hour); errors.Is(err, crawl.ErrCooldown) {
		t.Errorf("Enter = %v; the host did not refuse", err)
	}
	for _, host := range []string{"", "."} {
		_, err := all[0].Enter(t.Context(), host, 0)
		assert.Equal(t, fault.Invalid, fault.ClassOf(err), host)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := all[0].Enter(ctx, "three.example", 0); err == nil || ctx.Err() == nil {
		t.Errorf("Enter = %v; want the context's own error", err)
	}
}

// While Redis is away, each process keeps the limits by itself, and says so.
func TestVisitsWithoutRedis(t *testing.T) {
	t.Parallel()
	p := newProxy(t, servicetest.Address(t, "REDIS_URL"))
	reg := prometheus.NewRegistry()
	v := limit.NewVisits(client(t, p.url), limit.VisitOptions{
		Name: "test-" + rand.Text(), PerHost: 2, Gap: 20 * time.Millisecond, MaxWait: servicetest.Patience(), Registerer: reg,
		CooldownBase: time.Hour, CooldownMax: time.Hour, Timeout: 5 * time.Second, Cooldown: 50 * time.Millisecond,
		Lease: 60 * time.Millisecond,
	})
	t.Cleanup(v.Close)
	enter(t, v, "one.example")(crawl.Welcome)
	p.down()
	began := time.Now()
	a, b := enter(t, v, "one.example"), enter(t, v, "one.example")
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := v.Enter(ctx, "one.example", 0); err == nil {
		t.Error("a third request at once")
	}
	a(crawl.Welcome)
	enter(t, v, "one.example")(crawl.Welcome)
	require.GreaterOrEqual(t, time.Since(began), 40*time.Millisecond, "for three starts")
	require.EqualValues(t, 1, value(t, reg, "conveyor_limiter_fallback_active"))
	require.EqualValues(t, 3, value(t, reg, "conveyor_limiter_fallback_total"))
	b(crawl.Refused(0))
	refused(t, v, "one.example", 0)
	p.up()
	for value(t, reg, "conveyor_limiter_fallback_active") != 0 {
		enter(t, v, "two.example")(crawl.Welcome)
	}
	refused(t, v, "one.example", 0) // what Redis did not hear of is still known here
}

// While Redis is away, processes that shared a host go on sharing it: each starts as seldom as its share is small.
func TestVisitsShareWithoutRedis(t *testing.T) {
	t.Parallel()
	const processes, gap = 3, 10 * time.Millisecond
	p := newProxy(t, servicetest.Address(t, "REDIS_URL"))
	name := "test-" + rand.Text()
	var known, enough sync.WaitGroup // every process has heard of the others; each has started ten times without Redis
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	t.Cleanup(func() { stop(); all.Wait() })
	for range processes {
		var own []time.Time
		shared := 0
		known.Add(1)
		enough.Add(1)
		v := limit.NewVisits(client(t, p.url), limit.VisitOptions{
			Name: name, PerHost: 2 * processes, Gap: gap, MaxWait: time.Minute, Timeout: 5 * time.Second,
			Cooldown: time.Hour, Lease: time.Minute, // a process that is held does not lose its share
			Started: func(_ string, at time.Time, fromRedis bool) {
				if fromRedis {
					if shared++; shared == 20 {
						known.Done()
					}
					return
				}
				own = append(own, at)
				if n := len(own); n > 1 && at.Sub(own[n-2]) < processes*gap {
					t.Errorf("two starts of one process within %s", at.Sub(own[n-2]))
				}
				if len(own) == 10 {
					enough.Done()
				}
			},
		})
		t.Cleanup(v.Close)
		all.Go(func() {
			for {
				leave, err := v.Enter(ctx, "one.example", 0)
				if err != nil {
					return
				}
				leave(crawl.Welcome)
			}
		})
	}
	known.Wait()
	p.down()
	enough.Wait()
}

// A slowLink delays connections and commands of a client, as one does whose round trips are long.
type slowLink struct {
	lateness
	connects time.Duration
}

func (l *slowLink) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		_ = pause(ctx, l.connects)
		return next(ctx, network, addr)
	}
}

// Over a slow link all processes are paced by Redis together, from their first start on: neither the first answer, which
// takes several round trips, nor one of those that follow makes it count as down.
func TestVisitsOverASlowLink(t *testing.T) {
	t.Parallel()
	servicetest.Undisturbed(t, func() error { return visitsOverASlowLink(t) })
}

func visitsOverASlowLink(t *testing.T) error {
	name := "test-" + rand.Text()
	var l log
	var g errgroup.Group
	for range 3 {
		rdb := client(t, servicetest.Address(t, "REDIS_URL"))
		link := &slowLink{connects: 1200 * time.Millisecond}
		link.set(400 * time.Millisecond)
		rdb.AddHook(link)
		v := limit.NewVisits(rdb, limit.VisitOptions{
			Name: name, Gap: 20 * time.Millisecond, MaxWait: time.Minute, Started: l.started,
		})
		t.Cleanup(v.Close)
		g.Go(func() error {
			for range 2 {
				leave, err := v.Enter(t.Context(), "one.example", 0)
				if err != nil {
					return err
				}
				leave(crawl.Welcome)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, s := range l.starts {
		if !s.redis {
			return errors.New("a start was granted by a process alone")
		}
	}
	return nil
}

// A start whose answer is late is refused, for Redis may pace others meanwhile. One that has not answered for three
// times as long is down.
func TestVisitsWithALateRedis(t *testing.T) {
	t.Parallel()
	servicetest.Undisturbed(t, func() error { return visitsOfALateRedis(t) })
}

func visitsOfALateRedis(t *testing.T) error {
	const timeout = 500 * time.Millisecond
	rdb := client(t, servicetest.Address(t, "REDIS_URL"))
	link := &lateness{}
	rdb.AddHook(link)
	var l log
	v := limit.NewVisits(rdb, limit.VisitOptions{
		Name: "test-" + rand.Text(), Gap: time.Millisecond, Timeout: timeout, Cooldown: time.Hour, Started: l.started,
	})
	t.Cleanup(v.Close)
	try := func() bool {
		leave, err := v.Enter(t.Context(), "one.example", 0)
		if err != nil {
			if class, after := fault.Of(err); class != fault.Limited || after <= 0 {
				t.Errorf("Enter = %v (%s, %s); want limited", err, class, after)
			}
			return false
		}
		leave(crawl.Welcome)
		return true
	}
	if !try() {
		return errors.New("a Redis that answers in time grants no start")
	}
	link.set(2 * timeout)
	if try() {
		return errors.New("a start was granted while the answer was late")
	}
	link.set(0)
	if !try() {
		return errors.New("a Redis that was late once grants no start")
	}
	link.set(time.Hour)
	began := time.Now()
	for !try() {
	}
	if took := time.Since(began); took < 3*timeout {
		return fmt.Errorf("Redis counted as down after %s; want %s", took, 3*timeout)
	}
	for i, s := range l.starts {
		if s.redis != (i < 2) {
			return fmt.Errorf("starts %v; want two by Redis and then one alone", l.starts)
		}
	}
	return nil
}

// A process that never hears of Redis goes on alone: at once where it cannot connect, and otherwise when its patience is
// at an end, however short the wait for a turn may be.
func TestVisitsNeverHearOfRedis(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() }) // it takes connections, and says nothing
	for name, tt := range map[string]struct {
		rdb     *redis.Client
		timeout time.Duration
	}{
		"away":   {away(t), time.Hour},
		"silent": {client(t, "redis://"+ln.Addr().String()), 50 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l log
			v := limit.NewVisits(tt.rdb, limit.VisitOptions{
				Timeout: tt.timeout, Cooldown: time.Hour, Gap: time.Millisecond, MaxWait: 10 * time.Millisecond,
				Started: l.started,
			})
			t.Cleanup(v.Close)
			enter(t, v, "one.example")(crawl.Welcome)
			if len(l.starts) != 1 || l.starts[0].redis {
				t.Errorf("starts %v; want one without Redis", l.starts)
			}
		})
	}
}

// Hosts that are no longer visited are forgotten.
func TestVisitsRemember(t *testing.T) {
	t.Parallel()
	v := visits(t, 1, limit.VisitOptions{MaxHosts: 10, Lease: 30 * time.Millisecond, MaxWait: servicetest.Patience()})[0]
	for i := range 40 {
		for v.Remembered() >= 10 {
			time.Sleep(time.Millisecond)
		}
		enter(t, v, fmt.Sprintf("h%d.example", i))(crawl.Welcome)
	}
	for v.Remembered() > 0 {
		time.Sleep(time.Millisecond)
	}
}

func BenchmarkVisits(b *testing.B) {
	v := limit.NewVisits(client(b, servicetest.Address(b, "REDIS_URL")), limit.VisitOptions{Name: "bench-" + rand.Text()})
	b.Cleanup(v.Close)
	for b.Loop() {
		leave, err := v.Enter(b.Context(), "one.example", 0)
		require.NoError(b, err)
		leave(crawl.Welcome)
	}
}

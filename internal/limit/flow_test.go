package limit_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// sends notes when messages are sent.
type sends struct {
	mu sync.Mutex
	at []time.Time
}

func (s *sends) add(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = append(s.at, at)
}

// most is how many there were in one second, whichever it is.
func (s *sends) most() (most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.at, time.Time.Compare)
	first := 0
	for i, at := range s.at {
		for at.Sub(s.at[first]) > time.Second {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

func (s *sends) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.at)
}

// send sends as much as f lets it until ctx ends, one message after the other.
func send(ctx context.Context, f *limit.Flow, s *sends, c *clock, sent func(), caps ...limit.Cap) {
	for ctx.Err() == nil {
		passes, again := f.Take(ctx, 8, caps...)
		if len(passes) == 0 {
			_ = c.Sleep(ctx, again)
		}
		for _, p := range passes {
			if p.Await(ctx) {
				s.add(c.Now())
				sent()
			}
		}
	}
}

// stream sends as much as f lets it until ctx ends, as a slice of a dispatcher does: it takes the next passes while it
// awaits the last ones.
func stream(ctx context.Context, f *limit.Flow, s *sends, caps ...limit.Cap) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for ctx.Err() == nil {
		passes, again := f.Take(ctx, 8, caps...)
		for _, p := range passes {
			wg.Go(func() {
				if p.Await(ctx) {
					s.add(time.Now())
				}
			})
		}
		_ = pause(ctx, again)
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// The rate of each tier holds for one process and for four at once, whose clocks differ, and no second has more than a
// fifth above it.
func TestFlowAcrossProcesses(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()
	for _, rate := range []int{10, 50} {
		for _, processes := range []int{1, 4} {
			t.Run(fmt.Sprintf("%d a second, %d processes", rate, processes), func(t *testing.T) {
				t.Parallel()
				servicetest.Undisturbed(t, func() error { return acrossProcesses(t, rate, processes) })
			})
		}
	}
}

func acrossProcesses(t *testing.T, rate, processes int) error {
	const span = 4 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), span)
	defer cancel()
	var s sends
	var wg sync.WaitGroup
	o := limit.FlowOptions{Name: "test-" + rand.Text(), Timeout: 10 * time.Second}
	for i := range processes {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(i) * time.Hour) }
		f := limit.NewFlow(client(t, servicetest.Address(t, "REDIS_URL")), o)
		wg.Go(func() { stream(ctx, f, &s, limit.Cap{Key: "acme", PerSecond: rate}) })
	}
	wg.Wait()
	want := rate * int(span/time.Second)
	if n := s.count(); n < want*80/100 || n > want*107/100+1 { // at the start, what is missed later may be due already
		return fmt.Errorf("%d sends in %s; want about %d", n, span, want)
	}
	if most := s.most(); most > rate*12/10 {
		return fmt.Errorf("%d sends in one second; want %d at most", most, rate*12/10)
	}
	return nil
}

// A Redis that is away or silent costs a moment; then the process goes on by itself, and says so.
func TestFlowWithoutRedis(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() }) // it takes connections, and says nothing
	silent := redis.NewClient(&redis.Options{Addr: ln.Addr().String(), ReadTimeout: time.Hour})
	t.Cleanup(func() { _ = silent.Close() })
	for name, rdb := range map[string]*redis.Client{"away": away(t), "silent": silent} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, reg := newClock(), prometheus.NewRegistry()
			var asked scripts
			rdb.AddHook(&asked)
			f := limit.NewFlow(rdb, limit.FlowOptions{
				Timeout: 50 * time.Millisecond, Cooldown: time.Hour, Registerer: reg, Now: c.Now, Sleep: c.Sleep,
			})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var s sends
			send(ctx, f, &s, c, func() {
				if c.since() >= time.Minute {
					cancel()
				}
			}, limit.Cap{Key: "acme", PerSecond: 50})
			if v := value(t, reg, "conveyor_limiter_fallback_total"); int(v) != s.count() {
				t.Errorf("fallback_total = %v; want %d", v, s.count())
			}
			if n := s.count(); n < 3000*97/100 || n > 3000*102/100+1 {
				t.Errorf("%d sends in a minute; want about 3,000", n)
			}
			assert.EqualValues(t, 1, value(t, reg, "conveyor_limiter_fallback_active"))
			if n := asked.trips.Load(); n < 1 || n > 3 {
				t.Errorf("Redis was asked %d times; want 3 at most", n)
			}
		})
	}
}

// A Redis that is late now and then is not away: there are no passes for a moment, and no fallback.
func TestFlowWithALateRedis(t *testing.T) {
	t.Parallel()
	servicetest.Undisturbed(t, func() error { return lateRedis(t) })
}

func lateRedis(t *testing.T) error {
	rdb := client(t, servicetest.Address(t, "REDIS_URL"))
	late := &lateness{}
	rdb.AddHook(late)
	reg := prometheus.NewRegistry()
	f := limit.NewFlow(rdb, limit.FlowOptions{
		Name: "test-" + rand.Text(), Timeout: 2 * time.Second, Slack: 400 * time.Millisecond, Registerer: reg,
	})
	take := func() (used int) {
		passes, _ := f.Take(t.Context(), 4, limit.Cap{Key: "acme", PerSecond: 1000})
		for _, p := range passes {
			if p.Await(t.Context()) {
				used++
			}
		}
		return used
	}
	for take() != 4 {
		if t.Context().Err() != nil {
			t.Fatal("no passes of a Redis that answers")
		}
	}
	late.set(500 * time.Millisecond)
	used := []int{take(), take(), take(), take()}
	if used[0] != 0 || used[1] != 0 || used[2] == 0 || used[3] == 0 {
		return fmt.Errorf("passes of answers that are late: %v; want none of the first two, then some", used)
	}
	if v := value(t, reg, "conveyor_limiter_fallback_active"); v != 0 {
		return fmt.Errorf("fallback_active = %v; want 0", v)
	}
	return nil
}

// lateness delays the commands of a client.
type lateness struct {
	mu sync.Mutex
	d  time.Duration
}

func (l *lateness) set(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.d = d
}

func (l *lateness) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lateness) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *lateness) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		l.mu.Lock()
		d := l.d
		l.mu.Unlock()
		_ = pause(ctx, d)
		return next(ctx, cmd)
	}
}

// A process by itself keeps the rate, over any time.
func TestFlowAlone(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 3, 10, 50, 80, 999} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			t.Parallel()
			c := newClock()
			reg := prometheus.NewRegistry()
			f := limit.NewFlow(nil, limit.FlowOptions{Now: c.Now, Sleep: c.Sleep, Registerer: reg})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var s sends
			send(ctx, f, &s, c, func() {
				if c.since() >= time.Minute {
					cancel()
				}
			}, limit.Cap{Key: "acme", PerSecond: rate})
			if n := s.count(); float64(n) < float64(60*rate)*0.98 || float64(n) > float64(60*rate)*1.02+1 {
				t.Errorf("%d sends in a minute; want %d", n, 60*rate)
			}
			assert.LessOrEqual(t, s.most(), rate*12/10+1, "sends in one second")
			if v := value(t, reg, "conveyor_limiter_wait_seconds"); int(v) != s.count() {
				t.Errorf("wait_seconds counts %v; want %d", v, s.count())
			}
		})
	}
}

// What is missed in a pause of half a second is made up for, and what is missed in a longer one is not.
func TestFlowMakesUp(t *testing.T) {
	t.Parallel()
	for gap, want := range map[time.Duration]int{0: 608, 500 * time.Millisecond: 608, 10 * time.Second: 516} {
		t.Run(gap.String(), func(t *testing.T) {
			t.Parallel()
			c := newClock()
			f := limit.NewFlow(nil, limit.FlowOptions{Now: c.Now, Sleep: c.Sleep})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var s sends
			paused := false
			send(ctx, f, &s, c, func() {
				if !paused && c.since() > 40*time.Second {
					paused = true
					c.add(gap)
				}
				if c.since() >= time.Minute {
					cancel()
				}
			}, limit.Cap{Key: "acme", PerSecond: 10})
			if n := s.count(); n < want-3 || n > want+3 {
				t.Errorf("%d sends in a minute with a pause of %s; want about %d", n, gap, want)
			}
			assert.LessOrEqual(t, s.most(), 12, "sends in one second")
		})
	}
}

// Redis goes away and comes back: the rate goes on, and no second has more than it may.
func TestFlowWithRedisKilledInTheMiddle(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()
	servicetest.Undisturbed(t, func() error { return redisKilled(t) })
}

func redisKilled(t *testing.T) error {
	p := newProxy(t, servicetest.Address(t, "REDIS_URL"))
	reg := prometheus.NewRegistry()
	f := limit.NewFlow(client(t, p.url), limit.FlowOptions{
		Name: "test-" + rand.Text(), Cooldown: time.Second, Registerer: reg,
	})
	ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
	defer cancel()
	var s sends
	var wg sync.WaitGroup
	wg.Go(func() { stream(ctx, f, &s, limit.Cap{Key: "acme", PerSecond: 50}) })
	until := func(ok func() bool) {
		for !ok() && pause(ctx, 10*time.Millisecond) == nil {
		}
	}
	fallback := func(want float64) func() bool {
		return func() bool { return value(t, reg, "conveyor_limiter_fallback_active") == want }
	}
	until(func() bool { return s.count() >= 50 })
	p.down()
	until(fallback(1))
	n := s.count()
	until(func() bool { return s.count() >= n+50 })
	p.up()
	until(fallback(0))
	early := ctx.Err() == nil
	wg.Wait()
	if !early {
		return fmt.Errorf("50 sends, a fallback, 50 more and Redis again: not within 7 s (%d sends)", s.count())
	}
	if n := s.count(); n < 200 || n > 7*50*107/100+1 { // each look for Redis takes 250 ms
		return fmt.Errorf("%d sends in 7 s; want about 330", n)
	}
	if most := s.most(); most > 60 {
		return fmt.Errorf("%d sends in one second; want 60 at most", most)
	}
	return nil
}

// A Redis that was emptied does not hand out again what this process got before.
func TestFlowWithRedisEmptied(t *testing.T) {
	t.Parallel()
	rdb := client(t, servicetest.Address(t, "REDIS_URL"))
	name := "test-" + rand.Text()
	f := limit.NewFlow(rdb, limit.FlowOptions{
		Name: name, Ahead: 10 * time.Second, Slack: time.Hour, Timeout: servicetest.Patience(), Now: newClock().Now,
	})
	if passes, _ := f.Take(t.Context(), 10, limit.Cap{Key: "acme", PerSecond: 1}); len(passes) != 10 {
		t.Fatalf("%d passes of 10 s ahead; want 10", len(passes))
	}
	if n, err := rdb.Del(t.Context(), name+":{acme}:acme").Result(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	passes, wait := f.Take(t.Context(), 10, limit.Cap{Key: "acme", PerSecond: 1})
	if len(passes) > 1 || len(passes) == 0 && wait > time.Second {
		t.Errorf("%d more passes, or a wait of %s; want one at most", len(passes), wait)
	}
}

// A clock of Redis that went back holds nobody up for longer than a pass may be away.
func TestFlowWithAClockThatGoesBack(t *testing.T) {
	t.Parallel()
	rdb, name := client(t, servicetest.Address(t, "REDIS_URL")), "test-"+rand.Text()
	f := limit.NewFlow(rdb, limit.FlowOptions{Name: name, Timeout: 10 * time.Second})
	hour := time.Now().Add(time.Hour).UnixMicro()
	key := fmt.Sprintf("%s:{acme}:acme", name)
	require.NoError(t, rdb.Set(t.Context(), key, fmt.Sprintf("%d %d", hour, hour), time.Minute).Err())
	passes, again := f.Take(t.Context(), 1, limit.Cap{Key: "acme", PerSecond: 10})
	if len(passes) != 0 || again > 150*time.Millisecond {
		t.Errorf("%d passes, the next after %s; want one in a tenth of a second", len(passes), again)
	}
}

// Each cap holds, whichever is the lower; another tenant is not held back.
func TestFlowOfSeveralCaps(t *testing.T) {
	t.Parallel()
	for name, rdb := range map[string]func(*testing.T) *redis.Client{
		"redis": func(t *testing.T) *redis.Client { return client(t, servicetest.Address(t, "REDIS_URL")) },
		"none":  nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var line redis.UniversalClient
			if rdb != nil {
				line = rdb(t)
			}
			servicetest.Undisturbed(t, func() error { return severalCaps(t, line) })
		})
	}
}

func severalCaps(t *testing.T, line redis.UniversalClient) error {
	f := limit.NewFlow(line, limit.FlowOptions{
		Name: "test-" + rand.Text(), Ahead: time.Second, Timeout: 10 * time.Second,
	})
	take := func(tenant, sender string, rate int) (int, time.Duration) {
		passes, wait := f.Take(t.Context(), 100, limit.Cap{Key: tenant, PerSecond: 50}, limit.Cap{Key: sender, PerSecond: rate})
		return len(passes), wait
	}
	if n, _ := take("acme", "slow", 5); n < 6 || n > 7 {
		return fmt.Errorf("%d passes of a sender with 5 a second in one second; want 6", n)
	}
	if n, wait := take("acme", "slow", 5); n > 1 || n == 0 && (wait <= 0 || wait > 250*time.Millisecond) {
		return fmt.Errorf("then %d, or a wait of %s; want none, and 190 ms or less", n, wait)
	}
	if n, _ := take("acme", "fast", 80); n > 53 { // after the others' last pass, which is nearly a second ahead
		return fmt.Errorf("%d of another sender", n)
	}
	if n, _ := take("other", "third", 80); n < 50 || n > 55 {
		return fmt.Errorf("%d of another tenant; want 51 to 55", n)
	}
	return nil
}

// A pass that is used too late is none, and is made up for.
func TestFlowMissed(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := limit.NewFlow(nil, limit.FlowOptions{Now: c.Now, Sleep: c.Sleep})
	cap := limit.Cap{Key: "acme", PerSecond: 10}
	passes, wait := f.Take(t.Context(), 5, cap)
	if len(passes) != 3 || wait < 80*time.Millisecond || wait > 100*time.Millisecond { // now, in 94 and in 189 ms
		t.Fatalf("%d passes, wait %s; want 3", len(passes), wait)
	}
	require.True(t, passes[0].Await(t.Context()), "the first one is not now")
	c.add(180 * time.Millisecond)
	require.False(t, passes[1].Await(t.Context()), "a pass is used 86 ms late")
	if !passes[2].Await(t.Context()) || c.since().Round(time.Millisecond) != 189*time.Millisecond {
		t.Errorf("the third one is at %s", c.since())
	}
	ctx, cancel := context.WithCancel(t.Context())
	passes, _ = f.Take(ctx, 1, cap)
	cancel()
	if len(passes) != 1 || passes[0].Await(ctx) {
		t.Error("a pass is used after the end of the context")
	}
	if passes, wait := f.Take(ctx, 1, cap); passes != nil || wait != 0 {
		t.Errorf("%d passes after the end of the context, wait %s", len(passes), wait)
	}
	if passes, wait := f.Take(t.Context(), 0, cap); passes != nil || wait != 0 {
		t.Errorf("no passes asked for: %d, wait %s", len(passes), wait)
	}
}

// A caller at its limit is told when to come again: nothing blocks. Then there is a pass.
func TestFlowSaysWhen(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := limit.NewFlow(nil, limit.FlowOptions{Now: c.Now, Sleep: func(context.Context, time.Duration) error {
		t.Error("Take has slept")
		return nil
	}})
	cap := limit.Cap{Key: "acme", PerSecond: 1}
	for range 3 {
		if passes, wait := f.Take(t.Context(), 4, cap); len(passes) != 1 || wait < 500*time.Millisecond {
			t.Fatalf("%d passes, again in %s; want one, and about 0.75 s", len(passes), wait)
		}
		passes, wait := f.Take(t.Context(), 4, cap)
		if len(passes) != 0 || wait < 500*time.Millisecond || wait > time.Second {
			t.Fatalf("%d passes, wait %s; want none for about 0.75 s", len(passes), wait)
		}
		c.add(wait)
	}
}

// Keys without end do not fill the memory.
func TestFlowForgets(t *testing.T) {
	t.Parallel()
	c := newClock()
	f := limit.NewFlow(nil, limit.FlowOptions{Now: c.Now, Sleep: c.Sleep, MaxKeys: 5})
	got := 0
	for i := range 10 {
		passes, wait := f.Take(t.Context(), 1, limit.Cap{Key: fmt.Sprint(i), PerSecond: 10})
		if got += len(passes); len(passes) == 0 && wait <= 0 {
			t.Error("no pass, and no wait")
		}
	}
	if got != 5 || f.Remembered() != 5 {
		t.Errorf("%d passes, %d keys remembered; want 5", got, f.Remembered())
	}
	c.add(time.Second)
	if passes, _ := f.Take(t.Context(), 1, limit.Cap{Key: "new", PerSecond: 10}); len(passes) != 1 || f.Remembered() != 1 {
		t.Errorf("%d passes, %d keys remembered; want 1", len(passes), f.Remembered())
	}
}

// BenchmarkFlowMinute sends for a minute with slices of 20 s and half a second between them, one tenant in one process
// and in four: sends in the minute, and the most in one second.
func BenchmarkFlowMinute(b *testing.B) {
	for _, rate := range []int{10, 50} {
		for _, processes := range []int{1, 4} {
			b.Run(fmt.Sprintf("%d-a-second/%d-processes", rate, processes), func(b *testing.B) {
				for range b.N {
					o := limit.FlowOptions{Name: "bench-" + rand.Text()}
					var s sends
					var wg sync.WaitGroup
					ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
					for i := range processes {
						f := limit.NewFlow(client(b, servicetest.Address(b, "REDIS_URL")), o)
						wg.Go(func() {
							_ = pause(ctx, time.Duration(i)*5*time.Second/4)
							for ctx.Err() == nil {
								slice, end := context.WithTimeout(ctx, 20*time.Second)
								stream(slice, f, &s, limit.Cap{Key: "acme", PerSecond: rate})
								end()
								_ = pause(ctx, 500*time.Millisecond)
							}
						})
					}
					wg.Wait()
					cancel()
					b.ReportMetric(float64(s.count())/float64(60*rate)*100, "%of-rate")
					b.ReportMetric(float64(s.most()), "most-in-1s")
				}
			})
		}
	}
}

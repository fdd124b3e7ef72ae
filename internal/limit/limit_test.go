package limit_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func TestMain(m *testing.M) {
	logging.Disable() // the client's own words about a Redis that these tests take away
	os.Exit(m.Run())
}

// For any number of callers and processes, no two starts on one host are closer than the interval.
func TestOneRedisManyProcesses(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()
	servicetest.Undisturbed(t, func() error { return oneRedis(t) })
}

func oneRedis(t *testing.T) error {
	const interval, callers, each = 40 * time.Millisecond, 4, 5
	var l log
	o := limit.Options{
		Name: "test-" + rand.Text(), Interval: interval, Slack: interval, MaxWait: time.Minute, Started: l.started,
		Timeout: 10 * time.Second,
	}
	var g errgroup.Group
	for range 2 {
		h := limit.New(client(t, servicetest.Address(t, "REDIS_URL")), o)
		for range callers {
			for _, host := range []string{"a.example", "B.example:8080"} {
				g.Go(func() error {
					for range each {
						if err := h.Wait(t.Context(), host); err != nil {
							return err
						}
					}
					return nil
				})
			}
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for _, host := range []string{"a.example", "b.example:8080"} {
		if err := l.check(host, interval, 2*callers*each); err != nil {
			return err
		}
	}
	for _, s := range l.starts {
		if !s.redis {
			return errors.New("a start was paced locally while Redis was there")
		}
	}
	return nil
}

// Redis goes away in the middle and comes back: each process goes on, at the same rate, and says so.
func TestRedisKilledInTheMiddle(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()
	servicetest.Undisturbed(t, func() error { return hostsWithRedisKilled(t) })
}

func hostsWithRedisKilled(t *testing.T) error {
	const interval = 40 * time.Millisecond
	p := newProxy(t, servicetest.Address(t, "REDIS_URL"))
	type process struct {
		log
		reg *prometheus.Registry
		h   *limit.Hosts
	}
	name := "test-" + rand.Text()
	processes := make([]*process, 2)
	var starts atomic.Int32
	kill := make(chan struct{})
	for i := range processes {
		reg := prometheus.NewRegistry()
		processes[i] = &process{reg: reg}
		processes[i].h = limit.New(client(t, p.url), limit.Options{
			Name: name, Interval: interval, Slack: interval, MaxWait: time.Minute, Timeout: 5 * time.Second,
			Cooldown: 200 * time.Millisecond, Registerer: reg, Started: func(host string, at time.Time, redis bool) {
				processes[i].started(host, at, redis)
				if starts.Add(1) == 12 { // early in the second run, while callers hold slots
					close(kill)
				}
			},
		})
	}
	// run does n starts in each process, three callers at a time.
	run := func(n int) error {
		var g errgroup.Group
		for _, p := range processes {
			work := make(chan struct{}, n)
			for range n {
				work <- struct{}{}
			}
			close(work)
			for range 3 {
				g.Go(func() error {
					for range work {
						if err := p.h.Wait(t.Context(), "x.example"); err != nil {
							return err
						}
					}
					return nil
				})
			}
		}
		return g.Wait()
	}
	if err := run(5); err != nil {
		return err
	}
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		<-kill
		p.down()
	}()
	began := time.Now()
	if err := run(15); err != nil {
		return err
	}
	<-killed
	if took := time.Since(began); took > 20*time.Second {
		return fmt.Errorf("30 starts without Redis took %s; want about 1.5 s", took)
	}
	for _, p := range processes {
		if err := p.check("x.example", interval, 20); err != nil {
			return err
		}
		if v := value(t, p.reg, "conveyor_limiter_fallback_active"); v != 1 {
			return fmt.Errorf("fallback_active = %v while Redis is away; want 1", v)
		}
		if v := value(t, p.reg, "conveyor_limiter_fallback_total"); v < 8 {
			return fmt.Errorf("fallback_total = %v; want 13 but for the slots held", v)
		}
		if v := value(t, p.reg, "conveyor_limiter_wait_seconds"); v != 20 {
			return fmt.Errorf("wait_seconds counts %v; want 20", v)
		}
	}

	p.up()
	for _, p := range processes {
		for value(t, p.reg, "conveyor_limiter_fallback_active") != 0 {
			if err := p.h.Wait(t.Context(), "x.example"); err != nil {
				return err
			}
		}
	}
	for _, p := range processes {
		if err := p.check("x.example", interval, -1); err != nil {
			return err
		}
	}
	return nil
}

// A Redis that takes connections and says nothing costs one timeout, then nothing until the cooldown is over.
func TestRedisHangs(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	rdb := redis.NewClient(&redis.Options{Addr: ln.Addr().String(), ReadTimeout: time.Hour}) // by itself it waits for long
	t.Cleanup(func() { _ = rdb.Close() })
	var asked scripts
	rdb.AddHook(&asked)
	h := limit.New(rdb, limit.Options{
		Timeout: 50 * time.Millisecond, Cooldown: time.Hour, Interval: time.Millisecond, Slack: 20 * time.Millisecond,
	})
	for range 20 {
		require.NoError(t, h.Wait(t.Context(), "x.example"))
	}
	require.EqualValues(t, 1, asked.trips.Load(), "questions to Redis for 20 starts")
}

// A slow link to Redis lets no process pace a host by itself, from its first start on.
func TestHostsOverASlowLink(t *testing.T) {
	t.Parallel()
	servicetest.Undisturbed(t, func() error {
		var l log
		o := limit.Options{Name: "test-" + rand.Text(), MaxWait: time.Minute, Started: l.started}
		var g errgroup.Group
		for range 2 {
			rdb := client(t, servicetest.Address(t, "REDIS_URL"))
			link := &slowLink{connects: 1200 * time.Millisecond}
			link.set(300 * time.Millisecond)
			rdb.AddHook(link)
			h := limit.New(rdb, o)
			g.Go(func() error { return h.Wait(t.Context(), "x.example") })
		}
		if err := g.Wait(); err != nil {
			return err
		}
		for _, s := range l.starts {
			if !s.redis {
				return errors.New("a start was paced locally while Redis was there")
			}
		}
		return l.check("x.example", 500*time.Millisecond, 2)
	})
}

func TestLocalPace(t *testing.T) {
	t.Parallel()
	c := newClock()
	var l log
	h := limit.New(away(t), limit.Options{Now: c.Now, Sleep: c.Sleep, Started: l.started, MaxHosts: 3})
	for range 5 {
		require.NoError(t, h.Wait(t.Context(), "x.example"))
	}
	if got, want := c.since(), 4*525*time.Millisecond; got != want {
		t.Errorf("five starts took %s; want %s: 500 ms apart and 25 of slack", got, want)
	}
	for _, host := range []string{"y.example", "Y.Example.", "z.example"} {
		require.NoError(t, h.Wait(t.Context(), host))
	}
	if got, want := c.since(), 5*525*time.Millisecond; got != want {
		t.Errorf("then three on two other hosts: at %s; want %s, one wait", got, want)
	}

	// The memory is bounded: three hosts are busy, so a fourth waits; later, the idle ones are forgotten.
	require.NoError(t, h.Wait(t.Context(), "x.example"))
	err := h.Wait(t.Context(), "fourth.example")
	if class, after := fault.Of(err); class != fault.Limited || after != 500*time.Millisecond {
		t.Errorf("a fourth busy host = %v (%s, %s); want throttled, 500ms", err, class, after)
	}
	c.add(time.Minute)
	require.NoError(t, h.Wait(t.Context(), "fourth.example"), "a fourth host, the others idle")
	require.Equal(t, 1, h.Remembered(), "hosts that are remembered")
}

// A caller that oversleeps its slot takes another instead of starting on the heels of the next.
func TestLateCallerTakesAnotherSlot(t *testing.T) {
	t.Parallel()
	c := newClock()
	var l log
	lateness := []time.Duration{0, 24 * time.Millisecond, 400 * time.Millisecond, 0, time.Second, 10 * time.Millisecond}
	h := limit.New(away(t), limit.Options{
		Now: c.Now, Started: l.started, MaxWait: time.Hour,
		Sleep: func(ctx context.Context, d time.Duration) error {
			if len(lateness) > 0 {
				d += lateness[0]
				lateness = lateness[1:]
			}
			return c.Sleep(ctx, d)
		},
	})
	for range 8 {
		require.NoError(t, h.Wait(t.Context(), "x.example"))
	}
	require.NoError(t, l.check("x.example", 500*time.Millisecond, 8))
}

func TestWaitTooFar(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"redis", "local"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			rdb := away(t)
			if where == "redis" {
				rdb = client(t, servicetest.Address(t, "REDIS_URL"))
			}
			h := limit.New(rdb, limit.Options{
				Name: "test-" + rand.Text(), Interval: time.Hour, Slack: time.Minute, MaxWait: 2 * time.Second,
				Timeout: 10 * time.Second,
			})
			require.NoError(t, h.Wait(t.Context(), "x.example"))
			for range 3 { // refusals take no slot: the wait does not grow
				began := time.Now()
				err := h.Wait(t.Context(), "x.example")
				class, after := fault.Of(err)
				if class != fault.Limited || after < 50*time.Minute || after > 61*time.Minute {
					t.Errorf("Wait = %v (%s, %s); want throttled, about an hour", err, class, after)
				}
				assert.LessOrEqual(t, time.Since(began), servicetest.Patience(), "the refusal is late")
			}
			assert.NoError(t, h.Wait(t.Context(), "y.example"), "another host")
		})
	}
}

func TestWaitEnds(t *testing.T) {
	t.Parallel()
	h := limit.New(away(t), limit.Options{Interval: time.Hour, MaxWait: 2 * time.Hour})
	require.NoError(t, h.Wait(t.Context(), "x.example"))

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	err := h.Wait(ctx, "x.example")
	if class, after := fault.Of(err); class != fault.Limited || after < 30*time.Minute {
		t.Errorf("a deadline before the turn = %v (%s, %s); want throttled at once", err, class, after)
	}

	ctx, cancel = context.WithCancel(t.Context())
	asleep := make(chan struct{})
	h = limit.New(away(t), limit.Options{Sleep: func(ctx context.Context, _ time.Duration) error {
		close(asleep)
		<-ctx.Done()
		return ctx.Err()
	}})
	require.NoError(t, h.Wait(ctx, "x.example"))
	go func() { <-asleep; cancel() }()
	require.ErrorIs(t, h.Wait(ctx, "x.example"), context.Canceled, "cancelled while waiting")

	for _, host := range []string{"", ".", string(make([]byte, 301))} {
		assert.Equal(t, fault.Invalid, fault.ClassOf(h.Wait(t.Context(), host)), host)
	}
}

func TestTwoLimitersOneRegistry(t *testing.T) {
	t.Parallel()
	reg := prometheus.NewRegistry()
	for _, name := range []string{"images", "crawl", "images"} {
		h := limit.New(away(t), limit.Options{Name: name, Registerer: reg})
		require.NoError(t, h.Wait(t.Context(), "x.example"))
	}
	require.EqualValues(t, 3, value(t, reg, "conveyor_limiter_fallback_total"), "fallback_total over both")
}

// log notes starts.
type log struct {
	mu     sync.Mutex
	starts []start
}

type start struct {
	host  string
	at    time.Time
	redis bool
}

func (l *log) started(host string, at time.Time, redis bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starts = append(l.starts, start{host, at, redis})
}

// check fails if two starts on the host were closer than the interval, or there were not n of them; n < 0 = any number.
func (l *log) check(host string, interval time.Duration, n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var at []time.Time
	for _, s := range l.starts {
		if s.host == host {
			at = append(at, s.at)
		}
	}
	if len(at) != n && n >= 0 {
		return fmt.Errorf("%d starts on %s; want %d", len(at), host, n)
	}
	slices.SortFunc(at, time.Time.Compare)
	for i := range len(at) - 1 {
		if gap := at[i+1].Sub(at[i]); gap < interval-time.Microsecond {
			return fmt.Errorf("starts %d and %d on %s are %s apart; want %s", i, i+1, host, gap, interval)
		}
	}
	return nil
}

// clock moves when a caller sleeps.
type clock struct {
	mu       sync.Mutex
	now, was time.Time
}

func newClock() *clock {
	t := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	return &clock{now: t, was: t}
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.add(d)
	return ctx.Err()
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func (c *clock) since() time.Duration { return c.Now().Sub(c.was) }

// proxy stands between a client and Redis and can go down. It keeps its port, which another process would take: while
// it is down, it resets connections.
type proxy struct {
	to    string
	url   string // of Redis through the proxy, with its credentials
	mu    sync.Mutex
	gone  bool
	downs int // so far
	conns []net.Conn
}

func newProxy(t *testing.T, url string) *proxy {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	p := &proxy{to: o.Addr}
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close(); p.down() })
	p.url = strings.Replace(url, p.to, ln.Addr().String(), 1)
	go p.serve(ln) // ends with ln
	return p
}

func (p *proxy) serve(ln net.Listener) {
	for {
		in, err := ln.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		gone, downs := p.gone, p.downs
		p.mu.Unlock()
		if gone {
			_ = in.(*net.TCPConn).SetLinger(0) // a reset
			_ = in.Close()
			continue
		}
		out, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = in.Close()
			continue
		}
		p.mu.Lock()
		up := p.downs == downs
		if up {
			p.conns = append(p.conns, in, out)
		}
		p.mu.Unlock()
		if !up {
			_, _ = in.Close(), out.Close()
			continue
		}
		go func() { _, _ = io.Copy(in, out); _ = in.Close() }()
		go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
	}
}

func (p *proxy) up() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = false
}

func (p *proxy) down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gone = true
	p.downs++
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func client(t testing.TB, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	require.NoError(t, err)
	c := redis.NewClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// away is a client of a Redis that is not there.
func away(t *testing.T) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{
		MaxRetries: -1, DialerRetries: 1,
		Dialer: func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no server is there") },
	})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// value is the sum of a metric over its labels; of a histogram, the count.
func value(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	sum, found := 0.0, false
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			found = true
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	if !found {
		t.Fatal(fmt.Errorf("no metric %s", name))
	}
	return sum
}

// On a machine where every caller wakes up later than a slot is wide, slots get wider: the line does not grow while
// nobody starts. Where callers are in time again, slots get narrow again.
func TestSlotsWidenForLateCallers(t *testing.T) {
	t.Parallel()
	c := newClock()
	var l log
	late := 60 * time.Millisecond
	h := limit.New(away(t), limit.Options{
		Now: c.Now, Started: l.started, MaxWait: time.Minute,
		Sleep: func(ctx context.Context, d time.Duration) error { return c.Sleep(ctx, d+late) },
	})
	const starts = 20
	for range starts {
		require.NoError(t, h.Wait(t.Context(), "x.example"))
	}
	require.NoError(t, l.check("x.example", 500*time.Millisecond, starts))
	if most := starts * 750 * time.Millisecond; c.since() > most {
		t.Errorf("%d starts of callers %s late took %s; want %s at most", starts, late, c.since(), most)
	}
	late = 0
	for range 100 {
		require.NoError(t, h.Wait(t.Context(), "x.example"))
	}
	began := c.since()
	for range 4 {
		require.NoError(t, h.Wait(t.Context(), "x.example"))
	}
	require.LessOrEqual(t, c.since()-began, 4*530*time.Millisecond, "for four starts in time")
}

package fetch_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// asker answers requests for robots.txt by address.
func asker(answers map[string]fetch.Exchange, count *atomic.Int64) func(context.Context, web.Request) (fetch.Exchange, error) {
	return func(_ context.Context, r web.Request) (fetch.Exchange, error) {
		count.Add(1)
		x, ok := answers[r.URL]
		if !ok {
			return x, fault.Newf(fault.Gone, "host does not exist")
		}
		x.Asked = r.URL
		return x, nil
	}
}

func answered(status int, body string) fetch.Exchange {
	return fetch.Exchange{Page: web.Page{Status: status, Body: []byte(body)}}
}

func TestRules(t *testing.T) {
	t.Parallel()
	const origin, no = "https://one.example:8443", "User-agent: *\nDisallow: /no\n"
	hop := func(n int) string {
		if n == 0 {
			return origin + "/robots.txt"
		}
		return fmt.Sprintf("https://other%d.example/r", n)
	}
	chain := func(n int) map[string]fetch.Exchange {
		m := map[string]fetch.Exchange{}
		for i := range n {
			x := answered(302, "")
			x.RedirectTo = hop(i + 1)
			m[hop(i)] = x
		}
		m[hop(n)] = answered(200, no)
		return m
	}
	slow := answered(429, "")
	slow.RetryAfter = time.Minute
	one := func(x fetch.Exchange) map[string]fetch.Exchange { return map[string]fetch.Exchange{hop(0): x} }
	for _, tt := range []struct {
		name    string
		answers map[string]fetch.Exchange
		class   fault.Class
		after   time.Duration
		allowed bool // /no
		asked   int64
	}{
		{"parsed", one(answered(200, no)), "", 0, false, 1},
		{"empty", one(answered(204, "")), "", 0, true, 1},
		{"no file", one(answered(404, no)), "", 0, true, 1},
		{"forbidden", one(answered(403, "Access denied")), "", 0, true, 1},
		{"login", one(answered(401, no)), "", 0, true, 1},
		{"five redirects", chain(5), "", 0, false, 6},
		{"six redirects", chain(6), "", 0, true, 6},
		{"too many requests", one(slow), fault.Throttled, time.Minute, false, 1},
		{"broken", one(answered(500, "")), fault.Transient, 0, false, 1},
		{"away", one(answered(503, "")), fault.Throttled, 0, false, 1},
		{"no redirect", one(answered(302, "")), fault.Transient, 0, false, 1},
		{"no turn", nil, fault.Limited, time.Second, false, 2},
		{"no host", nil, fault.Gone, 0, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			ask := asker(tt.answers, &asked)
			if tt.class == fault.Limited {
				ask = func(context.Context, web.Request) (fetch.Exchange, error) {
					asked.Add(1)
					return fetch.Exchange{}, &fault.Error{Class: tt.class, After: tt.after, Err: errors.New("wait")}
				}
			}
			r := fetch.NewRobots(ask, fetch.RobotsOptions{ErrorTTL: time.Hour, Now: at})
			for i := range 2 { // the second time by what is known
				rules, err := r.Rules(t.Context(), origin)
				class, after := fault.Of(err)
				if i == 1 && tt.class != "" && !tt.class.Final() && tt.class != fault.Limited { // it is asked again later
					tt.class, tt.after = fault.Limited, time.Hour
				}
				if class != tt.class || after != tt.after || rules.Allowed("Conveyor", "/no") != tt.allowed {
					t.Errorf("Rules = %v (%s, %s), allowed %t", err, class, after, rules.Allowed("Conveyor", "/no"))
				}
			}
			assert.Equal(t, tt.asked, asked.Load())
		})
	}
}

// However many callers want the rules of an origin, one asks; when it gives up, another does.
func TestRulesAreReadOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	entered, answer := make(chan struct{}, 10), make(chan struct{})
	r := fetch.NewRobots(func(ctx context.Context, _ web.Request) (fetch.Exchange, error) {
		asked.Add(1)
		entered <- struct{}{}
		select {
		case <-answer:
			return answered(200, ""), nil
		case <-ctx.Done():
			return fetch.Exchange{}, ctx.Err()
		}
	}, fetch.RobotsOptions{ErrorTTL: time.Hour})
	first, giveUp := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := r.Rules(first, "https://one.example")
		gone <- err
	}()
	<-entered
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := r.Rules(t.Context(), "https://one.example"); err != nil {
				t.Errorf("Rules = %v", err)
			}
		})
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Rules(impatient, "https://one.example"); !errors.Is(err, context.Canceled) {
		t.Errorf("Rules = %v; want the context's error", err)
	}
	giveUp()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("Rules = %v; want the context's error", err)
	}
	<-entered
	close(answer)
	wg.Wait()
	assert.EqualValues(t, 2, asked.Load())
}

// Errors are asked about again sooner than rules; old rules stand in for those that cannot be read. Only the caller that
// has asked has the error; for the others it is a wait.
func TestRulesAge(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	now := noon
	answers := map[string]fetch.Exchange{"http://one.example/robots.txt": answered(500, "")}
	r := fetch.NewRobots(asker(answers, &asked), fetch.RobotsOptions{
		TTL: time.Hour, ErrorTTL: time.Minute, Now: func() time.Time { return now },
	})
	for i, step := range []struct {
		after  time.Duration
		status int
		class  fault.Class
		asked  int64
	}{
		{0, 500, fault.Transient, 1},
		{59 * time.Second, 200, fault.Limited, 1}, // nothing was asked
		{time.Second, 200, "", 2},
		{59 * time.Minute, 500, "", 2},
		{time.Minute, 500, "", 3}, // the old ones
		{59 * time.Second, 200, "", 3},
		{time.Second, 500, "", 4},
		{time.Minute, 429, fault.Throttled, 5}, // a site that refuses is left alone
		{59 * time.Second, 200, fault.Limited, 5},
		{time.Second, 200, "", 6},
		{25 * time.Hour, 500, fault.Transient, 7},
	} {
		now = now.Add(step.after)
		answers["http://one.example/robots.txt"] = answered(step.status, "")
		_, err := r.Rules(t.Context(), "http://one.example")
		if class, _ := fault.Of(err); class != step.class || asked.Load() != step.asked {
			t.Errorf("step %d: %v (%s), asked %d times; want %q, %d", i, err, class, asked.Load(), step.class, step.asked)
		}
	}
}

// Callers wait for an origin that refuses, but not for ever: what is to be asked of it comes to an end, until it
// answers, or nobody has asked for a while.
func TestRulesOfAnOriginThatRefuses(t *testing.T) {
	t.Parallel()
	const origin = "http://one.example"
	now := noon
	refused := answered(429, "")
	refused.RetryAfter = time.Hour
	var asked atomic.Int64
	answers := map[string]fetch.Exchange{}
	r := fetch.NewRobots(asker(answers, &asked), fetch.RobotsOptions{
		ErrorTTL: time.Minute, Now: func() time.Time { return now },
	})
	for i, step := range []struct {
		after  time.Duration
		answer fetch.Exchange
		first  fault.Class // of the caller that asks
		others fault.Class
	}{
		{0, refused, fault.Throttled, fault.Limited},
		{time.Hour, refused, fault.Throttled, fault.Throttled},
		{time.Hour, refused, fault.Throttled, fault.Throttled},
		{time.Hour, answered(200, ""), "", ""},
		{time.Hour, refused, fault.Throttled, fault.Limited}, // it begins anew
		{time.Hour + time.Minute, refused, fault.Throttled, fault.Throttled},
		{3 * time.Hour, refused, fault.Throttled, fault.Limited}, // so it does for work of another day
	} {
		now = now.Add(step.after)
		answers[origin+"/robots.txt"] = step.answer
		for n, want := range []fault.Class{step.first, step.others, step.others} {
			_, err := r.Rules(t.Context(), origin)
			if class, _ := fault.Of(err); class != want || asked.Load() != int64(i+1) {
				t.Errorf("step %d, caller %d: %v (%s), asked %d times; want %q, %d", i, n, err, class, asked.Load(), want, i+1)
			}
		}
	}
}

// Large files of many origins are forgotten, the ones used last at the end.
// A rule that the limit cuts in two does not count: its part may close the whole site.
func TestRulesThatAreCut(t *testing.T) {
	t.Parallel()
	begin := "User-agent: *\nDisallow: /no\n"
	whole := strings.Repeat("#", robots.MaxSize-len(begin)-len("Disallow: /x")-1) + "\nDisallow: /xyz\n"
	srv, c, _ := site(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, begin+whole)
	}, fetch.Options{})
	r := fetch.NewRobots(c.Ask, fetch.RobotsOptions{})
	for path, want := range map[string]bool{"/x": true, "/xyz": true, "/no": false} {
		if ok, _, err := r.Allowed(t.Context(), srv.URL+path); ok != want || err != nil {
			t.Errorf("Allowed(%s) = %t, %v", path, ok, err)
		}
	}
}

func TestRulesAreBounded(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	large := answered(200, "User-agent: *\nDisallow: /no\n"+strings.Repeat("#", robots.MaxSize-100))
	r := fetch.NewRobots(func(_ context.Context, r web.Request) (fetch.Exchange, error) {
		asked.Add(1)
		assert.EqualValues(t, robots.MaxSize, r.Most)
		return large, nil
	}, fetch.RobotsOptions{})
	rules := func(i int) {
		t.Helper()
		if _, err := r.Rules(t.Context(), fmt.Sprintf("http://h%d.example", i)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		rules(i)
		rules(0)
	}
	assert.EqualValues(t, 100, asked.Load())
	rules(1)
	assert.EqualValues(t, 101, asked.Load(), "all 100 are remembered")

	large = answered(200, "User-agent: *\nDisallow: /"+strings.Repeat("*", robots.MaxSize-100)) // 8 MiB of them
	asked.Store(0)
	for i := range 10 {
		rules(100 + i)
	}
	rules(100 + 8)
	rules(100 + 1)
	assert.EqualValues(t, 11, asked.Load())
}

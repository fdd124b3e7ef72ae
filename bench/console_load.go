package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/playwright-community/playwright-go"
)

const (
	manyTabs   = 20
	tabsSettle = 20 * time.Second
	tabsWatch  = 60 * time.Second
)

// unseenScript makes a page believe that it is in the background, as all tabs of a window are but one. A headless
// browser shows every page in a window of its own.
const unseenScript = `
Object.defineProperty(document, 'hidden', { get: () => true });
Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' });`

// tabs counts what one tab of Today asks of the API, and what many of one browser do while nothing happens.
func (w *watched) tabs(ctx context.Context) error {
	var asked atomic.Int64 // requests to the management of RabbitMQ
	management, err := url.Parse(os.Getenv("RABBITMQ_MANAGEMENT_URL"))
	if err != nil {
		return err
	}
	// In the address: requests have it as their credentials, and none goes to another host.
	forward := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: management.Scheme, Host: management.Host})
		asked.Add(1)
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: forward, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(l) }() // ends with Close
	defer server.Close()
	counted := *management
	counted.Host = l.Addr().String()
	if err := w.restart("RABBITMQ_MANAGEMENT_URL=" + counted.String()); err != nil {
		return err
	}
	defer func() { _ = w.restart() }() // without the server that ends here
	for _, n := range []int{1, manyTabs} {
		if err := w.answers(ctx); err != nil {
			return err
		}
		if err := w.watchTabs(ctx, n, &asked); err != nil {
			return err
		}
	}
	return nil
}

// watchTabs opens n tabs and reports what they ask for once they are loaded.
func (w *watched) watchTabs(ctx context.Context, n int, asked *atomic.Int64) error {
	c, err := w.browser.NewContext(playwright.BrowserNewContextOptions{Locale: playwright.String("en-CA")})
	if err != nil {
		return err
	}
	defer c.Close()
	var mu sync.Mutex
	requests, streams := 0, map[playwright.Request]bool{}
	isStream := func(r playwright.Request) bool { return strings.HasPrefix(r.URL(), w.api+"/events") }
	c.OnRequest(func(r playwright.Request) {
		mu.Lock()
		defer mu.Unlock()
		if isStream(r) {
			streams[r] = true
		} else {
			requests++
		}
	})
	gone := func(r playwright.Request) {
		mu.Lock()
		defer mu.Unlock()
		delete(streams, r)
	}
	c.OnRequestFailed(gone)
	c.OnRequestFinished(gone)
	for i := range n {
		p, err := c.NewPage()
		if err != nil {
			return err
		}
		if i > 0 {
			if err := p.AddInitScript(playwright.Script{Content: playwright.String(unseenScript)}); err != nil {
				return err
			}
		}
		if _, err := p.Goto(w.api + "/ui/"); err != nil {
			return err
		}
	}
	if err := pause(ctx, tabsSettle); err != nil {
		return err
	}
	mu.Lock()
	requests = 0
	mu.Unlock()
	asked.Store(0)
	cpu := processes()
	if err := pause(ctx, tabsWatch); err != nil {
		return err
	}
	used := spent(cpu, processes())["api"]
	mu.Lock()
	defer mu.Unlock()
	name := "1 tab"
	if n > 1 {
		name = fmt.Sprintf("%d tabs, all but one in the background", n)
	}
	each := tabsWatch.Seconds()
	for _, b := range []Budget{
		{What: ": streams", Value: float64(len(streams)), Budget: 1},
		{What: ": requests a second", Value: float64(requests) / each, Budget: .5},
		{What: ": requests a second to RabbitMQ's management", Value: float64(asked.Load()) / each},
		{What: ": of a core, the API", Unit: "%", Value: 100 * used.Seconds() / each},
	} {
		b.What = name + b.What
		w.report.budget(b)
	}
	return nil
}

const (
	soakAdverts = 1000 // that are seen again and again, one in twenty changed
	soakRate    = 300  // a second: six times what a busy hour has
)

// soak watches Today while adverts come in, and reports what the page holds and needs.
func (w *watched) soak(ctx context.Context, length time.Duration) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	line, adverts := w.conveyor(), generateFrom(5_000_000, soakAdverts)
	if _, err := w.feed(ctx, line, adverts, 0); err != nil {
		return err
	}
	p, end, err := w.tab()
	if err != nil {
		return err
	}
	defer end()
	if _, err := p.Goto(w.api + "/ui/"); err != nil {
		return err
	}
	fed := make(chan error, 1)
	var sent atomic.Int64
	go func() {
		for round := 1; ; round++ {
			if _, err := w.publish(ctx, line, rescrape(adverts, round, 1), soakRate); err != nil {
				fed <- err
				return
			}
			sent.Add(soakAdverts)
		}
	}()
	look, err := p.Context().NewCDPSession(p)
	if err != nil {
		return err
	}
	// Of the thread itself: a task that waits for a core costs none.
	if _, err := look.Send("Performance.enable", map[string]any{"timeDomain": "threadTicks"}); err != nil {
		return err
	}
	var heap, busy, at [2]float64
	for i, until := range []time.Duration{length / 10, length - length/10} { // what a page holds grows at its start
		select {
		case <-time.After(until):
		case err := <-fed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
		at[i] = float64(time.Now().UnixMilli()) / 1000
		if heap[i], busy[i], err = metrics(look); err != nil {
			return err
		}
	}
	cancel()
	if err := <-fed; err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	note := fmt.Sprintf("%s, %d adverts seen again, one in twenty changed", length, sent.Load())
	w.report.budget(Budget{
		What: "Today left open: heap grew by", Unit: "MB", Value: (heap[1] - heap[0]) / 1e6, Budget: 10,
		Note: fmt.Sprintf("%s; to %.1f MB", note, heap[1]/1e6),
	})
	w.report.budget(Budget{
		What: "Today left open: of a core, the page", Unit: "%", Value: 100 * (busy[1] - busy[0]) / (at[1] - at[0]),
		Budget: 3, Note: "its main thread",
	})
	return nil
}

// metrics are the bytes that a page's scripts hold after a collection, and the CPU seconds of its main thread.
func metrics(s playwright.CDPSession) (heap, busy float64, err error) {
	if _, err := s.Send("HeapProfiler.collectGarbage", nil); err != nil {
		return 0, 0, err
	}
	got, err := s.Send("Performance.getMetrics", nil)
	if err != nil {
		return 0, 0, err
	}
	answer, _ := got.(map[string]any)
	list, _ := answer["metrics"].([]any)
	for _, one := range list {
		m, _ := one.(map[string]any)
		v, ok := m["value"].(float64)
		if n, whole := m["value"].(int); whole {
			v, ok = float64(n), true
		}
		switch {
		case ok && m["name"] == "JSHeapUsedSize":
			heap = v
		case ok && m["name"] == "TaskDuration":
			busy = v
		}
	}
	if heap == 0 {
		return 0, 0, errors.New("the browser tells nothing of the heap")
	}
	return heap, busy, nil
}

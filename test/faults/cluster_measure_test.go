//go:build cluster

package faults

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// mostWithin is the span in which requests and messages are counted: the most that there were, whenever it began.
const mostWithin = 10 * time.Second

// A measured is what a run on a cluster shows beside its ledger.
type measured struct {
	Failures []suffered `json:"failures"` // in the order in which they struck
	Drains   []drained  `json:"drains"`   // by role
}

// A suffered is what was measured while a breakdown lasted and until all was well again.
type suffered struct {
	Failure  string  `json:"failure"`
	Lasted   float64 `json:"lasted_seconds"`    // until it was mended
	During   float64 `json:"seconds_to_go_on"`  // from its beginning until an advert published then was a listing; -1 = never
	After    float64 `json:"seconds_after_end"` // the same, from when it was mended
	Requests int     `json:"requests_in_10_s"`  // the most, to the crawled site
	Messages int     `json:"messages_in_10_s"`  // the most, of the campaign

	span span
}

// A drained is how long one role took to end each time that a rolling deploy asked it to, in seconds.
type drained struct {
	Role string    `json:"role"`
	Took []float64 `json:"took_seconds"`
}

// measure counts what came to the crawled site and to the WhatsApp API during each failure.
func (c *clustered) measure(requests *bell, api *cloudapi.API) (m measured) {
	asked := requests.times()
	var sent []time.Time
	for _, a := range api.Ledger() {
		sent = append(sent, a.At)
	}
	for _, s := range c.suffered {
		s.Requests, _ = most(s.span.only(asked), mostWithin)
		s.Messages, _ = most(s.span.only(sent), mostWithin)
		m.Failures = append(m.Failures, s)
	}
	for _, r := range c.roles {
		r.mu.Lock()
		d := drained{Role: r.name}
		for _, took := range r.drains {
			d.Took = append(d.Took, took.Seconds())
		}
		r.mu.Unlock()
		if len(d.Took) > 0 {
			m.Drains = append(m.Drains, d)
		}
	}
	return m
}

// String is the table.
func (m measured) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%-48s %8s %10s %10s %10s %10s\n", "FAILURE", "lasted", "goes on", "after end", "requests", "messages")
	for _, s := range m.Failures {
		fmt.Fprintf(&out, "%-48s %6.1f s %8.1f s %8.1f s %10d %10d\n",
			s.Failure, s.Lasted, s.During, s.After, s.Requests, s.Messages)
	}
	fmt.Fprintf(&out, "\nWork goes on when an advert published at the beginning, or at the end, of a failure is a listing. Requests to the\n"+
		"crawled site and messages are the most within %s.\n\n%-48s %s\n", mostWithin, "SIGTERM OF A ROLLING DEPLOY", "ended after")
	for _, d := range m.Drains {
		fmt.Fprintf(&out, "%-48s", d.Role)
		for _, took := range d.Took {
			fmt.Fprintf(&out, " %.1f s", took)
		}
		fmt.Fprintln(&out)
	}
	return out.String()
}

// only are the times within the span.
func (s span) only(all []time.Time) (in []time.Time) {
	for _, t := range all {
		if !t.Before(s.from) && t.Before(s.to) {
			in = append(in, t)
		}
	}
	return in
}

// A bell knows when requests came.
type bell struct {
	mu sync.Mutex
	at []time.Time
}

func (b *bell) before(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" { // it is not paced
			b.mu.Lock()
			b.at = append(b.at, time.Now())
			b.mu.Unlock()
		}
		h.ServeHTTP(w, r)
	})
}

// times are those of the requests so far, in order.
func (b *bell) times() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.SortedFunc(slices.Values(b.at), time.Time.Compare)
}

// most is the largest number of times, which are in order, within a span, and when that ended.
func most(times []time.Time, within time.Duration) (n int, at time.Time) {
	first := 0
	for i, t := range times {
		for t.Sub(times[first]) >= within {
			first++
		}
		if i-first+1 > n {
			n, at = i-first+1, t
		}
	}
	return n, at
}

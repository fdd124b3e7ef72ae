// Package crawlsite has web sites to crawl: graphs of pages made from a seed that know what a crawl of them must find,
// small fixed ones, folders of real sites, and traps that no crawler may fall into. A Watch counts what a crawler asks
// of them. Tests, the bench and the demo use it.
package crawlsite

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/crawl"
)

// A Want is what a crawl must make of one URL.
type Want struct {
	Depth  int         // links and redirects from the seed, by the shortest way
	State  crawl.State // a final one
	Status int         // of the HTTP answer, 0 = never requested
}

// A Watch counts the requests to a site. It is safe for concurrent use, and keeps a count for every URL.
type Watch struct {
	site http.Handler

	mu    sync.Mutex
	hits  map[string]int
	open  map[string]int
	hosts map[string]*Pace
}

// A Pace is how a host was asked, robots.txt left out.
type Pace struct {
	Requests int
	Gap      time.Duration // the least between the beginnings of two requests; 0 = there was one at most
	Most     int           // requests at once
	First    time.Time     // beginning of the first request
	Last     time.Time     // and of the last

	now int // requests that are being answered
}

// New watches a site.
func New(site http.Handler) *Watch {
	return &Watch{site: site, hits: map[string]int{}, open: map[string]int{}, hosts: map[string]*Pace{}}
}

func (w *Watch) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	defer w.enter(r.Host, r.URL.RequestURI(), time.Now())()
	w.site.ServeHTTP(rw, r)
}

// enter counts a request; the function that it returns says that it has been answered.
func (w *Watch) enter(host, uri string, now time.Time) (leave func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	url := "http://" + host + uri
	w.hits[url]++
	w.open[url]++
	p := w.hosts[host]
	if p == nil {
		p = &Pace{}
		w.hosts[host] = p
	}
	paced := uri != "/robots.txt"
	if paced {
		p.Requests++
		p.now++
		p.Most = max(p.Most, p.now)
		if gap := now.Sub(p.Last); !p.Last.IsZero() && (p.Gap == 0 || gap < p.Gap) {
			p.Gap = max(gap, 1)
		}
		if p.First.IsZero() {
			p.First = now
		}
		p.Last = now
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.open[url]--; w.open[url] == 0 {
			delete(w.open, url)
		}
		if paced {
			p.now--
		}
	}
}

// Hits says how often each URL was requested.
func (w *Watch) Hits() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.hits)
}

// Total is the number of requests.
func (w *Watch) Total() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, hits := range w.hits {
		n += hits
	}
	return n
}

// Open are the URLs that are being answered.
func (w *Watch) Open() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.open))
}

// Pace is how a host, by the Host header, was asked.
func (w *Watch) Pace(host string) Pace {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p := w.hosts[host]; p != nil {
		return *p
	}
	return Pace{}
}

// Package demosite is the outside world, faked by a server of ours that misbehaves on script. Tests use it, and so does
// the local stack, so that neither ever asks a real site for anything. It says on every page that it is a demo.
package demosite

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a Site. A zero field takes its default.
type Options struct {
	Now  func() time.Time // default time.Now
	Drip time.Duration    // the pause between two bytes of a slow answer; default 1 s
}

// Site is an http.Handler. It is safe for concurrent use and keeps everything in memory.
type Site struct {
	o   Options
	mux *http.ServeMux

	mu    sync.Mutex
	pages []page
	hits  map[string][]time.Time
}

type page struct{ path, about string }

// The memory of hits is bounded, for a demo may run for weeks.
const (
	maxPaths = 10_000
	maxHits  = 1_000
)

// New returns a site with photos and misbehaviour.
func New(o Options) *Site {
	o.Drip = cmp.Or(o.Drip, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Site{o: o, mux: http.NewServeMux(), hits: map[string][]time.Time{}}
	s.mux.HandleFunc("GET /{$}", s.index)
	s.Handle("/photos/{id}/{file}", "/photos/1/1.jpg", "a photo, drawn from its address: /photos/<id>/<n>.jpg",
		http.HandlerFunc(photo))
	for _, b := range bad(s) {
		s.Handle(b.pattern, cmp.Or(b.example, b.pattern), b.about, b.handler)
	}
	return s
}

// Handle adds a page: a ServeMux pattern, an example address that fits it and what it does, for the list on "/". It
// panics on a pattern that is taken.
func (s *Site) Handle(pattern, example, about string, h http.Handler) {
	s.mux.Handle(pattern, h)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = append(s.pages, page{example, about})
}

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	now := s.o.Now()
	s.mu.Lock()
	if at, ok := s.hits[r.URL.Path]; ok && len(at) < maxHits || !ok && len(s.hits) < maxPaths {
		s.hits[r.URL.Path] = append(at, now)
	}
	s.mu.Unlock()
	w.Header().Set("X-Demo", "this site is a demo: nothing on it is real")
	s.mux.ServeHTTP(w, r)
}

// Hits returns when the path was asked for, oldest first: the first 1,000 times, of the first 10,000 paths.
func (s *Site) Hits(path string) []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hits[path])
}

func (s *Site) index(w http.ResponseWriter, _ *http.Request) {
	var b strings.Builder
	s.mu.Lock()
	for _, p := range s.pages {
		fmt.Fprintf(&b, "<li><a href=\"%[1]s\">%[1]s</a> %[2]s</li>\n", html.EscapeString(p.path), html.EscapeString(p.about))
	}
	s.mu.Unlock()
	WritePage(w, "Demo site", "<ul>\n"+b.String()+"</ul>")
}

// WritePage answers with an HTML page that says that it is a demo. The title is text, the body is HTML.
func WritePage(w http.ResponseWriter, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="robots" content="noindex"><title>%[1]s (demo)</title></head>
<body><p><strong>This is a demo site. Nothing on it is real.</strong></p>
<h1>%[1]s</h1>
%[2]s
</body></html>
`, html.EscapeString(title), body)
}

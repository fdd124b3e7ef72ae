// Package demosite is the outside world, faked by a server of ours that misbehaves on script. Tests use it, and so does
// the local stack, so that neither ever asks a real site for anything. It says on every page that it is a demo.
package demosite

import (
	"cmp"
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options are the settings of a Site. A zero field takes its default.
type Options struct {
	Now   func() time.Time // default time.Now
	Drip  time.Duration    // the pause between two bytes of a slow answer; default 1 s
	Start time.Time        // when the inventory began to change; default Now at New

	Adverts int           // on Kijiji's half at the start, or 90; Kangalou has 1/2 as many, Centris 1/4; at most 100,000
	Limit   int           // as many as there will be by the clock on Kijiji's half; default 4 × Adverts
	Every   time.Duration // between two new adverts of a half; default 15 s
	Tempo   float64       // how fast the inventory changes; default 1, and 2 is twice as fast; not negative
	Frozen  bool          // nothing changes by the clock, Tempo or not; Publish and Patch still change it
	Seed    uint64        // other seeds, other adverts under the same numbers; default 1
}

// Site is an http.Handler. It is safe for concurrent use and keeps everything in memory.
type Site struct {
	o      Options
	mux    *http.ServeMux
	halves map[string]*half

	mu     sync.Mutex
	pages  []page
	hits   map[string][]time.Time
	script []script
	hooked []Hooked // newest first
}

type page struct{ path, about string }

// The memory of hits is bounded, for a demo may run for weeks.
const (
	maxPaths = 10_000
	maxHits  = 1_000
)

// New returns a site with the parts of Kijiji, Kangalou and Centris, photos and misbehaviour. Its inventory is a
// function of the seed and the time since the start; it has no goroutine. Homes are made at the first request for them.
func New(o Options) *Site {
	o.Drip = cmp.Or(o.Drip, time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Start.IsZero() {
		o.Start = o.Now()
	}
	o.Adverts = min(max(0, cmp.Or(o.Adverts, 90)), 100_000)
	o.Limit = min(max(o.Adverts, cmp.Or(o.Limit, 4*o.Adverts)), publishedFrom)
	o.Every, o.Tempo, o.Seed = cmp.Or(o.Every, 15*time.Second), cmp.Or(o.Tempo, 1), cmp.Or(o.Seed, 1)
	s := &Site{o: o, mux: http.NewServeMux(), hits: map[string][]time.Time{}, halves: map[string]*half{}}
	for platform, share := range map[string]int{Kijiji: 1, Kangalou: 2, Centris: 4} {
		s.halves[platform] = &half{
			platform: platform, seed: o.Seed, first: (o.Adverts + share - 1) / share, limit: (o.Limit + share - 1) / share,
			every: o.Every, fixed: map[string]fix{}, looks: map[string]*look{},
		}
	}
	s.halves[Centris].twins = s.halves[Kijiji]
	s.mux.HandleFunc("GET /{$}", s.index)
	s.mux.HandleFunc("GET /style.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css; charset=utf-8")
		_, _ = io.WriteString(w, style)
	})
	s.mux.HandleFunc("GET /robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, robots)
	})
	for _, category := range []string{"/b-apartments-condos/{slug}/", "/b-appartement-condo/{slug}/"} {
		search := s.view(Kijiji, "search", s.kijijiSearch)
		s.mux.Handle("GET "+category+"{place}", search)
		s.mux.Handle("GET "+category+"{page}/{place}", search)
	}
	s.mux.Handle("GET /v-apartments-condos/{city}/{slug}/{id}", s.view(Kijiji, "detail", s.kijijiDetail))
	s.mux.Handle("GET /fr/recherche/{$}", s.view(Kangalou, "search", s.kangalouSearch))
	s.mux.Handle("POST /fr/recherche/ajax/search-map/{$}", s.view(Kangalou, "search", s.kangalouPins))
	s.mux.Handle("GET /fr/appartement/{slug}/{id}/{$}", s.view(Kangalou, "detail", s.kangalouDetail))
	s.mux.Handle("GET "+centrisSearch, s.view(Centris, "search", s.centrisResults))
	s.mux.Handle("POST /Property/GetInscriptions", s.view(Centris, "search", s.centrisMore))
	s.mux.Handle("GET /fr/condo-appartement~a-louer~montreal/{id}", s.view(Centris, "detail", s.centrisDetail))
	s.admin()
	s.hook()
	s.Handle("/photos/{id}/{file}", "/photos/1/1.jpg", "a photo, drawn from its address: /photos/<id>/<n>.jpg",
		http.HandlerFunc(photo))
	s.shop()
	for _, b := range bad(s) {
		s.Handle(b.pattern, cmp.Or(b.example, b.pattern), b.about, b.handler)
	}
	return s
}

// robots is Kijiji's robots.txt, as far as the demo has it: everything that leads to adverts, but no filters.
const robots = `# This is a demo site.
User-agent: *
Disallow: /*?address=
Disallow: /*?bedrooms=
Disallow: /*?price=
Disallow: /*?radius=
Disallow: /*?sort=
Disallow: /*&address=
Disallow: /*&bedrooms=
Disallow: /*&price=
Disallow: /*&radius=
Disallow: /*&sort=
Disallow: /admin/
Disallow: /*?fault=
`

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
	e := html.EscapeString
	b.WriteString("<p>Three rental sites in one, made of real texts and prices of Quebec City (January 2018) under addresses, " +
		"coordinates and contacts that are made up. Their adverts appear, change, disappear and come back by the clock.</p>\n" +
		"<div class=\"halves\">\n")
	for _, half := range [][3]string{
		{Kijiji, kijijiPath, "Kijiji's half: the pages as the real site builds them, with their <code>__NEXT_DATA__</code>. " +
			"40 adverts a page and up to 6 paid ones; an advert that is gone leads to the search."},
		{Kangalou, kangalouPath, "Kangalou's half: our guess at the real site, after the elements that its scrapers look for. " +
			"20 adverts a page; the map asks <code>POST /fr/recherche/ajax/search-map/</code>."},
		{Centris, centrisPath(), "Centris' part: microdata as on the real site. 20 adverts a page; pages after the first are " +
			"answers to <code>POST /Property/GetInscriptions</code>. Every fifth home is on Kijiji's half too."},
	} {
		all, _ := s.Adverts(half[0]) // it is there
		gone := 0
		for _, a := range all {
			gone += bit(a.State == Removed)
		}
		fmt.Fprintf(&b, "<div class=\"box\"><h2><a href=\"%s\">%s</a></h2><p>%s</p><p class=\"sub\">%d adverts, %d more are "+
			"away just now. <a href=\"/admin/adverts?platform=%s\">All as JSON</a></p></div>\n",
			half[1], strings.ToUpper(half[0][:1])+half[0][1:], half[2], len(all)-gone, gone, half[0])
	}
	b.WriteString("</div>\n<h2>Drive it</h2>\n<table>\n")
	for _, p := range endpoints {
		fmt.Fprintf(&b, "<tr><th><code>%s</code></th><td>%s</td></tr>\n", e(p[0]), e(p[1]))
	}
	b.WriteString("</table>\n<h2>Faults</h2>\n<p>By <code>POST /admin/faults</code>, or on one page by its query. A 429 and a 503 " +
		"take <code>&amp;retry_after=</code> seconds.</p>\n<ul>\n")
	for _, k := range kinds {
		fmt.Fprintf(&b, "<li><a href=\"%s?fault=%s\">%[2]s</a> %s</li>\n", kijijiPath, k[0], e(k[1]))
	}
	b.WriteString("</ul>\n<h2>A shop, photos, and addresses that misbehave</h2>\n<ul>\n")
	s.mu.Lock()
	for _, p := range s.pages {
		fmt.Fprintf(&b, "<li><a href=\"%[1]s\">%[1]s</a> %[2]s</li>\n", e(p.path), e(p.about))
	}
	s.mu.Unlock()
	WritePage(w, "Demo site", b.String()+"</ul>")
}

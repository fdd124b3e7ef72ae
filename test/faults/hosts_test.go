package faults

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// A host is one image host of the outside world. All of them can be stalled.
type host struct {
	name string
	url  string
	gone bool // it answers 404 to every request

	mu   sync.Mutex
	held chan struct{}  // while it is stalled; closed when it goes on
	hits map[string]int // by path
}

// newHosts opens the image hosts: two that are well, one that drips, one that fails the first time, one without any
// picture, and one whose pictures cost the reader a thousand times their size.
func newHosts(serve func(http.Handler) *httptest.Server) map[string]*host {
	all := map[string]*host{}
	for name, answer := range map[string]func(*host, http.ResponseWriter, *http.Request){
		"well":   func(_ *host, w http.ResponseWriter, r *http.Request) { _, _ = w.Write(picture(r.URL.Path)) },
		"better": func(_ *host, w http.ResponseWriter, r *http.Request) { _, _ = w.Write(picture(r.URL.Path)) },
		"slow":   drip,
		"moody": func(h *host, w http.ResponseWriter, r *http.Request) {
			if h.asked(r.URL.Path) == 1 {
				http.Error(w, "not now", http.StatusInternalServerError)
				return
			}
			_, _ = w.Write(picture(r.URL.Path))
		},
		"poison": func(_ *host, w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(costly()) },
		"empty":  func(_ *host, w http.ResponseWriter, _ *http.Request) { http.Error(w, "gone", http.StatusNotFound) },
	} {
		h := &host{name: name, gone: name == "empty", hits: map[string]int{}}
		h.url = serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h.mu.Lock()
			h.hits[r.URL.Path]++
			held := h.held
			h.mu.Unlock()
			if held != nil {
				select {
				case <-held:
				case <-r.Context().Done():
					return
				}
			}
			answer(h, w, r)
		})).URL
		all[name] = h
	}
	return all
}

// stall makes the host take requests and say nothing; the function that it returns lets it go on.
func (h *host) stall() (resume func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := make(chan struct{})
	h.held = held
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		close(held)
		h.held = nil
	}
}

func (h *host) asked(path string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.hits[path]
}

// waiting says how many pictures were asked for in all.
func (h *host) total() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.hits {
		n += k
	}
	return n
}

// drip sends a picture in a second.
func drip(_ *host, w http.ResponseWriter, r *http.Request) {
	all := picture(r.URL.Path)
	out := http.NewResponseController(w)
	for n := range 10 {
		_, err := w.Write(all[len(all)*n/10 : len(all)*(n+1)/10])
		if err != nil || out.Flush() != nil || !pause(r.Context(), 100*time.Millisecond) {
			return
		}
	}
}

// picture draws a small one from its address, each different from all others.
func picture(path string) []byte {
	img := image.NewGray(image.Rect(0, 0, 64, 48))
	for at, n := 0, 0; at < len(img.Pix); n++ {
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", path, n))
		at += copy(img.Pix[at:], sum[:])
	}
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// addresses are the hosts that downloads may reach although they are in a private network.
func addresses(all map[string]*host) string {
	var list []string
	for _, h := range all {
		list = append(list, strings.TrimPrefix(h.url, "http://"))
	}
	return strings.Join(list, ",")
}

package demosite_test

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/sim/demosite"
)

func TestPhoto(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, id := range []string{"1", "1668602387", "é\x00", strings.Repeat("x", 100)} {
		for _, n := range []int{1, 2, 9999} {
			data := demosite.Photo(id, n)
			if !bytes.Equal(data, demosite.Photo(id, n)) {
				t.Errorf("Photo(%q, %d) changes", id, n)
			}
			name := fmt.Sprint(id, " ", n)
			assert.Empty(t, seen[string(data)], name)
			seen[string(data)] = name
			m, err := jpeg.Decode(bytes.NewReader(data))
			if err != nil || m.Bounds() != image.Rect(0, 0, 800, 600) {
				t.Errorf("Photo(%s): %v, %v", name, m.Bounds(), err)
			}
		}
	}
}

func TestSite(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	site := demosite.New(demosite.Options{Now: func() time.Time { return now }, Drip: time.Millisecond})
	for _, tt := range []struct {
		path   string
		code   int
		header string // "Name: value"
	}{
		{"/", 200, "Content-Type: text/html; charset=utf-8"},
		{"/photos/1/1.jpg", 200, "Content-Type: image/jpeg"},
		{"/photos/1/0.jpg", 404, ""},
		{"/photos/1/x.png", 404, ""},
		{"/photos/" + strings.Repeat("x", 101) + "/1.jpg", 404, ""},
		{"/nothing", 404, ""},
		{"/bad/404", 404, ""},
		{"/bad/410", 410, ""},
		{"/bad/403", 403, ""},
		{"/bad/500", 500, ""},
		{"/bad/429", 429, "Retry-After: 7"},
		{"/bad/429?after=9999", 429, "Retry-After: 9999"},
		{"/bad/429-date", 429, "Retry-After: Fri, 20 Nov 2026 12:01:30 GMT"},
		{"/bad/503-then-ok/a", 503, "Retry-After: 1"},
		{"/bad/503-then-ok/a", 503, "Retry-After: 1"},
		{"/bad/503-then-ok/a", 200, "Content-Type: image/jpeg"},
		{"/bad/503-then-ok/b", 503, "Retry-After: 1"},
		{"/bad/html", 200, "Content-Type: image/jpeg"},
		{"/bad/redirect-loop", 302, "Location: /bad/redirect-loop"},
		{"/bad/redirect-chain/6", 302, "Location: /bad/redirect-chain/5"},
		{"/bad/redirect-chain/1", 302, "Location: /photos/chain/1.jpg"},
		{"/bad/redirect-chain/0", 404, ""},
		{"/bad/redirect-private", 302, "Location: http://169.254.169.254/latest/"},
		{"/bad/redirect-file", 302, "Location: file:///etc/passwd"},
		{"/bad/huge", 200, "Content-Length: 26214400"},
		{"/bad/empty", 200, "Content-Length: 0"},
		{"/bad/png-30000", 200, "Content-Type: image/png"},
	} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, tt.path, nil))
		name, value, _ := strings.Cut(tt.header, ": ")
		if w.Code != tt.code || name != "" && w.Header().Get(name) != value {
			t.Errorf("GET %s = %d %v; want %d, %s", tt.path, w.Code, w.Header(), tt.code, tt.header)
		}
		assert.NotEmpty(t, w.Header().Get("X-Demo"), tt.path)
	}
	if hits := site.Hits("/bad/503-then-ok/a"); len(hits) != 3 || !hits[0].Equal(now) {
		t.Errorf("Hits = %v; want three at %s", hits, now)
	}

	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
	for _, want := range []string{"demo site", "/photos/1/1.jpg", "/bad/gzip-bomb", "/bad/503-then-ok/1"} {
		assert.Contains(t, w.Body.String(), want)
	}
	w = httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/bad/png-30000", nil))
	if c, err := png.DecodeConfig(w.Body); err != nil || c.Width != 30_000 || c.Height != 30_000 {
		t.Errorf("png-30000 is %+v, %v", c, err)
	}
}

// These need a connection to misbehave on.
func TestSiteOnTheWire(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(demosite.New(demosite.Options{Drip: time.Hour}))
	t.Cleanup(srv.Close)
	for _, tt := range []struct {
		path string
		read int64 // bytes that come before the reader has had enough
		fail bool
	}{
		{"/bad/endless", 1 << 20, false},
		{"/bad/slow", 1, false},
		{"/bad/gzip-bomb", 1 << 20, false},
		{"/bad/length", 1 << 20, true},
		{"/bad/reset", 0, true},
	} {
		t.Run(tt.path, func(t *testing.T) {
			t.Parallel()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+tt.path, nil)
			require.NoError(t, err)
			resp, err := srv.Client().Do(req)
			if err == nil {
				_, err = io.CopyN(io.Discard, resp.Body, tt.read)
				_ = resp.Body.Close()
			}
			if (err != nil) != tt.fail {
				t.Errorf("read %d bytes: %v", tt.read, err)
			}
		})
	}
}

func TestHandle(t *testing.T) {
	t.Parallel()
	site := demosite.New(demosite.Options{})
	site.Handle("/v-apartments/{id}", "/v-apartments/7", "an advert <b>", http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			demosite.WritePage(w, "<"+r.PathValue("id")+">", "<p>ok</p>")
		}))
	for path, want := range map[string]string{
		"/v-apartments/7": "<h1>&lt;7&gt;</h1>",
		"/":               "/v-apartments/7</a> an advert &lt;b&gt;",
	} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("GET %s = %s; want %q", path, w.Body, want)
		}
	}
}

func BenchmarkPhoto(b *testing.B) {
	for b.Loop() {
		demosite.Photo("1", 2)
	}
}

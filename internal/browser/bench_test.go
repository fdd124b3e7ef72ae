//go:build linux

package browser_test

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
)

// BenchmarkLoad loads a page as large as a search page, two at once, and tells pages a second, CPU time a page and the
// memory of Chromium and driver at the tenth page and at the last: `go test -bench Load -benchtime 300x ./internal/browser`.
func BenchmarkLoad(b *testing.B) {
	s := newSite(b)
	var page strings.Builder
	page.WriteString(`<!DOCTYPE html><title>Appartements</title><style>p{font-family:x}</style>`)
	for i := range 46 {
		fmt.Fprintf(&page, `<div class=card><img src="/photo/%d.jpg" width=200 height=150><p>4½ à louer, Montréal %d</p></div>`, i, i)
	}
	page.WriteString(`<script id="__NEXT_DATA__" type="application/json">"` + strings.Repeat("4½ à louer ", 4000) + `"</script>`)
	s.html("/", page.String())
	s.HandleFunc("/photo/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/jpeg")
		_, _ = w.Write(make([]byte, 20_000))
	})
	br, chromium, driver := marked(b, browser.Options{}, s)
	load := func() {
		if p, err := br.Load(b.Context(), web.Request{URL: s.URL + "/"}); err != nil || len(p.Body) < 50_000 {
			b.Errorf("Load = %d bytes, %v", len(p.Body), err)
		}
	}
	for range 10 {
		load()
	}
	rss := func() (bytes, ticks float64) {
		for _, p := range append(chromium(), driver()...) {
			stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
			f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
			if len(f) < 22 {
				continue // ended since
			}
			pages, _ := strconv.ParseFloat(f[21], 64)
			user, _ := strconv.ParseFloat(f[11], 64)
			system, _ := strconv.ParseFloat(f[12], 64)
			gone, _ := strconv.ParseFloat(f[13], 64) // of children that have ended
			more, _ := strconv.ParseFloat(f[14], 64)
			bytes, ticks = bytes+pages*float64(os.Getpagesize()), ticks+user+system+gone+more
		}
		return bytes, ticks
	}
	before, spent := rss()
	b.ResetTimer()
	var both sync.WaitGroup
	for half := range 2 {
		both.Go(func() {
			for range (b.N + half) / 2 {
				load()
			}
		})
	}
	both.Wait()
	b.StopTimer()
	after, end := rss()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric((end-spent)*10/float64(b.N), "cpu-ms/page")
	b.ReportMetric(before/(1<<20), "MiB-first")
	b.ReportMetric(after/(1<<20), "MiB-last")
	for _, asked := range s.requests() {
		if asked != "GET /" {
			b.Logf("asked for %s", asked)
		}
	}
}

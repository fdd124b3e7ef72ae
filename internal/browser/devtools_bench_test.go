//go:build linux

package browser_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/devstack"
)

// BenchmarkCapture takes a product page of 100 KB with 24 pictures, two at once, and tells pages a second, CPU time a
// page of Chromium and of the driver, and Chromium's memory: `go test -bench Capture -benchtime 100x ./internal/browser`.
func BenchmarkCapture(b *testing.B) {
	s := newSite(b)
	shop(s)
	stack := startChromium(b)
	d := drive(b, stack, browser.DevtoolsOptions{}, s)
	take := func() {
		c, err := d.Capture(b.Context(), s.URL+"/shop", "", draft.Secrets{})
		if err != nil || c.Unstable || len(c.HTML) < 90_000 {
			b.Errorf("Capture = %d bytes, unstable %t, %v", len(c.HTML), c.Unstable, err)
		}
	}
	for range 10 {
		take()
	}
	chromium := func() []proc { return family(stack.Pid(devstack.Chromium)) }
	driver := func() (list []proc) {
		for _, p := range procs() {
			if p.parent == os.Getpid() && strings.Contains(p.line, "run-driver") {
				list = append(list, p)
			}
		}
		return list
	}
	_, before := used(chromium())
	_, drove := used(driver())
	b.ResetTimer()
	var both sync.WaitGroup
	var mu sync.Mutex
	var most float64
	for half := range 2 {
		both.Go(func() {
			for range (b.N + half) / 2 {
				take()
				now, _ := used(chromium())
				mu.Lock()
				most = max(most, now)
				mu.Unlock()
			}
		})
	}
	both.Wait()
	b.StopTimer()
	after, spent := used(chromium())
	node, driven := used(driver())
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric((spent-before)*10/float64(b.N), "chromium-cpu-ms/page")
	b.ReportMetric((driven-drove)*10/float64(b.N), "driver-cpu-ms/page")
	b.ReportMetric(most/(1<<20), "MiB-most")
	b.ReportMetric(after/(1<<20), "MiB-last")
	b.ReportMetric(node/(1<<20), "MiB-driver")
}

// used is the resident memory of processes, shared memory counted for each, and their CPU time in ticks of 10 ms, with
// that of their children that have ended.
func used(list []proc) (bytes, ticks float64) {
	for _, p := range list {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(f) < 22 {
			continue // ended since
		}
		pages, _ := strconv.ParseFloat(f[21], 64)
		bytes += pages * float64(os.Getpagesize())
		for _, i := range []int{11, 12, 13, 14} {
			n, _ := strconv.ParseFloat(f[i], 64)
			ticks += n
		}
	}
	return bytes, ticks
}

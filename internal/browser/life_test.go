//go:build linux

package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// eventually polls until ok, with patience.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 20*time.Millisecond, what)
}

// proc is a running process and its command line.
type proc struct {
	pid, parent, session int
	line                 string
}

// drives says whether it runs the driver of a folder, in a cell of its own.
func (p proc) drives(folder string) bool {
	before, _, ok := strings.Cut(p.line, "/package/cli.js run-driver")
	origin, _ := os.Readlink(filepath.Dir(before[strings.LastIndexByte(before, ' ')+1:]) + "/origin")
	return ok && origin == folder
}

func procs() []proc {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	var out []proc
	for _, dir := range dirs {
		stat, _ := os.ReadFile(dir + "/stat")
		line, _ := os.ReadFile(dir + "/cmdline")
		f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(f) < 5 || f[0] == "Z" {
			continue
		}
		p := proc{line: strings.ReplaceAll(string(line), "\x00", " ")}
		p.pid, _ = strconv.Atoi(filepath.Base(dir))
		p.parent, _ = strconv.Atoi(f[1])
		p.session, _ = strconv.Atoi(f[3])
		out = append(out, p)
	}
	return out
}

// marked gives a browser an executable of its own name, so that its processes are told from those of other tests.
func marked(t testing.TB, o browser.Options, sites ...*site) (b *browser.Browser, procsOfChromium, driver func() []proc) {
	t.Helper()
	dir := t.TempDir()
	real := os.Getenv("CONVEYOR_BROWSER_DRIVER")
	if real == "" {
		real = chromium.DefaultDriver()
	}
	for _, name := range []string{"node", "package"} {
		require.NoError(t, os.Symlink(filepath.Join(real, name), filepath.Join(dir, name)))
	}
	t.Setenv("CONVEYOR_BROWSER_DRIVER", dir)
	b = launch(t, o, sites...)
	driver = func() (out []proc) {
		for _, p := range procs() {
			if p.parent == os.Getpid() && p.drives(dir) {
				out = append(out, p)
			}
		}
		return out
	}
	procsOfChromium = func() (out []proc) {
		drivers := driver()
		all := procs()
		for _, p := range all {
			for _, d := range drivers {
				if p.parent == d.pid {
					for _, m := range all {
						if m.session == p.pid {
							out = append(out, m)
						}
					}
				}
			}
		}
		return out
	}
	return b, procsOfChromium, driver
}

// gate is a page that answers once it is let through.
func gate(s *site, path string) (asked chan struct{}, let func()) {
	asked = make(chan struct{}, 10)
	through := make(chan struct{})
	s.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-through:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<p>through")
	})
	return asked, sync.OnceFunc(func() { close(through) })
}

// arrives waits for a request at a gate. One that does not come fails the test at once, not the run after its 40 minutes.
func arrives(t testing.TB, asked <-chan struct{}) {
	t.Helper()
	select {
	case <-asked:
	case <-time.After(patience + time.Minute): // more than a page may take
		t.Fatal("the site was not asked")
	}
}

func load(b *browser.Browser, url string) chan error {
	out := make(chan error, 1)
	go func() {
		p, err := b.Load(context.Background(), web.Request{URL: url})
		if err == nil && !strings.Contains(string(p.Body), "through") {
			err = fmt.Errorf("body is %q", p.Body)
		}
		out <- err
	}()
	return out
}

// restarts counts the ends of a Chromium for a reason.
func restarts(registry *prometheus.Registry, reason string) int {
	families, _ := registry.Gather()
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "conveyor_browser_restarts_total" && m.GetLabel()[0].GetValue() == reason {
				return int(m.GetCounter().GetValue())
			}
		}
	}
	return 0
}

// A page in hand survives the planned end of its Chromium, for any reason.
func TestRestartKeepsThePageInHand(t *testing.T) {
	clock := struct {
		sync.Mutex
		at time.Time
	}{at: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)}
	now := func() time.Time { clock.Lock(); defer clock.Unlock(); return clock.at }
	registry := prometheus.NewRegistry()
	s := newSite(t)
	s.html("/", "<p>through")
	b, _, driver := marked(t, browser.Options{Now: now, MaxCycles: 2, Registerer: registry}, s)
	for reason, due := range map[string]func(){
		"cycles": func() { b.CycleDone(); b.CycleDone() },
		"age":    func() { clock.Lock(); defer clock.Unlock(); clock.at = clock.at.Add(2 * time.Hour) },
	} {
		asked, let := gate(s, "/"+reason)
		inHand := load(b, s.URL+"/"+reason)
		arrives(t, asked)
		before := driver()
		due()
		if err := <-load(b, s.URL+"/"); err != nil { // the next one, in the next generation
			t.Fatal(err)
		}
		if now := driver(); len(before) != 1 || len(now) != 2 {
			t.Errorf("%s: %d drivers, then %d; want one more while the old one has a page", reason, len(before), len(now))
		}
		let()
		assert.NoErrorf(t, <-inHand, "%s: the page in hand", reason)
		assert.Empty(t, asked, reason)
		eventually(t, "the old generation's end", func() bool { return len(driver()) == 1 })
		assert.Equal(t, 1, restarts(registry, reason), reason)
	}
}

// Memory above the limit is noticed without a request for a page.
func TestRestartForMemory(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newSite(t)
	s.html("/", "<p>through")
	asked, let := gate(s, "/gate")
	b, _, driver := marked(t, browser.Options{MaxRSS: 500 << 20, Registerer: registry}, s)
	inHand := load(b, s.URL+"/gate")
	arrives(t, asked)
	eventually(t, "a restart for memory", func() bool {
		n, _ := testutil.GatherAndCount(registry, "conveyor_browser_restarts_total")
		return n == 1
	})
	let()
	require.NoError(t, <-inHand)
	eventually(t, "the end of the large one", func() bool { return len(driver()) == 0 })
}

// When any process dies under a page, the page is loaded by the next Chromium; a second death is a fault that may pass.
func TestDeathUnderAPage(t *testing.T) {
	s := newSite(t)
	b, chromium, driver := marked(t, browser.Options{}, s)
	kill := func(list []proc, sig syscall.Signal, match func(proc) bool) {
		n := 0
		for _, p := range list {
			if match(p) {
				n++
				_ = syscall.Kill(p.pid, sig)
			}
		}
		assert.NotZero(t, n, list)
	}
	isMain := func(p proc) bool { return p.pid == p.session }
	isRenderer := func(p proc) bool { return strings.Contains(p.line, "--type=renderer") }
	any := func(proc) bool { return true }
	for _, tt := range []struct {
		name string
		slow bool
		kill func()
	}{
		{"chromium", false, func() { kill(chromium(), syscall.SIGKILL, isMain) }},
		{"all of chromium", true, func() { kill(chromium(), syscall.SIGKILL, any) }},
		{"renderer", false, func() { kill(chromium(), syscall.SIGKILL, isRenderer) }},
		{"driver", true, func() { kill(driver(), syscall.SIGKILL, any) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.slow {
				servicetest.Slow(t, servicetest.TestSlow)
			}
			path := "/" + strings.ReplaceAll(tt.name, " ", "-")
			asked, let := gate(s, path)
			inHand := load(b, s.URL+path)
			arrives(t, asked)
			before := chromium()
			tt.kill()
			arrives(t, asked)
			let()
			assert.NoError(t, <-inHand)
			if tt.name == "renderer" {
				return // one page of many
			}
			eventually(t, "the end of the other processes", func() bool { return !anyOf(before) && !exists(profileOf(before)) })
		})
	}
	t.Run("twice", func(t *testing.T) {
		asked, _ := gate(s, "/twice")
		inHand := load(b, s.URL+"/twice")
		for range 2 {
			arrives(t, asked)
			kill(chromium(), syscall.SIGKILL, isMain)
		}
		err := <-inHand
		if class, _ := fault.Of(err); class != fault.Transient || !strings.Contains(fmt.Sprint(err), "browser ended") {
			t.Errorf("Load = %v (%s); want transient", err, class)
		}
	})
	t.Run("chromium that hangs", func(t *testing.T) {
		servicetest.Slow(t, servicetest.TestSlow)
		o := browser.Options{Timeout: 3 * time.Second}
		b, chromium, _ := marked(t, o, s)
		asked, _ := gate(s, "/hangs")
		inHand := load(b, s.URL+"/hangs")
		arrives(t, asked)
		before := chromium()
		kill(before, syscall.SIGSTOP, any)
		if err := <-inHand; err == nil || !strings.Contains(err.Error(), "timed out") {
			t.Errorf("Load = %v; want timed out", err)
		}
		eventually(t, "the end of the hanging processes", func() bool { return !anyOf(before) })
		s.html("/after", "<p>through")
		assert.NoError(t, <-load(b, s.URL+"/after"))
	})
}

// Ctrl-C of a terminal reaches the driver as well as the process that drains its pages.
func TestInterruptKeepsThePageInHand(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := newSite(t)
	s.html("/", "<p>through")
	b, chromium, driver := marked(t, browser.Options{Registerer: registry}, s)
	asked, let := gate(s, "/gate")
	inHand := load(b, s.URL+"/gate")
	arrives(t, asked)
	all := append(chromium(), driver()...)
	for _, p := range driver() {
		_ = syscall.Kill(p.pid, syscall.SIGINT)
	}
	if err := <-load(b, s.URL+"/"); err != nil { // the driver has seen the signal
		t.Fatal(err)
	}
	let()
	require.NoError(t, <-inHand)
	if n := restarts(registry, "crash"); n != 0 || len(asked) > 0 {
		t.Errorf("%d crashes, and the page was asked for %d more times; want none", n, len(asked))
	}
	b.Close()
	require.False(t, anyOf(all), all)
}

// anyOf says whether one of these runs still.
func anyOf(list []proc) bool {
	for _, p := range procs() {
		for _, q := range list {
			if p.pid == q.pid && p.session == q.session {
				return true
			}
		}
	}
	return false
}

func TestCloseLeavesNothing(t *testing.T) {
	s := newSite(t)
	asked, _ := gate(s, "/")
	b, chromium, driver := marked(t, browser.Options{}, s)
	inHand := load(b, s.URL+"/")
	arrives(t, asked)
	all := append(chromium(), driver()...)
	require.GreaterOrEqual(t, len(all), 4, all)
	b.Close()
	require.False(t, anyOf(all), all)
	require.ErrorIs(t, <-inHand, browser.ErrClosed)
	if profile := profileOf(all); profile == "" || exists(profile) {
		t.Errorf("profile %q is left", profile)
	}
}

// profileOf is the folder of a Chromium, "" where it does not say.
func profileOf(family []proc) string {
	for _, p := range family {
		if _, rest, ok := strings.Cut(p.line, "--user-data-dir="); ok {
			dir, _, _ := strings.Cut(rest, " ")
			return dir
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// More pages than allowed wait, and give up with their caller.
func TestPagesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var open, most atomic.Int32
	through := make(chan struct{})
	s.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		most.Store(max(most.Load(), open.Add(1)))
		<-through
		open.Add(-1)
		fmt.Fprint(w, "<html><p>through")
	})
	b := launch(t, browser.Options{Pages: 2}, s)
	var all []chan error
	for range 4 {
		all = append(all, load(b, s.URL+"/"))
	}
	eventually(t, "two pages", func() bool { return open.Load() == 2 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Load(ctx, web.Request{URL: s.URL + "/"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v; want cancelled", err)
	}
	close(through)
	for _, one := range all {
		assert.NoError(t, <-one)
	}
	require.EqualValues(t, 2, most.Load(), "pages at once")
}

// A process that is killed takes its Chromium with it. The test is its own victim.
func TestKilledWithItsProcess(t *testing.T) {
	const victim = "CONVEYOR_TEST_VICTIM"
	if url := os.Getenv(victim); url != "" {
		o := browser.Options{
			Executable: os.Getenv("CONVEYOR_BROWSER"), Driver: os.Getenv("CONVEYOR_BROWSER_DRIVER"),
			Dial: fetch.Dial([]string{strings.TrimPrefix(strings.TrimSuffix(url, "/"), "http://")}, nil),
		}
		_, err := browser.New(o).Load(context.Background(), web.Request{URL: url})
		t.Fatal(err)
	}
	s := newSite(t)
	asked, _ := gate(s, "/")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKilledWithItsProcess$")
	cmd.Env = append(os.Environ(), victim+"="+s.URL+"/")
	require.NoError(t, cmd.Start())
	arrives(t, asked)
	var family []proc
	for _, d := range procs() {
		if d.parent != cmd.Process.Pid {
			continue
		}
		family = append(family, d)
		for _, c := range procs() {
			for _, m := range procs() {
				if c.parent == d.pid && m.session == c.pid {
					family = append(family, m)
				}
			}
		}
	}
	require.GreaterOrEqual(t, len(family), 4, family)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "the end of the started processes", func() bool { return !anyOf(family) })
}

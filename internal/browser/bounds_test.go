//go:build linux

package browser_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A page that takes memory until it gets no more.
const hungry = `<p>hungry<script>const a=[];function f(){
	try{for(let i=0;i<16;i++)a.push(new Uint8Array(1<<26).fill(1))}catch{for(;;)a.push(new Array(1e5).fill(a))}
	document.body.append("x");setTimeout(f)}f()</script>`

// group are the processes of a Chromium of a stack, with their memory in bytes.
func group(stack *devstack.Stack) (list []proc, memory int64) {
	for _, p := range procs() {
		if g, err := syscall.Getpgid(p.pid); err == nil && g == stack.Pid(devstack.Chromium) {
			list = append(list, p)
			statm, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.pid))
			var all, resident int64
			_, _ = fmt.Sscan(string(statm), &all, &resident)
			memory += resident * int64(os.Getpagesize())
		}
	}
	return list, memory
}

// peak samples the most memory of a Chromium until done is closed.
func peak(stack *devstack.Stack, done <-chan struct{}) <-chan int64 {
	out := make(chan int64, 1)
	go func() {
		var most int64
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				out <- most
				return
			case <-tick.C:
				_, now := group(stack)
				most = max(most, now)
			}
		}
	}()
	return out
}

// Pages that eat memory fail, each for itself: one that is open beside them is taken, and so is the next.
func TestHungryCapture(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	s := newSite(t)
	stack := startChromium(t)
	d := drive(t, stack, browser.DevtoolsOptions{Pages: 2, Timeout: patience}, s)
	s.html("/hungry", hungry)
	s.html("/next", "<p>through")
	asked, let := gate(s, "/beside")
	beside := capture(d, s.URL+"/beside")
	arrives(t, asked)
	before, done := stack.Pid(devstack.Chromium), make(chan struct{})
	most := peak(stack, done)
	_, err := d.Capture(context.Background(), s.URL+"/hungry", "", draft.Secrets{})
	close(done)
	if class, _ := fault.Of(err); class != fault.Transient || !strings.Contains(fmt.Sprint(err), "page crashed") {
		t.Errorf("Capture = %v (%s); want a page that crashed", err, class)
	}
	let()
	require.NoError(t, <-beside, "the page beside it")
	require.NoError(t, <-capture(d, s.URL+"/next"), "the next page")
	require.Equal(t, before, stack.Pid(devstack.Chromium), "Chromium was restarted")
	if mib := <-most >> 20; mib > 3<<10 {
		t.Errorf("Chromium took %d MiB", mib)
	} else {
		t.Logf("Chromium took at most %d MiB", mib)
	}
}

// The pages of rental sites are bound as well.
func TestHungryLoad(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	s := newSite(t)
	s.html("/hungry", `<p>hungry<script>const a=[];for(;;)a.push(new Uint8Array(1<<26).fill(1))</script>`)
	s.html("/next", "<p>through")
	b := launch(t, browser.Options{Timeout: patience}, s)
	err := <-load(b, s.URL+"/hungry")
	if class, _ := fault.Of(err); class != fault.Transient {
		t.Errorf("Load = %v (%s); want transient", err, class)
	}
	require.NoError(t, <-load(b, s.URL+"/next"), "the next page")
}

// lookEvery is the pause between two looks at the processes of a Chromium: each costs milliseconds.
const lookEvery = 20 * time.Millisecond

// A page of frames of many sites, which opens windows, does not get a process for each.
func TestManyFrames(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	s := newSite(t)
	stack := startChromium(t)
	var dialed atomic.Int32
	d := drive(t, stack, browser.DevtoolsOptions{Timeout: patience, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		dialed.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String())
	}})
	s.html("/frame", "<p>frame")
	page := "<p>frames"
	for i := range 60 {
		page += fmt.Sprintf(`<iframe src="http://site%d.test/frame"></iframe><iframe sandbox src="/frame"></iframe>`, i)
	}
	s.html("/many", page+`<script>for(let i=0;i<10;i++)open("http://window"+i+".test/frame","_blank","noopener")</script>`)
	s.html("/next", "<p>through")
	most, done, looked := 0, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(looked)
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		for {
			select {
			case <-done:
				return
			case <-look.C:
			}
			list, _ := group(stack)
			renderers := 0
			for _, p := range list {
				if strings.Contains(p.line, "--type=renderer") {
					renderers++
				}
			}
			most = max(most, renderers)
		}
	}()
	if _, err := d.Capture(context.Background(), "http://shop.test/many", "", draft.Secrets{}); err != nil {
		t.Error(err)
	}
	close(done)
	<-looked
	t.Logf("at most %d renderers for %d connections", most, dialed.Load())
	require.LessOrEqual(t, most, 20, "renderers for a page")
	require.NoError(t, <-capture(d, "http://shop.test/next"), "the next page")
}

// Nothing of ours is in the environment of the driver and of Chromium, which runs in its sandbox and not as root.
func TestCellOfChromium(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://secret")
	t.Setenv("RABBITMQ_URL", "amqp://secret")
	t.Setenv("CONVEYOR_API_KEY", "secret")
	s := newSite(t)
	asked, let := gate(s, "/")
	b, chromium, driver := marked(t, browser.Options{}, s)
	inHand := load(b, s.URL+"/")
	arrives(t, asked)
	all := append(chromium(), driver()...)
	require.GreaterOrEqual(t, len(all), 4, all)
	for _, p := range all {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		if strings.Contains(string(environ), "secret") || strings.Contains(string(environ), "CONVEYOR") {
			t.Errorf("environment of %.80s: %.500q", p.line, environ)
		}
		assert.NotContains(t, p.line, "--no-sandbox")
		info, err := os.Stat(fmt.Sprintf("/proc/%d", p.pid))
		if err == nil && os.Geteuid() == 0 && info.Sys().(*syscall.Stat_t).Uid == 0 {
			t.Errorf("runs as root: %.80s", p.line)
		}
	}
	let()
	require.NoError(t, <-inHand)
}

// A Chromium that has grown too large loses its largest page, and goes on.
func TestTrim(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()
	s := newSite(t)
	stack := startChromium(t)
	d := drive(t, stack, browser.DevtoolsOptions{Timeout: patience}, s)
	s.html("/next", "<p>through")
	asked, _ := gate(s, "/")
	inHand := capture(d, s.URL+"/")
	arrives(t, asked)
	pid := stack.Pid(devstack.Chromium)
	require.Empty(t, chromium.Trim(pid, chromium.MaxMemory))
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for left := true; left; { // it may keep an empty page in reserve
		select {
		case err := <-inHand:
			left = false
			if class, _ := fault.Of(err); class != fault.Transient {
				t.Errorf("Capture = %v (%s); want transient", err, class)
			}
		case <-look.C:
			_ = chromium.Trim(pid, 1<<20)
		}
	}
	require.NoError(t, <-capture(d, s.URL+"/next"))
	require.Equal(t, pid, stack.Pid(devstack.Chromium), "Chromium was restarted")
}

//go:build linux

package browser_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/playwright-community/playwright-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/chromium"
	"github.com/mtlrent/conveyor/internal/devstack"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// ownDriver is a folder of a driver, of its own so that its processes are told from those of other tests.
func ownDriver(t testing.TB) (dir string, running func() []proc) {
	t.Helper()
	dir = t.TempDir()
	real := os.Getenv("CONVEYOR_BROWSER_DRIVER")
	if real == "" {
		real = chromium.DefaultDriver()
	}
	for _, name := range []string{"node", "package"} {
		require.NoError(t, os.Symlink(filepath.Join(real, name), filepath.Join(dir, name)))
	}
	return dir, func() (out []proc) {
		for _, p := range procs() {
			if p.drives(dir) {
				out = append(out, p)
			}
		}
		return out
	}
}

// family is a process and its descendants.
func family(pid int) (list []proc) {
	all := procs()
	for _, p := range all {
		if p.pid == pid {
			list = append(list, p)
		}
	}
	for i := 0; i < len(list); i++ {
		for _, p := range all {
			if p.parent == list[i].pid {
				list = append(list, p)
			}
		}
	}
	return list
}

// contexts counts the browser contexts of a Chromium beside its own.
func contexts(t testing.TB, stack *devstack.Stack) func() int {
	t.Helper()
	dir, _ := ownDriver(t)
	pw, err := playwright.Run(&playwright.RunOptions{DriverDirectory: dir, SkipInstallBrowsers: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = pw.Stop() })
	at, err := url.Parse(stack.Vars()["CHROME_DEVTOOLS_URL"])
	require.NoError(t, err)
	password, _ := at.User.Password()
	ask := http.Request{Header: http.Header{}}
	ask.SetBasicAuth(at.User.Username(), password)
	b, err := pw.Chromium.ConnectOverCDP("http://"+at.Host, playwright.BrowserTypeConnectOverCDPOptions{
		Headers: map[string]string{"Authorization": ask.Header.Get("Authorization")},
	})
	require.NoError(t, err)
	session, err := b.NewBrowserCDPSession()
	require.NoError(t, err)
	return func() int {
		result, err := session.Send("Target.getBrowserContexts", nil)
		require.NoError(t, err)
		list, _ := result.(map[string]any)["browserContextIds"].([]any)
		return len(list)
	}
}

func capture(d *browser.Devtools, url string) chan error {
	out := make(chan error, 1)
	go func() {
		c, err := d.Capture(context.Background(), url, "", draft.Secrets{})
		if err == nil && !strings.Contains(string(c.HTML), "through") {
			err = fmt.Errorf("document is %q", c.HTML)
		}
		out <- err
	}()
	return out
}

// When any process dies under a page, the page fails soon, and the next one is taken.
func TestDeathUnderACapture(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.html("/next", "<p>through")
	stack := startChromium(t)
	driver, drivers := ownDriver(t)
	d := drive(t, stack, browser.DevtoolsOptions{Driver: driver, Timeout: time.Hour}, s)
	for _, tt := range []struct {
		name string
		kill func()
	}{
		{"chromium", func() { _ = syscall.Kill(stack.Pid(devstack.Chromium), syscall.SIGKILL) }},
		{"driver", func() { _ = syscall.Kill(drivers()[0].pid, syscall.SIGKILL) }},
		{"page", func() {
			for _, p := range family(stack.Pid(devstack.Chromium)) {
				if strings.Contains(p.line, "--type=renderer") {
					_ = syscall.Kill(p.pid, syscall.SIGKILL)
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked, _ := gate(s, "/"+tt.name)
			inHand := capture(d, s.URL+"/"+tt.name)
			arrives(t, asked)
			tt.kill()
			var err error
			select {
			case err = <-inHand:
			case <-time.After(patience):
				t.Fatal("it fails at the end of its time only")
			}
			if class, _ := fault.Of(err); err == nil || class != fault.Transient || errors.Is(err, web.ErrNoBrowser) {
				t.Errorf("Capture = %v (%s); want transient, and that it was opened", err, class)
			}
			assert.Empty(t, asked, "the site was asked again")
			eventually(t, "the next check", func() bool { return d.CheckDevtools(t.Context()) == nil })
			assert.NoError(t, <-capture(d, s.URL+"/next"))
		})
	}
	d.Close()
	require.Empty(t, drivers())
}

// A Chromium that is away is told from a page that cannot be had.
func TestCaptureWithoutChromium(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		lose func(*devstack.Stack)
	}{
		{"stopped", func(s *devstack.Stack) { _ = s.Stop(context.Background()) }},
		{"hung", func(s *devstack.Stack) {
			pid := s.Pid(devstack.Chromium)
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
		}},
	} {
		for _, used := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, used %t", tt.name, used), func(t *testing.T) {
				if tt.name == "hung" {
					servicetest.Slow(t, servicetest.TestSlow)
				}
				t.Parallel()
				s := newSite(t)
				s.html("/", "<p>through")
				stack := startChromium(t)
				d := drive(t, stack, browser.DevtoolsOptions{Timeout: 5 * time.Second}, s)
				if used {
					eventually(t, "a first page", func() bool { return <-capture(d, s.URL+"/") == nil })
				}
				before := len(s.requests())
				tt.lose(stack)
				err := <-capture(d, s.URL+"/")
				if class, _ := fault.Of(err); class != fault.Transient || !errors.Is(err, web.ErrNoBrowser) {
					t.Errorf("Capture = %v (%s); want ErrNoBrowser, transient", err, class)
				}
				t.Log(err)
				assert.Empty(t, s.requests()[before:], "the site was asked for")
			})
		}
	}
}

// A driver that hangs is ended for a page that does not end. The pages beside it are opened once more, and only once.
func TestHungDriver(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()
	stack := startChromium(t)
	for _, hangs := range []int{1, 2} {
		t.Run(fmt.Sprint(hangs), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			asked, let := gate(s, "/beside")
			driver, drivers := ownDriver(t)
			d := drive(t, stack, browser.DevtoolsOptions{Driver: driver, Timeout: patience}, s)
			beside := capture(d, s.URL+"/beside")
			for i := range hangs {
				arrives(t, asked)
				path := fmt.Sprintf("/given-up-%d", i)
				begun, _ := gate(s, path)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() {
					_, err := d.Capture(ctx, s.URL+path, "", draft.Secrets{})
					ended <- err
				}()
				arrives(t, begun)
				_ = syscall.Kill(drivers()[0].pid, syscall.SIGSTOP)
				cancel()
				if err := <-ended; !errors.Is(err, context.Canceled) || classified(err) {
					t.Errorf("Capture = %v; want cancelled, without a class", err)
				}
			}
			if hangs == 1 {
				arrives(t, asked)
				let()
				assert.NoError(t, <-beside)
				return
			}
			err := <-beside
			if class, _ := fault.Of(err); err == nil || class != fault.Transient || errors.Is(err, web.ErrNoBrowser) {
				t.Errorf("Capture = %v (%s); want transient, and that it was opened", err, class)
			}
			assert.Empty(t, asked, "it was opened a third time")
		})
	}
}

// A page leaves no context behind: not when it is taken, not when it fails, not with its process.
func TestContextsAreNotLeft(t *testing.T) {
	t.Parallel()
	const victim = "CONVEYOR_TEST_CAPTURE_VICTIM"
	if url := os.Getenv(victim); url != "" {
		d := browser.NewDevtools(browser.DevtoolsOptions{
			URL: os.Getenv("CHROME_DEVTOOLS_URL"), Driver: os.Getenv("CONVEYOR_BROWSER_DRIVER"),
			Dial: fetch.Dial([]string{strings.TrimPrefix(strings.TrimSuffix(url, "/gate"), "http://")}, nil),
		})
		_, err := d.Capture(context.Background(), url, "", draft.Secrets{})
		t.Fatal(err)
	}
	s := newSite(t)
	s.html("/", "<p>through")
	asked, _ := gate(s, "/gate")
	stack := startChromium(t)
	count := contexts(t, stack)
	d := drive(t, stack, browser.DevtoolsOptions{}, s)
	require.NoError(t, <-capture(d, s.URL+"/"))
	require.Equal(t, 0, count(), "contexts after a page")
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := d.Capture(ctx, s.URL+"/gate", "", draft.Secrets{})
		failed <- err
	}()
	arrives(t, asked)
	require.Equal(t, 1, count(), "contexts for a page")
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.Equal(t, 0, count(), "contexts after a page that was cancelled")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestContextsAreNotLeft$")
	driver, drivers := ownDriver(t)
	cmd.Env = append(os.Environ(), victim+"="+s.URL+"/gate", "CHROME_DEVTOOLS_URL="+stack.Vars()["CHROME_DEVTOOLS_URL"],
		"CONVEYOR_BROWSER_DRIVER="+driver)
	require.NoError(t, cmd.Start())
	arrives(t, asked)
	require.Equal(t, 1, count(), "contexts for a page of another process")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	eventually(t, "the end of its context", func() bool { return count() == 0 })
	eventually(t, "the end of its driver", func() bool { return len(drivers()) == 0 })
}

// Two processes at one Chromium do not get into each other's way, even when one of them has a page that is busy.
func TestTwoAtOneChromium(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	busy := make(chan struct{})
	s.html("/next", "<p>through")
	s.html("/busy", `<p>busy<script src="/started.js"></script><script>for(;;);</script>`)
	s.HandleFunc("/started.js", func(http.ResponseWriter, *http.Request) { close(busy) })
	stack := startChromium(t)
	one := drive(t, stack, browser.DevtoolsOptions{}, s)
	two := drive(t, stack, browser.DevtoolsOptions{}, s)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := one.Capture(ctx, s.URL+"/busy", "", draft.Secrets{})
		ended <- err
	}()
	arrives(t, busy)
	began := time.Now()
	require.NoErrorf(t, two.CheckDevtools(t.Context()), "after %s", time.Since(began))
	t.Logf("connected after %s", time.Since(began))
	require.NoErrorf(t, <-capture(two, s.URL+"/next"), "after %s", time.Since(began))
	t.Logf("taken after %s", time.Since(began))
	cancel()
	<-ended
}

func TestCloseUnderACapture(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	asked, _ := gate(s, "/")
	stack := startChromium(t)
	driver, drivers := ownDriver(t)
	d := drive(t, stack, browser.DevtoolsOptions{Driver: driver}, s)
	inHand := capture(d, s.URL+"/")
	arrives(t, asked)
	d.Close()
	if err := <-inHand; !errors.Is(err, browser.ErrClosed) || classified(err) {
		t.Errorf("Capture = %v; want ErrClosed, without a class", err)
	}
	require.Empty(t, drivers())
	if err := d.CheckDevtools(t.Context()); !errors.Is(err, browser.ErrClosed) || classified(err) {
		t.Errorf("CheckDevtools = %v; want ErrClosed, without a class", err)
	}
	if err := <-capture(d, s.URL+"/"); !errors.Is(err, browser.ErrClosed) || classified(err) {
		t.Errorf("Capture = %v; want ErrClosed, without a class", err)
	}
}

package devstack

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// chromium is a headless Chromium that lets itself be driven by DevTools, on the loopback, without a password: who may
// open that port is this machine's own. Its profile begins empty each time.
func (s *Stack) chromium() ([]*service, error) {
	data := filepath.Join(s.opts.Dir, "data", Chromium)
	at := "http://" + addr(s.ports.Chromium)
	sandbox := true
	return []*service{{
		name: Chromium,
		at:   at,
		prepare: func(ctx context.Context) error {
			sandbox = s.sandboxed(ctx)
			if !sandbox && os.Geteuid() != 0 {
				s.log.Warn("Chromium runs without its sandbox: the kernel or the container allows no user namespaces")
			}
			return os.MkdirAll(data, 0o755) // the folders above are those of services with other users too
		},
		command: func() *exec.Cmd {
			_ = os.RemoveAll(data) // of the last one, which is gone
			_ = os.MkdirAll(data, 0o755)
			args := append(chromiumArgs(data, sandbox), "--remote-debugging-port="+strconv.Itoa(s.ports.Chromium))
			cmd := exec.Command(s.tools.chromium, args...)
			cmd.Dir = data
			return cmd
		},
		probe:  func(ctx context.Context) error { return pingHTTP(ctx, at+"/json/version") },
		stopBy: syscall.SIGTERM,
		grace:  5 * time.Second,
		within: 60 * time.Second,
	}}, nil
}

// chromiumArgs let nothing of a page pass a proxy that its context may have, and keep Chromium from errands of its own.
func chromiumArgs(data string, sandbox bool) []string {
	args := []string{
		"--headless=new", "--user-data-dir=" + filepath.Join(data, "profile"),
		"--no-first-run", "--no-default-browser-check", "--mute-audio", "--hide-scrollbars", "--disable-gpu",
		"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", // nothing around a proxy
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions",
		"--disable-sync", "--disable-domain-reliability", "--no-pings", "--password-store=basic", "--use-mock-keychain",
		"--disable-dev-shm-usage", "--disable-breakpad", "--disable-component-extensions-with-background-pages",
		// The last two are pages of Chromium's own in each window, for the address bar: a third of the work of a draft.
		"--disable-features=SpareRendererForSitePerProcess,OptimizationHints,MediaRouter,Translate," +
			"InterestFeedContentSuggestions,WebUIOmniboxPopup,WebUIOmniboxAimPopup",
		// Pages in the background, as all are here, go on at their full pace.
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
	}
	if !sandbox {
		args = append(args, "--no-sandbox")
	}
	return append(args, "about:blank")
}

// sandboxed says whether Chromium can have its sandbox here. For root it refuses to; for others it is tried out.
func (s *Stack) sandboxed(ctx context.Context) bool {
	if os.Geteuid() == 0 {
		return false
	}
	dir, err := os.MkdirTemp("", "conveyor-chromium-*")
	if err != nil {
		return true
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.tools.chromium, append(chromiumArgs(dir, true), "--dump-dom")...)
	out, err := cmd.CombinedOutput()
	return err == nil || !bytes.Contains(out, []byte("sandbox"))
}

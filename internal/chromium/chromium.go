// Package chromium knows which Chromium and which driver of Playwright this program uses: where they are, how they are
// installed and how Chromium is started. It drives none: package browser does.
package chromium

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// Install is the advice of errors about a missing Chromium or driver.
const Install = "run `conveyor install-browser`, or by hand: sudo apt-get install -y --no-install-recommends chromium nodejs npm"

// Executables are the names of Chromium, the preferred first.
var Executables = []string{"chromium", "chromium-browser", "google-chrome"}

// Find returns the path of the first of Executables on the PATH, "" where there is none.
func Find() string {
	for _, name := range Executables {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Check returns nil for an executable that can be run. Its error names the command that installs one; "" is one that
// Find did not find.
func Check(executable string) error {
	if executable == "" {
		return fmt.Errorf("find Chromium: none of %q is on the PATH; %s", Executables, Install)
	}
	if _, err := exec.LookPath(executable); err != nil {
		return fmt.Errorf("find Chromium: %w; %s", err, Install)
	}
	return nil
}

// Args are the arguments of a headless Chromium with its profile below data. No page gets past the proxy of its
// context, and Chromium makes no requests of its own.
func Args(data string, sandbox bool) []string {
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

// Sandboxed says whether Chromium can run in its sandbox here. It refuses to as root; for other users it is tried, for
// up to 20 seconds.
func Sandboxed(ctx context.Context, executable string) bool {
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
	cmd := exec.CommandContext(ctx, executable, append(Args(dir, true), "--dump-dom")...)
	out, err := cmd.CombinedOutput()
	return err == nil || !bytes.Contains(out, []byte("sandbox"))
}

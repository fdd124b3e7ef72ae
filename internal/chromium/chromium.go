// Package chromium knows which Chromium and which driver of Playwright this program uses: where they are, how they are
// installed and how Chromium is started. It drives none: package browser does.
package chromium

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
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

// Bounds are the arguments that bound what a page may take. Site isolation would give each site in a page a process of
// its own, as many as the page has frames; what it protects, the logins and data of other sites, is in no browser
// context of ours, and contexts never share a process.
var Bounds = []string{
	"--disable-site-isolation-trials", "--renderer-process-limit=4", "--js-flags=--max-old-space-size=512", // MiB
}

// Guards are the arguments of every Chromium: nothing goes around the proxy of its pages.
var Guards = []string{"--disable-quic", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp"}

// asAsked are the features by which Chromium asks the https address of a site first, or puts a warning in the way,
// where an http one was asked for.
const asAsked = "HttpsUpgrades,HttpsFirstBalancedModeAutoEnable,HttpsFirstModeIncognito"

// ownPages are the features by which Chromium has pages of its own in each window, for the address bar: a third of the
// work of a page.
const ownPages = "WebUIOmniboxPopup,WebUIOmniboxAimPopup"

// Advised are the arguments that a Chromium needs that others start for us, beside those that open its DevTools.
var Advised = append(slices.Clone(Guards), "--disable-features="+asAsked)

// ErrNoSandbox is the error of a start where the sandbox cannot be had. It says what to do.
var ErrNoSandbox = errors.New("start Chromium in its sandbox: the kernel or the container allows no user namespaces; " +
	"allow them (in Docker: --security-opt seccomp=deploy/seccomp-chromium.json), or set " +
	"CONVEYOR_BROWSER_SANDBOX=off, which lets a page that breaks Chromium do what this user may")

// noSandbox is what Unsandboxed looks for in Chromium's output.
const noSandbox = "No usable sandbox"

// Unsandboxed says whether an output of Chromium's, or of Playwright's, is about a sandbox that cannot be had.
func Unsandboxed(output string) bool {
	return strings.Contains(output, noSandbox) || strings.Contains(output, "sandboxing failed")
}

// Args are the arguments of a headless Chromium with its profile in a folder. No page gets past the proxy of its
// context, an address is asked for as it is, and Chromium makes no requests of its own.
func Args(profile string, sandbox bool) []string {
	args := []string{
		"--headless=new", "--user-data-dir=" + profile,
		"--no-first-run", "--no-default-browser-check", "--mute-audio", "--hide-scrollbars", "--disable-gpu",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps", "--disable-extensions",
		"--disable-sync", "--disable-domain-reliability", "--no-pings", "--password-store=basic", "--use-mock-keychain",
		"--disable-dev-shm-usage", "--disable-breakpad", "--disable-component-extensions-with-background-pages",
		"--disable-features=" + asAsked + ",SpareRendererForSitePerProcess,OptimizationHints,MediaRouter,Translate," +
			"InterestFeedContentSuggestions," + ownPages,
		// Pages in the background, as all are here, go on at their full pace.
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding",
	}
	args = slices.Concat(args, Guards, Bounds)
	if !sandbox {
		args = append(args, "--no-sandbox")
	}
	return append(args, "about:blank")
}

package chromium_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/chromium"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	here, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, chromium.Check(here), "Check of an executable")
	for _, path := range []string{"", filepath.Join(t.TempDir(), "chromium")} {
		if err := chromium.Check(path); err == nil || !strings.Contains(err.Error(), chromium.Install) {
			t.Errorf("Check(%q) = %v; want %q", path, err, chromium.Install)
		}
	}
}

func TestLinkDriver(t *testing.T) {
	t.Parallel()
	const builtins, browser = "package/lib/utils/isomorphic/builtins.js", "package/lib/server/chromium/crBrowser.js"
	const switches = "package/lib/server/chromium/chromiumSwitches.js"
	dir := t.TempDir()
	node, err := os.Executable()
	require.NoError(t, err)
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	holds := func(name, text string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, text)
		}
	}
	if err := chromium.LinkDriver(dir, node, false); err == nil || chromium.HasDriver(dir) {
		t.Errorf("LinkDriver of an empty folder = %v; want an error", err)
	}
	write("package/cli.js", "")
	if err := chromium.CheckDriver(dir); err == nil || !strings.Contains(err.Error(), "find Node") {
		t.Errorf("CheckDriver without Node = %v", err)
	}
	if err := os.Symlink(filepath.Join(dir, "gone"), filepath.Join(dir, "node")); err != nil { // Node was removed since
		t.Fatal(err)
	}
	if err := chromium.LinkDriver(dir, node, false); err != nil || chromium.CheckDriver(dir) != nil {
		t.Fatalf("LinkDriver = %v, CheckDriver = %v", err, chromium.CheckDriver(dir))
	}

	if err := chromium.LinkDriver(dir, node, true); err == nil || !strings.Contains(err.Error(), "patch the driver") {
		t.Errorf("LinkDriver of a driver without its files = %v", err)
	}
	write(builtins, "{configurable: false}")
	write(browser, "a;\ncontext = this._defaultContext;\n")
	write(switches, "[\n\"PaintHolding\",\n\"Translate\"\n];")
	for range 2 { // the second time nothing is left to do
		require.NoError(t, chromium.LinkDriver(dir, node, true))
		holds(builtins, "{configurable: true}")
		holds(switches, "[\n\"PaintHolding\",\n\"Translate,WebUIOmniboxPopup,WebUIOmniboxAimPopup\"\n];")
		holds(browser, "a;\ncontext = null;\n")
	}
	write(builtins, "{configurable: false} {configurable: false}")
	if err := chromium.LinkDriver(dir, node, true); err == nil || !strings.Contains(err.Error(), "2 times") {
		t.Errorf("LinkDriver of another version = %v", err)
	}
}

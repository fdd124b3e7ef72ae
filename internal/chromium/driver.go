package chromium

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/npm"
)

// DriverVersion is the version of playwright-core that the library speaks to.
const DriverVersion = "1.52.0"

// DriverPackage is the npm package of Playwright's driver. The library's own installer asks a server that is gone.
const DriverPackage = "playwright-core@" + DriverVersion

const driverSHA256 = "4426ed32575cba6adf394e297a0e845eba2887dee776c4acee1d178e00f990f7" // of the package's archive

// MinNode is the oldest major version of Node that the driver runs on.
const MinNode = 18

// DefaultDriver is the folder that `conveyor install-browser` puts the driver into; "" where this user has no cache
// folder.
func DefaultDriver() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "conveyor", DriverPackage)
}

// HasDriver says whether a folder holds a driver. Its Node may be missing.
func HasDriver(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "package", "cli.js"))
	return err == nil
}

// CheckDriver returns nil for a folder whose driver can be run. Its error names the command that installs it.
func CheckDriver(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, "package", "cli.js")); err != nil {
		return fmt.Errorf("find Playwright's driver: %w; %s", err, Install)
	}
	if _, err := exec.LookPath(filepath.Join(dir, "node")); err != nil {
		return fmt.Errorf("find Node of Playwright's driver: %w; %s", err, Install)
	}
	return nil
}

// FindNode returns the path of the first Node of version MinNode or newer: the one on the PATH, or Debian's.
func FindNode() (path string, err error) {
	for _, name := range []string{"node", "/usr/bin/node", "/usr/bin/nodejs"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.Command(path, "--version").Output()
		if err != nil {
			continue
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		if v, err := strconv.Atoi(major); err == nil && v >= MinNode {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %q, version %d or newer, is not there", "node", MinNode)
}

// LinkDriver makes the driver in dir run on node, unless it has a Node already. A driver that this program installed,
// perhaps by an older version, is ours and gets the patches it lacks. It fails where there is no driver.
func LinkDriver(dir, node string, ours bool) error {
	if !HasDriver(dir) {
		return errors.New("there is no driver")
	}
	if ours {
		if err := patch(dir); err != nil {
			return err
		}
	}
	link := filepath.Join(dir, "node")
	if _, err := exec.LookPath(link); err == nil {
		return nil
	}
	// In one step, for another process may run the driver.
	fresh := fmt.Sprintf("%s.%d", link, os.Getpid())
	return fault.Wrap(errors.Join(os.Symlink(node, fresh), os.Rename(fresh, link)), "link %s", link)
}

// InstallDriver gets the package by npm, whose registry may be a mirror, checks it, and unpacks it into a folder beside
// dir that is renamed, so that a driver that exists is complete. At most one may run at a time for one dir: it removes
// what others that were killed have left.
func InstallDriver(ctx context.Context, dir, node string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("create tool cache: %w", err)
	}
	stale, _ := filepath.Glob(dir + "-*") // fails for a malformed pattern only
	for _, old := range stale {
		_ = os.RemoveAll(old)
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+"-*")
	if err != nil {
		return fmt.Errorf("create driver folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := (npm.Package{Name: DriverPackage, SHA256: driverSHA256}).Unpack(ctx, fresh); err != nil {
		return err
	}
	err = patch(fresh)
	if err == nil {
		err = errors.Join(os.Symlink(node, filepath.Join(fresh, "node")), os.Chmod(fresh, 0o755), os.Rename(fresh, dir))
	}
	return fault.Wrap(err, "keep %s", DriverPackage)
}

// patches are the changes to the driver: a file, a text that it holds once, and the text that replaces it.
var patches = []struct{ file, old, new string }{
	// A property in each page by which any site can tell Playwright: package browser can then delete it.
	{"package/lib/utils/isomorphic/builtins.js", "configurable: false", "configurable: true"},
	// A driver that connects to a shared Chromium would attach to the pages of all its other clients, and wait for a busy
	// one of them before it is connected.
	{"package/lib/server/chromium/crBrowser.js", "context = this._defaultContext;", "context = null;"},
	// The scrapers' Chromium would open the pages of its address bar in each window, too.
	{"package/lib/server/chromium/chromiumSwitches.js", "\"Translate\"\n]", "\"Translate," + ownPages + "\"\n]"},
}

// patch makes the changes to a driver, in which some of them may have been made already.
func patch(dir string) error {
	for _, p := range patches {
		path := filepath.Join(dir, p.file)
		source, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("patch the driver: %w", err)
		}
		switch n := bytes.Count(source, []byte(p.old)); {
		case n == 0 && bytes.Contains(source, []byte(p.new)):
			continue
		case n != 1:
			return fmt.Errorf("patch %s: %q is there %d times, expected once", p.file, p.old, n)
		}
		if err := os.WriteFile(path+".new", bytes.Replace(source, []byte(p.old), []byte(p.new), 1), 0o644); err != nil {
			return fmt.Errorf("patch the driver: %w", err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			return fmt.Errorf("patch the driver: %w", err)
		}
	}
	return nil
}

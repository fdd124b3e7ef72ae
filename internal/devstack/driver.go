package devstack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/internal/browser"
)

// The npm package of Playwright's driver. The library's own installer asks a server that is gone.
const (
	driverPackage = "playwright-core@" + browser.DriverVersion
	driverSHA256  = "4426ed32575cba6adf394e297a0e845eba2887dee776c4acee1d178e00f990f7"
)

// minNode is the oldest major version of Node that the driver runs on.
const minNode = 18

// maxDriverFile bounds a file of the package, in bytes; the largest has 1 MB.
const maxDriverFile = 32 << 20

// BrowserOptions say where InstallBrowser puts things.
type BrowserOptions struct {
	Dir       string    // of the driver; default a folder of this user's cache, where it is looked for
	NoInstall bool      // makes a missing package or driver an error that says what to install
	Out       io.Writer // shows progress; nil is silent
}

// InstallBrowser gets what is missing of Chromium, Node and Playwright's driver, for machines without a stack. It
// returns the path of Chromium and the folder of the driver.
func InstallBrowser(ctx context.Context, o BrowserOptions) (chromium, driver string, err error) {
	s := &Stack{opts: Options{
		Services: []string{Browser}, NoInstall: o.NoInstall, Bin: os.TempDir(),
		External: External{BrowserDriver: o.Dir},
	}, show: newProgress(o.Out)}
	defer s.show.close()
	if err := s.install(ctx); err != nil {
		return "", "", err
	}
	return s.tools.chromium, s.tools.driver, nil
}

// driverDir is named after its version, as the other tools are.
func (s *Stack) driverDir() string {
	if dir := s.opts.External.BrowserDriver; dir != "" {
		return dir
	}
	return filepath.Join(cacheDir(s.opts.Bin), driverPackage)
}

func hasDriver(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "package", "cli.js"))
	return err == nil
}

// findNode takes the first Node that is new enough: the one on the PATH, or Debian's.
func findNode(t *tools) error {
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
		if v, err := strconv.Atoi(major); err == nil && v >= minNode {
			t.node = path
			return nil
		}
	}
	return fmt.Errorf("program %q, version %d or newer, is not there", "node", minNode)
}

// findNPM looks for what gets the driver; where the driver is, nobody needs it.
func findNPM(t *tools) error {
	if hasDriver(t.driver) {
		return nil
	}
	return findProgram(new(string), "npm")
}

// linkDriver points the driver at the Node that was found. It fails where there is no driver.
func (s *Stack) linkDriver() error {
	if !hasDriver(s.tools.driver) {
		return errors.New("there is no driver")
	}
	if s.opts.External.BrowserDriver == "" { // one of ours, perhaps from an older Conveyor
		if err := patchDriver(s.tools.driver); err != nil {
			return err
		}
	}
	link := filepath.Join(s.tools.driver, "node")
	if _, err := exec.LookPath(link); err == nil {
		return nil
	}
	return relink(s.tools.node, link)
}

// layDriver gets the package by npm, whose registry may be a mirror, checks it, and unpacks it into a folder next door
// that is renamed, so that a driver that exists is complete.
func (s *Stack) layDriver(ctx context.Context) error {
	dir := s.tools.driver
	if hasDriver(dir) {
		return s.linkDriver() // another has just done it
	}
	if s.opts.NoInstall {
		return fmt.Errorf("%s is not installed and installing is switched off: run conveyor install-browser", driverPackage)
	}
	s.show.set("browser driver", installing, driverPackage)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("create tool cache: %w", err)
	}
	for _, old := range glob(dir + "-*") {
		_ = os.RemoveAll(old) // of an install that was killed; we hold the lock, so nobody is at it
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+"-*")
	if err != nil {
		return fmt.Errorf("create driver folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", driverPackage)
	cmd.Dir = fresh
	stopGently(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.show.set("browser driver", failed, "")
		return fmt.Errorf("npm could not get %s (%w): %s; it needs a npm registry: check the network and npm's settings, "+
			"then run again", driverPackage, err, lastLine(out))
	}
	archive := filepath.Join(fresh, strings.ReplaceAll(driverPackage, "@", "-")+".tgz")
	err = unpackDriver(archive, fresh)
	if err == nil {
		err = patchDriver(fresh)
	}
	if err == nil {
		err = errors.Join(os.Remove(archive), relink(s.tools.node, filepath.Join(fresh, "node")), os.Chmod(fresh, 0o755),
			os.Rename(fresh, dir))
	}
	if err != nil {
		s.show.set("browser driver", failed, "")
		return fmt.Errorf("keep %s: %w", driverPackage, err)
	}
	s.show.set("browser driver", ready, driverPackage)
	return nil
}

// unpackDriver checks the archive and writes its files below dir.
func unpackDriver(archive, dir string) error {
	data, err := os.ReadFile(archive)
	if err != nil {
		return fmt.Errorf("read what npm got: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != driverSHA256 {
		return fmt.Errorf("sha256 is %x, expected %s: the registry serves another package", sum, driverSHA256)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack: %w", err)
	}
	defer root.Close()
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack: %w", err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(files, maxDriverFile))
		if err == nil {
			err = errors.Join(root.MkdirAll(filepath.Dir(h.Name), 0o755), root.WriteFile(h.Name, content, 0o644))
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", h.Name, err)
		}
	}
}

// patches are what is changed in the driver: a file, what stands in it once, and what takes its place.
var patches = []struct{ file, old, new string }{
	// A property in each page by which any site can tell Playwright: lets package browser delete it.
	{"package/lib/utils/isomorphic/builtins.js", "configurable: false", "configurable: true"},
	// Who is connected to a shared Chromium would look after the pages of everybody else there, and wait for a busy one
	// of them before it is connected.
	{"package/lib/server/chromium/crBrowser.js", "context = this._defaultContext;", "context = null;"},
}

// patchDriver applies the patches to a driver that may have some of them.
func patchDriver(dir string) error {
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

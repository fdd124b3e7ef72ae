package devstack

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// BrowserOptions are the settings of InstallBrowser.
type BrowserOptions struct {
	Dir       string    // of the driver; default chromium.DefaultDriver, where package browser looks for it
	NoInstall bool      // makes a missing package or driver an error that names it
	Out       io.Writer // shows progress; nil is silent
}

// InstallBrowser installs Chromium, Node and Playwright's driver where they are missing, for machines without a stack.
// It returns the path of Chromium and the folder of the driver.
func InstallBrowser(ctx context.Context, o BrowserOptions) (executable, driver string, err error) {
	// Without a home there is no cache of ours, and no other folder to trust: names below /tmp may be taken by others.
	if _, err := os.UserCacheDir(); err != nil && o.Dir == "" {
		return "", "", fmt.Errorf("find a folder for the browser's driver: %w: set HOME, or name the folder", err)
	}
	s := &Stack{opts: Options{
		Services: []string{Browser}, NoInstall: o.NoInstall, Bin: filepath.Dir(o.Dir),
		External: External{BrowserDriver: o.Dir},
	}, show: NewProgress(o.Out)}
	defer s.show.Close()
	if err := s.install(ctx); err != nil {
		return "", "", err
	}
	return s.tools.chromium, s.tools.driver, nil
}

// driverDir is the driver's folder, in the cache of tools unless the operator names one.
func (s *Stack) driverDir() string {
	return cmp.Or(s.opts.External.BrowserDriver, filepath.Join(cacheDir(s.opts.Bin), chromium.DriverPackage))
}

// findNPM looks for npm, which is needed only where the driver is missing.
func findNPM(t *tools) error {
	if chromium.HasDriver(t.driver) {
		return nil
	}
	return findProgram(new(string), "npm")
}

// linkDriver makes the driver run on the Node that was found. It fails where there is no driver.
func (s *Stack) linkDriver() error {
	return chromium.LinkDriver(s.tools.driver, s.tools.node, s.opts.External.BrowserDriver == "")
}

// installDriver gets the driver, unless another stack has done so since. The caller holds the lock of installs.
func (s *Stack) installDriver(ctx context.Context) error {
	if chromium.HasDriver(s.tools.driver) {
		return s.linkDriver()
	}
	if s.opts.NoInstall {
		return fmt.Errorf("%s is not installed and installing is switched off: run conveyor install-browser",
			chromium.DriverPackage)
	}
	s.show.set("browser driver", installing, chromium.DriverPackage)
	if err := chromium.InstallDriver(ctx, s.tools.driver, s.tools.node); err != nil {
		s.show.set("browser driver", failed, "")
		return err
	}
	s.show.set("browser driver", ready, chromium.DriverPackage)
	return nil
}

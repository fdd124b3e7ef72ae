package browser

import (
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/playwright-community/playwright-go"

	"github.com/mtlrent/conveyor/internal/chromium"
)

// driver is a process of Playwright's, and the Chromium that it has started, if any.
type driver struct {
	folder string // as installed
	log    *slog.Logger
	cell   *chromium.Cell // where it runs, nil before
	pw     *playwright.Playwright

	family struct {
		sync.Mutex
		family
	}
}

// starting is held while a driver starts, so that it can be told from others of this process.
var starting sync.Mutex

// run starts the driver and remembers its process.
func (d *driver) run() error {
	cell, err := chromium.NewCell()
	if err != nil {
		return err
	}
	d.cell = cell
	folder, err := cell.Driver(d.folder)
	if err != nil {
		return err
	}
	starting.Lock()
	defer starting.Unlock()
	others := drivers(cell.Code())
	seen := func() {
		for pid, p := range drivers(cell.Code()) {
			if _, other := others[pid]; !other {
				d.family.Lock()
				d.family.driver = p
				d.family.Unlock()
			}
		}
	}
	// A driver that hangs is found by then, so that bounded can kill it.
	t := time.AfterFunc(callGrace, seen)
	defer t.Stop()
	pw, err := playwright.Run(&playwright.RunOptions{
		DriverDirectory: folder, SkipInstallBrowsers: true, Stdout: io.Discard, Stderr: io.Discard, Logger: d.log,
	})
	seen()
	if err != nil {
		return briefly(err)
	}
	d.pw = pw
	return nil
}

func (d *driver) alive() bool {
	d.family.Lock()
	defer d.family.Unlock()
	return d.family.alive()
}

// stop asks the driver to end.
func (d *driver) stop() {
	if d.pw != nil {
		_ = d.pw.Stop()
	}
}

func (d *driver) kill() {
	d.family.Lock()
	defer d.family.Unlock()
	d.family.kill()
}

// end makes sure that nothing is left of the driver and of the processes that it has started.
func (d *driver) end() {
	d.family.Lock()
	defer d.family.Unlock()
	// Until all are gone: one that is dying still writes to the profile.
	for end := time.Now().Add(callGrace); len(d.family.members()) > 0 && time.Now().Before(end); {
		d.family.kill()
		time.Sleep(10 * time.Millisecond)
	}
	if err := d.cell.Remove(); err != nil {
		d.log.Warn("files of Chromium are left", "err", err)
	}
}

// briefly cuts what Playwright adds to its messages: a log of the call, and of Chromium.
func briefly(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\nCall log:")
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	return errors.New(strings.TrimPrefix(strings.TrimSpace(text), "playwright: "))
}

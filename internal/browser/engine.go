package browser

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/playwright-community/playwright-go"
)

const (
	watchEvery = time.Second      // processes and their memory are looked at
	startGrace = 30 * time.Second // for driver and Chromium to come up
	callGrace  = 5 * time.Second  // for a call of the driver that should be quick, before it counts as hung
)

// engine is a driver of ours and the Chromium that it drives: one that it has started (generation), or one that it is
// connected to (link). When either is lost, so are the pages.
type engine struct {
	driver  driver
	browser playwright.Browser // nil until it is up
	ready   chan struct{}      // closed when it is up, or err says why not
	err     error
	ctx     context.Context // ends with the engine: its pages are lost
	cancel  context.CancelCauseFunc
	open    sync.WaitGroup // its pages
	hung    func()         // called before a driver that takes too long is killed
}

func (e *engine) init(folder string, log *slog.Logger, hung func()) {
	e.driver.folder, e.driver.log = folder, log
	e.ready, e.hung = make(chan struct{}), hung
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
}

// live is an engine's life. It starts, is watched until over is closed, and ends: nothing of it is left.
func (e *engine) live(start func() error, failed func(error), watch func(), over <-chan struct{}) {
	if e.err = start(); e.err != nil {
		failed(e.err)
	}
	close(e.ready)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for watching := true; watching; {
		select {
		case <-over:
			watching = false
		case <-tick.C:
			watch()
		}
	}
	e.cancel(errDied)
	e.bounded(callGrace, func() {
		e.open.Wait()
		if e.browser != nil {
			_ = e.browser.Close() // of a Chromium that is not ours, the connection only
		}
		e.driver.stop()
	})
	e.driver.end()
}

// bounded calls f, and kills the driver's processes when that takes longer: f's calls to the driver then fail.
func (e *engine) bounded(most time.Duration, f func()) {
	t := time.AfterFunc(most, func() {
		e.hung()
		e.driver.kill()
	})
	f()
	t.Stop()
}

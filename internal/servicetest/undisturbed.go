package servicetest

import (
	"testing"
	"time"
)

const (
	lookEvery  = 5 * time.Millisecond
	disturbed  = 20 * time.Millisecond // between two looks
	calmWithin = 5 * time.Minute
)

// Undisturbed runs a check of times that pass for real. When it fails although this process could run all the while,
// the test fails. When it fails and the machine kept this process waiting for more than 20 ms, its times say nothing:
// it is run again, for five minutes at most, then the test fails. check starts from the beginning each time and returns
// what is wrong.
func Undisturbed(t testing.TB, check func() error) {
	t.Helper()

	for began := time.Now(); ; {
		w := watch()
		err := check()
		waited := w.stop()
		switch {
		case err == nil:
			return
		case waited <= disturbed:
			t.Fatal(err)
		case time.Since(began) > calmWithin || t.Context().Err() != nil:
			t.Fatalf("%v (the machine is busy: this process had to wait for %s, and before that for %s of trying again)",
				err, waited, time.Since(began).Round(time.Second))
		}
		t.Logf("try again: %v, and this process had to wait for %s", err, waited)
	}
}

// A watcher notes for how long this process had to wait for a processor.
type watcher struct {
	quit    chan struct{}
	longest chan time.Duration
}

func watch() *watcher {
	w := &watcher{quit: make(chan struct{}), longest: make(chan time.Duration, 1)}
	last := time.Now() // here: a process that is held at once would be so before the goroutine looks for the first time
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		longest := time.Duration(0)
		for over := false; !over; {
			select {
			case <-w.quit:
				over = true
			case <-tick.C:
			}
			now := time.Now()
			longest = max(longest, now.Sub(last)-lookEvery)
			last = now
		}
		w.longest <- longest
	}()
	return w
}

// stop ends the watching and returns the longest wait.
func (w *watcher) stop() time.Duration {
	close(w.quit)
	return <-w.longest
}

package main

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/internal/servicetest"
)

// stopping is a worker whose Stop returns when all of them have been asked to stop.
type stopping struct {
	worker.Worker

	asked *sync.WaitGroup
}

func (w stopping) Stop() {
	w.asked.Done()
	w.asked.Wait()
}

// While one worker drains, the others take no new work either.
func TestWorkersStopAtOnce(t *testing.T) {
	t.Parallel()

	var ended atomic.Int32 // that were said
	var asked sync.WaitGroup
	asked.Add(3)
	done := make(chan struct{})
	go func() { // ends with the stop, or with the test process
		defer close(done)
		list := []worker.Worker{stopping{asked: &asked}, stopping{asked: &asked}, stopping{asked: &asked}}
		stopAll(list, func(int, time.Duration) { ended.Add(1) })
	}()
	select {
	case <-done:
		require.EqualValues(t, 3, ended.Load())
	case <-time.After(servicetest.Patience()):
		require.Fail(t, "a worker is stopped only after another has stopped")
	}
}

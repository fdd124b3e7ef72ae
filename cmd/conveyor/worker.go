package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

type workerCmd struct{}

func (workerCmd) Run(ctx context.Context) error {
	return with(ctx, func(ctx context.Context, h *house) error { return h.measured(ctx, h.worker) })
}

// worker runs workflows and activities until ctx ends, and lets running ones finish.
func (h *house) worker(ctx context.Context) error {
	var rows []workers.Row
	for _, s := range h.systems() {
		if s.activities != nil {
			more, done := s.activities(ctx)
			rows = append(rows, more...)
			if done != nil {
				defer done()
			}
		}
	}
	fatal := make(chan error, 1)
	served, says := h.servedQueues(ctx)
	options := workers.Options{
		Queues: served, StoreSlots: h.config.Worker.StoreSlots, StopGrace: h.config.Worker.StopGrace,
		Version: h.workerVersion(), Plugins: append(says, launch.Beats()),
		Fatal: func(err error) {
			select {
			case fatal <- err:
			default: // one is enough
			}
		},
	}
	running, err := h.startWorkers(ctx, func() []worker.Worker { return workers.New(h.temporal, rows, options) })
	if err != nil {
		return nil // ctx ended before Temporal came
	}
	queues := slices.DeleteFunc(workflows.QueueNames(), func(q string) bool { return !slices.Contains(served, q) })
	defer stopAll(running, func(i int, took time.Duration) {
		h.log.InfoContext(ctx, "worker of a task queue has ended", "queue", queues[i],
			"took", took.Round(time.Millisecond).String())
	})
	if h.config.Temporal.Deployment != "" {
		go h.begin(ctx) // ends with ctx, or before
	}
	select {
	case err := <-fatal:
		return fmt.Errorf("worker stopped: %w", err)
	case <-ctx.Done():
		return nil
	}
}

// stopAll stops all workers at once and waits for them. In turn, those not stopped yet would go on taking work, and the
// process would need their graces added up. ended is told how long each took, by its place in the list; several calls
// may come at once.
func stopAll(list []worker.Worker, ended func(i int, took time.Duration)) {
	var wg sync.WaitGroup
	began := time.Now()
	for i, w := range list {
		wg.Go(func() {
			w.Stop()
			ended(i, time.Since(began))
		})
	}
	wg.Wait()
}

// servedQueues are the task queues of CONVEYOR_TASK_QUEUES, without that of drafts when there is no browser for it, and
// what the worker says of that.
func (h *house) servedQueues(ctx context.Context) (served []string, says []worker.Plugin) {
	queues := h.config.Worker.Queues
	if h.config.Drafts.DevtoolsURL != "" || !slices.Contains(queues, workflows.QueueDrafts) {
		return queues, nil
	}
	h.log.InfoContext(ctx, "this worker makes no product drafts: CHROME_DEVTOOLS_URL is not set")
	served = slices.DeleteFunc(slices.Clone(queues), func(q string) bool { return q == workflows.QueueDrafts })
	return served, []worker.Plugin{launch.Without(workflows.QueueDrafts)}
}

// startWorkers starts all workers, waiting for Temporal when it is down. A worker remembers that its start failed, so
// each attempt builds new ones.
func (h *house) startWorkers(ctx context.Context, build func() []worker.Worker) ([]worker.Worker, error) {
	for {
		list, err := build(), error(nil)
		for i, w := range list {
			if err = w.Start(); err != nil {
				stopAll(list[:i], func(int, time.Duration) {})
				break
			}
		}
		if err == nil {
			return list, nil
		}
		h.log.WarnContext(ctx, "workers wait for temporal", "err", err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(2 * time.Second):
		}
	}
}

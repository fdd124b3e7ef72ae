package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/mtlrent/conveyor/domain/fault"
)

// tend does a piece of work of the worker role once in every interval, first at the end of one, until stop is called,
// which waits for it. It is part of the work of a task queue: a process that does not serve queue does nothing. A
// failure is logged, a panic too and counted, and the work is done again in its time; doing names it in the log.
func (h *house) tend(queue, doing string, every time.Duration, work func(context.Context) error) (stop func()) {
	if !slices.Contains(h.config.Worker.Queues, queue) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var tender sync.WaitGroup
	tender.Go(func() {
		_ = again(ctx, every, func() (bool, error) {
			if err := h.survive(ctx, doing, work); err != nil && ctx.Err() == nil {
				h.log.WarnContext(ctx, doing+" failed", "err", err)
			}
			return false, nil
		})
	})
	return func() {
		cancel()
		tender.Wait()
	}
}

// again does something once in every interval, first at the end of one, until it is done, and returns its error then;
// nil where ctx ends before.
func again(ctx context.Context, every time.Duration, do func() (done bool, err error)) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if done, err := do(); done {
			return err
		}
	}
}

// each calls all of these, in their order.
func each(stops ...func()) func() {
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// survive turns a panic of a tender into an error: the row that causes it would end one worker process after the other.
func (h *house) survive(ctx context.Context, doing string, work func(context.Context) error) (err error) {
	defer fault.Survive(&err, doing, func(text string, args ...any) {
		h.panics.WithLabelValues(doing).Inc()
		h.log.ErrorContext(ctx, text, args...)
	})
	return work(ctx)
}

// A resume starts the workflows of one kind that are missing: Temporal was away when they were to be started, or they
// were ended by hand. Starting one that runs does nothing.
type resume[T any] struct {
	queue, doing string // as of tend
	every        time.Duration
	most         int // in a page of the list; 0 = the list is a single one
	// list returns a page of what has no workflow, or may have none: what follows after, the zero value of which is
	// before all.
	list  func(ctx context.Context, after T, most int) ([]T, error)
	start func(ctx context.Context, one T) error
}

func (r resume[T]) tend(h *house) (stop func()) {
	return h.tend(r.queue, r.doing, r.every, func(ctx context.Context) (failed error) {
		for after := *new(T); ; {
			list, err := r.list(ctx, after, r.most)
			failed = errors.Join(failed, err, startEach(ctx, list, r.start))
			if r.most == 0 || len(list) < r.most || ctx.Err() != nil || unreachable(failed) {
				return failed
			}
			after = list[len(list)-1]
		}
	})
}

// seldom starts each of a resume's list at most once in a while: what wakes a workflow that runs costs Temporal a task.
func seldom(every time.Duration, start func(context.Context, string) error) func(context.Context, string) error {
	started, until := map[string]bool{}, time.Time{}
	return func(ctx context.Context, one string) error {
		if now := time.Now(); !now.Before(until) {
			clear(started)
			until = now.Add(every)
		}
		if started[one] {
			return nil
		}
		err := start(ctx, one)
		started[one] = err == nil
		return err
	}
}

// startWithin bounds the start of one workflow of many: one that hangs does not keep the others waiting.
const startWithin = 2 * time.Second

// startEach starts a workflow for each of a list, and returns the first failures. One that fails does not keep the
// others from being tried, unless Temporal cannot be reached, or hangs at several in a row.
func startEach[T any](ctx context.Context, list []T, start func(context.Context, T) error) (failed error) {
	const told, patience = 5, 3
	n, hung := 0, 0
	for _, one := range list {
		within, cancel := context.WithTimeout(ctx, startWithin)
		err := start(within, one)
		late := errors.Is(within.Err(), context.DeadlineExceeded)
		cancel()
		if err == nil {
			hung = 0
			continue
		}
		if hung++; !late {
			hung = 0
		}
		if hung == patience {
			err = fmt.Errorf("%w: %w", errHangs, err)
		}
		if n++; n <= told || unreachable(err) {
			failed = errors.Join(failed, err)
		}
		if ctx.Err() != nil || unreachable(err) {
			break
		}
	}
	return failed
}

var errHangs = errors.New("temporal does not answer in time")

// unreachable says whether an error is that Temporal cannot be reached, or that it hangs.
func unreachable(err error) bool {
	var away *serviceerror.Unavailable
	return errors.As(err, &away) || errors.Is(err, errHangs)
}

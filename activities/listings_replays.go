package activities

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Replays are the activities of a replay: they take stored adverts through the pipeline again, a few at a time. How
// far a replay has come is in the store, so each may run again, on any worker.
type Replays struct {
	Store      ReplayStore
	Start      Starter
	StaleAfter time.Duration // adverts that were not scraped for longer are skipped
	// Turns takes up to n turns to start an advert, of those that all replays of all processes share, and returns how
	// many it got.
	Turns func(ctx context.Context, n int) int
	Now   func() time.Time
}

// ReplayStore has the database methods of a replay.
type ReplayStore interface {
	OpenReplay(ctx context.Context, r listing.Replay) error
	EndReplay(ctx context.Context, id uuid.UUID, state, reason string, now time.Time) error
	replayProgress
}

type replayProgress interface {
	SettleReplay(ctx context.Context, id uuid.UUID, now, lost time.Time) (listing.ReplayPosition, error)
	CountReplay(ctx context.Context, id uuid.UUID) error
	NextOfReplay(ctx context.Context, id, last uuid.UUID, n int, stale time.Time) (listing.ReplayPage, error)
	AdvanceReplay(ctx context.Context, id, last uuid.UUID, p listing.ReplayPage, now time.Time) error
}

// Starter takes a stored advert through the pipeline again, behind everything that was scraped. When it returns nil
// the work is durably accepted; a second call for the same advert joins the first.
type Starter interface {
	RestartListing(ctx context.Context, r listing.Restart) error
}

// ReplayEnd is the end of a replay that was canceled or failed.
type ReplayEnd struct {
	ID     uuid.UUID `json:"id"`
	State  string    `json:"state"`
	Reason string    `json:"reason,omitempty"`
}

// ReplayBatch names a replay, and has the counts of one batch of it.
type ReplayBatch struct {
	ID      uuid.UUID `json:"id"`
	State   string    `json:"state,omitempty"`   // of the replay afterwards
	Rate    int       `json:"rate,omitempty"`    // adverts a second that it may start
	Started int       `json:"started,omitempty"` // adverts of this batch
	Looked  int       `json:"looked,omitempty"`  // those and the ones that were skipped; 1 or more when the replay moved on
}

// OpenReplay stores a replay, unless it is stored already.
func (a *Replays) OpenReplay(ctx context.Context, r listing.Replay) (listing.Replay, error) {
	return listing.Replay{ID: r.ID}, a.Store.OpenReplay(ctx, r)
}

// EndReplay ends a replay that runs, as canceled or failed.
func (a *Replays) EndReplay(ctx context.Context, end ReplayEnd) (ReplayEnd, error) {
	return end, a.Store.EndReplay(ctx, end.ID, end.State, end.Reason, a.Now())
}

const (
	// replayLost is how long an advert may take to come to its end before a replay goes on without it.
	replayLost = 10 * time.Minute
	// replayPage is how many adverts a batch looks at, at most: those that are skipped cost nearly nothing.
	replayPage = 500
	// replayAtOnce is how many adverts a batch starts, at most. Twice as many may be under way: when the workers cannot
	// keep up, the replay gets slower, and not the adverts that are scraped. Those come first in the queue, but share the
	// workers with the adverts that have left it.
	replayAtOnce = 20
	// startsAtOnce is how many workflows a batch starts at the same time.
	startsAtOnce = 8
)

// RunReplayBatch starts a few of a replay's next adverts, never more than its rate allows in a second and fewer while
// those before are under way, and then moves the replay on. When it dies in between, the same adverts are started
// again, which joins what is running and else does the same once more.
func (a *Replays) RunReplayBatch(ctx context.Context, b ReplayBatch) (ReplayBatch, error) {
	now := a.Now()
	p, err := a.Store.SettleReplay(ctx, b.ID, now, now.Add(-replayLost))
	if err != nil {
		return b, err
	}
	b.State, b.Rate = p.State, p.Rate
	if p.State == listing.ReplayRunning && !p.Counted {
		if err := a.Store.CountReplay(ctx, b.ID); err != nil {
			return b, err
		}
	}
	most := min(p.Rate, replayAtOnce)
	room := min(most, 2*most-p.UnderWay)
	if p.State != listing.ReplayRunning || p.Exhausted || room <= 0 {
		return b, nil
	}
	looked := min(replayPage, 10*room) // where few match, each more to look for reads more of the table
	page, err := a.Store.NextOfReplay(ctx, b.ID, p.Last, looked, now.Add(-a.StaleAfter))
	if err != nil {
		return b, err
	}
	starts := 0
	for _, item := range page.Items {
		if item.Skip == "" {
			starts++
		}
	}
	if starts > 0 {
		starts = a.Turns(ctx, min(starts, room))
	}
	page, list := cutPage(page, p.Last, starts)
	if err := restart(ctx, a.Start, list); err != nil {
		return b, err
	}
	b.Started, b.Looked = len(list), len(page.Items)
	switch {
	case page.Last != p.Last:
		b.Looked = max(b.Looked, 1)
	case page.More: // no turn for the first one
		return b, nil
	}
	return b, a.Store.AdvanceReplay(ctx, b.ID, p.Last, page, a.Now())
}

// cutPage ends a page before the item that would be one too many to start, and returns what is to be started. last is
// the place before the page.
func cutPage(p listing.ReplayPage, last uuid.UUID, starts int) (listing.ReplayPage, []listing.Restart) {
	var list []listing.Restart
	for n, item := range p.Items {
		if item.Skip == "" && len(list) == starts {
			return listing.ReplayPage{Items: p.Items[:n], Last: last, More: true}, list
		}
		if item.Skip == "" {
			list = append(list, item.Restart)
		}
		last = item.Ref.ID()
	}
	return p, list
}

// restart starts all of them, startsAtOnce at a time, and returns the errors of all that could not be started.
func restart(ctx context.Context, s Starter, all []listing.Restart) error {
	errs := make([]error, len(all))
	var work errgroup.Group
	work.SetLimit(startsAtOnce)
	for i, r := range all {
		work.Go(func() error {
			// A failure does not keep the others from starting.
			errs[i] = fault.Try("starting a workflow", nil, func() error { return s.RestartListing(ctx, r) })
			return nil
		})
	}
	_ = work.Wait()
	return errors.Join(errs...)
}

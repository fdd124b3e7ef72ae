package activities

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Unfinished are the activities that look for adverts and images whose run has ended without bringing them to their
// end: it was terminated, failed, or lost. Each may run again: what is running, or finished meanwhile, is left alone.
type Unfinished struct {
	Store  UnfinishedStore
	Start  Resumer
	Stages []string      // that this deployment does
	Images bool          // it fetches images
	After  time.Duration // without a scrape, after which an advert is not offered any more
	Now    func() time.Time
}

// UnfinishedStore finds what is unfinished.
type UnfinishedStore interface {
	UnfinishedListings(ctx context.Context, before, since time.Time, after listing.Cursor, n int) (
		[]listing.Unfinished, error)
	UnfinishedImages(ctx context.Context, before time.Time, after listing.Cursor, n int) (
		found []listing.PendingImage, next listing.Cursor, err error)
}

// Resumer starts what is not running. What it has started is durably accepted.
type Resumer interface {
	// ResumeListing starts the workflow of an advert, unless it is running.
	ResumeListing(ctx context.Context, r listing.Restart) (started bool, err error)
	// ResumeImages starts the download of a listing's images, unless its workflow is running.
	ResumeImages(ctx context.Context, ref listing.Ref, images []listing.Image) (started bool, err error)
}

// resumeAtOnce is how many adverts, or images, a batch looks at.
const resumeAtOnce = 100

// ResumeListings starts those of the next unfinished adverts that are still offered, wait for no other team, and have
// no workflow.
func (a *Unfinished) ResumeListings(ctx context.Context, b StaleBatch) (StaleBatch, error) {
	now := a.Now()
	page, err := a.Store.UnfinishedListings(ctx, now.Add(-listing.UnfinishedAfter), now.Add(-a.After), b.cursor(),
		resumeAtOnce)
	if err != nil || len(page) == 0 {
		return StaleBatch{}, err
	}
	var next listing.Cursor
	if len(page) == resumeAtOnce {
		next = page[len(page)-1].Row
	}
	page = slices.DeleteFunc(page, func(u listing.Unfinished) bool { return u.Entry(a.Stages) == "" })
	done, err := resume(page, func(u listing.Unfinished) (bool, error) {
		u.Stage = u.Entry(a.Stages)
		return a.Start.ResumeListing(ctx, u.Restart)
	})
	return staleBatch(next, done), err
}

// ResumeImages starts the downloads of those of the next pending images whose listing has no workflow, each on its own:
// the listing itself is finished. Its count is that of listings.
func (a *Unfinished) ResumeImages(ctx context.Context, b StaleBatch) (StaleBatch, error) {
	if !a.Images {
		return StaleBatch{}, nil
	}
	list, next, err := a.Store.UnfinishedImages(ctx, a.Now().Add(-listing.UnfinishedAfter), b.cursor(), resumeAtOnce)
	if err != nil {
		return StaleBatch{}, err
	}
	var listings []listing.Ref
	images := map[listing.Ref][]listing.Image{}
	for _, i := range list {
		if images[i.Ref] == nil {
			listings = append(listings, i.Ref)
		}
		images[i.Ref] = append(images[i.Ref], i.Image)
	}
	done, err := resume(listings, func(ref listing.Ref) (bool, error) {
		return a.Start.ResumeImages(ctx, ref, images[ref])
	})
	return staleBatch(next, done), err
}

// resume calls start for all, startsAtOnce at a time, and returns how many were started and the errors of all that
// could not be.
func resume[T any](all []T, start func(T) (bool, error)) (started int, err error) {
	var n atomic.Int64
	errs := make([]error, len(all))
	var work errgroup.Group
	work.SetLimit(startsAtOnce)
	for i, one := range all {
		work.Go(func() error {
			// A failure does not keep the others from starting.
			errs[i] = fault.Try("starting a workflow", nil, func() error {
				ok, err := start(one)
				if ok {
					n.Add(1)
				}
				return err
			})
			return nil
		})
	}
	_ = work.Wait()
	return int(n.Load()), errors.Join(errs...)
}

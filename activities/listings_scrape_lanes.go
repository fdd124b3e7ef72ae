package activities

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// work does what is due until the next search page is: visits, re-visits and looks, in the order of scrape.Moment.
func (v *visitor) work(ctx context.Context, at *cursor) error {
	for at.Stopped == "" && at.Suspect == "" {
		now := v.Now()
		todo, err := v.Adverts.Chores(ctx, v.job.Platform, v.job.Cycle, now)
		if err != nil {
			return err
		}
		if v.site.Site().Whole {
			todo.Missing, todo.Oldest = nil, nil
		}
		switch todo.Moment(now, v.job.Page, at.Adverts, at.Last, len(at.Rest), v.again).Next() {
		case scrape.LookStep:
			err = v.look(ctx, at, todo.Look)
		case scrape.VisitStep:
			next := at.Rest[0]
			if err = v.visit(ctx, at, next); err == nil && at.Stopped == "" && at.Suspect == "" {
				at.Rest = slices.DeleteFunc(at.Rest, func(w scrape.Visit) bool { return w.PlatformID == next.PlatformID })
			}
		case scrape.VerifyStep:
			at.Visits++
			err = v.visit(ctx, at, *todo.Missing)
		case scrape.RevisitStep:
			at.Visits++
			v.again++
			err = v.visit(ctx, at, *todo.Oldest)
		default:
			return nil
		}
		if err != nil {
			return err
		}
		progress(ctx, at.kept())
	}
	return nil
}

// search is the one by whose transport, and at whose pace, an advert is visited.
func (v *visitor) search(next scrape.Visit) scrape.Search {
	return scrape.Search{Platform: v.job.Platform, Name: cmp.Or(next.Search, v.of.Name)}
}

// stopped notes that an operator has stopped a search, or the platform; "" is the job's. What another search's look has
// found is dropped with it: its own lanes find it again.
func (v *visitor) stopped(at *cursor, why errStopped, search string) {
	if search == "" || search == v.of.Name {
		at.Stopped = why.why
		return
	}
	at.Rest = slices.DeleteFunc(at.Rest, func(w scrape.Visit) bool { return w.Search == search })
}

// look reads the newest pages of a search until one shows no advert that was not known, and adds the visits to those
// that wait. A page that does not look as expected ends the look and nothing else: the slow lane reads it too, and
// judges it.
func (v *visitor) look(ctx context.Context, at *cursor, l scrape.Lane) error {
	of := scrape.Search{Platform: v.job.Platform, Name: cmp.Or(l.Search, v.of.Name)}
	if err := v.Sites.Looked(ctx, of, v.Now()); err != nil {
		return err
	}
	for n := 1; ; n++ {
		results, err := v.read(ctx, at, of, n)
		if stopped, ok := errors.AsType[errStopped](err); ok {
			v.stopped(at, stopped, of.Name)
			return nil
		}
		if fault.ClassOf(err).Final() && web.RefusalOf(err) == nil {
			activity.GetLogger(ctx).Warn("newest search page could not be read", "platform", of.Platform, "search", of.Name,
				"page", n, "err", err)
			return nil
		}
		if err != nil {
			return err
		}
		found, unknown, pages, err := v.Adverts.Newest(ctx, of, cmp.Or(l.Cycle, v.job.Cycle), results, v.Now())
		if err != nil {
			return err
		}
		if of != v.of {
			for i := range found {
				found[i].Search = of.Name
			}
		}
		before := len(at.Rest)
		at.Rest = scrape.Merge(found, at.Rest)
		at.Visits += len(at.Rest) - before
		if !scrape.LookOn(n, unknown, results.Last, pages) {
			return nil
		}
	}
}

// LookJob is a look at the newest search pages of a platform, between two cycles.
type LookJob struct {
	Platform string `json:"platform"`
	Cycle    int64  `json:"cycle"`            // the one before: visits are counted there
	Search   string `json:"search,omitempty"` // whose pages; "" = scrape.DefaultSearch
}

// LookAtPlatform reads the newest search pages of a platform until one shows nothing new, and visits the adverts on
// them that are new, changed or back. It fails as ScrapePage does. One that is repeated looks again: what was not
// visited is still due.
func (a *Visits) LookAtPlatform(ctx context.Context, job LookJob) (ScrapedPage, error) {
	site, ok := platform.ByName(job.Platform)
	if !ok {
		return ScrapedPage{}, fault.Newf(fault.Invalid, "platform: no reader for %q", job.Platform)
	}
	v := newVisitor(a, site, ScrapeJob{Platform: job.Platform, Cycle: job.Cycle, Page: 1, Search: job.Search})
	at := cursor{}
	if err := v.look(ctx, &at, scrape.Lane{}); err != nil {
		return at.ScrapedPage, v.explain(ctx, err)
	}
	for ; at.Stopped == "" && at.Suspect == "" && len(at.Rest) > 0; at.Rest = at.Rest[1:] {
		if err := v.visit(ctx, &at, at.Rest[0]); err != nil {
			return at.ScrapedPage, v.explain(ctx, err)
		}
		progress(ctx, nil)
	}
	return at.ScrapedPage, nil
}

// Package activities has the activities: every effect that workflows can run.
//
// A struct carries the dependencies of one system, or of a part of one; each exported method is one activity.
// Activities run at least once, so each is idempotent, and they return plain fault errors: package workers translates
// those for Temporal.
package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/place"
	"github.com/mtlrent/conveyor/domain/platform"
)

// Listings are the activities of the listing pipeline. All of them are short steps on our own database, made to run
// as local activities.
type Listings struct {
	Store         ListingStore
	WithoutImages bool          // publish listings with the addresses of their images only; the images wait
	StaleAfter    time.Duration // an archived listing whose advert was not scraped for longer stays archived; 0 = returns
	Prefer        []string      // platforms whose adverts are rather shown where a home has several, the best first
	Enriching     *Enriching    // what enriches versions as they are published
	Now           func() time.Time
}

// ListingStore has the database methods of the pipeline. Each write is one transaction with its events.
type ListingStore interface {
	rawStore
	homeStore
	publicStore
}

type rawStore interface {
	Raw(ctx context.Context, id uuid.UUID) (listing.Payload, error)
	SaveNormalized(ctx context.Context, l listing.Listing, p listing.Payload, now time.Time) error
	Reject(ctx context.Context, raw listing.Raw, p listing.Payload, r *listing.Rejection, run listing.Run,
		now time.Time) error
}

type homeStore interface {
	Kept(id uuid.UUID, revision int64) (listing.Version, bool)
	Load(ctx context.Context, id uuid.UUID) (listing.Version, error)
	JoinHome(ctx context.Context, v listing.Version, prefer []string, run listing.Run, now time.Time) (
		j listing.HomeJudgement, others int, err error)
	SaveDuplicate(ctx context.Context, ref listing.Ref, revision int64, of uuid.UUID, reasons []listing.Reason,
		run listing.Run, now time.Time) error
}

type publicStore interface {
	Publish(ctx context.Context, p listing.Publication, run listing.Run, now time.Time) ([]listing.Image, error)
	Withhold(ctx context.Context, v listing.Version, run listing.Run, now time.Time) error
	HandOver(ctx context.Context, h listing.Handover, run listing.Run, now time.Time) error
}

// The outcomes of a listing's way through the pipeline.
const (
	Imported  = "imported"  // it is visible
	Duplicate = "duplicate" // it is a home that we list already
	Rejected  = "rejected"  // it cannot become a listing
	HandedOn  = "handed_on" // another team does the next stage
	Withheld  = "withheld"  // it is not offered any more; the next scrape makes it visible
)

// ListingJob is one advert on its way through the steps. It carries names, not payloads: those are in Postgres.
type ListingJob struct {
	Ref      listing.Ref     `json:"ref"`
	Revision int64           `json:"revision,omitempty"` // that was normalized
	RepostOf uuid.UUID       `json:"repost_of,omitzero"` // the same home under an older advert of this platform
	Outcome  string          `json:"outcome,omitempty"`  // "" = it goes on to the next step
	Images   []listing.Image `json:"images,omitempty"`   // still to be fetched
	Stage    string          `json:"stage,omitempty"`    // that HandOverListing hands over, or that failed
	Note     string          `json:"note,omitempty"`     // what the step found, for the Web UI
	Enrich   bool            `json:"enrich,omitempty"`   // ImportListing enriches the version as well
	Enriched string          `json:"enriched,omitempty"` // what it found; "" = it did not: EnrichListing is to do it
	Ask      bool            `json:"ask,omitempty"`      // the language model is to be asked
	Pass     int             `json:"pass,omitempty"`     // counts the versions that the run took through the steps before
}

// NormalizeListing interprets the advert's newest payload. An advert that cannot become a listing is recorded with
// every reason and returned as its *listing.Rejection. One that came normalized by another team goes on as it is.
//
// It is an activity although it computes: a better normalizer must not change the replay of a running workflow.
func (a *Listings) NormalizeListing(ctx context.Context, job ListingJob) (ListingJob, error) {
	return counted(ctx, listing.StageNormalize, job, a.normalize)
}

func (a *Listings) normalize(ctx context.Context, job ListingJob) (ListingJob, error) {
	p, err := a.Store.Raw(ctx, job.Ref.ID())
	if err != nil {
		return job, err
	}
	job.Revision = p.Revision
	if p.Staged { // a newer arrival than the one that enters here
		job.Note = "came normalized by another team"
		return job, nil
	}
	var raw listing.Raw
	if err := json.Unmarshal(p.Body, &raw); err != nil {
		return job, fault.Newf(fault.Invalid, "read payload of %s: %w", job.Ref, err)
	}
	raw.Ref = job.Ref // JSON members may differ in case only, and then the door and the database read different ones
	raw.ScrapedAt = p.ScrapedAt
	site, ok := platform.ByName(raw.Platform)
	if !ok {
		return job, fault.Newf(fault.Invalid, "platform: no normalizer for %q", raw.Platform)
	}
	l, err := site.Normalize(raw)
	if rejection, ok := errors.AsType[*listing.Rejection](err); ok {
		if err := a.Store.Reject(ctx, raw, p, rejection, run(ctx), a.Now()); err != nil {
			return job, err
		}
		return job, fmt.Errorf("normalize %s: %w", job.Ref, rejection)
	}
	if err != nil {
		return job, fmt.Errorf("normalize %s: %w", job.Ref, err)
	}
	job.Note = describe(l)
	return job, a.Store.SaveNormalized(ctx, l, p, a.Now())
}

// describe summarizes a listing in a line, with the number of its warnings.
func describe(l listing.Listing) string {
	return fmt.Sprintf("%d $ a month, %d bedrooms, %g rooms, %s; %d warnings",
		l.RentCents/100, l.Bedrooms, l.Rooms, cmp.Or(l.PropertyType, "type not stated"), len(l.Warnings))
}

// DedupeListing finds the home of an advert. One that is shown by another advert makes this one a duplicate, which ends
// its way; one of the same platform is a repost, which is noted and goes on. An advert that is published already is
// judged again: it or another may have changed.
func (a *Listings) DedupeListing(ctx context.Context, job ListingJob) (ListingJob, error) {
	return counted(ctx, listing.StageDedupe, job, a.dedupe)
}

// onVersion does a step with the stored version of the advert: with what the step before has kept of it or, where it
// has changed since, as it is read.
func (a *Listings) onVersion(ctx context.Context, job ListingJob, step func(context.Context, ListingJob,
	listing.Version) (ListingJob, error)) (ListingJob, error) {
	if v, ok := a.Store.Kept(job.Ref.ID(), job.Revision); ok {
		if out, err := step(ctx, job, v); !errors.Is(err, listing.ErrMoved) {
			return out, err
		}
	}
	v, err := a.Store.Load(ctx, job.Ref.ID())
	if err != nil {
		return job, err
	}
	return step(ctx, job, v)
}

func (a *Listings) dedupe(ctx context.Context, job ListingJob) (ListingJob, error) {
	return a.onVersion(ctx, job, a.joinHome)
}

func (a *Listings) joinHome(ctx context.Context, job ListingJob, v listing.Version) (ListingJob, error) {
	job.Revision = v.Revision
	now := a.Now()
	if v.Withheld(a.stale(now)) { // it must not stand for a home that others offer
		job.Note = "no longer offered"
		return job, nil
	}
	j, others, err := a.Store.JoinHome(ctx, v, a.Prefer, run(ctx), now)
	if err != nil {
		return job, err
	}
	switch {
	case j.Hidden:
		job.Outcome, job.Note = Duplicate, "the same home as listing "+j.Shown.String()
	case j.RepostOf != uuid.Nil:
		job.RepostOf, job.Note = j.RepostOf, "a repost of listing "+j.RepostOf.String()
	case j.Alone:
		job.Note = fmt.Sprintf("no other advert for this home among %d nearby", others)
	default:
		job.Note = "shown for home " + j.Home.String()
	}
	return job, nil
}

// stale is the time before which an advert was scraped too long ago to be offered; zero = does not matter.
func (a *Listings) stale(now time.Time) time.Time {
	if a.StaleAfter <= 0 {
		return time.Time{}
	}
	return now.Add(-a.StaleAfter)
}

// ImportListing makes the normalized advert the visible listing, text first, and returns the images that are still
// to be fetched. Those that wait because images are off are returned by the next import after they are on. An advert
// that is not offered any more and has no visible listing is withheld. With job.Enrich what the text states and which
// places are near is stored in the same transaction, and the result has Enriched, and Ask where the language model has
// not answered for this text.
func (a *Listings) ImportListing(ctx context.Context, job ListingJob) (ListingJob, error) {
	return counted(ctx, listing.StageImport, job, a.publish)
}

func (a *Listings) publish(ctx context.Context, job ListingJob) (ListingJob, error) {
	return a.onVersion(ctx, job, a.publishVersion)
}

func (a *Listings) publishVersion(ctx context.Context, job ListingJob, v listing.Version) (_ ListingJob, err error) {
	now := a.Now()
	if v.HiddenBy != uuid.Nil {
		job.Revision, job.Outcome, job.Note = v.Revision, Duplicate, "the same home as listing "+v.HiddenBy.String()
		why := []listing.Reason{{Field: "home", Code: Duplicate, Message: "another advert is shown for this home"}}
		return job, a.Store.SaveDuplicate(ctx, job.Ref, v.Revision, v.HiddenBy, why, run(ctx), now)
	}
	if v.Withheld(a.stale(now)) {
		job.Revision, job.Outcome, job.Note = v.Revision, Withheld, "no longer offered; a newer scrape publishes it"
		return job, a.Store.Withhold(ctx, v, run(ctx), now)
	}
	p := listing.Publication{Version: v, RepostOf: job.RepostOf, WithoutImages: a.WithoutImages}
	where := "no known neighbourhood"
	if l := v.Listing; l.Latitude != nil && l.Longitude != nil {
		if n, ok := place.At(*l.Latitude, *l.Longitude); ok {
			p.Neighbourhood, where = n.Key, n.Label()
		}
	}
	job.Revision, job.Outcome = v.Revision, Imported
	if job.Enrich {
		if job, err = a.enrich(ctx, job, &p); err != nil {
			return job, err
		}
	}
	if job.Images, err = a.Store.Publish(ctx, p, run(ctx), now); err != nil {
		return job, err
	}
	delays(ctx, v, now)
	if job.Enriched != "" {
		left(ctx, listing.StageEnrich, job.Ref, passed)
	}
	job.Note = fmt.Sprintf("%s, %s, %d images to fetch", change(v), where, len(job.Images))
	if a.WithoutImages {
		job.Images = nil // those that wait from before images were off go on waiting
		job.Note = fmt.Sprintf("%s, %s, images are off", change(v), where)
	}
	return job, nil
}

// enrich adds to a publication what is known beyond the fields of its advert, unless that is stored.
func (a *Listings) enrich(ctx context.Context, job ListingJob, p *listing.Publication) (ListingJob, error) {
	entered(ctx, listing.StageEnrich, job.Ref)
	e, ask, err := a.Enriching.read(ctx, p.Enriching())
	if err != nil {
		return job, err
	}
	if !known(p.Enriching(), e) {
		p.Enrichment = &e
	}
	job.Enrich, job.Enriched, job.Ask = false, noted(e), ask
	return job, nil
}

// change describes in words the effect of publishing a version.
func change(v listing.Version) string {
	switch {
	case v.Published == "":
		return "first published"
	case v.Published == "archived":
		return "published after a break"
	case v.Same:
		return "nothing new"
	}
	return "published with changes"
}

// FailListing records that a step will never succeed for the advert, for a reason that is no rejection: as a rejection
// with that reason, so that no message ends without a trace. job.Note is the reason and job.Stage the stage of the
// step; a revision that came after job.Revision is not touched.
func (a *Listings) FailListing(ctx context.Context, job ListingJob) (ListingJob, error) {
	p, err := a.Store.Raw(ctx, job.Ref.ID())
	if fault.ClassOf(err) == fault.Gone {
		return job, nil // nothing was stored that could be rejected
	}
	if err != nil || p.Revision > job.Revision && job.Revision > 0 {
		return job, err
	}
	why := &listing.Rejection{Reasons: []listing.Reason{{Field: job.Stage, Code: "failed", Message: job.Note}}}
	if err := a.Store.Reject(ctx, listing.Raw{Ref: job.Ref}, p, why, run(ctx), a.Now()); err != nil {
		return job, err
	}
	left(ctx, cmp.Or(job.Stage, "any"), job.Ref, Rejected, "failed")
	return job, nil
}

// HandOverListing publishes the advert to the queue of job.Stage, a stage that another team does. An advert that came
// normalized is not handed over to normalize: it goes on to the next stage.
func (a *Listings) HandOverListing(ctx context.Context, job ListingJob) (ListingJob, error) {
	route := listing.StageRoute(job.Stage, job.Ref.Platform)
	h := listing.Handover{
		Ref: job.Ref, Revision: job.Revision, Exchange: route.Exchange, RoutingKey: route.RoutingKey, Pass: job.Pass,
	}
	switch job.Stage {
	case listing.StageNormalize:
		p, err := a.Store.Raw(ctx, job.Ref.ID())
		if err != nil {
			return job, err
		}
		if p.Staged {
			job.Revision, job.Note = p.Revision, "came normalized by another team"
			return job, nil
		}
		h.Revision, h.Bodies, h.Status = p.Revision, [][]byte{p.Body}, "scraped"
		job.Outcome = HandedOn
	case listing.StageEnrich, listing.StageDedupe, listing.StageImport:
		v, err := a.Store.Load(ctx, job.Ref.ID())
		if err != nil {
			return job, err
		}
		body, err := staged(v)
		if err != nil {
			return job, err
		}
		h.Revision, h.Bodies, h.Status = v.Revision, [][]byte{body}, "normalized"
		job.Outcome = HandedOn
	case listing.StageImages:
		for _, img := range job.Images {
			body, err := json.Marshal(contract.PendingImage{
				ListingID: job.Ref.ID().String(), Platform: job.Ref.Platform, URL: img.URL, SortOrder: img.SortOrder,
			})
			if err != nil {
				return job, fmt.Errorf("write image request of %s: %w", job.Ref, err)
			}
			h.Bodies = append(h.Bodies, body)
		}
	default:
		return job, fault.Newf(fault.Invalid, "hand %s over: there is no stage %q", job.Ref, job.Stage)
	}
	if err := a.Store.HandOver(ctx, h, run(ctx), a.Now()); err != nil {
		return job, err
	}
	left(ctx, job.Stage, job.Ref, HandedOn)
	return job, nil
}

// staged writes a normalized listing as other teams' stages read it.
func staged(v listing.Version) ([]byte, error) {
	l := v.Listing
	doc, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("write listing %s: %w", l.Ref, err)
	}
	body, err := json.Marshal(contract.StagedListing{
		Platform: l.Platform, PlatformID: l.PlatformID, URL: l.URL, ScrapedAt: l.ScrapedAt, Revision: v.Revision,
		Listing: doc,
	})
	return body, fault.Wrap(err, "write listing %s", l.Ref)
}

// run names the workflow run of the activity of ctx.
func run(ctx context.Context) listing.Run {
	w := activity.GetInfo(ctx).WorkflowExecution
	return listing.Run{WorkflowID: w.ID, RunID: w.RunID}
}

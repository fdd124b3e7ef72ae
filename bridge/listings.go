package bridge

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// Listings are the queues of the listings system.
type Listings struct {
	Store     *dblistings.Listings
	Launch    ListingStarter
	Stages    []string // the stages that are ours, of listing.Stages: only their queues are consumed here
	Enrich    string   // elsewhere: another team consumes listings.normalized, and dedupe is next to listings.enriched
	Platforms []string // the platforms that have a queue scraped.<platform>
	Prefetch  int      // unacked deliveries of each queue, 1 or more
	Published int      // most messages that listings.published keeps; 0 keeps all
	// An advert that was scraped longer ago does not bring an archived listing back; 0 = any does.
	StaleAfter time.Duration
}

// ListingStarter starts the workflows of listings. Its methods return nil when the work is durably accepted.
type ListingStarter interface {
	Listing(ctx context.Context, ref listing.Ref, a launch.Arrival, summary string) error
	Image(ctx context.Context, job launch.ImageJob, givenUp time.Time) error
}

// Queues returns a row for every platform and every later stage, and one for the events that other services consume.
func (s *Listings) Queues() []Queue {
	var rows []Queue
	add := func(to contract.Route, h Handler) {
		rows = append(rows, Queue{
			Name: to.Queue, Exchange: to.Exchange, Key: to.RoutingKey, DLX: to.Exchange + contract.SuffixDLX,
			DLXKind: amqp.ExchangeDirect, MaxBody: contract.MaxBody, Prefetch: s.Prefetch, Consumers: 1, Handle: h,
		})
	}
	stage := func(stage, platform string, h Handler) {
		if !slices.Contains(s.Stages, stage) {
			h = nil
		}
		add(listing.StageRoute(stage, platform), h)
	}
	for _, p := range s.Platforms {
		stage(listing.StageNormalize, p, together(s.scraped))
	}
	dedupe := each(s.staged(listing.StageDedupe))
	if s.Enrich == listing.EnrichElsewhere {
		add(listing.StageRoute(listing.StageEnrich, ""), nil)
		if !slices.Contains(s.Stages, listing.StageDedupe) {
			dedupe = nil
		}
		add(contract.ListingsRoute(contract.QueueEnriched), dedupe)
	} else {
		stage(listing.StageDedupe, "", dedupe)
	}
	stage(listing.StageImport, "", each(s.staged(listing.StageImport)))
	stage(listing.StageImages, "", each(s.image))
	add(contract.Route{
		Exchange: contract.ExchangeListingEvents, RoutingKey: contract.ListingPublished, Queue: contract.QueuePublished,
	}, nil)
	rows[len(rows)-1].Most = s.Published
	return rows
}

// scraped stores the waiting adverts of a platform in one statement and starts a Listing for each that is new or
// changed. An advert that has not changed since it was last processed to the end needs nothing more, unless its message
// is a replayed dead letter.
func (s *Listings) scraped(ctx context.Context, from source, batch []amqp.Delivery) []error {
	errs := make([]error, len(batch))
	var (
		arrivals []dblistings.Arrival
		adverts  []contract.ScrapedListing
		at       []int // where in batch
	)
	for i, d := range batch {
		m, err := s.advert(from, d)
		if err != nil {
			errs[i] = from.message(ctx, d, func(context.Context) error { return err })
			continue
		}
		arrival, err := dblistings.NewArrival(listing.RawOf(m), d.Body)
		if err != nil {
			errs[i] = err
			continue
		}
		arrival.Stale = s.StaleAfter > 0 && m.ScrapedAt.Before(from.now().Add(-s.StaleAfter))
		arrivals, adverts, at = append(arrivals, arrival), append(adverts, m), append(at, i)
	}
	if len(arrivals) == 0 {
		return errs
	}
	receipts, err := s.Store.Receive(ctx, arrivals, from.now())
	if fault.ClassOf(err).Final() && len(arrivals) > 1 {
		// One of them is more than Postgres takes: find it, so that the others go on.
		for _, i := range at {
			errs[i] = s.scraped(ctx, from, batch[i:i+1])[0]
		}
		return errs
	}
	if err != nil {
		for _, i := range at {
			errs[i] = err
		}
		return errs
	}
	var start errgroup.Group
	start.SetLimit(startsAtOnce)
	unchanged, blocked := 0, 0
	for k, r := range receipts {
		if r.Blocked {
			blocked++
			continue
		}
		replay := letterOf(batch[at[k]].Headers) != 0
		if r.Settled && !replay {
			unchanged++
			continue
		}
		start.Go(func() error {
			errs[at[k]] = from.message(ctx, batch[at[k]], func(ctx context.Context) error {
				return s.Launch.Listing(ctx, arrivals[k].Ref,
					launch.Arrival{Stage: listing.StageNormalize, Revision: r.Revision, Force: replay || r.Archived},
					launch.AdvertSummary(adverts[k].Title, adverts[k].Price.AmountCents))
			})
			return nil
		})
	}
	_ = start.Wait() // each error is in errs
	from.metrics.unchanged(platformOf(from.Queue), unchanged)
	from.metrics.refused(platformOf(from.Queue), blocked)
	return errs
}

// platformOf is the platform whose adverts q carries: they are published with its name as their routing key.
func platformOf(q Queue) string { return q.Key }

// advert reads a message of a platform's queue. Every error is fault.Invalid.
func (s *Listings) advert(from source, d amqp.Delivery) (contract.ScrapedListing, error) {
	m, err := contract.Decode[contract.ScrapedListing](d.Body, from.MaxBody)
	if err == nil && m.Platform != platformOf(from.Queue) {
		err = s.wrongPlatform(from.Queue, m.Platform)
	}
	if err == nil {
		err = future("scraped_at", m.ScrapedAt, from.now())
	}
	if err != nil {
		return m, &fault.Error{Class: fault.Invalid, Err: err}
	}
	return m, nil
}

func (s *Listings) wrongPlatform(q Queue, platform string) error {
	if !slices.Contains(s.Platforms, platform) {
		return contract.Errors{{Field: "platform", Reason: fmt.Sprintf("%q is not known; known are %s", platform,
			strings.Join(s.Platforms, ", "))}}
	}
	return contract.Errors{{Field: "platform", Reason: fmt.Sprintf("is %q in queue %s; publish it with routing key %q",
		platform, q.Name, platform)}}
}

// future refuses a time of a sender whose clock is wrong. Within contract.MaxAhead it counts as now.
func future(field string, at, now time.Time) error {
	if at.After(now.Add(contract.MaxAhead)) {
		return contract.Errors{{Field: field, Reason: fmt.Sprintf("is %s, more than an hour after now (%s)",
			at.Format(time.RFC3339), now.UTC().Format(time.RFC3339))}}
	}
	return nil
}

// staged takes a listing that another team's stage has worked on and enters it at stage.
func (s *Listings) staged(stage string) func(context.Context, source, amqp.Delivery, contract.StagedListing) error {
	return func(ctx context.Context, from source, d amqp.Delivery, m contract.StagedListing) error {
		if err := future("scraped_at", m.ScrapedAt, from.now()); err != nil {
			return &fault.Error{Class: fault.Invalid, Err: err}
		}
		ref := listing.Ref{Platform: m.Platform, PlatformID: m.PlatformID}
		var l listing.Listing
		if wrong := contract.Part("listing", m.Listing, &l); wrong != nil {
			return &fault.Error{Class: fault.Invalid, Err: wrong}
		}
		l.Ref, l.URL, l.ScrapedAt = ref, m.URL, m.ScrapedAt // the envelope is the authority
		if l.PostedAt != nil && !contract.TimeFits(*l.PostedAt) {
			l.PostedAt = nil
		}
		l.ImageURLs = distinct(l.ImageURLs, listing.MaxImages)
		hash := sha256.Sum256(m.Listing)
		receipt, err := s.Store.ReceiveStaged(ctx, dblistings.Arrival{
			Ref: ref, URL: m.URL, Payload: d.Body, ContentHash: hash[:], ScrapedAt: m.ScrapedAt,
		}, m.Revision, l, from.now())
		if receipt.Overtaken {
			from.metrics.overtaken(from.Name)
			from.log.DebugContext(ctx, "a newer scrape has overtaken this message", "ref", ref, "scraped_at", m.ScrapedAt)
		}
		if err != nil || receipt.Settled {
			return err
		}
		return s.Launch.Listing(ctx, ref, launch.Arrival{Stage: stage, Revision: receipt.Revision, Force: true},
			launch.AdvertSummary(l.Title, &l.RentCents))
	}
}

// distinct drops repeats, and what comes after the first most.
func distinct(urls []string, most int) []string {
	var out []string
	for _, u := range urls {
		if len(out) < most && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}

// image starts the download of one image that another team's import asks for.
func (s *Listings) image(ctx context.Context, from source, d amqp.Delivery, m contract.PendingImage) error {
	id, err := uuid.Parse(m.ListingID)
	if err != nil {
		return fault.Newf(fault.Invalid, "listing_id: %q is not a UUID", m.ListingID)
	}
	img := listing.Image{URL: m.URL, SortOrder: m.SortOrder}
	want, err := s.Store.WantImage(ctx, id, img, letterOf(d.Headers) != 0, from.now())
	if err != nil || !want.Pending {
		return err
	}
	return s.Launch.Image(ctx, launch.ImageJob{Ref: want.Ref, Image: img}, want.GivenUp)
}

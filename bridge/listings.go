package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/launch"
)

// startsAtOnce is how many workflows one batch starts at the same time.
const startsAtOnce = 16

// handler returns what acts on a queue's deliveries.
func (b *Bridge) handler(q queue) handler {
	switch {
	case q.dead:
		return b.together(q, b.archive)
	case q.drafts:
		return b.each(q, b.draftRequested)
	case q.stage == listing.StageNormalize:
		return b.together(q, b.scraped)
	case q.stage == listing.StageImages:
		return b.each(q, b.image)
	default:
		return b.each(q, func(ctx context.Context, d amqp.Delivery) error { return b.staged(ctx, q.stage, d) })
	}
}

// scraped stores what waits in one statement and starts a Listing for whatever is new or changed. Adverts that did
// not change since they were last brought to their end are done with that, unless they are dead letters replayed.
func (b *Bridge) scraped(ctx context.Context, q queue, batch []amqp.Delivery) []error {
	spans := newTracing(b.Traces)
	errs := make([]error, len(batch))
	var (
		arrivals []db.Arrival
		adverts  []contract.ScrapedListing
		at       []int // where in batch
	)
	for i, d := range batch {
		m, err := contract.Decode[contract.ScrapedListing](d.Body)
		if err == nil && m.Platform != q.platform {
			err = b.wrongPlatform(q, m.Platform)
		}
		if err == nil {
			err = b.future(m.ScrapedAt)
		}
		if err != nil {
			errs[i] = spans.message(ctx, q, d, func(context.Context) error {
				return &fault.Error{Class: fault.Invalid, Err: err}
			})
			continue
		}
		arrival, err := arrivalOf(m, d.Body)
		if err != nil {
			errs[i] = err
			continue
		}
		arrivals, adverts, at = append(arrivals, arrival), append(adverts, m), append(at, i)
	}
	if len(arrivals) == 0 {
		return errs
	}
	receipts, err := b.Listings.Receive(ctx, arrivals, b.Now())
	if class, _ := fault.Of(err); class.Final() && len(arrivals) > 1 {
		// One of them is more than Postgres takes: find it, so that the others go on.
		for _, i := range at {
			errs[i] = b.scraped(ctx, q, batch[i:i+1])[0]
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
	settled := 0
	for k, r := range receipts {
		replay := letterOf(batch[at[k]].Headers) != 0
		if r.Settled && !replay {
			settled++
			continue
		}
		start.Go(func() error {
			errs[at[k]] = b.unpanicked(ctx, func() error {
				return spans.message(ctx, q, batch[at[k]], func(ctx context.Context) error {
					return b.Launch.Listing(ctx, arrivals[k].Ref,
						launch.Arrival{Stage: listing.StageNormalize, Revision: r.Revision, Force: replay || r.Archived},
						launch.AdvertSummary(adverts[k].Title, adverts[k].Price.AmountCents))
				})
			})
			return nil
		})
	}
	_ = start.Wait() // each error is in errs
	b.Metrics.unchanged(q.platform, settled)
	return errs
}

func (b *Bridge) wrongPlatform(q queue, platform string) error {
	if !slices.Contains(b.Platforms, platform) {
		return contract.Errors{{Field: "platform", Reason: fmt.Sprintf("%q is not known; known are %s", platform,
			strings.Join(b.Platforms, ", "))}}
	}
	return contract.Errors{{Field: "platform", Reason: fmt.Sprintf("is %q in queue %s; publish it with routing key %q",
		platform, q.queue, platform)}}
}

// future refuses a scrape of tomorrow: no later one would ever be newer.
func (b *Bridge) future(scraped time.Time) error {
	if now := b.Now(); scraped.After(now.Add(time.Hour)) {
		return contract.Errors{{Field: "scraped_at", Reason: fmt.Sprintf("is %s, more than an hour after now (%s)",
			scraped.Format(time.RFC3339), now.UTC().Format(time.RFC3339))}}
	}
	return nil
}

// arrivalOf turns a checked message into what the store takes.
func arrivalOf(m contract.ScrapedListing, body []byte) (db.Arrival, error) {
	raw := listing.Raw{
		Ref: listing.Ref{Platform: m.Platform, PlatformID: m.PlatformID},
		URL: m.URL, ScrapedAt: m.ScrapedAt, Title: m.Title, Description: m.Description,
		Price: listing.RawPrice(m.Price), Address: m.Address, Latitude: m.Latitude, Longitude: m.Longitude,
		Attributes: m.Attributes, ImageURLs: m.ImageURLs, Contact: listing.RawContact(m.Contact), PostedAt: m.PostedAt,
	}
	return db.NewArrival(raw, body)
}

// staged takes a listing that another team's stage has worked on and enters it at stage.
func (b *Bridge) staged(ctx context.Context, stage string, d amqp.Delivery) error {
	m, err := contract.Decode[contract.StagedListing](d.Body)
	if err != nil {
		return &fault.Error{Class: fault.Invalid, Err: err}
	}
	if err := b.future(m.ScrapedAt); err != nil {
		return &fault.Error{Class: fault.Invalid, Err: err}
	}
	ref := listing.Ref{Platform: m.Platform, PlatformID: m.PlatformID}
	var l listing.Listing
	if err := json.Unmarshal(m.Listing, &l); err != nil {
		return fault.Newf(fault.Invalid, "listing: %w", err)
	}
	l.Ref, l.URL, l.ScrapedAt = ref, m.URL, m.ScrapedAt // the envelope is the authority
	l.ImageURLs = distinct(l.ImageURLs, listing.MaxImages)
	hash := sha256.Sum256(m.Listing)
	receipt, err := b.Listings.ReceiveStaged(ctx, db.Arrival{
		Ref: ref, URL: m.URL, Payload: d.Body, ContentHash: hash[:], ScrapedAt: m.ScrapedAt,
	}, l, b.Now())
	if err != nil || receipt.Settled {
		return err
	}
	return b.Launch.Listing(ctx, ref, launch.Arrival{Stage: stage, Revision: receipt.Revision, Force: true},
		launch.AdvertSummary(l.Title, &l.RentCents))
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
func (b *Bridge) image(ctx context.Context, d amqp.Delivery) error {
	m, err := contract.Decode[contract.PendingImage](d.Body)
	if err != nil {
		return &fault.Error{Class: fault.Invalid, Err: err}
	}
	id, err := uuid.Parse(m.ListingID)
	if err != nil {
		return fault.Newf(fault.Invalid, "listing_id: %q is not a UUID", m.ListingID)
	}
	img := listing.Image{URL: m.URL, SortOrder: m.SortOrder}
	want, err := b.Listings.WantImage(ctx, id, img, letterOf(d.Headers) != 0, b.Now())
	if err != nil || !want.Pending {
		return err
	}
	return b.Launch.Image(ctx, launch.ImageJob{Ref: want.Ref, Image: img}, want.GivenUp)
}

// together makes a handler of a function for a whole batch.
func (b *Bridge) together(q queue, f func(context.Context, queue, []amqp.Delivery) []error) handler {
	spans := newTracing(b.Traces)
	return func(ctx context.Context, batch []amqp.Delivery) []error {
		ctx, span := spans.batch(ctx, q, batch)
		defer span.End()
		return f(ctx, q, batch)
	}
}

// each makes a handler of a function for one delivery, a few at a time.
func (b *Bridge) each(q queue, f func(context.Context, amqp.Delivery) error) handler {
	spans := newTracing(b.Traces)
	return func(ctx context.Context, batch []amqp.Delivery) []error {
		errs := make([]error, len(batch))
		var work errgroup.Group
		work.SetLimit(startsAtOnce)
		for i, d := range batch {
			work.Go(func() error {
				errs[i] = b.unpanicked(ctx, func() error {
					return spans.message(ctx, q, d, func(ctx context.Context) error { return f(ctx, d) })
				})
				return nil
			})
		}
		_ = work.Wait() // each error is in errs
		return errs
	}
}

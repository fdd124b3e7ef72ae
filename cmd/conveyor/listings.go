package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/bridge"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/limit"
	"github.com/mtlrent/conveyor/internal/telemetry"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// listings is rental adverts: scraping them, the pipeline, its replays, images and staleness.
func (h *house) listings() system {
	queues := bridge.Listings{
		Store: dblistings.NewListings(h.pool), Launch: h.launch,
		Stages: h.config.Listings.Stages, Platforms: platform.Names(),
		Enrich:   h.config.Listings.Enrich,
		Prefetch: h.config.RabbitMQ.Prefetch, Published: h.config.Outbox.Published, StaleAfter: h.config.Listings.StaleAfter,
	}
	return system{
		activities: h.listingActivities,
		parts: []api.Part{
			apilistings.Listings{Store: dblistings.NewListings(h.pool), Launch: h.launch, Audit: db.NewAuditLog(h.pool)},
			apilistings.Duplicates{Store: dblistings.NewListings(h.pool), Launch: h.launch, Prefer: h.config.Listings.Prefer},
			apilistings.Replays{Store: dblistings.NewReplays(h.pool), Launch: h.launch},
			apilistings.Staleness{Launch: h.launch, Audit: db.NewAuditLog(h.pool)},
			apilistings.Platforms{Store: dblistings.NewPlatforms(h.pool), Launch: h.launch, Secrets: h.box},
			apilistings.Images{Blobs: h.blobs},
		},
		queues: queues.Queues(),
		backlog: func(b *telemetry.Backlog) {
			b.Limits = func(ctx context.Context) ([]backlog.Host, error) {
				return limit.Waits(ctx, h.redis, imageLimiter, maxHosts, time.Now())
			}
			b.Platforms, b.Unfinished = h.scraperStates, h.unfinished
		},
		bootstrap: h.bootstrapScrapers,
	}
}

// fetchesImages says whether images are fetched, and by this deployment.
func (h *house) fetchesImages() bool {
	return h.config.Images.Fetch && slices.Contains(h.config.Listings.Stages, listing.StageImages)
}

// unfinished counts the adverts and images that the staleness check would resume.
func (h *house) unfinished(ctx context.Context) (backlog.Unfinished, error) {
	now := time.Now()
	return dblistings.NewListings(h.pool).CountUnfinished(ctx, now.Add(-listing.UnfinishedAfter),
		now.Add(-h.config.Listings.StaleAfter), slices.Contains(h.config.Listings.Stages, listing.StageNormalize),
		h.fetchesImages())
}

// imageLimiter names the limiter of image downloads, in Redis and in metrics.
const imageLimiter = "images"

// maxHosts is how many waiting hosts a report lists at most.
const maxHosts = 50

// listingActivities opens the clients and the browser that the activities of listings use.
func (h *house) listingActivities(ctx context.Context) (rows []workers.Row, done func()) {
	store := dblistings.NewListings(h.pool)
	hosts := limit.New(h.redis, limit.Options{
		Name: imageLimiter, Interval: h.config.Images.Interval, MaxWait: workflows.ImageTimeout / 4, Registerer: h.registry,
	})
	// Pages and pictures do not wait for each other: they are different task queues.
	pages, pictures := confine.New(confine.Options{}), confine.New(confine.Options{})
	source := fetch.New(fetch.Options{
		AllowPrivate: h.config.Images.AllowPrivate, Turn: hosts.Wait, Picture: pictures.Picture, Outage: h.outage,
		Traces: h.traces,
	})
	plain := plainClient(h.config, h.traces)
	chromium := h.chromium()
	if slices.Contains(h.config.Worker.Queues, workflows.QueueBrowser) {
		if err := chromium.Check(); err != nil {
			h.log.WarnContext(ctx, "sites that need a browser cannot be scraped by this worker", "err", err)
		}
	}
	platforms := dblistings.NewPlatforms(h.pool)
	visits := &activities.Visits{
		Sites: platforms, Trouble: platforms, Adverts: platforms, Results: platforms,
		Pages:  map[scrape.Transport]activities.PageSource{scrape.HTTP: plain, scrape.Browser: chromium},
		Reader: pages, Robots: fetch.NewRobotsBy(plain.Ask, fetch.RobotsOptions{}), Secrets: h.box, Now: time.Now,
		Dice: rand.Float64, Cycled: chromium.CycleDone,
	}
	stale, perSecond := h.config.Listings.StaleAfter, h.config.Listings.ReplayRate
	replayed := limit.NewRate(h.redis, limit.RateOptions{
		Name: "replays", Events: perSecond, Period: time.Second, Burst: perSecond, Registerer: h.registry,
	})
	turns := func(ctx context.Context, n int) int { return replayed.TakeUpTo(ctx, "all", n) }
	enriching, enrichments, closeModel := h.enrichment(ctx, store)
	rows = []workers.Row{
		{Queue: workflows.QueueListings, WorkflowSlots: 200, Activities: []any{
			&activities.Listings{
				Store: store, WithoutImages: !h.config.Images.Fetch, StaleAfter: stale, Prefer: h.config.Listings.Prefer,
				Enriching: enriching, Now: time.Now,
			},
			&activities.Replays{
				Store: dblistings.NewReplays(h.pool), Start: h.launch, StaleAfter: stale, Turns: turns, Now: time.Now,
			},
			&activities.Staleness{Store: store, Start: h.launch, After: stale, Now: time.Now},
			&activities.Unfinished{
				Store: store, Start: h.launch, Stages: h.config.Listings.Stages, Images: h.fetchesImages(), After: stale,
				Now: time.Now,
			},
			&activities.Cycles{Store: platforms, Now: time.Now},
		}},
		{Queue: workflows.QueueImages, Slots: h.config.Worker.ImageSlots, Activities: []any{
			&activities.Images{Store: store, Source: source, Blobs: h.blobs, Now: time.Now},
		}},
		{Queue: workflows.QueueBrowser, Slots: h.config.Worker.Scrapes, Activities: []any{visits}},
	}
	stop := h.tendListings(store, platforms)
	return append(rows, enrichments...), each(stop, closeModel, pages.Close, pictures.Close, plain.Close, source.Close)
}

// tendListings fills the words of listings, and starts replays and scrapers that have no workflow.
func (h *house) tendListings(store *dblistings.Listings, platforms *dblistings.Platforms) (stop func()) {
	words := h.tend(workflows.QueueListings, "filling the words of listings", time.Minute,
		func(ctx context.Context) error { return fillWords(ctx, store) })
	replays := resume[listing.Replay]{
		queue: workflows.QueueListings, doing: "starting replays", every: replaysEvery,
		list: func(ctx context.Context, _ listing.Replay, _ int) ([]listing.Replay, error) {
			return dblistings.NewReplays(h.pool).Unstarted(ctx, time.Now().Add(-replaysEvery), 100)
		},
		start: h.launch.Replay,
	}.tend(h)
	scrapers := resume[dblistings.Platform]{
		queue: workflows.QueueListings, doing: "starting scrapers", every: scrapersEvery,
		list: func(ctx context.Context, _ dblistings.Platform, _ int) ([]dblistings.Platform, error) {
			return unbegun(ctx, platforms)
		},
		start: func(ctx context.Context, p dblistings.Platform) error { return h.launch.Scraper(ctx, p.Name, p.URL) },
	}.tend(h)
	return each(words, replays, scrapers)
}

// replaysEvery is how often replays without a workflow are looked for. One that works writes to its row every second or
// so.
const replaysEvery = 30 * time.Second

// scrapersEvery is how often scrapers that have not begun are looked for. One that runs begins at once.
const scrapersEvery = time.Minute

// unbegun are the platforms whose scrapers wait for their first cycle: Temporal may have been away when they were
// enabled. Those of others have begun, and an operator who ends one means it.
func unbegun(ctx context.Context, store *dblistings.Platforms) ([]dblistings.Platform, error) {
	list, err := store.List(ctx, time.Now())
	return slices.DeleteFunc(list, func(p dblistings.Platform) bool { return p.State != scrape.Waiting }), err
}

// fillWords fills the words of listings that have none, in batches, with as long a pause after each. Workers of the
// release before may still write such listings.
func fillWords(ctx context.Context, store *dblistings.Listings) error {
	const most = 200
	for last := uuid.Nil; ; {
		began := time.Now()
		next, _, err := store.FillWords(ctx, last, most)
		if err != nil || next == uuid.Nil {
			return err
		}
		last = next
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Since(began)):
		}
	}
}

// plainClient loads pages where no script has to run.
func plainClient(c config.Config, traces trace.TracerProvider) *fetch.Client {
	return fetch.New(fetch.Options{AllowPrivate: c.Images.AllowPrivate, Timeout: c.Browser.Timeout, Traces: traces})
}

// newBrowser makes a browser.
func newBrowser(c config.Config, log *slog.Logger, registry prometheus.Registerer) *browser.Browser {
	b := c.Browser
	return browser.New(browser.Options{
		URL: b.URL, Executable: b.Executable, Driver: b.Driver, NoSandbox: b.Sandbox == config.SandboxOff,
		Dial: fetch.Dial(c.Images.AllowPrivate, nil), Pages: b.Pages,
		Through:   func(p web.Proxy) fetch.Dialer { return fetch.Through(p, c.Images.AllowPrivate, nil) },
		MaxCycles: b.MaxCycles, MaxAge: b.MaxAge, MaxRSS: b.MaxRSS << 20, Timeout: b.Timeout, Log: log, Registerer: registry,
	})
}

// bootstrapScrapers stores the configured settings of each platform and starts the scrapers of those that are enabled.
// The others are started when an operator enables them.
func (h *house) bootstrapScrapers(ctx context.Context) error {
	for _, p := range h.config.Scrape.Platforms {
		name, _, _ := strings.Cut(strings.TrimSpace(p), "=")
		if _, ok := platform.ByName(name); !ok {
			return fmt.Errorf("CONVEYOR_SCRAPE: there is no platform %q; known are %s", name, strings.Join(platform.Names(), ", "))
		}
	}
	store := dblistings.NewPlatforms(h.pool)
	for _, site := range platform.All {
		name := site.Name()
		settings := h.config.Scrape.Of(name, site.Site())
		if _, err := site.SearchRequest(settings.URL, 1); err != nil {
			return fmt.Errorf("CONVEYOR_SCRAPE: %s: %w", name, err)
		}
		if err := store.Configure(ctx, name, settings, time.Now()); err != nil {
			return err
		}
		p, err := store.Get(ctx, name, time.Now())
		if err != nil {
			return err
		}
		if !p.Settings.Enabled {
			continue
		}
		if err := h.launch.Scraper(ctx, name, settings.URL); err != nil {
			return err
		}
	}
	return nil
}

// scraperStates reads the state of every scraper, for reports and metrics.
func (h *house) scraperStates(ctx context.Context) ([]backlog.Scraper, error) {
	now := time.Now()
	list, err := dblistings.NewPlatforms(h.pool).List(ctx, now)
	if err != nil {
		return nil, err
	}
	out := make([]backlog.Scraper, len(list))
	for i, p := range list {
		out[i] = scraperState(p, now)
	}
	return out, nil
}

func scraperState(p dblistings.Platform, now time.Time) backlog.Scraper {
	seconds := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	out := backlog.Scraper{
		Name: p.Name, State: p.State, Next: p.Next, Adverts: backlog.AdvertCount(p.Adverts), LastSuccessAt: p.LastSuccessAt,
		OldestVisitAt: p.OldestVisitAt,
	}
	if o, ok := p.Outlook(); ok {
		out.CycleSeconds = o.Cycle.Seconds()
	}
	if b := p.Blocked; b != nil {
		out.Refusals, out.RefusedReason = b.Refusals, b.Reason
	}
	if s := p.Suspect; s != nil {
		out.SuspectSince, out.SuspectReason = &s.Since, s.Reason
	}
	var searches []scrape.Pace
	for _, s := range p.Searches {
		if how := s.Settings; !s.Paused {
			searches = append(searches, scrape.Pace{Delay: seconds(how.DelaySeconds), Cooldown: seconds(how.CooldownSeconds)})
		}
	}
	progress := scrape.Progress{
		State: p.State, Delay: seconds(p.Settings.DelaySeconds), Cooldown: seconds(p.Settings.CooldownSeconds),
	}.With(searches)
	if p.LastSuccessAt != nil {
		progress.LastPage = *p.LastSuccessAt
	}
	for _, c := range []*dblistings.PlatformCycle{p.Current, p.Last} {
		if c != nil {
			progress.Started = append(progress.Started, c.StartedAt)
		}
	}
	out.OverdueSeconds = progress.Overdue(now).Seconds()
	return out
}

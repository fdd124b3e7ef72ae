package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// A team is the hand-written consumers that docs/migration.md moves away from: one a stage, each consuming the queue of
// its stage and publishing to that of the next.
type team struct {
	w      *world
	lines  []*amqp.Channel
	mu     sync.Mutex
	took   map[string][]string // by stage: the adverts consumed
	bodies map[string][]byte   // by advert: the body its importer got last
}

// otherTeam runs the consumers of stages.
func (w *world) otherTeam(stages ...string) *team {
	w.t.Helper()

	o := &team{w: w, took: map[string][]string{}, bodies: map[string][]byte{}}
	for _, stage := range stages {
		o.consume(stage)
	}
	return o
}

// stageQueues is where the work of each stage lies.
var stageQueues = map[string]string{
	listing.StageNormalize: "scraped.kijiji", listing.StageDedupe: "listings.normalized",
	listing.StageEnrich: "listings.normalized", listing.StageImport: "listings.ready", listing.StageImages: "images.pending",
}

func (o *team) consume(stage string) {
	o.w.t.Helper()

	ch := o.w.broker.Channel()
	o.lines = append(o.lines, ch)
	deliveries, err := ch.Consume(stageQueues[stage], "other-team", false, false, false, false, nil)
	require.NoError(o.w.t, err)
	go func() { // ends with the channel
		for d := range deliveries {
			if err := o.work(ch, stage, d.Body); err != nil {
				o.w.t.Errorf("the other team's %s: %v", stage, err)
			}
			_ = d.Ack(false)
		}
	}()
}

// stop ends the consumers; messages that they did not take stay in their queue.
func (o *team) stop() {
	o.w.t.Helper()

	for _, ch := range o.lines {
		require.NoError(o.w.t, ch.Close())
	}
}

// work does a stage's part, as simply as it goes.
func (o *team) work(ch *amqp.Channel, stage string, body []byte) error {
	var next, name string
	switch stage {
	case listing.StageNormalize:
		m, err := contract.Decode[contract.ScrapedListing](body, contract.MaxBody)
		if err != nil {
			return err
		}
		doc, err := json.Marshal(map[string]any{
			"title": m.Title, "rent_cents": m.Price.AmountCents, "bedrooms": 2, "image_urls": m.ImageURLs,
		})
		if err != nil {
			return err
		}
		body, err = json.Marshal(contract.StagedListing{
			Platform: m.Platform, PlatformID: m.PlatformID, URL: m.URL, ScrapedAt: m.ScrapedAt, Listing: doc,
		})
		if err != nil {
			return err
		}
		next, name = "listings.normalized", m.PlatformID
	case listing.StageEnrich:
		m, err := contract.Decode[contract.StagedListing](body, contract.MaxBody)
		if err != nil {
			return err
		}
		var l map[string]any
		if err := json.Unmarshal(m.Listing, &l); err != nil {
			return err
		}
		l["amenities"] = []string{"sauna"}
		if m.Listing, err = json.Marshal(l); err != nil {
			return err
		}
		if body, err = json.Marshal(m); err != nil {
			return err
		}
		next, name = "listings.enriched", m.PlatformID
	case listing.StageDedupe, listing.StageImport:
		m, err := contract.Decode[contract.StagedListing](body, contract.MaxBody)
		if err != nil {
			return err
		}
		if name = m.PlatformID; stage == listing.StageDedupe {
			next = "listings.ready"
		}
	case listing.StageImages:
		m, err := contract.Decode[contract.PendingImage](body, contract.MaxBody)
		if err != nil {
			return err
		}
		name = m.URL
	}
	o.mu.Lock()
	o.took[stage] = append(o.took[stage], name)
	if stage == listing.StageImport {
		o.bodies[name] = body
	}
	o.mu.Unlock()
	if next == "" {
		return nil
	}
	return ch.Publish("listings", next, false, false, amqp.Publishing{DeliveryMode: amqp.Persistent, Body: body})
}

// saw waits until a stage has consumed exactly these, in any order.
func (o *team) saw(stage string, want ...string) {
	o.w.t.Helper()

	slices.Sort(want)
	o.w.eventually(fmt.Sprintf("the other team's %s has %v", stage, want), func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		got := slices.Clone(o.took[stage])
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}

// ours says which stages a world's roles are told to take.
func ours(stages string) string { return "CONVEYOR_LISTING_STAGES=" + stages }

// patient is the setting that takes no advert of these tests for stale: a replay would skip it.
const patient = "CONVEYOR_STALE_AFTER=87600h"

// move restarts every role with other stages, as a deployment does.
func (w *world) move(roles map[string]*process, stages string) {
	w.t.Helper()

	w.env = append(w.env, ours(stages))
	for _, role := range []string{"bridge", "worker", "api"} {
		roles[role].stop(w.t)
		roles[role] = w.start(role)
	}
	for stage := range strings.SplitSeq(stages, ",") {
		w.eventually("we consume "+stage, func() bool { return w.consumers(stageQueues[stage]) == 1 })
	}
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == 200 })
}

func (w *world) consumers(queue string) int {
	w.t.Helper()

	ch := w.broker.Channel()
	defer ch.Close()
	q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
	require.NoError(w.t, err)
	return q.Consumers
}

// Step 1 of docs/migration.md: we normalize, and everything after that is still theirs.
func TestMigrationNormalizeIsOurs(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := withAPI(t, ours("normalize"))
	for _, queue := range []string{"listings.normalized", "listings.ready", "images.pending"} {
		require.Zero(t, w.consumers(queue), queue)
	}
	theirs := w.otherTeam(listing.StageDedupe, listing.StageImport)
	w.publish("scraped", "kijiji", advert("1"), advert("2", with("price", map[string]any{"amount_cents": 99900})),
		advert("3", with("price", map[string]any{"type": "CONTACT"})))
	theirs.saw(listing.StageImport, "1", "2")
	w.eventually("the advert that cannot be a listing is a dead letter", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters") == 1
	})
	var m contract.StagedListing
	require.NoError(t, json.Unmarshal(theirs.bodies["2"], &m))
	var l listing.Listing
	require.NoError(t, json.Unmarshal(m.Listing, &l))
	require.EqualValues(t, 99900, l.RentCents)
	require.Equal(t, "H3S 2N1", l.Address.PostalCode, "it says more than theirs did")
	require.Zero(t, one[int](w, "SELECT count(*) FROM listings"))

	// An unchanged advert is not sent to them again; a changed one is.
	w.publish("scraped", "kijiji", advert("1", with("scraped_at", "2026-01-11T12:00:00Z")),
		advert("2", with("scraped_at", "2026-01-11T12:00:00Z")))
	theirs.saw(listing.StageImport, "1", "2", "2")
}

// Step 2: we normalize and look for duplicates. A normalizer that is still theirs may go on beside ours.
func TestMigrationDedupeIsOurs(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := withAPI(t, ours("normalize,dedupe"))
	theirs := w.otherTeam(listing.StageImport)
	w.publish("scraped", "kijiji", advert("1"), advert("2"))
	body, err := json.Marshal(contract.StagedListing{
		Platform: "kijiji", PlatformID: "3", URL: "https://a.example/3", ScrapedAt: time.Now(),
		Listing: json.RawMessage(`{"title": "from another normalizer", "rent_cents": 100000, "bedrooms": 1}`),
	})
	require.NoError(t, err)
	w.publish("listings", "listings.normalized", body)
	theirs.saw(listing.StageImport, "1", "2", "3")
	w.publish("scraped", "kangalou", advert("1", with("platform", "kangalou")))
	theirs.saw(listing.StageImport, "1", "1", "2", "3") // its twin is no listing of ours
	require.Zero(t, one[int](w, "SELECT count(*) FROM listings"))
	require.Zero(t, w.consumers("images.pending"))
}

// Step 3: the listings are ours. Adverts that went to their importer before are taken over by a replay.
func TestMigrationImportIsOurs(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, roles := withAPI(t, ours("normalize,dedupe"), patient)
	importer := w.otherTeam(listing.StageImport)
	w.publish("scraped", "kijiji", advert("1"), advert("2", with("latitude", 45.6)))
	importer.saw(listing.StageImport, "1", "2")

	// Their importer stops before ours starts; messages that come meanwhile wait in the queue.
	importer.stop()
	w.publish("scraped", "kijiji", advert("3", with("latitude", 45.7)))
	w.eventually("it waits for an importer", func() bool { return w.broker.Ready("listings.ready") == 1 })
	w.move(roles, "normalize,dedupe,import")
	w.eventually("the waiting one is a listing", func() bool { return one[int](w, "SELECT count(*) FROM listings") == 1 })
	w.run("replay", "start", "--stage", "dedupe", "--status", "normalized", "--wait")
	require.Equal(t, 3, one[int](w, "SELECT count(*) FROM listings"))

	downloader := w.otherTeam(listing.StageImages)
	photo := w.siteURL + "/photos/4/1.jpg"
	w.publish("scraped", "kijiji", advert("4", with("latitude", 45.8), with("image_urls", []string{photo})))
	downloader.saw(listing.StageImages, photo)
	require.Equal(t, 4, one[int](w, "SELECT count(*) FROM listings"))
	require.Zero(t, one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached'"))
}

// Step 4: everything is ours. Images that their downloader never got are in its queue, which is ours now.
func TestMigrationImagesAreOurs(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, roles := withAPI(t, ours("normalize,dedupe,import"), patient)
	downloader := w.otherTeam(listing.StageImages)
	theirs := w.siteURL + "/photos/3/1.jpg"
	w.publish("scraped", "kijiji", advert("3", with("latitude", 45.7), with("image_urls", []string{theirs})))
	downloader.saw(listing.StageImages, theirs)
	downloader.stop()
	photos := []string{w.siteURL + "/photos/1/1.jpg", w.siteURL + "/photos/1/2.jpg"}
	w.publish("scraped", "kijiji", advert("1", with("image_urls", photos)))
	w.eventually("the images wait for a downloader", func() bool { return w.broker.Ready("images.pending") == 2 })
	w.move(roles, "normalize,dedupe,import,images")
	w.publish("scraped", "kijiji", advert("2", with("latitude", 45.6), with("image_urls", []string{w.siteURL + "/photos/2/1.jpg"})))
	w.eventually("all are attached", func() bool {
		return one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached'") == 3
	})
	// An image that their downloader has fetched is missing from ours: a replay takes it over.
	w.run("replay", "start", "--stage", "import", "--status", "imported", "--wait")
	w.eventually("theirs is attached too", func() bool {
		return one[string](w, "SELECT state FROM listing_images WHERE url = $1", theirs) == "attached"
	})
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters"))
}

// The way back: their importer takes over again, and a replay hands it the listings that we have imported meanwhile.
func TestMigrationBack(t *testing.T) {
	t.Parallel()

	w, roles := withAPI(t, patient)
	w.publish("scraped", "kijiji", advert("1"), advert("2", with("latitude", 45.6)))
	w.eventually("both are ours", func() bool { return one[int](w, "SELECT count(*) FROM listings") == 2 })
	w.move(roles, "normalize")
	theirs := w.otherTeam(listing.StageDedupe, listing.StageImport)
	w.publish("scraped", "kijiji", advert("3", with("latitude", 45.7)))
	theirs.saw(listing.StageImport, "3")
	w.run("replay", "start", "--stage", "dedupe", "--status", "imported", "--wait")
	theirs.saw(listing.StageImport, "1", "2", "3")
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM listings WHERE status = 'active'"), "ours stay as they were")

	// Even normalizing: then we take nothing, and may be switched off.
	roles["bridge"].stop(t)
	w.eventually("their normalizer is alone", func() bool { return w.consumers("scraped.kijiji") == 0 })
	all := w.otherTeam(listing.StageNormalize)
	w.publish("scraped", "kijiji", advert("4", with("latitude", 45.8)))
	all.saw(listing.StageNormalize, "4")
	theirs.saw(listing.StageImport, "1", "2", "3", "4")
}

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/bridge/bridgetest"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

func id(platformID string) string {
	return listing.Ref{Platform: "kijiji", PlatformID: platformID}.ID().String()
}

func workflowID(platformID string) string { return "listing/kijiji/" + platformID }

// What happens to adverts where nothing is wrong with Conveyor. The cases share a world and have adverts of their own;
// the last one ends the roles.
func TestListings(t *testing.T) {
	t.Parallel()

	seen, settings := collect(t)
	w, roles := withAPI(t, settings...)
	t.Run("a scraped message becomes a published listing with its images", func(t *testing.T) { w.in(t).publishesOne() })
	t.Run("a rejected advert is replayed", func(t *testing.T) { w.in(t).replaysRejected() })
	t.Run("a listing without images costs at most four state transitions", func(t *testing.T) { w.in(t).costsFour() })
	t.Run("a trace goes from message to event", func(t *testing.T) { w.in(t).traces(seen, roles) })
}

func (w *world) publishesOne() {
	t := w.t
	var photos []string
	for n := range 3 {
		photos = append(photos, fmt.Sprintf("%s/photos/1001/%d.jpg", w.siteURL, n+1))
	}
	w.publish("scraped", "kijiji", advert("1001", with("image_urls", photos)))

	var got struct {
		Listing apilistings.ListingSummary `json:"listing"`
		Images  []apilistings.ImageDetail  `json:"images"`
		History []apilistings.HistoryEvent `json:"history"`
		Audit   apilistings.Audit          `json:"audit"`
		Flow    map[string]string          `json:"workflow"`
	}
	w.eventually("three images are attached", func() bool {
		return w.get("/listings/"+id("1001"), nil) == http.StatusOK &&
			one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached'") == 3
	})
	require.Equal(t, http.StatusOK, w.get("/listings/"+id("1001"), &got))
	require.EqualValues(t, 145000, got.Listing.RentCents)
	require.Equal(t, 2, got.Listing.Bedrooms)
	require.NotNil(t, got.Listing.Neighbourhood)
	require.Equal(t, "imported", got.Audit.Status)
	require.Len(t, got.Images, 3)
	for n, img := range got.Images {
		require.Equal(t, n, img.SortOrder)
		require.Equal(t, photos[n], img.URL)
		resp, err := http.Get(w.api + "/images/" + *img.Key)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.Equal(t, "image/jpeg", resp.Header.Get("Content-Type"))
	}
	require.Equal(t, "created", got.History[0].Kind)

	// The summary is for operators, and holds no phone number.
	flow, err := w.temporal.DescribeWorkflow(w.ctx(), workflowID("1001"), "")
	require.NoError(t, err)
	summary, err := flow.GetStaticSummary()
	require.NoError(t, err)
	require.Equal(t, "Grand 4 ½ rénové près du métro 1001 · 1450 $", summary)

	w.eventually("the event is published", func() bool {
		return one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	events := w.drain("listings.published")
	require.Len(t, events, 1)
	var event contract.Event
	require.NoError(t, json.Unmarshal(events[0].Body, &event))
	require.Equal(t, event.EventID, events[0].MessageId)
	require.Equal(t, contract.ListingPublished, event.EventName)
	require.NotRegexp(t, `555\D{0,3}0199`, string(events[0].Body)) // three digits alone may be in a UUID

	// A re-scrape of the unchanged advert ends on arrival; a lower price is a new version with its history.
	w.publish("scraped", "kijiji", advert("1001", with("image_urls", photos), with("scraped_at", "2026-01-10T18:00:00Z")))
	w.eventually("the re-scrape is counted", func() bool {
		return one[int](w, "SELECT scrapes FROM raw_listings") == 2
	})
	w.publish("scraped", "kijiji", advert("1001", with("image_urls", photos[:2]), with("scraped_at", "2026-01-10T19:00:00Z"),
		with("price", map[string]any{"amount_cents": 139500, "type": "FIXED"})))
	w.eventually("the new price is published", func() bool {
		return one[int64](w, "SELECT rent_cents FROM listings") == 139500
	})
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM listing_events WHERE kind = 'price' AND old_rent_cents = 145000"))
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM raw_listing_revisions"))
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'dropped'"))
}

// The cost of the most frequent workflow is a feature. Where a service or the machine stalls, a retry costs a
// transition more: the median of several adverts shows what one costs.
func (w *world) costsFour() {
	t := w.t
	const each = 5
	for i := range each { // IDs are in titles: a number that ends in 5 or 0 could be the rent
		w.publish("scraped", "kijiji", advert(fmt.Sprint(2001+10*i)),
			advert(fmt.Sprint(2101+10*i), with("price", map[string]any{"amount_cents": nil})))
	}
	w.eventually("all are settled", func() bool {
		return one[int](w, `SELECT count(*) FROM raw_listings
			WHERE settled_revision = revision AND platform_id LIKE '2___'`) == 2*each
	})
	for first, status := range map[int]enums.WorkflowExecutionStatus{
		2001: enums.WORKFLOW_EXECUTION_STATUS_COMPLETED, 2101: enums.WORKFLOW_EXECUTION_STATUS_FAILED,
	} {
		var transitions []int64
		for i := range each {
			platformID := fmt.Sprint(first + 10*i)
			var d *workflowservice.DescribeWorkflowExecutionResponse
			w.eventually(platformID+" is closed", func() (closed bool) {
				var err error
				d, err = w.temporal.DescribeWorkflowExecution(w.ctx(), workflowID(platformID), "")
				return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == status
			})
			transitions = append(transitions, d.GetWorkflowExecutionInfo().GetStateTransitionCount())
		}
		slices.Sort(transitions)
		require.LessOrEqual(t, transitions[each/2], int64(4), "adverts from %d on: %v", first, transitions)
	}
}

// A listing stands without the images that cannot be had, and says of each why.
func TestBadImagesDoNotHarm(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := running(t)
	bad := map[string]string{
		w.siteURL + "/bad/404":                          "404",
		w.siteURL + "/bad/html":                         "unsupported type of image: it is text/html",
		w.siteURL + "/bad/redirect-loop":                "redirect",
		w.siteURL + "/bad/png-30000":                    "30000",
		w.siteURL + "/bad/gzip-bomb":                    "",
		w.siteURL + "/bad/redirect-private":             "",
		"http://169.254.169.254/latest/meta-data/x.jpg": "",
		"http://127.0.0.1:1/private.jpg":                "",
	}
	good := w.siteURL + "/photos/4001/1.jpg"
	urls := []string{"file:///etc/passwd", good}
	for u := range bad {
		urls = append(urls, u)
	}
	w.publish("scraped", "kijiji", advert("4001", with("image_urls", urls)))
	w.eventually("every image is settled", func() bool {
		return one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'failed'") == len(bad) &&
			one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached'") == 1
	})
	for u, want := range bad {
		reason := one[string](w, "SELECT reason FROM listing_images WHERE url = $1", u)
		require.NotEmpty(t, reason, u)
		require.Contains(t, reason, want, u)
	}
	require.Equal(t, len(bad), one[int](w, "SELECT count(*) FROM dead_letters WHERE queue = 'images.pending' AND state = 'open'"))
	require.Contains(t, one[string](w, "SELECT details->>'warnings' FROM listings"), "image_urls")
	w.eventually("the workflow has completed all the same", func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), workflowID("4001"), "")
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
}

// Kill -9 at any instant: every message is a listing or a dead letter, no listing twice, one event an imported version.
func TestNothingIsLostWhenProcessesAreKilled(t *testing.T) {
	t.Parallel()

	messages, kills := 1000, 6
	if testing.Short() {
		messages, kills = 300, 4
	}
	w := newWorld(t)
	roles := map[string]*process{"worker": w.start("worker"), "bridge": w.start("bridge")}
	w.ready()
	bodies := make([][]byte, messages)
	rejected := 0
	for i := range bodies {
		change := with("latitude", 45.4+float64(i)/10000)
		if i%50 == 7 {
			change = with("price", map[string]any{"type": "CONTACT"})
			rejected++
		}
		bodies[i] = advert(fmt.Sprint(50000+i), change, with("address", ""))
	}
	w.publish("scraped", "kijiji", bodies...)
	settled := func() int {
		return one[int](w, "SELECT count(*) FROM raw_listings WHERE settled_revision = revision")
	}
	for k := range kills {
		w.eventually("work goes on", func() bool { return settled() > k*messages/(kills+1) })
		victim := []string{"worker", "bridge"}[rand.IntN(2)]
		roles[victim].kill()
		roles[victim] = w.start(victim)
	}
	w.eventually("all are settled", func() bool { return settled() == messages })
	w.eventually("all events are published", func() bool {
		return one[int](w, "SELECT count(*) FROM outbox WHERE published_at IS NULL") == 0
	})
	require.Equal(t, messages-rejected, one[int](w, "SELECT count(*) FROM listings"))
	require.Equal(t, rejected, one[int](w, "SELECT count(*) FROM dead_letters"))
	require.Equal(t, messages-rejected, one[int](w, "SELECT count(*) FROM listing_events"))
	ids := map[string]bool{}
	for _, d := range w.drain("listings.published") {
		ids[d.MessageId] = true
	}
	require.Len(t, ids, messages-rejected, "one event ID an imported version")
	require.Equal(t, messages-rejected, one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = 'listings.published'"))
	w.eventually("no workflow is left", func() bool {
		n, err := w.temporal.CountWorkflow(w.ctx(), countRunning(w.space))
		return err == nil && n.GetCount() == 0
	})
}

// After a rule has changed, all rejected adverts are reset with one batch command, as `temporal workflow reset` does.
func TestRejectedListingsAreResetByQuery(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := running(t)
	for n := range 3 {
		w.publish("scraped", "kijiji", advert(fmt.Sprint(6000+n), with("price", map[string]any{"type": "CONTACT"}),
			with("latitude", 45.5+float64(n)/100)))
	}
	w.eventually("they are rejected", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE state = 'open'") == 3
	})
	// A test cannot change a rule of the normalizer, so it changes the payload that the rule reads.
	_, err := w.db.Exec(w.ctx(), `UPDATE raw_listings SET payload = jsonb_set(payload, '{price}', '{"amount_cents":99900}')`)
	require.NoError(t, err)
	w.eventually("they are visible as failed", func() bool {
		n, err := w.temporal.CountWorkflow(w.ctx(), count(w.space, `WorkflowType="Listing" AND ExecutionStatus="Failed"`))
		return err == nil && n.GetCount() == 3
	})
	_, err = w.temporal.WorkflowService().StartBatchOperation(w.ctx(), resetAllFailed(w.space))
	require.NoError(t, err)
	w.eventually("they are imported", func() bool {
		return one[int](w, "SELECT count(*) FROM listings WHERE rent_cents = 99900") == 3
	})
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters WHERE state = 'open'"))
}

// A worker that starts while Temporal is away takes up its work when Temporal is there.
func TestAWorkerWaitsForTemporal(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := newWorld(t)
	line := bridgetest.NewLine(t, "tcp://"+os.Getenv("TEMPORAL_ADDRESS"))
	line.Cut()
	w.env = append(w.env, "TEMPORAL_ADDRESS="+strings.TrimPrefix(line.URL, "tcp://"))
	worker := w.start("worker")
	w.start("bridge")
	w.eventually("the worker has tried", func() bool {
		return strings.Contains(worker.log.tail(1<<20), "workers wait for temporal")
	})
	w.ready()
	w.publish("scraped", "kijiji", advert("9001"))
	line.Mend()
	w.eventually("the advert is a listing", func() bool { return one[int](w, "SELECT count(*) FROM listings") == 1 })
}

// An image that another team's importer asks for is fetched by a standalone activity.
func TestImagesPendingMessages(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := running(t)
	w.publish("scraped", "kijiji", advert("7001"))
	w.eventually("the listing is there", func() bool { return one[int](w, "SELECT count(*) FROM listings") == 1 })
	request := func(listing, url string) []byte {
		body, err := json.Marshal(contract.PendingImage{ListingID: listing, URL: url, SortOrder: 2})
		require.NoError(t, err)
		return body
	}
	w.publish("listings", "images.pending", request(id("7001"), w.siteURL+"/photos/7001/2.jpg"),
		request(id("nobody"), w.siteURL+"/photos/1/1.jpg"), request(id("7001"), "file:///etc/passwd"))
	w.eventually("the image is attached", func() bool {
		return one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached' AND sort_order = 2") == 1
	})
	w.eventually("the impossible ones are dead letters", func() bool {
		return one[int](w, "SELECT count(*) FROM dead_letters WHERE queue = 'images.pending'") == 2
	})
}

// A table that is locked for longer than a step may take holds adverts up, and rejects none.
func TestALockedTableRejectsNothing(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	const adverts = 40
	w := newWorld(t)
	w.start("worker")
	w.start("bridge")
	w.ready()
	lock, err := w.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = lock.Rollback(context.WithoutCancel(t.Context())) }() // after a commit it does nothing
	_, err = lock.Exec(t.Context(), "LOCK TABLE listings IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	for n := range adverts {
		w.publish("scraped", "kijiji", advert(fmt.Sprint(8000+n), with("latitude", 45.4+float64(n)/100)))
	}
	_, err = lock.Exec(t.Context(), "SELECT pg_sleep(20)")
	require.NoError(t, err)
	require.NoError(t, lock.Commit(t.Context()))
	w.eventually("every advert is a listing", func() bool {
		return one[int](w, "SELECT count(*) FROM listings") == adverts
	})
	require.Zero(t, one[int](w, "SELECT count(*) FROM raw_listings WHERE status = 'rejected'"))
	require.Zero(t, one[int](w, "SELECT count(*) FROM dead_letters"))
}

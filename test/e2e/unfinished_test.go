package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// What a terminated run has left behind is brought to its end by the staleness check, once: an advert that was never
// processed, and a picture of one that was. Feeding the advert again would not help the picture, for it says nothing new.
func TestWhatATerminatedRunLeftIsResumed(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := newWorld(t)
	now := with("scraped_at", time.Now().UTC().Format(time.RFC3339))
	w.start("bridge")
	w.ready()
	w.publish("scraped", "kijiji", advert("1", now, with("latitude", 45.61)))
	runs := func(platformID string) bool {
		_, err := w.temporal.DescribeWorkflowExecution(w.ctx(), workflowID(platformID), "")
		return err == nil
	}
	w.eventually("it has a workflow", func() bool { return runs("1") })
	require.NoError(t, w.temporal.TerminateWorkflow(w.ctx(), workflowID("1"), "", "no worker has taken it"))

	stalls, asked := make(chan struct{}), make(chan struct{}, 100)
	stalled := func(r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/photos/") {
			asked <- struct{}{}
			select {
			case <-stalls:
			case <-r.Context().Done():
			}
		}
	}
	w.door.Store(&stalled)
	w.start("worker")
	photos := with("image_urls", []string{w.siteURL + "/photos/2/1.jpg"})
	w.publish("scraped", "kijiji", advert("2", now, photos))
	select {
	case <-asked:
	case <-time.After(servicetest.Patience()):
		t.Fatal("the picture is not asked for")
	}
	require.NoError(t, w.temporal.TerminateWorkflow(w.ctx(), workflowID("2"), "", "its image host stalls"))
	w.publish("scraped", "kijiji", advert("2", with("scraped_at", time.Now().UTC().Format(time.RFC3339)), photos))
	w.eventually("it is settled at the door", func() bool {
		return one[int](w, "SELECT scrapes FROM raw_listings WHERE platform_id = '2'") == 2
	})
	require.Equal(t, "pending", one[string](w, "SELECT state FROM listing_images"))
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM raw_listings WHERE settled_revision < revision"))

	check := func() (result struct{ Resumed, Images int }) {
		run, err := w.temporal.ExecuteWorkflow(w.ctx(), client.StartWorkflowOptions{ID: "check", TaskQueue: "listings"},
			"ArchiveStale", struct{}{})
		require.NoError(t, err)
		require.NoError(t, run.Get(w.ctx(), &result))
		return result
	}
	require.Zero(t, check(), "an hour has not passed")
	for _, sql := range []string{
		"UPDATE raw_listings SET revised_at = revised_at - interval '2 hours'",
		"UPDATE listing_images SET created_at = created_at - interval '2 hours'",
	} {
		_, err := w.db.Exec(w.ctx(), sql)
		require.NoError(t, err)
	}
	close(stalls)
	result := check()
	// A step whose result was lost is run again, and finds that what it had started is running.
	require.LessOrEqual(t, result.Resumed, 1)
	require.LessOrEqual(t, result.Images, 1)
	w.eventually("the advert is listed, and the picture attached", func() bool {
		return one[int](w, "SELECT count(*) FROM listings WHERE status = 'active'") == 2 &&
			one[string](w, "SELECT state FROM listing_images") == "attached"
	})
	require.Zero(t, check(), "all is finished")
	require.Equal(t, 2, one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = $1", contract.ListingPublished))
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = $1", contract.ImageAttached))
}

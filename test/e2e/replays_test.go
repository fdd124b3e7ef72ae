package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// withAPI makes a world with every role, whose commands call its API.
func withAPI(t *testing.T, settings ...string) (w *world, roles map[string]*process) {
	t.Helper()

	w = newWorld(t, settings...)
	w.env = append(w.env, "CONVEYOR_API_URL="+w.api)
	roles = map[string]*process{}
	for _, role := range []string{"worker", "bridge", "api"} {
		roles[role] = w.start(role)
	}
	w.ready()
	w.eventually("the API answers", func() bool { return w.get("/health", nil) == http.StatusOK })
	return w, roles
}

// stock publishes n adverts, every tenth without a rent, and waits until each is brought to its end.
func (w *world) stock(n int) {
	w.t.Helper()

	bodies := make([][]byte, n)
	now := with("scraped_at", time.Now().UTC()) // or a replay takes them for gone
	for i := range bodies {
		change := with("latitude", 45.3+float64(i)/2000)
		if i%10 == 7 {
			change = with("price", map[string]any{"type": "CONTACT"})
		}
		bodies[i] = advert(fmt.Sprint(60000+i), now, change, with("address", ""))
	}
	w.publish("scraped", "kijiji", bodies...)
	w.eventually("all are settled", func() bool {
		return one[int](w, "SELECT count(*) FROM raw_listings WHERE settled_revision = revision") == n &&
			one[int](w, "SELECT count(*) FROM listings") == one[int](w, "SELECT count(*) FROM listing_enrichments")
	})
}

var startedReplay = regexp.MustCompile(`(?m)^replay ([0-9a-f-]{36}):`)

// replayID finds the ID in the output of `conveyor replay start`. A note that its workflow follows may come first.
func replayID(t *testing.T, out string) string {
	t.Helper()

	id := startedReplay.FindStringSubmatch(out)
	require.NotNil(t, id, out)
	return id[1]
}

func (w *world) replay(id string) (r apilistings.Replay) {
	w.t.Helper()
	require.Equal(w.t, http.StatusOK, w.get("/replays/"+id, &r))
	return r
}

// Kill -9 of the worker at any instant: the replay goes on where it was, no advert is missed or counted twice, and
// the tables and the events are as they were.
func TestAReplayResumesAfterKills(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	const adverts, kills = 300, 3
	w, roles := withAPI(t)
	w.stock(adverts)
	before := one[string](w, tables)
	require.Contains(t, w.run("replay", "start", "--dry-run", "--status", "rejected", "--reason", "missing"), "30 raw listings")
	out := w.run("replay", "start", "--rate", "50")
	id := replayID(t, out)
	for k := range kills {
		w.eventually("the replay goes on", func() bool { return w.replay(id).Done > int64(k*adverts/(kills+1)) })
		roles["worker"].kill()
		roles["worker"] = w.start("worker")
	}
	w.eventually("it is completed", func() bool { return w.replay(id).State == "completed" })
	got := w.replay(id)
	require.Equal(t, [4]int64{adverts, adverts, adverts, 0}, [4]int64{got.Total, got.Done, got.Started, got.Failed})
	require.Equal(t, apilistings.ReplayOutcomes{Imported: adverts - adverts/10, Rejected: adverts / 10}, got.Outcomes)
	require.Equal(t, before, one[string](w, tables), "nothing happened twice")
	require.Contains(t, w.run("replay", "show", id), "300 of 300")
	require.Contains(t, w.run("replay", "list", "--state", "completed"), id)
	w.eventually("no workflow is left", func() bool {
		n, err := w.temporal.CountWorkflow(w.ctx(), countRunning(w.space))
		return err == nil && n.GetCount() == 0
	})
}

// tables selects the figures that a replay by the same rules leaves as they are.
const tables = `SELECT concat_ws(' ', (SELECT count(*) FROM listings), (SELECT count(*) FROM listing_events),
	(SELECT count(*) FROM raw_listing_revisions), (SELECT count(*) FROM dead_letters),
	(SELECT count(*) FROM outbox), (SELECT max(updated_at) FROM listings))`

// A replay that is canceled starts nothing more, and stays on record.
func TestAReplayIsCanceled(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := withAPI(t)
	w.stock(60)
	id := replayID(t, w.run("replay", "start", "--rate", "2", "--status", "imported"))
	w.eventually("it has begun", func() bool { return w.replay(id).Started > 0 })
	require.Contains(t, w.run("replay", "cancel", id), "canceled")
	w.eventually("its workflow has ended", func() bool {
		n, err := w.temporal.CountWorkflow(w.ctx(), countRunning(w.space))
		return err == nil && n.GetCount() == 0
	})
	got := w.replay(id)
	require.Equal(t, "canceled", got.State)
	require.Less(t, got.Started, got.Total)
	require.Equal(t, []string{"replay.started", "replay.canceled"}, []string{
		one[string](w, "SELECT action FROM audit ORDER BY id LIMIT 1"),
		one[string](w, "SELECT action FROM audit ORDER BY id DESC LIMIT 1"),
	})
}

// Adverts that are scraped during a large replay, at the highest rate, do not wait for it.
func TestAReplayDoesNotSlowFreshListings(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	const fresh = 20
	w, _ := withAPI(t)
	w.stock(600)
	id := replayID(t, w.run("replay", "start", "--rate", "100", "--status", "imported"))
	w.eventually("it has begun", func() bool { return w.replay(id).Started > 0 })
	var took []time.Duration
	for n := range fresh {
		began := time.Now()
		w.publish("scraped", "kijiji", advert(fmt.Sprint(70000+n), with("latitude", 45.2-float64(n)/100)))
		require.Eventually(t, func() bool {
			return one[int](w, "SELECT count(*) FROM listings WHERE platform_id = $1", fmt.Sprint(70000+n)) == 1
		}, servicetest.Patience(), 10*time.Millisecond)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	t.Logf("fresh listings took %s, %s at most; the replay has done %d of %d", took[fresh/2], took[fresh-1],
		w.replay(id).Done, w.replay(id).Total)
	require.Less(t, took[fresh/2], 5*time.Second, "behind the replay it would be ten and more")
	w.eventually("it is completed", func() bool { return w.replay(id).State == "completed" })
	got := w.replay(id)
	require.Equal(t, apilistings.ReplayOutcomes{Imported: got.Total}, got.Outcomes, "%+v", got)
}

// A listing that no scrape sees any more is archived, and the duplicate of its home takes its place. When it is scraped
// again it is the duplicate: the home is shown once.
func TestAStaleListingIsArchivedAndReturns(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := withAPI(t)
	now := with("scraped_at", time.Now().UTC().Format(time.RFC3339))
	status := func(platform string) string {
		return one[string](w, "SELECT coalesce(max(status), 'none') FROM listings WHERE platform = $1", platform)
	}
	w.publish("scraped", "kijiji", advert("1"))
	w.eventually("it is listed", func() bool { return status("kijiji") == "active" })
	w.publish("scraped", "kangalou", advert("2", now, with("platform", "kangalou")))
	w.eventually("the duplicate is held back", func() bool {
		return one[int](w, "SELECT count(*) FROM raw_listings WHERE status = 'duplicate'") == 1
	})

	resp, err := http.Post(w.api+"/staleness/run", "", nil)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusAccepted, resp.StatusCode)
	var run apilistings.StalenessRun
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&run))
	require.NotEmpty(t, run.Workflow.ID)
	w.eventually("it is archived", func() bool { return status("kijiji") == "archived" })
	w.eventually("the duplicate is listed in its place", func() bool { return status("kangalou") == "active" })
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM outbox WHERE routing_key = $1", contract.ListingArchived))
	require.Equal(t, 1, one[int](w, "SELECT count(*) FROM audit WHERE action = 'staleness.started'"))

	w.publish("scraped", "kijiji", advert("1", now))
	w.eventually("it is a duplicate of the one that took its place", func() bool {
		return one[string](w, "SELECT status FROM raw_listings WHERE platform = 'kijiji'") == "duplicate"
	})
	require.Equal(t, "archived", status("kijiji"))
	require.Equal(t, "active", status("kangalou"))
}

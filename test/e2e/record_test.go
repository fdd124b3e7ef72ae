package e2e

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/internal/crawlsite"
	"github.com/mtlrent/conveyor/internal/demosite"
	"github.com/mtlrent/conveyor/workflows"
)

var record = flag.String("record", "", "folder to write the histories to, for workflows/testdata/replay")

// TestHistoriesReplay makes one run of every kind on a real server and replays it. With -record it writes the
// histories down, for the code of tomorrow to be held against.
func TestHistoriesReplay(t *testing.T) {
	t.Parallel()

	w, _ := running(t)
	var photos []string
	for n := range 7 {
		photos = append(photos, fmt.Sprintf("%s/photos/8002/%d.jpg", w.siteURL, n+1))
	}
	photos = append(photos, w.siteURL+"/bad/404", w.siteURL+"/bad/503-then-ok/8002")
	where := func(n float64) func(map[string]any) { return with("latitude", 45.5+n/100) }
	w.publish("scraped", "kijiji", advert("8001", where(1)), advert("8002", where(2), with("image_urls", photos)),
		advert("8003", where(3), with("title", "")))
	w.eventually("the images are on their way", func() bool {
		return one[int](w, "SELECT count(*) FROM listing_images WHERE state = 'attached'") > 0
	})
	w.publish("scraped", "kijiji", advert("8002", where(2), with("image_urls", photos),
		with("scraped_at", "2026-01-10T20:00:00Z"), with("price", map[string]any{"amount_cents": 133300})))
	w.eventually("the new price is published", func() bool {
		return one[int](w, "SELECT count(*) FROM listings WHERE rent_cents = 133300") == 1
	})
	for name, platformID := range map[string]string{"imported": "8001", "images_and_a_newer_version": "8002", "rejected": "8003"} {
		w.replays(workflowID(platformID), "listing_"+name)
	}
}

// TestHistoriesReplayOfReplays does the same for replays and the staleness check.
func TestHistoriesReplayOfReplays(t *testing.T) {
	t.Parallel()

	w, _ := withAPI(t)
	w.stock(30)
	completed := replayID(t, w.run("replay", "start", "--rate", "10"))
	w.eventually("the replay is completed", func() bool { return w.replay(completed).State == "completed" })
	w.replays("replay/"+completed, "replay_completed")
	canceled := replayID(t, w.run("replay", "start", "--rate", "2"))
	w.eventually("it has begun", func() bool { return w.replay(canceled).Started > 0 })
	require.NoError(t, w.temporal.CancelWorkflow(w.ctx(), "replay/"+canceled, ""))
	w.eventually("it says so", func() bool { return w.replay(canceled).State == "canceled" })
	w.replays("replay/"+canceled, "replay_canceled")
	run, err := http.Post(w.api+"/staleness/run", "", nil)
	require.NoError(t, err)
	require.NoError(t, run.Body.Close())
	w.replays("staleness-by-hand", "archive_stale")
}

// TestHistoriesReplayOfScrapers does the same for scrapers: a run that waits, is woken and goes through a cycle, and
// one whose cycle ends at a suspect page.
func TestHistoriesReplayOfScrapers(t *testing.T) {
	t.Parallel()

	w := scraping(t, 44)
	w.start("worker")
	w.ended(demosite.Kijiji, 1)
	w.runBefore("scrape/kijiji") // the next one waits
	c := w.cycle(demosite.Kijiji)
	require.True(t, c.Complete, c.Note)
	w.replaysRun("scrape/kijiji", w.runBefore("scrape/kijiji"), "scrape_woken")
	w.breaks(demosite.Fault{Platform: demosite.Kijiji, Kind: "shape", Pages: "search"})
	w.suspect(demosite.Kijiji, w.cycle(demosite.Kijiji))
	w.replaysRun("scrape/kijiji", w.runBefore("scrape/kijiji"), "scrape_suspect")
}

// TestHistoriesReplayOfDrafts does the same for drafts: one of a good page, one of a page that is gone, and one that there
// was no Chromium for.
func TestHistoriesReplayOfDrafts(t *testing.T) {
	t.Parallel()

	w, _ := drafting(t)
	alone := w.start("worker", "CHROME_DEVTOOLS_URL=http://"+freeAddress(t))
	dead := w.requestDraft("/shop/kettle")
	w.dies(dead)
	alone.stop(t)
	w.start("worker")
	good, gone := w.requestDraft("/shop/kettle"), w.requestDraft("/shop/bad/gone")
	w.made(good)
	for name, q := range map[string]draftRequest{"succeeded": good, "failed": gone, "without_devtools": dead} {
		w.replays("draft/"+q.event.String(), "draft_"+name)
	}
}

// TestHistoriesReplayOfCrawls does the same for crawls: one that is paused, goes on and completes, and one that is
// cancelled.
func TestHistoriesReplayOfCrawls(t *testing.T) {
	// Not beside the others: it takes all cores, and they have deadlines.

	site, origin := served(t, crawlsite.NewGraph(crawlsite.GraphOptions{Seed: 7, Pages: 40, Links: 5}))
	w := crawling(t, 1, []string{origin})
	paused := w.crawl(origin+"/", map[string]any{"demoDelayMs": 300, "shards": 2})
	w.eventually("it has begun", func() bool { return site.Total() > 0 })
	w.run("crawl", "pause", strconv.FormatInt(paused, 10))
	w.eventually("it waits", func() bool { return w.waits(crawl.WorkflowID(paused)) })
	w.run("crawl", "resume", strconv.FormatInt(paused, 10))
	w.completed(paused)
	w.replays(crawl.WorkflowID(paused), "crawl_paused")
	cancelled := w.crawl(origin+"/", map[string]any{"demoDelayMs": 300, "shards": 2})
	w.run("crawl", "cancel", strconv.FormatInt(cancelled, 10))
	w.replays(crawl.WorkflowID(cancelled), "crawl_cancelled")
}

// waits says whether a workflow's newest run has a timer that runs.
func (w *world) waits(workflowID string) bool {
	w.t.Helper()

	timers := 0
	for _, e := range w.history(workflowID, "").GetEvents() {
		switch e.GetEventType() {
		case enums.EVENT_TYPE_TIMER_STARTED:
			timers++
		case enums.EVENT_TYPE_TIMER_CANCELED, enums.EVENT_TYPE_TIMER_FIRED:
			timers--
		}
	}
	return timers > 0
}

// runBefore waits until the workflow has continued as new after its newest cycle, and returns the run that had it.
func (w *world) runBefore(workflowID string) (runID string) {
	w.t.Helper()

	w.eventually("a new run waits", func() bool {
		events := w.history(workflowID, "").GetEvents()
		runID = events[0].GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId()
		return runID != "" && slices.ContainsFunc(events, func(e *history.HistoryEvent) bool {
			return e.GetEventType() == enums.EVENT_TYPE_TIMER_STARTED
		}) && !slices.ContainsFunc(events, func(e *history.HistoryEvent) bool {
			return e.GetEventType() == enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
		})
	})
	return runID
}

// replays waits until a workflow is closed, replays its history, and writes it down when that is wanted.
func (w *world) replays(workflowID, name string) {
	w.t.Helper()
	w.replaysRun(workflowID, "", name)
}

// replaysRun does so with one run; "" is the newest.
func (w *world) replaysRun(workflowID, runID, name string) {
	w.t.Helper()

	w.eventually(name+" is closed", func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), workflowID, runID)
		return err == nil && d.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	h := w.history(workflowID, runID)
	r := worker.NewWorkflowReplayer()
	for _, f := range workflows.All {
		r.RegisterWorkflow(f)
	}
	require.NoError(w.t, r.ReplayWorkflowHistory(nil, h), name)
	if *record != "" {
		doc, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
		require.NoError(w.t, err)
		require.NoError(w.t, os.WriteFile(filepath.Join(*record, name+".json"), doc, 0o644))
	}
}

// history reads the whole history of a workflow's run; "" is the newest.
func (w *world) history(workflowID, runID string) *history.History {
	w.t.Helper()

	h := new(history.History)
	events := w.temporal.GetWorkflowHistory(w.ctx(), workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(w.t, err)
		h.Events = append(h.Events, e)
	}
	return h
}

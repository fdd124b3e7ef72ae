package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/sim/cloudapi"
	"github.com/mtlrent/conveyor/sim/crawlsite"
	"github.com/mtlrent/conveyor/sim/demosite"
	"github.com/mtlrent/conveyor/workflows"
)

var record = flag.String("record", "", "folder to write the histories to, for workflows/testdata/replay")

// TestHistoriesReplay makes one run of every kind on a real server and replays it. With -record it writes the
// histories down, for the code of tomorrow to be held against.
func TestHistoriesReplay(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
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
	servicetest.Slow(t, servicetest.TestE2E)
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
	servicetest.Slow(t, servicetest.TestE2E)
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
	servicetest.Slow(t, servicetest.TestE2E)
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
	servicetest.Slow(t, servicetest.TestE2E)
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

// TestHistoriesReplayOfImports does the same for imports: one that is done, one whose worker was killed, one whose file
// was away at first, one that fails and one that is canceled.
func TestHistoriesReplayOfImports(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w := importing(t)
	text, _, _, _ := people(1200)
	recorded := func(u dboutreach.Upload, state dboutreach.UploadState, name string) {
		t.Helper()
		got, _, _ := w.ended(u)
		require.Equal(t, state, got.State, got.Error)
		w.replays(contact.ImportWorkflowID(u.ID), name)
	}
	recorded(w.upload(text), dboutreach.UploadDone, "import_done")
	recorded(w.upload("Phone,Name\n"), dboutreach.UploadFailed, "import_failed")

	var path string
	away := w.upload(text+"\n", func(u *dboutreach.Upload) {
		path = filepath.Join(w.dir, "blobs", u.Blob)
		require.NoError(t, os.Rename(path, path+".away"))
	})
	w.eventually("it waits for the next try", func() bool { return w.waits(contact.ImportWorkflowID(away.ID)) })
	require.NoError(t, os.Rename(path+".away", path))
	recorded(away, dboutreach.UploadDone, "import_retried")

	killed, release := w.storing(text + "\n\n")
	w.worker.kill()
	release()
	w.worker = w.start("worker", importQueues)
	recorded(killed, dboutreach.UploadDone, "import_resumed")

	canceled, release := w.storing(text + "\n\n\n")
	require.NoError(t, w.launch.CancelImport(w.ctx(), canceled.ID))
	w.eventually("the worker has stopped storing", func() bool {
		return slices.ContainsFunc(w.history(contact.ImportWorkflowID(canceled.ID), "").GetEvents(),
			func(e *history.HistoryEvent) bool { return e.GetEventType() == enums.EVENT_TYPE_ACTIVITY_TASK_CANCELED })
	})
	release()
	recorded(canceled, dboutreach.UploadCanceled, "import_canceled")
}

// storing uploads a file, and returns when a worker is about to store its contacts, which it cannot before release.
func (w *importWorld) storing(text string) (u dboutreach.Upload, release func()) {
	w.t.Helper()

	tx, err := w.db.Begin(w.ctx())
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(w.ctx(), "LOCK contacts IN SHARE ROW EXCLUSIVE MODE")
	require.NoError(w.t, err)
	u = w.upload(text)
	w.eventually("a worker stores", func() bool {
		d, err := w.temporal.DescribeWorkflowExecution(w.ctx(), contact.ImportWorkflowID(u.ID), "")
		return err == nil && slices.ContainsFunc(d.GetPendingActivities(), func(a *workflowpb.PendingActivityInfo) bool {
			return a.GetActivityType().GetName() == "PersistChunks" && a.GetState() == enums.PENDING_ACTIVITY_STATE_STARTED
		})
	})
	return u, func() { require.NoError(w.t, tx.Rollback(w.ctx())) }
}

// TestHistoriesReplayOfCampaigns does the same for campaigns and for what sends their messages: a campaign that is
// paused and goes on, one that the schedule starts and that is canceled, and a message that is tried again.
func TestHistoriesReplayOfCampaigns(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	p, ctx := newPost(t, "CONVEYOR_DISPATCH_STANDARD=50"), t.Context()
	store, sender := dboutreach.NewCampaigns(p.db, nil), p.tenant("acme", campaign.Standard)
	p.start("worker", "CONVEYOR_TASK_QUEUES=campaigns,message_dispatch,message_retry")
	require.NoError(t, p.api.Script(cloudapi.Rule{To: "15145550101", Times: 1, Code: 131000}))
	tried := p.put("acme", sender, "+15145550101")
	p.eventually("it is sent", func() bool { return p.state("acme", tried) == campaign.MessageSent })
	p.replays(campaign.DispatchWorkflowID("acme"), "dispatch_tried_again")

	sent := func(id uuid.UUID) func() bool {
		return func() bool {
			c, err := store.Get(ctx, "acme", id)
			require.NoError(t, err)
			return c.Counts.Sent > 5
		}
	}
	paused := p.campaign("acme", sender, 150)
	require.NoError(t, p.launch.StartCampaign(ctx, "acme", paused))
	p.eventually("some are sent", sent(paused))
	_, err := store.Pause(ctx, "acme", paused, "wait", "test", time.Now())
	require.NoError(t, err)
	require.NoError(t, p.launch.WakeCampaign(ctx, paused))
	p.replays(campaign.DispatchWorkflowID("acme"), "dispatch_campaign")
	_, err = store.Resume(ctx, "acme", paused, "test", time.Now())
	require.NoError(t, err)
	require.NoError(t, p.launch.WakeCampaign(ctx, paused))
	p.replays(campaign.WorkflowID(paused), "campaign_paused")

	canceled := p.campaign("acme", sender, 150)
	_, err = p.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: "campaigns-by-hand", TaskQueue: "campaigns"},
		workflows.ScheduleCampaigns, workflows.ScheduleInput{})
	require.NoError(t, err)
	p.eventually("some are sent", sent(canceled))
	_, err = store.Cancel(ctx, "acme", canceled, "no", "test", time.Now())
	require.NoError(t, err)
	require.NoError(t, p.launch.WakeCampaign(ctx, canceled))
	p.replays(campaign.WorkflowID(canceled), "campaign_canceled")
	p.replays("campaigns-by-hand", "schedule_campaigns")
}

// TestHistoriesReplayOfDeletions does the same for retention and, as far as they wait a quarter of an hour for what is
// under way, for the deletion of an advert and of a tenant. Histories of whole ones, forget_done and erase_done, were
// recorded with a retention.ForgetWait of five seconds.
func TestHistoriesReplayOfDeletions(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	w, _ := withAPI(t)
	w.stock(1)
	_, err := w.temporal.ExecuteWorkflow(w.ctx(), client.StartWorkflowOptions{ID: "retention-by-hand", TaskQueue: "listings"},
		workflows.ApplyRetention, workflows.RetentionInput{})
	require.NoError(t, err)
	w.run("forget", "listing/kijiji/60000", "--yes")
	require.NoError(t, db.NewTenants(w.db).Create(w.ctx(),
		db.Tenant{ID: "acme", Name: "acme", Tier: campaign.Standard, CreatedAt: time.Now()}, "test"))
	w.run("tenants", "set", "acme", "--stop", "the contract has ended")
	w.run("tenants", "erase", "acme", "--yes")
	for name, workflowID := range map[string]string{
		"forget_waits": "forget/" + listing.Ref{Platform: "kijiji", PlatformID: "60000"}.ID().String(),
		"erase_waits":  access.ErasureWorkflowID("acme"),
	} {
		w.eventually(name, func() bool { return w.waits(workflowID) })
		w.keeps(w.history(workflowID, ""), name)
	}
	w.replays("retention-by-hand", "apply_retention")
}

// TestHistoriesReplayOfNotices does the same for what saved searches tell: that a webhook is to confirm itself.
func TestHistoriesReplayOfNotices(t *testing.T) {
	servicetest.Slow(t, servicetest.TestE2E)
	t.Parallel()

	h := newHook(t)
	p := newPost(t, "CONVEYOR_WEBHOOK_PRIVATE_HOSTS="+strings.TrimPrefix(h.URL, "http://"))
	p.tenant("acme", campaign.Standard)
	p.start("api")
	p.start("worker")
	p.eventually("the API answers", func() bool { return p.get("/health", nil) == http.StatusOK })
	require.Equal(t, http.StatusCreated, p.send(http.MethodPost, "/searches?tenant=acme",
		`{"name":"2 bedrooms","filter":{"bedrooms":[2]},"targets":[{"kind":"webhook","url":"`+h.URL+`/hook"}]}`))
	var delivery uuid.UUID
	p.eventually("it is told", func() bool {
		b := new(pgx.Batch)
		b.Queue("SELECT set_config('conveyor.tenant', '*', true)")
		b.Queue("SELECT id FROM saved_deliveries WHERE state = 'sent'").QueryRow(func(row pgx.Row) error {
			return row.Scan(&delivery)
		})
		return p.db.SendBatch(p.ctx(), b).Close() == nil
	})
	p.replays(saved.WorkflowID(delivery), "notify_told")
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
	w.keeps(w.history(workflowID, runID), name)
}

// keeps replays a history, and writes it down when that is wanted.
func (w *world) keeps(h *history.History, name string) {
	w.t.Helper()

	require.NoError(w.t, replayer().ReplayWorkflowHistory(nil, h), name)
	if *record != "" {
		doc, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(h)
		require.NoError(w.t, err)
		require.NoError(w.t, os.WriteFile(filepath.Join(*record, name+".json"), doc, 0o644))
	}
}

// replayClosed replays the workflows that a test left closed: with every test of this package, histories of a real server
// are held against the code that made them.
func (w *world) replayClosed() {
	if w.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	list, err := w.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: `ExecutionStatus != "Running"`, PageSize: mostReplayed,
	})
	if err != nil {
		w.t.Errorf("closed workflows: %v", err)
		return
	}
	known := map[string]bool{}
	for _, f := range workflows.All {
		_, name, _ := strings.Cut(filepath.Base(runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()), ".")
		known[name] = true
	}
	for _, e := range list.GetExecutions() {
		if !known[e.GetType().GetName()] { // the server's own
			continue
		}
		h, err := historyOf(ctx, w.temporal, e.GetExecution().GetWorkflowId(), e.GetExecution().GetRunId())
		if err == nil {
			err = replayer().ReplayWorkflowHistory(nil, h)
		}
		if err != nil {
			w.t.Errorf("replay of %s: %v", e.GetExecution().GetWorkflowId(), err)
		}
	}
}

// mostReplayed bounds the histories that the end of a test replays.
const mostReplayed = 100

func replayer() worker.WorkflowReplayer {
	r := worker.NewWorkflowReplayer()
	for _, f := range workflows.All {
		r.RegisterWorkflow(f)
	}
	return r
}

// history reads the whole history of a workflow's run; "" is the newest.
func (w *world) history(workflowID, runID string) *history.History {
	w.t.Helper()

	h, err := historyOf(w.ctx(), w.temporal, workflowID, runID)
	require.NoError(w.t, err)
	return h
}

func historyOf(ctx context.Context, c client.Client, workflowID, runID string) (*history.History, error) {
	h := new(history.History)
	events := c.GetWorkflowHistory(ctx, workflowID, runID, false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, err
		}
		h.Events = append(h.Events, e)
	}
	return h, nil
}

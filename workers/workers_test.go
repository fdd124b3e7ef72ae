package workers_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// lazy is a client that never connects.
func lazy(t *testing.T) client.Client {
	t.Helper()

	c, err := client.NewLazyClient(client.Options{HostPort: "127.0.0.1:1"})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// Everything fits on one worker: a real one panics when two things have one name, which the test environment hides.
func TestRegister(t *testing.T) {
	t.Parallel()
	all := worker.New(lazy(t), "everything", worker.Options{})
	for _, f := range workflows.All {
		all.RegisterWorkflow(f)
	}
	for _, a := range workflows.Activities() {
		all.RegisterActivity(a)
	}
	require.Panics(t, func() { all.RegisterActivity(&activities.Listings{}) }, "a clash goes unnoticed")
}

// Every exported method of these structs is an activity. A helper among them would be one too. Histories of running
// workflows hold the names, so none may change.
func TestActivityNames(t *testing.T) {
	t.Parallel()
	var names []string
	for _, a := range workflows.Activities() {
		for m := range reflect.TypeOf(a).Methods() {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"ArchiveStaleListings", "AskModel", "AttachImage", "BeginCycle", "CheckDevtools", "CompactSegments", "CrawlShard",
		"DedupeListing", "DeleteExpired", "DeleteListingRuns", "DeleteSitePages", "DispatchMessages", "EndCycle",
		"EndImport", "EndListing", "EndReplay", "EndTenantRuns", "EnrichListing", "EraseTenant", "FailImport", "FailListing",
		"FinishErasure", "ForgetAdvert", "HandOverListing",
		"ImportListing", "LookAtPlatform", "NormalizeListing", "NoteCrawl", "OpenReplay", "ParseChunks", "PersistChunks", "PersistDraft",
		"PlanDispatch", "ReindexPages", "ResolveOutDir", "RestartDuplicates", "ResumeImages", "ResumeListings",
		"RunCrawler", "RunReplayBatch", "ScrapePage", "SeedCrawl", "SplitUpload", "StartReadyCampaigns",
		"StorePages", "TellNotice", "TendCampaign", "TendCrawl",
	}, names)
}

func TestNew(t *testing.T) {
	t.Parallel()
	rows := []workers.Row{
		{Queue: "listings", Activities: []any{&activities.Listings{}, &activities.Replays{}}, WorkflowSlots: 200},
		{Queue: "listings", Activities: []any{&activities.Staleness{}, &activities.Unfinished{}, &activities.Cycles{}}},
		{Queue: "listings", Activities: []any{&activities.Retention{}, &activities.Forgetting{}, &activities.Erasing{}}},
		{Queue: "listings", Activities: []any{&activities.Enriching{}}},
		{Queue: "images", Activities: []any{&activities.Images{}}, Slots: 20},
		{Queue: "enrich", Activities: []any{&activities.Asking{}}, Slots: 4},
		{Queue: "browser", Activities: []any{&activities.Visits{}}, Slots: 5},
		{Queue: "drafts", Activities: []any{&activities.Drafts{}}, Slots: 2},
		{Queue: "search", Activities: []any{&activities.Searching{}}},
		{Queue: "campaigns", Activities: []any{&activities.Campaigns{}}},
		{Queue: "message_dispatch", Activities: []any{&activities.Dispatching{}}},
		{Queue: "message_retry", Activities: []any{&activities.Dispatching{}}},
		{Queue: "upload_jobs", Activities: []any{&activities.Imports{}}},
		{Queue: "upload_chunks", Activities: []any{&activities.ImportChunks{}}},
		{Queue: "import_persistence", Activities: []any{&activities.ImportPersistence{}}},
		{Queue: "notify", Activities: []any{&activities.Notices{}}},
		{Queue: "crawl", Activities: []any{&activities.Crawling{}, &activities.Tending{}, &activities.Seeding{}}},
	}
	o := workers.Options{StoreSlots: 10, StopGrace: time.Second}
	require.Empty(t, workers.New(lazy(t), rows, o))
	o.Queues = []string{"images"}
	require.Len(t, workers.New(lazy(t), rows, o), 1)
	o.Queues = workflows.QueueNames()
	made := workers.New(lazy(t), rows, o)
	require.Len(t, made, 14, "one a task queue")
	for _, a := range rows[0].Activities {
		require.Panics(t, func() { made[0].RegisterActivity(a) }, "%T is not served", a)
	}
	require.Panics(t, func() { made[0].RegisterActivity(&activities.Staleness{}) }, "the second row is not served")
	require.NotPanics(t, func() { made[1].RegisterActivity(&activities.Listings{}) }, "a row is served by another queue")

	o.Version = worker.WorkerDeploymentVersion{DeploymentName: "conveyor", BuildID: "1.0"}
	require.Len(t, workers.New(lazy(t), rows, o), 14, "as builds of a deployment")
	o.Version = worker.WorkerDeploymentVersion{}

	for name, tt := range map[string]struct {
		rows []workers.Row
		says string
	}{
		"an unknown queue":     {append(slices.Clone(rows), workers.Row{Queue: "nowhere"}), `there is no task queue "nowhere"`},
		"forgotten activities": {rows[:len(rows)-1], `no task queue has *activities.Crawling`},
		"one name twice": {append(slices.Clone(rows), workers.Row{Queue: "images", Activities: []any{&activities.Images{}}}),
			`activity type "AttachImage" is already registered`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() { require.Contains(t, fmt.Sprint(recover()), tt.says) }()
			workers.New(lazy(t), tt.rows, o)
		})
	}
}

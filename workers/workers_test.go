package workers_test

import (
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

// built is every struct of activities, as cmd hands them over.
var built = workers.Activities{
	Listings: &activities.Listings{}, Images: &activities.Images{}, Replays: &activities.Replays{},
	Staleness: &activities.Staleness{}, Cycles: &activities.Cycles{}, Visits: &activities.Visits{}, Drafts: &activities.Drafts{},
}

// lazy is a client that asks nobody anything.
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
	all.RegisterWorkflow(workflows.Listing)
	all.RegisterWorkflow(workflows.Replay)
	all.RegisterWorkflow(workflows.ArchiveStale)
	all.RegisterWorkflow(workflows.ScrapePlatform)
	all.RegisterWorkflow(workflows.CrawlDraft)
	for _, activities := range reflect.ValueOf(built).Fields() {
		require.False(t, activities.IsNil(), "%s is not built here", activities.Type())
		all.RegisterActivity(activities.Interface())
	}
	require.Panics(t, func() { all.RegisterActivity(built.Listings) }, "a clash goes unnoticed")
}

// Every exported method of these structs is an activity. A helper among them would be one too.
func TestActivityNames(t *testing.T) {
	t.Parallel()
	var names []string
	for _, activities := range reflect.ValueOf(built).Fields() {
		for m := range activities.Type().Methods() {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"ArchiveStaleListings", "AttachImage", "BeginCycle", "CheckDevtools", "DedupeListing", "EndCycle", "EndReplay", "FailListing",
		"HandOverListing", "ImportListing", "NormalizeListing", "OpenReplay", "PersistDraft", "ResolveOutDir",
		"RestartDuplicates", "RunCrawler", "RunReplayBatch", "ScrapePage",
	}, names)
}

func TestNew(t *testing.T) {
	t.Parallel()
	o := workers.Options{StoreSlots: 10, ImageSlots: 20, ScrapeSlots: 5, DraftSlots: 2, StopGrace: time.Second}
	require.Empty(t, workers.New(lazy(t), built, o))
	o.Queues = []string{"images"}
	require.Len(t, workers.New(lazy(t), built, o), 1)
	o.Queues = workers.Queues
	require.Len(t, workers.New(lazy(t), built, o), 4, "one a task queue")
}

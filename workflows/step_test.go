package workflows

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	common "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
)

// enrichment has the activity of a step that a later release adds to a stage.
type enrichment struct{}

func (*enrichment) EnrichListing(_ context.Context, job activities.ListingJob) (activities.ListingJob, error) {
	return job, nil
}

var enriching *enrichment

// enriched is Listing with the step "enrich" after "normalize".
func enriched(stage, since string) func(workflow.Context, ListingInput) (ListingResult, error) {
	steps := slices.Insert(slices.Clone(listingSteps), 1,
		step[activities.ListingJob]{name: "enrich", stage: stage, run: enriching.EnrichListing, since: since})
	return func(ctx workflow.Context, in ListingInput) (ListingResult, error) { return takeThrough(ctx, steps, in) }
}

func TestListingSteps(t *testing.T) {
	t.Parallel()

	var names []string
	last := 0
	for _, s := range listingSteps {
		order := listing.StageOrder(s.stage)
		require.NotEqual(t, -1, order, "step %q: there is no stage %q", s.name, s.stage)
		require.GreaterOrEqual(t, order, last, "step %q comes after steps of later stages", s.name)
		last = order
		require.NotEmpty(t, s.name)
		require.NotContains(t, names, s.name)
		names = append(names, s.name)
	}
	for _, stage := range listing.Entries {
		require.Equal(t, stage, listingSteps[entry(listingSteps, stage)].stage, "no step belongs to it")
	}
	require.Zero(t, entry(listingSteps, listing.StageImages), "an advert that enters nowhere begins at the beginning")
	require.Zero(t, entry(listingSteps, ""))
}

// A run that was recorded before a step was there replays without it, and a run that had it replays with it.
func TestStepSince(t *testing.T) {
	t.Parallel()

	const since = "enrich-2026-11"
	before := recorded(t, "testdata/replay/listing_imported.json")
	after := withEnrichment(t, before, since)
	for _, tt := range []struct {
		name    string
		history *history.History
		code    any
		fails   bool
	}{
		{"before, by the code of then", before, Listing, false},
		{"before, by code with the step", before, enriched(listing.StageNormalize, since), false},
		{"before, by code whose step has no since", before, enriched(listing.StageNormalize, ""), true},
		{"after, by code with the step", after, enriched(listing.StageNormalize, since), false},
		{"after, by code without it", after, Listing, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflowWithOptions(tt.code, workflow.RegisterOptions{Name: "Listing"})
			err := r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), tt.history)
			if tt.fails {
				require.ErrorContains(t, err, "[TMPRL1100]") // the SDK's number of nondeterminism
			} else {
				require.NoError(t, err)
			}
		})
	}
}

func recorded(t *testing.T, path string) *history.History {
	t.Helper()

	f, err := os.Open(path)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	h, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	require.NoError(t, err)
	return h
}

// withEnrichment is a history whose run had the step "enrich" after its first one: with the marker of GetVersion, the
// search attribute that comes with it, and the marker of the step. All steps of h are in its first workflow task.
func withEnrichment(t *testing.T, h *history.History, since string) *history.History {
	t.Helper()

	payloads := func(v any) *common.Payloads {
		p, err := converter.GetDefaultDataConverter().ToPayloads(v)
		require.NoError(t, err)
		return p
	}
	// number makes a marker of a local activity that of the n-th of its run.
	number := func(marker *history.MarkerRecordedEventAttributes, n int, activity string) {
		var data map[string]any
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(marker.Details["data"], &data))
		data["ActivityID"] = strconv.Itoa(n)
		if activity != "" {
			data["ActivityType"] = activity
		}
		marker.Details["data"] = payloads(data)
	}
	out, n := &history.History{}, 0
	for _, e := range proto.CloneOf(h).Events {
		out.Events = append(out.Events, e)
		marker := e.GetMarkerRecordedEventAttributes()
		if marker.GetMarkerName() != "LocalActivity" {
			continue
		}
		n++
		number(marker, n, "")
		if n > 1 {
			continue
		}
		version := &history.HistoryEvent{
			EventType: enums.EVENT_TYPE_MARKER_RECORDED,
			Attributes: &history.HistoryEvent_MarkerRecordedEventAttributes{
				MarkerRecordedEventAttributes: &history.MarkerRecordedEventAttributes{
					MarkerName: "Version", WorkflowTaskCompletedEventId: marker.WorkflowTaskCompletedEventId,
					Details: map[string]*common.Payloads{"change-id": payloads(since), "version": payloads(1)},
				},
			},
		}
		found := &history.HistoryEvent{
			EventType: enums.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
			Attributes: &history.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes{
				UpsertWorkflowSearchAttributesEventAttributes: &history.UpsertWorkflowSearchAttributesEventAttributes{
					WorkflowTaskCompletedEventId: marker.WorkflowTaskCompletedEventId,
					SearchAttributes: &common.SearchAttributes{IndexedFields: map[string]*common.Payload{
						"TemporalChangeVersion": payloads([]string{since + "-1"}).Payloads[0],
					}},
				},
			},
		}
		added := proto.CloneOf(e)
		n++
		number(added.GetMarkerRecordedEventAttributes(), n, "EnrichListing")
		out.Events = append(out.Events, version, found, added)
	}
	require.Equal(t, len(listingSteps)+1, n)
	for i, e := range out.Events {
		e.EventId = int64(i + 1)
	}
	return out
}

// A step that shares its stage with others is entered with the first of them, and handed over with all of them: once,
// and by the stage's name.
func TestStepOfASharedStage(t *testing.T) {
	t.Parallel()

	theirs := func(stage string) []string {
		return slices.DeleteFunc(slices.Clone(listing.Stages), func(s string) bool { return s == stage })
	}
	for _, tt := range []struct {
		name    string
		stage   string // of "enrich"
		stages  []string
		enter   string
		runs    []string
		outcome string
	}{
		{"last of a stage of ours", "normalize", listing.Stages, "normalize", []string{"normalize", "enrich", "dedupe", "import"}, "imported"},
		{"last of a stage before the entry", "normalize", listing.Stages, "dedupe", []string{"dedupe", "import"}, "imported"},
		{"last of a stage of theirs", "normalize", theirs("normalize"), "normalize", []string{"hand over normalize"}, "handed_on"},
		{"last before a stage of theirs", "normalize", theirs("dedupe"), "normalize", []string{"normalize", "enrich", "hand over dedupe"}, "handed_on"},
		{"first of the stage of entry", "dedupe", listing.Stages, "dedupe", []string{"enrich", "dedupe", "import"}, "imported"},
		{"first of a stage of theirs", "dedupe", theirs("dedupe"), "normalize", []string{"normalize", "hand over dedupe"}, "handed_on"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, runs := stepping(t, enriched(tt.stage, "enrich-2026-11"), nil)
			env.ExecuteWorkflow("Listing", ListingInput{Ref: kijiji, Stages: tt.stages, Arrival: Arrival{Stage: tt.enter}})

			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, tt.runs, *runs)
			var result ListingResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, tt.outcome, result.Outcome)
		})
	}
}

// A step that will never succeed is recorded under its stage, where operators can replay from.
func TestStepThatFails(t *testing.T) {
	t.Parallel()

	env, runs := stepping(t, enriched(listing.StageNormalize, ""),
		temporal.NewNonRetryableApplicationError("no such street", "invalid", nil))
	env.ExecuteWorkflow("Listing", ListingInput{Ref: kijiji, Stages: listing.Stages})

	require.ErrorContains(t, env.GetWorkflowError(), "no such street")
	require.Equal(t, []string{"normalize", "enrich", "fail normalize"}, *runs)
}

var kijiji = listing.Ref{Platform: "kijiji", PlatformID: "1329279535"}

// stepping is an environment in which every step succeeds, but for "enrich" where it fails, and the list of those that ran.
func stepping(t *testing.T, code any, enrich error) (*testsuite.TestWorkflowEnvironment, *[]string) {
	t.Helper()

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(code, workflow.RegisterOptions{Name: "Listing"})
	env.RegisterActivity(do.Listings)
	env.RegisterActivity(enriching)
	runs := new([]string)
	type act = func(context.Context, activities.ListingJob) (activities.ListingJob, error)
	on := func(a act, name, outcome string, err error) {
		env.OnActivity(a, mock.Anything, mock.Anything).Return(
			func(_ context.Context, job activities.ListingJob) (activities.ListingJob, error) {
				*runs = append(*runs, name+job.Stage)
				job.Outcome = outcome
				return job, err
			}).Maybe()
	}
	on(do.NormalizeListing, "normalize", "", nil)
	on(enriching.EnrichListing, "enrich", "", enrich)
	on(do.DedupeListing, "dedupe", "", nil)
	on(do.ImportListing, "import", activities.Imported, nil)
	on(do.HandOverListing, "hand over ", activities.HandedOn, nil)
	on(do.FailListing, "fail ", "", nil)
	return env, runs
}

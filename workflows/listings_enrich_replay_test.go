package workflows

import (
	"log/slog"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	common "go.temporal.io/api/common/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
)

// Runs whose import did not enrich have a step of their own for that, and those whose import did have none.
func TestReplayOfEnrichments(t *testing.T) {
	t.Parallel()

	imported := recorded(t, "testdata/replay/listing_imported.json")
	for _, tt := range []struct {
		name    string
		history *history.History
		fails   bool
	}{
		{"after the import", enrichedRun(t, imported, "", true), false},
		{"by the import", enrichedRun(t, imported, "2 facts", false), false},
		{"by nobody, though it is to be", enrichedRun(t, imported, "", false), true},
		{"by both", enrichedRun(t, imported, "2 facts", true), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			r := worker.NewWorkflowReplayer()
			r.RegisterWorkflow(Listing)
			err := r.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), tt.history)
			if tt.fails {
				require.Error(t, err)
			} else {
				require.NoError(t, err)
			}
		})
	}
}

// enrichedRun is h, of a run with three steps, as that of one that enriches here: its import has found something, or is
// followed by a step that has.
func enrichedRun(t *testing.T, h *history.History, byImport string, step bool) *history.History {
	t.Helper()

	convert := converter.GetDefaultDataConverter()
	change := func(p **common.Payloads, v any, edit func()) {
		require.NoError(t, convert.FromPayloads(*p, v))
		edit()
		changed, err := convert.ToPayloads(v)
		require.NoError(t, err)
		*p = changed
	}
	out, found := &history.History{}, byImport
	if step {
		found = "3 facts"
	}
	var last *history.HistoryEvent // marker of a step
	for _, e := range proto.CloneOf(h).Events {
		if a := e.GetWorkflowExecutionStartedEventAttributes(); a != nil {
			var in ListingInput
			change(&a.Input, &in, func() { in.Enrich = listing.EnrichHere })
		}
		if a := e.GetMarkerRecordedEventAttributes(); a != nil {
			var job activities.ListingJob
			result := a.Details["result"]
			change(&result, &job, func() {
				if job.Outcome == activities.Imported {
					job.Enriched = byImport
				}
			})
			a.Details["result"], last = result, e
		}
		if a := e.GetWorkflowExecutionCompletedEventAttributes(); a != nil {
			var result ListingResult
			change(&a.Result, &result, func() { result.Enriched = found })
			if step {
				marker := proto.CloneOf(last)
				details := marker.GetMarkerRecordedEventAttributes().Details
				var data map[string]any
				about, result := details["data"], details["result"]
				change(&about, &data, func() { data["ActivityID"], data["ActivityType"] = strconv.Itoa(4), "EnrichListing" })
				var job activities.ListingJob
				change(&result, &job, func() { job = activities.ListingJob{Ref: job.Ref, Revision: job.Revision, Note: found} })
				details["data"], details["result"] = about, result
				out.Events = append(out.Events, marker)
			}
		}
		out.Events = append(out.Events, e)
	}
	for i, e := range out.Events {
		e.EventId = int64(i + 1)
	}
	return out
}

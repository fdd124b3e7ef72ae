package workflows_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	acts  *activities.Listings
	imgs  *activities.Images
	ref   = listing.Ref{Platform: "kijiji", PlatformID: "1329279535"}
	every = []string{listing.StageNormalize, listing.StageDedupe, listing.StageImport, listing.StageImages}
)

// newEnv is an environment with the activities of listings and images, for a test to mock.
func newEnv(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivity(acts)
	env.RegisterActivity(imgs)
	t.Cleanup(func() { env.AssertExpectations(t) })
	return env
}

// stage returns a step that does what the real one does to the job.
func stage(revision int64, outcome string, images ...listing.Image) func(context.Context, activities.ListingJob) (activities.ListingJob, error) {
	return func(_ context.Context, job activities.ListingJob) (activities.ListingJob, error) {
		job.Revision, job.Outcome, job.Images = revision, outcome, images
		return job, nil
	}
}

func arrive(env *testsuite.TestWorkflowEnvironment, after time.Duration, a workflows.Arrival) {
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.ArrivalSignal, a) }, after)
}

func photos(n int) []listing.Image {
	out := make([]listing.Image, n)
	for i := range out {
		out[i] = listing.Image{URL: fmt.Sprintf("https://media.example/%d.jpg", i), SortOrder: i}
	}
	return out
}

func TestListing(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	var order []string
	note := func(name string, next func(context.Context, activities.ListingJob) (activities.ListingJob, error)) func(context.Context, activities.ListingJob) (activities.ListingJob, error) {
		return func(ctx context.Context, job activities.ListingJob) (activities.ListingJob, error) {
			order = append(order, name)
			require.Equal(t, ref, job.Ref)
			return next(ctx, job)
		}
	}
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(note("normalize", stage(1, ""))).Once()
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(note("dedupe", stage(1, ""))).Once()
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(note("import", stage(1, activities.Imported))).Once()
	first := workflows.Arrival{Stage: listing.StageNormalize, Revision: 1}

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every, Arrival: first})

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"normalize", "dedupe", "import"}, order)
	var result workflows.ListingResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, workflows.ListingResult{Outcome: activities.Imported, Revision: 1}, result)
}

// Every image gets an activity of its own, never more than five at once, and one that fails does not harm the listing.
func TestListingAttachesImages(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(1, ""))
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(1, ""))
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(stage(1, activities.Imported, photos(12)...))
	flying, most, seen := 0, 0, map[string]int{}
	env.SetOnActivityStartedListener(func(*activity.Info, context.Context, converter.EncodedValues) { flying++; most = max(most, flying) })
	env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) { flying-- })
	env.OnActivity(imgs.AttachImage, mock.Anything, mock.Anything).Return(func(_ context.Context, job activities.ImageJob) error {
		seen[job.Image.URL]++
		if job.Image.SortOrder == 3 {
			return temporal.NewNonRetryableApplicationError("404", "gone", nil)
		}
		return nil
	})

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	require.NoError(t, env.GetWorkflowError())
	require.Len(t, seen, 12)
	for url, n := range seen {
		require.Equal(t, 1, n, url)
	}
	require.LessOrEqual(t, most, 5)
}

// A scrape that arrives while images are on their way is processed at once, and images that are on their way already
// are not fetched twice.
func TestListingTakesTheNewestVersionWhileImagesAreAttached(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(1, "")).Once()
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(1, "")).Once()
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(stage(1, activities.Imported, photos(2)...)).Once()
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(4, "")).Once()
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(4, "")).Once()
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(stage(4, activities.Imported, photos(3)...)).Once()
	env.OnActivity(imgs.AttachImage, mock.Anything, mock.Anything).Return(nil).After(time.Hour).Times(3)
	// Three messages while the first images are on their way are one more pass, for the newest.
	for revision := int64(2); revision <= 4; revision++ {
		arrive(env, time.Minute, workflows.Arrival{Stage: listing.StageNormalize, Revision: revision})
	}

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	require.NoError(t, env.GetWorkflowError())
}

// A revision that this run has brought to its end is not done again, unless it is forced.
func TestListingSkipsWhatItHasDone(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(1, "")).Times(2)
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(1, "")).Times(2)
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(stage(1, activities.Imported, photos(1)...)).Times(2)
	env.OnActivity(imgs.AttachImage, mock.Anything, mock.Anything).Return(nil).After(time.Hour)
	arrive(env, time.Minute, workflows.Arrival{Stage: listing.StageNormalize, Revision: 1})
	arrive(env, 2*time.Minute, workflows.Arrival{Stage: listing.StageNormalize, Revision: 1, Force: true})

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	require.NoError(t, env.GetWorkflowError())
}

func TestListingRejected(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(activities.ListingJob{},
		temporal.NewNonRetryableApplicationError("price: is missing; bedrooms: is missing", workflows.InvalidListing, nil)).Once()

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	var app *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &app)
	require.Equal(t, workflows.InvalidListing, app.Type())
	require.ErrorContains(t, app, "bedrooms: is missing")
}

// A step that will never succeed, for a reason that is no rejection, is recorded as one: nothing ends without a trace.
func TestListingThatCanNeverBeStored(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(3, ""))
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(3, ""))
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(activities.ListingJob{},
		temporal.NewNonRetryableApplicationError("rooms: out of range", "invalid", nil))
	env.OnActivity(acts.FailListing, mock.Anything, mock.Anything).Return(
		func(_ context.Context, job activities.ListingJob) (activities.ListingJob, error) {
			require.Equal(t, ref, job.Ref)
			require.EqualValues(t, 3, job.Revision)
			require.Contains(t, job.Note, "rooms: out of range")
			return job, nil
		}).Once()

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	require.ErrorContains(t, env.GetWorkflowError(), "rooms: out of range")
}

// A better version that arrives after a bad one heals the listing.
// A step is tried until the database is back: an outage rejects no advert.
func TestListingOutlastsTheDatabase(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	began := env.Now()
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(
		func(ctx context.Context, job activities.ListingJob) (activities.ListingJob, error) {
			if env.Now().Sub(began) < 10*time.Minute {
				return job, failing(fault.Transient)
			}
			return stage(1, "")(ctx, job)
		})
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(1, activities.Duplicate)).Once()

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})
	require.NoError(t, env.GetWorkflowError())
	require.GreaterOrEqual(t, env.Now().Sub(began), 10*time.Minute)
}

// An error that is no verdict on the advert fails the run and rejects nothing: its revision stays unsettled.
func TestListingThatTimesOutIsNotRejected(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(activities.ListingJob{},
		temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil)).Once()

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})
	require.Error(t, env.GetWorkflowError())
	env.AssertActivityNotCalled(t, "FailListing", mock.Anything, mock.Anything)
}

func TestListingRejectedThenImported(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(1, "")).Once()
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(1, ""))
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(stage(1, activities.Imported, photos(1)...)).Once()
	env.OnActivity(imgs.AttachImage, mock.Anything, mock.Anything).Return(nil).After(time.Hour)
	arrive(env, time.Minute, workflows.Arrival{Stage: listing.StageNormalize, Revision: 2})
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(activities.ListingJob{},
		temporal.NewNonRetryableApplicationError("price: is missing", workflows.InvalidListing, nil)).Once()
	arrive(env, 2*time.Minute, workflows.Arrival{Stage: listing.StageNormalize, Revision: 3})
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(3, "")).Once()
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(stage(3, activities.Imported)).Once()

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	require.NoError(t, env.GetWorkflowError())
}

// At the first stage that another team does the advert is handed over, and the run ends.
func TestListingHandsOver(t *testing.T) {
	t.Parallel()

	tests := []struct {
		name   string
		stages []string
		enter  string
		runs   []string
		handed string
	}{
		{"normalize is theirs", []string{"dedupe", "import", "images"}, "normalize", nil, "normalize"},
		{"dedupe is theirs", []string{"normalize", "import", "images"}, "normalize", []string{"normalize"}, "dedupe"},
		{"import is theirs", []string{"normalize", "dedupe"}, "normalize", []string{"normalize", "dedupe"}, "import"},
		{"images are theirs", []string{"normalize", "dedupe", "import"}, "normalize", []string{"normalize", "dedupe", "import"}, "images"},
		{"we enter after their stage", []string{"import", "images"}, "import", []string{"import"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			var runs []string
			ran := func(name, outcome string, images ...listing.Image) func(context.Context, activities.ListingJob) (activities.ListingJob, error) {
				return func(ctx context.Context, job activities.ListingJob) (activities.ListingJob, error) {
					runs = append(runs, name)
					return stage(1, outcome, images...)(ctx, job)
				}
			}
			env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(ran("normalize", "")).Maybe()
			env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(ran("dedupe", "")).Maybe()
			env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(ran("import", activities.Imported, photos(2)...)).Maybe()
			env.OnActivity(imgs.AttachImage, mock.Anything, mock.Anything).Return(nil).Maybe()
			var handed string
			env.OnActivity(acts.HandOverListing, mock.Anything, mock.Anything).Return(
				func(_ context.Context, job activities.ListingJob) (activities.ListingJob, error) {
					handed = job.Stage
					job.Outcome = activities.HandedOn
					return job, nil
				}).Maybe()
			arrive(env, 0, workflows.Arrival{Stage: tt.enter, Revision: 1})

			env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: tt.stages})

			require.NoError(t, env.GetWorkflowError())
			require.Equal(t, tt.runs, runs)
			require.Equal(t, tt.handed, handed)
		})
	}
}

// An advert that is handed over again by the same run is another pass: its message is not taken for the first one.
func TestListingHandsOverAgain(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	var passes []int
	env.OnActivity(acts.HandOverListing, mock.Anything, mock.Anything).Return(
		func(_ context.Context, job activities.ListingJob) (activities.ListingJob, error) {
			passes = append(passes, job.Pass)
			if len(passes) == 1 { // a replay joins the run
				env.SignalWorkflow(workflows.ArrivalSignal, workflows.Arrival{Stage: "dedupe", Revision: 1, Force: true})
			}
			job.Outcome = activities.HandedOn
			return job, nil
		})
	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{
		Ref: ref, Stages: []string{"normalize"}, Arrival: workflows.Arrival{Stage: "dedupe", Revision: 1},
	})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []int{0, 1}, passes)
}

// Duplicates end their way before the import.
func TestListingDuplicate(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(1, ""))
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(1, activities.Duplicate))
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Never()

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	require.NoError(t, env.GetWorkflowError())
}

// A canceled run ends as that, without starting the images that wait.
func TestListingCanceled(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.OnActivity(acts.NormalizeListing, mock.Anything, mock.Anything).Return(stage(1, ""))
	env.OnActivity(acts.DedupeListing, mock.Anything, mock.Anything).Return(stage(1, ""))
	env.OnActivity(acts.ImportListing, mock.Anything, mock.Anything).Return(stage(1, activities.Imported, photos(9)...))
	started := 0
	env.OnActivity(imgs.AttachImage, mock.Anything, mock.Anything).Return(
		func(context.Context, activities.ImageJob) error { started++; return nil }).After(time.Hour)
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Minute)

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{Ref: ref, Stages: every})

	require.True(t, temporal.IsCanceledError(env.GetWorkflowError()), "%v", env.GetWorkflowError())
	require.LessOrEqual(t, started, 5)
}

func TestSummaryCutsBetweenRunes(t *testing.T) {
	t.Parallel()

	require.Equal(t, "4½", workflows.Summary("4½", 3))
	require.Equal(t, "4", workflows.Summary("4½", 2))
	require.Equal(t, "", workflows.Summary("½", 1))
}

package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	enriching *activities.Enriching
	asking    *activities.Asking
)

type job = activities.ListingJob

// imports are the results of an import.
type imports struct {
	images []listing.Image
	before bool // it does not enrich
	ask    bool
}

// enrichEnv is an environment in which adverts are imported, and the list of the steps that ran.
func enrichEnv(t *testing.T, found imports) (*testsuite.TestWorkflowEnvironment, *[]string) {
	t.Helper()

	env := newEnv(t)
	env.RegisterActivity(enriching)
	env.RegisterActivity(asking)
	ran := new([]string)
	on := func(name string, act any, outcome string) {
		env.OnActivity(act, mock.Anything, mock.Anything).Return(func(_ context.Context, j job) (job, error) {
			*ran = append(*ran, name+j.Stage)
			if j.Outcome = outcome; outcome != activities.Imported {
				return j, nil
			}
			if j.Images = found.images; j.Enrich && !found.before {
				j.Enriched, j.Ask = "2 facts", found.ask
			}
			return j, nil
		}).Maybe()
	}
	on("normalize", acts.NormalizeListing, "")
	on("dedupe", acts.DedupeListing, "")
	on("import", acts.ImportListing, activities.Imported)
	on("hand over ", acts.HandOverListing, activities.HandedOn)
	return env, ran
}

// finds is an enrichment that ends with a note, or an error.
func finds(ran *[]string, name, note string, ask bool, err error) func(context.Context, job) (job, error) {
	return func(_ context.Context, j job) (job, error) {
		*ran = append(*ran, name)
		j.Note, j.Ask = note, ask
		return j, err
	}
}

func TestListingEnriched(t *testing.T) {
	t.Parallel()
	final := temporal.NewNonRetryableApplicationError("no such street", "invalid", nil)
	for _, tt := range []struct {
		name       string
		enrich     string
		at         string // stage that it enters at
		before     bool   // the import does not enrich, as in runs from before
		ask        bool
		err        error // of the enrichment
		modelErr   error
		ran        []string
		outcome    string
		enrichment string
	}{
		{"by nobody", "", "normalize", false, false, nil, nil, []string{"normalize", "dedupe", "import"}, "imported", ""},
		{"here", "here", "normalize", false, false, nil, nil, []string{"normalize", "dedupe", "import"}, "imported",
			"2 facts"},
		{"here, with a model", "here", "import", false, true, nil, nil, []string{"import", "ask"}, "imported",
			"2 facts; 1 more"},
		{"here, with a model that fails", "here", "import", false, true, nil, final, []string{"import", "ask"}, "imported",
			"2 facts; failed: no such street"},
		{"after the import", "here", "normalize", true, false, nil, nil,
			[]string{"normalize", "dedupe", "import", "enrich"}, "imported", "3 facts"},
		{"after the import, with a model", "here", "import", true, true, nil, nil, []string{"import", "enrich", "ask"},
			"imported", "3 facts; 1 more"},
		{"after the import, in vain", "here", "import", true, false, final, nil, []string{"import", "enrich"}, "imported",
			"failed: no such street"},
		{"after the import, with a model that fails", "here", "import", true, true, nil, final,
			[]string{"import", "enrich", "ask"}, "imported", "3 facts; failed: no such street"},
		{"elsewhere", "elsewhere", "normalize", false, false, nil, nil, []string{"normalize", "hand over enrich"},
			"handed_on", ""},
		{"elsewhere, on its way back", "elsewhere", "dedupe", false, false, nil, nil, []string{"dedupe", "import"},
			"imported", ""},
		{"off", "off", "normalize", false, false, nil, nil, []string{"normalize", "dedupe", "import"}, "imported", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			env, ran := enrichEnv(t, imports{before: tt.before, ask: tt.ask})
			env.OnActivity(enriching.EnrichListing, mock.Anything, mock.Anything).
				Return(finds(ran, "enrich", "3 facts", tt.ask, tt.err)).Maybe()
			env.OnActivity(asking.AskModel, mock.Anything, mock.Anything).
				Return(finds(ran, "ask", "1 more", false, tt.modelErr)).Maybe()
			env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{
				Ref: ref, Stages: every, Enrich: tt.enrich, Arrival: workflows.Arrival{Stage: tt.at, Revision: 1},
			})

			require.NoError(t, env.GetWorkflowError(), "a published listing stays that")
			require.Equal(t, tt.ran, *ran)
			var result workflows.ListingResult
			require.NoError(t, env.GetWorkflowResult(&result))
			require.Equal(t, tt.outcome, result.Outcome)
			require.Equal(t, tt.enrichment, result.Enriched)
		})
	}
}

// A model that stalls holds up neither the images nor the next version, and is given up.
func TestListingWhileTheModelStalls(t *testing.T) {
	t.Parallel()

	env, ran := enrichEnv(t, imports{images: photos(1), ask: true})
	env.OnActivity(asking.AskModel, mock.Anything, mock.Anything).
		Return(job{}, temporal.NewApplicationError("the model stalls", "transient")).After(time.Minute)
	env.OnActivity(imgs.AttachImage, mock.Anything, mock.Anything).Return(nil)
	var between []string
	arrive(env, 30*time.Second, workflows.Arrival{Stage: listing.StageImport, Revision: 2})
	env.RegisterDelayedCallback(func() { between = append(between, *ran...) }, 40*time.Second)

	env.ExecuteWorkflow(workflows.Listing, workflows.ListingInput{
		Ref: ref, Stages: every, Enrich: listing.EnrichHere, Arrival: workflows.Arrival{Stage: listing.StageImport, Revision: 1},
	})

	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"import", "import"}, between)
	var result workflows.ListingResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, "imported", result.Outcome)
	require.EqualValues(t, 2, result.Revision)
	require.Equal(t, "2 facts; failed: the model stalls", result.Enriched)
}

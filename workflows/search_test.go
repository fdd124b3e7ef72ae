package workflows_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/workflows"
)

var searching *activities.Searching

// A batch is tried until it is stored.
func TestIndexPages(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(searching)
	keys := activities.PageKeys{Keys: []uuid.UUID{uuid.New(), uuid.New()}}
	want := activities.StoredPages{Stored: 1, Refused: []activities.Refused{{Key: keys.Keys[1], Reason: "no"}}}
	env.OnActivity(searching.StorePages, mock.Anything, keys).
		Return(activities.StoredPages{}, failing(fault.Transient)).Times(20)
	env.OnActivity(searching.StorePages, mock.Anything, keys).Return(want, nil).Once()
	env.ExecuteWorkflow(workflows.IndexPages, workflows.IndexInput{Keys: keys.Keys})
	require.NoError(t, env.GetWorkflowError())
	var got activities.StoredPages
	require.NoError(t, env.GetWorkflowResult(&got))
	require.Equal(t, want, got)
}

// A re-index goes on where its last batch ended, also when it continues as new.
func TestReindexPagesWorkflow(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(searching)
	first := activities.Reindexed{To: "opensearch", After: 7, Pages: 7}
	second := activities.Reindexed{To: "opensearch", After: 9, Pages: 9, Ended: true}
	env.OnActivity(searching.ReindexPages, mock.Anything, activities.Reindexed{To: "opensearch"}).Return(first, nil).Once()
	env.OnActivity(searching.ReindexPages, mock.Anything, first).Return(second, nil).Once()
	env.ExecuteWorkflow(workflows.ReindexPages, workflows.ReindexInput{To: "opensearch"})
	require.NoError(t, env.GetWorkflowError())
	answer, err := env.QueryWorkflow(workflows.ReindexQuery)
	require.NoError(t, err)
	var got activities.Reindexed
	require.NoError(t, answer.Get(&got))
	require.Equal(t, second, got)

	long := newEnv(t)
	long.RegisterActivity(searching)
	long.SetContinueAsNewSuggested(true)
	long.OnActivity(searching.ReindexPages, mock.Anything, first).Return(activities.Reindexed{After: 8}, nil).Once()
	long.ExecuteWorkflow(workflows.ReindexPages, workflows.ReindexInput{To: "opensearch", SoFar: first})
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, long.GetWorkflowError(), &next)
}

func TestDeletePages(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(searching)
	first := activities.PageDeletion{Site: "example.org", Deleted: 500}
	env.OnActivity(searching.DeleteSitePages, mock.Anything, activities.PageDeletion{Site: "example.org"}).Return(first, nil).Once()
	env.OnActivity(searching.DeleteSitePages, mock.Anything, first).
		Return(activities.PageDeletion{Site: "example.org", Deleted: 501, Ended: true}, nil).Once()
	env.ExecuteWorkflow(workflows.DeletePages, workflows.DeletePagesInput{Site: "example.org"})
	require.NoError(t, env.GetWorkflowError())

	env = newEnv(t)
	env.RegisterActivity(searching)
	env.OnActivity(searching.CompactSegments, mock.Anything, mock.Anything).Return(activities.Compacted{Merges: 1}, nil).Once()
	env.ExecuteWorkflow(workflows.CompactIndex, workflows.CompactInput{})
	require.NoError(t, env.GetWorkflowError())
}

func TestIndexSummary(t *testing.T) {
	t.Parallel()

	for want, hosts := range map[string][]string{
		"1 page of a.example":             {"a.example"},
		"3 pages of b.example and 1 more": {"a.example", "b.example", "b.example"},
		"2 pages of a.example and 1 more": {"b.example", "a.example"},
	} {
		require.Equal(t, want, workflows.IndexSummary(hosts))
	}
}

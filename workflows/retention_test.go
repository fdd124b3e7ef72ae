package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/workflows"
)

var (
	retentions  *activities.Retention
	forgettings *activities.Forgetting
)

// A kind that cannot be deleted is skipped, the others are deleted, and the run says so at its end.
func TestApplyRetention(t *testing.T) {
	t.Parallel()

	for name, broken := range map[string]bool{"all is well": false, "one fails": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.RegisterActivity(retentions)
			var asked []activities.RetentionBatch
			env.OnActivity(retentions.DeleteExpired, mock.Anything, mock.Anything).Return(
				func(_ context.Context, b activities.RetentionBatch) (activities.RetentionBatch, error) {
					asked = append(asked, b)
					switch {
					case b.Kind == "":
						return activities.RetentionBatch{Kind: "events", Cursor: "7", More: true}, nil
					case b.Kind == "events" && !b.Skip && broken:
						return b, errors.New("broken")
					}
					return activities.RetentionBatch{Deleted: map[string]int{"drafts": 3}}, nil
				})
			env.ExecuteWorkflow(workflows.ApplyRetention, workflows.RetentionInput{})
			require.True(t, env.IsWorkflowCompleted())
			last := asked[len(asked)-1]
			require.Equal(t, activities.RetentionBatch{Kind: "events", Cursor: "7", More: true, Skip: broken}, last)
			if broken {
				require.ErrorContains(t, env.GetWorkflowError(), "could not delete old [events]")
				return
			}
			require.NoError(t, env.GetWorkflowError())
			var got workflows.RetentionResult
			require.NoError(t, env.GetWorkflowResult(&got))
			require.Equal(t, map[string]int{"drafts": 3}, got.Deleted)
		})
	}
}

// Files that the store does not delete are left, which the run says at its end.
func TestApplyRetentionLeavesFiles(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(retentions)
	env.OnActivity(retentions.DeleteExpired, mock.Anything, mock.Anything).Return(
		activities.RetentionBatch{Left: true}, nil)
	env.ExecuteWorkflow(workflows.ApplyRetention, workflows.RetentionInput{Failed: []string{"files", "events"}})
	require.ErrorContains(t, env.GetWorkflowError(), "could not delete old [events files]")
}

// An advert is forgotten, and a quarter of an hour later what was stored of it meanwhile; then its files go, also by a
// worker whose clock is behind that of the one that has marked them.
func TestForgetListing(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(retentions)
	env.RegisterActivity(forgettings)
	ref := listing.Ref{Platform: "kijiji", PlatformID: "1"}
	var did []string
	begin := env.Now()
	at := func(what string) {
		did = append(did, what+" after "+env.Now().Sub(begin).Truncate(time.Minute).String())
	}
	env.OnActivity(forgettings.EndListing, mock.Anything, mock.Anything).Return(
		func(_ context.Context, b activities.ForgetBatch) (activities.ForgetBatch, error) {
			at("end")
			return b, nil
		})
	env.OnActivity(forgettings.ForgetAdvert, mock.Anything, mock.Anything).Return(
		func(_ context.Context, b activities.ForgetBatch) (activities.ForgetBatch, error) {
			require.Equal(t, ref, b.Ref)
			if b.More = b.Stage == ""; b.More {
				b.Stage = "letters"
				at("rows")
			}
			b.Done.Adverts++
			return b, nil
		})
	env.OnActivity(forgettings.DeleteListingRuns, mock.Anything, mock.Anything).Return(
		func(_ context.Context, b activities.ForgetBatch) (activities.ForgetBatch, error) {
			at("runs")
			return b, nil
		})
	env.OnActivity(retentions.DeleteExpired, mock.Anything, mock.Anything).Return(
		func(_ context.Context, b activities.RetentionBatch) (activities.RetentionBatch, error) {
			require.True(t, b.Only)
			require.Equal(t, retention.Files, b.Kind)
			at("files")
			return activities.RetentionBatch{}, nil
		})
	env.ExecuteWorkflow(workflows.ForgetListing, workflows.ForgetInput{Ref: ref})
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{
		"end after 0s", "rows after 0s", "runs after 0s", "rows after 16m0s", "runs after 16m0s", "files after 16m0s",
	}, did)
	var got retention.Forgotten
	require.NoError(t, env.GetWorkflowResult(&got))
	require.Equal(t, 4, got.Adverts)
}

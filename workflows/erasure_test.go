package workflows_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/workflows"
)

var erasings *activities.Erasing

// A tenant is erased, and a quarter of an hour later what was stored of it meanwhile; then its files go. Steps that fail
// are tried again, and none is left out.
func TestEraseTenant(t *testing.T) {
	t.Parallel()

	for name, fails := range map[string]bool{"all is well": false, "each step fails at first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.RegisterActivity(retentions)
			env.RegisterActivity(erasings)
			var did []string
			begin, tried, last := env.Now(), map[string]int{}, uuid.New()
			at := func(what string) error {
				key := what + " after " + env.Now().Sub(begin).Truncate(time.Minute).String()
				if tried[key]++; fails && tried[key] == 1 {
					return errors.New("away")
				}
				did = append(did, key)
				return nil
			}
			env.OnActivity(erasings.EndTenantRuns, mock.Anything, mock.Anything).Return(
				func(_ context.Context, b activities.ErasureBatch) (activities.ErasureBatch, error) {
					require.Equal(t, "acme", b.Tenant)
					err := at("end " + b.After.String()[:4])
					if b.More = b.After == uuid.Nil; b.More {
						last[0] = 0xab
						b.After = last
					}
					return b, err
				})
			left := 3
			env.OnActivity(erasings.EraseTenant, mock.Anything, mock.Anything).Return(
				func(_ context.Context, b activities.ErasureBatch) (activities.ErasureBatch, error) {
					require.Equal(t, "acme", b.Tenant)
					err := at("rows")
					if err == nil {
						left--
					}
					b.More = left == 2
					return b, err
				})
			env.OnActivity(retentions.DeleteExpired, mock.Anything, mock.Anything).Return(
				func(_ context.Context, b activities.RetentionBatch) (activities.RetentionBatch, error) {
					require.True(t, b.Only)
					require.Equal(t, retention.Files, b.Kind)
					return activities.RetentionBatch{}, at("files")
				})
			env.OnActivity(erasings.FinishErasure, mock.Anything, mock.Anything).Return(
				func(_ context.Context, b activities.ErasureBatch) (activities.ErasureBatch, error) {
					return b, at("finish")
				})
			env.ExecuteWorkflow(workflows.EraseTenant, workflows.ErasureInput{Tenant: "acme"})
			require.True(t, env.IsWorkflowCompleted())
			require.NoError(t, env.GetWorkflowError())
			require.Len(t, did, 9)
			require.Equal(t, []string{"end 0000 after 0s", "end " + last.String()[:4] + " after 0s", "rows after 0s", "rows after 0s"},
				did[:4])
			require.Equal(t, []string{"rows after 15m0s", "files after 15m0s", "finish after 15m0s"}, did[6:])
		})
	}
}

// A tenant whose erasure was never requested is no reason to try for ever.
func TestEraseTenantUnknown(t *testing.T) {
	t.Parallel()

	env := newEnv(t)
	env.RegisterActivity(erasings)
	tries := 0
	env.OnActivity(erasings.EndTenantRuns, mock.Anything, mock.Anything).Return(activities.ErasureBatch{}, nil)
	env.OnActivity(erasings.EraseTenant, mock.Anything, mock.Anything).Return(
		func(_ context.Context, b activities.ErasureBatch) (activities.ErasureBatch, error) {
			tries++
			return b, temporal.NewNonRetryableApplicationError("there is no erasure", "gone", nil)
		})
	env.ExecuteWorkflow(workflows.EraseTenant, workflows.ErasureInput{Tenant: "acme"})
	require.Error(t, env.GetWorkflowError())
	require.Equal(t, 1, tries)
}

// Each run of an erasure whose histories become too long deletes something, and none ends anew what another has ended.
func TestEraseTenantGoesOn(t *testing.T) {
	t.Parallel()

	in, did := workflows.ErasureInput{Tenant: "acme"}, []string{}
	for range 2 {
		env := newEnv(t)
		env.RegisterActivity(erasings)
		env.SetContinueAsNewSuggested(true)
		env.OnActivity(erasings.EndTenantRuns, mock.Anything, mock.Anything).Return(
			func(context.Context, activities.ErasureBatch) (activities.ErasureBatch, error) {
				did = append(did, "end")
				return activities.ErasureBatch{}, nil
			}).Maybe()
		env.OnActivity(erasings.EraseTenant, mock.Anything, mock.Anything).Return(
			func(_ context.Context, b activities.ErasureBatch) (activities.ErasureBatch, error) {
				did = append(did, "rows")
				return b, nil
			})
		env.ExecuteWorkflow(workflows.EraseTenant, in)
		var next *workflow.ContinueAsNewError
		require.ErrorAs(t, env.GetWorkflowError(), &next)
		in = workflows.ErasureInput{}
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &in))
	}
	require.Equal(t, []string{"end", "rows", "rows"}, did)
	require.Equal(t, workflows.ErasureInput{Tenant: "acme", Ended: true}, in)
}

// What the store does not delete, which may be a stranger's file, is tried for an hour and keeps no erasure from ending.
func TestEraseTenantLeavesFiles(t *testing.T) {
	t.Parallel()

	for name, failed := range map[string]error{"some are left": nil, "none can be deleted": errors.New("away")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			env := newEnv(t)
			env.RegisterActivity(retentions)
			env.RegisterActivity(erasings)
			begin, tries := env.Now(), 0
			env.OnActivity(erasings.EndTenantRuns, mock.Anything, mock.Anything).Return(activities.ErasureBatch{}, nil)
			env.OnActivity(erasings.EraseTenant, mock.Anything, mock.Anything).Return(activities.ErasureBatch{}, nil)
			env.OnActivity(retentions.DeleteExpired, mock.Anything, mock.Anything).Return(
				func(_ context.Context, b activities.RetentionBatch) (activities.RetentionBatch, error) {
					require.False(t, b.Left)
					tries++
					return activities.RetentionBatch{Left: true}, failed
				})
			env.OnActivity(erasings.FinishErasure, mock.Anything, mock.Anything).Return(
				func(_ context.Context, b activities.ErasureBatch) (activities.ErasureBatch, error) {
					took := env.Now().Sub(begin)
					require.Greater(t, took, 70*time.Minute)
					require.Less(t, took, 80*time.Minute)
					return b, nil
				}).Once()
			env.ExecuteWorkflow(workflows.EraseTenant, workflows.ErasureInput{Tenant: "acme"})
			require.NoError(t, env.GetWorkflowError())
			require.Greater(t, tries, 10)
		})
	}
}

package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
)

// erasure is a store with some workflows and tables, and what was done to them.
type erasure struct {
	last  uuid.UUID
	steps int // that are left
	err   error
	ended []string
}

func (e *erasure) Runs(_ context.Context, tenant string, after uuid.UUID, _ int) ([]string, uuid.UUID, error) {
	if after == uuid.Nil {
		return []string{"campaign/" + tenant, "import/1"}, e.last, e.err
	}
	return []string{"notify/2"}, uuid.Nil, e.err
}

func (e *erasure) Erase(context.Context, string, int) (bool, error) {
	e.steps--
	return e.steps > 0, e.err
}

func (e *erasure) Finish(context.Context, string, time.Time) error { return e.err }

func (e *erasure) EndRun(_ context.Context, id, _ string) error {
	e.ended = append(e.ended, id)
	return e.err
}

func TestErasing(t *testing.T) {
	t.Parallel()

	e := &erasure{last: uuid.New(), steps: 3}
	a := &activities.Erasing{Store: e, Runs: e, Now: time.Now}
	b, err := a.EndTenantRuns(t.Context(), activities.ErasureBatch{Tenant: "acme"})
	require.NoError(t, err)
	require.Equal(t, activities.ErasureBatch{Tenant: "acme", After: e.last, More: true}, b)
	b, err = a.EndTenantRuns(t.Context(), b)
	require.NoError(t, err)
	require.False(t, b.More)
	require.Equal(t, []string{"campaign/acme", "import/1", "dispatch/acme", "notify/2"}, e.ended)

	b, err = a.EraseTenant(t.Context(), activities.ErasureBatch{Tenant: "acme"})
	require.NoError(t, err)
	require.Equal(t, activities.ErasureBatch{Tenant: "acme"}, b)
	require.Zero(t, e.steps, "up to the end of a pass")

	e.steps, e.err = 3, errors.New("away")
	_, err = a.EraseTenant(t.Context(), b)
	require.ErrorIs(t, err, e.err)
	_, err = a.EndTenantRuns(t.Context(), b)
	require.ErrorIs(t, err, e.err)
	_, err = a.FinishErasure(t.Context(), b)
	require.ErrorIs(t, err, e.err)
}

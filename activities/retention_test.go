package activities_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// attic is a store with numbers of old rows, and files.
type attic struct {
	rows   map[string]int
	files  []string
	marked []string
	did    []string
	broken string // kind that fails
	held   string // file that is not deleted
	clock  time.Time
}

func (a *attic) Earlier(_ context.Context, at time.Time) (time.Time, error) {
	if !a.clock.IsZero() && a.clock.Before(at) {
		return a.clock, nil
	}
	return at, nil
}

func (a *attic) DeleteExpired(_ context.Context, kind string, before time.Time, cursor string, most int) (
	retention.Step, error,
) {
	if kind == a.broken {
		return retention.Step{}, errors.New("broken")
	}
	a.did = append(a.did, fmt.Sprintf("%s before %s after %q", kind, before.Format(time.DateOnly), cursor))
	n := min(a.rows[kind], most)
	a.rows[kind] -= n
	return retention.Step{Cursor: cursor + "x", Deleted: n, More: n == most}, nil
}

func (a *attic) MakePartitions(_ context.Context, now time.Time) error {
	if a.broken == retention.Partitions {
		return errors.New("broken")
	}
	a.did = append(a.did, "make partitions of "+now.Format(time.DateOnly))
	return nil
}

func (a *attic) MarkUnused(_ context.Context, keys []string, due time.Time) (int, error) {
	a.marked = append(a.marked, keys...)
	a.did = append(a.did, "mark due "+due.Format(time.DateOnly))
	return len(keys), nil
}

func (a *attic) DeleteUnused(ctx context.Context, _ time.Time, _ string, _ int,
	remove func(context.Context, string) error) (retention.Step, error) {
	var step retention.Step
	for _, key := range a.marked {
		if err := remove(ctx, key); err != nil {
			step.Left = err
			continue
		}
		step.Deleted++
	}
	a.marked = nil
	return step, nil
}

func (a *attic) List(_ context.Context, cursor string, _ int) ([]string, string, error) {
	if a.broken == retention.Unused {
		return nil, "", errors.New("broken")
	}
	var n int
	_, _ = fmt.Sscan(cursor, &n)
	if n == len(a.files) {
		return nil, "", nil
	}
	return a.files[n : n+1], fmt.Sprint(n + 1), nil
}

func (a *attic) Delete(_ context.Context, key string) error {
	if key == a.held {
		return errors.New("on hold")
	}
	a.did = append(a.did, "delete "+key)
	return nil
}

func limits(days map[string]int) retention.Limits {
	out := retention.Limits{}
	for kind, n := range days {
		out[kind] = time.Duration(n) * 24 * time.Hour
	}
	return out
}

// expire runs batches until the end, as the workflow does.
func expire(t *testing.T, a *activities.Retention, b activities.RetentionBatch) (activities.RetentionBatch, error) {
	t.Helper()

	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivity(a)
	for {
		v, err := env.ExecuteLocalActivity(a.DeleteExpired, b)
		if err != nil {
			return b, err
		}
		b = activities.RetentionBatch{}
		require.NoError(t, v.Get(&b))
		if !b.More {
			return b, nil
		}
	}
}

func TestDeleteExpired(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	ticks := now
	store := &attic{rows: map[string]int{retention.Revisions: 1200, retention.Drafts: 3}, files: []string{"a", "b"}}
	a := &activities.Retention{
		Store: store, Files: store, Now: func() time.Time { return ticks },
		Keep: limits(map[string]int{retention.Partitions: 1, retention.Revisions: 10, retention.Audit: 0, retention.Drafts: 20,
			retention.Unused: 7, retention.Files: 7}),
	}
	got, err := expire(t, a, activities.RetentionBatch{})
	require.NoError(t, err)
	require.Equal(t, map[string]int{retention.Revisions: 1200, retention.Drafts: 3, retention.Files: 2}, got.Deleted)
	require.Equal(t, []string{
		"make partitions of 2026-11-20", `revisions before 2026-11-10 after ""`, `revisions before 2026-11-10 after "x"`,
		`revisions before 2026-11-10 after "xx"`, `drafts before 2026-10-31 after ""`,
		"mark due 2026-11-27", "mark due 2026-11-27", "delete a", "delete b",
	}, store.did)

	// A batch ends after a few seconds, and the next one goes on where it ended.
	store.did, store.rows[retention.Revisions] = nil, 600
	a.Now = func() time.Time { ticks = ticks.Add(2 * time.Second); return ticks }
	got, err = expire(t, a, activities.RetentionBatch{})
	require.NoError(t, err)
	require.Equal(t, map[string]int{retention.Revisions: 600, retention.Files: 2}, got.Deleted)

	// A batch that comes to one that fails ends there: its caller learns which one that is.
	a.Now = func() time.Time { return ticks }
	env := new(testsuite.WorkflowTestSuite).NewTestActivityEnvironment()
	env.RegisterActivity(a)
	for broken, from := range map[string]activities.RetentionBatch{
		retention.Partitions: {},
		retention.Drafts:     {},
		retention.Unused:     {Kind: retention.Drafts},
		retention.Revisions:  {Kind: retention.Partitions, Skip: true},
	} {
		store.broken = broken
		v, err := env.ExecuteLocalActivity(a.DeleteExpired, from)
		require.NoError(t, err, broken)
		got = activities.RetentionBatch{}
		require.NoError(t, v.Get(&got))
		require.Equal(t, broken, got.Kind)
		require.True(t, got.More)
		require.False(t, got.Skip)
		_, err = env.ExecuteLocalActivity(a.DeleteExpired, got)
		require.ErrorContains(t, err, "broken")
	}

	// One that fails can be skipped, and forgetting needs one kind only.
	store.did, store.broken = nil, retention.Revisions
	_, err = expire(t, a, activities.RetentionBatch{})
	require.ErrorContains(t, err, "broken")
	_, err = expire(t, a, activities.RetentionBatch{Kind: retention.Revisions, Skip: true})
	require.NoError(t, err)
	require.Contains(t, store.did[1], "drafts")
	store.did, store.marked = nil, []string{"c"}
	got, err = expire(t, a, activities.RetentionBatch{Kind: retention.Files, Only: true})
	require.NoError(t, err)
	require.Equal(t, []string{"delete c"}, store.did)
	require.Equal(t, map[string]int{retention.Files: 1}, got.Deleted)

	// A file that the store does not delete is told of, and keeps no other.
	store.did, store.marked, store.held = nil, []string{"c", "d"}, "c"
	got, err = expire(t, a, activities.RetentionBatch{Kind: retention.Files, Only: true})
	require.NoError(t, err)
	require.Equal(t, []string{"delete d"}, store.did)
	require.True(t, got.Left)

	// By a clock that is ahead nothing is old enough sooner.
	store.did, store.broken, store.clock = nil, "", now
	a.Keep, a.Now = limits(map[string]int{retention.Drafts: 20}), func() time.Time { return now.AddDate(3, 0, 0) }
	_, err = expire(t, a, activities.RetentionBatch{})
	require.NoError(t, err)
	require.Equal(t, []string{`drafts before 2026-10-31 after ""`}, store.did)

	// Without limits nothing is deleted.
	store.did, a.Keep = nil, retention.Limits{}
	got, err = expire(t, a, activities.RetentionBatch{})
	require.NoError(t, err)
	require.Empty(t, store.did)
	require.Empty(t, got.Deleted)
}

// eraser notes what is forgotten.
type eraser struct {
	did        []string
	letters    []int64 // where each look at dead letters ends
	duplicates []listing.Restart
}

func (e *eraser) note(format string, args ...any) {
	e.did = append(e.did, fmt.Sprintf(format, args...))
}

func (e *eraser) ForgetAdvert(_ context.Context, ref listing.Ref, rest bool, _ time.Time) (retention.Forgotten, error) {
	e.note("rows of %s, rest %t", ref, rest)
	return retention.Forgotten{Adverts: 1, DeadLetters: 1}, nil
}

func (e *eraser) ForgetLetters(_ context.Context, _ listing.Ref, after int64, _ int) (int64, int, error) {
	e.note("letters after %d", after)
	next := e.letters[0]
	e.letters = e.letters[1:]
	return next, 2, nil
}

func (e *eraser) ForgetMessages(_ context.Context, _ listing.Ref, after int64, _ int) (int64, int, error) {
	e.note("messages after %d", after)
	return 0, 3, nil
}

func (e *eraser) DuplicatesOf(_ context.Context, _, last uuid.UUID, _ int) ([]listing.Restart, error) {
	e.note("duplicates after %s", last)
	return e.duplicates, nil
}

func (e *eraser) RestartListing(_ context.Context, r listing.Restart) error {
	e.note("restart %s", r.Ref)
	return nil
}

func (e *eraser) EndListing(_ context.Context, ref listing.Ref) error {
	e.note("end %s", ref)
	return nil
}

func (e *eraser) DeleteListingRuns(_ context.Context, ref listing.Ref) error {
	e.note("runs of %s", ref)
	return nil
}

func TestForgetAdvert(t *testing.T) {
	t.Parallel()

	ref, twin := listing.Ref{Platform: "kijiji", PlatformID: "1"}, listing.Ref{Platform: "kijiji", PlatformID: "2"}
	e := &eraser{letters: []int64{7, 0}, duplicates: []listing.Restart{{Ref: twin, Stage: listing.StageDedupe}}}
	a := &activities.Forgetting{Store: e, Runs: e, Start: e, Now: time.Now}
	b := activities.ForgetBatch{Ref: ref, More: true}
	for b.More {
		var err error
		b, err = a.ForgetAdvert(t.Context(), b)
		require.NoError(t, err)
	}
	require.Equal(t, []string{
		"rows of kijiji/1, rest false", "letters after 0", "letters after 7", "messages after 0",
		"duplicates after " + uuid.Nil.String(), "restart kijiji/2",
	}, e.did)
	require.Equal(t, retention.Forgotten{Adverts: 1, DeadLetters: 5, Messages: 3}, b.Done)
}

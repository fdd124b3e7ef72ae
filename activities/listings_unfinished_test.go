package activities_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
)

// unfinishedBook has one page of each kind.
type unfinishedBook struct {
	adverts []listing.Unfinished
	images  []listing.PendingImage
	next    listing.Cursor // of images
	asked   []string
}

func (b *unfinishedBook) UnfinishedListings(_ context.Context, before, since time.Time, after listing.Cursor, n int) (
	[]listing.Unfinished, error,
) {
	b.asked = append(b.asked, fmt.Sprint(before.Hour(), since.Hour(), after.ID == uuid.Nil))
	return slices.Clone(b.adverts[:min(n, len(b.adverts))]), nil
}

func (b *unfinishedBook) UnfinishedImages(_ context.Context, before time.Time, after listing.Cursor, _ int) (
	[]listing.PendingImage, listing.Cursor, error,
) {
	b.asked = append(b.asked, fmt.Sprint(before.Hour(), after.ID == uuid.Nil))
	return b.images, b.next, nil
}

// resumer starts everything but what is running.
type resumer struct {
	running listing.Ref
	err     error

	mu     sync.Mutex
	stages map[listing.Ref]string
	images map[listing.Ref]int
}

func (r *resumer) ResumeListing(_ context.Context, a listing.Restart) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Ref == r.running {
		return false, nil
	}
	r.stages[a.Ref] = a.Stage
	return true, r.err
}

func (r *resumer) ResumeImages(_ context.Context, ref listing.Ref, images []listing.Image) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ref == r.running {
		return false, nil
	}
	r.images[ref] += len(images)
	return true, r.err
}

func TestResumeUnfinished(t *testing.T) {
	t.Parallel()

	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	ref := func(n int) listing.Ref { return listing.Ref{Platform: "kijiji", PlatformID: fmt.Sprint(n)} }
	book, starts := &unfinishedBook{}, &resumer{running: ref(7), stages: map[listing.Ref]string{}, images: map[listing.Ref]int{}}
	a := &activities.Unfinished{
		Store: book, Start: starts, Stages: listing.Stages, After: 6 * time.Hour, Now: func() time.Time { return noon },
	}
	for n := range 120 {
		u := listing.Unfinished{Row: listing.Cursor{At: noon, ID: ref(n).ID()}, Offered: n != 3, Staged: n == 4}
		u.Ref, u.Revision = ref(n), int64(n)
		book.adverts = append(book.adverts, u)
	}
	got, err := a.ResumeListings(t.Context(), activities.StaleBatch{})
	require.NoError(t, err)
	require.Equal(t, activities.StaleBatch{At: noon, Last: ref(99).ID(), Done: 98, More: true}, got)
	require.Len(t, starts.stages, 98)
	require.NotContains(t, starts.stages, ref(3), "it is not offered any more")
	require.Equal(t, listing.StageNormalize, starts.stages[ref(0)])
	require.Equal(t, listing.StageDedupe, starts.stages[ref(4)])
	book.adverts = book.adverts[:5]
	got, err = a.ResumeListings(t.Context(), got)
	require.NoError(t, err)
	require.Equal(t, activities.StaleBatch{Done: 4}, got)
	book.adverts = nil
	got, err = a.ResumeListings(t.Context(), got)
	require.NoError(t, err)
	require.Zero(t, got)

	for n := range 9 {
		book.images = append(book.images, listing.PendingImage{Ref: ref(n / 3 * 7)})
	}
	got, err = a.ResumeImages(t.Context(), activities.StaleBatch{})
	require.NoError(t, err)
	require.Zero(t, got, "images are not ours")
	a.Images = true
	book.next = listing.Cursor{At: noon, ID: ref(14).ID()}
	got, err = a.ResumeImages(t.Context(), activities.StaleBatch{})
	require.NoError(t, err)
	require.Equal(t, activities.StaleBatch{At: noon, Last: ref(14).ID(), Done: 2, More: true}, got)
	require.Equal(t, map[listing.Ref]int{ref(0): 3, ref(14): 3}, starts.images, "the workflow of 7 is running")
	require.Equal(t, []string{"11 6 true", "11 6 false", "11 6 true", "11 true"}, book.asked)
	starts.err = errors.New("temporal is down")
	_, err = a.ResumeImages(t.Context(), got)
	require.ErrorContains(t, err, "temporal is down")
}

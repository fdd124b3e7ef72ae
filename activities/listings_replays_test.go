package activities_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/listing"
)

// replayBook is a replay over numbered adverts, as the store keeps it.
type replayBook struct {
	at       listing.ReplayPosition
	items    []listing.ReplayItem
	next     int
	advanced []string
	lost     time.Time
	stale    time.Time
	counted  int
	empty    int // pages without a match that come first
	err      error
}

func (b *replayBook) OpenReplay(_ context.Context, r listing.Replay) error {
	b.advanced = append(b.advanced, "open "+r.ID.String())
	return b.err
}

func (b *replayBook) EndReplay(_ context.Context, id uuid.UUID, state, reason string, _ time.Time) error {
	b.advanced = append(b.advanced, fmt.Sprintf("end %s %s %s", id, state, reason))
	return b.err
}

func (b *replayBook) SettleReplay(_ context.Context, _ uuid.UUID, _, lost time.Time) (listing.ReplayPosition, error) {
	b.lost = lost
	return b.at, b.err
}

func (b *replayBook) CountReplay(context.Context, uuid.UUID) error {
	b.counted++
	return b.err
}

func (b *replayBook) NextOfReplay(_ context.Context, _, last uuid.UUID, n int, stale time.Time) (
	p listing.ReplayPage, err error,
) {
	b.stale = stale
	p.Items, p.Last, p.More = b.items[b.next:min(b.next+n, len(b.items))], last, b.next+n <= len(b.items)
	if len(p.Items) > 0 {
		p.Last = p.Items[len(p.Items)-1].Ref.ID()
	}
	if b.empty > 0 { // none of those looked at matches
		b.empty--
		p = listing.ReplayPage{Last: uuid.New(), More: true}
	}
	return p, nil
}

func (b *replayBook) AdvanceReplay(_ context.Context, _, _ uuid.UUID, p listing.ReplayPage, _ time.Time) error {
	b.next += len(p.Items)
	b.advanced = append(b.advanced, fmt.Sprintf("%d exhausted %t", len(p.Items), !p.More))
	if len(p.Items) > 0 && p.Last != p.Items[len(p.Items)-1].Ref.ID() {
		return errors.New("the place is not that of the last item")
	}
	return nil
}

// restarts records the adverts that are started, and how many at once.
type restarts struct {
	mu      sync.Mutex
	started []string
	now     int
	most    int
	err     error
}

func (r *restarts) RestartListing(_ context.Context, l listing.Restart) error {
	r.mu.Lock()
	r.now++
	r.most = max(r.most, r.now)
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now--
	}()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = append(r.started, l.Ref.PlatformID)
	return r.err
}

// adverts makes n of them; skip returns the reason why a number is skipped, "" for none.
func adverts(n int, skip func(int) string) []listing.ReplayItem {
	out := make([]listing.ReplayItem, n)
	for i := range out {
		out[i].Ref = listing.Ref{Platform: "kijiji", PlatformID: fmt.Sprint(i)}
		out[i].Stage, out[i].Skip = listing.StageDedupe, skip(i)
	}
	return out
}

func none(int) string { return "" }

func TestRunReplayBatch(t *testing.T) {
	t.Parallel()

	id := uuid.New()
	odd := func(i int) string {
		if i%2 == 1 {
			return listing.SkipStaged
		}
		return ""
	}
	for _, tt := range []struct {
		name     string
		at       listing.ReplayPosition
		items    []listing.ReplayItem
		want     activities.ReplayBatch
		started  int
		advanced []string
		turns    int // left of all replays; 0 = many
		empty    int
	}{
		{"a second's worth", listing.ReplayPosition{State: "running", Rate: 20}, adverts(50, none),
			activities.ReplayBatch{State: "running", Rate: 20, Started: 20, Looked: 20}, 20, []string{"20 exhausted false"}, 0, 0},
		{"skips are free", listing.ReplayPosition{State: "running", Rate: 20}, adverts(50, odd),
			activities.ReplayBatch{State: "running", Rate: 20, Started: 20, Looked: 40}, 20, []string{"40 exhausted false"}, 0, 0},
		{"the last ones", listing.ReplayPosition{State: "running", Rate: 20}, adverts(20, none),
			activities.ReplayBatch{State: "running", Rate: 20, Started: 20, Looked: 20}, 20, []string{"20 exhausted true"}, 0, 0},
		{"a full page of skips", listing.ReplayPosition{State: "running", Rate: 20},
			adverts(200, func(int) string { return listing.SkipArchived }),
			activities.ReplayBatch{State: "running", Rate: 20, Looked: 200}, 0, []string{"200 exhausted false"}, 0, 0},
		{"no advert at all", listing.ReplayPosition{State: "running", Rate: 20}, nil,
			activities.ReplayBatch{State: "running", Rate: 20}, 0, []string{"0 exhausted true"}, 0, 0},
		{"as many as there is room for", listing.ReplayPosition{State: "running", Rate: 20, UnderWay: 33}, adverts(50, none),
			activities.ReplayBatch{State: "running", Rate: 20, Started: 7, Looked: 7}, 7, []string{"7 exhausted false"}, 0, 0},
		{"at a high rate, a part of a second's worth", listing.ReplayPosition{State: "running", Rate: 100, UnderWay: 15},
			adverts(500, none), activities.ReplayBatch{State: "running", Rate: 100, Started: 20, Looked: 20}, 20,
			[]string{"20 exhausted false"}, 0, 0},
		{"at a low rate", listing.ReplayPosition{State: "running", Rate: 2, UnderWay: 3}, adverts(500, none),
			activities.ReplayBatch{State: "running", Rate: 2, Started: 1, Looked: 1}, 1, []string{"1 exhausted false"}, 0, 0},
		{"no room", listing.ReplayPosition{State: "running", Rate: 20, UnderWay: 40}, adverts(50, none),
			activities.ReplayBatch{State: "running", Rate: 20}, 0, nil, 0, 0},
		{"all were looked at", listing.ReplayPosition{State: "running", Rate: 20, Exhausted: true, UnderWay: 1},
			adverts(50, none), activities.ReplayBatch{State: "running", Rate: 20}, 0, nil, 0, 0},
		{"it was canceled", listing.ReplayPosition{State: "canceled", Rate: 20}, adverts(50, none),
			activities.ReplayBatch{State: "canceled", Rate: 20}, 0, nil, 0, 0},
		{"as many as there are turns", listing.ReplayPosition{State: "running", Rate: 20}, adverts(50, none),
			activities.ReplayBatch{State: "running", Rate: 20, Started: 3, Looked: 3}, 3, []string{"3 exhausted false"}, 3, 0},
		{"no turn", listing.ReplayPosition{State: "running", Rate: 20}, adverts(50, none),
			activities.ReplayBatch{State: "running", Rate: 20}, 0, nil, -1, 0},
		{"nothing matches for a while", listing.ReplayPosition{State: "running", Rate: 20}, adverts(50, none),
			activities.ReplayBatch{State: "running", Rate: 20, Looked: 1}, 0, []string{"0 exhausted false"}, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			book, starts := &replayBook{at: tt.at, items: tt.items, empty: tt.empty}, &restarts{}
			now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
			a := &activities.Replays{
				Store: book, Start: starts, StaleAfter: 48 * time.Hour, Now: func() time.Time { return now },
				Turns: func(_ context.Context, n int) int {
					if tt.turns != 0 {
						return min(n, max(tt.turns, 0))
					}
					return n
				},
			}
			got, err := a.RunReplayBatch(t.Context(), activities.ReplayBatch{ID: id})
			require.NoError(t, err)
			tt.want.ID = id
			require.Equal(t, tt.want, got)
			require.Len(t, starts.started, tt.started)
			require.LessOrEqual(t, starts.most, 8, "at once")
			require.Equal(t, tt.advanced, book.advanced)
			require.Equal(t, now.Add(-10*time.Minute), book.lost)
			require.Equal(t, tt.at.State == "running", book.counted == 1)
			if tt.advanced != nil {
				require.Equal(t, now.Add(-48*time.Hour), book.stale)
			}
		})
	}
}

// A batch whose starts fail does not move on: it is tried again.
func TestRunReplayBatchThatCannotStart(t *testing.T) {
	t.Parallel()

	book := &replayBook{at: listing.ReplayPosition{State: "running", Rate: 5}, items: adverts(9, none)}
	starts := &restarts{err: errors.New("temporal is down")}
	a := &activities.Replays{
		Store: book, Start: starts, Turns: func(_ context.Context, n int) int { return n }, Now: time.Now,
	}
	_, err := a.RunReplayBatch(t.Context(), activities.ReplayBatch{})
	require.ErrorContains(t, err, "temporal is down")
	require.Empty(t, book.advanced)
	starts.err, book.err = nil, errors.New("postgres is down")
	_, err = a.RunReplayBatch(t.Context(), activities.ReplayBatch{})
	require.ErrorContains(t, err, "postgres is down")
}

func TestOpenAndEndReplay(t *testing.T) {
	t.Parallel()

	book, id := &replayBook{}, uuid.New()
	a := &activities.Replays{Store: book, Now: time.Now}
	got, err := a.OpenReplay(t.Context(), listing.Replay{ID: id, By: "olga", Filter: listing.ReplayFilter{Platform: "kijiji"}})
	require.NoError(t, err)
	require.Equal(t, listing.Replay{ID: id}, got, "the history has it once")
	_, err = a.EndReplay(t.Context(), activities.ReplayEnd{ID: id, State: "failed", Reason: "why"})
	require.NoError(t, err)
	require.Equal(t, []string{"open " + id.String(), "end " + id.String() + " failed why"}, book.advanced)
}

// staleBook archives the given numbers of listings, one a call, until none is left.
type staleBook struct {
	archived   []int
	duplicates []listing.Restart
	asked      []time.Time
}

func (b *staleBook) ArchiveStale(_ context.Context, before time.Time, _ listing.Cursor, n listing.Window,
	now time.Time) (next listing.Cursor, archived int, err error) {
	b.asked = append(b.asked, before)
	archived = min(b.archived[0], n.Take)
	if b.archived = b.archived[1:]; len(b.archived) > 0 {
		next = listing.Cursor{At: now, ID: uuid.NameSpaceURL}
	}
	return next, archived, nil
}

func (b *staleBook) OrphanedDuplicates(_ context.Context, since time.Time, _ uuid.UUID, n listing.Window) (
	found []listing.Restart, next uuid.UUID, err error) {
	b.asked = append(b.asked, since)
	if found = b.duplicates[:min(n.Take, len(b.duplicates))]; len(found) > 0 {
		next = uuid.NameSpaceDNS
	}
	return found, next, nil
}

func TestStaleness(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	book, starts := &staleBook{archived: []int{500, 7}}, &restarts{}
	a := &activities.Staleness{Store: book, Start: starts, After: 48 * time.Hour, Now: func() time.Time { return now }}
	got, err := a.ArchiveStaleListings(t.Context(), activities.StaleBatch{More: true})
	require.NoError(t, err)
	require.Equal(t, activities.StaleBatch{At: now, Last: uuid.NameSpaceURL, Done: 500, More: true}, got)
	got, err = a.ArchiveStaleListings(t.Context(), got)
	require.NoError(t, err)
	require.Equal(t, activities.StaleBatch{Done: 7}, got)

	got, err = a.RestartDuplicates(t.Context(), activities.StaleBatch{More: true})
	require.NoError(t, err)
	require.Equal(t, activities.StaleBatch{}, got)
	for _, item := range adverts(150, none) {
		book.duplicates = append(book.duplicates, item.Restart)
	}
	got, err = a.RestartDuplicates(t.Context(), activities.StaleBatch{More: true})
	require.NoError(t, err)
	require.Equal(t, activities.StaleBatch{Last: uuid.NameSpaceDNS, Done: 100, More: true}, got)
	require.Len(t, starts.started, 100)
	for _, at := range book.asked {
		require.Equal(t, now.Add(-48*time.Hour), at)
	}
	starts.err = errors.New("temporal is down")
	_, err = a.RestartDuplicates(t.Context(), activities.StaleBatch{})
	require.ErrorContains(t, err, "temporal is down")
}

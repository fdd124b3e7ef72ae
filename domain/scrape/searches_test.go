package scrape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/scrape"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	// open is a cycle that began an hour ago and has read so many of ten pages, of the two hours that it should take.
	open := func(name string, cycle int64, page int) scrape.Lane {
		return scrape.Lane{Search: name, Open: true, Cycle: cycle, LookAt: now.Add(time.Minute),
			Course: scrape.Course{Started: now.Add(-time.Hour), Page: page, Pages: 10, Target: 2 * time.Hour}}
	}
	cool := func(name string, lookIn, cycleIn time.Duration) scrape.Lane {
		return scrape.Lane{Search: name, Cycle: 7, LookAt: now.Add(lookIn), CycleAt: now.Add(cycleIn)}
	}
	with := func(l scrape.Lane, f func(*scrape.Lane)) scrape.Lane {
		f(&l)
		return l
	}
	paused := func(l *scrape.Lane) { l.Paused = true }
	fails := func(l *scrape.Lane) { l.RetryAt = now.Add(time.Minute) }
	for _, tt := range []struct {
		name    string
		lanes   []scrape.Lane
		blocked time.Time
		want    scrape.Plan
	}{
		{"the cycle that is behind", []scrape.Lane{open("default", 1, 6), open("rooms", 2, 3)}, time.Time{},
			scrape.Plan{Go: true, Search: "rooms", Cycle: 2, Page: 3}},
		{"a cycle that has just begun", []scrape.Lane{open("default", 1, 3), open("rooms", 2, 0)}, time.Time{},
			scrape.Plan{Go: true, Search: "rooms", Cycle: 2, Page: 1}},
		{"an open cycle, though the site refuses", []scrape.Lane{open("default", 1, 3)}, now.Add(time.Hour),
			scrape.Plan{Go: true, Cycle: 1, Page: 3}},
		{"not that of a paused search", []scrape.Lane{open("default", 1, 6), with(open("rooms", 2, 0), paused)}, time.Time{},
			scrape.Plan{Go: true, Cycle: 1, Page: 6}},
		{"not that of a search whose proxy fails", []scrape.Lane{open("default", 1, 6), with(open("rooms", 2, 0), fails)},
			time.Time{}, scrape.Plan{Go: true, Cycle: 1, Page: 6}},
		{"a look between cycles", []scrape.Lane{cool("default", time.Minute, time.Hour), cool("rooms", 0, time.Hour)},
			time.Time{}, scrape.Plan{Look: true, Search: "rooms", Cycle: 7}},
		{"no look while the site refuses", []scrape.Lane{cool("default", 0, time.Minute)}, now.Add(5 * time.Minute),
			scrape.Plan{Wait: 5 * time.Minute}},
		{"what is due first", []scrape.Lane{cool("default", 9*time.Minute, time.Hour), cool("rooms", time.Hour, 4*time.Minute)},
			time.Time{}, scrape.Plan{Wait: 4 * time.Minute}},
		{"a proxy that is tried again", []scrape.Lane{with(open("default", 1, 0), fails)}, time.Time{},
			scrape.Plan{Wait: time.Minute}},
		{"all paused", []scrape.Lane{with(open("default", 1, 6), paused)}, time.Time{}, scrape.Plan{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, scrape.Decide(tt.lanes, tt.blocked, now))
		})
	}
}

// Re-visits of one search's page end when another search needs its page.
func TestOtherPage(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	a := scrape.Lane{Search: "default", Open: true, Course: scrape.Course{Started: now, Page: 1, Pages: 2, Target: time.Hour}}
	b := scrape.Lane{Search: "rooms", CycleAt: now.Add(5 * time.Minute)}
	require.Equal(t, b.CycleAt, scrape.OtherPage([]scrape.Lane{a, b}, "default", now))
	require.Equal(t, now.Add(30*time.Minute), scrape.OtherPage([]scrape.Lane{a, b}, "rooms", now))
	require.Zero(t, scrape.OtherPage([]scrape.Lane{a}, "default", now))
	c := scrape.Chores{Started: now, Target: time.Hour, Pages: 2, Total: -1, MaxPages: 9, OtherAt: b.CycleAt}
	require.Equal(t, b.CycleAt, c.Moment(now, 1, 40, false, 0, 0).Until)
}

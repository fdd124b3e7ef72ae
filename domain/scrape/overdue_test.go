package scrape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/scrape"
)

func TestOverdue(t *testing.T) {
	t.Parallel()

	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		change func(*scrape.Progress)
		want   time.Duration
	}{
		{"a page was just read", func(*scrape.Progress) {}, 0},
		{"longer than the pauses", func(p *scrape.Progress) { p.LastPage = noon.Add(-10 * time.Minute) }, 510 * time.Second},
		{"a long cooldown", func(p *scrape.Progress) { p.LastPage, p.Cooldown = noon.Add(-10*time.Minute), time.Hour }, 0},
		{"searches with a slower pace", func(p *scrape.Progress) {
			p.LastPage = noon.Add(-10 * time.Minute)
			*p = p.With([]scrape.Pace{{Delay: time.Minute, Cooldown: 3 * time.Minute}, {Cooldown: 2 * time.Minute}})
		}, 7 * time.Minute},
		{"no page yet", func(p *scrape.Progress) { p.LastPage = time.Time{} }, time.Hour - 90*time.Second},
		{"no page yet, in the first cycle", func(p *scrape.Progress) {
			p.LastPage, p.Started = time.Time{}, p.Started[:1]
		}, 210 * time.Second},
		{"it has not begun", func(p *scrape.Progress) { p.LastPage, p.Started = time.Time{}, nil }, 0},
		{"it is paused", func(p *scrape.Progress) { p.LastPage, p.State = time.Time{}, scrape.Paused }, 0},
		{"it is disabled", func(p *scrape.Progress) { p.LastPage, p.State = time.Time{}, scrape.Disabled }, 0},
	} {
		p := scrape.Progress{
			State: "scraping", Delay: 30 * time.Second, Cooldown: time.Minute, LastPage: noon.Add(-20 * time.Second),
			Started: []time.Time{noon.Add(-5 * time.Minute), noon.Add(-time.Hour)},
		}
		tt.change(&p)
		require.Equal(t, tt.want, p.Overdue(noon), tt.name)
	}
}

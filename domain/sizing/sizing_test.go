package sizing_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/sizing"
)

// usual is the load of the issue: five million adverts, each seen four times a day.
func usual(change ...func(*sizing.Load)) sizing.Load {
	l := sizing.Load{
		Listings: 5e6, Rescrape: 6 * time.Hour, Changed: .05, Turnover: .033, Images: 6, Pages: 1e6, Crawls: 500,
		Messages: 2e6, Uploads: 3e6, Drafts: 1e4, Peak: 3, Keep: 90 * 24 * time.Hour, Conns: 24,
	}
	for _, f := range change {
		f(&l)
	}
	return l
}

func of(t *testing.T, l sizing.Load) sizing.Plan {
	t.Helper()

	p, err := sizing.Of(l, sizing.Ours())
	require.NoError(t, err)
	return p
}

func cores(p sizing.Plan) (sum float64) {
	for _, n := range p.Cores {
		sum += n.Cores
	}
	return sum
}

// By hand: 5e6 adverts in 21,600 s are 231.48 a second, 11.574 of them changed; at three times the mean.
func TestOf(t *testing.T) {
	t.Parallel()

	p := of(t, usual(func(l *sizing.Load) { l.Pages, l.Crawls, l.Messages, l.Uploads, l.Drafts = 0, 0, 0, 0, 0 }))
	require.Len(t, p.Rates, 3)
	for i, want := range []float64{219.907, 11.574, 11.458} { // seen again, changed, images
		require.InDelta(t, want, p.Rates[i].Second, .001, p.Rates[i].What)
	}
	busy := map[string]float64{}
	for _, n := range p.Cores {
		busy[n.Engine] = n.Busy
		require.InDelta(t, n.Busy/.6, n.Cores, 1e-9, n.Engine)
	}
	require.InDelta(t, 3*(219.907*.15+11.574*6.4+11.458*30)/1000, busy[sizing.Roles], .001)
	require.InDelta(t, 3*(11.574*7.7+11.458*2)/1000, busy[sizing.Temporal], .001)
	require.NotContains(t, busy, sizing.Chromium)
	require.InDelta(t, 3*(11.574*3+11.458*2), p.Transitions, .01)
	require.Equal(t, 64, p.Shards, "ten times 173 a second at 50 a shard are 35: the next power of two")
	require.InDelta(t, 5e6*2*(7_300+6*300), p.Disk["tables"], 1)
	require.InDelta(t, 5e6*2*6*165_000, p.Disk["files"], 1)
	require.Equal(t, map[string]int{"api": 2, "bridge": 2, "worker": 2}, p.Processes)
	require.Equal(t, 6*24+2*8+2*1, p.Connections)
	messages := of(t, sizing.Load{Messages: 1e6, Rescrape: time.Hour, Peak: 1, Conns: 24})
	require.Equal(t, map[string]int{"api": 2, "bridge": 2, "worker": 2, "dispatcher": 2}, messages.Processes, "schedules need a worker")
	require.Equal(t, "one quorum queue", p.Ceilings[0].Name, "of a load of adverts")
	require.InDelta(t, 231.48*3/9_000, p.Scales[0].Share["one quorum queue"], .0001)
	require.InDelta(t, 1_000*231.48*3/9_000, p.Scales[3].Share["one quorum queue"], .01)
}

// More of anything never needs less of anything, and each engine that a kind of work uses grows with it.
func TestMonotone(t *testing.T) {
	t.Parallel()

	before := of(t, usual())
	for name, more := range map[string]func(*sizing.Load){
		"listings": func(l *sizing.Load) { l.Listings *= 2 },
		"rescrape": func(l *sizing.Load) { l.Rescrape /= 2 },
		"changed":  func(l *sizing.Load) { l.Changed *= 2 },
		"turnover": func(l *sizing.Load) { l.Turnover *= 2 },
		"images":   func(l *sizing.Load) { l.Images *= 2 },
		"pages":    func(l *sizing.Load) { l.Pages *= 2 },
		"crawls":   func(l *sizing.Load) { l.Crawls *= 2 },
		"messages": func(l *sizing.Load) { l.Messages *= 2 },
		"uploads":  func(l *sizing.Load) { l.Uploads *= 2 },
		"drafts":   func(l *sizing.Load) { l.Drafts *= 2 },
		"peak":     func(l *sizing.Load) { l.Peak *= 2 },
	} {
		after := of(t, usual(more))
		require.Greater(t, cores(after), cores(before), name)
		require.GreaterOrEqual(t, after.Connections, before.Connections, name)
		require.GreaterOrEqual(t, after.Shards, before.Shards, name)
		require.GreaterOrEqual(t, after.Transitions, before.Transitions, name)
		require.GreaterOrEqual(t, after.WALADay, before.WALADay, name)
		require.GreaterOrEqual(t, after.In+after.Out, before.In+before.Out, name)
		for what, bytes := range before.Disk {
			require.GreaterOrEqual(t, after.Disk[what], bytes, "%s: %s", name, what)
		}
	}
	longer := of(t, usual(func(l *sizing.Load) { l.Keep *= 2 }))
	require.Greater(t, longer.Disk["tables"], before.Disk["tables"])
	require.InDelta(t, cores(before), cores(longer), 1e-9)
}

// Every figure of a plan is a number, however small, large or lopsided the load is.
func TestNumbers(t *testing.T) {
	t.Parallel()

	for name, l := range map[string]sizing.Load{
		"one page a day":     {Pages: 1, Rescrape: time.Hour, Peak: 1, Conns: 1},
		"the most there is":  usual(func(l *sizing.Load) { l.Listings, l.Messages, l.Peak = 1e15, 1e15, 100 }),
		"nothing is kept":    usual(func(l *sizing.Load) { l.Keep = 0 }),
		"nothing is changed": usual(func(l *sizing.Load) { l.Changed, l.Turnover, l.Images = 0, 0, 0 }),
		"all is changed":     usual(func(l *sizing.Load) { l.Changed = 1 }),
	} {
		p := of(t, l)
		figures := []float64{cores(p), p.Transitions, p.WALADay, p.In, p.Out, float64(p.Connections), float64(p.Shards)}
		for _, bytes := range p.Disk {
			figures = append(figures, bytes)
		}
		for _, s := range p.Scales {
			for _, share := range s.Share {
				figures = append(figures, share)
			}
		}
		for _, f := range figures {
			require.False(t, math.IsNaN(f) || math.IsInf(f, 0) || f < 0, "%s: %g", name, f)
		}
		require.LessOrEqual(t, p.Shards, 1<<14, name)
		require.GreaterOrEqual(t, p.Shards, 4, name)
	}
	given := of(t, usual(func(l *sizing.Load) { l.Shards = 8 }))
	require.Equal(t, 8, given.Shards)
	for _, c := range given.Ceilings {
		if c.Name == "history shards" {
			require.InDelta(t, 400, c.Most, 1e-9)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()

	for want, change := range map[string]func(*sizing.Load){
		"--listings: is -1, expected 0 to 1e+15":  func(l *sizing.Load) { l.Listings = -1 },
		"--pages: is NaN":                         func(l *sizing.Load) { l.Pages = math.NaN() },
		"--messages: is +Inf":                     func(l *sizing.Load) { l.Messages = math.Inf(1) },
		"--changed: is 5, expected 0 to 1":        func(l *sizing.Load) { l.Changed = 5 },
		"--turnover: is 2, expected 0 to 1":       func(l *sizing.Load) { l.Turnover = 2 },
		"--peak: is 0, expected 1 to 100":         func(l *sizing.Load) { l.Peak = 0 },
		"--conns: is 0":                           func(l *sizing.Load) { l.Conns = 0 },
		"--shards: is -4":                         func(l *sizing.Load) { l.Shards = -4 },
		"--rescrape: is 0s, expected 1m to 8760h": func(l *sizing.Load) { l.Rescrape = 0 },
		"--keep: is -1h0m0s":                      func(l *sizing.Load) { l.Keep = -time.Hour },
		"there is no load": func(l *sizing.Load) {
			l.Listings, l.Pages, l.Crawls, l.Messages, l.Uploads, l.Drafts = 0, 0, 0, 0, 0, 0
		},
	} {
		_, err := sizing.Of(usual(change), sizing.Ours())
		class, _ := fault.Of(err)
		require.Equal(t, fault.Invalid, class, want)
		require.ErrorContains(t, err, want)
	}
}

// What make bench writes takes the place of our costs; what it has not measured stays.
func TestMeasured(t *testing.T) {
	t.Parallel()

	const text = `{"results": [
		{"scenario": "all new", "cpu_ms_each_by_group": {"worker": 4, "bridge": 2, "postgres": 10, "temporal": 8, "redis": 1},
			"state_transitions_each": 2},
		{"scenario": "95 % unchanged", "cpu_ms_each_by_group": {"worker": 0.2, "bridge": 0.67, "postgres": 0.1}}],
		"crawls": [{"tool": "colly 2.3.0", "pages": 10000, "worker_processes": 1, "cpu_ms_a_page": {"all roles": 9}},
			{"tool": "conveyor", "pages": 10000, "worker_processes": 1, "cpu_ms_a_page": {"all roles": 1, "postgres": 2, "crawl site": 7}}],
		"imported": [{"how": "all new", "rows": 1000000, "cpu_s_by_group": {"all roles": 50, "postgres": 100}}],
		"dispatched": [{"how": "at 10 a second", "cpu_ms_each_by_group": {"worker": 3, "postgres": 5}}]}`
	ours := sizing.Ours()
	c, err := ours.Measured("bench.json", []byte(text))
	require.NoError(t, err)
	require.InDelta(t, 6, c.New.CPU[sizing.Roles], 1e-9)
	require.InDelta(t, 10, c.New.CPU[sizing.Postgres]+c.New.CPU[sizing.TemporalDB], 1e-9)
	require.InDelta(t, 10*4.5/11.3, c.New.CPU[sizing.TemporalDB], 1e-9)
	require.InDelta(t, 2, c.New.Transitions, 1e-9)
	require.InDelta(t, (.87-.05*6)/.95, c.Seen.CPU[sizing.Roles], 1e-9)
	require.Zero(t, c.Seen.CPU[sizing.Postgres], "less than the new ones in the mix: not below nothing")
	require.InDelta(t, 1+1.95, c.Page.CPU[sizing.Roles], 1e-9)
	require.InDelta(t, .05, c.Contact.CPU[sizing.Roles], 1e-9)
	require.InDelta(t, 5, c.Message.CPU[sizing.Postgres], 1e-9)
	require.Equal(t, ours.Draft, c.Draft)
	require.True(t, strings.HasPrefix(c.Source, "bench.json, and for the rest docs/performance.md"))
	require.InDelta(t, 6.4, sizing.Ours().New.CPU[sizing.Roles], 1e-9, "ours stay as they are")

	for _, bad := range []string{"", "[]", `{"results": 3}`, "{}", `{"results": [{"scenario": "all new"}]}`} {
		_, err := ours.Measured("x.json", []byte(bad))
		class, _ := fault.Of(err)
		require.Equal(t, fault.Invalid, class, bad)
		require.ErrorContains(t, err, "--costs: x.json", bad)
	}
}

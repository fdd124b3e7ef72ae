// Package sizing says how large an installation must be for a load: cores, connections, history shards, disk,
// bandwidth, and which engine is at its end first when the load grows. It multiplies costs that were measured; it knows
// nothing of how a machine, a network or a site behaves under load, so what it says is where to begin, not what to
// promise.
package sizing

import (
	"cmp"
	"math"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Load is what an installation is to carry. Counts a day are of an ordinary day.
type Load struct {
	Listings float64       `json:"listings"`    // active adverts
	Rescrape time.Duration `json:"rescrape_ns"` // each of them is seen once in this time
	Changed  float64       `json:"changed"`     // share of those seen that is new or changed, 0 to 1
	Turnover float64       `json:"turnover"`    // share of the active adverts that is new each day; these load images
	Images   float64       `json:"images"`      // of a new advert
	Pages    float64       `json:"pages"`       // crawled a day
	Crawls   float64       `json:"crawls"`      // runs begun a day
	Messages float64       `json:"messages"`    // sent a day
	Uploads  float64       `json:"uploads"`     // rows of contacts imported a day
	Drafts   float64       `json:"drafts"`      // product drafts a day
	Peak     float64       `json:"peak"`        // the busiest minute, as a multiple of the mean, 1 to 100
	Keep     time.Duration `json:"keep_ns"`     // how long pages, messages, rows and files stay
	Shards   int           `json:"shards"`      // of a Temporal that is there; 0 = not yet
	Conns    int           `json:"conns"`       // CONVEYOR_DB_MAX_CONNS
}

// most bounds every count, so that no sum overflows.
const most = 1e15

// Check refuses, as fault.Invalid and with the name of the flag, what cannot be a load.
func (l Load) Check() error {
	for _, f := range []struct {
		flag      string
		value     float64
		low, high float64
	}{
		{"listings", l.Listings, 0, most}, {"changed", l.Changed, 0, 1},
		{"turnover", l.Turnover, 0, 1}, {"images", l.Images, 0, 1_000},
		{"pages", l.Pages, 0, most}, {"crawls", l.Crawls, 0, most}, {"messages", l.Messages, 0, most},
		{"uploads", l.Uploads, 0, most}, {"drafts", l.Drafts, 0, most}, {"peak", l.Peak, 1, 100},
		{"shards", float64(l.Shards), 0, 1 << 17}, {"conns", float64(l.Conns), 1, 10_000},
	} {
		if !(f.value >= f.low && f.value <= f.high) { // not a number is neither
			return fault.Newf(fault.Invalid, "--%s: is %g, expected %g to %g", f.flag, f.value, f.low, f.high)
		}
	}
	if l.Listings+l.Pages+l.Crawls+l.Messages+l.Uploads+l.Drafts == 0 {
		return fault.Newf(fault.Invalid, "there is no load: set --listings, --pages, --crawls, --messages, --uploads or --drafts")
	}
	const year = 365 * 24 * time.Hour
	if l.Rescrape < time.Minute || l.Rescrape > year {
		return fault.Newf(fault.Invalid, "--rescrape: is %s, expected 1m to 8760h", l.Rescrape)
	}
	if l.Keep < 0 || l.Keep > 20*year {
		return fault.Newf(fault.Invalid, "--keep: is %s, expected 0s to %s", l.Keep, 20*year)
	}
	return nil
}

// A Rate is work of one kind.
type Rate struct {
	What   string  `json:"what"`
	Second float64 `json:"per_second"` // on average
}

// A Need is cores of an engine, at the peak.
type Need struct {
	Engine string  `json:"engine"`
	Busy   float64 `json:"busy_cores"` // that are at work
	Cores  float64 `json:"cores"`      // to have, so that they are busy by usable
}

// A Scaled is how much of a ceiling a load that is a multiple of this one would take; 1 is all of it.
type Scaled struct {
	Times float64            `json:"times"`
	First string             `json:"first"` // the ceiling that is taken the most
	Share map[string]float64 `json:"share"`
}

// A Plan is what a load needs.
type Plan struct {
	Load        Load               `json:"load"`
	Source      string             `json:"costs"`
	Rates       []Rate             `json:"rates"`
	Cores       []Need             `json:"cores"`
	Processes   map[string]int     `json:"processes"`
	Connections int                `json:"connections"`
	Transitions float64            `json:"transitions_per_second"` // at the peak
	Shards      int                `json:"history_shards"`         // given, or advised
	Disk        map[string]float64 `json:"disk_bytes"`
	WALADay     float64            `json:"wal_bytes_a_day"`
	In          float64            `json:"in_bits_per_second"`  // at the peak
	Out         float64            `json:"out_bits_per_second"` // at the peak
	Ceilings    []Ceiling          `json:"ceilings"`            // the one that is taken the most first
	Scales      []Scaled           `json:"scales"`
}

const (
	day       = 24 * time.Hour
	usable    = .6 // of a core that is paid for: above, waiting times grow; a rule of thumb
	retention = 3 * day
	perProc   = 2. // cores that one process of a role makes use of; a rule of thumb
	doors     = 8  // more connections of an API, for keys and GET /ready
	listeners = 1  // more connections of a bridge
	yearly    = 2. // adverts that are kept for each active one: as in make bench-volume, a year of them
)

// work is one kind of unit: how many a second, and what one costs.
type work struct {
	what string
	rate float64 // a second, on average
	cost Cost
	role string  // whose processes do it
	kept float64 // how many are kept where that does not depend on Keep; 0 = it does
}

// works are all kinds that a load has.
func (l Load) works(c Costs) []work {
	seen := l.Listings / l.Rescrape.Seconds()
	daily := func(n float64) float64 { return n / day.Seconds() }
	fresh, adverts := seen*l.Changed, l.Listings*yearly
	return []work{
		{"adverts seen again", seen - fresh, c.Seen, "worker", 0},
		{"adverts new or changed", fresh, c.New, "worker", adverts},
		{"images", daily(l.Listings * l.Turnover * l.Images), c.Image, "worker", adverts * l.Images},
		{"pages", daily(l.Pages), c.Page, "crawler", 0},
		{"crawls", daily(l.Crawls), c.Crawl, "crawler", 0},
		{"messages", daily(l.Messages), c.Message, "dispatcher", 0},
		{"contacts", daily(l.Uploads), c.Contact, "importer", 0},
		{"drafts", daily(l.Drafts), c.Draft, "drafts", 0},
	}
}

// Of returns what a load needs by these costs. A load that Check refuses is its error.
func Of(l Load, c Costs) (Plan, error) {
	if err := l.Check(); err != nil {
		return Plan{}, err
	}
	// Workers do what schedules begin, whatever the load is.
	p := Plan{
		Load: l, Source: c.Source, Processes: map[string]int{"api": 2, "bridge": 2, "worker": 2}, Disk: map[string]float64{},
	}
	busy, of := map[string]float64{}, map[string]float64{}
	var commands float64
	for _, w := range l.works(c) {
		if w.rate == 0 {
			continue
		}
		p.Rates = append(p.Rates, Rate{w.what, w.rate})
		peak := w.rate * l.Peak
		for engine, ms := range w.cost.CPU {
			busy[engine] += peak * ms / 1_000
		}
		of[w.role] += peak * w.cost.CPU[Roles] / 1_000
		p.Transitions += peak * w.cost.Transitions
		commands += peak * w.cost.Commands
		p.WALADay += w.rate * w.cost.WAL * day.Seconds()
		p.In += peak * w.cost.In * 8
		p.Out += peak * w.cost.Out * 8
		kept := cmp.Or(w.kept, w.rate*l.Keep.Seconds())
		p.Disk["tables"] += kept * w.cost.Tables
		p.Disk["files"] += kept * w.cost.Files
		p.Disk["temporal"] += w.rate * w.cost.History * retention.Seconds()
	}
	p.Disk["wal, a day of it for recovery"] = p.WALADay
	for role, cores := range of {
		p.Processes[role] = max(2, int(math.Ceil(cores/usable/perProc)))
	}
	p.Connections = p.Processes["api"]*doors + p.Processes["bridge"]*listeners
	for _, n := range p.Processes {
		p.Connections += n * l.Conns
	}
	for _, engine := range sorted(busy) {
		p.Cores = append(p.Cores, Need{engine, busy[engine], busy[engine] / usable})
	}
	p.Shards = l.Shards
	if p.Shards == 0 {
		p.Shards = shards(p.Transitions)
	}
	p.Ceilings = ceilings(demand{
		cores: busy, wal: p.WALADay / day.Seconds() * l.Peak, transitions: p.Transitions, shards: p.Shards,
		adverts: l.Listings / l.Rescrape.Seconds() * l.Peak,
		images:  l.Listings * l.Turnover * l.Images / day.Seconds() * l.Peak, commands: commands,
	})
	for _, times := range []float64{1, 10, 100, 1_000} {
		s := Scaled{Times: times, Share: map[string]float64{}}
		for _, ceiling := range p.Ceilings {
			s.Share[ceiling.Name] = ceiling.share() * times
		}
		if len(p.Ceilings) > 0 && p.Ceilings[0].Need > 0 {
			s.First = p.Ceilings[0].Name
		}
		p.Scales = append(p.Scales, s)
	}
	return p, nil
}

// Shards of history: a shard does one write at a time, some 10 ms each with a good disk, so 50 transitions a second
// leave it idle for half of the time. The number is fixed for ever, so ten times the load has to fit. Never fewer than
// leastShards, which cost nothing, nor more than mostShards, with which Temporal was run.
const (
	perShard    = 50
	growth      = 10
	leastShards = 4
	mostShards  = 1 << 14
)

// shards is the number of history shards, a power of two, for transitions a second at the peak.
func shards(transitions float64) int {
	n := leastShards
	for float64(n)*perShard < transitions*growth && n < mostShards {
		n *= 2
	}
	return n
}

package sizing

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// The engines that cores are counted for. TemporalDB is the Postgres of Temporal, which may be the same server.
const (
	Roles      = "conveyor"
	Postgres   = "postgres"
	Temporal   = "temporal"
	TemporalDB = "temporal's postgres"
	RabbitMQ   = "rabbitmq"
	Chromium   = "chromium"
)

// Engines are all of them, in the order in which they are shown.
var Engines = []string{Roles, Postgres, Temporal, TemporalDB, RabbitMQ, Chromium}

// A Cost is what one unit of work takes: an advert, a page, a message, a row of contacts, a draft.
type Cost struct {
	CPU         map[string]float64 `json:"cpu_ms"`            // by engine
	Transitions float64            `json:"state_transitions"` // of Temporal
	Tables      float64            `json:"table_bytes"`       // that stay in our tables, with their indexes
	History     float64            `json:"history_bytes"`     // that stay in Temporal's until its retention ends
	Files       float64            `json:"file_bytes"`        // that stay in the blob store
	WAL         float64            `json:"wal_bytes"`
	In          float64            `json:"in_bytes"`  // from sites and callers
	Out         float64            `json:"out_bytes"` // to providers of messages
	Commands    float64            `json:"redis_commands"`
}

// Costs are those of each kind of unit. Source says where the measured part is from.
type Costs struct {
	Source  string `json:"source"`
	Seen    Cost   `json:"advert_seen_again"`
	New     Cost   `json:"advert_new_or_changed"`
	Image   Cost   `json:"image"`
	Page    Cost   `json:"page"` // crawled, published, stored, indexed
	Crawl   Cost   `json:"crawl"`
	Message Cost   `json:"message"`
	Contact Cost   `json:"contact"`
	Draft   Cost   `json:"draft"`
}

// Ours are the costs of this project's own measurements: docs/performance.md, and docs/sizing.md, which says of each
// figure whether it was measured or is an estimate. Each call returns maps of its own.
func Ours() Costs {
	return Costs{
		Source: "docs/performance.md, two shared cores, 2026-11-20 to 23",
		// 95 % unchanged are 1.14 ms with 5 % new in them; the division among engines is an estimate.
		Seen: Cost{
			CPU: map[string]float64{Roles: .15, Postgres: .12, RabbitMQ: .08},
			WAL: 300, In: 3_000,
		},
		// 19.4 ms in one process, by process, times 22.1/16.1: what one process a role costs more.
		New: Cost{
			CPU:         map[string]float64{Roles: 6.4, Postgres: 6.8, Temporal: 7.7, TemporalDB: 4.5, RabbitMQ: 1.1},
			Transitions: 3, Tables: 7_300, History: 16_000, WAL: 23_000, In: 3_000,
		},
		Image: Cost{
			CPU:         map[string]float64{Roles: 30, Postgres: 1, Temporal: 2, TemporalDB: 1},
			Transitions: 2, Tables: 300, History: 4_000, Files: 165_000, WAL: 1_000, In: 150_000, Commands: 2,
		},
		Page: Cost{
			CPU:    map[string]float64{Roles: 2.34, Postgres: 1.77, Temporal: .04, RabbitMQ: .1},
			Tables: 20_000, WAL: 30_000, In: 60_000, Commands: 4,
		},
		// What 239 pages cost more than as many pages of a large site: the beginning and the end of a run.
		Crawl: Cost{
			CPU:         map[string]float64{Postgres: 230, Temporal: 130, TemporalDB: 10},
			Transitions: 30, Tables: 5_000, History: 60_000, WAL: 20_000,
		},
		Message: Cost{
			CPU:    map[string]float64{Roles: 1.43, Postgres: 2.26},
			Tables: 1_500, WAL: 4_000, In: 1_000, Out: 2_000, Commands: 2,
		},
		Contact: Cost{
			CPU:         map[string]float64{Roles: .025, Postgres: .061, Temporal: .0023},
			Transitions: .0003, Tables: 1_000, WAL: 2_000, In: 150,
		},
		Draft: Cost{
			CPU: map[string]float64{
				Roles: 100, Postgres: 15, Temporal: 50, TemporalDB: 15, RabbitMQ: 10, Chromium: 1_730,
			},
			Transitions: 11, Tables: 30_000, History: 40_000, Files: 1_800_000, WAL: 60_000, In: 2_000_000,
		},
	}
}

// changedInMix is the share of new adverts in the bench's scenario of adverts that are seen again.
const changedInMix = .05

// report is the part of the JSON of make bench that is read.
type report struct {
	Results []struct {
		Scenario    string             `json:"scenario"`
		CPU         map[string]float64 `json:"cpu_ms_each_by_group"`
		Transitions float64            `json:"state_transitions_each"`
	} `json:"results"`
	Crawls []struct {
		Tool    string             `json:"tool"`
		Workers int                `json:"worker_processes"`
		Pages   int                `json:"pages"`
		CPU     map[string]float64 `json:"cpu_ms_a_page"`
	} `json:"crawls"`
	Imported []struct {
		How  string             `json:"how"`
		Rows int                `json:"rows"`
		CPU  map[string]float64 `json:"cpu_s_by_group"`
	} `json:"imported"`
	Dispatched []struct {
		How string             `json:"how"`
		CPU map[string]float64 `json:"cpu_ms_each_by_group"`
	} `json:"dispatched"`
}

// Measured returns the costs with the CPU times of a report, the JSON that make bench writes to bin/bench.json; what
// the report does not have, stays. A text that is no report, or has none of the scenarios, is fault.Invalid.
func (c Costs) Measured(name string, text []byte) (Costs, error) {
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return c, fault.Newf(fault.Invalid, "--costs: %s is not the JSON of make bench: %w", name, err)
	}
	found := 0
	take := func(of *Cost, groups map[string]float64, scale float64) {
		if cpu := engines(groups, scale, of.CPU); len(cpu) > 0 {
			of.CPU = cpu
			found++
		}
	}
	for _, s := range r.Results {
		if s.Scenario == "all new" {
			take(&c.New, s.CPU, 1)
			if s.Transitions > 0 {
				c.New.Transitions = s.Transitions
			}
		}
	}
	for _, s := range r.Results {
		if s.Scenario != "95 % unchanged" {
			continue
		}
		take(&c.Seen, s.CPU, 1)
		for engine, ms := range c.Seen.CPU {
			c.Seen.CPU[engine] = max(0, ms-changedInMix*c.New.CPU[engine]) / (1 - changedInMix)
		}
	}
	// A crawl is measured without publishing, storing and indexing its pages: the rest of ours is added.
	for _, s := range r.Crawls {
		if strings.HasPrefix(s.Tool, "colly") || s.Pages < 5_000 || s.Workers > 1 {
			continue
		}
		rest := map[string]float64{Roles: 1.95, Postgres: 1.25, RabbitMQ: .1}
		take(&c.Page, s.CPU, 1)
		for engine, ms := range rest {
			c.Page.CPU[engine] += ms
		}
		break
	}
	for _, s := range r.Imported {
		if s.How == "all new" && s.Rows > 0 {
			take(&c.Contact, s.CPU, 1_000/float64(s.Rows))
		}
	}
	for _, s := range r.Dispatched {
		if s.How == "at 10 a second" {
			take(&c.Message, s.CPU, 1)
		}
	}
	if found == 0 {
		return c, fault.Newf(fault.Invalid, "--costs: %s has no scenario of make bench that is used here", name)
	}
	c.Source = name + ", and for the rest " + c.Source
	return c, nil
}

// engines adds up the groups of processes of the bench by engine, in ms. What Postgres did is divided between our
// tables and Temporal's as it is in known.
func engines(groups map[string]float64, scale float64, known map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for group, ms := range groups {
		engine := Roles
		switch group {
		case "postgres", "temporal", "rabbitmq", "chromium":
			engine = group
		case "driver":
			engine = Chromium
		case "redis", "crawl site", "yardstick", "":
			continue
		}
		if ms > 0 {
			out[engine] += ms * scale
		}
	}
	if theirs := known[TemporalDB]; theirs > 0 && out[Postgres] > 0 {
		share := theirs / (theirs + known[Postgres])
		out[TemporalDB] = out[Postgres] * share
		out[Postgres] -= out[TemporalDB]
	}
	return out
}

// sorted are the engines of a map in the order in which they are shown.
func sorted(cpu map[string]float64) []string {
	return slices.DeleteFunc(slices.Clone(Engines), func(e string) bool { return cpu[e] == 0 })
}

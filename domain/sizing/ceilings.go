package sizing

import (
	"cmp"
	"fmt"
	"slices"
)

// A Ceiling is what an engine can do at most, where more machines of it do not help by themselves.
type Ceiling struct {
	Name   string  `json:"name"`
	Need   float64 `json:"need"` // at the peak
	Most   float64 `json:"most"`
	Unit   string  `json:"unit"`
	Basis  string  `json:"basis"`  // measured here, published, or a rule of thumb
	Beyond string  `json:"beyond"` // what is done when it is reached
}

func (c Ceiling) share() float64 { return c.Need / c.Most }

// demand is what the ceilings are compared with, at the peak, a second.
type demand struct {
	cores                     map[string]float64
	wal, transitions, adverts float64
	images, commands          float64
	shards                    int
}

// What one server, one queue, one partition does at most. docs/sizing.md has where each is from.
const (
	serverCores   = 64      // a large managed Postgres
	serverWAL     = 200e6   // bytes a second
	queueRate     = 9_000   // messages a second of one quorum queue
	partitionRate = 1_000   // tasks a second of one partition of a task queue
	redisRate     = 100_000 // commands a second
)

// ceilings are all of them, the one that is taken the most first.
func ceilings(d demand) []Ceiling {
	const rule = "rule of thumb"
	list := []Ceiling{
		{
			"postgres cores", d.cores[Postgres], serverCores * usable, "busy cores", rule + ": one server of 64",
			"reads from replicas; the search index in OpenSearch; outreach in a database of its own",
		}, {
			"postgres wal", d.wal / 1e6, serverWAL / 1e6, "MB/s", rule + ": one good volume",
			"faster volumes; pages' text in OpenSearch; fewer changed adverts",
		}, {
			"temporal's postgres cores", d.cores[TemporalDB], serverCores * usable, "busy cores", rule + ": one server of 64",
			"Cassandra or Temporal Cloud in its place; a cluster of Temporal for each system",
		}, {
			"history shards", d.transitions, float64(d.shards * perShard), "transitions/s",
			fmt.Sprintf("%s: %d a shard, one write at a time (Temporal)", rule, perShard),
			"a new Temporal with more shards: the number is fixed at the first start",
		}, {
			"one quorum queue", d.adverts, queueRate, "messages/s", "half of the 18,500 measured here on one node",
			"a queue for each platform does it already; then a cluster of brokers for some platforms",
		}, {
			"the partition of images", d.images, partitionRate, "tasks/s", rule + ", not reached here",
			"task queues for groups of hosts: more partitions would divide the pace of each host",
		}, {
			"redis", d.commands, redisRate, "commands/s", "published: redis.io, one core without pipelining",
			"a Redis for each system",
		},
	}
	slices.SortStableFunc(list, func(a, b Ceiling) int { return cmp.Compare(b.share(), a.share()) })
	return list
}

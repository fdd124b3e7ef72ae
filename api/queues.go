package api

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
)

// Queues serves /queues.
type Queues struct {
	Read func(context.Context) backlog.Report // never fails; bounds itself; no list of it is nil
}

// Register implements Part.
func (h Queues) Register(d *Door) {
	Serve(d, Needs(access.Read, Op("operations", "queues", "GET /queues", "Get the backlog of every queue",
		"Depth, consumers and rates of every queue; the outbox; open dead letters; backlog and schedule-to-start of "+
			"Temporal's task queues; hosts delayed by the rate limiter; adverts and images that were not finished; crawl "+
			"runs; imports of contacts, messages and webhooks that wait. A part that a service did not answer in time is "+
			"empty and listed in unknown. The answer is at most a second old.")), h.report)
}

func (h Queues) report(ctx context.Context, _ *struct{}) (*Body[backlog.Report], error) {
	return BodyOf(h.Read(ctx)), nil
}

// QueueHistory serves /queues/history.
type QueueHistory struct {
	Store *db.Samples

	door *Door
}

// Register implements Part.
func (h QueueHistory) Register(d *Door) {
	h.door = d
	Serve(d, Needs(access.Read, Query("operations", "get-queue-history", "GET /queues/history",
		"Get what waited in the queues",
		"Samples of every 30 seconds, kept for 48 hours; at most 240 points a queue. A time at which no API ran has "+
			"none.")), h.history)
}

// historyWindows are the times that GET /queues/history can be asked for, and the lengths of their slots.
var historyWindows = map[string][2]time.Duration{
	"1h": {time.Hour, 30 * time.Second}, "6h": {6 * time.Hour, 2 * time.Minute}, "24h": {24 * time.Hour, 6 * time.Minute},
	"48h": {48 * time.Hour, 12 * time.Minute},
}

type queueHistoryInput struct {
	Window string `query:"window" enum:"1h,6h,24h,48h" default:"1h"`
	Queue  string `query:"queue" maxLength:"255" doc:"this one only" example:"scraped.kijiji"`
}

// Resolve checks what a schema cannot express.
func (in *queueHistoryInput) Resolve(huma.Context) []error { return WrongText("query.queue", in.Queue) }

// QueuePast is the answer of GET /queues/history.
type QueuePast struct {
	Since       time.Time     `json:"since"`
	SlotSeconds int           `json:"slot_seconds"`
	Queues      []QueueSeries `json:"queues" doc:"by kind and name"`
}

// A QueueSeries is the past of a queue.
type QueueSeries struct {
	Kind   string       `json:"kind" enum:"rabbitmq,workflow,activity,postgres" doc:"workflow and activity: of Temporal's task queues"`
	Queue  string       `json:"queue" doc:"of postgres: outbox, dead_letters"`
	Points []QueuePoint `json:"points" doc:"the oldest first"`
}

// A QueuePoint is a slot of time.
type QueuePoint struct {
	At    time.Time `json:"at" doc:"start of the slot"`
	Ready int64     `json:"ready" doc:"the most in it"`
	In    *float64  `json:"in_rate,omitempty" doc:"a second, on average; absent: not known"`
	Done  *float64  `json:"done_rate,omitempty"`
}

func (h QueueHistory) history(ctx context.Context, in *queueHistoryInput) (*Body[QueuePast], error) {
	window := historyWindows[in.Window]
	since := h.door.Now().UTC().Add(-window[0]).Truncate(window[1])
	points, err := h.Store.Since(ctx, since, in.Queue, window[1])
	if err != nil {
		return nil, err
	}
	out := QueuePast{Since: since, SlotSeconds: int(window[1].Seconds()), Queues: []QueueSeries{}}
	for _, p := range points {
		n := len(out.Queues)
		if n == 0 || out.Queues[n-1].Kind != p.Kind || out.Queues[n-1].Queue != p.Queue {
			out.Queues = append(out.Queues, QueueSeries{Kind: p.Kind, Queue: p.Queue})
			n++
		}
		out.Queues[n-1].Points = append(out.Queues[n-1].Points, QueuePoint{p.At.UTC(), p.Ready, p.In, p.Done})
	}
	return BodyOf(out), nil
}

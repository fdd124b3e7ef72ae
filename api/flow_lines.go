package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contract"
)

// keptLines are the figures of lines, by window. They are read once for all who look.
type keptLines struct {
	mu sync.Mutex
	of map[string]*lineFigures
}

// lineFigures are the lines of a window.
type lineFigures struct {
	mu    sync.Mutex // held while they are read
	at    time.Time
	lines []FlowLine
}

// lines are those of crawls, drafts and outreach, up to h.Keep old.
func (h Flow) lines(ctx context.Context, window string, since, now time.Time) ([]FlowLine, error) {
	h.kept.mu.Lock()
	k := h.kept.of[window]
	if k == nil {
		k = &lineFigures{}
		h.kept.of[window] = k
	}
	h.kept.mu.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	if age := now.Sub(k.at); k.lines != nil && age >= 0 && age < h.Keep {
		return k.lines, nil
	}
	figures, err := h.Store.Lines(ctx, since)
	if err != nil {
		return nil, err
	}
	var waiting backlog.Report
	if h.Report != nil {
		waiting = h.Report(ctx)
	}
	k.at, k.lines = now, []FlowLine{
		h.crawlLine(ctx, figures.Crawl, waiting), h.draftLine(ctx, figures.Drafts, waiting), outreachLine(figures.Outreach),
	}
	return k.lines, nil
}

// passed is a station that n have passed, of whom others fell off.
func passed(station string, n int64, off ...FlowOutcome) FlowStation {
	off = slices.DeleteFunc(off, func(o FlowOutcome) bool { return o.N == 0 })
	return FlowStation{Station: station, N: &n, Out: append([]FlowOutcome{}, off...)}
}

// there is a station at which n are now; nil is not known.
func there(station string, n *int64) FlowStation {
	return FlowStation{Station: station, N: n, Now: true, Out: []FlowOutcome{}}
}

func (h Flow) crawlLine(ctx context.Context, c db.CrawlFlow, r backlog.Report) FlowLine {
	queued := ready(r, contract.QueueCrawler)
	if queued != nil {
		queued = new(*queued + c.Storing)
	}
	return FlowLine{Line: "crawl", Sources: []FlowSource{}, Runs: c.Runs, Stations: []FlowStation{
		there("seed", &c.Running), there("frontier", &c.Frontier), there("fetching", &c.Fetching),
		passed("read", c.Read, FlowOutcome{"broken", c.Broken}), there("crawler_queue", queued), passed("stored", c.Stored),
		there("searchable", known(ctx, h.Searchable)),
	}}
}

func (h Flow) draftLine(ctx context.Context, d db.DraftFlow, r backlog.Report) FlowLine {
	queued, due := ready(r, h.Queue), tasks(r, h.Tasks)
	var waiting, chromium *int64
	if queued != nil && due != nil {
		waiting = new(*queued + *due)
	}
	if due != nil { // else Temporal does not answer
		if running := known(ctx, h.Drafting); running != nil {
			chromium = new(max(0, *running-*due)) // the two are not counted at one instant
		}
	}
	return FlowLine{Line: "drafts", Sources: []FlowSource{}, Stations: []FlowStation{
		passed("requested", d.Requested), there("waiting", waiting), there("chromium", chromium),
		passed("page_read", d.Read, FlowOutcome{"failed", d.Failed}), passed("draft_stored", d.Stored),
	}}
}

func outreachLine(o db.OutreachFlow) FlowLine {
	return FlowLine{Line: "outreach", Sources: []FlowSource{}, Tenants: o.Tenants, Stations: []FlowStation{
		passed("uploaded", o.Uploaded), passed("valid", o.Valid, FlowOutcome{"invalid", o.Invalid}),
		there("contacts", &o.Contacts), there("scheduled", &o.Scheduled),
		passed("dispatched", o.Dispatched, FlowOutcome{"failed", o.Failed}), passed("delivered", o.Delivered),
		passed("read", o.Read),
	}}
}

// ready are the messages that wait in a queue of RabbitMQ; nil when that is not known.
func ready(r backlog.Report, queue string) *int64 {
	i := slices.IndexFunc(r.Queues, func(q backlog.Queue) bool { return q.Name == queue && !q.Missing })
	if i < 0 {
		return nil
	}
	return &r.Queues[i].Ready
}

// tasks are the activities that wait in a task queue of Temporal; nil when that is not known.
func tasks(r backlog.Report, queue string) *int64 {
	i := slices.IndexFunc(r.TaskQueues, func(q backlog.TaskQueue) bool { return q.Name == queue && q.Type == "activity" })
	if i < 0 {
		return nil
	}
	return &r.TaskQueues[i].Backlog
}

// known is a figure that a service tells; nil when it does not, for the others are worth showing.
func known(ctx context.Context, figure func(context.Context) (int64, error)) *int64 {
	if figure == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, figureWithin)
	defer cancel()
	n, err := figure(ctx)
	if err != nil {
		return nil
	}
	return &n
}

// figureWithin is how long a service may take to tell one.
const figureWithin = 2 * time.Second

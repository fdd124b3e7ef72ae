package crawl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// A CrawlWhy is the answer of GET /crawl-runs/{id}/why.
type CrawlWhy struct {
	ID          int64                 `json:"id"`
	Status      string                `json:"status" enum:"RUNNING,PAUSED,COMPLETED,CANCELLED"`
	Finished    bool                  `json:"finished"`
	FinishedAt  *time.Time            `json:"finished_at"`
	At          time.Time             `json:"at" doc:"when this was so"`
	Text        []string              `json:"text" doc:"the same in sentences, the most important first"`
	Counts      map[crawl.State]int64 `json:"counts" doc:"URLs by state"`
	Queued      CrawlQueued           `json:"queued"`
	Hosts       []CrawlOpenHost       `json:"hosts" doc:"those with the most open URLs"`
	HostsTotal  int64                 `json:"hosts_total" doc:"hosts with open URLs"`
	Leases      CrawlLeases           `json:"leases"`
	Next        []CrawlWaiting        `json:"next" doc:"URLs that are due next, of those that wait"`
	Skipped     map[string]int64      `json:"skipped" doc:"URLs that were not requested, by reason: robots, recent, max_pages, max_depth"`
	Dropped     int64                 `json:"dropped" doc:"links beyond the limits that were not stored"`
	Spreading   int64                 `json:"spreading" doc:"URLs whose way from the seed became shorter; maintenance passes that on to their links"`
	Unpublished int64                 `json:"unpublished_pages" doc:"pages of all runs that wait in the outbox for the message broker, counted up to 10000: while there are as many, no URL of a run that publishes is claimed"`

	publishes   bool             // the run
	noPage      string           // why it visited none
	StableEmpty CrawlStableEmpty `json:"stable_empty"`
	Workflow    api.WorkflowLink `json:"workflow"`
}

// CrawlQueued counts the queued URLs of a run.
type CrawlQueued struct {
	Ready   int64      `json:"ready" doc:"a worker may claim them now"`
	Again   int64      `json:"again" doc:"wait to be requested again"`
	Held    int64      `json:"held" doc:"due, but their host is not to be asked yet: hosts say until when, and why"`
	NextDue *time.Time `json:"next_due" doc:"of those that wait: the first that is due"`
	LastDue *time.Time `json:"last_due"`
}

// A CrawlOpenHost counts the open URLs of a host.
type CrawlOpenHost struct {
	Host       string     `json:"host"`
	Ready      int64      `json:"ready"`
	Again      int64      `json:"again"`
	Held       int64      `json:"held"`
	InProgress int64      `json:"in_progress"`
	NextDue    *time.Time `json:"next_due"`
	LastDue    *time.Time `json:"last_due"`
	HeldUntil  *time.Time `json:"held_until" doc:"the host is not asked before, for this run; null: it may be asked"`
	HeldBy     *string    `json:"held_by" enum:"gap,crawl_delay,cooldown,robots,ours" doc:"by the gap between two requests, the Crawl-delay of its robots.txt, a cooldown after it refused requests, a robots.txt that cannot be read, or our own network or browser, which is away"`
	HeldCause  *string    `json:"held_cause" doc:"of that, in words, such as HTTP 429; empty: not known"`
	PerSecond  float64    `json:"urls_per_second" doc:"that a request brought to a final state, in the last minute or as much of it as 5000 changes to URLs of the run were in"`
}

// CrawlLeases are the URLs that workers hold.
type CrawlLeases struct {
	Count     int64         `json:"count"`
	Expired   int64         `json:"expired" doc:"ran out: their URLs are queued again with the next maintenance cycle"`
	OldestAt  *time.Time    `json:"oldest_at" doc:"when the oldest was claimed"`
	NextUntil *time.Time    `json:"next_until" doc:"when the first runs out"`
	Workers   []CrawlWorker `json:"workers" doc:"those that hold the most first"`
}

// A CrawlWorker counts the URLs that a worker holds.
type CrawlWorker struct {
	Worker    string     `json:"worker"`
	Count     int64      `json:"count"`
	Expired   int64      `json:"expired"`
	OldestAt  *time.Time `json:"oldest_at"`
	NextUntil *time.Time `json:"next_until"`
	LastUntil *time.Time `json:"last_until"`
}

// A CrawlWaiting is a queued URL that is not due yet.
type CrawlWaiting struct {
	ID            int64     `json:"id"`
	NormalizedURL string    `json:"normalized_url"`
	Host          string    `json:"host"`
	DueAt         time.Time `json:"due_at"`
	Tries         int       `json:"tries"`
	HTTPStatus    *int      `json:"http_status" doc:"of its last request"`
	Error         *string   `json:"error"`
	ErrorClass    *string   `json:"error_class"`
}

// CrawlStableEmpty is how near a run is to being completed.
type CrawlStableEmpty struct {
	Seen   int `json:"seen" doc:"consecutive maintenance cycles that found no open URL"`
	Needed int `json:"needed"`
}

type crawlWhyInput struct {
	ID    int64 `path:"id" minimum:"1" doc:"the run's ID"`
	Hosts int   `query:"hosts" minimum:"1" maximum:"1000" default:"20" doc:"hosts, at most"`
	Next  int   `query:"next" minimum:"1" maximum:"1000" default:"20" doc:"URLs in next, at most"`
}

func (h Crawls) why(ctx context.Context, in *crawlWhyInput) (*api.Body[*CrawlWhy], error) {
	now := h.door.Now().UTC()
	o, err := h.Store.Open(ctx, in.ID, in.Hosts, in.Next, now)
	if err != nil {
		return nil, err
	}
	noPage, err := h.noPage(ctx, o.CrawlRun)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(showCrawlWhy(o, noPage, h.door.Workflow(crawl.WorkflowID(in.ID)), now)), nil
}

// noPage says why a run that has ended visited no page, by what its seed was answered; "" of any other run.
func (h Crawls) noPage(ctx context.Context, run dbcrawl.CrawlRun) (string, error) {
	if !crawl.Ended(run.Status) || run.Counts.Visited > 0 {
		return "", nil
	}
	seed, err := h.Store.SeedOf(ctx, run)
	if err != nil {
		return "", err
	}
	const none = "No page was visited: "
	switch {
	case seed.HTTPStatus != nil && seed.RedirectTo != nil && *seed.RedirectTo != "":
		to, err := web.Canonical(*seed.RedirectTo)
		text := fmt.Sprintf("%sthe seed answered %d, to %s", none, *seed.HTTPStatus, web.Show(*seed.RedirectTo))
		switch {
		case err == nil && !scopeOf(run).Has(to):
			text += ", which is out of scope: start a run from there"
		case !run.Settings.FollowRedirects:
			text += ", and followRedirects is off"
		}
		return text + ".", nil
	case seed.Error != nil && *seed.Error != "":
		return fmt.Sprintf("%sthe request of the seed failed: %s.", none, *seed.Error), nil
	case seed.HTTPStatus != nil:
		return fmt.Sprintf("%sthe seed answered %d.", none, *seed.HTTPStatus), nil
	}
	return "", nil // it was skipped, or not requested
}

// scopeOf is the scope of a run.
func scopeOf(run dbcrawl.CrawlRun) crawl.Scope {
	root, _ := web.Canonical(run.RootURL) // it is canonical
	return crawl.ScopeOf(root, run.Settings.ScopeMode, run.AllowedHosts)
}

func showCrawlWhy(o dbcrawl.CrawlOpen, noPage string, link api.WorkflowLink, now time.Time) *CrawlWhy {
	out := &CrawlWhy{
		ID: o.ID, Status: o.Status, Finished: crawl.Ended(o.Status), FinishedAt: o.FinishedAt, At: now,
		Counts: map[crawl.State]int64{}, Queued: CrawlQueued(o.Queued), HostsTotal: o.HostsOpen,
		Hosts: api.Listed(o.Hosts, func(h dbcrawl.CrawlOpenHost) CrawlOpenHost { return CrawlOpenHost(h) }),
		Leases: CrawlLeases{
			Workers: api.Listed(o.Leases, func(l dbcrawl.CrawlLeases) CrawlWorker { return CrawlWorker(l) }),
		},
		Next:    api.Listed(o.Next, func(w dbcrawl.CrawlWaiting) CrawlWaiting { return CrawlWaiting(w) }),
		Skipped: o.Skipped, Dropped: o.Counts.Dropped, Spreading: o.Spreading, Workflow: link,
		Unpublished: o.Unpublished, publishes: o.Settings.Publish, noPage: noPage,
		StableEmpty: CrawlStableEmpty{o.StableEmpty, crawl.EmptyLooks},
	}
	for _, s := range crawl.States {
		out.Counts[s] = o.Counts.Of(s)
	}
	for _, w := range o.Leases {
		out.Leases.Count += w.Count
		out.Leases.Expired += w.Expired
		out.Leases.OldestAt = earlier(out.Leases.OldestAt, w.OldestAt)
		out.Leases.NextUntil = earlier(out.Leases.NextUntil, w.NextUntil)
	}
	out.Text = out.sentences()
	return out
}

// earlier is the earlier of two times; nil is none.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// sentences are the answer for people.
func (y *CrawlWhy) sentences() (text []string) {
	say := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	open := y.Counts[crawl.Queued] + y.Counts[crawl.InProgress]
	switch {
	case y.Status == crawl.Completed:
		say("The run is finished: it was completed %s, with no URL queued or in progress.", on(y.FinishedAt))
	case y.Status == crawl.Cancelled && open == 0:
		say("The run is finished: it was cancelled %s.", on(y.FinishedAt))
	case y.Status == crawl.Cancelled:
		say("The run is finished: it was cancelled %s, with %s that will not be requested.", on(y.FinishedAt),
			count(open, "open URL"))
	case y.Status == crawl.Paused:
		say("The run is paused: no URL is claimed until it is resumed.")
	}
	if !y.Finished {
		text = append(text, y.open(open)...)
	}
	return append(text, y.left()...)
}

// open are the sentences about what keeps the run from completing.
func (y *CrawlWhy) open(open int64) (text []string) {
	say := func(format string, args ...any) { text = append(text, fmt.Sprintf(format, args...)) }
	q := y.Queued
	if open == 0 {
		say("The frontier is empty: %d of the %d consecutive maintenance cycles that complete a run found it so.",
			y.StableEmpty.Seen, y.StableEmpty.Needed)
	}
	if y.Spreading > 0 {
		say("%s a shorter way from the seed than before: the next maintenance cycles pass that on to the links.",
			have(y.Spreading, "page"))
	}
	if q.Ready > 0 {
		say("%s ready to be requested%s.", are(q.Ready, "URL"), y.most(func(h CrawlOpenHost) int64 { return h.Ready }))
		if y.publishes && y.Unpublished >= crawl.UnpublishedMost && y.Status == crawl.Running {
			say("%d pages or more wait to be published: no URL is claimed until the message broker has taken some.",
				y.Unpublished)
		} else if y.Leases.Count == 0 && y.Status == crawl.Running {
			say("No worker holds a URL: no worker process may be running, or none is free for this run; its workflow shows " +
				"the activities that wait.")
		}
	}
	if l := y.Leases; l.Count > 0 {
		var by []string
		for _, w := range l.Workers[:min(5, len(l.Workers))] {
			by = append(by, fmt.Sprintf("%s (%d)", w.Worker, w.Count))
		}
		say("%s in progress on %s: %s; the oldest was claimed %s, and the first lease runs "+
			"out %s.", are(l.Count, "URL"), count(int64(len(l.Workers)), "worker"), strings.Join(by, ", "),
			on(l.OldestAt), on(l.NextUntil))
		if l.Expired > 0 {
			its := "its URL"
			if l.Expired > 1 {
				its = "their URLs"
			}
			say("%s run out: the next maintenance cycle queues %s again.", have(l.Expired, "lease"), its)
		}
	}
	if q.Again > 0 {
		say("%s to be requested again%s.", wait(q.Again, "URL"), y.after())
	}
	if q.Held > 0 {
		its := "its host"
		if q.Held > 1 {
			its = "their hosts"
		}
		say("%s until %s may be asked again%s.", wait(q.Held, "URL"), its,
			y.most(func(h CrawlOpenHost) int64 { return h.Held }))
	}
	if q.NextDue != nil {
		say("Of the URLs that wait, the first is due %s and the last %s.", on(q.NextDue), on(q.LastDue))
	}
	return text
}

// most says which of the hosts has the most URLs of a kind, and what holds it back.
func (y *CrawlWhy) most(n func(CrawlOpenHost) int64) string {
	h := slices.MaxFunc(y.Hosts, func(a, b CrawlOpenHost) int { return cmp.Compare(n(a), n(b)) })
	if n(h) == 0 { // they are on hosts that are not shown
		return ""
	}
	return fmt.Sprintf("; the most are on %s (%d)%s", h.Host, n(h), h.held())
}

// held says until when a host is held back, and by what.
func (h CrawlOpenHost) held() string {
	if h.HeldUntil == nil || h.HeldBy == nil {
		return ""
	}
	by, joint := "our own network or browser, which is away", ": "
	switch crawl.Held(*h.HeldBy) {
	case crawl.HeldGap:
		by = "the gap between two requests"
	case crawl.HeldDelay:
		by, joint = "its Crawl-delay", " of "
	case crawl.HeldCooldown:
		by, joint = "its cooldown", " after "
	case crawl.HeldRobots:
		by = "its robots.txt, which cannot be read"
	}
	if h.HeldCause != nil && *h.HeldCause != "" {
		by += joint + *h.HeldCause
	}
	return fmt.Sprintf(", held back until %s by %s", strings.TrimPrefix(on(h.HeldUntil), "at "), by)
}

// after says what the next request that is repeated follows.
func (y *CrawlWhy) after() string {
	i := slices.IndexFunc(y.Next, func(w CrawlWaiting) bool { return w.Tries > 0 })
	if i < 0 {
		return ""
	}
	w := y.Next[i]
	switch {
	case w.HTTPStatus != nil:
		return fmt.Sprintf("; the next one, of %s, after HTTP %d", w.Host, *w.HTTPStatus)
	case w.Error != nil:
		return fmt.Sprintf("; the next one, of %s, after: %s", w.Host, *w.Error)
	}
	return ""
}

// left are the sentences about what the run has left out.
func (y *CrawlWhy) left() (text []string) {
	if y.noPage != "" {
		text = append(text, y.noPage)
	}
	meaning := map[string]string{
		crawl.SkippedRobots: "disallowed by robots.txt", crawl.SkippedRecent: "crawled recently",
		crawl.SkippedMaxPages: "beyond maxPages", crawl.SkippedMaxDepth: "beyond maxDepth",
	}
	for _, reason := range slices.Sorted(maps.Keys(y.Skipped)) {
		because := meaning[reason]
		if because == "" {
			because = "with the reason " + reason
		}
		text = append(text, fmt.Sprintf("Skipped: %s %s.", count(y.Skipped[reason], "URL"), because))
	}
	if y.Dropped > 0 {
		text = append(text, fmt.Sprintf("Not stored: %s to URLs beyond maxPages or maxDepth.", count(y.Dropped, "link")))
	}
	return text
}

// on is a time in a sentence.
func on(t *time.Time) string {
	if t == nil {
		return "at an unknown time"
	}
	return "at " + t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// count, are, have and wait are a number of things, with a verb.
func count(n int64, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

func are(n int64, thing string) string { return verb(n, thing, "is", "are") }

func have(n int64, thing string) string { return verb(n, thing, "has", "have") }

func wait(n int64, thing string) string { return verb(n, thing, "waits", "wait") }

func verb(n int64, thing, one, many string) string {
	if n == 1 {
		return count(n, thing) + " " + one
	}
	return count(n, thing) + " " + many
}

// A CrawlRate is what a run did in a slice of time.
type CrawlRate struct {
	At             time.Time `json:"at" doc:"beginning of the slice"`
	Seconds        float64   `json:"seconds" doc:"its length, or as much of it as is over"`
	Requests       int64     `json:"requests"`
	Finished       int64     `json:"finished" doc:"URLs that came to a final state"`
	Failed         int64     `json:"failed" doc:"of those: in FORBIDDEN, NOT_FOUND, HTTP_TERMINAL or FAILED"`
	Bytes          int64     `json:"bytes"`
	PagesPerSecond float64   `json:"pages_per_second" doc:"finished, a second"`
	BytesPerSecond float64   `json:"bytes_per_second"`
	MeanMS         float64   `json:"mean_ms" doc:"of a request, in milliseconds; 0 where there was none"`
}

// A CrawlRates is the answer of GET /crawl-runs/{id}/rate.
type CrawlRates struct {
	From         time.Time   `json:"from"`
	Until        time.Time   `json:"until" doc:"now, or the end of the run"`
	SliceSeconds int64       `json:"slice_seconds"`
	Slices       []CrawlRate `json:"slices" doc:"the oldest first"`
}

type crawlRateInput struct {
	ID     int64  `path:"id" minimum:"1" doc:"the run's ID"`
	Window string `query:"window" maxLength:"20" default:"10m" doc:"how far back: 10s to 720h" example:"1h"`

	window time.Duration
}

// Resolve reads the window.
func (in *crawlRateInput) Resolve(huma.Context) []error {
	var err error
	in.window, err = time.ParseDuration(in.Window)
	if err != nil || in.window < dbcrawl.CrawlSlice || in.window > 720*time.Hour {
		return []error{&huma.ErrorDetail{
			Message: "expected a time from 10s to 720h, such as 10m", Location: "query.window", Value: in.Window,
		}}
	}
	return nil
}

// ratesMost is how many slices an answer has at most.
const ratesMost = 360

func (h Crawls) rate(ctx context.Context, in *crawlRateInput) (*api.Body[*CrawlRates], error) {
	run, err := h.Store.Counted(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	until := h.door.Now().UTC()
	if run.FinishedAt != nil && run.FinishedAt.Before(until) {
		until = run.FinishedAt.UTC()
	}
	step := ((in.window-1)/ratesMost/dbcrawl.CrawlSlice + 1) * dbcrawl.CrawlSlice
	end := until.Truncate(step)
	if end.Before(until) {
		end = end.Add(step)
	}
	from := end.Add(-in.window).Truncate(step)
	rates, err := h.Store.Rates(ctx, in.ID, from, end, step)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(&CrawlRates{
		From: from, Until: until, SliceSeconds: int64(step / time.Second),
		Slices: api.Listed(rates, func(r dbcrawl.CrawlRate) CrawlRate {
			return showCrawlRate(r, min(step, until.Sub(r.At)))
		}),
	}), nil
}

// showCrawlRate shows what was done in a slice of which so much is over.
func showCrawlRate(r dbcrawl.CrawlRate, over time.Duration) CrawlRate {
	out := CrawlRate{
		At: r.At.UTC(), Seconds: over.Seconds(), Requests: r.Fetches, Finished: r.Finished, Failed: r.Failed, Bytes: r.Bytes,
	}
	if s := max(1, out.Seconds); r.Fetches+r.Finished > 0 {
		out.PagesPerSecond, out.BytesPerSecond = float64(r.Finished)/s, float64(r.Bytes)/s
	}
	if r.Fetches > 0 {
		out.MeanMS = float64(r.TookMS) / float64(r.Fetches)
	}
	return out
}

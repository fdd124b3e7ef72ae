package api

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/contract"
)

// Flow serves /flow and /listings/recent: what passed, and what came in last.
type Flow struct {
	Store *db.Flow

	// Now is what waits and is done now. Each may be nil, and then is not known.
	Report     func(context.Context) backlog.Report // never fails; bounds itself
	Drafting   func(context.Context) (int64, error) // workflows of requests for drafts that run
	Searchable func(context.Context) (int64, error) // pages that can be found
	Queue      string                               // of RabbitMQ, that requests for drafts arrive on
	Tasks      string                               // task queue of drafts
	Keep       time.Duration                        // how old the figures of other lines than that of listings may be

	door *Door
	kept *keptLines
}

// Register implements Part.
func (h Flow) Register(d *Door) {
	h.door, h.kept = d, &keptLines{of: map[string]*lineFigures{}}
	Serve(d, Needs(access.Read, Query("operations", "get-flow", "GET /flow", "Get what passed through the pipelines",
		"Counted in whole minutes, the current one included, in the transactions that made the changes. An advert that "+
			"comes in is unchanged, new, changed, back, a twin, refused or withheld, once it is settled. The lines of crawls "+
			"and outreach are of what was under way in the window: crawl runs and campaigns with all that is theirs, and the "+
			"files of contacts that came in it, of all tenants. They are some seconds old.")), h.flow)
	Serve(d, Needs(access.Read, Query("listings", "list-recent-listings", "GET /listings/recent",
		"List what happened to adverts last",
		"The newest first. Pass a seq as after for what is newer; after says which. Adverts that were seen again unchanged "+
			"are not in it, nor results of replays that are the same as before.")), h.recent)
}

// flowWindows are the times that GET /flow can be asked for.
var flowWindows = map[string]time.Duration{"1h": time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour}

type flowInput struct {
	Window string `query:"window" enum:"1h,24h,7d" default:"1h"`
}

// FlowReport is the answer of GET /flow.
type FlowReport struct {
	Since    time.Time  `json:"since" doc:"start of a minute"`
	Until    time.Time  `json:"until"`
	Listings FlowSum    `json:"listings" doc:"adverts that came in and were settled"`
	Lines    []FlowLine `json:"lines"`
}

// A FlowSum is what became of the adverts that came in.
type FlowSum struct {
	In        int64 `json:"in" doc:"the sum of those below, without again"`
	Unchanged int64 `json:"unchanged" doc:"nothing new in them"`
	New       int64 `json:"new" doc:"published for the first time"`
	Changed   int64 `json:"changed" doc:"published with changes"`
	Back      int64 `json:"back" doc:"published again after they were archived"`
	Twins     int64 `json:"twins" doc:"another advert is shown for their home"`
	Refused   int64 `json:"refused"`
	Withheld  int64 `json:"withheld" doc:"no longer offered when they were ready"`
	Again     int64 `json:"again" doc:"replays whose result was that of before"`
	P50MS     int64 `json:"p50_ms" doc:"from arrival to publication: median, within a tenth; 0 when there is none"`
	P95MS     int64 `json:"p95_ms"`
}

// A FlowLine is a pipeline.
type FlowLine struct {
	Line     string        `json:"line" enum:"listings,crawl,drafts,outreach"`
	Stations []FlowStation `json:"stations" doc:"in the order in which things come to them; images last"`
	Sources  []FlowSource  `json:"sources" doc:"of listings, by name"`
	Runs     []int64       `json:"runs,omitempty" doc:"of crawl: the runs that are running, the newest ten"`
	Tenants  int64         `json:"tenants,omitempty" doc:"of outreach: that there are"`
}

// A FlowStation is a step of a pipeline.
type FlowStation struct {
	Station string        `json:"station" enum:"receive,normalize,dedupe,publish,images,seed,frontier,fetching,read,crawler_queue,stored,searchable,requested,waiting,chromium,page_read,draft_stored,uploaded,valid,contacts,scheduled,dispatched,delivered"`
	N       *int64        `json:"n,omitempty" doc:"what passed, or is there; absent when it is not known, and of listings, where out says it"`
	Now     bool          `json:"now,omitempty" doc:"n is what is there now, whatever the window"`
	Out     []FlowOutcome `json:"out" doc:"by outcome: fresh, unchanged; normalized, refused; twin; new, changed, unchanged, back, withheld; attached, repeated, failed; again. Of other lines, what fell off: broken, failed, invalid"`
	P50MS   int64         `json:"p50_ms" doc:"since the advert arrived, of an image since it was asked for; 0 when nothing was measured"`
	P95MS   int64         `json:"p95_ms"`
}

// A FlowOutcome counts what left a station.
type FlowOutcome struct {
	Outcome string `json:"outcome"`
	N       int64  `json:"n"`
}

// A FlowSource is what came from a platform.
type FlowSource struct {
	Source string `json:"source"`
	FlowSum
}

func (h Flow) flow(ctx context.Context, in *flowInput) (*Body[FlowReport], error) {
	now := h.door.Now().UTC()
	since := now.Add(-flowWindows[in.Window]).Truncate(time.Minute)
	counts, err := h.Store.Between(ctx, since, now.Add(time.Minute).Truncate(time.Minute))
	if err != nil {
		return nil, err
	}
	lines, err := h.lines(ctx, in.Window, since, now)
	if err != nil {
		return nil, err
	}
	listings := FlowLine{Line: "listings", Stations: flowStations(counts), Sources: flowSources(counts)}
	return BodyOf(FlowReport{
		Since: since, Until: now, Listings: sumFlow(counts), Lines: append([]FlowLine{listings}, lines...),
	}), nil
}

// sumFlow is what became of adverts, by what left the stations that settle them.
func sumFlow(counts []db.FlowCount) (s FlowSum) {
	var published []db.FlowCount
	for _, c := range counts {
		switch c.Station + " " + c.Outcome {
		case "receive unchanged", "publish unchanged":
			s.Unchanged += c.N
		case "publish new":
			s.New += c.N
		case "publish changed":
			s.Changed += c.N
		case "publish back":
			s.Back += c.N
		case "publish withheld":
			s.Withheld += c.N
		case "dedupe twin":
			s.Twins += c.N
		case "normalize refused":
			s.Refused += c.N
		case "normalize again": // it goes on, and counts where it ends; a refused one ends there, and is counted nowhere
		case "dedupe again", "publish again":
			s.Again += c.N
		}
		if c.Station == "publish" && c.Outcome != "withheld" {
			published = append(published, c)
		}
	}
	s.In = s.Unchanged + s.New + s.Changed + s.Back + s.Twins + s.Refused + s.Withheld
	s.P50MS, s.P95MS = quantile(published, 0.50), quantile(published, 0.95)
	return s
}

// quantile is the time that a share of what was measured took at most.
func quantile(counts []db.FlowCount, share float64) int64 {
	var all, seen int64
	by := map[int]int64{}
	var one db.FlowCount
	for _, c := range counts {
		if c.Took >= 0 {
			by[c.Took] += c.N
			all += c.N
		}
	}
	for _, took := range slices.Sorted(maps.Keys(by)) {
		one.Took = took
		if seen += by[took]; float64(seen) >= share*float64(all) {
			return one.TookMillis()
		}
	}
	return 0
}

// stationOrder is the order of the stations of listings.
var stationOrder = []string{"receive", "normalize", "dedupe", "publish", "images"}

func flowStations(counts []db.FlowCount) []FlowStation {
	out := make([]FlowStation, len(stationOrder))
	for i, station := range stationOrder {
		var of []db.FlowCount
		by := map[string]int64{}
		for _, c := range counts {
			if c.Station == station {
				of = append(of, c)
				by[c.Outcome] += c.N
			}
		}
		out[i] = FlowStation{
			Station: station, Out: []FlowOutcome{}, P50MS: quantile(of, 0.50), P95MS: quantile(of, 0.95),
		}
		for _, outcome := range slices.Sorted(maps.Keys(by)) {
			out[i].Out = append(out[i].Out, FlowOutcome{outcome, by[outcome]})
		}
	}
	return out
}

func flowSources(counts []db.FlowCount) []FlowSource {
	by := map[string][]db.FlowCount{}
	for _, c := range counts {
		by[c.Source] = append(by[c.Source], c)
	}
	out := []FlowSource{}
	for source, of := range by {
		out = append(out, FlowSource{source, sumFlow(of)})
	}
	slices.SortFunc(out, func(a, b FlowSource) int { return strings.Compare(a.Source, b.Source) })
	return out
}

type recentInput struct {
	After int64 `query:"after" minimum:"0" doc:"a seq: only what has a higher one, the newest limit of it. What is stored a moment later than what was shown may have a lower one: ask from a seq of a minute before, and pass over what is known"`
	Limit int   `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// Feed is the answer of GET /listings/recent.
type Feed struct {
	Items []FeedRow `json:"items"`
}

// A FeedRow is something that happened to an advert. What is said of its listing is so now.
type FeedRow struct {
	Seq           int64      `json:"seq" doc:"grows with time, but for what is stored in the same moment"`
	At            time.Time  `json:"at"`
	Kind          string     `json:"kind" enum:"new,changed,back,archived,refused,twin"`
	ListingID     uuid.UUID  `json:"listing_id" doc:"GET /listings/{id} has all of it, also of one that is no listing"`
	Platform      string     `json:"platform"`
	PlatformID    string     `json:"platform_id"`
	URL           string     `json:"url"`
	Title         string     `json:"title,omitempty" doc:"cut to 300 characters"`
	RentCents     *int64     `json:"rent_cents,omitempty" doc:"CAD cents a month"`
	OldRentCents  *int64     `json:"old_rent_cents,omitempty" doc:"before the change"`
	Rooms         *float64   `json:"rooms,omitempty" doc:"Quebec room count: 4.5 is a 4½"`
	Bedrooms      *int       `json:"bedrooms,omitempty" doc:"0 is a studio"`
	Neighbourhood *string    `json:"neighbourhood_name,omitempty"`
	Codes         []string   `json:"codes" doc:"of the reasons for which it is refused or a twin"`
	TwinOf        *uuid.UUID `json:"twin_of,omitempty" doc:"the listing that is shown for its home"`
}

func showFeedRow(r db.FeedRow) FeedRow { return FeedRow(r) }

func (h Flow) recent(ctx context.Context, in *recentInput) (*Body[Feed], error) {
	var after *int64
	if in.After > 0 {
		after = &in.After
	}
	rows, err := h.Store.Recent(ctx, after, in.Limit, h.door.Now())
	return BodyOf(Feed{Each(rows, showFeedRow)}), err
}

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

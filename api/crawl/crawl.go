// Package crawl is the operations of the API on crawl runs, their URLs and links.
package crawl

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
	"github.com/mtlrent/conveyor/internal/blob"
)

// Crawls serves /crawl-runs.
type Crawls struct {
	Store    *dbcrawl.Crawls
	Launch   CrawlStarter
	Defaults crawl.Settings // of the settings that a request leaves out
	Blobs    *blob.Store    // the answers that runs store

	door *api.Door
}

// A CrawlStarter starts and wakes the workflows of crawl runs: *launch.Launch.
type CrawlStarter interface {
	// StartCrawl starts the workflow of a run; started is false where it runs already.
	StartCrawl(ctx context.Context, r crawl.Run) (started bool, err error)
	// WakeCrawl has the workflow of a run read its state, and starts it where it does not run.
	WakeCrawl(ctx context.Context, r crawl.Run) error
	// SignalCrawl has the workflow of a run read its state. It is no error where it does not run.
	SignalCrawl(ctx context.Context, id int64) error
}

// Register implements api.Part.
func (h Crawls) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Operate, api.Op("crawl", "start-crawl-run", "POST /crawl-runs",
		"Start the crawl of a site",
		"Settings that are left out have their defaults, which CRAWL_MAX_PAGES, CRAWL_MAX_DEPTH and MAX_RETRIES may "+
			"change. The run is stored when the answer comes; while Temporal is away, it begins later, and the answer has a "+
			"warning. A request that is repeated with its Idempotency-Key is one run.", 201, 409)), h.create)
	api.Serve(d, api.Needs(access.Read, api.Query("crawl", "list-crawl-runs", "GET /crawl-runs",
		"List crawl runs, the newest first", "")), h.list)
	api.Serve(d, api.Needs(access.Read, api.Op("crawl", "get-crawl-run", "GET /crawl-runs/{id}",
		"Get a crawl run: its state, settings and counts", "")), h.get)
	api.Serve(d, api.Needs(access.Read, api.Op("crawl", "summarize-crawl-run", "GET /crawl-runs/{id}/summary",
		"Get the counts and pace of a crawl run", "")), h.summary)
	for _, act := range []struct {
		name, to, summary, description string
	}{
		{"pause", crawl.Paused, "Pause a crawl run", "Requests under way are finished; no more are sent until it is resumed."},
		{"resume", crawl.Running, "Resume a paused crawl run", "It goes on from where it stopped."},
		{"cancel", crawl.Cancelled, "Cancel a crawl run", "Requests under way are finished; URLs that wait are never " +
			"requested. It cannot be resumed."},
	} {
		api.Serve(d, api.Needs(access.Operate, api.Op("crawl", act.name+"-crawl-run", "POST /crawl-runs/{id}/"+act.name,
			act.summary,
			act.description+" A run that is in that state already stays as it is; one that has ended otherwise is a conflict.",
			409)), func(ctx context.Context, in *crawlRunInput) (*api.Body[CrawlRun], error) {
			return h.change(ctx, in.ID, act.to)
		})
	}
	api.Serve(d, api.Needs(access.Operate, api.Within(retryCrawlTimeout, api.Op("crawl", "retry-crawl-run",
		"POST /crawl-runs/{id}/retry", "Request failed URLs of a crawl run again",
		"They are queued as if they had not been requested yet. A run that was completed is running again; one that was "+
			"cancelled is a conflict. When the answer is 503 some may be queued: a repeated request queues the rest.",
		409))), h.retry)
	h.inspect(d)
}

// retryCrawlTimeout bounds the work of POST …/retry: some hundred thousand URLs.
const retryCrawlTimeout = time.Minute

// CrawlStart is the body of POST /crawl-runs.
type CrawlStart struct {
	SeedURL  string        `json:"seedUrl" doc:"where to begin; http or https, without credentials" example:"https://example.org/"`
	Settings CrawlSettings `json:"settings,omitempty" doc:"those that are left out have their defaults"`
}

// CrawlSettings are settings of a run by their names in crawl.Settings, each of which may be left out.
type CrawlSettings map[string]any

// Schema implements huma.SchemaProvider: it is that of crawl.Settings, in which nothing is required.
func (CrawlSettings) Schema(r huma.Registry) *huma.Schema {
	s := huma.SchemaFromType(r, reflect.TypeFor[CrawlConfig]())
	s.Required = nil
	defaults := map[string]any{}
	if err := remake(crawl.Defaults, &defaults); err != nil {
		panic(err) // numbers, texts and flags
	}
	for name, p := range s.Properties {
		p.Default = defaults[name]
	}
	s.PrecomputeMessages()
	return s
}

// over returns the settings of a run: defaults, changed by these.
func (s CrawlSettings) over(defaults crawl.Settings) (crawl.Settings, error) {
	if err := remake(s, &defaults); err != nil {
		return defaults, fault.Newf(fault.Invalid, "settings: %w", err)
	}
	return defaults, defaults.Check()
}

// remake writes a value as JSON and reads it into another, whose other fields stay.
func remake(from, to any) error {
	doc, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(doc, to)
}

type createCrawlInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"any text: the same key of the same caller is the same run"`
	Body CrawlStart

	root web.Address
}

// Resolve checks the address of the seed.
func (in *createCrawlInput) Resolve(huma.Context) []error {
	seed := strings.TrimSpace(in.Body.SeedURL)
	var err error
	if in.root, err = web.Canonical(seed); err != nil {
		return []error{&huma.ErrorDetail{
			Message: fmt.Sprintf("expected an http or https address with a host and without credentials, of at most %d bytes",
				web.MaxAddress),
			Location: "body.seedUrl", Value: web.Show(seed),
		}}
	}
	in.Body.SeedURL = seed
	return api.WrongText("body.seedUrl", seed)
}

// crawlKeys is the namespace of request keys that are made of an Idempotency-Key.
var crawlKeys = uuid.MustParse("2d9d1b3c-7a44-4b07-9b57-0a5a4d5f6a11")

// CrawlConfig is the settings of a run.
type CrawlConfig crawl.Settings

// CrawlState is a state of a run.
type CrawlState string

// Schema implements huma.SchemaProvider.
func (CrawlState) Schema(huma.Registry) *huma.Schema { return api.EnumOf(crawl.RunStates) }

// A CrawlRun is a crawl from one seed.
type CrawlRun struct {
	ID            int64            `json:"id"`
	CrawlRunID    int64            `json:"crawl_run_id" doc:"the same as id"`
	Status        CrawlState       `json:"status"`
	SeedURL       string           `json:"seed_url" doc:"as given"`
	NormalizedURL string           `json:"normalized_seed_url" doc:"its canonical form"`
	RootURL       string           `json:"root_url" doc:"the same as normalized_seed_url"`
	AllowedHosts  []string         `json:"allowed_hosts" doc:"hosts in scope; with scopeMode same_domain also every other host of the registrable domain"`
	Prefix        string           `json:"prefix,omitempty" doc:"with scopeMode prefix: the folder of the seed, which the path of each URL begins with"`
	RunConfig     CrawlConfig      `json:"run_config" doc:"all settings"`
	BaseRunID     int64            `json:"base_run_id,omitempty" doc:"the earlier run whose validators and links a conditional run uses"`
	CreatedBy     string           `json:"created_by"`
	CreatedAt     time.Time        `json:"created_at"`
	StartedAt     time.Time        `json:"started_at" doc:"the same as created_at"`
	UpdatedAt     time.Time        `json:"updated_at"`
	FinishedAt    *time.Time       `json:"finished_at,omitempty"`
	Seq           int64            `json:"seq" doc:"number of the last change to its URLs"`
	Totals        CrawlTotals      `json:"totals"`
	Workflow      api.WorkflowLink `json:"workflow"`
	Warning       string           `json:"warning,omitempty" doc:"what an operator should know"`
}

// CrawlTotals counts the URLs of a run by state, and what was done for them.
type CrawlTotals struct {
	Discovered   int64 `json:"discovered" doc:"all URLs, those skipped included"`
	Queued       int64 `json:"queued"`
	InProgress   int64 `json:"in_progress"`
	Visited      int64 `json:"visited"`
	Redirect301  int64 `json:"redirect_301"`
	Forbidden    int64 `json:"forbidden"`
	NotFound     int64 `json:"not_found"`
	HTTPTerminal int64 `json:"http_terminal"`
	Failed       int64 `json:"failed"`
	Skipped      int64 `json:"skipped"`
	Admitted     int64 `json:"admitted" doc:"URLs that may be requested: at most maxPages"`
	Dropped      int64 `json:"dropped" doc:"links that were not stored, for there are too many beyond the limits"`
	Fetches      int64 `json:"fetches" doc:"requests"`
	Retries      int64 `json:"retries"`
	LostLeases   int64 `json:"lost_leases" doc:"URLs that were taken from a worker that had stopped"`
	Edges        int64 `json:"edges" doc:"links between URLs of the run"`
	Bytes        int64 `json:"bytes" doc:"of bodies, decompressed"`
}

func (h Crawls) show(r dbcrawl.CrawlRun) CrawlRun {
	n := r.Counts
	return CrawlRun{
		ID: r.ID, CrawlRunID: r.ID, Status: CrawlState(r.Status), SeedURL: r.SeedURL, NormalizedURL: r.RootURL,
		RootURL: r.RootURL, AllowedHosts: r.AllowedHosts, Prefix: scopeOf(r).Prefix(),
		RunConfig: CrawlConfig(r.Settings), BaseRunID: r.BaseID,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, StartedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		FinishedAt: r.FinishedAt, Seq: r.Seq, Workflow: h.door.Workflow(crawl.WorkflowID(r.ID)), Warning: r.Note,
		Totals: CrawlTotals{
			Discovered: n.Discovered, Queued: n.Queued, InProgress: n.InProgress, Visited: n.Visited,
			Redirect301: n.Redirect301, Forbidden: n.Forbidden, NotFound: n.NotFound, HTTPTerminal: n.HTTPTerminal,
			Failed: n.Failed, Skipped: n.Skipped, Admitted: n.Admitted, Dropped: n.Dropped, Fetches: n.Fetches,
			Retries: n.Retries, LostLeases: n.LostLeases, Edges: n.Edges, Bytes: n.Bytes,
		},
	}
}

type createCrawlOutput struct {
	Location string `header:"Location" doc:"where to see its state"`
	Body     CrawlRun
}

// create is durably accepted when the run is stored. Where its workflow cannot be started, a worker does that later.
func (h Crawls) create(ctx context.Context, in *createCrawlInput) (*createCrawlOutput, error) {
	settings, err := in.Body.Settings.over(h.Defaults)
	if err != nil {
		return nil, err
	}
	scope, err := crawl.NewScope(in.root, settings.ScopeMode)
	if err != nil {
		return nil, err
	}
	by := api.CallerOf(ctx).Name
	run, err := h.Store.Create(ctx, dbcrawl.NewRun{
		SeedURL: in.Body.SeedURL, Root: in.root, AllowedHosts: scope.Hosts(), Settings: settings, By: by,
		Key: api.Keyed(crawlKeys, by, in.Key, uuid.Nil),
	}, h.door.Now())
	if err != nil {
		return nil, err
	}
	warning := ""
	if run.Status == crawl.Running {
		warning = h.door.Reach(ctx, crawl.WorkflowID(run.ID), func(ctx context.Context) error {
			_, err := h.Launch.StartCrawl(ctx, run)
			return err
		})
	}
	stored, err := h.Store.Counted(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	out := &createCrawlOutput{"/crawl-runs/" + strconv.FormatInt(run.ID, 10), h.show(stored)}
	out.Body.Warning = cmp.Or(warning, stored.Note)
	return out, nil
}

type listCrawlsInput struct {
	State  string `query:"state" default:"any" example:"RUNNING,PAUSED"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	states []string
	before int64
}

// Resolve reads the cursor.
func (in *listCrawlsInput) Resolve(ctx huma.Context) []error {
	var err error
	in.before, err = api.ParseIDCursor(in.Cursor, crawlRunOrder)
	return slices.Concat(api.WrongCursor(in.Cursor, err),
		api.AnyOf(ctx, in.Filters()...))
}

func (in *listCrawlsInput) Filters() []api.Filter {
	return []api.Filter{{Name: "state", Values: &in.states, Known: api.OrAny(crawl.RunStates)}}
}

// CrawlRunPage is the answer of GET /crawl-runs.
type CrawlRunPage api.Page[CrawlRun]

func (h Crawls) list(ctx context.Context, in *listCrawlsInput) (*api.Body[CrawlRunPage], error) {
	rows, next, err := h.Store.Runs(ctx, in.states, in.before, in.Limit)
	return api.BodyOf(CrawlRunPage(api.PageOf(rows, h.show, api.CursorOf(next, crawlRunOrder)))), err
}

type crawlRunInput struct {
	ID int64 `path:"id" minimum:"1"`
}

func (h Crawls) get(ctx context.Context, in *crawlRunInput) (*api.Body[CrawlRun], error) {
	r, err := h.Store.Counted(ctx, in.ID)
	return api.BodyOf(h.show(r)), err
}

// CrawlSummary is the answer of GET /crawl-runs/{id}/summary.
type CrawlSummary struct {
	CrawlRun
	Pace        CrawlPace `json:"pace"`
	NoPage      string    `json:"no_page,omitempty" doc:"of a run that has ended and visited no page: what its seed was answered"`
	SecondsLeft *float64  `json:"seconds_left,omitempty" doc:"until the URLs known so far are done, at this pace; absent while there is none"`
}

// CrawlPace is what a run did in the last minute.
type CrawlPace struct {
	OverSeconds      float64 `json:"over_seconds" doc:"the time that these numbers are of"`
	PagesPerSecond   float64 `json:"pages_per_second" doc:"URLs that came to a final state"`
	FetchesPerSecond float64 `json:"fetches_per_second" doc:"requests"`
	BytesPerSecond   float64 `json:"bytes_per_second"`
	Failed           int64   `json:"failed" doc:"URLs that ended as broken"`
	MeanMS           float64 `json:"mean_ms" doc:"mean time of a request"`
}

func (h Crawls) summary(ctx context.Context, in *crawlRunInput) (*api.Body[CrawlSummary], error) {
	r, p, err := h.Store.Summary(ctx, in.ID, h.door.Now())
	if err != nil {
		return nil, err
	}
	out := CrawlSummary{CrawlRun: h.show(r)}
	if out.NoPage, err = h.noPage(ctx, r); err != nil {
		return nil, err
	}
	out.Pace = CrawlPace{
		OverSeconds: p.Over.Seconds(), PagesPerSecond: p.PerSecond(), Failed: p.Failed,
		FetchesPerSecond: float64(p.Fetches) / p.Over.Seconds(), BytesPerSecond: float64(p.Bytes) / p.Over.Seconds(),
	}
	if p.Fetches > 0 {
		out.Pace.MeanMS = float64(p.Took.Milliseconds()) / float64(p.Fetches)
	}
	if open := r.Counts.Queued + r.Counts.InProgress; r.Status == crawl.Running && p.Finished > 0 {
		out.SecondsLeft = new(float64(open) / p.PerSecond())
	}
	return api.BodyOf(out), nil
}

// change is done when it is stored: the workers see it with their next URLs. The signal to the workflow only makes that
// sooner, so it succeeds also while Temporal is away.
func (h Crawls) change(ctx context.Context, id int64, to string) (*api.Body[CrawlRun], error) {
	if _, err := h.Store.SetState(ctx, id, to, api.CallerOf(ctx).Name, h.door.Now()); err != nil {
		return nil, err
	}
	r, err := h.Store.Counted(ctx, id)
	if err != nil {
		return nil, err
	}
	out := api.BodyOf(h.show(r))
	out.Body.Warning = cmp.Or(h.door.Reach(ctx, crawl.WorkflowID(id), func(ctx context.Context) error {
		if to == crawl.Running {
			return h.Launch.WakeCrawl(ctx, r.Run)
		}
		return h.Launch.SignalCrawl(ctx, id)
	}), r.Note)
	return out, nil
}

// CrawlRetry is the body of POST …/retry, which may be left out.
type CrawlRetry struct {
	States []string `json:"states,omitempty" minItems:"1" maxItems:"4" enum:"FORBIDDEN,NOT_FOUND,HTTP_TERMINAL,FAILED" doc:"URLs in any of these; default FAILED and HTTP_TERMINAL, and where urls is left out, too, without redirects to another URL"`
	URLs   []int64  `json:"urls,omitempty" minItems:"1" maxItems:"1000" doc:"only these, by ID; those of them that are in none of the states stay as they are"`
}

type retryCrawlInput struct {
	ID   int64       `path:"id" minimum:"1"`
	Body *CrawlRetry // may be left out
}

// CrawlRetried is the answer of POST …/retry.
type CrawlRetried struct {
	Retried int64    `json:"retried" doc:"URLs that are queued again; where it is 0 the run stays as it was"`
	Run     CrawlRun `json:"run"`
}

func (h Crawls) retry(ctx context.Context, in *retryCrawlInput) (*api.Body[CrawlRetried], error) {
	var states []crawl.State
	var urls []int64
	if in.Body != nil {
		urls = in.Body.URLs
		if in.Body.States != nil {
			states = api.Each(in.Body.States, func(s string) crawl.State { return crawl.State(s) })
		}
	}
	n, err := h.Store.Retry(ctx, in.ID, states, urls, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	r, err := h.Store.Counted(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out := api.BodyOf(CrawlRetried{Retried: n, Run: h.show(r)})
	if n > 0 {
		warning := h.door.Reach(ctx, crawl.WorkflowID(in.ID), func(ctx context.Context) error {
			return h.Launch.WakeCrawl(ctx, r.Run)
		})
		out.Body.Run.Warning = cmp.Or(warning, r.Note)
	}
	return out, nil
}

// crawlRunOrder is the only order of crawl runs, for their cursors.
const crawlRunOrder = "crawl-runs"

package crawl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
)

// A CrawlEdge is a link between two URLs of a run. Those of kind discovery have the first two members, those of kind
// links the others.
type CrawlEdge struct {
	DiscoveredFromURLID int64 `json:"discovered_from_url_id,omitempty" doc:"the page whose link led to the URL first"`
	ID                  int64 `json:"id,omitempty" doc:"of the URL"`
	FromID              int64 `json:"from_id,omitempty"`
	ToID                int64 `json:"to_id,omitempty"`
}

// A CrawlGraph is the answer of GET /crawl-runs/{id}/graph.
type CrawlGraph struct {
	Kind     string      `json:"kind" enum:"discovery,links"`
	Edges    []CrawlEdge `json:"edges"`
	Returned int         `json:"returned"`
	HasMore  bool        `json:"has_more"`
	Next     int64       `json:"next" doc:"pass it as after for what follows"`
}

type crawlGraphInput struct {
	ID    int64  `path:"id" minimum:"1" doc:"the run's ID"`
	Kind  string `query:"kind" enum:"discovery,links" default:"discovery"`
	Limit int    `query:"limit" minimum:"1" maximum:"5000000" default:"100000"`
	After int64  `query:"after" minimum:"0" default:"0" doc:"next of an earlier answer of the same kind"`
}

func (h Crawls) graph(ctx context.Context, in *crawlGraphInput) (*huma.StreamResponse, error) {
	if err := h.known(ctx, in.ID); err != nil {
		return nil, err
	}
	return h.door.Export(api.File{ContentType: api.JSONType}, func(ctx context.Context, w *api.Export) {
		w.Text(`{"kind":"` + in.Kind + `","edges":[`)
		n, next, more := 0, in.After, false
		edge := func(e CrawlEdge) {
			if n++; n > 1 {
				w.Text(",")
			}
			w.Text("\n")
			w.JSON(e)
		}
		if in.Kind == "links" {
			for page, err := range h.Store.Links(ctx, in.ID, in.After) {
				if err != nil {
					w.Fail(err)
				}
				if more = n >= in.Limit; w.Failed() || more {
					break
				}
				for _, to := range page.To {
					edge(CrawlEdge{FromID: page.From, ToID: to})
				}
				next = page.From
			}
		} else {
			for e, err := range h.Store.Discoveries(ctx, in.ID, in.After, in.Limit+1) {
				if err != nil {
					w.Fail(err)
				}
				if more = n == in.Limit; w.Failed() || more {
					break
				}
				edge(CrawlEdge{DiscoveredFromURLID: e.From, ID: e.To})
				next = e.To
			}
		}
		w.Text(fmt.Sprintf("\n],\"returned\":%d,\"has_more\":%t,\"next\":%d}\n", n, more, next))
	}), nil
}

// known is the error for a run that is not there.
func (h Crawls) known(ctx context.Context, id int64) error {
	finding, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	_, err := h.Store.Run(finding, id)
	return err
}

// A CrawlLineage is the answer of GET /crawl-runs/{id}/lineage.
type CrawlLineage struct {
	Seq     int64    `json:"seq" doc:"all changes up to this one have been given"`
	Next    string   `json:"next" doc:"pass it as after for what is new or changed since; also where more is false"`
	More    bool     `json:"more" doc:"there are more now"`
	IDs     []int64  `json:"ids"`
	Parents []int64  `json:"parents" doc:"the page whose link led to it first; 0 for the seed and what sitemaps list"`
	Depths  []int    `json:"depths" doc:"links from the seed"`
	States  []string `json:"states" doc:"as status of a URL"`
	Hosts   []string `json:"hosts" doc:"with a port that is not the scheme's"`
	Paths   []string `json:"paths" doc:"with the query"`
}

type crawlLineageInput struct {
	ID    int64  `path:"id" minimum:"1" doc:"the run's ID"`
	After string `query:"after" maxLength:"40" doc:"next of an earlier answer, or its seq; without it, from the beginning"`
	Limit int    `query:"limit" minimum:"1" maximum:"50000" default:"50000"`

	after dbcrawl.CrawlPosition
}

// Resolve reads the position.
func (in *crawlLineageInput) Resolve(huma.Context) []error {
	var err error
	if in.after, err = parseCrawlPosition(in.After); err != nil {
		return []error{&huma.ErrorDetail{Message: err.Error(), Location: "query.after", Value: in.After}}
	}
	return nil
}

// parseCrawlPosition reads seq.id, or a seq whose URLs have all been given.
func parseCrawlPosition(s string) (p dbcrawl.CrawlPosition, err error) {
	if s == "" {
		return p, nil
	}
	seq, id, both := strings.Cut(s, ".")
	p.Seq, err = strconv.ParseInt(seq, 10, 64)
	p.ID = math.MaxInt64
	if err == nil && both {
		p.ID, err = strconv.ParseInt(id, 10, 64)
	}
	if err != nil || p.Seq < 0 || p.ID < 0 {
		return p, errors.New("expected next or seq of an earlier answer")
	}
	return p, nil
}

func (h Crawls) lineage(ctx context.Context, in *crawlLineageInput) (*huma.StreamResponse, error) {
	if err := h.known(ctx, in.ID); err != nil {
		return nil, err
	}
	finding, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	l, more, err := h.Store.Lineage(finding, in.ID, in.after, in.Limit)
	if err != nil {
		return nil, err
	}
	out := CrawlLineage{
		Seq: in.after.Seq, Next: in.After, More: more, IDs: l.IDs, Parents: l.Parents, Depths: l.Depths, States: l.States,
		Hosts: l.Hosts, Paths: l.Paths,
	}
	if n := len(l.IDs); n > 0 {
		out.Seq, out.Next = l.Seqs[n-1], fmt.Sprintf("%d.%d", l.Seqs[n-1], l.IDs[n-1])
		if more && l.Seqs[0] == out.Seq { // one seq that is greater than the page
			out.Seq--
		}
	} else {
		out.Next = fmt.Sprintf("%d.%d", in.after.Seq, in.after.ID)
		out.IDs, out.Parents, out.Depths = []int64{}, []int64{}, []int{}
		out.States, out.Hosts, out.Paths = []string{}, []string{}, []string{}
	}
	return h.door.Export(api.File{ContentType: api.JSONType}, func(_ context.Context, w *api.Export) {
		w.JSON(out)
		w.Text("\n")
	}), nil
}

// A CrawlBrokenLink is a URL that leads nowhere.
type CrawlBrokenLink struct {
	ID            int64       `json:"id"`
	NormalizedURL string      `json:"normalized_url"`
	Status        string      `json:"status" enum:"FORBIDDEN,NOT_FOUND,HTTP_TERMINAL,FAILED"`
	HTTPStatus    *int        `json:"http_status"`
	Error         *string     `json:"error"`
	ErrorClass    *string     `json:"error_class"`
	Depth         int         `json:"depth"`
	LinkedFrom    []CrawlPage `json:"linked_from" doc:"pages that link to it, the first ones by id"`
	LinkedTotal   int64       `json:"linked_from_total" doc:"pages that link to it"`
}

func showCrawlBrokenLink(b dbcrawl.CrawlBrokenLink) CrawlBrokenLink {
	return CrawlBrokenLink{
		b.ID, b.NormalizedURL, b.Status, b.HTTPStatus, b.Error, b.ErrorClass, b.Depth,
		api.Listed(b.From, showCrawlPage), b.Total,
	}
}

// A CrawlBrokenLinks is the answer of GET /crawl-runs/{id}/broken-links.
type CrawlBrokenLinks struct {
	Total      int64             `json:"total" doc:"URLs of the run that lead nowhere"`
	Items      []CrawlBrokenLink `json:"items"`
	NextCursor string            `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

type crawlBrokenInput struct {
	ID     int64  `path:"id" minimum:"1" doc:"the run's ID"`
	Format string `query:"format" enum:"json,csv" default:"json"`
	Limit  int    `query:"limit" minimum:"0" maximum:"100000" default:"0" doc:"URLs at most: 1,000 in JSON; 0 = 100 in JSON, all in CSV"`
	Pages  int    `query:"pages" minimum:"1" maximum:"100" default:"10" doc:"pages that link to a URL, at most"`
	Cursor string `query:"cursor" maxLength:"40" doc:"next_cursor of the previous page"`

	after int64
}

// Resolve reads the cursor.
func (in *crawlBrokenInput) Resolve(huma.Context) (wrong []error) {
	if in.Format != "csv" && in.Limit > 1000 {
		wrong = append(wrong, &huma.ErrorDetail{
			Message: "expected at most 1000 in JSON", Location: "query.limit", Value: in.Limit,
		})
	}
	if in.Cursor != "" {
		var err error
		if in.after, err = strconv.ParseInt(in.Cursor, 10, 64); err != nil || in.after < 1 {
			wrong = append(wrong, api.WrongCursor(in.Cursor, api.ErrCursor)...)
		}
	}
	return wrong
}

func (h Crawls) broken(ctx context.Context, in *crawlBrokenInput) (*huma.StreamResponse, error) {
	finding, cancel := context.WithTimeout(ctx, api.SearchTimeout)
	defer cancel()
	if _, err := h.Store.Run(finding, in.ID); err != nil {
		return nil, err
	}
	if in.Format == "csv" {
		name := fmt.Sprintf("crawl-run-%d-broken-links.csv", in.ID)
		return h.door.Export(api.File{ContentType: "text/csv; charset=utf-8; header=present", Name: name},
			func(ctx context.Context, w *api.Export) {
				api.WriteTable(w, brokenColumns, api.Bounded(h.brokenRows(ctx, in), api.ExportRows), brokenCells)
			}), nil
	}
	limit := in.Limit
	if limit == 0 {
		limit = 100
	}
	rows, next, err := h.Store.BrokenLinks(finding, in.ID, in.after, limit, in.Pages)
	if err != nil {
		return nil, err
	}
	total, err := h.Store.CountBroken(finding, in.ID)
	if err != nil {
		return nil, err
	}
	out := CrawlBrokenLinks{Total: total, Items: api.Listed(rows, showCrawlBrokenLink)}
	if next != nil {
		out.NextCursor = strconv.FormatInt(*next, 10)
	}
	return h.door.Export(api.File{ContentType: api.JSONType}, func(_ context.Context, w *api.Export) {
		w.JSON(out)
		w.Text("\n")
	}), nil
}

// brokenBatch is how many broken URLs of a CSV are looked for at once in the links of all pages.
const brokenBatch = 5000

// A brokenRow is a broken URL with one of the pages that link to it.
type brokenRow struct {
	link dbcrawl.CrawlBrokenLink
	from *dbcrawl.CrawlPage // nil = none does
}

// brokenRows goes over the rows of the CSV.
func (h Crawls) brokenRows(ctx context.Context, in *crawlBrokenInput) func(func(brokenRow, error) bool) {
	return func(yield func(brokenRow, error) bool) {
		after := in.after
		for left, all := in.Limit, in.Limit == 0; all || left > 0; left -= brokenBatch {
			n := brokenBatch
			if !all {
				n = min(n, left)
			}
			links, next, err := h.Store.BrokenLinks(ctx, in.ID, after, n, in.Pages)
			if err != nil {
				yield(brokenRow{}, err)
				return
			}
			for _, l := range links {
				if len(l.From) == 0 && !yield(brokenRow{l, nil}, nil) {
					return
				}
				for i := range l.From {
					if !yield(brokenRow{l, &l.From[i]}, nil) {
						return
					}
				}
			}
			if next == nil {
				return
			}
			after = *next
		}
	}
}

// brokenColumns are those of the CSV; brokenCells are their values.
var brokenColumns = []string{
	"id", "normalized_url", "status", "http_status", "error", "linked_from_total", "linked_from_id", "linked_from_url",
	"linked_from_title",
}

func brokenCells(r brokenRow) []string {
	cells := []string{
		api.NumberCell(&r.link.ID), r.link.NormalizedURL, r.link.Status, api.NumberCell(r.link.HTTPStatus),
		api.TextCell(r.link.Error), api.NumberCell(&r.link.Total), "", "", "",
	}
	if r.from != nil {
		cells[6], cells[7], cells[8] = api.NumberCell(&r.from.ID), r.from.NormalizedURL, api.TextCell(r.from.Title)
	}
	return cells
}

// A CrawlOutcome is what became of a URL in one of two runs.
type CrawlOutcome struct {
	ID         int64  `json:"id"`
	Status     string `json:"status"`
	HTTPStatus *int   `json:"http_status"`
}

// A CrawlDifference is a URL that is not the same in two runs.
type CrawlDifference struct {
	NormalizedURL string        `json:"normalized_url"`
	A             *CrawlOutcome `json:"a" doc:"null: not in run a"`
	B             *CrawlOutcome `json:"b" doc:"null: not in run b"`
}

func showCrawlDifference(x dbcrawl.CrawlDifference) CrawlDifference {
	show := func(o dbcrawl.CrawlOutcome) CrawlOutcome { return CrawlOutcome(o) }
	return CrawlDifference{x.NormalizedURL, api.Maybe(x.A, show), api.Maybe(x.B, show)}
}

// A CrawlCompared is one of the two runs of a comparison.
type CrawlCompared struct {
	ID      int64  `json:"id"`
	SeedURL string `json:"seed_url"`
	Status  string `json:"status" enum:"RUNNING,PAUSED,COMPLETED,CANCELLED"`
	URLs    int64  `json:"urls"`
}

// A CrawlComparison is the answer of GET /crawl-runs/compare.
type CrawlComparison struct {
	A              CrawlCompared     `json:"a"`
	B              CrawlCompared     `json:"b"`
	Equal          bool              `json:"equal" doc:"both have the same URLs in the same states"`
	OnlyATotal     int64             `json:"only_a_total"`
	OnlyBTotal     int64             `json:"only_b_total"`
	DifferentTotal int64             `json:"different_total" doc:"in both, in different states"`
	OnlyA          []CrawlDifference `json:"only_a" doc:"the first ones by id"`
	OnlyB          []CrawlDifference `json:"only_b"`
	Different      []CrawlDifference `json:"different"`
}

func showCrawlComparison(c dbcrawl.CrawlComparison) *CrawlComparison {
	run := func(r dbcrawl.CrawlRun) CrawlCompared {
		return CrawlCompared{r.ID, r.SeedURL, r.Status, r.Counts.Discovered}
	}
	return &CrawlComparison{
		A: run(c.A), B: run(c.B), Equal: c.TotalOnlyA+c.TotalOnlyB+c.TotalDifferent == 0, OnlyATotal: c.TotalOnlyA,
		OnlyBTotal: c.TotalOnlyB, DifferentTotal: c.TotalDifferent, OnlyA: api.Listed(c.OnlyA, showCrawlDifference),
		OnlyB: api.Listed(c.OnlyB, showCrawlDifference), Different: api.Listed(c.Different, showCrawlDifference),
	}
}

type compareCrawlsInput struct {
	A     int64 `query:"a" minimum:"1" required:"true" doc:"a run's ID"`
	B     int64 `query:"b" minimum:"1" required:"true"`
	Limit int   `query:"limit" minimum:"1" maximum:"10000" default:"100" doc:"URLs in each list, at most"`
}

func (h Crawls) compare(ctx context.Context, in *compareCrawlsInput) (*api.Body[*CrawlComparison], error) {
	c, err := h.Store.Compare(ctx, in.A, in.B, in.Limit)
	return api.BodyOf(showCrawlComparison(c)), err
}

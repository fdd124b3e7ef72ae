package crawl

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// inspect registers the operations that read the URLs and links of runs.
func (h Crawls) inspect(d *api.Door) {
	op := func(id, path, summary, description string) huma.Operation {
		return api.Needs(access.Read, api.Query("crawl", id, "GET "+path, summary, description, 404))
	}
	api.Stream(d, answers[CrawlURLPage](d, op("list-crawl-urls", "/crawl-runs/{id}/urls", "List the URLs of a crawl run",
		"Filters combine. total is exact; with host or q it is counted up to 10,000, and total_exact says whether there "+
			"are more.")), h.urls)
	api.Serve(d, op("get-crawl-url", "/crawl-runs/{id}/urls/{url}", "Get a URL of a crawl run",
		"With the path from the seed, its links in both directions, and each request for it."), h.url)
	export := op("export-crawl-run", "/crawl-runs/{id}/export", "Export the URLs of a crawl run",
		"json is {\"run\": …, \"urls\": […]}, ndjson a URL a line, csv a URL a row. warc are the stored answers as records, "+
			"each compressed by gzip; the answer is 409 where the run stores none. URLs are in the order of their IDs, each "+
			"once; those of a run that is not finished are as they were when they were read. An export that fails on the way "+
			"ends without its last chunk. In CSV a text of the site (raw_url, content_type, error, title, redirect_to) that "+
			"begins with =, +, -, @, a tab or a line break has an apostrophe before it, for a spreadsheet would run it as a "+
			"formula; normalized_url is always exact.")
	export.Errors = append(export.Errors, http.StatusConflict)
	export.Responses = map[string]*huma.Response{"200": {Description: "The export", Content: map[string]*huma.MediaType{
		"application/json": {Schema: schemaOf[CrawlExport](d)}, "application/x-ndjson": {}, "text/csv": {},
		"application/warc": {},
	}}}
	api.Stream(d, export, h.export)
	api.Stream(d, answers[CrawlGraph](d, op("get-crawl-graph", "/crawl-runs/{id}/graph",
		"Get the links between the URLs of a crawl run",
		"kind=discovery is the first link to each URL: discovered_from_url_id → id, in the order of id. kind=links is every "+
			"link, from_id → to_id, in the order of from_id; the links of a page are never cut, so there may be somewhat more "+
			"than limit. Pass next as after.")), h.graph)
	api.Stream(d, answers[CrawlLineage](d, op("get-crawl-lineage", "/crawl-runs/{id}/lineage",
		"Get the URLs of a crawl run by columns, in the order of their last change",
		"For graphs of many URLs, and for following a run: pass next as after and the answer has what is new or changed "+
			"since. Each column has a value for each URL.")), h.lineage)
	api.Serve(d, op("explain-crawl-run", "/crawl-runs/{id}/why", "Explain why a crawl run is not finished",
		"Open URLs by state and host, the next tries, and the leases of workers; of a run that has ended, how it ended."),
		h.why)
	broken := answers[CrawlBrokenLinks](d, op("list-crawl-broken-links", "/crawl-runs/{id}/broken-links",
		"List the URLs that lead nowhere, with the pages that link to them",
		"Those in FORBIDDEN, NOT_FOUND, HTTP_TERMINAL and FAILED, without redirects to another URL. csv has a row for each "+
			"page that links to such a URL; it has all of them unless limit is given. The links of all pages are read for each "+
			"answer: ask for many at once."))
	broken.Responses["200"].Content["text/csv"] = &huma.MediaType{}
	api.Stream(d, broken, h.broken)
	api.Serve(d, op("get-crawl-rate", "/crawl-runs/{id}/rate", "Get the pace of a crawl run over time",
		"In equal slices, those without any request included, up to now or the end of the run."), h.rate)
	api.Serve(d, op("compare-crawl-runs", "/crawl-runs/compare", "Compare the URLs of two crawl runs",
		"Which are in one run only, and which are in both in different states. The lists are bounded, the totals exact."),
		h.compare)
}

// schemaOf is the schema of an answer that is written piece by piece.
func schemaOf[T any](d *api.Door) *huma.Schema {
	return d.API.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
}

// answers documents the answer of an operation that is written piece by piece.
func answers[T any](d *api.Door, o huma.Operation) huma.Operation {
	o.Responses = map[string]*huma.Response{"200": {
		Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: schemaOf[T](d)}},
	}}
	return o
}

// A CrawlURL is a URL of a run. null is a value that is not known, or not yet.
type CrawlURL struct {
	ID                  int64      `json:"id"`
	NormalizedURL       string     `json:"normalized_url" doc:"canonical"`
	RawURL              *string    `json:"raw_url" doc:"as written on the page; null: as normalized_url"`
	DiscoveredFromURLID *int64     `json:"discovered_from_url_id" doc:"the page whose link led to it first; null for the seed and what sitemaps list"`
	Depth               int        `json:"depth" doc:"links from the seed, by the shortest way known"`
	Status              string     `json:"status" enum:"QUEUED,IN_PROGRESS,VISITED,REDIRECT_301,FORBIDDEN,NOT_FOUND,HTTP_TERMINAL,FAILED,SKIPPED"`
	HTTPStatus          *int       `json:"http_status" doc:"of the last answer"`
	ContentType         *string    `json:"content_type"`
	RetryCount          int        `json:"retry_count"`
	ClaimedAt           *time.Time `json:"claimed_at"`
	ClaimedByWorker     *string    `json:"claimed_by_worker"`
	VisitedAt           *time.Time `json:"visited_at" doc:"when a request brought it to its final state"`
	CreatedAt           time.Time  `json:"created_at"`
	UpdatedAt           time.Time  `json:"updated_at"`
	Error               *string    `json:"error"`
	ErrorClass          *string    `json:"error_class"`
	Reason              *string    `json:"reason" doc:"of SKIPPED: robots, recent, max_pages or max_depth"`
	Tries               int        `json:"tries" doc:"requests sent"`
	Title               *string    `json:"title"`
	TookMS              *int       `json:"took_ms" doc:"milliseconds of the last request, with the body"`
	ContentLength       *int64     `json:"content_length" doc:"bytes of the body, decompressed"`
	Links               *int       `json:"links" doc:"URLs in scope on the page"`
	DueAt               *time.Time `json:"due_at" doc:"queued, and not requested before"`
	RedirectTo          *string    `json:"redirect_to"`
	Host                string     `json:"host" doc:"with a port that is not the scheme's"`
	DiscoveredFromURL   *string    `json:"discovered_from_url,omitempty" doc:"the address of discovered_from_url_id, in lists of URLs"`
}

func showCrawlURL(u dbcrawl.CrawlURL) CrawlURL { return CrawlURL(u) }

// A CrawlPagination says which part of a list an answer has.
type CrawlPagination struct {
	Total      int64 `json:"total" doc:"URLs that match"`
	TotalExact bool  `json:"total_exact" doc:"false: there are more than total"`
	Returned   int   `json:"returned"`
	HasMore    bool  `json:"has_more"`
	Limit      int   `json:"limit"`
	Offset     int   `json:"offset"`
}

// A CrawlURLPage is the answer of GET /crawl-runs/{id}/urls.
type CrawlURLPage struct {
	Pagination CrawlPagination `json:"pagination"`
	URLs       []CrawlURL      `json:"urls"`
}

// crawlStates reads the states that a request names: repeated, or with commas between them.
func crawlStates(lists []string) (states []crawl.State, wrong []error) {
	for i, list := range lists {
		for name := range strings.SplitSeq(list, ",") {
			s := crawl.State(strings.ToUpper(strings.TrimSpace(name)))
			switch {
			case list == "": // status= is no filter
			case slices.Contains(crawl.States, s):
				states = append(states, s)
			default:
				wrong = append(wrong, &huma.ErrorDetail{
					Message:  fmt.Sprintf("expected states of %v", crawl.States),
					Location: fmt.Sprintf("query.status[%d]", i), Value: name,
				})
			}
		}
	}
	slices.Sort(states)
	return slices.Compact(states), wrong
}

type crawlURLsInput struct {
	ID     int64    `path:"id" minimum:"1" doc:"the run's ID"`
	Status []string `query:"status,explode" maxItems:"20" doc:"any of these states; several with commas between them, or repeated" example:"NOT_FOUND,FAILED"`
	Host   string   `query:"host" maxLength:"300" doc:"with a port that is not the scheme's" example:"example.com"`
	Q      string   `query:"q" maxLength:"500" doc:"is contained in path and query, ignoring case"`
	Sort   string   `query:"sort" enum:"id,visited_at,updated_at,normalized_url" default:"id"`
	Order  string   `query:"order" enum:"asc,desc" default:"asc"`
	Limit  int      `query:"limit" minimum:"1" maximum:"50000" default:"50"`
	Offset int      `query:"offset" minimum:"0" maximum:"10000000" default:"0"`

	states []crawl.State
}

// Resolve checks what a schema cannot express.
func (in *crawlURLsInput) Resolve(huma.Context) (wrong []error) {
	in.states, wrong = crawlStates(in.Status)
	return slices.Concat(wrong, api.WrongText("query.host", in.Host), api.WrongText("query.q", in.Q))
}

// urls reads which URLs are on the page first, then writes them as they are read.
func (h Crawls) urls(ctx context.Context, in *crawlURLsInput) (*huma.StreamResponse, error) {
	finding, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	page, err := h.Store.URLs(finding, in.ID, dbcrawl.CrawlURLFilter{
		States: in.states, Host: in.Host, Path: in.Q, Sort: dbcrawl.CrawlURLSort(in.Sort), Descending: in.Order == "desc",
		Offset: in.Offset, Limit: in.Limit,
	})
	if err != nil {
		return nil, err
	}
	return h.door.Export(api.File{ContentType: api.JSONType}, func(ctx context.Context, w *api.Export) {
		w.Text(`{"pagination":`)
		w.JSON(CrawlPagination{
			Total: page.Total, TotalExact: page.Exact, Returned: len(page.IDs), Limit: in.Limit, Offset: in.Offset,
			HasMore: int64(in.Offset+len(page.IDs)) < page.Total || !page.Exact && len(page.IDs) == in.Limit,
		})
		w.Text(`,"urls":[`)
		api.WriteList(w, h.Store.Rows(ctx, in.ID, page.IDs), showCrawlURL)
		w.Text("]}\n")
	}), nil
}

// A CrawlPage is a URL of a run where another one refers to it.
type CrawlPage struct {
	ID            int64   `json:"id"`
	NormalizedURL string  `json:"normalized_url"`
	Title         *string `json:"title"`
	Depth         int     `json:"depth"`
	Status        string  `json:"status"`
	HTTPStatus    *int    `json:"http_status"`
}

func showCrawlPage(p dbcrawl.CrawlPage) CrawlPage { return CrawlPage(p) }

// A CrawlTry is one request for a URL.
type CrawlTry struct {
	Try        int        `json:"try" doc:"from 1"`
	At         *time.Time `json:"at"`
	Worker     string     `json:"worker"`
	HTTPStatus *int       `json:"http_status"`
	Error      *string    `json:"error"`
	ErrorClass *string    `json:"error_class"`
	TookMS     *int       `json:"took_ms"`
	Last       bool       `json:"last" doc:"brought the URL to its final state"`
}

// A CrawlURLDetail is the answer of GET /crawl-runs/{id}/urls/{url}.
type CrawlURLDetail struct {
	CrawlURL
	Path          []CrawlPage `json:"path" doc:"from the seed, or what a sitemap lists, to this URL"`
	LinksIn       []CrawlPage `json:"links_in" doc:"pages that link to it, the first ones by id"`
	LinksInTotal  int64       `json:"links_in_total"`
	LinksOut      []CrawlPage `json:"links_out" doc:"URLs that it links to, the first ones on the page"`
	LinksOutTotal int64       `json:"links_out_total"`
	Requests      []CrawlTry  `json:"requests" doc:"each request, the first one first"`
}

func showCrawlURLDetail(u dbcrawl.CrawlURLDetail) *CrawlURLDetail {
	out := &CrawlURLDetail{
		CrawlURL: showCrawlURL(u.CrawlURL), Path: api.Listed(u.Path, showCrawlPage),
		LinksIn: api.Listed(u.LinksIn, showCrawlPage), LinksInTotal: u.TotalIn,
		LinksOut: api.Listed(u.LinksOut, showCrawlPage), LinksOutTotal: u.TotalOut,
		Requests: api.Listed(u.TriesWas, func(t dbcrawl.CrawlTry) CrawlTry {
			return CrawlTry{t.Try, &t.At, t.Worker, t.HTTPStatus, t.Error, t.ErrorClass, t.TookMS, false}
		}),
	}
	if s := crawl.State(u.Status); !s.Open() && u.Tries > 0 {
		out.Requests = append(out.Requests, CrawlTry{
			u.Tries, u.VisitedAt, api.TextOf(u.ClaimedByWorker), u.HTTPStatus, u.Error, u.ErrorClass, u.TookMS, true,
		})
	}
	return out
}

type crawlURLInput struct {
	ID    int64 `path:"id" minimum:"1" doc:"the run's ID"`
	URL   int64 `path:"url" minimum:"1" doc:"the URL's ID"`
	Limit int   `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"links in each direction, at most"`
}

func (h Crawls) url(ctx context.Context, in *crawlURLInput) (*api.Body[*CrawlURLDetail], error) {
	u, err := h.Store.URL(ctx, in.ID, in.URL, in.Limit)
	return api.BodyOf(showCrawlURLDetail(u)), err
}

package crawl

import (
	"context"
	"fmt"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/warc"
)

// A CrawlExport is the answer of GET /crawl-runs/{id}/export as JSON.
type CrawlExport struct {
	Run  CrawlRun   `json:"run"`
	URLs []CrawlURL `json:"urls"`
}

type crawlExportInput struct {
	ID     int64    `path:"id" minimum:"1" doc:"the run's ID"`
	Status []string `query:"status,explode" maxItems:"20" doc:"any of these states; several with commas between them, or repeated" example:"NOT_FOUND,FAILED"`
	Format string   `query:"format" enum:"json,csv,ndjson,warc" default:"json"`
	Limit  int      `query:"limit" minimum:"0" maximum:"10000000" default:"50000" doc:"URLs at most; 0 = all"`

	states []crawl.State
}

// Resolve checks what a schema cannot express.
func (in *crawlExportInput) Resolve(huma.Context) (wrong []error) {
	in.states, wrong = crawlStates(in.Status)
	return wrong
}

func (h Crawls) export(ctx context.Context, in *crawlExportInput) (*huma.StreamResponse, error) {
	finding, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	run, err := h.Store.Counted(finding, in.ID)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("crawl-run-%d.", run.ID)
	rows := api.Bounded(h.Store.Export(ctx, run.ID, in.states, in.Limit), api.ExportRows)
	switch in.Format {
	case "csv":
		return h.door.Export(api.File{ContentType: "text/csv; charset=utf-8; header=present", Name: name + "csv"},
			func(_ context.Context, w *api.Export) { api.WriteTable(w, crawlColumns, rows, crawlCells) }), nil
	case "ndjson":
		return h.door.Export(api.File{ContentType: "application/x-ndjson", Name: name + "ndjson"},
			func(_ context.Context, w *api.Export) {
				for row, err := range rows {
					if err != nil {
						w.Fail(err)
					}
					if w.Failed() {
						return
					}
					w.JSON(showCrawlURL(row))
					w.Text("\n")
				}
			}), nil
	case "warc":
		if !run.Settings.StoreBodies {
			return nil, fault.Newf(fault.Conflict,
				"crawl run %d stores no answers: its setting storeBodies is off; start a run with it for a WARC export", run.ID)
		}
		return h.door.Export(api.File{ContentType: "application/warc", Name: name + "warc.gz", Packed: true},
			func(ctx context.Context, w *api.Export) { h.warc(ctx, w, in) }), nil
	}
	doc := api.File{ContentType: api.JSONType, Name: name + "json"}
	return h.door.Export(doc, func(_ context.Context, w *api.Export) {
		w.Text(`{"run":`)
		w.JSON(h.show(run))
		w.Text(`,"urls":[`)
		api.WriteList(w, rows, showCrawlURL)
		w.Text("\n]}\n")
	}), nil
}

// warc writes a warcinfo record and the stored records of the run, each a gzip member as it lies in the blob store. One
// that is gone there is left out.
func (h Crawls) warc(ctx context.Context, w *api.Export, in *crawlExportInput) {
	w.Text(string(warc.Info("conveyor/"+h.door.Version, in.ID, h.door.Now())))
	for body, err := range api.Bounded(h.Store.Bodies(ctx, in.ID, in.states, in.Limit), api.ExportRows) {
		if err != nil {
			w.Fail(err)
		}
		if w.Failed() {
			return
		}
		record, err := h.Blobs.Open(ctx, body.Key)
		if fault.ClassOf(err) == fault.Gone {
			h.door.Log.WarnContext(ctx, "stored answer is not there", "crawl_run_id", in.ID, "url_id", body.ID)
			continue
		}
		if err != nil {
			w.Fail(err)
			return
		}
		w.Copy(record)
		_ = record.Close() // it was read
	}
}

// crawlColumns are those of a CSV export; crawlCells are their values.
var crawlColumns = []string{
	"id", "normalized_url", "raw_url", "discovered_from_url_id", "depth", "status", "http_status", "content_type",
	"retry_count", "claimed_at", "claimed_by_worker", "visited_at", "created_at", "updated_at", "error", "error_class",
	"reason", "tries", "title", "took_ms", "content_length", "links", "due_at", "redirect_to", "host",
}

func crawlCells(u dbcrawl.CrawlURL) []string {
	return []string{
		api.NumberCell(&u.ID), u.NormalizedURL, api.TextCell(u.RawURL), api.NumberCell(u.DiscoveredFromURLID),
		api.NumberCell(&u.Depth), u.Status, api.NumberCell(u.HTTPStatus), api.TextCell(u.ContentType),
		api.NumberCell(&u.RetryCount), api.TimeCell(u.ClaimedAt), api.TextCell(u.ClaimedByWorker),
		api.TimeCell(u.VisitedAt), api.TimeCell(&u.CreatedAt), api.TimeCell(&u.UpdatedAt), api.TextCell(u.Error),
		api.TextOf(u.ErrorClass), api.TextOf(u.Reason), api.NumberCell(&u.Tries), api.TextCell(u.Title),
		api.NumberCell(u.TookMS), api.NumberCell(u.ContentLength), api.NumberCell(u.Links), api.TimeCell(u.DueAt),
		api.TextCell(u.RedirectTo), api.TextCell(&u.Host),
	}
}

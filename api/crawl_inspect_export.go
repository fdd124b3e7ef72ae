package api

import (
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	dbcrawl "github.com/mtlrent/conveyor/db/crawl"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/formula"
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
	finding, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	run, err := h.Store.Counted(finding, in.ID)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("crawl-run-%d.", run.ID)
	rows := bounded(h.Store.Export(ctx, run.ID, in.states, in.Limit), exportRows)
	switch in.Format {
	case "csv":
		return h.door.flow(flow{contentType: "text/csv; charset=utf-8; header=present", file: name + "csv"},
			func(_ context.Context, w *lines) { table(w, crawlColumns, rows, crawlCells) }), nil
	case "ndjson":
		return h.door.flow(flow{contentType: "application/x-ndjson", file: name + "ndjson"},
			func(_ context.Context, w *lines) {
				for row, err := range rows {
					if err != nil {
						w.fail(err)
					}
					if w.err != nil {
						return
					}
					w.json(showCrawlURL(row))
					w.text("\n")
				}
			}), nil
	case "warc":
		if !run.Settings.StoreBodies {
			return nil, fault.Newf(fault.Conflict,
				"crawl run %d stores no answers: its setting storeBodies is off; start a run with it for a WARC export", run.ID)
		}
		return h.door.flow(flow{contentType: "application/warc", file: name + "warc.gz", packed: true},
			func(ctx context.Context, w *lines) { h.warc(ctx, w, in) }), nil
	}
	return h.door.flow(flow{contentType: jsonType, file: name + "json"}, func(_ context.Context, w *lines) {
		w.text(`{"run":`)
		w.json(h.show(run))
		w.text(`,"urls":[`)
		list(w, rows, showCrawlURL)
		w.text("\n]}\n")
	}), nil
}

// warc writes a warcinfo record and the stored records of the run, each a gzip member as it lies in the blob store. One
// that is gone there is left out.
func (h Crawls) warc(ctx context.Context, w *lines, in *crawlExportInput) {
	w.text(string(warc.Info("conveyor/"+h.door.Version, in.ID, h.door.Now())))
	for body, err := range bounded(h.Store.Bodies(ctx, in.ID, in.states, in.Limit), exportRows) {
		if err != nil {
			w.fail(err)
		}
		if w.err != nil {
			return
		}
		record, err := h.Blobs.Open(ctx, body.Key)
		if class, _ := fault.Of(err); err != nil && class == fault.Gone {
			h.door.Log.WarnContext(ctx, "stored answer is not there", "crawl_run_id", in.ID, "url_id", body.ID)
			continue
		}
		if err != nil {
			w.fail(err)
			return
		}
		w.copy(record)
		_ = record.Close() // it was read
	}
}

// table writes rows as CSV, with a header.
func table[R any](w *lines, columns []string, rows func(func(R, error) bool), cells func(R) []string) {
	out := csv.NewWriter(w.buffer)
	if w.err = out.Write(columns); w.err != nil {
		return
	}
	for row, err := range rows {
		if err != nil { // nothing is flushed: before the first bytes the answer is a problem
			w.fail(err)
			return
		}
		if w.err = out.Write(cells(row)); w.err != nil {
			return
		}
	}
	out.Flush()
	w.err = out.Error()
}

// crawlColumns are those of a CSV export; crawlCells are their values.
var crawlColumns = []string{
	"id", "normalized_url", "raw_url", "discovered_from_url_id", "depth", "status", "http_status", "content_type",
	"retry_count", "claimed_at", "claimed_by_worker", "visited_at", "created_at", "updated_at", "error", "error_class",
	"reason", "tries", "title", "took_ms", "content_length", "links", "due_at", "redirect_to", "host",
}

func crawlCells(u dbcrawl.CrawlURL) []string {
	return []string{
		number(&u.ID), u.NormalizedURL, plain(u.RawURL), number(u.DiscoveredFromURLID), number(&u.Depth), u.Status,
		number(u.HTTPStatus), plain(u.ContentType), number(&u.RetryCount), stamp(u.ClaimedAt), plain(u.ClaimedByWorker),
		stamp(u.VisitedAt), stamp(&u.CreatedAt), stamp(&u.UpdatedAt), plain(u.Error), text(u.ErrorClass), text(u.Reason),
		number(&u.Tries), plain(u.Title), number(u.TookMS), number(u.ContentLength), number(u.Links), stamp(u.DueAt),
		plain(u.RedirectTo), plain(&u.Host),
	}
}

// plain is a text of a site in a cell: no spreadsheet takes it for a formula.
func plain(s *string) string {
	return formula.Escape(text(s))
}

// number is a number in a cell, "" for none.
func number[N int | int64](n *N) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}

// stamp is a time in a cell, "" for none.
func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

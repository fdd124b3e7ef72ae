package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// A Report is all that one run measured.
type Report struct {
	Results    []Result     `json:"results"`
	Search     []Search     `json:"search,omitempty"`
	Memory     []Memory     `json:"memory,omitempty"`
	Scrapes    []Scrape     `json:"scrapes,omitempty"`
	Drafts     []Drafting   `json:"drafts,omitempty"`
	Extraction *Extraction  `json:"extraction,omitempty"`
	Volumes    []Volume     `json:"volume,omitempty"`
	Crawls     []Crawl      `json:"crawls,omitempty"`
	Frontiers  []Frontier   `json:"frontiers,omitempty"`
	Relevance  []Relevance  `json:"relevance,omitempty"`
	Filled     []Filled     `json:"search_filled,omitempty"`
	Found      []Found      `json:"search_found,omitempty"`
	Stored     []Stored     `json:"search_stored,omitempty"`
	Dispatched []Dispatched `json:"dispatched,omitempty"`
	Paused     []Paused     `json:"paused,omitempty"`
	Imported   []Imported   `json:"imported,omitempty"`
	Fresh      []Fresh      `json:"freshness,omitempty"`
	Saved      []Saved      `json:"saved,omitempty"`
	Indexed    []Indexed    `json:"saved_indexes,omitempty"`
	Triggered  []Triggered  `json:"saved_trigger,omitempty"`
	Calls      []Call       `json:"calls,omitempty"`
	Burdened   []Burdened   `json:"heavy,omitempty"`
	Console    []Budget     `json:"console,omitempty"`
}

func (r Report) write(file string) error {
	doc, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(doc, '\n'), 0o644)
}

func (r Report) print(w io.Writer) {
	table(w, "", "scenario\tmessages\tper s\tCPU-ms each\tp50 ms\tp95 ms\tp99 ms\ttransitions\tPG tx\t", r.Results,
		func(t io.Writer, r Result) {
			var tx float64
			for _, v := range r.Transactions {
				tx += v
			}
			fmt.Fprintf(t, "%s\t%d\t%.0f\t%.2f\t%.1f\t%.1f\t%.1f\t%.2f\t%.1f\t\n", r.Scenario, r.Messages, r.PerSecond,
				r.CPUMillis, r.LatencyMillis["p50"], r.LatencyMillis["p95"], r.LatencyMillis["p99"], r.StateTransitions, tx)
		})
	for _, r := range r.Results {
		fmt.Fprintf(w, "%s, CPU-ms each: %s\n", r.Scenario, list(r.CPUByGroup, 0.005, "%.2f"))
		fmt.Fprintf(w, "%s, CPU-ms of Postgres each: %s; %.1f kB of WAL\n", r.Scenario, list(r.CPUByDatabase, 0.005, "%.2f"),
			r.WALBytes/1000)
		fmt.Fprintf(w, "%s, Postgres transactions each: %s\n", r.Scenario, list(r.Transactions, 0.05, "%.1f"))
	}
	r.printCalls(w)
	table(w, "\nGET /listings among 100,000:", "p50 ms\tp95 ms\tp99 ms\t", r.Search, func(t io.Writer, s Search) {
		fmt.Fprintf(t, "%.1f\t%.1f\t%.1f\t  ?%s\n", s.P50, s.P95, s.P99, s.Query)
	})
	table(w, "\nscraping the demo site without delays; latency is from an advert's appearance to listings.published:",
		"transport\tadverts\tpages\tpages/s\t… a CPU-s, reading\t… a CPU-s, all\tvisits saved\tp50 ms\tp95 ms\t", r.Scrapes,
		func(t io.Writer, s Scrape) {
			fmt.Fprintf(t, "%s\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.1f %%\t%.0f\t%.0f\t\n", s.Transport, s.Adverts, s.Pages, s.PerSecond,
				s.PerReadingCPU, s.PerCPU, s.Saved, s.LatencyMillis["p50"], s.LatencyMillis["p95"])
		})
	r.printDrafts(w)
	if r.Extraction != nil {
		r.Extraction.print(w)
	}
	table(w, "", "p50 ms\tp95 ms\tfailed\t", r.Volumes, func(t io.Writer, v Volume) {
		fmt.Fprintf(t, "%.1f\t%.1f\t%d of %d\t  %s %s\n", v.Millis["p50"], v.Millis["p95"], v.Failed, v.Asked, v.What, v.Note)
	})
	r.printCrawls(w)
	r.printRelevance(w)
	r.printSearch(w)
	r.printImports(w)
	r.printFresh(w)
	r.printSaved(w)
	r.printHeavy(w)
	r.printConsole(w)
	table(w, "\nmemory of the roles, MiB resident:", "role\tafter 10 %\t50 %\t100 %\tmost\t", r.Memory,
		func(t io.Writer, m Memory) {
			fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t\n", m.Role, m.Early, m.Half, m.End, m.Most)
		})
}

// table prints a title, where it has one, and rows of cells that end with a tab each. Without rows it prints nothing.
func table[T any](w io.Writer, title, head string, rows []T, row func(t io.Writer, r T)) {
	if len(rows) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintln(w, title)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, head)
	for _, r := range rows {
		row(t, r)
	}
	_ = t.Flush() // to a terminal
}

func (r Report) printSearch(w io.Writer) {
	table(w, "\nindexes of generated pages:", "pages\ts\tpages/s\tindex bytes a page\t", r.Filled,
		func(t io.Writer, f Filled) {
			fmt.Fprintf(t, "%d\t%.1f\t%.0f\t%.0f\t  %s\n", f.Pages, f.Seconds, f.PerSecond, f.Bytes, f.Engine)
		})
	for _, f := range r.Filled {
		if len(f.Parts) > 0 {
			fmt.Fprintf(w, "%s, bytes a page (text: %.0f): %s\n", f.Engine, f.TextBytes, list(f.Parts, 0.5, "%.0f"))
		}
	}
	table(w, "\nqueries among them, the first ten answers:",
		"times\tp50 ms\tp95 ms\tmost ms\tanswers\t", sortFound(r.Found), func(t io.Writer, f Found) {
			fmt.Fprintf(t, "%d\t%.1f\t%.1f\t%.1f\t%.0f\t  %s, %s\n", f.Times, f.Millis["p50"], f.Millis["p95"], f.Most,
				f.Answers, f.Query, f.Engine)
		})
	table(w, "\nmessages of crawler_queue, from publish to findable:", "messages\tper s\tp50 ms\tp95 ms\t", r.Stored,
		func(t io.Writer, s Stored) {
			fmt.Fprintf(t, "%d\t%.0f\t%.1f\t%.1f\t  %s; CPU-ms each: %s\n", s.Messages, s.PerSecond, s.Millis["p50"],
				s.Millis["p95"], s.How, list(s.CPU, 0.005, "%.2f"))
		})
}

func (r Report) printImports(w io.Writer) {
	table(w, "\nfiles of contacts, from the start until all rows are stored; CPU until all is tidied up:",
		"rows\ts\trows/s\tMiB before\tpeak\tevents\t", r.Imported, func(t io.Writer, i Imported) {
			fmt.Fprintf(t, "%d\t%.1f\t%.0f\t%d\t%d\t%d\t  %s; CPU-s: %s\n", i.Rows, i.Seconds, i.PerSecond, i.IdleMiB,
				i.PeakMiB, i.Events, i.How, list(i.CPU, 0.05, "%.1f"))
		})
}

func (r Report) printCrawls(w io.Writer) {
	table(w, "\ncrawls without gaps, from the first request to the last result; the site's server is not counted:",
		"workers\tpages\trequests\ts\ts to the end\tpages/s\t… a CPU-s\tPostgres ms a page\tMiB\t", r.Crawls,
		func(t io.Writer, c Crawl) {
			fmt.Fprintf(t, "%d\t%d\t%d\t%.1f\t%.1f\t%.0f\t%.0f\t%.2f\t%d\t  %s, %s\n", c.Workers, c.Pages, c.Requests,
				c.Seconds, c.Completed, c.PerSecond, c.PerCPU, c.Postgres, c.PeakMiB, c.Tool, c.Site)
		})
	for _, c := range r.Crawls {
		fmt.Fprintf(w, "%s, %s, %d workers, CPU-ms a page: %s\n", c.Tool, c.Site, c.Workers, list(c.CPU, 0.005, "%.2f"))
	}
	table(w, fmt.Sprintf("\nclaims of %d URLs, at most %d of a host, by %d at once, each recorded before the next:",
		frontierMax, frontierPerHost, frontierShards),
		"claims\tURLs/s\tclaim p50 ms\tp95\tp99\trecord p50 ms\tp95\thosts\tURLs of each\t", r.Frontiers,
		func(t io.Writer, f Frontier) {
			fmt.Fprintf(t, "%d\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%d\t%d to %d\t  %s\n", f.Claims, f.PerSec,
				f.Millis["p50"], f.Millis["p95"], f.Millis["p99"], f.Record["p50"], f.Record["p95"], f.Hosts, f.Least, f.Most,
				f.Shape)
		})
	printDispatched(w, r.Dispatched)
	printPaused(w, r.Paused)
}

// list names the values of at least least, sorted.
func list(values map[string]float64, least float64, format string) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if values[name] >= least {
			out = append(out, name+" "+fmt.Sprintf(format, values[name]))
		}
	}
	return strings.Join(out, ", ")
}

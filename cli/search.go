package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-isatty"

	apisearch "github.com/mtlrent/conveyor/api/search"
)

// SearchCmd searches pages, and shows, fills and empties the index.
type SearchCmd struct {
	Query   searchQueryCmd   `cmd:"" default:"withargs" help:"Search pages; the word query may be left out."`
	Suggest searchSuggestCmd `cmd:"" help:"Complete the last word of a query."`
	Stats   searchStatsCmd   `cmd:"" help:"Show the size of the index."`
	Reindex searchReindexCmd `cmd:"" help:"Fill the index anew from the stored pages, or that of another engine."`
	Delete  searchDeleteCmd  `cmd:"" help:"Delete the page of a URL, or all pages of a site."`
}

type searchQueryCmd struct {
	Words []string `arg:"" name:"query" help:"Words, \"a phrase\", -without, begin*, site:example.org, lang:fr, type:pdf, intitle:word. Flags come before --, a query with -without behind it or in one pair of quotes."`

	Site   []string `help:"Only pages of these hosts and their subdomains." placeholder:"HOST"`
	Lang   []string `help:"Only pages in these languages: en, fr, …" placeholder:"LANG"`
	Type   []string `help:"Only pages of these types: html, pdf, …" placeholder:"TYPE"`
	From   when     `help:"Only pages crawled at this time or later: 2026-11-20, 2026-11-20T14:00:00Z, or 48h for 48 hours ago." placeholder:"TIME"`
	To     when     `help:"Only pages crawled before this time." placeholder:"TIME"`
	Facets bool     `help:"Also count the answers by site, language, type and month."`
	Limit  int      `help:"Show at most this many; 0 shows all." default:"10"`
	All    bool     `help:"Show all answers, as --limit 0 does."`
	JSON   bool     `name:"json" help:"Print the answers of the API as JSON: an object for each 100 hits."`
}

// Run prints the answers to a query, page after page, up to --limit.
func (c *searchQueryCmd) Run(ctx context.Context, r Client) error {
	p := searchPrinter{out: os.Stdout}
	if isatty.IsTerminal(os.Stdout.Fd()) && os.Getenv("TERM") != "dumb" {
		p.bold, p.columns = os.Getenv("NO_COLOR") == "", columnsOf(os.Stdout)
	}
	return c.run(ctx, r, p)
}

func (c *searchQueryCmd) run(ctx context.Context, r Client, p searchPrinter) error {
	if c.Limit < 0 {
		return Usage("read --limit: expected 0 or more")
	}
	c.All = c.All || c.Limit == 0
	query := url.Values{"q": {strings.Join(c.Words, " ")}, "site": c.Site, "lang": c.Lang, "type": c.Type}
	setQuery(query, "from", c.From.text())
	setQuery(query, "to", c.To.text())
	if c.Facets {
		query.Set("facets", "true")
	}
	for shown := 0; ; {
		size := pageSize
		if !c.All {
			size = min(size, c.Limit-shown)
		}
		query.Set("limit", strconv.Itoa(size))
		var got apisearch.SearchAnswer
		if err := r.call(ctx, http.MethodGet, "/search?"+query.Encode(), nil, &got); err != nil {
			return err
		}
		last := got.Next == "" || !c.All && shown+len(got.Hits) >= c.Limit
		if err := c.print(p, got, shown, last); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		if last {
			return nil
		}
		shown += len(got.Hits)
		query.Set("after", got.Next)
		query.Del("facets")
	}
}

// print writes a page of answers, of which shown were written before.
func (c *searchQueryCmd) print(p searchPrinter, a apisearch.SearchAnswer, shown int, last bool) error {
	if c.JSON {
		return PrintJSON(p.out, a)
	}
	if shown == 0 {
		p.head(a)
	}
	for i, h := range a.Hits {
		p.hit(shown+i+1, h)
	}
	if last && a.Next != "" {
		fmt.Fprintf(p.out, "there are more; --limit %d or --all shows them\n", 2*c.Limit)
	}
	return nil
}

// A searchPrinter writes answers for people.
type searchPrinter struct {
	out     io.Writer
	bold    bool // the words of the query are set in bold
	columns int  // a line has at most this many; 0 = any number
}

// head writes what holds for all answers.
func (p searchPrinter) head(a apisearch.SearchAnswer) {
	count := counted(a.Total, "page")
	if a.AtLeast {
		count = "at least " + count
	}
	fmt.Fprintf(p.out, "%s, %.0f ms\n", count, a.TookMS)
	if a.Cut {
		fmt.Fprintln(p.out, "the query is longer than what is looked for: its first 2,000 characters, and 32 words or phrases "+
			"of them")
	}
	if len(a.Corrected) > 0 {
		fmt.Fprintf(p.out, "also looked for: %s\n", Plain(strings.Join(a.Corrected, ", ")))
	}
	if a.DidYouMean != "" {
		fmt.Fprintf(p.out, "did you mean: %s\n", Plain(a.DidYouMean))
	}
	if a.Relaxed {
		fmt.Fprintln(p.out, "few pages have all words; pages with some of them follow")
	}
	if f := a.Facets; f != nil {
		t := Table(p.out)
		for _, facet := range []struct {
			name   string
			counts []apisearch.SearchCount
		}{{"sites", f.Sites}, {"languages", f.Languages}, {"types", f.Types}, {"months", f.Months}} {
			if len(facet.counts) > 0 {
				fmt.Fprintf(t, "%s\t%s\n", facet.name, p.wrapped(countsLine(facet.counts), nil, len("languages  ")))
			}
		}
		_ = t.Flush() // an error of standard output has no reader
	}
	fmt.Fprintln(p.out)
}

// countsLine is counts by value in a line; the empty value is that of pages without one.
func countsLine(counts []apisearch.SearchCount) string {
	parts := make([]string, len(counts))
	for i, c := range counts {
		name := Plain(c.Value)
		if name == "" {
			name = "unknown"
		}
		parts[i] = fmt.Sprintf("%s %d", name, c.Pages)
	}
	return strings.Join(parts, ", ")
}

// counted is a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// hit writes the nth answer.
func (p searchPrinter) hit(n int, h apisearch.SearchHit) {
	number := fmt.Sprintf("%d. ", n)
	indent := len(number)
	title, marks := h.Title, h.TitleMarks
	if title == "" {
		title, marks = h.URL, nil
	}
	fmt.Fprintln(p.out, number+p.wrapped(title, marks, indent))
	space := strings.Repeat(" ", indent)
	about := []string{h.CrawledAt.UTC().Format(time.DateOnly), h.Language, h.Type}
	if h.Language == "" {
		about = []string{about[0], h.Type}
	}
	if h.Duplicates > 0 {
		about = append(about, counted(h.Duplicates, "more page")+" of this text")
	}
	fmt.Fprintf(p.out, "%s%s\n%s%s\n", space, Plain(h.URL), space, Plain(strings.Join(about, ", ")))
	if h.Snippet.Text != "" {
		fmt.Fprintln(p.out, space+p.wrapped(h.Snippet.Text, h.Snippet.Marks, indent))
	}
	fmt.Fprintln(p.out)
}

// Bold text on a terminal.
const (
	boldOn  = "\x1b[1m"
	boldOff = "\x1b[22m"
)

// wrapped is a text that steers no terminal, with its marks in bold, in lines that begin at column indent.
func (p searchPrinter) wrapped(text string, marks []apisearch.SearchMark, indent int) string {
	runes := []rune(Plain(text)) // one for each of text, so that marks stay where they are
	on, off := map[int]bool{}, map[int]bool{}
	for _, m := range marks {
		if p.bold && 0 <= m.Start && m.Start < m.End && m.End <= len(runes) {
			on[m.Start], off[m.End] = true, true
		}
	}
	var b strings.Builder
	column := indent
	for i, r := range runes {
		if off[i] {
			b.WriteString(boldOff)
		}
		if on[i] {
			b.WriteString(boldOn)
		}
		if r == ' ' && p.columns > 0 {
			word := 1
			for i+word < len(runes) && runes[i+word] != ' ' {
				word++
			}
			if column+word > p.columns {
				b.WriteString("\n" + strings.Repeat(" ", indent))
				column = indent
				continue
			}
		}
		b.WriteRune(r)
		column++
	}
	if off[len(runes)] {
		b.WriteString(boldOff)
	}
	return b.String()
}

type searchSuggestCmd struct {
	Words []string `arg:"" name:"query" help:"The beginning of a query."`
	Limit int      `help:"Show at most this many, 1 to 20." default:"10"`
	JSON  bool     `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints a suggestion a line.
func (c *searchSuggestCmd) Run(ctx context.Context, r Client) error {
	query := url.Values{"q": {strings.Join(c.Words, " ")}, "limit": {strconv.Itoa(c.Limit)}}
	return show(ctx, r, http.MethodGet, "/search/suggest?"+query.Encode(), nil, c.JSON,
		func(w io.Writer, got apisearch.SearchSuggestions) error {
			for _, s := range got.Suggestions {
				fmt.Fprintln(w, Plain(s))
			}
			if len(got.Suggestions) == 0 {
				fmt.Fprintln(os.Stderr, "no word of the index begins so")
			}
			return nil
		})
}

type searchStatsCmd struct {
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints the size of the index.
func (c *searchStatsCmd) Run(ctx context.Context, r Client) error {
	return show(ctx, r, http.MethodGet, "/search/stats", nil, c.JSON, printSearchStats)
}

func printSearchStats(w io.Writer, s apisearch.SearchStats) error {
	t := Table(w)
	fmt.Fprintf(t, "engine\t%s\npages\t%d found, %d stored\n", Plain(s.Engine), s.Pages, s.Stored)
	if s.Waiting > 0 || s.Refused > 0 {
		fmt.Fprintf(t, "messages\t%d being stored, %d refused\n", s.Waiting, s.Refused)
	}
	if s.Terms > 0 {
		fmt.Fprintf(t, "terms\t%d\n", s.Terms)
	}
	fmt.Fprintf(t, "size\t%s", size(s.Bytes))
	if s.Pages > 0 {
		fmt.Fprintf(t, ", %s a page", size(s.Bytes/int64(s.Pages)))
	}
	fmt.Fprintf(t, "\nsegments\t%d\n", s.Segments)
	for i, site := range s.Sites {
		name := ""
		if i == 0 {
			name = "sites"
		}
		fmt.Fprintf(t, "%s\t%s %d\n", name, Plain(site.Value), site.Pages)
	}
	return t.Flush()
}

type searchReindexCmd struct {
	To   string `help:"Engine to fill: postgres or opensearch; the default is the one in use." placeholder:"ENGINE"`
	Show bool   `help:"Start nothing; show the progress of the last one."`
	Wait bool   `help:"Show the progress until it ends; exit with 1 unless it is completed. Ctrl-C stops watching; the re-index goes on."`
	JSON bool   `name:"json" help:"Print the answer of the API as JSON."`
}

// Run starts a re-index, or joins the one that is running. With --wait, one that is not completed is ExitError 1.
func (c *searchReindexCmd) Run(ctx context.Context, r Client) error {
	var got apisearch.Reindex
	var err error
	if c.Show {
		err = r.call(ctx, http.MethodGet, "/search/reindex", nil, &got)
	} else {
		err = r.call(ctx, http.MethodPost, "/search/reindex", apisearch.ReindexStart{To: c.To}, &got)
	}
	if err != nil {
		return err
	}
	if !c.JSON || c.Wait {
		fmt.Fprintln(os.Stderr, reindexLine(got)+"\n"+got.Workflow.URL)
	}
	if c.Wait && got.State == apisearch.ReindexRunning {
		if got, err = watchReindex(r).onto(os.Stderr).run(ctx); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, reindexLine(got))
	}
	if c.JSON {
		err = PrintJSON(os.Stdout, got)
	}
	if err == nil && c.Wait && got.State != apisearch.ReindexCompleted {
		return ExitError(1)
	}
	return err
}

// watchReindex follows the re-index until it ends.
func watchReindex(r Client) watch[apisearch.Reindex] {
	return watch[apisearch.Reindex]{
		api: r, path: "/search/reindex", line: reindexLine,
		state: func(x apisearch.Reindex) (string, bool) { return x.State, x.State != apisearch.ReindexRunning },
		left:  "the re-index goes on: conveyor search reindex --show",
	}
}

// reindexLine is the progress of a re-index in a line.
func reindexLine(x apisearch.Reindex) string {
	if x.State == apisearch.ReindexNone {
		return "there was no re-index"
	}
	line := "re-index"
	if x.To != "" {
		line += " to " + Plain(x.To)
	}
	line += fmt.Sprintf(" %s: %d of %s", x.State, x.Pages, counted(max(x.Total, x.Pages), "page"))
	if x.Failed > 0 {
		line += fmt.Sprintf(", %d refused", x.Failed)
	}
	if x.Joined {
		line += ", it was running already"
	}
	if x.Reason != "" {
		line += ": " + Plain(x.Reason)
	}
	return line
}

type searchDeleteCmd struct {
	URL    string `name:"url" xor:"which" required:"" help:"Delete the page of this URL." placeholder:"URL"`
	Site   string `xor:"which" required:"" help:"Delete all pages of this host and its subdomains." placeholder:"HOST"`
	DryRun bool   `help:"Delete nothing; print how many pages match."`
	Yes    bool   `short:"y" help:"Do not ask."`
}

// Run counts the pages, asks, and deletes them.
func (c *searchDeleteCmd) Run(ctx context.Context, r Client) error {
	return c.run(ctx, r, os.Stdin, os.Stdout)
}

func (c *searchDeleteCmd) run(ctx context.Context, r Client, in io.Reader, out io.Writer) error {
	query := url.Values{}
	if c.URL != "" {
		query.Set("url", c.URL)
	} else {
		query.Set("site", c.Site)
	}
	var have, done apisearch.PagesDeleted
	if err := r.call(ctx, http.MethodDelete, "/pages?dry_run=true&"+query.Encode(), nil, &have); err != nil {
		return err
	}
	if have.Pages == 0 {
		fmt.Fprintln(out, "no page matches")
		return nil
	}
	if c.DryRun {
		fmt.Fprintf(out, "would delete %s\n", counted(have.Pages, "page"))
		return nil
	}
	question := fmt.Sprintf("Delete %s? They come back when they are crawled again.", counted(have.Pages, "page"))
	if !c.Yes && !confirmed(ctx, in, out, question) {
		return errors.New("nothing was deleted")
	}
	if err := r.call(ctx, http.MethodDelete, "/pages?"+query.Encode(), nil, &done); err != nil {
		return err
	}
	if done.Workflow != nil {
		fmt.Fprintf(out, "deletion started: %s\n", done.Workflow.URL)
	} else {
		fmt.Fprintf(out, "deleted %s\n", counted(done.Pages, "page"))
	}
	return nil
}

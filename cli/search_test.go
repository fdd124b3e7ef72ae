package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	apisearch "github.com/mtlrent/conveyor/api/search"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

// answered is a page of answers in which everything is set.
func answered() apisearch.SearchAnswer {
	count := func(v string, n int) []apisearch.SearchCount { return []apisearch.SearchCount{{Value: v, Pages: n}} }
	return apisearch.SearchAnswer{
		Total: 12, AtLeast: true, Cut: true, Relaxed: true, Corrected: []string{"pump", "pumps"}, DidYouMean: "heat pump",
		TookMS: 12.6,
		Facets: &apisearch.SearchFacets{
			Sites: append(count("example.org", 8), count("example.com", 4)...), Languages: count("", 12), Types: count("html", 12),
		},
		Hits: []apisearch.SearchHit{
			{
				URL: "https://example.org/a", Title: "Été: heat\x1b pump", Language: "en", Type: "html", CrawledAt: noon,
				Duplicates: 2, TitleMarks: []apisearch.SearchMark{{Start: 5, End: 9}, {Start: 11, End: 15}},
				Snippet: apisearch.SearchSnippet{Text: "… the heat …", Marks: []apisearch.SearchMark{{Start: 6, End: 10}}},
			},
			{URL: "https://example.org/b", Type: "pdf", CrawledAt: noon, Duplicates: 1},
		},
	}
}

func TestPrintSearch(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	c := searchQueryCmd{Limit: 2}
	a := answered()
	require.NoError(t, c.print(searchPrinter{out: &b}, a, 0, true))
	require.Equal(t, `at least 12 pages, 13 ms
the query is longer than what is looked for: its first 2,000 characters, and 32 words or phrases of them
also looked for: pump, pumps
did you mean: heat pump
few pages have all words; pages with some of them follow
sites      example.org 8, example.com 4
languages  unknown 12
types      html 12

1. Été: heat  pump
   https://example.org/a
   2026-11-21, en, html, 2 more pages of this text
   … the heat …

2. https://example.org/b
   https://example.org/b
   2026-11-21, pdf, 1 more page of this text

`, b.String())

	b.Reset()
	a = apisearch.SearchAnswer{Total: 1, Hits: a.Hits[:1], Next: "x"}
	require.NoError(t, c.print(searchPrinter{out: &b, bold: true, columns: 14}, a, 9, true))
	require.Equal(t, "10. Été: \x1b[1mheat\x1b[22m \n    \x1b[1mpump\x1b[22m\n    https://example.org/a\n"+
		"    2026-11-21, en, html, 2 more pages of this text\n    … the \x1b[1mheat\x1b[22m\n    …\n\n"+
		"there are more; --limit 4 or --all shows them\n", strings.ReplaceAll(b.String(), "  pump", " pump"))

	b.Reset()
	require.NoError(t, c.print(searchPrinter{out: &b}, apisearch.SearchAnswer{}, 0, true))
	require.Equal(t, "0 pages, 0 ms\n\n", b.String())
}

// Whatever marks there are, the text stays, and a mark that is open is closed.
func TestMarkedText(t *testing.T) {
	t.Parallel()
	p := searchPrinter{bold: true}
	for want, marks := range map[string][]apisearch.SearchMark{
		"ab cd":                               {{Start: -1, End: 2}, {Start: 3, End: 3}, {Start: 4, End: 6}},
		"\x1b[1mab cd\x1b[22m":                {{Start: 0, End: 5}},
		"\x1b[1mab\x1b[22m\x1b[1m cd\x1b[22m": {{Start: 0, End: 2}, {Start: 2, End: 5}},
	} {
		require.Equal(t, want, p.wrapped("ab cd", marks, 0))
	}
	require.Equal(t, "ab cd", searchPrinter{}.wrapped("ab cd", []apisearch.SearchMark{{Start: 0, End: 2}}, 0))
	require.Equal(t, "aaaa\n bb cc\n dddddddd", searchPrinter{columns: 6}.wrapped("aaaa bb cc dddddddd", nil, 1))
}

// Each command sends the requests that it stands for.
func TestSearchCommands(t *testing.T) {
	t.Parallel()
	var asked []string
	url := serve(t, func(ask string) any {
		asked = append(asked, ask)
		switch {
		case strings.Contains(ask, "q=none"):
			return nil
		case strings.Contains(ask, "/suggest"):
			return apisearch.SearchSuggestions{Suggestions: []string{"heat pump"}}
		case strings.Contains(ask, "/stats"):
			return apisearch.SearchStats{}
		case strings.Contains(ask, "/reindex"):
			return apisearch.Reindex{State: apisearch.ReindexCompleted}
		case strings.Contains(ask, "/pages"):
			return apisearch.PagesDeleted{Pages: 3}
		}
		return answered()
	})
	for _, tt := range []struct{ args, want, err string }{
		{"search heat|pump", "GET /search?limit=10&q=heat+pump", ""},
		{"search query stats", "GET /search?limit=10&q=stats", ""},
		{`search query -- -used "heat pump"`, "GET /search?limit=10&q=-used+%22heat+pump%22", ""},
		{"search --limit 5 -- house -heating", "GET /search?limit=5&q=house+-heating", ""},
		{`search -- -used heat`, "GET /search?limit=10&q=-used+heat", ""},
		{"search heat --site a.example,b.example --lang fr --type pdf --from 2026-11-20 --to 2026-11-21T12:00:00.5Z --facets --limit 7 --json",
			"GET /search?facets=true&from=2026-11-20T00%3A00%3A00Z&lang=fr&limit=7&q=heat&site=a.example&site=b.example&" +
				"to=2026-11-21T12%3A00%3A00.5Z&type=pdf", ""},
		{"search heat --all", "GET /search?limit=100&q=heat", ""},
		{"search none", "GET /search?limit=10&q=none", "there is none"},
		{"search heat --limit=-1", "", "read --limit: expected 0 or more"},
		{"search suggest heat pu --limit 3", "GET /search/suggest?limit=3&q=heat+pu", ""},
		{"search stats", "GET /search/stats", ""},
		{"search stats --json", "GET /search/stats", ""},
		{"search reindex", "POST /search/reindex {}", ""},
		{"search reindex --to opensearch --wait", `POST /search/reindex {"to":"opensearch"}`, ""},
		{"search reindex --show --json", "GET /search/reindex", ""},
		{"search delete --site a.example --dry-run", "DELETE /pages?dry_run=true&site=a.example", ""},
	} {
		asked = nil
		err := run(t, url, strings.Fields(strings.ReplaceAll(tt.args, "|", " "))...)
		if tt.err == "" {
			require.NoError(t, err, tt.args)
		} else {
			require.EqualError(t, err, tt.err, tt.args)
		}
		require.Equal(t, tt.want, strings.Join(asked, "\n"), tt.args)
	}
	asked = nil
	require.NoError(t, run(t, url, "search", "house -heating", "--limit", "5"))
	require.Equal(t, []string{"GET /search?limit=5&q=house+-heating"}, asked, "in quotes")
}

// --all and large limits go on from page to page, and ask for facets once.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cmd   searchQueryCmd
		asked []string
		hits  int
	}{
		"all": {searchQueryCmd{Limit: 1, All: true, Facets: true}, []string{
			"GET /search?facets=true&limit=100&q=a", "GET /search?after=1&limit=100&q=a", "GET /search?after=2&limit=100&q=a",
		}, 250},
		"limit 0": {searchQueryCmd{}, []string{
			"GET /search?limit=100&q=a", "GET /search?after=1&limit=100&q=a", "GET /search?after=2&limit=100&q=a",
		}, 250},
		"limit": {searchQueryCmd{Limit: 120}, []string{"GET /search?limit=100&q=a", "GET /search?after=1&limit=20&q=a"}, 120},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			url := serve(t, func(ask string) any {
				asked = append(asked, ask)
				switch {
				case strings.Contains(ask, "after=2"):
					return apisearch.SearchAnswer{Hits: make([]apisearch.SearchHit, 50)}
				case strings.Contains(ask, "limit=20"):
					return apisearch.SearchAnswer{Hits: make([]apisearch.SearchHit, 20), Next: "2"}
				case strings.Contains(ask, "after=1"):
					return apisearch.SearchAnswer{Hits: make([]apisearch.SearchHit, 100), Next: "2"}
				}
				return apisearch.SearchAnswer{Hits: make([]apisearch.SearchHit, 100), Next: "1"}
			})
			tt.cmd.Words, tt.cmd.JSON = []string{"a"}, true
			var out bytes.Buffer
			require.NoError(t, tt.cmd.run(t.Context(), Client{URL: url}, searchPrinter{out: &out}))
			require.Equal(t, tt.asked, asked)
			hits := 0
			for d := json.NewDecoder(&out); ; {
				var a apisearch.SearchAnswer
				if err := d.Decode(&a); err == io.EOF {
					break
				} else {
					require.NoError(t, err)
				}
				hits += len(a.Hits)
			}
			require.Equal(t, tt.hits, hits)
		})
	}
}

// Nothing is deleted before it was counted, and the answer was yes.
func TestSearchDelete(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		cmd   searchDeleteCmd
		input string
		asked []string
		says  string
		err   string
	}{
		"url": {
			searchDeleteCmd{URL: "https://a.example/?x=1"}, "y\n",
			[]string{"dry_run=true&url=https%3A%2F%2Fa.example%2F%3Fx%3D1", "url=https%3A%2F%2Fa.example%2F%3Fx%3D1"},
			"Delete 1 page? They come back when they are crawled again. [y/N] deleted 1 page\n", "",
		},
		"site": {
			searchDeleteCmd{Site: "a.example", Yes: true}, "", []string{"dry_run=true&site=a.example", "site=a.example"},
			"deletion started: http://ui/delete\n", "",
		},
		"no": {
			searchDeleteCmd{Site: "a.example"}, "n\n", []string{"dry_run=true&site=a.example"},
			"Delete 2 pages? They come back when they are crawled again. [y/N] ", "nothing was deleted",
		},
		"dry": {
			searchDeleteCmd{Site: "a.example", DryRun: true}, "", []string{"dry_run=true&site=a.example"},
			"would delete 2 pages\n", "",
		},
		"nothing": {
			searchDeleteCmd{Site: "b.example"}, "", []string{"dry_run=true&site=b.example"}, "no page matches\n", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked []string
			url := serve(t, func(ask string) any {
				asked = append(asked, strings.TrimPrefix(ask, "DELETE /pages?"))
				out := apisearch.PagesDeleted{Pages: 1}
				if tt.cmd.Site == "a.example" {
					out.Pages = 2
				} else if tt.cmd.Site != "" {
					out.Pages = 0
				}
				if tt.cmd.Site != "" && len(asked) == 2 {
					out.Workflow = &api.WorkflowLink{URL: "http://ui/delete"}
				}
				return out
			})
			var out strings.Builder
			err := tt.cmd.run(t.Context(), Client{URL: url}, strings.NewReader(tt.input), &out)
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tt.err)
			}
			require.Equal(t, tt.asked, asked)
			require.Equal(t, tt.says, out.String())
		})
	}
}

func TestPrintSearchStats(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	require.NoError(t, printSearchStats(&b, apisearch.SearchStats{
		Engine: "postgres", Pages: 10, Stored: 12, Waiting: 1, Refused: 2, Terms: 300, Bytes: 20480, Segments: 4,
		Sites: []apisearch.SearchCount{{Value: "a.example", Pages: 9}, {Value: "b.example", Pages: 1}},
	}))
	require.Equal(t, `engine    postgres
pages     10 found, 12 stored
messages  1 being stored, 2 refused
terms     300
size      20.0 kB, 2.0 kB a page
segments  4
sites     a.example 9
          b.example 1
`, b.String())
}

func TestReindexLine(t *testing.T) {
	t.Parallel()
	for want, x := range map[string]apisearch.Reindex{
		"there was no re-index":                     {State: apisearch.ReindexNone, Total: 3},
		"re-index to postgres running: 0 of 1 page": {State: apisearch.ReindexRunning, To: "postgres", Total: 1},
		"re-index to opensearch failed: 2 of 3 pages, 1 refused: gone": {
			State: apisearch.ReindexFailed, To: "opensearch", Pages: 2, Total: 3, Failed: 1, Reason: "gone",
		},
		"re-index to postgres running: 5 of 9 pages, it was running already": {
			State: apisearch.ReindexRunning, To: "postgres", Pages: 5, Total: 9, Joined: true,
		},
	} {
		require.Equal(t, want, reindexLine(x))
	}
}

// A re-index that is waited for is watched until it ends; one that is not completed is exit code 1.
func TestReindexWait(t *testing.T) {
	t.Parallel()
	for _, state := range []string{apisearch.ReindexCompleted, apisearch.ReindexFailed} {
		began := time.Now()
		url := serve(t, func(ask string) any {
			if strings.HasPrefix(ask, "POST") {
				return apisearch.Reindex{State: apisearch.ReindexRunning}
			}
			return apisearch.Reindex{State: state}
		})
		err := run(t, url, "search", "reindex", "--wait")
		if state == apisearch.ReindexCompleted {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ExitError(1))
		}
		require.Less(t, time.Since(began), servicetest.Patience())
	}
}

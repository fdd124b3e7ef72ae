package search_test

import (
	"crypto/sha1" //nolint:gosec // parts the questions, no secret
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

// TestSearchQuestions asks what people ask, over small sites of one collection. Half of the questions, by their hash,
// are counted only: rules are made for those that are named here, and the others tell what the rules are worth.
func TestSearchQuestions(t *testing.T) {
	t.Parallel()

	for file, least := range map[string][2]int{
		"questions.txt":       {107, 118},
		"questions_sites.txt": {114, 110},
		"questions_typed.txt": {98, 103},
		"questions_words.txt": {31, 16},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			met, asked := askQuestions(t, "testdata/"+file)
			t.Logf("%d of %d, and %d of %d aside", met[0], asked[0], met[1], asked[1])
			require.GreaterOrEqual(t, met[0], least[0], "of %d", asked[0])
			require.GreaterOrEqual(t, met[1], least[1], "of %d aside", asked[1])
		})
	}
}

// askQuestions counts, by half, the questions of a file, and those that are answered as they should be.
func askQuestions(t *testing.T, file string) (met, asked [2]int) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	type question struct{ site, text, want string }
	var questions []question
	var pages []search.Incoming
	site := ""
	for line := range strings.Lines(string(text)) {
		switch kind, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " "); {
		case kind == "==":
			site = fmt.Sprintf("s%d.example", len(questions))
		case kind == "?":
			at := strings.LastIndex(rest, "=> ")
			questions = append(questions, question{site, rest[:at-1], strings.TrimSpace(rest[at+3:])})
		case strings.Trim(kind, "0123456789") == "" && kind != "":
			title, body, _ := strings.Cut(rest, " | ")
			language := "en"
			if code, after, _ := strings.Cut(title, " "); len(code) == 2 && strings.ToLower(code) == code {
				language, title = code, after
			}
			p := incoming(site, "/"+kind, title, body, len(pages))
			p.Language = language
			pages = append(pages, p)
		}
	}
	l := newLibrary(t)
	l.put(t, pages...)
	for _, q := range questions {
		half := sha1.Sum([]byte(q.text))[19] & 1 //nolint:gosec // as above
		r, err := l.index.Search(t.Context(), search.Query{Text: q.text, Sites: []string{q.site}, Limit: 20})
		require.NoError(t, err, q.text)
		asked[half]++
		if got := answered(r, q.want); got == "" {
			met[half]++
		} else if half == 0 {
			t.Logf("%s\n want %s, not %s", q.text, q.want, got)
		}
	}
	return met, asked
}

// answered is what the results are where they are not as they should be: see testdata/questions.txt.
func answered(r search.Results, want string) (got string) {
	var all, some []string
	for _, h := range r.Hits {
		n := h.URL[strings.LastIndexByte(h.URL, '/')+1:]
		if h.All {
			all = append(all, n)
		}
		some = append(some, n)
	}
	got = fmt.Sprintf("%s (all words: %d) corrected %q", strings.Join(some, ">"), len(all), r.Corrected)
	met := false
	switch {
	case strings.Contains(want, "["):
		if len(r.Hits) > 0 {
			h := r.Hits[0]
			got = inBrackets(h.Title, h.Marks) + " | " + inBrackets(h.Snippet.Text, h.Snippet.Marks)
			met = strings.Contains(got, want)
		}
	case strings.HasPrefix(want, "="):
		slices.Sort(all)
		met = strings.Join(all, ",") == want[1:]
	case strings.Contains(want, ","):
		n := min(strings.Count(want, ",")+1, len(some))
		slices.Sort(some[:n])
		met = strings.Join(some[:n], ",") == want
	default:
		n := min(strings.Count(want, ">")+1, len(some))
		met = strings.Join(some[:n], ">") == want
	}
	if met {
		return ""
	}
	return got
}

// inBrackets is a text with its marks in brackets.
func inBrackets(text string, marks []search.Range) string {
	runes := []rune(text)
	var b strings.Builder
	at := 0
	for _, m := range marks {
		b.WriteString(string(runes[at:m.Start]) + "[" + string(runes[m.Start:m.End]) + "]")
		at = m.End
	}
	return b.String() + string(runes[at:])
}

package search_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/search"
)

func day(d int) time.Time { return time.Date(2026, 10, d, 12, 0, 0, 0, time.UTC) }

// few are pages that each row of TestRank looks for.
func few() []search.Page {
	page := func(id int64, d search.Document) search.Page { return search.Page{ID: id, Document: d} }
	return []search.Page{
		page(1, search.Document{URL: "https://shoes.example/running", Site: "shoes.example", Title: "Running shoes",
			Headings: []string{"For the road"}, Text: "light shoes for long runs on the road", Language: "en", Type: "html", CrawledAt: day(1)}),
		page(2, search.Document{URL: "https://blog.shoes.example/a", Site: "blog.shoes.example", Title: "A diary",
			Text: "today I ran in the road; my shoes are red and the sky is blue", Language: "en", Type: "html", CrawledAt: day(2)}),
		page(3, search.Document{URL: "https://chaussures.example/economie", Site: "chaussures.example", Title: "Économies",
			Text: "les chaussures rouges font des économies sur la route", Language: "fr", Type: "html", CrawledAt: day(3)}),
		page(4, search.Document{URL: "https://code.example/foo.pdf", Site: "code.example", Title: "",
			Text: "call foo_bar in a.b.c then foo bar", Language: "", Type: "pdf", CrawledAt: day(4)}),
		page(5, search.Document{URL: "https://東京.example/", Site: "xn--1lqs71d.example", Title: "東京大学",
			Text: "東京大学の学生", Language: "ja", Type: "html", CrawledAt: day(5)}),
		page(6, search.Document{URL: "https://mirror.example/a", Site: "mirror.example", Title: "A diary",
			Text: "Today I ran in the road. My shoes are red, and the sky is blue!", Language: "en", Type: "html", CrawledAt: day(6)}),
	}
}

func TestRank(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name, text string
		query      search.Query
		want       []int64 // in order
		all        int     // of them have all words
	}{
		{name: "a word", text: "road", want: []int64{1, 6}, all: 2},
		{name: "title before body", text: "shoes", want: []int64{1, 2}, all: 2},
		{name: "all words before some", text: "red road", want: []int64{6, 1}, all: 1},
		{name: "a stem", text: "run", want: []int64{1}, all: 1},
		{name: "a stem in another form", text: "runs", want: []int64{1}, all: 1},
		{name: "accents, another form", text: "economie", want: []int64{3}, all: 1},
		{name: "a word of the address", text: "chaussures", want: []int64{3}, all: 1},
		{name: "a phrase", text: `"foo bar"`, want: []int64{4}, all: 1},
		{name: "a phrase that is none", text: `"shoes light"`},
		{name: "a phrase across fields", text: `"road light"`},
		{name: "a phrase of stop words", text: `"in the"`, want: []int64{6}, all: 1},
		{name: "only stop words", text: `the in`, want: []int64{6, 1, 4}, all: 1},
		{name: "stop words do not count", text: `in the road`, want: []int64{1, 6}, all: 2},
		{name: "an identifier", text: "foo_bar", want: []int64{4}, all: 1},
		{name: "a part of one", text: "foo", want: []int64{4}, all: 1},
		{name: "negated", text: "road -diary", want: []int64{1}, all: 1},
		{name: "only negated", text: "-road", want: []int64{5, 4, 3}, all: 3},
		{name: "only negated phrase", text: `-"the road" -東京`, want: []int64{4, 3}, all: 2},
		{name: "title", text: "intitle:diary road", want: []int64{6}, all: 1},
		{name: "title, elsewhere", text: "intitle:road"},
		{name: "a phrase in the title", text: `intitle:"running shoes"`, want: []int64{1}, all: 1},
		{name: "prefix", text: "chauss*", want: []int64{3}, all: 1},
		{name: "prefix of several", text: "r* road", want: []int64{1, 6, 3}, all: 2},
		{name: "Chinese characters", text: "東京大学", want: []int64{5}, all: 1},
		{name: "site and subdomains", text: "shoes site:shoes.example", want: []int64{1, 2}, all: 2},
		{name: "not a site", text: "shoes -site:shoes.example", want: []int64{6}, all: 1},
		{name: "language", text: "lang:fr", want: []int64{3}, all: 1},
		{name: "type", text: "foo type:html"},
		{name: "filters of the query", text: "shoes", query: search.Query{Sites: []string{"mirror.example"}}, want: []int64{6}, all: 1},
		{name: "from", text: "-zebra", query: search.Query{From: day(5)}, want: []int64{6, 5}, all: 2},
		{name: "to", text: "-zebra", query: search.Query{To: day(2)}, want: []int64{1}, all: 1},
		{name: "no such word", text: "zebra"},
		{name: "one that is and one that is not", text: "zebra sky", want: []int64{6}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newIndex(t)
			x.add(few()...)
			r := x.rank(parse(t, tt.text), tt.query)
			hits, more := r.Hits(nil, 100)
			var got []int64
			all := 0
			for _, h := range hits {
				got = append(got, h.ID)
				if h.All {
					all++
				}
			}
			if !slices.Equal(got, tt.want) || all != tt.all || more || r.Total != len(got) {
				t.Errorf("%q finds %v, %d with all words, total %d; want %v, %d", tt.text, got, all, r.Total, tt.want, tt.all)
			}
		})
	}
}

// Words that signs join in a query come first where they stand in that row, not where titles have them.
func TestRankRows(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	page := func(id int64, title, text string) search.Page {
		return search.Page{ID: id, Document: search.Document{Title: title, Text: text}}
	}
	x.add(page(1, "Install", "run npm install @angular/core and edit /etc/app/app.conf"),
		page(2, "The core of Angular", "what the core of Angular is, and the app.conf for an app of etc"))
	for text, want := range map[string]int64{"@angular/core": 1, "angular core": 2, "/etc/app/app.conf": 1} {
		hits, _ := x.rank(parse(t, text), search.Query{Text: text}).Hits(nil, 2)
		if len(hits) != 2 || hits[0].ID != want {
			t.Errorf("%s finds %+v", text, hits)
		}
	}
	score := func(text string) float32 {
		hits, _ := x.rank(parse(t, text), search.Query{Text: text}).Hits(nil, 1)
		return hits[0].Score
	}
	if once, twice := score("@angular/core"), score("@angular/core @angular/core"); once != twice {
		t.Errorf("a row counts %v, and twice %v", once, twice)
	}
}

// Words that are acronyms in small letters, or none, put pages first that have them: answers are those of the others.
func TestRankAcronyms(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	for id, text := range []string{"exports", "US exports fell", "exports, they told us of", "us", "the exports of a country",
		"call the IT department", "a department, and it is large", "a department", "a fixit of tools", "fix the tools"} {
		x.add(search.Page{ID: int64(id), Document: search.Document{Text: text, CrawledAt: day(1 + id)}})
	}
	for _, tt := range []struct {
		text  string
		first int64
		all   []int64
	}{
		{"us exports", 1, []int64{0, 1, 2, 4}}, {"exports", 0, []int64{0, 1, 2, 4}}, {"who exports", 0, []int64{0, 1, 2, 4}},
		{"it department", 5, []int64{5, 6, 7}}, {`it "department"`, 5, []int64{5, 6, 7}},
		{"us", 3, []int64{1, 2, 3}}, {"us -exports", 3, []int64{3}},
		{"fix-it", 8, []int64{8}},
	} {
		r := x.rank(parse(t, tt.text), search.Query{Text: tt.text})
		hits, _ := r.Hits(nil, 9)
		var got []int64
		for _, h := range hits {
			got = append(got, h.ID)
			require.True(t, h.All, tt.text)
		}
		require.Equal(t, tt.first, got[0], tt.text)
		require.ElementsMatch(t, tt.all, got, tt.text)
		require.Equal(t, len(tt.all), r.Total, tt.text)
	}
}

// A word with a hyphen is found where it is written as one word: as a whole, not by its parts.
func TestRankJoined(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	page := func(id int64, language, text string) {
		x.add(search.Page{ID: id, Document: search.Document{Text: text, Language: language, CrawledAt: day(1)}})
	}
	page(1, "fr", "un weekend à la campagne")
	page(2, "en", "two weekends away from home")
	page(3, "fr", "un week-end à la campagne, sans les voisins")
	page(4, "en", "by the end of the year, once a week, we meet at the office")
	page(5, "de", "das weekend ist kurz")
	page(6, "en", "an end of it")
	for _, c := range []struct {
		text      string
		all, some []int64
	}{
		{"week-end", []int64{1, 2, 3, 4, 5}, []int64{6}},
		{"weekend", []int64{1, 2, 3, 5}, nil},
		{"week-ends voisins", []int64{3}, []int64{1, 2, 4, 5, 6}},
		{"campagne -week-end", nil, nil},
	} {
		hits, _ := x.rank(parse(t, c.text), search.Query{}).Hits(nil, 10)
		var all, some []int64
		for _, h := range hits {
			if h.All {
				all = append(all, h.ID)
			} else {
				some = append(some, h.ID)
			}
		}
		slices.Sort(all)
		slices.Sort(some)
		if !slices.Equal(all, c.all) || !slices.Equal(some, c.some) {
			t.Errorf("%q finds %v, and %v by some words; want %v and %v", c.text, all, some, c.all, c.some)
		}
	}
	if hits, _ := x.rank(parse(t, "week-end"), search.Query{}).Hits(nil, 10); hits[4].ID != 4 {
		t.Errorf("words that stand apart come before one: %v", hits)
	}
}

// A letter that says nothing as a word does not leave the rest of its word to be looked for alone.
func TestRankLastLetter(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	x.add(search.Page{ID: 1, Document: search.Document{Text: "carrots have vitamin-a", CrawledAt: day(1)}},
		search.Page{ID: 2, Document: search.Document{Text: "a vitamin is a vitamin", CrawledAt: day(1)}},
		search.Page{ID: 3, Document: search.Document{Text: "Vitamin A deficiency", CrawledAt: day(1)}})
	for text, want := range map[string][]int64{"vitamin-a": {1, 3}, "vitamin -vitamin-a": {2}} {
		hits, _ := x.rank(parse(t, text), search.Query{}).Hits(nil, 10)
		var found []int64
		for _, h := range hits {
			found = append(found, h.ID)
		}
		slices.Sort(found)
		if !slices.Equal(found, want) {
			t.Errorf("%q finds %v, want %v", text, found, want)
		}
	}
}

// The title that is a word with a hyphen is the whole question; one that has it as one word beside another is not.
func TestRankJoinedTitle(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	page := func(id int64, title, text string) {
		x.add(search.Page{ID: id, Document: search.Document{Title: title, Text: text, Language: "en", CrawledAt: day(1)}})
	}
	page(1, "Free wifi", "in the lobby")
	page(2, "Wi-fi", "in the lobby")
	page(3, "Free wi-fi", "in the lobby")
	page(4, "Free parking", "in the lobby")
	scores := map[int64]float32{}
	for _, text := range []string{"wi-fi", "wifi"} {
		hits, _ := x.rank(parse(t, text), search.Query{}).Hits(nil, 10)
		if len(hits) != 3 || hits[0].ID != 2 {
			t.Errorf("%q finds %v", text, hits)
		}
		if text == "wi-fi" {
			for _, h := range hits {
				scores[h.ID] = h.Position.Score
			}
		}
	}
	if scores[1] > scores[3] {
		t.Errorf("wi-fi as one word counts for more than with its hyphen: %v", scores)
	}
}

func TestDuplicatesAndFacets(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	x.add(few()...)
	r := x.rank(parse(t, "shoes chaussures"), search.Query{})
	hits, _ := r.Hits(nil, 100)
	for _, h := range hits {
		if want := map[int64]int{2: 1}[h.ID]; h.Duplicates != want {
			t.Errorf("page %d has %d duplicates, want %d", h.ID, h.Duplicates, want)
		}
	}
	want := search.Facets{
		Sites:     []search.Count{{Value: "blog.shoes.example", Pages: 1}, {Value: "chaussures.example", Pages: 1}, {Value: "shoes.example", Pages: 1}},
		Languages: []search.Count{{Value: "en", Pages: 2}, {Value: "fr", Pages: 1}},
		Types:     []search.Count{{Value: "html", Pages: 3}},
		Months:    []search.Count{{Value: "2026-10", Pages: 3}},
	}
	assert.Equal(t, want, *r.Facets())
}

// TestCorrections finds what was typed otherwise, behind what was typed so.
func TestCorrections(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	x.add(few()...)
	p := search.NewPlan(parse(t, "raod diary"), search.Query{})
	require.Equal(t, []int{0, 1}, p.Words())
	r, err := search.Rank(x.snapshot(), p, x.rows(p.Terms()))
	if err != nil || r.Found(0) != 0 || r.Found(1) != 2 || r.Total != 1 {
		t.Fatalf("found %d and %d, total %d, %v", r.Found(0), r.Found(1), r.Total, err)
	}
	p.Also(0, "road")
	r, err = search.Rank(x.snapshot(), p, x.rows(p.Terms()))
	if err != nil || r.Found(0) != 3 || r.Total != 2 {
		t.Errorf("found %d, total %d, %v", r.Found(0), r.Total, err)
	}
	if hits, _ := r.Hits(nil, 10); len(hits) != 2 || hits[0].ID != 6 || !hits[0].All || hits[1].All {
		t.Errorf("hits %v", hits)
	}
}

// TestAfford leaves the commonest words out.
func TestAfford(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	x.add(few()...)
	p := search.NewPlan(parse(t, `road diary "blue sky"`), search.Query{})
	p.Afford(map[string]search.Size{"road": {Postings: 100_000_000}, "diary": {Postings: 10}})
	if terms := p.Terms(); slices.Contains(terms, "road") || !slices.Contains(terms, "diary") || !slices.Contains(terms, "sky") {
		t.Errorf("terms %v", terms)
	}
	rows := x.rows(p.Terms())
	x.positions(rows, func(row search.Posted) bool { return slices.Contains(p.Positions(), row.Term) })
	if r, err := search.Rank(x.snapshot(), p, rows); err != nil || !r.AtLeast {
		t.Errorf("not at least, or %v", err)
	}
	p = search.NewPlan(parse(t, "road"), search.Query{})
	p.Afford(map[string]search.Size{"road": {Postings: 100_000_000}})
	if terms := p.Terms(); !slices.Contains(terms, "road") {
		t.Errorf("terms %v: the only word is left out", terms)
	}
	p = search.NewPlan(parse(t, "us road"), search.Query{}) // no answer needs us
	p.Afford(map[string]search.Size{"road": {Postings: 90_000_000}, "us": {Postings: 20_000_000}})
	require.Contains(t, p.Terms(), "road")
	require.NotContains(t, p.Terms(), "us")
	r, err := search.Rank(x.snapshot(), p, x.rows(p.Terms()))
	require.NoError(t, err)
	require.False(t, r.AtLeast)
	require.NotZero(t, r.Total)
}

// TestAffordLong leaves so many of the commonest words of a long question out that the rest is bounded, whatever it
// asks for, and never the rare ones.
func TestAffordLong(t *testing.T) {
	t.Parallel()

	var text strings.Builder
	sizes := map[string]search.Size{}
	for i := range 20 {
		word := fmt.Sprintf("w%02d", i)
		text.WriteString(word + " ")
		sizes[word] = search.Size{Postings: int64(i) * 100_000}
	}
	p := search.NewPlan(parse(t, text.String()), search.Query{})
	p.Afford(sizes)
	read := int64(0)
	for _, term := range p.Terms() {
		read += sizes[term].Postings
	}
	if read > 3_000_000 || read < 2_000_000 {
		t.Errorf("%d bytes are read of %d words", read, len(p.Words()))
	}
	assert.Equal(t, []int{0, 1, 2, 3, 4, 5, 6, 7}, p.Words())
}

// TestNearTogether asks for positions where one of the best answers has two words, and nowhere else.
func TestNearTogether(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	page := func(id int64, text string) search.Page {
		return search.Page{ID: id, Document: search.Document{Text: text, Language: "en"}}
	}
	x.add(page(1, "a zebra on a road"), page(2, "a giraffe"))
	x.add(page(3, "a zebra"), page(4, "a road"))
	x.add(page(5, "a road to a giraffe"), page(6, "some zebra"))
	p := search.NewPlan(parse(t, "zebra road giraffe"), search.Query{})
	r, err := search.Rank(x.snapshot(), p, x.rows(p.Terms()))
	if err != nil || r.Total != 6 {
		t.Fatalf("%d answers, %v", r.Total, err)
	}
	got := map[string]bool{} // segments with the first letters of words and stems
	for _, n := range r.Near() {
		got[fmt.Sprint(n.Segment, strings.TrimPrefix(n.Term, "en:")[:1])] = true
	}
	assert.Equal(t, map[string]bool{"1z": true, "1r": true, "3r": true, "3g": true}, got)
}

// TestRecount counts only what corrections have changed, and answers as if they had been there from the beginning.
func TestRecount(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	x.add(few()...)
	const text = "raod diary shoes"
	p := search.NewPlan(parse(t, text), search.Query{})
	r, err := search.CountWords(x.snapshot(), p, x.rows(p.Terms()))
	if err != nil || r.Found(0) != 0 || r.Found(1) != 2 || r.Found(2) != 3 {
		t.Fatalf("found %d, %d, %d, %v", r.Found(0), r.Found(1), r.Found(2), err)
	}
	p.Also(0, "road")
	require.NoError(t, r.Recount(x.rows([]string{"road", "en:road", "fr:road"})))
	if r.Found(0) != 3 || r.Found(1) != 2 || r.Found(2) != 3 {
		t.Errorf("found %d, %d, %d", r.Found(0), r.Found(1), r.Found(2))
	}
	require.NoError(t, r.Answer())
	anew := search.NewPlan(parse(t, text), search.Query{})
	anew.Also(0, "road")
	want, err := search.Rank(x.snapshot(), anew, x.rows(anew.Terms()))
	require.NoError(t, err)
	if !reflect.DeepEqual(all(r), all(want)) || r.Total == 0 {
		t.Errorf("answers %v, want %v", all(r), all(want))
	}
}

// TestAffordPhrases looks for a phrase without its commonest words, where those that are left have to stand.
func TestAffordPhrases(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		text  string
		terms []string
		want  int
	}{
		{`"ran in the road"`, []string{"ran", "road"}, 1},
		{`"shoes in the blue"`, []string{"blue", "shoes"}, 0},
		{`"in the" "sky is blue"`, []string{"blue", "is", "sky"}, 1},
		{`"in the"`, []string{"in", "the"}, 1},
	} {
		x := newIndex(t)
		x.add(few()...)
		p := search.NewPlan(parse(t, tt.text), search.Query{})
		p.Afford(map[string]search.Size{"the": {Positions: 100_000_000}, "in": {Positions: 50_000_000}, "is": {Postings: 10}})
		if terms := p.Terms(); !slices.Equal(terms, tt.terms) {
			t.Errorf("%s: terms %v", tt.text, terms)
		}
		rows := x.rows(p.Terms())
		x.positions(rows, func(search.Posted) bool { return true })
		r, err := search.Rank(x.snapshot(), p, rows)
		if err != nil || r.Total != tt.want || r.AtLeast != (len(tt.terms) < 4 && tt.text != `"in the"`) {
			t.Errorf("%s: total %d, at least: %v, %v", tt.text, r.Total, r.AtLeast, err)
		}
	}
}

// TestRelaxed shows pages with some of the words only where fewer than a hundred have all.
func TestRelaxed(t *testing.T) {
	t.Parallel()

	for _, n := range []int{99, 100} {
		x := newIndex(t)
		var pages []search.Page
		for i := range n {
			pages = append(pages, search.Page{ID: int64(i), Document: search.Document{Text: fmt.Sprintf("red road %d", i)}})
		}
		for i := range 50 {
			pages = append(pages, search.Page{ID: int64(1000 + i), Document: search.Document{Text: fmt.Sprintf("road %d", 1000+i)}})
		}
		x.add(pages[:60]...)
		x.add(pages[60:]...)
		r := x.rank(parse(t, "red road"), search.Query{})
		if want := n + 50*(100-n); r.Total != want || r.Relaxed != (n < 100) {
			t.Errorf("%d with all words: total %d, relaxed %v; want %d", n, r.Total, r.Relaxed, want)
		}
		got := all(r)
		if len(got) != r.Total || slices.ContainsFunc(got[:n], func(h search.Ranked) bool { return !h.All }) {
			t.Errorf("%d with all words: %d hits, or not those with all words first", n, len(got))
		}
	}
}

// TestNear puts first the page where the words are together.
func TestNear(t *testing.T) {
	t.Parallel()

	x := newIndex(t)
	filler := strings.Repeat("lorem ipsum ", 30)
	x.add(search.Page{ID: 1, Document: search.Document{Text: "solar panel " + filler + "end"}},
		search.Page{ID: 2, Document: search.Document{Text: "solar " + filler + "panel end"}},
		search.Page{ID: 3, Document: search.Document{Text: "unlike " + filler + "things"}})
	if hits, _ := x.rank(parse(t, "solar panel"), search.Query{}).Hits(nil, 10); len(hits) != 2 || hits[0].ID != 1 {
		t.Errorf("hits %v", hits)
	}
}

// The page whose whole title is the question comes before others that repeat its words.
func TestWholeTitle(t *testing.T) {
	t.Parallel()

	page := func(id int64, title, text string) search.Page {
		return search.Page{ID: id, Document: search.Document{Title: title, Text: text, Language: "en", CrawledAt: day(1)}}
	}
	filler := strings.Repeat("a page of the manual about something else entirely ", 30)
	pages := []search.Page{
		page(1, "Creating custom events", "See the reference. "+filler),
		page(2, "Events", "Creating custom events: custom events are events. "+strings.Repeat("creating custom events ", 10)),
		page(3, "Creating custom events for custom targets", strings.Repeat("creating custom events ", 5)),
		page(4, "How to create events", "custom events are explained elsewhere"),
	}
	for id := int64(5); id < 30; id++ {
		pages = append(pages, page(id, "Manual", filler+fmt.Sprint(id)))
	}
	x := newIndex(t)
	x.add(pages...)
	for text, want := range map[string]int64{
		"creating custom events":                    1,
		"Custom events, creating":                   1,
		"how to create events":                      4,
		`"creating custom events"`:                  2,
		"creating custom events for custom targets": 3,
	} {
		hits, _ := x.rank(parse(t, text), search.Query{}).Hits(nil, 10)
		if len(hits) == 0 || hits[0].ID != want {
			t.Errorf("%q finds %v first, want page %d", text, hits, want)
		}
	}
}

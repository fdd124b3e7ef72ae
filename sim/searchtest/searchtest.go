// Package searchtest holds every search.Engine to the same assertions.
package searchtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// A Store keeps versions of pages as the store of record does, and returns them with their IDs and revisions: one ID a
// URL, and a larger revision with each call.
type Store func(ctx context.Context, docs []search.Document) ([]search.Page, error)

// at is when the pages of the tests were crawled.
var at = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// An index is an engine with the pages of one test.
type index struct {
	t      *testing.T
	engine search.Engine
	store  Store
	ids    map[string]int64 // by URL
}

// EngineTest runs the assertions, each over an engine of its own, which open returns without pages.
func EngineTest(t *testing.T, open func(t *testing.T) (search.Engine, Store)) {
	t.Helper()
	for name, f := range map[string]func(*index){
		"empty": testEmpty, "words": testWords, "queries": testQueries, "languages": testLanguages,
		"relaxed": testRelaxed, "typing errors": testTypingErrors, "filters": testFilters, "facets": testFacets,
		"pages of results": testPaging, "duplicates": testDuplicates, "revisions": testRevisions, "marks": testMarks,
		"suggestions": testSuggest, "hostile": testHostile, "odd pages": testOddPages,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			engine, store := open(t)
			f(&index{t, engine, store, map[string]int64{}})
		})
	}
}

// doc is a page of example.org.
func doc(path, title, text string) search.Document {
	return search.Document{
		URL: "https://example.org/" + path, Site: "example.org", Title: title, Text: text, Language: "en", Type: "html",
		CrawledAt: at,
	}
}

func (x *index) add(docs ...search.Document) []search.Page {
	x.t.Helper()
	pages, err := x.store(x.t.Context(), docs)
	if err != nil {
		x.t.Fatal(err)
	}
	if err := x.engine.Index(x.t.Context(), pages); err != nil {
		x.t.Fatal(err)
	}
	for _, p := range pages {
		x.ids[p.URL] = p.ID
	}
	return pages
}

func (x *index) search(q search.Query) search.Results {
	x.t.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	r, err := x.engine.Search(x.t.Context(), q)
	if err != nil {
		x.t.Fatalf("%+v: %v", q, err)
	}
	return r
}

// paths are the ends of the addresses of hits, in order.
func paths(r search.Results) (out []string) {
	for _, h := range r.Hits {
		_, path, _ := strings.Cut(strings.TrimPrefix(h.URL, "https://"), "/")
		out = append(out, path)
	}
	return out
}

// finds asserts which pages a query finds, in any order.
func (x *index) finds(query string, want ...string) {
	x.t.Helper()
	x.findsBy(search.Query{Text: query}, want...)
}

func (x *index) findsBy(q search.Query, want ...string) {
	x.t.Helper()
	r := x.search(q)
	got := paths(r)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || r.Total != len(want) {
		x.t.Errorf("%+v finds %q, %d in all; expected %q", q, got, r.Total, want)
	}
}

func testEmpty(x *index) {
	r := x.search(search.Query{Text: "anything", Facets: true})
	if len(r.Hits) != 0 || r.Total != 0 || r.Next != nil || r.Facets == nil {
		x.t.Errorf("got %+v", r)
	}
	if got, err := x.engine.Suggest(x.t.Context(), "any", 5); len(got) != 0 || err != nil {
		x.t.Errorf("suggests %q, %v", got, err)
	}
	if err := x.engine.Remove(x.t.Context(), []int64{1, 2}); err != nil {
		x.t.Error(err)
	}
	if s, err := x.engine.Stats(x.t.Context()); err != nil || s.Pages != 0 || s.Engine == "" {
		x.t.Errorf("stats %+v, %v", s, err)
	}
}

func testWords(x *index) {
	headings := doc("headings", "Third", "nothing here")
	headings.Headings = []string{"Before", "Migrating whales"}
	x.add(
		doc("title", "Whales of the north", "large animals in cold water"),
		doc("body", "Second", strings.Repeat("some other words come first ", 30)+"and then whales"),
		headings, doc("whales/address", "Fourth", "only the address says it"),
		doc("none", "Fifth", "birds and fish"),
	)
	x.finds("whales", "title", "body", "headings", "whales/address")
	x.finds("WHALES", "title", "body", "headings", "whales/address")
	if got := paths(x.search(search.Query{Text: "whales"})); got[0] != "title" {
		x.t.Errorf("the title should count most: %q", got)
	}
	stats, err := x.engine.Stats(x.t.Context())
	if err != nil || stats.Pages != 5 || !slices.Equal(stats.Sites, []search.Count{{Value: "example.org", Pages: 5}}) {
		x.t.Errorf("stats %+v, %v", stats, err)
	}
}

func testQueries(x *index) {
	x.add(
		doc("order", "One", "the quick brown fox jumps over the lazy dog"),
		doc("other", "Two", "the brown dog is quick, and the fox sleeps"),
		doc("title", "Brown bears", "they sleep in the winter"),
		doc("code", "Three", "call parse_query in pkg.reader before runTimer stops"),
	)
	x.finds(`"quick brown fox"`, "order")
	x.finds("brown -fox", "title")
	x.finds(`brown -"quick brown"`, "other", "title")
	x.finds("intitle:brown", "title")
	x.finds("qui*", "order", "other")
	x.finds("parse_query", "code")
	x.finds("query", "code")
	x.finds("pkg.reader", "code")
	x.finds(`"parse query"`, "code")
	x.finds("-brown", "code")
	x.add(doc("telephone", "Sixth", "a shop of AT&T"), doc("letters", "Seventh", "T, or B; at most R"))
	x.finds("AT&T", "telephone")
	x.add(doc("hyphen", "A week-end", "the hotel has wi-fi"), doc("whole", "A weekend", "this hotel has wifi"))
	x.finds("hotel -wi-fi")
	for _, q := range []string{"week-end", "weekend", "Week-Ends", "wi-fi", "wifi", "intitle:week-end", "hotel wi-fi"} {
		x.finds(q, "hyphen", "whole")
	}
	r := x.search(search.Query{Text: "wi-fi week-end"})
	for _, h := range r.Hits {
		title, text := marked(x, h.Title, h.Marks), marked(x, h.Snippet.Text, h.Snippet.Marks)
		if !h.All || len(title) == 0 || len(text) == 0 {
			x.t.Errorf("%q and %q are marked in %q: %+v", title, text, h.Snippet.Text, h)
		}
	}
	x.add(doc("vitamin", "Vitamin C", "of an orange"))
	x.finds("vitamin-c", "vitamin")
	host := doc("host", "A port", "its pilots are at www.port.example")
	host.URL, host.Site = "https://www.host.example/host", "www.host.example"
	x.add(host)
	for _, q := range []string{"www.host.example", "host.example", "www.port.example", "port.example"} {
		x.finds(q, "host")
	}
	hyphens := doc("hyphens", "A town", "its mayor")
	hyphens.URL, hyphens.Site = "https://www.foo-bar.example/hyphens", "www.foo-bar.example"
	x.add(hyphens)
	for _, q := range []string{"www.foo-bar.example", "WWW.foo-bar.example mayor", "foo-bar.example"} {
		if r := x.search(search.Query{Text: q}); len(r.Hits) != 1 || !r.Hits[0].All || r.Hits[0].URL != hyphens.URL {
			x.t.Errorf("%s finds %q, %+v", q, paths(r), r)
		}
	}
	var pairs []string
	for i := range search.MaxClauses / 2 {
		pairs = append(pairs, fmt.Sprintf("ab%d-cd%d", i, i))
	}
	x.finds("site:nowhere.example " + strings.Join(pairs, " ")) // its words are many
}

func testLanguages(x *index) {
	french := doc("fr", "Économie régionale", "les marchés d'une région et l'eau des rivières")
	french.Language = "fr"
	chinese := doc("zh", "东京", "東京都に住んでいます。北京大学")
	chinese.Language = "ja"
	hebrew := doc("he", "שלום", "שלום עולם")
	hebrew.Language = "he"
	x.add(french, chinese, hebrew, doc("en", "Rivers", "the market was running near running rivers; a café"))
	x.finds("run market", "en")
	x.finds("cafe", "en")
	x.finds("marché", "fr")
	x.finds("regions", "fr")
	x.finds("eau", "fr")
	x.finds("economie", "fr")
	x.finds("東京", "zh")
	x.finds("大学", "zh")
	x.finds("עולם", "he")
	russian, greek := doc("ru", "Район", "ёлка; її"), doc("el", "Σπίτι", "Αθήνας")
	arabic := doc("ar", "إيجار", "أحمد ٣٤ كتاب مدرسة")
	russian.Language, greek.Language, arabic.Language = "ru", "el", "ar"
	signs := doc("signs", "Aujourd’hui", "une presqu'île, 4½ à $1,250, e-mail, O'Neill, U.S.A.")
	signs.Language = "fr"
	letters := doc("letters", "", "Hawaiʻi, Qurʾan, Saꞌa; aujourd´hui, presqu‛ile")
	x.add(russian, greek, arabic, signs, letters)
	for path, queries := range map[string][]string{
		"ru": {"район", "Ёлка", "її"}, "el": {"σπίτι", "ΑΘΗΝΑΣ", "Αθήνας"},
		"ar":      {"إيجار", "ايجار", "أحمد", "34", "ایجار", "کتاب", "مدرسه"},
		"letters": {"hawaii", "Hawai'i", "Hawaiʻi", "quran", "Qurʾan", "saa"},
		"signs":   {"4½", "$1,250", "1250", "e-mail", "O'Neill", "U.S.A.", "usa"},
	} {
		for _, q := range queries {
			x.finds(q, path)
		}
	}
	for _, q := range []string{"aujourd'hui", "aujourd´hui", "presqu'île", "presquʼile"} {
		x.finds(q, "signs", "letters")
	}
}

func testRelaxed(x *index) {
	x.add(
		doc("all", "One", "a heavy cellar door, and then much other text "+strings.Repeat("that says nothing at all ", 40)),
		doc("two", "Cellar door cellar door", "cellar door"),
		doc("one", "Door", "door"),
		doc("none", "Window", "window"),
	)
	r := x.search(search.Query{Text: "heavy cellar door"})
	got := paths(r)
	if len(got) < 2 || got[0] != "all" || !r.Hits[0].All || r.Hits[1].All || got[1] != "two" || !r.Relaxed {
		x.t.Errorf("got %q, %+v", got, r)
	}
	if slices.Contains(got, "none") {
		x.t.Errorf("got %q", got)
	}
	const sentence = "東京都に住んでいる大学生の生活費と家賃" // 19 characters without a space
	few, whole := doc("few", "", "京都の家賃"), doc("whole", "", "昨日は"+sentence+"を調べた")
	most := doc("most", "", "東京都に住んでいる大学生の生活"+strings.Repeat("日記である。", 20))
	x.add(most, few, whole, doc("neither", "", "北海道旅行"))
	r = x.search(search.Query{Text: sentence})
	if got := paths(r); len(got) < 2 || got[0] != "whole" || !r.Hits[0].All || got[1] != "most" || r.Hits[1].All ||
		slices.Contains(got, "neither") {
		x.t.Errorf("a sentence finds %q, %+v", got, r)
	}
	r = x.search(search.Query{Text: "door"})
	if r.Relaxed || len(r.Hits) != 3 || !r.Hits[2].All {
		x.t.Errorf("a query of one word is relaxed: %+v", r)
	}
	x.add(doc("car", "", "car rental"), doc("boat", "", "boat rental")) // "car" says nothing in French
	r = x.search(search.Query{Text: "car rental"})
	if got := paths(r); !slices.Equal(got, []string{"car", "boat"}) || !r.Hits[0].All || r.Hits[1].All {
		x.t.Errorf("car rental finds %q, %+v", got, r)
	}
	x.add(doc("c", "", "vitamin c from oranges"), doc("d", "", "vitamin d from the sun")) // so do letters
	for _, letter := range []string{"c", "d"} {
		r = x.search(search.Query{Text: "vitamin " + letter})
		if got := paths(r); len(got) != 2 || got[0] != letter || !r.Hits[0].All || r.Hits[1].All {
			x.t.Errorf("vitamin %s finds %q, %+v", letter, got, r)
		}
	}
}

func testTypingErrors(x *index) {
	x.add(doc("one", "Apartment", strings.Repeat("many other words come first ", 50)+"a large apartment near the lake"),
		doc("two", "House", "a house in the country"))
	r := x.search(search.Query{Text: "apartmant"})
	if got := paths(r); !slices.Equal(got, []string{"one"}) || !slices.Contains(r.Corrected, "apartment") {
		x.t.Errorf("got %q, corrected %q", got, r.Corrected)
	}
	if r.DidYouMean != "apartment" {
		x.t.Errorf("did you mean %q", r.DidYouMean)
	}
	for _, h := range r.Hits {
		title, text := marked(x, h.Title, h.Marks), marked(x, h.Snippet.Text, h.Snippet.Marks)
		if !slices.Equal(title, []string{"Apartment"}) || !slices.Equal(text, []string{"apartment"}) {
			x.t.Errorf("%q and %q are marked in %q", title, text, h.Snippet.Text)
		}
	}
	x.finds(`"apartmant"`)
	x.finds(`"houses"`)
	x.finds(`"houses" apartment`, "one") // a quoted word that no page has leaves the others
	r = x.search(search.Query{Text: "apartment"})
	if len(r.Corrected) != 0 || r.DidYouMean != "" {
		x.t.Errorf("a word that is there is corrected: %+v", r)
	}
	site := doc("site", "Garden", "an apartment with a garden")
	site.Site = "apartmant.example"
	x.add(site)
	r = x.search(search.Query{Text: "apartmant site:apartmant.example"})
	if r.DidYouMean != "apartment site:apartmant.example" {
		x.t.Errorf("did you mean %q", r.DidYouMean)
	}
	var docs []search.Document
	for i := range 25 {
		docs = append(docs, doc(fmt.Sprintf("horse%d", i), "Horse", fmt.Sprintf("a horse, the %dth", i)))
	}
	for i := range 4 {
		docs = append(docs, doc(fmt.Sprintf("stable%d", i), "Stable", fmt.Sprintf("a house for horses, the %dth", i)))
	}
	x.add(docs...)
	x.finds("intitle:house", "two") // it is a word of other pages, if not of their titles
}

func testFilters(x *index) {
	sub, other, pdf := doc("sub", "A", "word a"), doc("other", "B", "word b"), doc("file.pdf", "C", "word c")
	port, below := doc("port", "E", "word e"), doc("below", "F", "word f")
	sub.URL, sub.Site = "https://docs.example.org/sub", "docs.example.org"
	other.URL, other.Site = "https://notexample.org/other", "notexample.org"
	port.URL, port.Site = "https://example.org:8443/port", "example.org:8443"
	below.URL, below.Site = "https://docs.example.org:8443/below", "docs.example.org:8443"
	pdf.Type, pdf.Language, pdf.CrawledAt = "pdf", "fr", at.AddDate(0, -2, 0)
	x.add(sub, other, port, below, pdf, doc("plain", "D", "word d"))
	x.finds("word", "sub", "other", "port", "below", "file.pdf", "plain")
	x.finds("word site:example.org", "sub", "file.pdf", "plain")
	x.finds("word site:example.org:8443", "port", "below")
	x.finds("word -site:example.org", "other", "port", "below")
	x.finds("word -site:docs.example.org", "other", "port", "below", "file.pdf", "plain")
	x.finds("word type:pdf", "file.pdf")
	x.finds("word lang:fr", "file.pdf")
	x.finds("site:docs.example.org", "sub")
	x.findsBy(search.Query{Text: "word", Sites: []string{"docs.example.org", "notexample.org"}}, "sub", "other")
	x.findsBy(search.Query{Text: "word", Sites: []string{"example.org"}, Languages: []string{"fr"}}, "file.pdf")
	x.findsBy(search.Query{Text: "word", Types: []string{"html", "pdf"}, To: at.AddDate(0, -1, 0)}, "file.pdf")
	x.findsBy(search.Query{Text: "word", From: at.AddDate(0, -1, 0)}, "sub", "other", "port", "below", "plain")
	x.findsBy(search.Query{Text: "word", From: at, To: at})
	if got := paths(x.search(search.Query{Text: "-nothing"})); len(got) != 6 || got[5] != "file.pdf" {
		x.t.Errorf("without words the newest come first: %q", got)
	}
}

func testFacets(x *index) {
	sub, pdf := doc("sub", "A", "word a"), doc("file.pdf", "C", "word c")
	sub.URL, sub.Site = "https://docs.example.org/sub", "docs.example.org"
	pdf.Type, pdf.Language, pdf.CrawledAt = "pdf", "fr", at.AddDate(0, -2, 0)
	x.add(sub, pdf, doc("plain", "D", "word d"), doc("other", "E", "no match"))
	r := x.search(search.Query{Text: "word", Facets: true, Limit: 1})
	for _, tt := range []struct {
		name string
		got  []search.Count
		want []search.Count
	}{
		{"sites", r.Facets.Sites, []search.Count{{Value: "example.org", Pages: 2}, {Value: "docs.example.org", Pages: 1}}},
		{"languages", r.Facets.Languages, []search.Count{{Value: "en", Pages: 2}, {Value: "fr", Pages: 1}}},
		{"types", r.Facets.Types, []search.Count{{Value: "html", Pages: 2}, {Value: "pdf", Pages: 1}}},
		{"months", r.Facets.Months, []search.Count{{Value: "2026-11", Pages: 2}, {Value: "2026-09", Pages: 1}}},
	} {
		if !slices.Equal(tt.got, tt.want) {
			x.t.Errorf("%s: got %v, expected %v", tt.name, tt.got, tt.want)
		}
	}
	if r := x.search(search.Query{Text: "word"}); r.Facets != nil {
		x.t.Error("facets that were not asked for")
	}
}

func testPaging(x *index) {
	var docs []search.Document
	for i := range 25 {
		text := strings.Repeat("stone ", i%5+1) + fmt.Sprintf("number%d and more", i)
		docs = append(docs, doc(fmt.Sprintf("p%02d", i), "Page", text))
	}
	x.add(docs...)
	for _, query := range []string{"stone", "-nothing", "stone missingword"} {
		var seen []string
		q := search.Query{Text: query, Limit: 7}
		last := search.Hit{All: true, Score: 1e9}
		for range 10 {
			r := x.search(q)
			if r.Total != 25 {
				x.t.Errorf("%s: %d in all", query, r.Total)
			}
			for _, h := range r.Hits {
				if h.All && !last.All || h.All == last.All && h.Score > last.Score {
					x.t.Errorf("%s: %+v comes after %+v", query, h, last)
				}
				last = h
			}
			seen = append(seen, paths(r)...)
			if q.After = r.Next; r.Next == nil {
				break
			}
		}
		slices.Sort(seen)
		if n := len(slices.Compact(seen)); n != 25 || len(seen) != 25 {
			x.t.Errorf("%s: %d hits, %d different", query, len(seen), n)
		}
	}
}

func testDuplicates(x *index) {
	text := "the very same words about granite on every page"
	x.add(doc("a", "Granite", text), doc("b", "Granite", text), doc("c", "Granite", text), doc("d", "Other", "granite"))
	r := x.search(search.Query{Text: "granite", Limit: 1})
	if r.Total != 2 || len(r.Hits) != 1 || r.Next == nil {
		x.t.Fatalf("got %+v", r)
	}
	next := x.search(search.Query{Text: "granite", Limit: 1, After: r.Next})
	both := append(r.Hits, next.Hits...)
	if len(both) != 2 || both[0].Duplicates+both[1].Duplicates != 2 || next.Next != nil {
		x.t.Errorf("got %+v, then %+v", r, next)
	}
}

func testRevisions(x *index) {
	old := x.add(doc("page", "Old title", "ancient words"), doc("stays", "Stays", "other words"))
	changed := doc("page", "New title", "modern words")
	changed.CrawledAt = at.Add(time.Hour)
	now := x.add(changed)
	x.finds("ancient")
	x.finds("modern", "page")
	if err := x.engine.Index(x.t.Context(), old[:1]); err != nil { // it was overtaken
		x.t.Fatal(err)
	}
	x.finds("ancient")
	if err := x.engine.Index(x.t.Context(), now); err != nil { // again
		x.t.Fatal(err)
	}
	x.finds("modern", "page")
	x.finds("words", "page", "stays")
	if err := x.engine.Remove(x.t.Context(), []int64{x.ids["https://example.org/page"], 1 << 40}); err != nil {
		x.t.Fatal(err)
	}
	x.finds("modern")
	x.finds("words", "stays")
	if s, err := x.engine.Stats(x.t.Context()); err != nil || s.Pages != 1 {
		x.t.Errorf("stats %+v, %v", s, err)
	}
}

// marked are the parts of a text that ranges mark.
func marked(x *index, text string, ranges []search.Range) (out []string) {
	runes := []rune(text)
	for _, r := range ranges {
		if r.Start < 0 || r.End > len(runes) || r.Start >= r.End {
			x.t.Fatalf("range %v of %q", r, text)
		}
		out = append(out, string(runes[r.Start:r.End]))
	}
	return out
}

func testMarks(x *index) {
	long := strings.Repeat("Entre parenthèses, rien d'intéressant ici. ", 20)
	page := doc("fr", "Le café ☕ d'été", long+"Enfin les marchés d'été près\n\tdu café. "+long+"Voilà tout.")
	page.Language = "fr"
	x.add(page)
	h := x.search(search.Query{Text: "cafe marché"}).Hits[0]
	if got := marked(x, h.Title, h.Marks); h.Title != "Le café ☕ d'été" || !slices.Equal(got, []string{"café"}) {
		x.t.Errorf("title %q, marks %q", h.Title, got)
	}
	got := marked(x, h.Snippet.Text, h.Snippet.Marks)
	if !slices.Contains(got, "café") || !slices.Contains(got, "marchés") || strings.ContainsAny(h.Snippet.Text, "\n\t") {
		x.t.Errorf("snippet %q, marks %q", h.Snippet.Text, got)
	}
	if n := len([]rune(h.Snippet.Text)); n > 400 || !strings.HasPrefix(h.Snippet.Text, "…") ||
		!strings.HasSuffix(h.Snippet.Text, "…") {
		x.t.Errorf("snippet %q of %d characters", h.Snippet.Text, n)
	}
	if !h.CrawledAt.Equal(at) || h.Language != "fr" || h.Type != "html" || h.Site != "example.org" || h.ID == 0 {
		x.t.Errorf("got %+v", h)
	}
}

func testSuggest(x *index) {
	x.add(doc("a", "Mountains", "mountain hut"), doc("b", "Mountain", "the mountain"), doc("c", "Mouse", "a mouse"))
	got, err := x.engine.Suggest(x.t.Context(), "high mou", 2)
	if err != nil || len(got) != 2 || !strings.HasSuffix(got[0], "mountain") {
		x.t.Errorf("got %q, %v", got, err)
	}
	if got, err := x.engine.Suggest(x.t.Context(), ".*[", 2); err != nil || len(got) != 0 {
		x.t.Errorf("got %q, %v", got, err)
	}
}

func testHostile(x *index) {
	x.add(doc("a", "Words", "plain words"))
	for _, text := range []string{
		strings.Repeat("x", 10_000), strings.Repeat("word ", 5000), `"`, `""`, `"unbalanced`, "*", "-", "a*", "+ - * / \\",
		"\x00", "words\x00words", "'; DROP TABLE pages; --", "words OR 1=1", "(words AND (title:", "[a TO b]", "words~2^5",
		"\xff\xfe",
		strings.Repeat("a OR ", 1000), strings.Repeat("-w ", 500), "site:", "site:*", "lang:xx", "\u202ewords", "{}",
		"<script>",
		"$1 %s {{.}}", strings.Repeat("(", 1000), "🙂", "intitle:", `intitle:"`, "ﬁ ｗｏｒｄｓ", "",
	} {
		_, err := x.engine.Search(x.t.Context(), search.Query{Text: text, Limit: 10, Facets: true})
		if class, _ := fault.Of(err); err != nil && class != fault.Invalid {
			x.t.Errorf("%.40q: %v", text, err)
		}
		if _, err := x.engine.Suggest(x.t.Context(), text, 5); err != nil {
			x.t.Errorf("suggest %.40q: %v", text, err)
		}
	}
	x.finds("words", "a")
}

func testOddPages(x *index) {
	large := doc("large", "", strings.Repeat("lorem ipsum dolor sit amet ", 100_000)+"needle")
	empty, second := doc("empty", "", ""), doc("second", "", "")
	empty.Language, second.Language = "", ""
	x.add(large, empty, second, doc("marks", "A \ue000title\ue001", "with \ue000private\ue001 characters"))
	x.finds("needle", "large")
	x.finds("private", "marks")
	x.finds("-lorem", "empty", "second", "marks") // pages without text are no duplicates
}

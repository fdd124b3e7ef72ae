// Package search is the operations of the API on the index of pages.
package search

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dbsearch "github.com/mtlrent/conveyor/db/search"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/search"
)

// Search serves /search and /pages.
type Search struct {
	Engines map[string]search.Engine // all that pages are written to, by name
	Use     string                   // the one that answers queries
	Store   *dbsearch.Pages
	Launch  SearchStarter
	Audit   *db.AuditLog

	door *api.Door
}

// queryTimeout bounds the work of one query.
const queryTimeout = 5 * time.Second

// Register implements api.Part.
func (h Search) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Read, api.Within(queryTimeout, api.Query("search", "search", "GET /search",
		"Search pages", "Pages with all words come first; when there are few, pages with some of them follow. In q: words, "+
			"\"a phrase\", -without, begin*, site:example.org, -site:, lang:fr, type:pdf, intitle:word. Filters combine; one "+
			"that is given several times is any of its values. Pages of results are by position, not by number: pass next "+
			"as after. A q that cannot be answered is a 400.", 400))), h.search)
	api.Serve(d, api.Needs(access.Read, api.Within(queryTimeout, api.Query("search", "suggest", "GET /search/suggest",
		"Complete the last word of a query", "", 400))), h.suggest)
	api.Serve(d, api.Needs(access.Read, api.Op("search", "search-stats", "GET /search/stats",
		"Get the size of the search index", "")), h.stats)
	h.reindexing(d)
	h.pages(d)
}

// unanswerable is what is wrong with q. Its answer is a 400: the parameter has the right form, its text makes no query.
type unanswerable struct{ detail huma.ErrorDetail }

// Error implements error.
func (u unanswerable) Error() string { return u.detail.Error() }

// GetStatus implements huma.StatusError.
func (unanswerable) GetStatus() int { return http.StatusBadRequest }

// ErrorDetail implements huma.ErrorDetailer.
func (u unanswerable) ErrorDetail() *huma.ErrorDetail { return &u.detail }

// wrongQuery refuses a q that no engine is to see; none when it may be one.
func wrongQuery(q string) []error {
	message := ""
	switch {
	case !utf8.ValidString(q) || strings.ContainsRune(q, 0):
		message = "expected text in UTF-8 without NUL"
	case strings.TrimSpace(q) == "":
		message = "expected at least one word"
	default:
		return nil
	}
	return []error{unanswerable{huma.ErrorDetail{Message: message, Location: "query.q", Value: api.Shown(q)}}}
}

type searchInput struct {
	Q         string    `query:"q" doc:"what to look for; its first 2,000 characters count" example:"\"heat pump\" -used site:example.org"`
	Sites     []string  `query:"site,explode" maxItems:"50" doc:"any of these hosts, with their subdomains" example:"[\"example.org\"]"`
	Languages []string  `query:"lang,explode" maxItems:"50" doc:"any of these languages, ISO 639-1" example:"[\"fr\"]"`
	Types     []string  `query:"type,explode" maxItems:"50" doc:"any of these types: html, text, pdf, document, spreadsheet, presentation, data" example:"[\"html\"]"`
	From      time.Time `query:"from" doc:"crawled then or later, RFC 3339"`
	To        time.Time `query:"to" doc:"crawled before, RFC 3339"`
	Facets    bool      `query:"facets" doc:"also count the answers by site, language, type and month"`
	Limit     int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	After     string    `query:"after" maxLength:"400" doc:"next of the previous page, for the same query and filters"`

	query search.Query
}

// Resolve checks what a schema cannot express.
func (in *searchInput) Resolve(huma.Context) []error {
	in.query = search.Query{
		Text: in.Q, From: in.From.UTC(), To: in.To.UTC(), Facets: in.Facets, Limit: in.Limit,
	}
	if wrong := slices.Concat(wrongYear("query.from", in.From), wrongYear("query.to", in.To)); wrong != nil {
		return wrong // the rest names the query by its times
	}
	var sites, languages, types, after []error
	in.query.Sites, sites = eachOf("query.site", in.Sites, siteOf)
	in.query.Languages, languages = eachOf("query.lang", in.Languages, languageOf)
	in.query.Types, types = eachOf("query.type", in.Types, typeOf)
	var err error
	if in.query.After, err = parseSearchCursor(in.After, in.query); err != nil {
		after = []error{&huma.ErrorDetail{Message: err.Error(), Location: "query.after", Value: in.After}}
	}
	var times []error
	if !in.To.IsZero() && !in.From.Before(in.To) {
		times = []error{&huma.ErrorDetail{Message: "expected a time after from", Location: "query.to", Value: in.To}}
	}
	return slices.Concat(sites, languages, types, times, after, wrongQuery(in.Q)) // the status is that of the last one
}

// wrongYear refuses a time that RFC 3339 cannot tell in UTC.
func wrongYear(at string, t time.Time) []error {
	if contract.TimeFits(t) {
		return nil
	}
	return []error{&huma.ErrorDetail{Message: "expected a year from 1 to 9999, in UTC", Location: at, Value: t}}
}

// eachOf reads every value of a parameter at a place in the request.
func eachOf(at string, values []string, read func(string) (string, error)) (out []string, wrong []error) {
	for _, v := range values {
		s, err := read(v)
		if err != nil {
			wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: at, Value: api.Shown(v)})
		}
		out = append(out, s)
	}
	return out, wrong
}

func siteOf(s string) (string, error) {
	if host, ok := search.Site(s); ok {
		return host, nil
	}
	return "", errors.New("expected a host, such as example.org")
}

func languageOf(s string) (string, error) {
	if code := search.Language(s); code != "" {
		return code, nil
	}
	return "", errors.New("expected a language, such as fr")
}

func typeOf(s string) (string, error) {
	if s = strings.ToLower(strings.TrimSpace(s)); slices.Contains(search.Types, s) {
		return s, nil
	}
	return "", errors.New("expected one of " + strings.Join(search.Types, ", "))
}

// SearchAnswer is the answer of GET /search.
type SearchAnswer struct {
	Hits       []SearchHit   `json:"hits" doc:"the best first"`
	Total      int           `json:"total" doc:"pages that answer, each set of duplicates counted once"`
	AtLeast    bool          `json:"at_least" doc:"there may be more than total: counting would have taken too long"`
	Cut        bool          `json:"cut,omitempty" doc:"q is longer than what is looked for: its first 2,000 characters, and 32 words or phrases and 32 values of a filter of them"`
	Relaxed    bool          `json:"relaxed" doc:"few pages have all words: pages with some of them follow"`
	Corrected  []string      `json:"corrected,omitempty" doc:"words that were also looked for, as few pages have those of q"`
	DidYouMean string        `json:"did_you_mean,omitempty" doc:"a query that finds more"`
	Facets     *SearchFacets `json:"facets,omitempty" doc:"with facets=true"`
	Next       string        `json:"next,omitempty" doc:"pass it as after; absent on the last page"`
	TookMS     float64       `json:"took_ms" doc:"time that the engine took"`
}

// A SearchHit is one answer to a query.
type SearchHit struct {
	ID         int64         `json:"id" doc:"for GET /pages/{id}"`
	URL        string        `json:"url"`
	Title      string        `json:"title" doc:"may be empty"`
	TitleMarks []SearchMark  `json:"title_marks" doc:"the words of the query in title"`
	Snippet    SearchSnippet `json:"snippet"`
	Site       string        `json:"site"`
	Language   string        `json:"language,omitempty" doc:"ISO 639-1; absent where it is unknown"`
	Type       string        `json:"type"`
	CrawledAt  time.Time     `json:"crawled_at"`
	Score      float32       `json:"score" doc:"comparable within one query only"`
	AllWords   bool          `json:"all_words" doc:"the page has all words of the query"`
	Duplicates int           `json:"duplicates" doc:"pages of the same text that are not shown"`
}

// A SearchSnippet is the part of a page that answers best.
type SearchSnippet struct {
	Text  string       `json:"text" doc:"plain text in one line; … at an end: the page goes on there"`
	Marks []SearchMark `json:"marks" doc:"the words of the query in text"`
}

// A SearchMark is a part of a text.
type SearchMark struct {
	Start int `json:"start" doc:"in Unicode code points, not bytes or UTF-16 units"`
	End   int `json:"end" doc:"the first code point behind it"`
}

// SearchFacets count the answers by what they are.
type SearchFacets struct {
	Sites     []SearchCount `json:"sites" doc:"up to 20 values, the commonest first"`
	Languages []SearchCount `json:"languages"`
	Types     []SearchCount `json:"types"`
	Months    []SearchCount `json:"months" doc:"crawled then: 2026-11"`
}

// A SearchCount is how many pages have a value.
type SearchCount struct {
	Value string `json:"value"`
	Pages int    `json:"pages"`
}

func showMark(r search.Range) SearchMark { return SearchMark(r) }

func showCount(c search.Count) SearchCount { return SearchCount(c) }

func showFacets(f search.Facets) SearchFacets {
	return SearchFacets{
		Sites: api.Listed(f.Sites, showCount), Languages: api.Listed(f.Languages, showCount),
		Types: api.Listed(f.Types, showCount), Months: api.Listed(f.Months, showCount),
	}
}

func showHit(h search.Hit) SearchHit {
	return SearchHit{
		ID: h.ID, URL: h.URL, Title: h.Title, TitleMarks: api.Listed(h.Marks, showMark),
		Snippet: SearchSnippet{Text: h.Snippet.Text, Marks: api.Listed(h.Snippet.Marks, showMark)},
		Site:    h.Site, Language: h.Language, Type: h.Type, CrawledAt: h.CrawledAt, Score: h.Score, AllWords: h.All,
		Duplicates: h.Duplicates,
	}
}

func (h Search) search(ctx context.Context, in *searchInput) (*api.Body[SearchAnswer], error) {
	r, err := h.Engines[h.Use].Search(ctx, in.query)
	if err != nil {
		return nil, api.Asked("q", in.Q, err)
	}
	out := SearchAnswer{
		Hits: api.Listed(r.Hits, showHit), Total: r.Total, AtLeast: r.AtLeast, Relaxed: r.Relaxed, Corrected: r.Corrected,
		DidYouMean: r.DidYouMean, Facets: api.Maybe(r.Facets, showFacets), TookMS: milliseconds(r.Took),
	}
	if ask, err := search.Parse(in.Q); err == nil { // as each engine does
		out.Cut = ask.Cut
	}
	if r.Next != nil {
		out.Next = api.EncodeCursor(searchCursor{searchKey(in.query), *r.Next})
	}
	return api.BodyOf(out), nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

type suggestInput struct {
	Q     string `query:"q" doc:"the beginning of a query" example:"heat pu"`
	Limit int    `query:"limit" minimum:"1" maximum:"20" default:"10"`
}

// Resolve checks what a schema cannot express.
func (in *suggestInput) Resolve(huma.Context) []error { return wrongQuery(in.Q) }

// SearchSuggestions is the answer of GET /search/suggest.
type SearchSuggestions struct {
	Suggestions []string `json:"suggestions" doc:"words that the last one of q may be, the commonest first"`
}

func (h Search) suggest(ctx context.Context, in *suggestInput) (*api.Body[SearchSuggestions], error) {
	found, err := h.Engines[h.Use].Suggest(ctx, in.Q, in.Limit)
	return api.BodyOf(SearchSuggestions{append([]string{}, found...)}), api.Asked("q", in.Q, err)
}

// SearchStats is the answer of GET /search/stats.
type SearchStats struct {
	Engine   string        `json:"engine" enum:"postgres,opensearch"`
	Pages    int           `json:"pages" doc:"that can be found"`
	Stored   int           `json:"stored" doc:"pages that are kept, found or not"`
	Waiting  int           `json:"waiting" doc:"messages that are being stored"`
	Refused  int           `json:"refused" doc:"messages of the last day that can never be stored; they are dead letters"`
	Terms    int           `json:"terms,omitempty" doc:"different ones; absent where the engine does not report them"`
	Bytes    int64         `json:"bytes" doc:"of the index on disk, without the pages themselves"`
	Segments int           `json:"segments" doc:"parts of the index"`
	Sites    []SearchCount `json:"sites" doc:"with the most pages, up to 20"`
}

func (h Search) stats(ctx context.Context, _ *struct{}) (*api.Body[SearchStats], error) {
	s, err := h.Engines[h.Use].Stats(ctx)
	if err != nil {
		return nil, err
	}
	c, err := h.Store.Counts(ctx)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(SearchStats{
		Engine: s.Engine, Pages: s.Pages, Stored: c.Pages, Waiting: c.Waiting, Refused: c.Refused,
		Terms: s.Terms, Bytes: s.Bytes, Segments: s.Segments, Sites: api.Listed(s.Sites, showCount),
	}), nil
}

// searchCursor is a position in the answers to a query.
type searchCursor struct {
	Query string          `json:"q"` // searchKey of the query that it is of
	At    search.Position `json:"p"`
}

var errSearchCursor = errors.New("expected the next of an earlier page")

// parseSearchCursor reads the next of an earlier page of a query. "" is the first page. Its error is for the caller.
func parseSearchCursor(s string, q search.Query) (*search.Position, error) {
	if s == "" {
		return nil, nil
	}
	var c searchCursor
	if err := api.DecodeCursor(s, &c); err != nil || c.At.ID < 1 {
		return nil, errSearchCursor
	}
	if c.Query != searchKey(q) {
		return nil, errors.New("belongs to another query; keep q and all filters unchanged, or start without after")
	}
	return &c.At, nil
}

// searchKey identifies what a query finds, whatever part of it is shown.
func searchKey(q search.Query) string {
	for _, list := range []*[]string{&q.Sites, &q.Languages, &q.Types} {
		*list = slices.Sorted(slices.Values(*list))
	}
	q.After, q.Limit, q.Facets = nil, 0, false
	doc, err := json.Marshal(q)
	if err != nil {
		panic(fmt.Sprintf("texts and times: %v", err))
	}
	sum := sha256.Sum256(doc)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

const (
	// few is how many pages must have all words: with fewer, those with some of the words follow.
	few = 5
	// maxCorrections is how many words of a query may be misspelt, and maxTier how many words and corrections a query
	// has at most whose pages with all of them come first: a request has at most 1,024 clauses (indices.query.bool.
	// max_clause_count), and a word is looked for in 21 fields.
	maxCorrections, maxTier = 8, 20
	// tier is added to the score of a page with all words. Scores by words alone stay far below.
	tier = 1000
	// window is how far hits can be paged through: OpenSearch's default of index.max_result_window.
	window = 10_000
	// work is how many matching documents of a shard are looked at.
	work = 1_000_000
	// snippet is the length of a snippet in characters, about.
	snippet = 240
)

// Search implements search.Engine. Pages with all words are looked for first. When there are only few of them, a second
// request finds those with some of the words, or with words that are spelt nearly so, behind them.
//
// Duplicates are collapsed by OpenSearch, which cannot continue a collapsed search after a hit (search_after) unless it
// is sorted by the collapsed field: a further page is taken by its number (Position.Rank), up to hit 10,000.
func (e *Engine) Search(ctx context.Context, q search.Query) (search.Results, error) {
	ask, err := search.Parse(q.Text)
	if err != nil {
		return search.Results{}, err
	}
	s := &request{query: q, ask: ask}
	if q.After != nil {
		if s.from = q.After.Rank; s.from < 1 {
			return search.Results{}, fault.Newf(fault.Invalid, "after: it belongs to another engine; start without it")
		}
	}
	if s.from+q.Limit > window {
		return search.Results{}, fault.Newf(fault.Invalid,
			"hits after the first %d cannot be read: narrow the query", window)
	}
	began := time.Now()
	found, err := e.ask(ctx, s.body(false))
	if isAnswer(err, "index_not_found_exception") { // nothing was indexed yet
		return search.Results{Facets: noFacets(q.Facets)}, nil
	}
	if err != nil {
		return search.Results{}, err
	}
	results := s.results(found, false)
	if s.total(found) >= few || !s.relaxable() {
		results.Took = time.Since(began)
		return results, nil
	}
	s.corrections = found.corrections()
	if len(s.corrections) == 0 && len(s.words()) < 2 {
		results.Took = time.Since(began)
		return results, nil
	}
	relaxed, err := e.ask(ctx, s.body(true))
	if err != nil {
		return search.Results{}, err
	}
	strict := s.total(found)
	results = s.results(relaxed, true)
	results.Relaxed = s.total(relaxed) > strict
	for _, c := range s.ask.Clauses {
		if better, ok := s.better(c); ok && !slices.Contains(results.Corrected, better) {
			results.Corrected = append(results.Corrected, better)
		}
	}
	if strict == 0 && len(results.Corrected) > 0 && s.total(relaxed) > 0 {
		results.DidYouMean = s.corrected().String()
	}
	results.Took = time.Since(began)
	return results, nil
}

// Suggest implements search.Engine: the words of the pages that begin as the last word of the text does.
func (e *Engine) Suggest(ctx context.Context, text string, most int) ([]string, error) {
	prefix := search.LastWord(text)
	if prefix == "" || most < 1 {
		return nil, nil
	}
	a, err := e.ask(ctx, object{
		"size": 0, "timeout": "2s", "terminate_after": work,
		"query": object{"prefix": object{"words": object{"value": prefix}}},
		"aggs": object{"words": object{"terms": object{
			"field": "words", "size": most, "include": regex.Replace(prefix) + ".*",
		}}},
	})
	if isAnswer(err, "index_not_found_exception") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []string
	for _, b := range a.Aggregations["words"].Buckets {
		out = append(out, b.Key)
	}
	return out, nil
}

// regex escapes the characters that mean something in Lucene's regular expressions.
var regex = func() *strings.Replacer {
	var pairs []string
	for _, c := range `\.?+*|{}[]()"#@&<>~^$-` {
		pairs = append(pairs, string(c), `\`+string(c))
	}
	return strings.NewReplacer(pairs...)
}()

// Stats implements search.Engine. Bytes are those of all copies. Pages that were removed or replaced may be counted in
// Bytes until OpenSearch merges its segments.
func (e *Engine) Stats(ctx context.Context) (search.Stats, error) {
	out := search.Stats{Engine: "opensearch"}
	var stats struct {
		All struct {
			Primaries struct {
				Docs struct {
					Count int `json:"count"`
				} `json:"docs"`
				Segments struct {
					Count int `json:"count"`
				} `json:"segments"`
			} `json:"primaries"`
			Total struct {
				Store struct {
					Bytes int64 `json:"size_in_bytes"`
				} `json:"store"`
			} `json:"total"`
		} `json:"_all"`
	}
	err := e.do(ctx, searchTime, http.MethodGet, "/"+e.name+"/_stats/docs,store,segments", nil, &stats)
	if isAnswer(err, "index_not_found_exception") {
		return out, nil
	}
	if err != nil {
		return out, fmt.Errorf("read statistics: %w", err)
	}
	out.Pages, out.Segments = stats.All.Primaries.Docs.Count, stats.All.Primaries.Segments.Count
	out.Bytes = stats.All.Total.Store.Bytes
	a, err := e.ask(ctx, object{
		"size": 0, "timeout": "5s", "aggs": object{"site": object{"terms": object{"field": "site", "size": 20}}},
	})
	if err != nil {
		return out, err
	}
	for _, b := range a.Aggregations["site"].Buckets {
		out.Sites = append(out.Sites, search.Count{Value: b.Key, Pages: b.DocCount})
	}
	return out, nil
}

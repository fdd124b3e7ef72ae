package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// The characters around a word of the query in answers: for private use in Unicode, and never in a document (see
// clean).
const (
	markStart = '\uE000'
	markEnd   = '\uE001'
)

// Weights of the fields: those of the index in Postgres in kind, with BM25 a field.
var weights = []struct {
	field string
	boost float64
}{{"title", 3}, {"headings", 2}, {"description", 1}, {"body", 1}}

// A request is one query on its way.
type request struct {
	query       search.Query
	ask         search.Ask
	from        int
	corrections map[string]string // by the word of a clause
}

// word is the word of a clause that is a plain word, quoted or not, and "" of any other.
func word(c search.Clause) string {
	if c.Not || c.Title || c.Prefix || len(c.Words) != 1 {
		return ""
	}
	return c.Words[0]
}

// words are the plain words that count: without those that nearly every page has, unless there are no others.
func (s *request) words() (all []search.Clause) {
	var stops []search.Clause
	others := false
	for _, c := range s.ask.Clauses {
		switch w := word(c); {
		case w == "":
			others = others || !c.Not
		case !c.Name && !c.Phrase && search.Stop("", w):
			stops = append(stops, c)
		default:
			all = append(all, c)
		}
	}
	if len(all) == 0 && !others {
		return stops
	}
	return all
}

// better is how the word of a clause is spelt better. One in quotes is asked for as it is.
func (s *request) better(c search.Clause) (spelling string, ok bool) {
	spelling, ok = s.corrections[word(c)]
	return spelling, ok && !c.Phrase
}

// corrected is the query with the words that are spelt better.
func (s *request) corrected() search.Ask {
	out := s.ask
	out.Clauses = slices.Clone(out.Clauses)
	for i, c := range out.Clauses {
		if better, ok := s.better(c); ok {
			out.Reword(i, better)
		}
	}
	return out
}

// fields are the names of a document's fields with their weights, in each language.
func fields(exact, stems, titleOnly bool) (out []string) {
	add := func(path string, boost float64) { out = append(out, path+"^"+strconv.FormatFloat(boost, 'f', -1, 64)) }
	for _, w := range weights {
		if titleOnly && w.field != "title" {
			continue
		}
		for _, language := range languages {
			if stems {
				add(language+"."+w.field, w.boost)
			}
			if exact {
				add(language+"."+w.field+".exact", w.boost*1.1)
			}
		}
		add(other+"."+w.field, w.boost*1.1)
	}
	if !titleOnly {
		add("address", 1.5)
	}
	return out
}

// others are words that are looked for beside the word of a clause. Those of a query of too many words are left out.
func (s *request) others(c search.Clause) []string {
	n := 0
	for _, c := range s.ask.Clauses {
		n += 1 + len(c.Others())
	}
	if n > maxTier {
		return nil
	}
	return c.Others()
}

// either is the query for one clause of the Ask or its others.
func (s *request) either(c search.Clause) object {
	queries := []object{clause(c)}
	for _, w := range s.others(c) {
		queries = append(queries, clause(search.Clause{Words: []string{w}, Title: c.Title}))
	}
	if len(queries) == 1 {
		return queries[0]
	}
	return object{"dis_max": object{"queries": queries}}
}

// clause is the query for one clause of the Ask.
func clause(c search.Clause) object {
	text := strings.Join(c.Words, " ")
	match := object{"query": text}
	switch {
	case c.Prefix:
		match["type"], match["max_expansions"] = "phrase_prefix", 64
		match["fields"] = fields(true, false, c.Title)
	case c.Phrase || len(c.Words) > 1:
		match["type"] = "phrase"
		match["fields"] = fields(true, false, c.Title)
	default:
		match["type"], match["operator"], match["tie_breaker"] = "best_fields", "and", 0.3
		match["fields"] = fields(true, true, c.Title)
	}
	return object{"multi_match": match}
}

// word is the query for a plain word, or for its better spelling at half the weight.
func (s *request) word(c search.Clause) object {
	better, ok := s.better(c)
	if !ok {
		return s.either(c)
	}
	second := clause(search.Clause{Words: []string{better}})
	second["multi_match"].(object)["boost"] = 0.5 //nolint:forcetypeassert // of clause
	return object{"dis_max": object{"queries": []object{s.either(c), second}}}
}

// body is a search request: of the pages with all words, or (relaxed) of those with some of the plain words too.
func (s *request) body(relaxed bool) object {
	var must, not, some []object
	for _, c := range s.ask.Clauses {
		switch {
		case c.Not:
			c.Not = false
			not = append(not, s.either(c))
		case word(c) == "":
			must = append(must, s.either(c))
		}
	}
	asked := len(s.corrections)
	for _, c := range s.words() {
		some = append(some, s.word(c))
		asked += 1 + len(s.others(c))
	}
	filter := s.filters()
	scored := len(must)+len(some) > 0
	boolean := object{}
	set := func(name string, queries []object) {
		if len(queries) > 0 {
			boolean[name] = queries
		}
	}
	if relaxed {
		// A page with all words gets the points of the tier. One of three words is enough, and 30 % of more.
		all := object{"constant_score": object{"filter": object{"bool": object{"must": some}}, "boost": tier}}
		words := object{"bool": object{"should": some, "minimum_should_match": max(1, len(some)*3/10)}}
		must = append(must, words)
		if asked <= maxTier {
			boolean["should"] = []object{all}
		}
	} else {
		must = append(must, some...)
	}
	set("must", must)
	set("must_not", not)
	set("filter", filter)
	body := object{
		"query": object{"bool": boolean}, "from": s.from, "size": min(s.query.Limit+1, window-s.from), "timeout": "5s",
		"terminate_after": work, "track_total_hits": true,
		"_source": []string{"id", "url", "site", "language", "type", "crawled_at", "lead", "tail", "*.title",
			"*.description"},
		"collapse": object{"field": "text_key", "inner_hits": object{"name": "duplicates", "size": 0}},
		"sort":     []object{{"_score": "desc"}, {"id": "desc"}},
		"aggs":     s.aggregations(),
	}
	if !scored {
		body["sort"] = []object{{"crawled_at": "desc"}, {"id": "desc"}}
	}
	if h := s.highlight(); h != nil {
		body["highlight"] = h
	}
	if text := s.unknown(); text != "" && !relaxed {
		body["suggest"] = object{"words": object{"text": text, "term": object{
			"field": "words", "analyzer": "whitespace", "suggest_mode": "missing", "max_edits": 2, "prefix_length": 1,
			"min_word_length": 4, "size": 1, "sort": "score",
		}}}
	}
	return body
}

// unknown are the words whose spelling may be wrong.
func (s *request) unknown() string {
	var out []string
	for _, c := range s.words() {
		if w := word(c); !c.Phrase && search.Typos(w) > 0 && len(out) < maxCorrections {
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

func (s *request) filters() (out []object) {
	terms := func(field string, lists ...[]string) {
		for _, values := range lists {
			if len(values) > 0 {
				out = append(out, object{"terms": object{field: values}})
			}
		}
	}
	terms("sites", s.ask.Sites, s.query.Sites)
	terms("language", s.ask.Languages, s.query.Languages)
	terms("type", s.ask.Types, s.query.Types)
	if len(s.ask.NotSites) > 0 {
		no := object{"terms": object{"sites": s.ask.NotSites}}
		out = append(out, object{"bool": object{"must_not": []object{no}}})
	}
	within := object{}
	if !s.query.From.IsZero() {
		within["gte"] = s.query.From.UTC().Format(time.RFC3339)
	}
	if !s.query.To.IsZero() {
		within["lt"] = s.query.To.UTC().Format(time.RFC3339)
	}
	if len(within) > 0 {
		out = append(out, object{"range": object{"crawled_at": within}})
	}
	return out
}

// facetFields are the fields that are counted, in the order of search.Facets.
var facetFields = []string{"site", "language", "type", "month"}

// aggregations count the answers without duplicates: exactly up to 40,000, and within a few per cent beyond.
func (s *request) aggregations() object {
	count := func(precision int) object {
		return object{"cardinality": object{"field": "text_key", "precision_threshold": precision}}
	}
	out := object{"answers": count(40_000)}
	if s.query.Facets {
		for _, f := range facetFields {
			out[f] = object{"terms": object{"field": f, "size": 20}, "aggs": object{"answers": count(1000)}}
		}
	}
	return out
}

// highlight asks for the words of the query in titles and for the best part of the text. Words are marked by their
// stems, those of phrases one by one.
func (s *request) highlight() object {
	var words []object
	add := func(c search.Clause, text string) {
		match := object{"query": text, "fields": fields(false, true, c.Title)}
		switch {
		case c.Prefix:
			match["type"], match["max_expansions"] = "phrase_prefix", 64
		case c.Phrase || len(c.Words) > 1:
			match["type"], match["boost"] = "phrase", 2
		default:
			match["type"], match["operator"] = "best_fields", "and"
		}
		words = append(words, object{"multi_match": match})
	}
	others := func(c search.Clause) {
		for _, w := range s.others(c) {
			add(search.Clause{Title: c.Title}, w)
		}
	}
	for _, c := range s.ask.Clauses {
		if !c.Not && word(c) == "" {
			add(c, strings.Join(c.Words, " "))
			others(c)
		}
	}
	for _, c := range s.words() {
		add(c, c.Words[0])
		others(c)
		if better, ok := s.better(c); ok {
			add(c, better)
		}
	}
	fields := object{}
	for _, language := range append(slices.Clone(languages), other) {
		fields[language+".title"] = object{"number_of_fragments": 0}
		for _, name := range []string{".body", ".description"} {
			fields[language+name] = object{
				"number_of_fragments": 1, "fragment_size": snippet, "no_match_size": snippet,
			}
		}
	}
	h := object{
		"type": "unified", "order": "score", "pre_tags": []string{string(markStart)}, "post_tags": []string{string(markEnd)},
		"fields": fields,
	}
	if len(words) > 0 {
		h["highlight_query"] = object{"bool": object{"should": words}}
	}
	return h
}

func (e *Engine) ask(ctx context.Context, body object) (a answer, err error) {
	if err := e.do(ctx, searchTime, http.MethodPost, "/"+e.name+"/_search", body, &a); err != nil {
		return a, fmt.Errorf("search: %w", err)
	}
	if a.Shards.Failed > 0 && len(a.Hits.Hits) == 0 {
		return a, fault.Newf(fault.Transient, "search: %d shards of OpenSearch failed", a.Shards.Failed)
	}
	return a, nil
}

// relaxable says that pages with some of the words are worth a second request.
func (s *request) relaxable() bool { return len(s.words()) > 0 }

package opensearch

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

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
			return search.Results{}, fault.Newf(fault.Invalid, "after: it is of another engine; start without it")
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
		if better, ok := s.corrections[word(c)]; ok && !slices.Contains(results.Corrected, better) {
			results.Corrected = append(results.Corrected, better)
		}
	}
	if strict == 0 && len(results.Corrected) > 0 && s.total(relaxed) > 0 {
		results.DidYouMean = s.corrected().String()
	}
	results.Took = time.Since(began)
	return results, nil
}

// A request is one query on its way.
type request struct {
	query       search.Query
	ask         search.Ask
	from        int
	corrections map[string]string // by the word of a clause
}

// word is the word of a clause that is a plain word, and "" of any other.
func word(c search.Clause) string {
	if c.Phrase || c.Not || c.Title || c.Prefix || len(c.Words) != 1 {
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
		case search.Stop("en", w) || search.Stop("fr", w):
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

// relaxable says that pages with some of the words are worth a second request.
func (s *request) relaxable() bool { return len(s.words()) > 0 }

// corrected is the query with the words that are spelt better.
func (s *request) corrected() search.Ask {
	out := s.ask
	out.Clauses = slices.Clone(out.Clauses)
	for i, c := range out.Clauses {
		if better, ok := s.corrections[word(c)]; ok {
			out.Clauses[i].Words = []string{better}
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
	better, ok := s.corrections[word(c)]
	if !ok {
		return clause(c)
	}
	second := clause(search.Clause{Words: []string{better}})
	second["multi_match"].(object)["boost"] = 0.5 //nolint:forcetypeassert // of clause
	return object{"dis_max": object{"queries": []object{clause(c), second}}}
}

// body is a search request: of the pages with all words, or (relaxed) of those with some of the plain words too.
func (s *request) body(relaxed bool) object {
	var must, not, some []object
	for _, c := range s.ask.Clauses {
		switch {
		case c.Not:
			c.Not = false
			not = append(not, clause(c))
		case word(c) == "":
			must = append(must, clause(c))
		}
	}
	for _, c := range s.words() {
		some = append(some, s.word(c))
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
		if len(some)+len(s.corrections) <= maxTier {
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
		if w := word(c); search.Typos(w) > 0 && len(out) < maxCorrections {
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
	for _, c := range s.ask.Clauses {
		if !c.Not && word(c) == "" {
			add(c, strings.Join(c.Words, " "))
		}
	}
	for _, c := range s.words() {
		add(c, c.Words[0])
		if better, ok := s.corrections[word(c)]; ok {
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

// An answer is what OpenSearch says to a search.
type answer struct {
	TimedOut        bool `json:"timed_out"`
	TerminatedEarly bool `json:"terminated_early"`
	Shards          struct {
		Failed int `json:"failed"`
	} `json:"_shards"`
	Hits struct {
		Total struct {
			Value    int    `json:"value"`
			Relation string `json:"relation"`
		} `json:"total"`
		Hits []hit `json:"hits"`
	} `json:"hits"`
	Aggregations map[string]aggregation `json:"aggregations"`
	Suggest      struct {
		Words []struct {
			Text    string `json:"text"`
			Options []struct {
				Text string `json:"text"`
			} `json:"options"`
		} `json:"words"`
	} `json:"suggest"`
}

type aggregation struct {
	Value   int `json:"value"`
	Buckets []struct {
		Key      string      `json:"key"`
		DocCount int         `json:"doc_count"`
		Answers  aggregation `json:"answers"`
	} `json:"buckets"`
}

type hit struct {
	Score  *float64 `json:"_score"`
	Source struct {
		ID        int64     `json:"id"`
		URL       string    `json:"url"`
		Site      string    `json:"site"`
		Language  string    `json:"language"`
		Type      string    `json:"type"`
		CrawledAt time.Time `json:"crawled_at"`
		Lead      string    `json:"lead"`
		Tail      string    `json:"tail"`
		En        shown     `json:"en"`
		Fr        shown     `json:"fr"`
		Other     shown     `json:"other"`
	} `json:"_source"`
	Highlight map[string][]string `json:"highlight"`
	InnerHits struct {
		Duplicates struct {
			Hits struct {
				Total struct {
					Value int `json:"value"`
				} `json:"total"`
			} `json:"hits"`
		} `json:"duplicates"`
	} `json:"inner_hits"`
}

// shown is what an answer has of a document's part in one language.
type shown struct {
	Title       string `json:"title"`
	Description string `json:"description"`
}

func (e *Engine) ask(ctx context.Context, body object) (a answer, err error) {
	if err := e.do(ctx, searchTime, http.MethodPost, "/"+e.name+"/_search", nil, body, &a); err != nil {
		return a, fmt.Errorf("search: %w", err)
	}
	if a.Shards.Failed > 0 && len(a.Hits.Hits) == 0 {
		return a, fault.Newf(fault.Transient, "search: %d shards of OpenSearch failed", a.Shards.Failed)
	}
	return a, nil
}

// total is how many answers there are, duplicates collapsed.
func (s *request) total(a answer) int { return a.Aggregations["answers"].Value }

// corrections are the nearest words that are indexed, by the words that are not.
func (a answer) corrections() map[string]string {
	out := map[string]string{}
	for _, w := range a.Suggest.Words {
		for _, o := range w.Options {
			if n := search.Typos(w.Text); search.Edits(w.Text, o.Text, n) <= n {
				out[w.Text] = o.Text
				break
			}
		}
	}
	return out
}

// results reads an answer.
func (s *request) results(a answer, relaxed bool) search.Results {
	out := search.Results{
		Total: s.total(a), AtLeast: a.TimedOut || a.TerminatedEarly || a.Shards.Failed > 0, Facets: noFacets(s.query.Facets),
	}
	if s.query.Facets {
		f := out.Facets
		for i, list := range []*[]search.Count{&f.Sites, &f.Languages, &f.Types, &f.Months} {
			*list = counts(a.Aggregations[facetFields[i]])
		}
	}
	for i, h := range a.Hits.Hits {
		if i == s.query.Limit {
			last := out.Hits[i-1]
			if at := s.from + i; at+s.query.Limit <= window {
				out.Next = &search.Position{All: last.All, Score: last.Score, ID: last.ID, Rank: at}
			}
			break
		}
		out.Hits = append(out.Hits, h.hit(relaxed))
	}
	return out
}

func noFacets(asked bool) *search.Facets {
	if asked {
		return &search.Facets{}
	}
	return nil
}

func counts(a aggregation) []search.Count {
	var out []search.Count
	for _, b := range a.Buckets {
		out = append(out, search.Count{Value: b.Key, Pages: max(b.Answers.Value, 1)})
	}
	slices.SortStableFunc(out, func(a, b search.Count) int { return b.Pages - a.Pages })
	return out
}

// hit is one answer as it is shown.
func (h hit) hit(relaxed bool) search.Hit {
	src := h.Source
	part, text := other, src.Other
	switch src.Language {
	case "en":
		part, text = "en", src.En
	case "fr":
		part, text = "fr", src.Fr
	}
	out := search.Hit{
		ID: src.ID, URL: src.URL, Site: src.Site, Title: text.Title, Language: src.Language, Type: src.Type,
		CrawledAt: src.CrawledAt.UTC(), All: true, Duplicates: max(0, h.InnerHits.Duplicates.Hits.Total.Value-1),
	}
	if h.Score != nil {
		score := *h.Score
		if relaxed {
			if out.All = score >= tier; out.All {
				score -= tier
			}
		}
		out.Score = float32(score)
	}
	if marked := h.Highlight[part+".title"]; len(marked) > 0 {
		_, out.Marks = marks(marked[0])
	}
	out.Snippet = h.snippet(part)
	return out
}

// snippet is the best part of the text, or of the description where only that has words of the query.
func (h hit) snippet(part string) search.Snippet {
	best := func(field string) (string, []search.Range) {
		if list := h.Highlight[part+field]; len(list) > 0 {
			return plain(list[0])
		}
		return "", nil
	}
	text, ranges := best(".body")
	if len(ranges) == 0 {
		if description, more := best(".description"); description != "" && (len(more) > 0 || text == "") {
			return search.Snippet{Text: description, Marks: more}
		}
	}
	if text == "" {
		return search.Snippet{}
	}
	if lead := h.Source.Lead; lead != "" && !strings.HasPrefix(lead, cutRunes(text, 20)) {
		text = "… " + text
		for i := range ranges {
			ranges[i].Start, ranges[i].End = ranges[i].Start+2, ranges[i].End+2
		}
	}
	if tail := h.Source.Tail; tail != "" && !strings.HasSuffix(strings.TrimSpace(text), tail) &&
		!strings.HasSuffix(tail, strings.TrimPrefix(text, "… ")) {
		text += " …"
	}
	return search.Snippet{Text: text, Marks: ranges}
}

// marks takes the marked words out of a text: their ranges in code points.
func marks(s string) (string, []search.Range) {
	var out strings.Builder
	var ranges []search.Range
	n, start := 0, -1
	for _, r := range s {
		switch r {
		case markStart:
			start = n
		case markEnd:
			if start >= 0 && n > start {
				ranges = append(ranges, search.Range{Start: start, End: n})
			}
			start = -1
		default:
			out.WriteRune(r)
			n++
		}
	}
	return out.String(), ranges
}

// plain is a marked text on one line, with single spaces, and the ranges of its marked words.
func plain(s string) (string, []search.Range) {
	var out strings.Builder
	space := false
	for _, r := range strings.TrimSpace(s) {
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
	}
	return marks(out.String())
}

// Suggest implements search.Engine: the words of the pages that begin as the last word of the text does.
func (e *Engine) Suggest(ctx context.Context, text string, most int) ([]string, error) {
	var prefix string
	search.Tokenize(text, func(t search.Token) bool {
		prefix = strings.Clone(t.Word)
		return true
	})
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
	err := e.do(ctx, searchTime, http.MethodGet, "/"+e.name+"/_stats/docs,store,segments", nil, nil, &stats)
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

// textKey is the same for pages of the same words. A page without text has one of its own.
func textKey(p search.Page) string {
	if key := search.TextKey(p.Title, p.Text); key != 0 {
		return strconv.FormatUint(key, 16)
	}
	return "page " + strconv.FormatInt(p.ID, 10)
}

var (
	_ search.Engine    = (*Engine)(nil)
	_ search.Rebuilder = (*Engine)(nil)
)

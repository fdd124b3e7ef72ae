package opensearchtest

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// searchBody is the body of a search. Pages: api-reference/search-apis/search, searching-data/*, aggregations,
// suggest APIs, search-plugins/collapse-search.
type searchBody struct {
	Query          *query                 `json:"query"`
	From           int                    `json:"from"`
	Size           *int                   `json:"size"`
	Timeout        string                 `json:"timeout"`
	TerminateAfter int                    `json:"terminate_after"`
	TrackTotalHits bool                   `json:"track_total_hits"`
	Source         []string               `json:"_source"`
	SearchAfter    []any                  `json:"search_after"`
	Sort           []map[string]string    `json:"sort"`
	Aggs           map[string]aggregation `json:"aggs"`
	Collapse       *struct {
		Field     string `json:"field"`
		InnerHits struct {
			Name string `json:"name"`
			Size int    `json:"size"`
		} `json:"inner_hits"`
	} `json:"collapse"`
	Highlight *highlight            `json:"highlight"`
	Suggest   map[string]suggestion `json:"suggest"`
}

// query is a query of one kind. Page: query-dsl.
type query struct {
	Bool          *boolQuery                   `json:"bool,omitempty"`
	MultiMatch    *multiMatch                  `json:"multi_match,omitempty"`
	DisMax        *disMax                      `json:"dis_max,omitempty"`
	ConstantScore *constantScore               `json:"constant_score,omitempty"`
	Terms         map[string][]string          `json:"terms,omitempty"`
	Prefix        map[string]prefixQuery       `json:"prefix,omitempty"`
	Range         map[string]map[string]string `json:"range,omitempty"`
}

type boolQuery struct {
	Must    []query `json:"must"`
	Should  []query `json:"should"`
	MustNot []query `json:"must_not"`
	Filter  []query `json:"filter"`
	Minimum int     `json:"minimum_should_match"`
}

type multiMatch struct {
	Query         string   `json:"query"`
	Type          string   `json:"type"`
	Operator      string   `json:"operator"`
	TieBreaker    float64  `json:"tie_breaker"`
	MaxExpansions int      `json:"max_expansions"`
	Fields        []string `json:"fields"`
	Boost         float64  `json:"boost"`
}

type disMax struct {
	Queries []query `json:"queries"`
}

type constantScore struct {
	Filter query   `json:"filter"`
	Boost  float64 `json:"boost"`
}

type prefixQuery struct {
	Value string `json:"value"`
}

type aggregation struct {
	Cardinality *struct {
		Field     string `json:"field"`
		Precision int    `json:"precision_threshold"`
	} `json:"cardinality"`
	Terms *struct {
		Field   string `json:"field"`
		Size    int    `json:"size"`
		Include string `json:"include"`
	} `json:"terms"`
	Aggs map[string]aggregation `json:"aggs"`
}

type highlight struct {
	Type     string   `json:"type"`
	Order    string   `json:"order"`
	PreTags  []string `json:"pre_tags"`
	PostTags []string `json:"post_tags"`
	Query    *query   `json:"highlight_query"`
	Fields   map[string]struct {
		Fragments   *int `json:"number_of_fragments"`
		Size        int  `json:"fragment_size"`
		NoMatchSize int  `json:"no_match_size"`
	} `json:"fields"`
}

type suggestion struct {
	Text string `json:"text"`
	Term struct {
		Field         string `json:"field"`
		Analyzer      string `json:"analyzer"`
		SuggestMode   string `json:"suggest_mode"`
		MaxEdits      int    `json:"max_edits"`
		PrefixLength  int    `json:"prefix_length"`
		MinWordLength int    `json:"min_word_length"`
		Size          int    `json:"size"`
		Sort          string `json:"sort"`
	} `json:"term"`
}

// A scored document.
type scored struct {
	*document
	score float64
}

// search answers.
func (s *Server) search(target string, body []byte) (any, *refusal) {
	_, i, missing := s.resolve(target)
	if missing != nil {
		return nil, missing
	}
	var in searchBody
	if no := decode(body, &in, "parsing_exception"); no != nil {
		return nil, no
	}
	if no := i.validate(in); no != nil {
		return nil, no
	}
	e := &evaluation{index: i}
	var found []scored
	for _, d := range i.docs {
		score, ok := 1.0, true
		if in.Query != nil {
			score, ok = e.query(*in.Query, d)
		}
		if e.wrong != nil {
			return nil, e.wrong
		}
		if ok {
			found = append(found, scored{d, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int { return order(in.Sort, a, b) })
	answer := object{
		"took": 1, "timed_out": false, "_shards": shards(), "aggregations": aggregate(in.Aggs, found),
	}
	if in.Suggest != nil {
		answer["suggest"] = i.suggest(in.Suggest)
	}
	groups := map[string]int{}
	shown := found
	if in.Collapse != nil {
		shown = nil
		for _, d := range found {
			key := strings.Join(d.values(in.Collapse.Field), "")
			if groups[key]++; groups[key] == 1 {
				shown = append(shown, d)
			}
		}
	}
	size := 10
	if in.Size != nil {
		size = *in.Size
	}
	shown = shown[min(in.From, len(shown)):]
	var hits []object
	for _, d := range shown[:min(size, len(shown))] {
		hit := object{"_id": d.id, "_score": d.score, "_source": pick("", d.source, in.Source)}
		if in.Collapse != nil {
			n := groups[strings.Join(d.values(in.Collapse.Field), "")]
			hit["inner_hits"] = object{in.Collapse.InnerHits.Name: object{
				"hits": object{"total": object{"value": n, "relation": "eq"}, "hits": []object{}},
			}}
		}
		if in.Highlight != nil {
			hit["highlight"] = e.highlight(*in.Highlight, d.document)
		}
		hits = append(hits, hit)
	}
	answer["hits"] = object{"total": object{"value": len(found), "relation": "eq"}, "hits": hits}
	return answer, nil
}

// validate refuses what OpenSearch refuses before it looks at documents.
func (i *index) validate(in searchBody) *refusal {
	size := 10
	if in.Size != nil {
		size = *in.Size
	}
	switch {
	case in.Collapse != nil && in.SearchAfter != nil: // github.com/opensearch-project/OpenSearch/issues/3725
		return refuse(400, "search_phase_execution_exception", "cannot use `collapse` in conjunction with `search_after`")
	case in.From < 0 || size < 0:
		return refuse(400, "illegal_argument_exception", "[from] parameter cannot be negative")
	case in.From+size > 10_000: // page: search-plugins/searching-data/paginate; index.max_result_window
		return refuse(400, "illegal_argument_exception", "Result window is too large, from + size must be less than or "+
			"equal to: [10000] but was [%d].", in.From+size)
	case in.Collapse != nil && i.fields[in.Collapse.Field].Type != "keyword":
		return refuse(400, "search_phase_execution_exception", "no mapping found for `%s` in order to collapse on",
			in.Collapse.Field)
	}
	if _, err := time.ParseDuration(in.Timeout); in.Timeout != "" && err != nil {
		return refuse(400, "parse_exception", "failed to parse setting [timeout] with value [%s]", in.Timeout)
	}
	for _, by := range in.Sort {
		for name, direction := range by {
			kind := i.fields[name].Type
			if name != "_score" && kind != "long" && kind != "date" && kind != "keyword" || direction != "desc" {
				return refuse(400, "search_phase_execution_exception", "No mapping found for [%s] in order to sort on", name)
			}
		}
	}
	for name, s := range in.Suggest { // page: suggest APIs, term suggester
		if s.Term.Field == "" || s.Term.MaxEdits < 1 || s.Term.MaxEdits > 2 || s.Term.SuggestMode != "missing" {
			return refuse(400, "illegal_argument_exception", "suggestion [%s] is not known here", name)
		}
	}
	if h := in.Highlight; h != nil && (h.Type != "unified" || len(h.PreTags) != 1 || len(h.PostTags) != 1) {
		return refuse(400, "parsing_exception", "highlighter [%s] is not known here", h.Type)
	}
	// Page: install-and-configure, indices.query.bool.max_clause_count.
	if n := in.Query.clauses(); n > 1024 {
		return refuse(400, "too_many_nested_clauses", "Query contains too many nested clauses; maxClauseCount is set to 1024")
	}
	return i.validateAggs(in.Aggs)
}

// clauses counts the leaves of a query: a word in a field each.
func (q *query) clauses() (n int) {
	if q == nil {
		return 0
	}
	var parts []query
	switch {
	case q.Bool != nil:
		parts = slices.Concat(q.Bool.Must, q.Bool.Should, q.Bool.MustNot, q.Bool.Filter)
	case q.DisMax != nil:
		parts = q.DisMax.Queries
	case q.ConstantScore != nil:
		parts = []query{q.ConstantScore.Filter}
	case q.MultiMatch != nil:
		return len(q.MultiMatch.Fields) * len(strings.Fields(q.MultiMatch.Query))
	default:
		return 1
	}
	for _, p := range parts {
		n += p.clauses()
	}
	return n
}

func (i *index) validateAggs(aggs map[string]aggregation) *refusal {
	for name, a := range aggs {
		if (a.Cardinality == nil) == (a.Terms == nil) {
			return refuse(400, "parsing_exception", "Expected one aggregation type in [%s]", name)
		}
		f := ""
		if a.Terms != nil {
			f = a.Terms.Field
		} else {
			f = a.Cardinality.Field
		}
		if i.fields[f].Type != "keyword" {
			return refuse(400, "illegal_argument_exception", "field [%s] of aggregation [%s] has no doc values", f, name)
		}
		if no := i.validateAggs(a.Aggs); no != nil {
			return no
		}
	}
	return nil
}

func order(by []map[string]string, a, b scored) int {
	for _, one := range by {
		for name := range one {
			c := 0
			switch name {
			case "_score":
				c = cmp.Compare(float32(b.score), float32(a.score))
			default:
				x, y := strings.Join(a.values(name), ""), strings.Join(b.values(name), "")
				p, ok := number(x)
				q, also := number(y)
				if c = cmp.Compare(y, x); ok && also {
					c = cmp.Compare(q, p)
				}
			}
			if c != 0 {
				return c
			}
		}
	}
	return strings.Compare(a.id, b.id)
}

// pick is the part of a document that "_source" asks for, by paths with wildcards. Page: retrieve specific fields.
func pick(prefix string, in object, patterns []string) object {
	if patterns == nil {
		return in
	}
	out := object{}
	for name, v := range in {
		if sub, ok := v.(map[string]any); ok {
			if more := pick(prefix+name+".", sub, patterns); len(more) > 0 {
				out[name] = more
			}
			continue
		}
		if slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, prefix+name)
			return ok && err == nil
		}) {
			out[name] = v
		}
	}
	return out
}

// aggregate counts. Pages: aggregations/bucket/terms, aggregations/metric/cardinality.
func aggregate(aggs map[string]aggregation, found []scored) object {
	out := object{}
	for name, a := range aggs {
		if a.Cardinality != nil {
			seen := map[string]bool{}
			for _, d := range found {
				for _, v := range d.values(a.Cardinality.Field) {
					seen[v] = true
				}
			}
			out[name] = object{"value": len(seen)}
			continue
		}
		include := regexp.MustCompile("^(" + cmp.Or(a.Terms.Include, ".*") + ")$")
		buckets := map[string][]scored{}
		for _, d := range found {
			for _, v := range d.values(a.Terms.Field) {
				if include.MatchString(v) {
					buckets[v] = append(buckets[v], d)
				}
			}
		}
		keys := slices.SortedFunc(maps.Keys(buckets), func(x, y string) int {
			return cmp.Or(len(buckets[y])-len(buckets[x]), strings.Compare(x, y))
		})
		list := []object{}
		for _, k := range keys[:min(len(keys), cmp.Or(a.Terms.Size, 10))] {
			b := object{"key": k, "doc_count": len(buckets[k])}
			maps.Copy(b, aggregate(a.Aggs, buckets[k]))
			list = append(list, b)
		}
		out[name] = object{"doc_count_error_upper_bound": 0, "sum_other_doc_count": 0, "buckets": list}
	}
	return out
}

// suggest finds words that are spelt nearly so. Page: search-plugins/searching-data/did-you-mean, term suggester.
func (i *index) suggest(in map[string]suggestion) object {
	out := object{}
	for name, s := range in {
		counts := map[string]int{}
		for _, d := range i.docs {
			for _, v := range d.values(s.Term.Field) {
				counts[v]++
			}
		}
		var list []object
		for _, w := range strings.Fields(s.Text) {
			var options []object
			best := s.Term.MaxEdits + 1
			for _, v := range slices.Sorted(maps.Keys(counts)) {
				n := edits(w, v)
				if counts[w] == 0 && len(w) >= s.Term.MinWordLength && v[:1] == w[:1] && n < best {
					best, options = n, []object{{"text": v, "score": 1 - float64(n)/float64(len(w)), "freq": counts[v]}}
				}
			}
			list = append(list, object{"text": w, "offset": strings.Index(s.Text, w), "length": len(w), "options": options})
		}
		out[name] = list
	}
	return out
}

func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		row := append([]int{i + 1}, make([]int, len(y))...)
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
		}
		last = row
	}
	return last[len(y)]
}

var _ json.Unmarshaler = (*query)(nil)

// UnmarshalJSON refuses unknown kinds of queries by name.
func (q *query) UnmarshalJSON(b []byte) error {
	type plain query
	if no := decode(b, (*plain)(q), "parsing_exception"); no != nil {
		return &json.UnmarshalTypeError{Value: no.reason, Field: "query"}
	}
	return nil
}

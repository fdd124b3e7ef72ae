package opensearchtest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// evaluation answers queries of one search.
type evaluation struct {
	index *index
	wrong *refusal
}

// query is the score of a document, and whether it matches.
func (e *evaluation) query(q query, d *document) (float64, bool) {
	kinds := 0
	for _, set := range []bool{
		q.Bool != nil, q.MultiMatch != nil, q.DisMax != nil, q.ConstantScore != nil, q.Terms != nil, q.Prefix != nil,
		q.Range != nil,
	} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		e.wrong = refuse(400, "parsing_exception", "a query is of one kind")
		return 0, false
	}
	switch {
	case q.Bool != nil:
		return e.boolean(*q.Bool, d)
	case q.MultiMatch != nil:
		return e.multiMatch(*q.MultiMatch, d)
	case q.DisMax != nil:
		best, any := 0.0, false
		for _, one := range q.DisMax.Queries {
			if s, ok := e.query(one, d); ok {
				best, any = max(best, s), true
			}
		}
		return best, any
	case q.ConstantScore != nil:
		_, ok := e.query(q.ConstantScore.Filter, d)
		return q.ConstantScore.Boost, ok
	}
	for name, values := range q.Terms {
		e.mapped(name, "keyword")
		has := d.values(name)
		return 1, slices.ContainsFunc(has, func(v string) bool { return slices.Contains(values, v) })
	}
	for name, p := range q.Prefix {
		e.mapped(name, "keyword")
		return 1, slices.ContainsFunc(d.values(name), func(v string) bool { return strings.HasPrefix(v, p.Value) })
	}
	for name, bounds := range q.Range {
		e.mapped(name, "date")
		at, _ := time.Parse(time.RFC3339, strings.Join(d.values(name), "")) // it was checked
		for op, text := range bounds {
			bound, err := time.Parse(time.RFC3339, text)
			switch {
			case err != nil || op != "gte" && op != "lt":
				e.wrong = refuse(400, "parsing_exception", "range [%s] of [%s] is not known here", op, name)
				return 0, false
			case op == "gte" && at.Before(bound), op == "lt" && !at.Before(bound):
				return 0, false
			}
		}
	}
	return 1, true
}

func (e *evaluation) mapped(name, kind string) {
	if e.index.fields[name].Type != kind {
		e.wrong = refuse(400, "query_shard_exception", "field [%s] is not a %s", name, kind)
	}
}

func (e *evaluation) boolean(q boolQuery, d *document) (score float64, ok bool) {
	for _, one := range q.Filter {
		if _, ok := e.query(one, d); !ok {
			return 0, false
		}
	}
	for _, one := range q.MustNot {
		if _, ok := e.query(one, d); ok {
			return 0, false
		}
	}
	for _, one := range q.Must {
		s, ok := e.query(one, d)
		if !ok {
			return 0, false
		}
		score += s
	}
	matched := 0
	for _, one := range q.Should {
		if s, ok := e.query(one, d); ok {
			score += s
			matched++
		}
	}
	need := q.Minimum // page: query-dsl/minimum-should-match
	if need == 0 && len(q.Must)+len(q.Filter) == 0 && len(q.Should) > 0 {
		need = 1
	}
	return score, matched >= need
}

// multiMatch is the best field, or with a tie breaker the others a little too. Page: query-dsl/full-text/multi-match.
func (e *evaluation) multiMatch(q multiMatch, d *document) (float64, bool) {
	if !slices.Contains([]string{"best_fields", "phrase", "phrase_prefix"}, q.Type) || q.Query == "" ||
		len(q.Fields) == 0 ||
		q.Type != "best_fields" && (q.Operator != "" || q.TieBreaker != 0) {
		e.wrong = refuse(400, "parsing_exception", "[multi_match] of type [%s] is not known here", q.Type)
		return 0, false
	}
	best, sum := 0.0, 0.0
	for _, spec := range q.Fields {
		name, boost, _ := strings.Cut(spec, "^")
		f, known := e.index.fields[name]
		if !known {
			continue // as OpenSearch does
		}
		weight, err := strconv.ParseFloat(cmp.Or(boost, "1"), 64)
		if err != nil {
			e.wrong = refuse(400, "query_shard_exception", "boost of [%s] is no number", spec)
			return 0, false
		}
		words := e.index.analyzers[f.SearchAnalyzer].query(q.Query)
		s := e.field(name, q.Type, words, d) * weight
		best, sum = max(best, s), sum+s
	}
	score := (best + q.TieBreaker*(sum-best)) * cmp.Or(q.Boost, 1)
	return score, best > 0
}

// field is the score of one field: 0 unless it has all words, as a phrase where one is asked for.
func (e *evaluation) field(name, kind string, words []string, d *document) (score float64) {
	places := e.places(name, kind, words, d)
	if len(places) == 0 {
		return 0
	}
	for i := range words {
		tf := float64(len(places)) / float64(len(words))
		containing := 0
		for _, other := range e.index.docs {
			if len(other.tokens[name][words[i]]) > 0 {
				containing++
			}
		}
		idf := math.Log(1 + (float64(len(e.index.docs)-containing)+.5)/(float64(containing)+.5))
		long := float64(d.lengths[name]) / 200
		score += idf * tf / (tf + 1.2*(.25+.75*long))
	}
	return score
}

// places are the tokens of a field that a query matches.
func (e *evaluation) places(name, kind string, words []string, d *document) (out []token) {
	of := func(i int) (out []token) {
		if kind != "phrase_prefix" || i < len(words)-1 {
			return d.tokens[name][words[i]]
		}
		for w, tokens := range d.tokens[name] {
			if strings.HasPrefix(w, words[i]) {
				out = append(out, tokens...)
			}
		}
		return out
	}
	if kind == "best_fields" {
		for i := range words {
			if len(of(i)) == 0 {
				return nil
			}
			out = append(out, of(i)...)
		}
		return out
	}
	for _, first := range of(0) {
		run := []token{first}
		for i := 1; i < len(words); i++ {
			next := slices.IndexFunc(of(i), func(t token) bool { return int(t.at-first.at) == i })
			if next < 0 {
				break
			}
			run = append(run, of(i)[next])
		}
		if len(run) == len(words) {
			out = append(out, run...)
		}
	}
	return out
}

// highlight marks words. Page: search-plugins/searching-data/highlight.
func (e *evaluation) highlight(h highlight, d *document) object {
	out := object{}
	for name, f := range h.Fields {
		text := strings.Join(d.values(e.index.fields[name].source), " ")
		if text == "" {
			continue
		}
		var places []token
		if h.Query != nil {
			places = e.highlighted(*h.Query, name, d)
		}
		slices.SortFunc(places, func(a, b token) int { return cmp.Compare(a.start, b.start) })
		from, to := 0, len(text)
		if f.Fragments == nil || *f.Fragments > 0 {
			if len(places) > 0 {
				from = max(0, int(places[0].start)-f.Size/2)
			}
			to = min(len(text), from+f.Size)
			for from > 0 && text[from-1] != ' ' {
				from--
			}
			for to < len(text) && text[to] != ' ' {
				to++
			}
		}
		if len(places) == 0 {
			if f.NoMatchSize > 0 {
				out[name] = []string{text[from:to]}
			}
			continue
		}
		var b strings.Builder
		at := from
		for _, p := range places {
			if int(p.start) < at || int(p.end) > to {
				continue
			}
			b.WriteString(text[at:p.start] + h.PreTags[0] + text[p.start:p.end] + h.PostTags[0])
			at = int(p.end)
		}
		out[name] = []string{b.String() + text[at:to]}
	}
	return out
}

// highlighted are the tokens of a field that a query is about.
func (e *evaluation) highlighted(q query, name string, d *document) (out []token) {
	switch {
	case q.Bool != nil:
		for _, one := range slices.Concat(q.Bool.Must, q.Bool.Should) {
			out = append(out, e.highlighted(one, name, d)...)
		}
	case q.MultiMatch != nil:
		if !slices.ContainsFunc(q.MultiMatch.Fields, func(f string) bool {
			n, _, _ := strings.Cut(f, "^")
			return n == name
		}) {
			return nil
		}
		f := e.index.fields[name]
		words := e.index.analyzers[f.SearchAnalyzer].query(q.MultiMatch.Query)
		return e.places(name, q.MultiMatch.Type, words, d)
	}
	return out
}

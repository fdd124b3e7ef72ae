package opensearchtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/mtlrent/conveyor/domain/search"
)

// definition is the body of "create index". Only what is used of settings, analysis and mappings is known.
type definition struct {
	Settings struct {
		Index struct {
			GCDeletes string `json:"gc_deletes"`
		} `json:"index"`
		Analysis struct {
			Analyzer   map[string]analyzer   `json:"analyzer"`
			CharFilter map[string]charFilter `json:"char_filter"`
			Filter     map[string]filter     `json:"filter"`
		} `json:"analysis"`
	} `json:"settings"`
	Mappings struct {
		Dynamic    string              `json:"dynamic"`
		Properties map[string]property `json:"properties"`
	} `json:"mappings"`
	Aliases map[string]struct{} `json:"aliases"`
}

// analyzer is a custom one. Page: analyzers/custom-analyzer.
type analyzer struct {
	Type       string   `json:"type"`
	CharFilter []string `json:"char_filter"`
	Tokenizer  string   `json:"tokenizer"`
	Filter     []string `json:"filter"`
	language   string   // of its stemmer
	split      bool     // identifiers too
	joins      bool     // and their parts without the signs between them
	spelling   *strings.Replacer
}

// charFilter is a filter of the text. Page: character-filters/mapping-character-filter.
type charFilter struct {
	Type     string   `json:"type"`
	Mappings []string `json:"mappings"`
}

// filter is a token filter. Pages: token-filters/word-delimiter-graph, elision, stemmer.
type filter struct {
	Type              string   `json:"type"`
	PreserveOriginal  bool     `json:"preserve_original"`
	CatenateAll       bool     `json:"catenate_all"`
	EnglishPossessive bool     `json:"stem_english_possessive"`
	Articles          []string `json:"articles"`
	ArticlesCase      bool     `json:"articles_case"`
	Language          string   `json:"language"`
}

// property is a field. Page: supported-field-types, mapping-parameters.
type property struct {
	Type           string              `json:"type"`
	Analyzer       string              `json:"analyzer"`
	SearchAnalyzer string              `json:"search_analyzer"`
	IndexOptions   string              `json:"index_options"`
	Index          *bool               `json:"index"`
	DocValues      *bool               `json:"doc_values"`
	Fields         map[string]property `json:"fields"`
	Properties     map[string]property `json:"properties"`
}

// field is a field by its path. A subfield has its parent's values.
type field struct {
	property
	source string // the path of its values
}

var filters = []string{"lowercase", "asciifolding", "cjk_width", "cjk_bigram", "flatten_graph"}

// define takes over the analyzers and fields.
func (i *index) define(def definition) *refusal {
	i.analyzers = map[string]analyzer{}
	for name, a := range def.Settings.Analysis.Analyzer {
		if a.Type != "custom" || a.Tokenizer != "standard" {
			return refuse(400, "illegal_argument_exception", "analyzer [%s] must specify a known type and tokenizer", name)
		}
		for _, f := range a.Filter {
			own, ok := def.Settings.Analysis.Filter[f]
			switch {
			case !ok && slices.Contains(filters, f):
			case own.Type == "word_delimiter_graph":
				a.split, a.joins = true, own.CatenateAll
			case own.Type == "stemmer" && own.Language == "english":
				a.language = "en"
			case own.Type == "stemmer" && own.Language == "french":
				a.language = "fr"
			case own.Type == "elision" && len(own.Articles) > 0:
			default:
				return refuse(400, "illegal_argument_exception", "Custom Analyzer [%s] failed to find filter under name [%s]",
					name, f)
			}
		}
		pairs, no := def.pairs(name, a.CharFilter)
		if no != nil {
			return no
		}
		a.spelling = strings.NewReplacer(pairs...)
		i.analyzers[name] = a
	}
	if def.Mappings.Dynamic != "strict" {
		return refuse(400, "mapper_parsing_exception", "only strict mappings are known here")
	}
	i.fields = map[string]field{}
	return i.properties("", def.Mappings.Properties)
}

// pairs are what the mappings of an analyzer replace, and by what.
func (def definition) pairs(name string, filters []string) (pairs []string, no *refusal) {
	for _, f := range filters {
		own, ok := def.Settings.Analysis.CharFilter[f]
		if !ok || own.Type != "mapping" {
			return nil, refuse(400, "illegal_argument_exception",
				"Custom Analyzer [%s] failed to find char_filter under name [%s]", name, f)
		}
		for _, rule := range own.Mappings {
			from, to, ok := strings.Cut(rule, "=>")
			for _, part := range []string{from, to} {
				text, err := strconv.Unquote(`"` + strings.TrimSpace(part) + `"`)
				if !ok || err != nil {
					return nil, refuse(400, "illegal_argument_exception", "Invalid Mapping Rule : [%s]", rule)
				}
				pairs = append(pairs, text)
			}
		}
	}
	return pairs, nil
}

func (i *index) properties(prefix string, all map[string]property) *refusal {
	for name, p := range all {
		path := prefix + name
		if p.Properties != nil {
			if no := i.properties(path+".", p.Properties); no != nil {
				return no
			}
			continue
		}
		if no := i.property(path, path, p); no != nil {
			return no
		}
		for sub, q := range p.Fields {
			if no := i.property(path+"."+sub, path, q); no != nil {
				return no
			}
		}
	}
	return nil
}

func (i *index) property(path, source string, p property) *refusal {
	if !slices.Contains([]string{"text", "keyword", "long", "date"}, p.Type) {
		return refuse(400, "mapper_parsing_exception", "No handler for type [%s] declared on field [%s]", p.Type, path)
	}
	if p.Type != "text" && (p.Analyzer != "" || p.SearchAnalyzer != "" || p.IndexOptions != "") ||
		p.Type == "text" && p.DocValues != nil || !slices.Contains([]string{"", "offsets", "positions"}, p.IndexOptions) {
		return refuse(400, "mapper_parsing_exception", "unknown parameter on mapper [%s] of type [%s]", path, p.Type)
	}
	for _, a := range []string{p.Analyzer, p.SearchAnalyzer} {
		if _, ok := i.analyzers[a]; p.Type == "text" && !ok {
			return refuse(400, "mapper_parsing_exception", "analyzer [%s] has not been configured in mappings", a)
		}
	}
	i.fields[path] = field{p, source}
	return nil
}

// parse checks a document against the mapping, and analyzes it.
func (i *index) parse(body []byte) (*document, *refusal) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	doc := &document{tokens: map[string]map[string][]token{}, lengths: map[string]int{}}
	if err := d.Decode(&doc.source); err != nil {
		return nil, refuse(400, "mapper_parsing_exception", "failed to parse: %s", err)
	}
	if no := i.check("", doc.source); no != nil {
		return nil, no
	}
	for path, f := range i.fields {
		if f.Type != "text" {
			continue
		}
		at, words := int32(0), map[string][]token{}
		doc.tokens[path] = words
		for _, text := range doc.values(f.source) {
			at = 100 + i.analyzers[f.Analyzer].index(text, at, func(t token) {
				words[t.word] = append(words[t.word], t)
				doc.lengths[path]++
			})
		}
	}
	return doc, nil
}

// check refuses fields that the mapping does not have, and values of other types. Page: mappings, dynamic "strict".
func (i *index) check(prefix string, in object) *refusal {
	for name, value := range in {
		path := prefix + name
		f, known := i.fields[path]
		if sub, ok := value.(map[string]any); ok && !known {
			if no := i.check(path+".", sub); no != nil {
				return no
			}
			continue
		}
		if !known {
			return refuse(400, "strict_dynamic_mapping_exception",
				"mapping set to strict, dynamic introduction of [%s] within [_doc] is not allowed", path)
		}
		list, many := value.([]any)
		if !many {
			list = []any{value}
		}
		for _, v := range list {
			text, isText := v.(string)
			_, isNumber := v.(json.Number)
			good := isText
			switch f.Type {
			case "long":
				good = isNumber
			case "date":
				_, err := time.Parse(time.RFC3339, text)
				good = err == nil
			case "keyword":
				if searched := f.Index == nil || *f.Index; searched && len(text) > 32766 {
					return refuse(400, "illegal_argument_exception", "Document contains at least one immense term in field=%q", path)
				}
			}
			if !good {
				return refuse(400, "mapper_parsing_exception", "failed to parse field [%s] of type [%s]", path, f.Type)
			}
		}
	}
	return nil
}

// values are the texts of a path.
func (d *document) values(path string) (out []string) {
	var v any = d.source
	for part := range strings.SplitSeq(path, ".") {
		in, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = in[part]
	}
	switch v := v.(type) {
	case string:
		return []string{v}
	case json.Number:
		return []string{v.String()}
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// A token is a word of a field.
type token struct {
	word       string
	at         int32
	start, end int32 // bytes
}

// index analyzes a text, from a position on. The words are those of our own tokenizer, but for what the standard one
// and the filters that the analyzers have make of them.
func (a analyzer) index(text string, at int32, f func(token)) (next int32) {
	next = at
	search.Tokenize(text, func(t search.Token) bool {
		next = at + t.Position + 1
		if word := a.word(t, text[t.Start:t.End]); word != "" {
			f(token{a.stem(word), at + t.Position, t.Start, t.End})
		}
		return true
	})
	return next
}

// word is what the analyzer makes of a word of our own; "" = nothing. Pages: tokenizers/standard,
// token-filters/word-delimiter-graph, ascii-folding, cjk-bigram.
func (a analyzer) word(t search.Token, text string) string {
	if a.spelling != nil {
		text = a.spelling.Replace(text)
	}
	joined, first := !strings.ContainsFunc(t.Word, unicode.IsPunct), []rune(t.Word)[0]
	for _, r := range text {
		switch {
		case strings.ContainsRune("-\u2010\u2011\u00b4\u201b", r):
			return "" // that is where words end
		case r >= 0x2b9 && r <= 0x2bf, r == 0xa78c:
			return strings.ToLower(text) // they are letters
		case unicode.In(r, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			return "" // a text without a space is one word
		case unicode.Is(unicode.No, r) && unicode.IsNumber(first) && !strings.ContainsRune(text, first):
			return "" // ½
		case strings.ContainsRune("'\u2019,._", r) && joined && !a.joins:
			return ""
		case r >= 0x300 && r < 0x2000 && search.Fold(string(r)) != string(unicode.ToLower(r)):
			return strings.ToLower(text) // it knows the accents of Latin letters alone
		}
	}
	return t.Word
}

func (a analyzer) stem(word string) string {
	if a.language != "" {
		if s := search.Stem(a.language, word); s != "" {
			return strings.Clone(s)
		}
	}
	return strings.Clone(word)
}

// query analyzes the text of a query: words are not split.
func (a analyzer) query(text string) (out []string) {
	for _, w := range strings.FieldsFunc(text, unicode.IsSpace) {
		out = append(out, a.stem(w))
	}
	return out
}

package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

type object = map[string]any

// The languages that have a part of their own in a document: their words are stemmed. The part "other" has the pages of
// all other languages, without stems.
var languages = []string{"en", "fr"}

const other = "other"

// definition is the body of the request that makes an index. Its number of shards and copies is left to the cluster: an
// index template for name-* sets them.
func definition(aliases object) object {
	analyzer := func(filters ...string) object {
		return object{
			"type": "custom", "char_filter": []string{"spelling"}, "tokenizer": "standard", "filter": filters,
		}
	}
	// Words are kept whole and in the parts of an identifier. A query is not split: its words are split by search.Parse.
	split := []string{"cjk_width", "cjk_bigram", "elision_fr", "identifier", "flatten_graph", "lowercase", "asciifolding"}
	whole := []string{"cjk_width", "cjk_bigram", "elision_fr", "lowercase", "asciifolding"}
	with := func(filters []string, more ...string) []string { return append(slices.Clone(filters), more...) }
	text := func(analyzer string, more object) object {
		f := object{"type": "text", "analyzer": analyzer, "search_analyzer": analyzer + "_query"}
		maps.Copy(f, more)
		return f
	}
	part := func(language string) object {
		fields := object{}
		for _, name := range []string{"title", "headings", "description", "body"} {
			var more object
			if name != "headings" { // offsets are what the highlighter needs to show a long text without reading all of it
				more = object{"index_options": "offsets"}
			}
			if language == other {
				fields[name] = text("folded", more)
				continue
			}
			f := text("stem_"+language, more)
			f["fields"] = object{"exact": text("folded", nil)}
			fields[name] = f
		}
		return object{"properties": fields}
	}
	keyword, unsearched := object{"type": "keyword"}, object{"type": "keyword", "index": false, "doc_values": false}
	properties := object{
		"id": object{"type": "long"}, "url": unsearched, "lead": unsearched, "tail": unsearched,
		"site": keyword, "sites": keyword, "language": keyword, "type": keyword, "month": keyword, "text_key": keyword,
		"words": keyword, "crawled_at": object{"type": "date"}, "address": text("folded", nil), other: part(other),
	}
	analyzers := object{"folded": analyzer(split...), "folded_query": analyzer(whole...)}
	stemmers := map[string]string{"en": "english", "fr": "french"}
	filters := object{
		"identifier": object{
			"type": "word_delimiter_graph", "preserve_original": true, "stem_english_possessive": true, "catenate_all": true,
		},
		"elision_fr": object{"type": "elision", "articles_case": true, "articles": []string{
			"l", "m", "t", "qu", "n", "s", "j", "d", "c", "jusqu", "quoiqu", "lorsqu", "puisqu", "un", "all", "dall", "dell",
			"nell", "sull", "quell", "quest", "bell", "tutt", "quand", "dov", "anch", "senz", "mezz", "nessun", "alcun",
			"ciascun",
		}},
	}
	for _, language := range languages {
		stem := "stem_" + language
		properties[language] = part(language)
		filters[stem] = object{"type": "stemmer", "language": stemmers[language]}
		analyzers[stem], analyzers[stem+"_query"] = analyzer(with(split, stem)...), analyzer(with(whole, stem)...)
	}
	return object{
		"settings": object{
			// A page that was removed stays away although a batch that was under way brings it late.
			"index": object{"gc_deletes": "10m"}, "analysis": object{
				"analyzer": analyzers, "filter": filters,
				"char_filter": object{"spelling": object{"type": "mapping", "mappings": spellings()}},
			},
		},
		"mappings": object{"dynamic": "strict", "properties": properties}, "aliases": aliases,
	}
}

// spellings are rules of a mapping filter, for what the words of a query are spelt by and "standard" and "asciifolding"
// are not: letters other than Latin ones without their accents (search.Fold), figures such as ½ as numbers, apostrophes
// that are letters or accents elsewhere, as in Hawaiʻi. Words with hyphens become identifiers, so that e-mail is email,
// too.
func spellings() (rules []string) {
	add := func(from rune, to string) {
		rule := fmt.Sprintf(`\u%04x =>`, from)
		for _, r := range to {
			rule += fmt.Sprintf(`\u%04x`, r)
		}
		rules = append(rules, rule)
	}
	for _, hyphen := range "-\u2010\u2011" {
		add(hyphen, "_")
	}
	for _, apostrophe := range "\u00b4\u02b9\u02ba\u02bb\u02bc\u02bd\u02be\u02bf\u201b\ua78c" {
		add(apostrophe, "'")
	}
	figures, letters := [][2]rune{{0xbc, 0xbe}, {0x2150, 0x215f}}, [][2]rune{{0x300, 0x6ff}, {0x1f00, 0x1fff}}
	for _, block := range figures {
		for r := block[0]; r <= block[1]; r++ {
			to := " "
			search.Tokenize(string(r), func(t search.Token) bool {
				to += t.Word + " "
				return true
			})
			add(r, to)
		}
	}
	for _, block := range letters {
		for r := block[0]; r <= block[1]; r++ {
			to := search.Fold(string(r))
			if to == string(unicode.ToLower(r)) {
				continue
			}
			if unicode.IsUpper(r) { // a capital may begin a part of an identifier
				to = strings.ToUpper(to)
			}
			add(r, to)
		}
	}
	return rules
}

// writeAlias is the alias by which pages are written to an index. A write that requires an alias fails when the
// index is deleted meanwhile, where it would make a new index without our mappings otherwise.
func writeAlias(index string) string { return index + ".write" }

// firstGeneration is that of the index which no rebuild has made.
const firstGeneration = "1"

var validGeneration = regexp.MustCompile(`^(` + firstGeneration + `|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// indexes returns the names of our indexes, and which of them the searches read ("" = none).
func (e *Engine) indexes(ctx context.Context) (all []string, current string, err error) {
	var found map[string]struct {
		Aliases map[string]json.RawMessage `json:"aliases"`
	}
	err = e.do(ctx, searchTime, http.MethodGet, "/"+e.name+"-*/_alias", nil, &found)
	if err != nil && !isAnswer(err, "index_not_found_exception") {
		return nil, "", fmt.Errorf("list indexes: %w", err)
	}
	for _, index := range slices.Sorted(maps.Keys(found)) {
		_, written := found[index].Aliases[writeAlias(index)]
		// name-* are those of the engine name-other, too.
		if written && validGeneration.MatchString(strings.TrimPrefix(index, e.name+"-")) {
			all = append(all, index)
		}
		if _, read := found[index].Aliases[e.name]; read {
			current = index
		}
	}
	return all, current, nil
}

// create makes an index. One that is there already is fine.
func (e *Engine) create(ctx context.Context, index string, read bool) error {
	aliases := object{writeAlias(index): object{}}
	if read {
		aliases[e.name] = object{}
	}
	err := e.do(ctx, writeTime, http.MethodPut, "/"+index, definition(aliases), &struct{}{})
	if err != nil && !isAnswer(err, "resource_already_exists_exception") {
		return fmt.Errorf("make index %s: %w", index, err)
	}
	return nil
}

// Begin makes the index of a new generation, the run ID of a rebuild, beside the one that is searched. From now on
// Index and Remove write to both, so what is not in it yet are the pages that were stored before: index all of
// them, then call Finish. It may be repeated.
func (e *Engine) Begin(ctx context.Context, generation string) error {
	if !validGeneration.MatchString(generation) {
		return fault.Newf(fault.Invalid, "generation %q is no run ID", generation)
	}
	return e.create(ctx, e.name+"-"+generation, false)
}

// Begun fails where the index of a generation is not there: another one was finished, and it was deleted.
func (e *Engine) Begun(ctx context.Context, generation string) error {
	_, _, err := e.begun(ctx, e.name+"-"+generation)
	return err
}

// begun returns the names of our indexes, of which index must be one, and which of them the searches read.
func (e *Engine) begun(ctx context.Context, index string) (all []string, current string, err error) {
	if all, current, err = e.indexes(ctx); err == nil && !slices.Contains(all, index) {
		err = fault.Newf(fault.Conflict, "index %s is not there: begin the re-index anew", index)
	}
	return all, current, err
}

// Finish lets searches read the index of a generation from now on, in one step, and deletes all others. It may be
// repeated.
func (e *Engine) Finish(ctx context.Context, generation string) error {
	index := e.name + "-" + generation
	all, current, err := e.begun(ctx, index)
	if err != nil {
		return err
	}
	if current != index {
		actions := []object{{"add": object{"index": index, "alias": e.name}}}
		if current != "" {
			actions = append(actions, object{"remove": object{"index": current, "alias": e.name}})
		}
		err := e.do(ctx, writeTime, http.MethodPost, "/_aliases", object{"actions": actions}, &struct{}{})
		if err != nil {
			return fmt.Errorf("change index: %w", err)
		}
	}
	for _, old := range all {
		if old == index {
			continue
		}
		if err := e.delete(ctx, old); err != nil {
			return err
		}
	}
	return nil
}

// Index implements search.Engine. Pages are versions of documents by their revision, so an older one never replaces a
// newer one. A page that OpenSearch will never accept makes the error fault.Invalid and is named in it; all others of
// the call are findable all the same.
func (e *Engine) Index(ctx context.Context, pages []search.Page) error {
	lines := make([]line, 0, len(pages))
	for _, p := range pages {
		doc, err := json.Marshal(document(p))
		if err != nil {
			return fault.Newf(fault.Invalid, "page %d: %w", p.ID, err)
		}
		head := object{"_id": strconv.FormatInt(p.ID, 10), "version": p.Revision, "version_type": "external_gte"}
		action, err := json.Marshal(object{"index": head})
		if err != nil {
			return fault.Newf(fault.Invalid, "page %d: %w", p.ID, err)
		}
		lines = append(lines, line{p.ID, slices.Concat(action, []byte("\n"), doc, []byte("\n"))})
	}
	return e.write(ctx, lines, true)
}

// Remove implements search.Engine. A revision that was removed cannot come back for ten minutes; a newer one can.
func (e *Engine) Remove(ctx context.Context, ids []int64) error {
	lines := make([]line, 0, len(ids))
	for _, id := range ids {
		lines = append(lines, line{id, fmt.Appendf(nil, "{\"delete\":{\"_id\":\"%d\"}}\n", id)})
	}
	return e.write(ctx, lines, false)
}

// A line is what a bulk request has for one page.
type line struct {
	id   int64
	text []byte
}

// write sends lines to each of our indexes. A page is stored before it is written here, and a rebuild begins to
// read the stored pages after its index is made: an index that is not in the list yet will be given the page by
// the rebuild.
func (e *Engine) write(ctx context.Context, lines []line, create bool) error {
	if len(lines) == 0 {
		return nil
	}
	all, _, err := e.indexes(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 && create {
		all = []string{e.name + "-" + firstGeneration}
		if err := e.create(ctx, all[0], true); err != nil { // whatever was answered, it was no page that is refused
			return fault.Newf(fault.Transient, "%w", err)
		}
	}
	var wrong []error
	for _, index := range all {
		for part := range parts(lines, e.partSize) {
			err := e.bulk(ctx, index, part)
			if err != nil && !fault.ClassOf(err).Final() {
				return err
			}
			wrong = append(wrong, err)
		}
	}
	return errors.Join(wrong...)
}

// parts yields lines in requests of at most size bytes. A line that is longer is a request of its own.
func parts(lines []line, size int) func(func([]line) bool) {
	return func(yield func([]line) bool) {
		for len(lines) > 0 {
			n, sum := 1, len(lines[0].text)
			for n < len(lines) && sum+len(lines[n].text) <= size {
				sum += len(lines[n].text)
				n++
			}
			if !yield(lines[:n]) {
				return
			}
			lines = lines[n:]
		}
	}
}

// bulk sends one request, and returns when its pages can be found.
func (e *Engine) bulk(ctx context.Context, index string, lines []line) error {
	var body bytes.Buffer
	for _, l := range lines {
		body.Write(l.text)
	}
	var answer struct {
		Errors bool `json:"errors"`
		Items  []map[string]struct {
			ID     string          `json:"_id"`
			Status int             `json:"status"`
			Error  json.RawMessage `json:"error"`
		} `json:"items"`
	}
	query := url.Values{"refresh": {"wait_for"}, "require_alias": {"true"}}
	err := e.send(ctx, writeTime, http.MethodPost, "/"+writeAlias(index)+"/_bulk", query, body.Bytes(),
		"application/x-ndjson", &answer)
	if err != nil {
		if fault.ClassOf(err) == fault.Invalid && len(lines) > 1 { // such as 413: one of them is the cause
			half := len(lines) / 2
			first, second := e.bulk(ctx, index, lines[:half]), e.bulk(ctx, index, lines[half:])
			return firstToPass(first, second)
		}
		return fmt.Errorf("write %d pages to %s: %w", len(lines), index, err)
	}
	if !answer.Errors {
		return nil
	}
	var wrong error
	for _, item := range answer.Items {
		for _, it := range item {
			// An older revision than the one that is there, or no such page, is no failure.
			if it.Status < 300 || it.Status == http.StatusConflict || it.Status == http.StatusNotFound && it.Error == nil {
				continue
			}
			a := reason(it.Status, it.Error)
			wrong = firstToPass(wrong, fault.Newf(classOf(a.status, a.Type), "page %s: %w", it.ID, a))
		}
	}
	return wrong
}

// firstToPass is the error that decides: one that may pass before one that is final, which repeats itself.
func firstToPass(a, b error) error {
	classA, _ := fault.Of(a)
	classB, _ := fault.Of(b)
	switch {
	case a == nil:
		return b
	case b == nil || !classA.Final() && classB.Final():
		return a
	case classA.Final() && !classB.Final():
		return b
	case !classA.Final():
		return a
	}
	return errors.Join(a, b)
}

// A document is a page in the index.
func document(p search.Page) object {
	language := p.Language
	if !slices.Contains(languages, language) {
		language = other
	}
	headings := make([]string, len(p.Headings))
	for i, h := range p.Headings {
		headings[i] = clean(h)
	}
	text := clean(p.Text)
	lead, tail := edges(text)
	doc := object{
		"id": p.ID, "url": p.URL, "site": p.Site, "sites": domains(p.Site), "type": p.Type,
		"crawled_at": p.CrawledAt.UTC().Format("2006-01-02T15:04:05.000Z"), "month": p.CrawledAt.UTC().Format("2006-01"),
		"text_key": textKey(p), "words": vocabulary(p), "address": clean(search.Address(p.URL)), "lead": lead, "tail": tail,
		language: object{
			"title": clean(p.Title), "headings": headings, "description": clean(p.Description), "body": text,
		},
	}
	if p.Language != "" {
		doc["language"] = p.Language
	}
	return doc
}

// domains are a site and the domains above it: a search within example.org finds the pages of www.example.org. Those of
// a site with a port have its port.
func domains(site string) []string {
	out := []string{site}
	for _, above, _ := strings.Cut(site, "."); above != ""; _, above, _ = strings.Cut(above, ".") {
		out = append(out, above)
	}
	return out
}

// clean replaces the two characters that mark words in answers (see highlight), and invalid UTF-8.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == markStart || r == markEnd || r == 0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
}

// edges are the first and the last words of a text, on one line: they tell whether a snippet is the beginning or
// the end.
func edges(text string) (lead, tail string) {
	lead, _ = plain(cutRunes(text, 80))
	if len(text) > 400 {
		text = strings.ToValidUTF8(text[len(text)-400:], "")
	}
	last, _ := plain(text)
	if runes := []rune(last); len(runes) > 40 {
		last = string(runes[len(runes)-40:])
	}
	return lead, last
}

func cutRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// vocabulary is the different words of a page, up to 1,000: what Suggest and the correction of typing errors know.
func vocabulary(p search.Page) []string {
	seen := map[string]bool{}
	for _, text := range append([]string{p.Title, p.Description, p.Text}, p.Headings...) {
		search.Tokenize(text, func(t search.Token) bool {
			if search.Spellable(t.Word) {
				seen[strings.Clone(t.Word)] = true
			}
			return len(seen) < 1000
		})
	}
	return slices.Sorted(maps.Keys(seen))
}

// Drop deletes all our indexes.
func (e *Engine) Drop(ctx context.Context) error {
	all, _, err := e.indexes(ctx)
	if err != nil {
		return err
	}
	for _, index := range all {
		if err := e.delete(ctx, index); err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) delete(ctx context.Context, index string) error {
	err := e.do(ctx, writeTime, http.MethodDelete, "/"+index, nil, &struct{}{})
	if err != nil && !isAnswer(err, "index_not_found_exception") {
		return fmt.Errorf("delete index %s: %w", index, err)
	}
	return nil
}

// textKey is the same for pages of the same words. A page without text has one of its own.
func textKey(p search.Page) string {
	if key := search.TextKey(p.Title, p.Text); key != 0 {
		return strconv.FormatUint(key, 16)
	}
	return "page " + strconv.FormatInt(p.ID, 10)
}

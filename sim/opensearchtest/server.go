// Package opensearchtest is an OpenSearch for tests: the part of its REST API that is used, in memory. It is
// strict: what the documentation (docs.opensearch.org, the page is named at each rule) does not have is refused,
// in the shape of OpenSearch's own errors. Its ranking and its highlighting are only of the kind of OpenSearch's.
package opensearchtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A Server is one cluster. Its methods may be called at any time.
type Server struct {
	URL     string
	MaxBody int // bytes of the largest request: http.max_content_length, 100 MiB by default; to be set before the first

	mu       sync.Mutex
	indexes  map[string]*index
	requests []string
	failures []Failure
	items    map[string]Failure
}

// A Failure is an answer in place of the right one.
type Failure struct {
	Status     int
	Type       string // of the error
	RetryAfter string // header; "" = none
	Path       string // the end of the path of the requests that fail; "" = any
	After      bool   // the request is carried out all the same
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{MaxBody: 100 << 20, indexes: map[string]*index{}, items: map[string]Failure{}}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	s.URL = web.URL
	return s
}

// Fail makes the next request fail. Several calls are for several requests.
func (s *Server) Fail(f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, f)
}

// FailItem makes the writing of a document fail until it is called with a Failure of status 0.
func (s *Server) FailItem(id string, f Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items[id] = f
	if f.Status == 0 {
		delete(s.items, id)
	}
}

// Requests are the method, path and query of each request so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// A refused request is answered with this.
type refusal struct {
	status       int
	kind, reason string
}

func refuse(status int, kind, format string, args ...any) *refusal {
	return &refusal{status, kind, fmt.Sprintf(format, args...)}
}

// document is the error as OpenSearch writes it.
func (r *refusal) document() object {
	cause := object{"type": r.kind, "reason": r.reason}
	return object{
		"error":  object{"root_cause": []object{cause}, "type": r.kind, "reason": r.reason},
		"status": r.status,
	}
}

type object = map[string]any

// ServeHTTP is OpenSearch.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	var answer any
	var no *refusal
	var failure *Failure
	if len(s.failures) > 0 && strings.HasSuffix(r.URL.Path, s.failures[0].Path) {
		failure, s.failures = &s.failures[0], s.failures[1:]
	}
	if failure == nil || failure.After {
		answer, no = s.route(r, body)
	}
	if failure != nil {
		no = refuse(failure.Status, failure.Type, "it fails in a test")
		if failure.RetryAfter != "" {
			w.Header().Set("Retry-After", failure.RetryAfter)
		}
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	if no != nil {
		w.WriteHeader(no.status)
		answer = no.document()
	}
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}

// The parameters of each request that may be used, and which methods it has.
var routes = map[string]struct {
	methods    []string
	parameters []string
}{
	"":         {[]string{"PUT", "DELETE"}, []string{"timeout", "cluster_manager_timeout"}},   // API: create, delete index
	"_alias":   {[]string{"GET"}, []string{"ignore_unavailable", "allow_no_indices"}},         // API: get alias
	"_aliases": {[]string{"POST"}, []string{"timeout", "cluster_manager_timeout"}},            // API: manage aliases
	"_bulk":    {[]string{"POST", "PUT"}, []string{"refresh", "require_alias", "timeout"}},    // API: bulk
	"_search":  {[]string{"GET", "POST"}, []string{"ignore_unavailable", "track_total_hits"}}, // API: search
	"_stats":   {[]string{"GET"}, []string{"level"}},                                          // API: index stats
}

// route finds what a request is for. Unknown paths, methods and parameters are refused as OpenSearch does.
func (s *Server) route(r *http.Request, body []byte) (any, *refusal) {
	segments := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	target, verb, rest := "", "", ""
	for i, seg := range segments {
		switch {
		case strings.HasPrefix(seg, "_") && verb == "":
			verb = seg
		case i == 0:
			target = seg
		case verb != "" && rest == "":
			rest = seg
		default:
			return nil, refuse(400, "illegal_argument_exception", "no handler found for uri [%s]", r.URL.Path)
		}
	}
	known, ok := routes[verb]
	switch {
	case !ok || target == "" && verb != "_aliases":
		return nil, refuse(400, "illegal_argument_exception", "no handler found for uri [%s] and method [%s]", r.URL.Path,
			r.Method)
	case !slices.Contains(known.methods, r.Method):
		return nil, refuse(405, "illegal_argument_exception", "Incorrect HTTP method for uri [%s] and method [%s]",
			r.URL.Path, r.Method)
	case len(body) > s.MaxBody:
		return nil, refuse(413, "content_too_large_exception", "request is larger than http.max_content_length")
	}
	for name := range r.URL.Query() {
		if !slices.Contains(known.parameters, name) {
			return nil, refuse(400, "illegal_argument_exception", "request [%s] contains unrecognized parameter: [%s]",
				r.URL.Path, name)
		}
	}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if len(body) > 0 && kind != "application/json" && (kind != "application/x-ndjson" || verb != "_bulk") {
		return nil, refuse(406, "media_type_header_exception", "Content-Type header [%s] is not supported", kind)
	}
	switch verb {
	case "":
		if r.Method == http.MethodDelete {
			return s.drop(target)
		}
		return s.create(target, body)
	case "_alias":
		return s.aliasesOf(target), nil
	case "_aliases":
		return s.changeAliases(body)
	case "_bulk":
		return s.bulk(target, r.URL.Query().Get("require_alias") == "true", body)
	case "_search":
		return s.search(target, body)
	}
	return s.stats(target, rest)
}

// An index is one index.
type index struct {
	aliases   map[string]bool
	fields    map[string]field // by path
	analyzers map[string]analyzer
	docs      map[string]*document
	deleted   map[string]int64 // versions of documents that are gone: index.gc_deletes
}

type document struct {
	id      string
	version int64
	source  object
	tokens  map[string]map[string][]token // by field and word
	lengths map[string]int                // words by field
}

// resolve finds the one index of a name or alias.
func (s *Server) resolve(name string) (string, *index, *refusal) {
	if i, ok := s.indexes[name]; ok {
		return name, i, nil
	}
	for n, i := range s.indexes {
		if i.aliases[name] {
			return n, i, nil
		}
	}
	return "", nil, refuse(404, "index_not_found_exception", "no such index [%s]", name)
}

// create makes an index. API: create index (names, settings, mappings, aliases).
func (s *Server) create(name string, body []byte) (any, *refusal) {
	if name != strings.ToLower(name) || strings.ContainsAny(name, `\/*?"<>| ,#:`) || strings.HasPrefix(name, "-") {
		return nil, refuse(400, "invalid_index_name_exception", "Invalid index name [%s]", name)
	}
	if _, _, missing := s.resolve(name); missing == nil {
		return nil, refuse(400, "resource_already_exists_exception", "index [%s] already exists", name)
	}
	var def definition
	if no := decode(body, &def, "parse_exception"); no != nil {
		return nil, no
	}
	made := &index{aliases: map[string]bool{}, docs: map[string]*document{}, deleted: map[string]int64{}}
	for alias := range def.Aliases {
		made.aliases[alias] = true
	}
	if no := made.define(def); no != nil {
		return nil, no
	}
	s.indexes[name] = made
	return object{"acknowledged": true, "shards_acknowledged": true, "index": name}, nil
}

// drop deletes an index. API: delete index.
func (s *Server) drop(name string) (any, *refusal) {
	n, _, missing := s.resolve(name)
	if missing != nil {
		return nil, missing
	}
	if n != name {
		return nil, refuse(400, "illegal_argument_exception",
			"The provided expression [%s] matches an alias, specify the corresponding concrete indices instead.", name)
	}
	delete(s.indexes, name)
	return object{"acknowledged": true}, nil
}

// aliasesOf lists indexes with all their aliases. A pattern that matches none has none. API: get alias.
func (s *Server) aliasesOf(pattern string) any {
	out := object{}
	for name, i := range s.indexes {
		names := append(slices.Collect(maps.Keys(i.aliases)), name)
		if !slices.ContainsFunc(names, func(n string) bool { ok, err := path.Match(pattern, n); return ok && err == nil }) {
			continue
		}
		aliases := object{}
		for a := range i.aliases {
			aliases[a] = object{}
		}
		out[name] = object{"aliases": aliases}
	}
	return out
}

// changeAliases does all actions or none. API: manage aliases.
func (s *Server) changeAliases(body []byte) (any, *refusal) {
	type action struct{ Index, Alias string }
	var in struct {
		Actions []struct {
			Add    *action `json:"add"`
			Remove *action `json:"remove"`
		} `json:"actions"`
	}
	if no := decode(body, &in, "x_content_parse_exception"); no != nil {
		return nil, no
	}
	for _, a := range in.Actions {
		for _, one := range []*action{a.Add, a.Remove} {
			if one != nil && s.indexes[one.Index] == nil {
				return nil, refuse(404, "index_not_found_exception", "no such index [%s]", one.Index)
			}
		}
		if a.Remove != nil && !s.indexes[a.Remove.Index].aliases[a.Remove.Alias] {
			return nil, refuse(404, "aliases_not_found_exception", "aliases [%s] missing", a.Remove.Alias)
		}
	}
	for _, a := range in.Actions {
		if a.Add != nil {
			s.indexes[a.Add.Index].aliases[a.Add.Alias] = true
		}
		if a.Remove != nil {
			delete(s.indexes[a.Remove.Index].aliases, a.Remove.Alias)
		}
	}
	return object{"acknowledged": true}, nil
}

// decode reads one JSON document. A field that the documentation does not have is an error.
func decode(body []byte, out any, kind string) *refusal {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return refuse(400, kind, "%s", err)
	}
	return nil
}

// bulk writes documents, each by itself. API: bulk.
func (s *Server) bulk(target string, alias bool, body []byte) (any, *refusal) {
	if !bytes.HasSuffix(body, []byte("\n")) {
		return nil, refuse(400, "illegal_argument_exception", "The bulk request must be terminated by a newline [\\n]")
	}
	lines := bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n"))
	var items []object
	failed := false
	for len(lines) > 0 {
		type meta struct {
			ID          string `json:"_id"`
			Version     *int64 `json:"version"`
			VersionType string `json:"version_type"`
		}
		var action struct {
			Index  *meta `json:"index"`
			Delete *meta `json:"delete"`
		}
		if no := decode(lines[0], &action, "illegal_argument_exception"); no != nil {
			return nil, no
		}
		verb, m, doc := "delete", action.Delete, []byte(nil)
		lines = lines[1:]
		switch {
		case action.Index != nil && action.Delete == nil && len(lines) > 0:
			verb, m, doc, lines = "index", action.Index, lines[0], lines[1:]
		case action.Delete == nil || action.Index != nil:
			return nil, refuse(400, "illegal_argument_exception", "Malformed action/metadata line")
		}
		if m.ID == "" || len(m.ID) > 512 {
			return nil, refuse(400, "illegal_argument_exception", "an ID has 1 to 512 bytes")
		}
		w := write{id: m.ID, delete: verb == "delete", doc: doc, external: m.VersionType == "external_gte"}
		if m.Version != nil {
			w.version = *m.Version
		}
		if m.VersionType != "" && !w.external || w.external != (m.Version != nil) {
			return nil, refuse(400, "action_request_validation_exception", "illegal version value for version type")
		}
		item, no := s.write(target, alias, w)
		if no != nil {
			failed = true
			item = object{"status": no.status, "error": object{"type": no.kind, "reason": no.reason}}
		}
		item["_id"] = m.ID
		items = append(items, object{verb: item})
	}
	return object{"took": 1, "errors": failed, "items": items}, nil
}

type write struct {
	id       string
	version  int64
	external bool
	delete   bool
	doc      []byte
}

// write does one of a bulk request. API: index document (version_type), delete document; a delete that names no version
// is of the version after the one that is there.
func (s *Server) write(target string, alias bool, w write) (object, *refusal) {
	if f, ok := s.items[w.id]; ok {
		return nil, refuse(f.Status, f.Type, "it fails in a test")
	}
	name, i, missing := s.resolve(target)
	if missing != nil {
		return nil, missing // as with action.auto_create_index=false, and with require_alias
	}
	if alias && name == target {
		return nil, refuse(404, "index_not_found_exception",
			"no such index [%s] and [require_alias] request flag is [true] and [%s] is not an alias", target, target)
	}
	old := i.docs[w.id]
	current := i.deleted[w.id]
	if old != nil {
		current = old.version
	}
	if w.external && w.version < current {
		return nil, refuse(409, "version_conflict_engine_exception",
			"[%s]: version conflict, current version [%d] is higher than the one provided [%d]", w.id, current, w.version)
	}
	if !w.external {
		w.version = current + 1
	}
	if w.delete {
		delete(i.docs, w.id)
		i.deleted[w.id] = w.version
		if old == nil {
			return object{"_index": name, "_version": w.version, "result": "not_found", "status": 404}, nil
		}
		return object{"_index": name, "_version": w.version, "result": "deleted", "status": 200}, nil
	}
	doc, no := i.parse(w.doc)
	if no != nil {
		return nil, no
	}
	doc.id, doc.version = w.id, w.version
	i.docs[w.id] = doc
	delete(i.deleted, w.id)
	if old == nil {
		return object{"_index": name, "_version": w.version, "result": "created", "status": 201}, nil
	}
	return object{"_index": name, "_version": w.version, "result": "updated", "status": 200}, nil
}

// stats counts. API: index stats (metrics docs, store, segments).
func (s *Server) stats(target, metrics string) (any, *refusal) {
	name, i, missing := s.resolve(target)
	if missing != nil {
		return nil, missing
	}
	size := 0
	for _, d := range i.docs {
		doc, _ := json.Marshal(d.source) // it was decoded
		size += len(doc)
	}
	numbers := object{}
	for metric := range strings.SplitSeq(metrics, ",") {
		switch metric {
		case "docs":
			numbers["docs"] = object{"count": len(i.docs), "deleted": 0}
		case "store":
			numbers["store"] = object{"size_in_bytes": size, "reserved_in_bytes": 0}
		case "segments":
			numbers["segments"] = object{"count": 1}
		default:
			return nil, refuse(400, "illegal_argument_exception",
				"request [/%s/_stats/%s] contains unrecognized metric: [%s]", target, metrics, metric)
		}
	}
	both := object{"primaries": numbers, "total": numbers}
	return object{"_shards": shards(), "_all": both, "indices": object{name: both}}, nil
}

func shards() object { return object{"total": 1, "successful": 1, "skipped": 0, "failed": 0} }

func number(v any) (float64, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case json.Number:
		f, err := n.Float64()
		return f, err == nil
	case string:
		f, err := strconv.ParseFloat(n, 64)
		return f, err == nil
	}
	return 0, false
}

package opensearch_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/opensearch"
)

var update = flag.Bool("update", false, "write the requests and the results of testdata anew; answers stay")

// Exchanges are the steps of a file in testdata: a request and the answer of OpenSearch, as its documentation
// (docs.opensearch.org) has them, or what our engine makes of the answers so far ("=").
//
//	POST /pages/_search
//	{"query": …}
//	200
//	{"hits": …}
//	----
//	= {"Total": 1, …}
type exchanges struct {
	t     *testing.T
	steps []string
	at    int
}

const between = "\n----\n"

// play starts a server that expects the requests of a file, in their order, and gives its answers.
func play(t *testing.T, name string) (*opensearch.Engine, *exchanges) {
	t.Helper()
	file := "testdata/" + name + ".txt"
	x := &exchanges{t: t}
	text, err := os.ReadFile(file)
	if !*update {
		require.NoError(t, err)
	}
	if len(text) > 0 {
		x.steps = strings.Split(strings.TrimSuffix(string(text), "\n"), between)
	}
	server := httptest.NewServer(x)
	e, err := opensearch.New(server.URL + "/pages")
	require.NoError(t, err)
	t.Cleanup(func() {
		e.Close()
		server.Close()
		if *update {
			steps := strings.Join(x.steps[:min(x.at, len(x.steps))], between) + "\n"
			require.NoError(t, os.WriteFile(file, []byte(steps), 0o600))
		}
		assert.Equal(t, len(x.steps), x.at, "steps of %s", file)
	})
	return e, x
}

// step compares the next step with what happens, and returns what is under it: the answer.
func (x *exchanges) step(happens string) (answer string) {
	expected := ""
	if x.at < len(x.steps) {
		expected = x.steps[x.at]
	}
	head, under, found := cut(expected)
	if found {
		answer = under
	}
	switch {
	case !*update:
		assert.Equal(x.t, head, happens, "step %d", x.at+1)
	case strings.HasPrefix(happens, "= "):
		x.put(happens)
	default:
		if answer == "" {
			answer = "200\n{}"
		}
		x.put(happens + "\n" + answer)
	}
	x.at++
	return answer
}

func (x *exchanges) put(step string) {
	if x.at < len(x.steps) {
		x.steps[x.at] = step
		return
	}
	x.steps = append(x.steps, step)
}

// cut divides a step before the line that has the status of the answer.
func cut(step string) (request, answer string, found bool) {
	for at := 0; ; {
		line, _, more := strings.Cut(step[at:], "\n")
		if _, err := strconv.Atoi(line); err == nil && at > 0 {
			return step[:at-1], step[at:], true
		}
		if !more {
			return step, "", false
		}
		at += len(line) + 1
	}
}

// ServeHTTP answers the next request.
func (x *exchanges) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if !assert.NoError(x.t, err) {
		return
	}
	happens := r.Method + " " + r.URL.RequestURI()
	if r.Header.Get("Content-Type") == "application/x-ndjson" { // lines of JSON, ended by a newline
		happens += "\n" + strings.TrimSuffix(string(body), "\n")
		assert.True(x.t, bytes.HasSuffix(body, []byte("\n")))
	} else if len(body) > 0 {
		happens += "\n" + indented(x.t, body)
	}
	status, answer, _ := strings.Cut(x.step(happens), "\n")
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	code, err := strconv.Atoi(status)
	if !assert.NoError(x.t, err, "there is no answer to %s", happens) {
		code = http.StatusInternalServerError
	}
	w.WriteHeader(code)
	_, _ = io.WriteString(w, answer)
}

// gives compares what a call returned with the next step.
func (x *exchanges) gives(result any, err error) {
	x.t.Helper()
	require.NoError(x.t, err)
	doc, err := json.Marshal(result)
	require.NoError(x.t, err)
	x.step("= " + indented(x.t, doc))
}

func indented(t *testing.T, doc []byte) string {
	t.Helper()
	var out bytes.Buffer
	assert.NoError(t, json.Indent(&out, doc, "", "  "))
	return lists.ReplaceAllStringFunc(out.String(), func(list string) string {
		return "[" + spaces.ReplaceAllString(strings.Trim(list, "[] \n"), " ") + "]"
	})
}

// Lists of texts are on one line.
var (
	lists  = regexp.MustCompile(`\[\n *"[^\n]*"(,\n *"[^\n]*")*\n *\]`)
	spaces = regexp.MustCompile(`\n *`)
)

// answering starts a server that answers by a function: of the path and the body of a request. The list of indexes has
// the one that is searched and written.
func answering(t *testing.T, answer func(path, body string) (status int, text string, header http.Header)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if !assert.NoError(t, err) {
			return
		}
		if strings.HasSuffix(r.URL.Path, "/_alias") {
			_, _ = io.WriteString(w, `{"pages-1": {"aliases": {"pages": {}, "pages-1.write": {}}}}`)
			return
		}
		status, text, header := answer(r.URL.Path, string(body))
		for name := range header {
			w.Header().Set(name, header.Get(name))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(server.Close)
	return server
}

// refusal is an error as OpenSearch writes it.
func refusal(status int, kind string) string {
	cause := fmt.Sprintf(`{"type": %q, "reason": "it fails in a test"}`, kind)
	return fmt.Sprintf(`{"error": {"root_cause": [%s], "type": %q, "reason": "it fails in a test"}, "status": %d}`,
		cause, kind, status)
}

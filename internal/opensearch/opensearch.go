// Package opensearch is the search of pages in OpenSearch, 2.x and 3.x, by its REST API. The seven requests of
// that API that are used are written out here: the official client would bring its own retries and the AWS SDK in
// another version.
package opensearch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/search"
	"github.com/mtlrent/conveyor/internal/certificate"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// The longest that one request may take, and the largest answer that is read: 101 hits of up to 40 KiB are 4 MiB, with
// titles, descriptions and URLs as long as they may be, and so are the items of 1,000 pages that are written at once,
// each with a reason.
const (
	searchTime = 10 * time.Second
	writeTime  = 2 * time.Minute
	maxAnswer  = 8 << 20
	maxReason  = 301 // characters: OpenSearch quotes parts of the page in it
)

// defaultName is the index where the URL names none.
const defaultName = "conveyor-pages"

// An Engine searches pages by one OpenSearch cluster. It implements search.Engine, and it is safe for concurrent use.
//
// The index has the name of the Engine as its alias. The alias is of one index name-generation; a rebuild (Begin,
// Finish) fills another one beside it. Writes go to each of them, by an alias of its own.
type Engine struct {
	base     *url.URL // without user information
	user     *url.Userinfo
	name     string
	client   *http.Client
	partSize int // bytes of a bulk request
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,99}$`)

// New returns the engine at an address such as https://user:password@search.internal:9200/name: the path is the name of
// the index, conveyor-pages by default. ?cacertfile= names the authorities that its certificate is checked with, the
// system's by default; certfile= and keyfile= those of ours. It makes no request. Errors quote no address.
func New(address string) (*Engine, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return nil, fault.Newf(fault.Invalid, "URL of OpenSearch is not http[s]://[user:password@]host[:port][/index]")
	}
	transport, err := certificate.Transport(u)
	if err != nil {
		return nil, fault.Newf(fault.Invalid, "URL of OpenSearch: %w", err)
	}
	if u.RawQuery != "" {
		return nil, fault.Newf(fault.Invalid, "URL of OpenSearch has settings other than cacertfile, certfile and keyfile")
	}
	name := strings.Trim(u.Path, "/")
	if name == "" {
		name = defaultName
	}
	if !validName.MatchString(name) {
		return nil, fault.Newf(fault.Invalid, "index %q of OpenSearch is not lower-case letters, digits, - and _", name)
	}
	transport.MaxIdleConnsPerHost, transport.MaxResponseHeaderBytes = 16, 64<<10
	e := &Engine{
		base: &url.URL{Scheme: u.Scheme, Host: u.Host}, user: u.User, name: name, partSize: 10 << 20,
		client: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // the pages are for the host that an operator has named
		}},
	}
	return e, nil
}

// Close ends idle connections.
func (e *Engine) Close() { e.client.CloseIdleConnections() }

// An answerError is an answer that is an error, in OpenSearch's own words.
type answerError struct {
	status int
	Type   string
	Reason string
}

func (e *answerError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("OpenSearch answers %d %s: %s", e.status, e.Type, e.Reason), ": ")
}

// isAnswer says that err is an error of this type, such as index_not_found_exception.
func isAnswer(err error, kind string) bool {
	var a *answerError
	return errors.As(err, &a) && a.Type == kind
}

// do sends a JSON document (nil = none) and decodes the answer. Failures are faults: 429 is throttled, all that
// may pass or that an operator can repair is transient, and only a request that OpenSearch will never accept is
// invalid.
func (e *Engine) do(ctx context.Context, most time.Duration, method, path string, in, out any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return fault.Newf(fault.Invalid, "encode request: %w", err)
		}
	}
	return e.send(ctx, most, method, path, nil, body, "application/json", out)
}

func (e *Engine) send(
	ctx context.Context, most time.Duration, method, path string, query url.Values, body []byte, kind string, out any,
) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	address := *e.base
	address.Path, address.RawQuery = path, query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		return fault.Newf(fault.Invalid, "make request: %w", err)
	}
	if len(body) > 0 {
		req.Header.Set("Content-Type", kind)
	}
	if e.user != nil {
		password, _ := e.user.Password()
		req.SetBasicAuth(e.user.Username(), password)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return fault.Newf(fault.Transient, "reach OpenSearch: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return fault.Newf(fault.Transient, "read answer of OpenSearch: %w", err)
	}
	if len(answer) > maxAnswer {
		return fault.Newf(fault.Transient, "answer of OpenSearch is longer than %d bytes", maxAnswer)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return refusal(resp, answer)
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return fault.Newf(fault.Transient, "decode answer of OpenSearch: %w", err)
	}
	return nil
}

// refusal is the fault of an answer that is an error.
func refusal(resp *http.Response, body []byte) error {
	var doc struct {
		Error json.RawMessage `json:"error"`
	}
	a := &answerError{status: resp.StatusCode}
	if json.Unmarshal(body, &doc) == nil && len(doc.Error) > 0 {
		*a = *reason(resp.StatusCode, doc.Error)
	}
	after := fetch.RetryAfter(resp.Header.Get("Retry-After"), time.Now(), time.Hour)
	return &fault.Error{Class: classOf(a.status, a.Type), After: after, Err: a}
}

// reason decodes the value of "error": an object, or in few cases a text.
func reason(status int, raw json.RawMessage) *answerError {
	a := &answerError{status: status}
	var cause struct {
		Type      string `json:"type"`
		Reason    string `json:"reason"`
		RootCause []struct {
			Type   string `json:"type"`
			Reason string `json:"reason"`
		} `json:"root_cause"`
		CausedBy struct {
			Reason string `json:"reason"`
		} `json:"caused_by"`
	}
	if json.Unmarshal(raw, &cause) != nil {
		_ = json.Unmarshal(raw, &a.Reason)
		a.Reason = page.Short(a.Reason, maxReason)
		return a
	}
	a.Type, a.Reason = cause.Type, cause.Reason
	if len(cause.RootCause) > 0 && cause.RootCause[0].Type != "" { // the type above is that of the phase
		a.Type, a.Reason = cause.RootCause[0].Type, cause.RootCause[0].Reason
	}
	if cause.CausedBy.Reason != "" {
		a.Reason += ": " + cause.CausedBy.Reason
	}
	a.Reason = page.Short(a.Reason, maxReason)
	return a
}

// classOf says what to do about a status. Only what the document or the query itself causes is final: 400 and 413, but
// not that of an index which is just being made or of an alias that is just gone.
func classOf(status int, kind string) fault.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return fault.Throttled
	case kind == "index_not_found_exception" || kind == "resource_already_exists_exception":
		return fault.Transient
	case status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge:
		return fault.Invalid
	}
	return fault.Transient
}

var (
	_ search.Engine    = (*Engine)(nil)
	_ search.Rebuilder = (*Engine)(nil)
)

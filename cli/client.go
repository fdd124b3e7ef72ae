// Package cli is the operator's commands that work through the HTTP API. Each is a struct for kong with a Run method
// that gets a Client, or a Connect where it can do without the API; the program that embeds them binds both, and so
// says where the API is. They print to standard output, and write progress and errors to standard error.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Client calls the API.
type Client struct {
	URL string // base URL, with or without a slash at its end
	Key string // sent as a bearer token; none is sent when it is empty

	repeat string        // sent as Idempotency-Key; none is sent when it is empty
	line   *kong.Context // what is refused is named as it is there; nil: as the API names it
}

// Provide returns the client of a command.
func Provide(connect Connect, line *kong.Context) (Client, error) {
	r, err := connect()
	r.line = line
	return r, err
}

// again returns a client whose one request may be sent again, by this command or the next one with the same key: it is
// done once. Without a key each request is one of its own.
func (r Client) again(key string) Client {
	r.repeat = key
	return r
}

// Connect returns the client of the configured API. Its error is one in the configuration: nothing is called yet.
type Connect func() (Client, error)

// callTimeout is longer than the API takes for any request.
const callTimeout = time.Minute

// direct follows no redirect: net/http makes a GET without a body of a change, and that is answered like a success.
var direct = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// call sends in as JSON, unless it is nil, and decodes the response into out, unless that is nil. A problem document in
// the response becomes an error with its detail and the fields it names. Over the rate limit it waits for its turn.
func (r Client) call(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for {
		req, err := r.request(ctx, method, path, in)
		if err != nil {
			return err
		}
		wait, err := r.send(req, path, out)
		if wait == 0 {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// show sends a request and prints the answer: as JSON, or as text does.
func show[T any](
	ctx context.Context, r Client, method, path string, in any, asJSON bool, text func(io.Writer, T) error,
) error {
	var got T
	if err := r.call(ctx, method, path, in, &got); err != nil {
		return err
	}
	return printAs(os.Stdout, got, asJSON, text)
}

// printAs writes v: as JSON, or as text does.
func printAs[T any](w io.Writer, v T, asJSON bool, text func(io.Writer, T) error) error {
	if asJSON {
		return PrintJSON(w, v)
	}
	return text(w, v)
}

// warn writes a warning of the API, if there is one.
func warn(w io.Writer, warning string) {
	if warning != "" {
		fmt.Fprintln(w, "conveyor: "+Plain(warning))
	}
}

// request is a request with the key, and with in as JSON, unless that is nil.
func (r Client) request(ctx context.Context, method, path string, in any) (*http.Request, error) {
	var body io.Reader
	if in != nil {
		doc, err := json.Marshal(in)
		if err != nil {
			return nil, fmt.Errorf("write request: %w", err)
		}
		body = bytes.NewReader(doc)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(r.URL, "/")+path, body)
	if err != nil {
		return nil, fmt.Errorf("read CONVEYOR_API_URL: %w", err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.Key != "" {
		req.Header.Set("Authorization", "Bearer "+r.Key)
	}
	if r.repeat != "" {
		req.Header.Set("Idempotency-Key", r.repeat)
	}
	return req, nil
}

// send sends a request to a path, and decodes the response into out, unless that is nil. A wait above zero is the time
// after which it may be sent again: it was refused for its rate.
func (r Client) send(req *http.Request, path string, out any) (wait time.Duration, err error) {
	method := req.Method
	resp, err := direct.Do(req)
	if err != nil {
		return 0, unanswered(req, err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, fmt.Errorf("read response to %s %s: %w", method, path, err)
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // none is no time to wait for
		wait = time.Duration(max(0, seconds)) * time.Second
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return wait, r.refusal(resp, doc)
	}
	if out == nil || len(doc) == 0 {
		return 0, nil
	}
	err = json.Unmarshal(doc, out)
	return 0, fault.Wrap(err, "read response to %s %s", method, path)
}

// unanswered is the error of a request that has no answer: the API is not there, or the caller did not wait for it.
func unanswered(req *http.Request, err error) error {
	switch {
	case !errors.Is(req.Context().Err(), context.Canceled):
		return fmt.Errorf("call the API; is it running, and is CONVEYOR_API_URL right? %w", err)
	case req.Method == http.MethodGet:
		return errors.New("stopped before the API answered")
	}
	return errors.New("stopped before the API answered: what was asked for may be done all the same")
}

// A refused request: the API answered with a status from 300.
type refused struct {
	status int
	reason string
}

func (r refused) Error() string { return r.reason }

// ofCaller says that the request is refused however often it is sent.
func (r refused) ofCaller() bool {
	return r.status < http.StatusInternalServerError && r.status != http.StatusTooManyRequests
}

// ofNothing says that what is asked for does not exist, or no longer.
func (r refused) ofNothing() bool {
	return r.status == http.StatusNotFound || r.status == http.StatusGone
}

// refusal turns a problem document into a refused with its detail and every field it names, and a redirect into one
// that names its address.
func (r Client) refusal(resp *http.Response, doc []byte) error {
	if to, err := resp.Location(); err == nil && resp.StatusCode < http.StatusBadRequest {
		return refused{resp.StatusCode, "the API redirects to " + to.String() + ": set CONVEYOR_API_URL accordingly"}
	}
	var p struct {
		Detail string `json:"detail"`
		Errors []struct{ Message, Location string }
	}
	if err := json.Unmarshal(doc, &p); err != nil || p.Detail == "" {
		return refused{resp.StatusCode, "the API answered " + resp.Status}
	}
	lines := []string{p.Detail}
	if resp.StatusCode == http.StatusUnauthorized {
		lines = append(lines, "commands authenticate with the key in CONVEYOR_API_KEY")
	}
	for _, e := range p.Errors {
		if e.Location != "" { // a problem of the whole request, such as "and 951 more", has none
			e.Message = r.typed(e.Location) + ": " + e.Message
		}
		lines = append(lines, e.Message)
	}
	return refused{resp.StatusCode, strings.Join(lines, "; ")}
}

// joint is between two words of the name of a field.
var joint = regexp.MustCompile(`[^a-zA-Z]+|([a-z])([A-Z])`)

// typed names a field of the API by the argument that it was made of, --max-pages for body.settings.maxPages: the one
// whose words come first in those of the field. Without one it is as the API has it.
func (r Client) typed(field string) string {
	_, name, ok := strings.Cut(field, ".")
	if !ok || r.line == nil {
		return field
	}
	words := "-" + strings.ToLower(joint.ReplaceAllString(name, "$1-$2")) + "-"
	found, begins := "", len(words)
	for _, p := range r.line.Path {
		v := p.Positional
		if p.Flag != nil {
			v = p.Flag.Value
		}
		if v == nil {
			continue
		}
		at := max(strings.Index(words, "-"+v.Name+"-"), strings.Index(words, "-"+v.Name+"s-"))
		if at >= 0 && at < begins {
			found, begins = v.ShortSummary(), at
		}
	}
	switch {
	case found == "":
		return field
	case strings.Contains(name, "["), strings.HasSuffix(name, "_seconds"): // which of several; what is asked of 7h
		return found + " (" + field + ")"
	}
	return found
}

// within refuses a number that the API does not take. Its 0 would be left out of the request, and be the API's default.
func within(flag string, n, most int) error {
	if n < 1 || n > most {
		return Usage("read --%s: is %d, expected 1 to %d", flag, n, most)
	}
	return nil
}

// when is a time on the command line; the zero value is none.
type when struct{ time.Time }

// UnmarshalText reads an RFC 3339 time, a day (its start in UTC), or an age: a duration before now.
func (w *when) UnmarshalText(text []byte) (err error) {
	s := string(text)
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if w.Time, err = time.Parse(layout, s); err == nil {
			return nil
		}
	}
	ago, err := time.ParseDuration(s)
	if err != nil || ago < 0 {
		return fmt.Errorf("%q is neither a time such as 2026-01-31T12:00:00Z, nor a day such as 2026-01-31, nor an age such as 2h", s)
	}
	w.Time = time.Now().Add(-ago).UTC()
	return nil
}

// text is the time as a parameter has it; "" for the zero value.
func (w when) text() string {
	if w.IsZero() {
		return ""
	}
	return w.Format(time.RFC3339Nano)
}

// moment returns nil for the zero value.
func (w when) moment() *time.Time {
	if w.IsZero() {
		return nil
	}
	return &w.Time
}

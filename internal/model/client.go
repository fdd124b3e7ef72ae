// Package model asks a language model by an OpenAI-compatible API (POST …/chat/completions). What is asked, and what of
// an answer is believed, is decided in domain/listing.
package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/fetch"
)

const (
	maxReply  = 256 << 10 // bytes of a reply that are read; the answer in it has at most listing.MaxAnswer
	maxTokens = 1_500     // that the model may write: some 40 facts
	maxThinks = 6_000     // the same where its thoughts count too
	maxWait   = time.Hour // that a Retry-After is followed
)

// Options are the settings of a Client.
type Options struct {
	URL     string           // of the API up to its version: https://host/v1
	Key     string           // sent as a bearer token; "" = none
	Model   string           // its name
	Timeout time.Duration    // for one question, its answer included; default 30 s
	Now     func() time.Time // to read a date in Retry-After; default time.Now
}

// A Client asks one model. It is safe for concurrent use.
type Client struct {
	o       Options
	address string
	http    *http.Client
	refuses atomic.Int32 // the parameters that the API has refused, from then on left out
}

// What an API may refuse, as OpenAI's does for models that think.
const (
	refusesTemperature int32 = 1 << iota
	refusesMaxTokens         // it wants max_completion_tokens, in which thoughts count
)

// validKey says that a key can stand in a header. As a regular expression it would be a thousand states, made with each
// start of the program.
func validKey(key string) bool {
	return len(key) <= 1000 && !strings.ContainsFunc(key, func(r rune) bool { return r < '!' || r > '~' })
}

// New returns a client. It makes no request. The error is fault.Invalid, and has neither the key nor the URL in it.
func New(o Options) (*Client, error) {
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "":
		return nil, fault.Newf(fault.Invalid, "the address is not http[s]://host[:port][/path]")
	case o.Model == "":
		return nil, fault.Newf(fault.Invalid, "the model has no name")
	case !validKey(o.Key):
		return nil, fault.Newf(fault.Invalid, "the key has characters that no key has")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented
	transport.MaxResponseHeaderBytes = 64 << 10
	return &Client{o: o, address: u.JoinPath("chat/completions").String(), http: &http.Client{
		Transport: transport,
		// A redirect would take the key along, and turn the question into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type request struct {
	Model       string            `json:"model"`
	Messages    []message         `json:"messages"`
	Temperature *float64          `json:"temperature,omitempty"`
	MaxTokens   int               `json:"max_tokens,omitempty"`
	MaxThinks   int               `json:"max_completion_tokens,omitempty"`
	Format      map[string]string `json:"response_format"`
}

type reply struct {
	Choices []struct {
		Message message
		Finish  string `json:"finish_reason"`
	}
}

// Answer asks, and returns what the model wrote. Where the API refuses a parameter that not all models take, it asks a
// second time without; later questions are asked so at once. A refusal of the API is fault.Throttled, with the wait
// that it names (429), fault.Blocked (401, 403), fault.Invalid (another 4xx) or fault.Transient; so are a reply that
// does not come in time, is larger than maxReply, or is none. An answer that was cut is fault.Invalid. No error has the
// key or the advert in it.
func (c *Client) Answer(ctx context.Context, q listing.Question) (answer string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	for range 2 {
		without := c.refuses.Load()
		answer, err = c.ask(ctx, q, without)
		more := refusedIn(err) &^ without
		if more == 0 {
			break
		}
		c.refuses.Or(more)
	}
	return answer, err
}

func (c *Client) ask(ctx context.Context, q listing.Question, without int32) (string, error) {
	ask, most := request{
		Model: c.o.Model, Messages: []message{{"system", q.Instructions}, {"user", q.Text}},
		Format: map[string]string{"type": "json_object"},
	}, maxTokens
	if without&refusesTemperature == 0 {
		ask.Temperature = new(float64)
	}
	if without&refusesMaxTokens == 0 {
		ask.MaxTokens = most
	} else {
		most = maxThinks
		ask.MaxThinks = most
	}
	body, err := json.Marshal(ask)
	if err != nil {
		return "", fault.Newf(fault.Invalid, "write question: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return "", fault.Newf(fault.Invalid, "make request: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if c.o.Key != "" {
		r.Header.Set("Authorization", "Bearer "+c.o.Key)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return "", fault.Newf(fault.Transient, "ask: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return "", refused(resp, c.o.Now())
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxReply+1))
	switch {
	case err != nil:
		return "", fault.Newf(fault.Transient, "read reply: %w", err)
	case len(data) > maxReply:
		return "", fault.Newf(fault.Transient, "read reply: it has more than %d bytes", maxReply)
	}
	var got reply
	if err := json.Unmarshal(data, &got); err != nil {
		return "", fault.Newf(fault.Transient, "read reply: it is not what the API answers")
	}
	if len(got.Choices) == 0 {
		return "", fault.Newf(fault.Transient, "read reply: it has no choice")
	}
	answer := got.Choices[0]
	if answer.Finish == "length" && !json.Valid([]byte(answer.Message.Content)) {
		return "", fault.Newf(fault.Invalid, "read reply: the answer was cut at %d tokens", most)
	}
	return answer.Message.Content, nil
}

// A refusal is an answer that is not 200. It has no message, for that may quote the key or the advert.
type refusal struct {
	status      int
	code, param string // "" = none
}

func (r *refusal) Error() string {
	switch {
	case r.code == "":
		return fmt.Sprintf("ask: HTTP %d", r.status)
	case r.param == "":
		return fmt.Sprintf("ask: HTTP %d (%s)", r.status, r.code)
	}
	return fmt.Sprintf("ask: HTTP %d (%s: %s)", r.status, r.code, r.param)
}

// refusedIn is what to leave out after err. Models that want max_completion_tokens refuse a temperature as well, but
// name one of the two at a time.
func refusedIn(err error) int32 {
	var r *refusal
	switch {
	case !errors.As(err, &r) || r.status != http.StatusBadRequest || !strings.HasPrefix(r.code, "unsupported_"):
		return 0
	case r.param == "max_tokens":
		return refusesMaxTokens | refusesTemperature
	case r.param == "temperature":
		return refusesTemperature
	}
	return 0
}

// word is a name such as an API gives to a parameter or an error, and "" for anything else.
func word(v any) string {
	s, _ := v.(string)
	if len(s) > 60 || strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.'
	}) {
		return ""
	}
	return s
}

// refused is the fault of an answer that is not 200.
func refused(resp *http.Response, now time.Time) error {
	var said struct{ Error struct{ Code, Param any } }
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	_ = json.Unmarshal(data, &said)
	f := &fault.Error{
		Class: cmp.Or(fault.OfStatus(resp.StatusCode), fault.Invalid),
		Err:   &refusal{resp.StatusCode, word(said.Error.Code), word(said.Error.Param)},
	}
	if f.Class == fault.Throttled {
		f.After = fetch.RetryAfter(resp.Header.Get("Retry-After"), now, maxWait)
	}
	return f
}

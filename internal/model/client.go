// Package model asks a language model by an OpenAI-compatible API (POST …/chat/completions). What is asked, and what of
// an answer is believed, is decided in domain/listing.
package model

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/fetch"
)

const (
	maxReply  = 256 << 10 // bytes of a reply that are read; the answer in it has at most listing.MaxAnswer
	maxTokens = 1_500     // that the model may write: some 40 facts
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
}

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
	Temperature float64           `json:"temperature"`
	MaxTokens   int               `json:"max_tokens"`
	Format      map[string]string `json:"response_format"`
}

type reply struct {
	Choices []struct{ Message message }
}

// Answer asks once, and returns what the model wrote. A refusal of the API is fault.Throttled, with the wait that it
// names (429), fault.Blocked (401, 403), fault.Invalid (another 4xx) or fault.Transient; so are a reply that does not
// come in time, is larger than maxReply, or is none. No error has the key or the advert in it.
func (c *Client) Answer(ctx context.Context, q listing.Question) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	body, err := json.Marshal(request{
		Model: c.o.Model, Messages: []message{{"system", q.Instructions}, {"user", q.Text}}, MaxTokens: maxTokens,
		Format: map[string]string{"type": "json_object"},
	})
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
	return got.Choices[0].Message.Content, nil
}

// refused is the fault of an answer that is not 200.
func refused(resp *http.Response, now time.Time) error {
	f := &fault.Error{
		Class: cmp.Or(fault.OfStatus(resp.StatusCode), fault.Invalid), Err: fmt.Errorf("ask: HTTP %d", resp.StatusCode),
	}
	if f.Class == fault.Throttled {
		f.After = fetch.RetryAfter(resp.Header.Get("Retry-After"), now, maxWait)
	}
	return f
}

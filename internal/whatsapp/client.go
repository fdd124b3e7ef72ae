// Package whatsapp speaks with the WhatsApp Cloud API of Meta: it sends messages, and reads what the webhook brings.
// What an answer means is decided in domain/campaign.
package whatsapp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// The defaults of Options.
const (
	DefaultURL     = "https://graph.facebook.com"
	DefaultVersion = "v23.0"
)

const (
	maxBody   = 64 << 10  // of a request, in bytes; the largest message that is valid has a third of that
	maxAnswer = 256 << 10 // of an answer
	maxAfter  = 24 * time.Hour
)

// Options are the settings of a Client. A zero field takes its default.
type Options struct {
	URL         string           // of the API, without a version; default DefaultURL
	Version     string           // of the API; default DefaultVersion
	Timeout     time.Duration    // for one request, its answer included; default 10 s
	Connections int              // kept open while they are idle; default 64
	Now         func() time.Time // to read a date in Retry-After; default time.Now
}

// A Client sends messages. It is safe for concurrent use.
type Client struct {
	o    Options
	base string
	http *http.Client
}

// A Token is an access token. It is printed by nothing that formats, logs or encodes values.
type Token string

// Format implements fmt.Formatter.
func (Token) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "(hidden)") }

// LogValue implements slog.LogValuer.
func (Token) LogValue() slog.Value { return slog.StringValue("(hidden)") }

// MarshalText implements encoding.TextMarshaler.
func (Token) MarshalText() ([]byte, error) { return []byte("(hidden)"), nil }

// A Sender is a phone number that messages are sent from.
type Sender struct {
	PhoneNumberID string // Meta's id of the number: digits
	Token         Token
}

// Check refuses, as fault.Invalid, a sender that no request can be made for.
func (s Sender) Check() error {
	switch {
	case !validSender.MatchString(s.PhoneNumberID):
		return fault.Newf(fault.Invalid, "phone number id %.40q is not a number", s.PhoneNumberID)
	case !ValidToken(string(s.Token)):
		return fault.Newf(fault.Invalid, "access token of %s is empty, has more than %d characters, or some that no token "+
			"has", s.PhoneNumberID, MaxToken)
	}
	return nil
}

// A Message is what a Sender sends.
type Message struct {
	ID   uuid.UUID     // ours; the webhook brings it back with each status, as Status.Message
	To   string        // phone number, as E.164 or as WhatsApp has it, or a business-scoped user id such as US.1349
	Body campaign.Body // rendered
}

var (
	validVersion = regexp.MustCompile(`^v[1-9][0-9]{0,2}\.[0-9]{1,2}$`)
	validSender  = regexp.MustCompile(`^[0-9]{1,32}$`)
	validPhone   = regexp.MustCompile(`^\+?[0-9]{5,20}$`)
	scopedUser   = regexp.MustCompile(`^[A-Z]{2}\.[A-Za-z0-9.]{1,128}$`)
)

// MaxToken is the most characters of an access token.
const MaxToken = 4096

// ValidToken says that a token can stand in a header. As a regular expression it would be thousands of states, made
// with each start of the program.
func ValidToken(token string) bool {
	return token != "" && len(token) <= MaxToken &&
		!strings.ContainsFunc(token, func(r rune) bool { return r < '!' || r > '~' })
}

// New returns a client. It makes no request. The error is fault.Invalid.
func New(o Options) (*Client, error) {
	o.URL = cmp.Or(o.URL, DefaultURL)
	o.Version = cmp.Or(o.Version, DefaultVersion)
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.Connections = cmp.Or(o.Connections, 64)
	if o.Now == nil {
		o.Now = time.Now
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return nil, fault.Newf(fault.Invalid, "URL of the WhatsApp API is not http[s]://host[:port][/path]")
	}
	if !validVersion.MatchString(o.Version) {
		return nil, fault.Newf(fault.Invalid, "version of the WhatsApp API is %.20q, expected one such as %s", o.Version, DefaultVersion)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // documented
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = o.Connections, o.Connections
	transport.MaxResponseHeaderBytes = 64 << 10
	transport.IdleConnTimeout = 30 * time.Second // a request on a connection that is being closed has an unknown outcome
	return &Client{o: o, base: u.JoinPath(o.Version).String(), http: &http.Client{
		Transport: transport,
		// A redirect would take the token along, and turn the message into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close ends idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Send asks the API to send one message, once: it is never repeated here, for the API would send it twice. What came
// back is an Answer, whatever it is; campaign.Judge says what it means. The error is fault.Invalid: the message
// cannot be a request, and none was made. Neither has the token in it.
func (c *Client) Send(ctx context.Context, from Sender, m Message) (campaign.Answer, error) {
	body, err := request(from, m)
	if err != nil {
		return campaign.Answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	var w written
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(ctx, w.trace()), http.MethodPost,
		c.base+"/"+from.PhoneNumberID+"/messages", bytes.NewReader(body))
	if err != nil {
		return campaign.Answer{}, fault.Newf(fault.Invalid, "make request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+string(from.Token))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "conveyor")
	resp, err := c.http.Do(req)
	if err != nil {
		return campaign.Answer{Written: w.is(), Err: bare(err)}, nil
	}
	defer resp.Body.Close()
	a := campaign.Answer{Status: resp.StatusCode, Written: true}
	a.After, a.Usage = c.pressure(resp.Header)
	doc, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		a.Err = fmt.Errorf("read answer: %w", err)
		return a, nil
	case len(doc) > maxAnswer:
		a.Err = fmt.Errorf("read answer: it has more than %d bytes", maxAnswer)
		return a, nil
	}
	a.ID, a.WaID, a.Error = read(doc, m.To)
	return a, nil
}

// bare takes the method and address off an error: they are the same for all.
func bare(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// request is the body of a request.
func request(from Sender, m Message) ([]byte, error) {
	out := struct {
		Product   string `json:"messaging_product"`
		Kind      string `json:"recipient_type"`
		To        string `json:"to,omitempty"`
		Recipient string `json:"recipient,omitempty"` // a business-scoped user id
		Callback  string `json:"biz_opaque_callback_data"`
		campaign.Body
	}{Product: "whatsapp", Kind: "individual", Callback: m.ID.String(), Body: m.Body}
	if err := from.Check(); err != nil {
		return nil, err
	}
	switch {
	case m.ID == uuid.Nil:
		return nil, fault.Newf(fault.Invalid, "message has no id")
	case validPhone.MatchString(m.To):
		out.To = m.To
	case scopedUser.MatchString(m.To):
		out.Recipient = m.To
	default:
		return nil, fault.Newf(fault.Invalid, "recipient is neither a phone number nor a user id of WhatsApp")
	}
	body, err := json.Marshal(out)
	switch {
	case err != nil:
		return nil, fault.Newf(fault.Invalid, "encode message: %w", err)
	case len(body) > maxBody:
		return nil, fault.Newf(fault.Invalid, "message has %d bytes, the most is %d", len(body), maxBody)
	}
	return body, nil
}

// read reads the answer on a message to a recipient: the id of the message and that of the recipient, or the error.
func read(doc []byte, to string) (id, waID string, e *campaign.APIError) {
	var in struct {
		Contacts []struct {
			WaID string `json:"wa_id"`
		} `json:"contacts"`
		Messages []struct {
			ID string `json:"id"`
		} `json:"messages"`
		Error *apiError `json:"error"`
	}
	if !decode(doc, &in) {
		return "", "", nil // a page of a proxy, for one
	}
	if len(in.Messages) > 0 {
		id = cut(in.Messages[0].ID)
	}
	if len(in.Contacts) > 0 {
		waID = cut(in.Contacts[0].WaID)
	}
	if in.Error != nil {
		e = in.Error.value(to)
	}
	return id, waID, e
}

// apiError is an error in JSON, of answers and of webhooks.
type apiError struct {
	Code    code   `json:"code"`
	Subcode int    `json:"error_subcode"`
	Title   string `json:"title"` // in webhooks
	Message string `json:"message"`
	Data    struct {
		Details string `json:"details"`
	} `json:"error_data"`
	Transient bool   `json:"is_transient"`
	Trace     string `json:"fbtrace_id"`
}

// value is the error without the recipient, which some messages quote.
func (e *apiError) value(to string) *campaign.APIError {
	hide := func(s string) string {
		if number := strings.TrimPrefix(to, "+"); number != "" {
			s = strings.ReplaceAll(s, number, "(recipient)")
		}
		return cut(s)
	}
	return &campaign.APIError{
		Code: e.Code.value(), Subcode: e.Subcode, Message: hide(cmp.Or(e.Message, e.Title)), Details: hide(e.Data.Details),
		Transient: e.Transient, TraceID: cut(e.Trace),
	}
}

// code is the code of an error: a number, which may be written as a string.
type code string

// UnmarshalJSON implements json.Unmarshaler. It accepts everything.
func (c *code) UnmarshalJSON(b []byte) error {
	*c = code(strings.Trim(string(b), `"`))
	return nil
}

// noCode stands for a code that is missing or not a number, for 0 is one.
const noCode = -1

func (c code) value() int {
	n, err := strconv.Atoi(string(c))
	if err != nil || n < 0 {
		return noCode
	}
	return n
}

// decode reads JSON as far as it has the expected types: one member that has changed is no reason to lose the others.
// It is false for what is not JSON.
func decode(doc []byte, into any) bool {
	err := json.Unmarshal(doc, into)
	var wrong *json.UnmarshalTypeError
	return err == nil || errors.As(err, &wrong)
}

// cut bounds what is stored of a text that is not ours, and takes out what Postgres does not store.
func cut(s string) string {
	const most = 500
	n := 0
	out := make([]rune, 0, min(len(s), most))
	for _, r := range s {
		if n++; n > most {
			break
		}
		if r != 0 {
			out = append(out, r)
		}
	}
	return string(out)
}

// pressure reads how long to wait and the share of the hourly limits that is used up, in percent. Retry-After is
// rare; x-business-use-case-usage has, for each account, a list with three shares, and minutes until requests are
// taken again.
func (c *Client) pressure(h http.Header) (after time.Duration, usage int) {
	if v := h.Get("Retry-After"); v != "" {
		after = fetch.RetryAfter(v, c.o.Now(), maxAfter)
	}
	var accounts map[string][]struct {
		Calls  float64 `json:"call_count"`
		CPU    float64 `json:"total_cputime"`
		Time   float64 `json:"total_time"`
		Regain float64 `json:"estimated_time_to_regain_access"`
	}
	if json.Unmarshal([]byte(h.Get("X-Business-Use-Case-Usage")), &accounts) != nil {
		return after, 0
	}
	for _, limits := range accounts {
		for _, l := range limits {
			usage = max(usage, int(min(max(l.Calls, l.CPU, l.Time, 0), 1000)))
			minutes := min(max(l.Regain, 0), maxAfter.Minutes())
			after = max(after, time.Duration(minutes*float64(time.Minute)))
		}
	}
	return after, usage
}

// written notes whether a request may have left this process as a whole. Its last byte goes after the headers are put
// together, of which the transport tells first; a body that failed means that it did not go. A connection that is dead
// before it takes a byte is replaced by the transport, which then begins again.
type written struct {
	mu  sync.Mutex
	was bool
}

func (w *written) set(was bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.was = was
}

func (w *written) is() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.was
}

func (w *written) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn:      func(string) { w.set(false) },
		WroteHeaders: func() { w.set(true) },
		WroteRequest: func(i httptrace.WroteRequestInfo) { w.set(i.Err == nil) },
	}
}

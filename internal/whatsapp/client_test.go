package whatsapp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

const secret = "EAAJB-very-secret"

var (
	sender = whatsapp.Sender{PhoneNumberID: "106540352242922", Token: secret}
	hello  = campaign.Body{Type: "text", Text: &campaign.Text{Body: "Bonjour à tous"}}
	id     = uuid.MustParse("0198c5f2-7b1e-5c3d-9e4f-2a6b8c0d1e2f")
)

func message() whatsapp.Message { return whatsapp.Message{ID: id, To: "+16505551234", Body: hello} }

// client is a client of a server, or of any address.
func client(t *testing.T, url string, o whatsapp.Options) *whatsapp.Client {
	t.Helper()
	o.URL = url
	c, err := whatsapp.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// send sends message and checks that neither the answer nor an error has the token in it.
func send(ctx context.Context, t *testing.T, c *whatsapp.Client) campaign.Answer {
	t.Helper()
	a, err := c.Send(ctx, sender, message())
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%+v %v", a, a.Error), secret)
	return a
}

// The requests are those of Meta's reference.
func TestRequest(t *testing.T) {
	t.Parallel()
	type got struct {
		path, token, kind string
		body              string
	}
	seen := make(chan got, 1)
	c := client(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		seen <- got{r.Method + " " + r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), string(body)}
		_, _ = io.WriteString(w, `{"messages":[{"id":"wamid.1"}]}`)
	}))+"/graph", whatsapp.Options{Version: "v24.0"})
	head := `"messaging_product":"whatsapp","recipient_type":"individual","biz_opaque_callback_data":"` + id.String() + `",`
	for _, tt := range []struct {
		name, to string
		body     campaign.Body
		want     string
	}{
		{"text", "+16505551234", campaign.Body{Type: "text", Text: &campaign.Text{Body: "<a> & b", PreviewURL: true}},
			`"to":"+16505551234","type":"text","text":{"body":"<a> & b","preview_url":true}`},
		{"template", "16505551234", campaign.Body{Type: "template", Template: &campaign.Template{
			Name: "order_confirmation", Language: campaign.Language{Code: "en_US"},
			Components: []campaign.Component{{Type: "body", Parameters: []campaign.Parameter{{Type: "text", Text: "Jessica"}}}},
		}}, `"to":"16505551234","type":"template","template":{"name":"order_confirmation","language":{"code":"en_US"},` +
			`"components":[{"type":"body","parameters":[{"type":"text","text":"Jessica"}]}]}`},
		{"media", "+16505551234", campaign.Body{Type: "document", Document: &campaign.Media{
			Link: "https://example.com/a.pdf", Caption: "The plan", Filename: "plan.pdf",
		}}, `"to":"+16505551234","type":"document","document":{"link":"https://example.com/a.pdf","caption":"The plan",` +
			`"filename":"plan.pdf"}`},
		{"to a person without a phone number", "US.13491208655302741918", hello,
			`"recipient":"US.13491208655302741918","type":"text","text":{"body":"Bonjour à tous"}`},
	} {
		a, err := c.Send(t.Context(), sender, whatsapp.Message{ID: id, To: tt.to, Body: tt.body})
		require.NoError(t, err, tt.name)
		require.Equal(t, "wamid.1", a.ID, tt.name)
		g := <-seen
		require.Equal(t, got{
			"POST /graph/v24.0/106540352242922/messages", "Bearer " + secret, "application/json", g.body,
		}, g, tt.name)
		require.JSONEq(t, "{"+head+tt.want+"}", g.body, tt.name)
	}
}

// What cannot be a request is not made, and the error has neither token nor recipient.
func TestSendRefuses(t *testing.T) {
	t.Parallel()
	c := client(t, "http://127.0.0.1:1", whatsapp.Options{})
	large := campaign.Body{Type: "text", Text: &campaign.Text{Body: strings.Repeat("x", 70_000)}}
	for name, tt := range map[string]struct {
		from whatsapp.Sender
		m    whatsapp.Message
	}{
		"no token":             {whatsapp.Sender{PhoneNumberID: "1"}, message()},
		"a token with a line":  {whatsapp.Sender{PhoneNumberID: "1", Token: secret + "\r\nX: y"}, message()},
		"no phone number id":   {whatsapp.Sender{Token: secret}, message()},
		"a path as the id":     {whatsapp.Sender{PhoneNumberID: "../me", Token: secret}, message()},
		"no id":                {sender, whatsapp.Message{To: "+16505551234", Body: hello}},
		"no recipient":         {sender, whatsapp.Message{ID: id, Body: hello}},
		"a name as recipient":  {sender, whatsapp.Message{ID: id, To: "Sheena", Body: hello}},
		"a body without limit": {sender, whatsapp.Message{ID: id, To: "+16505551234", Body: large}},
	} {
		_, err := c.Send(t.Context(), tt.from, tt.m)
		if class, _ := fault.Of(err); class != fault.Invalid {
			t.Errorf("%s: %v; want an invalid one", name, err)
		}
		if text := fmt.Sprint(err); strings.Contains(text, secret) || strings.Contains(text, "Sheena") ||
			strings.Contains(text, "6505551234") {
			t.Errorf("%s: the error says %q", name, text)
		}
	}
	for _, o := range []whatsapp.Options{
		{URL: "ftp://x"}, {URL: "graph.facebook.com"}, {URL: "https://me:" + secret + "@x"}, {URL: "https://x?a=b"},
		{Version: "23.0"}, {Version: "v23.0/../me"}, {Version: "latest"},
	} {
		_, err := whatsapp.New(o)
		if class, _ := fault.Of(err); class != fault.Invalid || strings.Contains(err.Error(), secret) {
			t.Errorf("New(%+v) = %v", o, err)
		}
	}
}

func TestTokenIsHidden(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&b, nil))
	log.Info("send", "from", sender, "token", sender.Token)
	slog.New(slog.NewTextHandler(&b, nil)).Info("send", "from", sender, "token", sender.Token)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&b, verb+verb, sender.Token, sender)
	}
	doc, err := json.Marshal(sender)
	require.NoError(t, err)
	b.Write(doc)
	require.NotContains(t, b.String(), secret)
	require.NotContains(t, b.String(), fmt.Sprintf("%x", secret))
	require.Contains(t, b.String(), "(hidden)")
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	graph := func(code, rest string) string {
		return `{"error":{"message":"(#` + code + `) to 16505551234","type":"OAuthException","code":` + code + rest + `}}`
	}
	for _, tt := range []struct {
		name    string
		status  int
		header  string // name: value
		body    string
		want    campaign.Answer
		outcome campaign.Outcome
	}{
		{"accepted", 200, "", `{"messaging_product":"whatsapp","contacts":[{"input":"+16505551234","wa_id":"16505551234"}],` +
			`"messages":[{"id":"wamid.1","message_status":"accepted"}]}`,
			campaign.Answer{Status: 200, ID: "wamid.1", WaID: "16505551234"}, campaign.Accepted},
		{"accepted, said in another way", 200, "", `{"messages":[{"id":"wamid.1","message_status":7}],"contacts":"none"}`,
			campaign.Answer{Status: 200, ID: "wamid.1"}, campaign.Accepted},
		{"accepted, and no error", 200, "", `{"messages":[{"id":"wamid.1"}],"error":false}`,
			campaign.Answer{Status: 200, ID: "wamid.1", Error: &campaign.APIError{Code: -1}}, campaign.Accepted},
		{"accepted, and an empty error", 200, "", `{"messages":[{"id":"wamid.1"}],"error":{}}`,
			campaign.Answer{Status: 200, ID: "wamid.1", Error: &campaign.APIError{Code: -1}}, campaign.Accepted},
		{"200 with neither an id nor an error", 200, "", `{"success":true,"error":""}`,
			campaign.Answer{Status: 200, Error: &campaign.APIError{Code: -1}}, campaign.Unknown},
		{"200 that says nothing", 200, "", `{}`, campaign.Answer{Status: 200}, campaign.Unknown},
		{"200 with a page", 200, "", `<html>`, campaign.Answer{Status: 200}, campaign.Unknown},
		{"an error", 400, "", graph("131026", `,"error_subcode":2494055,"error_data":{"messaging_product":"whatsapp","details":`+
			`"Message to 16505551234 undeliverable."},"fbtrace_id":"Az8or2yhqkZfEZ"`),
			campaign.Answer{Status: 400, Error: &campaign.APIError{
				Code: 131026, Subcode: 2494055, Message: "(#131026) to (recipient)", Details: "Message to (recipient) undeliverable.",
				TraceID: "Az8or2yhqkZfEZ",
			}}, campaign.FailRecipient},
		{"a rate limit under 403", 403, "", graph("130429", ""), campaign.Answer{
			Status: 403, Error: &campaign.APIError{Code: 130429, Message: "(#130429) to (recipient)"},
		}, campaign.PauseSender},
		{"one that passes", 500, "", graph("99", `,"is_transient":true`), campaign.Answer{
			Status: 500, Error: &campaign.APIError{Code: 99, Message: "(#99) to (recipient)", Transient: true},
		}, campaign.RetryLater},
		{"an error without a code", 400, "", `{"error":{"message":"odd"}}`, campaign.Answer{
			Status: 400, Error: &campaign.APIError{Code: -1, Message: "odd"},
		}, campaign.RetryLater},
		{"Retry-After", 429, "Retry-After: 30", "", campaign.Answer{Status: 429, After: 30 * time.Second}, campaign.PauseSender},
		{"Retry-After, a date", 429, "Retry-After: Sun, 22 Nov 2026 18:01:30 GMT", "",
			campaign.Answer{Status: 429, After: 90 * time.Second}, campaign.PauseSender},
		{"usage", 200, `X-Business-Use-Case-Usage: {"1":[{"type":"whatsapp","call_count":28,"total_cputime":95.5,"total_time":1}]}`,
			`{"messages":[{"id":"wamid.1"}]}`, campaign.Answer{Status: 200, ID: "wamid.1", Usage: 95}, campaign.Accepted},
		{"usage that is used up", 400, `X-Business-Use-Case-Usage: {"1":[{"call_count":100,"estimated_time_to_regain_access":19}]}`,
			graph("80007", ""), campaign.Answer{
				Status: 400, Usage: 100, After: 19 * time.Minute,
				Error: &campaign.APIError{Code: 80007, Message: "(#80007) to (recipient)"},
			}, campaign.PauseSender},
		{"usage that is none", 429, "X-Business-Use-Case-Usage: soon", "", campaign.Answer{Status: 429}, campaign.PauseSender},
		{"usage beyond all bounds", 429, `X-Business-Use-Case-Usage: {"1":[{"call_count":1e300,"estimated_time_to_regain_access":1e300}]}`,
			"", campaign.Answer{Status: 429, Usage: 1000, After: 24 * time.Hour}, campaign.PauseSender},
		{"a redirect", 307, "Location: /elsewhere", "", campaign.Answer{Status: 307}, campaign.RetryLater},
		{"a gateway's timeout", 504, "", "<html>", campaign.Answer{Status: 504}, campaign.Unknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			c := client(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				requests.Add(1)
				if name, value, ok := strings.Cut(tt.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})), whatsapp.Options{Now: func() time.Time { return time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC) }})
			a := send(t.Context(), t, c)
			tt.want.Written = true
			require.Equal(t, tt.want, a)
			require.Equal(t, tt.outcome, campaign.Judge(a).Outcome)
			require.EqualValues(t, 1, requests.Load(), "a request is never repeated")
		})
	}
}

// An answer without end, or one that is cut, is not waited for and not believed.
func TestAnswerThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(http.ResponseWriter){
		"too large": func(w http.ResponseWriter) {
			_, _ = io.WriteString(w, `{"messages":[{"id":"wamid.1"}],"x":"`+strings.Repeat("x", 300<<10)+`"}`)
		},
		"cut": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"messages":[{"id":"wamid.1"}],`)
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { body(w) })), whatsapp.Options{})
			a := send(t.Context(), t, c)
			if a.Status != 200 || a.ID != "" || a.Err == nil || campaign.Judge(a).Outcome != campaign.Unknown {
				t.Errorf("%+v", a)
			}
		})
	}
}

// Whether the request may have been written is what decides between sending again and waiting for the webhook.
func TestWritten(t *testing.T) {
	t.Parallel()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + ln.Addr().String()
	require.NoError(t, ln.Close())
	api := cloudapi.New(cloudapi.Options{})
	url := serve(t, api)
	for _, tt := range []struct {
		name    string
		url     string
		rule    cloudapi.Rule
		timeout time.Duration
		written bool
		accepts int
		outcome campaign.Outcome
	}{
		{"accepted", url, cloudapi.Rule{}, time.Minute, true, 1, campaign.Accepted},
		{"nothing listens", nobody, cloudapi.Rule{}, time.Minute, false, 0, campaign.PauseSender},
		{"cut before the acceptance", url, cloudapi.Rule{Cut: cloudapi.CutBefore}, time.Minute, true, 0, campaign.Unknown},
		{"cut after it", url, cloudapi.Rule{Cut: cloudapi.CutAfter}, time.Minute, true, 1, campaign.Unknown},
		{"accepted, and the answer comes late", url, cloudapi.Rule{Delay: time.Hour}, 5 * time.Second, true, 1, campaign.Unknown},
	} {
		api.Behave()
		api.Forget()
		require.NoError(t, api.Script(tt.rule))
		c := client(t, tt.url, whatsapp.Options{Timeout: tt.timeout})
		a := send(t.Context(), t, c)
		if v := campaign.Judge(a); a.Written != tt.written || v.Outcome != tt.outcome || api.Accepts(id.String()) != tt.accepts {
			t.Errorf("%s: %+v is %s, accepted %d times; want written %v, %s, %d", tt.name, a, v.Outcome,
				api.Accepts(id.String()), tt.written, tt.outcome, tt.accepts)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	api.Forget()
	a := send(ctx, t, client(t, url, whatsapp.Options{}))
	if a.Written || !errors.Is(a.Err, context.Canceled) || api.Accepts(id.String()) != 0 {
		t.Errorf("stopped before: %+v", a)
	}
}

// A connection that a server or a proxy closed while it was idle costs no message twice: it is replaced, or where the
// request was under way already, the outcome is unknown.
func TestIdleConnectionThatDied(t *testing.T) {
	t.Parallel()
	api := cloudapi.New(cloudapi.Options{})
	s := httptest.NewServer(api)
	c := client(t, s.URL, whatsapp.Options{})
	answered := 0
	for range 20 {
		switch a := send(t.Context(), t, c); campaign.Judge(a).Outcome {
		case campaign.Accepted:
			answered++
		case campaign.Unknown:
		default:
			t.Fatalf("%+v", a)
		}
		s.CloseClientConnections()
	}
	if n := api.Accepts(id.String()); n != answered || n < 1 {
		t.Errorf("%d messages were accepted %d times", answered, n)
	}
	s.Close()
	c.Close()
	a := send(t.Context(), t, c)
	if a.Written || campaign.Judge(a).Outcome != campaign.PauseSender {
		t.Errorf("the server is gone: %+v", a)
	}
}

// The same over HTTP/2, which the real API speaks: one connection has many messages.
func TestHTTP2(t *testing.T) {
	t.Parallel()
	api := cloudapi.New(cloudapi.Options{})
	require.NoError(t, api.Script(
		cloudapi.Rule{To: "1", Times: 1, Cut: cloudapi.CutAfter}, cloudapi.Rule{To: "1", Times: 1, Cut: cloudapi.CutBefore}))
	var major atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		major.Store(int32(r.ProtoMajor)) //nolint:gosec // 1 or 2
		api.ServeHTTP(w, r)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	c := client(t, s.URL, whatsapp.Options{})
	c.Trust(s.Client().Transport.(*http.Transport).TLSClientConfig) //nolint:forcetypeassert // httptest makes it
	for _, want := range []campaign.Outcome{campaign.Unknown, campaign.Unknown, campaign.Accepted} {
		a := send(t.Context(), t, c)
		if v := campaign.Judge(a); v.Outcome != want || !a.Written {
			t.Errorf("%+v is %s; want %s", a, v.Outcome, want)
		}
	}
	if n := api.Accepts(id.String()); n != 2 || major.Load() != 2 {
		t.Errorf("accepted %d times over HTTP/%d; want 2 times over HTTP/2", n, major.Load())
	}
}

// Connections are used again: there are as many as messages at once.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	api := cloudapi.New(cloudapi.Options{Limits: cloudapi.Limits{PerSecond: -1, PairBurst: -1}})
	var conns atomic.Int32
	s := httptest.NewUnstartedServer(api)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	c := client(t, s.URL, whatsapp.Options{})
	for range 50 {
		send(t.Context(), t, c)
	}
	assert.EqualValues(t, 1, conns.Load())
}

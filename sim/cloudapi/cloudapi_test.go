package cloudapi_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/whatsapp"
	"github.com/mtlrent/conveyor/sim/cloudapi"
)

// receiver takes webhooks as the application does.
type receiver struct {
	t  *testing.T
	mu sync.Mutex
	// refuse is how many requests are answered with 500 before one is taken.
	refuse   int
	requests int
	statuses []whatsapp.Status
	messages []whatsapp.Inbound
}

const appSecret, verifyToken = "app secret", "verify me"

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method == http.MethodGet {
		challenge, ok := whatsapp.Challenge(req.URL.Query(), []string{verifyToken})
		if !ok {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, challenge)
		return
	}
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	if r.requests <= r.refuse {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if !whatsapp.Signed(body, req.Header.Get(whatsapp.SignatureHeader), []string{"next secret", appSecret}) {
		r.t.Error("a webhook is not signed")
	}
	e, err := whatsapp.ReadEvent(body)
	if err != nil || len(e.Others) > 0 {
		r.t.Errorf("a webhook is not understood: %v, %s", err, body)
	}
	r.statuses = append(r.statuses, e.Statuses...)
	r.messages = append(r.messages, e.Messages...)
}

// states are those of a message, in the order of their arrival.
func (r *receiver) states(wamid string) (out []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.statuses {
		if s.WAMID == wamid {
			out = append(out, s.State)
		}
	}
	return out
}

type world struct {
	*cloudapi.API
	url    string
	hooks  *receiver
	client *whatsapp.Client
}

// start starts an API, and posts its webhooks.
func start(t *testing.T, o cloudapi.Options) *world {
	t.Helper()
	w := serve(t, o)
	w.post(t)
	return w
}

// serve starts an API whose webhooks wait until post is called.
func serve(t *testing.T, o cloudapi.Options) *world {
	t.Helper()
	w := &world{hooks: &receiver{t: t}}
	receive := httptest.NewServer(w.hooks)
	t.Cleanup(receive.Close)
	o.Webhook, o.Secret, o.Retry = receive.URL+"/webhooks/whatsapp", appSecret, time.Millisecond
	o.Statuses = cmp.Or(o.Statuses, cloudapi.Statuses{Sent: time.Millisecond, Delivered: 10 * time.Millisecond, Read: 20 * time.Millisecond})
	o.Posts = 1 // so that statuses come in the order of their times
	w.API = cloudapi.New(o)
	s := httptest.NewServer(w.API)
	t.Cleanup(s.Close)
	w.url = s.URL
	var err error
	w.client, err = whatsapp.New(whatsapp.Options{URL: s.URL})
	require.NoError(t, err)
	t.Cleanup(w.client.Close)
	return w
}

func (w *world) post(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-ran)
	})
}

func (w *world) send(t *testing.T, sender, to string) (campaign.Answer, uuid.UUID) {
	t.Helper()
	id := uuid.New()
	a, err := w.client.Send(t.Context(), whatsapp.Sender{PhoneNumberID: sender, Token: "token"}, whatsapp.Message{
		ID: id, To: to, Body: campaign.Body{Type: "text", Text: &campaign.Text{Body: "Hello"}},
	})
	require.NoError(t, err)
	return a, id
}

func (w *world) settle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servicetest.Patience())
	defer cancel()
	require.NoError(t, w.Settled(ctx))
}

// A message is accepted, noted in the ledger, and its statuses come by webhook, with our id, once and in order.
func TestMessage(t *testing.T) {
	t.Parallel()
	w := start(t, cloudapi.Options{Account: "42"})
	require.NoError(t, w.Verify(t.Context(), verifyToken))
	require.Error(t, w.Verify(t.Context(), "another"))
	a, id := w.send(t, "1", "+5585987654321")
	require.Equal(t, "558587654321", a.WaID, "WhatsApp knows old numbers of Brazil without the 9")
	w.settle(t)
	require.Equal(t, []string{"sent", "delivered", "read"}, w.hooks.states(a.ID))
	s := w.hooks.statuses[0]
	require.Equal(t, whatsapp.Status{
		Account: "42", PhoneNumberID: "1", WAMID: a.ID, Message: id, State: "sent", At: s.At, Recipient: "558587654321",
		User: "US.558587654321", Category: "marketing", Billable: true,
	}, s)
	require.WithinDuration(t, time.Now(), s.At, time.Minute)
	ledger := w.Ledger()
	require.Len(t, ledger, 1)
	require.Equal(t, cloudapi.Accepted{
		WAMID: a.ID, Callback: id.String(), Sender: "1", To: "5585987654321", Type: "text", At: ledger[0].At, Answered: true,
	}, ledger[0])
	require.Equal(t, cloudapi.Counts{Requests: 1, Accepted: 1, Posted: 3}, w.Counts())
	require.Equal(t, 1, w.Accepts(id.String()))
	require.Empty(t, w.Repeated())

	a, _ = w.send(t, "1", "US.13491208655302741918")
	w.settle(t)
	require.Equal(t, "US.13491208655302741918", w.hooks.statuses[3].User)
	require.Empty(t, w.hooks.statuses[3].Recipient)
	require.Equal(t, a.ID, w.hooks.statuses[3].WAMID)
}

// Each way in which webhooks go wrong.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	w := start(t, cloudapi.Options{})
	for _, tt := range []struct {
		to    string
		rule  cloudapi.Rule
		want  []string
		count int
	}{
		{"+15550000001", cloudapi.Rule{Webhooks: cloudapi.Lost}, nil, 0},
		{"+15550000002", cloudapi.Rule{Webhooks: cloudapi.Twice}, []string{"sent", "sent", "delivered", "delivered", "read", "read"}, 0},
		{"+15550000003", cloudapi.Rule{Webhooks: cloudapi.Reversed}, []string{"read", "delivered", "sent"}, 0},
		{"+15550000004", cloudapi.Rule{Late: 50 * time.Millisecond}, []string{"sent", "delivered", "read"}, 0},
		{"+15550000005", cloudapi.Rule{Fail: 131049}, []string{"sent", "failed"}, 0},
		{"+15550000006", cloudapi.Rule{Fail: 131026, Webhooks: cloudapi.Reversed}, []string{"failed", "sent"}, 0},
	} {
		tt.rule.To = tt.to[1:]
		require.NoError(t, w.Script(tt.rule))
		a, _ := w.send(t, "1", tt.to)
		require.NotEmpty(t, a.ID)
		w.settle(t)
		require.Equal(t, tt.want, w.hooks.states(a.ID), "%+v", tt.rule)
	}
	last := w.hooks.statuses[len(w.hooks.statuses)-2]
	require.Equal(t, 131026, last.Error.Code)
	require.Equal(t, campaign.FailRecipient, campaign.JudgeError(0, *last.Error).Outcome)
	require.Equal(t, 3, w.Counts().Unposted)

	w.Inbound("1", "15550000009", "ARRÊT")
	w.settle(t)
	require.Len(t, w.hooks.messages, 1)
	require.Equal(t, "ARRÊT", w.hooks.messages[0].Text)
	require.Equal(t, "15550000009", w.hooks.messages[0].From)
	require.Equal(t, "Demo", w.hooks.messages[0].Name)

	require.Equal(t, "US.15550000001", cloudapi.UserID("+15550000001"))
	require.Equal(t, cloudapi.UserID(last.Recipient), last.User)
	w.Inbound("1", last.User, "STOP")
	w.settle(t)
	require.Empty(t, w.hooks.messages[1].From)
	require.Equal(t, last.User, w.hooks.messages[1].User)
	require.Equal(t, "Demo", w.hooks.messages[1].Name)
}

// A webhook that is not taken is repeated, until it is given up; many statuses come in one request.
func TestWebhooksAreRepeated(t *testing.T) {
	t.Parallel()
	w := start(t, cloudapi.Options{Tries: 5, Statuses: cloudapi.Statuses{Sent: time.Millisecond}})
	w.hooks.refuse = 3
	a, _ := w.send(t, "1", "+15550000001")
	w.settle(t)
	require.Equal(t, []string{"sent"}, w.hooks.states(a.ID))
	require.Equal(t, 4, w.hooks.requests)
	w.hooks.refuse = 1000
	w.send(t, "1", "+15550000001")
	w.settle(t)
	require.Equal(t, 9, w.hooks.requests)
	c := w.Counts()
	require.Equal(t, 1, c.Posted)
	require.Equal(t, 1, c.Unposted)
}

func TestWebhooksComeInBatches(t *testing.T) {
	t.Parallel()
	w := serve(t, cloudapi.Options{
		Batch: 50, Limits: cloudapi.Limits{PerSecond: -1}, Statuses: cloudapi.Statuses{Sent: time.Nanosecond},
	})
	for i := range 100 {
		w.send(t, fmt.Sprint(1+i%2), fmt.Sprint("+1555000", 1000+i))
	}
	w.post(t)
	w.settle(t)
	require.Len(t, w.hooks.statuses, 100)
	require.Equal(t, 2, w.hooks.requests)
}

// What is answered in which case; the codes are judged as those of the real API.
func TestRules(t *testing.T) {
	t.Parallel()
	w := start(t, cloudapi.Options{})
	require.NoError(t, w.Script(
		cloudapi.Rule{To: "15551", Code: 131031},
		cloudapi.Rule{To: "15552", Times: 2, Code: 130429, Status: 403, RetryAfter: 1500 * time.Millisecond},
		cloudapi.Rule{To: "15553", Status: 502},
		cloudapi.Rule{Sender: "2", Cut: cloudapi.CutBefore},
		cloudapi.Rule{Sender: "3", Cut: cloudapi.CutAfter},
	))
	for _, tt := range []struct {
		sender, to string
		status     int
		after      time.Duration
		outcome    campaign.Outcome
	}{
		{"1", "+15550000001", 200, 0, campaign.Accepted},
		{"1", "+15551000001", 403, 0, campaign.StopTenant},
		{"1", "+15552000001", 403, 2 * time.Second, campaign.PauseSender},
		{"1", "+15552000001", 403, 2 * time.Second, campaign.PauseSender},
		{"1", "+15552000001", 200, 0, campaign.Accepted},
		{"1", "+15553000001", 502, 0, campaign.Unknown},
		{"2", "+15550000001", 0, 0, campaign.Unknown},
		{"3", "+15550000001", 0, 0, campaign.Unknown},
		{"1", "+1566131026", 400, 0, campaign.FailRecipient},
		{"1", "+1566131056", 429, 0, campaign.DelayRecipient},
		{"1", "+1566131057", 200, 0, campaign.Accepted}, // no code that the fake has
	} {
		a, id := w.send(t, tt.sender, tt.to)
		v := campaign.Judge(a)
		if a.Status != tt.status || a.After != tt.after || v.Outcome != tt.outcome {
			t.Errorf("%s to %s: %+v is %s; want %d, %s", tt.sender, tt.to, a, v.Outcome, tt.status, tt.outcome)
		}
		if want := v.Outcome == campaign.Accepted || tt.sender == "3"; (w.Accepts(id.String()) == 1) != want {
			t.Errorf("%s to %s: accepted %d times", tt.sender, tt.to, w.Accepts(id.String()))
		}
	}
	c := w.Counts()
	require.Equal(t, []int{11, 4, 6, 1, 1}, []int{c.Requests, c.Accepted, c.Refused, c.CutBefore, c.CutAfter})
	require.Equal(t, 1, len(slices.DeleteFunc(w.Ledger(), func(a cloudapi.Accepted) bool { return a.Answered })))
	w.Behave()
	a, _ := w.send(t, "2", "+15551000001")
	require.NotEmpty(t, a.ID)

	for _, r := range []cloudapi.Rule{{Times: -1}, {Status: 99}, {Cut: "never"}, {Webhooks: "slow"}} {
		require.Error(t, w.Script(r), "%+v", r)
	}
	require.Error(t, w.Script(make([]cloudapi.Rule, 1001)...))
}

// What the real API checks before it accepts.
func TestChecks(t *testing.T) {
	t.Parallel()
	api := cloudapi.New(cloudapi.Options{Senders: map[string]string{"1": "right"}})
	const good = `{"messaging_product":"whatsapp","to":"1555","type":"text","text":{"body":"x"}}`
	for _, tt := range []struct {
		name, path, token, body string
		status, code            int
	}{
		{"good", "/v23.0/1/messages", "Bearer right", good, 200, 0},
		{"no token", "/v23.0/1/messages", "", good, 401, 190},
		{"another's token", "/v23.0/1/messages", "Bearer wrong", good, 401, 190},
		{"another sender", "/v23.0/2/messages", "Bearer right", good, 400, 100},
		{"no version", "/latest/1/messages", "Bearer right", good, 400, 100},
		{"not JSON", "/v23.0/1/messages", "Bearer right", "x", 400, 100},
		{"another product", "/v23.0/1/messages", "Bearer right", `{"to":"1","type":"text"}`, 400, 100},
		{"no recipient", "/v23.0/1/messages", "Bearer right", strings.Replace(good, "1555", "", 1), 400, 131008},
		{"another type", "/v23.0/1/messages", "Bearer right", strings.Replace(good, `"type":"text"`, `"type":"fax"`, 1), 400, 131051},
		{"no text", "/v23.0/1/messages", "Bearer right", strings.Replace(good, `"x"`, `""`, 1), 400, 131008},
		{"not the member of the type", "/v23.0/1/messages", "Bearer right", strings.Replace(good, `"type":"text"`, `"type":"image"`, 1), 400, 131008},
		{"a long callback", "/v23.0/1/messages", "Bearer right",
			strings.Replace(good, "{", `{"biz_opaque_callback_data":"`+strings.Repeat("x", 513)+`",`, 1), 400, 131009},
		{"a template that is missing", "/v23.0/1/messages", "Bearer right",
			`{"messaging_product":"whatsapp","to":"1555","type":"template","template":{"name":"code_132001"}}`, 404, 132001},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, tt.path, strings.NewReader(tt.body))
		r.Header.Set("Authorization", tt.token)
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		var got struct {
			Error struct {
				Code int `json:"code"`
			} `json:"error"`
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got), tt.name)
		if w.Code != tt.status || got.Error.Code != tt.code {
			t.Errorf("%s: %d, %s; want %d, %d", tt.name, w.Code, w.Body, tt.status, tt.code)
		}
	}
}

// The limits of a number and of a pair hold, whatever comes at once, and the ledger knows how much came in a second.
func TestLimits(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 18, 0, 0, 0, time.UTC)
	api := cloudapi.New(cloudapi.Options{
		Limits: cloudapi.Limits{PerSecond: 20, PairBurst: 3}, Now: func() time.Time { return now },
	})
	s := httptest.NewServer(api)
	t.Cleanup(s.Close)
	c, err := whatsapp.New(whatsapp.Options{URL: s.URL})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	send := func(sender string, i int) int {
		a, err := c.Send(t.Context(), whatsapp.Sender{PhoneNumberID: sender, Token: "t"}, whatsapp.Message{
			ID: uuid.New(), To: fmt.Sprint(15550000000 + i), Body: campaign.Body{Type: "text", Text: &campaign.Text{Body: "x"}},
		})
		require.NoError(t, err)
		if a.Error != nil {
			return a.Error.Code
		}
		return 0
	}
	var mu sync.Mutex
	codes := map[int]int{}
	var g errgroup.Group
	for i := range 50 {
		g.Go(func() error {
			code := send("1", i)
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
			return nil
		})
	}
	require.NoError(t, g.Wait())
	require.Equal(t, map[int]int{0: 20, 130429: 30}, codes)
	for i := range 4 {
		require.Equal(t, []int{0, 0, 0, 131056}[i], send("2", 7), "the %d. message to one recipient", i+1)
	}
	require.Zero(t, send("2", 8))
	now = now.Add(6 * time.Second)
	require.Zero(t, send("2", 7))
	require.Zero(t, send("1", 7))

	require.Equal(t, 50, api.Most(time.Second, "1"))
	require.Equal(t, 55, api.Most(time.Second))
	require.Equal(t, 57, api.Most(7*time.Second, "1", "2"))
	require.Equal(t, []int{50, 0, 0, 0, 0, 0, 1}, api.PerSecond("1"))
	require.Empty(t, api.PerSecond("3"))
	require.Equal(t, 31, api.Counts().Limited)

	api.SetLimits(cloudapi.Limits{PerSecond: -1, PairBurst: -1})
	for range 100 {
		require.Zero(t, send("1", 7))
	}
	api.Forget()
	require.Equal(t, cloudapi.Counts{}, api.Counts())
	require.Zero(t, api.Most(time.Second))
}

// The endpoints that drive it do what the methods do.
func TestAdmin(t *testing.T) {
	t.Parallel()
	w := start(t, cloudapi.Options{})
	do := func(method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, bytes.NewReader([]byte(body)))
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(got)
	}
	for _, tt := range []struct {
		method, path, body string
		status             int
		contains           string
	}{
		{"GET", "/admin/ledger", "", 200, "[]"},
		{"POST", "/admin/rules", `{"to":"1555","times":1,"code":131048,"retry_after":"90s"}`, 204, ""},
		{"POST", "/admin/rules", `{"to":"1555","delay":"soon"}`, 400, "soon"},
		{"POST", "/admin/rules", `{"whom":"1555"}`, 400, "whom"},
		{"POST", "/admin/rules", `{"cut":"never"}`, 422, "before or after"},
		{"PUT", "/admin/limits", `{"per_second":-1,"pair_burst":5,"pair_every":"1h"}`, 204, ""},
		{"POST", "/admin/inbound", `{"sender":"1","from":"15550101234","text":"STOP"}`, 204, ""},
	} {
		if status, body := do(tt.method, tt.path, tt.body); status != tt.status || !strings.Contains(body, tt.contains) {
			t.Errorf("%s %s %s: %d, %s", tt.method, tt.path, tt.body, status, body)
		}
	}
	a, _ := w.send(t, "1", "+15550000001")
	require.Equal(t, 131048, a.Error.Code)
	require.Equal(t, 90*time.Second, a.After)
	for range 6 {
		a, _ = w.send(t, "1", "+15550000001")
	}
	require.Equal(t, 131056, a.Error.Code)
	w.settle(t)
	status, body := do("GET", "/admin/counts", "")
	require.Equal(t, 200, status)
	require.Contains(t, body, `"accepted":5`)
	require.Contains(t, body, `"most_in_a_second":`)
	_, body = do("GET", "/admin/ledger?last=2", "")
	var ledger []cloudapi.Accepted
	require.NoError(t, json.Unmarshal([]byte(body), &ledger))
	require.Len(t, ledger, 2)
	require.Equal(t, w.Ledger()[4].WAMID, ledger[1].WAMID)
	require.Equal(t, "STOP", w.hooks.messages[0].Text)
	status, _ = do("DELETE", "/admin/ledger", "")
	require.Equal(t, 204, status)
	require.Empty(t, w.Ledger())
	status, _ = do("DELETE", "/admin/rules", "")
	require.Equal(t, 204, status)
}

// When Run ends, what is under way is finished and what waits stays for the next Run.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	var hooks receiver
	hooks.t = t
	receive := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case arrived <- struct{}{}:
			<-release
		case <-release:
		}
		hooks.ServeHTTP(w, r)
	}))
	t.Cleanup(receive.Close)
	api := cloudapi.New(cloudapi.Options{Webhook: receive.URL, Secret: appSecret, Batch: 1, Posts: 1})
	for range 3 {
		api.Inbound("1", "15550000001", "Hello")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- api.Run(ctx) }()
	<-arrived
	cancel()
	close(release)
	require.NoError(t, <-ran)
	c := api.Counts()
	require.GreaterOrEqual(t, c.Posted, 1)
	require.Equal(t, 3, c.Posted+c.Waiting)
	require.Len(t, hooks.messages, c.Posted)
	ctx, cancel = context.WithCancel(t.Context())
	go func() { ran <- api.Run(ctx) }()
	require.NoError(t, api.Settled(t.Context()))
	cancel()
	require.NoError(t, <-ran)
	require.Len(t, hooks.messages, 3)
}

// A message that is sent twice is in the ledger twice.
func TestRepeated(t *testing.T) {
	t.Parallel()
	w := start(t, cloudapi.Options{})
	require.NoError(t, w.Script(cloudapi.Rule{Times: 1, Cut: cloudapi.CutAfter}))
	m := whatsapp.Message{ID: uuid.New(), To: "+15550000001", Body: campaign.Body{Type: "text", Text: &campaign.Text{Body: "x"}}}
	for range 2 {
		_, err := w.client.Send(t.Context(), whatsapp.Sender{PhoneNumberID: "1", Token: "t"}, m)
		require.NoError(t, err)
	}
	require.Equal(t, map[string]int{m.ID.String(): 2}, w.Repeated())
	require.Equal(t, 1, w.Counts().Repeated)
	require.Equal(t, 1, w.Counts().CutAfter)
}

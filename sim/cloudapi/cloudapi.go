// Package cloudapi is a fake of Meta's WhatsApp Cloud API that misbehaves on script. Tests and benchmarks use it, and
// so does the local stack, so that neither ever sends a message to a person. It keeps a ledger of what it accepted,
// and posts signed webhooks as Meta does.
package cloudapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Options are the settings of an API. A zero field takes its default.
type Options struct {
	// Senders has the access token of each phone number id. Empty = every id and token is accepted, but for the token
	// "revoked".
	Senders map[string]string
	Account string // id of the WhatsApp Business account; default "102290129340398"
	Limits  Limits

	Webhook string // address that statuses are posted to; empty = none are
	Secret  string // of the app, which signs them
	// Statuses are when a message is sent, delivered and read, counted from its acceptance, 0 = it never is. Default 50
	// ms, 200 ms and 1 s.
	Statuses Statuses
	Batch    int           // statuses in one request at most; default 100
	Posts    int           // requests with statuses at once; default 4
	Retry    time.Duration // until a request that was not answered with 200 is repeated; doubles with each; default 1 s
	Tries    int           // of such a request before its statuses are lost; default 10

	Latency time.Duration    // of every answer; default none
	Now     func() time.Time // default time.Now
}

// Limits are those of the real API. A zero field takes its default, one below 0 is no limit.
type Limits struct {
	PerSecond int           `json:"per_second"` // messages of a phone number, as many of them at once; default 80
	PairBurst int           `json:"pair_burst"` // messages of a phone number to one recipient at once; default 45
	PairEvery time.Duration `json:"-"`          // then one in so much time; default 6 s
}

// Statuses are times after the acceptance of a message.
type Statuses struct{ Sent, Delivered, Read time.Duration }

// API is an http.Handler. It is safe for concurrent use and keeps everything in memory. Webhooks are posted while Run
// runs.
type API struct {
	o   Options
	mux *http.ServeMux

	mu       sync.Mutex
	limits   Limits
	rules    []rule
	senders  map[string]*rate.Limiter
	pairs    map[string]*rate.Limiter
	accepted []Accepted
	repeats  map[string]int // accepts of a callback
	requests map[string][]time.Time
	counts   Counts
	post     outbox
}

// maxBody is the largest request that is read, in bytes, maxEntries bounds the ledger, and maxPairs the pairs whose
// limit is known.
const (
	maxBody    = 256 << 10
	maxEntries = 500_000
	maxPairs   = 1_000_000
)

// New returns an API. It has no goroutine before Run.
func New(o Options) *API {
	o.Account = cmp.Or(o.Account, "102290129340398")
	o.Statuses = cmp.Or(o.Statuses, Statuses{50 * time.Millisecond, 200 * time.Millisecond, time.Second})
	o.Batch, o.Posts = cmp.Or(o.Batch, 100), cmp.Or(o.Posts, 4)
	o.Retry, o.Tries = cmp.Or(o.Retry, time.Second), cmp.Or(o.Tries, 10)
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &API{
		o: o, mux: http.NewServeMux(), limits: o.Limits.withDefaults(), senders: map[string]*rate.Limiter{},
		pairs: map[string]*rate.Limiter{}, repeats: map[string]int{}, requests: map[string][]time.Time{},
	}
	a.post.wake = make(chan struct{}, 1)
	a.mux.HandleFunc("POST /{version}/{sender}/messages", a.send)
	a.admin()
	return a
}

func (l Limits) withDefaults() Limits {
	l.PerSecond, l.PairBurst = cmp.Or(l.PerSecond, 80), cmp.Or(l.PairBurst, 45)
	l.PairEvery = cmp.Or(l.PairEvery, 6*time.Second)
	return l
}

// SetLimits changes the limits.
func (a *API) SetLimits(l Limits) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.limits = l.withDefaults()
	clear(a.senders)
	clear(a.pairs)
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// message is the part of a request that the API reads.
type message struct {
	Product   string `json:"messaging_product"`
	To        string `json:"to"`
	Recipient string `json:"recipient"`
	Type      string `json:"type"`
	Callback  string `json:"biz_opaque_callback_data"`
	Template  struct {
		Name string `json:"name"`
	} `json:"template"`
	Text struct {
		Body string `json:"body"`
	} `json:"text"`
}

var version = regexp.MustCompile(`^v[0-9]+\.[0-9]+$`)

// send takes a message, as the real API does: the recipient is not looked at before the answer.
func (a *API) send(w http.ResponseWriter, r *http.Request) {
	sender, now := r.PathValue("sender"), a.o.Now()
	a.request(sender, now)
	wait(context.WithoutCancel(r.Context()), a.o.Latency) // the real API goes on when its client has gone
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		refuse(w, refusal{Status: 400, Code: 100, Details: "The body cannot be read"})
		return
	}
	m, bad := a.check(r, sender, raw)
	if bad.Code != 0 || bad.Status != 0 {
		a.count(func(c *Counts) { c.Refused++ })
		refuse(w, bad)
		return
	}
	to := cmp.Or(strings.TrimPrefix(m.To, "+"), m.Recipient)
	rule := a.rule(sender, to)
	if rule.Code == 0 {
		rule.Code = codeOf(to, m.Template.Name)
	}
	switch {
	case rule.Cut == CutBefore:
		a.count(func(c *Counts) { c.CutBefore++ })
		panic(http.ErrAbortHandler) // ends the connection without an answer
	case rule.Code != 0 || rule.Status != 0:
		a.count(func(c *Counts) { c.Refused++ })
		wait(r.Context(), rule.Delay)
		refuse(w, refusal{rule.Status, rule.Code, rule.Subcode, "", rule.RetryAfter})
		return
	}
	if code := a.limited(sender, to, now); code != 0 {
		a.count(func(c *Counts) { c.Limited++ })
		refuse(w, refusal{Code: code})
		return
	}
	entry := a.accept(sender, to, m, rule.Rule, now)
	wait(r.Context(), rule.Delay)
	if rule.Cut == CutAfter {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("X-Business-Use-Case-Usage", fmt.Sprintf(
		`{"%s":[{"type":"whatsapp","call_count":1,"total_cputime":1,"total_time":1,"estimated_time_to_regain_access":0}]}`, a.o.Account))
	answer(w, http.StatusOK, map[string]any{
		"messaging_product": "whatsapp",
		"contacts":          []any{map[string]string{"input": cmp.Or(m.To, m.Recipient), "wa_id": waID(to)}},
		"messages":          []any{map[string]string{"id": entry.WAMID, "message_status": "accepted"}},
	})
}

// check holds a request to what the real API checks at once.
func (a *API) check(r *http.Request, sender string, raw []byte) (m message, bad refusal) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	want, known := a.o.Senders[sender]
	switch {
	case !bearer || token == "" || token == "revoked" || known && token != want:
		return m, refusal{Status: 401, Code: 190, Details: "The access token is not valid"}
	case len(a.o.Senders) > 0 && !known || !version.MatchString(r.PathValue("version")):
		return m, refusal{Status: 400, Code: 100, Subcode: 33, Details: "Object does not exist"}
	}
	var parts map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil || json.Unmarshal(raw, &parts) != nil || m.Product != "whatsapp" {
		return m, refusal{Status: 400, Code: 100, Details: "messaging_product must be whatsapp"}
	}
	switch {
	case m.To == "" && m.Recipient == "":
		return m, refusal{Status: 400, Code: 131008, Details: "Parameter to is missing"}
	case len(m.Callback) > 512:
		return m, refusal{Status: 400, Code: 131009, Details: "biz_opaque_callback_data has more than 512 characters"}
	case !slices.Contains([]string{"text", "template", "image", "video", "audio", "document", "sticker"}, m.Type):
		return m, refusal{Status: 400, Code: 131051, Details: "Message type is not supported"}
	case parts[m.Type] == nil:
		return m, refusal{Status: 400, Code: 131008, Details: "Parameter " + m.Type + " is missing"}
	case m.Type == "text" && m.Text.Body == "", m.Type == "template" && m.Template.Name == "":
		return m, refusal{Status: 400, Code: 131008, Details: "A required parameter is missing"}
	}
	return m, refusal{}
}

// limited is the code of the limit that a message hits, 0 = none.
func (a *API) limited(sender, to string, now time.Time) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limits.PerSecond > 0 {
		l := a.senders[sender]
		if l == nil {
			l = rate.NewLimiter(rate.Limit(a.limits.PerSecond), a.limits.PerSecond)
			a.senders[sender] = l
		}
		if !l.AllowN(now, 1) {
			return 130429
		}
	}
	if a.limits.PairBurst > 0 {
		pair := sender + " " + to
		l := a.pairs[pair]
		if l == nil {
			if len(a.pairs) >= maxPairs {
				clear(a.pairs)
			}
			l = rate.NewLimiter(rate.Every(a.limits.PairEvery), a.limits.PairBurst)
			a.pairs[pair] = l
		}
		if !l.AllowN(now, 1) {
			return 131056
		}
	}
	return 0
}

// waID is the recipient's id at WhatsApp, which for Brazil and Mexico is not the phone number.
func waID(to string) string {
	switch {
	case strings.HasPrefix(to, "55") && len(to) == 13 && to[4] == '9' && to[2:4] > "30":
		return to[:4] + to[5:]
	case strings.HasPrefix(to, "52") && len(to) == 12:
		return "521" + to[2:]
	}
	return to
}

// wait blocks so long, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// refusal is an answer with an error. A Status of 0 is that which the real API mostly has with the code.
type refusal struct {
	Status, Code, Subcode int
	Details               string
	RetryAfter            time.Duration
}

// refuse answers with an error. With a Status and no Code it is no error of the API but a page, as a proxy makes one.
func refuse(w http.ResponseWriter, x refusal) {
	if x.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((x.RetryAfter+time.Second-1)/time.Second)))
	}
	if x.Code == 0 {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(x.Status)
		_, _ = fmt.Fprintf(w, "<html><body><h1>%d %s</h1></body></html>\n", x.Status, http.StatusText(x.Status))
		return
	}
	known := errorsOf[x.Code]
	e := map[string]any{
		"message": fmt.Sprintf("(#%d) %s", x.Code, cmp.Or(known.title, "An error")), "type": "OAuthException", "code": x.Code,
		"error_data": map[string]string{
			"messaging_product": "whatsapp", "details": cmp.Or(x.Details, known.title, "An error"),
		},
		"fbtrace_id": "AdemoDEMOdemo",
	}
	if x.Subcode != 0 {
		e["error_subcode"] = x.Subcode
	}
	answer(w, cmp.Or(x.Status, known.status, http.StatusBadRequest), map[string]any{"error": e})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

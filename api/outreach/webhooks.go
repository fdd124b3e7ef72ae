package outreach

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"

	"github.com/mtlrent/conveyor/api"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/internal/metric"
	"github.com/mtlrent/conveyor/internal/whatsapp"
)

// Webhooks serves /webhooks/whatsapp, which Meta calls. Its requests have no credentials but a signature over the raw
// body, so these are gin routes; huma knows them for the gate and the document.
type Webhooks struct {
	Store        *dboutreach.Webhooks
	AppSecrets   []string // of the Meta app, which sign; none = every event is refused
	VerifyTokens []string // by which Meta verifies the address; none = it is not verified

	door     *api.Door
	received *prometheus.CounterVec
	room     *api.Turns    // for bodies in memory, by network
	lines    *rate.Limiter // of refusals in the log

	wait, within time.Duration // webhookWait and webhookWithin where they are 0
}

const (
	webhookTimeout = 10 * time.Second // for an answer: Meta waits no longer
	webhookWait    = 3 * time.Second  // of it, for room
	webhookWithin  = 4 * time.Second  // of it, for the body

	webhookBodies, webhookShare = 16, 4 // in memory at once, and of one network: no signature is checked yet
)

// The ends of a request with an event.
const (
	webhookStored   = "stored"
	webhookUnsigned = "unsigned"
	webhookTooLarge = "too_large"
	webhookBroken   = "broken" // the connection ended before the body did, or the body took too long
	webhookBusy     = "busy"
	webhookAway     = "away" // Postgres is
)

// Register implements api.Part.
func (h Webhooks) Register(d *api.Door) {
	h.door, h.room = d, api.NewTurns(webhookBodies, webhookShare)
	h.wait, h.within = cmp.Or(h.wait, webhookWait), cmp.Or(h.within, webhookWithin)
	h.lines = rate.NewLimiter(rate.Every(10*time.Second), 5)
	h.received = metric.With(d.Registerer).Counters("conveyor_webhooks_received_total",
		"Requests of the WhatsApp webhook by result: stored, unsigned, too_large, broken, busy, away. Meta repeats "+
			"those that were not stored.", "result",
		webhookStored, webhookUnsigned, webhookTooLarge, webhookBroken, webhookBusy, webhookAway)
	failed := func(says string) *huma.Response {
		return &huma.Response{Description: says, Content: map[string]*huma.MediaType{"application/problem+json": {
			Schema: &huma.Schema{Ref: "#/components/schemas/ErrorModel"},
		}}}
	}
	text := func(name string) *huma.Param {
		return &huma.Param{Name: name, In: "query", Schema: &huma.Schema{Type: huma.TypeString}}
	}
	d.API.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "verify-whatsapp-webhook", Method: http.MethodGet, Path: webhookPath, Tags: []string{"webhooks"},
		Summary:     "Verify the address of the webhook",
		Description: "Meta's question when the address is set in its app. No credentials but the token are required.",
		Parameters:  []*huma.Param{text("hub.mode"), text("hub.verify_token"), text("hub.challenge")},
		Metadata:    map[string]any{api.TimeoutKey: webhookTimeout},
		Responses: map[string]*huma.Response{
			"200": {Description: "The challenge", Content: map[string]*huma.MediaType{"text/plain": {}}},
			"403": failed("The token is not one of CONVEYOR_WHATSAPP_VERIFY_TOKENS"),
		},
	})
	d.API.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "receive-whatsapp-webhook", Method: http.MethodPost, Path: webhookPath, Tags: []string{"webhooks"},
		Summary: "Take an event of the WhatsApp Cloud API",
		Description: "Statuses of messages, and messages of people. It is stored when the answer is 200, and applied " +
			"after it. The header X-Hub-Signature-256 has its signature; no other credentials are required.",
		MaxBodyBytes: whatsapp.MaxEvent, Metadata: map[string]any{api.TimeoutKey: webhookTimeout},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {}}},
		Responses: map[string]*huma.Response{
			"200": {Description: "It is stored"},
			"400": failed("The body did not come whole, or in time"),
			"403": failed("The signature is not that of the body by one of CONVEYOR_WHATSAPP_APP_SECRETS"),
			"413": failed("The body is too large"),
			"429": failed("Too many requests of the address without a signature"),
			"503": failed("It could not be stored: send it again"),
		},
	})
	d.Router.GET(webhookPath, h.verify)
	d.Router.POST(webhookPath, h.take)
}

const webhookPath = "/webhooks/whatsapp"

// verify answers Meta's verification of the address.
func (h Webhooks) verify(c *gin.Context) {
	challenge, ok := whatsapp.Challenge(c.Request.URL.Query(), h.VerifyTokens)
	if !ok {
		api.Answer(c, huma.Error403Forbidden("hub.verify_token is not one of CONVEYOR_WHATSAPP_VERIFY_TOKENS, or hub.mode is not "+
			"subscribe, or there is no hub.challenge"))
		return
	}
	c.Data(http.StatusOK, "text/plain; charset=utf-8", []byte(challenge))
}

// take stores an event, and then says so.
func (h Webhooks) take(c *gin.Context) {
	result, err := h.store(c)
	h.received.WithLabelValues(result).Inc()
	if err != nil {
		api.Answer(c, err)
		return
	}
	c.Status(http.StatusOK)
}

func (h Webhooks) store(c *gin.Context) (result string, err error) {
	ctx, signature := c.Request.Context(), c.GetHeader(whatsapp.SignatureHeader)
	// The server reads the rest of a body after an answer, too: what is refused must not hold its connection either.
	readUntil(c, h.wait+h.within)
	if signature == "" || len(h.AppSecrets) == 0 {
		return h.unsigned(c)
	}
	if c.Request.ContentLength > whatsapp.MaxEvent {
		return webhookTooLarge, errLargeEvent
	}
	waiting, cancel := context.WithTimeout(ctx, h.wait)
	defer cancel()
	leave, ok := h.room.Wait(waiting, api.Network(c))
	if !ok {
		return webhookBusy, tryAgain("too many events at once")
	}
	defer leave()
	readUntil(c, h.within) // a sender that holds its body back holds a place, too
	body, err := io.ReadAll(c.Request.Body)
	switch {
	case len(body) > whatsapp.MaxEvent || errors.As(err, new(*http.MaxBytesError)):
		return webhookTooLarge, errLargeEvent
	case err != nil:
		if err := h.charge(c); err != nil {
			return webhookBroken, err
		}
		return webhookBroken, huma.Error400BadRequest("the body breaks off, or takes longer than " + h.within.String())
	}
	if !whatsapp.Signed(body, signature, h.AppSecrets) {
		return h.unsigned(c)
	}
	var statuses, messages int
	if e, err := whatsapp.ReadEvent(body); err == nil { // what cannot be read is stored too, for an operator
		statuses, messages = len(e.Statuses), e.Urgent()
	}
	if _, err := h.Store.Store(ctx, body, statuses, messages, h.door.Now()); err != nil {
		return webhookAway, api.Problem(ctx, h.door.Log, err)
	}
	return webhookStored, nil
}

// readUntil bounds the time until the body of a request is read; the server bounds that of the next request itself.
func readUntil(c *gin.Context, d time.Duration) {
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(d)) // the server of a test may know none
}

// charge counts a request that Meta has not signed. Its error is the answer when there were too many of its address.
func (h Webhooks) charge(c *gin.Context) error {
	return h.door.Charge(c, "webhook", "too many requests without a valid signature")
}

var errLargeEvent = huma.NewError(http.StatusRequestEntityTooLarge, "the body has more than 4 MiB")

// unsigned refuses a request that Meta has not signed. A few of them are logged, so that a wrong secret is found.
func (h Webhooks) unsigned(c *gin.Context) (string, error) {
	ctx := c.Request.Context()
	if err := h.charge(c); err != nil {
		return webhookUnsigned, err
	}
	why := "the header " + whatsapp.SignatureHeader + " is not a signature of the body by an app secret of " +
		"CONVEYOR_WHATSAPP_APP_SECRETS"
	if len(h.AppSecrets) == 0 {
		why = "events are refused, for CONVEYOR_WHATSAPP_APP_SECRETS is not set"
	}
	if h.lines.Allow() {
		h.door.Log.WarnContext(ctx, "webhook refused", "remote", c.ClientIP(), "reason", why)
	}
	return webhookUnsigned, huma.Error403Forbidden(why)
}

// tryAgain is the 503 answer for a moment.
func tryAgain(says string) error {
	return huma.ErrorWithHeaders(huma.Error503ServiceUnavailable(says+"; try again in 1 s"),
		http.Header{"Retry-After": {"1"}})
}

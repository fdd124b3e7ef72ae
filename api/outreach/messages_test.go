package outreach_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/mtlrent/conveyor/api/apitest"
	apioutreach "github.com/mtlrent/conveyor/api/outreach"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
)

func messageBody(sender uuid.UUID) string {
	return fmt.Sprintf(`{"sender":"%s","to":"+15145550199","body":{"type":"text","text":{"body":"Your code is 1234"}}}`, sender)
}

func TestSendMessage(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	send := func(body, key string) apitest.Reply {
		return d.Ask(t, "POST", "/messages?tenant=acme", body, "Idempotency-Key", key)
	}
	r := send(messageBody(sender), "k")
	m := apitest.Read[apioutreach.Message](t, r, 202)
	require.Equal(t, "/messages/"+m.ID.String(), r.Header.Get("Location"))
	require.NotNil(t, m.DueAt)
	require.Equal(t, apioutreach.Message{
		ID: m.ID, Sender: sender, Kind: "transactional", State: "queued", To: "+15•••••••99", DueAt: m.DueAt, QueuedAt: apitest.Now,
		Body: &campaign.Body{Type: "text", Text: &campaign.Text{Body: "Your code is 1234"}},
	}, m)
	require.Equal(t, []string{"wake dispatch of acme"}, d.Started.Calls)

	require.Equal(t, m, apitest.Read[apioutreach.Message](t, send(messageBody(sender), "k"), 202), "the same again")
	require.NotEqual(t, m.ID, apitest.Read[apioutreach.Message](t, send(messageBody(sender), "other"), 202).ID)
	require.NotEqual(t, m.ID, apitest.Read[apioutreach.Message](t, d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender)), 202).ID)
	apitest.Refused(t, send(strings.Replace(messageBody(sender), "is 1234", "is 1235", 1), "k"), 409)
	apitest.Refused(t, send(strings.Replace(messageBody(sender), "5550199", "5550198", 1), "k"), 409)
	for _, tt := range []struct{ old, new, field string }{
		{"+15145550199", "15145550199", "body.to"},
		{"+15145550199", "+0145550199", "body.to"},
		{"Your code is 1234", "", "body.body.text.body"},
		{"Your code is 1234", strings.Repeat("x", 5000), "body.body.text.body"},
		{`"type":"text"`, `"type":"image"`, "body.body.image"},
		{`"type":"text"`, `"typ":"text"`, "body.body.typ"},
		{`"to":"+15145550199",`, "", "body"},
		{sender.String(), "me", "body.sender"},
	} {
		p := apitest.Refused(t, send(strings.Replace(messageBody(sender), tt.old, tt.new, 1), ""), 422)
		require.Contains(t, p.Fields(), tt.field, "%s: %v", tt.new, p)
	}
	require.Contains(t, apitest.Refused(t, send(messageBody(uuid.New()), ""), 422).Detail, "sender: there is no sender")
	apitest.Refused(t, send(strings.Replace(messageBody(sender), "is 1234", strings.Repeat("x", 65<<10), 1), ""), 413)

	require.NoError(t, dboutreach.NewContacts(d.Pool, nil).OptOut(t.Context(), "acme", []string{"+15145550188"}, "api", "", "test", apitest.Now))
	d.Started.Calls = nil
	m = apitest.Read[apioutreach.Message](t, send(strings.Replace(messageBody(sender), "5550199", "5550188", 1), ""), 202)
	require.Equal(t, apioutreach.MessageState("skipped"), m.State)
	require.Equal(t, "opted_out", m.Class)
	require.Empty(t, d.Started.Calls)
}

// A message has its attempts and statuses in the order of time.
func TestGetMessage(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	m := apitest.Read[apioutreach.Message](t, d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender)), 202)
	d.System(t, `UPDATE messages SET state = 'read', sent_at = $2::timestamptz + '3s'::interval,
		delivered_at = $2::timestamptz + '4s'::interval, read_at = $2::timestamptz + '9s'::interval WHERE id = $1`, m.ID, apitest.Now)
	d.System(t, `INSERT INTO message_attempts (tenant, message, n, at, took_ms, outcome, class, http_status, code, wamid, error)
		VALUES ('acme', $1, 1, $2::timestamptz + '1s'::interval, 30, 'retry_later', 'transient', 500, 131000, NULL, 'oops'),
			('acme', $1, 2, $2::timestamptz + '2s'::interval, 40, 'accepted', '', 200, NULL, 'wamid.1', '')`, m.ID, apitest.Now)
	got := apitest.Read[apioutreach.MessageDetail](t, d.Get(t, "/messages/"+m.ID.String()+"?tenant=acme"), 200)
	require.Equal(t, m.Body, got.Body)
	var events []string
	for _, e := range got.Timeline {
		events = append(events, fmt.Sprint(e.At.Sub(apitest.Now), " ", e.Event))
	}
	require.Equal(t, []string{"0s queued", "1s attempt", "2s attempt", "3s sent", "4s delivered", "9s read"}, events)
	require.Equal(t, &apioutreach.MessageAttempt{
		N: 1, TookMS: 30, Outcome: "retry_later", Class: "transient", Status: 500, Code: 131000, Error: "oops",
	}, got.Timeline[1].Attempt)
	apitest.Refused(t, d.Get(t, "/messages/"+uuid.NewString()+"?tenant=acme"), 404)

	// Meta's times have whole seconds: a status seems to be before the request of the same second.
	d.System(t, `UPDATE messages SET queued_at = $2::timestamptz + '0.315s'::interval, sent_at = $2,
		delivered_at = $2, read_at = $2::timestamptz + '1s'::interval WHERE id = $1`, m.ID, apitest.Now)
	d.System(t, `UPDATE message_attempts SET at = $2::timestamptz + n * '0.4s'::interval WHERE message = $1`, m.ID, apitest.Now)
	got = apitest.Read[apioutreach.MessageDetail](t, d.Get(t, "/messages/"+m.ID.String()+"?tenant=acme"), 200)
	events = nil
	for _, e := range got.Timeline {
		events = append(events, e.Event)
	}
	require.Equal(t, []string{"queued", "attempt", "attempt", "sent", "delivered", "read"}, events)
}

// A caller that may only read sees what became of a message, not to whom it was sent and what it says. Nobody sees
// Meta's ID of it, from which the number can be read, without a line in the audit.
func TestReadersSeeNoRecipients(t *testing.T) {
	t.Parallel()
	f := apitest.Walkable(t)
	apitest.Tenant(t, f.Pool, "acme")
	id := apitest.Furnish(t, f)["message"]
	f.Door.Pool = f.Pool
	wamid := "wamid." + base64.StdEncoding.EncodeToString([]byte("\x1c\x05\x18\x0b15145550199\x15\x02\x00\x11\x18"))
	f.System(t, `UPDATE messages SET state = 'failed', class = 'transient', failed_at = $3, attempts = 1, wamid = $2 WHERE id = $1`,
		id, wamid, apitest.Now)
	f.System(t, `INSERT INTO message_attempts (tenant, message, n, at, took_ms, outcome, class, http_status, wamid, error)
		VALUES ('acme', $1, 1, $2, 30, 'accepted', '', 200, $3, '')`, id, apitest.Now, wamid)
	of := func(k *db.Key) { k.Tenant = "acme" }
	reader, operator := f.Key(t, "reader", access.Read, of), f.Key(t, "operator", access.Operate, of)
	for key, shown := range map[string]bool{reader: false, operator: true} {
		got := apitest.Read[apioutreach.MessageDetail](t, f.As(t, key, "GET", "/messages/"+id), 200)
		require.Equal(t, shown, got.To == "+15•••••••99")
		require.Equal(t, shown, f.As(t, key, "POST", "/messages/"+id+"/recipient").Status == 200)
		require.Equal(t, shown, got.Body != nil)
		for _, path := range []string{"/messages", "/messages/" + id} {
			numberless(t, f.As(t, key, "GET", path))
		}
	}
	numberless(t, f.As(t, operator, "POST", "/messages/"+id+"/retry"))
	given := apitest.Read[apioutreach.MessageRecipient](t, f.As(t, operator, "POST", "/messages/"+id+"/recipient"), 200)
	require.Equal(t, apioutreach.MessageRecipient{To: "+15145550199", WAMID: wamid}, given)
}

// base64Text is what may be base64.
var base64Text = regexp.MustCompile(`[A-Za-z0-9+/]{16,}`)

// numberless fails for an answer with the number of messageBody, also where it is base64.
func numberless(t *testing.T, r apitest.Reply) {
	t.Helper()
	require.Less(t, r.Status, 300, r.Body)
	require.NotContains(t, r.Body, "5145550199")
	for _, text := range base64Text.FindAllString(r.Body, -1) {
		got, _ := base64.RawStdEncoding.DecodeString(text)
		require.NotContains(t, string(got), "5145550199", text)
	}
}

// A failed message is sent again where that may help, and its number is shown to a caller who asks for it.
func TestRetryMessage(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	m := apitest.Read[apioutreach.Message](t, d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender)), 202)
	path := "/messages/" + m.ID.String()
	ask := func(what string) apitest.Reply { return d.Ask(t, "POST", path+what+"?tenant=acme", "") }
	require.Equal(t, "+15145550199", apitest.Read[apioutreach.MessageRecipient](t, ask("/recipient"), 200).To)
	fail := func(class string) {
		d.System(t, `UPDATE messages SET state = 'failed', class = $2, failed_at = $3 WHERE id = $1`, m.ID, class, apitest.Now)
	}
	fail("transient")
	d.Started.Calls = nil
	require.Equal(t, apioutreach.MessageState("queued"), apitest.Read[apioutreach.Message](t, ask("/retry"), 202).State)
	require.Equal(t, []string{"wake dispatch of acme"}, d.Started.Calls)
	require.Equal(t, apioutreach.MessageState("queued"), apitest.Read[apioutreach.Message](t, ask("/retry"), 202).State, "it is on its way")
	fail("recipient")
	require.Contains(t, apitest.Refused(t, ask("/retry"), 409).Detail, "it is not sent again")
	path = "/messages/" + uuid.NewString()
	apitest.Refused(t, ask("/retry"), 404)
	apitest.Refused(t, ask("/recipient"), 404)
}

// stuck is a Temporal that does not answer, and counts who asks.
type stuck struct {
	apitest.Starter

	calls atomic.Int64
}

func (s *stuck) WakeDispatch(ctx context.Context, _ string) error {
	s.calls.Add(1)
	<-ctx.Done()
	return ctx.Err()
}

// While Temporal is away messages are stored as ever.
func TestSendMessagesWhileTemporalHangs(t *testing.T) {
	t.Parallel()
	away := &stuck{}
	d, sender := mailer(t, func(p *apitest.Parts) {
		p.Messages.Wakes = apioutreach.NewWakes(away, apioutreach.WakeEvery, apitest.Quiet)
	})
	start := time.Now()
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			r := d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender))
			assert.EqualValues(t, 202, r.Status, r.Body)
		})
	}
	wg.Wait()
	require.GreaterOrEqual(t, time.Since(start), time.Second)
	require.LessOrEqual(t, away.calls.Load(), int64(5))
	for range 3 {
		apitest.Read[apioutreach.Message](t, d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender)), 202)
	}
}

// While Temporal is away, the first of requests that come together waits for a second, those with it and after it not at
// all, and nothing is tried for a while.
func TestWakesWhileTemporalHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		away := &stuck{}
		wakes := apioutreach.NewWakes(away, apioutreach.WakeEvery, apitest.Quiet)
		took := func(n int, at func(func())) time.Duration {
			start := time.Now()
			for range n {
				at(func() { wakes.Wake(t.Context(), "acme") })
			}
			synctest.Wait()
			return time.Since(start)
		}
		var wg sync.WaitGroup
		start := time.Now()
		took(5, wg.Go)
		wg.Wait()
		require.Equal(t, time.Second, time.Since(start))
		require.EqualValues(t, 2, away.calls.Load(), "that of the first, and the one that the others put off")
		require.Zero(t, took(20, func(wake func()) { wake() }), "they do not wait")
		require.EqualValues(t, 2, away.calls.Load())
		time.Sleep(6 * time.Second)
		require.Equal(t, time.Second, took(3, func(wake func()) { wake() }), "one of them tries again")
		require.EqualValues(t, 3, away.calls.Load())
	})
}

// outage is a Temporal that refuses one tenant, or cannot be reached, and counts who asks.
type outage struct {
	apitest.Starter

	err   error
	asked []string
}

func (o *outage) WakeDispatch(_ context.Context, tenant string) error {
	o.asked = append(o.asked, tenant)
	if tenant == "acme" {
		return o.err
	}
	return nil
}

// A tenant whose workflow cannot be signalled holds up no other one; a Temporal that is away is asked once.
func TestWakesByTenant(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		want []string
	}{
		"one tenant": {errors.New("too many signals"), []string{"acme", "umbrella"}},
		"all":        {serviceerror.NewUnavailable("connection refused"), []string{"acme"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &outage{err: tt.err}
			d, sender := mailer(t, func(p *apitest.Parts) {
				p.Messages.Wakes = apioutreach.NewWakes(o, apioutreach.WakeEvery, apitest.Quiet)
				p.Tenancy.Wakes, p.Senders.Wakes = p.Messages.Wakes, p.Messages.Wakes
			})
			for range 2 {
				apitest.Read[apioutreach.Message](t, d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender)), 202)
			}
			apitest.Tenant(t, d.Pool, "umbrella")
			d.Ask(t, "PATCH", "/tenants/umbrella", `{"name":"Umbrella"}`) // wakes it
			require.Equal(t, tt.want, o.asked)
		})
	}
}

// A refused connection is as good as a hanging one.
func TestSendMessageWithoutTemporal(t *testing.T) {
	t.Parallel()
	d, sender := mailer(t)
	d.Started.Err = errors.New("connection refused")
	for range 3 {
		apitest.Read[apioutreach.Message](t, d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender)), 202)
	}
	require.Len(t, d.Started.Calls, 1)
	d.Pool.Close()
	apitest.Refused(t, d.Ask(t, "POST", "/messages?tenant=acme", messageBody(sender)), 503)
}

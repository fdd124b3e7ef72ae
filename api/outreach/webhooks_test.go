package outreach_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/api/apitest"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/servicetest"
	"github.com/mtlrent/conveyor/internal/whatsapp"
)

const event = `{"object":"whatsapp_business_account","entry":[{"id":"7","changes":[{"field":"messages","value":{
	"metadata":{"phone_number_id":"101"},"statuses":[{"id":"wamid.1","status":"sent","timestamp":"1"}],
	"messages":[{"id":"wamid.2","from":"15550101234","type":"text","text":{"body":"STOP"}}]}}]}]}`

func TestVerifyWebhook(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	const ask = "/webhooks/whatsapp?hub.mode=subscribe&hub.challenge=112%3Cb%3E&hub.verify_token="
	r := d.Get(t, ask+"t0ken")
	require.Equal(t, 200, r.Status)
	require.Equal(t, "112<b>", r.Body)
	require.Equal(t, "text/plain; charset=utf-8", r.Header.Get("Content-Type"))
	for _, wrong := range []string{ask, ask + "x", strings.Replace(ask, "subscribe", "x", 1) + "t0ken", "/webhooks/whatsapp"} {
		apitest.Refused(t, d.Get(t, wrong), http.StatusForbidden)
	}
	none := apitest.Open(t, func(p *apitest.Parts) { p.Webhooks.VerifyTokens = nil })
	apitest.Refused(t, none.Get(t, ask), http.StatusForbidden)
}

// An event is stored before it is answered, whatever is in it, once; and by its signature only.
func TestTakeWebhook(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	for range 2 {
		r := d.Deliver(t, event, "s3cret")
		require.Equal(t, 200, r.Status, r.Body)
		require.Empty(t, r.Body)
	}
	require.Equal(t, 1, d.Stored(t), "Meta repeats what it has sent")
	require.Equal(t, 200, d.Deliver(t, strings.Replace(event, "wamid.1", "wamid.3", 1), "other").Status)
	require.Equal(t, 200, d.Deliver(t, "not JSON", "s3cret").Status, "an operator may look at it")
	events, err := d.Webhooks.Store.Waiting(t.Context(), 0, 100)
	require.NoError(t, err)
	require.Equal(t, event, string(events[0].Body), "byte for byte")
	require.Len(t, events, 3)

	signature := whatsapp.Sign([]byte(event), "s3cret")
	for name, r := range map[string]apitest.Reply{
		"another secret":  d.Deliver(t, event, "x"),
		"an empty secret": d.Deliver(t, event, ""),
		"no signature":    d.Ask(t, "POST", "/webhooks/whatsapp", event),
		"another body":    d.Ask(t, "POST", "/webhooks/whatsapp", event+" ", whatsapp.SignatureHeader, signature),
		"another form":    d.Ask(t, "POST", "/webhooks/whatsapp", event, whatsapp.SignatureHeader, signature[7:]),
	} {
		p := apitest.Refused(t, r, http.StatusForbidden)
		require.Contains(t, p.Detail, "CONVEYOR_WHATSAPP_APP_SECRETS", name)
		require.NotContains(t, p.Detail, "s3cret")
	}
	large := strings.Repeat("x", whatsapp.MaxEvent)
	require.Equal(t, 200, d.Deliver(t, large, "s3cret").Status)
	apitest.Refused(t, d.Deliver(t, large+"x", "s3cret"), http.StatusRequestEntityTooLarge)
	require.Equal(t, 4, d.Stored(t))

	none := apitest.Open(t, func(p *apitest.Parts) { p.Webhooks.AppSecrets = nil })
	require.Contains(t, apitest.Refused(t, none.Deliver(t, event, ""), http.StatusForbidden).Detail, "is not set")
}

// While Postgres is away Meta is told to send again.
func TestTakeWebhookWithoutPostgres(t *testing.T) {
	t.Parallel()
	d := apitest.Open(t)
	d.Pool.Close()
	apitest.ComesBack(t, d.Deliver(t, event, "s3cret"))
}

// Keys and limits of the API do not hold Meta up; those who guess at a signature are held up.
func TestWebhookWithoutKeys(t *testing.T) {
	t.Parallel()
	addresses, refusals := apitest.Rates(t, 1, 1), apitest.Rates(t, 1, 2)
	hooked := apitest.Open(t, func(p *apitest.Parts) {
		p.Guard = api.NewGuard(api.GuardOptions{
			Keys: p.Keys.Store, Addresses: addresses, Refusals: refusals, Log: apitest.Quiet, Now: p.Now,
		})
	})
	f := &apitest.Fort{Door: hooked, KeyStore: hooked.Keys.Store, Clock: &apitest.Clock{At: apitest.Now}}
	f.Key(t, "root", access.Admin)
	apitest.Refused(t, hooked.Get(t, "/tenants"), http.StatusUnauthorized)
	for range 3 {
		require.Equal(t, 200, hooked.Deliver(t, event, "s3cret").Status)
	}
	for range 2 {
		apitest.Refused(t, hooked.Deliver(t, event, "x"), http.StatusForbidden)
	}
	r := hooked.Deliver(t, event, "x")
	require.Contains(t, apitest.Refused(t, r, http.StatusTooManyRequests).Detail, "without a valid signature")
	require.NotEmpty(t, r.Header.Get("Retry-After"))
	require.Equal(t, 200, hooked.Deliver(t, event, "s3cret").Status, "from the same address")
}

// Bodies that are held back keep Meta out neither of other networks nor for ever: of one network a few are read at once,
// the others are refused, and those that break off are charged.
func TestWebhooksThatHoldTheirBodiesBack(t *testing.T) {
	t.Parallel()
	refusals, registry := apitest.Rates(t, 1, 2), prometheus.NewRegistry()
	d := apitest.Open(t, func(p *apitest.Parts) {
		p.Proxies, p.Registerer = []string{"127.0.0.0/8"}, registry
		p.Guard = api.NewGuard(api.GuardOptions{Refusals: refusals, Log: apitest.Quiet, Now: p.Now})
		p.Webhooks.Hold(time.Millisecond, time.Hour)
	})
	var slow []*net.TCPConn
	for range 20 {
		slow = append(slow, hold(t, d, 1))
	}
	busy := func() (n float64) {
		families, err := registry.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				if f.GetName() == "conveyor_webhooks_received_total" && m.GetLabel()[0].GetValue() == "busy" {
					n = m.GetCounter().GetValue()
				}
			}
		}
		return n
	}
	require.Eventually(t, func() bool { return busy() == 16 }, servicetest.Patience(), 5*time.Millisecond, "four are read")
	signature := whatsapp.Sign([]byte(event), "s3cret")
	for range 3 {
		r := d.Ask(t, "POST", "/webhooks/whatsapp", event, whatsapp.SignatureHeader, signature, "X-Forwarded-For", "192.0.2.2")
		require.Equal(t, 200, r.Status, r.Body)
	}
	got := map[int]int{}
	for _, conn := range slow {
		require.NoError(t, conn.CloseWrite())
		require.NoError(t, conn.SetReadDeadline(time.Now().Add(servicetest.Patience())))
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		_ = answer.Body.Close()
		got[answer.StatusCode]++
	}
	require.Equal(t, map[int]int{400: 2, 429: 2, 503: 16}, got, "four were read, and they are charged")
	r := d.Ask(t, "POST", "/webhooks/whatsapp", event, whatsapp.SignatureHeader, signature, "X-Forwarded-For", "192.0.2.1")
	require.Equal(t, 200, r.Status, "what is signed is taken from there, too")

	d = apitest.Open(t, func(p *apitest.Parts) { p.Webhooks.Hold(time.Hour, 50*time.Millisecond) })
	answer, err := http.ReadResponse(bufio.NewReader(hold(t, d, 1)), nil)
	require.NoError(t, err)
	_ = answer.Body.Close()
	require.Equal(t, 400, answer.StatusCode, "its body is not waited for for ever")
}

// hold begins to send an event from one of many networks, and holds its body back.
func hold(t *testing.T, d *apitest.Door, network int) *net.TCPConn {
	t.Helper()

	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.Address, "http://"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST /webhooks/whatsapp HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: 192.0.2.%d\r\n"+
		"%s: sha256=00\r\nContent-Length: 1000\r\n\r\nx", network, whatsapp.SignatureHeader)
	require.NoError(t, err)
	return conn.(*net.TCPConn) //nolint:forcetypeassert // dialled as such
}

// Bodies that are held back neither keep Meta out nor go on for long.
func TestSlowWebhooks(t *testing.T) {
	servicetest.Slow(t, servicetest.TestSlow)
	t.Parallel()
	refusals := apitest.Rates(t, 1, 2)
	d := apitest.Open(t, func(p *apitest.Parts) {
		p.Proxies = []string{"127.0.0.0/8"}
		p.Guard = api.NewGuard(api.GuardOptions{Refusals: refusals, Log: apitest.Quiet, Now: p.Now})
	})
	begin := time.Now()
	var slow []*bufio.Reader
	for range 20 {
		slow = append(slow, bufio.NewReader(hold(t, d, 1)))
	}
	signature := whatsapp.Sign([]byte(event), "s3cret")
	for range 3 {
		r := d.Ask(t, "POST", "/webhooks/whatsapp", event, whatsapp.SignatureHeader, signature, "X-Forwarded-For", "192.0.2.2")
		require.Equal(t, 200, r.Status, r.Body)
	}
	require.Less(t, time.Since(begin), 3*time.Second, "from another network, at once")
	got := map[int]int{}
	for _, conn := range slow {
		answer, err := http.ReadResponse(conn, nil)
		require.NoError(t, err)
		_ = answer.Body.Close()
		got[answer.StatusCode]++
	}
	require.Less(t, time.Since(begin), 15*time.Second)
	require.Equal(t, map[int]int{400: 2, 429: 2, 503: 16}, got, "four are read, and they are charged")
	r := d.Ask(t, "POST", "/webhooks/whatsapp", event, whatsapp.SignatureHeader, signature, "X-Forwarded-For", "192.0.2.1")
	require.Equal(t, 200, r.Status, "what is signed is taken from there, too")
}

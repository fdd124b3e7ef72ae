package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/notify"
	"github.com/mtlrent/conveyor/internal/servicetest"
)

var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func sender(t *testing.T, allowed string) *notify.Webhooks {
	t.Helper()

	w := notify.NewWebhooks(notify.Options{
		Dial: fetch.Dial([]string{allowed}, nil), Plain: []string{allowed}, Fault: fetch.Fault, Timeout: 5 * time.Second,
		Now: func() time.Time { return noon },
	})
	t.Cleanup(w.Close)
	return w
}

// A receiver can tell by the signature that a webhook is ours, and by its ID that it is a repetition.
func TestWebhook(t *testing.T) {
	t.Parallel()
	status, seen := http.StatusOK, http.Header{}
	var body, later string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		seen, body = r.Header, string(data)
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", later)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	w := sender(t, strings.TrimPrefix(s.URL, "http://"))
	n := saved.Notice{
		ID: uuid.New(), Name: "park", Address: saved.Address{URL: s.URL + "/private-path", Secret: "secret"},
		Items: []saved.Item{{Kind: saved.New, Title: "4½", RentCents: 125_000}}, More: 7,
	}
	require.NoError(t, w.Send(t.Context(), n))
	require.Equal(t, n.ID.String(), seen.Get(notify.IDHeader))
	require.Equal(t, "v1="+notify.Sign("secret", n.ID.String(), "1795435200", []byte(body)), seen.Get(notify.SignatureHeader))
	n.Address.Rotate("newer", noon, noon.Add(time.Second))
	require.NoError(t, w.Send(t.Context(), n))
	signed := func(secret string) string {
		return "v1=" + notify.Sign(secret, n.ID.String(), "1795435200", []byte(body))
	}
	require.Equal(t, signed("newer")+","+signed("secret"), seen.Get(notify.SignatureHeader), "by both, for a while")
	n.Address.BeforeUntil = &noon
	require.NoError(t, w.Send(t.Context(), n))
	require.Equal(t, signed("newer"), seen.Get(notify.SignatureHeader))
	n.Address.Rotate("newest", noon, noon)
	require.NoError(t, w.Send(t.Context(), n))
	require.Equal(t, signed("newest"), seen.Get(notify.SignatureHeader), "there is no while")
	require.Contains(t, body, `"kind":"new"`)
	require.Contains(t, body, `"rent_cents":125000`)
	require.Contains(t, body, `"more":7`)
	for _, tt := range []struct {
		status int
		later  string // Retry-After
		class  fault.Class
		after  time.Duration
	}{
		{500, "", fault.Transient, 0}, {404, "", fault.Transient, 0}, {302, "", fault.Transient, 0},
		{429, "", fault.Throttled, time.Minute}, {429, "soon", fault.Throttled, time.Minute},
		{429, "1800", fault.Throttled, 30 * time.Minute}, {429, "99999999999", fault.Throttled, time.Hour},
		{503, "600", fault.Transient, 10 * time.Minute},
		{503, noon.Add(5 * time.Minute).Format(http.TimeFormat), fault.Transient, 5 * time.Minute},
		{410, "", fault.Gone, 0},
	} {
		status, later = tt.status, tt.later
		err := w.Send(t.Context(), n)
		class, after := fault.Of(err)
		require.Equal(t, tt.class, class, tt.status)
		require.Equal(t, tt.after, after, tt.status)
		require.NotContains(t, err.Error(), "private-path")
	}
	s.Close()
	err := w.Send(t.Context(), n)
	require.Equal(t, fault.Transient, fault.ClassOf(err))
	require.NotContains(t, err.Error(), "private-path")
}

// A host has confirmed once it has sent back the challenge, which is signed, and another one each time.
func TestWebhookChallenge(t *testing.T) {
	t.Parallel()
	var challenges []string
	var write func(w http.ResponseWriter, challenge string)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		var body struct{ Type, Challenge string }
		_ = json.Unmarshal(data, &body) // an empty type is none
		id, stamp := r.Header.Get(notify.IDHeader), r.Header.Get(notify.TimeHeader)
		if body.Type != "challenge" || r.Header.Get(notify.SignatureHeader) != "v1="+notify.Sign("secret", id, stamp, data) {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		challenges = append(challenges, body.Challenge)
		write(w, body.Challenge)
	}))
	t.Cleanup(s.Close)
	w := sender(t, strings.TrimPrefix(s.URL, "http://"))
	for name, tt := range map[string]struct {
		write func(w http.ResponseWriter, challenge string)
		says  string // "" = it is confirmed
	}{
		"text":         {func(w http.ResponseWriter, c string) { _, _ = io.WriteString(w, c+"\n") }, ""},
		"JSON":         {func(w http.ResponseWriter, c string) { _, _ = io.WriteString(w, `{"challenge": "`+c+`"}`) }, ""},
		"text as JSON": {func(w http.ResponseWriter, c string) { _, _ = io.WriteString(w, `"`+c+`"`) }, ""},
		"text, marked": {func(w http.ResponseWriter, c string) { _, _ = io.WriteString(w, "\ufeff"+c) }, ""},
		"JSON, marked": {func(w http.ResponseWriter, c string) { _, _ = io.WriteString(w, "\ufeff{\"challenge\":\""+c+"\"}") }, ""},
		"no text": {
			func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, `""`) }, "answered 200, without the challenge",
		},
		"nothing": {
			func(w http.ResponseWriter, _ string) { w.WriteHeader(http.StatusNoContent) }, "answered 204, without the challenge",
		},
		"a page": {
			func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "<p>It works!") }, "answered 200, without the challenge",
		},
		"one before": {
			func(w http.ResponseWriter, _ string) { _, _ = io.WriteString(w, "JBSWY3DPEHPK3PXP") }, "answered 200, without the challenge",
		},
		"refused": {func(w http.ResponseWriter, c string) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, c)
		}, "answered 403"},
	} {
		write = tt.write
		err := w.Send(t.Context(), saved.Notice{
			ID: uuid.New(), Channel: saved.Webhook, Confirms: true, Address: saved.Address{URL: s.URL, Secret: "secret"},
		})
		if tt.says == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, tt.says, name)
		require.Equal(t, fault.Transient, fault.ClassOf(err), name)
	}
	require.Len(t, challenges, 10)
	slices.Sort(challenges)
	require.Len(t, slices.Compact(challenges), 10)
}

// What is told is signed, and no secret: it goes by https, but to hosts that are listed.
func TestWebhookIsEncrypted(t *testing.T) {
	t.Parallel()
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	t.Cleanup(s.Close)
	w := notify.NewWebhooks(notify.Options{
		Dial: fetch.Dial([]string{strings.TrimPrefix(s.URL, "http://")}, nil), Fault: fetch.Fault, Timeout: 5 * time.Second,
		Now: func() time.Time { return noon },
	})
	t.Cleanup(w.Close)
	err := w.Send(t.Context(), saved.Notice{Address: saved.Address{URL: s.URL}})
	require.ErrorContains(t, err, "not https")
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.Zero(t, asked)
}

// The reason says what is wrong with a certificate, or that a redirect is not followed, for that is to be mended.
func TestWebhookReasons(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	at := strings.TrimPrefix(s.URL, "https://")
	err := sender(t, at).Send(t.Context(), saved.Notice{Address: saved.Address{URL: s.URL}})
	require.ErrorContains(t, err, "the certificate of the webhook was issued by an unknown authority")
	require.NotContains(t, err.Error(), "127.0.0.1")
	require.Equal(t, fault.Transient, fault.ClassOf(err))

	moved := httptest.NewServer(http.RedirectHandler("https://example.org/", http.StatusPermanentRedirect))
	t.Cleanup(moved.Close)
	err = sender(t, strings.TrimPrefix(moved.URL, "http://")).Send(t.Context(), saved.Notice{Address: saved.Address{URL: moved.URL}})
	require.EqualError(t, err, "the webhook answered 308: redirects are not followed")
}

// The guard of fetching is that of webhooks.
func TestWebhookGuard(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	for _, address := range []string{s.URL, "http://169.254.169.254/latest", "http://[::1]/", "http://127.0.0.1/"} {
		err := sender(t, "elsewhere:1").Send(t.Context(), saved.Notice{Address: saved.Address{URL: address}})
		require.Equal(t, fault.Invalid, fault.ClassOf(err), "%s: %v", address, err)
	}
}

// What may have failed on our side is told from what is the host's own failure.
func TestWebhookUnreached(t *testing.T) {
	t.Parallel()
	var serve atomic.Value // of the next requests
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		serve.Load().(http.HandlerFunc)(w, r)
	}))
	t.Cleanup(s.Close)
	type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)
	var dial dialer
	w := notify.NewWebhooks(notify.Options{
		Dial:  func(ctx context.Context, network, addr string) (net.Conn, error) { return dial(ctx, network, addr) },
		Plain: []string{strings.TrimPrefix(s.URL, "http://")}, Fault: fetch.Fault, Timeout: servicetest.Patience(),
		Now: func() time.Time { return noon },
	})
	t.Cleanup(w.Close)
	send := func(ctx context.Context) error {
		err := w.Send(ctx, saved.Notice{ID: uuid.New(), Address: saved.Address{URL: s.URL, Secret: "secret"}})
		class, _ := fault.Of(err)
		require.True(t, err == nil || class == fault.Transient, "%v", err)
		return err
	}
	fails := func(err error) dialer {
		return func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Err: err}
		}
	}
	for name, cause := range map[string]dialer{
		"no route":     fails(syscall.ENETUNREACH),
		"no names":     fails(&net.DNSError{Err: "server misbehaving", IsTemporary: true}),
		"no such name": fails(&net.DNSError{Err: "no such host", IsNotFound: true}),
		"no answer":    fails(context.DeadlineExceeded),
	} {
		dial = cause
		require.ErrorIs(t, send(t.Context()), saved.ErrUnreached, name)
	}
	own := func(err error, says string) {
		t.Helper()
		require.ErrorContains(t, err, says)
		require.NotErrorIs(t, err, saved.ErrUnreached)
	}
	dial = fails(syscall.ECONNREFUSED)
	own(send(t.Context()), "refused the connection")

	dial = new(net.Dialer).DialContext
	breaks := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	serve.Store(breaks)
	own(send(t.Context()), "broke it off")
	serve.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	require.NoError(t, send(t.Context()))
	serve.Store(breaks)
	require.ErrorIs(t, send(t.Context()), saved.ErrUnreached, "an old connection may be broken off on our side")

	for _, connection := range []string{"new", "used again"} {
		ctx, cancel := context.WithCancelCause(t.Context())
		serve.Store(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			cancel(context.DeadlineExceeded)
			<-r.Context().Done()
		}))
		err := send(ctx)
		require.NotErrorIs(t, err, saved.ErrUnreached, connection)
		own(err, "did not answer")
		serve.Store(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
		require.NoError(t, send(t.Context()))
	}
}

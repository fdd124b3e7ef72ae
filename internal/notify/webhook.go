// Package notify sends the news of saved searches to the addresses that their owners named.
package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/fetch"
)

// The headers of a webhook.
const (
	IDHeader        = "Conveyor-Delivery"  // the same for every try of a delivery
	TimeHeader      = "Conveyor-Timestamp" // when the try began, Unix seconds
	SignatureHeader = "Conveyor-Signature" // of each secret v1= and Sign of the two and the body, with commas between
)

// Sign is the signature of a webhook: HMAC-SHA256 by the target's secret, over ID, timestamp and body with dots between
// them, in hexadecimal.
func Sign(secret, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// Options are the settings of Webhooks.
type Options struct {
	// Dial connects to hosts of strangers; it refuses those that must not be reached.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Plain lists the hosts, "host:port", that may be asked by http; any other only by https.
	Plain []string
	// Fault classifies its errors.
	Fault   func(error) error
	Timeout time.Duration // of one try, answer included
	Now     func() time.Time
}

// Webhooks sends notices by HTTP.
type Webhooks struct {
	o         Options
	transport *http.Transport
}

// NewWebhooks returns a sender. It opens nothing.
func NewWebhooks(o Options) *Webhooks {
	return &Webhooks{o, &http.Transport{
		Proxy:       nil, // a proxy would dial for us, past the guard
		DialContext: o.Dial, TLSHandshakeTimeout: o.Timeout, ResponseHeaderTimeout: o.Timeout,
		MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 100, MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second,
	}}
}

// Close drops the idle connections.
func (w *Webhooks) Close() { w.transport.CloseIdleConnections() }

// The body of a webhook.
type hookBody struct {
	ID     string     `json:"id"` // of the delivery
	Search hookSearch `json:"search"`
	DueAt  time.Time  `json:"due_at"`
	Items  []hookItem `json:"items"`
	More   int        `json:"more,omitempty"` // homes that are left out
}

type hookSearch struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

type hookItem struct {
	Kind         saved.Kind `json:"kind"`
	ListingID    string     `json:"listing_id"`
	HomeID       string     `json:"home_id"`
	Platform     string     `json:"platform"`
	URL          string     `json:"url"`
	Title        string     `json:"title"`
	Address      string     `json:"address,omitempty"`
	Bedrooms     int        `json:"bedrooms"`
	RentCents    int64      `json:"rent_cents"` // CAD a month
	OldRentCents *int64     `json:"old_rent_cents,omitempty"`
	Latitude     *float64   `json:"latitude,omitempty"`
	Longitude    *float64   `json:"longitude,omitempty"`
	Offered      bool       `json:"offered"`
	At           time.Time  `json:"at"`
}

// bodyOf is the body of a notice: for one delivery it differs between tries only where a listing has changed.
func bodyOf(n saved.Notice) ([]byte, error) {
	b := hookBody{
		ID: n.ID.String(), Search: hookSearch{n.Search.String(), n.Name}, DueAt: n.Due.UTC(),
		Items: make([]hookItem, len(n.Items)), More: n.More,
	}
	for i, item := range n.Items {
		b.Items[i] = hookItem{
			Kind: item.Kind, ListingID: item.Listing.String(), HomeID: item.Home.String(), Platform: item.Platform,
			URL: item.URL, Title: item.Title, Address: item.Address, Bedrooms: item.Bedrooms, RentCents: item.RentCents,
			OldRentCents: item.OldRentCents, Latitude: item.Latitude, Longitude: item.Longitude, Offered: item.Offered,
			At: item.At.UTC(),
		}
	}
	return json.Marshal(b)
}

// challengeBody is the body of a notice that asks the host whether it wants news.
type challengeBody struct {
	Type      string `json:"type"` // challenge
	Challenge string `json:"challenge"`
}

// echoes reports whether an answer is a challenge, as text or as the JSON {"challenge": …} or "…", which is how many
// frameworks write a text. Some write a byte order mark before it.
func echoes(answer []byte, challenge string) bool {
	answer = bytes.TrimSpace(bytes.TrimPrefix(answer, []byte("\ufeff")))
	said := string(answer)
	var doc struct {
		Challenge string `json:"challenge"`
	}
	if json.Unmarshal(answer, &doc) == nil {
		said = doc.Challenge
	} else {
		_ = json.Unmarshal(answer, &said) // or it is the text itself
	}
	return subtle.ConstantTimeCompare([]byte(said), []byte(challenge)) == 1
}

// maxAnswer is how much of an answer is read, so that its connection can be used again.
const maxAnswer = 16 << 10

// Send posts a notice to its address. It is delivered when the answer is 2xx, and a challenge when the answer has it,
// too; redirects are not followed. 410 is fault.Gone: the host wants no more. What the guard refuses is fault.Invalid.
// Any other failure may pass, after what Retry-After asks for up to maxWait, and is saved.ErrUnreached where it may be
// ours. No error quotes the address, which may be a secret, or the answer.
func (w *Webhooks) Send(ctx context.Context, n saved.Notice) error {
	var challenge string
	var body []byte
	var err error
	if n.Challenges() {
		challenge = rand.Text() // another one in each try
		body, err = json.Marshal(challengeBody{"challenge", challenge})
	} else {
		body, err = bodyOf(n)
	}
	if err != nil {
		return fault.Newf(fault.Invalid, "write webhook: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, w.o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.Address.URL, bytes.NewReader(body))
	if err != nil {
		return fault.Newf(fault.Invalid, "the address of the webhook cannot be read")
	}
	if !saved.HookAllowed(r.URL, w.o.Plain) {
		return fault.Newf(fault.Invalid, "the address of the webhook is not https")
	}
	now := w.o.Now()
	stamp := strconv.FormatInt(now.Unix(), 10)
	var signatures []string // two while a secret is rotated
	for _, secret := range n.Address.Secrets(now) {
		signatures = append(signatures, "v1="+Sign(secret, n.ID.String(), stamp, body))
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "Conveyor/1.0 (+https://github.com/mtlrent/conveyor)")
	r.Header.Set(IDHeader, n.ID.String())
	r.Header.Set(TimeHeader, stamp)
	r.Header.Set(SignatureHeader, strings.Join(signatures, ","))
	var trip way
	answer, err := w.transport.RoundTrip(r.WithContext(trip.traced(ctx)))
	if err != nil {
		// A connection that is used again may be broken off on our side; over one that hangs the host has the request.
		hung := trip.wrote.Load() && errors.Is(err, context.DeadlineExceeded)
		return w.failed(ctx, err, trip.made(err) || hung)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer)) // what was taken is delivered, whatever it says
	switch s := answer.StatusCode; {
	case s >= 200 && s < 300 && challenge == "":
		return nil
	case s >= 200 && s < 300 && err != nil:
		return fault.Newf(fault.Transient, "the webhook did not end its answer")
	case s >= 200 && s < 300 && !echoes(said, challenge):
		return fault.Newf(fault.Transient, "the webhook answered %d, without the challenge", s)
	case s >= 200 && s < 300:
		return nil
	default:
		return w.refused(s, answer.Header.Get("Retry-After"))
	}
}

// refused classifies an answer that is not 2xx.
func (w *Webhooks) refused(status int, retryAfter string) error {
	f := &fault.Error{
		Class: fault.Transient, After: fetch.RetryAfter(retryAfter, w.o.Now(), maxWait),
		Err: fmt.Errorf("the webhook answered %d", status),
	}
	switch {
	case status == http.StatusGone:
		f.Class = fault.Gone
	case status == http.StatusTooManyRequests:
		f.Class, f.After = fault.Throttled, cmp.Or(f.After, time.Minute)
	case status/100 == 3:
		f.Err = fmt.Errorf("%w: redirects are not followed", f.Err)
	}
	return f
}

// failed classifies an error of a request of which the host was reached or not. A host that is not known now may be
// later: while our network is away, a name server nearby may say so of each.
func (w *Webhooks) failed(ctx context.Context, err error, reached bool) error {
	refused := w.o.Fault(err)
	class := fault.ClassOf(refused)
	switch {
	case class == fault.Invalid:
		return fault.Newf(fault.Invalid, "webhook: %w", refused)
	case distrust(err) != "":
		return fault.Newf(fault.Transient, "the certificate of the webhook %s", distrust(err))
	case !reached:
		return fault.Newf(fault.Transient, "the webhook %w", saved.ErrUnreached)
	case ctx.Err() != nil:
		return fault.Newf(fault.Transient, "the webhook did not answer in %s", w.o.Timeout)
	}
	return fault.Newf(fault.Transient, "the webhook refused the connection, or broke it off")
}

// distrust says why the certificate of a host is not taken; "" = it is, or there was none. The errors themselves have
// names of hosts.
func distrust(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "names another host"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "was issued by an unknown authority, or an intermediate certificate is missing"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "has expired, or is not valid yet"
		}
		return "is not valid"
	}
	return ""
}

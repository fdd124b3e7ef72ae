// Package fetch downloads pages and pictures from addresses supplied by users or found on pages. It trusts neither the
// address nor the answer: it reaches no private network, bounds all that it reads, and classifies errors by
// domain/fault.
package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"code.dny.dev/ssrf"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// MaxBytes is the largest body taken, in bytes.
const MaxBytes = 20 << 20

// maxHeader is the largest header of a response, in bytes.
const maxHeader = 64 << 10

// maxRetryAfter is the longest wait that a server may ask for.
const maxRetryAfter = 5 * time.Minute

// Options are the settings of a Client. A zero field takes its default.
type Options struct {
	// AllowPrivate lists the private hosts that may be asked, "host:port" or "host" for all its ports, spelt as in the
	// addresses: another spelling of the same host stays refused. Empty = none.
	AllowPrivate []string
	UserAgent    string        // default names this project
	Timeout      time.Duration // for one request, its body included, and for all those of a page; default 20 s
	IdleConns    int           // connections kept open for later requests; default 100
	IdlePerHost  int           // of these, to one host; default 2

	// Turn is called before every request, redirects included, with the host in lower case and its port, unless that is
	// the scheme's own. It may wait, and its error ends the fetch. nil = no waiting.
	Turn func(ctx context.Context, host string) error

	// Picture checks a picture and makes its thumbnail. Photo needs it, other methods do not.
	Picture func(ctx context.Context, data []byte) (web.Photo, error)

	Outage   *Outage              // of the network of this process; nil = it is not watched
	Traces   trace.TracerProvider // where spans of requests go; nil is no tracing
	Now      func() time.Time     // to read a Retry-After date; default time.Now
	Resolver *net.Resolver        // default the system's
	RootCAs  *x509.CertPool       // that certificates of sites are checked against; default the system's
}

// Client is safe for concurrent use.
type Client struct {
	o         Options
	tracer    trace.Tracer
	header    http.Header // of a request that brings none; not to be changed
	transport *http.Transport
	proxied   *byProxy[*http.Transport]
}

// maxRedirects is how many a request may be led on by.
const maxRedirects = 5

// New returns a client. It opens nothing.
func New(o Options) *Client {
	o.UserAgent = cmp.Or(o.UserAgent, "Conveyor/1.0 (+https://github.com/mtlrent/conveyor)")
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	if o.Turn == nil {
		o.Turn = func(context.Context, string) error { return nil }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Traces == nil {
		o.Traces = noop.NewTracerProvider()
	}
	c := &Client{
		o:      o,
		tracer: o.Traces.Tracer("github.com/mtlrent/conveyor/internal/fetch"),
		header: http.Header{
			"User-Agent":      {o.UserAgent},
			"Accept":          {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"},
			"Accept-Encoding": {gzipOnly},
		},
		transport: &http.Transport{
			Proxy:                  nil, // not one of the environment; that of a request is dialled through, see Through
			DialContext:            Dial(o.AllowPrivate, o.Resolver),
			ForceAttemptHTTP2:      true,
			HTTP2:                  &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
			DisableCompression:     true,
			TLSHandshakeTimeout:    10 * time.Second,
			MaxResponseHeaderBytes: maxHeader,
			TLSClientConfig:        &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
			MaxIdleConns:           cmp.Or(o.IdleConns, 100),
			MaxIdleConnsPerHost:    cmp.Or(o.IdlePerHost, 2),
			IdleConnTimeout:        30 * time.Second,
		},
	}
	c.proxied = &byProxy[*http.Transport]{
		make: func(p web.Proxy) *http.Transport {
			t := c.transport.Clone()
			t.DialContext = Through(p, o.AllowPrivate, o.RootCAs)
			return t
		},
		drop: (*http.Transport).CloseIdleConnections,
	}
	return c
}

// Close drops the idle connections. The client stays usable.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	c.proxied.mu.Lock()
	defer c.proxied.mu.Unlock()
	c.proxied.clear()
}

// A Dialer connects as net.Dialer.DialContext does.
type Dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// Dial makes the guard: it connects to public addresses on ports 80 and 443, and to hosts listed as in
// Options.AllowPrivate. It checks the address that the name led to, at the moment of connecting: so a redirect, or a
// name that changes its address, is checked like anything else. Fault classifies its errors. A nil resolver is the
// system's.
func Dial(allowPrivate []string, resolver *net.Resolver) Dialer {
	listed := listedHosts(allowPrivate)
	open := &net.Dialer{Timeout: 10 * time.Second, Resolver: resolver}
	guarded := &net.Dialer{Timeout: 10 * time.Second, Resolver: resolver, Control: ssrf.New().Safe}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		addr = strings.ToLower(addr)
		host, _, err := net.SplitHostPort(addr)
		if err == nil && (listed[addr] || listed[host]) {
			return open.DialContext(ctx, network, addr)
		}
		return guarded.DialContext(ctx, network, addr)
	}
}

// listedHosts are those of Options.AllowPrivate, as addresses are looked up there.
func listedHosts(allowPrivate []string) map[string]bool {
	listed := make(map[string]bool, len(allowPrivate))
	for _, host := range allowPrivate {
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = strings.Trim(host, "[]") // a bare host; an IPv6 address may wear its brackets
		}
		listed[strings.ToLower(host)] = true
	}
	return listed
}

// Exchange is web.Exchange.
type Exchange = web.Exchange

// A taker reads of the response to a request what is wanted, or says why it cannot be taken. It has the rest of
// Options.Timeout.
type taker func(r web.Request, resp *http.Response, x *Exchange) error

// do makes one request for u in its host's turn, and follows no redirect: Ask, get and Load do. The request's headers
// win over ours; a body may come compressed as Accept-Encoding says. Errors are faults, take's as they are, and hold
// no query string and no credentials; the answer comes with them as far as it is known.
func (c *Client) do(ctx context.Context, u *url.URL, r web.Request, take taker) (x Exchange, err error) {
	outage := c.o.Outage
	if !r.Proxy.IsZero() { // what is between a proxy and its sites is not ours
		outage = nil
	}
	if err := outage.enter(); err != nil {
		return x, err
	}
	if err := c.o.Turn(ctx, web.HostPort(u)); err != nil {
		return x, err
	}
	req := &http.Request{
		Method: http.MethodGet, URL: u, Host: u.Host, Header: c.header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	contentType, body, post := r.Post()
	if post || len(r.Header) > 0 {
		req.Header = maps.Clone(c.header)
	}
	if post {
		req.Method, req.ContentLength = http.MethodPost, int64(len(body))
		req.Body = io.NopCloser(strings.NewReader(body))
		req.Header.Set("Content-Type", contentType)
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	// The span ends here: the host learns nothing of our traces, and the span no path, which may hold a secret.
	ctx, span := c.tracer.Start(ctx, req.Method, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(req.Method), semconv.ServerAddress(u.Hostname())))
	defer func() {
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
			span.SetAttributes(semconv.ErrorTypeKey.String(string(fault.ClassOf(err))))
		}
		span.End()
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	began := time.Now()
	transport := c.transport
	if !r.Proxy.IsZero() {
		transport = c.proxied.of(r.Proxy)
	}
	resp, err := transport.RoundTrip(req.WithContext(ctx))
	if malformed(err) && !post { // another request, in its turn
		if err = c.o.Turn(ctx, web.HostPort(u)); err == nil {
			resp, err = forgiving(transport).RoundTrip(req.WithContext(ctx))
		}
	}
	x.FirstByte = time.Since(began)
	x.Took = x.FirstByte
	if err = outage.left(web.HostPort(u), err, c.look(ctx)); err != nil {
		return x, c.failed(ctx, err)
	}
	defer resp.Body.Close()
	span.SetAttributes(semconv.HTTPResponseStatusCode(resp.StatusCode))
	x.Header, x.Proto, x.Length = textproto.MIMEHeader(resp.Header), resp.Proto, resp.ContentLength
	x.Page = web.Page{
		Asked: r.URL, URL: r.URL, Status: resp.StatusCode,
		ContentType: strings.Join(resp.Header.Values("Content-Type"), ", "), // browsers take the last one
		RetryAfter:  RetryAfter(resp.Header.Get("Retry-After"), c.o.Now(), web.MaxRetryAfter),
	}
	err = take(r, resp, &x)
	x.Took = time.Since(began)
	if err != nil {
		return x, c.failed(ctx, err)
	}
	return x, nil
}

// look looks names up as requests do.
func (c *Client) look(ctx context.Context) func(name string) error {
	return func(name string) error {
		_, err := cmp.Or(c.o.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", name)
		return err
	}
}

// redirects says whether a status asks for the address in the Location header to be requested.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return true
	}
	return false
}

// led is the address that an answer to a request for u redirects to, nil where it does not.
func led(x Exchange, u *url.URL) (*url.URL, error) {
	to := x.Header.Get("Location")
	if to == "" || !redirects(x.Status) {
		return nil, nil
	}
	next, err := parse(u, to)
	return next, fault.Wrap(err, "follow redirect")
}

// get returns the body that the address leads to after redirects. It is not empty, and at most MaxBytes long.
func (c *Client) get(ctx context.Context, address, accept string) ([]byte, error) {
	u, err := parse(nil, address)
	if err != nil {
		return nil, fmt.Errorf("fetch: %w", err)
	}
	first, seen := u, map[string]bool{}
	for {
		seen[u.String()] = true
		a, err := c.do(ctx, u, web.Request{URL: u.String(), Header: map[string]string{
			"Accept":          accept,
			"Accept-Encoding": "identity", // images are compressed already; anything more is a bomb or a mistake
		}}, c.whole)
		var next *url.URL
		if err == nil {
			next, err = led(a, u)
		}
		switch {
		case err != nil && u != first:
			return nil, fmt.Errorf("fetch %s: redirected to %s: %w", web.ShowURL(first), web.ShowURL(u), err)
		case err != nil:
			return nil, fmt.Errorf("fetch %s: %w", web.ShowURL(u), err)
		case next == nil:
			return a.Body, nil
		case seen[next.String()]:
			return nil, fault.Newf(fault.Invalid, "fetch %s: redirects in a loop, back to %s", web.ShowURL(first),
				web.ShowURL(next))
		case len(seen) > maxRedirects:
			return nil, fault.Newf(fault.Invalid, "fetch %s: more than %d redirects", web.ShowURL(first), maxRedirects)
		}
		u = next
	}
}

// whole takes the body of a 200, and nothing of a redirect. Any other status is a fault.
func (c *Client) whole(_ web.Request, resp *http.Response, x *Exchange) (err error) {
	switch {
	case redirects(resp.StatusCode) && resp.Header.Get("Location") == "":
		return fault.Newf(fault.Invalid, "status %d without a Location", resp.StatusCode)
	case redirects(resp.StatusCode):
		return nil
	case resp.StatusCode != http.StatusOK:
		return c.refused(resp)
	}
	x.Body, err = read(resp, MaxBytes)
	if err == nil && len(x.Body) == 0 {
		return fault.Newf(fault.Invalid, "empty body")
	}
	return err
}

// refused is the fault of a status that is neither 200 nor a redirect.
func (c *Client) refused(resp *http.Response) error {
	f := &fault.Error{
		Class: cmp.Or(fault.OfStatus(resp.StatusCode), fault.Invalid),
		Err:   errors.New(strings.TrimSpace(fmt.Sprintf("status %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))),
	}
	if f.Class == fault.Throttled {
		f.After = RetryAfter(resp.Header.Get("Retry-After"), c.o.Now(), maxRetryAfter)
	}
	return f
}

// RetryAfter reads both forms of that header: seconds and a date. It is from 0 (none, or unreadable) to most. A part of
// a second, which some servers write, counts as a whole one: nothing may be asked for sooner than they say.
func RetryAfter(header string, now time.Time, most time.Duration) time.Duration {
	v := textproto.TrimString(header)
	if at, err := http.ParseTime(v); err == nil {
		return min(max(0, at.Sub(now)), most)
	}
	whole, part, _ := strings.Cut(v, ".")
	s, err := strconv.ParseInt(cmp.Or(whole, "0"), 10, 64)
	switch {
	case strings.Trim(part, "0123456789") != "":
		return 0
	case errors.Is(err, strconv.ErrRange) && s > 0:
		return most
	case err == nil && strings.Trim(part, "0") != "" && !strings.HasPrefix(whole, "-") && s < math.MaxInt64:
		s++
	}
	return time.Duration(min(max(0, s), int64(most/time.Second))) * time.Second
}

var errTimeout = errors.New("timed out")

// failed classifies what went wrong on the way: guard, names, network, time.
func (c *Client) failed(ctx context.Context, err error) error {
	switch class := fault.ClassOf(err); {
	case class != fault.Transient:
		return err
	case errors.Is(context.Cause(ctx), errTimeout):
		return fault.Newf(fault.Transient, "%w after %s", errTimeout, c.o.Timeout)
	case ctx.Err() != nil:
		return ctx.Err() // the caller's own
	}
	return Fault(err)
}

// Fault classifies an error of the guard, of a name server or of the network: Invalid where the guard refuses, Gone
// for a host that does not exist, Transient for the rest. What has another class already keeps it.
func Fault(err error) error {
	var dns *net.DNSError
	switch class := fault.ClassOf(err); {
	case class != fault.Transient:
		return err
	case errors.Is(err, ssrf.ErrProhibitedPort):
		return fault.Newf(fault.Invalid, "refused: only ports 80 and 443 are allowed")
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork),
		errors.Is(err, ssrf.ErrInvalidHostPort):
		return fault.Newf(fault.Invalid, "refused: the host is on a private or reserved network")
	case errors.As(err, &dns) && dns.IsNotFound:
		return fault.Newf(fault.Gone, "host does not exist")
	case errors.As(err, &dns):
		return fault.Newf(fault.Transient, "look up host: %s", dns.Err)
	}
	return &fault.Error{Class: fault.Transient, Err: brief{err}}
}

// brief is an error whose text is bounded: it may quote what a server sent.
type brief struct{ error }

func (b brief) Error() string { return fmt.Sprintf("%.200s", b.error.Error()) }
func (b brief) Unwrap() error { return b.error }

// parse reads an address, in relation to base if there is one. It takes http and https without credentials. Its errors
// do not quote an address that cannot be read: there may be a password in it.
func parse(base *url.URL, address string) (*url.URL, error) {
	u, err := url.Parse(contract.EscapedLink(strings.TrimSpace(address)))
	if err == nil && base != nil {
		u = base.ResolveReference(u)
	}
	switch {
	case err != nil:
		return nil, fault.Newf(fault.Invalid, "not a valid address")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fault.Newf(fault.Invalid, "scheme %.20q, want http or https", u.Scheme)
	case u.User != nil:
		return nil, fault.Newf(fault.Invalid, "address holds credentials")
	case u.Hostname() == "" || len(u.Host) > 300:
		return nil, fault.Newf(fault.Invalid, "address has no valid host")
	case len(u.String()) > MaxAddressBytes:
		return nil, fault.Newf(fault.Invalid, "address is longer than %d bytes", MaxAddressBytes)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

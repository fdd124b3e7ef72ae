package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"syscall"
	"unicode/utf8"

	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/net/html/charset"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// MaxPageBytes is the largest body of a page, decompressed and in UTF-8.
const MaxPageBytes = 10 << 20

// Page asks for a page by GET, or by POST where the request has a form, and follows at most Options.MaxRedirects
// redirects. It returns what came back whatever the status; the body is in UTF-8 and may be empty. Cookies live as long
// as the call. The request's headers win over ours; Accept-Encoding is always gzip.
//
// The faults: a *web.Refusal (Throttled) where the connection is refused; Gone for a host that does not exist;
// Transient for timeouts, cut connections and name servers that do not answer; Invalid for an address that is not
// public http(s), too many redirects and too large a body. Errors hold no query string and no credentials.
func (c *Client) Page(ctx context.Context, r web.Request) (p web.Page, err error) {
	u, err := parse(nil, r.URL)
	if err != nil {
		return web.Page{}, fmt.Errorf("fetch: %w", err)
	}
	// The span ends here: a stranger's host is not told of our traces, and the span not of the stranger's paths.
	ctx, span := c.tracer.Start(ctx, methodOf(r), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(methodOf(r)), semconv.ServerAddress(u.Hostname())))
	defer func() {
		if err != nil {
			class, _ := fault.Of(err)
			span.SetStatus(codes.Error, err.Error())
			span.SetAttributes(semconv.ErrorTypeKey.String(string(class)))
		} else {
			span.SetAttributes(semconv.HTTPResponseStatusCode(p.Status))
		}
		span.End()
	}()
	limited, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	p, err = c.page(limited, u, r)
	if err != nil {
		return web.Page{}, fmt.Errorf("fetch %s: %w", show(u), c.failed(limited, Refused(err)))
	}
	p.Asked = r.URL
	return p, nil
}

func methodOf(r web.Request) string {
	if r.Form != nil {
		return http.MethodPost
	}
	return http.MethodGet
}

// page does the requests. What is not yet a fault, Client.failed makes one.
func (c *Client) page(ctx context.Context, u *url.URL, r web.Request) (web.Page, error) {
	if err := c.o.Turn(ctx, hostOf(u)); err != nil {
		return web.Page{}, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return web.Page{}, fmt.Errorf("make a cookie jar: %w", err)
	}
	client := http.Client{Transport: c.transport, Jar: jar}
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		if len(via) > c.o.MaxRedirects {
			return fault.Newf(fault.Invalid, "more than %d redirects", c.o.MaxRedirects)
		}
		to, err := parse(nil, next.URL.String())
		if err != nil {
			return fmt.Errorf("follow redirect: %w", err)
		}
		next.Header.Del("Referer") // a browser does not add one either
		return c.o.Turn(ctx, hostOf(to))
	}
	var form io.Reader
	if r.Form != nil {
		form = strings.NewReader(url.Values(r.Form).Encode())
	}
	req, err := http.NewRequestWithContext(ctx, methodOf(r), u.String(), form)
	if err != nil {
		return web.Page{}, fault.Newf(fault.Invalid, "not an address that can be asked")
	}
	req.Header.Set("User-Agent", c.o.UserAgent)
	req.Header.Set("Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
	if r.Form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	req.Header.Set("Accept-Encoding", "gzip")
	resp, err := client.Do(req)
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err // the wrapper quotes the address, query and all
		}
		return web.Page{}, err
	}
	defer resp.Body.Close()
	body, err := readPage(resp)
	if err != nil {
		return web.Page{}, err
	}
	return web.Page{
		URL: resp.Request.URL.String(), Status: resp.StatusCode, ContentType: resp.Header.Get("Content-Type"),
		RetryAfter: RetryAfter(resp.Header.Get("Retry-After"), c.o.Now(), web.MaxRetryAfter), Body: body,
	}, nil
}

// Refused makes a connection that nobody takes a *web.Refusal, for it is how some sites block, and returns any other
// error as it is.
func Refused(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return web.Refused("connection refused", 0)
	}
	return err
}

// readPage returns the body decompressed and in UTF-8. Its size is bounded at each step.
func readPage(resp *http.Response) ([]byte, error) {
	body := io.Reader(resp.Body)
	switch e := strings.ToLower(resp.Header.Get("Content-Encoding")); e {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(resp.Body)
		if errors.Is(err, io.EOF) {
			return nil, nil // nothing at all: an answer without a body
		}
		if err != nil {
			return nil, fmt.Errorf("decompress body: %w", err)
		}
		body = z
	default:
		return nil, fault.Newf(fault.Invalid, "content encoding %.20q, which was not asked for", e)
	}
	data, err := io.ReadAll(io.LimitReader(body, MaxPageBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read body after %d bytes: %w", len(data), err)
	}
	if len(data) <= MaxPageBytes {
		data = UTF8(data, resp.Header.Get("Content-Type"))
	}
	if len(data) > MaxPageBytes {
		return nil, fault.Newf(fault.Invalid, "page is larger than %d MiB", MaxPageBytes>>20)
	}
	return data, nil
}

// UTF8 decodes text by the charset that the header, a byte order mark or the page itself names. Where nobody names
// one, it is UTF-8 if it can be. Other types of content, and JSON by its standard, are UTF-8.
func UTF8(body []byte, contentType string) []byte {
	kind, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	text := kind == "" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "xml")
	encoding, _, named := charset.DetermineEncoding(body, contentType)
	if text && (named || !utf8.Valid(body)) {
		if decoded, err := encoding.NewDecoder().Bytes(body); err == nil {
			body = decoded
		}
	}
	return bytes.ToValidUTF8(bytes.TrimPrefix(body, []byte("\ufeff")), []byte("\ufffd"))
}

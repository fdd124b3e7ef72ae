package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// MaxPageBytes is the largest body of a page, decompressed and in UTF-8.
const MaxPageBytes = 10 << 20

// Load asks for a page by GET, or by POST where the request has a form, and follows at most Options.MaxRedirects
// redirects, all within Options.Timeout. It returns the answer whatever its status; the body is in UTF-8 and may be
// empty. Cookies live as long as the call. The request's headers win over ours, but for Accept-Encoding; those that
// identify the caller do not go to another host.
//
// The faults: a *web.Refusal (Throttled) where the connection is refused; Gone for a host that does not exist;
// Transient for timeouts, cut connections and name servers that do not answer; Invalid for an address that is not
// public http(s), too many redirects and too large a body. Errors hold no query string and no credentials.
func (c *Client) Load(ctx context.Context, r web.Request) (web.Page, error) {
	u, err := parse(nil, r.URL)
	if err != nil {
		return web.Page{}, fmt.Errorf("fetch: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Timeout, errTimeout)
	defer cancel()
	a, err := c.follow(ctx, u, r)
	if err != nil {
		return web.Page{}, fmt.Errorf("fetch %s: %w", web.ShowURL(u), c.failed(ctx, Refused(err)))
	}
	a.Asked = r.URL
	return a.Page, nil
}

// follow makes the requests of a page. They are those of a browser: cookies are kept, and a form is sent again only by
// 307 and 308.
func (c *Client) follow(ctx context.Context, u *url.URL, r web.Request) (answer, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return answer{}, fmt.Errorf("make a cookie jar: %w", err)
	}
	given := map[string]string{}
	for name, value := range r.Header {
		given[http.CanonicalHeaderKey(name)] = value
	}
	given["Accept-Encoding"] = "gzip"
	for followed := 0; ; followed++ {
		r.URL, r.Header = u.String(), maps.Clone(given)
		for _, cookie := range jar.Cookies(u) {
			r.Header["Cookie"] = strings.TrimPrefix(r.Header["Cookie"]+"; "+cookie.String(), "; ")
		}
		a, err := c.do(ctx, r, page)
		if err != nil {
			return a, err
		}
		jar.SetCookies(u, (&http.Response{Header: a.header}).Cookies())
		next, err := a.next(u)
		switch {
		case next == nil && err == nil:
			return a, nil
		case followed >= c.o.MaxRedirects:
			return a, fault.Newf(fault.Invalid, "more than %d redirects", c.o.MaxRedirects)
		case err != nil:
			return a, err
		}
		if a.Status != http.StatusTemporaryRedirect && a.Status != http.StatusPermanentRedirect {
			r.Form = nil
			delete(given, "Content-Type")
		}
		if next.Host != u.Host {
			for _, private := range []string{"Authorization", "Cookie", "Proxy-Authorization"} {
				delete(given, private)
			}
		}
		u = next
	}
}

// page takes a page, decompressed and in UTF-8, and nothing of a redirect.
func page(resp *http.Response) ([]byte, error) {
	if redirects(resp.StatusCode) && resp.Header.Get("Location") != "" {
		return nil, nil
	}
	body, err := read(resp, MaxPageBytes)
	if err != nil {
		return nil, err
	}
	if body = UTF8(body, resp.Header.Get("Content-Type")); len(body) > MaxPageBytes {
		return nil, tooLarge("larger", MaxPageBytes)
	}
	return body, nil
}

// Refused turns the error of a connection that was refused, which is how some sites block, into a *web.Refusal, and
// returns any other error as it is.
func Refused(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return web.Refused("connection refused", 0)
	}
	return err
}

// UTF8 decodes text by the charset that the header, a byte order mark or the page itself names. Without one
// it is UTF-8 if it is valid as such. Other types of content, and JSON by its standard, are UTF-8.
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

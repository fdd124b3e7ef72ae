package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// maxAside is how much is read of a body that is not asked for, in bytes: it lets the connection be used again, and
// shows the page of an error.
const maxAside = 64 << 10

// Ask makes one request, within Options.Timeout and ctx's deadline. It follows no redirect: RedirectTo is then the
// Location, resolved against the address and canonical; where that is no address, as written. The request's headers win
// over ours, those of a browser; there are no cookies.
//
// The body of a 2xx is taken where it is text, or as r.Files and r.Most say: in UTF-8 where it is text, while Raw has
// it as it was before. A text above MaxPageBytes is an error where r.Most is 0, and stays as it came where it is not;
// anything else is cut. Of other statuses up to 64 KiB of text come, without error whatever happens to the rest, and of
// a redirect nothing.
//
// The faults are those of Load, with Invalid also for a header above 64 KiB; the caller's own deadline is Transient.
// The answer comes with the error as far as it is known.
func (c *Client) Ask(ctx context.Context, r web.Request) (Exchange, error) {
	given := make(map[string]string, len(r.Header)+2)
	given["Accept-Encoding"] = anyCoded
	given["Accept-Language"] = "en-US,en;q=0.9,*;q=0.5"
	for name, value := range r.Header {
		given[http.CanonicalHeaderKey(name)] = value
	}
	r.Header = given
	at, err := web.Canonical(r.URL)
	if err != nil {
		return Exchange{}, fmt.Errorf("fetch: %w", err)
	}
	x, err := c.do(ctx, at.Target(), r, asked)
	x.Asked, x.URL = r.URL, at.URL
	switch {
	case err == nil:
		return x, nil
	case errors.Is(err, context.DeadlineExceeded):
		err = fault.Newf(fault.Transient, "%w after %s", errTimeout, x.Took.Round(time.Millisecond))
	case strings.Contains(err.Error(), "headers exceeded"), strings.Contains(err.Error(), "response header list larger"):
		err = fault.Newf(fault.Invalid, "the header is larger than %d KiB", maxHeader>>10)
	}
	return x, fmt.Errorf("fetch %s: %w", web.Show(at.URL), Refused(err))
}

// asked takes the answer to Ask.
func asked(r web.Request, resp *http.Response, x *Exchange) (err error) {
	text := Text(x.ContentType)
	location := resp.Header.Get("Location")
	switch {
	case redirects(x.Status) && location != "":
		x.RedirectTo = target(resp.Request.URL, location)
		aside(resp)
		return nil
	case (x.Status < 200 || x.Status > 299) && text:
		if x.Raw, x.Cut, err = readUpTo(resp, maxAside); err != nil {
			x.Cut, err = true, nil
		}
	case x.Status < 200 || x.Status > 299:
		x.Cut = resp.ContentLength != 0
		aside(resp)
		return nil
	case r.Most > 0:
		x.Raw, x.Cut, err = readUpTo(resp, r.Most)
	case text:
		x.Raw, err = read(resp, MaxPageBytes)
	case r.Files:
		x.Raw, x.Cut, err = readUpTo(resp, MaxPageBytes)
	default:
		x.Cut = resp.ContentLength != 0
		aside(resp)
		return nil
	}
	if err != nil {
		return err
	}
	if !x.Cut {
		x.Length = int64(len(x.Raw))
	}
	if x.Body = x.Raw; text && len(x.Raw) <= MaxPageBytes {
		x.Body, x.Charset = decode(x.Raw, x.ContentType)
	}
	return nil
}

// target is the address that a redirect leads to: canonical, or as written where it is none, without credentials. Bytes
// that are no UTF-8 are the server's own, and it is asked for the same ones, as browsers do.
func target(from *url.URL, location string) string {
	if !utf8.ValidString(location) {
		location = escapedBytes(location)
	}
	if base, err := web.NewBase(from.String()); err == nil {
		if a, ok := base.Resolve(location); ok {
			return a.URL
		}
	}
	if u, err := url.Parse(location); err == nil && u.User != nil {
		u.User = nil
		location = u.String()
	}
	return location
}

// escapedBytes has every byte that is not ASCII as %XX.
func escapedBytes(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] < utf8.RuneSelf {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

// aside reads a small body to its end, so that its connection can be used again.
func aside(resp *http.Response) {
	if n := resp.ContentLength; n > 0 && n <= maxAside {
		_, _ = fill(make([]byte, 0, n+1), resp.Body)
	}
}

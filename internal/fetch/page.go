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
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/web"
)

// MaxPageBytes is the largest body of a page, decompressed and in UTF-8.
const MaxPageBytes = 10 << 20

// MaxAddressBytes is the longest address that is asked for.
const MaxAddressBytes = 8192

// Load asks for a page by GET, or by POST where the request has a form or JSON, and follows at most
// 5 redirects, all within Options.Timeout. It returns the answer whatever its status; the body is in
// UTF-8 and may be empty. Cookies live as long as the call. The request's headers win over ours, but for
// Accept-Encoding; those that identify the caller do not go to another host.
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

// follow makes the requests of a page. They are those of a browser: cookies are kept, and a form or JSON is sent again
// only by 307 and 308.
func (c *Client) follow(ctx context.Context, u *url.URL, r web.Request) (Exchange, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return Exchange{}, fmt.Errorf("make a cookie jar: %w", err)
	}
	given := map[string]string{}
	for name, value := range r.Header {
		given[http.CanonicalHeaderKey(name)] = value
	}
	given["Accept-Encoding"] = gzipOnly
	for followed := 0; ; followed++ {
		r.URL, r.Header = u.String(), maps.Clone(given)
		for _, cookie := range jar.Cookies(u) {
			r.Header["Cookie"] = strings.TrimPrefix(r.Header["Cookie"]+"; "+cookie.String(), "; ")
		}
		a, err := c.do(ctx, u, r, page)
		if err != nil {
			return a, err
		}
		jar.SetCookies(u, (&http.Response{Header: http.Header(a.Header)}).Cookies())
		next, err := led(a, u)
		switch {
		case next == nil && err == nil:
			return a, nil
		case followed >= maxRedirects:
			return a, fault.Newf(fault.Invalid, "more than %d redirects", maxRedirects)
		case err != nil:
			return a, err
		}
		if a.Status != http.StatusTemporaryRedirect && a.Status != http.StatusPermanentRedirect {
			r.Form, r.JSON = nil, ""
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
func page(_ web.Request, resp *http.Response, x *Exchange) error {
	if redirects(resp.StatusCode) && resp.Header.Get("Location") != "" {
		return nil
	}
	body, err := read(resp, MaxPageBytes)
	if err != nil {
		return err
	}
	if x.Body = UTF8(body, x.ContentType); len(x.Body) > MaxPageBytes {
		return tooLarge("larger", MaxPageBytes)
	}
	return nil
}

// Refused turns the error of a connection that was refused, which is how some sites block, into a *web.Refusal, and
// returns any other error as it is.
func Refused(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return web.Refused("connection refused", 0)
	}
	return err
}

// Text says whether a Content-Type, which may be empty, is one of text: a page, a feed, XML of any kind.
func Text(contentType string) bool {
	kind, _ := web.MediaType(contentType)
	return kind == "" || strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "xml")
}

// UTF8 decodes text by the charset that the header, a byte order mark, the page or its XML declaration names. Without
// one it is UTF-8 if it is valid as such. Other types of content, and JSON by its standard, are UTF-8. What it returns
// may be body itself.
func UTF8(body []byte, contentType string) []byte {
	body, _ = decode(body, contentType)
	return body
}

// decode is UTF8, and the name of the charset of the page, by which it was decoded unless it is all ASCII; "" = UTF-8.
func decode(body []byte, contentType string) (text []byte, from string) {
	valid := utf8.Valid(body)
	_, label := web.MediaType(contentType)
	if Text(contentType) && !(valid && plain(body, label) && wideXML(body) == "") {
		// Many pages that are UTF-8 name another charset. One of seven bits is all ASCII, so it is believed.
		if e, name, certain := encodingOf(body, label); name != "replacement" &&
			(certain || !valid || name == "iso-2022-jp") {
			if decoded, err := e.NewDecoder().Bytes(body); err == nil {
				body, valid = decoded, utf8.Valid(decoded)
				if name != "utf-8" {
					from = name
				}
			}
		}
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if valid && from == "" && label == "" && Text(contentType) {
		from = ofASCII(body)
	}
	if valid {
		return body, from
	}
	return bytes.ToValidUTF8(body, []byte("\ufffd")), from
}

// ofASCII is the charset that a page says it is in, all of whose bytes are ASCII: nothing speaks against it, and the
// letters in the queries of its links, which stand there as references, are sent in it. "" = UTF-8, or it says nothing.
func ofASCII(body []byte) string {
	head := append(bytes.Clone(body[:min(len(body), sniffed-utf8.UTFMax)]), "é "...) // UTF-8, where nothing is said
	_, name, _ := charset.DetermineEncoding(head, "")
	if name == "utf-8" || slices.ContainsFunc(body, func(c byte) bool { return c >= utf8.RuneSelf }) {
		return ""
	}
	return name
}

// plain says that a text which is valid as UTF-8 is not to be read otherwise, without looking for what the page says:
// the header, with this label, names nothing else, and there is no escape as of ISO-2022.
func plain(body []byte, label string) bool {
	return (label == "" || strings.EqualFold(label, "utf-8")) && bytes.IndexByte(body, 0x1b) < 0
}

// wideXML is the charset of a body that begins with an XML declaration in UTF-16, without a byte order mark: the first
// step in "prescan a byte stream to determine its encoding" of the HTML standard. "" = it does not.
func wideXML(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("<\x00?\x00x\x00")):
		return "utf-16le"
	case bytes.HasPrefix(body, []byte("\x00<\x00?\x00x")):
		return "utf-16be"
	}
	return ""
}

// How far into a page its charset is looked for, in bytes: browsers look at the first 1024, some further.
const (
	sniffed     = 1024
	maxSniffing = 32 << 10
)

// encodingOf finds the charset of a page, whose header has this label. certain is that the header or a byte order mark
// names it.
func encodingOf(body []byte, label string) (e encoding.Encoding, name string, certain bool) {
	header := ""
	if _, known := charset.Lookup(label); known != "" {
		header = "text/html; charset=" + known
	}
	e, name, certain = charset.DetermineEncoding(body, header)
	if wide := wideXML(body); wide != "" && !certain {
		e, name = charset.Lookup(wide)
		return e, name, true
	}
	if name == "x-user-defined" && !certain { // by the HTML standard
		e, name = charset.Lookup("windows-1252")
	}
	if certain || name != "windows-1252" && name != "utf-8" { // those two may be for want of a better one
		return e, name, certain
	}
	head := body[:min(len(body), maxSniffing)]
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("<?xml")) {
		declaration, _, _ := bytes.Cut(head[:min(len(head), sniffed)], []byte("?>"))
		if m := declared.FindSubmatch(declaration); m != nil {
			e, name := charset.Lookup(string(m[1]))
			if strings.HasPrefix(name, "utf-16") { // it could not be read so far: by the HTML standard it is UTF-8
				e, name = charset.Lookup("utf-8")
			}
			if e != nil {
				return e, name, false
			}
		}
	}
	for at := sniffed; at < len(head); at++ {
		i := bytes.IndexByte(head[at:], '<')
		if i < 0 {
			break
		}
		if at += i; at+5 < len(head) && bytes.EqualFold(head[at:at+5], []byte("<meta")) {
			if e, name, _ := charset.DetermineEncoding(head[at:min(len(head), at+sniffed/2)], ""); name != "windows-1252" &&
				name != "utf-8" {
				return e, name, false
			}
		}
	}
	return e, name, false
}

// declared finds the encoding in an XML declaration.
var declared = regexp.MustCompile(`\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']`)

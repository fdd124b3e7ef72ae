package activities

import (
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// keptCookies are the cookies that the page of a claim waits for, which has answered by a redirect: to itself, or to an
// address that leads back to it and sets them, or looks at them, on the way. "" = it waits for none.
func (s *shard) keptCookies(ctx context.Context, c crawl.Claim, e web.Exchange) string {
	var jar cookies
	if e.RedirectTo == "" || !jar.set(c.URL, e.Header) {
		return ""
	}
	if e.RedirectTo != c.URL {
		if !s.mayReturn(ctx, c, e.RedirectTo) {
			return ""
		}
		request := web.Request{URL: e.RedirectTo}
		if kept := jar.of(e.RedirectTo); kept != "" {
			request.Header = map[string]string{"Cookie": kept}
		}
		way, err := s.Web.Ask(ctx, request)
		if err != nil || way.RedirectTo != c.URL || !jar.set(way.URL, way.Header) {
			return ""
		}
	}
	return jar.of(c.URL)
}

// mayReturn says whether an address, to which the page of a claim redirects, may lead back there and be asked at once:
// it has the way back in its query, or the page is the seed: those that sitemaps list are too many.
func (s *shard) mayReturn(ctx context.Context, c crawl.Claim, to string) bool {
	from, err := web.Canonical(c.URL)
	if err != nil {
		return false
	}
	via, err := web.Canonical(to)
	if err != nil || originOf(via) != originOf(from) || !s.scope.Has(via) {
		return false
	}
	base, err := web.NewBase(c.URL)
	if err != nil || c.URL != s.run.RootURL && !slices.ContainsFunc(values(via), func(value string) bool {
		back, ok := base.Resolve(value)
		return ok && value != "" && back.URL == c.URL
	}) {
		return false
	}
	if !s.run.Settings.RespectRobots {
		return true
	}
	rules, err := s.Robots.Rules(ctx, originOf(via))
	return err == nil && rules.Allowed(s.Agent, via.Path)
}

// values are those of the query of an address, in no order.
func values(a web.Address) (all []string) {
	_, query, _ := strings.Cut(a.Path, "?")
	parsed, _ := url.ParseQuery(query) // as far as it can be read
	for _, of := range parsed {
		all = append(all, of...)
	}
	return all
}

// originOf is the address of a site, without a slash at its end.
func originOf(a web.Address) string { return strings.TrimSuffix(a.URL, a.Path) }

// cookies are those that answers leave set for the next request, each as the page has written it: the page waits for
// that, whatever a cookie may have by the standard. The jar knows them by a name that it takes.
type cookies struct {
	jar     *cookiejar.Jar
	written []string // by the value that a cookie has in jar
}

// set takes the cookies of an answer of an address. It is false where that is no address.
func (k *cookies) set(address string, h textproto.MIMEHeader) bool {
	at, err := web.Canonical(address)
	if k.jar == nil && err == nil {
		k.jar, err = cookiejar.New(nil)
	}
	if err != nil {
		return false
	}
	var set []*http.Cookie
	for _, line := range h.Values("Set-Cookie") {
		pair, attributes, _ := strings.Cut(line, ";")
		pair = strings.TrimSpace(pair)
		name, _, ok := strings.Cut(pair, "=")
		if !ok || strings.ContainsFunc(pair, unicode.IsControl) {
			continue
		}
		cookie, err := http.ParseSetCookie(fmt.Sprintf("n%x=%d;%s", strings.TrimSpace(name), len(k.written), attributes))
		if err == nil {
			set, k.written = append(set, cookie), append(k.written, pair)
		}
	}
	k.jar.SetCookies(at.Target(), set)
	return true
}

// of is the Cookie header of a request for an address.
func (k *cookies) of(address string) string {
	at, err := web.Canonical(address)
	if err != nil {
		return ""
	}
	var kept []string
	for _, cookie := range k.jar.Cookies(at.Target()) {
		var i int
		if _, err := fmt.Sscan(cookie.Value, &i); err == nil {
			kept = append(kept, k.written[i])
		}
	}
	return strings.Join(kept, "; ")
}

package activities

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/web"
)

// A way is how far a page has come that waits for its cookies.
type way struct {
	first web.Exchange // the redirect of the page
	jar   cookies
	via   string // what is asked for next; "" = the page
}

// ways are those of pages whose host's next turn was too far away.
type ways struct {
	mu sync.Mutex
	of map[wayOf]*way
}

// wayOf names a URL of a run.
type wayOf struct{ run, url int64 }

// There are so many ways at most, and an answer on one has so many bytes of header, of which each line counts 100 more:
// kept, all of them are some 200 MiB.
const (
	waysMost   = 1000
	wayHeader  = 16 << 10
	headerLine = 100
)

// light says whether an answer may be kept on a way.
func light(e web.Exchange) bool {
	size := 0
	for name, values := range e.Header {
		for _, value := range values {
			size += len(name) + len(value) + headerLine
		}
	}
	return size <= wayHeader
}

// take returns that of a URL, nil where there is none.
func (w *ways) take(of wayOf) *way {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.of[of]
	delete(w.of, of)
	return one
}

// put keeps that of a URL. Those that others have taken, or were forgotten, begin anew.
func (w *ways) put(of wayOf, one *way) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of == nil || len(w.of) >= waysMost {
		w.of = map[wayOf]*way{}
	}
	w.of[of] = one
}

// askKept asks for the page of a claim, and once more with its cookies where it answers by a redirect that waits for
// them: to itself, or to an address that leads back to it and sets them, or looks at them, on the way. Each request has
// a turn of its host. Where the next one is too far away the error is fault.Limited, and the page goes on from there
// when it is claimed again.
func (s *shard) askKept(ctx context.Context, c crawl.Claim, t *turn) (e web.Exchange, err error) {
	request := web.Request{URL: c.URL, Header: conditional(c), Files: s.run.Settings.StoreBodies}
	of := wayOf{s.run.ID, c.ID}
	w := s.Slots.ways.take(of)
	if w == nil {
		if e, err = s.request(ctx, request); err != nil {
			return e, err
		}
		if w = s.waitsFor(ctx, c, e); w == nil {
			return e, nil
		}
		if err = s.next(ctx, c, t, e); err != nil {
			s.Slots.ways.put(of, w)
			return e, err
		}
	}
	if w.via != "" {
		e, err = s.request(ctx, web.Request{URL: w.via, Header: w.jar.header(nil, w.via)})
		if err != nil {
			return e, err
		}
		back := e.RedirectTo == c.URL && light(e) && w.jar.set(e.URL, e.Header) && w.jar.of(c.URL) != ""
		if crawl.Judge(e.Status, e.RetryAfter, nil).Refused { // it is the host's answer for the page, too
			e.URL = c.URL
			return e, nil
		}
		if !back {
			return w.first, nil
		}
		w.via = ""
		if err = s.next(ctx, c, t, e); err != nil {
			s.Slots.ways.put(of, w)
			return w.first, err
		}
	}
	request.Header = w.jar.header(request.Header, c.URL)
	return s.request(ctx, request)
}

// request asks in the time that the run gives a request.
func (s *shard) request(ctx context.Context, r web.Request) (web.Exchange, error) {
	within, cancel := context.WithTimeout(ctx, s.run.Settings.Timeout())
	defer cancel()
	return s.Web.Ask(within, r)
}

// next leaves the host after an answer, and waits for its next turn, meanwhile without slots: a host that is not ready
// takes nobody's.
func (s *shard) next(ctx context.Context, c crawl.Claim, t *turn, e web.Exchange) error {
	t.leave(crawl.Judge(e.Status, e.RetryAfter, nil))
	t.leave, t.slotless = func(crawl.Verdict) {}, true
	<-s.Slots.Fetches
	<-s.Slots.Jobs
	leave, err := enter(ctx, s.Slots.Jobs, s.Hosts, c.Host, t.delay)
	if err != nil {
		return heldBy(t.delay, err)
	}
	select {
	case s.Slots.Fetches <- struct{}{}:
		t.leave, t.slotless = leave, false
		return nil
	case <-ctx.Done():
		<-s.Slots.Jobs
		leave(crawl.Unasked)
		return ctx.Err()
	}
}

// waitsFor is the way of a page that has answered; nil = it waits for no cookies.
func (s *shard) waitsFor(ctx context.Context, c crawl.Claim, e web.Exchange) *way {
	w := &way{first: e}
	if e.RedirectTo == "" || !light(e) || !w.jar.set(c.URL, e.Header) {
		return nil
	}
	if e.RedirectTo != c.URL {
		w.via = e.RedirectTo
		if !s.mayReturn(ctx, c, w.via) {
			return nil
		}
	} else if w.jar.of(c.URL) == "" {
		return nil
	}
	return w
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

// header is that of a request for an address, with the cookies that there are.
func (k *cookies) header(with map[string]string, address string) map[string]string {
	kept := k.of(address)
	if kept == "" {
		return with
	}
	out := map[string]string{"Cookie": kept}
	maps.Copy(out, with)
	return out
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

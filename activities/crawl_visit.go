package activities

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/crawl"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/page"
	"github.com/mtlrent/conveyor/domain/web"
)

// What is taken of a page at most. More is cut, and the rest of the page counts.
const (
	maxLinks   = 20_000
	maxOfLinks = 4 << 20 // bytes of their addresses: a long one of the page is in each of its short links
	maxText    = 1 << 20 // bytes
	maxRawLink = 500     // bytes of an address as written
	maxCause   = 200     // bytes of why a host is held back
)

// visit requests a URL in its host's turn and reads the answer. It never fails: whatever happens is a result. One that
// is Queued without having been requested goes back to the frontier as it was. The waits end with waiting, the request
// with ctx.
func (s *shard) visit(ctx, waiting context.Context, c crawl.Claim) (r crawl.Result) {
	began := s.Now()
	var panicked error
	defer func() {
		if panicked != nil {
			r = failed(c, panicked)
			r.Asked = true
		}
		if ctx.Err() != nil && r.State != crawl.Visited { // the worker stops: that says nothing of the URL
			r = crawl.Result{Claim: c, State: crawl.Queued}
		}
		r.Began = began
	}()
	defer fault.Survive(&panicked, "reading the page", func(text string, args ...any) {
		activity.GetLogger(ctx).Error(text, append(args, "url_id", c.ID)...)
	})
	delay := time.Duration(s.run.Settings.DemoDelayMS) * time.Millisecond
	if delay > 0 && pause(waiting, delay) != nil {
		return crawl.Result{Claim: c, State: crawl.Queued}
	}
	t, done, err := s.turn(waiting, c)
	switch class, after := fault.Of(err); {
	case err == nil:
		defer done()
	case waiting.Err() != nil:
		return crawl.Result{Claim: c, State: crawl.Queued}
	case class == fault.Limited:
		return putBack(c, err, after)
	case errors.Is(err, errDisallowed):
		return crawl.Result{Claim: c, State: crawl.Skipped, Reason: crawl.SkippedRobots}
	default:
		return s.again(failed(c, err), crawl.ClassifyError(err), after)
	}
	if s.run.Settings.StoreBodies {
		if wait := s.keeper.enter(s.Now(), s.Policy); wait > 0 {
			t.leave(crawl.Unasked)
			return crawl.Result{Claim: c, State: crawl.Queued, After: wait}
		}
	}
	e, err := s.ask(ctx, c, t)
	if err != nil {
		s.unasked()
	}
	if ctx.Err() != nil {
		return crawl.Result{Claim: c, State: crawl.Queued}
	}
	if class, after := fault.Of(err); class == fault.Limited { // it was not asked, or it was ours that failed
		return putBack(c, err, after)
	}
	r = s.judge(ctx, c, e, err)
	if r.Took = e.Took; r.Took == 0 {
		r.Took = s.Now().Sub(began)
	}
	s.weigh(waiting, r)
	return r
}

// putBack is the result of a URL whose host is not to be asked for a while.
func putBack(c crawl.Claim, err error, after time.Duration) crawl.Result {
	r := crawl.Result{Claim: c, State: crawl.Queued, Pause: after, Held: crawl.HeldOurs}
	var h *heldError
	switch {
	case errors.Is(err, web.ErrNoNetwork) || !errors.As(err, &h):
		r.Cause = err.Error()
	case errors.Is(err, crawl.ErrCooldown):
		r.Held = crawl.HeldCooldown
	default:
		r.Held, r.Cause = h.by, h.cause
	}
	r.Cause = cut(r.Cause, maxCause)
	return r
}

// A heldError is that of a turn, with what holds its host back.
type heldError struct {
	by    crawl.Held
	cause string
	err   error
}

func (h *heldError) Error() string { return h.err.Error() }
func (h *heldError) Unwrap() error { return h.err }

// heldBy is the error of a turn of a host that asks for a delay between requests, 0 = none.
func heldBy(delay time.Duration, err error) error {
	if delay > 0 {
		return &heldError{crawl.HeldDelay, delay.String(), err}
	}
	return &heldError{crawl.HeldGap, "", err}
}

var errDisallowed = fault.Newf(fault.Blocked, "robots.txt disallows it")

// renderPatience is how long a URL waits for the browser: then another worker, whose browser may be free, can have it.
const renderPatience = time.Second

// A turn is that of a host that asks for a delay between requests, 0 = none.
type turn struct {
	leave    func(crawl.Verdict)
	delay    time.Duration
	slotless bool // the slots of the job and of its request are given back already
}

// turn waits until a URL may be requested: its host is ready for it, and this process. Both are held until leave and
// done are called. Nothing is requested while robots.txt is not known.
func (s *shard) turn(ctx context.Context, c crawl.Claim) (t *turn, done func(), err error) {
	var delay time.Duration
	if s.run.Settings.RespectRobots {
		a, err := web.Canonical(c.URL)
		if err != nil {
			return nil, nil, err
		}
		rules, err := s.Robots.Rules(ctx, originOf(a))
		if err != nil {
			return nil, nil, &heldError{crawl.HeldRobots, err.Error(), fmt.Errorf("read robots.txt: %w", err)}
		}
		if !rules.Allowed(s.Agent, a.Path) {
			return nil, nil, errDisallowed
		}
		delay = rules.CrawlDelay(s.Agent)
	}
	free := func() {}
	if s.run.Settings.Render { // before the host's turn: a start that waited for the browser would come too late
		select {
		case s.Slots.Renders <- struct{}{}:
			free = func() { <-s.Slots.Renders }
		case <-time.After(renderPatience):
			return nil, nil, &fault.Error{
				Class: fault.Limited, After: renderPatience, Err: errors.New("all pages of the browser are in use"),
			}
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		defer func() {
			if err != nil {
				free()
			}
		}()
	}
	done = func() {
		if !t.slotless {
			<-s.Slots.Jobs
		}
		free()
	}
	leave, err := enter(ctx, s.Slots.Jobs, s.Hosts, c.Host, delay)
	if err != nil {
		return nil, nil, heldBy(delay, err)
	}
	return &turn{leave: leave, delay: delay}, done, nil
}

// ask makes the request, and for a run that renders has the browser load the page if the answer is one. It leaves the
// host, whatever happens.
func (s *shard) ask(ctx context.Context, c crawl.Claim, t *turn) (e web.Exchange, err error) {
	defer func() {
		if ctx.Err() != nil {
			t.leave(crawl.Unasked)
		} else {
			t.leave(crawl.Judge(e.Status, e.RetryAfter, err))
		}
	}()
	select {
	case s.Slots.Fetches <- struct{}{}:
		defer func() {
			if !t.slotless {
				<-s.Slots.Fetches
			}
		}()
	case <-ctx.Done():
		return e, ctx.Err()
	}
	if e, err = s.askKept(ctx, c, t); err != nil {
		return e, err
	}
	s.Metrics.Fetched(e.FirstByte)
	if html, _ := crawl.Kind(e.ContentType, e.Raw, e.Body); !s.run.Settings.Render || !html || !contained(e.Status) {
		return e, nil
	}
	// In the browser's own time.
	p, err := s.Browser.Load(ctx, web.Request{URL: c.URL, Quiet: true})
	if errors.Is(err, web.ErrNoBrowser) { // it is ours, so that is no try of the page
		activity.GetLogger(ctx).Warn("crawl: pages cannot be rendered", "err", err)
		err = &fault.Error{Class: fault.Limited, After: s.Policy.Max, Err: err}
	}
	if err != nil {
		return e, fmt.Errorf("render: %w", err)
	}
	return rendered(e, p), nil
}

// rendered is an answer with what the browser got: a page as it is after its scripts ran (one that is sent as any XML,
// as it is sent), or the browser's own answer where that is none. A document of another address is a redirect, which is
// not followed silently.
func rendered(e web.Exchange, p web.Page) web.Exchange {
	html, _ := crawl.Kind(p.ContentType, p.Body, p.Body)
	at, err := web.Canonical(p.URL)
	switch {
	case err != nil || unescaped(at.URL) != unescaped(e.URL):
		e.RedirectTo = p.URL
		if err == nil {
			e.RedirectTo = at.URL
		}
		p = web.Page{Status: 302}
	case p.Status/100 == 2 && (html || p.ContentType == ""):
		kind, _ := web.MediaType(p.ContentType)
		if kind != "text/xml" && kind != "application/xml" {
			kind = "text/html"
		}
		e.Body, e.ContentType, e.Charset = p.Body, kind+"; charset=utf-8", ""
		return e
	}
	p.Asked, p.URL = e.Asked, e.URL
	e.Page, e.Header, e.Charset = p, textproto.MIMEHeader{}, ""
	e.Raw, e.Length, e.Cut = p.Body, int64(len(p.Body)), false
	return e
}

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescaped is an address as it can be compared with one that a browser wrote, which escapes more: other characters,
// and over http a bare percent sign.
func unescaped(address string) string {
	return escape.ReplaceAllStringFunc(address, func(s string) string {
		plain, _ := url.PathUnescape(s)
		return plain
	})
}

// failed is the result of a URL without a whole answer.
func failed(c crawl.Claim, err error) crawl.Result {
	class := fault.ClassOf(err)
	return crawl.Result{Claim: c, State: crawl.Failed, Error: cut(err.Error(), 500), ErrorClass: string(class)}
}

// again makes a result that may pass one to be tried again, while there are tries left. It counts as a try.
func (s *shard) again(r crawl.Result, retry bool, after time.Duration) crawl.Result {
	r.Asked = true
	if retry && r.Tries < s.run.Settings.MaxRetries {
		r.State, r.After = crawl.Queued, crawl.Backoff(r.Tries+1, after, s.Policy)
	}
	return r
}

// ours is the result of a URL that our own storage failed: it waits, and that is no try of it.
func (s *shard) ours(ctx context.Context, c crawl.Claim, err error) crawl.Result {
	activity.GetLogger(ctx).Warn("crawl: our own storage failed", "url_id", c.ID, "err", err)
	return crawl.Result{Claim: c, State: crawl.Queued, After: s.Policy.Base}
}

// unasked notes that a request says nothing of whether its answer could be kept.
func (s *shard) unasked() {
	if s.run.Settings.StoreBodies {
		s.keeper.unasked()
	}
}

// judge turns an answer into a result.
func (s *shard) judge(ctx context.Context, c crawl.Claim, e web.Exchange, err error) crawl.Result {
	if err != nil {
		return s.again(failed(c, err), crawl.ClassifyError(err), 0)
	}
	state, retry := crawl.ClassifyResponse(e.Status)
	if e.Status == http.StatusNotModified && conditional(c) == nil { // as it was when? Nobody has said
		state = crawl.HTTPTerminal
	}
	r := crawl.Result{
		Claim: c, State: state, Asked: true,
		HTTPStatus: e.Status, ContentType: cut(e.ContentType, 200), ContentLength: e.Length, Bytes: int64(len(e.Raw)),
		RedirectTo: cut(e.RedirectTo, 1000),
		Validators: crawl.Validators{
			ETag: cut(e.Header.Get("ETag"), 500), LastModified: cut(e.Header.Get("Last-Modified"), 100),
		},
	}
	if retry {
		after := time.Duration(0)
		if e.Status == 429 {
			after = e.RetryAfter
		}
		s.unasked()
		return s.again(r, true, after)
	}
	if s.run.Settings.StoreBodies {
		if r.BodyKey, err = s.Bodies.Keep(ctx, s.run.ID, c.ID, e, s.Now()); err != nil {
			r := s.ours(ctx, c, err)
			r.After = s.keeper.failed(s.Now(), s.Policy)
			return r
		}
		s.keeper.kept()
	}
	to, err := web.Canonical(e.RedirectTo)
	if err == nil && to.URL != c.URL && (e.Status == 301 || e.Status == 308) { // it has moved for good, wherever to
		r.Message = s.removal(r)
	}
	switch {
	case e.Status == 404 || e.Status == 410:
		r.Message = s.removal(r)
	case state == crawl.Visited && e.Status == http.StatusNotModified:
		links, err := s.Base.LinksOfBase(ctx, s.run.ID, []string{c.URL})
		if err != nil {
			return s.ours(ctx, c, err)
		}
		noIndex, noFollow := s.robotsTag(e)
		if !s.run.Settings.Nofollow || !noFollow {
			r.Links = s.inScope(links[c.URL])
		}
		if s.run.Settings.RespectRobots && noIndex {
			r.Message = s.removal(r)
		}
		r.Validators = crawl.Validators{ETag: c.ETag, LastModified: c.LastModified}
	case e.RedirectTo != "" && s.run.Settings.FollowRedirects:
		if err == nil && s.scope.Has(to) {
			r.Links = []crawl.Link{{URL: to.URL, Host: to.Host}}
		}
	case contained(e.Status):
		if c.Lost > 0 {
			leave, err := s.suspect(ctx, c)
			if err != nil {
				return s.ours(ctx, c, err)
			}
			defer leave()
		}
		s.read(&r, e)
	}
	return r
}

// suspectPatience is how long an answer waits for such another to be read, which takes moments. One that hangs may not
// have all slots of the process wait for it: the others are read without a note then.
const suspectPatience = 10 * time.Second

// suspect notes that the answer of a URL which was lost before is being read, until leave is called. The death of a
// worker between the two is laid to that URL: they are as close together as can be, and one such answer is read at a
// time, so that a worker that is killed for another reason, with all that it holds, is hardly ever taken for one.
func (s *shard) suspect(ctx context.Context, c crawl.Claim) (leave func(), err error) {
	select {
	case s.Slots.Suspect <- struct{}{}:
	case <-time.After(suspectPatience):
		return func() {}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := s.Frontier.BeginReading(ctx, s.run.ID, c); err != nil {
		<-s.Slots.Suspect
		return nil, err
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordGrace)
		defer cancel()
		_ = s.Frontier.EndReading(ctx, s.run.ID, c) // its result ends it otherwise
		<-s.Slots.Suspect
	}, nil
}

// contained says that an answer has the content of a page: by 204 and 205 a site says that what is shown stays.
func contained(status int) bool {
	return status/100 == 2 && status != http.StatusNoContent && status != http.StatusResetContent
}

// inScope leaves out what the settings of this run do not include.
func (s *shard) inScope(links []crawl.Link) (in []crawl.Link) {
	for _, l := range links {
		if a, err := web.Canonical(l.URL); err == nil && s.scope.Has(a) {
			in = append(in, l)
		}
	}
	return in
}

// robotsTag reads the rules for us in the header of an answer.
func (s *shard) robotsTag(e web.Exchange) (noIndex, noFollow bool) {
	return page.RobotsTag(e.Header.Values("X-Robots-Tag"), strings.ToLower(s.Agent))
}

// read takes the links, the title and the text from a page.
func (s *shard) read(r *crawl.Result, e web.Exchange) {
	noIndex, noFollow := s.robotsTag(e)
	var onward []crawl.Link
	if !s.run.Settings.Nofollow || !noFollow {
		onward = s.onward(r.URL, e.Header.Get("Refresh"))
	}
	html, xml := crawl.Kind(e.ContentType, e.Raw, e.Body)
	if !html {
		r.Links = onward
		return
	}
	p := page.Read(e.Body, page.ReadOptions{
		XML: xml, Agent: strings.ToLower(s.Agent), LinkRel: s.run.Settings.FollowLinkRel,
		Text: s.run.Settings.Publish, MaxLinks: maxLinks, MaxText: maxText,
	})
	p.NoIndex, p.NoFollow = p.NoIndex || noIndex, p.NoFollow || noFollow
	r.Title = p.Title
	r.Links = []crawl.Link{}
	if !s.run.Settings.Nofollow || !p.NoFollow {
		r.Links = s.links(r.URL, e.Charset, p)
		for _, l := range onward {
			if !slices.ContainsFunc(r.Links, func(known crawl.Link) bool { return known.URL == l.URL }) {
				r.Links = append(r.Links, l)
			}
		}
	}
	switch {
	case s.run.Settings.RespectRobots && p.NoIndex:
		r.Message = s.removal(*r)
	case s.run.Settings.Publish:
		r.Message = message(contract.CrawledPage{URL: r.URL, Text: &p.Text, Metadata: contract.CrawledMetadata{
			Title: p.Title, Description: p.Description, Timestamp: s.Now().UTC(), StatusCode: e.Status,
			Language: p.Lang, Headings: p.Headings,
		}})
	}
}

// onward is the link of a Refresh header, which a browser follows whatever the type of the page is: nil where there is
// none.
func (s *shard) onward(at, header string) []crawl.Link {
	if href, ok := page.Refresh(header); ok {
		return s.links(at, "", page.Reading{Links: []page.Link{{Href: href}}})
	}
	return nil
}

// removal is the message that takes the page of a result out of the index; nil where the run publishes none.
func (s *shard) removal(r crawl.Result) []byte {
	if !s.run.Settings.Publish {
		return nil
	}
	return message(contract.CrawledPage{URL: r.URL, Text: new(string), Removed: true, Metadata: contract.CrawledMetadata{
		Timestamp: s.Now().UTC(), StatusCode: r.HTTPStatus,
	}})
}

// message is JSON, with markup as it is: nobody shows it as HTML.
func message(m contract.CrawledPage) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		panic(err) // texts and numbers
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// seenLinks are sets for the addresses of a page, of which those of usual pages are used again.
var seenLinks = sync.Pool{New: func() any { return make(map[string]struct{}, seenMost/4) }}

const seenMost = 1000 // addresses

// links resolves the addresses of a page and returns those in scope, each once.
func (s *shard) links(at, charset string, p page.Reading) []crawl.Link {
	base, err := web.NewBase(at)
	if err != nil {
		return nil
	}
	base = base.Rebase(p.Base).Encoded(charset)
	links, size := make([]crawl.Link, 0, len(p.Links)), 0
	seen, _ := seenLinks.Get().(map[string]struct{})
	defer func() {
		if len(seen) <= seenMost {
			clear(seen)
			seenLinks.Put(seen)
		}
	}()
	for _, l := range p.Links {
		if l.Nofollow && s.run.Settings.Nofollow {
			continue
		}
		a, ok := base.Resolve(l.Href)
		if !ok || !s.scope.Has(a) || !s.run.Settings.IncludeDocuments && crawl.IsDocument(a.Path) {
			continue
		}
		if _, known := seen[a.URL]; known {
			continue
		}
		seen[a.URL] = struct{}{}
		raw := ""
		if l.Href != a.URL {
			raw = cut(l.Href, maxRawLink)
		}
		if size += len(a.URL) + len(raw); size > maxOfLinks {
			break
		}
		links = append(links, crawl.Link{URL: a.URL, Raw: raw, Host: a.Host})
	}
	return links
}

// cut shortens s to at most so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] // what is stored is made valid UTF-8
}

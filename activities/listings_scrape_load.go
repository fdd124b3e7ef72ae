package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// errStopped ends a page early: an operator has disabled or paused the platform or the search, or its proxy fails.
type errStopped struct{ why string }

func (e errStopped) Error() string { return e.why }

// errOurs is a failure of our own, such as of the database, or of the site as a whole. It is not counted against an
// advert.
type errOurs struct{ error }

func (e errOurs) Unwrap() error { return e.error }

// load requests a page of the site for a search, in its turn. request is given the address of the first search page.
// Errors are errStopped, errOurs, a *web.Refusal, fault.Limited when this worker stops, and otherwise about the page:
// that it could not be loaded, or must not be requested. None is fault.Gone: only the content of a page says that an
// advert is gone.
func (v *visitor) load(ctx context.Context, at *cursor, of scrape.Search,
	request func(start string) (web.Request, error)) (page web.Page, err error) {
	turn, err := v.Sites.Settings(ctx, of)
	if err != nil {
		return page, errOurs{err}
	}
	r, err := request(turn.Settings.URL)
	if err != nil {
		return page, err
	}
	if r.Proxy, err = v.proxy(turn.Settings.Proxy); err != nil {
		return page, v.unreached(ctx, of, err)
	}
	allowed, apart, err := v.Robots.Allowed(ctx, r.URL, r.Proxy)
	switch {
	case isProxy(err):
		return page, v.unreached(ctx, of, err)
	case web.RefusalOf(err) != nil:
		return page, err
	case err != nil:
		return page, errOurs{transient(err)}
	case !allowed:
		return page, fault.Newf(fault.Blocked, "robots.txt of the site does not allow %s", r.URL)
	}
	if turn, err = v.Sites.Turn(ctx, of, apart, v.Now()); err != nil {
		return page, errOurs{err}
	}
	if turn.Stopped != "" {
		return page, errStopped{turn.Stopped}
	}
	transport := turn.Settings.Transport
	if of == v.of {
		at.MaxPages, v.transport = turn.Settings.MaxPages, transport
	}
	if err := v.until(ctx, of, turn.At, apart); err != nil {
		return page, err
	}
	source := v.Pages[transport]
	if source == nil {
		return page, fault.Newf(fault.Invalid, "transport: there is no %q", transport)
	}
	v.asked = v.Now()
	page, err = source.Load(ctx, r)
	if isProxy(err) {
		return page, v.unreached(ctx, of, err)
	}
	return page, transient(err)
}

// proxy is the one to go through, with its credentials. That they cannot be opened is an error of the proxy: nothing is
// requested without it.
func (v *visitor) proxy(p scrape.SealedProxy) (web.Proxy, error) {
	if p.Shown == "" {
		return web.Proxy{}, nil
	}
	proxy, err := web.ParseProxy(p.Shown)
	if err == nil && p.Key != "" {
		var plain []byte
		if plain, err = v.Secrets.Open(p.Purpose, p.Key, p.Box); err == nil {
			proxy, err = proxy.WithCredentials(string(plain))
		}
	}
	if err != nil {
		return proxy, &web.ProxyError{Proxy: p.Shown, Reason: err.Error()}
	}
	return proxy, nil
}

func isProxy(err error) bool {
	_, is := errors.AsType[*web.ProxyError](err)
	return is
}

// unreached stores that a search's proxy has failed. The search is stopped for scrape.ProxyWait, as if an operator had
// done it, so that others, which may go another way, do not wait for it. A page without its proxy is never requested.
func (v *visitor) unreached(ctx context.Context, of scrape.Search, why error) error {
	activity.GetLogger(ctx).Warn("proxy failed", "platform", of.Platform, "search", of.Name, "err", why)
	now := v.Now()
	if err := v.Trouble.Unreached(ctx, of, why.Error(), now.Add(scrape.ProxyWait), now); err != nil {
		return errOurs{err}
	}
	return errStopped{"its proxy fails"}
}

// transient makes fault.Gone, an unknown host name, transient: the search page came from that host, so it exists.
func transient(err error) error {
	if fault.ClassOf(err) == fault.Gone {
		return &fault.Error{Class: fault.Transient, Err: err}
	}
	return err
}

// sameSite refuses to follow a search page to another host: the address comes from a page.
func sameSite(start, address string) error {
	from, err := url.Parse(contract.Escaped(start))
	to, wrong := url.Parse(contract.Escaped(address))
	site := func(u *url.URL) string { return u.Scheme + "://" + strings.TrimPrefix(u.Host, "www.") }
	if err != nil || wrong != nil || site(from) != site(to) {
		return fault.Newf(fault.Invalid, "advert %.200q is not on the site of the search %.200q", address, start)
	}
	return nil
}

// loaded counts a page by its outcome.
func (v *visitor) loaded(ctx context.Context, kind string, err error) {
	if _, ok := errors.AsType[errStopped](err); ok || ctx.Err() != nil {
		return
	}
	v.count(ctx, "conveyor_scrape_pages", "kind", kind, "outcome", cmp.Or(string(fault.ClassOf(err)), "ok"))
}

// lookUp is how often the settings are read again during the wait for a turn.
const lookUp = 5 * time.Second

// until waits for a turn. Changes by an operator apply meanwhile: a stop ends the wait, a shorter delay shortens it. A
// worker that is being stopped does not wait: another continues.
func (v *visitor) until(ctx context.Context, of scrape.Search, at time.Time, apart time.Duration) error {
	for {
		wait := at.Sub(v.Now())
		if wait <= 0 {
			return ctx.Err()
		}
		select {
		case <-time.After(min(wait, lookUp)):
		case <-activity.GetWorkerStopChannel(ctx):
			return &fault.Error{Class: fault.Limited, Err: errors.New("this worker is stopping; another will continue")}
		case <-ctx.Done():
			return ctx.Err()
		}
		turn, err := v.Sites.Settings(ctx, of)
		if err != nil {
			return errOurs{err}
		}
		if turn.Stopped != "" {
			return errStopped{turn.Stopped}
		}
		soonest := v.Now().Add(max(turn.Settings.Delay, apart))
		if turn.At.After(soonest) { // the site refuses
			soonest = turn.At
		}
		if at.After(soonest) {
			at = soonest
		}
	}
}

// explain turns a refusal into the wait that it costs, and stores any other failure for operators.
func (v *visitor) explain(ctx context.Context, err error) error {
	r := web.RefusalOf(err)
	if r == nil {
		class := fault.ClassOf(err)
		if class != fault.Limited && ctx.Err() == nil {
			_ = v.Trouble.Trouble(ctx, v.job.Platform, err.Error(), v.Now()) // the store may be the trouble
		}
		if class == fault.Throttled { // 503 without a Retry-After: the retry policy's waits grow, those of Throttled do not
			err = &fault.Error{Class: fault.Transient, Err: err}
		}
		return fmt.Errorf("scrape %s: %w", v.job.Platform, err)
	}
	_, asked := fault.Of(err)
	v.count(ctx, "conveyor_scrape_refusals", "reason", r.Reason)
	until, err := v.Trouble.Refused(ctx, v.job.Platform, v.job.Cycle, r.Reason, asked, v.Dice(), v.Now())
	if err != nil {
		return err
	}
	return &fault.Error{
		Class: fault.Throttled, After: max(until.Sub(v.Now()), time.Second),
		Err: fmt.Errorf("%w; asked again at %s", r, until.UTC().Format(time.TimeOnly)),
	}
}

// count adds one to a counter of the platform's scraper, with labels by pairs.
func (v *visitor) count(ctx context.Context, name string, labels ...string) {
	tags := map[string]string{"platform": v.job.Platform}
	for i := 0; i+1 < len(labels); i += 2 {
		tags[labels[i]] = labels[i+1]
	}
	activity.GetMetricsHandler(ctx).WithTags(tags).Counter(name).Inc(1)
}

package fetch

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/mtlrent/conveyor/domain/robots"
	"github.com/mtlrent/conveyor/domain/web"
)

// RobotName is the product token by which robots.txt may speak of us.
const RobotName = "Conveyor"

// How long a robots.txt is believed: RFC 9309 allows a day, and that is for a site that does not answer.
const (
	robotsFresh = time.Hour
	robotsOld   = 24 * time.Hour
	mostRobots  = 1000 // sites
)

// Robots knows the robots.txt of sites. It is safe for concurrent use.
type Robots struct {
	client *Client
	now    func() time.Time

	mu    sync.Mutex
	sites map[string]known
}

type known struct {
	rules robots.Rules
	at    time.Time
}

// NewRobots returns Robots that know nothing yet and ask by c.
func NewRobots(c *Client) *Robots { return &Robots{client: c, now: c.o.Now, sites: map[string]known{}} }

// Allowed says whether an address may be asked for, and how far apart requests to its site must be at least. A site's
// robots.txt is read once an hour, and for a day where it cannot be read again. An error is that it cannot be known: a
// *web.Refusal when the site refuses, fault.Transient otherwise.
func (r *Robots) Allowed(ctx context.Context, address string) (ok bool, delay time.Duration, err error) {
	u, err := parse(nil, address)
	if err != nil {
		return false, 0, err
	}
	rules, err := r.rules(ctx, u)
	if err != nil {
		return false, 0, fmt.Errorf("read robots.txt: %w", err)
	}
	return rules.Allowed(RobotName, u.RequestURI()), rules.CrawlDelay(RobotName), nil
}

func (r *Robots) rules(ctx context.Context, u *url.URL) (robots.Rules, error) {
	site := u.Scheme + "://" + web.HostPort(u)
	r.mu.Lock()
	have, ok := r.sites[site]
	r.mu.Unlock()
	if ok && r.now().Sub(have.at) < robotsFresh {
		return have.rules, nil
	}
	rules, err := r.read(ctx, site)
	if err != nil {
		if ok && r.now().Sub(have.at) < robotsOld && web.RefusalOf(err) == nil {
			return have.rules, nil
		}
		return rules, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sites) >= mostRobots {
		clear(r.sites)
	}
	r.sites[site] = known{rules, r.now()}
	return rules, nil
}

func (r *Robots) read(ctx context.Context, site string) (robots.Rules, error) {
	page, err := r.client.Load(ctx, web.Request{URL: site + "/robots.txt"})
	if err != nil {
		return robots.Rules{}, err
	}
	if err := web.Check(page); web.RefusalOf(err) != nil && page.Status != 403 { // a 403 is a site without rules
		return robots.Rules{}, err
	}
	return robots.FromStatus(page.Status, page.Body)
}

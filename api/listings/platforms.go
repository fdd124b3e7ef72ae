package listings

import (
	"context"
	"time"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/internal/secret"
)

// Platforms serves /platforms.
type Platforms struct {
	Store   *dblistings.Platforms
	Launch  ScraperStarter
	Secrets *secret.Box // for the credentials of proxies

	door *api.Door
}

// A ScraperStarter starts the scrapers of platforms: *launch.Launch.
type ScraperStarter interface {
	// Scraper starts the scraper of a platform, or wakes the one that runs.
	Scraper(ctx context.Context, platform, summary string) error
}

// Register implements api.Part.
func (h Platforms) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Read, api.Op("platforms", "list-platforms", "GET /platforms",
		"List rental sites with the settings and state of their scrapers", "")), h.list)
	api.Serve(d, api.Needs(access.Read, api.Op("platforms", "get-platform", "GET /platforms/{name}",
		"Get a rental site with the settings and state of its scraper", "")), h.get)
	api.Serve(d, api.Needs(access.Read, api.Query("platforms", "list-platform-cycles", "GET /platforms/{name}/cycles",
		"List the cycles of a scraper, the newest first",
		"The one under way included. Pass next_before as before for older ones.")), h.cycles)
	api.Serve(d, api.Needs(access.Operate, api.Op("platforms", "set-platform", "PATCH /platforms/{name}",
		"Change how a site is scraped",
		"Settings that are left out stay as they are. A change holds from the next request to the site until the next "+
			"change; with reset, all settings first go back to their configured values, and refusals and suspicions are "+
			"forgotten.")), h.set)
	h.searches(d)
	for _, act := range []struct {
		name, summary, description string
		change                     dblistings.PlatformChange
	}{
		{"scrape", "Begin the next cycle of each search now", "Skips the pause between two cycles. A cycle that is under way goes on; " +
			"a site that refuses requests is still left alone until its pause ends.", dblistings.PlatformChange{Now: true}},
		{"pause", "Pause scraping a site", "The page that is loading is finished; no more requests are sent.",
			dblistings.PlatformChange{Paused: new(true)}},
		{"resume", "Resume scraping a site", "An open cycle continues from where it stopped.",
			dblistings.PlatformChange{Paused: new(false)}},
	} {
		api.Serve(d, api.Needs(access.Operate, api.Op("platforms", act.name+"-platform",
			"POST /platforms/{name}/"+act.name, act.summary, act.description, 202,
			409)), func(ctx context.Context, in *platformInput) (*api.Body[Platform], error) {
			return h.change(ctx, in.Name, act.change, nil)
		})
	}
}

// Platform is a rental site: how it is scraped, and how that goes.
type Platform struct {
	Name       string           `json:"name"`
	State      string           `json:"state" enum:"disabled,paused,blocked,suspect,scraping,cooling,waiting"`
	Next       string           `json:"next" doc:"the scraper's next action, in words"`
	URL        string           `json:"url" doc:"of the first search page"`
	Transport  scrape.Transport `json:"transport" enum:"browser,http" doc:"the client that loads its pages"`
	Proxy      string           `json:"proxy,omitempty" doc:"that requests to the site go through, without credentials"`
	Settings   PlatformSettings `json:"settings" doc:"in force now"`
	Configured PlatformSettings `json:"configured" doc:"in force where no operator has changed them"`
	Blocked    *PlatformBlock   `json:"blocked,omitempty" doc:"the current run of refusals"`
	Suspect    *PlatformTrouble `json:"suspect,omitempty" doc:"an unexpected change of its pages; an operator should look"`
	Trouble    *PlatformTrouble `json:"trouble,omitempty" doc:"why no page could be read since the last one"`
	Unproven   string           `json:"unproven,omitempty" doc:"what of the site's pages its parser was written without, to know before it is enabled"`

	NextRequestAt *time.Time `json:"next_request_at,omitempty" doc:"at the earliest"`
	NextCycleAt   *time.Time `json:"next_cycle_at,omitempty" doc:"at the earliest"`
	LastSuccessAt *time.Time `json:"last_success_at,omitempty" doc:"when a page was last read"`
	OldestVisitAt *time.Time `json:"oldest_visit_at,omitempty" doc:"of the adverts that are not gone"`

	Forecast *PlatformForecast `json:"forecast,omitempty" doc:"if things go on as in the last cycle; not before there is one"`

	Adverts PlatformAdverts `json:"adverts"`
	Current *PlatformCycle  `json:"current_cycle,omitempty" doc:"of the default search, the one under way"`
	Last    *PlatformCycle  `json:"last_cycle,omitempty" doc:"of the default search, the last one that ended"`

	Searches []PlatformSearch `json:"searches" doc:"the default one first"`

	Workflow api.WorkflowLink `json:"workflow"`
}

// PlatformSettings are the settings that operators may change while the scraper runs.
type PlatformSettings struct {
	Enabled         bool    `json:"enabled"`
	DelaySeconds    float64 `json:"delay_between_requests_seconds"`
	MaxPages        int     `json:"max_pages_per_cycle"`
	CooldownSeconds float64 `json:"cooldown_between_cycles_seconds"`
	LookSeconds     float64 `json:"look_every_seconds" doc:"time between two looks at the newest search pages; 0 = there are none"`
	CycleSeconds    float64 `json:"cycle_target_seconds" doc:"how long a cycle should take: what its search pages and new adverts leave of that is for re-visits"`
}

// PlatformForecast says how fresh a scraper keeps what it knows.
type PlatformForecast struct {
	CycleSeconds       float64 `json:"cycle_seconds" doc:"how long a cycle takes"`
	OldestVisitSeconds float64 `json:"oldest_visit_seconds" doc:"how old the visit to an advert gets that does not change"`
	Requests           int     `json:"requests_per_day"`
	Looks              int     `json:"look_requests_per_day" doc:"at the newest search pages"`
	Search             int     `json:"search_requests_per_day" doc:"for the search pages of cycles"`
	Fresh              int     `json:"fresh_visits_per_day" doc:"to adverts that are new, changed, back or gone"`
	Revisits           int     `json:"revisits_per_day" doc:"to others, the longest unseen first"`
}

// PlatformBlock describes a site that refuses requests.
type PlatformBlock struct {
	Refusals int        `json:"refusals" doc:"in a row"`
	Reason   string     `json:"reason" doc:"of the last one" example:"429"`
	Until    *time.Time `json:"until,omitempty" doc:"when the next request is sent"`
}

// PlatformTrouble is a problem with a site, or with reading its pages.
type PlatformTrouble struct {
	Since  time.Time `json:"since"`
	Reason string    `json:"reason"`
}

// PlatformAdverts counts the adverts that a scraper has on record.
type PlatformAdverts struct {
	Known  int64 `json:"known" doc:"seen on a search page and not gone"`
	Failed int64 `json:"failed" doc:"known ones that could not be read on the last visit"`
	Gone   int64 `json:"gone"`
}

// PlatformCycle is one pass through the search pages.
type PlatformCycle struct {
	PastCycle

	Rejected int `json:"rejected" doc:"adverts of this cycle that cannot become listings"`
}

func showCycle(c dblistings.PlatformCycle) PlatformCycle {
	return PlatformCycle{showPastCycle(c), c.Rejected}
}

// PlatformList is the answer of GET /platforms.
type PlatformList struct {
	Items []Platform `json:"items"`
}

func (h Platforms) list(ctx context.Context, _ *struct{}) (*api.Body[PlatformList], error) {
	list, err := h.Store.List(ctx, h.door.Now())
	return api.BodyOf(PlatformList{api.Each(list, h.show)}), err
}

func (h Platforms) show(p dblistings.Platform) Platform {
	trouble := func(t dblistings.PlatformTrouble) PlatformTrouble { return PlatformTrouble(t) }
	unproven := ""
	var forecast *PlatformForecast
	if site, ok := platform.ByName(p.Name); ok {
		unproven = site.Site().Unproven
		if o, ok := p.Outlook(); ok && !site.Site().Whole { // a visit there is no request
			forecast = &PlatformForecast{o.Cycle.Seconds(), o.Age.Seconds(), o.Requests, o.Looks, o.Search, o.Fresh, o.Revisits}
		}
	}
	return Platform{
		Name: p.Name, State: p.State, Next: p.Next, URL: p.URL, Transport: p.Transport, Proxy: p.Proxy,
		Settings: PlatformSettings(p.Settings), Configured: PlatformSettings(p.Configured),
		Blocked: api.Maybe(p.Blocked, func(b dblistings.PlatformBlock) PlatformBlock { return PlatformBlock(b) }),
		Suspect: api.Maybe(p.Suspect, trouble), Trouble: api.Maybe(p.Trouble, trouble),
		Unproven:      unproven,
		NextRequestAt: p.NextRequestAt, NextCycleAt: p.NextCycleAt, LastSuccessAt: p.LastSuccessAt,
		OldestVisitAt: p.OldestVisitAt, Forecast: forecast,
		Adverts: PlatformAdverts(p.Adverts), Current: api.Maybe(p.Current, showCycle), Last: api.Maybe(p.Last, showCycle),
		Searches: api.Each(p.Searches, showPlatformSearch),
		Workflow: h.door.Workflow(scrape.WorkflowID(p.Name)),
	}
}

type platformInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
}

func (h Platforms) get(ctx context.Context, in *platformInput) (*api.Body[Platform], error) {
	p, err := h.Store.Get(ctx, in.Name, h.door.Now())
	return api.BodyOf(h.show(p)), err
}

// PlatformPatch is the body of PATCH /platforms/{name}.
type PlatformPatch struct {
	Enabled         *bool    `json:"enabled,omitempty"`
	DelaySeconds    *float64 `json:"delay_between_requests_seconds,omitempty" minimum:"0" maximum:"3600"`
	MaxPages        *int     `json:"max_pages_per_cycle,omitempty" minimum:"1" maximum:"10000"`
	CooldownSeconds *float64 `json:"cooldown_between_cycles_seconds,omitempty" minimum:"0" maximum:"604800"`
	LookSeconds     *float64 `json:"look_every_seconds,omitempty" minimum:"0" maximum:"86400"`
	CycleSeconds    *float64 `json:"cycle_target_seconds,omitempty" minimum:"0" maximum:"21600"`
	Reset           bool     `json:"reset,omitempty" doc:"first forget earlier changes, refusals and suspicions"`

	Transport *scrape.Transport `json:"transport,omitempty" enum:"browser,http" doc:"the client that loads its pages"`
	Proxy     *string           `json:"proxy,omitempty" maxLength:"1000" doc:"http://, https:// or socks5://, with user:password@ where it wants that, which is kept sealed; empty for none. Nothing is requested without it." example:"socks5://user:password@10.0.0.7:1080"`
}

// It does not embed platformInput: huma looks for parameters in exported fields only.
type setPlatformInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Body PlatformPatch
}

func (h Platforms) set(ctx context.Context, in *setPlatformInput) (*api.Body[Platform], error) {
	proxy, err := h.sealProxy(scrape.Search{Platform: in.Name}, in.Body.Proxy)
	if err != nil {
		return nil, err
	}
	if proxy != nil {
		in.Body.Proxy = &proxy.Shown // the audit keeps no secret
	}
	return h.change(ctx, in.Name, dblistings.PlatformChange{
		Transport: in.Body.Transport, Proxy: proxy,
		Enabled: in.Body.Enabled, Delay: duration(in.Body.DelaySeconds), MaxPages: in.Body.MaxPages,
		Cooldown: duration(in.Body.CooldownSeconds), Look: duration(in.Body.LookSeconds),
		Cycle: duration(in.Body.CycleSeconds), Reset: in.Body.Reset,
	}, in.Body)
}

func duration(seconds *float64) *time.Duration {
	return api.Maybe(seconds, func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) })
}

// change is durable when it answers. The store comes first: the scraper reads it when it is woken, and would read it
// with its next request anyway.
func (h Platforms) change(ctx context.Context, name string, c dblistings.PlatformChange, detail any) (
	*api.Body[Platform], error,
) {
	action := "platform.set"
	switch {
	case c.Now:
		action = "platform.scrape_wanted"
	case c.Paused != nil && *c.Paused:
		action = "platform.paused"
	case c.Paused != nil:
		action = "platform.resumed"
	}
	err := h.Store.Set(ctx, name, c, db.AuditEntry{
		At: h.door.Now(), Actor: api.CallerOf(ctx).Name, Action: action, Subject: "platform/" + name, Detail: detail,
	})
	if err != nil {
		return nil, err
	}
	p, err := h.Store.Get(ctx, name, h.door.Now())
	if err != nil {
		return nil, err
	}
	if p.Settings.Enabled || p.Current != nil {
		if err := h.Launch.Scraper(ctx, name, p.URL); err != nil {
			return nil, err
		}
	}
	return api.BodyOf(h.show(p)), nil
}

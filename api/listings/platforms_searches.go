package listings

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/platform"
	"github.com/mtlrent/conveyor/domain/scrape"
	"github.com/mtlrent/conveyor/domain/web"
)

// searches registers /platforms/{name}/searches.
func (h Platforms) searches(d *api.Door) {
	const path = "/platforms/{name}/searches/{search}"
	op := func(role access.Role, id, method, summary, description string, errors ...int) huma.Operation {
		return api.Needs(role, api.Op("platforms", id, method+" "+path, summary, description, errors...))
	}
	api.Serve(d, op(access.Read, "get-platform-search", http.MethodGet, "Get a search of a site, with its lanes",
		"All searches of a site are in its answer, too."), h.getSearch)
	api.Serve(d, op(access.Operate, "put-platform-search", http.MethodPut, "Add a search to a site, or change it",
		"Omitted fields are as the site has them. A search whose address changes starts over with the adverts of the new "+
			"one. The search default is that of the settings: its address cannot be changed here. With If-None-Match: * it is "+
			"only added: 412 where there is one of that name.",
		409, 412), h.putSearch)
	api.Serve(d, op(access.Operate, "remove-platform-search", http.MethodDelete, "Remove a search of a site",
		"Adverts that no other search of the site shows are forgotten; their listings are archived when they are stale.", 409), h.removeSearch)
}

// PlatformSearch is a search of a rental site, with a fast lane and a slow one.
type PlatformSearch struct {
	Name      string           `json:"name"`
	State     string           `json:"state" enum:"disabled,paused,blocked,suspect,scraping,cooling,waiting"`
	URL       string           `json:"url" doc:"of the first search page"`
	Paused    bool             `json:"paused" doc:"the search itself, whether its site is or not"`
	Transport scrape.Transport `json:"transport" enum:"browser,http" doc:"the client that loads its pages"`
	Proxy     string           `json:"proxy,omitempty" doc:"that its requests go through, without credentials"`
	Settings  PlatformSettings `json:"settings" doc:"in force now"`
	Own       SearchSettings   `json:"own" doc:"what of that is not as the site has it"`
	Trouble   *PlatformTrouble `json:"trouble,omitempty" doc:"why it gets no request now"`

	LookedAt    *time.Time `json:"looked_at,omitempty" doc:"when the newest page was asked for"`
	NextCycleAt *time.Time `json:"next_cycle_at,omitempty" doc:"at the earliest"`

	Current *PlatformCycle `json:"current_cycle,omitempty" doc:"the one under way"`
	Last    *PlatformCycle `json:"last_cycle,omitempty" doc:"the last one that ended"`
}

// SearchSettings are settings of a search that it does not share with its site.
type SearchSettings struct {
	Transport       *scrape.Transport `json:"transport,omitempty" enum:"browser,http"`
	DelaySeconds    *float64          `json:"delay_between_requests_seconds,omitempty" minimum:"0" maximum:"3600" doc:"after each of its requests"`
	MaxPages        *int              `json:"max_pages_per_cycle,omitempty" minimum:"1" maximum:"10000"`
	CooldownSeconds *float64          `json:"cooldown_between_cycles_seconds,omitempty" minimum:"0" maximum:"604800"`
	LookSeconds     *float64          `json:"look_every_seconds,omitempty" minimum:"0" maximum:"86400"`
	CycleSeconds    *float64          `json:"cycle_target_seconds,omitempty" minimum:"0" maximum:"21600"`
}

func showPlatformSearch(s dblistings.PlatformSearch) PlatformSearch {
	seconds := func(d time.Duration) float64 { return d.Seconds() }
	return PlatformSearch{
		Name: s.Name, State: s.State, URL: s.URL, Paused: s.Paused, Transport: s.Transport, Proxy: s.Proxy,
		Settings: PlatformSettings(s.Settings),
		Own: SearchSettings{
			Transport: s.Own.Transport, DelaySeconds: api.Maybe(s.Own.Delay, seconds), MaxPages: s.Own.MaxPages,
			CooldownSeconds: api.Maybe(s.Own.Cooldown, seconds), LookSeconds: api.Maybe(s.Own.Look, seconds),
			CycleSeconds: api.Maybe(s.Own.Cycle, seconds),
		},
		Trouble:  api.Maybe(s.Trouble, func(t dblistings.PlatformTrouble) PlatformTrouble { return PlatformTrouble(t) }),
		LookedAt: s.LookedAt, NextCycleAt: s.NextCycleAt,
		Current: api.Maybe(s.Current, showCycle), Last: api.Maybe(s.Last, showCycle),
	}
}

type platformSearchInput struct {
	Name   string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Search string `path:"search" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"laval"`
}

func (h Platforms) getSearch(ctx context.Context, in *platformSearchInput) (*api.Body[PlatformSearch], error) {
	p, err := h.Store.Get(ctx, in.Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	for _, s := range p.Searches {
		if s.Name == in.Search {
			return api.BodyOf(showPlatformSearch(s)), nil
		}
	}
	return nil, fault.Newf(fault.Gone, "platform %q has no search %q", in.Name, in.Search)
}

// PlatformSearchPut is the body of PUT /platforms/{name}/searches/{search}.
type PlatformSearchPut struct {
	URL    string `json:"url,omitempty" maxLength:"2000" doc:"of the first search page, on the site of the platform; required but for the search default" example:"https://www.kijiji.ca/b-apartments-condos/laval-rive-nord/c37l1700278"`
	Paused bool   `json:"paused,omitempty"`
	SearchSettings
	Proxy *string `json:"proxy,omitempty" maxLength:"1000" doc:"as of a platform; direct for none though the site has one, empty for that of the site. Left out, it stays as it is: it cannot be read back whole."`
}

type putPlatformSearchInput struct {
	Name   string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Search string `path:"search" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"laval"`
	Match  string `header:"If-None-Match" enum:"*" doc:"adds a search, and changes none"`
	Body   PlatformSearchPut
}

func (h Platforms) putSearch(ctx context.Context, in *putPlatformSearchInput) (*api.Body[PlatformSearch], error) {
	p, err := h.Store.Get(ctx, in.Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	of, body := scrape.Search{Platform: in.Name, Name: in.Search}, in.Body
	if err := checkSearch(of, p.URL, body.URL); err != nil {
		return nil, err
	}
	if of.Name == scrape.DefaultSearch {
		body.URL = ""
	}
	proxy, err := h.sealProxy(of, body.Proxy)
	if err != nil {
		return nil, err
	}
	if proxy != nil {
		body.Proxy = &proxy.Shown // the audit keeps no secret
	}
	put := dblistings.SearchPut{URL: body.URL, Paused: body.Paused, Proxy: proxy, New: in.Match != ""}
	put.SearchSettings = dblistings.SearchSettings{
		Transport: body.Transport, Delay: duration(body.DelaySeconds), MaxPages: body.MaxPages,
		Cooldown: duration(body.CooldownSeconds), Look: duration(body.LookSeconds), Cycle: duration(body.CycleSeconds),
	}
	_, err = h.Store.PutSearch(ctx, of, put, h.searchEntry(ctx, "platform_search.put", of, body))
	switch {
	case errors.Is(err, dblistings.ErrSearchThere):
		return nil, huma.Error412PreconditionFailed(err.Error())
	case err != nil:
		return nil, err
	}
	if err := h.wake(ctx, in.Name); err != nil {
		return nil, err
	}
	return h.getSearch(ctx, &platformSearchInput{in.Name, in.Search})
}

// checkSearch refuses the address of a search that is not one of the site: scrapers request what it leads to. start is
// the address of the platform's own search.
func checkSearch(of scrape.Search, start, address string) error {
	site, ok := platform.ByName(of.Platform)
	switch {
	case !ok:
		return fault.Newf(fault.Gone, "platform %q: there is none of that name", of.Platform)
	case of.Name == scrape.DefaultSearch && (address == "" || address == start):
		return nil
	case of.Name == scrape.DefaultSearch:
		return fault.Newf(fault.Invalid, "url: that of the search default is a setting, CONVEYOR_SCRAPE")
	}
	host := func(address string) string {
		u, err := url.Parse(address)
		if err != nil || u.User != nil {
			return ""
		}
		return u.Scheme + "://" + strings.TrimPrefix(u.Host, "www.")
	}
	if host(address) == "" || host(address) != host(start) {
		return fault.Newf(fault.Invalid, "url: it is not on the site of %.200q", start)
	}
	if _, err := site.SearchRequest(address, 1); err != nil {
		return fault.Newf(fault.Invalid, "url: %w", err)
	}
	return nil
}

// sealProxy reads the proxy that an operator gives a search, or its platform where it has no name. nil stays nil.
func (h Platforms) sealProxy(of scrape.Search, address *string) (*dblistings.ProxyPut, error) {
	switch {
	case address == nil:
		return nil, nil
	case *address == "", *address == scrape.Direct && of.Name != "":
		return &dblistings.ProxyPut{Shown: *address}, nil
	}
	p, err := web.ParseProxy(*address)
	if err != nil {
		return nil, err
	}
	put := &dblistings.ProxyPut{Shown: p.String()}
	if plain := p.Credentials(); plain != "" {
		if h.Secrets.Key() == "" {
			return nil, fault.Newf(fault.Invalid, "proxy: its credentials cannot be kept: CONVEYOR_SECRET_KEYS has no key")
		}
		put.Key, put.Box, err = h.Secrets.Seal(scrape.ProxyPurpose(of.Platform, of.Name, put.Shown), []byte(plain))
	}
	return put, err
}

func (h Platforms) removeSearch(ctx context.Context, in *platformSearchInput) (*struct{}, error) {
	of := scrape.Search{Platform: in.Name, Name: in.Search}
	if err := h.Store.RemoveSearch(ctx, of, h.searchEntry(ctx, "platform_search.removed", of, nil)); err != nil {
		return nil, err
	}
	return nil, h.wake(ctx, in.Name)
}

func (h Platforms) searchEntry(ctx context.Context, action string, of scrape.Search, detail any) db.AuditEntry {
	return db.AuditEntry{
		At: h.door.Now(), Actor: api.CallerOf(ctx).Name, Action: action, Subject: "platform/" + of.Platform + "/" + of.Name,
		Detail: detail,
	}
}

// wake lets the scraper of a platform that is scraped read its settings at once.
func (h Platforms) wake(ctx context.Context, name string) error {
	p, err := h.Store.Get(ctx, name, h.door.Now())
	if err != nil || !p.Settings.Enabled && p.Current == nil {
		return err
	}
	return h.Launch.Scraper(ctx, name, p.URL)
}

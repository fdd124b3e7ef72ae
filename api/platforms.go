package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/internal/launch"
)

// platforms serves /platforms.
type platforms struct {
	store *db.Platforms
	start Starter
	log   *slog.Logger
	link  func(workflowID string) WorkflowLink
	now   func() time.Time
}

func (h *platforms) register(a huma.API) {
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "list-platforms", Method: http.MethodGet, Path: "/platforms", Tags: []string{"platforms"},
		Summary: "See how each rental site is scraped, and how that goes", Errors: []int{503},
	}), h.list)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "get-platform", Method: http.MethodGet, Path: "/platforms/{name}", Tags: []string{"platforms"},
		Summary: "See how one rental site is scraped", Errors: []int{404, 503},
	}), h.get)
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "set-platform", Method: http.MethodPatch, Path: "/platforms/{name}", Tags: []string{"platforms"},
		Summary: "Change how a site is scraped", Errors: []int{404, 422, 503},
		Description: "What is left out stays. It holds from the next request to the site on, and until it is changed again; " +
			"with reset, first everything is as it was configured, and refusals and suspicions are forgotten.",
	}), h.set)
	for _, act := range []struct {
		name, summary, description string
		change                     db.PlatformChange
	}{
		{"scrape", "Begin the next cycle now", "The pause between two cycles is left out. A cycle that is under way goes on; " +
			"a site that refuses is left alone until its time is over.", db.PlatformChange{Now: true}},
		{"pause", "Stop scraping a site for a while", "A page that is loading is finished; nothing more is asked.",
			db.PlatformChange{Paused: new(true)}},
		{"resume", "Go on scraping a site", "An open cycle is taken up where it stopped.",
			db.PlatformChange{Paused: new(false)}},
	} {
		huma.Register(a, needs(access.Operate, huma.Operation{
			OperationID: act.name + "-platform", Method: http.MethodPost, Path: "/platforms/{name}/" + act.name,
			Tags: []string{"platforms"}, Summary: act.summary, Description: act.description, Errors: []int{404, 409, 503},
			DefaultStatus: http.StatusAccepted,
		}), func(ctx context.Context, in *platformInput) (*platformOutput, error) {
			return h.change(ctx, in.Name, act.change, nil)
		})
	}
}

// Platform is a rental site with the address of its scraper's workflow.
type Platform struct {
	db.Platform
	Workflow WorkflowLink `json:"workflow"`
}

// PlatformList is the answer of GET /platforms.
type PlatformList struct {
	Items []Platform `json:"items"`
}

type platformsOutput struct{ Body PlatformList }

func (h *platforms) list(ctx context.Context, _ *struct{}) (*platformsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := h.store.List(ctx, h.now())
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := &platformsOutput{PlatformList{Items: make([]Platform, len(list))}}
	for i, p := range list {
		out.Body.Items[i] = h.show(p)
	}
	return out, nil
}

func (h *platforms) show(p db.Platform) Platform { return Platform{p, h.link(launch.ScrapeID(p.Name))} }

type platformInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
}

type platformOutput struct{ Body Platform }

func (h *platforms) get(ctx context.Context, in *platformInput) (*platformOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	p, err := h.store.Get(ctx, in.Name, h.now())
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &platformOutput{h.show(p)}, nil
}

// PlatformPatch is what PATCH /platforms/{name} takes.
type PlatformPatch struct {
	Enabled         *bool    `json:"enabled,omitempty"`
	DelaySeconds    *float64 `json:"delay_between_requests_seconds,omitempty" minimum:"0" maximum:"3600"`
	MaxPages        *int     `json:"max_pages_per_cycle,omitempty" minimum:"1" maximum:"10000"`
	CooldownSeconds *float64 `json:"cooldown_between_cycles_seconds,omitempty" minimum:"0" maximum:"604800"`
	Reset           bool     `json:"reset,omitempty" doc:"first forget what was set before, refusals and suspicions"`
}

// It does not embed platformInput: huma looks for parameters in exported fields only.
type setPlatformInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Body PlatformPatch
}

func (h *platforms) set(ctx context.Context, in *setPlatformInput) (*platformOutput, error) {
	return h.change(ctx, in.Name, db.PlatformChange{
		Enabled: in.Body.Enabled, Delay: duration(in.Body.DelaySeconds), MaxPages: in.Body.MaxPages,
		Cooldown: duration(in.Body.CooldownSeconds), Reset: in.Body.Reset,
	}, in.Body)
}

func duration(seconds *float64) *time.Duration {
	if seconds == nil {
		return nil
	}
	return new(time.Duration(*seconds * float64(time.Second)))
}

// change is durable when it answers. The store comes first: the scraper reads it when it is woken, and would find it
// with its next request anyway.
func (h *platforms) change(ctx context.Context, name string, c db.PlatformChange, detail any) (*platformOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	action := "platform.set"
	switch {
	case c.Now:
		action = "platform.scrape_wanted"
	case c.Paused != nil && *c.Paused:
		action = "platform.paused"
	case c.Paused != nil:
		action = "platform.resumed"
	}
	err := h.store.Set(ctx, name, c, db.AuditEntry{
		At: h.now(), Actor: callerOf(ctx).Name, Action: action, Subject: "platform/" + name, Detail: detail,
	})
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	p, err := h.store.Get(ctx, name, h.now())
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	if p.Settings.Enabled || p.Current != nil {
		if err := h.start.Scraper(ctx, name, p.URL); err != nil {
			return nil, problem(ctx, h.log, err)
		}
	}
	return &platformOutput{h.show(p)}, nil
}

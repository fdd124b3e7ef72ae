package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/api"
	apidrafts "github.com/mtlrent/conveyor/api/drafts"
	"github.com/mtlrent/conveyor/bridge"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/browser"
	"github.com/mtlrent/conveyor/internal/config"
	"github.com/mtlrent/conveyor/internal/confine"
	"github.com/mtlrent/conveyor/internal/fetch"
	"github.com/mtlrent/conveyor/internal/outdir"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/workers"
	"github.com/mtlrent/conveyor/workflows"
)

// drafts is product drafts, made of the pages that crawl requests name.
func (h *house) drafts() system {
	requests := h.config.DraftRequests
	var queues []bridge.Queue
	if requests.Ours { // otherwise another service takes them, and this one leaves their queue alone
		drafts := bridge.Drafts{
			Launch: h.launch, Store: dbdrafts.NewDrafts(h.pool), Secrets: h.box, Now: time.Now, Exchange: requests.Exchange,
			Queue: requests.Queue, RoutingKey: requests.RoutingKey, Prefetch: requests.Prefetch,
			TaskQueue: workflows.QueueDrafts,
		}
		queues = drafts.Queues()
	}
	return system{
		activities: func(context.Context) ([]workers.Row, func()) {
			devtools := devtools(h.config, h.log, h.registry)
			readers := confine.New(confine.Options{Children: h.config.Drafts.Pages})
			drafts := &activities.Drafts{
				Browser: devtools, Reader: readers, Folders: outdir.New(h.config.Drafts.OutRoot), Blobs: h.blobs,
				Store: dbdrafts.NewDrafts(h.pool), Secrets: draftSecrets{dbdrafts.NewDrafts(h.pool), h.box}, Now: time.Now,
			}
			row := workers.Row{Queue: workflows.QueueDrafts, Slots: h.config.Drafts.Pages, Activities: []any{drafts}}
			return []workers.Row{row}, each(devtools.Close, readers.Close)
		},
		parts: []api.Part{apidrafts.Drafts{
			Store: dbdrafts.NewDrafts(h.pool), Launch: h.launch, Blobs: h.blobs, Secrets: h.box,
			Requests: apidrafts.DraftRequests{
				Target: dbdrafts.Target{Exchange: requests.Exchange, RoutingKey: requests.RoutingKey}, Queue: requests.Queue,
				Ours: requests.Ours,
			},
		}},
		queues: queues,
	}
}

// draftSecrets opens the headers and cookies of crawl requests.
type draftSecrets struct {
	store *dbdrafts.Drafts
	box   *secret.Box
}

// OpenDraft implements activities.DraftSecrets.
func (d draftSecrets) OpenDraft(ctx context.Context, event uuid.UUID) (s draft.Secrets, err error) {
	sealed, err := d.store.SealedDraft(ctx, event)
	if err != nil {
		return s, err
	}
	plain, err := d.box.Open(draft.SecretsPurpose(event), sealed.Key, sealed.Box)
	if err != nil {
		return s, fault.Newf(fault.Conflict, "%w", err)
	}
	if err := json.Unmarshal(plain, &s); err != nil { // its error would quote them
		return s, fault.Newf(fault.Invalid, "the headers and cookies of crawl request %s cannot be read", event)
	}
	return s, nil
}

// devtools is the Chromium at CHROME_DEVTOOLS_URL, which loads product pages.
func devtools(c config.Config, log *slog.Logger, registry prometheus.Registerer) *browser.Devtools {
	d := c.Drafts
	return browser.NewDevtools(browser.DevtoolsOptions{
		URL: d.DevtoolsURL, Driver: c.Browser.Driver, Dial: fetch.Dial(c.Images.AllowPrivate, nil), ProxyHost: d.ProxyHost,
		Pages: d.Pages, Timeout: d.Timeout, Log: log, Registerer: registry,
	})
}

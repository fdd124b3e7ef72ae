package api

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/find"
	"github.com/mtlrent/conveyor/domain/platform"
)

// Find serves /find.
type Find struct {
	Store  *db.Finder
	Within time.Duration // for the statements of a request; 0 = 300 ms

	door *Door
}

// Register implements Part.
func (h Find) Register(d *Door) {
	h.door = d
	Serve(d, NeedsTenant(access.Read, Query("operations", "find", "GET /find", "Find single things of any kind",
		"By ID, number, address, workflow ID, the beginning of a street address, or words: at most 10, exact ones first. "+
			"What takes longer than 300 ms is left out, and partial names its kind. Campaigns, uploads and messages are found "+
			"for the tenant of the request; a key of a tenant finds nothing else. Requests for drafts and messages are found "+
			"by their ID. Contacts, and recipients of messages, are not "+
			"found.")).Operation, h.find) // it is of no tenant where none is named
}

const (
	findWithin = 300 * time.Millisecond
	findMost   = 10
)

type findInput struct {
	Query  string `query:"q" required:"true" minLength:"1" maxLength:"2000" example:"listing/kijiji/1668602387"`
	Tenant string `query:"tenant" maxLength:"40" doc:"whose campaigns, uploads and messages are found too; that of the API key where it has one" example:"acme"`
}

// Resolve checks what a schema cannot express.
func (in *findInput) Resolve(huma.Context) []error { return WrongText("query.q", in.Query) }

// Findings is the answer of GET /find.
type Findings struct {
	Items   []Finding `json:"items" doc:"by kind"`
	Partial []string  `json:"partial,omitempty" doc:"kinds that could not be looked at in time" example:"listing"`
}

// A Finding is one thing.
type Finding struct {
	Kind  string `json:"kind" enum:"listing,draft,request,crawl,page,replay,dead_letter,platform,campaign,upload,message"`
	Title string `json:"title" doc:"of strangers, where the thing has one"`
	State string `json:"state,omitempty"`
	Href  string `json:"href" doc:"its page in the console" example:"/ui/crawl/14"`
}

// A kind is how the things of one kind are found, and where the console has its page.
type kind struct {
	name, path string
	tenant     string // whose things they are; "" = nobody's
	find       func(context.Context, find.Query) ([]db.Found, error)
}

// kinds are those that a caller may find things of, in the order of the answer. tenant is "" for none.
func (h Find) kinds(ctx context.Context, tenant string) (out []kind) {
	if CallerOf(ctx).Tenant == "" {
		out = []kind{
			{"listing", "/ui/listings/", "", h.Store.Adverts}, {"draft", "/ui/drafts/", "", h.Store.Drafts},
			{"request", "/ui/drafts/requests/", "", h.Store.DraftRequests}, {"crawl", "/ui/crawl/", "", h.Store.Crawls},
			{"page", "/ui/search/", "", h.Store.Pages}, {"replay", "/ui/replays/", "", h.Store.Replays},
			{"dead_letter", "/ui/dead-letters/", "", func(ctx context.Context, q find.Query) ([]db.Found, error) {
				return h.Store.Letters(ctx, q, ReachesTenants(ctx) == nil)
			}},
			{"platform", "/ui/platforms/", "", h.Store.Platforms},
		}
	}
	if tenant == "" {
		return out
	}
	of := func(
		look func(context.Context, string, find.Query) ([]db.Found, error),
	) func(context.Context, find.Query) ([]db.Found, error) {
		return func(ctx context.Context, q find.Query) ([]db.Found, error) { return look(ctx, tenant, q) }
	}
	return append(out, kind{"campaign", "/ui/campaigns/", tenant, of(h.Store.Campaigns)},
		kind{"upload", "/ui/uploads/", tenant, of(h.Store.Uploads)},
		kind{"message", "/ui/messages/", tenant, of(h.Store.Messages)})
}

func (h Find) find(ctx context.Context, in *findInput) (*Body[Findings], error) {
	tenant := in.Tenant
	if own := CallerOf(ctx).Tenant; tenant != "" || own != "" {
		var err error
		if tenant, err = h.door.tenantOf(ctx, tenant); err != nil {
			return nil, err
		}
	}
	q := find.Parse(in.Query, platform.Names())
	kinds := h.kinds(ctx, tenant)
	found, late := make([][]db.Found, len(kinds)), make([]error, len(kinds))
	within, cancel := context.WithTimeout(ctx, cmp.Or(h.Within, findWithin))
	defer cancel()
	var asked sync.WaitGroup
	for i, k := range kinds {
		asked.Go(func() {
			late[i] = fault.Try("finding a "+k.name, h.door.Log.Error, func() (err error) {
				found[i], err = k.find(within, q)
				return err
			})
		})
	}
	asked.Wait()
	if !slices.Contains(late, nil) {
		return nil, &fault.Error{Class: fault.Transient, Err: late[0]} // Postgres is away
	}
	out := Findings{Items: []Finding{}}
	for i, k := range kinds {
		if late[i] != nil {
			out.Partial = append(out.Partial, k.name)
			h.door.Log.DebugContext(ctx, "cannot find things of a kind", "kind", k.name, "err", late[i])
		}
	}
	// Each kind has its turn, so that many of one leave room for the others.
	for turn := 0; len(out.Items) < findMost && turn < findMost; turn++ {
		for i, k := range kinds {
			if turn < len(found[i]) && len(out.Items) < findMost {
				out.Items = append(out.Items, k.show(found[i][turn]))
			}
		}
	}
	order := func(f Finding) int { return slices.IndexFunc(kinds, func(k kind) bool { return k.name == f.Kind }) }
	slices.SortStableFunc(out.Items, func(a, b Finding) int { return cmp.Compare(order(a), order(b)) })
	return BodyOf(out), nil
}

func (k kind) show(f db.Found) Finding {
	out := Finding{Kind: k.name, Title: f.Title, State: f.State, Href: k.path + url.PathEscape(f.ID)}
	if k.tenant != "" {
		out.Href += "?tenant=" + k.tenant
	}
	return out
}

package listings

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/secret"
)

// Searches serves /searches: filters of listings that tenants save, and where their news is told.
type Searches struct {
	Store    *dblistings.Saved
	Secrets  *secret.Box
	Mail     bool // e-mails can be sent
	Telegram bool // Telegram messages can be sent

	PlainHosts []string // "host:port" that webhooks may have by http

	Within time.Duration // the time of a trial; 0 = 2 s

	door *api.Door
}

// Register implements api.Part.
func (h Searches) Register(d *api.Door) {
	h.door = d
	h.told(d)
	op := func(role access.Role, id, route, summary, description string, status int) api.TenantOperation {
		return api.NeedsTenant(role, api.Op("searches", id, route, summary, description, status, 409))
	}
	api.ServeTenant(d, op(access.Operate, "save-search", "POST /searches", "Save a search and send its news",
		"From now on, news go to its targets: homes that are new to it, whose rent fell, or that are back. A home is reported "+
			"once, however many adverts it has. Secrets and addresses of feeds are in this answer only. Nothing is sent to an "+
			"e-mail address or a Telegram chat before its owner has confirmed it by the link in its first message, nor to a "+
			"webhook before its host has sent back the challenge that it receives first.",
		http.StatusCreated), h.add)
	api.ServeTenant(d, op(access.Read, "list-searches", "GET /searches", "List the saved searches, by name", "", 200),
		h.list)
	api.ServeTenant(d, op(access.Read, "get-search", "GET /searches/{search}", "Get a saved search", "", 200), h.get)
	api.ServeTenant(d, op(access.Operate, "change-search", "PATCH /searches/{search}", "Change a saved search",
		"Omitted fields are unchanged. Nothing is sent later for the time in which it was paused.", 200), h.change)
	api.ServeTenant(d, op(access.Operate, "delete-search", "DELETE /searches/{search}",
		"Delete a saved search with its feeds; news that wait are not sent", "", http.StatusNoContent), h.remove)
	api.ServeTenant(d, op(access.Read, "try-search", "POST /searches/try", "Try a search: what it would have found",
		"The homes that were published in the last days, are offered still, and meet the filter. Nothing is stored or sent.", 200),
		h.try)
	api.ServeTenant(d, op(access.Operate, "add-search-target", "POST /searches/{search}/targets",
		"Add a target to a saved search", "It receives what is found from now on; all but a feed have to be confirmed "+
			"first. A secret, or the addresses of a feed, are in this answer only.", http.StatusCreated), h.addTarget)
	api.ServeTenant(d, op(access.Operate, "challenge-search-target",
		"POST /searches/{search}/targets/{target}/challenge", "Ask a webhook again to confirm that it wants news",
		"A webhook is sent a challenge when it is added. Where it could not send that back, or was stopped later, it is "+
			"sent one again; until it has answered it is unconfirmed. While it is being asked, this changes nothing.",
		http.StatusAccepted), h.challenge)
	api.ServeTenant(d, op(access.Operate, "rotate-search-target",
		"POST /searches/{search}/targets/{target}/rotate", "Replace the secret of a webhook, or the addresses of a feed",
		"They are in this answer only. A webhook is signed with both secrets for a while, each signature behind v1= and a "+
			"comma between them; the addresses of a feed before are 404 at once.", http.StatusOK), h.rotateTarget)
	api.ServeTenant(d, op(access.Operate, "delete-search-target", "DELETE /searches/{search}/targets/{target}",
		"Delete a target of a saved search; news that wait are not sent", "", http.StatusNoContent), h.removeTarget)
	h.feeds(d)
	h.subscriptions(d)
}

// A SavedSearch is a search of a tenant.
type SavedSearch struct {
	ID        uuid.UUID      `json:"id"`
	Name      string         `json:"name" doc:"once in a tenant"`
	Filter    saved.Criteria `json:"filter"`
	Kinds     []SearchKind   `json:"kinds"`
	Schedule  saved.Schedule `json:"schedule"`
	Language  SearchLanguage `json:"language"`
	State     string         `json:"state" enum:"active,paused"`
	Targets   []SearchTarget `json:"targets"`
	CreatedAt time.Time      `json:"created_at"`
	UpdatedAt time.Time      `json:"updated_at"`
}

// SearchKind is a kind of news.
type SearchKind saved.Kind

// Schema implements huma.SchemaProvider.
func (SearchKind) Schema(huma.Registry) *huma.Schema { return api.EnumOf(saved.Kinds) }

// SearchLanguage is a language that notices are written in.
type SearchLanguage saved.Language

// Schema implements huma.SchemaProvider.
func (SearchLanguage) Schema(huma.Registry) *huma.Schema { return api.EnumOf(saved.Languages) }

func showSearch(s dblistings.SavedSearch) SavedSearch {
	return SavedSearch{
		ID: s.ID, Name: s.Name, Filter: s.Filter,
		Kinds:    api.Each(s.Kinds, func(k saved.Kind) SearchKind { return SearchKind(k) }),
		Schedule: s.Schedule, Language: SearchLanguage(s.Language), State: s.State,
		Targets:   api.Listed(s.Targets, showTarget),
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

// SearchStart is the body of POST /searches.
type SearchStart struct {
	Name     string          `json:"name" minLength:"1" maxLength:"200" doc:"once in a tenant"`
	Filter   saved.Criteria  `json:"filter"`
	Kinds    []SearchKind    `json:"kinds,omitempty" maxItems:"3" doc:"of news; absent: all"`
	Schedule *saved.Schedule `json:"schedule,omitempty" doc:"absent: at once, at any time"`
	Language SearchLanguage  `json:"language,omitempty" doc:"of e-mails, Telegram messages and feeds; absent: en"`
	Targets  []TargetStart   `json:"targets" minItems:"1" maxItems:"10"`
}

type addSearchInput struct {
	api.OfTenant
	Body SearchStart
}

type savedSearchOutput struct {
	Location string `header:"Location"`
	Body     SavedSearch
}

func (h Searches) add(ctx context.Context, tenant string, in *addSearchInput) (*savedSearchOutput, error) {
	b, now := in.Body, h.door.Now()
	s := saved.Search{
		ID: uuid.New(), Tenant: tenant, Name: b.Name, Filter: b.Filter, Kinds: kindsOf(b.Kinds), State: saved.Active,
		Since: now, CreatedAt: now, Language: saved.Language(b.Language),
	}
	api.Set(&s.Schedule, b.Schedule)
	if err := s.Check(); err != nil {
		return nil, err
	}
	targets, shown := make([]dblistings.NewTarget, len(b.Targets)), make([]SearchTarget, len(b.Targets))
	for i, t := range b.Targets {
		var err error
		if targets[i], shown[i], err = h.target(ctx, t); err != nil {
			return nil, err
		}
	}
	if err := h.Store.Add(ctx, s, targets, api.CallerOf(ctx).Name); err != nil {
		return nil, err
	}
	found, err := h.Store.Get(ctx, tenant, s.ID)
	if err != nil {
		return nil, err
	}
	out := showSearch(found)
	out.Targets = shown
	return &savedSearchOutput{Location: "/searches/" + s.ID.String(), Body: out}, nil
}

func kindsOf(kinds []SearchKind) []saved.Kind {
	if len(kinds) == 0 {
		return saved.Kinds
	}
	return api.Each(kinds, func(k SearchKind) saved.Kind { return saved.Kind(k) })
}

// SavedSearches is the answer of GET /searches.
type SavedSearches api.Page[SavedSearch]

type savedSearchesInput struct {
	api.OfTenant
	Cursor string `query:"cursor" maxLength:"1000"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"50"`

	after string
}

// searchesOrder is the only order of saved searches, for their cursors.
const searchesOrder = "searches"

// Resolve reads the cursor.
func (in *savedSearchesInput) Resolve(huma.Context) []error {
	var err error
	in.after, err = api.ParseTextCursor(in.Cursor, searchesOrder)
	return api.WrongCursor(in.Cursor, err)
}

func (h Searches) list(ctx context.Context, tenant string, in *savedSearchesInput) (*api.Body[SavedSearches], error) {
	list, err := h.Store.List(ctx, tenant, in.after, in.Limit+1)
	if err != nil {
		return nil, err
	}
	list, next := db.CutPage(list, in.Limit, func(s dblistings.SavedSearch) string { return s.Name })
	out := api.PageOf(list, showSearch, api.CursorOf(next, searchesOrder))
	return api.BodyOf(SavedSearches(out)), nil
}

type savedSearchInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
}

func (h Searches) get(ctx context.Context, tenant string, in *savedSearchInput) (*savedSearchOutput, error) {
	s, err := h.Store.Get(ctx, tenant, in.Search)
	return &savedSearchOutput{Body: showSearch(s)}, err
}

// SearchPatch is the body of PATCH /searches/{search}.
type SearchPatch struct {
	Name     *string         `json:"name,omitempty" minLength:"1" maxLength:"200"`
	Filter   *saved.Criteria `json:"filter,omitempty" doc:"takes the place of the whole filter"`
	Kinds    []SearchKind    `json:"kinds,omitempty" maxItems:"3"`
	Schedule *saved.Schedule `json:"schedule,omitempty" doc:"takes the place of the whole schedule"`
	Language *SearchLanguage `json:"language,omitempty"`
	State    *string         `json:"state,omitempty" enum:"active,paused"`
}

type changeSearchInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
	Body   SearchPatch
}

func (h Searches) change(ctx context.Context, tenant string, in *changeSearchInput) (*savedSearchOutput, error) {
	b := in.Body
	err := h.Store.Change(ctx, tenant, in.Search, api.CallerOf(ctx).Name, h.door.Now(), func(s *saved.Search) {
		api.Set(&s.Name, b.Name)
		api.Set(&s.Filter, b.Filter)
		api.Set(&s.Schedule, b.Schedule)
		api.Set(&s.State, b.State)
		if b.Language != nil {
			s.Language = saved.Language(*b.Language)
		}
		if len(b.Kinds) > 0 {
			s.Kinds = kindsOf(b.Kinds)
		}
	})
	if err != nil {
		return nil, err
	}
	s, err := h.Store.Get(ctx, tenant, in.Search)
	if err != nil {
		return nil, err
	}
	return &savedSearchOutput{Body: showSearch(s)}, nil
}

func (h Searches) remove(ctx context.Context, tenant string, in *savedSearchInput) (*struct{}, error) {
	return nil, h.Store.Delete(ctx, tenant, in.Search, api.CallerOf(ctx).Name, h.door.Now())
}

// SearchTrial is the body of POST /searches/try.
type SearchTrial struct {
	Filter saved.Criteria `json:"filter"`
	Days   int            `json:"days,omitempty" minimum:"1" maximum:"90" default:"7"`
	Limit  int            `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"homes in the answer"`
}

type trySearchInput struct {
	api.OfTenant
	Body SearchTrial
}

// A FoundHome is a home that a search finds.
type FoundHome struct {
	Kind         SearchKind `json:"kind"`
	ListingID    uuid.UUID  `json:"listing_id"`
	HomeID       uuid.UUID  `json:"home_id"`
	Platform     string     `json:"platform"`
	URL          string     `json:"url"`
	Title        string     `json:"title"`
	Address      string     `json:"address,omitempty"`
	Bedrooms     int        `json:"bedrooms" doc:"0 is a studio"`
	RentCents    int64      `json:"rent_cents" doc:"CAD cents a month"`
	OldRentCents *int64     `json:"old_rent_cents,omitempty" doc:"of a price drop: before it"`
	At           time.Time  `json:"at"`
}

func showFound(i saved.Item) FoundHome {
	return FoundHome{
		Kind: SearchKind(i.Kind), ListingID: i.Listing, HomeID: i.Home, Platform: i.Platform, URL: i.URL, Title: i.Title,
		Address: i.Address, Bedrooms: i.Bedrooms, RentCents: i.RentCents, OldRentCents: i.OldRentCents, At: i.At,
	}
}

// SearchTried is the answer of POST /searches/try.
type SearchTried struct {
	Homes int         `json:"homes" doc:"that it would have found"`
	All   bool        `json:"all" doc:"false: not all listings were looked at, for there are too many or it took too long; the newest ones were"`
	Items []FoundHome `json:"items" doc:"newest first"`
}

func (h Searches) try(ctx context.Context, _ string, in *trySearchInput) (*api.Body[SearchTried], error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(h.Within, 2*time.Second))
	defer cancel()
	since := h.door.Now().AddDate(0, 0, -in.Body.Days)
	found, total, all, err := h.Store.Try(ctx, in.Body.Filter, since, in.Body.Limit)
	return api.BodyOf(SearchTried{total, all, api.Listed(found, showFound)}), err
}

// Package drafts is the operations of the API on product drafts and the requests for them.
package drafts

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dbdrafts "github.com/mtlrent/conveyor/db/drafts"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
	"github.com/mtlrent/conveyor/internal/secret"
)

// Drafts serves /crawl-requests and /drafts.
type Drafts struct {
	Store    *dbdrafts.Drafts
	Launch   DraftStater
	Blobs    *blob.Store
	Secrets  *secret.Box // seals headers and cookies
	Requests DraftRequests

	door *api.Door
}

// DraftRequests names the exchange and queue of crawl requests.
type DraftRequests struct {
	dbdrafts.Target
	Queue string
	Ours  bool // false: another system consumes them, and POST /crawl-requests is a conflict
}

// A DraftStater knows the states of crawl requests' workflows: *launch.Launch.
type DraftStater interface {
	// DraftState is launch.DraftRunning, DraftEnded or DraftFailed, and "" where there is no workflow.
	DraftState(ctx context.Context, event uuid.UUID) (string, error)
	// CancelDraft has the workflow of a crawl request end. Where there is none, it changes nothing.
	CancelDraft(ctx context.Context, event uuid.UUID) error
}

// Register implements api.Part.
func (h Drafts) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Operate, api.Op("drafts", "request-crawl", "POST /crawl-requests",
		"Request a product draft of a page",
		"Publishes a crawl request, as other services do through RabbitMQ. It can be repeated with the same event_id, or "+
			"the same Idempotency-Key, any number of times: it is one draft, asked for with the first headers and cookies. "+
			"GET on Location has the outcome.", 202, 409)), h.request)
	api.Serve(d, api.Needs(access.Read, api.Query("drafts", "list-crawl-requests", "GET /crawl-requests",
		"List crawl requests",
		"Those made with POST, the newest first. One that came through RabbitMQ is known when its draft is. A state is "+
			"looked for in the next 10,000: a page may have fewer than there are, or none, and a next_cursor all the same. "+
			"Pages are by position: pass next_cursor as cursor.")), h.requests)
	api.Serve(d, api.Needs(access.Read, api.Op("drafts", "get-crawl-request", "GET /crawl-requests/{event_id}",
		"Get the state of a crawl request",
		"Also of one that came through RabbitMQ. While Temporal is away, one that has no end yet is queued, with a "+
			"warning.")), h.state)
	api.Serve(d, api.Needs(access.Operate, api.Op("drafts", "cancel-crawl-request",
		"POST /crawl-requests/{event_id}/cancel", "Cancel a crawl request for good",
		"From the answer on no draft is stored for it; a page that is loading is given up, and a dead letter is resolved. "+
			"One that is canceled already stays so; one that has its draft is a conflict. For another try of the page make a "+
			"request with another event_id. One that came through RabbitMQ can be canceled while it is running or dead.",
		409)), h.cancel)
	api.Serve(d, api.Needs(access.Read, api.Query("drafts", "search-drafts", "GET /drafts", "Search drafts",
		"The newest first. Filters combine. A name, an availability, a currency and a price are looked for in the next "+
			"10,000 that pass the others: a page may have fewer than there are, or none, and a next_cursor all the same. "+
			"Pages are by position: pass next_cursor as cursor.")), h.search)
	api.Serve(d, api.Needs(access.Read, api.Op("drafts", "get-draft", "GET /drafts/{id}",
		"Get a draft, with the source of each value", "")), h.get)
	api.Stream(d, api.Needs(access.Read, huma.Operation{
		OperationID: "get-draft-file", Method: http.MethodGet, Path: "/drafts/{id}/files/{name}", Tags: []string{"drafts"},
		Summary: "Get a file of a draft", Metadata: map[string]any{api.TimeoutKey: api.PictureTimeout},
		Description: "The page as it was after its scripts ran, its screenshot, or the draft as a document.",
		Responses: map[string]*huma.Response{
			"200": {Description: "The file", Content: map[string]*huma.MediaType{
				"text/html": {}, "image/png": {}, "application/json": {},
			}},
			"206": {Description: "A part of the file, which the header Range asked for; of page.html there are none"},
			"304": {Description: "Not modified"},
			"416": {Description: "The file has no such part"},
		},
	}), h.file)
}

// DraftRequest is the body of POST /crawl-requests.
type DraftRequest struct {
	URL     string     `json:"url" doc:"of the product's page, http or https" example:"https://shop.example/p/123"`
	OutDir  string     `json:"out_dir,omitempty" doc:"folder for its files on the worker, below CONVEYOR_OUT_ROOT; default out"`
	Locale  string     `json:"locale,omitempty" doc:"of the browser: the language, script and country that the site sees" example:"fr-CA"`
	EventID *uuid.UUID `json:"event_id,omitempty" doc:"chosen by the caller, so that the request can be repeated"`

	Headers map[string]string `json:"headers,omitempty" doc:"of requests to the origin of url, its scheme, host and port, and to no other; kept encrypted until the draft is stored, and never shown"`
	Cookies []DraftCookie     `json:"cookies,omitempty" doc:"of requests to the host of url; kept as headers are"`
}

// DraftCookie is a cookie that a page is asked with.
type DraftCookie struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Path  string `json:"path,omitempty" doc:"that requests begin with; default /"`
}

type requestCrawlInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"any text: the same key of the same caller is the same event_id"`
	Body DraftRequest

	request draft.Request
	secrets draft.Secrets
}

// Resolve makes the checks that the bridge makes of the message. It quotes neither headers nor cookies.
func (in *requestCrawlInput) Resolve(huma.Context) (wrong []error) {
	in.request = draft.Request{
		URL: strings.TrimSpace(in.Body.URL), OutDir: strings.TrimSpace(in.Body.OutDir),
		Locale: strings.TrimSpace(in.Body.Locale),
	}
	in.secrets = draft.Secrets{
		URL: in.request.URL, Headers: in.Body.Headers,
		Cookies: api.Each(in.Body.Cookies, func(c DraftCookie) contract.CrawlCookie { return contract.CrawlCookie(c) }),
	}
	in.request.Sealed = !in.secrets.None()
	asked := contract.CrawlRequest{
		URL: in.request.URL, OutDir: in.request.OutDir, Locale: in.request.Locale, Headers: in.secrets.Headers,
		Cookies: in.secrets.Cookies,
	}
	if fields, ok := errors.AsType[contract.Errors](asked.Check()); ok {
		for _, f := range fields {
			name := strings.TrimPrefix(f.Field, "data.")
			detail := &huma.ErrorDetail{Message: f.Reason, Location: "body." + name}
			value, shown := map[string]string{"url": asked.URL, "out_dir": asked.OutDir, "locale": asked.Locale}[name]
			if shown {
				detail.Value = value
			}
			wrong = append(wrong, detail)
		}
	}
	if in.Body.EventID != nil && *in.Body.EventID == uuid.Nil {
		wrong = append(wrong, &huma.ErrorDetail{Message: "is the nil UUID", Location: "body.event_id"})
	}
	return wrong
}

// keyed is the namespace of event IDs that are made of an Idempotency-Key.
var keyed = uuid.MustParse("0c2ff5a0-6f43-5a9c-8d55-0d1c6f8f2a4e")

// DraftRequestAccepted is the answer of POST /crawl-requests.
type DraftRequestAccepted struct {
	EventID uuid.UUID `json:"event_id"`
	DraftID uuid.UUID `json:"draft_id" doc:"of the draft to be made"`
}

type requestCrawlOutput struct {
	Location string `header:"Location" doc:"where to see the outcome"`
	Body     DraftRequestAccepted
}

func (h Drafts) request(ctx context.Context, in *requestCrawlInput) (*requestCrawlOutput, error) {
	if !h.Requests.Ours {
		return nil, fault.Newf(fault.Conflict, "crawl requests are not taken here (CONVEYOR_CRAWL_REQUESTS)")
	}
	by := api.CallerOf(ctx).Name
	id := api.Keyed(keyed, by, in.Key, uuid.New())
	api.Set(&id, in.Body.EventID)
	in.request.EventID = id
	sealed, err := h.seal(id, in.secrets)
	if err != nil {
		return nil, err
	}
	if err := h.Store.RequestDraft(ctx, in.request, sealed, by, h.Requests.Target, h.door.Now()); err != nil {
		return nil, err
	}
	return &requestCrawlOutput{"/crawl-requests/" + id.String(), DraftRequestAccepted{id, draft.ID(id)}}, nil
}

// seal encrypts the headers and cookies of a request; nothing where it has none.
func (h Drafts) seal(event uuid.UUID, s draft.Secrets) (db.Sealed, error) {
	if s.None() {
		return db.Sealed{}, nil
	}
	if h.Secrets.Key() == "" {
		return db.Sealed{}, fault.Newf(fault.Conflict, "headers and cookies cannot be stored: CONVEYOR_SECRET_KEYS of the "+
			"API has no key to encrypt them by")
	}
	plain, err := json.Marshal(s)
	if err != nil {
		return db.Sealed{}, fault.Newf(fault.Invalid, "headers and cookies cannot be written") // the cause may quote them
	}
	key, box, err := h.Secrets.Seal(draft.SecretsPurpose(event), plain)
	return db.Sealed{Key: key, Box: box}, err
}

// DraftRequestState is the answer of GET /crawl-requests/{event_id}.
type DraftRequestState struct {
	EventID     uuid.UUID        `json:"event_id"`
	State       string           `json:"state" enum:"queued,running,succeeded,failed,dead,canceled" doc:"failed: there is a draft with the reason; dead: there is no draft, and an operator must decide"`
	URL         string           `json:"url,omitempty"`
	RequestedAt *time.Time       `json:"requested_at,omitempty" doc:"absent when it came through RabbitMQ"`
	DraftID     *uuid.UUID       `json:"draft_id,omitempty"`
	DeadLetter  *int64           `json:"dead_letter,omitempty" doc:"for POST /dead-letters/{id}/replay"`
	Error       string           `json:"error,omitempty"`
	CanceledBy  string           `json:"canceled_by,omitempty"`
	CanceledAt  *time.Time       `json:"canceled_at,omitempty"`
	Workflow    api.WorkflowLink `json:"workflow"`
	Warning     string           `json:"warning,omitempty" doc:"what an operator should know"`
}

type crawlRequestInput struct {
	EventID uuid.UUID `path:"event_id"`
}

func (h Drafts) state(ctx context.Context, in *crawlRequestInput) (*api.Body[DraftRequestState], error) {
	id := in.EventID
	known, err := h.Store.Request(ctx, id, h.Requests.Queue)
	if err != nil {
		return nil, err
	}
	out := DraftRequestState{
		EventID: id, RequestedAt: known.RequestedAt, DraftID: known.DraftID, DeadLetter: known.DeadLetter,
		URL: api.TextOf(known.URL), Error: api.TextOf(known.Error), Workflow: h.link(id),
		CanceledBy: api.TextOf(known.CanceledBy), CanceledAt: known.CanceledAt,
	}
	switch {
	case known.DraftID != nil:
		out.State = api.TextOf(known.Outcome)
	case known.Canceled:
		out.State, out.DeadLetter, out.Error = "canceled", nil, ""
	case known.DeadLetter != nil && api.TextOf(known.DeadState) != "replayed":
		out.State = "dead"
	default:
		out.DeadLetter, out.Error = nil, ""
		if err := h.follow(ctx, known, &out); err != nil {
			return nil, err
		}
	}
	return api.BodyOf(out), nil
}

// follow sets the state of a request that Postgres has no end of to that of its workflow. While Temporal is away, one
// that Postgres knows is queued, with a warning.
func (h Drafts) follow(ctx context.Context, known dbdrafts.DraftRequestState, out *DraftRequestState) error {
	asking, cancel := context.WithTimeout(ctx, api.ReachWithin)
	defer cancel()
	running, err := h.Launch.DraftState(asking, out.EventID)
	stored := known.RequestedAt != nil || known.DeadLetter != nil
	switch {
	case err != nil && (!stored || ctx.Err() != nil):
		return err
	case err != nil:
		h.door.Log.WarnContext(ctx, "cannot ask for the workflow of a crawl request", "event_id", out.EventID, "err", err)
		out.State, out.Warning = "queued", "Temporal does not answer: it may be running, or have failed"
	case running == launch.DraftRunning || running == launch.DraftEnded: // ended this instant
		out.State = "running"
	case known.DeadLetter != nil: // it is replayed, and the run that failed is the one before
		out.State = "queued"
	case running == launch.DraftFailed:
		out.State, out.Error = "dead", "the workflow failed; the Temporal Web UI shows why"
	case stored:
		out.State = "queued"
	default:
		return fault.Newf(fault.Gone, "there is no crawl request %s", out.EventID)
	}
	return nil
}

// cancel stores the cancel first: it holds whether or not the workflow can be reached.
func (h Drafts) cancel(ctx context.Context, in *crawlRequestInput) (*api.Body[DraftRequestState], error) {
	id := in.EventID
	known, err := h.Store.Request(ctx, id, h.Requests.Queue)
	if err != nil {
		return nil, err
	}
	running := known.DeadLetter != nil // Temporal may have forgotten it
	if known.RequestedAt == nil && known.DraftID == nil && !known.Canceled && !running {
		state, err := h.Launch.DraftState(ctx, id)
		if err != nil {
			return nil, err
		}
		running = state != launch.DraftUnknown
	}
	if err := h.Store.CancelDraft(ctx, id, running, api.CallerOf(ctx).Name, h.door.Now()); err != nil {
		return nil, err
	}
	warning := h.door.Reach(ctx, draft.WorkflowID(id), func(ctx context.Context) error {
		return h.Launch.CancelDraft(ctx, id)
	})
	out, err := h.state(ctx, in)
	if err != nil {
		return nil, err
	}
	out.Body.Warning = warning
	return out, nil
}

type listCrawlRequestsInput struct {
	State  string    `query:"state" doc:"pending: queued or running, see GET /crawl-requests/{event_id}" example:"failed,dead"`
	Since  time.Time `query:"since" doc:"requested at this time or later, RFC 3339"`
	Limit  int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string    `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page, for the same query"`

	states []string
	after  *db.Position
}

// requestOrder is the only order of crawl requests, for their cursors.
const requestOrder = "crawl-requests"

// Resolve reads the cursor.
func (in *listCrawlRequestsInput) Resolve(ctx huma.Context) (wrong []error) {
	in.after, wrong = api.ReadPage(ctx, in.Cursor, requestOrder, in.Filters()...)
	return wrong
}

func (in *listCrawlRequestsInput) Filters() []api.Filter {
	return []api.Filter{{Name: "state", Values: &in.states, Known: dbdrafts.DraftRequestStates}}
}

// A DraftRequestSummary is a crawl request in a list.
type DraftRequestSummary struct {
	EventID     uuid.UUID  `json:"event_id"`
	URL         string     `json:"url"`
	OutDir      string     `json:"out_dir,omitempty" doc:"as asked for"`
	Locale      string     `json:"locale,omitempty" doc:"as asked for"`
	RequestedAt time.Time  `json:"requested_at"`
	State       string     `json:"state" doc:"failed: there is a draft with the reason; dead: there is no draft, and an operator must decide"`
	DraftID     *uuid.UUID `json:"draft_id,omitempty"`
	Error       *string    `json:"error,omitempty"`
	DeadLetter  *int64     `json:"dead_letter,omitempty" doc:"for POST /dead-letters/{id}/replay"`
}

// TransformSchema implements huma.SchemaTransformer.
func (DraftRequestSummary) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return api.OfThese(s, "state", dbdrafts.DraftRequestStates)
}

// DraftRequestPage is the answer of GET /crawl-requests.
type DraftRequestPage api.Page[DraftRequestSummary]

func (h Drafts) requests(ctx context.Context, in *listCrawlRequestsInput) (*api.Body[DraftRequestPage], error) {
	f := dbdrafts.DraftRequestFilter{State: in.states, After: in.after, Limit: in.Limit}
	if !in.Since.IsZero() {
		f.Since = &in.Since
	}
	rows, next, err := h.Store.Requests(ctx, f, h.Requests.Queue)
	if err != nil {
		return nil, err
	}
	show := func(r dbdrafts.DraftRequestSummary) DraftRequestSummary { return DraftRequestSummary(r) }
	return api.BodyOf(DraftRequestPage(api.PageOf(rows, show, api.CursorAt(next, requestOrder)))), nil
}

// link is the workflow of a crawl request.
func (h Drafts) link(event uuid.UUID) api.WorkflowLink {
	return h.door.Workflow(draft.WorkflowID(event))
}

type searchDraftsInput struct {
	Outcome      string    `query:"outcome"`
	Host         string    `query:"host" doc:"of url, without a port" example:"shop.example"`
	URL          string    `query:"url" maxLength:"2048" doc:"exactly as requested"`
	Name         string    `query:"name" maxLength:"200" doc:"a part of the product's name, ignoring case"`
	Brand        string    `query:"brand" doc:"ignoring case"`
	SKU          string    `query:"sku"`
	GTIN         string    `query:"gtin" example:"4006381333931"`
	MPN          string    `query:"mpn"`
	Availability string    `query:"availability" example:"InStock"`
	Currency     string    `query:"currency" doc:"ISO 4217" example:"EUR"`
	MinPrice     string    `query:"min_price" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" doc:"inclusive, in any currency; combine with currency"`
	MaxPrice     string    `query:"max_price" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" doc:"inclusive"`
	Since        time.Time `query:"since" doc:"made at this time or later, RFC 3339"`
	Limit        int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor       string    `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page, for the same query"`

	after *db.Position

	outcomes, hosts, brands, skus, gtins, mpns, availabilities, currencies []string
}

// draftOrder is the only order of drafts, for their cursors.
const draftOrder = "drafts"

// Resolve checks what a schema cannot express.
func (in *searchDraftsInput) Resolve(ctx huma.Context) (wrong []error) {
	var err error
	in.after, err = api.ParseCursor(in.Cursor, draftOrder)
	return slices.Concat(api.WrongCursor(in.Cursor, err), api.WrongText("query.name", in.Name),
		api.WrongText("query.url", in.URL), api.AnyOf(ctx, in.Filters()...))
}

func (in *searchDraftsInput) Filters() []api.Filter {
	return []api.Filter{
		{Name: "outcome", Values: &in.outcomes, Known: draft.Outcomes},
		{Name: "host", Values: &in.hosts},
		{Name: "brand", Values: &in.brands, Commas: true},
		{Name: "sku", Values: &in.skus, Commas: true},
		{Name: "gtin", Values: &in.gtins, Form: gtinForm},
		{Name: "mpn", Values: &in.mpns, Commas: true},
		{Name: "availability", Values: &in.availabilities},
		{Name: "currency", Values: &in.currencies, Form: currencyForm},
	}
}

// gtinForm and currencyForm are the forms of their values.
var (
	gtinForm     = regexp.MustCompile(`^[0-9]{8,14}$`)
	currencyForm = regexp.MustCompile(`^[A-Z]{3}$`)
)

// A DraftSummary is a draft in a list.
type DraftSummary struct {
	ID           uuid.UUID    `json:"id"`
	EventID      uuid.UUID    `json:"event_id" doc:"of the crawl request"`
	URL          string       `json:"url" doc:"as requested"`
	FinalURL     *string      `json:"final_url,omitempty" doc:"after redirects"`
	Outcome      string       `json:"outcome"`
	Class        string       `json:"class,omitempty" doc:"of the failure: transient ones may succeed another time"`
	Error        string       `json:"error,omitempty" doc:"why it failed"`
	Status       *int         `json:"status,omitempty" doc:"HTTP"`
	Name         *string      `json:"name,omitempty"`
	Brand        *string      `json:"brand,omitempty"`
	Price        *string      `json:"price,omitempty" doc:"decimal" example:"1299.00"`
	Currency     *string      `json:"currency,omitempty" doc:"ISO 4217"`
	Availability *string      `json:"availability,omitempty" doc:"of schema.org" example:"InStock"`
	SKU          *string      `json:"sku,omitempty"`
	GTIN         *string      `json:"gtin,omitempty"`
	MPN          *string      `json:"mpn,omitempty"`
	OutDir       string       `json:"out_dir" doc:"folder of its files on the worker"`
	Files        []draft.File `json:"files" doc:"for GET /drafts/{id}/files/{name}"`
	CrawledAt    time.Time    `json:"crawled_at"`
	TookMS       int64        `json:"took_ms" doc:"milliseconds from opening the page to storing its files"`
	CreatedAt    time.Time    `json:"created_at"`
	UpdatedAt    time.Time    `json:"updated_at"`
}

// TransformSchema implements huma.SchemaTransformer.
func (DraftSummary) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return api.OfThese(s, "outcome", draft.Outcomes)
}

func showDraft(d dbdrafts.DraftSummary) DraftSummary { return DraftSummary(d) }

// DraftPage is the answer of GET /drafts.
type DraftPage api.Page[DraftSummary]

func (h Drafts) search(ctx context.Context, in *searchDraftsInput) (*api.Body[DraftPage], error) {
	f := dbdrafts.DraftFilter{
		Outcome: in.outcomes, Host: in.hosts, URL: in.URL, Name: in.Name, Brand: in.brands, SKU: in.skus, GTIN: in.gtins,
		MPN: in.mpns, Availability: in.availabilities, Currency: in.currencies, MinPrice: in.MinPrice,
		MaxPrice: in.MaxPrice, After: in.after, Limit: in.Limit,
	}
	if !in.Since.IsZero() {
		f.Since = &in.Since
	}
	rows, next, err := h.Store.Search(ctx, f)
	return api.BodyOf(DraftPage(api.PageOf(rows, showDraft, api.CursorAt(next, draftOrder)))), err
}

type draftInput struct {
	ID uuid.UUID `path:"id" doc:"the draft's ID"`
}

// DraftAnswer is the answer of GET /drafts/{id}.
type DraftAnswer struct {
	DraftSummary
	Redirects []string     `json:"redirects" doc:"the addresses before final_url, in order, beginning with url"`
	Unstable  bool         `json:"unstable" doc:"the page was still changing when it was read"`
	Draft     *draft.Draft `json:"draft,omitempty" doc:"every value with its source and a confidence; absent where there was no page"`

	Candidates []draft.Candidate `json:"candidates" doc:"values that were read for the fields and are not in the draft, at most eight of each field, the likelier ones first; why: weaker, too_little, of_another (product), free (zero), shops_own (the SKU again), contradicted (by what shows), no_product"`

	Locale  string `json:"locale,omitempty" doc:"as asked for; absent where a message asked and no page was read"`
	Secrets bool   `json:"secrets" doc:"it was asked for with headers or cookies, which are not kept; false where a message asked and no page was read"`

	Workflow api.WorkflowLink `json:"workflow"`
}

func (h Drafts) get(ctx context.Context, in *draftInput) (*api.Body[DraftAnswer], error) {
	d, err := h.Store.Draft(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return api.BodyOf(DraftAnswer{
		showDraft(d.DraftSummary), d.Redirects, d.Unstable, d.Draft, append([]draft.Candidate{}, d.Candidates...),
		d.Locale, d.Sealed, h.link(d.EventID),
	}), nil
}

// sandbox lets a browser show the saved page of a shop without running its scripts or loading anything.
const sandbox = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors "

type draftFileInput struct {
	ID   uuid.UUID `path:"id" doc:"the draft's ID"`
	Name string    `path:"name" enum:"page.html,screenshot.png,draft.json"`
}

func (h Drafts) file(ctx context.Context, in *draftFileInput) (*huma.StreamResponse, error) {
	object, err := h.open(ctx, in.ID, in.Name)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer object.Close()
		c := humagin.Unwrap(hc)
		c.Header("Content-Security-Policy", sandbox+"'none'")
		c.Header("X-DNS-Prefetch-Control", "off")      // the policy says nothing of links' hosts
		c.Header("Cache-Control", "private, no-cache") // the same draft may be made anew
		if in.Name != "page.html" {
			api.Send(c, object, object)
			return
		}
		// The console shows the page in a frame. It stays a stranger there: the sandbox gives it an origin of its own.
		c.Header("Content-Security-Policy", sandbox+"'self'")
		c.Header("X-Frame-Options", "SAMEORIGIN")
		c.Request.Header.Del("Range") // a part of the page could begin within a tag
		api.Send(c, object, &unlinked{page: object})
	}}, nil
}

// open finds a file within RequestTimeout; reading it may take as long as ctx.
func (h Drafts) open(ctx context.Context, id uuid.UUID, name string) (*blob.Object, error) {
	finding, cancel := context.WithTimeout(ctx, api.RequestTimeout)
	defer cancel()
	d, err := h.Store.Draft(finding, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.Files, func(f draft.File) bool { return f.Name == name })
	if i < 0 {
		return nil, fault.Newf(fault.Gone, "draft %s has no file %.80q", d.ID, name)
	}
	object, err := h.Blobs.Open(ctx, d.Files[i].Key)
	if class := fault.ClassOf(err); class == fault.Invalid || class == fault.Gone { // its text names folders of the store
		h.door.Log.WarnContext(ctx, "a file of a draft is not there", "draft_id", d.ID, "err", err)
		err = fault.Newf(fault.Gone, "the file %s of draft %s is not stored any more", name, d.ID)
	}
	return object, err
}

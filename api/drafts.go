package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/blob"
	"github.com/mtlrent/conveyor/internal/launch"
)

// DraftRequests says where crawl requests are published, and consumed.
type DraftRequests struct {
	db.Target
	Queue string
	Ours  bool // false: others take them, and nobody is asked for one here
}

// drafts serves /crawl-requests and /drafts.
type drafts struct {
	store    *db.Drafts
	start    Starter
	blobs    *blob.Store
	requests DraftRequests
	log      *slog.Logger
	link     func(workflowID string) WorkflowLink
	now      func() time.Time
}

func (h *drafts) register(a huma.API) {
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "request-crawl", Method: http.MethodPost, Path: "/crawl-requests", Tags: []string{"drafts"},
		Summary: "Ask for a product draft of a page", DefaultStatus: http.StatusAccepted, Errors: []int{409, 422, 503},
		Description: "Publishes a crawl request, as other services do by RabbitMQ. Repeat it with the same event_id, or the " +
			"same Idempotency-Key, as often as you like: it is one draft. GET on Location says what came of it.",
	}), h.request)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "get-crawl-request", Method: http.MethodGet, Path: "/crawl-requests/{event_id}",
		Tags: []string{"drafts"}, Summary: "See what came of a crawl request", Errors: []int{404, 422, 503},
		Description: "Also of one that came by RabbitMQ.",
	}), h.state)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "search-drafts", Method: http.MethodGet, Path: "/drafts", Tags: []string{"drafts"},
		Summary: "Search drafts", Errors: []int{422, 503}, RejectUnknownQueryParameters: true,
		Description: "The newest first. Filters combine. Pages are by position: pass next_cursor as cursor.",
	}), h.search)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "get-draft", Method: http.MethodGet, Path: "/drafts/{id}", Tags: []string{"drafts"},
		Summary: "Get a draft, with where each value was found", Errors: []int{404, 422, 503},
	}), h.get)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "get-draft-file", Method: http.MethodGet, Path: "/drafts/{id}/files/{name}", Tags: []string{"drafts"},
		Summary: "Get a file of a draft", Errors: []int{404, 422, 503}, Metadata: map[string]any{timeoutKey: pictureTimeout},
		Description: "The page as it was after its scripts ran, its screenshot, or the draft as a document.",
		Responses: map[string]*huma.Response{"200": {Description: "The file", Content: map[string]*huma.MediaType{
			"text/html": {}, "image/png": {}, "application/json": {},
		}}},
	}), h.file)
}

// DraftRequest is what POST /crawl-requests takes.
type DraftRequest struct {
	URL     string     `json:"url" doc:"of the product's page, http or https" example:"https://shop.example/p/123"`
	OutDir  string     `json:"out_dir,omitempty" doc:"folder for its files on the worker, below CONVEYOR_OUT_ROOT; out if left out"`
	EventID *uuid.UUID `json:"event_id,omitempty" doc:"chosen by the caller, so that the request can be repeated"`
}

type draftRequestInput struct {
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"any text: the same one of the same caller is the same event_id"`
	Body DraftRequest

	request draft.Request
}

// Resolve says of the request what the bridge would say of its message.
func (in *draftRequestInput) Resolve(huma.Context) (wrong []error) {
	in.request = draft.Request{URL: strings.TrimSpace(in.Body.URL), OutDir: strings.TrimSpace(in.Body.OutDir)}
	var fields contract.Errors
	if errors.As(contract.CrawlRequest{URL: in.request.URL, OutDir: in.request.OutDir}.Check(), &fields) {
		for _, f := range fields {
			name := strings.TrimPrefix(f.Field, "data.")
			value := in.request.URL
			if name == "out_dir" {
				value = in.request.OutDir
			}
			wrong = append(wrong, &huma.ErrorDetail{Message: f.Reason, Location: "body." + name, Value: value})
		}
	}
	if in.Body.EventID != nil && *in.Body.EventID == uuid.Nil {
		wrong = append(wrong, &huma.ErrorDetail{Message: "is the UUID of nothing", Location: "body.event_id"})
	}
	return wrong
}

// keyed is the namespace of event IDs that are made of an Idempotency-Key.
var keyed = uuid.MustParse("0c2ff5a0-6f43-5a9c-8d55-0d1c6f8f2a4e")

// DraftRequestAccepted is the answer of POST /crawl-requests.
type DraftRequestAccepted struct {
	EventID uuid.UUID `json:"event_id"`
	DraftID uuid.UUID `json:"draft_id" doc:"of the draft that will be"`
}

type draftRequestOutput struct {
	Location string `header:"Location" doc:"where to see what came of it"`
	Body     DraftRequestAccepted
}

func (h *drafts) request(ctx context.Context, in *draftRequestInput) (*draftRequestOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if !h.requests.Ours {
		return nil, problem(ctx, h.log, fault.Newf(fault.Conflict, "crawl requests are not taken here (CONVEYOR_CRAWL_REQUESTS)"))
	}
	by := callerOf(ctx).Name
	switch {
	case in.Body.EventID != nil:
		in.request.EventID = *in.Body.EventID
	case in.Key != "":
		in.request.EventID = uuid.NewSHA1(keyed, []byte(by+"\x00"+in.Key))
	default:
		in.request.EventID = uuid.New()
	}
	if err := h.store.RequestDraft(ctx, in.request, by, h.requests.Target, h.now()); err != nil {
		return nil, problem(ctx, h.log, err)
	}
	id := in.request.EventID
	return &draftRequestOutput{"/crawl-requests/" + id.String(), DraftRequestAccepted{id, draft.ID(id)}}, nil
}

// DraftRequestState is the answer of GET /crawl-requests/{event_id}.
type DraftRequestState struct {
	EventID     uuid.UUID    `json:"event_id"`
	State       string       `json:"state" enum:"queued,running,succeeded,failed,dead" doc:"failed: there is a draft that says why; dead: there is none, and a person decides"`
	URL         string       `json:"url,omitempty"`
	RequestedAt *time.Time   `json:"requested_at,omitempty" doc:"by REST"`
	DraftID     *uuid.UUID   `json:"draft_id,omitempty"`
	DeadLetter  *int64       `json:"dead_letter,omitempty" doc:"for POST /dead-letters/{id}/replay"`
	Error       string       `json:"error,omitempty"`
	Workflow    WorkflowLink `json:"workflow"`
}

type draftRequestStateInput struct {
	EventID string `path:"event_id" format:"uuid"`
}

type draftRequestStateOutput struct{ Body DraftRequestState }

func (h *drafts) state(ctx context.Context, in *draftRequestStateInput) (*draftRequestStateOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	id, err := uuid.Parse(in.EventID)
	if err != nil {
		return nil, problem(ctx, h.log, fault.Newf(fault.Invalid, "event_id: %q is not a UUID", in.EventID))
	}
	known, err := h.store.Request(ctx, id, h.requests.Queue)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := DraftRequestState{
		EventID: id, RequestedAt: known.RequestedAt, DraftID: known.DraftID, DeadLetter: known.DeadLetter,
		URL: text(known.URL), Error: text(known.Error), Workflow: h.link(draft.WorkflowID(id)),
	}
	switch {
	case known.DraftID != nil:
		out.State = text(known.Outcome)
	case known.DeadLetter != nil && text(known.DeadState) != "replayed":
		out.State = "dead"
	default:
		out.DeadLetter, out.Error = nil, ""
		running, err := h.start.DraftState(ctx, id)
		if err != nil {
			return nil, problem(ctx, h.log, err)
		}
		switch {
		case running == launch.DraftRunning || running == launch.DraftEnded: // ended this instant
			out.State = "running"
		case known.DeadLetter != nil: // it is replayed, and what failed is the run before
			out.State = "queued"
		case running == launch.DraftFailed:
			out.State, out.Error = "dead", "the workflow failed, and says why"
		case known.RequestedAt != nil:
			out.State = "queued"
		default:
			return nil, problem(ctx, h.log, fault.Newf(fault.Gone, "there is no crawl request %s", id))
		}
	}
	return &draftRequestStateOutput{out}, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

type draftsInput struct {
	Outcome      string    `query:"outcome" enum:"succeeded,failed"`
	Host         string    `query:"host" maxLength:"253" doc:"of url, without a port" example:"shop.example"`
	URL          string    `query:"url" maxLength:"2048" doc:"exactly as it was asked for"`
	Name         string    `query:"name" maxLength:"200" doc:"a part of the product's name, whatever its case"`
	Brand        string    `query:"brand" maxLength:"200" doc:"whatever its case"`
	SKU          string    `query:"sku" maxLength:"200"`
	GTIN         string    `query:"gtin" pattern:"^[0-9]{8,14}$"`
	MPN          string    `query:"mpn" maxLength:"200"`
	Availability string    `query:"availability" maxLength:"40" example:"InStock"`
	Currency     string    `query:"currency" pattern:"^[A-Z]{3}$" doc:"ISO 4217" example:"EUR"`
	MinPrice     string    `query:"min_price" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" doc:"inclusive, in whatever currency; combine with currency"`
	MaxPrice     string    `query:"max_price" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" doc:"inclusive"`
	Since        time.Time `query:"since" doc:"made at this time or later, RFC 3339"`
	Limit        int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor       string    `query:"cursor" maxLength:"400" doc:"next_cursor of the page before, for the same query"`

	after *db.Position
}

// draftOrder is the only order of drafts, for their cursors.
const draftOrder = "drafts"

// Resolve checks what a schema cannot say.
func (in *draftsInput) Resolve(huma.Context) (wrong []error) {
	var err error
	if in.after, err = parseCursor(in.Cursor, draftOrder); err != nil {
		wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: "query.cursor", Value: in.Cursor})
	}
	for name, s := range map[string]string{
		"name": in.Name, "brand": in.Brand, "sku": in.SKU, "mpn": in.MPN, "url": in.URL, "availability": in.Availability,
	} {
		if strings.ContainsRune(s, 0) || strings.ToValidUTF8(s, "") != s {
			wrong = append(wrong, &huma.ErrorDetail{Message: "expected text in UTF-8 without NUL", Location: "query." + name})
		}
	}
	return wrong
}

// DraftPage is the answer of GET /drafts.
type DraftPage struct {
	Items      []db.DraftSummary `json:"items"`
	NextCursor string            `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

type draftsOutput struct{ Body DraftPage }

func (h *drafts) search(ctx context.Context, in *draftsInput) (*draftsOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	f := db.DraftFilter{
		Outcome: in.Outcome, Host: in.Host, URL: in.URL, Name: in.Name, Brand: in.Brand, SKU: in.SKU, GTIN: in.GTIN,
		MPN: in.MPN, Availability: in.Availability, Currency: in.Currency, MinPrice: in.MinPrice, MaxPrice: in.MaxPrice,
		After: in.after, Limit: in.Limit,
	}
	if !in.Since.IsZero() {
		f.Since = &in.Since
	}
	page, next, err := h.store.Search(ctx, f)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := &draftsOutput{DraftPage{Items: page}}
	if next != nil {
		out.Body.NextCursor = writeCursor(*next, draftOrder)
	}
	return out, nil
}

type draftInput struct {
	ID string `path:"id" format:"uuid" doc:"the draft's ID"`
}

// DraftAnswer is the answer of GET /drafts/{id}.
type DraftAnswer struct {
	db.DraftDetail
	Workflow WorkflowLink `json:"workflow"`
}

type draftOutput struct{ Body DraftAnswer }

func (h *drafts) get(ctx context.Context, in *draftInput) (*draftOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	d, err := h.find(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &draftOutput{DraftAnswer{d, h.link(draft.WorkflowID(d.EventID))}}, nil
}

func (h *drafts) find(ctx context.Context, text string) (db.DraftDetail, error) {
	id, err := uuid.Parse(text)
	if err != nil {
		return db.DraftDetail{}, fault.Newf(fault.Invalid, "id: %q is not a UUID", text)
	}
	return h.store.Draft(ctx, id)
}

// sandbox shows a stranger's page for what it looked like: none of its scripts run, and it asks nobody anything.
const sandbox = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

type draftFileInput struct {
	ID   string `path:"id" format:"uuid" doc:"the draft's ID"`
	Name string `path:"name" enum:"page.html,screenshot.png,draft.json"`
}

func (h *drafts) file(ctx context.Context, in *draftFileInput) (*huma.StreamResponse, error) {
	object, err := h.open(ctx, in.ID, in.Name)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		defer object.Close()
		c := humagin.Unwrap(hc)
		c.Header("Content-Type", object.ContentType)
		c.Header("Content-Security-Policy", sandbox)
		c.Header("ETag", object.ETag)
		c.Header("Cache-Control", "private, no-cache") // the same draft may be made anew
		http.ServeContent(c.Writer, c.Request, "", object.ModTime, object)
	}}, nil
}

func (h *drafts) open(ctx context.Context, id, name string) (*blob.Object, error) {
	finding, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	d, err := h.find(finding, id)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.Files, func(f draft.File) bool { return f.Name == name })
	if i < 0 {
		return nil, fault.Newf(fault.Gone, "draft %s has no file %.80q", d.ID, name)
	}
	return h.blobs.Open(ctx, d.Files[i].Key)
}

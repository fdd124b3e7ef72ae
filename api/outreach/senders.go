package outreach

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/secret"
	"github.com/mtlrent/conveyor/internal/whatsapp"
)

// Senders serves the telephone numbers that tenants send from.
type Senders struct {
	Store   *dboutreach.Senders
	Audit   *db.AuditLog
	Secrets *secret.Box // seals their tokens
	// BindTokens seals them for their tenant and number too.
	BindTokens bool
	Wakes      *Wakes

	door *api.Door
}

// Register implements api.Part.
func (h Senders) Register(d *api.Door) {
	h.door = d
	api.Serve(d, api.Needs(access.Operate, api.Op("tenants", "list-tenant-senders", "GET /tenants/{tenant}/senders",
		"List the telephone numbers that a tenant sends from",
		"")), func(ctx context.Context, in *tenantPathInput) (*api.Body[SenderList], error) {
		return h.list(ctx, in.Tenant)
	})
	api.Serve(d, api.Needs(access.Admin, api.Op("tenants", "add-sender", "POST /tenants/{tenant}/senders",
		"Add a telephone number that a tenant sends from",
		"The access token is stored encrypted by the first of CONVEYOR_SECRET_KEYS, and is never shown. A number belongs to one "+
			"tenant.", 201, 409)), h.add)
	api.Serve(d, api.Needs(access.Operate, api.Op("tenants", "get-sender", "GET /tenants/{tenant}/senders/{id}",
		"Get a telephone number of a tenant", "")), h.get)
	api.Serve(d, api.Needs(access.Admin, api.Op("tenants", "change-sender", "PATCH /tenants/{tenant}/senders/{id}",
		"Change a telephone number of a tenant: its token, rate and state",
		"Omitted fields are unchanged. Messages of a number that is paused or stopped wait.", 409)), h.change)
	api.Serve(d, api.Needs(access.Admin, api.Within(resealTimeout, api.Op("tenants", "reseal-tokens",
		"POST /senders/reseal", "Encrypt what is stored encrypted by the first of CONVEYOR_SECRET_KEYS",
		"Access tokens, addresses of saved searches, headers and cookies of crawl requests, the keys that e-mail addresses "+
			"and opt-outs are hashed by; not the credentials of scrapers' proxies, which are given anew. After a new key was "+
			"put first, in every process: the old one may be taken away when the answer is 200. It may be repeated; after a "+
			"503, that does the rest.", 409))), h.reseal)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("campaigns", "list-senders", "GET /senders",
		"List the telephone numbers to send from",
		"")), func(ctx context.Context, tenant string, _ *tenantInput) (*api.Body[SenderList], error) {
		return h.list(ctx, tenant)
	})
}

// resealTimeout bounds POST /senders/reseal: some ten thousand tokens.
const resealTimeout = time.Minute

// A Sender is a telephone number of a WhatsApp business account, without its token.
type Sender struct {
	ID                uuid.UUID  `json:"id"`
	Name              string     `json:"name" doc:"once in a tenant"`
	PhoneNumberID     string     `json:"phone_number_id" doc:"Meta's"`
	BusinessAccountID string     `json:"business_account_id" doc:"Meta's"`
	TokenKey          string     `json:"token_key" doc:"ID of the key that its token is encrypted by"`
	PerSecond         int        `json:"per_second" doc:"messages, at most"`
	State             string     `json:"state" enum:"active,paused,stopped" doc:"messages of a paused or stopped one wait; one is stopped until an operator resumes it"`
	PausedUntil       *time.Time `json:"paused_until,omitempty" doc:"absent: until an operator resumes it"`
	Reason            string     `json:"reason,omitempty" doc:"why it is not active"`
	CreatedAt         time.Time  `json:"created_at"`
	UpdatedAt         time.Time  `json:"updated_at"`
}

func showSender(s dboutreach.Sender) Sender {
	return Sender{
		ID: s.ID, Name: s.Name, PhoneNumberID: s.PhoneNumberID, BusinessAccountID: s.BusinessAccountID,
		TokenKey: s.TokenKey, PerSecond: s.PerSecond, State: string(s.State), PausedUntil: s.PausedUntil, Reason: s.Reason,
		CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
}

// SenderList is the answer of GET /senders.
type SenderList struct {
	Items []Sender `json:"items"`
}

func (h Senders) list(ctx context.Context, tenant string) (*api.Body[SenderList], error) {
	if _, err := h.door.Tenants.Get(ctx, tenant); err != nil {
		return nil, err
	}
	list, err := h.Store.List(ctx, tenant)
	return api.BodyOf(SenderList{api.Listed(list, showSender)}), err
}

// SenderStart is the body of POST /tenants/{tenant}/senders.
type SenderStart struct {
	Name              string `json:"name" minLength:"1" maxLength:"200" doc:"once in a tenant"`
	PhoneNumberID     string `json:"phone_number_id" pattern:"^[0-9]{1,32}$" doc:"Meta's" example:"106540352242922"`
	BusinessAccountID string `json:"business_account_id" pattern:"^[0-9]{1,32}$" doc:"Meta's" example:"102290129340398"`
	Token             Token  `json:"token" doc:"by which Meta lets messages be sent; it is not shown again"`
	PerSecond         int    `json:"per_second,omitempty" minimum:"1" maximum:"1000" default:"80" doc:"messages, at most"`
}

// A Token is an access token of Meta.
type Token string

// Schema implements huma.SchemaProvider.
func (Token) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, WriteOnly: true}
}

// wrong refuses a text that is no token, without repeating it.
func (t Token) wrong() []error {
	if whatsapp.ValidToken(string(t)) {
		return nil
	}
	return []error{&huma.ErrorDetail{
		Location: "body.token",
		Message:  fmt.Sprintf("expected 1 to %d characters of ASCII without spaces", whatsapp.MaxToken),
	}}
}

type addSenderInput struct {
	Tenant string `path:"tenant" maxLength:"40"`
	Body   SenderStart
}

// Resolve checks the token.
func (in *addSenderInput) Resolve(huma.Context) []error { return in.Body.Token.wrong() }

type senderOutput struct {
	Status   int
	Location string `header:"Location"`
	Body     Sender
}

func (h Senders) add(ctx context.Context, in *addSenderInput) (*senderOutput, error) {
	b, id := in.Body, uuid.New()
	token, err := h.seal(in.Tenant, id, b.PhoneNumberID, b.Token)
	if err != nil {
		return nil, err
	}
	s := dboutreach.Sender{
		ID: id, Tenant: in.Tenant, Name: b.Name, PhoneNumberID: b.PhoneNumberID, BusinessAccountID: b.BusinessAccountID,
		PerSecond: b.PerSecond, CreatedAt: h.door.Now(),
	}
	if err := h.Store.Add(ctx, s, token, api.CallerOf(ctx).Name); err != nil {
		return nil, err
	}
	if s, err = h.Store.Get(ctx, in.Tenant, id); err != nil {
		return nil, err
	}
	return &senderOutput{
		Status: http.StatusCreated, Location: "/tenants/" + in.Tenant + "/senders/" + id.String(), Body: showSender(s),
	}, nil
}

// seal encrypts the token of a sender.
func (h Senders) seal(tenant string, id uuid.UUID, phoneNumberID string, t Token) (db.Sealed, error) {
	if h.Secrets.Key() == "" {
		return db.Sealed{}, fault.Newf(fault.Conflict, "access tokens cannot be stored: CONVEYOR_SECRET_KEYS of the API has "+
			"no key to encrypt them by")
	}
	key, box, err := h.Secrets.Seal(dboutreach.SenderPurposes(tenant, id, phoneNumberID, h.BindTokens)[0], []byte(t))
	return db.Sealed{Key: key, Box: box}, err
}

type senderInput struct {
	Tenant string    `path:"tenant" maxLength:"40"`
	ID     uuid.UUID `path:"id"`
}

func (h Senders) get(ctx context.Context, in *senderInput) (*senderOutput, error) {
	s, err := h.Store.Get(ctx, in.Tenant, in.ID)
	return &senderOutput{Status: http.StatusOK, Body: showSender(s)}, err
}

// SenderPatch is the body of PATCH /tenants/{tenant}/senders/{id}.
type SenderPatch struct {
	Name        *string    `json:"name,omitempty" minLength:"1" maxLength:"200"`
	PerSecond   *int       `json:"per_second,omitempty" minimum:"1" maximum:"1000"`
	State       *string    `json:"state,omitempty" enum:"active,paused,stopped"`
	PausedUntil *time.Time `json:"paused_until,omitempty" doc:"with state paused; absent: until it is resumed"`
	Reason      *string    `json:"reason,omitempty" maxLength:"1000" doc:"with state paused or stopped"`
	Token       *Token     `json:"token,omitempty" doc:"takes the place of its token"`
}

type changeSenderInput struct {
	Tenant string    `path:"tenant" maxLength:"40"`
	ID     uuid.UUID `path:"id"`
	Body   SenderPatch
}

// Resolve checks the token.
func (in *changeSenderInput) Resolve(huma.Context) []error {
	if in.Body.Token == nil {
		return nil
	}
	return in.Body.Token.wrong()
}

func (h Senders) change(ctx context.Context, in *changeSenderInput) (*senderOutput, error) {
	b := in.Body
	var token *db.Sealed
	if b.Token != nil {
		was, err := h.Store.Get(ctx, in.Tenant, in.ID)
		if err != nil {
			return nil, err
		}
		sealed, err := h.seal(in.Tenant, in.ID, was.PhoneNumberID, *b.Token)
		if err != nil {
			return nil, err
		}
		token = &sealed
	}
	by := api.CallerOf(ctx).Name
	s, err := h.Store.Change(ctx, in.Tenant, in.ID, token, by, h.door.Now(), func(s *dboutreach.Sender) {
		api.Set(&s.Name, b.Name)
		api.Set(&s.PerSecond, b.PerSecond)
		api.Set(&s.Reason, b.Reason)
		if b.State != nil {
			s.State, s.PausedUntil = dboutreach.SenderState(*b.State), nil
		}
		if b.PausedUntil != nil {
			s.PausedUntil = b.PausedUntil
		}
	})
	if err != nil {
		return nil, err
	}
	h.Wakes.Wake(ctx, in.Tenant)
	return &senderOutput{Status: http.StatusOK, Body: showSender(s)}, nil
}

// Resealed is the answer of POST /senders/reseal.
type Resealed struct {
	Key      string `json:"key" doc:"ID of the key that all tokens, and addresses of saved searches, are encrypted by now"`
	Resealed int    `json:"resealed" doc:"of them, those that were encrypted by another one"`
}

// resealBatch is how many tokens one transaction seals again.
const resealBatch = 500

func (h Senders) reseal(ctx context.Context, _ *struct{}) (*api.Body[Resealed], error) {
	out := Resealed{Key: h.Secrets.Key()}
	if out.Key == "" {
		return nil, fault.Newf(fault.Conflict, "CONVEYOR_SECRET_KEYS of the API has no key")
	}
	again := func(purposes []string, old db.Sealed) (db.Sealed, error) {
		if old.Key == out.Key {
			if _, err := h.Secrets.Open(purposes[0], old.Key, old.Box); err == nil {
				return old, nil
			}
		}
		plain, err := h.Secrets.OpenAny(old.Key, old.Box, purposes...)
		if err != nil {
			return db.Sealed{}, fault.Newf(fault.Conflict, "%w", err)
		}
		out.Resealed++
		key, box, err := h.Secrets.Seal(purposes[0], plain)
		return db.Sealed{Key: key, Box: box}, err
	}
	var wrong error
	for after := uuid.Nil; ; {
		last, err := h.Store.Reseal(ctx, out.Key, after, resealBatch, h.BindTokens, again)
		if wrong = err; err != nil || last == uuid.Nil {
			break
		}
		after = last
	}
	if out.Resealed > 0 {
		err := h.Audit.Record(ctx, db.AuditEntry{
			At: h.door.Now(), Actor: api.CallerOf(ctx).Name, Action: "senders.resealed", Subject: "secret-key/" + out.Key,
			Detail: map[string]any{"tokens": out.Resealed},
		})
		if wrong == nil {
			wrong = err
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	return api.BodyOf(out), nil
}

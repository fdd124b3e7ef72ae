package api

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// keys serves /keys.
type keys struct {
	store *db.Keys
	guard *Guard
	log   *slog.Logger
}

func (h *keys) register(a huma.API) {
	huma.Register(a, needs(access.Admin, huma.Operation{
		OperationID: "list-keys", Method: http.MethodGet, Path: "/keys", Tags: []string{"keys"},
		Summary: "List API keys", Errors: []int{503},
		Description: "Every key that there ever was, the oldest first; what opens is shown of none.",
	}), h.list)
	huma.Register(a, needs(access.Admin, huma.Operation{
		OperationID: "create-key", Method: http.MethodPost, Path: "/keys", Tags: []string{"keys"},
		Summary: "Make an API key", DefaultStatus: http.StatusCreated, Errors: []int{409, 422, 503},
		Description: "The answer holds the key, this once. The first key of a house shuts it: from then on every operation " +
			"asks for one.",
	}), h.create)
	huma.Register(a, needs(access.Admin, huma.Operation{
		OperationID: "revoke-key", Method: http.MethodDelete, Path: "/keys/{key}", Tags: []string{"keys"},
		Summary: "Revoke an API key", Errors: []int{404, 503},
		Description: "For good, and everywhere within 5 seconds. A key that is revoked already stays as it is.",
	}), h.revoke)
}

// KeyList is the answer of GET /keys.
type KeyList struct {
	Items []db.Key `json:"items"`
}

type listKeysOutput struct{ Body KeyList }

func (h *keys) list(ctx context.Context, _ *struct{}) (*listKeysOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	items, err := h.store.List(ctx)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &listKeysOutput{KeyList{items}}, nil
}

// KeyStart is what POST /keys takes.
type KeyStart struct {
	Name      string      `json:"name" minLength:"1" maxLength:"63" doc:"a-z, 0-9, dot, dash, underscore; used once"`
	Role      access.Role `json:"role" enum:"read,operate,admin"`
	ExpiresAt *time.Time  `json:"expires_at,omitempty" doc:"absent: never"`
}

// KeyMade is the answer of POST /keys.
type KeyMade struct {
	db.Key
	Secret string `json:"key" doc:"send it as Authorization: Bearer; it is shown this once"`
}

type createKeyInput struct{ Body KeyStart }

type createKeyOutput struct{ Body KeyMade }

func (h *keys) create(ctx context.Context, in *createKeyInput) (*createKeyOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	now := h.guard.o.Now()
	if err := access.CheckName(in.Body.Name); err != nil {
		return nil, problem(ctx, h.log, err)
	}
	if in.Body.ExpiresAt != nil && !in.Body.ExpiresAt.After(now) {
		return nil, problem(ctx, h.log, fault.Newf(fault.Invalid, "expires_at: is %s, expected a time to come",
			in.Body.ExpiresAt.Format(time.RFC3339)))
	}
	id, secret, err := access.NewKey(rand.Reader)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	k := db.Key{
		ID: id, Name: in.Body.Name, Role: in.Body.Role, CreatedAt: now.UTC(), CreatedBy: callerOf(ctx).Name,
		ExpiresAt: in.Body.ExpiresAt,
	}
	if err := h.store.Create(ctx, k, access.SumOf(secret)); err != nil {
		return nil, problem(ctx, h.log, err)
	}
	h.guard.forget()
	return &createKeyOutput{KeyMade{k, secret}}, nil
}

type revokeKeyInput struct {
	Key string `path:"key" maxLength:"63" doc:"its ID or its name"`
}

type revokeKeyOutput struct{ Body db.Key }

func (h *keys) revoke(ctx context.Context, in *revokeKeyInput) (*revokeKeyOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	k, err := h.store.Revoke(ctx, in.Key, callerOf(ctx).Name, h.guard.o.Now().UTC())
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	h.guard.forget()
	return &revokeKeyOutput{k}, nil
}

package api

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// Keys serves /keys. Times are those of the Guard's clock.
type Keys struct {
	Store *db.Keys

	door *Door
}

// Register implements Part.
func (h Keys) Register(d *Door) {
	h.door = d
	Serve(d, Needs(access.Admin, Op("keys", "list-keys", "GET /keys", "List API keys",
		"Every key ever created, the oldest first, without their secrets.")), h.list)
	Serve(d, Needs(access.Admin, Op("keys", "create-key", "POST /keys", "Create an API key",
		"The answer holds the key, which is not shown again. Creating the first key turns authentication on: from then on, "+
			"operations require a key or token.", 201, 409)), h.create)
	Serve(d, Needs(access.Admin, Op("keys", "revoke-key", "DELETE /keys/{key}", "Revoke an API key",
		"Permanently, in every process within 5 seconds. A key that is revoked already stays as it is.")), h.revoke)
}

// A Key is an API key without its secret.
type Key struct {
	ID         string      `json:"id" doc:"the first part of the key, after cvr_"`
	Name       string      `json:"name"`
	Role       access.Role `json:"role"`
	Tenant     string      `json:"tenant,omitempty" doc:"absent: of no tenant"`
	CreatedAt  time.Time   `json:"created_at"`
	CreatedBy  string      `json:"created_by"`
	ExpiresAt  *time.Time  `json:"expires_at,omitempty" doc:"absent: never"`
	RevokedAt  *time.Time  `json:"revoked_at,omitempty"`
	LastUsedAt *time.Time  `json:"last_used_at,omitempty" doc:"to about a minute"`
}

// ShowKey is a key without what it is known by.
func ShowKey(k db.Key) Key { return Key(k) }

// KeyList is the answer of GET /keys.
type KeyList struct {
	Items []Key `json:"items"`
}

func (h Keys) list(ctx context.Context, _ *struct{}) (*Body[KeyList], error) {
	list, err := h.Store.List(ctx)
	if err != nil {
		return nil, err
	}
	show := func(k db.Key) Key { return ShowKey(k.Within(h.door.guard.o.MaxAge)) }
	return BodyOf(KeyList{Each(list, show)}), nil
}

// KeyStart is the body of POST /keys.
type KeyStart struct {
	Name      string      `json:"name" minLength:"1" maxLength:"63" doc:"a-z, 0-9, dot, dash, underscore; never used before"`
	Role      access.Role `json:"role"`
	Tenant    string      `json:"tenant,omitempty" maxLength:"40" doc:"the key reads and changes data of this tenant only"`
	ExpiresAt *time.Time  `json:"expires_at,omitempty" doc:"absent: never"`
}

// KeyMade is the answer of POST /keys.
type KeyMade struct {
	Key
	Secret string `json:"key" doc:"send it as Authorization: Bearer; it is not shown again"`
}

type createKeyInput struct{ Body KeyStart }

func (h Keys) create(ctx context.Context, in *createKeyInput) (*Body[KeyMade], error) {
	now := h.door.guard.o.Now()
	if err := access.CheckName(in.Body.Name); err != nil {
		return nil, err
	}
	if err := h.door.guard.taken(in.Body.Name); err != nil {
		return nil, err
	}
	if in.Body.ExpiresAt != nil && !in.Body.ExpiresAt.After(now) {
		return nil, fault.Newf(fault.Invalid, "expires_at: is %s, expected a time in the future",
			in.Body.ExpiresAt.Format(time.RFC3339))
	}
	k := db.Key{
		Name: in.Body.Name, Role: in.Body.Role, Tenant: in.Body.Tenant, CreatedAt: now.UTC(),
		CreatedBy: CallerOf(ctx).Name, ExpiresAt: in.Body.ExpiresAt,
	}
	within := k.Within(h.door.guard.o.MaxAge)
	if k.ExpiresAt != nil && within.ExpiresAt.Before(*k.ExpiresAt) {
		return nil, fault.Newf(fault.Invalid, "expires_at: is %s, expected %s at the latest, by CONVEYOR_KEY_MAX_AGE",
			k.ExpiresAt.Format(time.RFC3339), within.ExpiresAt.Format(time.RFC3339))
	}
	k = within
	id, secret, err := access.NewKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	k.ID = id
	if err := h.Store.Create(ctx, k, access.SumOf(secret)); err != nil {
		return nil, err
	}
	h.door.guard.forget()
	return BodyOf(KeyMade{ShowKey(k), secret}), nil
}

type revokeKeyInput struct {
	Key string `path:"key" maxLength:"63" doc:"its ID or its name"`
}

func (h Keys) revoke(ctx context.Context, in *revokeKeyInput) (*Body[Key], error) {
	k, err := h.Store.Revoke(ctx, in.Key, CallerOf(ctx).Name, h.door.guard.o.Now().UTC())
	if err != nil {
		return nil, err
	}
	h.door.guard.forget()
	return BodyOf(ShowKey(k)), nil
}

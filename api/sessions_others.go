package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/fault"
)

// others registers what an admin sees and does of the sessions of all callers.
func (h Sessions) others(d *Door) {
	Serve(d, Needs(access.Admin, huma.Operation{
		OperationID: "list-sessions", Method: http.MethodGet, Path: "/sessions", Tags: []string{"session"},
		Summary:     "List the sessions of browsers",
		Description: "Those that are open, the last used first, at most 1,000.",
	}), h.list)
	Serve(d, Needs(access.Admin, huma.Operation{
		OperationID: "end-sessions", Method: http.MethodDelete, Path: "/sessions", Tags: []string{"session"},
		Summary: "End all sessions of a caller",
		Description: "In every process within 5 seconds. Who may still log in can open another: revoke the key, or take the " +
			"person's role away at the issuer, first. Without sessions of the caller nothing happens.",
	}), h.end)
}

// An OpenSession is a session of a browser, without its secret.
type OpenSession struct {
	ID        uuid.UUID   `json:"id" doc:"its name in the audit: session/ID"`
	Caller    string      `json:"caller" doc:"name of an API key, or oidc:SUBJECT"`
	KeyID     string      `json:"key_id,omitempty" doc:"of the API key that opened it; absent: a person, by OIDC"`
	Role      access.Role `json:"role,omitempty" doc:"of a person; absent: that of the key"`
	CreatedAt time.Time   `json:"created_at"`
	UsedAt    time.Time   `json:"used_at" doc:"to about a minute"`
	EndsAt    time.Time   `json:"ends_at" doc:"at the latest; 12 hours after used_at otherwise"`
}

// OpenSessionList is the answer of GET /sessions.
type OpenSessionList struct {
	Items []OpenSession `json:"items"`
}

func (h Sessions) list(ctx context.Context, _ *struct{}) (*Body[OpenSessionList], error) {
	store, err := h.store()
	if err != nil {
		return nil, err
	}
	list, err := store.List(ctx, h.door.guard.o.Now())
	if err != nil {
		return nil, err
	}
	return BodyOf(OpenSessionList{Each(list, ShowSession)}), nil
}

// ShowSession is a session without what its cookie is known by.
func ShowSession(s db.Session) OpenSession {
	return OpenSession{s.ID, s.Caller, s.KeyID, s.Role, s.CreatedAt, s.UsedAt, s.EndsAt}
}

type endSessionsInput struct {
	Caller string `query:"caller" required:"true" minLength:"1" maxLength:"400" doc:"as GET /sessions names it" example:"oidc:248289761001"`
}

// SessionsEnded is the answer of DELETE /sessions.
type SessionsEnded struct {
	Ended int64 `json:"ended"`
}

func (h Sessions) end(ctx context.Context, in *endSessionsInput) (*Body[SessionsEnded], error) {
	store, err := h.store()
	if err != nil {
		return nil, err
	}
	guard := h.door.guard
	n, err := store.End(ctx, in.Caller, CallerOf(ctx).Name, guard.o.Now().UTC())
	if err != nil {
		return nil, err
	}
	guard.sessions.forgetAll()
	return BodyOf(SessionsEnded{n}), nil
}

// store is where the sessions are kept; fault.Conflict where none are.
func (h Sessions) store() (*db.Sessions, error) {
	if h.door.guard.sessions == nil {
		return nil, fault.Newf(fault.Conflict, "there are no sessions here")
	}
	return h.door.guard.o.Sessions, nil
}

package api

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// AuditLog serves /audit.
type AuditLog struct {
	Store *db.AuditLog
}

// Register implements Part.
func (h AuditLog) Register(d *Door) {
	Serve(d, Needs(access.Admin, Query("operations", "list-audit", "GET /audit", "List the actions of callers",
		"Every change by the API and the command line, what was given out of persons, and refused credentials, the newest "+
			"first. Filters combine. Entries cannot be changed, nor deleted in their first 90 days. Pages are by position: "+
			"pass next_cursor as cursor.")), h.list)
}

type listAuditInput struct {
	Subject string    `query:"subject" maxLength:"400" doc:"that the action was done to" example:"dead-letter/12"`
	Actor   string    `query:"actor" doc:"name of an API key, oidc:SUBJECT, cli:USER or anonymous"`
	Action  string    `query:"action" example:"dead_letter.replayed"`
	Since   time.Time `query:"since" doc:"inclusive, RFC 3339"`
	Until   time.Time `query:"until" doc:"inclusive, RFC 3339"`
	Limit   int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor  string    `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page, for the same query"`

	actors, actions []string
	after           *db.IDPosition
}

// auditOrder is the only order of the audit, for its cursors.
const auditOrder = "audit"

// Resolve checks what a schema cannot express.
func (in *listAuditInput) Resolve(ctx huma.Context) (wrong []error) {
	var err error
	in.after, err = parseTimeCursor(in.Cursor, auditOrder)
	return slices.Concat(WrongCursor(in.Cursor, err), WrongText("query.subject", in.Subject),
		wrongUntil("query.until", in.Since, in.Until),
		AnyOf(ctx, in.Filters()...))
}

func (in *listAuditInput) Filters() []Filter {
	return []Filter{{Name: "actor", Values: &in.actors, Commas: true}, {Name: "action", Values: &in.actions}}
}

// An AuditEntry is an action of a caller.
type AuditEntry struct {
	ID        int64           `json:"id"`
	At        time.Time       `json:"at"`
	Actor     string          `json:"actor" doc:"name of an API key, oidc:SUBJECT, cli:USER or anonymous"`
	Action    string          `json:"action" example:"dead_letter.replayed"`
	Subject   string          `json:"subject" doc:"that it was done to" example:"dead-letter/12"`
	Remote    string          `json:"remote,omitempty" doc:"address of the caller"`
	RequestID string          `json:"request_id,omitempty" doc:"X-Request-Id of the response"`
	KeyID     string          `json:"key_id,omitempty" doc:"ID of the API key"`
	Detail    json.RawMessage `json:"detail"`
}

func showAuditRow(r db.AuditRow) AuditEntry { return AuditEntry(r) }

// AuditPage is the answer of GET /audit.
type AuditPage Page[AuditEntry]

func (h AuditLog) list(ctx context.Context, in *listAuditInput) (*Body[AuditPage], error) {
	rows, next, err := h.Store.List(ctx, db.AuditFilter{
		Subject: in.Subject, Actor: in.actors, Action: in.actions, Since: in.Since, Until: in.Until,
	}, in.after, in.Limit)
	return BodyOf(AuditPage(PageOf(rows, showAuditRow, timeCursorAt(next, auditOrder)))), err
}

package api

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
)

// deadLetters serves /dead-letters.
type deadLetters struct {
	store *db.DeadLetters
	log   *slog.Logger
	now   func() time.Time
	runs  func(id, run string) string // address of a workflow's run
}

func (h *deadLetters) register(a huma.API) {
	tags := []string{"dead letters"}
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "list-dead-letters", Method: http.MethodGet, Path: "/dead-letters", Tags: tags,
		Summary: "List what could not be processed", Errors: []int{422, 503}, RejectUnknownQueryParameters: true,
		Description: "Filters combine; those that died last come first. Pages are by position: pass next_cursor as cursor.",
	}), h.list)
	huma.Register(a, needs(access.Read, huma.Operation{
		OperationID: "get-dead-letter", Method: http.MethodGet, Path: "/dead-letters/{id}", Tags: tags,
		Summary: "Get a dead letter with its body and what was done to it", Errors: []int{404, 422, 503},
		Description: "Contact data is left out of body and headers. A body that is not JSON is shown, as base64, to those " +
			"who may replay it.",
	}), h.get)
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "replay-dead-letter", Method: http.MethodPost, Path: "/dead-letters/{id}/replay", Tags: tags,
		Summary: "Send a dead letter to its queue again", DefaultStatus: http.StatusAccepted,
		Errors: []int{404, 409, 422, 503},
		Description: "Body and headers as they came; an advert that did not change is processed all the same. 409 when it " +
			"is not open, so that a repeated request sends it once; force sends it again. When it dies again it is the " +
			"same dead letter, open, with one more death.",
	}), h.replay)
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "replay-dead-letters", Method: http.MethodPost, Path: "/dead-letters/replay", Tags: tags,
		Summary: "Send all open dead letters that match", Errors: []int{422, 503},
		Metadata:    map[string]any{timeoutKey: replayTimeout},
		Description: "Says what it would do; with dry_run false it does it, the oldest first. When left is not 0, ask again.",
	}), h.replayAll)
	huma.Register(a, needs(access.Operate, huma.Operation{
		OperationID: "discard-dead-letter", Method: http.MethodDelete, Path: "/dead-letters/{id}", Tags: tags,
		Summary: "Give a dead letter up", DefaultStatus: http.StatusNoContent, Errors: []int{404, 422, 503},
		Description: "It can still be looked at and, by force, replayed. When it dies again it is open again.",
	}), h.discard)
}

type lettersInput struct {
	State      string    `query:"state" enum:"open,replayed,resolved,discarded,any" default:"open"`
	Queue      string    `query:"queue" maxLength:"255" doc:"where it died" example:"scraped.kijiji"`
	Class      string    `query:"class" maxLength:"50" doc:"of the fault" example:"invalid"`
	Platform   string    `query:"platform" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" doc:"whose adverts, and their images" example:"kijiji"`
	Reason     string    `query:"reason" maxLength:"200" doc:"words that the reason contains, in capitals or not"`
	WorkflowID string    `query:"workflow_id" maxLength:"255" example:"listing/kijiji/1668602387"`
	Since      time.Time `query:"since" doc:"of the last death, inclusive, RFC 3339"`
	Until      time.Time `query:"until" doc:"of the last death, inclusive, RFC 3339"`
	Limit      int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor     string    `query:"cursor" maxLength:"400" doc:"next_cursor of the page before, for the same query"`

	after *db.LetterPosition
}

// Resolve checks what a schema cannot say.
func (in *lettersInput) Resolve(ctx huma.Context) (wrong []error) {
	var err error
	if in.after, err = parseLetterCursor(in.Cursor); err != nil {
		wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: "query.cursor", Value: in.Cursor})
	}
	wrong = append(wrong, wrongFilter("query.", in.filter())...)
	address := ctx.URL()
	for name, values := range address.Query() {
		if len(values) > 1 { // or all but the first would be ignored
			wrong = append(wrong, &huma.ErrorDetail{
				Message: "is given more than once", Location: "query." + name, Value: values,
			})
		}
	}
	return wrong
}

func (in *lettersInput) filter() db.LetterFilter {
	f := db.LetterFilter{
		State: in.State, Queue: in.Queue, Class: in.Class, Platform: in.Platform, Reason: in.Reason,
		WorkflowID: in.WorkflowID, Since: in.Since, Until: in.Until,
	}
	if f.State == "any" {
		f.State = ""
	}
	return f
}

// wrongFilter says what Postgres could not take, and what nothing can match.
func wrongFilter(at string, f db.LetterFilter) (wrong []error) {
	for _, text := range []struct{ name, value string }{
		{"queue", f.Queue}, {"class", f.Class}, {"reason", f.Reason}, {"workflow_id", f.WorkflowID},
	} {
		if !utf8.ValidString(text.value) || strings.ContainsRune(text.value, 0) {
			wrong = append(wrong, &huma.ErrorDetail{
				Message: "expected text in UTF-8 without NUL", Location: at + text.name, Value: text.value,
			})
		}
	}
	if !f.Until.IsZero() && f.Until.Before(f.Since) {
		wrong = append(wrong, &huma.ErrorDetail{
			Message: "expected a time that is not before since", Location: at + "until", Value: f.Until,
		})
	}
	return wrong
}

// A LetterItem is a dead letter in a list.
type LetterItem struct {
	db.LetterSummary
	Workflow *WorkflowLink `json:"workflow,omitempty" doc:"the run that it died in last"`
}

func (h *deadLetters) item(l db.LetterSummary) LetterItem {
	item := LetterItem{LetterSummary: l}
	if l.WorkflowID != "" {
		item.Workflow = &WorkflowLink{ID: l.WorkflowID, URL: h.runs(l.WorkflowID, l.RunID)}
	}
	return item
}

func (h *deadLetters) items(list []db.LetterSummary) []LetterItem {
	out := make([]LetterItem, len(list))
	for i, l := range list {
		out[i] = h.item(l)
	}
	return out
}

// LetterPage is the answer of GET /dead-letters.
type LetterPage struct {
	Items      []LetterItem `json:"items"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"absent on the last page"`
}

type lettersOutput struct{ Body LetterPage }

func (h *deadLetters) list(ctx context.Context, in *lettersInput) (*lettersOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	page, next, err := h.store.List(ctx, in.filter(), in.after, in.Limit)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := &lettersOutput{LetterPage{Items: h.items(page)}}
	if next != nil {
		out.Body.NextCursor = writeLetterCursor(*next)
	}
	return out, nil
}

type letterInput struct {
	ID int64 `path:"id" minimum:"1" doc:"the dead letter's number"`
}

// LetterDetail is the answer of GET /dead-letters/{id}.
type LetterDetail struct {
	LetterItem
	Headers    map[string]string `json:"headers" doc:"as they came last, but for contact data"`
	Body       json.RawMessage   `json:"body,omitempty" doc:"when it is JSON, but for contact data"`
	BodyBase64 []byte            `json:"body_base64,omitempty" doc:"when it is not JSON, for those who may replay it"`
	Replay     *db.LetterReplay  `json:"replay,omitempty" doc:"how far the last replay has come; absent when that is long ago"`
	Audit      []db.LetterDeed   `json:"audit" doc:"who replayed or discarded it, oldest first"`
}

type letterOutput struct{ Body LetterDetail }

func (h *deadLetters) get(ctx context.Context, in *letterInput) (*letterOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l, err := h.store.Get(ctx, in.ID)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out := LetterDetail{LetterItem: h.item(l.LetterSummary), Headers: l.Headers, Replay: l.Replay, Audit: l.Deeds}
	for name := range out.Headers {
		if isPersonal(name) {
			delete(out.Headers, name)
		}
	}
	switch {
	case json.Valid(l.Body) && utf8.Valid(l.Body):
		out.Body = withoutContact(l.Body)
	case callerOf(ctx).Role.May(access.Operate): // nobody can tell what stands in it
		out.BodyBase64 = l.Body
	}
	return &letterOutput{out}, nil
}

type replayLetterInput struct {
	ID   int64         `path:"id" minimum:"1" doc:"the dead letter's number"`
	Body *ReplayLetter // may be left out
}

// ReplayLetter is what POST /dead-letters/{id}/replay takes.
type ReplayLetter struct {
	Force bool `json:"force,omitempty" doc:"also when it is replayed, resolved or discarded"`
}

type replayLetterOutput struct {
	Location string `header:"Location" doc:"where to see what came of it"`
	Body     db.Replayed
}

func (h *deadLetters) replay(ctx context.Context, in *replayLetterInput) (*replayLetterOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	force := in.Body != nil && in.Body.Force
	got, err := h.store.Replay(ctx, in.ID, force, callerOf(ctx).Name, h.now())
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return &replayLetterOutput{fmt.Sprintf("/dead-letters/%d", got.ID), got}, nil
}

// ReplayLetters is what POST /dead-letters/replay takes. Without a filter it means every open dead letter.
type ReplayLetters struct {
	Queue      string    `json:"queue,omitempty" maxLength:"255" example:"scraped.kijiji"`
	Class      string    `json:"class,omitempty" maxLength:"50" example:"invalid"`
	Platform   string    `json:"platform,omitempty" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$"`
	Reason     string    `json:"reason,omitempty" maxLength:"200" doc:"words that the reason contains"`
	WorkflowID string    `json:"workflow_id,omitempty" maxLength:"255"`
	Since      time.Time `json:"since,omitzero" doc:"of the last death, inclusive"`
	Until      time.Time `json:"until,omitzero" doc:"of the last death, inclusive"`
	Limit      int       `json:"limit,omitempty" minimum:"1" maximum:"10000" default:"10000" doc:"replay no more than this"`
	DryRun     *bool     `json:"dry_run,omitempty" default:"true" doc:"only say what would be replayed"`
}

func (r *ReplayLetters) filter() db.LetterFilter {
	return db.LetterFilter{
		State: "open", Queue: r.Queue, Class: r.Class, Platform: r.Platform, Reason: r.Reason, WorkflowID: r.WorkflowID,
		Since: r.Since, Until: r.Until,
	}
}

type replayLettersInput struct{ Body ReplayLetters }

// Resolve checks what a schema cannot say.
func (in *replayLettersInput) Resolve(huma.Context) []error {
	return wrongFilter("body.", in.Body.filter())
}

// LettersReplayed is the answer of POST /dead-letters/replay.
type LettersReplayed struct {
	DryRun   bool         `json:"dry_run"`
	Matched  int          `json:"matched" doc:"open dead letters that the filter means"`
	Replayed int          `json:"replayed"`
	Left     int          `json:"left" doc:"of those that matched: beyond the limit, or for the next request"`
	Sample   []LetterItem `json:"sample" doc:"up to ten of those that matched, the last that died"`
}

type replayLettersOutput struct{ Body LettersReplayed }

// sampleSize is how many dead letters a replay by filter shows.
const sampleSize = 10

// replayTimeout bounds a replay by filter: what it does not get to is left for the next request.
const replayTimeout = 40 * time.Second

func (h *deadLetters) replayAll(ctx context.Context, in *replayLettersInput) (*replayLettersOutput, error) {
	f := in.Body.filter()
	out := LettersReplayed{DryRun: in.Body.DryRun == nil || *in.Body.DryRun}
	var err error
	if out.Matched, err = h.store.Count(ctx, f); err != nil {
		return nil, problem(ctx, h.log, err)
	}
	sample, _, err := h.store.List(ctx, f, nil, sampleSize)
	if err != nil {
		return nil, problem(ctx, h.log, err)
	}
	out.Sample = h.items(sample)
	if !out.DryRun {
		out.Replayed, err = h.store.ReplayAll(ctx, f, in.Body.Limit, callerOf(ctx).Name, h.now())
		switch {
		case err != nil && out.Replayed == 0:
			return nil, problem(ctx, h.log, err)
		case err != nil: // what has gone has gone, and the caller should know how many
			h.log.WarnContext(ctx, "replay of dead letters stopped half-way", "replayed", out.Replayed, "err", err)
		}
	}
	out.Left = max(0, out.Matched-out.Replayed)
	return &replayLettersOutput{out}, nil
}

func (h *deadLetters) discard(ctx context.Context, in *letterInput) (*struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := h.store.Discard(ctx, in.ID, callerOf(ctx).Name, h.now()); err != nil {
		return nil, problem(ctx, h.log, err)
	}
	return nil, nil
}

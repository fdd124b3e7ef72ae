package api

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/contract"
)

// DeadLetters serves /dead-letters.
type DeadLetters struct {
	Store *db.DeadLetters

	door *Door
}

// Register implements Part.
func (h DeadLetters) Register(d *Door) {
	h.door = d
	Serve(d, Needs(access.Read, Query("dead letters", "list-dead-letters", "GET /dead-letters",
		"List messages that could not be processed",
		"Filters combine; the latest death comes first. Pages are by position: pass next_cursor as cursor.")), h.list)
	Serve(d, Needs(access.Read, Op("dead letters", "get-dead-letter", "GET /dead-letters/{id}",
		"Get a dead letter with its body and its audit trail",
		"Contact data is left out of body and headers, and for the role read everything that is not known to "+
			"be free of personal data. A body that is not JSON is shown, as base64, only to callers that may replay it.")),
		h.get)
	Serve(d, Needs(access.Operate, Op("dead letters", "replay-dead-letter", "POST /dead-letters/{id}/replay",
		"Send a dead letter to its queue again",
		"The body is sent as it was received, with its headers as text; of the other properties only the "+
			"message ID is kept. An advert that did not change is processed all the same. 409 when it is not open, so that "+
			"a repeated request sends it once; force sends it again. When it dies again it is the same dead letter, open, "+
			"with one more death. An upload of a tenant goes on where it failed.", 202, 409)), h.replay)
	Serve(d, Needs(access.Operate, Within(replayTimeout, Op("dead letters", "replay-dead-letters",
		"POST /dead-letters/replay", "Send all open dead letters that match a filter to their queues again",
		"Reports what would be replayed; with dry_run false, replays it, the oldest first. A filter that is "+
			"given needs a value. When left is not 0, repeat the request."))), h.replayAll)
	Serve(d, Needs(access.Operate, Op("dead letters", "discard-dead-letter", "DELETE /dead-letters/{id}",
		"Discard a dead letter", "It stays on record and can be replayed with force. When it dies again it is open again.")),
		h.discard)
	h.registerGroups(d)
}

// LettersQuery is the filters of dead letters that take several values.
type LettersQuery struct {
	State    string `query:"state" default:"open" example:"open,replayed"`
	Queue    string `query:"queue" doc:"where they died" example:"scraped.kijiji"`
	Class    string `query:"class" doc:"of the fault" example:"invalid"`
	Platform string `query:"platform" doc:"of the advert, or of the advert that an image belongs to" example:"kijiji"`

	states, queues, classes, platforms []string
}

// wrong is what a schema cannot express.
func (in *LettersQuery) wrong(ctx huma.Context) []error { return AnyOf(ctx, in.Filters()...) }

// Filters are those that take several values.
func (in *LettersQuery) Filters() []Filter {
	return []Filter{
		{Name: "state", Values: &in.states, Known: OrAny(db.LetterStates)},
		{Name: "queue", Values: &in.queues},
		{Name: "class", Values: &in.classes},
		{Name: "platform", Values: &in.platforms, Form: contract.PlatformName},
	}
}

func (in *LettersQuery) filter() db.LetterFilter {
	return db.LetterFilter{State: in.states, Queue: in.queues, Class: in.classes, Platform: in.platforms}
}

type listLettersInput struct {
	LettersQuery
	Tenant     string    `query:"tenant" maxLength:"40" doc:"whose upload or message it is" example:"demo"`
	Reason     string    `query:"reason" maxLength:"200" doc:"text that the reason contains, ignoring case"`
	WorkflowID string    `query:"workflow_id" maxLength:"255" example:"listing/kijiji/1668602387"`
	Since      time.Time `query:"since" doc:"of the last death, inclusive, RFC 3339"`
	Until      time.Time `query:"until" doc:"of the last death, inclusive, RFC 3339"`
	Limit      int       `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor     string    `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page, for the same query"`

	after *db.IDPosition
}

// lettersOrder is the only order of dead letters, for their cursors.
const lettersOrder = "dead-letters"

// Resolve checks what a schema cannot express.
func (in *listLettersInput) Resolve(ctx huma.Context) (wrong []error) {
	var err error
	in.after, err = parseTimeCursor(in.Cursor, lettersOrder)
	return slices.Concat(WrongCursor(in.Cursor, err), in.wrong(ctx), wrongFilter("query.", in.filter()))
}

func (in *listLettersInput) filter() db.LetterFilter {
	f := in.LettersQuery.filter()
	f.Tenant, f.Reason, f.WorkflowID, f.Since, f.Until = in.Tenant, in.Reason, in.WorkflowID, in.Since, in.Until
	return f
}

// wrongFilter lists the values that Postgres cannot take, and the conditions that nothing can match.
func wrongFilter(at string, f db.LetterFilter) (wrong []error) {
	for _, text := range []struct{ name, value string }{
		{"tenant", f.Tenant}, {"reason", f.Reason}, {"workflow_id", f.WorkflowID},
	} {
		wrong = append(wrong, WrongText(at+text.name, text.value)...)
	}
	return append(wrong, wrongUntil(at+"until", f.Since, f.Until)...)
}

// A LetterSummary is a dead letter without its body and headers, which may hold personal data.
type LetterSummary struct {
	ID         int64      `json:"id"`
	State      string     `json:"state" doc:"open needs an operator's decision; replayed has not died since"`
	Queue      string     `json:"queue" doc:"that it was consumed from, and that a replay goes to"`
	Tenant     string     `json:"tenant,omitempty" doc:"whose upload or message it is"`
	Exchange   string     `json:"exchange" doc:"that it was first published to; empty is the default exchange"`
	RoutingKey string     `json:"routing_key"`
	MessageID  string     `json:"message_id,omitempty" doc:"set by the sender, if any"`
	Class      string     `json:"class" doc:"of the last fault: invalid, gone, …"`
	Reason     string     `json:"reason" doc:"of the last death; cut to 500 characters in lists"`
	WorkflowID string     `json:"workflow_id,omitempty"`
	RunID      string     `json:"run_id,omitempty" doc:"the run that it died in last"`
	FirstAt    time.Time  `json:"first_at"`
	LastAt     time.Time  `json:"last_at"`
	Deaths     int        `json:"deaths" doc:"times it was archived"`
	Replays    int        `json:"replays"`
	ReplayedAt *time.Time `json:"replayed_at,omitempty" doc:"the last time"`
	Bytes      int        `json:"bytes" doc:"of the body"`
}

// TransformSchema implements huma.SchemaTransformer.
func (LetterSummary) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	return OfThese(s, "state", db.LetterStates)
}

// A LetterItem is a dead letter in a list.
type LetterItem struct {
	LetterSummary
	Workflow *WorkflowLink `json:"workflow,omitempty" doc:"the run that it died in last"`
}

// Letter shows a dead letter.
func (d *Door) Letter(l db.LetterSummary) LetterItem {
	item := LetterItem{LetterSummary: LetterSummary(l)}
	if l.WorkflowID != "" {
		item.Workflow = new(d.run(l.WorkflowID, l.RunID))
	}
	return item
}

// LetterPage is the answer of GET /dead-letters.
type LetterPage Page[LetterItem]

func (h DeadLetters) list(ctx context.Context, in *listLettersInput) (*Body[LetterPage], error) {
	f := in.filter()
	if f.OfNone = ReachesTenants(ctx) != nil; f.OfNone && in.Tenant != "" {
		return nil, ReachesTenants(ctx)
	}
	rows, next, err := h.Store.List(ctx, f, in.after, in.Limit)
	return BodyOf(LetterPage(PageOf(rows, h.door.Letter, timeCursorAt(next, lettersOrder)))), err
}

type letterInput struct {
	ID int64 `path:"id" minimum:"1" doc:"the dead letter's number"`
}

// LetterDetail is the answer of GET /dead-letters/{id}.
type LetterDetail struct {
	LetterItem
	Headers    map[string]string `json:"headers" doc:"as last received, without contact data"`
	Body       json.RawMessage   `json:"body,omitempty" doc:"when it is JSON, without contact data"`
	Hidden     int               `json:"hidden" doc:"headers and members of the body that are left out for this caller"`
	BodyBase64 []byte            `json:"body_base64,omitempty" doc:"when it is not JSON, for callers that may replay it"`
	Replay     *LetterReplay     `json:"replay,omitempty" doc:"progress of the last replay; absent when that was long ago"`
	Audit      []LetterDeed      `json:"audit" doc:"replays and discards, oldest first"`
}

// LetterReplay is the progress of the last replay.
type LetterReplay struct {
	SentAt *time.Time `json:"sent_at,omitempty" doc:"when the broker confirmed it for its queue; absent while it waits to be sent"`
	Error  string     `json:"error,omitempty" doc:"why it could not be sent so far; it is retried"`
}

// A LetterDeed is one replay or discard of a dead letter.
type LetterDeed struct {
	At     time.Time       `json:"at"`
	Actor  string          `json:"actor"`
	Action string          `json:"action" example:"dead_letter.replayed"`
	Detail json.RawMessage `json:"detail"`
}

func (h DeadLetters) get(ctx context.Context, in *letterInput) (*Body[LetterDetail], error) {
	l, err := h.Store.Get(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if l.Tenant != "" {
		if err := ReachesTenants(ctx); err != nil {
			return nil, err
		}
	}
	out := LetterDetail{
		LetterItem: h.door.Letter(l.LetterSummary), Headers: l.Headers,
		Replay: Maybe(l.Replay, func(r db.LetterReplay) LetterReplay { return LetterReplay(r) }),
		Audit:  Each(l.Deeds, func(d db.LetterDeed) LetterDeed { return LetterDeed(d) }),
	}
	role := CallerOf(ctx).Role
	out.Hidden = visibleHeaders(out.Headers, role)
	switch {
	case json.Valid(l.Body) && utf8.Valid(l.Body):
		var hidden int
		out.Body, hidden = Visible(l.Body, role)
		out.Hidden += hidden
	case role.May(access.Operate): // contact data in it cannot be found
		out.BodyBase64 = l.Body
	}
	return BodyOf(out), nil
}

type replayLetterInput struct {
	ID   int64         `path:"id" minimum:"1" doc:"the dead letter's number"`
	Body *ReplayLetter // may be left out
}

// ReplayLetter is the body of POST /dead-letters/{id}/replay.
type ReplayLetter struct {
	Force bool `json:"force,omitempty" doc:"also when it is replayed, resolved or discarded"`
}

// Replayed is the answer of POST /dead-letters/{id}/replay.
type Replayed struct {
	ID      int64  `json:"id"`
	Queue   string `json:"queue"`
	Replays int    `json:"replays" doc:"times it was replayed, this one included"`
}

type replayLetterOutput struct {
	Location string `header:"Location" doc:"where to see the outcome"`
	Body     Replayed
}

func (h DeadLetters) replay(ctx context.Context, in *replayLetterInput) (*replayLetterOutput, error) {
	force := in.Body != nil && in.Body.Force
	got, err := h.Store.Replay(ctx, in.ID, force, CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	return &replayLetterOutput{fmt.Sprintf("/dead-letters/%d", got.ID), Replayed(got)}, nil
}

// ReplayLetters is the body of POST /dead-letters/replay, and of …/discard. Without a filter it means every open dead
// letter; a filter that is given has a value.
type ReplayLetters struct {
	Queue      string    `json:"queue,omitempty" doc:"any of these, at most 20, separated by commas" example:"scraped.kijiji"`
	Class      string    `json:"class,omitempty" doc:"any of these, at most 20, separated by commas" example:"invalid"`
	Platform   string    `json:"platform,omitempty" pattern:"^[a-z0-9][a-z0-9_-]{0,31}(,[a-z0-9][a-z0-9_-]{0,31}){0,19}$" doc:"any of these, at most 20, separated by commas"`
	Tenant     string    `json:"tenant,omitempty" maxLength:"40" doc:"whose upload or message it is"`
	Reason     string    `json:"reason,omitempty" maxLength:"200" doc:"text that the reason contains, ignoring case"`
	WorkflowID string    `json:"workflow_id,omitempty" maxLength:"255"`
	Since      time.Time `json:"since,omitzero" doc:"of the last death, inclusive"`
	Until      time.Time `json:"until,omitzero" doc:"of the last death, inclusive"`
	Limit      int       `json:"limit,omitempty" minimum:"1" maximum:"10000" default:"10000" doc:"no more than this"`
	DryRun     *bool     `json:"dry_run,omitempty" default:"true" doc:"only report what would be done"`

	blank []string // filters that were given without a value
}

// UnmarshalJSON also finds the filters that have no value: they would filter nothing.
func (r *ReplayLetters) UnmarshalJSON(doc []byte) error {
	type plain ReplayLetters
	if err := json.Unmarshal(doc, (*plain)(r)); err != nil {
		return err
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(doc, &given); err != nil {
		return err
	}
	for _, text := range []struct{ name, value string }{
		{"queue", strings.Join(parts(r.Queue), ",")}, {"class", strings.Join(parts(r.Class), ",")}, {"tenant", r.Tenant},
		{"reason", r.Reason}, {"workflow_id", r.WorkflowID},
	} {
		if _, ok := given[text.name]; ok && strings.TrimSpace(text.value) == "" {
			r.blank = append(r.blank, text.name)
		}
	}
	return nil
}

func (r *ReplayLetters) filter() db.LetterFilter {
	return db.LetterFilter{
		State: []string{"open"}, Queue: parts(r.Queue), Class: parts(r.Class), Platform: parts(r.Platform),
		Tenant: r.Tenant, Reason: r.Reason, WorkflowID: r.WorkflowID, Since: r.Since, Until: r.Until,
	}
}

type replayLettersInput struct{ Body ReplayLetters }

// Resolve checks what a schema cannot express.
func (in *replayLettersInput) Resolve(huma.Context) []error { return in.Body.wrong() }

// wrong is what a schema cannot express.
func (r *ReplayLetters) wrong() (wrong []error) {
	for _, name := range r.blank {
		wrong = append(wrong, &huma.ErrorDetail{
			Message: "expected a value; leave it out not to filter by it", Location: "body." + name,
		})
	}
	f := r.filter()
	for _, list := range []struct {
		name   string
		values []string
	}{{"queue", f.Queue}, {"class", f.Class}} {
		if err := fit(list.values); err != nil {
			wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: "body." + list.name})
		}
	}
	return append(wrong, wrongFilter("body.", f)...)
}

// LettersReplayed is the answer of POST /dead-letters/replay.
type LettersReplayed struct {
	DryRun   bool         `json:"dry_run"`
	Matched  int          `json:"matched" doc:"open dead letters that match the filter"`
	Replayed int          `json:"replayed"`
	Over     int          `json:"over" doc:"their work is over, or their file is lost: resolved, and not sent"`
	Left     int          `json:"left" doc:"of those that matched: beyond the limit, or for the next request"`
	Sample   []LetterItem `json:"sample" doc:"up to ten of those that matched, the latest deaths first"`
}

// sampleSize is how many dead letters the answer to a replay by filter shows.
const sampleSize = 10

// replayTimeout bounds a replay by filter: dead letters that it does not reach are left for the next request.
const replayTimeout = 40 * time.Second

func (h DeadLetters) replayAll(ctx context.Context, in *replayLettersInput) (*Body[LettersReplayed], error) {
	over := 0
	done, err := h.onAll(ctx, in.Body, "replay", func(ctx context.Context, f db.LetterFilter, limit int, by string,
		now time.Time) (int, error) {
		r, err := h.Store.ReplayAll(ctx, f, limit, by, now)
		over = r.Over
		return r.Sent + r.Over, err
	})
	if err != nil {
		return nil, err
	}
	return BodyOf(LettersReplayed{done.dryRun, done.matched, done.acted - over, over, done.left, done.sample}), nil
}

// lettersDone is what was done to the dead letters of a filter.
type lettersDone struct {
	dryRun               bool
	matched, acted, left int
	sample               []LetterItem
}

// onAll does something to the dead letters that match a filter, the oldest first, unless it is a dry run.
func (h DeadLetters) onAll(ctx context.Context, asked ReplayLetters, what string,
	act func(ctx context.Context, f db.LetterFilter, limit int, by string, now time.Time) (int, error),
) (done lettersDone, err error) {
	f := asked.filter()
	done.dryRun = asked.DryRun == nil || *asked.DryRun
	if done.matched, err = h.Store.Count(ctx, f); err != nil {
		return done, err
	}
	sample, _, err := h.Store.List(ctx, f, nil, sampleSize)
	if err != nil {
		return done, err
	}
	done.sample = Each(sample, h.door.Letter)
	if !done.dryRun {
		done.acted, err = act(ctx, f, asked.Limit, CallerOf(ctx).Name, h.door.Now())
		switch {
		case err != nil && done.acted == 0:
			return done, err
		case err != nil: // what was done stays done, and the caller needs the number
			h.door.Log.WarnContext(ctx, what+" of dead letters stopped half-way", "done", done.acted, "err", err)
		}
	}
	done.left = max(0, done.matched-done.acted)
	return done, nil
}

func (h DeadLetters) discard(ctx context.Context, in *letterInput) (*struct{}, error) {
	return nil, h.Store.Discard(ctx, in.ID, CallerOf(ctx).Name, h.door.Now())
}

func (h DeadLetters) registerGroups(d *Door) {
	Serve(d, Needs(access.Read, Query("dead letters", "group-dead-letters", "GET /dead-letters/groups",
		"Group dead letters by queue, class and reason",
		"Reasons that differ in numbers and IDs only are one. The largest group comes first. The newest 10,000 "+
			"dead letters are looked at, and at most 200 groups are shown.")), h.groups)
	Serve(d, Needs(access.Operate, Within(replayTimeout, Op("dead letters", "discard-dead-letters",
		"POST /dead-letters/discard", "Discard all open dead letters that match a filter",
		"Reports what would be discarded; with dry_run false, discards it, the oldest first. They stay on "+
			"record and can be replayed with force. A filter that is given needs a value. When left is not 0, repeat the "+
			"request."))), h.discardAll)
}

type groupLettersInput struct{ LettersQuery }

// Resolve checks what a schema cannot express.
func (in *groupLettersInput) Resolve(ctx huma.Context) []error { return in.wrong(ctx) }

// LetterGroups is the answer of GET /dead-letters/groups.
type LetterGroups struct {
	Items []LetterGroup `json:"items"`
}

// A LetterGroup is the dead letters of one queue and class whose reasons differ in numbers and IDs only.
type LetterGroup struct {
	Queue    string    `json:"queue"`
	Class    string    `json:"class"`
	Reason   string    `json:"reason" doc:"with … in place of numbers and IDs; cut to 200 characters"`
	Contains string    `json:"reason_contains" doc:"the longest part that all reasons of the group have, for the filter reason; other groups may have it too"`
	Letters  int64     `json:"letters"`
	FirstAt  time.Time `json:"first_at" doc:"first death of any"`
	LastAt   time.Time `json:"last_at"`
	Newest   int64     `json:"newest" doc:"number of the one that died last"`
}

func (h DeadLetters) groups(ctx context.Context, in *groupLettersInput) (*Body[LetterGroups], error) {
	f := in.filter()
	f.OfNone = ReachesTenants(ctx) != nil
	found, err := h.Store.Groups(ctx, f)
	return BodyOf(LetterGroups{Each(found, showLetterGroup)}), err
}

func showLetterGroup(g db.LetterGroup) LetterGroup {
	parts := strings.Split(g.Reason, "…")
	longest := slices.MaxFunc(parts, func(a, b string) int { return len(a) - len(b) })
	return LetterGroup{
		g.Queue, g.Class, g.Reason, strings.TrimSpace(longest), g.Letters, g.FirstAt, g.LastAt, g.Newest,
	}
}

type discardLettersInput struct{ Body ReplayLetters }

// Resolve checks what a schema cannot express.
func (in *discardLettersInput) Resolve(huma.Context) []error { return in.Body.wrong() }

// LettersDiscarded is the answer of POST /dead-letters/discard.
type LettersDiscarded struct {
	DryRun    bool         `json:"dry_run"`
	Matched   int          `json:"matched" doc:"open dead letters that match the filter"`
	Discarded int          `json:"discarded"`
	Left      int          `json:"left" doc:"of those that matched: beyond the limit, or for the next request"`
	Sample    []LetterItem `json:"sample" doc:"up to ten of those that matched, the latest deaths first"`
}

func (h DeadLetters) discardAll(ctx context.Context, in *discardLettersInput) (*Body[LettersDiscarded], error) {
	done, err := h.onAll(ctx, in.Body, "discard", h.Store.DiscardAll)
	if err != nil {
		return nil, err
	}
	return BodyOf(LettersDiscarded{done.dryRun, done.matched, done.acted, done.left, done.sample}), nil
}

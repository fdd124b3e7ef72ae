package outreach

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/internal/secret"
)

// Campaigns serves /campaigns.
type Campaigns struct {
	Store    *dboutreach.Campaigns
	Messages *dboutreach.Messages
	Senders  *dboutreach.Senders
	Secrets  *secret.Box // that their tokens are sealed by; without a key it is not known whether they can be opened
	Launch   CampaignStarter
	Late     time.Duration // how long after the time that is asked for a campaign may start; 0 = however late
	Wakes    *Wakes
	Rates    TierRates

	door *api.Door
}

// A CampaignStarter starts and wakes the workflows of campaigns: *launch.Launch.
type CampaignStarter interface {
	// StartCampaign starts the workflow of a campaign, or joins the one that runs.
	StartCampaign(ctx context.Context, tenant string, id uuid.UUID) error
	// WakeCampaign has the workflow of a campaign read its state. It is no error where it does not run.
	WakeCampaign(ctx context.Context, id uuid.UUID) error
}

// Register implements api.Part.
func (h Campaigns) Register(d *api.Door) {
	h.door = d
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("campaigns", "create-campaign", "POST /campaigns",
		"Create a campaign, as a draft",
		"A request that is repeated with its Idempotency-Key is one campaign; with another body it is a conflict. Nothing "+
			"is sent before it is started.", 201, 409)), h.create)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("campaigns", "list-campaigns", "GET /campaigns",
		"List campaigns, the newest first", "")), h.list)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Op("campaigns", "get-campaign", "GET /campaigns/{id}",
		"Get a campaign: its state, its counts, and the time left", "")), h.get)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("campaigns", "edit-campaign", "PUT /campaigns/{id}",
		"Replace a draft", "A campaign that has been started, or is scheduled, is a conflict.", 409)), h.edit)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("campaigns", "start-campaign", "POST /campaigns/{id}/start",
		"Start a campaign, now or at a time",
		"Its audience is the contacts that are stored when it starts. Two campaigns of a tenant start at once; further "+
			"ones, and those with a time, start in the tenant's turn, which comes every minute. A scheduled one gets the new "+
			"time; one that runs stays as it is, unless a time to come is given.", 202, 409)), h.start)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Within(api.RetryFailedTimeout, api.Op("campaigns",
		"retry-failed-messages", "POST /campaigns/{id}/retry-failed", "Send failed messages of a campaign again",
		"Those that failed for a cause that may have passed. A campaign that was done is running again. When the answer is "+
			"503 some may be queued: a repeated request queues the rest.", 409))), h.retryFailed)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("campaigns", "list-campaign-messages",
		"GET /campaigns/{id}/messages", "List the messages of a campaign, by state",
		"Filters of class and code look at the next 10,000: a page may have fewer than there are, or none, and a "+
			"next_cursor all the same. Recipients are shown to callers with the role operate, masked.")), h.messages)
	h.registerAudience(d)
	h.registerCauses(d)
	h.registerControls(d)
}

// registerControls registers what changes the state of a campaign.
func (h Campaigns) registerControls(d *api.Door) {
	type of = uuid.UUID
	type change func(
		ctx context.Context, tenant string, id of, reason, by string, now time.Time,
	) (dboutreach.Campaign, error)
	plain := func(f func(context.Context, string, of, string, time.Time) (dboutreach.Campaign, error)) change {
		return func(ctx context.Context, tenant string, id of, _, by string, now time.Time) (dboutreach.Campaign, error) {
			return f(ctx, tenant, id, by, now)
		}
	}
	for _, act := range []struct {
		name, summary, description string
		change                     change
	}{
		{"unschedule", "Make a scheduled campaign a draft again", "One that has started is a conflict.",
			plain(h.Store.Unschedule)},
		{"pause", "Pause a campaign", "Within two seconds nothing more is sent; messages whose requests are under way are.",
			h.Store.Pause},
		{"resume", "Resume a paused campaign", "It sends what it has not sent. Messages that failed stay failed.",
			plain(h.Store.Resume)},
		{"cancel", "Cancel a campaign for good", "Within two seconds nothing more is sent; messages that wait are skipped.",
			h.Store.Cancel},
	} {
		api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("campaigns", act.name+"-campaign",
			"POST /campaigns/{id}/"+act.name, act.summary,
			act.description+" A campaign that is in that state already stays as it is.",
			409)), func(ctx context.Context, tenant string, in *controlCampaignInput) (*campaignOutput, error) {
			reason := ""
			if in.Body != nil {
				reason = in.Body.Reason
			}
			c, err := act.change(ctx, tenant, in.ID, reason, api.CallerOf(ctx).Name, h.door.Now())
			if err != nil {
				return nil, err
			}
			return h.changed(ctx, c), nil
		})
	}
}

// CampaignState is a state of a campaign.
type CampaignState campaign.State

// Schema implements huma.SchemaProvider.
func (CampaignState) Schema(huma.Registry) *huma.Schema { return api.EnumOf(campaign.States) }

// CampaignPlan is the body of POST /campaigns and PUT /campaigns/{id}.
type CampaignPlan struct {
	Name     string            `json:"name" minLength:"1" maxLength:"200"`
	Sender   uuid.UUID         `json:"sender" doc:"ID of the number to send from"`
	Template campaign.Body     `json:"template" doc:"what is sent, in the form of the Cloud API; its texts may have placeholders for fields of the contact, {{given_name}} or {{given_name|there}}"`
	Audience campaign.Audience `json:"audience" doc:"the contacts to write to; those that have opted out are left out"`
}

func (p CampaignPlan) wrong() []error {
	return slices.Concat(api.WrongText("body.name", p.Name), wrongFields("body.template", p.Template.Check(true)),
		wrongFields("body.audience", p.Audience.Check()))
}

func (p CampaignPlan) plan() dboutreach.Plan {
	return dboutreach.Plan{Name: p.Name, Sender: p.Sender, Template: p.Template, Audience: p.Audience}
}

// A Campaign is something that is sent to many contacts.
type Campaign struct {
	ID uuid.UUID `json:"id"`
	CampaignPlan
	State       CampaignState    `json:"state"`
	Reason      string           `json:"reason,omitempty" doc:"why it is paused, or was canceled"`
	ScheduledAt *time.Time       `json:"scheduled_at,omitempty" doc:"when it starts, or was to start"`
	NotAfter    *time.Time       `json:"not_after,omitempty" doc:"one that comes to its turn later is paused"`
	FrozenAt    *time.Time       `json:"frozen_at,omitempty" doc:"contacts that were stored by then are its audience"`
	WrittenAt   *time.Time       `json:"written_at,omitempty" doc:"when all its messages were written; until then the counts grow"`
	Counts      CampaignCounts   `json:"counts"`
	Progress    float64          `json:"progress" doc:"share of the messages written so far that do not wait, 0 to 1"`
	CreatedBy   string           `json:"created_by"`
	CreatedAt   time.Time        `json:"created_at"`
	UpdatedAt   time.Time        `json:"updated_at"`
	StartedAt   *time.Time       `json:"started_at,omitempty"`
	FinishedAt  *time.Time       `json:"finished_at,omitempty"`
	Workflow    api.WorkflowLink `json:"workflow"`
	Warning     string           `json:"warning,omitempty" doc:"what an operator should know"`
}

// CampaignCounts are the messages of a campaign by state, each in one.
type CampaignCounts struct {
	Total     int64 `json:"total"`
	Waiting   int64 `json:"waiting" doc:"queued, or being sent"`
	Unknown   int64 `json:"unknown" doc:"the answer was lost; a webhook may still report what became of them"`
	Sent      int64 `json:"sent" doc:"accepted by Meta"`
	Delivered int64 `json:"delivered"`
	Read      int64 `json:"read"`
	Failed    int64 `json:"failed"`
	Skipped   int64 `json:"skipped" doc:"never sent: opted out, no telephone number, or canceled"`
}

func (h Campaigns) show(ctx context.Context, c dboutreach.Campaign) Campaign {
	n := c.Counts
	out := Campaign{
		ID: c.ID, CampaignPlan: CampaignPlan{c.Name, c.Sender, c.Template, c.Audience}, State: CampaignState(c.State),
		Reason: c.Reason, ScheduledAt: c.ScheduledAt, NotAfter: c.NotAfter, FrozenAt: c.FrozenAt, WrittenAt: c.WrittenAt,
		CreatedBy: c.CreatedBy,
		CreatedAt: c.CreatedAt, UpdatedAt: c.UpdatedAt, StartedAt: c.StartedAt, FinishedAt: c.FinishedAt,
		Counts: CampaignCounts{
			Total: n.Total(), Waiting: n.Waiting, Unknown: n.Unknown, Sent: n.Sent, Delivered: n.Delivered, Read: n.Read,
			Failed: n.Failed, Skipped: n.Skipped,
		},
		Workflow: h.door.WorkflowFor(ctx, campaign.WorkflowID(c.ID)),
	}
	if total := n.Total(); total > 0 {
		out.Progress = float64(total-n.Waiting) / float64(total)
	} else if c.State.Ended() {
		out.Progress = 1
	}
	return out
}

type createCampaignInput struct {
	api.OfTenant
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"any text: the same key of the same tenant is the same campaign"`
	Body CampaignPlan
}

// Resolve checks what is sent and to which contacts.
func (in *createCampaignInput) Resolve(huma.Context) []error { return in.Body.wrong() }

type campaignOutput struct {
	Location string `header:"Location" doc:"where to see its progress"`
	Body     Campaign
}

// campaignKeys is the namespace of IDs of campaigns that are made of an Idempotency-Key.
var campaignKeys = uuid.MustParse("c2a5c3f0-8f0b-4c4b-9a53-2f7d0c9e6b41")

func (h Campaigns) create(ctx context.Context, tenant string, in *createCampaignInput) (*campaignOutput, error) {
	id := api.Keyed(campaignKeys, tenant, in.Key, uuid.New())
	c, err := h.Store.Create(ctx, tenant, id, in.Body.plan(), api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	return h.output(ctx, c), nil
}

func (h Campaigns) output(ctx context.Context, c dboutreach.Campaign) *campaignOutput {
	return &campaignOutput{"/campaigns/" + c.ID.String(), h.show(ctx, c)}
}

type listCampaignsInput struct {
	api.OfTenant
	State  string `query:"state" default:"any" example:"running,paused"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	states []string
	after  *db.Position
}

// campaignOrder is the only order of campaigns, for their cursors.
const campaignOrder = "campaigns"

// Resolve reads the cursor.
func (in *listCampaignsInput) Resolve(ctx huma.Context) (wrong []error) {
	in.after, wrong = api.ReadPage(ctx, in.Cursor, campaignOrder, in.Filters()...)
	return wrong
}

func (in *listCampaignsInput) Filters() []api.Filter {
	return []api.Filter{{Name: "state", Values: &in.states, Known: api.OrAny(campaign.States)}}
}

// CampaignPage is the answer of GET /campaigns.
type CampaignPage api.Page[Campaign]

func (h Campaigns) list(ctx context.Context, tenant string, in *listCampaignsInput) (*api.Body[CampaignPage], error) {
	rows, next, err := h.Store.List(ctx, tenant, in.states, in.after, in.Limit)
	if err != nil {
		return nil, err
	}
	show := func(c dboutreach.Campaign) Campaign { return h.show(ctx, c) }
	return api.BodyOf(CampaignPage(api.PageOf(rows, show, api.CursorAt(next, campaignOrder)))), nil
}

type campaignInput struct {
	api.OfTenant
	ID uuid.UUID `path:"id"`
}

// CampaignDetail is the answer of GET /campaigns/{id}.
type CampaignDetail struct {
	Campaign
	PerSecond   int      `json:"per_second" doc:"messages that may be sent: the least of the rates of the tenant and of the sender"`
	SecondsLeft *float64 `json:"seconds_left,omitempty" doc:"at that rate, which the running campaigns of the tenant share; absent unless it runs and all its messages are written, and where the tenant's max_messages_day does not last for them"`
	Held        string   `json:"held,omitempty" doc:"why nothing of it is sent although it runs, and what to do where its sender cannot be used; of a queued one, why it does not start although its time has come"`
}

func (h Campaigns) get(ctx context.Context, tenant string, in *campaignInput) (*api.Body[CampaignDetail], error) {
	c, err := h.Store.Get(ctx, tenant, in.ID)
	if err != nil {
		return nil, err
	}
	t, err := h.door.Tenants.Get(ctx, tenant)
	if err != nil {
		return nil, err
	}
	s, err := h.Senders.Get(ctx, tenant, c.Sender)
	if err != nil {
		return nil, err
	}
	out := CampaignDetail{Campaign: h.show(ctx, c), PerSecond: min(h.Rates.of(t.Tier), s.PerSecond)}
	now := h.door.Now()
	if c.State == campaign.Queued && t.State == db.TenantStopped && !c.ScheduledAt.After(now) {
		out.Held = held(t, s, now)
	}
	if c.State != campaign.Running {
		return api.BodyOf(out), nil
	}
	day, err := h.Messages.Day(ctx, tenant, in.ID)
	if err != nil {
		return nil, err
	}
	if out.Held = held(t, s, now); out.Held == "" {
		if out.Held, err = h.sealed(ctx, s); err != nil {
			return nil, err
		}
	}
	if out.Held == "" && day != nil && day.First && day.Left == 0 {
		out.Held = "the tenant's max_messages_day is used up: first attempts go on at " + day.Next.UTC().Format(time.RFC3339)
	}
	if c.WrittenAt == nil || out.Held != "" || day != nil && day.Over {
		return api.BodyOf(out), nil
	}
	// They take turns, so of a longer one as many messages go before the last of this one.
	running, _, err := h.Store.List(ctx, tenant, []string{string(campaign.Running)}, nil, 100)
	if err != nil {
		return nil, err
	}
	before := int64(0)
	for _, r := range running {
		before += min(r.Counts.Waiting, c.Counts.Waiting)
	}
	out.SecondsLeft = new(float64(before) / float64(out.PerSecond))
	return api.BodyOf(out), nil
}

// held says why nothing is sent for a tenant by a sender at a time; "" = it is.
func held(t db.Tenant, s dboutreach.Sender, now time.Time) string {
	reason := func(says, why string) string {
		if why == "" {
			return says
		}
		return says + ": " + why
	}
	switch {
	case t.State == db.TenantStopped:
		return reason("the tenant is stopped", t.StoppedReason)
	case s.State == dboutreach.SenderStopped:
		return reason("the sender is stopped", s.Reason)
	case s.PausedUntil != nil && s.PausedUntil.After(now):
		return reason("the sender is paused until "+s.PausedUntil.UTC().Format(time.RFC3339), s.Reason)
	case !s.Sends(now):
		return reason("the sender is paused", s.Reason)
	}
	return ""
}

// sealed says why a sender's access token cannot be opened, and what to do; "" = it can be. Workers that lack a key of
// the API are not known here: their logs have it.
func (h Campaigns) sealed(ctx context.Context, s dboutreach.Sender) (string, error) {
	if h.Secrets.Key() == "" {
		return "", nil
	}
	token, err := h.Senders.Token(ctx, s.Tenant, s.ID)
	if err != nil {
		return "", err
	}
	purposes := dboutreach.SenderPurposes(s.Tenant, s.ID, s.PhoneNumberID, true)
	if _, err := h.Secrets.OpenAny(token.Key, token.Box, purposes...); err != nil {
		return fmt.Sprintf("the sender's access token cannot be opened: put its key %q into CONVEYOR_SECRET_KEYS of every "+
			"process, or give the sender a new token (conveyor tenants sender set %s %s --token-file FILE): %v",
			token.Key, s.Tenant, s.ID, err), nil
	}
	return "", nil
}

type editCampaignInput struct {
	api.OfTenant
	ID   uuid.UUID `path:"id"`
	Body CampaignPlan
}

// Resolve checks what is sent and to which contacts.
func (in *editCampaignInput) Resolve(huma.Context) []error { return in.Body.wrong() }

func (h Campaigns) edit(ctx context.Context, tenant string, in *editCampaignInput) (*campaignOutput, error) {
	c, err := h.Store.Edit(ctx, tenant, in.ID, in.Body.plan(), api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	return h.output(ctx, c), nil
}

// CampaignStart is the body of POST …/start, which may be left out.
type CampaignStart struct {
	At       *time.Time `json:"at,omitempty" doc:"absent, or in the past: now"`
	NotAfter *time.Time `json:"not_after,omitempty" doc:"one that comes to its turn later is paused, and not sent; absent: CONVEYOR_CAMPAIGN_LATE after at, put off while it waits for its turn behind others; at any time without at"`
}

type startCampaignInput struct {
	api.OfTenant
	ID   uuid.UUID      `path:"id"`
	Body *CampaignStart // may be left out
}

// startWithin is how long the workflow of a campaign may take to begin it, before the schedule starts it too.
const startWithin = 30 * time.Second

// start is durable when it answers. A campaign that is not started here is started by the schedule, when the tenant has
// its turn.
func (h Campaigns) start(ctx context.Context, tenant string, in *startCampaignInput) (*campaignOutput, error) {
	now := h.door.Now()
	at := now
	if in.Body != nil && in.Body.At != nil && in.Body.At.After(now) {
		at = *in.Body.At
	}
	var (
		c   dboutreach.Campaign
		err error
	)
	by := api.CallerOf(ctx).Name
	switch {
	case in.Body != nil && in.Body.NotAfter != nil && in.Body.NotAfter.Before(at):
		return nil, fault.Newf(fault.Invalid, "not_after: is before the start")
	case in.Body != nil && in.Body.NotAfter != nil:
		c, err = h.Store.ScheduleUntil(ctx, tenant, in.ID, at, in.Body.NotAfter, by, now)
	case in.Body != nil && in.Body.At != nil && h.Late > 0 && contract.TimeFits(at.Add(h.Late)):
		c, err = h.Store.ScheduleWithin(ctx, tenant, in.ID, at, h.Late, by, now)
	default:
		c, err = h.Store.Schedule(ctx, tenant, in.ID, at, by, now)
	}
	if fault.ClassOf(err) == fault.Conflict && !at.After(now) {
		// The same request, whose answer was lost, may have started it.
		if stored, e := h.Store.Get(ctx, tenant, in.ID); e == nil && stored.State == campaign.Running {
			return h.output(ctx, stored), nil
		}
	}
	if err != nil {
		return nil, err
	}
	out := h.output(ctx, c)
	if at.After(now) || c.State != campaign.Queued {
		return out, nil
	}
	reserved, err := h.Store.Reserve(ctx, tenant, in.ID, now, now.Add(startWithin))
	if err != nil {
		return nil, err
	}
	if reserved {
		out.Body.Warning = h.reach(ctx, c, false)
	}
	return out, nil
}

// reach starts the workflow of a campaign where it does not run, and has it read its state.
func (h Campaigns) reach(ctx context.Context, c dboutreach.Campaign, wake bool) (warning string) {
	return h.door.Reach(ctx, campaign.WorkflowID(c.ID), func(ctx context.Context) error {
		if c.State == campaign.Queued || c.State == campaign.Running || c.State == campaign.Canceled && c.FinishedAt == nil {
			if err := h.Launch.StartCampaign(ctx, c.Tenant, c.ID); err != nil {
				return err
			}
		}
		if !wake {
			return nil
		}
		return h.Launch.WakeCampaign(ctx, c.ID)
	})
}

// CampaignControl is the body of POST …/pause and others, which may be left out.
type CampaignControl struct {
	Reason string `json:"reason,omitempty" maxLength:"1000" doc:"shown with the campaign that is paused or canceled"`
}

type controlCampaignInput struct {
	api.OfTenant
	ID   uuid.UUID        `path:"id"`
	Body *CampaignControl // may be left out
}

// changed is the answer to a change, which holds since it was stored: before each request its campaign's state is read.
// The workflow only ends a canceled campaign, and has a resumed one sent.
func (h Campaigns) changed(ctx context.Context, c dboutreach.Campaign) *campaignOutput {
	out := h.output(ctx, c)
	if c.State != campaign.Draft {
		out.Body.Warning = h.reach(ctx, c, true)
	}
	if c.State == campaign.Running {
		h.Wakes.Wake(ctx, c.Tenant)
	}
	return out
}

// CampaignRetried is the answer of POST …/retry-failed.
type CampaignRetried struct {
	Retried  int      `json:"retried" doc:"messages that are queued again; where it is 0 the campaign stays as it was"`
	Campaign Campaign `json:"campaign"`
}

func (h Campaigns) retryFailed(
	ctx context.Context, tenant string, in *campaignInput,
) (*api.Body[CampaignRetried], error) {
	n, err := h.Store.RetryFailed(ctx, tenant, in.ID, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	c, err := h.Store.Get(ctx, tenant, in.ID)
	if err != nil {
		return nil, err
	}
	out := api.BodyOf(CampaignRetried{Retried: n, Campaign: h.show(ctx, c)})
	if n > 0 {
		out.Body.Campaign = h.changed(ctx, c).Body
	}
	return out, nil
}

type campaignMessagesInput struct {
	api.OfTenant
	ID uuid.UUID `path:"id"`
	MessageQuery
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	after *dboutreach.MessagePosition
}

// messageCursor is a position among the messages of a campaign.
type messageCursor struct {
	Order string          `json:"o"`
	State campaign.Status `json:"s"`
	ID    uuid.UUID       `json:"i"`
}

// Resolve reads the cursor.
func (in *campaignMessagesInput) Resolve(ctx huma.Context) []error {
	if in.Cursor != "" {
		var c messageCursor
		if err := api.DecodeCursor(in.Cursor, &c); err != nil || c.Order != messageOrder(in.ID) {
			return slices.Concat(api.WrongCursor(in.Cursor, api.ErrCursor), in.wrong(ctx))
		}
		in.after = &dboutreach.MessagePosition{State: c.State, ID: c.ID}
	}
	return in.wrong(ctx)
}

// messageOrder is the order of a campaign's messages, for their cursors.
func messageOrder(id uuid.UUID) string { return fmt.Sprintf("messages/%s", id) }

// MessagePage is the answer of GET /campaigns/{id}/messages, and of GET /messages.
type MessagePage api.Page[Message]

func (h Campaigns) messages(
	ctx context.Context, tenant string, in *campaignMessagesInput,
) (*api.Body[MessagePage], error) {
	if _, err := h.Store.Get(ctx, tenant, in.ID); err != nil {
		return nil, err
	}
	rows, next, err := h.Messages.OfCampaign(ctx, tenant, in.ID, in.filter(), in.after, in.Limit)
	if err != nil {
		return nil, err
	}
	show := func(m dboutreach.MessageRow) Message { return showMessage(m, api.CallerOf(ctx).Role) }
	at := api.Maybe(next, func(p dboutreach.MessagePosition) messageCursor {
		return messageCursor{messageOrder(in.ID), p.State, p.ID}
	})
	return api.BodyOf(MessagePage(api.PageOf(rows, show, at))), nil
}

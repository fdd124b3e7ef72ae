package outreach

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/access"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/contract"
)

// Messages serves /messages: messages to one person each.
type Messages struct {
	Store *dboutreach.Messages
	Wakes *Wakes

	door *api.Door
}

// maxMessage is the most bytes of the body of POST /messages.
const maxMessage = 64 << 10

// Register implements api.Part.
func (h Messages) Register(d *api.Door) {
	h.door = d
	api.ServeTenant(d, api.NeedsTenant(access.Operate, huma.Operation{
		OperationID: "send-message", Method: http.MethodPost, Path: "/messages", Tags: []string{"messages"},
		Summary: "Send a message to one person", Errors: []int{409, 413}, DefaultStatus: http.StatusAccepted,
		MaxBodyBytes: maxMessage, Metadata: map[string]any{api.ManyKey: true},
		Description: "It is stored when the answer comes, and sent before all messages of campaigns. A request that is " +
			"repeated with its Idempotency-Key is one message, and answers with it as it is then; with another body it is a " +
			"conflict. To a person who has opted out nothing is sent: the message is skipped.",
	}), h.send)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Query("messages", "list-messages", "GET /messages",
		"List messages to one person, the newest first",
		"Those of no campaign. Filters look at the next 10,000: a page may have fewer than there are, or none, and a "+
			"next_cursor all the same. Recipients are shown to callers with the role operate, masked.")), h.list)
	api.ServeTenant(d, api.NeedsTenant(access.Read, api.Op("messages", "get-message", "GET /messages/{id}",
		"Get a message with every attempt and status",
		"Recipient, masked, and content are shown to callers with the role operate. The audit has the number of such "+
			"requests, once a minute for each caller.")), h.get)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("messages", "show-message-recipient",
		"POST /messages/{id}/recipient", "Get the telephone number that a message is for",
		"With Meta's ID of the message, from which the number can be read. Everything else shows the number masked, and no "+
			"such ID. The audit has each request.")), h.recipient)
	api.ServeTenant(d, api.NeedsTenant(access.Operate, api.Op("messages", "retry-message", "POST /messages/{id}/retry",
		"Send a failed message again",
		"One that failed for a cause that may have passed. A campaign that was done is running again. A message that is on "+
			"its way stays as it is; another one is a conflict.", 202, 409)), h.retry)
}

// MessageState is a state of a message.
type MessageState campaign.Status

// Schema implements huma.SchemaProvider.
func (MessageState) Schema(huma.Registry) *huma.Schema { return api.EnumOf(campaign.Statuses) }

// MessageStart is the body of POST /messages.
type MessageStart struct {
	Sender uuid.UUID     `json:"sender" doc:"ID of the number to send from"`
	To     string        `json:"to" pattern:"^\\+[1-9][0-9]{6,14}$" doc:"telephone number, as E.164" example:"+15145550199"`
	Body   campaign.Body `json:"body" doc:"what is sent, in the form of the Cloud API"`
}

type sendMessageInput struct {
	api.OfTenant
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"any text: the same key of the same tenant is the same message"`
	Body MessageStart
}

// Resolve checks what is sent.
func (in *sendMessageInput) Resolve(huma.Context) []error {
	return wrongFields("body.body", in.Body.Body.Check(false))
}

// wrongFields are the details of an error with contract.Errors, about a part of the request.
func wrongFields(at string, err error) (wrong []error) {
	var fields contract.Errors
	if !errors.As(err, &fields) {
		if err != nil {
			wrong = append(wrong, &huma.ErrorDetail{Message: err.Error(), Location: at})
		}
		return wrong
	}
	for _, f := range fields {
		wrong = append(wrong, &huma.ErrorDetail{Message: f.Reason, Location: at + "." + f.Field})
	}
	return wrong
}

// A Message is a message to one person.
type Message struct {
	ID          uuid.UUID      `json:"id"`
	Campaign    *uuid.UUID     `json:"campaign,omitempty" doc:"absent: it belongs to none"`
	Contact     *int64         `json:"contact,omitempty" doc:"of a campaign's"`
	Sender      uuid.UUID      `json:"sender"`
	Kind        string         `json:"kind" enum:"transactional,campaign"`
	State       MessageState   `json:"state"`
	To          string         `json:"to,omitempty" doc:"telephone number, masked: POST /messages/{id}/recipient has it"`
	Body        *campaign.Body `json:"body,omitempty" doc:"what is sent; absent in lists"`
	Attempts    int            `json:"attempts" doc:"requests to send it"`
	Class       string         `json:"class,omitempty" doc:"of the last error, or why it was skipped"`
	Code        int            `json:"code,omitempty" doc:"of the last error, Meta's"`
	Error       string         `json:"error,omitempty" doc:"the last one"`
	DueAt       *time.Time     `json:"due_at,omitempty" doc:"while it is queued: it is not sent before"`
	QueuedAt    time.Time      `json:"queued_at"`
	SentAt      *time.Time     `json:"sent_at,omitempty"`
	DeliveredAt *time.Time     `json:"delivered_at,omitempty"`
	ReadAt      *time.Time     `json:"read_at,omitempty"`
	FailedAt    *time.Time     `json:"failed_at,omitempty"`
}

// showMessage leaves out what a caller with a role may not see.
func showMessage(m dboutreach.MessageRow, role access.Role) Message {
	out := Message{
		ID: m.ID, Campaign: m.Campaign, Contact: m.Contact, Sender: m.Sender, Kind: m.Kind, State: MessageState(m.State),
		Attempts: m.Attempts, Class: string(m.Class), Code: m.Code, Error: m.Error, QueuedAt: m.QueuedAt, SentAt: m.SentAt,
		DeliveredAt: m.DeliveredAt, ReadAt: m.ReadAt, FailedAt: m.FailedAt,
	}
	if m.State == campaign.MessageQueued {
		out.DueAt = &m.DueAt
	}
	if role.May(access.Operate) {
		if out.To = contact.Mask(m.Recipient); m.Body.Type != "" {
			out.Body = &m.Body
		}
	}
	return out
}

type sendMessageOutput struct {
	Location string `header:"Location" doc:"where to see what became of it"`
	Body     Message
}

// send is durable when it answers. The wake only makes the message's turn come sooner.
func (h Messages) send(ctx context.Context, tenant string, in *sendMessageInput) (*sendMessageOutput, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, err
	}
	if in.Key != "" {
		id = campaign.TransactionalID(tenant, in.Key)
	}
	m, err := h.Store.Put(ctx, tenant, dboutreach.NewMessage{
		ID: id, Sender: in.Body.Sender, Recipient: in.Body.To, Body: in.Body.Body,
	}, h.door.Now())
	if err != nil {
		return nil, err
	}
	if m.State == campaign.MessageQueued {
		h.Wakes.Wake(ctx, tenant)
	}
	m.Body = in.Body.Body
	return &sendMessageOutput{"/messages/" + m.ID.String(), showMessage(m, api.CallerOf(ctx).Role)}, nil
}

// MessageQuery is the filters that lists of messages have.
type MessageQuery struct {
	State string `query:"state" default:"any" example:"failed,unknown"`
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	Class string `query:"class" doc:"of the last error, or why they were skipped"`
	Code  string `query:"code" pattern:"^[0-9]{1,9}(,[0-9]{1,9}){0,19}$" doc:"of the last error, Meta's; 0: those without one"`

	states, classes, codes []string
}

// messageClass and messageCode are the forms of their values.
var (
	messageClass = regexp.MustCompile(`^[a-z_]{1,40}$`)
	messageCode  = regexp.MustCompile(`^[0-9]{1,9}$`)
)

// wrong is what a schema cannot express.
func (in *MessageQuery) wrong(ctx huma.Context) []error { return api.AnyOf(ctx, in.Filters()...) }

// Filters are those that take several values.
func (in *MessageQuery) Filters() []api.Filter {
	return []api.Filter{
		{Name: "state", Values: &in.states, Known: api.OrAny(campaign.Statuses)},
		{Name: "class", Values: &in.classes, Form: messageClass},
		{Name: "code", Values: &in.codes, Form: messageCode},
	}
}

func (in *MessageQuery) filter() dboutreach.MessageFilter {
	return dboutreach.MessageFilter{
		State: api.ValuesOf[campaign.Status](in.states), Class: api.ValuesOf[campaign.Class](in.classes), Code: in.codes,
	}
}

type listMessagesInput struct {
	api.OfTenant
	MessageQuery
	Cursor string `query:"cursor" maxLength:"400" doc:"next_cursor of the previous page"`

	after *db.Position
}

// messagesOrder is the only order of messages to one person, for their cursors.
const messagesOrder = "messages"

// Resolve reads the cursor.
func (in *listMessagesInput) Resolve(ctx huma.Context) []error {
	var err error
	in.after, err = api.ParseCursor(in.Cursor, messagesOrder)
	return slices.Concat(api.WrongCursor(in.Cursor, err), in.wrong(ctx))
}

func (h Messages) list(ctx context.Context, tenant string, in *listMessagesInput) (*api.Body[MessagePage], error) {
	rows, next, err := h.Store.List(ctx, tenant, in.filter(), in.after, in.Limit)
	if err != nil {
		return nil, err
	}
	show := func(m dboutreach.MessageRow) Message { return showMessage(m, api.CallerOf(ctx).Role) }
	return api.BodyOf(MessagePage(api.PageOf(rows, show, api.CursorAt(next, messagesOrder)))), nil
}

type messageInput struct {
	api.OfTenant
	ID uuid.UUID `path:"id"`
}

// MessageDetail is the answer of GET /messages/{id}.
type MessageDetail struct {
	Message
	Timeline []MessageEvent `json:"timeline" doc:"what has happened to it, in the order of time; within a second, in that of event"`
}

// A MessageEvent is one thing that has happened to a message.
type MessageEvent struct {
	At      time.Time       `json:"at"`
	Event   string          `json:"event" enum:"queued,attempt,sent,delivered,read,failed"`
	Attempt *MessageAttempt `json:"attempt,omitempty" doc:"a request to send it"`
}

// A MessageAttempt is a request to send a message.
type MessageAttempt struct {
	N       int    `json:"n" doc:"from 1"`
	TookMS  int    `json:"took_ms"`
	Outcome string `json:"outcome" doc:"what followed from the answer"`
	Class   string `json:"class,omitempty" doc:"of the error"`
	Status  int    `json:"http_status,omitempty" doc:"absent: there was no answer"`
	Code    int    `json:"code,omitempty" doc:"of the error, Meta's"`
	Error   string `json:"error,omitempty"`
}

func showAttempt(a dboutreach.Attempt) MessageEvent {
	return MessageEvent{At: a.At, Event: "attempt", Attempt: &MessageAttempt{
		N: a.N, TookMS: a.TookMS, Outcome: string(a.Outcome), Class: string(a.Class), Status: a.Status, Code: a.Code,
		Error: a.Error,
	}}
}

// timeline is what has happened to a message, in the order of time. Meta's times have whole seconds, so events of one
// second are in the order of a message's life, which is that of the code.
func timeline(m dboutreach.MessageRow, attempts []dboutreach.Attempt) []MessageEvent {
	out := append([]MessageEvent{{At: m.QueuedAt, Event: "queued"}}, api.Each(attempts, showAttempt)...)
	for _, e := range []struct {
		name string
		at   *time.Time
	}{{"sent", m.SentAt}, {"delivered", m.DeliveredAt}, {"read", m.ReadAt}, {"failed", m.FailedAt}} {
		if e.at != nil {
			out = append(out, MessageEvent{At: *e.at, Event: e.name})
		}
	}
	slices.SortStableFunc(out, func(a, b MessageEvent) int {
		return a.At.Truncate(time.Second).Compare(b.At.Truncate(time.Second))
	})
	return out
}

func (h Messages) get(ctx context.Context, tenant string, in *messageInput) (*api.Body[MessageDetail], error) {
	m, attempts, err := h.Store.Get(ctx, tenant, in.ID)
	if err != nil {
		return nil, err
	}
	out := MessageDetail{showMessage(m, api.CallerOf(ctx).Role), timeline(m, attempts)}
	if out.Body != nil {
		h.door.GiveOutOften(ctx, tenant, api.MessageShown, "get-message")
	}
	return api.BodyOf(out), nil
}

// MessageRecipient is the answer of POST /messages/{id}/recipient.
type MessageRecipient struct {
	To string `json:"to" doc:"telephone number, as E.164; empty when the person was forgotten"`
	// WAMID has the number in it, as base64: nothing else shows it.
	WAMID string `json:"wamid,omitempty" doc:"Meta's ID of the last request that it accepted"`
}

func (h Messages) recipient(ctx context.Context, tenant string, in *messageInput) (*api.Body[MessageRecipient], error) {
	to, wamid, err := h.Store.Recipient(ctx, tenant, in.ID, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	h.door.Given.Read(api.RecipientShown)
	h.door.Given.Gave(api.RecipientShown, 1)
	return api.BodyOf(MessageRecipient{to, wamid}), nil
}

// retry is durable when it answers. The campaign's workflow, if it had ended, is started by those that tend campaigns.
func (h Messages) retry(ctx context.Context, tenant string, in *messageInput) (*api.Body[Message], error) {
	m, err := h.Store.Retry(ctx, tenant, in.ID, api.CallerOf(ctx).Name, h.door.Now())
	if err != nil {
		return nil, err
	}
	if m.State == campaign.MessageQueued {
		h.Wakes.Wake(ctx, tenant)
	}
	return api.BodyOf(showMessage(m, api.CallerOf(ctx).Role)), nil
}

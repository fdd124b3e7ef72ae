package campaign

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The kinds of messages. Transactional ones go before those of campaigns at every claim.
const (
	KindTransactional = "transactional"
	KindCampaign      = "campaign"
)

// The classes of messages that are not sent. None of them may be retried.
const (
	ClassOptedOut     Class = "opted_out"     // the recipient wants no messages of this tenant
	ClassNoPhone      Class = "no_phone"      // the contact has no phone number
	ClassMissingField Class = "missing_field" // the contact has not a field that the template names without a fallback
	ClassBadContent   Class = "bad_content"   // with the contact's fields the message is none that Meta takes
	ClassCanceled     Class = "canceled"      // its campaign was canceled before it was sent
)

// ClassUnreported is the class of a message that is unknown and stays so: no webhook has told of it within
// ReportedWithin. It may have arrived, so it is never sent again.
const ClassUnreported Class = "unreported"

// ReportedWithin is for how long Meta repeats a webhook that was not answered.
const ReportedWithin = 7 * 24 * time.Hour

// messageIDs is the namespace of the IDs of messages.
var messageIDs = uuid.MustParse("5a0be1c7-41a6-5d6c-8d8e-0f4a3a3a6c1e")

// MessageID is the ID of the message that a campaign has for a contact: there is one.
func MessageID(campaign uuid.UUID, contact int64) uuid.UUID {
	return uuid.NewSHA1(messageIDs, strconv.AppendInt(campaign[:], contact, 10))
}

// TransactionalID is the ID of the transactional message that a tenant sends with an idempotency key.
func TransactionalID(tenant, key string) uuid.UUID {
	return uuid.NewSHA1(messageIDs, []byte(tenant+"\x00"+key))
}

// EventID is the ID of the event that says that a message came to a state by its n-th request.
func EventID(message uuid.UUID, s Status, n int) uuid.UUID {
	return uuid.NewSHA1(message, fmt.Appendf(nil, "%s/%d", s, n))
}

// A Claim is a message that a worker holds to send it.
type Claim struct {
	ID        uuid.UUID
	Campaign  uuid.UUID // zero: it is transactional
	Sender    uuid.UUID
	Recipient string // E.164
	Body      Body
	Attempts  int       // requests that were made for it before
	Spent     int       // of those, the ones that count against MaxAttempts
	Holds     int       // pauses of its sender in a row, up to now
	QueuedAt  time.Time // or last due, after an attempt
}

// A Result is what became of a claim.
type Result struct {
	Claim
	Verdict
	WAMID  string        // Meta's ID of the message, where it was accepted
	WaID   string        // the recipient's number as WhatsApp has it, where that is another one; digits only
	Status int           // of HTTP; 0 = no answer
	Error  string        // what the API says; has no token and no personal data. "" = what the verdict means
	At     time.Time     // the request was begun
	Took   time.Duration // until its answer
	Dice   float64       // in [0, 1): spreads the waits
}

// MaxAttempts is how often a message is tried whose attempts fail for a cause of its own that may pass.
const MaxAttempts = 3

// Next is the state of a message after an attempt, and how long it waits for the next one where that is MessageQueued.
// A message is queued without end while a limit or the state of its tenant holds it back; what counts as an attempt
// does so MaxAttempts times.
func (r *Result) Next() (Status, time.Duration) {
	switch r.Outcome {
	case Accepted:
		return MessageSent, 0
	case Unknown:
		return MessageUnknown, 0
	case RetryLater, DelayRecipient:
		if !r.last() {
			return MessageQueued, r.Wait(max(1, r.Attempts+1-r.others()), r.Dice)
		}
	case PauseSender: // the sender waits, and the message with it
		if !r.last() {
			return MessageQueued, r.Rest * time.Duration(1+2*r.Spent)
		}
	case StopTenant: // the tenant stands still, and the message with it
		return MessageQueued, 0
	case FailRecipient, FailContent:
	}
	return MessageFailed, 0
}

// last says that no attempt is left.
func (r *Result) last() bool { return r.Spends && r.Spent+1 >= MaxAttempts }

// others are the requests before this one that were of the other kind: those that spent an attempt, or those that did
// not.
func (r *Result) others() int {
	if r.Spends {
		return r.Attempts - r.Spent
	}
	return r.Spent
}

// Pause is for how long nothing is sent by the sender of the message; 0 = it goes on.
func (r *Result) Pause() time.Duration {
	if r.Outcome != PauseSender {
		return 0
	}
	return r.Wait(r.Holds+1, r.Dice)
}

// GivenUp says that the message has failed for want of attempts: a later one might have been accepted.
func (r *Result) GivenUp() bool {
	s, _ := r.Next()
	return s == MessageFailed && r.Outcome != FailRecipient && r.Outcome != FailContent
}

// A Report is what Meta says by webhook about a message that was accepted.
type Report struct {
	PhoneNumberID string // Meta's ID of the sender that it is about a message of
	WAMID         string
	Message       uuid.UUID // our ID, from biz_opaque_callback_data, which a sender is free to choose; zero = none
	WaID          string    `json:",omitempty"` // the recipient's number as WhatsApp has it, digits only; "" = not told
	User          string    `json:",omitempty"` // what WhatsApp calls the recipient within the business; "" = not told
	Status        Status    // one of Reported
	At            time.Time // by Meta's clock
	Verdict       Verdict   // of a failure
	Error         string    // of a failure: what Meta says; "" = what the verdict means
}

// An Inbound is a message to one of our senders, or what its writer has set in WhatsApp about its messages.
type Inbound struct {
	PhoneNumberID string // Meta's ID of the sender that it was written to
	From          string // the writer's number as WhatsApp has it: digits only; "" = it is not told
	User          string `json:",omitempty"` // what WhatsApp calls the writer within the business; "" = it is not told
	WasUser       string `json:",omitempty"` // what WhatsApp called the writer before; "" = the same
	ReplyTo       string // Meta's ID of the message that it answers; "" = none
	Text          string // of the message, or of the button
	Chosen        bool   `json:",omitempty"` // Text is the title of a button or a row, which its sender wrote
	Wish          Wish   `json:",omitempty"` // that was set, or is plain from more than Text; "" = only Text tells
	At            time.Time
}

// A Wish is what a person wants of the messages of a tenant.
type Wish string

// The wishes of people. That of most messages is none: "".
const (
	WishStop   Wish = "stop"   // no more of them
	WishResume Wish = "resume" // to get them again
)

// Wants is the wish that a message or a preference tells.
func (m Inbound) Wants() Wish {
	if m.Wish == "" && (IsOptOutTitle(m.Text) || !m.Chosen && IsOptOut(m.Text)) {
		return WishStop
	}
	return m.Wish
}

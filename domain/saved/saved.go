// Package saved is saved searches: which listings one means, what of them is news, when it is told and in which words.
// It does no I/O and reads no clock; time zones are those that the program was built with, or the system's.
package saved

import (
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/fault"
)

// Queue is the task queue of notifications, and where their dead letters say that they died.
const Queue = "notify"

// WorkflowID names the workflow of a delivery.
func WorkflowID(delivery uuid.UUID) string { return "notify/" + delivery.String() }

// A Kind is a kind of news.
type Kind string

// The kinds of news.
const (
	New       Kind = "new"        // a home that the search was never told of
	PriceDrop Kind = "price_drop" // its rent has fallen
	Back      Kind = "back"       // it was not offered for a while, and is again
)

// Kinds are all of them.
var Kinds = []Kind{New, PriceDrop, Back}

// A Channel is a way to tell news.
type Channel string

// The channels. A feed is read, nothing is sent to it.
const (
	Webhook  Channel = "webhook"
	Feed     Channel = "feed"
	Email    Channel = "email"
	Telegram Channel = "telegram"
)

// Channels are all of them.
var Channels = []Channel{Webhook, Feed, Email, Telegram}

// Asks reports whether a target is asked first whether it wants news, and told nothing before it has confirmed that.
func (c Channel) Asks() bool { return c != Feed }

// Owned reports whether it is a person who confirms, and stops, a target: by links that only its messages have.
func (c Channel) Owned() bool { return c == Email || c == Telegram }

// States of a target.
const (
	TargetActive      = "active"
	TargetUnconfirmed = "unconfirmed" // its owner, or the host of a webhook, has not confirmed it: it is only asked
	TargetStopped     = "stopped"     // its owner wants no more, or it is gone: only a webhook may be active again
)

// States of a search.
const (
	Active = "active"
	Paused = "paused" // what happens meanwhile is not told later
)

// Bounds on one search.
const (
	MaxName    = 200 // characters
	MaxTargets = 10
)

// Bounds on questions to strangers: an e-mail address or a Telegram chat that has not answered is asked once in
// AskedWithin, and a tenant may have MaxAsked of them and MaxAskedHooks webhooks asked in that time that do not
// confirm.
const (
	MaxAsked      = 100
	MaxAskedHooks = 2000 // the targets of as many searches as a tenant may have by default
	AskedWithin   = 24 * time.Hour
)

// MaxTries is how often a delivery is tried before it is a dead letter: over some five hours, by RetryAfter, or
// longer where the target asks for that.
const (
	MaxTries   = 12
	RetryFirst = 5 * time.Second
	RetryMost  = time.Hour
)

// MaxCompares is how often an event that fails alone is compared with the searches before it is a dead letter. What
// fails of one tenant alone is one at once.
const MaxCompares = 5

// MaxChallenges is how often a webhook is asked to confirm before that has failed: over some ten minutes, or longer
// where its Retry-After asks for that.
const MaxChallenges = 6

// ErrUnreached is in the chain of an error of a try that may have failed on our own side: no connection to the server
// was made, and it has answered nothing. One that refuses the connection was reached. So is it of a mail server that
// ends before it is told of the recipient: it is our sender that it does not take.
var ErrUnreached = errors.New("could not be reached")

// UnreachedMost is for how long tries that reach nobody are not counted: an outage of our network costs a target none
// of its tries, and a host that has gone is given up all the same.
const UnreachedMost = 24 * time.Hour

// UnreachedAsks is as long for the question whether a webhook wants news: its address may be made up, and nobody waits
// long for an answer that its tenant can have asked for again.
const UnreachedAsks = time.Hour

// UnreachedPause is the longest pause before the next try of a delivery that could not reach its target: it is made
// soon after the network is back.
const UnreachedPause = 10 * time.Minute

// StoppedPause is how often a question to confirm an address looks whether its tenant is still stopped.
const StoppedPause = 15 * time.Minute

// FailingMost is for how long deliveries to a target may fail, and none succeed, before it is stopped.
const FailingMost = 3 * 24 * time.Hour

// RetryAfter is the pause before the next try of a delivery, after so many that its target has failed: three times as
// long each time. Tries that our own services failed do not count.
func RetryAfter(tries int) time.Duration { return fault.Growing(RetryFirst, RetryMost, 3, tries) }

// A Search is a filter of listings whose news a tenant wants to be told.
type Search struct {
	ID       uuid.UUID
	Tenant   string
	Name     string
	Filter   Criteria
	Kinds    []Kind
	Schedule Schedule
	Language Language  // of e-mails, Telegram messages and feeds; "" is English
	State    string    // Active or Paused
	Since    time.Time // events before are no news

	CreatedAt, UpdatedAt time.Time
}

// Check returns fault.Invalid for what cannot be a search, naming the field.
func (s Search) Check() error {
	if err := s.CheckRest(); err != nil {
		return err
	}
	return s.Filter.Check()
}

// CheckRest is Check of all but the filter.
func (s Search) CheckRest() error {
	if n := utf8.RuneCountInString(s.Name); n < 1 || n > MaxName || strings.ContainsRune(s.Name, 0) ||
		!utf8.ValidString(s.Name) || strings.TrimSpace(s.Name) == "" {
		return fault.Newf(fault.Invalid, "name: expected 1 to %d characters", MaxName)
	}
	if len(s.Kinds) == 0 {
		return fault.Newf(fault.Invalid, "kinds: expected at least one of new, price_drop and back")
	}
	for i, k := range s.Kinds {
		if !slices.Contains(Kinds, k) || slices.Contains(s.Kinds[:i], k) {
			return fault.Newf(fault.Invalid, "kinds: expected each of new, price_drop and back at most once")
		}
	}
	if s.State != Active && s.State != Paused {
		return fault.Newf(fault.Invalid, "state: expected active or paused")
	}
	if s.Language != "" && !slices.Contains(Languages, s.Language) {
		return fault.Newf(fault.Invalid, "language: expected en or fr")
	}
	return s.Schedule.Check()
}

// An Address is what a target is reached by. It is stored sealed.
type Address struct {
	URL    string `json:"url,omitempty"`    // of a webhook
	Secret string `json:"secret,omitempty"` // that a webhook is signed with
	// The secret before that one, which it is signed with, too, until a time.
	Before      string     `json:"before,omitempty"`
	BeforeUntil *time.Time `json:"before_until,omitempty"`
	Email       string     `json:"email,omitempty"`
	Token       string     `json:"token,omitempty"` // of the links by which an owner confirms and stops it
	Chat        string     `json:"chat,omitempty"`  // Telegram's ID of a chat, or @name of a channel
}

// Rotate gives a webhook a new secret. The one before is good until then, where that is after now; of three secrets the
// oldest is good no more.
func (a *Address) Rotate(secret string, now, until time.Time) {
	a.Before, a.BeforeUntil = "", nil
	if until.After(now) {
		a.Before, a.BeforeUntil = a.Secret, &until
	}
	a.Secret = secret
}

// Secrets are those that a webhook is signed with at a time, the newest first.
func (a *Address) Secrets(now time.Time) []string {
	if a.BeforeUntil == nil || !now.Before(*a.BeforeUntil) {
		return []string{a.Secret}
	}
	return []string{a.Secret, a.Before}
}

// TargetPurpose is what the address of a target is sealed for.
func TargetPurpose(id uuid.UUID) string { return "saved-target/" + id.String() }

// AddressesPurpose is what the key is sealed for that e-mail addresses and chats are hashed by.
const AddressesPurpose = "saved-addresses"

// Chatroom is the one form of the ID of a Telegram chat, or of the @name of a channel. No Mailbox looks like it.
func Chatroom(chat string) string { return "telegram\x00" + strings.ToLower(chat) }

// Mailbox is the one form of e-mail addresses that reach the same person by most mail servers: of any case, and with
// any tag after a plus.
func Mailbox(address string) string {
	at := strings.LastIndexByte(address, '@')
	local, _, _ := strings.Cut(address[:max(at, 0)], "+")
	return strings.ToLower(local + address[max(at, 0):])
}

package campaign

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
)

// An Outcome is what became of a request to send a message, and with that what is done next.
type Outcome string

// The outcomes of a send.
const (
	Accepted       Outcome = "accepted"        // the API took it; its delivery is told by the webhook
	RetryLater     Outcome = "retry_later"     // this message is sent again after the wait
	PauseSender    Outcome = "pause_sender"    // no message of the sender is sent before the wait is over
	DelayRecipient Outcome = "delay_recipient" // no message of the sender to this recipient is sent before the wait is over
	FailRecipient  Outcome = "fail_recipient"  // this recipient cannot be reached: the message has failed
	FailContent    Outcome = "fail_content"    // this content is never accepted: the message has failed
	StopTenant     Outcome = "stop_tenant"     // nothing of the tenant can be sent until its account is mended
	// Unknown means that the API may have taken it: the message is never sent again on a guess. The webhook settles it,
	// by the id that the request carried.
	Unknown Outcome = "unknown"
)

// Outcomes are all of them.
var Outcomes = []Outcome{
	Accepted, RetryLater, PauseSender, DelayRecipient, FailRecipient, FailContent, StopTenant, Unknown,
}

// A Class is the cause of an outcome.
type Class string

// The classes of outcomes. ClassNone is that of an accepted message.
const (
	ClassNone       Class = ""
	ClassThroughput Class = "throughput" // the messages a second, or the requests an hour, of a sender, account or app
	ClassPair       Class = "pair"       // the messages of one sender to one recipient
	ClassSpam       Class = "spam"       // the sender is held back because people blocked or reported it
	ClassMarketing  Class = "marketing"  // the marketing messages that one person gets from all businesses
	ClassTransient  Class = "transient"  // the API has a problem of its own
	ClassNetwork    Class = "network"    // the request did not reach the API
	ClassUnknown    Class = "unknown"    // the answer was lost
	ClassRecipient  Class = "recipient"  // this person cannot get this message
	ClassContent    Class = "content"    // this message is not valid
	ClassTemplate   Class = "template"   // the template cannot be used by any message
	ClassAccount    Class = "account"    // token, permission, payment or registration
	ClassOther      Class = "other"      // a code that is not in the table
)

// Classes are all of them but ClassNone.
var Classes = []Class{
	ClassThroughput, ClassPair, ClassSpam, ClassMarketing, ClassTransient, ClassNetwork, ClassUnknown, ClassRecipient,
	ClassContent, ClassTemplate, ClassAccount, ClassOther,
}

// MayRetry reports whether a message that failed with this class may be sent again at the request of a person,
// unchanged: the cause was elsewhere, and may be mended. It is false for ClassUnknown, where a repeat could be a
// second message.
func (c Class) MayRetry() bool {
	switch c {
	case ClassNone, ClassUnknown, ClassRecipient, ClassContent:
		return false
	case ClassThroughput, ClassPair, ClassSpam, ClassMarketing, ClassTransient, ClassNetwork, ClassTemplate, ClassAccount,
		ClassOther:
		return true
	}
	return false
}

// RetryAfter is how long after its failure a message of this class is sent again at the request of a person, at the
// earliest: 0 = at once.
func (c Class) RetryAfter() time.Duration {
	if c == ClassMarketing {
		return marketingWait
	}
	return 0
}

// An APIError is the error of an answer of the Cloud API, or of a status that its webhook brings.
type APIError struct {
	Code      int    `json:"code"` // < 0: it is missing, or no number
	Subcode   int    `json:"subcode,omitempty"`
	Message   string `json:"message,omitempty"` // for people; without the recipient
	Details   string `json:"details,omitempty"` // error_data.details
	Transient bool   `json:"transient,omitempty"`
	TraceID   string `json:"trace_id,omitempty"` // by which Meta's support finds the request
}

// An Answer is what came back from a request to send one message.
type Answer struct {
	Status int       // of HTTP; 0 = no answer arrived
	ID     string    // the wamid of the message; empty = the answer has none
	WaID   string    // the recipient's id at WhatsApp, which may differ from the phone number
	Error  *APIError // nil = the answer has none
	// Written says that the whole request may have left this process, so that without an answer its effect is unknown.
	Written bool
	Err     error         // of the connection or of the context; nil = the answer was read
	After   time.Duration // the wait that the answer asks for; 0 = none
	// Usage is the highest share of an hourly limit of the business that is used up, in percent; 0 = not told.
	Usage int
}

// Begun reports whether there was an attempt: it is false where the caller was stopped before the request was
// written. A claim is then given back, and nothing is recorded.
func (a Answer) Begun() bool {
	return a.Status != 0 || a.Written || !errors.Is(a.Err, context.Canceled)
}

// Result is what the answer on a claim's request means for it. at is when the request was begun, and took the time
// until the answer; dice, in [0, 1), spreads the waits.
func (a Answer) Result(c Claim, at time.Time, took time.Duration, dice float64) Result {
	r := Result{Claim: c, Verdict: a.verdict(c), WAMID: a.ID, Status: a.Status, At: at, Took: took, Dice: dice}
	if Elsewhere(c.Recipient, a.WaID) {
		r.WaID = a.WaID
	}
	switch {
	case r.Outcome == Accepted:
	case a.Error != nil && a.Error.Details != "":
		r.Error = a.Error.Details
	case a.Error != nil:
		r.Error = a.Error.Message
	case a.Err != nil:
		r.Error = a.Err.Error()
	}
	return r
}

// Elsewhere says that WhatsApp has a recipient under another number, waID, from which the person writes.
func Elsewhere(recipient, waID string) bool {
	return waID != "" && strings.Trim(waID, "0123456789") == "" && strings.HasPrefix(recipient, "+") &&
		contact.Key("+"+waID, "") != contact.Key(recipient, "")
}

// A Verdict is a row of the table of outcomes: what an answer means.
type Verdict struct {
	Outcome Outcome
	Class   Class
	Code    int // of the API; 0 where there is none
	// First is the wait after the first such answer, which grows by Factor with each further one, up to Most. See Wait.
	First, Most time.Duration
	Factor      float64
	Rest        time.Duration `json:",omitempty"` // with PauseSender: the least wait of the message
	Spends      bool          // it counts as one of the attempts of the message
	HoldsAll    bool          // no message of the campaign would fare better: the campaign is paused
	OptsOut     bool          // the person wants no more messages: the opt-out is stored
	Alert       bool          // a person has to act, of the tenant or of this system
	Means       string        // for people; has no personal data
}

// Wait is the wait after the n-th such answer in a row, 1 or more, for the message or the recipient or, with
// PauseSender, for the sender. dice, in [0, 1), spreads it upwards by up to a quarter, for messages that failed
// together not to return together. It is 0 where nothing is tried again.
func (v Verdict) Wait(n int, dice float64) time.Duration {
	if v.First <= 0 {
		return 0
	}
	return time.Duration(float64(fault.Growing(v.First, max(v.Most, v.First), max(v.Factor, 1), n)) * (1 + dice/4))
}

// heldMost is how many requests a message may cost while nothing of its sender is accepted. Each further one spends an
// attempt, so that a message that the API always fails at is not sent for ever where its sender has no other.
const heldMost = 20

// verdict is what the answer on a claim's request means for it, which Judge does not know. An API that answers with 5xx
// fails all messages alike: the sender is held, shortly at first, for one such answer may be about one message. While
// none of the sender was accepted since its last pause, it is the API that fails, and no attempt of the message is
// spent.
func (a Answer) verdict(c Claim) Verdict {
	v := Judge(a)
	if a.Status >= 500 && v.Means == apiFailed.Means {
		code := v.Code
		v = apiSick
		v.Code, v.First, v.Most = code, max(v.First, a.After), max(v.Most, a.After)
	}
	if v.Outcome == PauseSender && c.Holds > 0 && c.Attempts < heldMost {
		v.Spends = false
	}
	return v
}

// Judge says what an answer means. Codes decide, then the status of HTTP, which for one code differs between versions
// and accounts. A wait that the answer asks for is the least; what is not known is tried again within the attempts of
// the message, for an error is an answer: nothing was sent.
func Judge(a Answer) Verdict {
	v := judge(a)
	if a.After > 0 && v.First > 0 {
		v.First, v.Most = max(v.First, a.After), max(v.Most, a.After)
	}
	return v
}

func judge(a Answer) Verdict {
	switch {
	case a.Status == 0 && a.Written:
		return answerLost
	case a.Status == 0 && errors.Is(a.Err, context.Canceled):
		return notBegun
	case a.Status == 0:
		return notReached
	case a.Status < 300 && a.ID != "": // whatever stands where an error would
		return Verdict{Outcome: Accepted}
	case a.Status < 300 && (a.Error == nil || a.Error.Code < 0):
		return answerLost
	case a.Error != nil:
		return JudgeError(a.Status, *a.Error)
	}
	// No error of the API: a proxy or another server may have answered.
	switch a.Status {
	case 401, 403, 404, 407:
		return notTheAPI
	case 429:
		return overRate
	case 502, 504: // a gateway passed the request on and did not hear of it again
		return answerLost
	case 503:
		return apiAway
	}
	return apiFailed
}

// JudgeError says what an error of the API means: of an answer with a status of HTTP, or, with status 0, of a message
// that was accepted and that a webhook reports as failed.
func JudgeError(status int, e APIError) Verdict {
	v := verdictOf(status, e)
	v.Code = max(e.Code, 0) // a code that is missing, or no number, is less
	return v
}

func verdictOf(status int, e APIError) Verdict {
	switch e.Code {
	case 100:
		if e.Subcode == 33 { // the object of the path, which is the sender's phone number id
			return senderMissing
		}
		fallthrough
	case 131009:
		if strings.Contains(strings.ToLower(e.Details), "recipient") {
			return notReachable
		}
	}
	if v, ok := verdicts[e.Code]; ok {
		return v
	}
	switch {
	case e.Code >= 200 && e.Code <= 299:
		return accessDenied
	case e.Code >= 132000 && e.Code <= 132016:
		return contentFails("the template does not fit")
	case status == 429:
		return overRate
	case status == 401:
		return accessDenied
	case e.Transient || status >= 500:
		return apiFailed
	}
	v := apiFailed
	v.Class, v.Means = ClassOther, "an error of the API that is not in the table"
	return v
}

// marketingWait is how long Meta asks to leave a person alone who got enough marketing messages.
const marketingWait = 24 * time.Hour

// Verdicts of more than one row.
var (
	overRate = Verdict{
		Outcome: PauseSender, Class: ClassThroughput, First: 2 * time.Second, Factor: 2, Most: time.Minute,
		Means: "too many messages a second",
	}
	overQuota = Verdict{
		Outcome: PauseSender, Class: ClassThroughput, First: 30 * time.Second, Factor: 2, Most: time.Hour,
		Means: "too many requests of the account or the app",
	}
	// The service is away for every message, so the sender is held; yet an answer about one message may look the same,
	// and that one must not be sent for ever: it spends an attempt.
	apiAway = Verdict{
		Outcome: PauseSender, Class: ClassTransient, First: 30 * time.Second, Factor: 2, Most: 10 * time.Minute, Spends: true,
		Means: "the API is not available",
	}
	apiFailed = Verdict{
		Outcome: RetryLater, Class: ClassTransient, First: 10 * time.Second, Factor: 3, Most: 10 * time.Minute, Spends: true,
		Means: "the API failed",
	}
	apiSick = Verdict{
		Outcome: PauseSender, Class: ClassTransient, First: time.Second, Factor: 4, Most: 10 * time.Minute, Spends: true,
		Rest: 10 * time.Second, Means: "the API failed",
	}
	mediaFailed = Verdict{
		Outcome: RetryLater, Class: ClassTransient, First: 30 * time.Second, Factor: 4, Most: 30 * time.Minute, Spends: true,
		Means: "the API could not fetch the media file",
	}
	notReached = Verdict{
		Outcome: PauseSender, Class: ClassNetwork, First: 5 * time.Second, Factor: 2, Most: time.Minute,
		Means: "the API cannot be reached",
	}
	notTheAPI = Verdict{
		Outcome: PauseSender, Class: ClassNetwork, First: time.Minute, Factor: 2, Most: 10 * time.Minute, Alert: true,
		Means: "the answer is not the API's: the address or a proxy is wrong",
	}
	notBegun = Verdict{
		Outcome: RetryLater, Class: ClassNetwork, First: time.Millisecond, Factor: 1, Most: time.Millisecond,
		Means: "stopped before the request was sent",
	}
	answerLost = Verdict{
		Outcome: Unknown, Class: ClassUnknown, Spends: true,
		Means: "the answer was lost; a webhook may still report whether the message was accepted",
	}
	restricted = Verdict{
		Outcome: PauseSender, Class: ClassSpam, First: time.Hour, Factor: 2, Most: 24 * time.Hour, Alert: true,
		Means: "the sender is restricted because of its quality",
	}
	notReachable  = recipientFails("the recipient cannot be reached by WhatsApp")
	accessDenied  = accountStops("the token or its permissions are not valid")
	senderMissing = accountStops("the phone number id does not exist, or the token may not use it")
)

func recipientFails(means string) Verdict {
	return Verdict{Outcome: FailRecipient, Class: ClassRecipient, Spends: true, Means: means}
}

func contentFails(means string) Verdict {
	return Verdict{Outcome: FailContent, Class: ClassContent, Spends: true, Means: means}
}

func templateFails(means string) Verdict {
	return Verdict{Outcome: FailContent, Class: ClassTemplate, Spends: true, HoldsAll: true, Alert: true, Means: means}
}

func accountStops(means string) Verdict {
	return Verdict{Outcome: StopTenant, Class: ClassAccount, Alert: true, Means: means}
}

// CannotBeSent is the verdict on a message of which no request can be made.
var CannotBeSent = Verdict{
	Outcome: FailContent, Class: ClassBadContent, Spends: true, Means: "the message cannot be a request",
}

// verdicts is the verdict on each error code. Codes and meanings are those of Meta's page "Error codes" (WhatsApp
// Business Platform, 2026-05-15) and of "Throughput" (2026-05-21); which of them are limits follows nyaruka/courier,
// the waits of the pair limit the practice that is reported of it (one message in 6 s, 45 at once, a wait of 4^n
// seconds).
var verdicts = map[int]Verdict{
	130429: overRate,
	4:      overQuota, // of the app
	613:    overQuota,
	80007:  overQuota, // of the WhatsApp Business account
	80008:  overQuota,

	131056: {
		Outcome: DelayRecipient, Class: ClassPair, First: 4 * time.Second, Factor: 4, Most: 10 * time.Minute,
		Means: "too many messages to this recipient",
	},

	131048: restricted,
	131064: restricted,
	133016: restricted,

	131049: { // the person got enough marketing messages
		Outcome: RetryLater, Class: ClassMarketing, First: marketingWait, Factor: 1, Most: marketingWait, Spends: true,
		Means: "the recipient got enough marketing messages for now",
	},
	130472: recipientFails("the recipient is part of an experiment of Meta's"),

	1:      apiFailed,
	2:      apiAway,
	131000: apiFailed,
	131016: apiAway,
	131052: mediaFailed,
	131053: mediaFailed,
	131057: apiAway, // the account is being maintained
	133004: apiAway, // the server is not available

	131021: recipientFails("the recipient is the sender"),
	131026: notReachable,
	131030: recipientFails("the recipient is not on the list of a test number"),
	131047: recipientFails("more than 24 hours since the recipient's last message: only templates may be sent"),
	131050: {
		Outcome: FailRecipient, Class: ClassRecipient, Spends: true, OptsOut: true,
		Means: "the recipient has stopped marketing messages of this sender",
	},
	131062: recipientFails("the recipient has no phone number that such a message needs"),
	// The account may not send to the recipient's country. Others may be in its audience, so it is no stop of the tenant.
	130497: {
		Outcome: FailRecipient, Class: ClassAccount, Spends: true, Alert: true,
		Means: "the account may not send to the recipient's country",
	},

	100:    contentFails("a parameter is not valid"),
	131008: contentFails("a parameter is missing"),
	131009: contentFails("the value of a parameter is not valid"),
	131051: contentFails("the type of message is not supported"),
	132000: templateFails("the number of parameters is not that of the template"),
	132001: templateFails("the template does not exist in this language, or is not approved"),
	132005: contentFails("the text of the template is too long with its parameters"),
	132007: contentFails("the content violates a policy"),
	132012: contentFails("a parameter has not the format of the template"),
	132015: templateFails("the template is paused because of its quality"),
	132016: templateFails("the template is disabled because of its quality"),
	132018: contentFails("the parameters do not fit the template"),
	132068: templateFails("the flow of the template is blocked"),
	132069: templateFails("the flow of the template may be sent ten times an hour only"),
	135000: contentFails("the API does not accept the parameters"),

	0:      accessDenied,
	3:      accessDenied,
	10:     accessDenied,
	190:    accessDenied, // the token has expired
	131005: accessDenied,
	33:     senderMissing,
	133010: accountStops("the phone number is not registered"),
	368:    accountStops("the account is restricted because of a violation of a policy"),
	131031: accountStops("the account is locked"),
	131037: accountStops("the display name of the phone number is not approved"),
	131042: accountStops("the account has a payment problem"),
	131045: accountStops("the phone number has no valid certificate"),
	134011: accountStops("the terms of payments are not accepted"),
}

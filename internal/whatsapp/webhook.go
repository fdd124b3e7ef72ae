package whatsapp

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
)

// MaxEvent is the largest body of a webhook request that is read, in bytes. Meta's own limit is 3 MB.
const MaxEvent = 4 << 20

// maxItems is how many statuses, messages and other changes one event may have. Meta sends 1,000 at most.
const maxItems = 10_000

// maxMembers is how many commas an event may have outside of texts. One of maxItems statuses has some 120,000.
const maxMembers = 20 * maxItems

// SignatureHeader is the header with the signature of a webhook request.
const SignatureHeader = "X-Hub-Signature-256"

// Challenge answers the GET by which Meta verifies the address of a webhook: the text to answer with status 200, or
// not ok, which is 403. tokens are those that were given to Meta, several while one is replaced; none or an empty one
// is never ok.
func Challenge(query url.Values, tokens []string) (text string, ok bool) {
	text, given := query.Get("hub.challenge"), []byte(query.Get("hub.verify_token"))
	if query.Get("hub.mode") != "subscribe" || text == "" || len(text) > 1000 {
		return "", false
	}
	match := 0
	for _, t := range tokens {
		if t != "" {
			match |= subtle.ConstantTimeCompare([]byte(t), given)
		}
	}
	if match == 0 {
		return "", false
	}
	return text, true
}

// Signed reports whether a header's signature is that of the body, byte for byte as it was received, by one of the app
// secrets, several while one is replaced.
func Signed(body []byte, header string, secrets []string) bool {
	given, ok := strings.CutPrefix(header, "sha256=")
	if !ok {
		return false
	}
	sum, err := hex.DecodeString(given)
	if err != nil {
		return false
	}
	match := false
	for _, s := range secrets {
		if s != "" && hmac.Equal(sum, mac(body, s)) {
			match = true
		}
	}
	return match
}

// Sign is the value of SignatureHeader for a body.
func Sign(body []byte, secret string) string {
	return "sha256=" + hex.EncodeToString(mac(body, secret))
}

func mac(body []byte, secret string) []byte {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write(body)
	return m.Sum(nil)
}

// An Event is the body of a webhook request. All of its parts are in the order of the body.
type Event struct {
	Statuses    []Status
	Messages    []Inbound
	Preferences []Preference `json:",omitempty"`
	Others      []Other
	// Unread says what of it is not as expected, so that a message of a person may be lost in it; "" = nothing is. It
	// quotes no values.
	Unread string `json:",omitempty"`
}

// Urgent is the number of its parts that come from people: their messages and preferences, and news of other user IDs.
// They go before statuses, also before those that tell whose they are.
func (e Event) Urgent() int { return len(e.Messages) + len(e.Preferences) }

// A Preference is what a person has set in WhatsApp about the marketing messages of a sender.
type Preference struct {
	Account       string // of WhatsApp Business
	PhoneNumberID string // of the sender
	From          string // phone number, digits only; empty where the person has only a user id
	User          string `json:",omitempty"` // business-scoped user id; empty = not told
	Stop          bool   // false = to be sent again
	At            time.Time
}

// A Status is what became of a message that was sent. It says one thing that happened, not how things are: statuses
// come late, twice and in any order.
type Status struct {
	Account       string // of WhatsApp Business
	PhoneNumberID string // of the sender
	WAMID         string
	Message       uuid.UUID // ours, which the request carried; zero = none, or not one of ours
	State         string    // sent, delivered, read, failed, or one that is not known here, such as played and deleted
	At            time.Time // by Meta's clock, in seconds; zero = not told
	Recipient     string    // phone number, digits only; empty where a person has only a user id
	User          string    // business-scoped user id of the recipient; empty = not told
	Category      string    // of its price: marketing, utility, authentication, service …; empty = not told
	Billable      bool
	Error         *campaign.APIError // of a failed message: the first one; nil = none
}

// An Inbound is a message to one of the senders.
type Inbound struct {
	Account       string
	PhoneNumberID string // of the sender that it was written to
	WAMID         string
	At            time.Time
	From          string // phone number, digits only; empty where the person has only a user id
	User          string // business-scoped user id; empty = not told
	Was           string `json:",omitempty"` // user id that User has taken the place of; empty = it is the same
	Name          string // that the person gave
	Type          string // text, button, interactive, image, reaction, system … or one not known here; of an edit: its own
	Text          string // of a text, a button, a reply or a caption; empty = none
	Payload       string `json:",omitempty"` // that the sender gave the button or the row of a list; empty = none
	ReplyTo       string // wamid of the message that it answers; empty = none
}

// Other is a change that is neither, such as the state of a template or of the account, or errors of the sender.
type Other struct {
	Account string
	Field   string          // account_update, message_template_status_update, messages …
	Value   json.RawMessage // as received
}

// commas counts those of a JSON document outside of texts, before anything is decoded: an empty member of three bytes
// takes hundreds.
func commas(doc []byte) (n int) {
	within, escaped := false, false
	for _, b := range doc {
		switch {
		case escaped:
			escaped = false
		case within && b == '\\':
			escaped = true
		case b == '"':
			within = !within
		case b == ',' && !within:
			n++
		}
	}
	return n
}

// ReadEvent reads the body of a webhook request, whose signature was checked. Kinds of statuses, messages and changes
// that are not known here are kept, and unknown members are ignored. What has another type than it should is left out,
// and the rest read (Event.Unread). A body that is no event, or one with more than 10,000 parts, is fault.Invalid.
func ReadEvent(body []byte) (Event, error) {
	var in struct {
		Object string `json:"object"`
		Entry  []struct {
			ID      string `json:"id"`
			Changes []struct {
				Field string          `json:"field"`
				Value json.RawMessage `json:"value"`
			} `json:"changes"`
		} `json:"entry"`
	}
	if len(body) > MaxEvent {
		return Event{}, fault.Newf(fault.Invalid, "webhook: the body has more than %d bytes", MaxEvent)
	}
	if n := commas(body); n > maxMembers {
		return Event{}, fault.Newf(fault.Invalid, "webhook: the body has %d members, the most is %d", n, maxMembers)
	}
	var e Event
	if err := e.decode(body, &in); err != nil {
		return Event{}, fault.Newf(fault.Invalid, "webhook: the body is not an event: %w", err)
	}
	if in.Object != "whatsapp_business_account" {
		return Event{}, fault.Newf(fault.Invalid, "webhook: object is %.40q, expected whatsapp_business_account", in.Object)
	}
	for _, entry := range in.Entry {
		for _, c := range entry.Changes {
			e.add(cut(entry.ID), cut(c.Field), c.Value)
		}
	}
	if n := len(e.Statuses) + len(e.Messages) + len(e.Preferences) + len(e.Others); n > maxItems {
		return Event{}, fault.Newf(fault.Invalid, "webhook: the event has %d parts, the most is %d", n, maxItems)
	}
	return e, nil
}

// value is the value of a change of the field messages, of user_preferences, or of standby, which has what comes while
// an agent of Meta's answers for the sender in a member of its own.
type value struct {
	Metadata struct {
		PhoneNumberID string `json:"phone_number_id"`
	} `json:"metadata"`
	Contacts []person          `json:"contacts"`
	Statuses []json.RawMessage `json:"statuses"`
	Messages []json.RawMessage `json:"messages"`
	Errors   []json.RawMessage `json:"errors"`

	Preferences []json.RawMessage `json:"user_preferences"`
	Standby     *value            `json:"standby"`
}

// person is what the contacts beside statuses and messages say of one.
type person struct {
	Profile struct {
		Name string `json:"name"`
	} `json:"profile"`
	WaID string `json:"wa_id"`
	User string `json:"user_id"`
}

// people are persons by their numbers and user IDs, and under "" the only one.
type people map[string]person

func (v value) people() people {
	out := make(people, 2*len(v.Contacts))
	for _, c := range slices.Backward(v.Contacts) { // the first one counts
		out[withoutPlus(c.WaID)], out[c.User] = c, c
	}
	if delete(out, ""); len(v.Contacts) == 1 {
		out[""] = v.Contacts[0]
	}
	return out
}

// of is the person with a number or a user ID, which may be empty.
func (p people) of(number, user string) person {
	if who, ok := p[cmp.Or(number, user)]; ok || user == "" {
		return who
	}
	return p[user]
}

// add adds a change. What cannot be read as a status or a message is kept as it is.
func (e *Event) add(account, field string, raw json.RawMessage) {
	if field == "history" {
		e.addHistory(account, raw)
	}
	var v value
	if !slices.Contains([]string{"messages", "user_preferences", "standby"}, field) || e.decode(raw, &v) != nil {
		e.Others = append(e.Others, Other{account, field, bytes.Clone(raw)})
		return
	}
	sender := cut(v.Metadata.PhoneNumberID)
	if s := v.Standby; s != nil {
		v.Contacts = append(s.Contacts, v.Contacts...)
		v.Statuses, v.Messages = append(v.Statuses, s.Statuses...), append(v.Messages, s.Messages...)
		v.Preferences, v.Errors = append(v.Preferences, s.Preferences...), append(v.Errors, s.Errors...)
	}
	kept, people := len(v.Errors) == 0, v.people()
	for _, s := range v.Statuses {
		if st, ok := readStatus(account, sender, people, s); ok {
			e.Statuses = append(e.Statuses, st)
		} else {
			kept = false
		}
	}
	for _, m := range v.Messages {
		if in, ok := e.readInbound(account, sender, people, m); ok {
			e.Messages = append(e.Messages, in)
		} else {
			kept = e.unread("a message has no ID, or nothing that names its writer")
		}
	}
	for _, p := range v.Preferences {
		if pref, ok := e.readPreference(account, sender, p); ok {
			e.Preferences = append(e.Preferences, pref)
		} else {
			kept = e.unread("a preference has no person, or is none that is known")
		}
	}
	if sender == "" && len(v.Messages)+len(v.Preferences) > 0 {
		e.unread("a message or preference has no metadata.phone_number_id")
	}
	if !kept || len(v.Statuses)+len(v.Messages)+len(v.Preferences) == 0 {
		e.Others = append(e.Others, Other{account, field, bytes.Clone(raw)})
	}
}

// decode reads JSON as far as it has the expected types, and notes where it has others. Its error is of what is not
// JSON.
func (e *Event) decode(doc []byte, into any) error {
	err := json.Unmarshal(doc, into)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		e.unread(cmp.Or(wrong.Field, "a part") + " has another type than expected")
		return nil
	}
	return err
}

// unread notes the first thing that is not as expected. It is false.
func (e *Event) unread(what string) bool {
	e.Unread = cmp.Or(e.Unread, what)
	return false
}

func readStatus(account, sender string, people people, raw json.RawMessage) (Status, bool) {
	var in struct {
		ID        string     `json:"id"`
		Status    string     `json:"status"`
		Time      stamp      `json:"timestamp"`
		Recipient string     `json:"recipient_id"`
		User      string     `json:"recipient_user_id"`
		Callback  string     `json:"biz_opaque_callback_data"`
		Errors    []apiError `json:"errors"`
		Pricing   struct {
			Billable bool   `json:"billable"`
			Category string `json:"category"`
		} `json:"pricing"`
	}
	if !decode(raw, &in) || in.ID == "" || in.Status == "" {
		return Status{}, false
	}
	number := withoutPlus(in.Recipient)
	if in.User == "" && number != "" {
		in.User = people[number].User
	}
	out := Status{
		Account: account, PhoneNumberID: sender, WAMID: cut(in.ID), State: cut(in.Status), At: in.Time.value(),
		Recipient: number, User: cut(in.User), Category: cut(in.Pricing.Category), Billable: in.Pricing.Billable,
	}
	if id, err := uuid.Parse(in.Callback); err == nil && len(in.Callback) == 36 {
		out.Message = id
	}
	if len(in.Errors) > 0 {
		out.Error = in.Errors[0].value(in.Recipient)
	}
	return out, true
}

// content is what a message says.
type content struct {
	Type string `json:"type"`
	Text struct {
		Body string `json:"body"`
	} `json:"text"`
	Button struct {
		Text    string `json:"text"`
		Payload string `json:"payload"`
	} `json:"button"`
	Interactive struct {
		Button titled `json:"button_reply"`
		List   titled `json:"list_reply"`
	} `json:"interactive"`
	Image    captioned `json:"image"`
	Video    captioned `json:"video"`
	Document captioned `json:"document"`
}

type captioned struct {
	Caption string `json:"caption"`
}

type titled struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

func (e *Event) readInbound(account, sender string, people people, raw json.RawMessage) (Inbound, bool) {
	var in struct {
		ID   string `json:"id"`
		Time stamp  `json:"timestamp"`
		From string `json:"from"`
		User string `json:"from_user_id"`
		content
		Edit struct {
			Message content `json:"message"`
		} `json:"edit"`
		System struct {
			User string `json:"user_id"`
			Was  string `json:"previous_user_id"`
		} `json:"system"`
		Context struct {
			ID string `json:"id"`
		} `json:"context"`
	}
	if e.decode(raw, &in) != nil || in.ID == "" {
		return Inbound{}, false
	}
	number := withoutPlus(in.From)
	who := people.of(number, in.User)
	if number == "" && in.User == "" && in.System.User == "" {
		number, in.User = who.WaID, who.User
	}
	if number == "" && in.User == "" && in.System.User == "" {
		return Inbound{}, false
	}
	says := in.content
	if in.Type == "edit" { // what was written before is no longer there
		says = in.Edit.Message
	}
	out := Inbound{
		Account: account, PhoneNumberID: sender, WAMID: cut(in.ID), At: in.Time.value(), From: withoutPlus(number),
		User: cut(cmp.Or(in.User, who.User)), Name: cut(who.Profile.Name), Type: cut(says.Type), ReplyTo: cut(in.Context.ID),
		Text: cut(cmp.Or(says.Text.Body, says.Button.Text, says.Interactive.Button.Title, says.Interactive.List.Title,
			says.Image.Caption, says.Video.Caption, says.Document.Caption)),
		Payload: cut(cmp.Or(says.Button.Payload, says.Interactive.Button.ID, says.Interactive.List.ID)),
	}
	if in.System.User != "" {
		out.User, out.Was = cut(in.System.User), cut(in.System.Was)
	}
	return out, true
}

// readPreference reads a preference about marketing messages, which are the only ones that there are.
func (e *Event) readPreference(account, sender string, raw json.RawMessage) (Preference, bool) {
	var in struct {
		From     string `json:"wa_id"`
		User     string `json:"user_id"`
		Category string `json:"category"`
		Value    string `json:"value"`
		Time     stamp  `json:"timestamp"`
	}
	if e.decode(raw, &in) != nil || in.From == "" && in.User == "" || in.Category != "marketing_messages" ||
		in.Value != "stop" && in.Value != "resume" {
		return Preference{}, false
	}
	return Preference{
		Account: account, PhoneNumberID: sender, From: withoutPlus(in.From), User: cut(in.User), Stop: in.Value == "stop",
		At: in.Time.value(),
	}, true
}

// withoutPlus is a number without the plus that it has in some of Meta's examples.
func withoutPlus(number string) string { return strings.TrimPrefix(cut(number), "+") }

// stamp is a time in seconds since 1970, which is a string in webhooks, and a number in some.
type stamp string

// UnmarshalJSON implements json.Unmarshaler. It accepts everything: a bad time is no reason to lose a status.
func (s *stamp) UnmarshalJSON(b []byte) error {
	*s = stamp(strings.Trim(string(b), `"`))
	return nil
}

func (s stamp) value() time.Time {
	n, err := strconv.ParseInt(string(s), 10, 64)
	if err != nil || n <= 0 || n > 1<<36 { // the year 4147
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// Reports are the statuses that change the state of a message, for the store: sent, delivered, read and failed. A
// status without a time has that of its arrival, now.
func (e Event) Reports(now time.Time) (out []campaign.Report) {
	for _, s := range e.Statuses {
		r := campaign.Report{
			PhoneNumberID: s.PhoneNumberID, WAMID: s.WAMID, Message: s.Message, WaID: s.Recipient, User: s.User, At: s.At,
		}
		if r.At.IsZero() {
			r.At = now
		}
		switch s.State {
		case "sent":
			r.Status = campaign.MessageSent
		case "delivered":
			r.Status = campaign.MessageDelivered
		case "read", "played": // a voice message that was listened to
			r.Status = campaign.MessageRead
		case "failed":
			r.Status = campaign.MessageFailed
			ae := campaign.APIError{Code: noCode}
			if s.Error != nil {
				ae = *s.Error
			}
			r.Verdict, r.Error = campaign.JudgeError(0, ae), cmp.Or(ae.Details, ae.Message)
		default:
			continue
		}
		out = append(out, r)
	}
	return out
}

// Inbounds are the messages and preferences, for the store, which looks for opt-outs.
func (e Event) Inbounds(now time.Time) (out []campaign.Inbound) {
	for _, m := range e.Messages {
		in := m.inbound()
		if in.At.IsZero() {
			in.At = now
		}
		out = append(out, in)
	}
	for _, p := range e.Preferences {
		in := campaign.Inbound{
			PhoneNumberID: p.PhoneNumberID, From: p.From, User: p.User, Wish: campaign.WishResume, At: p.At,
		}
		if p.Stop {
			in.Wish = campaign.WishStop
		}
		if in.At.IsZero() {
			in.At = now
		}
		out = append(out, in)
	}
	return out
}

// inbound is a message for the store. A button whose payload means nothing but a stop is one, whatever is written on
// it. What takes an opt-out back is typed: the words of a button are the sender's.
func (m Inbound) inbound() campaign.Inbound {
	in := campaign.Inbound{
		PhoneNumberID: m.PhoneNumberID, From: m.From, User: m.User, WasUser: m.Was, ReplyTo: m.ReplyTo, Text: m.Text,
		Chosen: m.Type == "button" || m.Type == "interactive", At: m.At,
	}
	switch {
	case in.Wants() != "": // by its text
	case campaign.IsOptOutPayload(m.Payload):
		in.Wish = campaign.WishStop
	case m.Type == "text" && campaign.IsOptIn(m.Text):
		in.Wish = campaign.WishResume
	}
	return in
}

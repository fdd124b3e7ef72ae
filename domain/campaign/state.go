package campaign

import "slices"

// A State is how far a campaign has come.
type State string

// The states. Done and Canceled are final, but for the messages of a campaign that is done: those that failed may be
// sent again, which makes it run again.
const (
	Draft    State = "draft"    // may be edited
	Queued   State = "queued"   // starts when its time has come and its tenant has its turn
	Running  State = "running"  // its messages are written and sent
	Paused   State = "paused"   // none of its messages is sent until it is resumed
	Done     State = "done"     // none of its messages waits
	Canceled State = "canceled" // what had not been sent never is
)

// States are all of them, in the order of a campaign's life.
var States = []State{Draft, Queued, Running, Paused, Done, Canceled}

// moves are the transitions of a campaign.
var moves = map[State][]State{
	Draft:   {Queued, Canceled},
	Queued:  {Draft, Running, Canceled},
	Running: {Paused, Done, Canceled},
	Paused:  {Running, Canceled},
	Done:    {Running},
}

// May says whether a campaign in state s may become to.
func (s State) May(to State) bool { return slices.Contains(moves[s], to) }

// From are the states that may become to.
func From(to State) (from []State) {
	for _, s := range States {
		if s.May(to) {
			from = append(from, s)
		}
	}
	return from
}

// Ended says that no message of the campaign waits.
func (s State) Ended() bool { return s == Done || s == Canceled }

// A Status is how far a message has come.
type Status string

// The states of a message. Skipped is final. Failed is too, unless a person has it sent again.
const (
	MessageQueued    Status = "queued"    // waits for its turn, or for its next attempt
	MessageSending   Status = "sending"   // leased by a worker, which writes its request
	MessageUnknown   Status = "unknown"   // its request may have been written, the answer is lost: a webhook settles it
	MessageSent      Status = "sent"      // accepted by Meta
	MessageDelivered Status = "delivered" // on the recipient's telephone
	MessageRead      Status = "read"
	MessageFailed    Status = "failed"  // refused, or not deliverable
	MessageSkipped   Status = "skipped" // was never sent: opted out, or no phone number
)

// Statuses are all of them, in the order of a message's life.
var Statuses = []Status{
	MessageQueued, MessageSending, MessageUnknown, MessageSent, MessageDelivered, MessageRead, MessageFailed,
	MessageSkipped,
}

// forwards is the way of a message that is sent.
var forwards = []Status{MessageQueued, MessageSending, MessageUnknown, MessageSent, MessageDelivered, MessageRead}

// Reported are the states that Meta reports by webhook.
var Reported = []Status{MessageSent, MessageDelivered, MessageRead, MessageFailed}

// Apply is the state of a message in state s after Meta has reported r. Reports come late, twice and in any order:
// the result only goes forwards, and for a set of reports it is the same in every order. A failure is final; it also
// takes the place of a delivery, for Meta reports one after it only where the message did not reach all it was for.
// Reports on a message that was skipped, and states that Meta does not report, change nothing.
func (s Status) Apply(r Status) Status {
	switch {
	case s == MessageFailed || s == MessageSkipped || !slices.Contains(Reported, r):
		return s
	case r == MessageFailed || slices.Index(forwards, r) > slices.Index(forwards, s):
		return r
	}
	return s
}

package cloudapi

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"
)

// Accepted is a message that the API accepted.
type Accepted struct {
	WAMID    string    `json:"wamid"`
	Callback string    `json:"callback"` // biz_opaque_callback_data, which is our id
	Sender   string    `json:"sender"`
	To       string    `json:"to"` // digits only, or a user id
	Type     string    `json:"type"`
	Template string    `json:"template,omitempty"`
	At       time.Time `json:"at"`
	Answered bool      `json:"answered"` // false = the connection was cut after the acceptance
}

// Counts are how many requests had which end.
type Counts struct {
	Requests  int `json:"requests"`
	Accepted  int `json:"accepted"`
	Refused   int `json:"refused"`    // by a rule, or because they are not valid
	Limited   int `json:"limited"`    // by a limit
	CutBefore int `json:"cut_before"` // connections that were cut before the acceptance
	CutAfter  int `json:"cut_after"`  // and after it: messages whose sender cannot know that they were accepted
	Repeated  int `json:"repeated"`   // callbacks that were accepted more than once
	Posted    int `json:"posted"`     // statuses and inbound messages that a webhook took
	Unposted  int `json:"unposted"`   // those given up, or lost by a rule
	Waiting   int `json:"waiting"`    // those not posted yet
}

// request notes that a request came.
func (a *API) request(sender string, at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Requests++
	if len(a.requests[sender]) < maxEntries {
		a.requests[sender] = append(a.requests[sender], at)
	}
}

func (a *API) count(change func(*Counts)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.counts)
}

// accept notes a message, and the webhooks that it will have.
func (a *API) accept(sender, to string, m message, r Rule, at time.Time) Accepted {
	entry := Accepted{
		WAMID:    "wamid." + base64.StdEncoding.EncodeToString([]byte(to+rand.Text()[:12])),
		Callback: m.Callback, Sender: sender, To: to, Type: m.Type, Template: m.Template.Name, At: at,
		Answered: r.Cut != CutAfter,
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Accepted++
	if !entry.Answered {
		a.counts.CutAfter++
	}
	if len(a.accepted) < maxEntries {
		a.accepted = append(a.accepted, entry)
		if a.repeats[entry.Callback]++; a.repeats[entry.Callback] == 2 {
			a.counts.Repeated++
		}
	}
	a.schedule(entry, r)
	return entry
}

// Ledger returns what was accepted, oldest first: the first 500,000.
func (a *API) Ledger() []Accepted {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.accepted)
}

// Accepts is how many messages with this callback were accepted.
func (a *API) Accepts(callback string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.repeats[callback]
}

// Repeated returns the callbacks that were accepted more than once, with how often.
func (a *API) Repeated() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]int{}
	for callback, n := range a.repeats {
		if n > 1 {
			out[callback] = n
		}
	}
	return out
}

// Counts returns how many requests had which end.
func (a *API) Counts() Counts {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.counts
	c.Waiting = a.post.waiting()
	return c
}

// Most is the largest number of requests that came within span from these senders together, all without any, whenever
// it began, whether they were accepted or not.
func (a *API) Most(span time.Duration, senders ...string) (most int) {
	at := a.times(senders)
	first := 0
	for i := range at {
		for at[i].Sub(at[first]) >= span {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// PerSecond is how many requests came from these senders together, all without any, in each second from the first.
func (a *API) PerSecond(senders ...string) (counts []int) {
	at := a.times(senders)
	for _, t := range at {
		second := int(t.Sub(at[0]) / time.Second)
		for len(counts) <= second {
			counts = append(counts, 0)
		}
		counts[second]++
	}
	return counts
}

// times are those of requests, in order.
func (a *API) times(senders []string) (at []time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for sender, times := range a.requests {
		if len(senders) == 0 || slices.Contains(senders, sender) {
			at = append(at, times...)
		}
	}
	slices.SortFunc(at, time.Time.Compare)
	return at
}

// Forget empties the ledger. Limits, rules and webhooks that wait stay.
func (a *API) Forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accepted, a.counts = nil, Counts{}
	clear(a.repeats)
	clear(a.requests)
}

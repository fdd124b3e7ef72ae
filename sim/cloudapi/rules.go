package cloudapi

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Rule is how the API misbehaves from now on. The first one that fits a request decides.
type Rule struct {
	Sender string // phone number id; empty = all
	To     string // the recipient's number, or its beginning, digits only; empty = all
	Times  int    // requests; 0 = no limit

	Code       int // the answer is this error
	Subcode    int
	Status     int           // with this status of HTTP; without a Code it is a page, as a proxy makes one
	RetryAfter time.Duration // with such a header; 0 = none
	Cut        Cut
	Delay      time.Duration // of the answer; the message is accepted, or refused, before

	Fail     int // the message is accepted, and a webhook says that it failed with this code
	Webhooks Webhooks
	Late     time.Duration // of all its webhooks
}

// A Cut is the end of a connection without an answer.
type Cut string

// The cuts.
const (
	CutBefore Cut = "before" // the message is not accepted
	CutAfter  Cut = "after"  // it is
)

// Webhooks says what is wrong with the webhooks of a message.
type Webhooks string

// The ways that webhooks go wrong.
const (
	Lost     Webhooks = "lost"     // there are none
	Twice    Webhooks = "twice"    // each one comes two times
	Reversed Webhooks = "reversed" // read comes first, then delivered, then sent
)

type rule struct {
	Rule
	left int // requests; -1 = no limit
}

// maxRules bounds the script.
const maxRules = 1000

// Script adds rules, before those that are there.
func (a *API) Script(rules ...Rule) error {
	var add []rule
	for _, r := range rules {
		switch {
		case r.Times < 0 || r.Code < 0 || r.Delay < 0 || r.Late < 0 || r.RetryAfter < 0 || r.Fail < 0:
			return fmt.Errorf("add rule: times, code, fail, delay, late and retry_after are not negative")
		case r.Status != 0 && (r.Status < 200 || r.Status > 599):
			return fmt.Errorf("add rule: status is %d, expected 200 to 599", r.Status)
		case !slices.Contains([]Cut{"", CutBefore, CutAfter}, r.Cut):
			return fmt.Errorf("add rule: cut is %q, expected before or after", r.Cut)
		case !slices.Contains([]Webhooks{"", Lost, Twice, Reversed}, r.Webhooks):
			return fmt.Errorf("add rule: webhooks is %q, expected lost, twice or reversed", r.Webhooks)
		}
		left := r.Times
		if left == 0 {
			left = -1
		}
		add = append(add, rule{r, left})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rules = slices.DeleteFunc(a.rules, func(r rule) bool { return r.left == 0 })
	if len(a.rules)+len(add) > maxRules {
		return fmt.Errorf("add rule: there are %d already", maxRules)
	}
	a.rules = append(add, a.rules...)
	return nil
}

// Behave takes all rules away.
func (a *API) Behave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rules = nil
}

// rule is the one that fits a request.
func (a *API) rule(sender, to string) rule {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.rules {
		r := &a.rules[i]
		if r.left == 0 || r.Sender != "" && r.Sender != sender || !strings.HasPrefix(to, r.To) {
			continue
		}
		if r.left > 0 {
			r.left--
		}
		return *r
	}
	return rule{}
}

// known is what the real API says with a code.
type known struct {
	status int
	title  string
}

// errorsOf are the codes that a recipient or a template may ask for, with the status that the real API mostly has.
var errorsOf = map[int]known{
	4:      {http.StatusTooManyRequests, "Application request limit reached"},
	100:    {http.StatusBadRequest, "Invalid parameter"},
	190:    {http.StatusUnauthorized, "Access token has expired"},
	80007:  {http.StatusTooManyRequests, "Rate limit issues"},
	130429: {http.StatusTooManyRequests, "Rate limit hit"},
	130472: {http.StatusBadRequest, "User's number is part of an experiment"},
	131000: {http.StatusInternalServerError, "Something went wrong"},
	131008: {http.StatusBadRequest, "Required parameter is missing"},
	131009: {http.StatusBadRequest, "Parameter value is not valid"},
	131016: {http.StatusServiceUnavailable, "Service unavailable"},
	131021: {http.StatusBadRequest, "Recipient cannot be sender"},
	131026: {http.StatusBadRequest, "Message undeliverable"},
	131030: {http.StatusBadRequest, "Recipient phone number not in allowed list"},
	131031: {http.StatusForbidden, "Account has been locked"},
	131042: {http.StatusBadRequest, "Business eligibility payment issue"},
	131047: {http.StatusBadRequest, "Re-engagement message"},
	131048: {http.StatusTooManyRequests, "Spam rate limit hit"},
	131049: {http.StatusBadRequest, "This message was not delivered to maintain healthy ecosystem engagement"},
	131050: {http.StatusBadRequest, "User has stopped marketing messages"},
	131051: {http.StatusBadRequest, "Unsupported message type"},
	131052: {http.StatusBadRequest, "Media download error"},
	131053: {http.StatusBadRequest, "Media upload error"},
	131056: {http.StatusTooManyRequests, "(Business Account, Consumer Account) pair rate limit hit"},
	132000: {http.StatusBadRequest, "Template parameter count mismatch"},
	132001: {http.StatusNotFound, "Template does not exist"},
	132015: {http.StatusBadRequest, "Template is paused"},
	132016: {http.StatusBadRequest, "Template is disabled"},
}

// codeOf is the error that a recipient or a template asks for: a number that ends in a code of six digits, such as
// 15550131026, and a template with the name code_132001. 0 = none.
func codeOf(to, template string) int {
	if name, ok := strings.CutPrefix(template, "code_"); ok {
		if code, err := strconv.Atoi(name); err == nil {
			return code
		}
	}
	if len(to) > 6 {
		if code, err := strconv.Atoi(to[len(to)-6:]); err == nil && code > 130_000 {
			if _, ok := errorsOf[code]; ok {
				return code
			}
		}
	}
	return 0
}

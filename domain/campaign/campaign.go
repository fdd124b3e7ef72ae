// Package campaign knows what is sent to contacts: the tiers of tenants and their rates, the states of campaigns and of
// messages, which campaigns start next, what a template makes of a contact, and when a message is tried again.
package campaign

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Tier is what a tenant has booked. It decides how fast its messages are sent.
type Tier string

// The tiers.
const (
	Standard   Tier = "standard"
	Enterprise Tier = "enterprise"
)

// Tiers are all of them, the slowest first.
var Tiers = []Tier{Standard, Enterprise}

// ParseTier reads a tier's name. Any other is fault.Invalid.
func ParseTier(s string) (Tier, error) {
	if t := Tier(s); slices.Contains(Tiers, t) {
		return t, nil
	}
	return "", fault.Newf(fault.Invalid, "tier: is %.40q, expected one of %v", s, Tiers)
}

// PerSecond is how many messages of a tenant of this tier are sent a second, by all processes together. An unknown tier
// has the rate of the slowest.
func (t Tier) PerSecond() int {
	if t == Enterprise {
		return 50
	}
	return 10
}

// DefaultSenderRate is how many messages a second a number of the Cloud API takes unless Meta has raised its limit.
const DefaultSenderRate = 80

// WorkflowID is that of the workflow RunCampaign of a campaign: it runs once at a time.
func WorkflowID(id uuid.UUID) string { return "campaign/" + id.String() }

// DispatchWorkflowID is that of the workflow Dispatch of a tenant.
func DispatchWorkflowID(tenant string) string { return "dispatch/" + tenant }

// Lease is how long the start of a campaign is reserved for the scheduler that took it. A scheduler that dies between
// the lease and the start of the workflow delays the campaign by this much.
const Lease = 2 * time.Minute

// Counts are the messages of a campaign by state. Each is counted once; Waiting are those that are queued and those
// that are being sent.
type Counts struct {
	Waiting   int64
	Unknown   int64
	Sent      int64
	Delivered int64
	Read      int64
	Failed    int64
	Skipped   int64
}

// Total is the number of messages.
func (c Counts) Total() int64 { return c.Waiting + c.Accepted() + c.Unknown + c.Failed + c.Skipped }

// Accepted is how many messages Meta has accepted and has not reported as failed since.
func (c Counts) Accepted() int64 { return c.Sent + c.Delivered + c.Read }

// String is for logs and summaries: "5000 messages: 4980 accepted, 12 failed, 8 skipped".
func (c Counts) String() string {
	s := fmt.Sprintf("%d messages: %d accepted, %d failed, %d skipped", c.Total(), c.Accepted(), c.Failed, c.Skipped)
	if c.Unknown > 0 {
		s += fmt.Sprintf(", %d unknown", c.Unknown)
	}
	if c.Waiting > 0 {
		s += fmt.Sprintf(", %d waiting", c.Waiting)
	}
	return s
}

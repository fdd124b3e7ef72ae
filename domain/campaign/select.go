package campaign

import (
	"time"

	"github.com/google/uuid"
)

// How many campaigns a cycle of the scheduler looks at, starts, and starts of one tenant at most.
const (
	SelectFrom      = 50
	SelectMost      = 10
	SelectPerTenant = 2
)

// TurnGap is the longest time between two cycles of the scheduler, which come a minute apart, through which a campaign
// that both of them left for another has waited for its turn: in a longer one our services were away.
const TurnGap = 3 * time.Minute

// A Ready is a campaign whose time has come.
type Ready struct {
	ID          uuid.UUID
	Tenant      string
	ScheduledAt time.Time
}

// Select takes the campaigns that a cycle starts from those that are ready: round robin over the tenants, at most
// SelectPerTenant of each and SelectMost in all. Tenants have their turns in the order in which they first appear, and
// the campaigns of one in theirs; so the earliest of every tenant comes before the second of any. Only the first
// SelectFrom are looked at.
func Select(ready []Ready) []Ready {
	ready = ready[:min(len(ready), SelectFrom)]
	var tenants []string
	of := map[string][]Ready{}
	for _, r := range ready {
		if of[r.Tenant] == nil {
			tenants = append(tenants, r.Tenant)
		}
		of[r.Tenant] = append(of[r.Tenant], r)
	}
	var out []Ready
	for turn := range SelectPerTenant {
		for _, t := range tenants {
			if turn < len(of[t]) && len(out) < SelectMost {
				out = append(out, of[t][turn])
			}
		}
	}
	return out
}

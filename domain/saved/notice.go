package saved

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Notice is a delivery with all that is needed to send it.
type Notice struct {
	ID       uuid.UUID // of the delivery: what a receiver tells repeats by
	Tenant   string
	State    string // of the delivery: it is sent while it is waiting or started
	Due      time.Time
	Tries    int
	Astray   *time.Time // since when no try could reach the target; nil = the last one could
	Confirms bool       // it asks the owner of the address to confirm it, and has no items
	Search   uuid.UUID
	Name     string // of the search
	Schedule Schedule
	Language Language
	Target   uuid.UUID
	Channel  Channel
	Label    string  // of the target: its address, without what is secret or personal
	Standing string  // of the target: TargetActive …
	On       bool    // the search is active
	Stopped  bool    // the tenant is stopped: nothing is told
	Address  Address // opened: a store leaves it empty
	Sealed   Sealed  // the Address as it is stored
	Items    []Item
	More     int // homes that are left out of Items
}

// A Pause is why and until when a notice waits that is to be sent.
type Pause struct {
	Until  time.Time
	At     time.Time // of the try that failed
	Reason string    // that it failed for; "" = it was not tried
	Astray bool      // the try could not reach the target
	Counts bool      // the try is one of MaxTries
}

// MaxItems is how many homes a notice holds; the matches of its search have the others.
const MaxItems = 500

// AtOnceMost is how many notices of a target are on their way at once.
const AtOnceMost = 2

// BegunAtOnce is how many notices of a tenant a worker process begins in a second: five for each core that it may use,
// or one for two cores where the machine is short of them, and one at least. A notice takes some 40 ms of a core, most
// of it Temporal's: a tenant that is told much waits for itself, and what comes meanwhile is told together.
func BegunAtOnce(cores int, short bool) int {
	if short {
		return max(1, cores/2)
	}
	return max(1, 5*cores)
}

// AheadMost is how much later than others of its tenant a delivery may be due that is begun before them. A question to
// confirm an address comes as if it had been due so long before, for somebody has just entered it and waits; news of a
// target that fails come as if they were due so long after. So each has its turn once all has been begun that was due
// before it, or within two hours after, however many more come.
const AheadMost = time.Hour

// AheadAmong is among how many that are due those are sought that come before a target that fails.
const AheadAmong = 500

// FailingPause is for how long notices that a failure has put off are on their way, from when they were due on. What a
// target is to be told meanwhile is told together: else it would have another notice each second, tried for hours.
const FailingPause = 5 * time.Minute

// TryMost is how many listings a trial of a filter compares.
const TryMost = 2_000

// Challenges reports whether a notice asks the host of a webhook to confirm that it wants news. It has done so once it
// has sent back what it was sent; any other notice has no answer.
func (n *Notice) Challenges() bool { return n.Confirms && n.Channel == Webhook }

// MaxTries is how often it is tried.
func (n *Notice) MaxTries() int {
	if n.Challenges() {
		return MaxChallenges
	}
	return MaxTries
}

// Missed is what becomes of a notice, one more try of which has failed at a time: whether the try counts, and the pause
// before the next one.
func (n *Notice) Missed(cause error, now time.Time) (counts bool, pause time.Duration) {
	if !errors.Is(cause, ErrUnreached) {
		return true, RetryAfter(n.Tries + 1)
	}
	var astray time.Duration
	if n.Astray != nil {
		astray = now.Sub(*n.Astray)
	}
	most := UnreachedMost
	if n.Challenges() {
		most = UnreachedAsks
	}
	if astray >= most {
		return true, RetryAfter(n.Tries + 1)
	}
	return false, min(max(astray/2, RetryFirst), UnreachedPause)
}

// Idle says why a notice that has not ended is not to be sent; "" = it is. A question to confirm an address is asked
// once: that of a tenant that is stopped waits.
func (n *Notice) Idle() string {
	if why := n.Halted(); why != "" || n.Confirms || len(n.Items) > 0 {
		return why
	}
	return "the listings are gone"
}

// Halted is Idle whatever its items are.
func (n *Notice) Halted() string {
	switch {
	case n.Confirms && n.Standing != TargetUnconfirmed:
		return "the address is confirmed or stopped"
	case n.Confirms:
		return ""
	case n.Stopped:
		return "the tenant is stopped"
	case n.Standing == TargetUnconfirmed || n.Standing == TargetStopped:
		return "the target is " + n.Standing
	case !n.On:
		return "the search is paused"
	}
	return ""
}

// Until is when a notice may be sent that is to be sent now: now, or the end of the quiet hours. A question to confirm
// an address was asked for just now: it has none, and waits only while its tenant is stopped, which is looked at again.
func (n *Notice) Until(now time.Time) time.Time {
	switch {
	case n.Confirms && n.Stopped:
		return now.Add(StoppedPause)
	case n.Confirms:
		return now
	}
	return n.Schedule.Loud(now)
}

// Server names what answers for the target: the host of a webhook, or the channel, whose targets share one.
func (n *Notice) Server() string {
	if n.Channel != Webhook {
		return string(n.Channel)
	}
	u, err := url.Parse(n.Label)
	if err != nil {
		return n.Label
	}
	return "host " + strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
}

// HookAllowed reports whether a webhook may have an address: https, or http to a host of plain, "host:port".
func HookAllowed(u *url.URL, plain []string) bool {
	at := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "80"))
	return u.Scheme == "https" ||
		u.Scheme == "http" && slices.ContainsFunc(plain, func(host string) bool { return strings.EqualFold(host, at) })
}

// Sealed is an Address that is encrypted, and the ID of the key that opens it.
type Sealed struct {
	Key string
	Box []byte
}

// An Item is what a search is told of a home.
type Item struct {
	Events       []int64 // that it is made of, oldest first
	Kind         Kind
	Listing      uuid.UUID
	Home         uuid.UUID
	Platform     string
	URL          string
	Title        string
	Address      string
	District     string // name of its neighbourhood; "" = none
	Bedrooms     int
	RentCents    int64  // CAD a month, when it matched last
	OldRentCents *int64 // before, of a price drop
	Latitude     *float64
	Longitude    *float64
	Offered      bool // it is not archived by now
	At           time.Time
}

// Together makes one item of those of a home: its newest advert and rent, the first rent before it fell, and new where
// one of them is. The order is that of the first item of each home.
func Together(items []Item) (out []Item) {
	at := map[uuid.UUID]int{}
	for _, i := range items {
		n, known := at[i.Home]
		if !known {
			at[i.Home] = len(out)
			out = append(out, i)
			continue
		}
		first := out[n]
		i.Events = append(first.Events, i.Events...)
		if first.Kind == New {
			i.Kind, i.OldRentCents = New, nil
		} else if first.OldRentCents != nil {
			i.OldRentCents = first.OldRentCents
			if i.Kind == PriceDrop && *i.OldRentCents <= i.RentCents {
				i.OldRentCents = nil
			}
		}
		out[n] = i
	}
	return out
}

package saved

import (
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A Pace says how news are put together.
type Pace string

// The paces.
const (
	AtOnce Pace = "at_once"
	Hourly Pace = "hourly" // at the full hour
	Daily  Pace = "daily"  // at Schedule.At
)

// A Schedule says when news are told. The zero Schedule is at once, at any time of the day.
type Schedule struct {
	Pace     Pace   `json:"pace,omitempty"`
	At       string `json:"at,omitempty"`        // of a daily digest: 08:00 is the default
	QuietAt  string `json:"quiet_at,omitempty"`  // nothing is told from then …
	QuietTo  string `json:"quiet_to,omitempty"`  // … until then, which may be on the next day
	TimeZone string `json:"time_zone,omitempty"` // of these times: a name such as America/Toronto, the default
}

// DefaultTimeZone is that of Montréal.
const DefaultTimeZone = "America/Toronto"

const defaultAt = "08:00"

// Check returns fault.Invalid for a schedule that cannot be kept, naming the field.
func (s Schedule) Check() error {
	switch s.Pace {
	case "", AtOnce, Hourly, Daily:
	default:
		return fault.Newf(fault.Invalid, "schedule.pace: expected at_once, hourly or daily")
	}
	for field, text := range map[string]string{"at": s.At, "quiet_at": s.QuietAt, "quiet_to": s.QuietTo} {
		if _, ok := clock(text); text != "" && !ok {
			return fault.Newf(fault.Invalid, "schedule.%s: expected a time such as 22:00", field)
		}
	}
	if (s.QuietAt == "") != (s.QuietTo == "") {
		return fault.Newf(fault.Invalid, "schedule: quiet_at and quiet_to go together")
	}
	if _, err := s.zone(); err != nil || s.TimeZone == "Local" {
		return fault.Newf(fault.Invalid, "schedule.time_zone: expected a name such as America/Toronto")
	}
	return nil
}

func (s Schedule) zone() (*time.Location, error) {
	if s.TimeZone == "" {
		return time.LoadLocation(DefaultTimeZone)
	}
	return time.LoadLocation(s.TimeZone)
}

// clock reads 15:04 as minutes of a day.
func clock(text string) (minutes int, ok bool) {
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err == nil
}

// Due is when news of now are told: now itself where the pace is at once and it is not quiet, and later otherwise. News
// that have the same Due are told together. A schedule that Check refuses is kept as at once.
func (s Schedule) Due(now time.Time) time.Time {
	zone, err := s.zone()
	if err != nil {
		return now
	}
	due := now.In(zone)
	switch s.Pace {
	case Hourly:
		// The clock of the zone strikes: its offset may be half an hour, and change.
		past := time.Duration(due.Minute())*time.Minute + time.Duration(due.Second())*time.Second
		due = due.Add(time.Hour - past - time.Duration(due.Nanosecond()))
	case Daily:
		at := s.At
		if at == "" {
			at = defaultAt
		}
		due = after(due, at)
	case AtOnce:
	}
	return s.Loud(due).UTC()
}

// lateWithin is how long nothing late must come until news are told whose digest is over, and at most twice that.
const lateWithin = 5 * time.Minute

// DueOf is when news of an event at a time are told that is compared now. The time of its digest may be past, where
// nothing was compared for a while: it is late then, and told soon with others that are late, not with the next one
// but where that is soon, too.
func (s Schedule) DueOf(at, now time.Time) (due time.Time, late bool) {
	switch s.Pace {
	case Hourly, Daily:
	default:
		return s.Due(now), false
	}
	if due := s.Due(at); due.After(now) {
		return due, false
	}
	due, next := s.Loud(now.Truncate(lateWithin).Add(2*lateWithin)).UTC(), s.Due(now)
	if next.Before(due) {
		due = next
	}
	return due, true
}

// Loud is now, or the end of the quiet hours that now is in. A schedule that Check refuses has none.
func (s Schedule) Loud(now time.Time) time.Time {
	zone, err := s.zone()
	if err != nil {
		return now
	}
	if _, ok := clock(s.QuietAt); !ok {
		return now
	}
	// It is quiet where the hours end before they begin. By what the clock shows, those that end in an hour that is left
	// out, or comes twice, would last for a day more. Equal hours are none.
	local := now.In(zone)
	if end := after(local, s.QuietTo); end.Before(after(local, s.QuietAt)) {
		return end.UTC()
	}
	return now
}

// after is the next time that a clock shows a time of the day, later than t. A time that a day leaves out is when the
// clock goes on after it, and one that comes twice is the first.
func after(t time.Time, at string) time.Time {
	minutes, _ := clock(at)
	for day := 0; ; day++ {
		asked := time.Date(t.Year(), t.Month(), t.Day()+day, minutes/60, minutes%60, 0, 0, time.UTC)
		next := time.Date(t.Year(), t.Month(), t.Day()+day, minutes/60, minutes%60, 0, 0, t.Location())
		// Of a time that is left out, Date returns one before or behind the gap, depending on the zone.
		_, offset := next.Zone()
		start, end := next.ZoneBounds()
		switch shown := next.Add(time.Duration(offset) * time.Second); {
		case shown.Before(asked):
			next = end
		case shown.After(asked):
			next = start
		}
		if next.After(t) {
			return next
		}
	}
}

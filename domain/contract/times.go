package contract

import "time"

// TimeFits says that a time can be told in UTC: its year in UTC is 1 to 9999. Postgres takes more than RFC 3339 has
// years for, so that a time beyond could be stored, and never be shown again.
func TimeFits(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1 && year <= 9999
}

// MaxAhead is how far after a receiver's time a sender's may be; beyond, the sender's clock is wrong.
const MaxAhead = time.Hour

// checkTime checks a time that has to be there.
func checkTime(e *Errors, field string, t time.Time) {
	switch {
	case t.IsZero():
		e.add(field, "is missing")
	case !TimeFits(t):
		e.add(field, "is %s, expected a year from 1 to 9999", t.Format(time.RFC3339))
	}
}

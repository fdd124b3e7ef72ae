package backlog

import (
	"errors"
	"time"
)

// ErrStuck says that Postgres answers, and that commits wait for a synchronous standby: reads work, and nothing is
// stored.
var ErrStuck = errors.New("commits wait for a synchronous standby")

// lateCommit is the longest wait for a synchronous standby without a warning. A standby that is only slow takes less.
const lateCommit = 5 * time.Second

// Commits says how Postgres confirms commits, where it does so with a synchronous standby.
type Commits struct {
	WaitSeconds float64 // that the oldest commit has waited; 0 when none waits
	NoStandby   bool    // commits need a standby, and none is connected: the next one waits, too
}

// Stuck says whether commits wait in vain.
func (c Commits) Stuck() bool { return c.NoStandby || seconds(c.WaitSeconds) > lateCommit }

// judge warns of commits that wait, in a report of Postgres that is Stuck.
func (c Commits) judge(r *Report) {
	why := "the synchronous standby does not confirm them"
	if c.NoStandby {
		why = "no standby is connected"
	}
	concern := Concern{Code: CommitsWait, Severity: Failed, Subject: Postgres}
	if c.WaitSeconds > 0 {
		concern.Since = r.before(seconds(c.WaitSeconds))
		why += ", the oldest for " + seconds(c.WaitSeconds).Round(time.Second).String()
	}
	r.warn(concern, "postgres: commits wait, for %s: bring a standby back, or go on without one by "+
		"ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()", why)
}

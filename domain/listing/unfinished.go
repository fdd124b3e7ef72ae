package listing

import (
	"slices"
	"time"

	"github.com/google/uuid"
)

// A Cursor is the row that a walk over many rows has come to, in the order of a time and an ID. The zero Cursor is
// before the first.
type Cursor struct {
	At time.Time
	ID uuid.UUID
}

// A Window bounds one step of such a walk.
type Window struct {
	Look int // rows looked at
	Take int // of those, rows returned or changed
}

// UnfinishedAfter is how long a revision may stay unsettled, or an image pending, before something is wrong: the run
// that worked on it was ended from outside, or lost. Rows that merely wait in a queue are found too, and left alone.
const UnfinishedAfter = time.Hour

// An Unfinished advert has a revision that was not brought to its end.
type Unfinished struct {
	Restart           // without a stage
	Row        Cursor // its place in the walk
	Staged     bool   // it came normalized, by another team
	Normalized bool   // there is a normalized form of that revision
	Offered    bool   // its platform still offers it, as far as we know
}

// Entry returns the stage at which an unfinished advert enters the pipeline again, given the stages that this
// deployment does. It is "" for one to be left alone: it is not offered any more, and comes back by itself when it is scraped
// again; or it waits for another team's stage.
func (u Unfinished) Entry(stages []string) string {
	if !u.Offered {
		return ""
	}
	from := 0
	switch {
	case u.Staged:
		from = 1
	case slices.Contains(stages, StageNormalize):
	case !u.Normalized:
		return ""
	default: // another team has normalized it
		from = 1
	}
	for _, stage := range Entries[from:] {
		if slices.Contains(stages, stage) {
			return stage
		}
	}
	return ""
}

// A PendingImage is an image that was not fetched, or given up, for long.
type PendingImage struct {
	Ref   Ref
	Image Image
	Row   Cursor // its place in the walk: its listing
}

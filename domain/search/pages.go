package search

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Removal removes pages from all engines but the one in Postgres, whose documents go with the rows.
func Removal(engines map[string]Engine) func(ctx context.Context, ids []int64) error {
	return func(ctx context.Context, ids []int64) error {
		for name, engine := range engines {
			if name == EnginePostgres {
				continue
			}
			if err := engine.Remove(ctx, ids); err != nil {
				return fmt.Errorf("remove from %s: %w", name, err)
			}
		}
		return nil
	}
}

// A Letter is a message that waits to be stored.
type Letter struct {
	Key  uuid.UUID // of its body: see db.Pages.Inbox
	Body []byte
}

// An Incoming is a version of a page that a message brought.
type Incoming struct {
	Document
	StatusCode int
	Removed    bool // there is no such page any more since it was crawled: of the document, only URL and CrawledAt count
}

// KeepRemovals is for how long at least it is known that a page was removed: longer than any message is on its way.
const KeepRemovals = 90 * 24 * time.Hour

// An Outcome is what became of an Incoming.
type Outcome string

// The outcomes.
const (
	OutcomeStored    Outcome = "stored"    // it is the version that is kept
	OutcomeUnchanged Outcome = "unchanged" // this very version was kept already
	OutcomeOvertaken Outcome = "overtaken" // a version that was crawled later is kept, or it was removed later
)

// A Stored is the version of a page that is kept, after an Incoming.
type Stored struct {
	ID       int64
	Revision int64
	Outcome  Outcome
	Indexed  bool // the index in Postgres has this version
}

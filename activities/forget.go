package activities

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/retention"
)

// Forgetting are the activities that delete an advert and all that was made of it.
type Forgetting struct {
	Store ForgetStore
	Runs  ListingRuns
	Start Starter
	Now   func() time.Time
}

// ForgetStore has the database methods of forgetting. Each may be repeated.
type ForgetStore interface {
	ForgetAdvert(ctx context.Context, ref listing.Ref, onlyRest bool, now time.Time) (retention.Forgotten, error)
	ForgetLetters(ctx context.Context, ref listing.Ref, after int64, most int) (next int64, deleted int, err error)
	ForgetMessages(ctx context.Context, ref listing.Ref, after int64, most int) (next int64, deleted int, err error)
	DuplicatesOf(ctx context.Context, id, last uuid.UUID, n int) ([]listing.Restart, error)
}

// ListingRuns are the runs of an advert's workflow.
type ListingRuns interface {
	// EndListing terminates the run that is going, if there is one.
	EndListing(ctx context.Context, ref listing.Ref) error
	// DeleteListingRuns deletes the histories of those that have ended.
	DeleteListingRuns(ctx context.Context, ref listing.Ref) error
}

// ForgetBatch names an advert, where a batch of forgetting it begins, and what was deleted so far.
type ForgetBatch struct {
	Ref  listing.Ref `json:"ref"`
	Rest bool        `json:"rest,omitempty"` // the second time: an advert that has come back since stays

	Stage string              `json:"stage,omitempty"` // rows letters messages duplicates; "" = the first
	After int64               `json:"after,omitempty"` // row of the stage
	Last  uuid.UUID           `json:"last,omitzero"`   // duplicate that was started last
	Done  retention.Forgotten `json:"done"`
	More  bool                `json:"more,omitempty"`
}

// The stages of forgetting an advert, in their order.
const (
	forgetRows       = "rows"
	forgetLetters    = "letters"
	forgetMessages   = "messages"
	forgetDuplicates = "duplicates"
)

const messagesAtOnce = 500

// EndListing terminates the workflow of an advert: nothing may be stored of it any more.
func (a *Forgetting) EndListing(ctx context.Context, b ForgetBatch) (ForgetBatch, error) {
	return b, a.Runs.EndListing(ctx, b.Ref)
}

// DeleteListingRuns deletes the histories of an advert's workflow.
func (a *Forgetting) DeleteListingRuns(ctx context.Context, b ForgetBatch) (ForgetBatch, error) {
	return b, a.Runs.DeleteListingRuns(ctx, b.Ref)
}

// ForgetAdvert makes a batch of deleting an advert and returns where the next one begins. It is idempotent. First go
// its rows, then the messages that name it, and last the adverts that were held back as its duplicates are taken
// through the pipeline again.
func (a *Forgetting) ForgetAdvert(ctx context.Context, b ForgetBatch) (out ForgetBatch, err error) {
	out = b
	switch b.Stage {
	case "", forgetRows:
		done, err := a.Store.ForgetAdvert(ctx, b.Ref, b.Rest, a.Now())
		out.Done.Add(done)
		out.Stage, out.More = forgetLetters, err == nil
		return out, err
	case forgetLetters, forgetMessages:
		return a.forgetMessages(ctx, b)
	}
	list, err := a.Store.DuplicatesOf(ctx, b.Ref.ID(), b.Last, duplicatesAtOnce)
	if err != nil || len(list) == 0 {
		out.More = false
		return out, err
	}
	out.Last, out.More = list[len(list)-1].Ref.ID(), len(list) == duplicatesAtOnce
	return out, restart(ctx, a.Start, list)
}

// forgetMessages goes through dead letters or the outbox, for a few seconds.
func (a *Forgetting) forgetMessages(ctx context.Context, b ForgetBatch) (ForgetBatch, error) {
	find, count, then := a.Store.ForgetLetters, &b.Done.DeadLetters, forgetMessages
	if b.Stage == forgetMessages {
		find, count, then = a.Store.ForgetMessages, &b.Done.Messages, forgetDuplicates
	}
	b.More = true
	for end := a.Now().Add(retentionWork); a.Now().Before(end); {
		next, n, err := find(ctx, b.Ref, b.After, messagesAtOnce)
		if err != nil {
			return b, err
		}
		*count += n
		if b.After = next; next == 0 {
			b.Stage = then
			return b, nil
		}
	}
	return b, nil
}

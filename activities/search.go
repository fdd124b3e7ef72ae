package activities

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/activity"

	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/search"
)

// Searching are the activities that store pages and keep the engines of the search in step with them.
type Searching struct {
	Inbox    PageInbox
	Pages    PageStore
	Removals PageRemovals
	Engines  map[string]search.Engine // all that pages are written to, by name
	Index    PageIndex                // the segments in Postgres
	Metrics  SearchMetrics
	Now      func() time.Time
}

// PageInbox keeps the messages that wait to be stored.
type PageInbox interface {
	// Unread returns the messages of keys that are kept. One that is not was stored before.
	Unread(ctx context.Context, keys []uuid.UUID) ([]search.Letter, error)
	// Done forgets messages whose pages are findable.
	Done(ctx context.Context, keys []uuid.UUID) error
	// Refuse notes why a message can never be stored.
	Refuse(ctx context.Context, key uuid.UUID, reason string) error
}

// PageStore keeps pages. Its methods may be repeated.
type PageStore interface {
	// Store keeps the version of each page that was crawled last, and says what is kept, in the same order.
	Store(ctx context.Context, pages []search.Incoming, at time.Time) ([]search.Stored, error)
	// After returns at most n pages with IDs above one, by rising ID, and none only where there are no more.
	After(ctx context.Context, id int64, n int) ([]search.Page, error)
	// Gone returns which pages are not kept, those that are being deleted too.
	Gone(ctx context.Context, ids []int64) ([]int64, error)
	// DeleteSite deletes at most most pages of a site and its subdomains, and says how many: none only where there are no
	// more. It calls remove before they are gone.
	DeleteSite(
		ctx context.Context, site string, most int, remove func(ctx context.Context, ids []int64) error,
	) (int, error)
}

// PageRemovals deletes pages that a crawl found to be gone.
type PageRemovals interface {
	// Remove deletes the versions of pages that were crawled until they were found to be gone, and keeps those that come
	// late away. It calls remove before they are gone, and returns how many it deleted. It may be repeated.
	Remove(
		ctx context.Context, pages []search.Incoming, at time.Time, remove func(ctx context.Context, ids []int64) error,
	) (int, error)
}

// PageIndex is the index in Postgres, whose segments are merged.
type PageIndex interface {
	// Full reports whether there are so many segments that Compact should merge them.
	Full(ctx context.Context) (bool, error)
	// Compact merges some segments, and reports whether there are more to merge.
	Compact(ctx context.Context) (more bool, err error)
}

// SearchMetrics counts what becomes of messages. Its methods may be called by several goroutines at once.
type SearchMetrics interface {
	// Stored counts the pages of a batch by outcome.
	Stored(n map[string]int)
	// Indexed counts a call of an engine.
	Indexed(engine string, took time.Duration)
}

// PageKeys names messages of the inbox, each once.
type PageKeys struct {
	Keys []uuid.UUID `json:"keys"`
}

// StoredPages has the counts of a batch of messages. Two messages with one body count as one.
type StoredPages struct {
	Stored    int       `json:"stored,omitempty"`    // they are new, or changed
	Unchanged int       `json:"unchanged,omitempty"` // this very version was stored before
	Overtaken int       `json:"overtaken,omitempty"` // a version that was crawled later is stored
	Removed   int       `json:"removed,omitempty"`   // they say that a page is gone, whether it was kept or not
	Before    int       `json:"before,omitempty"`    // messages that another batch, or a try before, has stored
	Refused   []Refused `json:"refused,omitempty"`   // can never be stored
	Full      bool      `json:"full,omitempty"`      // the index should be compacted
}

// Refused says why a message can never be stored.
type Refused struct {
	Key    uuid.UUID `json:"key"`
	Reason string    `json:"reason"` // at most 200 bytes
}

const maxRefusal = 200

// A delivered message is one that could be read.
type delivered struct {
	key  uuid.UUID
	page search.Incoming
}

// StorePages stores the pages of messages and makes them findable, and then forgets the messages. It may be repeated:
// messages that are gone were stored before. A page that can never be stored is refused, alone.
func (a *Searching) StorePages(ctx context.Context, in PageKeys) (StoredPages, error) {
	var out StoredPages
	letters, err := a.Inbox.Unread(ctx, in.Keys)
	if err != nil {
		return out, err
	}
	var (
		batch []delivered
		done  []uuid.UUID
	)
	out.Before = len(in.Keys) - len(letters)
	for _, l := range letters {
		var page search.Incoming
		err := fault.Try("storing it", activity.GetLogger(ctx).Error, func() (err error) {
			page, err = incoming(l.Body)
			return err
		})
		if err != nil {
			out.Refused = append(out.Refused, refused(l.Key, err))
			continue
		}
		batch = append(batch, delivered{l.Key, page})
	}
	err = parts(ctx, batch, func(part []delivered) error { return a.store(ctx, part, &out) },
		func(bad delivered, why error) { out.Refused = append(out.Refused, refused(bad.key, why)) })
	if err != nil {
		return StoredPages{}, err
	}
	bad := map[uuid.UUID]bool{}
	for _, r := range out.Refused {
		bad[r.Key] = true
		if err := a.Inbox.Refuse(ctx, r.Key, r.Reason); err != nil {
			return StoredPages{}, err
		}
	}
	for _, l := range letters {
		if !bad[l.Key] {
			done = append(done, l.Key)
		}
	}
	if len(done) > 0 {
		if err := a.Inbox.Done(ctx, done); err != nil {
			return StoredPages{}, err
		}
	}
	if _, ours := a.Engines[search.EnginePostgres]; ours && out.Stored+out.Removed > 0 {
		// The pages are stored, whatever comes of this; the next batch asks again.
		out.Full, _ = a.Index.Full(ctx)
	}
	a.Metrics.Stored(map[string]int{
		"stored": out.Stored, "unchanged": out.Unchanged, "overtaken": out.Overtaken, "removed": out.Removed,
		"refused": len(out.Refused),
	})
	return out, nil
}

// incoming reads a message.
func incoming(body []byte) (search.Incoming, error) {
	m, err := contract.Decode[contract.CrawledPage](body, contract.MaxCrawledPage)
	if err != nil {
		return search.Incoming{}, &fault.Error{Class: fault.Invalid, Err: err}
	}
	d, err := search.DocumentOf(m)
	return search.Incoming{Document: d, StatusCode: m.Metadata.StatusCode, Removed: m.Removed}, err
}

func refused(key uuid.UUID, why error) Refused {
	return Refused{key, strings.ToValidUTF8(cut(why.Error(), maxRefusal), "")}
}

// store removes pages that are gone, stores the others and makes those that are the newest of their address findable.
// It counts what it has done.
func (a *Searching) store(ctx context.Context, part []delivered, out *StoredPages) error {
	var pages, gone []search.Incoming
	for _, d := range part {
		if d.page.Removed {
			gone = append(gone, d.page)
		} else {
			pages = append(pages, d.page)
		}
	}
	if len(gone) > 0 {
		if _, err := a.Removals.Remove(ctx, gone, a.Now(), search.Removal(a.Engines)); err != nil {
			return err
		}
	}
	kept, err := a.Pages.Store(ctx, pages, a.Now())
	if err != nil {
		return err
	}
	var (
		count StoredPages
		list  []search.Page
		seen  = map[int64]bool{}
	)
	for i, k := range kept {
		switch k.Outcome {
		case search.OutcomeOvertaken:
			count.Overtaken++
			continue // its message makes the newer one findable
		case search.OutcomeUnchanged: // it may have been stored by a try that ended before it was findable
			count.Unchanged++
		case search.OutcomeStored:
			count.Stored++
		}
		if !seen[k.ID] {
			seen[k.ID] = true
			list = append(list, search.Page{ID: k.ID, Revision: k.Revision, Document: pages[i].Document})
		}
	}
	if err := a.index(ctx, list); err != nil {
		return err
	}
	out.Stored, out.Unchanged, out.Overtaken = out.Stored+count.Stored, out.Unchanged+count.Unchanged,
		out.Overtaken+count.Overtaken
	out.Removed += len(gone)
	return nil
}

// index makes pages findable in every engine.
func (a *Searching) index(ctx context.Context, pages []search.Page) error {
	if len(pages) == 0 {
		return nil
	}
	for name, engine := range a.Engines {
		began := a.Now()
		if err := engine.Index(ctx, pages); err != nil {
			return fmt.Errorf("index in %s: %w", name, err)
		}
		a.Metrics.Indexed(name, a.Now().Sub(began))
		if err := a.removeGone(ctx, name, engine, pages); err != nil {
			return err
		}
	}
	return nil
}

// removeGone removes from an engine pages that were deleted after their versions were read: it may have been given them
// after the deletion had removed them. Newer versions are left to those that index them.
func (a *Searching) removeGone(ctx context.Context, name string, engine search.Engine, pages []search.Page) error {
	if name == search.EnginePostgres {
		return nil // it looks at the rows itself
	}
	ids := make([]int64, len(pages))
	for i, p := range pages {
		ids[i] = p.ID
	}
	gone, err := a.Pages.Gone(ctx, ids)
	if err != nil || len(gone) == 0 {
		return err
	}
	return fault.Wrap(engine.Remove(ctx, gone), "remove from %s", name)
}

// parts does the work on a list, and where that can never succeed on its halves, down to the items with which it
// cannot: these are refused. It ends with the first error that may pass; what was done by then is done again.
func parts[T any](ctx context.Context, list []T, work func([]T) error, refuse func(T, error)) error {
	if len(list) == 0 {
		return nil
	}
	err := fault.Try("storing it", activity.GetLogger(ctx).Error, func() error { return work(list) })
	class := fault.ClassOf(err)
	switch {
	case err == nil:
		return nil
	case !class.Final() || ctx.Err() != nil:
		return err
	case len(list) == 1:
		refuse(list[0], err)
		return nil
	}
	half := len(list) / 2
	if err := parts(ctx, list[:half], work, refuse); err != nil {
		return err
	}
	return parts(ctx, list[half:], work, refuse)
}

// CompactJob is empty, so that a field can be added while old runs are open.
type CompactJob struct{}

// Compacted says what a compaction did.
type Compacted struct {
	Merges int `json:"merges"`
}

// CompactSegments merges segments of the index in Postgres until no level has too many. It may be repeated.
func (a *Searching) CompactSegments(ctx context.Context, _ CompactJob) (Compacted, error) {
	var out Compacted
	for {
		more, err := a.Index.Compact(ctx)
		if err != nil {
			return out, err
		}
		out.Merges++
		if !more {
			return out, nil
		}
	}
}

// Reindexed is how far a re-index has come.
type Reindexed struct {
	To      string  `json:"to"`                // the engine
	After   int64   `json:"after"`             // the ID of the last page
	Pages   int     `json:"pages"`             // that were indexed
	Refused []int64 `json:"refused,omitempty"` // pages that the engine can never take, the first ten
	Failed  int     `json:"failed,omitempty"`  // how many of them there are
	Ended   bool    `json:"ended,omitempty"`

	Generation string `json:"generation,omitempty"` // of what is filled, in a search.Rebuilder
}

const (
	reindexAtOnce = 200
	deleteAtOnce  = 500
	// searchSlice is how long an activity on many pages works before its progress is written down.
	searchSlice = 5 * time.Second
)

// ReindexPages indexes the next pages anew, for a while. It may be repeated.
func (a *Searching) ReindexPages(ctx context.Context, in Reindexed) (Reindexed, error) {
	engine, ok := a.Engines[in.To]
	if !ok {
		return in, fault.Newf(fault.Invalid, "this worker has no engine %q", in.To)
	}
	renew := engine.Index
	if r, ok := engine.(interface {
		Renew(ctx context.Context, pages []search.Page) error
	}); ok { // it leaves alone what it has
		renew = r.Renew
	}
	rebuild, rebuilds := engine.(search.Rebuilder)
	if rebuilds {
		if in.Generation == "" { // the same when this is repeated
			in.Generation = strings.ToLower(activity.GetInfo(ctx).WorkflowExecution.RunID)
		}
		begin := rebuild.Begin
		if in.After > 0 { // made anew, it would lack the pages before: another re-index has ended meanwhile
			begin = rebuild.Begun
		}
		if err := begin(ctx, in.Generation); err != nil {
			return in, err
		}
	}
	for end := a.Now().Add(searchSlice); a.Now().Before(end); {
		pages, err := a.Pages.After(ctx, in.After, reindexAtOnce)
		if err != nil {
			return in, err
		}
		if len(pages) == 0 {
			if rebuilds {
				if err := rebuild.Finish(ctx, in.Generation); err != nil {
					return in, err
				}
			}
			in.Ended = true
			return in, nil
		}
		in.Refused = in.Refused[:len(in.Refused):len(in.Refused)]
		failed := 0
		err = parts(ctx, pages, func(part []search.Page) error {
			if err := renew(ctx, part); err != nil {
				return err
			}
			return a.removeGone(ctx, in.To, engine, part)
		},
			func(p search.Page, why error) {
				failed++
				activity.GetLogger(ctx).Warn("engine refuses page", "page", p.ID, "err", why)
				if len(in.Refused) < 10 {
					in.Refused = append(in.Refused, p.ID)
				}
			})
		if err != nil {
			return in, err
		}
		in.After, in.Pages, in.Failed = pages[len(pages)-1].ID, in.Pages+len(pages)-failed, in.Failed+failed
	}
	return in, nil
}

// PageDeletion is how far the deletion of a site has come.
type PageDeletion struct {
	Site    string `json:"site"` // with its subdomains
	Deleted int    `json:"deleted"`
	Ended   bool   `json:"ended,omitempty"`
}

// DeleteSitePages deletes pages of a site, for a while. It may be repeated.
func (a *Searching) DeleteSitePages(ctx context.Context, in PageDeletion) (PageDeletion, error) {
	for end := a.Now().Add(searchSlice); a.Now().Before(end); {
		n, err := a.Pages.DeleteSite(ctx, in.Site, deleteAtOnce, search.Removal(a.Engines))
		if err != nil {
			return in, err
		}
		if n == 0 {
			in.Ended = true
			return in, nil
		}
		in.Deleted += n
	}
	return in, nil
}

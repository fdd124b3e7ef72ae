package workflows

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/workflow"

	"github.com/mtlrent/conveyor/activities"
)

// StoredPages is the result of an IndexPages, Reindexed that of a ReindexPages: types of activities, for packages that
// do not import those.
type (
	StoredPages = activities.StoredPages
	Reindexed   = activities.Reindexed
)

// IndexInput names the messages of a batch: the bodies are in Postgres. It is one struct so that a field can be added
// while old runs are open.
type IndexInput struct {
	Keys []uuid.UUID `json:"keys"`
}

// IndexPages stores a batch of crawled pages and makes them findable. Its ID is search.IndexWorkflowID of the keys. It
// completes when each page is stored, or refused with a reason.
func IndexPages(ctx workflow.Context, in IndexInput) (StoredPages, error) {
	ctx = workflow.WithLocalActivityOptions(ctx, batchWork(3*time.Minute, "store"))
	return local(ctx, do.StorePages, activities.PageKeys{Keys: in.Keys})
}

// SearchHeartbeat is how long a worker that merges, re-indexes or deletes may be silent before another takes over.
const SearchHeartbeat = 20 * time.Second

// searchWork are the options of work on many pages, which is tried until it is done. Package workers sends the
// heartbeats.
func searchWork(summary string) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Hour, HeartbeatTimeout: SearchHeartbeat, Summary: summary,
		RetryPolicy: retries(30 * time.Second),
	}
}

// CompactInput is one struct so that a field can be added while old runs are open.
type CompactInput struct{}

// CompactIndex merges segments of the index in Postgres, so that a query reads few of them. Its ID is
// search.CompactWorkflowID. It completes when no level has too many; it may be canceled or terminated at any time.
func CompactIndex(ctx workflow.Context, _ CompactInput) (activities.Compacted, error) {
	return call(workflow.WithActivityOptions(ctx, searchWork("merge")), do.CompactSegments, activities.CompactJob{})
}

// ReindexInput says which engine the pages are written to.
type ReindexInput struct {
	To    string    `json:"to"` // its name
	SoFar Reindexed `json:"so_far,omitzero"`
}

// ReindexQuery is the query that a ReindexPages answers with Reindexed.
const ReindexQuery = "progress"

// ReindexPages writes all pages to an engine anew, by rising ID, while searches and batches go on. Its ID is
// search.ReindexWorkflowID. It may be canceled: what it has written stays.
func ReindexPages(ctx workflow.Context, in ReindexInput) (Reindexed, error) {
	p := in.SoFar
	p.To = in.To
	err := workflow.SetQueryHandler(ctx, ReindexQuery, func() (Reindexed, error) { return p, nil })
	if err != nil {
		return p, err
	}
	work := workflow.WithActivityOptions(ctx, searchWork("pages"))
	for !p.Ended {
		next, err := call(work, do.ReindexPages, p)
		if err != nil {
			return p, err
		}
		p = next
		workflow.SetCurrentDetails(ctx, reindexDetails(p))
		if !p.Ended && long(ctx) {
			return p, workflow.NewContinueAsNewError(ctx, ReindexPages, ReindexInput{To: in.To, SoFar: p})
		}
	}
	return p, nil
}

// reindexDetails is what the Web UI shows of a re-index.
func reindexDetails(p activities.Reindexed) string {
	text := fmt.Sprintf("%d pages are in %s, up to page %d", p.Pages, p.To, p.After)
	if p.Failed > 0 {
		text += fmt.Sprintf("; it refused %d, the first are %v", p.Failed, p.Refused)
	}
	return text
}

// DeletePagesInput names the site whose pages are deleted, with those of its subdomains.
type DeletePagesInput struct {
	Site    string `json:"site"`
	Deleted int    `json:"deleted,omitempty"` // by runs that this one continues
}

// DeletePages deletes the pages of a site in batches. Its ID is search.DeleteWorkflowID of the site. Pages that are
// crawled meanwhile may be stored again.
func DeletePages(ctx workflow.Context, in DeletePagesInput) (activities.PageDeletion, error) {
	p := activities.PageDeletion{Site: in.Site, Deleted: in.Deleted}
	work := workflow.WithActivityOptions(ctx, searchWork(Summary(in.Site, 200)))
	for !p.Ended {
		next, err := call(work, do.DeleteSitePages, p)
		if err != nil {
			return p, err
		}
		p = next
		workflow.SetCurrentDetails(ctx, fmt.Sprintf("%d pages of %s are deleted", p.Deleted, p.Site))
		if !p.Ended && long(ctx) {
			return p, workflow.NewContinueAsNewError(ctx, DeletePages, DeletePagesInput{Site: in.Site, Deleted: p.Deleted})
		}
	}
	return p, nil
}

// IndexSummary is the line that the Web UI shows of a batch, by the hosts of its pages.
func IndexSummary(hosts []string) string {
	count := map[string]int{}
	most := ""
	for _, h := range hosts {
		if count[h]++; count[h] > count[most] || count[h] == count[most] && h < most {
			most = h
		}
	}
	pages := "pages"
	if len(hosts) == 1 {
		pages = "page"
	}
	text := fmt.Sprintf("%d %s of %s", len(hosts), pages, most)
	if n := len(count) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return Summary(text, 200)
}

package listings

import (
	"context"
	"time"

	"github.com/mtlrent/conveyor/api"
	dblistings "github.com/mtlrent/conveyor/db/listings"
)

type platformCyclesInput struct {
	Name   string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,31}$" example:"kijiji"`
	Before int64  `query:"before" minimum:"0" doc:"only cycles with a smaller number"`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
}

// PlatformCycles is the answer of GET /platforms/{name}/cycles.
type PlatformCycles struct {
	Items []PastCycle `json:"items"`
	Next  int64       `json:"next_before,omitempty" doc:"absent on the last page"`
}

// A PastCycle is one pass through the search pages. How many of its adverts were refused is known only while it is one
// of the last two: GET /platforms has it.
type PastCycle struct {
	Cycle     int64      `json:"cycle"`
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
	Complete  bool       `json:"complete" doc:"it reached the last search page"`
	Note      string     `json:"note,omitempty" doc:"why it is not complete"`
	Pages     int        `json:"pages" doc:"search pages read"`
	Total     *int       `json:"total,omitempty" doc:"adverts of the search, as stated by the site"`
	Seen      int        `json:"seen" doc:"adverts on these pages"`
	New       int        `json:"new" doc:"visited for the first time"`
	Changed   int        `json:"changed" doc:"visited because their entry on the search page changed"`
	Stale     int        `json:"stale" doc:"visited again: the last visit was six hours ago or more, or the search did not show them"`
	Returned  int        `json:"returned" doc:"visited because they were gone"`
	Skipped   int        `json:"skipped" doc:"seen and not visited: nothing new"`
	Failed    int        `json:"failed" doc:"visited and could not be read"`
	Gone      int        `json:"gone" doc:"no longer offered"`
	Refusals  int        `json:"refusals" doc:"requests that the site refused"`
}

func (h Platforms) cycles(ctx context.Context, in *platformCyclesInput) (*api.Body[PlatformCycles], error) {
	list, next, err := h.Store.Cycles(ctx, in.Name, in.Before, in.Limit)
	return api.BodyOf(PlatformCycles{api.Each(list, showPastCycle), next}), err
}

func showPastCycle(c dblistings.PlatformCycle) PastCycle {
	return PastCycle{
		c.Cycle, c.StartedAt, c.EndedAt, c.Complete, c.Note, c.Pages, c.Total, c.Seen, c.New, c.Changed, c.Stale, c.Returned,
		c.Skipped, c.Failed, c.Gone, c.Refusals,
	}
}
